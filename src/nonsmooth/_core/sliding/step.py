"""Around one step with a constant active set: what it tells of the switching function, and its record.

`suspicious` and `look_inside` find components that dip below zero inside a step and come back.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.integrators.rk import H_NEXT, K_0, METHOD_T, Q_0, RHS, WORK_T, Y_NEW, dense_eval
from nonsmooth._core.integrators.runs import as_dense, as_rhs
from nonsmooth._core.jit import caller, f8_1, float64, int64, kernel, types, void
from nonsmooth._core.sliding.functions import call_part
from nonsmooth._core.sliding.layout import (
    A_INDICATORS,
    A_SWITCH,
    ACTIVE,
    ARMED,
    C_DENSE,
    C_FIELD,
    COUNT_OUT,
    EPS,
    G_END,
    G_MIDDLE,
    G_PREVIOUS,
    G_ROOT,
    G_START,
    GRAZED,
    H_PREVIOUS,
    H_SCALE,
    HEAD,
    LOOKED,
    MIDDLE,
    N_H,
    OUT_T,
    POINT,
    R_,
    ROWS,
    RUN_T,
    SLOPE,
    SPARE,
    T_GRAZED,
    WATCH,
    Z_EPS,
    H,
    T,
    Z,
)
from nonsmooth._core.sliding.sets import watch_all

call_rhs = caller(RHS)

#: (method, work, run, h, dipped): the component that changes sign inside the step, or -1.
LOOK = int64(METHOD_T, WORK_T, RUN_T, float64, int64)


@kernel(types.UniTuple(float64, 2)(RUN_T, int64), internal=True)
def extremes(run, j):
    """The smallest and the largest indicator of group j."""
    low = np.inf
    high = -np.inf
    for k in range(run.starts[j], run.starts[j + 1]):
        value = run.p[run.lay[H] + k]
        low = min(low, value)
        high = max(high, value)
    return low, high


@kernel(void(RUN_T, float64), internal=True)
def thresholds(run, epsilon):
    """Update the size of each group's indicators and epsilon of the epsilon-active sets from h at the present state."""
    p, C, lay, starts = run.p, run.C, run.lay, run.starts
    for j in range(starts.size - 1):
        low, high = extremes(run, j)
        spread = high - low
        for k in range(starts[j], starts[j + 1]):
            if spread > C[H_SCALE, k]:
                C[H_SCALE, k] = spread
            C[EPS, k] = epsilon * C[H_SCALE, k]
            if p[lay[ACTIVE] + k] > 0.0:
                C[EPS, k] = Z_EPS


@kernel(types.boolean(RUN_T, int64), internal=True)
def crosses(run, k):
    """Whether component k changed sign between the start of the step and the point looked at."""
    C = run.C
    return C[G_END, k] < 0.0 and (C[ARMED, k] > 0.0 or C[G_END, k] < -C[EPS, k])


@kernel(void(RUN_T, int64), internal=True)
def keep_values(run, back):
    """Weights, indicators, fields and gradients in p: kept aside (0) before other points are looked at, or put back (1)."""
    p, lay = run.p, run.lay
    for k in range(lay[SLOPE] - lay[Z]):
        if back == 0:
            p[lay[SPARE] + k] = p[lay[Z] + k]
        else:
            p[lay[Z] + k] = p[lay[SPARE] + k]


@kernel(void(RUN_T, float64, f8_1, f8_1, float64, int64), internal=True)
def ahead(run, t, x, slope, d, row):
    """``h_k - min h`` over the active regions of the group, a time `d` along `slope` from (t, x), into row `row` of C."""
    p, lay, starts, point = run.p, run.lay, run.starts, run.B[POINT]
    out = run.C[row]
    for i in range(x.size):
        point[i] = x[i] + d * slope[i]
    watch = p[lay[WATCH] : lay[WATCH] + lay[R_]]
    call_part(int(p[lay[HEAD] + A_INDICATORS]), t + d, point, p, watch, out)
    for j in range(starts.size - 1):
        low = np.inf
        for k in range(starts[j], starts[j + 1]):
            p[lay[HEAD] + N_H] += watch[k]
        for k in range(starts[j], starts[j + 1]):
            if p[lay[ACTIVE] + k] > 0.0:
                low = min(low, out[k])
        for k in range(starts[j], starts[j + 1]):
            out[k] -= low


