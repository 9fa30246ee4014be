"""`simulate`: a mechanical system, a span, a start; any scheme."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.compile_notice import first_use
from nonsmooth.control.driver import Driver
from nonsmooth.errors import InputError, ShapeError
from nonsmooth.model.check_derivatives import check_at_start
from nonsmooth.model.redundancy import independent
from nonsmooth.model.rotations import unit_quaternions
from nonsmooth.model.start import (
    as_state,
    check_functions,
    check_mass,
    check_normals,
    consistent_start,
    start_key,
)
from nonsmooth.model.uniqueness import check_unique
from nonsmooth.results.error_estimate import SHORTER, estimate, second_pass
from nonsmooth.results.result import Result
from nonsmooth.schemes.controllers import Controllers
from nonsmooth.schemes.jumps import as_text, step_on_jumps
from nonsmooth.schemes.methods import METHODS as METHODS
from nonsmooth.schemes.methods import chosen, handed_over, second_opinion
from nonsmooth.schemes.outcome import finish
from nonsmooth.schemes.prepare import most_steps, prepare
from nonsmooth.schemes.request import MEMORY_LIMIT, Request
from nonsmooth.schemes.sensitivities import checked_names
from nonsmooth.schemes.user_events import UserEvents, as_events


def simulate(
    system: Any,
    t_span: Sequence[float],
    q0: Any = None,
    u0: Any = None,
    method: Any = None,
    *,
    dt: float | None = None,
    t_eval: Any = None,
    every: int = 1,
    events: Any = None,
    dense_output: bool = False,
    controllers: Any = (),
    breakpoints: Sequence[float] = (),
    on_failure: str = "raise",
    dump_path: str | PathLike[str] = "failed_step.hdf5",
    on_energy_gain: str = "warn",
    project: bool = False,
    resolve: bool = False,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
    max_steps: int | None = None,
    memory_limit: float = MEMORY_LIMIT,
    time_limit: float | None = None,
    watch: bool = True,
    audit: bool = True,
    verify: bool = False,
    sensitivities: Sequence[str] | str = (),
    problem_name: str | None = None,
    coordinate_names: Sequence[str] = (),
    **options: Any,
) -> Result:
    """Simulate a mechanical system with contacts and friction.

    Parameters
    ----------
    system : MechanicalSystem or World
    t_span : (float, float)
        Begin and end. Systems with contacts or friction run forward only.
    q0, u0 : array_like, shape (n_q,), (n_u,)
        Start; a `World` has its own.
    method : str or scheme
        A name from `METHODS` (default: "moreau" with `dt`, else "event-driven", which hands over to "extrapolated-moreau" what it
        cannot do and says so in ``result.message``), or a configured object such as ``Moreau(dt=1e-3, solver=PSOR(tol=1e-12))``.
    dt : float
        Step size of a scheme with constant step.
    t_eval : array_like
        Instants to store; default: steps. Values are right limits.
    every : int
        Store every k-th step.
    events : callable or sequence of callables
        SciPy-style ``event(t, q, u[, p]) -> float``; its zeros are events of kind "event". Attributes: ``terminal`` (the run ends at the
        first, or n-th), ``direction`` (-1, 0, 1), ``reset(t, q, u[, p]) -> (q, u)`` (the run goes on from there), ``name``. A
        ``Switch(g, direction=..., terminal=..., reset=..., name=...)`` says the same.
    dense_output : bool
        Add ``result.sol(t)``, the state (q, u) at any instant, as accurate as the scheme is; the run takes several times as long.
    controllers : sequence of Sampled and Hysteresis
        What changes parameters during the run: outputs held between samples, switches with memory; ``result.outputs`` has what they
        did.
    breakpoints : sequence of float
        Instants at which `force`, `gap`, ... are discontinuous in time; steps end on them exactly. Runs with a tolerance look for
        instants that were left out (`DiscontinuityWarning`).
    on_failure : {"raise", "halve", "accept", "dump"}
        What to do when the contact problem of a step does not converge: raise `ConvergenceError`, take the step again in
        halves, go on with the step marked in the audit, or raise after writing the problem to `dump_path`.
    dump_path : path
        FCLIB file for ``on_failure="dump"``; read it with `read_fclib`.
    on_energy_gain : {"warn", "raise", "ignore"}
        What to do when an impact law created energy (Newton's law with friction can).
    project, resolve : bool
        Whether an inconsistent start (joints; deep overlap) may be corrected.
    output : path
        Stream columns to this directory (HDF5 segments) instead of memory; see `Result.load`.
    overwrite : bool
        Whether `output` may replace a former run.
    progress : bool
        Progress bar; by default on a terminal only. False: nothing is said about compilation either.
    max_steps : int
        Steps after which the run stops with `StepLimitError`; 1e7 by default where the scheme chooses its steps.
    memory_limit : float
        Bytes of output kept in memory, 4 GiB by default; longer runs are streamed (`output`) or thinned (`every`, `t_eval`).
    time_limit : float
        Seconds after which the run stops with `StepLimitError`.
    watch : bool
        End a run that no longer gets on (endless changes of mode, steps without progress) with `StepLimitError`.
    audit : bool
        Whether to recompute a sample of steps by a second route (not done for an interrupted run).
    verify : bool
        Run a second scheme, too, and put the deviation from it into ``result.verification``.
    sensitivities : sequence of str
        Names of what to differentiate by: "q0", "u0", parameters, components such as "q0[1]". ``result.sensitivity`` has the
        derivatives of states and event times (method "event-driven").

    Returns
    -------
    Result
        With the fields ``t, q, u, P_N, P_T, modes, events, audit`` and others.

    Raises
    ------
    InputError
        Before any step; names the argument and the cure.
    SolverError, IntegrationError
        During the run, with the result so far as ``exc.partial``.
    """
    _check_system(system)
    if hasattr(system, "start"):  # a world knows where its bodies are
        q0, u0 = (own if given is None else given for own, given in zip(system.start(), (q0, u0)))
        coordinate_names = coordinate_names or system.coordinate_names
    request = Request(
        t_span, t_eval, every, dense_output, breakpoints, on_failure, dump_path, on_energy_gain, output, overwrite, progress, max_steps,
        memory_limit, time_limit, watch, audit, problem_name or system.name, coordinate_names,
    )  # fmt: skip
    q, u = _start(system, q0, u0)
    scheme = _differentiated(chosen(method, dt, options), sensitivities, output, controllers)
    asked = as_events(events)
    request.segments(scheme)  # refuses what cannot be stepped through
    with first_use(scheme.name, progress, getattr(scheme, "compile_seconds", None)), system.running():
        begun = _begin(system, request, scheme, method is None, asked, controllers, q, u, project, resolve)
        result = _driven(begun, request)
    (t_0, t_1), q, u = request.t_span, begun.q, begun.u  # as the run began

    def again(method):
        """The same run by another scheme or to another tolerance."""
        end = float(result.t[-1]) if len(result) and result.status != 1 else t_1
        return simulate(
            system, (t_0, end), q, u, method, events=events, controllers=controllers, breakpoints=request.breakpoints,
            on_failure=on_failure, on_energy_gain="ignore", progress=False, time_limit=time_limit, audit=False,
        )  # fmt: skip

    _estimate_later(begun.scheme, result, again)
    if verify:
        other = second_opinion(begun.scheme, begun.model)
        result.verification = estimate(result, lambda: again(other), f"{other.name}, rtol = {other.rtol:g}")
    return result


def _check_system(system: Any) -> None:
    if hasattr(system, "bind"):
        return
    cure = "; run it with problem.simulate(...), or pass problem.system" if hasattr(system, "system") else ""
    raise InputError(f"`system` is of class {type(system).__name__}: a MechanicalSystem is wanted{cure}.")


def _start(system, q0, u0) -> tuple[np.ndarray, np.ndarray]:
    """The start as two vectors that fit together."""
    q, u = unit_quaternions(as_state(q0, "q0"), system.quaternions), as_state(u0, "u0")
    if system.kinematics is None and q.shape != u.shape:
        raise ShapeError(f"`q0` has shape {q.shape} and `u0` has shape {u.shape}: they must agree.")
    return q, u


def _given(controllers) -> bool:
    """Whether there are any."""
    return not isinstance(controllers, tuple | list) or len(controllers) > 0


def _differentiated(scheme, sensitivities, output, controllers):
    """The scheme, asked for derivatives too if any are wanted."""
    if not sensitivities:
        return scheme
    scheme = scheme.differentiated(checked_names(sensitivities))
    if output is not None or _given(controllers):
        raise InputError("`sensitivities` cannot be combined with `output` or `controllers`: leave one out.")
    return scheme


class _Begun(NamedTuple):
    """A run before its first step."""

    model: Any
    scheme: Any
    q: np.ndarray
    u: np.ndarray
    simulation: Any
    said: list[str]  # before the message of the run
    ambiguous: list[Any]  # continuations of the start, if it has several


def _begin(system, request: Request, scheme, free, asked, controllers, q, u, project, resolve) -> _Begun:
    """Bind the model, check and correct the start, look for jumps in time, make the run ready; `free`: the scheme may hand over."""
    t_0, t_1 = request.t_span
    system.pieces.cut(request.borders())
    model = system.bind(t_0, q, u)
    scheme, why = handed_over(scheme, model) if free else (scheme, "")
    q, u, ambiguous = _consistent(model, scheme, request, q, u, project, resolve)
    found = step_on_jumps(model, scheme, request)
    if found:
        system.pieces.cut(request.borders())
        model = system.bind(t_0, q, u)  # derivatives in time do not reach across
    model = independent(system, model, t_0, q, u)
    control = Controllers(controllers, model, t_0, t_1, q, u) if _given(controllers) else None
    if control is not None:
        asked = [*asked, *control.events()]
    segments = request.segments(scheme, control.instants() if control is not None else ())
    watched = UserEvents(asked, model, t_0, q, u) if asked else None
    simulation = prepare(model, scheme, request, segments, q, u, watched, control)
    said = [text for text in (why, as_text(found) if found else "") if text]
    return _Begun(model, scheme, q, u, simulation, said, ambiguous)


def _consistent(model, scheme, request: Request, q, u, project: bool, resolve: bool):
    """The start as the run begins from it, and its continuations if it has several; functions, mass, directions, joints and gaps are
    checked."""
    t_0, span = request.t_span[0], request.t_span[1] - request.t_span[0]
    if not getattr(scheme, "drives", False) and getattr(model, "inputs", None) is not None:
        raise InputError(
            f'a Servo has inputs of its own, which {scheme.name!r} cannot find: use method="sliding-mode", or leave `input` out.'
        )
    _check_start(model, t_0, q, u)
    reaches, dt = getattr(scheme, "reaches", False), getattr(scheme, "dt", None)
    q, u = consistent_start(model, t_0, q, u, project, resolve, span, reaches, dt)
    return q, u, check_unique(model, t_0, q, u, span)


def _check_start(model, t: float, q, u) -> None:
    """Functions, mass matrix, directions and given derivatives at the start; once for all runs from it."""
    checked = getattr(model, "checked", {})
    start = start_key(model, t, q, u)
    if checked.get("start") == start:
        return
    check_functions(model, t, q, u)
    check_mass(model, t, q)
    check_normals(model, t, q)
    check_at_start(model, t, q, u)
    checked["start"] = start


def _driven(begun: _Begun, request: Request) -> Result:
    """From the first step to the result."""
    simulation = begun.simulation
    plan, finished = (
        simulation.plan,
        partial(finish, begun.model, begun.scheme, simulation, request, begun.said),
    )
    if plan.segments:
        result = Driver(
            simulation, finished, request.t_span, "simulate", max_steps=most_steps(plan, request), time_limit=request.time_limit,
            progress=request.progress, watch=request.watch and plan.adaptive,
        ).drive()  # fmt: skip
    else:
        result = finished(0, "the span is empty")  # the start is the result
    if begun.ambiguous:
        result.extra["ambiguous"] = begun.ambiguous + result.ambiguous
    return result


def _estimate_later(scheme, result: Result, again) -> None:
    """``result.error_estimate`` of a scheme that keeps a tolerance: a second pass when somebody looks at it."""
    rtol = getattr(scheme, getattr(scheme, "tolerance", "rtol"), None)
    if not rtol or not scheme.keeps_tolerance():
        return

    def second():
        factor, against = second_pass(rtol, scheme.tolerance)
        # steps that were as long as they may be would be so again, with the same error
        other = scheme.with_tolerance(factor, dt_max=SHORTER * float(np.max(result.dt, initial=0.0)))
        return partial(again, other), against

    result._second = second
