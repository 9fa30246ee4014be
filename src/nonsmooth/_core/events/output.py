"""What the event loop hands to its caller: accepted states, events."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events.records import EPS, EV_TOUCH
from nonsmooth._core.jit import kernel, phase


@kernel(references=False, forceinline=False)
def first_not_finite(values):
    """Index of the first value that is not finite, or -1."""
    for k in range(values.size):
        if not np.isfinite(values[k]):
            return k
    return -1


@phase
def full(ev):
    """Whether the output may not hold another pass of the loop."""
    rows, events = ev.rows.t.size, ev.log.event.size
    return ev.used.rows + 3 > rows or ev.used.events + 2 * ev.switches.size + 4 > events


@phase
def put_row(ev, jump):
    """Store the present state (and the dense output of the step that led to it, unless it has jumped there)."""
    k, s, out = ev.used.rows, ev.solver, ev.rows
    out.t[k] = s.now.t
    out.jump[k] = jump
    for j in range(s.y.size):
        out.y[k, j] = s.y[j]
    for j in range(ev.switches.size):
        out.modes[k, j] = np.int8(ev.modes[j])
    if jump == 0:
        for r in range(ev.info.rows):
            for j in range(s.y.size):
                out.Q[k, r, j] = s.step.Q[r, j]
    ev.used.rows = k + 1


@phase
def put_event(ev, i, kind, direction, iterations, rate):
    """Store an event of switch i at the present instant, with the states `left` and `right`."""
    k = ev.used.events
    event = ev.log.event[k]
    event.t = ev.solver.now.t
    event.switch = i
    event.kind = kind
    event.direction = direction
    event.iterations = iterations
    event.rate = rate
    for j in range(ev.left.size):
        ev.log.before[k, j] = ev.left[j]
        ev.log.after[k, j] = ev.right[j]
    ev.used.events = k + 1
    if kind == EV_TOUCH:
        ev.counts.touches += 1
    else:
        ev.counts.events += 1


@phase
def touch_tolerance(ev, i):
    """Below this |g_i| counts as zero where it does not cross."""
    return max(ev.switches[i].tol, 64.0 * EPS * ev.switches[i].scale)
