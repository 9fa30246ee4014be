"""What the implicit methods share: Jacobian, factors, simplified Newton, and their step-size control (Hairer & Wanner
1996, IV.6 and IV.8).
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.integrators.error_control import all_finite, implicit_factor, scaled_norm
from nonsmooth._core.integrators.records import (
    JAC_CONSTANT,
    JAC_FUNCTION,
    NEWTON_FAILED,
    NON_FINITE,
    OK,
    STEP_TOO_SMALL,
    call_field,
    call_jacobian,
    call_try,
)
from nonsmooth._core.integrators.time_axis import cut_to_bound, spacing
from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import lu_factor

EPS = 2.220446049250313e-16


@phase
def newton_tolerance(s):
    """Where the Newton iterations stop, in units of the tolerance."""
    rtol = s.rtol[0] if s.rtol.size else 1e-3
    if rtol <= 0.0:
        return 1e-3
    return max(10.0 * EPS / rtol, min(0.03, np.sqrt(rtol)))


@phase
def update_jacobian(s):
    """J at (t, y): constant, given, or by one-sided differences; ``K[0]`` must hold f(t, y)."""
    newton = s.newton
    newton.current = 1
    newton.have_jacobian = 1
    if newton.jacobian == JAC_CONSTANT:
        return
    newton.have_factors = 0
    s.count.njev += 1
    if newton.jacobian == JAC_FUNCTION:
        call_jacobian(s.at.jacobian, s.at.context, s.now.t, s.y, s.implicit.J)
        return
    jacobian_by_differences(s)


@phase
def jacobian_by_differences(s):
    """One column per component, moved in the direction of its slope by 1.5e-8 of its typical size."""
    y, x, f0, J = s.y, s.step.stage, s.step.K[0], s.implicit.J
    for k in range(y.size):
        x[k] = y[k]
    for k in range(y.size):
        typical = abs(y[k])
        if s.rtol[k] > 0.0:
            typical = max(typical, min(1.0, s.atol[k] / s.rtol[k]))
        delta = 1.5e-8 * typical
        if delta == 0.0:
            delta = 1.5e-8
        if f0[k] < 0.0:
            delta = -delta
        x[k] = y[k] + delta
        delta = x[k] - y[k]
        call_field(s.at.field, s.at.context, s.now.t, x, s.step.error)
        for i in range(y.size):
            J[i, k] = (s.step.error[i] - f0[i]) / delta
        x[k] = y[k]


@phase
def factor(s, LU, pivots, shift):
    """Factors of ``shift I - J`` (real or complex); False if singular."""
    J = s.implicit.J
    n = J.shape[1]
    for i in range(n):
        for k in range(n):
            LU[i, k] = -J[i, k]
        LU[i, i] += shift
    s.count.nlu += 1
    return lu_factor(LU, pivots, n) > 0.0


@phase
def prepare(s):
    """A Jacobian, if there is none."""
    if s.newton.have_jacobian == 0:
        update_jacobian(s)


@phase
def solid_step(s, h):
    """A step of prescribed size; renews the Jacobian once if Newton fails."""
    status = call_try(s.at.try_step, s.at.solver, h)
    if status == NEWTON_FAILED and s.newton.current == 0:
        update_jacobian(s)
        status = call_try(s.at.try_step, s.at.solver, h)
    return status


@phase
def try_again(s, h_abs):
    """Newton has failed: with a new Jacobian if that can help, else with half the step. Returns (h_abs, bad)."""
    bad = False
    for i in range(s.method.stages):
        bad = bad or not all_finite(s.step.K[i])
    if s.newton.current == 0 and not bad:
        update_jacobian(s)
        return h_abs, bad
    s.newton.have_factors = 0
    s.count.nrejected += 1
    return 0.5 * h_abs, bad


@phase
def next_step(s, h_abs, error, rejected):
    """Keep Jacobian and factors as long as Newton converges well and the step changes little."""
    now, newton = s.now, s.newton
    factor = min(s.control.max_factor, implicit_factor(s, h_abs, error))
    if rejected:
        factor = min(1.0, factor)
    slow = newton.iterations > 2 and newton.rate > 1e-3
    if not slow and factor < 1.2:
        factor = 1.0
    now.h_old = h_abs
    now.error_old = error
    now.h_next = h_abs * factor
    if slow and newton.jacobian != JAC_CONSTANT:
        newton.have_jacobian = 0
        newton.have_factors = 0


@phase
def adapt(s, second_estimate):
    """One step accepted by the error control; `second_estimate` improves the error vector after a rejection."""
    now = s.now
    min_step = 10.0 * spacing(now.t)
    h_abs = min(max(now.h_next, min_step), s.control.max_step)
    rejected = False
    bad = False
    while True:
        if h_abs < min_step:
            return NON_FINITE if bad else STEP_TOO_SMALL
        h = cut_to_bound(now, h_abs)
        h_abs = abs(h)
        if call_try(s.at.try_step, s.at.solver, h) == NEWTON_FAILED:
            h_abs, bad = try_again(s, h_abs)
            continue
        error = scaled_norm(s, s.step.error, s.step.y_new)
        if s.control.fixed == 1:
            if not np.isfinite(error) and not all_finite(s.step.y_new):
                return NON_FINITE
            now.h = h
            now.error = error
            return OK
        if rejected and error > 1.0:
            second_estimate(s)
            error = scaled_norm(s, s.step.error, s.step.y_new)
        if error < 1.0:
            break
        bad = not np.isfinite(error)
        s.count.nrejected += 1
        h_abs *= implicit_factor(s, h_abs, error)
        s.newton.have_factors = 0
        rejected = True
    now.h = h
    now.error = error
    next_step(s, h_abs, error, rejected)
    return OK
