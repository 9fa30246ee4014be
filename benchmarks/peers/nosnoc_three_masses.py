"""Three masses with friction (Stewart 1996, eq. (15)) in nosnoc (Python package `nosnoc`, with CasADi and IPOPT): time and
error of a run.

Optional: nothing happens where nosnoc is not installed (``pip install nosnoc``, which brings CasADi and IPOPT with MUMPS).

The model is that of nosnoc's own example of this problem: one subsystem of two regions per mass, time as a seventh state
because the forcing depends on it. The span is cut into equal intervals, each one complementarity problem in which every
finite element may end at a switch. Every setting of `BEST` is the fastest found by ``--scan`` that solves all problems and
stays below its error:

- four elements for an interval of 0.2 s, three for 1/6 s: an interval holds up to two switching points and one element more
  than switches leaves nosnoc room to place them; with fewer, IPOPT reports infeasible problems;
- Stewart's representation: with the step representation most problems fail;
- the differential form of the Runge-Kutta equations: the integral form (default) loses two digits to rounding in its
  coefficients and is slower;
- Radau IIA, which has the end of an element among its stages: Gauss-Legendre needs a further point there and fails often;
- few steps of the homotopy (slopes of 1e-2 ... 1e-4 instead of 0.1), each of which is a run of IPOPT;
- the end of the homotopy `sigma_N` and the tolerance of IPOPT follow the tolerance of complementarity, as in nosnoc's
  studies of order: with its default sigma_N = 1e-8 the tolerance is never reached.

Compiling the problem is not counted, nor is compiling here; both are printed. Run:
``python benchmarks/peers/nosnoc_three_masses.py [--scan]``
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import nonsmooth.filippov as fl
from nonsmooth.problems.three_mass import three_mass

PROBLEM = three_mass()


@dataclass(frozen=True)
class Settings:
    """What of nosnoc's options matters here, by their names there."""

    intervals: int = 50
    n_s: int = 4
    N_finite_elements: int = 4
    comp_tol: float = 1e-10
    homotopy_update_slope: float = 1e-4
    mpcc_mode: str = "SCHOLTES_INEQ"
    irk_representation: str = "DIFFERENTIAL"
    irk_scheme: str = "RADAU_IIA"
    pss_mode: str = "STEWART"
    fix_active_set_fe0: bool = False

    def __str__(self):
        return (
            f"{self.intervals} intervals of {self.N_finite_elements} elements, n_s = {self.n_s}, comp_tol {self.comp_tol:.0e}, "
            f"slope {self.homotopy_update_slope:.0e}, {self.mpcc_mode}, {self.irk_representation}"
            + (", first active set fixed" if self.fix_active_set_fe0 else "")
        )


#: Error to reach, and the settings that reach it in the shortest time.
BEST = {
    1e-3: Settings(60, 2, 3, 1e-4, 1e-2, "ELASTIC_INEQ"),
    1e-6: Settings(60, 3, 4, 1e-8, 1e-4, fix_active_set_fe0=True),
    1e-10: Settings(50, 4, 4, 1e-10, 1e-4, fix_active_set_fe0=True),
}

#: nosnoc's own example of the problem, there on half of the span.
EXAMPLE = Settings(240, 2, 3, 1e-6, 0.1)


@dataclass
class Outcome:
    """Of one simulation: times, largest error of the states at the ends of all intervals, problems that failed."""

    seconds: float
    setup: float
    error: float
    failed: int
    solved: int
    warned: int


@cache
def reference(intervals):
    """States at the ends of the intervals; the switching points of this run agree with the exact ones to 1e-13."""
    t = np.linspace(0.0, 10.0, intervals + 1)
    run = fl.solve_filippov(
        PROBLEM.system, PROBLEM.t_span, PROBLEM.x0, rtol=1e-13, atol=1e-13, method="DOP853", t_eval=t
    )
    assert np.abs(run.t_switch - PROBLEM.switching_times).max() < 1e-12
    assert np.abs(run.y[:, -1] - PROBLEM.end_state).max() < 1e-12
    return run.y


