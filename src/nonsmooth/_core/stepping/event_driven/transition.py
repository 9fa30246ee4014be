"""What happens at an instant at which a mode ends: an impact, the modes that follow, rest; nothing of it takes time.

All contacts that touch take part, also those that would touch within the region of concurrency, the time by which an instant is uncertain.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE, INACTIVE
from nonsmooth._core.records.process import NEWTON
from nonsmooth._core.records.scene import STAYS_CLOSED, scene_at, state_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.event_driven.choices import FORCES, IMPULSES, keep_choice, strong_friction
from nonsmooth._core.stepping.event_driven.impact import book_impact, impact
from nonsmooth._core.stepping.event_driven.motion import delassus, evaluate
from nonsmooth._core.stepping.event_driven.records import (
    AT_END,
    AT_STATE,
    call_at_end,
    call_at_state,
    call_settle,
    own_at,
)
from nonsmooth._core.stepping.event_driven.sizes import GRAZING, pulls, rounding_of_gap, small
from nonsmooth._core.stepping.phases import copy_state

UNDECIDED = 1e-4  # part of the velocities before an impact that solvers may leave of those behind it


@kernel(AT_STATE, part=True)
def transition(at_scene, at_begin, t):
    """The state and the modes after the instant t; returns a status. The new state is left in ``scene.end``."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, model, info, end = own_at(scene.at.own), scene.model, scene.info, scene.end
    copy_state(begin, end)
    for i in range(model.size.n_rows):
        end.P[i] = 0.0
    info.residual, info.iterations, info.t_new, info.dt = 0.0, 0, t, 0.0
    status = call_at_end(own.at.look, at_scene, t)
    if status != OK:
        return status
    touching(scene, own, begin, begin.modes)
    hit = approaching(scene, own)
    if own.control.at_start and hit:
        return open_start(scene, own)
    if hit:
        status = strike(scene, own, begin, at_scene, t)
        if status != OK:
            return status
    for l in range(model.size.n_laws):
        own.jammed[l] = 0
    status = call_settle(own.at.settle, at_scene, at_begin, hit)
    if (
        own.control.ambiguous and not own.control.at_start
    ):  # (of a start the model itself is asked, for all schemes)
        keep_choice(scene, own, FORCES, end.u, t)
    if status == NO_SOLUTION and not own.control.strict:
        if own.control.at_start:
            return sliding_start(scene, own)
        status = call_at_state(own.at.jam, at_scene, at_begin, t)
    elif status == OK and hit:
        status = call_at_state(own.at.rest, at_scene, at_begin, t)
    if status != OK:
        return status
    note(scene, own, begin, hit, t)
    return status


@kernel(AT_END, part=True)
def look(at_scene, t):
    """Everything that a transition asks about the state in ``scene.end``."""
    scene = scene_at(at_scene)
    own, state = own_at(scene.at.own), scene.end
    own.slip_0[:] = 0.0
    status = evaluate(scene, own, t, state.q, state.u)
    if status == OK:
        delassus(scene, own)
        pulls(own.pull, scene.work.L, scene.work.du, scene.work.u_free, 1.0)
        for l in range(scene.model.size.n_N):
            scene.work.slack[l] = rounding_of_gap(scene, own, state, l, t)
    return status


@phase
def touching(scene, own, begin, modes):
    """Which laws take part: contacts that are closed or about to close, what rests on them, elements, joints."""
    model, work, control = scene.model, scene.work, own.control
    laws = model.laws
    window = control.rtol * control.dt_smooth
    for l in range(model.size.n_laws):
        touches = 1
        if laws.kind[l] == HALF_LINE:
            rate = own.gamma[laws.row[l]]
            # (a start is known to the digits it is given with)
            near = max(work.slack[l] * (64.0 if control.at_start else 1.0), -rate * window)
            closed = modes[l] == CONSTRAINT or own.fired[l] or work.g[l] - own.rest_gap[l] <= near
            touches = 1 if closed else 0
        elif laws.link[l] >= 0:
            touches = own.touches[laws.link[l]]
        own.touches[l] = touches


@phase
def approaching(scene, own):
    """Whether a contact that touches closes with some speed, or a drive has another one behind a breakpoint."""
    model, laws = scene.model, scene.model.laws
    for l in range(model.size.n_N):
        if own.touches[l] and own.gamma[laws.row[l]] < -small(scene, own, l):
            return True
    if own.control.at_border and not own.control.at_start:
        for l in range(model.size.n_N, model.size.n_laws):
            if laws.kind[l] == FREE and abs(own.gamma[laws.row[l]]) > small(scene, own, l):
                return True
    return False


