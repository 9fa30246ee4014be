"""The first place inside one step where a switching function may change its side.

g_i along the step is sampled at the nine Chebyshev points of an interval, either on the integrator's dense
output or on the cubic Hermite polynomial of its values and rates at both ends
(option `hermite`, Compere 2001, sec. 5.2.1). The polynomial of degree 8 through the samples and its last
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

from nonsmooth._core.calls.parts import part
from nonsmooth._core.events.records import BRACKET, EPS, NOTHING, SUSPECT, N, events_at
from nonsmooth._core.events.roots import side, value_on_dense
from nonsmooth._core.jit import caller, int64, kernel, phase

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

MAX_DEPTH = 14

#: ``suspicion(events, i)``: NOTHING, BRACKET or SUSPECT, the place in ``found``.
SUSPICION = int64(int64, int64)
call_suspicion = caller(SUSPICION)


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


@phase
def value_at(ev, i, theta):
    """g_i at a fraction theta of the step in progress."""
    v = ev.values
    if ev.options.hermite == 1:
        return hermite_value(v.start[i], v.end[i], v.rate_0[i], v.rate_1[i], theta)
    if theta == 1.0:
        return v.end[i]
    if theta == 0.0:
        return v.start[i]
    return value_on_dense(ev.roots, i, ev.info.h, ev.info.rows, theta)


@phase
def sample_interval(ev, i, whole):
    """Values of g_i at the nodes of the interval on top (known for the whole step), their polynomial and its error."""
    scan, top = ev.scan, ev.interval
    values, c = scan.nodes, scan.c
    width = top.b - top.a
    known = whole and ev.options.hermite == 0
    for j in range(N + 1):
        values[j] = ev.values.nodes[j, i] if known else value_at(ev, i, top.a + width * NODES[j])
    coefficients(values, c)
    top.largest = 0.0
    for k in range(N + 1):
        top.largest = max(top.largest, abs(values[k]))
    top.noise = 16.0 * EPS * top.largest
    # A kink has coefficients of order 1/k^2: the neglected ones then sum up to a multiple of the last ones kept.
    top.tau = 4.0 * (abs(c[N]) + abs(c[N - 1]) + abs(c[N - 2]) + abs(c[N - 3])) + top.noise
    if ev.options.hermite == 1:
        top.tau = top.noise


@phase
def monotone(ev):
    """Whether p' has no zero in the interval on top."""
    scan, top = ev.scan, ev.interval
    derivative(scan.c, N + 1, scan.d)
    top.slope_error = 64.0 * (top.tau - top.noise) + top.noise
    return off_zero(scan.d, N, top.slope_error) != 0


@phase
def convex(ev):
    """Whether p'' has no zero there, and the extremum (if there is one) does not lie just inside an end."""
    scan, top = ev.scan, ev.interval
    derivative(scan.d, N, scan.e)
    found = off_zero(scan.e, N - 1, 1024.0 * (top.tau - top.noise) + 16.0 * top.noise) != 0
    top.d_lo = chebyshev(scan.d, N, -1.0)
    top.d_hi = chebyshev(scan.d, N, 1.0)
    if min(abs(top.d_lo), abs(top.d_hi)) <= top.slope_error and (top.d_lo < 0.0) == (top.d_hi < 0.0):
        return False
    return found


@kernel(references=False, forceinline=False)
def zero_of_slope(d, d_lo, resolution):
    """Bisection of p' on [-1, 1]: both ends of the last bracket."""
    lo, hi = -1.0, 1.0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if (chebyshev(d, N, mid) < 0.0) == (d_lo < 0.0):
            lo = mid
        else:
            hi = mid
        if hi - lo < resolution:
            break
    return lo, hi


