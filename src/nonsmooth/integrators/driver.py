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

from nonsmooth._core.integrators.implicit_rk import JAC
from nonsmooth._core.integrators.rk import (
    EXPLICIT,
    JAC_CONSTANT,
    JAC_DIFFERENCES,
    JAC_FUNCTION,
    JAC_MODE,
    K_0,
    RHS,
    Control,
    Method,
    Work,
)
from nonsmooth._core.integrators.runs import FULL, run
from nonsmooth._core.integrators.single_step import adapt_function, dense_function, start, try_function
from nonsmooth._core.jit import JIT_ENABLED, first_class, is_dispatcher
from nonsmooth.errors import InputError, NonFiniteStateError, StepLimitError

from .tableaus import ALIASES, METHODS, get_method

__all__ = [
    "ALIASES",
    "METHODS",
    "Run",
    "get_method",
    "integrate",
    "jacobian",
    "make_control",
    "make_work",
    "rhs",
]


def make_work(method: Method, n: int, jac_mode: int = JAC_DIFFERENCES) -> Work:
    """Work arrays for `n` unknowns."""
    m = 0 if method.kind == EXPLICIT else n
    work = Work(
        F=np.zeros((K_0 + method.rows, n)),
        X=np.zeros((2 * m, m)),
        C=np.zeros((m + 1, m), dtype=np.complex128),
        piv=np.zeros(2 * m, dtype=np.int64),
        ints=np.zeros(16, dtype=np.int64),
        reals=np.zeros(16),
    )
    work.ints[JAC_MODE] = jac_mode
    return work


def make_control(
    method: Method,
    n: int,
    rtol=1e-3,
    atol=1e-6,
    max_step=np.inf,
    *,
    fixed=False,
    safety=0.9,
    min_factor=0.2,
    max_factor=10.0,
    exponent=None,
    norm=0,
) -> Control:
    """Step-size control with SciPy's defaults; ``fixed=True`` takes every step as proposed (the first step
    size).
    """
    if exponent is None:
        exponent = -1.0 / (method.error_order + 1)
    tol = np.empty((2, n))
    tol[0], tol[1] = rtol, atol
    return Control(
        tol=tol,
        max_step=float(max_step),
        safety=float(safety),
        exponent=float(exponent),
        min_factor=float(min_factor),
        max_factor=float(max_factor),
        norm=int(norm),
        fixed=int(fixed),
    )


def rhs(function: Callable) -> Any:
    """A compiled function ``f(t, y, p, out)`` as a first-class right-hand side (jitted or plain,
    compilable).
    """
    if not JIT_ENABLED or not (is_dispatcher(function) or hasattr(function, "__code__")):
        return function
    return first_class(_caller(function) if is_dispatcher(function) else function, RHS)


def jacobian(function: Callable) -> Any:
    """The same for ``jac(t, y, p, out)`` with `out` of shape (n, n)."""
    if not JIT_ENABLED or not (is_dispatcher(function) or hasattr(function, "__code__")):
        return function
    return first_class(_caller(function) if is_dispatcher(function) else function, JAC)


def _caller(function):
    def call(t, y, p, out):
        function(t, y, p, out)

    return call


def _no_jacobian(t, y, p, out):
    pass


_no_jac_cache: list = []


def no_jacobian():
    """Stands where the Jacobian is found by differences; never called."""
    if not _no_jac_cache:
        _no_jac_cache.append(first_class(_no_jacobian, JAC))
    return _no_jac_cache[0]


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
    """Evaluate (1) of `nonsmooth._core.integrators.rk` for many pieces at once: y_0 (m, n), Q (m, rows, n), theta (m,)."""
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
    f : first-class function ``f(t, y, p, out)``
        Made by `rhs`.
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
    n = y.size
    data = get_method(method)
    work = make_work(data, n, JAC_DIFFERENCES if jac is None else JAC_FUNCTION)
    if isinstance(jac, np.ndarray):
        work.ints[JAC_MODE] = JAC_CONSTANT
        work.X[:n] = jac
        jac = None
    control = make_control(data, n, rtol, atol, max_step, fixed=fixed)
    p = np.ascontiguousarray(p, dtype=float)
    jac = no_jacobian() if jac is None else jac
    t, t_bound = float(t_span[0]), float(t_span[1])
    start(data, f, t, y, t_bound, p, work, control, float(first_step))
    rows = 3 + data.n_dense
    functions = (try_function(data.kind), adapt_function(), dense_function())
    ts, ys, qs = [np.array([t])], [y[None].copy()], []
    for size in itertools.chain([64, 256], itertools.repeat(1024)):
        t_out, y_out, q_out = np.empty(size), np.empty((size, n)), np.empty((size, rows, n))
        count, t, status = run(data, *functions, f, jac, t, y, t_bound, p, work, control, t_out, y_out, q_out)
        ts.append(t_out[:count])
        ys.append(y_out[:count])
        qs.append(q_out[:count])
        if status != FULL:
            break
        if work.ints[3] > max_steps:
            raise StepLimitError(f"integrate: more than {max_steps} steps; at t = {t:.6g} of {t_bound:.6g}.")
    if status == 2:
        raise NonFiniteStateError(f"integrate: the right-hand side is not finite at t = {t:.6g}.")
    if status == 3:
        raise StepLimitError(f"integrate: the step size fell below the spacing of numbers at t = {t:.6g}.")
    ints = work.ints
    return Run(
        np.concatenate(ts),
        np.concatenate(ys).T,
        np.concatenate(qs),
        int(ints[0]),
        int(ints[1]),
        int(ints[2]),
        int(ints[3]),
        int(ints[4]),
    )
