"""`simulate`: a mechanical system, a span, a start; any scheme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from nonsmooth._core.compile_notice import first_use
from nonsmooth._core.records.laws import USER_SET
from nonsmooth.control.driver import Driver
from nonsmooth.errors import (
    InputError,
    NonFiniteError,
    RangeError,
    ShapeError,
    StepLimitError,
)
from nonsmooth.model.check_derivatives import check_at_start
from nonsmooth.model.names import check_label
from nonsmooth.model.rotations import unit_quaternions
from nonsmooth.model.start import as_state, check_functions, check_mass, check_normals, consistent_start
from nonsmooth.model.uniqueness import check_unique
from nonsmooth.results.dense import NODES
from nonsmooth.results.error_estimate import SHORTER, estimate, second_pass
from nonsmooth.results.result import Result
from nonsmooth.schemes import outcome
from nonsmooth.schemes.adaptive import AdaptiveMoreau
from nonsmooth.schemes.base import ConstantStep, Plan
from nonsmooth.schemes.controllers import Controllers
from nonsmooth.schemes.event_capturing import EventCapturing
from nonsmooth.schemes.event_driven import STIFF, EventDriven
from nonsmooth.schemes.extrapolation import ExtrapolatedMoreau
from nonsmooth.schemes.generalized_alpha import GeneralizedAlpha
from nonsmooth.schemes.moreau import Moreau
from nonsmooth.schemes.schatzman_paoli import SchatzmanPaoli
from nonsmooth.schemes.sensitivities import VariedEventDriven, checked_names
from nonsmooth.schemes.simulation import Simulation
from nonsmooth.schemes.sliding_mode import SlidingMode
from nonsmooth.schemes.theta import Theta
from nonsmooth.schemes.user_events import UserEvents, as_events

#: Schemes by name. A value is a class of options; an instance of it is accepted as `method`, too.
METHODS: dict[str, Any] = {
    scheme.name: scheme
    for scheme in (
        Moreau,
        Theta,
        SchatzmanPaoli,
        AdaptiveMoreau,
        ExtrapolatedMoreau,
        EventDriven,
        EventCapturing,
        SlidingMode,
        GeneralizedAlpha,
    )
}

MEMORY_LIMIT = 4 * 2**30  # bytes of output kept in memory; longer runs are streamed to a file
MOST_STEPS = 10**7  # of a scheme that chooses its steps, unless a user says otherwise
STREAM_ROWS = 16384


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
        Instants at which `force`, `gap`, ... are discontinuous in time; steps end on them exactly.
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
    t_0, t_1 = _span(t_span)
    if not hasattr(system, "bind"):
        cure = (
            "; run it with problem.simulate(...), or pass problem.system" if hasattr(system, "system") else ""
        )
        raise InputError(f"`system` is of class {type(system).__name__}: a MechanicalSystem is wanted{cure}.")
    if hasattr(system, "start"):  # a world knows where its bodies are
        start = system.start()
        q0, u0 = (own if given is None else given for own, given in zip(start, (q0, u0)))
        coordinate_names = coordinate_names or system.coordinate_names
    q, u = as_state(q0, "q0"), as_state(u0, "u0")
    q = unit_quaternions(q, system.quaternions)
    _choice("on_failure", on_failure, ("raise", "halve", "accept", "dump"))
    _choice("on_energy_gain", on_energy_gain, ("warn", "raise", "ignore"))
    if system.kinematics is None and q.shape != u.shape:
        raise ShapeError(f"`q0` has shape {q.shape} and `u0` has shape {u.shape}: they must agree.")
    every = _whole("every", every)
    check_label(problem_name, "`problem_name`")
    for k, name in enumerate(coordinate_names):
        check_label(name, f"`coordinate_names[{k}]`")
    if max_steps is not None:
        max_steps = _whole("max_steps", max_steps)
    if time_limit is not None and not (isinstance(time_limit, int | float) and time_limit > 0):
        raise RangeError(f"`time_limit` is {time_limit!r}: a positive number of seconds is wanted.")
    asked = as_events(events)
    if dense_output and (t_eval is not None or every > 1 or output is not None):
        raise InputError(
            "`dense_output` needs all steps in memory: leave out `t_eval`, `every` and `output`; result.sol(t) gives any instant."
        )
    scheme = _scheme(method, dt, options)
    by = checked_names(sensitivities)
    if by:
        scheme = _with_sensitivities(scheme, by, output, controllers)
    segments = _segments(t_0, t_1, breakpoints, scheme)
    instants = _instants(t_eval, t_0, t_1)
    with first_use(scheme.name, progress, getattr(scheme, "compile_seconds", None)), system.running():
        model = system.bind(t_0, q, u)
        scheme, why = _handed_over(scheme, model) if method is None else (scheme, "")
        if not getattr(scheme, "drives", False) and getattr(model, "inputs", None) is not None:
            raise InputError(
                f'a Servo has inputs of its own, which {scheme.name!r} cannot find: use method="sliding-mode", or leave `input` out.'
            )
        _check_start(model, t_0, q, u)
        q, u = consistent_start(
            model,
            t_0,
            q,
            u,
            project,
            resolve,
            t_1 - t_0,
            getattr(scheme, "reaches", False),
            getattr(scheme, "dt", None),
        )
        check_unique(model, t_0, q, u, t_1 - t_0)
        control = Controllers(controllers, model, t_0, t_1, q, u) if _some(controllers) else None
        if control is not None:
            asked = [*asked, *control.events()]
            segments = _segments(t_0, t_1, [*np.ravel(breakpoints), *control.instants()], scheme)
        watched = UserEvents(asked, model, t_0, q, u) if asked else None
        result = _run(
            model, scheme, t_0, segments, q, u, instants, every, on_failure, on_energy_gain, output, overwrite, progress,
            max_steps, time_limit, audit, problem_name or system.name, coordinate_names, dump_path, watched, dense_output,
            memory_limit, watch, control,
        )  # fmt: skip
    if why:
        result.message += f"; {why}"
        if result.audit is not None:
            result.audit.notes.append(why)

    def again(method):
        """The same run by another scheme or to another tolerance."""
        end = float(result.t[-1]) if len(result) and result.status != 1 else t_1
        return simulate(
            system, (t_0, end), q, u, method, events=events, controllers=controllers,
            breakpoints=breakpoints, on_failure=on_failure, on_energy_gain="ignore", progress=False, time_limit=time_limit, audit=False,
        )  # fmt: skip

    tighter, against = _tighter(scheme, result)
    if tighter is not None:
        result._second = (lambda: again(tighter)), against
    if verify:
        other = _other_scheme(scheme, model)
        result.verification = estimate(result, lambda: again(other), f"{other.name}, rtol = {other.rtol:g}")
    return result


def _with_sensitivities(scheme, names, output, controllers):
    """The scheme that carries derivatives along."""
    if not isinstance(scheme, EventDriven):
        raise InputError(
            f'`sensitivities` are found by method="event-driven", not by {scheme.name!r}: leave `dt` out, or name it.'
        )
    if scheme.integrator == STIFF:
        raise InputError(f"`sensitivities` need an explicit integrator, not {STIFF!r}.")
    if output is not None or _some(controllers):
        raise InputError("`sensitivities` cannot be combined with `output` or `controllers`: leave one out.")
    return VariedEventDriven.of(scheme, names)


def _tighter(scheme, result):
    """The scheme of a second pass with another tolerance and what it is called; None for schemes that keep none."""
    known = {entry.name for entry in fields(scheme)} if is_dataclass(scheme) else set()
    name = "tol" if isinstance(scheme, AdaptiveMoreau) else "rtol"
    rtol = getattr(scheme, name, None)
    fixed = isinstance(scheme, ExtrapolatedMoreau) and scheme.order is not None
    if name not in known or not rtol or fixed:
        return None, ""
    factor, against = second_pass(rtol, name)
    changes = {name: factor * rtol}
    if "atol" in known and scheme.atol:
        changes["atol"] = factor * scheme.atol
    # steps that were as long as they may be would be so again, with the same error
    shorter = SHORTER * float(np.max(result.dt, initial=0.0))
    if "dt_max" in known and shorter > (getattr(scheme, "dt_min", None) or 0.0):
        changes["dt_max"] = shorter
    return replace(scheme, **changes), against


def _other_scheme(scheme, model):
    """A second scheme for `verify`: the other one of those that keep a tolerance."""
    rtol = getattr(scheme, "rtol", 1e-8)
    user_sets = bool(np.any(model.laws.kind == USER_SET))  # whose modes `event-driven` cannot tell apart
    return (
        ExtrapolatedMoreau(rtol=rtol)
        if isinstance(scheme, EventDriven) or user_sets
        else EventDriven(rtol=rtol)
    )


def _check_start(model, t: float, q, u) -> None:
    """Functions, mass matrix, directions and given derivatives at the start; once for all runs from it."""
    checked = getattr(model, "checked", {})
    start = (t, q.tobytes(), u.tobytes(), model.parameters.flat.tobytes())
    if checked.get("start") == start:
        return
    check_functions(model, t, q, u)
    check_mass(model, t, q)
    check_normals(model, t, q)
    check_at_start(model, t, q, u)
    checked["start"] = start


def _run(
    model, scheme, t_0, segments, q, u, instants, every, on_failure, on_energy_gain, output, overwrite, progress, max_steps,
    time_limit, audit, problem_name, coordinate_names, dump_path, watched, dense_output,
    memory_limit, watch, control,
):  # fmt: skip
    laws = model.laws
    steps = scheme.estimate_steps(segments) if segments else 0
    adaptive = steps is None
    columns = instants.size if instants is not None else STREAM_ROWS if adaptive else steps // every + 2
    bytes_per_column = 8 * (6 + model.n_q + model.n_u + laws.n_rows) + laws.n_laws
    if output is None and columns * bytes_per_column > memory_limit:
        raise InputError(
            f"{columns} columns of output would take {columns * bytes_per_column / 2**30:.1f} GiB of memory: store every k-th "
            "step (every=k), give t_eval, stream to a file (output=path), or raise memory_limit (bytes)."
        )
    if max_steps is None and adaptive:
        max_steps = MOST_STEPS
    # the last entry is never reached: the loop stores what is asked for and nothing else
    later = np.zeros(0) if instants is None else np.append(instants[instants > t_0], math.inf)
    plan = Plan(
        segments=segments,
        t_eval=later,
        every=every,
        capacity=max(columns + 1 if output is None else min(columns, STREAM_ROWS), 4),
        accept=on_failure == "accept",
        keep_begin=(instants is not None or every > 1) and not adaptive,
        watched=watched,
        controllers=control,
        nodes=NODES if dense_output and adaptive else (),
    )
    if output is not None and instants is not None:
        plan.capacity = columns + 1  # one row to spare: a full buffer stops the loop
    origin = {
        "method": scheme.name, "method_options": scheme.options(), "problem_name": problem_name, "params": model.params,
        "law_names": laws.name, "coordinate_names": tuple(coordinate_names),
    }  # fmt: skip
    writer = None
    if output is not None:
        from nonsmooth.results.stream import StreamWriter

        layout = {
            "t": None, "q": model.n_q, "u": model.n_u, "P_N": laws.n_N, "P_T": laws.n_rows - laws.n_N - laws.n_J,
            "P_J": laws.n_J, "modes": laws.n_laws, "dt": None, "order": None, "residual": None, "iterations": None,
        }  # fmt: skip
        writer = StreamWriter(output, layout, overwrite=overwrite, **origin)

    run = scheme.start(model, t_0, q, u, plan)
    if instants is None or (instants.size and instants[0] == t_0):
        run.store_start(t_0)

    simulation = Simulation(run, plan, on_failure, writer, dump_path, memory_limit)

    def finish(status, message):
        return outcome.finish(
            model, scheme, simulation, status, message, audit, on_energy_gain, origin, dense_output
        )

    if not segments:  # an empty span: the start is the result
        return finish(0, "the span is empty")
    return Driver(
        simulation,
        finish,
        (t_0, segments[-1][1]),
        "simulate",
        max_steps=max_steps,
        time_limit=time_limit,
        progress=progress,
        watch=watch and adaptive,
    ).drive()


def _some(controllers) -> bool:
    """Whether any controllers are given."""
    return not isinstance(controllers, tuple | list) or len(controllers) > 0


# -- arguments ---------------------------------------------------------------------------------------------------------


def _choice(name, value, allowed):
    if value not in allowed:
        raise InputError(f"`{name}` is {value!r}: one of {', '.join(map(repr, allowed))} is wanted.")


def _whole(name, value) -> int:
    """A positive whole number."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number < 1 or number != value:
        raise RangeError(f"`{name}` is {value!r}: a positive whole number is wanted.")
    return number


