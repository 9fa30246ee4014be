"""An integration by name: the method, its step-size control, the state, the step in progress, counters.

An integration is one record, `Solver`, and every function that works on it takes its address: a loop calls any method
through the addresses in ``solver.at``. The right-hand side is ``field(c, t, y, out)``; `c` is the address of whatever
record the problem lives in (``at.context``), which the integrators never look into.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    Reference,
    address_record,
    by_reference,
    caller,
    f8_1,
    f8_2,
    float64,
    int64,
    scalars,
    void,
)

# Kinds of methods.
EXPLICIT, SDIRK, RADAU = range(3)

# What a step or a run can end with.
OK, NEWTON_FAILED, NON_FINITE, STEP_TOO_SMALL = range(4)

#: The output of a run is full, or its budget of steps is used up: call again to continue.
FULL = 9

# How the Jacobian of an implicit method is found.
JAC_DIFFERENCES, JAC_FUNCTION, JAC_CONSTANT = range(3)

#: Right-hand sides and switching functions ``f(c, t, y, out)``; Jacobians ``jac(c, t, y, out)``, out of shape (n, n).
FIELD = void(int64, float64, f8_1, f8_1)
JACOBIAN = void(int64, float64, f8_1, f8_2)
#: ``try_step(solver, h)``: one step of size h, thrown away by the next call. Also `solid_step`.
TRY = int64(int64, float64)
#: ``adapt(solver)``: one step accepted by the error control, its size in ``now.h``.
ADAPT = int64(int64)
#: ``dense(solver, h)``: dense output of the step of size h just made; returns the number of its rows.
DENSE = int64(int64, float64)

call_field, call_jacobian = caller(FIELD), caller(JACOBIAN)
call_try, call_adapt, call_dense = caller(TRY), caller(ADAPT), caller(DENSE)


class Tableau(NamedTuple):
    """Row ``stages`` of A is b: the slope there is the one at the end of the step; further rows serve dense output."""

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    E: np.ndarray  # two error estimators, h K^T E
    D: np.ndarray  # dense output beyond cubic Hermite, one row per coefficient


class Method(NamedTuple):
    """A single-step method as data (see `nonsmooth.integrators.tableaus`)."""

    kind: int
    stages: int
    extra: int  # stages that only dense output needs
    order: int
    error_order: int
    tableau: Tableau

    @property
    def dense_rows(self) -> int:
        """Number of coefficients of the dense output."""
        return 3 + len(self.tableau.D)


MethodRecord = scalars(
    "MethodRecord", kind=int, stages=int, extra=int, order=int, error_order=int, n_dense=int,
    two_estimates=int,  # whether the second row of E is used as well
)  # fmt: skip

Control = scalars(
    "Control",
    max_step=float,
    safety=float,
    exponent=float,
    min_factor=float,
    max_factor=float,
    compere=int,  # norm of Compere 2001, eq. (5.8), instead of the root mean square of err/(atol + rtol max|y|)
    fixed=int,  # every step has the size of the first one
)

Now = scalars(
    "Now",
    t=float,  # begin of the step
    t_bound=float,
    h=float,  # size of the step taken by `adapt`
    h_next=float,  # proposal for the next one
    error=float,  # of the step taken, in units of the tolerance
    h_old=float,  # of the step before (predictive control of the implicit methods)
    error_old=float,  # negative: there is none
)

Newton = scalars(
    "Newton",
    jacobian=int,  # JAC_DIFFERENCES, JAC_FUNCTION or JAC_CONSTANT
    have_jacobian=int,
    current=int,  # the Jacobian belongs to the begin of this step
    have_factors=int,
    h_factors=float,  # step size they belong to
    iterations=int,
    rate=float,  # of convergence
    have_old=int,  # whether the polynomial of the step before can be continued
    t_old=float,
    h_old=float,
)

Counts = scalars("Counts", nfev=int, njev=int, nlu=int, nsteps=int, nrejected=int)


class Step(NamedTuple):
    """The step in progress."""

    y_new: np.ndarray
    stage: np.ndarray
    error: np.ndarray  # the error vector
    error_2: np.ndarray  # a second one (DOP853), or work space
    K: np.ndarray  # slopes; K[0] = f(t, y), K[stages] at the end of the step
    Q: np.ndarray  # dense output, see `explicit.dense_eval`


class Implicit(NamedTuple):
    """What the implicit methods need besides; of size 0 for the explicit ones."""

    J: np.ndarray
    LU: np.ndarray
    pivots: np.ndarray
    LU_c: np.ndarray  # complex
    pivots_c: np.ndarray
    b_c: np.ndarray
    Z: np.ndarray  # increments of the stages
    W: np.ndarray  # the same, transformed
    y_old: np.ndarray  # begin and polynomial of the step before
    Q_old: np.ndarray


class Solver(NamedTuple):
    """An integration in progress."""

    at: Any  # addresses: try_step, solid, adapt, dense, field, jacobian; context of the problem; solver (this record)
    method: Any
    tableau: Tableau
    control: Any
    rtol: np.ndarray
    atol: np.ndarray
    now: Any
    newton: Any
    count: Any
    y: np.ndarray
    step: Step
    implicit: Implicit


ADDRESSES = ("try_step", "solid", "adapt", "dense", "field", "jacobian", "context", "solver")


def make_solver(at, method: Method, n: int, control) -> Solver:
    """A solver for n unknowns; `at` are the addresses, tolerances are to be filled in."""
    m = 0 if method.kind == EXPLICIT else n
    record, tableau = MethodRecord(), method.tableau
    for name in ("kind", "stages", "extra", "order", "error_order"):
        setattr(record, name, getattr(method, name))
    record.n_dense = len(tableau.D)
    record.two_estimates = tableau.E[1, 0] != 0.0
    ints = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    return Solver(
        at, record, tableau, control, np.zeros(n), np.zeros(n), Now(), Newton(), Counts(), np.zeros(n),
        Step(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((len(tableau.A), n)), np.zeros((8, n))),
        Implicit(
            np.zeros((m, m)), np.zeros((m, m)), ints[0], np.zeros((m, m), dtype=np.complex128), ints[1],
            np.zeros(m, dtype=np.complex128), np.zeros((3, m)), np.zeros((3, m)), np.zeros(m), np.zeros((3, m)),
        ),
    )  # fmt: skip


def linked(solver: Solver) -> Reference:
    """A reference to `solver`, of which the solver itself knows the address."""
    reference = Reference(solver)
    solver.at.solver = reference.address
    return reference


def _example():
    one = np.zeros((1, 1))
    method = Method(EXPLICIT, 1, 0, 1, 1, Tableau(one, np.zeros(1), np.zeros(1), np.zeros((2, 1)), one))
    return make_solver(address_record(**dict.fromkeys(ADDRESSES, 0)), method, 1, Control())


EXAMPLE = _example()
_, solver_at = by_reference(EXAMPLE)
