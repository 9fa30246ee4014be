"""`solve_ivp`: SciPy's front door for initial value problems, with switches that are never lost.

Without `switches` this is ``scipy.integrate.solve_ivp`` in every argument and field; RK23, RK45, DOP853 and
Radau run on this library's integrators, everything else (BDF, LSODA, complex states, sparse Jacobians, user
solver classes) on SciPy's. With `switches` the right-hand side is integrated with locked modes from event to
event (`nonsmooth.events`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import OdeSolver
from scipy.integrate import solve_ivp as scipy_solve_ivp
from scipy.sparse import issparse

from nonsmooth._core.compile_notice import first_use
from nonsmooth._core.events.records import Rows
from nonsmooth._core.jit import is_dispatcher
from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError
from nonsmooth.events.binding import Bound
from nonsmooth.events.options import SwitchOptions
from nonsmooth.events.run import SwitchedRun, driven
from nonsmooth.events.scipy_events import ScipyEvents
from nonsmooth.events.solution import PiecewiseSolution
from nonsmooth.events.switch import Switch, as_switches
from nonsmooth.integrators.driver import METHODS
from nonsmooth.integrators.scipy_solver import solver_class, validated_tolerances
from nonsmooth.results.audit.lazy import LazyAudit
from nonsmooth.results.audit.ode import audit_ode
from nonsmooth.results.error_estimate import SHORTER, estimate, second_pass
from nonsmooth.results.result import Result

__all__ = ["IvpResult", "Switch", "solve_ivp"]

_OWN_OPTIONS = {field.name for field in fields(SwitchOptions)}
_SCIPY_ONLY = ("BDF", "LSODA")
_DRAWN = 5000  # rows up to which a result keeps the polynomials of its steps for pictures


#: A second method for `verify`: of another kind, fit for the same problems.
OTHER_METHOD = {
    "RK23": "RK45",
    "DOP853": "RKF78",
    "Radau": "SDIRK4",
    "SDIRK4": "Radau",
    "BDF": "Radau",
    "LSODA": "Radau",
}

#: What `solve_ivp` returns has SciPy's fields and those of every other result.
IvpResult = Result


def solve_ivp(
    fun: Callable,
    t_span: Sequence[float],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple | None = None,
    *,
    switches: Sequence[Switch] | Switch | None = None,
    compile: bool = False,
    verify: bool = False,
    **options: Any,
) -> Result:
    """Solve an initial value problem, smooth or with switches.

    Parameters
    ----------
    fun : callable
        ``fun(t, y)``, or ``fun(t, y, mode)`` with switches: `mode` is an int8 vector, +1 where g >= 0 and -1
        where g < 0, locked during a step.
    t_span, y0, t_eval, dense_output, events, vectorized, args
        As in `scipy.integrate.solve_ivp`.
    method : str or OdeSolver class
        "RK3", "RK23", "RK45" (Dormand-Prince), "RKF45", "RKF78", "DOP853", "SDIRK4", "Radau"; "BDF", "LSODA" and classes are
        SciPy's.
    switches : sequence of Switch
    compile : bool
        Compile `fun` and the functions of the switches (jitted functions always run compiled).
    verify : bool
        Run a second method, too, and put the deviation into ``result.verification``.
    **options
        ``rtol, atol, max_step, first_step, jac, ...`` as in SciPy; with switches also those of
        `nonsmooth.events.options.SwitchOptions`.

    Returns
    -------
    Result
        SciPy's fields ``t, y, sol, t_events, y_events, nfev, njev, nlu, status, message, success`` (as attributes and by
        ``result["t"]``) and those of every result: ``events``, ``audit`` (made when first looked at), ``plot``, ``save``, ...
        With switches and without `t_eval` an event instant is stored twice: left limit, right limit. ``modes``, int8, (m, k): mode
        of each switch, +1, -1, 0 while it is held (sustained contact, sliding). ``nsteps, nrejected, niterations, case_1, case_2,
        case_3``: counters (Compere 2001, Table 5.1). ``error``: the typed reason if ``status`` is -1, else None.

    Raises
    ------
    EventError
        A switch misbehaves (not finite, not repeatable, constant zero, endless cycle, chattering).

    Notes
    -----
    Trouble of the integration (step size too small, NaN in `fun`) returns ``status = -1`` as in SciPy, the
    typed reason in ``result.error``. An exception raised inside a user function passes through unchanged,
    with a note.
    """
    given = dict(options)
    y_start = np.array(y0)
    result = _solve(
        fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, switches, compile, options
    )

    def again(method=method, factor=1.0):
        """The same run with another method or other tolerances."""
        tolerances = {"rtol": given.get("rtol", 1e-3), "atol": given.get("atol", 1e-6)}
        changed = {name: np.multiply(value, factor) for name, value in tolerances.items()}
        if np.isfinite(given.get("max_step", np.inf)):
            changed["max_step"] = SHORTER * given["max_step"]
        return _solve(
            fun,
            t_span,
            y_start,
            method,
            t_eval,
            False,
            events,
            vectorized,
            args,
            switches,
            compile,
            given | changed,
        )

    def second():
        factor, against = second_pass(given.get("rtol", 1e-3))
        return partial(again, factor=factor), against

    result._second = second
    if verify:
        name = method if isinstance(method, str) else method.__name__
        other = OTHER_METHOD.get(name, "DOP853")
        result.verification = estimate(result, lambda: again(method=other), f"method {other}")
    return result


def _solve(
    fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, switches, compile, options
):
    """One run; see `solve_ivp`."""
    options = dict(options)
    switches = as_switches(switches)
    own = {name: options.pop(name) for name in _OWN_OPTIONS & options.keys()}
    y0 = np.asarray(y0)
    complex_state = y0.dtype.kind == "c"
    is_class = inspect.isclass(method) and issubclass(method, OdeSolver)
    if not is_class and method not in METHODS and method not in _SCIPY_ONLY:
        raise ValueError(f"`method` must be one of {[*METHODS, *_SCIPY_ONLY]} or OdeSolver class.")
    args = _checked_args(args)
    if switches:
        if is_class or method in _SCIPY_ONLY or complex_state:
            raise InputError(
                f"switches need a real state and one of the methods {', '.join(METHODS)}; got method {method!r}"
                f"{' and a complex state' if complex_state else ''}."
            )
        with first_use("solve_ivp with switches", own.get("progress")):
            return _switched(
                fun, t_span, y0, method, t_eval, dense_output, events, args or (), switches, compile, own, options
            )  # fmt: skip
    _check_span(t_span)
    _refuse_nan(t_eval)
    chosen = method
    if not (
        is_class or method in _SCIPY_ONLY or complex_state or _is_sparse(options, method, t_span, y0, args)
    ):
        chosen = solver_class(method, _compiled_right_hand_side(fun, y0, args or (), compile))
    with first_use("solve_ivp", own.get("progress")):
        result = scipy_solve_ivp(
            fun, t_span, y0, chosen, t_eval, dense_output, events, vectorized, args, **options
        )
    return _from_scipy(result, fun, y0, method, t_eval, args or (), options)


def _checked_args(args) -> tuple | None:
    """SciPy's rule for `args`."""
    if args is None:
        return None
    try:
        return tuple(args)
    except TypeError as exc:
        raise TypeError(
            f"Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. `args=({args},)`)"
        ) from exc


