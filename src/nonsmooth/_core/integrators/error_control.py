"""Errors measured by the tolerances, and the step sizes that follow from them."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.integrators.records import RADAU, call_field
from nonsmooth._core.jit import kernel, noinline, phase


@kernel(references=False, forceinline=False)
def quotient(x, scale):
    """x/scale with 0/0 = 0 and x/0 = inf: a component without tolerance may only stay exact."""
    if scale > 0.0:
        return x / scale
    return 0.0 if x == 0.0 else np.inf


@kernel(references=False, forceinline=False)
def all_finite(x):
    """Whether every entry is a number."""
    for k in range(x.size):
        if not np.isfinite(x[k]):
            return False
    return True


@kernel(references=False, forceinline=False)
def weighted_norm(x, y, y_new, rtol, atol, compere):
    """Norm of an error `x` measured by the tolerances: accepted where it is below 1."""
    noinline()
    n = x.size
    if n == 0:
        return 0.0
    if compere == 1:  # Compere 2001, eq. (5.8): delta/tau
        worst = 0.0
        size = 1.0
        for k in range(n):
            if not np.isfinite(x[k]):
                return np.nan
            worst = max(worst, abs(x[k]))
            size = max(size, abs(y[k]))
        return worst / (rtol[0] * size)
    acc = 0.0
    for k in range(n):
        scale = atol[k] + rtol[k] * max(abs(y[k]), abs(y_new[k]))
        acc += quotient(x[k], scale) ** 2
    return np.sqrt(acc / n)


@phase
def scaled_norm(s, x, y_new):
    """`weighted_norm` with the tolerances of the solver."""
    return weighted_norm(x, s.y, y_new, s.rtol, s.atol, s.control.compere)


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


@phase
def implicit_factor(s, h_abs, error):
    """Step factor of the implicit methods: predictive (Gustafsson), and smaller when Newton worked hard."""
    control, now = s.control, s.now
    if not np.isfinite(error):
        return control.min_factor
    limit = 6 if s.method.kind == RADAU else 10
    safety = 0.9 * (2.0 * limit + 1.0) / (2.0 * limit + s.newton.iterations)
    power = 1.0 / (s.method.error_order + 1)
    if error == 0.0:
        return control.max_factor
    multiplier = 1.0
    if now.error_old > 0.0:
        multiplier = h_abs / now.h_old * (now.error_old / error) ** power
    factor = safety * min(1.0, multiplier) * error ** (-power)
    return max(control.min_factor, factor)


@kernel(references=False, forceinline=False)
def tolerance_norm(x, y, rtol, atol):
    """Root mean square of x/(atol + rtol |y|)."""
    acc = 0.0
    for k in range(x.size):
        acc += quotient(x[k], atol[k] + abs(y[k]) * rtol[k]) ** 2
    return np.sqrt(acc / x.size)


@phase
def initial_step(s):
    """Starting step size (Hairer, Norsett & Wanner 1993, II.4); ``K[0]`` must hold ``f(t, y)``."""
    n, t, y, f0 = s.y.size, s.now.t, s.y, s.step.K[0]
    span = abs(s.now.t_bound - t)
    if n == 0:
        return np.inf
    if span == 0.0:
        return 0.0
    direction = 1.0 if s.now.t_bound >= t else -1.0
    d0 = tolerance_norm(y, y, s.rtol, s.atol)
    d1 = tolerance_norm(f0, y, s.rtol, s.atol)
    h0 = 1e-6 if (d0 < 1e-5 or d1 < 1e-5) else 0.01 * d0 / d1
    h0 = min(h0, span)
    if not np.isfinite(h0):
        h0 = min(1e-6, span)
    for k in range(n):
        s.step.stage[k] = y[k] + h0 * direction * f0[k]
    change = s.step.error
    call_field(s.at.field, s.at.context, t + h0 * direction, s.step.stage, change)
    s.count.nfev += 1
    for k in range(n):
        change[k] = change[k] - f0[k]
    d2 = tolerance_norm(change, y, s.rtol, s.atol) / h0
    if d1 <= 1e-15 and d2 <= 1e-15:
        h1 = max(1e-6, h0 * 1e-3)
    else:
        h1 = (0.01 / max(d1, d2)) ** (1.0 / (s.method.error_order + 1))
    if not np.isfinite(h1):
        h1 = h0
    return min(min(100.0 * h0, h1), min(span, s.control.max_step))
