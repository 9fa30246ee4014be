"""Three masses with friction (Stewart 1996, eq. (15)): `solve_filippov` against SciPy with hand-written mode logic, and
against nosnoc where that is installed.

The SciPy version integrates each mode with `solve_ivp`, terminal events at velocity reversals (and at the loss of
sticking), and picks the next mode by hand. Both sides are run with a range of tolerances; compared are the fastest runs
whose 22 switching points and end state all have errors below a bound. Run: python benchmarks/filippov_speed.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import nonsmooth.filippov as fl
from nonsmooth.problems.three_mass import three_mass

sys.path.insert(0, str(Path(__file__).parent))


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


def error_of(problem, instants, end):
    """Largest error of the switching points and of the end state."""
    if len(instants) != len(problem.switching_times):
        return np.inf
    return max(np.abs(instants - problem.switching_times).max(), np.abs(end - problem.end_state).max())


def fastest(solve, problem, bound, repeats, tolerances):
    """(seconds, rtol, error) of the fastest run whose error is within `bound`: all tolerances once for the error, then the
    loosest three good ones timed in turn.
    """
    good = []
    for rtol in tolerances:
        error = error_of(problem, *solve(rtol))
        if error <= bound:
            good.append((rtol, error))
    if not good:
        return np.inf, np.nan, np.nan
    best = {rtol: np.inf for rtol, _ in good[:3]}
    for _ in range(repeats):
        for rtol in best:
            begin = time.perf_counter()
            solve(rtol)
            best[rtol] = min(best[rtol], time.perf_counter() - begin)
    rtol = min(best, key=best.get)
    return best[rtol], rtol, dict(good)[rtol]


def main(bound=1e-10, repeats=100):
    """Print the comparison; returns the ratio to the best SciPy run."""
    problem = three_mass()
    tolerances = 10.0 ** -np.arange(8.5, 13.1, 0.25)

    def ours(method):
        def solve(rtol):
            result = fl.solve_filippov(
                problem.system, problem.t_span, problem.x0, rtol=rtol, atol=rtol, method=method
            )
            return result.t_switch, result.y[:, -1]

        return solve

    print(
        f"three masses on [0, 10]: fastest run with errors of all switching points and the end state <= {bound:g}"
    )
    by_hand = {}
    for method in ("RK45", "DOP853"):
        seconds, rtol, error = fastest(
            lambda rtol, method=method: scipy_three_mass(rtol, rtol, method), problem, bound, 12, tolerances
        )
        by_hand[method] = seconds
        print(
            f"  SciPy {method:7s} modes by hand  {1e3 * seconds:8.2f} ms   rtol {rtol:.1e}, error {error:.1e}"
        )
    best_of_scipy = min(by_hand.values())
    best_here = np.inf
    for method in ("RK45", "DOP853"):
        seconds, rtol, error = fastest(ours(method), problem, bound, repeats, tolerances)
        best_here = min(best_here, seconds)
        print(
            f"  solve_filippov {method:7s}       {1e3 * seconds:8.2f} ms   rtol {rtol:.1e}, error {error:.1e}   "
            f"{by_hand[method] / seconds:.0f} x faster than SciPy {method}, {best_of_scipy / seconds:.0f} x than its best"
        )
    print(f"  best against best: {best_of_scipy / best_here:.0f} x")
    from peers.nosnoc_three_masses import compare

    compare()
    return best_of_scipy / best_here


if __name__ == "__main__":
    main()