def model():
    """The problem as nosnoc wants it."""
    import casadi as ca
    import nosnoc

    x = ca.SX.sym("x", 7)  # positions, velocities, time
    smooth = ca.vertcat(
        x[3],
        x[4],
        x[5],
        -x[0] + (x[1] - x[0]) - x[3],
        (x[0] - x[1]) + (x[2] - x[1]) - x[4],
        (x[1] - x[2]) - x[5] + 10.0 * ca.cos(np.pi * x[6]),
        1.0,
    )
    friction = 0.3 * np.eye(7)[3:6]
    return nosnoc.NosnocModel(
        x=x,
        f_0=smooth,
        F=[ca.SX(np.column_stack([-push, push])) for push in friction],  # regions v > 0 and v < 0
        S=[np.array([[1], [-1]])] * 3,
        c=[x[3], x[4], x[5]],
        x0=np.append(PROBLEM.x0, 0.0),
    )


def options_of(settings):
    """nosnoc's options for `settings`."""
    import nosnoc

    options = nosnoc.NosnocOpts()
    options.terminal_time = 10.0 / settings.intervals
    for name in ("n_s", "N_finite_elements", "comp_tol", "homotopy_update_slope", "fix_active_set_fe0"):
        setattr(options, name, getattr(settings, name))
    options.mpcc_mode = nosnoc.MpccMode[settings.mpcc_mode]
    options.irk_representation = nosnoc.IrkRepresentation[settings.irk_representation]
    options.irk_scheme = nosnoc.IrkSchemes[settings.irk_scheme]
    options.pss_mode = nosnoc.PssMode[settings.pss_mode]
    options.sigma_N = settings.comp_tol
    options.print_level = 0
    # This dictionary belongs to the class: without a copy the tolerance of one run would stay for the next.
    options.opts_casadi_nlp = dict(
        options.opts_casadi_nlp, ipopt=dict(options.opts_casadi_nlp["ipopt"], print_level=0, sb="yes")
    )
    options.tol_ipopt = 1e-2 * settings.comp_tol
    return options


def run(settings):
    """One simulation on [0, 10]."""
    import nosnoc

    printed = io.StringIO()  # nosnoc prints a line for every run of IPOPT that fails
    with contextlib.redirect_stdout(printed):
        begin = time.perf_counter()
        problem = model()
        looper = nosnoc.NosnocSimLooper(
            nosnoc.NosnocSolver(options_of(settings), problem), problem.x0, settings.intervals
        )
        setup = time.perf_counter() - begin
        begin, begin_cpu = time.perf_counter(), time.process_time()
        looper.run()
        # The smaller of both: waiting for other processes does not count, nor does a second thread.
        seconds = min(time.perf_counter() - begin, time.process_time() - begin_cpu)
    states = np.asarray(looper.get_results()["X_sim"])[:: settings.N_finite_elements, :6].T
    error = float(np.abs(states - reference(settings.intervals)).max())
    failed = sum(status != nosnoc.Status.SUCCESS for status in looper.status)
    return Outcome(seconds, setup, error, failed, settings.intervals, printed.getvalue().count("Warning"))


def ours(bound, intervals, repeats=200):
    """(seconds, error, method, rtol) of the fastest run here with the same error bound on the same output."""
    exact = reference(intervals)
    t = np.linspace(0.0, 10.0, intervals + 1)

    def solve(method, rtol):
        return fl.solve_filippov(
            PROBLEM.system, PROBLEM.t_span, PROBLEM.x0, rtol=rtol, atol=rtol, method=method, t_eval=t
        )

    good = {}
    for method in ("RK45", "DOP853"):
        for rtol in 10.0 ** -np.arange(2.0, 13.1, 0.25):
            error = float(np.abs(solve(method, rtol).y - exact).max())
            if error <= bound:
                good.setdefault(method, []).append((rtol, error))
    picks = {(method, *pair): np.inf for method, pairs in good.items() for pair in pairs[:3]}
    for _ in range(repeats):
        for pick in picks:
            begin = time.perf_counter()
            solve(*pick[:2])
            picks[pick] = min(picks[pick], time.perf_counter() - begin)
    method, rtol, error = min(picks, key=picks.get)
    return picks[method, rtol, error], error, method, rtol


