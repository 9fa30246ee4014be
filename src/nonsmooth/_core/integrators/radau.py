"""One step of Radau IIA of order 5 (Hairer & Wanner 1996, IV.8).

The 3n system of the stage increments Z is transformed, W = T^-1 Z, into one real and one complex system of size n, which
simplified Newton solves with one Jacobian.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.dense_output import dense_eval
from nonsmooth._core.integrators.error_control import quotient
from nonsmooth._core.integrators.newton import adapt, factor, newton_tolerance, prepare, solid_step
from nonsmooth._core.integrators.records import (
    ADAPT,
    DENSE,
    NEWTON_FAILED,
    OK,
    TRY,
    call_field,
    solver_at,
)
from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import lu_solve

NEWTON_MAX = 6
_S6 = 6.0**0.5
# Nodes, error estimator, eigenvalues of A^-1 and the transformation.
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


@phase
def node(i):
    """c_i."""
    return _C1 if i == 0 else (_C2 if i == 1 else 1.0)


@phase
def first_guess(s, h):
    """Increments from the polynomial of the step before, continued; their transform."""
    Z, W = s.implicit.Z, s.implicit.W
    if s.newton.have_old == 1:
        for i in range(3):
            theta = (s.now.t + node(i) * h - s.newton.t_old) / s.newton.h_old
            dense_eval(s.implicit.y_old, s.implicit.Q_old, 3, theta, Z[i])
            for k in range(s.y.size):
                Z[i, k] -= s.y[k]
    else:
        for i in range(3):
            for k in range(s.y.size):
                Z[i, k] = 0.0
    for i in range(3):
        for k in range(s.y.size):
            W[i, k] = _TI[i, 0] * Z[0, k] + _TI[i, 1] * Z[1, k] + _TI[i, 2] * Z[2, k]


@phase
def newton_update(s, h):
    """Slopes of the stages and the change of W: real part in ``error``, complex part in ``b_c``."""
    n, K, Z, W, b_c, real = s.y.size, s.step.K, s.implicit.Z, s.implicit.W, s.implicit.b_c, s.step.error
    for i in range(3):
        for k in range(n):
            s.step.stage[k] = s.y[k] + Z[i, k]
        call_field(s.at.field, s.at.context, s.now.t + node(i) * h, s.step.stage, K[i + 1])
    s.count.nfev += 3
    for k in range(n):
        real[k] = _TI[0, 0] * K[1, k] + _TI[0, 1] * K[2, k] + _TI[0, 2] * K[3, k] - _MU / h * W[0, k]
        re = _TI[1, 0] * K[1, k] + _TI[1, 1] * K[2, k] + _TI[1, 2] * K[3, k]
        im = _TI[2, 0] * K[1, k] + _TI[2, 1] * K[2, k] + _TI[2, 2] * K[3, k]
        b_c[k] = complex(re, im) - _MU_C / h * complex(W[1, k], W[2, k])
    lu_solve(s.implicit.LU, s.implicit.pivots, n, real)
    lu_solve(s.implicit.LU_c, s.implicit.pivots_c, n, b_c)


@phase
def update_size(s):
    """Scaled norm of the change of W."""
    n, real, b_c = s.y.size, s.step.error, s.implicit.b_c
    acc = 0.0
    for k in range(n):
        scale = s.atol[k] + abs(s.y[k]) * s.rtol[k]
        acc += (
            quotient(real[k], scale) ** 2
            + quotient(b_c[k].real, scale) ** 2
            + quotient(b_c[k].imag, scale) ** 2
        )
    return np.sqrt(acc / (3 * n)) if n > 0 else 0.0


@phase
def apply_update(s):
    """W and Z moved on."""
    Z, W, b_c = s.implicit.Z, s.implicit.W, s.implicit.b_c
    for k in range(s.y.size):
        W[0, k] += s.step.error[k]
        W[1, k] += b_c[k].real
        W[2, k] += b_c[k].imag
    for i in range(3):
        for k in range(s.y.size):
            Z[i, k] = _T[i, 0] * W[0, k] + _T[i, 1] * W[1, k] + _T[i, 2] * W[2, k]


@phase
def solve_stages(s, h, tol):
    """Transformed simplified Newton; True if it converged."""
    old = -1.0
    for it in range(NEWTON_MAX):
        newton_update(s, h)
        s.newton.iterations = it + 1
        size = update_size(s)
        if not np.isfinite(size):
            return False
        rate = -1.0
        if old > 0.0:
            rate = size / old
            if rate >= 1.0 or rate ** (NEWTON_MAX - it) / (1.0 - rate) * size > tol:
                return False
        apply_update(s)
        if size == 0.0 or (rate >= 0.0 and rate / (1.0 - rate) * size < tol):
            s.newton.rate = rate
            return True
        old = size
    return False


@part(TRY)
def try_radau(address, h):
    """One Radau IIA(5) step; error estimate of order 3."""
    s = solver_at(address)
    prepare(s)
    n, Z = s.y.size, s.implicit.Z
    if s.newton.have_factors == 0 or s.newton.h_factors != h:
        real = factor(s, s.implicit.LU, s.implicit.pivots, _MU / h)
        if not (real and factor(s, s.implicit.LU_c, s.implicit.pivots_c, _MU_C / h)):
            return NEWTON_FAILED
        s.newton.have_factors = 1
        s.newton.h_factors = h
    first_guess(s, h)
    if not solve_stages(s, h, newton_tolerance(s)):
        return NEWTON_FAILED
    for k in range(n):
        s.step.y_new[k] = s.y[k] + Z[2, k]
        s.step.error_2[k] = (_E1 * Z[0, k] + _E2 * Z[1, k] + _E3 * Z[2, k]) / h
        s.step.error[k] = s.step.K[0, k] + s.step.error_2[k]
    lu_solve(s.implicit.LU, s.implicit.pivots, n, s.step.error)
    return OK


@phase
def second_estimate(s):
    """The estimate evaluated once more at y + err: used after a rejected first try (Hairer & Wanner 1996, IV.8.20)."""
    for k in range(s.y.size):
        s.step.stage[k] = s.y[k] + s.step.error[k]
    call_field(s.at.field, s.at.context, s.now.t, s.step.stage, s.step.error)
    s.count.nfev += 1
    for k in range(s.y.size):
        s.step.error[k] += s.step.error_2[k]
    lu_solve(s.implicit.LU, s.implicit.pivots, s.y.size, s.step.error)


@phase
def end_slope(s, h):
    """The slope at the end of the step, which is no stage of this method."""
    call_field(s.at.field, s.at.context, s.now.t + h, s.step.y_new, s.step.K[s.method.stages])
    s.count.nfev += 1


@part(ADAPT)
def adapt_radau(address):
    """One step accepted by the error control."""
    s = solver_at(address)
    status = adapt(s, second_estimate)
    if status == OK:
        end_slope(s, s.now.h)
    return status


@part(TRY)
def solid_radau(address, h):
    """A step of prescribed size, for the location of events."""
    s = solver_at(address)
    status = solid_step(s, h)
    if status == OK:
        end_slope(s, h)
    return status


@phase
def collocation(s):
    """Collocation polynomial in the nested basis of `dense_output`."""
    Z, Q = s.implicit.Z, s.step.Q
    for k in range(s.y.size):
        m1 = _P[0, 0] * Z[0, k] + _P[1, 0] * Z[1, k] + _P[2, 0] * Z[2, k]
        m2 = _P[0, 1] * Z[0, k] + _P[1, 1] * Z[1, k] + _P[2, 1] * Z[2, k]
        m3 = _P[0, 2] * Z[0, k] + _P[1, 2] * Z[1, k] + _P[2, 2] * Z[2, k]
        Q[0, k] = Z[2, k]
        Q[1, k] = -m2 - m3
        Q[2, k] = -m3
        # m1 enters through Q_0 + Q_1 = m1 (the polynomial takes the value Z_3 at theta = 1).
        Q[1, k] += (m1 + m2 + m3) - Z[2, k]


@part(DENSE)
def dense_radau(address, h):
    """Dense output: the collocation polynomial."""
    collocation(solver_at(address))
    return 3
