"""Step-size adjustment around extrapolation: the step of `extrapolated-moreau` (Studer et al. 2008, secs 5, 9.3; Tables III-VI).

Two ways to find switching points:

*Bisection*, as in the paper. Three steps are kept: accepted (cannot be rejected any more), previous (waits for its
successor) and actual. A detected switching point throws away the actual and the previous step and halves the step; steps
below 3 dt_min become dt_min; no step grows before `t_no_increase` is passed. Tables IV and VI with errata 1 (increase only
when the accepted step begins *after* it) and 2 (cap at dt_max).

*Location* (beyond the paper). The end of every main step is certified by a probe: one short base step that must show the
same structure. A certified step is accepted at once. Each law has a function that is positive in its mode and vanishes
where the mode ends (`switching_points`). For gaps the cubic through gap and gap rate at the last two instants gives the next
trial, for the others a secant through their last two values; bisection is the safeguard.

How a switching point is crossed depends on what ends:
- An impact is crossed by one step of dt_min that begins theta dt_min before it. The midpoint rule is then wrong by
  (1 + e) (theta - 1/2) v dt_min in position and (1 - theta - e theta) a dt_min in velocity (v speed, a acceleration); with
  theta = (1 - e)/(2 (1 + e)) the two cancel in the instant at which a bouncing mass comes to rest, and a plastic impact
  (e = 0) ends exactly on the contact. Where the gap is rounded so much that the instant is known less well than dt_min, the
  step is as long as that takes (`instant_rounding`).
- A mode that ends because a *force* reaches the edge of its set does so without a jump: a step of length d makes an error of
  order d^2, so it is crossed with d = 0.3 sqrt(dt_min dt), dt the last smooth step. A shorter one would be worse: the
  force is read off as P/d, whose rounding grows as 1/d.
- A search that ends without finding anything doubles the next crossing step, so that nothing is ground through.

In both, a cubic through gap and gap rate at both ends of a step tells of contacts that closed and opened again inside it.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE
from nonsmooth._core.records.scene import BETWEEN, STEP, scene_at, state_at
from nonsmooth._core.records.status import OK, REJECTED
from nonsmooth._core.stepping.extrapolation.hold_laws import call_hold
from nonsmooth._core.stepping.extrapolation.kept_steps import (
    copy_point,
    hand_out_waiting,
    move_on,
    take_actual,
)
from nonsmooth._core.stepping.extrapolation.next_step import choose_next
from nonsmooth._core.stepping.extrapolation.probe import CROSSING, PROBE_FAILED, REFUTED, certify
from nonsmooth._core.stepping.extrapolation.records import (
    DETECTED,
    FAILED,
    NOT_ACCURATE,
    RESOLVED,
    SMOOTH,
    call_main,
    own_at,
)
from nonsmooth._core.stepping.extrapolation.switching_points import (
    INFINITY,
    gap_rounding,
    secant_root,
)
from nonsmooth._core.stepping.gap_cubic import dips_below
from nonsmooth._core.stepping.phases import copy_state, structure


@kernel(STEP, part=True)
def extrapolated_step(at_scene, at_state, t_state, left):
    """One main step of at most `left`: tried, checked for switching points, handed out or rejected; and the next one chosen."""
    scene, state = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    control, note, previous = own.control, own.note, own.previous
    t, t_end = previous.span.t_E, scene.ask.t_stop
    if control.pending or t >= t_end:  # a step that waited is final
        return hand_out_waiting(scene, own, state)

    dt, t_new = length_of_step(control, t, t_end)
    minimal = dt <= control.dt_cross * (1.0 + 1e-9)
    control.dt_guess = previous.span.dt
    flag = call_main(
        own.at.main, at_scene, own.at.previous, own.at.previous, t, dt, control.fixed_order, control.first, 1
    )
    if flag == FAILED:
        return note.status
    law, best = note.law, note.dt_best
    if flag != DETECTED:
        take_actual(own, t, t_new, dt)
        if scene.ask.enduring and not minimal:
            status = call_hold(
                own.at.hold, at_scene, t_new, INFINITY if control.fixed_order else control.stay
            )
            if status != OK:
                return status
        found = look_at_gaps(scene, own, flag, minimal, dt, t, t_new)
        if found >= 0:
            flag, law = DETECTED, found
    if flag == NOT_ACCURATE and not minimal:
        shorten(control, best, dt)
        return REJECTED

    crossing = False  # the switching point lies in the next dt_min
    if flag == DETECTED:
        control.t_no_increase = t_new
        control.t_right = min(control.t_right, note.t_fail)
        if not control.locate:
            copy_point(own.accepted, previous)  # Table V; with location only the actual step is lost
    elif control.locate and flag != RESOLVED and not minimal and t_new < t_end:
        verdict, law = certify(scene, own, at_scene, law, dt, t_new)
        if verdict == PROBE_FAILED:
            return note.status
        crossing = verdict == CROSSING
        if verdict == REFUTED:
            control.t_right = min(control.t_right, t_new)
            flag = DETECTED

    settled = flag == RESOLVED or control.first
    if flag != DETECTED:
        note_instants(scene, own, flag == RESOLVED, dt, t)
    answer = move_on(scene, own, state, flag, settled, t)
    choose_next(scene, own, flag, settled, minimal, crossing, law, best, dt, t_new)
    control.first = 1 if control.first and flag == DETECTED else 0
    return answer


@phase
def length_of_step(control, t, t_end):
    """Length and end of the next step; a remainder shorter than a tenth of dt_min is swallowed."""
    dt = min(control.dt_next, control.dt_max)
    if dt >= t_end - t - 0.1 * control.dt_min:
        return t_end - t, t_end
    return dt, t + dt


@phase
def look_at_gaps(scene, own, flag, minimal, dt, t, t_new):
    """Gaps and their rates at the end of the actual step; returns a law that switched unseen inside the step, or -1."""
    model, work, control, previous, actual = scene.model, scene.work, own.control, own.previous, own.actual
    size, state = model.size, actual.state
    found = -1
    if size.n_N == 0:
        return found
    call_vector(model.at.gap, t_new, state.q, state.u, model.p, actual.gap)
    if not size.constant_W:
        call_matrix(model.at.directions, t_new, state.q, state.u, model.p, work.WT)
    if size.has_zeta:
        call_vector(model.at.zeta, t_new, state.q, state.u, model.p, work.zeta)
    for l in range(size.n_N):
        rate = work.zeta[l]
        for k in range(size.n_u):
            rate += work.WT[l, k] * state.u[k]
        actual.rate[l] = rate
        work.slack[l] = gap_rounding(scene, actual, l)
        if minimal:
            continue
        # a closed contact that could not be held: its surface ends or has a step
        held = previous.state.modes[l] == CONSTRAINT and state.modes[l] == CONSTRAINT
        if held and flag == SMOOTH and control.fixed_order == 0:
            if abs(actual.gap[l] - previous.gap[l]) > control.stay:
                found = l
                own.note.t_fail = t_new
        if structure(HALF_LINE, state.modes[l]) == INACTIVE:
            z = dips_below(previous.gap[l], previous.rate[l] * dt, actual.gap[l], rate * dt, control.gap_tol)
            if z >= 0.0:
                found = l
                own.note.t_fail = t + z * dt
    return found


@phase
def shorten(control, best, dt):
    """After a step that was not accurate enough."""
    shorter = min(best, 0.7 * dt) if control.locate else 0.5 * dt
    control.dt_next = shorter if shorter >= 3.0 * control.dt_min else control.dt_min
    control.dt_cross = control.dt_min


@phase
def note_instants(scene, own, resolved, dt, t):
    """Best single estimates of the instants of a resolved switching point: roots of the laws' functions."""
    model, previous = scene.model, own.previous
    for l in range(model.size.n_laws):
        kind = model.laws.kind[l]
        before = structure(kind, previous.state.modes[l])
        if not resolved or structure(kind, own.actual.state.modes[l]) == before:
            continue
        z = secant_root(own, l)
        z = min(max(z - t, -dt), dt) if z > -INFINITY else 0.0
        if kind == HALF_LINE and before == INACTIVE and previous.rate[l] < 0.0:
            z = min(max(-previous.gap[l] / previous.rate[l], -dt), dt)
        scene.work.t_best[l] = t + z


@kernel(BETWEEN, part=True)
def extrapolated_between(at_scene, at_state, t, dt, t_out):
    """The same extrapolation again, up to the instant asked for; it does not disturb the run."""
    scene = scene_at(at_scene)
    own = own_at(scene.at.own)
    info = scene.info
    if t_out >= info.t_new:
        copy_state(scene.end, scene.between)
        return OK
    # the begin of the step, in the structure of its end; base steps leave their ends where the loop keeps this step's
    copy_state(scene.end, scene.between)
    t_new, order, error, changed = info.t_new, info.order, info.error, info.changed
    cross_next = own.control.dt_cross
    own.control.dt_cross = own.control.dt_crossed
    flag = call_main(own.at.main, at_scene, at_state, own.at.between, t, t_out - t, order, 1, 0)
    own.control.dt_cross = cross_next
    copy_state(scene.between, scene.end)
    info.t_new, info.dt, info.order, info.error, info.changed = t_new, dt, order, error, changed
    if flag == FAILED:
        return own.note.status
    copy_state(own.tableau.end, scene.between)
    return OK