@phase
def strike(scene, own, begin, at_scene, t):
    """An impact, and everything at the state after it."""
    status = impact(scene, own, scene.end, at_scene, scene.at.problem)
    if status != OK:
        return status
    book_impact(scene, begin, scene.end)
    if own.control.restitution == NEWTON and strong_friction(scene):
        keep_choice(scene, own, IMPULSES, begin.u, t)
    status = call_at_end(own.at.look, at_scene, t)
    if status == OK and own.control.restitution == NEWTON and closes_further(scene, own):
        return NO_SOLUTION
    return status


@phase
def closes_further(scene, own):
    """Whether contacts close behind the impact that Newton's law would have open: there are no such impulses (bodies without room between
    walls that come together), and those that were found are what rounding makes of infinite ones."""
    active, rows, laws = scene.problem.laws, scene.problem.rows, scene.model.laws
    largest, worst = 0.0, 0.0
    for a in range(scene.problem.count.laws):
        k, i = active.row[a], laws.row[active.law[a]]
        if active.kind[a] == HALF_LINE:
            largest = max(largest, abs(rows.gamma_B[k]))
            worst = min(worst, own.gamma[i] + active.e[a] * rows.gamma_B[k])
    return worst < -UNDECIDED * largest


@phase
def open_start(scene, own):
    """A start at which an impact happens: first the modes before it."""
    model = scene.model
    for l in range(model.size.n_laws):
        mode = CONSTRAINT
        if model.laws.kind[l] == HALF_LINE or model.laws.link[l] >= 0:
            mode = INACTIVE
        own.mode[l] = mode
        scene.end.modes[l] = mode
        own.fired[l] = 0
    own.control.at_start = 0
    return OK


@phase
def sliding_start(scene, own):
    """A start from which no forces lead on: first the modes before the impulse that does."""
    for l in range(scene.model.size.n_laws):
        scene.end.modes[l] = own.mode[l]
        own.fired[l] = 0
        if l < scene.model.size.n_N and own.mode[l] == CONSTRAINT:
            own.rest_gap[l] = overlap(scene.work, l)
    own.control.at_start = 0
    return OK


@phase
def overlap(work, l):
    """Gap of a contact that closes, where it is below zero by more than rounding."""
    return work.g[l] if work.g[l] < -work.slack[l] else 0.0


@phase
def note(scene, own, begin, hit, t):
    """Modes, impacts and instants for the log; nothing waits any more."""
    model, work, end = scene.model, scene.work, scene.end
    laws = model.laws
    for l in range(model.size.n_laws):
        end.modes[l] = own.mode[l]
        work.struck[l] = 0
        if laws.kind[l] == HALF_LINE:
            closed = own.mode[l] == CONSTRAINT
            approached = begin.modes[l] != CONSTRAINT or (
                own.control.at_border and rate_before(scene, begin, l) < -small(scene, own, l)
            )
            if hit and not closed and approached and end.P[laws.row[l]] > 0.0:
                work.struck[l] = 1
            if own.jammed[l] or (hit and closed and approached and begin.modes[l] == CONSTRAINT):
                work.struck[l] = STAYS_CLOSED
            if closed and (begin.modes[l] != CONSTRAINT or own.control.at_start):
                own.rest_gap[l] = overlap(work, l)
            elif own.touches[l] and not closed:
                # without a force there is no telling open from closed: what rounding makes of its velocity must not close it again
                # (one that closes with some speed is struck next)
                rate, left = own.gamma[laws.row[l]], scene.ask.t_stop - t
                hidden = min(rate, 0.0) if rate >= -small(scene, own, l) else 0.0
                own.rest_gap[l] = min(work.g[l], 0.0) + 2.0 * left * hidden
            if work.struck[l] == 1 and grazes(scene, own, begin, l):
                own.control.grazings += 1
                own.control.t_grazing = t
        if not (work.t_best[l] >= t):
            work.t_best[l] = t
        own.fired[l] = 0
    own.control.at_start = own.control.at_border = 0
    own.control.jump = 0


@phase
def grazes(scene, own, begin, l):
    """Whether a contact would have passed by a little further away: how deep it would have come is within the accuracy."""
    rate, away = rate_before(scene, begin, l), own.acceleration[scene.model.laws.row[l]]
    return away > 0.0 and rate * rate <= 2.0 * away * GRAZING * own.control.rtol * own.gap_max[l]


@phase
def rate_before(scene, begin, l):
    """Velocity of a contact before the impact."""
    i, rate = scene.model.laws.row[l], scene.work.zeta[scene.model.laws.row[l]]
    for k in range(scene.model.size.n_u):
        rate += scene.work.WT[i, k] * begin.u[k]
    return rate