@kernel(types.boolean(float64, float64, float64, float64), internal=True)
def dips(g0, g1, d0, d1):
    """Whether the cubic with values g0, g1 and slopes d0, d1 at the ends of [0, 1] is far below both inside."""
    if not (d0 < 0.0 and d1 > 0.0):
        return False
    low = min(g0, g1)
    c2 = 3.0 * (g1 - g0) - 2.0 * d0 - d1
    c3 = d0 + d1 - 2.0 * (g1 - g0)
    for i in range(1, 16):
        theta = i / 16.0
        if g0 + theta * (d0 + theta * (c2 + theta * c3)) < 0.5 * low:
            return True
    return False


@kernel(types.boolean(METHOD_T, WORK_T, RUN_T, float64), part=True)
def turned(method, work, run, h):
    """Whether a component marked in C[G_ROOT] falls at the start of the step and rises at its end so that the cubic dips.
    Only their groups are watched.
    """
    C, p, lay, starts = run.C, run.p, run.lay, run.starts
    t, d = run.opt[T], 1e-6 * h
    for j in range(starts.size - 1):
        on = False
        for k in range(starts[j], starts[j + 1]):
            on = on or C[G_ROOT, k] > 0.0
        for k in range(starts[j], starts[j + 1]):
            p[lay[WATCH] + k] = 1.0 if on and (p[lay[ACTIVE] + k] > 0.0 or C[G_ROOT, k] > 0.0) else 0.0
    ahead(run, t + h, work.F[Y_NEW], work.F[K_0 + method.stages], d, G_MIDDLE)
    rises = False
    for k in range(lay[R_]):
        if p[lay[WATCH] + k] > 0.0 and p[lay[ACTIVE] + k] == 0.0:
            rises = rises or C[G_MIDDLE, k] > C[G_END, k]
    if not rises:
        return False
    ahead(run, t, run.y, work.F[K_0], d, G_ROOT)
    for k in range(lay[R_]):
        if p[lay[WATCH] + k] > 0.0 and p[lay[ACTIVE] + k] == 0.0:
            g0, g1 = C[G_START, k], C[G_END, k]
            if dips(g0, g1, (C[G_ROOT, k] - g0) / d * h, (C[G_MIDDLE, k] - g1) / d * h):
                return True
    return False