def _is_sparse(options, method, t_span, y0, args) -> bool:
    """Whether the Jacobian is a sparse matrix: those are SciPy's."""
    jac = options.get("jac")
    if issparse(jac) or options.get("jac_sparsity") is not None:
        return True
    if not callable(jac) or method != "Radau":
        return False
    return issparse(jac(float(t_span[0]), np.asarray(y0, dtype=float), *(args or ())))


def _from_scipy(found, fun, y0, method, t_eval, args, options) -> Result:
    """What SciPy's driver returned, as a `Result`."""
    t, y = np.asarray(found.t, dtype=float), np.asarray(found.y)
    if t.size == 0:
        y = np.zeros((y0.size, 0))
    rtol, atol = options.get("rtol", 1e-3), options.get("atol", 1e-6)
    name = method if isinstance(method, str) else method.__name__

    def rates(k, t, y):
        return fun(t, y, *args)

    audit = LazyAudit(
        lambda: audit_ode(rates, t, y, float(np.max(rtol)), atol, name, several=t_eval is not None)
    )
    extra = {key: found[key] for key in ("sol", "t_events", "y_events")} | {"error": None}
    result = Result(
        t, y=y, status=found.status, success=found.success, message=found.message, nfev=found.nfev, njev=found.njev,
        nlu=found.nlu, nsteps=0 if t_eval is not None else max(t.size - 1, 0), audit=audit, method=name, extra=extra,
        method_options={"rtol": rtol, "atol": atol},
    )  # fmt: skip
    if t.size == 0:
        result.t, result.y = found.t, found.y  # SciPy's empty lists, which are false
    return result


