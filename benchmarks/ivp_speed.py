"""Speed of `solve_ivp` against SciPy, at equal error: the impact oscillator, the three masses with known
modes, and plain Python right-hand sides.

Equal error: of all methods and tolerances, the cheapest run of each side whose end state is within the error
asked (largest component; against the closed form, or against the flow between the known switching points).
Times are those of the processor (one thread), the shortest of several runs, both sides in turn, in one process.

    python benchmarks/ivp_speed.py
"""

from __future__ import annotations

import time
import warnings

import numba
import numpy as np
import scipy.integrate

import nonsmooth.ivp as ns
from nonsmooth.problems.three_mass import SWITCHING

warnings.simplefilter("ignore")


def best(function, repeats):
    """Shortest of several runs, in seconds, and the last value."""
    shortest, value = np.inf, None
    for _ in range(repeats):
        began = time.process_time()
        value = function()
        shortest = min(shortest, time.process_time() - began)
    return shortest, value


# -- impact oscillator (Studer et al. 2008, sec. 10.3)
# ---------------------------------------------------------------


@numba.njit
def oscillator(t, y):
    return y[1], -200.0 * (y[0] + 0.15)


@numba.njit
def gap(t, y):
    return -y[0]


@numba.njit
def rebound(t, y):
    return y[0], -0.6 * y[1]


def oscillator_exact(t_end):
    """Closed form: pieces of the harmonic motion, impacts by bisection in extended precision."""
    w = np.longdouble(np.sqrt(np.longdouble(200.0)))
    t, x, v = np.longdouble(0), np.longdouble(-0.5), np.longdouble(0.2)
    shift = np.longdouble(0.15)
    while True:
        a, b = x + shift, v / w

        def position(s, a=a, b=b):
            return a * np.cos(w * s) + b * np.sin(w * s) - shift

        grid = np.linspace(np.longdouble(1e-9), 2 * np.pi / w, 4001)
        values = position(grid)
        up = np.flatnonzero((values[:-1] < 0) & (values[1:] >= 0))
        lo, hi = grid[up[0]], grid[up[0] + 1]
        for _ in range(80):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if position(mid) < 0 else (lo, mid)
        if t + hi >= t_end:
            s = t_end - t
            return np.array([position(s), w * (-a * np.sin(w * s) + b * np.cos(w * s))], dtype=float)
        t, x, v = (
            t + hi,
            np.longdouble(0),
            np.longdouble(-0.6) * w * (-a * np.sin(w * hi) + b * np.cos(w * hi)),
        )


def oscillator_scipy(rtol, t_end, method):
    """What a SciPy user writes: stop at the wall, reflect, start again (restarted a little inside to avoid
    re-triggers).
    """

    def fun(t, y):
        return [y[1], -200.0 * (y[0] + 0.15)]

    def wall(t, y):
        return -y[0]

    wall.terminal, wall.direction = True, -1
    t, y = 0.0, np.array([-0.5, 0.2])
    while t < t_end:
        result = scipy.integrate.solve_ivp(fun, (t, t_end), y, method, events=wall, rtol=rtol, atol=rtol)
        t, y = result.t[-1], result.y[:, -1]
        if result.status == 1:
            y = np.array([-1e-14, -0.6 * y[1]])
    return y


def ours_oscillator(rtol, t_end, method):
    wall = ns.Switch(gap, kind="unilateral", reset=rebound)
    return ns.solve_ivp(oscillator, (0, t_end), [-0.5, 0.2], method, switches=[wall], rtol=rtol, atol=rtol).y[
        :, -1
    ]


# -- three masses with friction (Stewart 1996, eq. (15)), reversals only (before mass 1 sticks)
# ------------------------


@numba.njit
def masses(t, y, mode):
    return (
        y[3],
        y[4],
        y[5],
        -y[0] + (y[1] - y[0]) - y[3] - 0.3 * mode[0],
        (y[0] - y[1]) + (y[2] - y[1]) - y[4] - 0.3 * mode[1],
        (y[1] - y[2]) - y[5] - 0.3 * mode[2] + 10.0 * np.cos(np.pi * t),
    )


@numba.njit
def velocities(t, y):
    return y[3:]


START = [-1.0, 1.0, -1.0, -1.0, 1.0, 1.0]
MASSES_END = 3.7


def masses_exact():
    """Integration at 1e-13 from one known switching point to the next."""
    t, y, mode = 0.0, np.array(START), np.sign(START[3:])
    for at, mass, _, after in (*SWITCHING, (np.inf, 1, 0, 0)):
        end = min(at, MASSES_END)
        run = scipy.integrate.solve_ivp(
            masses.py_func, (t, end), y, "DOP853", rtol=1e-13, atol=1e-14, args=(mode,)
        )
        t, y = end, run.y[:, -1]
        if t == MASSES_END:
            return y
        y[2 + mass], mode[mass - 1] = 0.0, after


