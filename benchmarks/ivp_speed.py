"""Speed of `solve_ivp` against SciPy, at equal error: the impact oscillator, the three masses with known
modes, and plain Python right-hand sides. Ratios of best times in one process.

    python benchmarks/ivp_speed.py
"""

from __future__ import annotations

import time
import warnings

import numba
import numpy as np
import scipy.integrate

import nonsmooth.ivp as ns

warnings.simplefilter("ignore")


def best(function, repeats):
    """Shortest of several runs, in seconds, and the last value."""
    shortest, value = np.inf, None
    for _ in range(repeats):
        began = time.perf_counter()
        value = function()
        shortest = min(shortest, time.perf_counter() - began)
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


def ours_masses(rtol):
    switch = ns.Switch(velocities, size=3)
    return ns.solve_ivp(masses, (0, MASSES_END), START, "DOP853", switches=[switch], rtol=rtol, atol=rtol).y[
        :, -1
    ]


def scipy_masses(rtol):
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

    while t < MASSES_END:
        for i, reversal in enumerate(events):
            reversal.direction = -mode[i]
        result = scipy.integrate.solve_ivp(
            fun, (t, MASSES_END), y, "DOP853", events=events, rtol=rtol, atol=rtol, args=(mode,)
        )
        t, y = result.t[-1], result.y[:, -1]
        for i in range(3):
            if result.t_events[i].size:
                mode[i] = -mode[i]
    return y


def main():
    exact = oscillator_exact(3.0)
    print("impact oscillator to t = 3, DOP853:        rtol    error       time [ms]")
    reached = []
    for rtol in (1e-10,):
        ours_oscillator(rtol, 3.0, "DOP853")
        spent, y = best(lambda r=rtol: ours_oscillator(r, 3.0, "DOP853"), 100)
        reached.append((abs(y - exact).max(), spent))
        print(
            f"  nonsmooth                              {rtol:8.0e}  {reached[-1][0]:.1e}   {1e3 * spent:8.3f}"
        )
    for rtol in (1e-10, 1e-11, 1e-12, 1e-13):
        spent, y = best(lambda r=rtol: oscillator_scipy(r, 3.0, "DOP853"), 5)
        error = abs(y - exact).max()
        print(f"  SciPy                                  {rtol:8.0e}  {error:.1e}   {1e3 * spent:8.3f}")
        if error <= reached[0][0]:
            break
    print(f"  ratio at equal or better error of SciPy: {spent / reached[0][1]:.1f}   (best SciPy row / ours)")

    reference = ours_masses(1e-13)
    ours_masses(1e-10)
    ours_time, y = best(lambda: ours_masses(1e-10), 100)
    ours_error = abs(y - reference).max()
    print("three masses to t = 3.7, known modes, DOP853")
    print(f"  nonsmooth                              {1e-10:8.0e}  {ours_error:.1e}   {1e3 * ours_time:8.3f}")
    for rtol in (1e-10, 1e-11, 1e-12):
        spent, y = best(lambda r=rtol: scipy_masses(r), 5)
        error = abs(y - reference).max()
        print(f"  SciPy                                  {rtol:8.0e}  {error:.1e}   {1e3 * spent:8.3f}")
        if error <= ours_error:
            break
    print(f"  ratio: {spent / ours_time:.1f}")

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
