"""Components that dip below zero inside a step and come back: suspected from values at step ends, then looked for on the
dense output.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.dense_output import dense_eval
from nonsmooth._core.integrators.records import call_dense, call_field
from nonsmooth._core.jit import caller, float64, int64, kernel, phase
from nonsmooth._core.sliding.records import call_part, run_at
from nonsmooth._core.sliding.sets import watch_all

#: (run, h, dipped): the component that changes sign inside the step, or -1.
LOOK = int64(int64, float64, int64)
call_look = caller(LOOK)


@phase
def ahead(run, t, x, slope, d, out):
    """``h_k - min h`` over the active regions of the group, a time `d` along `slope` from (t, x), into `out`."""
    starts, watch, point = run.starts, run.set.watch, run.point
    for i in range(x.size):
        point[i] = x[i] + d * slope[i]
    call_part(run.at.indicators, t + d, point, run.p, watch, out)
    for j in range(starts.size - 1):
        low = np.inf
        for k in range(starts[j], starts[j + 1]):
            run.counts.h += 1 if watch[k] > 0.0 else 0
        for k in range(starts[j], starts[j + 1]):
            if run.set.active[k] > 0.0:
                low = min(low, out[k])
        for k in range(starts[j], starts[j + 1]):
            out[k] -= low


@kernel(references=False, forceinline=False)
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


@phase
def turned(run, h):
    """Whether a component marked in ``psi.root`` falls at the start of the step and rises at its end so that the cubic dips.
    Only their groups are watched.
    """
    s, psi, starts, active, watch = run.solver, run.psi, run.starts, run.set.active, run.set.watch
    t, d = s.now.t, 1e-6 * h
    for j in range(starts.size - 1):
        on = False
        for k in range(starts[j], starts[j + 1]):
            on = on or psi.root[k] > 0.0
        for k in range(starts[j], starts[j + 1]):
            watch[k] = 1.0 if on and (active[k] > 0.0 or psi.root[k] > 0.0) else 0.0
    ahead(run, t + h, s.step.y_new, s.step.K[s.method.stages], d, psi.middle)
    rises = False
    for k in range(watch.size):
        if watch[k] > 0.0 and active[k] == 0.0:
            rises = rises or psi.middle[k] > psi.end[k]
    if not rises:
        return False
    ahead(run, t, s.y, s.step.K[0], d, psi.root)
    for k in range(watch.size):
        if watch[k] > 0.0 and active[k] == 0.0:
            g0, g1 = psi.start[k], psi.end[k]
            if dips(g0, g1, (psi.root[k] - g0) / d * h, (psi.middle[k] - g1) / d * h):
                return True
    return False


# What three step ends say of a component: it cannot have dipped, it may come near zero, it may have dipped.
NO, NEAR, YES = range(3)


@phase
def suspect(run, k, ratio):
    """What the values of component k at three step ends say; `ratio` is the length of the step before by that of this one."""
    psi = run.psi
    g0, g1, gp = psi.start[k], psi.end[k], psi.previous[k]
    low, change = min(g0, g1), abs(g1 - g0)
    known = ratio > 0.0 and np.isfinite(gp)
    if low < 0.1 and run.set.active[k] > 0.0:
        # A weight near zero, and its change over this or the last step could take it below: sliding may end and
        # begin again inside the step.
        if low < 2.0 * (max(change, abs(g0 - gp) / ratio) if known else 1.0):
            return YES
    if ratio <= 0.0:
        # First step of a piece: no history. A component that changed little cannot have turned.
        return YES if low < 2.0 * change or low < 0.05 * psi.scale[k] else NO
    if not known:  # the component means something else since the last switching point
        return YES if low < 2.0 * change else NO
    # Second divided difference on (-ratio, 0, 1), then the lowest value of the parabola in [0, 1].
    c2 = ((g1 - g0) - (g0 - gp) / ratio) / (1.0 + ratio)
    slope = (g1 - g0) - c2
    if c2 > 0.0 and slope < 0.0 and slope + 2.0 * c2 > 0.0:
        if g0 - 0.25 * slope * slope / c2 < 0.5 * low:
            return YES
    if run.set.active[k] == 0.0 and low < 2.0 * max(change, abs(g0 - gp) / ratio):
        return NEAR
    return NO


@phase
def suspicious(run, h):
    """True if some positive component may have dipped below zero inside the step: judged by the parabola through three
    step ends, and by the cubic with the slopes at both ends if it comes near zero.
    """
    psi = run.psi
    ratio = run.info.h_previous / h
    near = False
    for k in range(psi.root.size):
        psi.root[k] = 0.0
        if psi.end[k] < 0.0 or psi.armed[k] == 0.0:
            continue
        verdict = suspect(run, k, ratio)
        if verdict == YES:
            return True
        if verdict == NEAR:
            near = True
            psi.root[k] = 1.0
    if not near:
        return False
    turns = turned(run, h)
    watch_all(run)
    return turns


@phase
def look_at(run, h, theta, out):
    """The components at `theta` of the step on its dense output."""
    s = run.solver
    dense_eval(s.y, s.step.Q, run.info.rows, theta, run.point)
    call_field(run.at.switch, run.at.run, s.now.t + theta * h, run.point, out)


@phase
def negative(run, values):
    """The first armed component that is negative in `values`, or -1."""
    for k in range(values.size):
        if run.psi.armed[k] > 0.0 and values[k] < 0.0:
            return k
    return -1


@phase
def descend(run, h, i, k, width):
    """Follow component k from the lowest of the points looked at, number i of spacing `width`, down to its minimum by
    parabolas through three points; the component that is negative there, or -1. The place is left in ``info.middle``.
    """
    psi = run.psi
    b = i * width
    a = b - width
    c = b + width
    fa, fb, fc = psi.looked[i - 1, k], psi.looked[i, k], psi.looked[i + 1, k]
    weight = run.set.active[k] > 0.0
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
        look_at(run, h, x, psi.middle)
        hit = negative(run, psi.middle)
        if hit >= 0:
            run.info.middle = x
            return hit
        value = psi.middle[k]
        if x < b:
            if value < fb:
                c, fc, b, fb = b, fb, x, value
            else:
                a, fa = x, value
        elif value < fb:
            a, fa, b, fb = b, fb, x, value
        else:
            c, fc = x, value
    if fb <= psi.eps[k] and not weight:
        # A region that is touched but, to the accuracy of the run, not entered.
        run.info.grazed = k + 1
        run.info.t_grazed = run.solver.now.t + b * h
    return -1


@phase
def look_at_points(run, h, points, width):
    """Evenly spaced points: the first component that is negative at one, its values there in ``psi.middle``, or -1."""
    psi = run.psi
    for k in range(psi.start.size):
        psi.looked[0, k] = psi.start[k]
        psi.looked[points + 1, k] = psi.end[k]
    for i in range(1, points + 1):
        look_at(run, h, i * width, psi.looked[i])
        hit = negative(run, psi.looked[i])
        if hit >= 0:
            run.info.middle = i * width
            for k in range(psi.start.size):
                psi.middle[k] = psi.looked[i, k]
            return hit
    return -1


@phase
def look_at_minima(run, h, points, width):
    """The minimum of every component that is lowest inside (of weights only near zero): a negative component, or -1."""
    psi = run.psi
    for k in range(psi.start.size):
        if psi.armed[k] == 0.0:
            continue
        at = 1
        for i in range(2, points + 1):
            if psi.looked[i, k] < psi.looked[at, k]:
                at = i
        if run.set.active[k] > 0.0 and not psi.looked[at, k] < 0.1:
            continue
        hit = descend(run, h, at, k, width)
        if hit >= 0:
            return hit
    return -1


@part(LOOK)
def look_inside(address, h, dipped):
    """A component may have dipped and come back: look at interior points of the dense output.

    If one is negative its place is left in ``info.middle`` and all components there in ``psi.end``.
    """
    run = run_at(address)
    s, psi = run.solver, run.psi
    run.info.rows = call_dense(s.at.dense, s.at.solver, h)
    points = 9 if dipped == 1 else 3
    width = 1.0 / (points + 1.0)
    hit = look_at_points(run, h, points, width)
    if hit < 0:
        hit = look_at_minima(run, h, points, width)
    if hit >= 0:
        for k in range(psi.end.size):
            psi.end[k] = psi.middle[k]
    return hit
