"""Compere 2001, chapter 5: Tables 5.3 to 5.6, paper | here. Rows marked S are substitutes (the originals are
not available).

python benchmarks/papers/compere2001_dode.py
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from nonsmooth._core.jit import user_kernel
from nonsmooth.ivp import Switch, solve_ivp
from nonsmooth.problems.bouncing_balls import bouncing_balls
from nonsmooth.problems.diode_circuit import diode_circuit
from nonsmooth.problems.marble_jar import marble_jar, smooth_right_hand_side
from nonsmooth.problems.square_wave import closing_events, square_wave, tangential

NEVER = Switch(user_kernel(lambda t, y: 1.0), name="never")
HEAD = f"{'problem':42s}{'N_ev':>7s}{'N_rhs':>9s}{'N_acc':>8s}{'N_rej':>8s}{'N_it':>8s}{'II':>5s}{'III':>5s}"


def solve(problem, tol=None, **extra):
    """A run as in the paper: Dormand-Prince, step choice (5.7), (5.8)."""
    options = {"controller": "compere", **problem.options, **extra}
    if tol is not None:
        options |= {"rtol": tol, "atol": tol}
    return solve_ivp(
        problem.fun, problem.t_span, problem.y0, switches=problem.switches, compile=True, **options
    )


def counts(result):
    """N_ev (instants), N_rhs as the paper counts it, N_acc, N_rej, N_it and cases II, III."""
    instants = len({event.t for event in result.events if event.kind != "touch"})
    n_rhs = 6 * (result.nsteps + result.nrejected + result.niterations) + 2 * instants + 1
    return instants, n_rhs, result.nsteps, result.nrejected, result.niterations, result.case_2, result.case_3


def row(label, numbers):
    n_ev, n_rhs, n_acc, n_rej, n_it, two, three = numbers
    print(f"{label:42s}{n_ev:7d}{n_rhs:9d}{n_acc:8d}{n_rej:8d}{n_it:8d}{two:5d}{three:5d}")


def tables_5_3_and_5_4():
    print("Tables 5.3, 5.4 (eps_x = 1e-5; paper: other problems of the same difficulty)")
    print(HEAD)
    paper = {
        "BOK 1, A = 0.35": (3, 307, 42, 3, 5, 0, 0),
        "BOK 1, A = 0.41": (1, 237, 35, 2, 2, 0, 0),
        "BOK 2": (16, 1041, 123, 16, 29, 0, 0),
        "BOK 3": (20, 725, 58, 20, 36, 0, 0),
        "Carver 1": (3, 229, 30, 3, 4, 0, 0),
        "Carver 3": (22, 873, 88, 27, 23, 0, 0),
    }
    here = {
        "BOK 1, A = 0.35": tangential(0.35),
        "BOK 1, A = 0.41": tangential(0.41),
        "BOK 2": closing_events(),
        "BOK 3": bouncing_balls(2, "restitution", offset=1e-3, t_end=3.62),
        "Carver 1": square_wave(),
        "Carver 3": diode_circuit(),
    }
    for label, numbers in paper.items():
        row(f"{label} (paper)", numbers)
        problem = here[label]
        result = solve(problem, 1e-5)
        row(f"{problem.name} (here, S)", counts(result))
        if "t_events" in problem.reference:
            found = np.array([event.t for event in result.events if not event.extra.get("start")])
            print(
                f"{'':8s}largest error of the event times: {np.abs(found - problem.reference['t_events']).max():.1e}"
            )


def table_5_5():
    print("\nTable 5.5: 100 bouncing balls (k/m, damping, t_final chosen here)")
    print(HEAD)
    paper = (1200, 31423, 1239, 1200, 2398, 0, 0)
    row("no ROC (paper)", paper)
    problem = bouncing_balls()
    alone = solve(problem)
    row("no ROC (here)", counts(alone))
    row("no ROC, Hermite detection (here)", counts(solve(problem, detection="hermite")))
    row("with ROC (paper)", (18, 685, 57, 18, 33, 0, 0))
    together = solve(problem, concurrency=(1e-7, 1e-6))
    row("with ROC (here)", counts(together))
    here = counts(alone)
    steps, iterations = (6 * (sum(here[part]) - sum(paper[part])) for part in (slice(2, 4), slice(4, 5)))
    print(
        f"{'':8s}no ROC: {here[1] - paper[1]:+d} right-hand sides against the paper, {iterations:+d} by iterations and "
        f"{steps:+d} by steps:\n{'':8s}one integration an event where the paper needs two, since the estimate on the dense "
        f"output is within eps_d at once"
    )
    print(
        f"{'':8s}events {len(alone.events)} and {len(together.events)}; largest difference of the end states with and "
        f"without ROC {np.abs(alone.y[:, -1] - together.y[:, -1]).max():.1e} at eps_x = 1e-3,"
    )
    sharp = [solve(problem, 1e-9, **extra).y[:, -1] for extra in ({}, {"concurrency": (1e-7, 1e-6)})]
    print(f"{'':8s}{np.abs(sharp[0] - sharp[1]).max():.1e} at eps_x = 1e-9")


def table_5_6():
    print("\nTable 5.6, Fig. 5.12: marble jar (S: definition of our own), counted as in the paper, undamped")
    print(
        f"{'':34s}{'N_rhs smooth':>13s}{'here':>9s}{'ratio':>7s}{'dE smooth':>12s}{'dE here':>11s}{'ratio':>8s}"
    )
    print("paper N = 10, 1e-3                       414025    98385   4.21    2.81e-02   3.55e-03     7.9")
    print("paper N = 10, 1e-6                       439147   132283   3.32    3.01e-04   3.34e-05     9.0")
    print("paper N = 2, N = 16 (Fig. 5.12, tolerance not given)       4.6 and 2.8")
    for n, stiffness in (
        (2, 1e14),
        (4, 1e14),
        (8, 1e14),
        (10, 1e14),
        (16, 1e14),
        (2, 1e10),
        (2, 1e12),
        (16, 1e10),
        (16, 1e12),
    ):
        problem = marble_jar(n, t_end=4.0 if n < 4 else 1.0, stiffness=stiffness)
        smooth = smooth_right_hand_side(problem)
        for tol in (1e-3, 1e-4, 1e-6):
            result = solve(problem, tol)
            options = {**problem.options, "rtol": tol, "atol": tol}
            plain = solve_ivp(smooth, problem.t_span, problem.y0, switches=[NEVER], compile=True, **options)
            spread = [np.ptp([problem.energy(y) for y in run.y.T]) for run in (plain, result)]
            n_smooth, n_here = 6 * (plain.nsteps + plain.nrejected) + 1, counts(result)[1]
            print(
                f"here N = {n:2d}, {tol:.0e}, k = {stiffness:.0e}   {n_smooth:16d}{n_here:9d}{n_smooth / n_here:7.2f}"
                f"{spread[0]:12.2e}{spread[1]:11.2e}{spread[0] / spread[1]:8.1f}"
            )
    for n in (2, 10):
        for tol in (1e-3, 1e-6):
            # Marbles at rest: softer, so that an explicit method gets through.
            result = solve(marble_jar(n, damping=2e4, stiffness=1e10, t_end=1.0), tol)
            print(
                f"here damped N = {n:2d}, {tol:.0e}, k = 1e+10: status {result.status}, {len(result.events)} events, "
                f"N_rhs {counts(result)[1]}"
            )


def main():
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    tables_5_3_and_5_4()
    table_5_5()
    table_5_6()
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
