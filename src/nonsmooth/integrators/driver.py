"""Preparing an integrator: its work arrays, its step-size control, right-hand sides, and runs without events.

The contract of a single-step method (see `nonsmooth._core.integrators.single_step` for the compiled half):

1. it is a `Method` record of arrays and integers, the same types for every method, so that a loop compiles
once;
2. `start` evaluates the slope and proposes a step; 3. `adaptive_step` makes one accepted step (or `try_step`
one of given size) from ``(t, y)`` without changing them; 4. `dense` makes the interpolant of that step, read
by `dense_eval` and `dense_slope`; 5. `accept` moves on; 6. every call returns a status, none raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.signatures import JACOBIAN, RESET, VALUE
from nonsmooth._core.integrators import records
from nonsmooth._core.integrators.records import Method, Solver
from nonsmooth._core.integrators.runs import run
from nonsmooth._core.integrators.single_step import STEPPERS, start
from nonsmooth._core.integrators.user_functions import Functions, user_field, user_jacobian
from nonsmooth._core.jit import JIT_ENABLED, Reference, address_record, code_of, is_dispatcher, user_kernel
from nonsmooth.errors import InputError, NonFiniteStateError, StepLimitError

from .tableaus import ALIASES, METHODS, get_method

__all__ = [
    "ALIASES",
    "METHODS",
    "Integration",
    "Run",
    "UserProblem",
    "get_method",
    "integrate",
    "jacobian",
    "rhs",
    "set_control",
]


def set_control(
    control,
    method: Method,
    max_step=np.inf,
    *,
    fixed=False,
    safety=0.9,
    min_factor=0.2,
    max_factor=10.0,
    exponent=None,
    compere=False,
) -> None:
    """Step-size control with SciPy's defaults; ``fixed=True`` takes every step as proposed (the first step size)."""
    control.max_step, control.safety = max_step, safety
    control.min_factor, control.max_factor = min_factor, max_factor
    control.exponent = -1.0 / (method.error_order + 1) if exponent is None else exponent
    control.compere, control.fixed = compere, fixed


class Integration:
    """A `Solver` record, and all that its addresses point to.

    Parameters
    ----------
    method : Method
    n : int
        Number of unknowns.
    context : Reference
        To the record the problem lives in.
    field : Part
        Right-hand side ``field(c, t, y, out)``.
    """

    def __init__(self, method, n, context, field):
        self.method = method
        at = address_record(**STEPPERS[method.kind], field=field, jacobian=0, context=context, solver=0)
        self.solver: Solver = records.make_solver(at, method, n, records.Control())
        self.reference = records.linked(self.solver)
        self.address = self.reference.address
        self._keep = context

    def prepare(self, t_span, y0, rtol=1e-3, atol=1e-6, jac=None, **control):
        """Span, start and tolerances; `jac` is a `Part` or a constant Jacobian (by default differences are used); options of
        `set_control`.
        """
        solver, method = self.solver, self.method
        set_control(solver.control, method, **control)
        solver.rtol[:], solver.atol[:] = rtol, atol
        solver.y[:] = y0
        solver.now.t, solver.now.t_bound = t_span
        if isinstance(jac, np.ndarray):
            if method.kind != records.EXPLICIT:
                solver.newton.jacobian = records.JAC_CONSTANT
                solver.implicit.J[:] = jac
        elif jac is not None:
            solver.newton.jacobian = records.JAC_FUNCTION
            solver.at.jacobian = jac.address

    def start(self, first_step=0.0):
        """Slope and first step size."""
        start(self.address, float(first_step))

    def counters(self) -> dict[str, int]:
        """Numbers of evaluations, factorisations and steps, as a result has them."""
        count = self.solver.count
        return dict(zip(count.dtype.names, count.tolist()))


class UserProblem:
    """Compiled functions ``(t, y, p, out)`` of a user and their parameters, as the context of an integration."""

    def __init__(self, p):
        self.p = p
        self.record = Functions(address_record(f=0, g=0, jacobian=0, reset=0), p)
        self.reference = Reference(self.record)
        self._keep: dict = {}

    def use(self, **functions):
        """Functions f, g, jacobian, reset, from now on; None is left out."""
        for name, function in functions.items():
            if function is not None:
                signature = {"jacobian": JACOBIAN, "reset": RESET}.get(name, VALUE)
                setattr(self.record.at, name, code_of(function, signature) if JIT_ENABLED else function)
                self._keep[name] = function


