"""One step of an explicit Runge-Kutta method given as data.

Row ``s`` of A is b, so that ``K[s]`` is the slope at the end of the step (it is the first stage of the next one and is
needed by every interpolant); further rows are evaluated only when dense output is asked for. The error estimate is
``h K^T E``. Nothing allocates.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.dense_output import interpolant
from nonsmooth._core.integrators.error_control import all_finite, scaled_norm, step_factor
from nonsmooth._core.integrators.records import (
    ADAPT,
    DENSE,
    NON_FINITE,
    OK,
    STEP_TOO_SMALL,
    TRY,
    call_field,
    call_try,
    solver_at,
)
from nonsmooth._core.integrators.time_axis import cut_to_bound, spacing
from nonsmooth._core.jit import phase


@phase
def stage(s, i, h):
    """Slope of stage i: y + h sum_j A_ij K_j."""
    A, K, x = s.tableau.A, s.step.K, s.step.stage
    for k in range(s.y.size):
        acc = 0.0
        for j in range(i):
            acc += A[i, j] * K[j, k]
        x[k] = s.y[k] + h * acc
    call_field(s.at.field, s.at.context, s.now.t + s.tableau.c[i] * h, x, K[i])


@part(TRY)
def try_explicit(address, h):
    """Stages, end state, slope at the end and the error vectors; ``K[0]`` must hold ``f(t, y)``."""
    s = solver_at(address)
    end, K, b, E = s.method.stages, s.step.K, s.tableau.b, s.tableau.E
    for i in range(1, end):
        stage(s, i, h)
    for k in range(s.y.size):
        acc = 0.0
        for j in range(end):
            acc += b[j] * K[j, k]
        s.step.y_new[k] = s.y[k] + h * acc
    call_field(s.at.field, s.at.context, s.now.t + h, s.step.y_new, K[end])
    s.count.nfev += end
    for k in range(s.y.size):
        acc = 0.0
        acc2 = 0.0
        for j in range(end + 1):
            acc += E[0, j] * K[j, k]
            acc2 += E[1, j] * K[j, k]
        s.step.error[k] = h * acc
        s.step.error_2[k] = h * acc2
    return OK


@phase
def explicit_error(s):
    """Error norm of the step just taken; two estimators are combined as in DOP853 (Hairer et al. 1993, II.5)."""
    e5 = scaled_norm(s, s.step.error, s.step.y_new)
    if s.method.two_estimates == 0:
        return e5
    e3 = scaled_norm(s, s.step.error_2, s.step.y_new)
    if e5 == 0.0 and e3 == 0.0:
        return 0.0
    return e5 * e5 / np.sqrt(e5 * e5 + 0.01 * e3 * e3)


@part(ADAPT)
def adapt_explicit(address):
    """One accepted step towards `t_bound`: its size in ``now.h``, the next proposal in ``now.h_next``.

    Returns OK, NON_FINITE (the right-hand side is not finite however small the step) or STEP_TOO_SMALL.
    """
    s = solver_at(address)
    now, control = s.now, s.control
    min_step = 10.0 * spacing(now.t)
    h_abs = min(max(now.h_next, min_step), control.max_step)
    rejected = False
    bad = False
    while True:
        if h_abs < min_step:
            return NON_FINITE if bad else STEP_TOO_SMALL
        h = cut_to_bound(now, h_abs)
        h_abs = abs(h)
        call_try(s.at.try_step, address, h)
        error = explicit_error(s)
        if control.fixed == 1:
            if not np.isfinite(error) and not all_finite(s.step.y_new):
                return NON_FINITE
            now.h = h
            now.error = error
            return OK
        if error < 1.0 and not all_finite(s.step.K[s.method.stages]):
            error = np.inf
        if error < 1.0:
            break
        bad = not np.isfinite(error)
        s.count.nrejected += 1
        h_abs *= step_factor(error, control, True)
        rejected = True
    now.h = h
    now.error = error
    now.h_next = h_abs * step_factor(error, control, rejected)
    return OK


@part(TRY)
def solid_explicit(address, h):
    """A step of prescribed size, for the location of events."""
    s = solver_at(address)
    return call_try(s.at.try_step, address, h)


@part(DENSE)
def dense_explicit(address, h):
    """Dense output of the step of size h just made; its number of coefficients is returned."""
    s = solver_at(address)
    end, extra = s.method.stages, s.method.extra
    if extra > 0:
        for i in range(end + 1, end + 1 + extra):
            stage(s, i, h)
        s.count.nfev += extra
    interpolant(s, h)
    return 3 + s.method.n_dense