def _vector(name, values) -> np.ndarray:
    """Instants as float64 vector."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`{name}` is {values!r}: an array of instants is wanted.") from exc
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{name}` contains NaN or infinite instants.")
    return array


def _span(t_span) -> tuple[float, float]:
    try:
        if isinstance(t_span, str) or any(isinstance(x, str) for x in t_span):
            raise TypeError("text")
        t_0, t_1 = (float(x) for x in t_span)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`t_span` is {t_span!r}: a pair (begin, end) is wanted.") from exc
    for name, value in (("t_span[0]", t_0), ("t_span[1]", t_1)):
        if not math.isfinite(value):
            raise NonFiniteError(f"`{name}` is {value}: it must be finite.")
    if t_1 < t_0:
        raise InputError(
            f"`t_span` runs backward from {t_0:g} to {t_1:g}: impacts and friction dissipate and cannot be undone; "
            "exchange the ends (smooth equations run backward with solve_ivp)."
        )
    return t_0, t_1


def _adaptive(options):
    """The default of runs with a tolerance: event-driven, unless an option is given that only the extrapolation has."""
    known, other = ({entry.name for entry in fields(kind)} for kind in (EventDriven, ExtrapolatedMoreau))
    return ExtrapolatedMoreau.name if (other - known).intersection(options) else EventDriven.name


def _handed_over(scheme, model):
    """The default scheme, or the one that takes over what it cannot do, and why."""
    if not (type(scheme) is EventDriven and np.any(model.laws.kind == USER_SET)):
        return scheme, ""
    law = model.laws.name[int(np.argmax(model.laws.kind == USER_SET))]
    other = ExtrapolatedMoreau(rtol=scheme.rtol, atol=scheme.atol)
    return (
        other,
        f"{other.name} instead of {scheme.name}: the modes of {law!r}, a set of its own, cannot be told apart",
    )


def _scheme(method, dt, options):
    if method is None:
        method = "moreau" if dt is not None else _adaptive(options)
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"`method` is {method!r}: one of {', '.join(METHODS)} is wanted.")
        if dt is not None:
            options = {"dt": dt, **options}
        known = [entry.name for entry in fields(METHODS[method])]
        if issubclass(METHODS[method], ConstantStep) and "dt" not in options:
            raise InputError(f'method "{method}" needs a step size: pass dt=..., for example dt=1e-3.')
        unknown = [name for name in options if name not in known]
        if unknown:
            raise InputError(
                f"method {method!r} does not take the option {unknown[0]!r}; it takes {', '.join(known)}."
            )
        return METHODS[method](**options)
    if isinstance(method, type) or not hasattr(method, "start"):
        raise InputError(f"`method` is {method!r}: a name from METHODS or a configured scheme is wanted.")
    if dt is not None or options:
        given = ", ".join(["dt"] * (dt is not None) + list(options))
        raise InputError(f"{given}: options belong into the configured method object, not beside it.")
    return method


def _segments(t_0, t_1, breakpoints, scheme):
    if t_1 == t_0:
        return []
    points = []
    for value in np.ravel(_vector("breakpoints", breakpoints)):
        if t_0 < value < t_1:
            points.append(float(value))
    ends = [t_0, *sorted(set(points)), t_1]
    dt = getattr(scheme, "dt", None)
    largest = max(abs(t_0), abs(t_1))
    if dt is not None and largest + dt == largest:
        raise StepLimitError(
            f"t + dt == t at t = {largest:g}, dt = {dt:g}: the step is below the resolution of time; shift the time axis or "
            "use a larger step."
        )
    return list(zip(ends[:-1], ends[1:]))


def _instants(t_eval, t_0, t_1):
    if t_eval is None:
        return None
    instants = _vector("t_eval", t_eval)
    if instants.ndim != 1:
        raise ShapeError(f"`t_eval` has shape {instants.shape}: a vector of instants is wanted.")
    if instants.size and (instants.min() < t_0 or instants.max() > t_1):
        raise RangeError(f"`t_eval` reaches outside `t_span` = ({t_0:g}, {t_1:g}).")
    if np.any(np.diff(instants) <= 0):
        raise RangeError("`t_eval` must be sorted in increasing order without repetitions.")
    return instants
