"""Location of the first event of a step: try, look whether another lies before it, catch (Compere 2001, secs. 5.2.2 and
5.2.3, Table 5.1).
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.events.records import (
    BILATERAL,
    EPS,
    FOUND,
    JUMP,
    UNILATERAL,
    WATCHED,
    call_on_step,
    call_rate,
    events_at,
)
from nonsmooth._core.events.roots import side
from nonsmooth._core.jit import caller, int64, phase

#: ``locate(events)``: how the location ended.
LOCATE = int64(int64)
call_locate = caller(LOCATE)


@phase
def choose_concurrent(ev):
    """Region of concurrency (Compere 2001, sec. 5.2.3): the last bilateral event within eps_c of the first one.

    Linear estimates: the spacing of the estimates times the mean rate bounds |g|.
    """
    first, v, options, h = ev.first.switch, ev.values, ev.options, abs(ev.info.h)
    if options.eps_c <= 0.0 or ev.switches[first].kind == UNILATERAL:
        return first
    chosen = first
    for j in range(ev.switches.size):
        if ev.switches[j].kind == UNILATERAL or not np.isfinite(v.estimate[j]):
            continue
        lag = (v.estimate[j] - v.estimate[first]) * h
        rate = abs(v.end[first] - v.start[first]) / h
        close = lag <= options.eps_c and lag * rate <= options.eps_roc
        if close and v.estimate[j] > v.estimate[chosen]:
            chosen = j
    return chosen


@phase
def ask_for(ev, i, hi, verified, guess):
    """What `root_on_step` is to look for: the change of switch i before the step size `hi`."""
    q, mode = ev.roots.search, side(ev.modes[i])
    q.i = i
    q.lo = 0.0
    q.hi = hi
    q.verified = verified
    q.guess = guess
    q.g_lo = ev.values.start[i]
    q.after = -mode
    q.stay_before = 1 if ev.switches[i].kind == UNILATERAL and mode > 0 else 0
    q.tol = ev.switches[i].tol
    q.max_iter = 100
    q.iterations = 0


@phase
def allowed_lag(ev, i, j, t, rate):
    """How long ago switch j may have crossed for switch i still to count as the first one."""
    allowed = 8.0 * EPS * max(abs(t), 1.0) + (ev.switches[j].tol / abs(rate) if rate != 0.0 else 0.0)
    if ev.switches[j].kind == UNILATERAL and ev.modes[j] >= 0.0:
        return -1.0  # never to be passed, however little
    if ev.options.eps_c > 0.0 and ev.switches[i].kind == BILATERAL:
        if abs(ev.roots.values[j]) <= ev.options.eps_roc:
            return max(allowed, ev.options.eps_c)
    return allowed


@phase
def crossed_before(ev, i, x):
    """Post-analysis at the located point: the switch that crossed longest before i, or -1, and how long ago."""
    s, r = ev.solver, ev.roots
    t = s.now.t + x
    earlier = -1
    by = 0.0
    for j in range(ev.switches.size):
        if j == i or ev.switches[j].muted != WATCHED or side(r.values[j]) == side(ev.modes[j]):
            continue
        slope = s.step.K[s.method.stages]
        rate = call_rate(r.at.rate, r.at.roots, j, t, s.step.y_new, slope, abs(ev.info.h))
        ago = r.values[j] / rate if rate != 0.0 else 0.0
        ago = ago if x >= 0.0 else -ago
        if ago > allowed_lag(ev, i, j, t, rate) and (earlier < 0 or ago > by):
            earlier = j
            by = ago
    return earlier, by


@part(LOCATE)
def locate(address):
    """Locate the first event of the step in progress, of the suspicion in ``first`` or of another before it.

    Returns FOUND or JUMP with the step to the event in the solver and its size in ``info.x``; NO_CONVERGENCE where there is
    no zero (case III); BAD_VALUE, STEP_FAILED. The switch concerned stands in ``info.switch``.
    """
    ev = events_at(address)
    r, info, first, h = ev.roots, ev.info, ev.first, ev.info.h
    i = choose_concurrent(ev)
    if i != first.switch:
        if side(ev.values.end[i]) != side(ev.modes[i]):
            first.right = 1.0
        first.estimate = ev.values.estimate[i]
    hi = first.right * h
    verified = 1 if first.right == 1.0 else 0
    guess = first.estimate * h
    info.iterations = 0
    for _ in range(2 * ev.switches.size + 2):
        ask_for(ev, i, hi, verified, guess)
        status = call_on_step(r.at.on_step, r.at.roots)
        info.iterations += r.search.iterations
        ev.counts.iterations += r.search.iterations
        info.switch = i
        info.status = status
        if status != FOUND and status != JUMP:
            return status
        info.x = r.search.before if r.search.stay_before == 1 else r.search.behind
        ev.switches[i].rate_before = r.search.rate
        earlier, by = crossed_before(ev, i, info.x)
        if earlier < 0 or abs(info.x) <= 2.0 * EPS * max(abs(ev.solver.now.t), 1.0):
            ev.counts.case_1 += 1
            return status
        ev.counts.case_2 += 1
        i = earlier
        hi = info.x
        verified = 1
        guess = hi - by if hi >= 0.0 else hi + by
    return info.status
