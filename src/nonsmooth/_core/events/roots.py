"""Locating a zero of g_i(t, y(t)): by Brent's method on dense output, and by bracketed Newton on the
integration.

``g(t, y, p, out)`` writes all switching functions into `out`; `i` is the one looked for. A zero is a change
of the sign *side* (below), so that a bracket always exists: side +1 is g >= 0 and side -1 is g < 0, as in
Compere 2001, eq. (5.3).

`root_on_step` solves g_i(t + x, Y(x)) = 0 for the step size x, where Y(x) is the result of one integration
step of size x: the zero does not inherit the error of an interpolant and can be found to the spacing of the
numbers. It returns both ends of the final bracket, so that the caller can stand behind the event (CEL+,
bilateral) or before it (CEL-, unilateral); the offset of Compere 2001, eqs. (5.4) and (5.5) makes Newton aim
at the side that is wanted.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.integrators.rk import K_0, OK, Q_0, Y_NEW, dense_eval
from nonsmooth._core.jit import kernel, noinline

EPS = 2.220446049250313e-16

# How a location can end.
FOUND, JUMP, NO_CONVERGENCE, BAD_VALUE, STEP_FAILED = 0, 1, 2, 3, 4


@kernel(references=False, forceinline=False)
def side(value):
    """+1 where g >= 0, -1 where g < 0 (Compere 2001, eq. (5.3))."""
    return 1 if value >= 0.0 else -1


@kernel(references=False, forceinline=False)
def rate_along(g, i, t, y, slope, p, scale, buffer, out):
    """dg_i/dt along the flow, by a central difference in the direction (1, slope); no right-hand side is
    evaluated.

    `scale` is a typical length of time (the step size); `buffer` (n,) and `out` (m,) are work arrays.
    """
    d = 1e-5 * abs(scale)
    low = 1e-7 * abs(t)
    d = max(d, low) if low < 1e-3 * abs(scale) else d
    if d == 0.0:
        return 0.0
    for k in range(y.size):
        buffer[k] = y[k] + d * slope[k]
    g(t + d, buffer, p, out)
    plus = out[i]
    for k in range(y.size):
        buffer[k] = y[k] - d * slope[k]
    g(t - d, buffer, p, out)
    return (plus - out[i]) / (2.0 * d)


@kernel(references=False, forceinline=False)
def g_on_dense(g, i, t, y, h, Q, rows, theta, p, buffer, out):
    """g_i at ``t + theta h`` on the dense output."""
    dense_eval(y, Q, rows, theta, buffer)
    g(t + theta * h, buffer, p, out)
    return out[i]


@kernel(references=False, forceinline=False)
def root_on_dense(g, i, t, y, h, Q, rows, p, a, b, ga, gb, xtol, buffer, out):
    """Brent's method in theta on the dense output of a step; `ga` and `gb` lie on different sides.

    Returns
    -------
    theta : float
        End of the final bracket on the side of `b`.
    """
    noinline()
    sb = side(gb)
    fa, fb = ga, gb
    # c is the other end of the bracket, d and e the last two steps (Brent 1973, ch. 4).
    c, fc = a, fa
    d = b - a
    e = d
    past = b
    for _ in range(100):
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tol = 2.0 * EPS * abs(b) + 0.5 * xtol
        m = 0.5 * (c - b)
        if abs(m) <= tol:
            break
        if abs(e) < tol or abs(fa) <= abs(fb):
            d = m
            e = m
        else:
            s = fb / fa
            if a == c:
                num = 2.0 * m * s
                den = 1.0 - s
            else:
                q = fa / fc
                r = fb / fc
                num = s * (2.0 * m * q * (q - r) - (b - a) * (r - 1.0))
                den = (q - 1.0) * (r - 1.0) * (s - 1.0)
            if num > 0.0:
                den = -den
            else:
                num = -num
            if 2.0 * num < min(3.0 * m * den - abs(tol * den), abs(e * den)):
                e = d
                d = num / den
            else:
                d = m
                e = m
        a, fa = b, fb
        b += d if abs(d) > tol else (tol if m > 0.0 else -tol)
        fb = g_on_dense(g, i, t, y, h, Q, rows, b, p, buffer, out)
        if side(fb) == side(fc):
            c, fc = a, fa
            d = b - a
            e = d
        if side(fb) == sb:
            past = b
    if side(fb) == sb:
        past = b
    elif side(fc) == sb:
        past = c
    return past


@kernel(references=False, forceinline=False)
def root_on_step(
    method,
    try_step,
    solid,
    f,
    jac,
    g,
    i,
    t,
    y,
    lo,
    hi,
    verified,
    guess,
    g_lo,
    s_after,
    want_after,
    tol,
    max_iter,
    p,
    work,
    control,
    out,
    result,
):
    """Bracketed Newton for the step size x in [lo, hi] at which g_i changes to side `s_after`.

    Parameters
    ----------
    lo, hi : float
        Step sizes: g_i is on the other side at `lo` and on side `s_after` at `hi` (all of them with the sign
        of the step).
    verified : int
        1 if g_i is known to be on side `s_after` at `hi`; with 0 a bracket that shrinks to `hi` means that
        there is no zero.
    guess : float
        First step size tried.
    want_after : int
        1: return with the step to the end of the bracket behind the zero (CEL+), 0: before it (CEL-).
    tol : float
        Bound for |g_i| at the located point; 0 means the resolution of time.
    out : ndarray, shape (m,)
        Left with all switching functions at the located point.
    result : ndarray, shape (4,)
        Step size before, step size behind, rate of g_i at the end, iterations (calls of the integrator).

    Returns
    -------
    status : int
        FOUND; JUMP (g_i leaps over zero); NO_CONVERGENCE (no zero found); BAD_VALUE (g is not finite);
        STEP_FAILED. The step taken last, whose state is in ``work.F[Y_NEW]``, is the located one.
    """
    noinline()
    F = work.F
    s = method.stages
    a, b = lo, hi
    x = guess
    if not min(a, b) < x < max(a, b):
        x = 0.5 * (a + b)
    direction = 1.0 if hi >= lo else -1.0
    taken = np.nan
    rate = 0.0
    value = np.nan
    last_a, last_b = g_lo, np.nan if verified == 0 else g_lo
    status = NO_CONVERGENCE
    width_old = abs(b - a)
    slow = 0
    nudge = 1.0
    untested = verified == 0
    x_last, value_last = np.nan, np.nan
    for _ in range(max_iter):
        result[3] += 1.0
        if solid(method, try_step, f, jac, t, y, x, p, work, control) != OK:
            return STEP_FAILED
        taken = x
        rate = rate_along(g, i, t + x, F[Y_NEW], F[K_0 + s], p, max(abs(x), 1e-3 * abs(hi)), F[Q_0], out)
        g(t + x, F[Y_NEW], p, out)
        value = out[i]
        if not np.isfinite(value):
            return BAD_VALUE
        if side(value) == s_after:
            b, last_b = x, value
        else:
            a, last_a = x, value
        # What is good enough: g_i within tol, or within three spacings of the time axis.
        enough = tol + 3.0 * EPS * max(abs(t + x), 1.0) * abs(rate)
        behind = side(value) == s_after
        if behind == (want_after == 1) and abs(value) <= enough and rate * s_after * direction > 0.0:
            status = FOUND
            break
        width = abs(b - a)
        resolution = EPS * max(abs(t + x), 1.0)
        if width <= 4.0 * resolution or t + a == t + b:
            status = FOUND if np.isfinite(last_b) else NO_CONVERGENCE
            break
        # Newton towards the wanted side: g_i = +-offset (Compere 2001, eqs. (5.4), (5.5)), kept inside the
        # bracket.
        offset = 0.5 * tol + 1.5 * EPS * max(abs(t + x), 1.0) * abs(rate)
        target = s_after * offset if want_after == 1 else -s_after * offset
        slope = rate
        if abs(x - x_last) > 1e3 * resolution:
            # The chord sees the error of the step as well, the rate only the flow.
            slope = (value - value_last) / (x - x_last)
        x_new = x + (target - value) / slope if slope != 0.0 else np.nan
        x_last, value_last = x, value
        slow = slow + 1 if width > 0.5 * width_old else 0
        width_old = width
        if abs(x_new - x) <= 3.0 * resolution:
            # As close as rounding allows: look for the other end of the bracket two spacings further.
            nudge *= 2.0
            x_new = x - nudge * resolution * direction if behind else x + nudge * resolution * direction
            slow = 0
        if not min(a, b) < x_new < max(a, b) or slow >= 3:
            slow = 0
            if untested and not np.isfinite(last_b):
                # Is there a zero at all? The end of the bracket tells at once.
                untested = False
                x = hi
                continue
            # Regula falsi would stall on one side: halve.
            x_new = 0.5 * (a + b)
        if x_new == a or x_new == b:
            x_new = 0.5 * (a + b)
            if x_new == a or x_new == b:
                status = FOUND if np.isfinite(last_b) else NO_CONVERGENCE
                break
        x = x_new
    if status == FOUND:
        wanted = b if want_after == 1 else a
        if taken != wanted:
            if wanted == 0.0:
                for k in range(y.size):
                    F[Y_NEW, k] = y[k]
                    F[K_0 + s, k] = F[K_0, k]
            else:
                result[3] += 1.0
                if solid(method, try_step, f, jac, t, y, wanted, p, work, control) != OK:
                    return STEP_FAILED
            g(t + wanted, F[Y_NEW], p, out)
            value = out[i]
        # A value far above what the slope explains over the last bracket means that g_i leapt over zero.
        gap = abs(b - a)
        if gap <= 8.0 * EPS * max(abs(t + b), 1.0) and np.isfinite(last_b):
            leap = abs(last_b - last_a)
            if leap > 1e3 * (abs(rate) * gap + EPS) and leap > 1e-9:
                status = JUMP
    result[0] = a
    result[1] = b
    result[2] = rate
    return status
