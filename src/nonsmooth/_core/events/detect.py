"""Detection: the earliest suspicion of all switching functions inside a step (Compere 2001, sec. 5.2.1)."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.events.output import first_not_finite
from nonsmooth._core.events.records import BRACKET, NOTHING, WATCHED, N, call_on_dense, call_rate, events_at
from nonsmooth._core.events.roots import side, value_on_dense
from nonsmooth._core.events.scan import NODES, call_suspicion, hermite_value
from nonsmooth._core.integrators.dense_output import dense_eval
from nonsmooth._core.integrators.records import call_dense, call_field
from nonsmooth._core.integrators.time_axis import end_of_step
from nonsmooth._core.jit import caller, int64, phase

#: ``detect(events)``: False if a switching function is not finite; what was found stands in ``first``.
DETECT = int64(int64)
call_detect = caller(DETECT)


@part(DETECT)
def detect(address):
    """The earliest suspicion inside the step of size ``info.h`` just made, in ``first``; 0 if a value is not finite."""
    ev = events_at(address)
    s, info, v = ev.solver, ev.info, ev.values
    info.rows = call_dense(s.at.dense, s.at.solver, info.h)
    info.t_bad = end_of_step(s.now, info.h)
    call_field(ev.roots.at.g, ev.roots.at.context, info.t_bad, s.step.y_new, v.end)
    bad = first_not_finite(v.end)
    if bad < 0 and ev.switches.size > 0:
        bad = sample_hermite(ev) if ev.options.hermite == 1 else sample_dense(ev)
    if bad >= 0:
        info.switch = bad
        return 0
    earliest(ev, address)
    return 1


@phase
def sample_dense(ev):
    """All switching functions at the nodes of the step, their sizes and what the local error does to them."""
    s, r, v, h = ev.solver, ev.roots, ev.values, ev.info.h
    for j in range(1, N):
        dense_eval(s.y, s.step.Q, ev.info.rows, NODES[j], r.point)
        call_field(r.at.g, r.at.context, s.now.t + NODES[j] * h, r.point, v.nodes[j])
        bad = first_not_finite(v.nodes[j])
        if bad >= 0:
            return bad
    for i in range(ev.switches.size):
        v.nodes[0, i] = v.start[i]
        v.nodes[N, i] = v.end[i]
        size = 0.0
        for j in range(N + 1):
            size = max(size, abs(v.nodes[j, i]))
        ev.switches[i].scale = size
    # How much the local error of the step can move g: where an interpolant is error-prone.
    for k in range(s.y.size):
        r.point[k] = s.step.y_new[k] + s.step.error[k]
    call_field(r.at.g, r.at.context, s.now.t + h, r.point, v.margin)
    for i in range(ev.switches.size):
        move = abs(v.margin[i] - v.end[i])
        v.margin[i] = 4.0 * move if np.isfinite(move) else 0.0
    return -1


@phase
def sample_hermite(ev):
    """Values and rates of all switching functions at both ends."""
    s, r, v, h = ev.solver, ev.roots, ev.values, ev.info.h
    end = s.method.stages
    for i in range(ev.switches.size):
        v.rate_0[i] = h * call_rate(r.at.rate, r.at.roots, i, s.now.t, s.y, s.step.K[0], h)
        v.rate_1[i] = h * call_rate(r.at.rate, r.at.roots, i, s.now.t + h, s.step.y_new, s.step.K[end], h)
        ev.switches[i].scale = max(abs(v.start[i]), abs(v.end[i]))
        # Slopes of different sign and curvature towards zero: always looked at.
        v.margin[i] = 1e300
    return -1


@phase
def earliest(ev, address):
    """The first suspicion of all switches."""
    first, found = ev.first, ev.found
    first.kind = NOTHING
    first.estimate = np.inf
    for i in range(ev.switches.size):
        ev.values.estimate[i] = np.inf
        if ev.switches[i].muted != WATCHED:
            continue
        kind = call_suspicion(ev.at.suspicion, address, i)
        if kind == NOTHING:
            continue
        at = found.left
        if kind == BRACKET:
            at = estimate(ev, i)
            ev.values.estimate[i] = at
        if at < first.estimate:
            first.kind = kind
            first.switch = i
            first.left = found.left
            first.right = found.right
            first.value = found.value
            first.estimate = at


@phase
def estimate(ev, i):
    """Zero of the interpolant inside the bracket found, in theta."""
    a, b, v = ev.found.left, ev.found.right, ev.values
    mode = side(ev.modes[i])
    if ev.options.hermite == 0:
        value_a = mode * 1e-300
        if a > 0.0:
            value_a = value_on_dense(ev.roots, i, ev.info.h, ev.info.rows, a)
        elif side(v.start[i]) == mode:
            value_a = v.start[i]
        if side(value_a) != mode:
            value_a = mode * 1e-300
        r = ev.roots.at
        return call_on_dense(
            r.on_dense, r.roots, i, ev.info.h, ev.info.rows, a, b, value_a, ev.found.value, 1e-12
        )
    for _ in range(60):
        mid = 0.5 * (a + b)
        if side(hermite_value(v.start[i], v.end[i], v.rate_0[i], v.rate_1[i], mid)) == mode:
            a = mid
        else:
            b = mid
        if b - a < 1e-10:
            break
    return b
