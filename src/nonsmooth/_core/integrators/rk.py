"""One step of a Runge-Kutta method given as data, its error estimate, its dense output and its step-size
controller.

An explicit method with ``s`` stages is the tableau ``A, b, c``; row ``s`` of ``A`` is ``b``, so that ``K[s]``
is the slope at the end of the step (it is the first stage of the next one and is needed by every
interpolant); further rows are evaluated only when dense output is asked for. The error estimate is ``h K^T
E``.

Dense output is a polynomial in ``theta = (tau - t)/h`` in the nested basis of Hairer, Norsett & Wanner
(1993, II.6)

    y(theta) = y_0 + theta (Q_0 + (1-theta) (Q_1 + theta (Q_2 + (1-theta) (Q_3 + ...))))
    (1)

with ``Q_0 = y_1 - y_0``, ``Q_1 = h f_0 - Q_0``, ``Q_2 = Q_0 - h f_1 - Q_1`` and ``Q_{3+j} = h sum_i D_ji
K_i``: values and slopes at both ends are exact by construction.

All kernels write into the work arrays they are given and return a status; none allocates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonsmooth._core.calls.pointers import pointer_type
from nonsmooth._core.jit import complex128, f8_1, f8_2, float64, i8_1, int64, kernel, noinline, types, void

#: Signature of every right-hand side: ``f(t, y, p, out)``, p a flat parameter array.
RHS = void(float64, f8_1, f8_1, f8_1)
RHS_FT = pointer_type(RHS)

EXPLICIT, SDIRK, RADAU = 0, 1, 2

# What a step or a run can end with.
OK, NEWTON_FAILED, NON_FINITE, STEP_TOO_SMALL = 0, 1, 2, 3

# Entries of the integer and real parts of the work record.
NFEV, NJEV, NLU, NSTEPS, NREJECTED, JAC_CURRENT, HAVE_LU, N_ITER, HAVE_OLD, JAC_MODE, HAVE_JAC = range(11)
H_NEXT, H_LU, ERR, ERR_OLD, H_OLD, H_TAKEN, H_POLY, T_POLY, RATE = range(9)

# How the Jacobian of an implicit method is found.
JAC_DIFFERENCES, JAC_FUNCTION, JAC_CONSTANT = 0, 1, 2


class Method(NamedTuple):
    """A single-step method as data (see `nonsmooth.integrators.tableaus`).

    ``table`` holds, one below the other: A (`rows` rows: stages, the end of the step, extra stages), b, c,
    two error estimators, and `n_dense` rows D of the dense output. One array, because every array handed to a
    compiled function costs compile time in each of its callers.
    """

    kind: int
    stages: int
    extra: int
    order: int
    error_order: int
    rows: int
    n_dense: int
    table: np.ndarray


class Control(NamedTuple):
    """Step-size control; ``tol`` (2, n) is rtol over atol.

    `norm` 0: root mean square of err/(atol + rtol max|y|); 1: Compere 2001, eq. (5.8).
    """

    tol: np.ndarray
    max_step: float
    safety: float
    exponent: float
    min_factor: float
    max_factor: float
    norm: int
    fixed: int


# Rows of ``Work.F``.
STAGE, Y_NEW, ERR_1, ERR_2, Y_OLD = 0, 1, 2, 3, 4
Q_OLD, Z_0, W_0 = 5, 8, 11
Q_0 = 14
K_0 = 22


class Work(NamedTuple):
    """Work arrays of one run of one method with n unknowns.

    ``F`` (rows, n): all vectors, see the row numbers above (``F[Y_NEW]``, ``F[Q_0 + j]``, slopes ``F[K_0 +
    i]``); ``X`` (2m, m): Jacobian and real factors, ``C`` (m + 1, m): complex factors and one complex vector,
    m = n for the implicit methods and 0 for the explicit ones; ``piv`` (2m,); ``ints`` and ``reals``:
    counters and memory.
    """

    F: np.ndarray
    X: np.ndarray
    C: np.ndarray
    piv: np.ndarray
    ints: np.ndarray
    reals: np.ndarray


METHOD_T = types.NamedTuple([int64] * 7 + [f8_2], Method)
CONTROL_T = types.NamedTuple([f8_2] + [float64] * 5 + [int64] * 2, Control)
WORK_T = types.NamedTuple([f8_2, f8_2, types.Array(complex128, 2, "C"), i8_1, i8_1, f8_1], Work)


@kernel(internal=True, cache=False)
def explicit_step(method, f, t, y, h, p, work):
    """Stages, end state, slope at the end and the error vectors; ``F[K_0]`` must hold ``f(t, y)``."""
    n = y.size
    s = method.stages
    F, T = work.F, method.table
    b = method.rows
    c = b + 1
    for i in range(1, s):
        for k in range(n):
            acc = 0.0
            for j in range(i):
                acc += T[i, j] * F[K_0 + j, k]
            F[STAGE, k] = y[k] + h * acc
        f(t + T[c, i] * h, F[STAGE], p, F[K_0 + i])
    for k in range(n):
        acc = 0.0
        for j in range(s):
            acc += T[b, j] * F[K_0 + j, k]
        F[Y_NEW, k] = y[k] + h * acc
    f(t + h, F[Y_NEW], p, F[K_0 + s])
    work.ints[NFEV] += s
    for k in range(n):
        acc = 0.0
        acc2 = 0.0
        for j in range(s + 1):
            acc += T[b + 2, j] * F[K_0 + j, k]
            acc2 += T[b + 3, j] * F[K_0 + j, k]
        F[ERR_1, k] = h * acc
        F[ERR_2, k] = h * acc2
    return OK


@kernel(internal=True, cache=False)
def extra_stages(method, f, t, y, h, p, work):
    """Evaluate the stages that only dense output needs."""
    s = method.stages
    F, T = work.F, method.table
    for i in range(s + 1, s + 1 + method.extra):
        for k in range(y.size):
            acc = 0.0
            for j in range(i):
                acc += T[i, j] * F[K_0 + j, k]
            F[STAGE, k] = y[k] + h * acc
        f(t + T[method.rows + 1, i] * h, F[STAGE], p, F[K_0 + i])
    work.ints[NFEV] += method.extra


@kernel(internal=True, cache=False)
def interpolant(method, y, h, work):
    """Coefficients Q of (1) from values and slopes at both ends and the rows D."""
    s = method.stages
    F, T = work.F, method.table
    for k in range(y.size):
        q0 = F[Y_NEW, k] - y[k]
        q1 = h * F[K_0, k] - q0
        F[Q_0, k] = q0
        F[Q_0 + 1, k] = q1
        F[Q_0 + 2, k] = q0 - h * F[K_0 + s, k] - q1
    first = method.rows + 4
    for j in range(method.n_dense):
        for k in range(y.size):
            acc = 0.0
            for i in range(s + 1 + method.extra):
                acc += T[first + j, i] * F[K_0 + i, k]
            F[Q_0 + 3 + j, k] = h * acc


@kernel(references=False, forceinline=False)
def dense_eval(y, Q, rows, theta, out):
    """Evaluate (1) with the first `rows` rows of `Q` at `theta` into `out`."""
    one = 1.0 - theta
    for k in range(y.size):
        acc = 0.0
        for j in range(rows - 1, -1, -1):
            acc = (acc + Q[j, k]) * (theta if j % 2 == 0 else one)
        out[k] = y[k] + acc


@kernel(references=False, forceinline=False)
def dense_slope(Q, rows, theta, h, out):
    """Derivative of (1) with respect to time at `theta` into `out`."""
    one = 1.0 - theta
    for k in range(out.size):
        acc = 0.0
        slope = 0.0
        for j in range(rows - 1, -1, -1):
            value = acc + Q[j, k]
            if j % 2 == 0:
                slope = slope * theta + value
                acc = value * theta
            else:
                slope = slope * one - value
                acc = value * one
        out[k] = slope / h


@kernel(references=False, forceinline=False)
def quotient(x, scale):
    """x/scale with 0/0 = 0 and x/0 = inf: a component without tolerance may only stay exact."""
    if scale > 0.0:
        return x / scale
    return 0.0 if x == 0.0 else np.inf


@kernel(references=False, forceinline=False)
def scaled_norm(x, y, y_new, control):
    """Norm of an error `x` measured by the tolerances: accepted where it is below 1."""
    noinline()
    n = x.size
    if n == 0:
        return 0.0
    if control.norm == 1:  # Compere 2001, eq. (5.8): delta/tau
        worst = 0.0
        size = 1.0
        for k in range(n):
            if not np.isfinite(x[k]):
                return np.nan
            worst = max(worst, abs(x[k]))
            size = max(size, abs(y[k]))
        return worst / (control.tol[0, 0] * size)
    acc = 0.0
    for k in range(n):
        scale = control.tol[1, k] + control.tol[0, k] * max(abs(y[k]), abs(y_new[k]))
        acc += quotient(x[k], scale) ** 2
    return np.sqrt(acc / n)


@kernel(internal=True, cache=False)
def explicit_error(method, y, work, control):
    """Error norm of the step just taken; two estimators are combined as in DOP853 (Hairer et al. 1993,
    II.5).
    """
    F = work.F
    e5 = scaled_norm(F[ERR_1], y, F[Y_NEW], control)
    if method.table[method.rows + 3, 0] == 0.0:
        return e5
    e3 = scaled_norm(F[ERR_2], y, F[Y_NEW], control)
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    return e5 * e5 / np.sqrt(e5 * e5 + 0.01 * e3 * e3)


@kernel(references=False, forceinline=False)
def step_factor(error, control, rejected):
    """Factor on the step size after a step with scaled error norm `error`."""
    if error == 0.0:
        factor = control.max_factor
    elif error < 1.0:
        factor = min(control.max_factor, control.safety * error**control.exponent)
    elif np.isfinite(error):
        factor = max(control.min_factor, control.safety * error**control.exponent)
    else:
        factor = control.min_factor
    if rejected:
        factor = min(1.0, factor)
    return factor


@kernel(references=False, forceinline=False)
def initial_step(method, f, t, y, t_bound, p, work, control):
    """Starting step size (Hairer, Norsett & Wanner 1993, II.4); ``F[K_0]`` must hold ``f(t, y)``."""
    noinline()
    n = y.size
    span = abs(t_bound - t)
    if n == 0:
        return np.inf
    if span == 0.0:
        return 0.0
    direction = 1.0 if t_bound >= t else -1.0
    d0 = 0.0
    d1 = 0.0
    f0 = work.F[K_0]
    for k in range(n):
        scale = control.tol[1, k] + abs(y[k]) * control.tol[0, k]
        d0 += quotient(y[k], scale) ** 2
        d1 += quotient(f0[k], scale) ** 2
    d0 = np.sqrt(d0 / n)
    d1 = np.sqrt(d1 / n)
    h0 = 1e-6 if (d0 < 1e-5 or d1 < 1e-5) else 0.01 * d0 / d1
    h0 = min(h0, span)
    if not np.isfinite(h0):
        h0 = min(1e-6, span)
    for k in range(n):
        work.F[STAGE, k] = y[k] + h0 * direction * f0[k]
    f(t + h0 * direction, work.F[STAGE], p, work.F[ERR_1])
    work.ints[NFEV] += 1
    d2 = 0.0
    for k in range(n):
        scale = control.tol[1, k] + abs(y[k]) * control.tol[0, k]
        d2 += quotient(work.F[ERR_1, k] - f0[k], scale) ** 2
    d2 = np.sqrt(d2 / n) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / (method.error_order + 1))
    if not np.isfinite(h1):
        h1 = h0
    return min(min(100.0 * h0, h1), min(span, control.max_step))
