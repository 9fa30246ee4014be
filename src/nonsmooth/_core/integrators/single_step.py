"""The contract every single-step integrator fulfils, for use inside compiled loops.

A ``try_step`` takes one step of given size, ``dense`` makes its interpolant, ``adaptive_step`` repeats
``try_step`` until the error is accepted, ``accept`` moves on. ``work.F[K_0]`` holds ``f(t, y)`` on entry of a
step, ``F[Y_NEW]`` and ``F[K_0 + method.stages]`` the state and slope at its end. Nothing else is remembered,
so that a step can be taken, thrown away and repeated with another size.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from nonsmooth._core.calls.pointers import library_function, pointer_type
from nonsmooth._core.integrators.implicit_rk import (
    JAC_FT,
    radau_dense,
    radau_second_estimate,
    radau_step,
    sdirk_step,
    update_jacobian,
)
from nonsmooth._core.integrators.rk import (
    CONTROL_T,
    ERR,
    ERR_1,
    ERR_OLD,
    EXPLICIT,
    H_NEXT,
    H_OLD,
    H_POLY,
    H_TAKEN,
    HAVE_JAC,
    HAVE_LU,
    HAVE_OLD,
    JAC_CONSTANT,
    JAC_CURRENT,
    JAC_MODE,
    K_0,
    METHOD_T,
    N_ITER,
    NEWTON_FAILED,
    NFEV,
    NON_FINITE,
    NREJECTED,
    NSTEPS,
    OK,
    Q_0,
    Q_OLD,
    RADAU,
    RATE,
    RHS_FT,
    SDIRK,
    STEP_TOO_SMALL,
    T_POLY,
    WORK_T,
    Y_NEW,
    Y_OLD,
    explicit_error,
    explicit_step,
    extra_stages,
    initial_step,
    interpolant,
    scaled_norm,
    step_factor,
)
from nonsmooth._core.jit import f8_1, float64, int64, kernel, noinline


@kernel(references=False, forceinline=False)
def spacing(t):
    """Distance from |t| to the next larger number."""
    return abs(np.nextafter(abs(t), np.inf) - abs(t))


@kernel(references=False, forceinline=False)
def newton_tolerance(control):
    """Where the Newton iterations of the implicit methods stop, in units of the tolerance."""
    rtol = control.tol[0, 0] if control.tol.size else 1e-3
    if rtol <= 0.0:
        return 1e-3
    return max(10.0 * 2.220446049250313e-16 / rtol, min(0.03, np.sqrt(rtol)))


# One step of given size h of each kind of method: F[Y_NEW] and the error vectors. Returns OK or
# NEWTON_FAILED. They are reached through first-class values (signature TRY), so that a loop neither contains
# nor recompiles them.


def _explicit(method, f, jac, t, y, h, p, work, control):
    return explicit_step(method, f, t, y, h, p, work)


def _sdirk(method, f, jac, t, y, h, p, work, control):
    if work.ints[HAVE_JAC] == 0:
        update_jacobian(f, jac, t, y, p, work, control)
    return sdirk_step(method, f, t, y, h, p, work, control, newton_tolerance(control))


def _radau(method, f, jac, t, y, h, p, work, control):
    if work.ints[HAVE_JAC] == 0:
        update_jacobian(f, jac, t, y, p, work, control)
    return radau_step(f, t, y, h, p, work, control, newton_tolerance(control))


TRY = int64(METHOD_T, RHS_FT, JAC_FT, float64, f8_1, float64, f8_1, WORK_T, CONTROL_T)
TRY_FT = pointer_type(TRY)
#: Signature of `adaptive_step` (the float is t_bound) and of `solid_step` (the float is h).
STEP = int64(METHOD_T, TRY_FT, RHS_FT, JAC_FT, float64, f8_1, float64, f8_1, WORK_T, CONTROL_T)
DENSE = int64(METHOD_T, RHS_FT, float64, f8_1, float64, f8_1, WORK_T)


@cache
def try_function(kind):
    """First-class `TRY` function of a kind of method (EXPLICIT, SDIRK, RADAU)."""
    return library_function({EXPLICIT: _explicit, SDIRK: _sdirk, RADAU: _radau}[kind], TRY)


@cache
def adapt_function():
    """`adaptive_step` as a first-class value of signature STEP."""
    return library_function(_adapt, STEP)


@cache
def solid_function():
    """`solid_step` as a first-class value of signature STEP."""
    return library_function(_solid, STEP)


@cache
def dense_function():
    """`dense` as a first-class value of signature DENSE."""
    return library_function(_dense, DENSE)


def _adapt(method, try_step, f, jac, t, y, t_bound, p, work, control):
    return adaptive_step(method, try_step, f, jac, t, y, t_bound, p, work, control)


def _solid(method, try_step, f, jac, t, y, h, p, work, control):
    return solid_step(method, try_step, f, jac, t, y, h, p, work, control)


def _dense(method, f, t, y, h, p, work):
    return dense(method, f, t, y, h, p, work)


@kernel(internal=True, cache=False)
def solid_step(method, try_step, f, jac, t, y, h, p, work, control):
    """A step of prescribed size with its end slope; renews the Jacobian once if Newton fails (event
    location).
    """
    status = try_step(method, f, jac, t, y, h, p, work, control)
    if status == NEWTON_FAILED and work.ints[JAC_CURRENT] == 0:
        update_jacobian(f, jac, t, y, p, work, control)
        status = try_step(method, f, jac, t, y, h, p, work, control)
    if status == OK:
        end_slope(method, f, t, h, p, work)
    return status


@kernel(internal=True, cache=False)
def end_slope(method, f, t, h, p, work):
    """Make sure that ``F[K_0 + stages]`` is the slope at the end of the step."""
    if method.kind == RADAU:
        f(t + h, work.F[Y_NEW], p, work.F[K_0 + method.stages])
        work.ints[NFEV] += 1


@kernel(internal=True, cache=False)
def error_norm(method, y, work, control):
    """Scaled error of the step just taken: accepted below 1."""
    if method.kind == EXPLICIT:
        return explicit_error(method, y, work, control)
    return scaled_norm(work.F[ERR_1], y, work.F[Y_NEW], control)


@kernel(internal=True, cache=False)
def dense(method, f, t, y, h, p, work):
    """Coefficients of the dense output of the step just taken into ``F[Q_0:]``; their number is returned."""
    if method.kind == RADAU:
        radau_dense(work)
        return 3
    if method.extra > 0:
        extra_stages(method, f, t, y, h, p, work)
    interpolant(method, y, h, work)
    return 3 + method.n_dense


@kernel(references=False, forceinline=False)
def start(method, f, t, y, t_bound, p, work, control, first_step):
    """Slope at the start and first step size; forgets what belongs to an earlier piece of the solution."""
    noinline()
    f(t, y, p, work.F[K_0])
    work.ints[NFEV] += 1
    work.ints[HAVE_OLD] = 0
    work.ints[HAVE_LU] = 0
    work.ints[JAC_CURRENT] = 0
    work.ints[HAVE_JAC] = 1 if work.ints[JAC_MODE] == JAC_CONSTANT else 0
    work.reals[ERR_OLD] = -1.0
    if first_step > 0.0:
        work.reals[H_NEXT] = first_step
    else:
        work.reals[H_NEXT] = initial_step(method, f, t, y, t_bound, p, work, control)


@kernel(references=False, forceinline=False)
def accept(method, t, y, h, work):
    """Move on: (t, y) becomes the end of the step. Returns the new time; `y` and ``F[K_0]`` are overwritten."""
    noinline()
    s = method.stages
    F = work.F
    if method.kind == RADAU:
        radau_dense(work)
        for k in range(y.size):
            F[Y_OLD, k] = y[k]
            for j in range(3):
                F[Q_OLD + j, k] = F[Q_0 + j, k]
        work.reals[T_POLY] = t
        work.reals[H_POLY] = h
        work.ints[HAVE_OLD] = 1
    for k in range(y.size):
        y[k] = F[Y_NEW, k]
        F[K_0, k] = F[K_0 + s, k]
    if work.ints[JAC_MODE] != JAC_CONSTANT:
        work.ints[JAC_CURRENT] = 0
    work.ints[NSTEPS] += 1


@kernel(references=False, forceinline=False)
def all_finite(x):
    for k in range(x.size):
        if not np.isfinite(x[k]):
            return False
    return True


@kernel(internal=True, cache=False)
def adaptive_step(method, try_step, f, jac, t, y, t_bound, p, work, control):
    """One accepted step towards `t_bound`: size in ``work.reals[H_TAKEN]``, the next proposal in
    ``reals[H_NEXT]``.

    ``F[Y_NEW]`` holds the end state and ``F[K_0 + stages]`` the end slope. Returns OK, NON_FINITE (the
    right-hand side is not finite however small the step) or STEP_TOO_SMALL. The caller then calls `accept`,
    or repeats from (t, y).
    """
    direction = 1.0 if t_bound >= t else -1.0
    ints, reals = work.ints, work.reals
    min_step = 10.0 * spacing(t)
    h_abs = min(max(reals[H_NEXT], min_step), control.max_step)
    rejected = False
    bad = False
    while True:
        if h_abs < min_step:
            return NON_FINITE if bad else STEP_TOO_SMALL
        h = direction * h_abs
        if direction * (t + h - t_bound) > 0.0:
            h = t_bound - t
        h_abs = abs(h)
        status = try_step(method, f, jac, t, y, h, p, work, control)
        if status == NEWTON_FAILED:
            bad = False
            for i in range(method.stages):
                bad = bad or not all_finite(work.F[K_0 + i])
            if ints[JAC_CURRENT] == 0 and not bad:
                update_jacobian(f, jac, t, y, p, work, control)
            else:
                h_abs *= 0.5
                ints[HAVE_LU] = 0
                ints[NREJECTED] += 1
            continue
        error = error_norm(method, y, work, control)
        if control.fixed == 1:
            if not np.isfinite(error) and not all_finite(work.F[Y_NEW]):
                return NON_FINITE
            end_slope(method, f, t, h, p, work)
            reals[H_TAKEN] = h
            reals[ERR] = error
            return OK
        if method.kind == RADAU and rejected and error > 1.0:
            radau_second_estimate(f, t, y, p, work)
            error = error_norm(method, y, work, control)
        if error < 1.0 and method.kind == EXPLICIT and not all_finite(work.F[K_0 + method.stages]):
            error = np.inf
        if error < 1.0:
            break
        bad = not np.isfinite(error)
        ints[NREJECTED] += 1
        if method.kind == EXPLICIT:
            h_abs *= step_factor(error, control, True)
        else:
            h_abs *= implicit_factor(method, h_abs, error, work, control, True)
            ints[HAVE_LU] = 0
        rejected = True
    end_slope(method, f, t, h, p, work)
    reals[H_TAKEN] = h
    reals[ERR] = error
    if method.kind == EXPLICIT:
        reals[H_NEXT] = h_abs * step_factor(error, control, rejected)
        return OK
    # Implicit: keep Jacobian and factors as long as Newton converges well and the step changes little.
    factor = min(control.max_factor, implicit_factor(method, h_abs, error, work, control, False))
    if rejected:
        factor = min(1.0, factor)
    slow = ints[N_ITER] > 2 and reals[RATE] > 1e-3
    if not slow and factor < 1.2:
        factor = 1.0
    reals[H_OLD] = h_abs
    reals[ERR_OLD] = error
    reals[H_NEXT] = h_abs * factor
    if slow and ints[JAC_MODE] != JAC_CONSTANT:
        ints[HAVE_JAC] = 0
        ints[HAVE_LU] = 0
    return OK


@kernel(references=False, forceinline=False)
def implicit_factor(method, h_abs, error, work, control, rejected):
    """Step factor of the implicit methods: predictive (Gustafsson), and smaller when Newton worked hard."""
    if not np.isfinite(error):
        return control.min_factor
    limit = 6 if method.kind == RADAU else 10
    safety = 0.9 * (2.0 * limit + 1.0) / (2.0 * limit + work.ints[N_ITER])
    power = 1.0 / (method.error_order + 1)
    if error == 0.0:
        return control.max_factor
    multiplier = 1.0
    if work.reals[ERR_OLD] > 0.0:
        multiplier = h_abs / work.reals[H_OLD] * (work.reals[ERR_OLD] / error) ** power
    factor = safety * min(1.0, multiplier) * error ** (-power)
    return max(control.min_factor, factor)
