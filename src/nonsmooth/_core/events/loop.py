"""Integration with switching functions: detect, locate, order, change modes, restart (Compere 2001, Fig. 5.6).

One pass of the loop in `event_run` is one accepted step or one event instant:

1. a step accepted by the error control, with the modes locked;
2. detection: the earliest suspicion of all switching functions inside the step (`detect`);
3. location on the integration itself, then post-analysis: was it the first (`locate`, Table 5.1)?
   case I: yes; case II: another one lies before it, which is located next; case III: there is no zero, the
   shortened step is kept as a plain step;
4. at the event: modes and resets, repeated until nothing changes at this instant (`settle`), restart.

Nothing here knows what a switch means; everything the caller has to decide comes back as a status.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events.detect import call_detect
from nonsmooth._core.events.locate import call_locate
from nonsmooth._core.events.output import first_not_finite, full, put_event, put_row, touch_tolerance
from nonsmooth._core.events.records import (
    BAD_G,
    BAD_VALUE,
    BILATERAL,
    CHATTER,
    CLEAR,
    CYCLE,
    DONE,
    EPS,
    EV_TOUCH,
    EVENT,
    FOUND,
    FULL,
    JUMP,
    LOST_STEP,
    NOTHING,
    PLAIN_STEP,
    RESTING,
    SPECIAL,
    STEP_FAILED,
    STOPPED,
    SUSPECT,
    UNILATERAL,
    WAITING,
    WATCHED,
    ZENO,
    N,
    events_at,
)
from nonsmooth._core.events.roots import side
from nonsmooth._core.events.scan import NODES
from nonsmooth._core.events.settle import call_settle, comes_to_rest, rate, switch_values
from nonsmooth._core.integrators.records import OK, call_adapt, call_dense, call_field, call_try
from nonsmooth._core.integrators.single_step import accept, start
from nonsmooth._core.jit import kernel, phase


@kernel(references=False, forceinline=False)
def event_run(address, max_steps):
    """Steps and events until `t_bound`, a decision of the caller, a failure, full output or `max_steps` passes."""
    ev = events_at(address)
    now = ev.solver.now
    steps = 0
    while now.t != now.t_bound:
        if full(ev) or steps >= max_steps:
            return FULL
        steps += 1
        status = locked_step(ev)  # 1.
        if status != OK:
            return status
        status = first_event(ev)  # 2. and 3.
        if status == PLAIN_STEP:
            keep_step(ev)
            continue
        if status == EVENT:
            status = at_event(ev)  # 4.
        if status != OK:
            return status
    return DONE


@phase
def locked_step(ev):
    """A step accepted by the error control, with the modes locked."""
    s, info = ev.solver, ev.info
    status = call_adapt(s.at.adapt, s.at.solver)
    if status != OK:
        return status
    info.h = s.now.h
    info.h_next = s.now.h_next
    info.h_smooth = abs(info.h)
    if info.fresh == 1:
        # The first step in new modes: what it should have been is where they are entered with next time.
        info.fresh = 0
        for j in range(ev.switches.size):
            if ev.switches[j].triggered > 0 and ev.switches[j].kind == BILATERAL:
                remember_step(ev, j, ev.modes[j] >= 0.0, min(info.h_next, 4.0 * info.h_smooth))
    return OK


@phase
def remember_step(ev, j, plus, h):
    """Step size of mode +1 or -1 of switch j."""
    if plus:
        ev.switches[j].h_plus = h
    else:
        ev.switches[j].h_minus = h


@phase
def first_event(ev):
    """Detection and location until the first event of the step is found (EVENT) or excluded (PLAIN_STEP)."""
    info, first = ev.info, ev.first
    info.touched = info.suspected = -1
    for _ in range(200):
        if call_detect(ev.at.detect, ev.at.events) == 0:
            return BAD_G
        if first.kind == NOTHING:
            return PLAIN_STEP
        ev.counts.rejected += 1
        if first.kind == SUSPECT:
            if ev.solver.now.t + first.left * info.h == ev.solver.now.t:
                return PLAIN_STEP
            status = look_at_extremum(ev)
            if status != OK:
                return status
            continue
        status = call_locate(ev.at.locate, ev.at.events)
        if status == FOUND or status == JUMP:
            return EVENT
        if status == BAD_VALUE:
            info.t_bad = ev.solver.now.t + first.right * info.h
            return BAD_G
        if status == STEP_FAILED or not shorten(ev, first.right * info.h):
            return LOST_STEP
        ev.counts.case_3 += (
            1  # no zero on the integration: the step up to where the interpolant saw one is kept
        )
    return PLAIN_STEP


@phase
def shorten(ev, x):
    """The step in progress anew with size x; False if it fails."""
    s = ev.solver
    if call_try(s.at.solid, s.at.solver, x) != OK:
        return False
    ev.info.h = x
    return True


@phase
def look_at_extremum(ev):
    """Integrate to the extremum and look again; the shortened step is kept if nothing crosses.

    PLAIN_STEP: it touches zero, rounding having put it on the wrong side.
    """
    s, info, v, i = ev.solver, ev.info, ev.values, ev.first.switch
    if not shorten(ev, ev.first.left * info.h):
        return LOST_STEP
    ev.counts.iterations += 1
    info.suspected = i
    call_field(ev.roots.at.g, ev.roots.at.context, s.now.t + info.h, s.step.y_new, v.located)
    if abs(v.located[i]) <= touch_tolerance(ev, i):
        info.touched = i
        if side(v.located[i]) != side(ev.modes[i]):
            info.rows = call_dense(s.at.dense, s.at.solver, info.h)
            for j in range(ev.switches.size):
                v.end[j] = v.located[j]
            return PLAIN_STEP
    return OK


@phase
def keep_step(ev):
    """Accept the step in progress: no event lies inside."""
    s, info, v = ev.solver, ev.info, ev.values
    accept(s.at.solver, info.h)
    put_row(ev, 0)
    s.now.h_next = info.h_next if info.h_smooth == abs(info.h) else max(info.h_smooth, info.h_next)
    for j in range(ev.switches.size):
        switch = ev.switches[j]
        for k in range(N + 1):
            switch.peak = max(switch.peak, abs(v.nodes[k, j]))
        v.start[j] = v.end[j]
        if switch.muted == WAITING and abs(v.end[j]) > CLEAR:
            switch.muted = WATCHED
    if info.suspected >= 0:
        ev.switches[info.suspected].peak = abs(v.end[info.suspected])
    if info.touched >= 0:
        for k in range(s.y.size):
            ev.left[k] = ev.right[k] = s.y[k]
        put_event(ev, info.touched, EV_TOUCH, 0, 1, 0.0)


@phase
def at_event(ev):
    """Step to the event, let modes and resets settle, restart; then what the caller has to decide, or OK."""
    s, info = ev.solver, ev.info
    move_to_event(ev)
    switch_values(ev, ev.values.located)
    code = call_settle(ev.at.settle, ev.at.events)
    if code != OK:
        return code
    # Rates in the old slope, to be compared with those in the new modes.
    for j in range(ev.switches.size):
        if ev.switches[j].triggered > 0 and ev.switches[j].kind == BILATERAL:
            ev.switches[j].rate_before = rate(ev, j, info.h)
    start(s.at.solver, max(restart_step(ev), 1e-300))
    put_row(ev, 1)
    if info.stop == 1:
        return STOPPED
    code = to_decide(ev)
    if code == OK and ev.counts.events > ev.options.max_events:
        return CYCLE
    return code


@phase
def move_to_event(ev):
    """(t, y) becomes the located point; the largest values up to there are kept."""
    s, info, x = ev.solver, ev.info, ev.info.x
    if x != 0.0:
        info.rows = call_dense(s.at.dense, s.at.solver, x)
        accept(s.at.solver, x)
        put_row(ev, 0)
    else:
        for k in range(s.y.size):
            s.y[k] = s.step.y_new[k]
    for j in range(ev.switches.size):
        for k in range(N + 1):
            if NODES[k] * abs(info.h) <= abs(x):
                ev.switches[j].peak = max(ev.switches[j].peak, abs(ev.values.nodes[k, j]))


@phase
def restart_step(ev):
    """The step size of before, or the one the new mode was entered with last time: no new start-up phase."""
    info = ev.info
    info.fresh = 1
    remembered = np.inf
    for j in range(ev.switches.size):
        switch = ev.switches[j]
        if switch.triggered > 0 and switch.kind == BILATERAL:
            plus = ev.modes[j] >= 0.0
            if (switch.h_minus if plus else switch.h_plus) == 0.0:
                remember_step(ev, j, not plus, info.h_smooth)
            remembered = min(remembered, entered_with(ev, j, plus))
    restart = info.h_smooth
    if remembered < np.inf and ev.options.eps_c <= 0.0:
        restart = remembered
    if ev.options.restart_step > 0.0:
        restart = min(restart, ev.options.restart_step)
    return restart


@phase
def entered_with(ev, j, plus):
    """Step size with which the mode of switch j was entered last; the first time as other functions of the same switch."""
    own = ev.switches[j].h_plus if plus else ev.switches[j].h_minus
    if own > 0.0:
        return own
    found = np.inf
    for k in range(ev.switches.size):
        other = ev.switches[k].h_plus if plus else ev.switches[k].h_minus
        if ev.switches[k].group == ev.switches[j].group and other > 0.0:
            found = min(found, other)
    return found


@phase
def to_decide(ev):
    """ZENO, RESTING, CHATTER if a switch that has fired asks for a decision, else OK."""
    for j in range(ev.switches.size):
        switch = ev.switches[j]
        if switch.triggered == 0:
            continue
        ev.info.switch = j
        if switch.has_reset == 1 and switch.counted > 0 and accumulating(ev, j):
            # a bilateral switch that fires at every rounding of time does not converge to anything
            if switch.kind == UNILATERAL or np.isfinite(ev.info.t_zeno):
                return ZENO
        if switch.kind == UNILATERAL:
            if switch.has_reset == 1 and comes_to_rest(ev, j):
                return RESTING
        else:
            after = rate(ev, j, ev.info.h)
            before = switch.rate_before
            if before * after < 0.0 and abs(after) > 1e-9 * abs(before):
                return CHATTER
    return OK


@phase
def accumulating(ev, i):
    """Whether the events of switch i accumulate: geometric intervals whose remaining sum is below the tolerance.

    ``info.t_zeno`` is the estimated instant. Three equal ratios in a row are wanted (to 5 %).
    """
    switch, t = ev.switches[i], ev.solver.now.t
    gap = abs(t - switch.t_last)
    switch.gap_1, switch.gap_2, switch.gap_3 = switch.gap_2, switch.gap_3, gap
    switch.t_last = t
    if switch.hits < 6 or switch.gap_1 <= 0.0 or switch.gap_2 <= 0.0:
        return False
    q1 = switch.gap_2 / switch.gap_1
    q2 = switch.gap_3 / switch.gap_2
    rest = gap * q2 / (1.0 - q2) if q2 < 1.0 else np.inf
    ev.info.t_zeno = t + rest
    floor = 64.0 * EPS * max(abs(t), 1.0)
    if gap <= floor and q2 <= 1.0:
        return True
    if not (q1 < 0.999 and q2 < 0.999 and abs(q2 - q1) <= 0.05 * q1):
        return False
    return rest <= max(ev.options.zeno_tol, floor)


@kernel(references=False, forceinline=False)
def event_start(address, first_step, set_modes):
    """Slope, switching functions and step size at the start of a piece.

    With ``set_modes=1`` the modes are those of the signs of g. Returns -1; the index of a switching function that is not
    finite; or SPECIAL if one is zero or a unilateral one negative, which the caller has to look at.
    """
    ev = events_at(address)
    v = ev.values
    special = False
    if set_modes == 1:
        switch_values(ev, v.start)
        for i in range(ev.switches.size):
            value, switch = v.start[i], ev.switches[i]
            if not np.isfinite(value):
                return i
            switch.scale = max(abs(value), 1.0)
            unilateral = switch.kind == UNILATERAL
            if abs(value) <= 8.0 * EPS * switch.scale or (unilateral and value < 0.0):
                special = True
            ev.modes[i] = 1.0 if unilateral or value >= 0.0 else -1.0
    start(ev.solver.at.solver, first_step)
    switch_values(ev, v.start)
    bad = first_not_finite(v.start)
    if bad >= 0:
        return bad
    return SPECIAL if special else -1
