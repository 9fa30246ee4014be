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
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE, LOWER, UPPER
from nonsmooth._core.records.scene import BETWEEN, STEP, scene_at, state_at
from nonsmooth._core.records.status import OK, REJECTED, WAITING
from nonsmooth._core.stepping.extrapolation import (
    DETECTED,
    FAILED,
    NOT_ACCURATE,
    RESOLVED,
    SMOOTH,
    call_main,
    own_at,
)
from nonsmooth._core.stepping.hold_laws import call_hold
from nonsmooth._core.stepping.phases import copy_state, first_change, structure
from nonsmooth._core.stepping.switching_points import (
    INFINITY,
    dips_below,
    gap_root,
    gap_rounding,
    instant_rounding,
    law_functions,
    secant_root,
)

# what a probe says of the end of a step: the structure holds, a switching point comes next, or lies behind
CERTIFIED, CROSSING, REFUTED, PROBE_FAILED = range(4)


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
def take_actual(own, t, t_new, dt):
    """The main step just computed becomes the actual one."""
    copy_state(own.tableau.end, own.actual.state)
    span = own.actual.span
    span.t_B, span.t_E, span.dt = t, t_new, dt
    span.order, span.error = own.note.order, own.note.error


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
def certify(scene, own, at_scene, law, dt, t_new):
    """A probe from the end of the actual step, the longer one if a force may reach its edge; returns (verdict, law)."""
    model, control, previous = scene.model, own.control, own.previous
    control.dt_guess = dt
    length = control.dt_min
    for l in range(model.size.n_laws):
        if previous.state.modes[l] == CONSTRAINT:
            length = max(control.dt_min, 0.3 * (control.dt_min * max(control.dt_smooth, dt)) ** 0.5)
    certified, ahead, passed = True, False, False
    for _probe in range(2):
        if call_main(own.at.main, at_scene, own.at.actual, own.at.actual, t_new, length, 1, 1, 0) == FAILED:
            return PROBE_FAILED, law
        certified, ahead, passed, law = read_probe(scene, own, law)
        if certified or length == control.dt_min or not ahead:
            break
        length = control.dt_min
    if certified:
        for l in range(model.size.n_laws):
            own.phi[1, l] = own.phi[0, l]
        control.t_phi_old = control.t_phi
        control.t_phi = t_new
        control.shift = length if control.implicit else 0.5 * length
        law_functions(scene, length, own.phi[0])
        return CERTIFIED, law
    return (CROSSING if ahead and not passed else REFUTED), law


@phase
def read_probe(scene, own, law):
    """Whether the probe shows the structure of the step; else whether a gap or slip speed is about to vanish (`ahead`) or has
    gone through zero already (`passed`), and of which law."""
    model, problem, probe = scene.model, scene.problem, own.tableau.end
    certified, ahead, passed = True, False, False
    for l in range(model.size.n_laws):
        kind = model.laws.kind[l]
        before = structure(kind, own.previous.state.modes[l])
        if structure(kind, probe.modes[l]) == before:
            continue
        if kind != HALF_LINE and (before == INACTIVE or probe.modes[l] == INACTIVE):
            continue  # friction that comes or goes with its contact
        if certified or (before != CONSTRAINT and not ahead):
            law = l
        certified = False
        if kind == HALF_LINE and before == INACTIVE:
            ahead = True
            passed = passed or own.actual.gap[l] < 0.0
        elif before == UPPER or before == LOWER:
            ahead = True
            if problem.place[l] >= 0 and model.laws.dim[l] == 1:
                gamma = problem.rows.gamma_B[problem.laws.row[problem.place[l]]]
                passed = passed or gamma * before > 0.0
    return certified, ahead, passed, law


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


@phase
def copy_point(source, target):
    """`target` becomes `source`."""
    copy_state(source.state, target.state)
    for l in range(source.gap.size):
        target.gap[l] = source.gap[l]
        target.rate[l] = source.rate[l]
    a, b = source.span, target.span
    b.t_B, b.t_E, b.dt, b.order, b.error = a.t_B, a.t_E, a.dt, a.order, a.error


@phase
def hand_out(scene, own, state, point):
    """A step that became final is the end of the step for the loop."""
    info, size, x = scene.info, scene.model.size, own.tableau
    copy_state(point.state, scene.end)
    info.t_new, info.dt, info.order, info.error = (
        point.span.t_E,
        point.span.dt,
        point.span.order,
        point.span.error,
    )
    info.residual, info.iterations = 0.0, 0
    info.changed = first_change(scene.model, state, scene.end)
    for l in range(size.n_N):
        if point.gap[l] < scene.books.gap:
            scene.books.gap = point.gap[l]
            scene.books.gap_t = point.span.t_E
    for k in range(size.n_q):
        x.scale[k] = max(x.scale[k], abs(point.state.q[k]))
    for k in range(size.n_u):
        x.scale[size.n_q + k] = max(x.scale[size.n_q + k], abs(point.state.u[k]))
    return OK


@phase
def hand_out_waiting(scene, own, state):
    """The previous step waited (bisection), or is the second of two that became final at once."""
    own.control.pending = 0
    copy_point(own.previous, own.accepted)
    return hand_out(scene, own, state, own.previous)


