"""`solve_dae`: semi-explicit differential-algebraic equations of index 2 and 3, stiff and switched ones included.

The equations are made ordinary by the equivalent control of their surfaces (`constrained.hessenberg`), integrated by any single-step method
with the switches of `solve_ivp`, and put back onto their constraints after every step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from nonsmooth._core.compile_notice import first_use
from nonsmooth.constrained.hessenberg import Hessenberg, wrapped
from nonsmooth.constrained.run import ConstrainedRun
from nonsmooth.errors import (
    AdjustmentWarning,
    InconsistentStateError,
    InputError,
    ModelError,
    NonFiniteError,
    RangeError,
)
from nonsmooth.events.binding import Bound
from nonsmooth.events.options import SwitchOptions
from nonsmooth.events.run import driven
from nonsmooth.events.switch import Switch, as_switches
from nonsmooth.integrators.driver import METHODS
from nonsmooth.integrators.scipy_solver import validated_tolerances
from nonsmooth.ivp import _assemble, _check_span, _checked_t_eval
from nonsmooth.model.start import as_state
from nonsmooth.results.error_estimate import SHORTER, second_pass
from nonsmooth.results.result import Result
from nonsmooth.warn import warn_user

CONSISTENT = 1e-8  # what a start may miss, relative
_OWN_OPTIONS = {field.name for field in fields(SwitchOptions)}


def solve_dae(
    fun: Callable,
    constraint: Callable,
    t_span: Sequence[float],
    y0: Any,
    z0: Any = None,
    method: str = "RKF45",
    t_eval: Any = None,
    dense_output: bool = False,
    args: tuple = (),
    *,
    switches: Sequence[Switch] | Switch = (),
    rate: Callable | None = None,
    sigma: float | None = None,
    project: bool = False,
    rtol: float = 1e-6,
    atol: Any = 1e-9,
    max_step: float = np.inf,
    first_step: float | None = None,
    **options: Any,
) -> Result:
    """Solve y' = fun(t, y, z), 0 = constraint(t, y), of index 2 or 3.

    Parameters
    ----------
    fun : callable ``fun(t, y, z) -> (n,)``, or ``fun(t, y, z, mode)`` with switches
    constraint : callable ``constraint(t, y) -> (m,)``
        As many equations as there are z. Its derivatives are complex steps where it takes complex numbers, else differences.
    t_span, t_eval, dense_output, args, rtol, atol, max_step, first_step
        As in `solve_ivp`.
    y0 : array_like, shape (n,)
        Start; on the constraints, and where z appears in the second derivative only, on their first derivatives, too.
    z0 : array_like, shape (m,), optional
        Guess of z at the start, where `fun` is not linear in it.
    method : str
        A single-step method of `solve_ivp`; "Radau" and "SDIRK4" for stiff equations.
    switches : sequence of Switch
        As in `solve_ivp`; states after a reset are put onto the constraints.
    rate : callable ``rate(t, y) -> (m,)``, optional
        d/dt of the constraint along the motion (index 3): second derivatives are more accurate and cheaper with it.
    sigma : float
        Speed of the surfaces of index-3 equations, in 1/time; by default 10, but no more than 100 over the span (it is a rate of the
        equations, and would be a stiff one).
    project : bool
        Whether a start that is not consistent may be moved onto the constraints.
    **options
        Those of `nonsmooth.events.options.SwitchOptions`.

    Returns
    -------
    Result
        As of `solve_ivp`; ``result.z``, shape (m, n_t), are the algebraic unknowns, ``result.index`` the index. The error of y at the
        end and of the instants of events stands in ``result.error_estimate``.

    Raises
    ------
    InconsistentStateError
        The start violates the constraints and `project` is False.
    ModelError
        The equations are not of index 2 or 3.
    NoSolutionError
        No z keeps the constraints at some instant.
    """
    switches, own = as_switches(switches), _own_options(method, options)
    t_0, t_1 = _check_span(t_span)
    y, t_eval = as_state(y0, "y0"), _checked_t_eval(t_eval, t_0, t_1)
    sigma = _checked_speed(sigma, t_0, t_1)
    rtol, atol = validated_tolerances(rtol, atol, y.size)
    if not max_step > 0:
        raise RangeError(f"`max_step` is {max_step!r}: it must be positive.")
    with first_use("solve_ivp with switches", own.get("progress")):
        modes = _Modes(fun, constraint, rate, args, y.size, switches)
        system = _bound_system(modes, t_0, y, z0, sigma, abs(t_1 - t_0) or 1.0)
        bound = Bound(modes.field(system), switches, y.size, ())
        modes.mode = bound.mode
        start = _start(system, t_0, y, project)
        run = ConstrainedRun(
            system, bound, (t_0, t_1), start, method, rtol, atol, SwitchOptions(**own), max_step=max_step, first_step=first_step,
        )  # fmt: skip
        finish = partial(_finished, run, modes, t_0, start, t_eval, dense_output, method, rtol, atol)
        result = driven(run, finish, "solve_dae", first_slice=1)
    _warn_of_adjustments(run)

    def again(factor):
        """The same run to another tolerance."""
        return solve_dae(
            fun, constraint, (t_0, t_1), start, z0, method, args=args, switches=switches, rate=rate, sigma=sigma, project=True,
            rtol=factor * rtol, atol=factor * atol, max_step=SHORTER * max_step, first_step=first_step, **own | {"progress": False},
        )  # fmt: skip

    def second():
        """The run that tells the error of this one."""
        factor, against = second_pass(rtol)
        return partial(again, factor), against

    result._second = second
    return result


def _own_options(method, options: dict[str, Any]) -> dict[str, Any]:
    """Options of the run; the method is known, and no option is unknown."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"`method` is {method!r}: one of {', '.join(METHODS)} is wanted.")
    unknown = sorted(options.keys() - _OWN_OPTIONS)
    if unknown:
        raise InputError(f"unknown option {unknown[0]!r} of solve_dae.")
    return options