def _compiled_right_hand_side(fun, y0, args, compile):
    """The first-class right-hand side if `fun` is to run compiled, else None."""
    if not (compile or is_dispatcher(fun)):
        return None
    bound = Bound(fun, (), np.size(y0), args, compile=True)
    return bound.functions[0] if bound.compiled else None


def _check_span(t_span) -> tuple[float, float]:
    """Begin and end; the end may be infinite (a terminal event stops the run), NaN would never be reached."""
    t_0, t_1 = (float(t) for t in t_span)
    if math.isnan(t_1) or not math.isfinite(t_0):
        raise NonFiniteError(f"`t_span` is ({t_0}, {t_1}); a finite start and a number as end are wanted.")
    return t_0, t_1


def _switched(fun, t_span, y0, method, t_eval, dense_output, events, args, switches, compile, own, options):
    """A run with switches: check, run in slices, assemble."""
    t_0, t_1 = _check_span(t_span)
    y0 = np.array(y0, dtype=float)
    if y0.ndim != 1:
        raise ShapeError(f"`y0` has shape {y0.shape}; one dimension is wanted.")
    if not np.isfinite(y0).all():
        raise NonFiniteError("All components of the initial state `y0` must be finite.")
    if t_1 < t_0 and any(switch.kind == "unilateral" or switch.reset is not None for switch in switches):
        raise InputError("backward in time: unilateral switches and resets cannot be inverted.")
    rtol, atol = validated_tolerances(options.pop("rtol", 1e-3), options.pop("atol", 1e-6), y0.size)
    max_step, first_step = options.pop("max_step", np.inf), options.pop("first_step", None)
    if not max_step > 0:
        raise RangeError("`max_step` must be positive.")
    if first_step is not None and not 0 < first_step <= abs(t_1 - t_0):
        raise RangeError(f"`first_step` is {first_step}; it must be positive and within `t_span`.")
    jac = options.pop("jac", None)
    if (jac is not None and issparse(jac)) or options.pop("jac_sparsity", None) is not None:
        raise InputError("sparse Jacobians are not available together with switches.")
    if options:
        raise InputError(f"unknown option {sorted(options)[0]!r} for a run with switches.")
    t_eval = _checked_t_eval(t_eval, t_0, t_1)
    jac_function = (lambda t, y: jac(t, y, *args)) if callable(jac) else None
    bound = Bound(fun, switches, y0.size, args, jac_function, compile)
    run = SwitchedRun(
        bound,
        (t_0, t_1),
        y0,
        method,
        rtol,
        atol,
        SwitchOptions(**own),
        max_step=max_step,
        first_step=first_step,
        jac=None if callable(jac) else jac,
    )
    run.seen = ScipyEvents(events, args, t_0, y0) if events is not None else None
    finish = partial(_finished, run, t_0, y0, t_eval, dense_output, method, rtol, atol)
    return driven(run, finish, "solve_ivp", first_slice=256 if bound.compiled else 32)


def _finished(run, t_0, y0, t_eval, dense_output, method, rtol, atol, _status, _message) -> Result:
    """As the driver asks for it; status and message are those of the run."""
    return _assemble(run, t_0, y0, t_eval, dense_output, method, rtol, atol)


def _refuse_nan(t_eval):
    """NaN passes every comparison with the span."""
    if t_eval is not None and np.any(np.isnan(np.asarray(t_eval, dtype=float))):
        raise NonFiniteError("`t_eval` contains NaN: give instants within `t_span`.")


