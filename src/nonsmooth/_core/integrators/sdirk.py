"""One step of a diagonally implicit method (SDIRK4), stage by stage with the factors of ``I - h gamma J``.

Stage 0 is f(t, y); the last stage value is y_new (stiffly accurate).
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.dense_output import interpolant
from nonsmooth._core.integrators.error_control import scaled_norm
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


@phase
def stage_start(s, i, h, hg):
    """Constant part of stage i into Z[0]; first guess with the slope of the stage before."""
    K, A, z, x = s.step.K, s.tableau.A, s.implicit.Z[0], s.step.stage
    for k in range(s.y.size):
        acc = 0.0
        for j in range(i):
            acc += A[i, j] * K[j, k]
        z[k] = s.y[k] + h * acc
        x[k] = z[k] + hg * K[i - 1, k]


@phase
def stage_newton(s, i, h, hg, tol):
    """Simplified Newton for stage i; True if it converged."""
    n, x, z, new, dx = s.y.size, s.step.stage, s.implicit.Z[0], s.step.error, s.step.error_2
    old = -1.0
    for it in range(NEWTON_MAX + 4):
        call_field(s.at.field, s.at.context, s.now.t + s.tableau.c[i] * h, x, new)
        s.count.nfev += 1
        for k in range(n):
            dx[k] = new[k] - (x[k] - z[k]) / hg
        lu_solve(s.implicit.LU, s.implicit.pivots, n, dx)
        size = scaled_norm(s, dx, x)
        if not np.isfinite(size):
            return False
        rate = -1.0
        if old > 0.0:
            rate = size / old
            if rate >= 1.0 or rate ** (NEWTON_MAX + 3 - it) / (1.0 - rate) * size > tol:
                return False
        for k in range(n):
            x[k] += dx[k]
        s.newton.iterations = max(s.newton.iterations, it + 1)
        s.newton.rate = rate
        if size <= 1e-3 * tol or (rate > 0.0 and rate / (1.0 - rate) * size < tol):
            return True
        old = size
    return False


@phase
def error_estimate(s, gamma):
    """End state and error, filtered by (I - h gamma J)^-1 so that stiff components do not dominate it."""
    n, K, end = s.y.size, s.step.K, s.method.stages
    for k in range(n):
        s.step.y_new[k] = s.step.stage[k]
        K[end, k] = K[end - 1, k]
        acc = 0.0
        for j in range(end):
            acc += s.tableau.E[0, j] * K[j, k]
        s.step.error[k] = acc / gamma
    lu_solve(s.implicit.LU, s.implicit.pivots, n, s.step.error)


@part(TRY)
def try_sdirk(address, h):
    """One SDIRK step: its stages, end state and error estimate."""
    s = solver_at(address)
    prepare(s)
    gamma = s.tableau.A[1, 1]
    hg = h * gamma
    if s.newton.have_factors == 0 or s.newton.h_factors != h:
        if not factor(s, s.implicit.LU, s.implicit.pivots, 1.0 / hg):
            return NEWTON_FAILED
        s.newton.have_factors = 1
        s.newton.h_factors = h
    tol = newton_tolerance(s)
    before = s.newton.iterations
    s.newton.iterations = 0
    for i in range(1, s.method.stages):
        stage_start(s, i, h, hg)
        if not stage_newton(s, i, h, hg, tol):
            s.newton.iterations = before
            return NEWTON_FAILED
        for k in range(s.y.size):
            s.step.K[i, k] = (s.step.stage[k] - s.implicit.Z[0, k]) / hg
    error_estimate(s, gamma)
    return OK


@phase
def as_it_is(s):
    """The error estimate has no second form."""


@part(ADAPT)
def adapt_sdirk(address):
    """One step accepted by the error control."""
    return adapt(solver_at(address), as_it_is)


@part(TRY)
def solid_sdirk(address, h):
    """A step of prescribed size, for the location of events."""
    return solid_step(solver_at(address), h)


@part(DENSE)
def dense_sdirk(address, h):
    """Dense output (cubic Hermite)."""
    s = solver_at(address)
    interpolant(s, h)
    return 3 + s.method.n_dense
