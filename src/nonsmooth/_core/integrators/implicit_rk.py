"""One step of the stiff methods: diagonally implicit (SDIRK4) and collocation (Radau IIA of order 5).

Both solve their stages by simplified Newton iterations with one Jacobian (Hairer & Wanner 1996, IV.6 and
IV.8): SDIRK stage by stage with the factors of ``I - h gamma J``, Radau after the transformation that splits
the 3n system into one real and one complex system of size n. A step that does not converge returns
``NEWTON_FAILED``.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.pointers import pointer_type
from nonsmooth._core.integrators.rk import (
    ERR_1,
    ERR_2,
    H_LU,
    H_POLY,
    HAVE_JAC,
    HAVE_LU,
    HAVE_OLD,
    JAC_CONSTANT,
    JAC_CURRENT,
    JAC_FUNCTION,
    JAC_MODE,
    K_0,
    N_ITER,
    NEWTON_FAILED,
    NFEV,
    NJEV,
    NLU,
    OK,
    Q_0,
    Q_OLD,
    RATE,
    STAGE,
    T_POLY,
    W_0,
    Y_NEW,
    Y_OLD,
    Z_0,
    dense_eval,
    quotient,
    scaled_norm,
)
from nonsmooth._core.jit import f8_1, f8_2, float64, kernel, noinline, void
from nonsmooth._core.linalg.dense_lu import lu_factor, lu_solve

#: Signature of a Jacobian ``jac(t, y, p, out)``, out of shape (n, n).
JAC = void(float64, f8_1, f8_1, f8_2)
JAC_FT = pointer_type(JAC)

NEWTON_MAX = 6
_S6 = 6.0**0.5
# Radau IIA, order 5: nodes, error estimator, eigenvalues of A^-1 and the transformation (Hairer & Wanner
# 1996, IV.8).
_C1, _C2 = (4.0 - _S6) / 10.0, (4.0 + _S6) / 10.0
_E1, _E2, _E3 = (-13.0 - 7.0 * _S6) / 3.0, (-13.0 + 7.0 * _S6) / 3.0, -1.0 / 3.0
_MU = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
_MU_C = complex(
    3.0 + 0.5 * (3.0 ** (1.0 / 3.0) - 3.0 ** (2.0 / 3.0)), -0.5 * (3.0 ** (5.0 / 6.0) + 3.0 ** (7.0 / 6.0))
)
_T = np.array(
    [
        [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
        [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
        [1.0, 1.0, 0.0],
    ]
)
_TI = np.array(
    [
        [4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
        [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
        [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
    ]
)
# Collocation polynomial in powers of theta from the stage increments Z.
_P = np.array(
    [
        [13.0 / 3.0 + 7.0 * _S6 / 3.0, -23.0 / 3.0 - 22.0 * _S6 / 3.0, 10.0 / 3.0 + 5.0 * _S6],
        [13.0 / 3.0 - 7.0 * _S6 / 3.0, -23.0 / 3.0 + 22.0 * _S6 / 3.0, 10.0 / 3.0 - 5.0 * _S6],
        [1.0 / 3.0, -8.0 / 3.0, 10.0 / 3.0],
    ]
)


@kernel(references=False, forceinline=False)
def update_jacobian(f, jac, t, y, p, work, control):
    """Jacobian at (t, y) into ``work.X[:n]``: constant, given, or by one-sided differences; ``F[K_0]`` must
    hold f(t, y).
    """
    noinline()
    ints = work.ints
    ints[JAC_CURRENT] = 1
    ints[HAVE_JAC] = 1
    if ints[JAC_MODE] == JAC_CONSTANT:
        return
    ints[HAVE_LU] = 0
    ints[NJEV] += 1
    if ints[JAC_MODE] == JAC_FUNCTION:
        jac(t, y, p, work.X[: y.size])
        return
    n = y.size
    F, X = work.F, work.X
    for k in range(n):
        F[STAGE, k] = y[k]
    for k in range(n):
        typical = abs(y[k])
        if control.tol[0, k] > 0.0:
            typical = max(typical, min(1.0, control.tol[1, k] / control.tol[0, k]))
        delta = 1.5e-8 * typical
        if delta == 0.0:
            delta = 1.5e-8
        if F[K_0, k] < 0.0:
            delta = -delta
        F[STAGE, k] = y[k] + delta
        delta = F[STAGE, k] - y[k]
        f(t, F[STAGE], p, F[ERR_1])
        for i in range(n):
            X[i, k] = (F[ERR_1, i] - F[K_0, i]) / delta
        F[STAGE, k] = y[k]


@kernel(references=False, forceinline=False)
def factor_real(work, shift):
    """Factors of ``shift I - J`` into the lower half of ``work.X``; False if singular."""
    noinline()
    X = work.X
    n = X.shape[1]
    for i in range(n):
        for k in range(n):
            X[n + i, k] = -X[i, k]
        X[n + i, i] += shift
    work.ints[NLU] += 1
    return lu_factor(X[n:], work.piv, n) > 0.0


@kernel(references=False, forceinline=False)
def factor_complex(work, shift):
    """Factors of ``shift I - J`` (complex shift) in ``work.C``; False if singular."""
    noinline()
    X, C = work.X, work.C
    n = X.shape[1]
    for i in range(n):
        for k in range(n):
            C[i, k] = -X[i, k]
        C[i, i] += shift
    work.ints[NLU] += 1
    return lu_factor(C, work.piv[n:], n) > 0.0


@kernel(references=False, forceinline=False)
def sdirk_step(method, f, t, y, h, p, work, control, newton_tol):
    """One SDIRK step. Stage 0 is f(t, y); the last stage value is y_new (stiffly accurate)."""
    noinline()
    n = y.size
    s = method.stages
    T = method.table
    gamma = T[1, 1]
    hg = h * gamma
    if work.ints[HAVE_LU] == 0 or work.reals[H_LU] != h:
        if not factor_real(work, 1.0 / hg):
            return NEWTON_FAILED
        work.ints[HAVE_LU] = 1
        work.reals[H_LU] = h
    F = work.F
    LU = work.X[n:]
    worst = 0
    for i in range(1, s):
        for k in range(n):
            acc = 0.0
            for j in range(i):
                acc += T[i, j] * F[K_0 + j, k]
            F[Z_0, k] = y[k] + h * acc
            F[STAGE, k] = F[Z_0, k] + hg * F[K_0 + i - 1, k]  # guess: the slope of the stage before
        converged = False
        old = -1.0
        for it in range(NEWTON_MAX + 4):
            f(t + T[method.rows + 1, i] * h, F[STAGE], p, F[ERR_1])
            work.ints[NFEV] += 1
            for k in range(n):
                F[ERR_2, k] = F[ERR_1, k] - (F[STAGE, k] - F[Z_0, k]) / hg
            lu_solve(LU, work.piv, n, F[ERR_2])
            size = scaled_norm(F[ERR_2], y, F[STAGE], control)
            if not np.isfinite(size):
                return NEWTON_FAILED
            rate = -1.0
            if old > 0.0:
                rate = size / old
                if rate >= 1.0 or rate ** (NEWTON_MAX + 3 - it) / (1.0 - rate) * size > newton_tol:
                    break
            for k in range(n):
                F[STAGE, k] += F[ERR_2, k]
            worst = max(worst, it + 1)
            work.reals[RATE] = rate
            if size <= 1e-3 * newton_tol or (rate > 0.0 and rate / (1.0 - rate) * size < newton_tol):
                converged = True
                break
            old = size
        if not converged:
            return NEWTON_FAILED
        for k in range(n):
            F[K_0 + i, k] = (F[STAGE, k] - F[Z_0, k]) / hg
    work.ints[N_ITER] = worst
    for k in range(n):
        F[Y_NEW, k] = F[STAGE, k]
        F[K_0 + s, k] = F[K_0 + s - 1, k]
        acc = 0.0
        for j in range(s):
            acc += T[method.rows + 2, j] * F[K_0 + j, k]
        # The estimate is filtered by (I - h gamma J)^-1 so that stiff components do not dominate it.
        F[ERR_1, k] = acc / gamma
    lu_solve(LU, work.piv, n, F[ERR_1])
    return OK


@kernel(references=False, forceinline=False)
def radau_step(f, t, y, h, p, work, control, newton_tol):
    """One Radau IIA(5) step by transformed simplified Newton; error estimate of order 3 in ``F[ERR_1]``."""
    noinline()
    n = y.size
    if work.ints[HAVE_LU] == 0 or work.reals[H_LU] != h:
        if not (factor_real(work, _MU / h) and factor_complex(work, _MU_C / h)):
            return NEWTON_FAILED
        work.ints[HAVE_LU] = 1
        work.reals[H_LU] = h
    F, C = work.F, work.C
    LU, bc = work.X[n:], work.C[n]
    # Starting values: the polynomial of the step before, continued.
    if work.ints[HAVE_OLD] == 1:
        for i in range(3):
            c = _C1 if i == 0 else (_C2 if i == 1 else 1.0)
            theta = (t + c * h - work.reals[T_POLY]) / work.reals[H_POLY]
            dense_eval(F[Y_OLD], F[Q_OLD:], 3, theta, F[Z_0 + i])
            for k in range(n):
                F[Z_0 + i, k] -= y[k]
    else:
        for i in range(3):
            for k in range(n):
                F[Z_0 + i, k] = 0.0
    for i in range(3):
        for k in range(n):
            F[W_0 + i, k] = _TI[i, 0] * F[Z_0, k] + _TI[i, 1] * F[Z_0 + 1, k] + _TI[i, 2] * F[Z_0 + 2, k]
    converged = False
    old = -1.0
    for it in range(NEWTON_MAX):
        for i in range(3):
            c = _C1 if i == 0 else (_C2 if i == 1 else 1.0)
            for k in range(n):
                F[STAGE, k] = y[k] + F[Z_0 + i, k]
            f(t + c * h, F[STAGE], p, F[K_0 + i + 1])
        work.ints[NFEV] += 3
        work.ints[N_ITER] = it + 1
        for k in range(n):
            F[ERR_1, k] = (
                _TI[0, 0] * F[K_0 + 1, k]
                + _TI[0, 1] * F[K_0 + 2, k]
                + _TI[0, 2] * F[K_0 + 3, k]
                - _MU / h * F[W_0, k]
            )
            re = _TI[1, 0] * F[K_0 + 1, k] + _TI[1, 1] * F[K_0 + 2, k] + _TI[1, 2] * F[K_0 + 3, k]
            im = _TI[2, 0] * F[K_0 + 1, k] + _TI[2, 1] * F[K_0 + 2, k] + _TI[2, 2] * F[K_0 + 3, k]
            bc[k] = complex(re, im) - _MU_C / h * complex(F[W_0 + 1, k], F[W_0 + 2, k])
        lu_solve(LU, work.piv, n, F[ERR_1])
        lu_solve(C, work.piv[n:], n, bc)
        acc = 0.0
        for k in range(n):
            scale = control.tol[1, k] + abs(y[k]) * control.tol[0, k]
            acc += (
                quotient(F[ERR_1, k], scale) ** 2
                + quotient(bc[k].real, scale) ** 2
                + quotient(bc[k].imag, scale) ** 2
            )
        size = np.sqrt(acc / (3 * n)) if n > 0 else 0.0
        if not np.isfinite(size):
            return NEWTON_FAILED
        rate = -1.0
        if old > 0.0:
            rate = size / old
            if rate >= 1.0 or rate ** (NEWTON_MAX - it) / (1.0 - rate) * size > newton_tol:
                return NEWTON_FAILED
        for k in range(n):
            F[W_0, k] += F[ERR_1, k]
            F[W_0 + 1, k] += bc[k].real
            F[W_0 + 2, k] += bc[k].imag
        for i in range(3):
            for k in range(n):
                F[Z_0 + i, k] = _T[i, 0] * F[W_0, k] + _T[i, 1] * F[W_0 + 1, k] + _T[i, 2] * F[W_0 + 2, k]
        if size == 0.0 or (rate >= 0.0 and rate / (1.0 - rate) * size < newton_tol):
            converged = True
            work.reals[RATE] = rate
            break
        old = size
    if not converged:
        return NEWTON_FAILED
    for k in range(n):
        F[Y_NEW, k] = y[k] + F[Z_0 + 2, k]
        F[ERR_2, k] = (_E1 * F[Z_0, k] + _E2 * F[Z_0 + 1, k] + _E3 * F[Z_0 + 2, k]) / h
        F[ERR_1, k] = F[K_0, k] + F[ERR_2, k]
    lu_solve(LU, work.piv, n, F[ERR_1])
    return OK


@kernel(references=False, forceinline=False)
def radau_second_estimate(f, t, y, p, work):
    """The estimate evaluated once more at y + err: used after a rejected first try (Hairer & Wanner 1996,
    IV.8.20).
    """
    noinline()
    n = y.size
    F = work.F
    LU = work.X[n:]
    for k in range(n):
        F[STAGE, k] = y[k] + F[ERR_1, k]
    f(t, F[STAGE], p, F[ERR_1])
    work.ints[NFEV] += 1
    for k in range(n):
        F[ERR_1, k] += F[ERR_2, k]
    lu_solve(LU, work.piv, n, F[ERR_1])


@kernel(references=False, forceinline=False)
def radau_dense(work):
    """Collocation polynomial in the nested basis of `rk`."""
    noinline()
    F = work.F
    for k in range(F.shape[1]):
        m1 = _P[0, 0] * F[Z_0, k] + _P[1, 0] * F[Z_0 + 1, k] + _P[2, 0] * F[Z_0 + 2, k]
        m2 = _P[0, 1] * F[Z_0, k] + _P[1, 1] * F[Z_0 + 1, k] + _P[2, 1] * F[Z_0 + 2, k]
        m3 = _P[0, 2] * F[Z_0, k] + _P[1, 2] * F[Z_0 + 1, k] + _P[2, 2] * F[Z_0 + 2, k]
        F[Q_0, k] = F[Z_0 + 2, k]
        F[Q_0 + 1, k] = -m2 - m3
        F[Q_0 + 2, k] = -m3
        # m1 enters through Q_0 + Q_1 = m1 (the polynomial takes the value Z_3 at theta = 1).
        F[Q_0 + 1, k] += (m1 + m2 + m3) - F[Z_0 + 2, k]