def ours_masses(rtol, t_end, method):
    switch = ns.Switch(velocities, size=3)
    return ns.solve_ivp(masses, (0, t_end), START, method, switches=[switch], rtol=rtol, atol=rtol).y[:, -1]


def scipy_masses(rtol, t_end, method):
    """Hand-written mode logic: stop at a reversal, change the mode, start again."""
    t, y = 0.0, np.array(START)
    mode = np.sign(y[3:])

    def event(i):
        def reversal(t, y, mode):
            return y[3 + i]

        reversal.terminal = True
        return reversal

    events = [event(i) for i in range(3)]

    def fun(t, y, mode):
        x, v = y[:3], y[3:]
        return [
            v[0],
            v[1],
            v[2],
            -x[0] + (x[1] - x[0]) - v[0] - 0.3 * mode[0],
            (x[0] - x[1]) + (x[2] - x[1]) - v[1] - 0.3 * mode[1],
            (x[1] - x[2]) - v[2] - 0.3 * mode[2] + 10.0 * np.cos(np.pi * t),
        ]

    while t < t_end:
        for i, reversal in enumerate(events):
            reversal.direction = -mode[i]
        result = scipy.integrate.solve_ivp(
            fun, (t, t_end), y, method, events=events, rtol=rtol, atol=rtol, args=(mode,)
        )
        t, y = result.t[-1], result.y[:, -1]
        for i in range(3):
            if result.t_events[i].size:
                mode[i] = -mode[i]
    return y


TOLERANCES = [10.0**-k for k in np.arange(6.0, 13.1, 0.25)]
OURS = ("RK45", "RKF78", "DOP853", "Radau")
THEIRS = ("RK45", "DOP853", "LSODA", "Radau")


def candidates(solve, methods, t_end, exact, wanted):
    """For each method the loosest tolerance that reaches the error: (method, rtol, error, time of one run)."""
    found = []
    for method in methods:
        for rtol in TOLERANCES:
            began = time.process_time()
            error = abs(solve(rtol, t_end, method) - exact).max()
            spent = time.process_time() - began
            if error <= wanted:
                found.append((method, rtol, error, spent))
                break
            if spent > 1.0:
                break  # far from the best
    return found


def compare(title, ours, theirs, t_end, exact, wanted):
    print(f"{title}, error <= {wanted:.0e}{'method':>10s}{'rtol':>9s}{'error':>9s}{'time [ms]':>11s}")
    best_time = {}
    for name, solve, methods in (("nonsmooth", ours, OURS), ("SciPy", theirs, THEIRS)):
        for method in methods:
            solve(1e-3, t_end, method)  # compile
        rows = [(name, solve, *row) for row in candidates(solve, methods, t_end, exact, wanted)]
        # The cheapest two by their first run are timed; a first run is noisy.
        for row in sorted(rows, key=lambda row: row[5])[:2]:
            best_time[row] = np.inf
    for _ in range(30):  # in turn: whatever else the machine does hits both sides
        for row in best_time:
            name, solve, method, rtol = row[:4]
            for _ in range(5 if name == "nonsmooth" else 1):
                began = time.process_time()
                solve(rtol, t_end, method)
                best_time[row] = min(best_time[row], time.process_time() - began)
    cheapest = {}
    for (name, _, method, rtol, error, _), spent in best_time.items():
        cheapest[name] = min(cheapest.get(name, np.inf), spent)
        print(f"  {name:<{len(title) + 14}s}{method:>10s}{rtol:9.1e}{error:9.1e}{1e3 * spent:11.3f}")
    print(f"  SciPy / nonsmooth: {cheapest['SciPy'] / cheapest['nonsmooth']:.1f}")


def main():
    oscillator_end, masses_end = oscillator_exact(3.0), masses_exact()
    for wanted in (1e-6, 1e-10):
        compare("impact oscillator to t = 3", ours_oscillator, oscillator_scipy, 3.0, oscillator_end, wanted)
        compare("three masses to t = 3.7", ours_masses, scipy_masses, MASSES_END, masses_end, wanted)
    print("plain Python right-hand side, harmonic oscillator to t = 100, rtol 1e-6: SciPy time / ours")
    for method in ("RK23", "RK45", "DOP853", "Radau"):

        def fun(t, y):
            return [y[1], -y[0]]

        ns.solve_ivp(fun, (0, 1), [1.0, 0.0], method)
        mine, _ = best(lambda m=method: ns.solve_ivp(fun, (0, 100), [1.0, 0.0], m, rtol=1e-6), 7)
        theirs, _ = best(
            lambda m=method: scipy.integrate.solve_ivp(fun, (0, 100), [1.0, 0.0], m, rtol=1e-6), 7
        )
        print(f"  {method:8s} {theirs / mine:5.2f}   ({1e3 * mine:.2f} ms against {1e3 * theirs:.2f} ms)")


if __name__ == "__main__":
    main()