@phase
def refined_extremum(ev, i, theta):
    """The extremum of g_i near `theta`, sampled again and again on shorter intervals around it.

    The place of a double root is only as good as the polynomial; the value there decides between touch and miss.
    """
    scan, top = ev.scan, ev.interval
    values, c, d = scan.refined, scan.c_refined, scan.d_refined
    width = top.b - top.a
    for _ in range(8):
        width = 0.125 * width
        a = max(top.a, theta - 0.5 * width)
        b = min(top.b, theta + 0.5 * width)
        size = 0.0
        for j in range(N + 1):
            values[j] = value_on_dense(ev.roots, i, ev.info.h, ev.info.rows, a + (b - a) * NODES[j])
            size = max(size, abs(values[j]))
        best = 0
        for j in range(1, N + 1):
            if values[j] * top.side < values[best] * top.side:
                best = j
        coefficients(values, c)
        derivative(c, N + 1, d)
        d_lo = chebyshev(d, N, -1.0)
        if (d_lo < 0.0) == (chebyshev(d, N, 1.0) < 0.0):
            theta = a + (b - a) * NODES[best]
            continue
        lo, hi = zero_of_slope(d, d_lo, 1e-14)
        theta = a + (b - a) * 0.25 * (lo + hi + 2.0)
        tail = abs(c[N]) + abs(c[N - 1]) + abs(c[N - 2]) + abs(c[N - 3])
        if tail <= 64.0 * EPS * size or b - a < 1e-7:
            break
    return theta


@phase
def put_found(ev, left, right, value):
    """Where the suspicion lies."""
    ev.found.left = left
    ev.found.right = right
    ev.found.value = value


@phase
def extremum(ev, i, touch):
    """The one extremum of the interval on top: beyond zero (BRACKET up to it), near zero (SUSPECT), or harmless."""
    scan, top = ev.scan, ev.interval
    values = scan.nodes
    width = top.b - top.a
    lo, hi = zero_of_slope(scan.d, top.d_lo, 1e-12)
    x = 0.5 * (lo + hi)
    theta = top.a + width * 0.5 * (x + 1.0)
    value = chebyshev(scan.c, N + 1, x)
    if ev.options.hermite == 0:
        value = value_on_dense(ev.roots, i, ev.info.h, ev.info.rows, theta)
        if side(value) == top.side and abs(value) <= 1e-2 * top.largest + 16.0 * top.tau:
            theta = refined_extremum(ev, i, theta)
            value = value_on_dense(ev.roots, i, ev.info.h, ev.info.rows, theta)
    if side(value) != top.side and abs(value) > touch:
        put_found(ev, top.a, theta, value)
        return BRACKET
    excursion = top.seen
    for j in range(N + 1):
        if top.a + width * NODES[j] < theta:
            excursion = max(excursion, abs(values[j]))
    near = abs(value) <= max(touch, ev.values.margin[i])
    # It must come down from somewhere: the start of a step on a touch is not a new touch.
    fresh = excursion > max(4.0 * touch, 2.0 * abs(value))
    towards = (value - values[0]) * top.side <= 0.0 and (value - values[N]) * top.side <= 0.0
    if near and fresh and towards and theta < 1.0 - 1e-9:
        put_found(ev, theta, theta, value)
        return SUSPECT
    return NOTHING


@part(SUSPICION)
def first_suspicion(address, i):
    """The first side change of g_i in (0, 1], or extremum near zero; its place in ``found``.

    The side at theta = 0 is that of the mode, by decree: rounding at the start of the step is not looked at.
    """
    ev = events_at(address)
    scan, top = ev.scan, ev.interval
    touch = max(ev.switches[i].tol, 64.0 * EPS * ev.switches[i].scale)
    top.side = side(ev.modes[i])
    top.seen = ev.switches[i].peak
    scan.left[0], scan.right[0] = 0.0, 1.0  # a stack of intervals, leftmost on top
    height = 0
    whole = True
    while height >= 0:
        top.a, top.b = scan.left[height], scan.right[height]
        sample_interval(ev, i, whole)
        whole = False
        crossed = side(scan.nodes[N]) != top.side
        decided = off_zero(scan.c, N + 1, top.tau) == top.side  # excluded
        if not decided and monotone(ev):
            if crossed:
                put_found(ev, top.a, top.b, scan.nodes[N])
                return BRACKET
            decided = True
        if not decided:
            one_extremum = convex(ev)
            if one_extremum or height >= 60 or top.b - top.a <= 0.5**MAX_DEPTH:
                if one_extremum or not crossed:
                    if (top.d_lo < 0.0) != (top.d_hi < 0.0):
                        kind = extremum(ev, i, touch)
                        if kind != NOTHING:
                            return kind
                if crossed:
                    put_found(ev, top.a, top.b, scan.nodes[N])
                    return BRACKET
                decided = True
        if decided:
            height -= 1
            top.seen = max(top.seen, top.largest)
            continue
        mid = 0.5 * (top.a + top.b)  # halve, left half on top
        scan.left[height], scan.right[height] = mid, top.b
        height += 1
        scan.left[height], scan.right[height] = top.a, mid
    return NOTHING