def _checked_t_eval(t_eval, t_0, t_1):
    if t_eval is None:
        return None
    t_eval = np.asarray(t_eval, dtype=float)
    if t_eval.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    _refuse_nan(t_eval)
    if np.any(t_eval < min(t_0, t_1)) or np.any(t_eval > max(t_0, t_1)):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    step = np.diff(t_eval)
    if (t_1 > t_0 and np.any(step <= 0)) or (t_1 < t_0 and np.any(step >= 0)):
        raise ValueError("Values in `t_eval` are not properly sorted.")
    return t_eval


def _assemble(run, t_0, y0, t_eval, dense_output, method, rtol, atol) -> Result:
    """The result from the slices of a run."""
    n, m, seen = run.bound.n, run.bound.m, run.seen
    start = Rows(
        np.array([t_0]), np.ones(1, dtype=np.int64), y0[None], np.zeros((1, m), dtype=np.int8),
        np.zeros((1, run.method.dense_rows, n)),
    )  # fmt: skip
    rows = Rows(*(np.concatenate(parts) for parts in zip(start, *run.slices)))
    rows.modes[0] = rows.modes[1] if rows.t.size > 1 else run.bound.mode()
    t, y, modes = rows.t, rows.y, rows.modes
    sol: Any = None
    if dense_output or t_eval is not None:
        sol = _solution(rows)
    if t_eval is not None:
        forward = t[-1] >= t[0]
        reached = t_eval[t_eval <= t[-1]] if forward else t_eval[t_eval >= t[-1]]
        y_out, t_out = sol(reached), reached
        if reached.size == 0:
            y_out = np.zeros((n, 0))
        sign = 1.0 if forward else -1.0
        at = np.searchsorted(sign * t, sign * reached, side="right") - 1
        modes_out = modes[np.clip(at, 0, t.size - 1)].T
    else:
        t_out, y_out, modes_out = t.copy(), y.T.copy(), modes.T.copy()
    status = run.status if run.status is not None else -1
    run.events.sort(reverse=run.t_bound < run.t_0)
    counters = run.counters()
    own = {
        name: counters.pop(name)
        for name in ("nfev", "njev", "nlu", "nsteps", "nrejected")
        if name in counters
    }
    extra = {
        "sol": sol if dense_output else None,
        "t_events": None if seen is None else seen.t_events(),
        "y_events": None if seen is None else seen.y_events(),
        "error": run.error,
        **counters,
    }
    result = Result(
        t_out, y=y_out, status=status, success=status >= 0, message=run.message or "The run was interrupted.", events=run.events,
        modes=modes_out, law_names=run.bound.names,
        method=method, method_options={"rtol": rtol, "atol": atol}, extra=extra, **own,
    )  # fmt: skip
    result.audit = LazyAudit(lambda: _audit(run.bound, result, t_eval is not None))
    if t_eval is None and t.size <= _DRAWN:  # pictures of few long steps need what is between them
        object.__setattr__(result, "_curve", partial(_solution, rows))
    return result


def _audit(bound, result, several):
    """A run with switches: steps between events again, in their modes."""
    t, modes = result.t, result.modes
    instants = np.sort(result.events.t)
    low, high = np.minimum(t[:-1], t[1:]), np.maximum(t[:-1], t[1:])
    quiet = np.searchsorted(instants, low, side="right") >= np.searchsorted(instants, high, side="left")
    free = 1 + np.flatnonzero(
        quiet & np.all(modes[:, 1:] != 0, axis=0)
    )  # while a switch is held the field is another one

    def rates(k, t, y):
        return bound.f_in(t, y, modes[:, k])

    options = result.method_options
    return audit_ode(
        rates, t, result.y, float(np.max(options["rtol"])), options["atol"], result.method, result.events, several, free
    )  # fmt: skip


def _solution(rows):
    """The solution as a function of time from the rows of a run."""
    t, y = rows.t, rows.y
    ends = np.flatnonzero(rows.jump[1:] == 0)  # row k+1 ends a piece that begins at row k
    return PiecewiseSolution(t[ends], t[ends + 1], y[ends], rows.Q[ends + 1], t[-1], y[-1])