@kernel(types.boolean(METHOD_T, WORK_T, RUN_T, float64), part=True)
def suspicious(method, work, run, h):
    """True if some positive component may have dipped below zero inside the step: judged by the parabola through three
    step ends, and by the cubic with the slopes at both ends if it comes near zero.
    """
    C, p, lay = run.C, run.p, run.lay
    ratio = run.opt[H_PREVIOUS] / h
    near = False
    for k in range(lay[R_]):
        C[G_ROOT, k] = 0.0
        g0 = C[G_START, k]
        g1 = C[G_END, k]
        if g1 < 0.0 or C[ARMED, k] == 0.0:
            continue
        if min(g0, g1) < 0.1 and p[lay[ACTIVE] + k] > 0.0:
            # A weight near zero, and its change over this or the last step could take it below: sliding may end and
            # begin again inside the step.
            change = abs(g1 - g0)
            if ratio > 0.0 and np.isfinite(C[G_PREVIOUS, k]):
                change = max(change, abs(g0 - C[G_PREVIOUS, k]) / ratio)
            else:
                change = 1.0
            if min(g0, g1) < 2.0 * change:
                return True
        if ratio <= 0.0:
            # First step of a piece: no history. A component that changed little cannot have turned.
            if min(g0, g1) < 2.0 * abs(g1 - g0) or min(g0, g1) < 0.05 * C[H_SCALE, k]:
                return True
            continue
        gp = C[G_PREVIOUS, k]
        if not np.isfinite(gp):  # the component means something else since the last switching point
            if min(g0, g1) < 2.0 * abs(g1 - g0):
                return True
            continue
        # Second divided difference on (-ratio, 0, 1), then the lowest value of the parabola in [0, 1].
        c2 = ((g1 - g0) - (g0 - gp) / ratio) / (1.0 + ratio)
        slope = (g1 - g0) - c2
        if c2 > 0.0 and slope < 0.0 and slope + 2.0 * c2 > 0.0:
            low = g0 - 0.25 * slope * slope / c2
            if low < 0.5 * min(g0, g1):
                return True
        if p[lay[ACTIVE] + k] == 0.0 and min(g0, g1) < 2.0 * max(abs(g1 - g0), abs(g0 - gp) / ratio):
            near = True
            C[G_ROOT, k] = 1.0
    if not near:
        return False
    turns = turned(method, work, run, h)
    watch_all(run, 1.0)
    return turns


@kernel(void(WORK_T, RUN_T, float64, float64, int64), part=True)
def look_at(work, run, h, theta, row):
    """The components at `theta` of the step on its dense output, into row `row` of C."""
    x = run.B[POINT]
    dense_eval(run.y, work.F[Q_0:], run.info[ROWS], theta, x)
    call_rhs(run.calls[A_SWITCH], run.opt[T] + theta * h, x, run.p, run.C[row])


@kernel(int64(RUN_T, int64), internal=True)
def negative(run, row):
    """The first armed component that is negative in row `row` of C, or -1."""
    for k in range(run.lay[R_]):
        if run.C[ARMED, k] > 0.0 and run.C[row, k] < 0.0:
            return k
    return -1


@kernel(int64(WORK_T, RUN_T, float64, int64, int64, float64), part=True)
def descend(work, run, h, i, k, width):
    """Follow component k from the lowest of the points looked at, number i of spacing `width`, down to its minimum by
    parabolas through three points; the component that is negative there, or -1. The place is left in opt[MIDDLE].
    """
    C = run.C
    b = i * width
    a = b - width
    c = b + width
    fa, fb, fc = C[LOOKED + i - 1, k], C[LOOKED + i, k], C[LOOKED + i + 1, k]
    weight = run.p[run.lay[ACTIVE] + k] > 0.0
    for _ in range(12):
        # Vertex of the parabola through the three points, and its value.
        u, v = (fb - fa) / (b - a), (fc - fb) / (c - b)
        curvature = (v - u) / (c - a)
        if curvature > 0.0:
            x = 0.5 * (a + b) - 0.5 * u / curvature
            lowest = fb - curvature * (x - b) ** 2
        else:
            x = a if fa < fc else c
            lowest = min(fa, fc)
        if not a < x < c:
            # No minimum between them: one more look on the side where the values are lower.
            x = 0.5 * (a + b) if fa < fc else 0.5 * (b + c)
            lowest = min(min(fa, fb), fc)
            if not weight or c - a < 0.3 * width:
                break
        elif lowest > 0.5 * min(min(fa, fb), fc) or (lowest > 0.0 and abs(x - b) < 1e-4 * width):
            # Little to gain, and what the parabola says of the point just looked at was right.
            break
        look_at(work, run, h, x, G_MIDDLE)
        hit = negative(run, G_MIDDLE)
        if hit >= 0:
            run.opt[MIDDLE] = x
            return hit
        value = C[G_MIDDLE, k]
        if x < b:
            if value < fb:
                c, fc, b, fb = b, fb, x, value
            else:
                a, fa = x, value
        elif value < fb:
            a, fa, b, fb = b, fb, x, value
        else:
            c, fc = x, value
    if fb <= C[EPS, k] and not weight:
        # A region that is touched but, to the accuracy of the run, not entered.
        run.info[GRAZED] = k + 1
        run.opt[T_GRAZED] = run.opt[T] + b * h
    return -1