def _checked_speed(sigma, t_0, t_1) -> float:
    """Speed of the surfaces; by default one that is no stiff rate over the span."""
    if sigma is None:
        return min(10.0, 100.0 / (abs(t_1 - t_0) or 10.0))
    if isinstance(sigma, bool) or not isinstance(sigma, int | float | np.number) or not 0 <= sigma < np.inf:
        raise RangeError(f"`sigma` is {sigma!r}: a number that is not negative is wanted.")
    return float(sigma)


def _warn_of_adjustments(run) -> None:
    """Where the way back onto the constraints was longer than the tolerance allows."""
    if run.beyond:
        warn_user(
            f"post-stabilisation moved the state by more than ten tolerances in {run.beyond} steps, most ({run.worst[0]:.3g}) at "
            f"t = {run.worst[1]:.9g}: ask for a smaller rtol, or give `rate`.",
            AdjustmentWarning,
        )


class _Modes:
    """The user's functions in the modes the run is in."""

    def __init__(self, fun, constraint, rate, args, n, switches):
        for function, name in ((fun, "fun"), (constraint, "constraint")):
            if not callable(function):
                raise InputError(f"`{name}` is {function!r}: a function is wanted.")
        self.with_mode = bool(switches) and len(inspect.signature(fun).parameters) == 4 + len(args)
        self.fun, self.constraint, self.rate, self.args, self.n = fun, constraint, rate, tuple(args), n
        self.mode = lambda: np.ones(sum(switch.size for switch in switches), dtype=np.int8)

    def f(self, t, y, z):
        extra = (self.mode(),) if self.with_mode else ()
        value = np.asarray(self.fun(t, y, z, *extra, *self.args))
        if value.shape != (self.n,):
            raise InputError(f"`fun` returned shape {value.shape}; ({self.n},) is wanted.")
        return value

    def field(self, system):
        """Right-hand side for the loops, in the present modes."""
        if not self.with_mode:
            return lambda t, y: system.field(t, y)

        def f(t, y, mode):
            before, self.mode = self.mode, lambda: mode
            try:
                return system.field(t, y)
            finally:
                self.mode = before

        return f


def _bound_system(modes, t, y, z0, sigma, span) -> Hessenberg:
    """The equations, their sizes found and checked."""
    g = np.atleast_1d(np.asarray(modes.constraint(t, y.copy(), *modes.args)))
    if g.ndim != 1 or g.dtype.kind not in "fiu" or not np.all(np.isfinite(g)):
        raise NonFiniteError(f"`constraint` is {g!r} at the start: a finite vector is wanted.")
    z = np.zeros(g.size) if z0 is None else as_state(z0, "z0")
    if z.size != g.size:
        raise InputError(f"`z0` has {z.size} entries for {g.size} constraint(s): as many are wanted.")
    if g.size > y.size:
        raise ModelError(f"{g.size} constraints on {y.size} unknowns: there can be at most as many.")
    constraint = wrapped(modes.constraint, "constraint", g.size, modes.args, 0)
    rate = None if modes.rate is None else wrapped(modes.rate, "rate", g.size, modes.args, 0)
    return Hessenberg(modes.f, constraint, t, y, z, np.full(g.size, sigma), span, rate)


def _start(system, t, y, project) -> np.ndarray:
    """A consistent start, or an error that says what is violated."""
    miss = system.consistency(t, y)
    if np.max(miss, initial=0.0) <= CONSISTENT:
        return y
    k = int(np.argmax(miss))
    what = (
        f"constraint {k}"
        if k < system.m
        else f"the rate of constraint {int(np.flatnonzero(system.second)[k - system.m])}"
    )
    if not project:
        raise InconsistentStateError(
            f"{what} is violated by {system.residuals(t, y)[k]:.6g} at the start: correct `y0`, or pass project=True."
        )
    for _ in range(50):
        y = system.project(t, y, passes=1)
        if np.max(system.consistency(t, y)) <= 1e-13:
            break
    if np.max(system.consistency(t, y)) > CONSISTENT:
        raise ModelError(
            f"the constraints contradict each other near the start: {what} stays violated by {system.residuals(t, y)[k]:.3g}."
        )
    return y


def _finished(run, modes, t_0, y0, t_eval, dense_output, method, rtol, atol, status, message) -> Result:
    """The result of the loop, with z at its instants."""
    result = _assemble(run, t_0, y0, t_eval, dense_output, method, rtol, atol)
    system, z = run.system, []
    for k, (t, y) in enumerate(zip(result.t, result.y.T)):
        modes.mode = lambda k=k: result.modes[:, k]
        z.append(system.input(t, y))
    result.extra["z"] = np.array(z).T.reshape(system.m, len(z))
    result.extra["index"] = 3 if system.second.any() else 2
    return result
