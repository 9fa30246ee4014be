"""The first place inside one step where a switching function may change its side.

g_i along the step is sampled at the nine Chebyshev points of an interval, either on the integrator's dense
output (`SOURCE_DENSE`) or on the cubic Hermite polynomial of its values and rates at both ends
(`SOURCE_HERMITE`, Compere 2001, sec. 5.2.1). The polynomial of degree 8 through the samples and its last
coefficients, summed up as the error tau, decide by interval arithmetic on the Chebyshev coefficients (|T_k|
<= 1 gives the range c_0 +- sum |c_k|):

* excluded: the range of p, widened by the error, does not contain zero;
* monotone: the range of p' does not contain zero: a root iff the sides at the ends differ;
* convex: the range of p'' does not contain zero: at most one extremum, which is found and looked at;
* otherwise the interval is halved and sampled again, left half first.

Guaranteed class: a g_i whose course over one step is a polynomial of degree at most 8, whatever its roots (it
is then represented exactly, and tau only makes the tests stricter). A smooth g_i outside that class is halved
until tau is small against its distance from zero; a g_i with a kink is halved `MAX_DEPTH` times around the
kink, so that a pair of roots nearer to each other than h 2^-MAX_DEPTH / 4 may be taken for none there.

An extremum that comes close to zero without reaching it is a *suspect* (error-prone interpolant, Compere
2001, Fig. 4.2a): the caller integrates to it and looks.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events.roots import g_on_dense, side
from nonsmooth._core.jit import kernel, noinline

N = 8
_j = np.arange(N + 1)
#: Nodes in [0, 1], increasing.
NODES = 0.5 * (1.0 - np.cos(np.pi * _j / N))
NODES[0], NODES[4], NODES[8] = 0.0, 0.5, 1.0
_weight = np.where((_j == 0) | (_j == N), 0.5, 1.0)
# Values at the nodes -> Chebyshev coefficients on [-1, 1] (x = 2 theta - 1).
TRANSFORM = (
    (2.0 / N)
    * _weight[:, None]
    * _weight[None, :]
    * np.cos(np.pi * np.outer(_j, _j) / N)
    * (-1.0) ** _j[:, None]
)

SOURCE_DENSE, SOURCE_HERMITE = 0, 1
NOTHING, BRACKET, SUSPECT = 0, 1, 2
MAX_DEPTH = 14
EPS = 2.220446049250313e-16


@kernel(references=False, forceinline=False)
def chebyshev(c, count, x):
    """Sum of the first `count` terms c_k T_k(x)."""
    b1 = 0.0
    b2 = 0.0
    for k in range(count - 1, 0, -1):
        b1, b2 = 2.0 * x * b1 - b2 + c[k], b1
    return x * b1 - b2 + c[0]


@kernel(references=False, forceinline=False)
def derivative(c, count, d):
    """Coefficients of the derivative with respect to x of sum c_k T_k, `count` terms in, `count` - 1 terms
    out.
    """
    d[count - 1] = 0.0
    if count < 2:
        return
    d[count - 2] = 2.0 * (count - 1) * c[count - 1]
    for k in range(count - 2, 0, -1):
        d[k - 1] = 2.0 * k * c[k] + (d[k + 1] if k + 1 < count else 0.0)
    d[0] *= 0.5


@kernel(references=False, forceinline=False)
def off_zero(c, count, margin):
    """Root exclusion: sign of the sum if |c_0| > sum |c_k| + margin, else 0."""
    rest = margin
    for k in range(1, count):
        rest += abs(c[k])
    if c[0] > rest:
        return 1
    if c[0] < -rest:
        return -1
    return 0


@kernel(references=False, forceinline=False)
def hermite_value(g0, g1, r0, r1, theta):
    """Cubic with values g0, g1 and slopes r0, r1 (per unit of theta) at the ends."""
    q0 = g1 - g0
    q1 = r0 - q0
    q2 = q0 - r1 - q1
    return g0 + theta * (q0 + (1.0 - theta) * (q1 + theta * q2))


@kernel(references=False, forceinline=False)
def coefficients(values, c):
    """Chebyshev coefficients of the polynomial through the values at the nodes."""
    for k in range(N + 1):
        acc = 0.0
        for j in range(N + 1):
            acc += TRANSFORM[k, j] * values[j]
        c[k] = acc


@kernel(references=False, forceinline=False)
def refined_extremum(g, i, t, y, h, Q, rows, p, theta, left, right, mode, values, c, d, buffer, out):
    """The extremum of g_i in [left, right] near `theta`, sampled again and again on shorter intervals around
    it.

    The place of a double root is only as good as the polynomial; the value there decides between touch and
    miss.
    """
    noinline()
    width = right - left
    for _ in range(8):
        width = 0.125 * width
        a = max(left, theta - 0.5 * width)
        b = min(right, theta + 0.5 * width)
        size = 0.0
        for j in range(N + 1):
            values[j] = g_on_dense(g, i, t, y, h, Q, rows, a + (b - a) * NODES[j], p, buffer, out)
            size = max(size, abs(values[j]))
        best = 0
        for j in range(1, N + 1):
            if values[j] * mode < values[best] * mode:
                best = j
        coefficients(values, c)
        derivative(c, N + 1, d)
        lo, hi = -1.0, 1.0
        d_lo = chebyshev(d, N, lo)
        if (d_lo < 0.0) == (chebyshev(d, N, hi) < 0.0):
            theta = a + (b - a) * NODES[best]
            continue
        for _ in range(60):
            mid = 0.5 * (lo + hi)
            if (chebyshev(d, N, mid) < 0.0) == (d_lo < 0.0):
                lo = mid
            else:
                hi = mid
            if hi - lo < 1e-14:
                break
        theta = a + (b - a) * 0.25 * (lo + hi + 2.0)
        tail = abs(c[N]) + abs(c[N - 1]) + abs(c[N - 2]) + abs(c[N - 3])
        if tail <= 64.0 * EPS * size or b - a < 1e-7:
            break
    return theta


@kernel(internal=True, cache=False)
def first_suspicion(
    g, i, source, mode, t, y, h, Q, rows, p, ends, first, peak, touch, error_margin, table, buffer, out, found
):
    """Look for the first side change of g_i in (0, 1].

    Parameters
    ----------
    mode : int
        Side at theta = 0 (by decree: rounding at the start of the step is not looked at).
    ends : ndarray, shape (4,)
        g_i at both ends and, for SOURCE_HERMITE, the rates times h.
    first : ndarray, shape (9,)
        g_i at the nodes of the whole step (SOURCE_DENSE; they are sampled for all switches together).
    peak : float
        Largest |g_i| since its last event or touch.
    touch, error_margin : float
        An extremum with |g_i| <= touch is a touch; one nearer than `error_margin` on its own side is a
        suspect.
    table : ndarray, shape (10, 64)
        Work space.
    found : ndarray, shape (4,)
        Written: for BRACKET its ends in theta and the value at its right end; for SUSPECT the place twice
        and the value.

    Returns
    -------
    kind : int
        NOTHING, BRACKET or SUSPECT.
    """
    values, c, d, e = table[0], table[1], table[2], table[3]
    left, right = table[4], table[5]  # the stack: interval ends, leftmost on top
    left[0] = 0.0
    right[0] = 1.0
    top = 0
    whole = True
    seen = peak  # largest |g_i| left of the interval on top
    last_side = mode  # side at the left end of the interval on top
    while top >= 0:
        a, b = left[top], right[top]
        width = b - a
        if whole and source == SOURCE_DENSE:
            for j in range(N + 1):
                values[j] = first[j]
        else:
            for j in range(N + 1):
                theta = a + width * NODES[j]
                if source == SOURCE_HERMITE:
                    values[j] = hermite_value(ends[0], ends[1], ends[2], ends[3], theta)
                elif theta == 1.0:
                    values[j] = ends[1]
                elif theta == 0.0:
                    values[j] = ends[0]
                else:
                    values[j] = g_on_dense(g, i, t, y, h, Q, rows, theta, p, buffer, out)
        whole = False
        coefficients(values, c)
        size = 0.0
        for k in range(N + 1):
            size = max(size, abs(values[k]))
        noise = 16.0 * EPS * size
        # A kink has coefficients of order 1/k^2: the neglected ones then sum up to a multiple of the last
        # ones kept.
        tau = 4.0 * (abs(c[N]) + abs(c[N - 1]) + abs(c[N - 2]) + abs(c[N - 3])) + noise
        if source == SOURCE_HERMITE:
            tau = noise
        sign = off_zero(c, N + 1, tau)
        b_side = side(values[N])
        if sign != 0 and sign == last_side:
            top -= 1
            seen = max(seen, size)
            continue
        leaf = top >= 60 or width <= 0.5**MAX_DEPTH
        derivative(c, N + 1, d)
        slope_error = 64.0 * (tau - noise) + noise
        monotone = off_zero(d, N, slope_error)
        if monotone != 0:
            top -= 1
            if b_side != last_side:
                found[0], found[1], found[2] = a, b, values[N]
                return BRACKET
            seen = max(seen, size)
            continue
        derivative(d, N, e)
        convex = off_zero(e, N - 1, 1024.0 * (tau - noise) + 16.0 * noise)
        d_lo = chebyshev(d, N, -1.0)
        d_hi = chebyshev(d, N, 1.0)
        if min(abs(d_lo), abs(d_hi)) <= slope_error and (d_lo < 0.0) == (d_hi < 0.0):
            convex = 0  # the extremum may lie just inside an end
        if convex != 0 or leaf:
            top -= 1
            if b_side != last_side and convex == 0:
                found[0], found[1], found[2] = a, b, values[N]
                return BRACKET
            # One extremum at most: bisect p' (values at the ends are d at x = -1, 1).
            lo, hi = -1.0, 1.0
            if (d_lo < 0.0) != (d_hi < 0.0):
                for _ in range(60):
                    mid = 0.5 * (lo + hi)
                    if (chebyshev(d, N, mid) < 0.0) == (d_lo < 0.0):
                        lo = mid
                    else:
                        hi = mid
                    if hi - lo < 1e-12:
                        break
                x = 0.5 * (lo + hi)
                theta = a + width * 0.5 * (x + 1.0)
                value = chebyshev(c, N + 1, x)
                if source == SOURCE_DENSE:
                    value = g_on_dense(g, i, t, y, h, Q, rows, theta, p, buffer, out)
                    if side(value) == last_side and abs(value) <= 1e-2 * size + 16.0 * tau:
                        theta = refined_extremum(
                            g,
                            i,
                            t,
                            y,
                            h,
                            Q,
                            rows,
                            p,
                            theta,
                            a,
                            b,
                            last_side,
                            table[7],
                            table[8],
                            table[9],
                            buffer,
                            out,
                        )
                        value = g_on_dense(g, i, t, y, h, Q, rows, theta, p, buffer, out)
                if side(value) != last_side and abs(value) > touch:
                    found[0], found[1], found[2] = a, theta, value
                    return BRACKET
                excursion = seen
                for j in range(N + 1):
                    if a + width * NODES[j] < theta:
                        excursion = max(excursion, abs(values[j]))
                near = abs(value) <= max(touch, error_margin)
                # It must come down from somewhere: the start of a step on a touch is not a new touch.
                fresh = excursion > max(4.0 * touch, 2.0 * abs(value))
                towards = (value - values[0]) * last_side <= 0.0 and (value - values[N]) * last_side <= 0.0
                if near and fresh and towards and theta < 1.0 - 1e-9:
                    found[0], found[1], found[2] = theta, theta, value
                    return SUSPECT
            if b_side != last_side:
                found[0], found[1], found[2] = a, b, values[N]
                return BRACKET
            seen = max(seen, size)
            continue
        # Halve, left half on top.
        mid = 0.5 * (a + b)
        left[top], right[top] = mid, b
        top += 1
        left[top], right[top] = a, mid
        # The side at the left end of the right half is known to be unchanged when it is reached.
    return NOTHING
