"""Algorithm 2 of Stewart 1996 as a compiled run: tentative steps, location of switching points, LCP, restart.

`advance` makes steps of the smooth integrator with the sliding field of the current active set until a component of the
switching function changes sign (Steps 2-4), `sets.active_sets` solves the LCP (13) (Step 5), `drive` strings both together
and only returns to Python when its output is full or when a decision is needed: several active sets, a degenerate point, an
accumulation of switching points.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.integrators.records import EXPLICIT, OK, call_adapt, call_dense, call_field
from nonsmooth._core.integrators.single_step import accept, forget, start
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.sliding.functions import combine_in, components, field, model, slope_in, switch
from nonsmooth._core.sliding.inside import call_look, look_inside, suspicious
from nonsmooth._core.sliding.locate import locate
from nonsmooth._core.sliding.records import (
    ACCUMULATION,
    AGAIN,
    BAD_INDICATOR,
    CHOICE,
    DEGENERATE,
    DONE,
    FAILED,
    FULL,
    NO_SET,
    OF_RUN,
    START,
    TOO_LARGE,
    call_of_run,
    call_of_step,
    call_part,
    run_at,
)
from nonsmooth._core.sliding.sets import (
    active_sets,
    enumerate_into,
    onto_surfaces,
    set_active,
    to_surface,
    watch_all,
)
from nonsmooth._core.sliding.step import (
    copy_values,
    crosses,
    extremes,
    limit_by_weights,
    put_event,
    put_row,
    remember,
    thresholds,
)


@kernel(references=False, forceinline=False)
def drive(address):
    """Algorithm 2: `advance` and `active_sets` in turn; returns the reason for stopping."""
    run = run_at(address)
    info = run.info
    if info.started == 0:
        if not begin(run):  # Step 1
            return START
        info.started = 1
    while True:
        reason = call_of_run(run.at.advance, address)  # Steps 2 to 4
        if reason != CHOICE:
            return reason
        if accumulates(run):  # Filippov's spiral: extrapolated in Python
            return ACCUMULATION
        info.sets = call_of_run(run.at.sets, address)  # Step 5
        if info.sets == -1:
            return TOO_LARGE
        if info.sets == 0:
            return NO_SET
        if info.sets > 1:
            return CHOICE
        exit_of_sliding = run.set.active[info.component] > 0.0
        if run.set.degenerate[0] == 1 and not exit_of_sliding:
            return DEGENERATE
        choose_first(run)
        if call_of_run(run.at.commit, address) == 0:
            forget_point(run)
        if run.used.events >= run.log.t.size:
            return FULL


@part(OF_RUN)
def advance(address):
    """Steps with a constant active set until a switching point, the end, or until the output is full.

    Returns
    -------
    reason : int
        DONE, FULL, FAILED (status of the integrator in ``info.reason``), BAD_INDICATOR, IMMEDIATE, LOST_ROOT, or CHOICE:
        (t, y) is a switching point of ``info.component`` and the active set must be determined anew; I_0 is in `watch`, its
        fields and gradients are in `values`.
    """
    run = run_at(address)
    now, info = run.solver.now, run.info
    while now.t != now.t_bound:
        if run.used.rows >= info.limit:
            return FULL
        run.watch.lowest = 1.0
        info.reason = call_adapt(run.solver.at.adapt, run.solver.at.solver)  # Step 2
        if info.reason != OK:
            return FAILED
        h = now.h
        dipped = 1 if run.watch.lowest < 0.0 else 0  # a weight was negative at a stage
        hit = changed_sign(run, h)
        if hit == -2:
            return BAD_INDICATOR
        if look_closer(run, h, hit, dipped) >= 0:  # Step 4
            reason = call_of_step(run.at.locate, address, h)
            if reason == AGAIN:
                continue
            return reason
        keep_step(run, h)  # Step 3
    return DONE


@phase
def changed_sign(run, h):
    """The components at the end of the step: the last one that changed sign, -1; -2 if one is not finite."""
    s, psi = run.solver, run.psi
    # An explicit method has evaluated the field at its end last: the weights there are known.
    run.watch.reuse = 1 if s.method.kind == EXPLICIT else 0
    call_field(run.at.switch, run.at.run, s.now.t + h, s.step.y_new, psi.end)
    run.watch.reuse = 0
    hit = -1
    for k in range(psi.end.size):
        if not np.isfinite(psi.end[k]):
            run.info.component = k
            return -2
        if crosses(run, k):
            hit = k
    return hit


@phase
def look_closer(run, h, hit, dipped):
    """The component to be located: `hit`, or one that changes sign inside the step; -1 if there is none."""
    s, info = run.solver, run.info
    info.rows = 0
    info.middle = 1.0
    look = dipped == 1 or suspicious(run, h)
    if not look and (hit >= 0 or run.rows.length.size == 0):
        return hit
    # Other points are looked at, with what belongs to the end of the step kept aside.
    copy_values(run.values, run.spare)
    if look:
        inside = call_look(run.at.look, run.at.run, h, dipped)
        hit = inside if inside >= 0 else hit
    else:
        info.rows = call_dense(s.at.dense, s.at.solver, h)
    if hit < 0:
        copy_values(run.spare, run.values)
    return hit


@phase
def keep_step(run, h):
    """Accept the step: no switching point lies inside."""
    s, psi = run.solver, run.psi
    accept(s.at.solver, h)
    if run.size.codimension > 0:
        to_surface(run)
        if s.control.fixed == 0 and s.now.error < 1e-3:
            limit_by_weights(run, h)
    put_row(run, h)
    thresholds(run)
    remember(run, h)
    for k in range(psi.end.size):
        psi.start[k] = psi.end[k]
        if psi.end[k] > psi.eps[k]:
            psi.armed[k] = 1.0


@part(OF_RUN)
def commit(address):
    """Continue with the active set `chosen` from (t, y): event record, projection onto the surfaces, restart of the
    integrator. Returns whether the set has changed.

    Fields and gradients of the candidate set, and the indicators, must stand in `values`.
    """
    run = run_at(address)
    s, psi = run.solver, run.psi
    changed = put_event(run)
    if set_active(run) > 0:
        call_part(run.at.indicators, s.now.t, s.y, run.p, run.set.slides, run.values.h)
        run.counts.h += run.size.slides
        to_surface(run)
    run.info.h_piece = s.now.h_next
    restart(run)
    watch_all(run)
    components(run, psi.start)
    thresholds(run)
    for k in range(psi.start.size):
        psi.armed[k] = 1.0 if psi.start[k] > psi.eps[k] else 0.0
    return 1 if changed else 0


@phase
def restart(run):
    """Start the integrator at (t, y). The slope follows from the fields and gradients in `values`, unless the point has
    moved noticeably since they were evaluated.
    """
    s, info = run.solver, run.info
    if info.h_piece <= 0.0 or info.moved == 1:
        start(s.at.solver, info.h_piece)
        info.moved = 0
        return
    slope_in(run, s.step.K[0])
    forget(s)
    s.now.h_next = info.h_piece


@phase
def choose_first(run):
    """The first of the active sets found is the one to continue with."""
    for k in range(run.set.chosen.size):
        run.set.chosen[k] = run.set.found[0, k]


@phase
def accumulates(run):
    """Remember the switching point just located; whether it and those before it accumulate near by.

    Their limit is ``info.t_zeno``: distances that shrink geometrically, one by one or from turn to turn around an
    intersection.
    """
    ring, info, t = run.ring, run.info, run.solver.now.t
    for i in range(ring.size - 1, 0, -1):
        ring[i] = ring[i - 1]
    ring[0] = t
    info.points += 1
    info.t_zeno = np.inf
    for i in range(4):
        lag = 1 if i == 0 else 2 * i
        if info.points <= 3 * lag:
            continue
        T1 = ring[0] - ring[lag]
        T2 = ring[lag] - ring[2 * lag]
        T3 = ring[2 * lag] - ring[3 * lag]
        if T1 <= 0.0 or T1 > 0.9 * T2 or T2 > 0.9 * T3:
            continue
        rho = T1 / T2
        if abs(rho - T2 / T3) <= min(0.02, 0.06 * rho):
            info.t_zeno = min(info.t_zeno, t + T1 * rho / (1.0 - rho))
    return info.t_zeno - t <= info.zeno_tol


@phase
def forget_point(run):
    """The set stayed the same: no switching point, and not one of those that may accumulate."""
    for i in range(run.ring.size - 1):
        run.ring[i] = run.ring[i + 1]
    run.info.points -= 1


@phase
def begin(run):
    """Step 1 in the usual case: one active set follows from I_eps(x_0). False: undecided, Python looks closer."""
    psi, starts, h, s = run.psi, run.starts, run.values.h, run.solver
    for k in range(psi.root.size):
        run.set.chosen[k] = 0.0
    set_active(run)
    watch_all(run)
    call_field(run.at.switch, run.at.run, s.now.t, s.y, psi.root)
    for j in range(starts.size - 1):
        low, high = extremes(run, j)
        spread = high - low
        if not np.isfinite(spread) or spread <= 0.0:
            return False
        for k in range(starts[j], starts[j + 1]):
            psi.scale[k] = spread
            run.set.watch[k] = 1.0 if h[k] - low <= run.info.epsilon * spread else 0.0
    call_field(run.at.model, run.at.run, s.now.t, s.y, psi.root)
    if call_of_run(run.at.sets, run.at.run) != 1 or run.set.degenerate[0] == 1:
        return False
    choose_first(run)
    call_of_run(run.at.commit, run.at.run)
    run.used.events = 0
    return True


#: The parts of a run by name; `field` and `switch` are what the integrator and the root finders call.
PARTS = {
    "combine": combine_in,
    "switch": switch,
    "model": model,
    "sets": active_sets,
    "project": onto_surfaces,
    "enumerate": enumerate_into,
    "look": look_inside,
    "locate": locate,
    "advance": advance,
    "commit": commit,
}
FIELD_PART, SWITCH_PART = field, switch


# For Python: one evaluation or bookkeeping of a run that stands still.


@kernel(references=False, forceinline=False)
def evaluate(what, address, t, y, out):
    """The field, the switching function or the model (by the address of the part) at (t, y)."""
    call_field(what, address, t, y, out)


@kernel(references=False, forceinline=False)
def carry_out(what, address):
    """A part that only takes the run: `active_sets`, `commit`."""
    return call_of_run(what, address)


@kernel(references=False, forceinline=False)
def activate(address):
    """Make `chosen` the active set."""
    return set_active(run_at(address))
