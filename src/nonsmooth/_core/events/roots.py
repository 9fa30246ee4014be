"""Locating a zero of g_i(t, y(t)): by Brent's method on dense output, and by bracketed Newton on the integration.

A zero is a change of the sign *side* (below), so that a bracket always exists: side +1 is g >= 0 and side -1 is g < 0, as
in Compere 2001, eq. (5.3).

`root_on_step` solves g_i(t + x, Y(x)) = 0 for the step size x, where Y(x) is the result of one integration step of size
x: the zero does not inherit the error of an interpolant and can be found to the spacing of the numbers. It leaves both
ends of the final bracket, so that the caller can stand behind the event (CEL+, bilateral) or before it (CEL-,
unilateral); the offset of Compere 2001, eqs. (5.4) and (5.5) makes Newton aim at the side that is wanted.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.events.records import (
    BAD_VALUE,
    EPS,
    FOUND,
    JUMP,
    NO_CONVERGENCE,
    ON_DENSE,
    ON_STEP,
    RATE,
    STEP_FAILED,
    call_rate,
    roots_at,
)
from nonsmooth._core.integrators.dense_output import dense_eval
from nonsmooth._core.integrators.records import OK, call_field, call_try
from nonsmooth._core.jit import kernel, phase


@kernel(references=False, forceinline=False)
def side(value):
    """+1 where g >= 0, -1 where g < 0 (Compere 2001, eq. (5.3))."""
    return 1 if value >= 0.0 else -1


@part(RATE)
def rate_along(address, i, t, y, slope, scale):
    """dg_i/dt along the flow, by a central difference in the direction (1, slope); no right-hand side is evaluated.

    `scale` is a typical length of time (the step size).
    """
    r = roots_at(address)
    point, values = r.rate_point, r.rate_values
    d = 1e-5 * abs(scale)
    low = 1e-7 * abs(t)
    d = max(d, low) if low < 1e-3 * abs(scale) else d
    if d == 0.0:
        return 0.0
    for k in range(y.size):
        point[k] = y[k] + d * slope[k]
    call_field(r.at.g, r.at.context, t + d, point, values)
    plus = values[i]
    for k in range(y.size):
        point[k] = y[k] - d * slope[k]
    call_field(r.at.g, r.at.context, t - d, point, values)
    return (plus - values[i]) / (2.0 * d)


@phase
def value_on_dense(r, i, h, rows, theta):
    """g_i at ``t + theta h`` on the dense output."""
    dense_eval(r.solver.y, r.solver.step.Q, rows, theta, r.point)
    call_field(r.at.g, r.at.context, r.solver.now.t + theta * h, r.point, r.values)
    return r.values[i]


@part(ON_DENSE)
def root_on_dense(address, i, h, rows, a, b, ga, gb, xtol):
    """Brent's method in theta on the dense output of a step; `ga` and `gb` lie on different sides.

    Returns
    -------
    theta : float
        End of the final bracket on the side of `b`.
    """
    r = roots_at(address)
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
        d, e = brent_step(a, b, c, fa, fb, fc, d, e, m, tol)
        a, fa = b, fb
        b += d if abs(d) > tol else (tol if m > 0.0 else -tol)
        fb = value_on_dense(r, i, h, rows, b)
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


@phase
def brent_step(a, b, c, fa, fb, fc, d, e, m, tol):
    """The next step and the one it is compared with: inverse interpolation where it is safe, else bisection."""
    if abs(e) < tol or abs(fa) <= abs(fb):
        return m, m
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
        return num / den, d
    return m, m


@part(ON_STEP)
def root_on_step(address):
    """Bracketed Newton for the step size x in [lo, hi] at which g_i changes its side, as ``search`` asks for.

    Returns FOUND; JUMP (g_i leaps over zero); NO_CONVERGENCE (no zero found); BAD_VALUE (g is not finite); STEP_FAILED.
    The step taken last, whose state is in ``step.y_new``, is the located one; ``values`` are the functions there.
    """
    r = roots_at(address)
    q = r.search
    a, b = q.lo, q.hi
    g_a, g_b = q.g_lo, np.nan if q.verified == 0 else q.g_lo
    x = q.guess if min(a, b) < q.guess < max(a, b) else 0.5 * (a + b)
    direction = 1.0 if q.hi >= q.lo else -1.0
    untested = q.verified == 0
    width_old = abs(b - a)
    slow = 0
    nudge = 1.0
    taken = np.nan
    x_last, value_last = np.nan, np.nan
    status = NO_CONVERGENCE
    for _ in range(q.max_iter):
        if not step_to(r, x):
            return STEP_FAILED
        taken = x
        value = value_and_rate(r, x)
        if not np.isfinite(value):
            return BAD_VALUE
        behind = side(value) == q.after
        if behind:
            b, g_b = x, value
        else:
            a, g_a = x, value
        if good_enough(r, x, value, behind, direction):
            status = FOUND
            break
        width = abs(b - a)
        resolution = EPS * max(abs(r.solver.now.t + x), 1.0)
        if width <= 4.0 * resolution or r.solver.now.t + a == r.solver.now.t + b:
            status = FOUND if np.isfinite(g_b) else NO_CONVERGENCE
            break
        x_new = newton_point(r, x, value, x_last, value_last, resolution)
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
            if untested and not np.isfinite(g_b):
                # Is there a zero at all? The end of the bracket tells at once.
                untested = False
                x = q.hi
                continue
            x_new = 0.5 * (a + b)  # regula falsi would stall on one side
        if x_new == a or x_new == b:
            x_new = 0.5 * (a + b)
            if x_new == a or x_new == b:
                status = FOUND if np.isfinite(g_b) else NO_CONVERGENCE
                break
        x = x_new
    if status == FOUND:
        status = stand_at(r, a, b, g_a, g_b, taken)
    q.before = a
    q.behind = b
    return status


@phase
def step_to(r, x):
    """One integration step of size x; False if it fails."""
    r.search.iterations += 1
    return call_try(r.solver.at.solid, r.solver.at.solver, x) == OK


@phase
def value_and_rate(r, x):
    """g_i at the end of the step of size x, its rate in ``search.rate``."""
    s, q = r.solver, r.search
    t = s.now.t + x
    scale = max(abs(x), 1e-3 * abs(q.hi))
    q.rate = call_rate(r.at.rate, r.at.roots, q.i, t, s.step.y_new, s.step.K[s.method.stages], scale)
    call_field(r.at.g, r.at.context, t, s.step.y_new, r.values)
    return r.values[q.i]


@phase
def good_enough(r, x, value, behind, direction):
    """On the side wanted, and g_i within tol or within three spacings of the time axis."""
    q = r.search
    enough = q.tol + 3.0 * EPS * max(abs(r.solver.now.t + x), 1.0) * abs(q.rate)
    return behind == (q.stay_before == 0) and abs(value) <= enough and q.rate * q.after * direction > 0.0


@phase
def newton_point(r, x, value, x_last, value_last, resolution):
    """Newton towards the wanted side: g_i = +-offset (Compere 2001, eqs. (5.4), (5.5))."""
    q = r.search
    offset = 0.5 * q.tol + 1.5 * EPS * max(abs(r.solver.now.t + x), 1.0) * abs(q.rate)
    target = -q.after * offset if q.stay_before == 1 else q.after * offset
    slope = q.rate
    if abs(x - x_last) > 1e3 * resolution:
        # The chord sees the error of the step as well, the rate only the flow.
        slope = (value - value_last) / (x - x_last)
    return x + (target - value) / slope if slope != 0.0 else np.nan


@phase
def stand_at(r, a, b, g_a, g_b, taken):
    """Take the step to the end of the bracket that is wanted, if it was not the last one; FOUND or JUMP."""
    s, q = r.solver, r.search
    wanted = a if q.stay_before == 1 else b
    if taken != wanted:
        if wanted == 0.0:
            for k in range(s.y.size):
                s.step.y_new[k] = s.y[k]
                s.step.K[s.method.stages, k] = s.step.K[0, k]
        elif not step_to(r, wanted):
            return STEP_FAILED
        call_field(r.at.g, r.at.context, s.now.t + wanted, s.step.y_new, r.values)
    # A value far above what the slope explains over the last bracket means that g_i leapt over zero.
    gap = abs(b - a)
    if gap <= 8.0 * EPS * max(abs(s.now.t + b), 1.0) and np.isfinite(g_b):
        leap = abs(g_b - g_a)
        if leap > 1e3 * (abs(q.rate) * gap + EPS) and leap > 1e-9:
            return JUMP
    return FOUND


#: The parts that every `Roots` record calls.
PARTS = {"on_dense": root_on_dense, "on_step": root_on_step, "rate": rate_along}


@kernel(references=False, forceinline=False)
def rate_now(address, i, t, y, slope, scale):
    """`rate_along` for Python."""
    r = roots_at(address)
    return call_rate(r.at.rate, address, i, t, y, slope, scale)