@kernel(LOOK, part=True)
def look_inside(method, work, run, h, dipped):
    """A component may have dipped and come back: look at interior points of the dense output.

    Evenly spaced points, then the minima of the components that may turn there. If one is negative its place is left in opt[MIDDLE] and all
    components there in C[G_END].
    """
    C, p, lay = run.C, run.p, run.lay
    R = lay[R_]
    dense = as_dense(run.calls[C_DENSE])
    run.info[ROWS] = dense(method, as_rhs(run.calls[C_FIELD]), run.opt[T], run.y, h, p, work)
    points = 9 if dipped == 1 else 3
    width = 1.0 / (points + 1.0)
    for k in range(R):
        C[LOOKED, k] = C[G_START, k]
        C[LOOKED + points + 1, k] = C[G_END, k]
    hit = -1
    for i in range(1, points + 1):
        look_at(work, run, h, i * width, LOOKED + i)
        hit = negative(run, LOOKED + i)
        if hit >= 0:
            run.opt[MIDDLE] = i * width
            for k in range(R):
                C[G_MIDDLE, k] = C[LOOKED + i, k]
            break
    if hit < 0:
        for k in range(R):
            # The minimum of every component that is lowest inside; of weights only near zero.
            if C[ARMED, k] == 0.0:
                continue
            at = 1
            for i in range(2, points + 1):
                if C[LOOKED + i, k] < C[LOOKED + at, k]:
                    at = i
            if p[lay[ACTIVE] + k] > 0.0 and not C[LOOKED + at, k] < 0.1:
                continue
            hit = descend(work, run, h, at, k, width)
            if hit >= 0:
                break
    if hit >= 0:
        for k in range(R):
            C[G_END, k] = C[G_MIDDLE, k]
    return hit


@kernel(void(WORK_T, RUN_T, float64), internal=True)
def limit_by_weights(work, run, h):
    """Where x hardly moves the integrator does not limit its steps: let the weights change by 0.2 in a step at most."""
    change = 0.1
    for k in range(run.lay[R_]):
        if run.p[run.lay[ACTIVE] + k] > 0.0:
            change = max(change, abs(run.C[G_END, k] - run.C[G_START, k]))
    work.reals[H_NEXT] = min(work.reals[H_NEXT], 0.2 / change * h)


@kernel(void(RUN_T, float64), internal=True)
def remember(run, h):
    """The start of the step of length `h` just made becomes the earlier of the three points `suspicious` looks at."""
    for k in range(run.lay[R_]):
        run.C[G_PREVIOUS, k] = run.C[G_START, k]
    run.opt[H_PREVIOUS] = h


@kernel(void(WORK_T, RUN_T, OUT_T, float64), part=True)
def record(work, run, out, h):
    """Store the end of a step, its dense output (over a length of time `h`) and the active set it was made with."""
    y, lay, info = run.y, run.lay, run.info
    c = info[COUNT_OUT]
    n = y.size
    out.steps[c, 0] = run.opt[T]
    for k in range(n):
        out.steps[c, 1 + k] = y[k]
    for k in range(lay[R_]):
        out.steps[c, 1 + n + k] = run.p[lay[ACTIVE] + k]
    if out.Q.shape[0] > 0:
        last = out.Q.shape[1] - 1
        for k in range(n):
            for j in range(last):
                out.Q[c, j, k] = work.F[Q_0 + j, k] if j < info[ROWS] else 0.0
            out.Q[c, last, k] = h
    info[COUNT_OUT] = c + 1