@phase
def move_on(scene, own, state, flag, settled, t):
    """The three steps move on; returns what the loop is told."""
    control, accepted, previous, actual = own.control, own.accepted, own.previous, own.actual
    if flag == DETECTED:
        return REJECTED
    waiting = not control.locate and previous.span.t_E > accepted.span.t_E and not control.first
    answer = WAITING
    if waiting:  # the previous step becomes final; with a resolved switching point the actual one, too
        answer = hand_out(scene, own, state, previous)
        control.pending = 1 if settled else 0
    elif control.locate or settled:
        answer = hand_out(scene, own, state, actual)
    for l in range(scene.model.size.n_N):
        own.old_gap[l] = previous.gap[l]
        own.old_rate[l] = previous.rate[l]
    control.t_old = t
    copy_point(previous, accepted)
    copy_point(actual, previous)
    if control.locate or (settled and not waiting):
        copy_point(actual, accepted)
    return answer


@phase
def choose_next(scene, own, flag, settled, minimal, crossing, law, best, dt, t_new):
    """Length of the next step (Tables IV, VI; or where the next switching point is expected)."""
    control, dt_min = own.control, own.control.dt_min
    control.dt_crossed = control.dt_cross
    control.dt_cross = dt_min
    if settled and flag != DETECTED:
        forget_search(control)
        control.t_no_increase = t_new
        control.dt_next = min(max(2.0 * dt, 3.0 * dt_min), control.dt_max)
    elif not control.locate:
        if flag == DETECTED:
            control.dt_next = 0.5 * dt if 0.5 * dt >= 3.0 * dt_min else dt_min
        elif own.accepted.span.t_B > control.t_no_increase:
            control.dt_next = min(max(2.0 * dt, 3.0 * dt_min), control.dt_max)
        else:
            control.dt_next = dt
    elif crossing:
        cross = dt_min
        if law < scene.model.size.n_N and own.previous.state.modes[law] != CONSTRAINT:
            cross = crossing_of_gap(own, law, scene.work.slack[law], dt_min)
        control.dt_next = control.dt_cross = cross
    else:
        aim(scene, own, flag, minimal, law, best, dt)


@phase
def forget_search(control):
    """Nothing is looked for any more."""
    control.t_right = INFINITY
    control.t_phi = control.t_phi_old = control.t_tried = control.t_root = control.t_old = -INFINITY
    control.alarms = 0


@phase
def crossing_of_gap(own, l, slack, shortest):
    """Length of a step that crosses the closing of gap `l`: not shorter than its instant is defined."""
    return min(max(shortest, instant_rounding(own.previous.rate[l], slack)), 0.1 * own.control.dt_max)


@phase
def aim(scene, own, flag, minimal, law, best, dt):
    """The next step with location: towards the expected switching point, or as long as accuracy allows."""
    laws, slack, control, previous = scene.model.laws, scene.work.slack, own.control, own.previous
    dt_min, dt_max = control.dt_min, control.dt_max
    t_a = own.accepted.span.t_E
    h_old = t_a - control.t_old if control.t_old > -INFINITY else 0.0
    if law >= 0:
        control.law = law
    search = control.t_right < INFINITY and t_a < control.t_right + 2.0 * dt_min
    if flag != DETECTED and minimal:
        control.alarms += 1
    width, root, k, gap_type = INFINITY, INFINITY, control.law, True
    if search:
        width = max(control.t_right - t_a, dt_min)
        gap_type = laws.kind[k] == HALF_LINE and structure(HALF_LINE, previous.state.modes[k]) == INACTIVE
        if control.t_tried != t_a:
            root = gap_root(own, k, h_old, slack[k]) if gap_type else secant_root(own, k) - t_a
        target = 0.5 * width
    else:
        control.t_right = INFINITY
        if not minimal:
            control.alarms = 0
            control.dt_smooth = dt
        target = min(max(best, 3.0 * dt_min), dt_max)
        # a gap that will close within the next step is approached at once
        for l in range(scene.model.size.n_N):
            if h_old > 0.0 and structure(HALF_LINE, previous.state.modes[l]) == INACTIVE:
                z = gap_root(own, l, h_old, slack[l])
                if z < 1.05 * target and z < root:
                    root = z
                    k = l
    aimed = 0.0 <= root < INFINITY
    if aimed:
        target = min(short_of(control, laws.e[k], root, t_a, gap_type), 0.95 * width, dt_max)
    cross = dt_min  # the step that crosses
    if search and previous.state.modes[k] == CONSTRAINT:
        cross = max(dt_min, 0.3 * (dt_min * control.dt_smooth) ** 0.5)
    if (search or aimed) and gap_type:
        cross = crossing_of_gap(own, k, slack[k], cross)
    for _k in range(min(max(control.alarms - 4, 0), 40)):
        cross = min(2.0 * cross, 0.1 * dt_max)
    if target < 3.0 * cross:
        if not (aimed and gap_type and cross <= target < 3.0 * cross and control.alarms < 4):
            target = cross
        control.dt_cross = target
    control.dt_next = target


@phase
def short_of(control, e, root, t_a, gap_type):
    """A step that ends shortly before the expected root: by the part of the crossing step that belongs before it, or by what
    the root moved since it was last computed."""
    change = abs(t_a + root - control.t_root) if control.t_root > -INFINITY else 0.4 * root
    control.t_root = t_a + root
    control.t_tried = t_a
    margin = 0.2 * control.dt_min
    if gap_type:
        margin = max(0.49 * (1.0 - e) / (1.0 + e), 0.05) * control.dt_min
    return root - max(margin, 0.05 * change)


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