def rhs(function: Callable) -> Any:
    """A function ``f(t, y, p, out)``, jitted or compilable, as a right-hand side."""
    return _compiled(function, VALUE)


def jacobian(function: Callable) -> Any:
    """The same for ``jac(t, y, p, out)`` with `out` of shape (n, n)."""
    return _compiled(function, JACOBIAN)


def _compiled(function, signature):
    if not JIT_ENABLED:
        return function

    def call(t, y, p, out):
        function(t, y, p, out)

    return user_kernel(call if is_dispatcher(function) else function, signature, inner=True)


class Run(NamedTuple):
    """Solution of a smooth problem: ``t`` (m,), ``y`` (n, m), dense output ``Q`` (m-1, rows, n), counters."""

    t: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    nfev: int
    njev: int
    nlu: int
    nsteps: int
    nrejected: int

    def __call__(self, t):
        """Dense output at times `t`: shape (n,) or (n, len(t))."""
        scalar = np.ndim(t) == 0
        t = np.atleast_1d(np.asarray(t, dtype=float))
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        at = np.clip(np.searchsorted(sign * self.t, sign * t, side="left") - 1, 0, self.t.size - 2)
        h = self.t[at + 1] - self.t[at]
        theta = (t - self.t[at]) / h
        out = nested_eval(self.y.T[at], self.Q[at], theta)
        return out[0] if scalar else out.T


def nested_eval(y_0: np.ndarray, Q: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Evaluate (1) of `nonsmooth._core.integrators.dense_output` for many pieces at once: y_0 (m, n), Q (m, rows, n), theta (m,)."""
    acc = np.zeros_like(y_0)
    for j in range(Q.shape[1] - 1, -1, -1):
        acc = (acc + Q[:, j]) * (theta if j % 2 == 0 else 1.0 - theta)[:, None]
    return y_0 + acc


def integrate(
    f,
    t_span,
    y0,
    method="RK45",
    p=(),
    *,
    jac=None,
    rtol=1e-3,
    atol=1e-6,
    first_step=0.0,
    max_step=np.inf,
    fixed=False,
    max_steps=10**7,
) -> Run:
    """Integrate a smooth problem with a compiled right-hand side.

    Parameters
    ----------
    f, jac : compiled functions ``(t, y, p, out)``
        Made by `rhs` and `jacobian`; `jac` may be a constant array.
    t_span : (float, float)
    y0 : array_like, shape (n,)
    method : str
        A name of `METHODS`.
    p : array_like
        Flat parameters handed to `f`.
    first_step : float
        0 chooses one; with ``fixed=True`` it is the step size of the whole run.
    """
    if method not in METHODS and method not in ALIASES:
        raise InputError(f"`method` is {method!r}; known are {', '.join(METHODS)}.")
    y = np.array(y0, dtype=float).ravel()
    data = get_method(method)
    constant = isinstance(jac, np.ndarray)
    problem = UserProblem(np.ascontiguousarray(p, dtype=float))
    problem.use(f=f, jacobian=None if constant else jac)
    integration = Integration(data, y.size, problem.reference, user_field)
    integration.prepare(
        (float(t_span[0]), float(t_span[1])),
        y,
        rtol,
        atol,
        jac if constant or jac is None else user_jacobian,
        max_step=max_step,
        fixed=fixed,
    )
    integration.start(first_step)
    now, count = integration.solver.now, integration.solver.count
    ts, ys, qs = [np.array([now.t])], [y[None].copy()], []
    for size in itertools.chain([64, 256], itertools.repeat(1024)):
        t_out, y_out, q_out = (
            np.empty(size),
            np.empty((size, y.size)),
            np.empty((size, data.dense_rows, y.size)),
        )
        made, status = run(integration.address, t_out, y_out, q_out)
        ts.append(t_out[:made])
        ys.append(y_out[:made])
        qs.append(q_out[:made])
        if status != records.FULL:
            break
        if count.nsteps > max_steps:
            raise StepLimitError(
                f"integrate: more than {max_steps} steps; at t = {now.t:.6g} of {now.t_bound:.6g}."
            )
    if status == records.NON_FINITE:
        raise NonFiniteStateError(f"integrate: the right-hand side is not finite at t = {now.t:.6g}.")
    if status == records.STEP_TOO_SMALL:
        raise StepLimitError(
            f"integrate: the step size fell below the spacing of numbers at t = {now.t:.6g}."
        )
    return Run(np.concatenate(ts), np.concatenate(ys).T, np.concatenate(qs), **integration.counters())
