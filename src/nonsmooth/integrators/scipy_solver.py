"""The integrators as a SciPy `OdeSolver`, so that SciPy's own front door can drive them."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from nonsmooth._core.calls.callbacks import PythonFunctions, python_f, python_jac
from nonsmooth._core.integrators.records import EXPLICIT, NON_FINITE
from nonsmooth._core.integrators.runs import late_dense, one_step
from nonsmooth._core.integrators.user_functions import user_field, user_jacobian
from nonsmooth.errors import NonFiniteStateError, StepLimitError
from nonsmooth.warn import warn_user

from .driver import Integration, UserProblem, nested_eval
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
        if jac is not None and method.kind == EXPLICIT:
            extraneous = {**extraneous, "jac": jac}
        if extraneous:
            listed = ", ".join(f"`{name}`" for name in extraneous)
            warn_user(f"The following arguments have no effect for a chosen solver: {listed}.")
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
        matrix = self._constant_jacobian(jac)
        jac = jac if callable(jac) and method.kind != EXPLICIT else None
        single = (lambda t, y: fun(t, y[:, None]).ravel()) if vectorized else fun
        self.python = PythonFunctions(self.n, 0, single, None, jac)
        self.problem = UserProblem(np.array([self.python.handle]))
        self.problem.use(
            f=python_f() if self.compiled is None else self.compiled,
            jacobian=None if jac is None else python_jac(),
        )
        self.integration = Integration(method, self.n, self.problem.reference, user_field)
        self.integration.prepare(
            (self.t, float(t_bound)),
            self.y,
            rtol,
            atol,
            matrix if jac is None else user_jacobian,
            max_step=max_step,
        )
        self.solver = self.integration.solver
        self.pending = 0  # 1: a step has been made and not yet been accepted
        self.failure = None
        with self.python:
            self.integration.start(first_step or 0.0)
        self._raise_kept()
        self._count()

    def _constant_jacobian(self, jac):
        """The Jacobian if it is a matrix."""
        if jac is None or callable(jac) or self.method.kind == EXPLICIT:
            return None
        matrix = np.asarray(jac, dtype=float)
        if matrix.shape != (self.n, self.n):
            raise ValueError(
                f"`jac` is expected to have shape {(self.n, self.n)}, but actually has {matrix.shape}."
            )
        return matrix

    def _raise_kept(self):
        if self.python.error is not None:
            name, t = self.python.where
            self.python.error.add_note(
                f"raised in `{name}` at t = {t:.9g}, after the step to t = {self.t:.9g}"
            )
            raise self.python.error

    def _count(self):
        for name, value in self.integration.counters().items():
            if name != "nsteps":
                setattr(self, name, value)

    def _step_impl(self):
        with self.python:
            status = one_step(self.integration.address, self.pending)
        self._raise_kept()
        self._count()
        self.pending = int(status == 0)
        if status != 0:
            return False, self._failure(status)
        h, bound = self.solver.now.h, self.solver.now.t_bound
        self.y_old = self.solver.y.copy()
        self.t = bound if h == bound - self.t else self.t + h
        self.y = self.solver.step.y_new.copy()
        return True, None

    def _failure(self, status):
        """Message of a failed step; the typed error is kept as `failure`."""
        if status == NON_FINITE:
            slope = self.solver.step.K[self.method.stages]
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
        with self.python:
            rows = late_dense(self.integration.address, self.t - self.t_old)
        self._raise_kept()
        self._count()
        return _Piece(self.t_old, self.t, self.y_old, self.solver.step.Q[:rows].copy())


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
        warn_user(
            f"At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, {100 * EPS})`.",
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
