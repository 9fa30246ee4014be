"""Three masses with friction (Stewart 1996, eq. (15)): `solve_filippov` against SciPy with hand-written mode
logic.

Both use the same integrators and tolerances; the SciPy version integrates each mode with `solve_ivp`,
terminal events at velocity reversals (and at the loss of sticking), and picks the next mode by hand. Run:
python benchmarks/filippov_speed.py
"""

from __future__ import annotations

import time

import numpy as np
from scipy.integrate import solve_ivp

import nonsmooth.filippov as fl
from nonsmooth.problems.three_mass import three_mass


def scipy_three_mass(rtol, atol, method):
    """Switching instants and end state by SciPy's solve_ivp with modes +1, -1 (slip) and 0 (stick) for each
    mass.
    """
    mu = 0.3

    def forces(t, x):
        return np.array([
            -x[0] + (x[1] - x[0]) - x[3],
            (x[0] - x[1]) + (x[2] - x[1]) - x[4],
            (x[1] - x[2]) - x[5] + 10.0 * np.cos(np.pi * t),
        ])  # fmt: skip

    def field(t, x, mode):
        a = forces(t, x) - mu * mode
        a[mode == 0] = 0.0
        return np.concatenate([x[3:], a])

    t, x = 0.0, np.array([-1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
    mode = np.sign(x[3:]).astype(int)
    instants = []
    while t < 10.0:
        events = []
        for j in range(3):
            if mode[j] != 0:
                events.append(lambda t, x, j=j: x[3 + j])
                events[-1].direction = -mode[j]
            else:
                events.append(lambda t, x, j=j: mu - abs(forces(t, x)[j]))
                events[-1].direction = -1
            events[-1].terminal = True
        run = solve_ivp(
            lambda t, x: field(t, x, mode),
            (t, 10.0), x, method=method, rtol=rtol, atol=atol, events=events,
        )  # fmt: skip
        t, x = run.t[-1], run.y[:, -1].copy()
        if run.status != 1:
            break
        j = next(k for k in range(3) if len(run.t_events[k]))
        instants.append(t)
        force = forces(t, x)[j]
        if mode[j] != 0:
            x[3 + j] = 0.0
            mode[j] = int(np.sign(force)) if abs(force) > mu else 0
        else:
            mode[j] = int(np.sign(force))
    return np.array(instants), x


def best(function, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        value = function()
        times.append(time.perf_counter() - begin)
    return min(times), value


def main(rtol=1e-10, repeats=50):
    problem = three_mass()
    switching = problem.switching_times
    ours = lambda method: fl.solve_filippov(  # noqa: E731
        problem.system, problem.t_span, problem.x0, rtol=rtol, atol=rtol, method=method
    )
    ours("RK45"), ours("DOP853")  # compile
    print(f"three masses on [0, 10], rtol = atol = {rtol:g}; best of {repeats} (SciPy: of 5)")
    by_hand = {}
    for method in ("RK45", "DOP853"):
        seconds, (instants, _) = best(lambda: scipy_three_mass(rtol, rtol, method), 5)  # noqa: B023
        by_hand[method] = seconds
        error = np.abs(instants - switching).max() if len(instants) == len(switching) else np.nan
        print(
            f"  SciPy {method:7s} modes by hand  {1e3 * seconds:8.2f} ms   {len(instants)} switching points, error {error:.1e}"
        )
    ratios = {}
    for method in ("RK45", "DOP853"):
        seconds, result = best(lambda: ours(method), repeats)  # noqa: B023
        ratios[method] = by_hand[method] / seconds
        error = np.abs(result.t_switch - switching).max()
        print(
            f"  solve_filippov {method:7s}       {1e3 * seconds:8.2f} ms   {len(result.t_switch)} switching points, "
            f"error {error:.1e}   {by_hand['RK45'] / seconds:.0f} x faster than SciPy RK45, "
            f"{by_hand['DOP853'] / seconds:.0f} x than SciPy DOP853"
        )
    try:
        import nosnoc  # noqa: F401
    except ImportError:
        print("  nosnoc is not installed: its comparison is skipped (pip install nosnoc to run it)")
    return ratios


if __name__ == "__main__":
    main()
