"""What happens at an event instant: modes and resets until nothing changes, and whether a contact comes to rest."""

from __future__ import annotations

from nonsmooth._core.calls.parts import part
from nonsmooth._core.calls.signatures import call_reset
from nonsmooth._core.events.output import first_not_finite, put_event
from nonsmooth._core.events.records import (
    BAD_G,
    BILATERAL,
    CYCLE,
    EPS,
    EV_JUMP,
    EV_SWITCH,
    JUMP,
    NOT_REPEATABLE,
    UNILATERAL,
    WATCHED,
    call_rate,
    events_at,
)
from nonsmooth._core.events.roots import side
from nonsmooth._core.integrators.records import OK, call_field
from nonsmooth._core.integrators.user_functions import functions_at
from nonsmooth._core.jit import caller, int64, phase

#: ``settle(events)``: OK, CYCLE (cap reached), BAD_G or NOT_REPEATABLE; the switch concerned in ``info.switch``.
SETTLE = int64(int64)
call_settle = caller(SETTLE)


@phase
def rate(ev, j, scale):
    """dg_j/dt at the present state."""
    s, r = ev.solver, ev.roots
    return call_rate(r.at.rate, r.at.roots, j, s.now.t, s.y, s.step.K[0], scale)


@phase
def switch_values(ev, out):
    """All switching functions at the present state."""
    s = ev.solver
    call_field(ev.roots.at.g, ev.roots.at.context, s.now.t, s.y, out)


@phase
def out_of_bounds(ev, j):
    """Whether unilateral switch j must act at this instant: beyond its boundary, or on it and moving out."""
    switch, value = ev.switches[j], ev.values.now[j]
    limit = switch.tol + 16.0 * EPS * switch.scale
    if value < -limit:
        return True
    if value > limit + 1e-6 * switch.scale:
        return False
    moving = rate(ev, j, abs(ev.info.h))
    if value > switch.tol + 8.0 * EPS * max(abs(ev.solver.now.t), 1.0) * abs(moving):
        return False
    small = 1e-9 * abs(switch.rate_before) if switch.triggered > 0 else 0.0
    if moving >= -small:
        return False
    switch.rate_before = moving
    return True


@phase
def acts(ev, j, located):
    """Whether switch j has an event at this instant; the `located` one has."""
    mode = side(ev.modes[j])
    if ev.switches[j].kind == UNILATERAL and mode > 0:
        return located or out_of_bounds(ev, j)
    again = ev.switches[j].kind == BILATERAL or ev.switches[j].triggered == 0
    return side(ev.values.now[j]) != mode and again


@phase
def apply_reset(ev, j):
    """The state after the reset of switch j, with slope and switching functions there; False if not finite."""
    s, user, v = ev.solver, functions_at(ev.at.user), ev.values
    call_reset(user.at.reset, j, s.now.t, ev.left, user.p, ev.right)
    if first_not_finite(ev.right) >= 0:
        return False
    for k in range(s.y.size):
        s.y[k] = ev.right[k]
    switch_values(ev, v.now)
    bad = first_not_finite(v.now)
    if bad >= 0:
        ev.info.switch = bad
        return False
    call_field(s.at.field, s.at.context, s.now.t, s.y, s.step.K[0])
    s.count.nfev += 1
    return True


@phase
def act(ev, j, kind, iterations):
    """The event of switch j: mode, reset, record."""
    switch, s = ev.switches[j], ev.solver
    mode = side(ev.modes[j])
    bounded = switch.kind == UNILATERAL and mode > 0
    ev.info.switch = j
    switch.triggered += 1
    for k in range(s.y.size):
        ev.left[k] = s.y[k]
        ev.right[k] = s.y[k]
    if not bounded or switch.has_reset == 0:
        # A unilateral switch without a reset is left behind; it comes back into force when g is positive again.
        ev.modes[j] = -mode
    counts = switch.direction == 0 or switch.direction == -mode
    if switch.kind == UNILATERAL:
        counts = bounded
    if not counts:
        return OK
    if switch.has_reset == 1 and not apply_reset(ev, j):
        return BAD_G
    if ev.used.events >= ev.log.event.size:
        return CYCLE
    put_event(ev, j, kind, -mode, iterations, switch.rate_before)
    switch.hits += 1
    switch.counted += 1
    if switch.terminal > 0 and switch.hits >= switch.terminal:
        ev.info.stop = 1
    return OK


@part(SETTLE)
def settle(address):
    """Modes and resets at an instant until nothing changes. Order: the located switch, then by index."""
    ev = events_at(address)
    info, v = ev.info, ev.values
    i = info.switch
    m = ev.switches.size
    for j in range(m):
        ev.switches[j].triggered = 0
        ev.switches[j].counted = 0
    switch_values(ev, v.now)
    for j in range(m):
        if v.now[j] != v.located[j]:
            info.switch = j
            return NOT_REPEATABLE
    info.stop = 0
    info.t_bad = ev.solver.now.t
    kind = EV_JUMP if info.status == JUMP else EV_SWITCH
    for turn in range(ev.options.max_chain + 1):
        changed = False
        for q in range(-1, m):
            j = i if q < 0 else q
            if ev.switches[j].muted != WATCHED or (q < 0 and turn > 0) or (q == i and turn == 0):
                continue
            if not acts(ev, j, q < 0):
                continue
            changed = True
            code = act(ev, j, kind, info.iterations if q < 0 else 0)
            if code != OK:
                return code
            kind = EV_SWITCH
        if not changed:
            break
        if turn == ev.options.max_chain:
            return CYCLE
        if turn > 0:
            ev.counts.chained += 1
    return settled(ev)


@phase
def settled(ev):
    """What is remembered of the instant; the same one again and again without progress is a cycle too."""
    info, v, t = ev.info, ev.values, ev.solver.now.t
    if t == info.t_settled:
        info.repeats += 1
        if info.repeats > ev.options.max_chain:
            return CYCLE
    else:
        info.t_settled = t
        info.repeats = 0
    for j in range(ev.switches.size):
        switch = ev.switches[j]
        peak = max(switch.peak, abs(v.start[j]))
        switch.peak = abs(v.now[j]) if switch.triggered > 0 else peak
        v.start[j] = v.now[j]
    return OK


@phase
def comes_to_rest(ev, j):
    """Whether unilateral switch j stays closed after its reset: no rate left, and the flow presses it down."""
    s, r, scale = ev.solver, ev.roots, abs(ev.info.h)
    t, slope = s.now.t, s.step.K[0]
    after = rate(ev, j, scale)
    before = abs(ev.switches[j].rate_before)
    if abs(after) > 1e-9 * before:
        return False
    d = 1e-4 * scale
    moved, moved_slope = ev.left, ev.right
    for k in range(s.y.size):
        moved[k] = s.y[k] + d * slope[k]
    call_field(s.at.field, s.at.context, t + d, moved, moved_slope)
    s.count.nfev += 1
    later = call_rate(r.at.rate, r.at.roots, j, t + d, moved, moved_slope, scale)
    return later - after < -1e-9 * before