def installed():
    """Whether nosnoc can be imported; says so if not."""
    try:
        import nosnoc  # noqa: F401
    except ImportError:
        print("  nosnoc is not installed: its comparison is left out (pip install nosnoc to run it)")
        return False
    return True


def line(settings, outcome):
    """A row of a table."""
    return (
        f"{outcome.seconds:7.2f} s   error {outcome.error:.1e}   {outcome.failed} of {outcome.solved} problems and "
        f"{outcome.warned} runs of IPOPT failed; set-up {outcome.setup:.2f} s   {settings}"
    )


def compare(repeats=3):
    """Print both times for each error bound, and for the smallest error nosnoc reaches; returns {bound: ratio}, empty without
    nosnoc.
    """
    if not installed():
        return {}
    begin = time.perf_counter()
    reference(50)
    print(
        "  nosnoc against solve_filippov: largest error of the states at the ends of all intervals "
        f"(loading or compiling here {time.perf_counter() - begin:.1f} s, not counted)"
    )
    ratios = {}
    for bound, settings in BEST.items():
        outcome = min((run(settings) for _ in range(repeats)), key=lambda o: o.seconds)
        print(f"  {bound:.0e}  nosnoc          {line(settings, outcome)}")
        if outcome.error > bound or outcome.failed:
            print("         the bound is not met: no ratio")
            continue
        for target in (bound, outcome.error) if bound == min(BEST) else (bound,):
            seconds, error, method, rtol = ours(target, settings.intervals)
            ratios[target] = outcome.seconds / seconds
            print(
                f"         solve_filippov  {1e3 * seconds:7.3f} ms  error {error:.1e} <= {target:.1e}   {method}, "
                f"rtol {rtol:.1e}   {ratios[target]:.0f} x faster"
            )
    return ratios


def scan():
    """Print a line for each of many settings; about twenty minutes."""
    base = BEST[1e-10]
    settings = [EXAMPLE, replace(EXAMPLE, homotopy_update_slope=1e-3)]
    settings += [
        replace(base, intervals=intervals, N_finite_elements=elements, n_s=n_s, comp_tol=tol, homotopy_update_slope=slope,
                mpcc_mode=mode, fix_active_set_fe0=fix)
        for tol, slope, n_s_values in ((1e-4, 1e-2, (2,)), (1e-7, 1e-3, (3, 4)), (1e-9, 1e-3, (4,)), (1e-10, 1e-4, (4, 5)))
        for intervals, elements in ((25, 4), (25, 5), (50, 4), (60, 3), (60, 4), (100, 3), (100, 4), (200, 3))
        for n_s in n_s_values
        for mode in (("SCHOLTES_INEQ", "ELASTIC_INEQ") if tol > 1e-5 else ("SCHOLTES_INEQ",))
        for fix in (False, True)
    ]  # fmt: skip
    settings += [
        replace(base, irk_representation="INTEGRAL"),
        replace(base, irk_scheme="GAUSS_LEGENDRE"),
        replace(base, pss_mode="STEP", fix_active_set_fe0=False),
        replace(base, mpcc_mode="SCHOLTES_EQ"),
        replace(base, mpcc_mode="ELASTIC_INEQ"),
        replace(base, homotopy_update_slope=0.1),
    ]
    for one in settings:
        try:
            print(line(one, run(one)), flush=True)
        except Exception as error:
            print(f"  {type(error).__name__}: {error}   {one}", flush=True)


if __name__ == "__main__":
    if "--scan" in sys.argv[1:]:
        if installed():
            scan()
    else:
        compare()
