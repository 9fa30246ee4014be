"""The integrators as a SciPy `OdeSolver`, so that SciPy's own front door can drive them."""

from __future__ import annotations

from warnings import warn

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from nonsmooth._core.calls.callbacks import PythonFunctions, python_f, python_jac
from nonsmooth._core.integrators.rk import (
    JAC_CONSTANT,
    JAC_FUNCTION,
    JAC_MODE,
    K_0,
    NFEV,
    NJEV,
    NLU,
    NON_FINITE,
    NREJECTED,
    Q_0,
    Y_NEW,
)
from nonsmooth._core.integrators.runs import advance, late_dense
from nonsmooth._core.integrators.single_step import adapt_function, dense_function, start, try_function
from nonsmooth._core.jit import address_of
from nonsmooth.errors import NonFiniteStateError, StepLimitError

from .driver import make_control, make_work, nested_eval, no_jacobian
from .tableaus import get_method

EPS = np.finfo(float).eps
TOO_SMALL = "Required step size is less than spacing between numbers."


class SingleStepSolver(OdeSolver):
    """One of our methods behind SciPy's solver interface; made for a method name by `solver_class`."""

    name = "RK45"
    compiled = None

    def __init__(
        self,
        fun,
        t0,
        y0,
        t_bound,
        max_step=np.inf,
        rtol=1e-3,
        atol=1e-6,
        vectorized=False,
        first_step=None,
        jac=None,
        **extraneous,
    ):
        method = get_method(self.name)
        if jac is not None and method.kind == 0:
            extraneous = {**extraneous, "jac": jac}
        if extraneous:
            listed = ", ".join(f"`{name}`" for name in extraneous)
            warn(f"The following arguments have no effect for a chosen solver: {listed}.", stacklevel=3)
        super().__init__(fun, t0, y0, t_bound, vectorized)
        if max_step <= 0:
            raise ValueError("`max_step` must be positive.")
        rtol, atol = validated_tolerances(rtol, atol, self.n)
        if first_step is not None:
            if first_step <= 0:
                raise ValueError("`first_step` must be positive.")
            if first_step > np.abs(t_bound - t0):
                raise ValueError("`first_step` exceeds bounds.")
        self.max_step, self.rtol, self.atol = max_step, rtol, atol
        self.y = np.array(self.y, dtype=float)
        self.y_old = None
        self.method = method
        self.work = make_work(method, self.n)
        self.control = make_control(method, self.n, rtol, atol, max_step)
        self.functions = (try_function(method.kind), adapt_function(), dense_function())
        self.jac = self._jacobian(jac)
        single = (lambda t, y: fun(t, y[:, None]).ravel()) if vectorized else fun
        self.python = PythonFunctions(self.n, 0, single, None, self.jac)
        self.p = np.array([self.python.handle])
        self.f = python_f() if self.compiled is None else self.compiled
        jac_function = python_jac() if self.jac is not None else no_jacobian()
        self.entry = tuple(address_of(function) for function in (*self.functions, self.f, jac_function))
        self.t_start, self.y_start = self.t, self.y.copy()
        self.failure = None
        with self.python:
            start(
                method,
                self.f,
                self.t,
                self.y_start,
                float(t_bound),
                self.p,
                self.work,
                self.control,
                float(first_step or 0.0),
            )
        self._raise_kept()
        self._count()

    def _jacobian(self, jac):
        """Mode of the Jacobian; the Python function if there is one."""
        if jac is None or self.method.kind == 0:
            return None
        if callable(jac):
            self.work.ints[JAC_MODE] = JAC_FUNCTION
            return jac
        matrix = np.asarray(jac, dtype=float)
        if matrix.shape != (self.n, self.n):
            raise ValueError(
                f"`jac` is expected to have shape {(self.n, self.n)}, but actually has {matrix.shape}."
            )
        self.work.ints[JAC_MODE] = JAC_CONSTANT
        self.work.X[: self.n] = matrix
        return None

    def _raise_kept(self):
        if self.python.error is not None:
            name, t = self.python.where
            self.python.error.add_note(
                f"raised in `{name}` at t = {t:.9g}, after the step to t = {self.t:.9g}"
            )
            raise self.python.error

    def _count(self):
        ints = self.work.ints
        self.nfev, self.njev, self.nlu = int(ints[NFEV]), int(ints[NJEV]), int(ints[NLU])
        self.nrejected = int(ints[NREJECTED])

    def _step_impl(self):
        t, t_bound = self.t, float(self.t_bound)
        with self.python:
            h, status = advance(
                self.entry,
                self.method,
                self.t_start,
                t,
                self.y_start,
                t_bound,
                self.p,
                self.work,
                self.control,
            )
        if self.python.error is not None:
            self._raise_kept()
        self.t_start = t
        self._count()
        if status != 0:
            return False, self._failure(status)
        self.y_old = self.y_start
        self.t = t_bound if h == t_bound - t else t + h
        self.y = self.work.F[Y_NEW].copy()
        return True, None

    def _failure(self, status):
        """Message of a failed step; the typed error is kept as `failure`."""
        if status == NON_FINITE:
            slope = self.work.F[K_0 + self.method.stages]
            where = np.flatnonzero(~np.isfinite(slope))
            part = (
                f"component {where[0]} of `fun` is {slope[where[0]]}" if where.size else "`fun` is not finite"
            )
            self.failure = NonFiniteStateError(
                f"{part} just beyond t = {self.t:.9g}, whatever the step size."
            )
            return f"{TOO_SMALL} ({self.failure})"
        self.failure = StepLimitError(
            f"the step size fell below the spacing of numbers at t = {self.t:.9g}: stiffness, a singularity or a "
            "discontinuity; try a stiff method (Radau) or declare the discontinuity as a switch."
        )
        return TOO_SMALL

    def _dense_output_impl(self):
        h = self.t - self.t_old
        with self.python:
            rows = late_dense(self.entry, self.method, self.t_old, self.y_start, h, self.p, self.work)
        self._raise_kept()
        self._count()
        return _Piece(self.t_old, self.t, self.y_start.copy(), self.work.F[Q_0 : Q_0 + rows].copy())


