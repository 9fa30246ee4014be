"""Front door for Filippov systems: ``solve_filippov(FilippovSystem(smooth, groups), t_span, x0)``.

The method is Algorithm 2 of D. E. Stewart, *A numerical method for friction problems with multiple
contacts*, J. Austral. Math. Soc. Ser. B 37 (1996) 288-308: between switching points the differential
inclusion is an ordinary differential equation (the sliding vector field of the active set, eqs. (9)-(11))
that any smooth integrator solves to its full order; switching points are located on the integration itself;
there the next active set comes from a linear complementarity problem, eq. (13).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from nonsmooth._core.compile_notice import first_use
from nonsmooth.control.driver import Driver
from nonsmooth.errors import InputError
from nonsmooth.integrators.driver import METHODS
from nonsmooth.model.system import MechanicalSystem
from nonsmooth.results.error_estimate import SHORTER, estimate, second_pass
from nonsmooth.sliding import arguments
from nonsmooth.sliding.compiled import compile_system
from nonsmooth.sliding.groups import FilippovSystem, Group, relay, sign_term
from nonsmooth.sliding.mechanics import from_mechanical
from nonsmooth.sliding.outcome import result_of
from nonsmooth.sliding.run import FilippovRun, Options

__all__ = ["FilippovSystem", "Group", "relay", "sign_term", "solve_filippov"]

#: A second integrator for `verify`.
OTHER_METHOD = {"RK23": "RK45", "DOP853": "RKF78", "Radau": "SDIRK4", "SDIRK4": "Radau"}

#: Comparison methods of Stewart 1996, sec. 5.
SELECTION_METHODS = ("taubert-euler", "taubert-rk4")


def solve_filippov(
    system,
    t_span,
    x0,
    *,
    method=None,
    rtol=1e-6,
    atol=None,
    t_eval=None,
    dense_output=False,
    first_step=None,
    max_step=np.inf,
    dt=None,
    choose=None,
    epsilon=None,
    location=None,
    max_steps=10**7,
    max_events=10**6,
    time_limit=None,
    progress=None,
    facets=None,
    verify=False,
):
    """Solve ``x' in F(t, x)`` for a Filippov system given by regions.

    Parameters
    ----------
    system : FilippovSystem, or MechanicalSystem with friction elements only
        A mechanical system is converted (one group per friction element); its state is (q, u).
    t_span : (float, float)
        Forward in time only: Filippov solutions are not reversible.
    x0 : array_like, shape (n,)
    method : str, optional
        A smooth integrator (RK23, RK45, RKF78, DOP853, SDIRK4, Radau), or one of Taubert's selection methods
        "taubert-euler" and "taubert-rk4", which need `dt`. Default: RK45, or DOP853 for rtol below 1e-7.
    rtol, atol : float or array_like
        Tolerances of the integrator. Default of atol: rtol times the size of the start (of x0, or of what
        the field makes of it in a hundredth of the span).
    t_eval : array_like, optional
        Instants of the output; values at switching points are right limits. Default: the ends of all steps,
        switching points twice.
    dense_output : bool
        Add ``result.sol(t)``.
    first_step, max_step : float
        Default of max_step: a twenty-fifth of the span, so that indicators moving with time alone are not stepped over.
    dt : float, optional
        Steps of fixed size (cut at switching points) instead of step-size control.
    choose : callable, optional
        ``choose(t, x, candidates) -> index`` or ``(index, t_star)`` decides where the solution is not
        unique; `candidates` are active sets, a tuple of region numbers for each group. With `t_star` the
        choice is asked again at that time (Step 5 of Algorithm 2). Default: the set with the fewest members,
        then the order of the regions, with a `NonUniqueWarning`.
    epsilon : float, optional
        Relative width of the epsilon-active sets, default ``0.1 rtol``.
    location : float or "dense", optional
        By default a switching point is located on the dense output, and the step repeated up to it where the defect of the
        interpolant there exceeds the tolerance. A number is a relative bound of the switching function at the point, which
        is then located on the integration itself. "dense" takes the dense output as it is: of its lower order.
    max_steps, max_events : int
    time_limit : float, optional
        Seconds after which the run is stopped, with an error that carries the result so far.
    progress : bool, optional
        Show a progress bar; by default on a terminal only. False: nothing is said about compilation either.
    facets : int, optional
        For a mechanical system with friction in a plane: the disk of forces is replaced by a regular polygon of the same
        area with this even number of sides.
    verify : bool
        Run a second integrator, too, and put the deviation into ``result.verification``.

    Returns
    -------
    Result
        ``t``, ``y``; ``modes`` (regions, times): 0 inactive, 1 member of a sliding set, 2 the only active
        region; ``events`` with kinds "switch" (crossing), "stick" (sliding begins), "slip" (sliding ends),
        "zeno" (accumulation), `before` and `after` being the active regions of the group; ``sliding_sets``:
        list of (t_begin, t_end, active set); ``evaluations``: numbers of evaluations of f_k, h_k, grad h_k
        and their "total" f + h + 6 grad h as Stewart counts them; ``located``: how many switching points were taken
        from the dense output and how many from the integration; ``notes``; ``audit``: the run checked by a second route,
        made when it is first looked at.

    Raises
    ------
    InputError, ShapeError, NonFiniteError, ModelError
        Unusable arguments, before any step.
    NonFiniteStateError, StepLimitError, EventError
        Trouble in the run; ``exc.partial`` is the result so far.

    Examples
    --------
    >>> import nonsmooth as ns
    >>> friction = ns.sign_term(-1.0, [1.0], [1.0])              # -sgn(x)
    >>> system = ns.FilippovSystem(lambda t, x: np.array([0.5 * np.cos(t)]), [friction])
    >>> result = ns.solve_filippov(system, (0, 10), [0.3], rtol=1e-8)
    """
    t0, t1 = arguments.span(t_span)
    x = arguments.start(x0)
    system = _as_filippov(system, t0, x, facets)
    with first_use("solve_filippov", progress):
        compiled = compile_system(system, t0, x)
    rtol, dt = arguments.relative_tolerance(rtol), arguments.positive(dt, "dt")
    times = arguments.instants(t_eval, t0, t1)
    method = _integrator(method, rtol, dt)
    if method in SELECTION_METHODS:
        from nonsmooth.sliding.taubert import solve_taubert

        with first_use("solve_filippov", progress):
            return solve_taubert(compiled, system, (t0, t1), x, method, dt, times)
    options = Options(
        method=method, rtol=rtol, atol=arguments.absolute_tolerance(atol, rtol, compiled, t0, t1, x),
        fixed=dt is not None, dense=dense_output or times is not None,
        **arguments.steps(t0, t1, dt, first_step, max_step, max_steps, max_events), **arguments.switching(choose, location, epsilon),
    )  # fmt: skip
    time_limit = arguments.positive(time_limit, "time_limit")
    result = _driven(system, compiled, (t0, t1), x, options, times, dense_output, time_limit, progress)
    if dt is None:
        _have_second_pass(
            result, system, (t0, t1), x, options, verify, t_eval=t_eval, first_step=options.first_step or None, time_limit=time_limit
        )  # fmt: skip
    return result


def _integrator(method, rtol, dt) -> str:
    """The name of the integrator, or of a selection method."""
    if method is None:
        return "DOP853" if rtol < 1e-7 and dt is None else "RK45"
    if isinstance(method, str) and (method in METHODS or method in SELECTION_METHODS):
        return method
    known = ", ".join([*METHODS, *SELECTION_METHODS])
    raise InputError(f"solve_filippov: method {method!r} is unknown; use one of {known}")


def _driven(system, compiled, span, x, options, times, dense_output, time_limit, progress):
    """The run and its result."""
    names = [system.group_name(j) for j in range(len(system.groups))]
    run = FilippovRun(compiled, names, span, x, options)

    def outcome(status, message):
        done = status == 0
        return result_of(
            system, run, x, times if done else None, dense_output, status, "" if done else message
        )

    driver = Driver(
        run, outcome, span, "solve_filippov", max_steps=options.max_steps, time_limit=time_limit, progress=progress
    )  # fmt: skip
    with first_use("solve_filippov", progress):
        result = driver.drive()
    run.release()
    return result


def _have_second_pass(result, system, span, x, options, verify, **told):
    """What an estimate of the error compares with: the same run with other tolerances; with `verify` another integrator at once."""

    def again(method=options.method, factor=1.0):
        return solve_filippov(
            system, span, x, method=method, rtol=options.rtol * factor, atol=np.multiply(options.atol, factor), epsilon=options.epsilon,
            max_step=SHORTER * options.max_step, choose=options.choose, location=options.location,
            max_steps=10 * options.max_steps, max_events=10 * options.max_events, progress=False, **told,
        )  # fmt: skip

    def second():
        factor, against = second_pass(options.rtol)
        return partial(again, factor=factor), against

    result._second = second
    if verify:
        other = OTHER_METHOD.get(options.method, "DOP853")
        result.verification = estimate(result, lambda: again(method=other), f"integrator {other}")


def _as_filippov(system, t0, x, facets):
    if isinstance(system, FilippovSystem):
        return system
    if isinstance(system, MechanicalSystem):
        return from_mechanical(system, t0, x, facets)
    raise InputError(
        f"solve_filippov: system is {type(system).__name__}, wanted a FilippovSystem, "
        "or a MechanicalSystem with friction elements"
    )
