"""What `solve_filippov` and `solve_lcp` are held to, as numbers: switching points, sticking, error and order on Stewart's three
masses (1996, eq. (15)), sliding of codimension one to three, an accumulation of switching points, LCP solvers against the
enumeration. Run: ``python benchmarks/filippov_accuracy.py [number of random LCPs]`` (default 100 000, about a minute)
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from nonsmooth.contact.lcp import solve_lcp
from nonsmooth.filippov import FilippovSystem, sign_term, solve_filippov
from nonsmooth.problems.three_mass import three_mass

TESTS = Path(__file__).parents[1] / "tests"


def three_masses():
    """Switching points, sticking, error on the grid of 0.05, order through switches and sliding."""
    problem = three_mass()
    grid = np.array(json.loads((TESTS / "data" / "filippov" / "three_mass_grid.json").read_text())["grid"])

    def solve(**options):
        return solve_filippov(problem.system, problem.t_span, problem.x0, **options)

    run = solve(rtol=1e-10, atol=1e-10)
    apart = np.abs(run.t_switch - problem.switching_times).max()
    print(f"three masses, rtol 1e-10: {len(run.events)} switching points, largest deviation {apart:.1e}")
    stuck = run.t > problem.switching_times[8] + 1e-9
    print(
        f"  mass 1 sticks from t = {run.t_switch[8]:.12f}; afterwards largest |v_1| = {np.abs(run.y[3, stuck]).max():g}, "
        f"change of x_1 {np.ptp(run.y[0, stuck]):.1e}"
    )
    for rtol in (1e-10, 1e-11, 1e-12, 1e-13):
        states = solve(rtol=rtol, atol=rtol, method="DOP853", t_eval=grid[:, 0]).y.T
        error = np.linalg.norm(states - grid[:, 1:], axis=1).max()
        print(f"  DOP853, rtol {rtol:.0e}: largest Euclidean error on the grid of 0.05 {error:.1e}")
    for method, steps in (
        ("RK45", (0.1, 0.05, 0.025, 0.0125)), ("RK23", (0.1, 0.05, 0.025, 0.0125)), ("DOP853", (0.25, 0.125)),
    ):  # fmt: skip
        errors = [
            np.linalg.norm(
                solve(method=method, dt=dt, rtol=1e-10, location=1e-14).y[:, -1] - problem.end_state
            )
            for dt in steps
        ]
        order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        print(
            f"  {method}, fixed steps {steps}: errors {', '.join(f'{e:.1e}' for e in errors)}, order {order:.2f}"
        )


def sliding():
    """Rest on one, two and three surfaces, example (5) of the paper, Filippov's spiral and the twisting controller."""
    forced = FilippovSystem(lambda t, x: np.array([0.9 * np.cos(3.0 * t)]), [sign_term(-1.0, [1.0], [1.0])])
    run = solve_filippov(forced, (0, 10), [0.0], rtol=1e-8)
    print(f"x' = -sgn x + 0.9 cos 3t from 0: largest |x| {np.abs(run.y).max():g}, {len(run.events)} events")
    e = np.eye(3)
    example = FilippovSystem(None, [sign_term(-1.0, e[0, :2], e[0, :2]), sign_term(-1.0, e[1, :2], e[1, :2])])
    run = solve_filippov(example, (0, 3), [1.0, 2.0])
    print(
        f"example (5): switching points {run.t_switch} (exact 1, 2), end {run.y[:, -1]}, set {run.sliding_sets[-1][2]}"
    )
    for A in ([[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0, 0.5], [0.3, 2.0, 1.0], [-0.5, 0.2, 1.5]]):
        A = np.array(A)
        n = len(A)
        system = FilippovSystem(None, [sign_term(-1.0, A[:, j], np.eye(n)[j]) for j in range(n)])
        run = solve_filippov(system, (0, 5), np.linspace(0.5, 1.0, n))
        kinds = ", ".join(event.kind for event in run.events)
        print(f"x' = -A sgn x, {n} surfaces: {kinds}; end {run.y[:, -1]}, set {run.sliding_sets[-1][2]}")
    spiral = FilippovSystem(
        None, [sign_term(-1.0, [1.0, 2.0], [1.0, 0.0]), sign_term(1.0, [2.0, -1.0], [0.0, 1.0])]
    )
    root = np.sqrt(3.0)
    twisting = FilippovSystem(
        lambda t, x: np.array([x[1], 0.0]), [sign_term(-2.0, [0, 1], [1, 0]), sign_term(-1.0, [0, 1], [0, 1])]
    )
    rest = np.sqrt(2.0) * (1.0 + (1.0 / 3.0 + 1.0 / root) / (1.0 - 1.0 / root))
    for name, system, x0, exact in (
        ("relays that spiral", spiral, [1.0, 0.5], 0.75), ("twisting controller", twisting, [1.0, 0.0], rest),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            run = solve_filippov(system, (0, 10), x0, rtol=1e-8)
        zeno = next(event for event in run.events if event.kind == "zeno")
        said = ", ".join(
            sorted({w.category.__name__ for w in seen if w.category.__module__.startswith("nonsmooth")})
        )
        print(
            f"{name}: {len(run.events)} events, limit {zeno.t:.10f} ({zeno.t - exact:+.0e} off), end {run.y[:, -1]}; {said}"
        )


def lcp(count):
    """Random LCPs against the enumeration, and the problems of the literature."""
    begin = time.perf_counter()
    seen = runpy.run_path(str(TESTS / "contact" / "test_lcp_campaign.py"))["campaign"](count, seed=1996)
    print(f"random LCPs, n <= 6, 11 families: {seen}, all agree ({time.perf_counter() - begin:.0f} s)")
    data = json.loads((TESTS / "data" / "lcp" / "lcp_problems.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        worst = max(solve_lcp(problem["M"], problem["q"]).residual for problem in data.values())
        three = [np.round(r.z, 6).tolist() for r in solve_lcp(**data["CPS_3"], all=True)]
    print(f"problems of the literature: {len(data)} solved, largest residual {worst:.1e}; CPS_3: {three}")


if __name__ == "__main__":
    three_masses()
    sliding()
    lcp(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