class _Piece(DenseOutput):
    def __init__(self, t_old, t, y_old, Q):
        super().__init__(t_old, t)
        self.h = t - t_old
        self.y_old, self.Q = y_old, Q

    def _call_impl(self, t):
        theta = np.atleast_1d((t - self.t_old) / self.h)
        shape = (theta.size, self.y_old.size)
        y = nested_eval(
            np.broadcast_to(self.y_old, shape), np.broadcast_to(self.Q, (theta.size, *self.Q.shape)), theta
        )
        return y[0] if np.ndim(t) == 0 else y.T


def validated_tolerances(rtol, atol, n):
    """SciPy's rules for tolerances: rtol below 100 eps is raised with a warning, atol must fit and be
    positive.
    """
    if np.any(rtol < 100 * EPS) if np.ndim(rtol) else rtol < 100 * EPS:
        warn(
            f"At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, {100 * EPS})`.",
            stacklevel=4,
        )
        rtol = np.maximum(rtol, 100 * EPS)
    if isinstance(atol, float) and atol >= 0.0:
        return rtol, atol
    atol = np.asarray(atol)
    if atol.ndim > 0 and atol.shape != (n,):
        raise ValueError("`atol` has wrong shape.")
    if np.any(atol < 0):
        raise ValueError("`atol` must be positive.")
    return rtol, atol


def solver_class(name: str, compiled=None) -> type[SingleStepSolver]:
    """The `OdeSolver` class of a method; `compiled` is a first-class right-hand side used instead of `fun`."""
    return type(name, (SingleStepSolver,), {"name": name, "compiled": compiled})
