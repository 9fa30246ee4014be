"""The step of `event-driven`: smooth motion in fixed modes by a Runge-Kutta method, every end of a mode located, transitions between.

A step is one of two kinds. A *smooth step* integrates the equations of `motion`; its error is controlled, the functions of all
laws are watched at its stages and its end, and where one of them vanishes the step is taken again with the length at which it
does (on the integration itself, so that the instant is as accurate as the motion; Illinois' method on the least of the laws'
functions). A *transition* has no length (`transition`). At the end of a smooth step positions and velocities are put back onto the
constraints they obey (`end_of_step`), by no more than the error of the step.
"""

from nonsmooth._core.calls.late import late
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, UPPER
from nonsmooth._core.records.scene import BETWEEN, STEP, call_step, scene_at, state_at
from nonsmooth._core.records.status import (
    CHATTER,
    OK,
    OTHER_INTEGRATOR,
    REJECTED,
    STEP_UNDERFLOW,
    UNCONVERGED,
    WAITING,
)
from nonsmooth._core.stepping.event_driven.end_of_step import trial_between
from nonsmooth._core.stepping.event_driven.records import AT_STATE, call_accelerate, call_at_state, own_at
from nonsmooth._core.stepping.event_driven.runge_kutta import blurs, error_of_step
from nonsmooth._core.stepping.event_driven.search import before_end, open_bracket, search
from nonsmooth._core.stepping.event_driven.sizes import (
    EPS,
    NOISE,
    armed,
    force_scales,
    rounding_of_gap,
    rounding_of_time,
    small,
    zero_of,
)
from nonsmooth._core.stepping.event_driven.stiffness import watch_stiffness
from nonsmooth._core.stepping.event_driven.trial_length import length_of_trial, shorter
from nonsmooth._core.stepping.event_driven.watch_laws import (
    alarm,
    closes_at_end,
    ends_at_once,
    least_function,
    look_closer,
    passes_by,
)
from nonsmooth._core.stepping.phases import copy_state, first_change

MOST_REPEATED = 40
TURNED = 1e-2  # change of a direction of slip in a step too short for it to turn otherwise
SUSPICIOUS = 4  # rejections in a row, to a thousandth of the step, that an undeclared discontinuity makes


@kernel(STEP, part=True)
def event_driven_step(at_scene, at_state, t, left):
    """One transition, or one trial of a smooth step."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    info = scene.info
    info.jump_next = 0
    if own.control.jump:
        return take_transition(scene, own, begin, at_scene, at_state, t)
    if own.control.change:
        return OTHER_INTEGRATOR
    t_stop = scene.ask.t_stop
    if t_stop - t <= rounding_of_time(t, t_stop):
        return nothing_left(scene, begin, t)
    dt = length_of_trial(own, begin.modes, scene.model.size.n_N, t, t_stop)
    if not dt > 4.0 * EPS * abs(t):
        info.dt = dt
        return STEP_UNDERFLOW
    status = call_at_state(own.at.begin_trial, at_scene, at_state, t)  # u', la, phi where the run stands
    if status == OK and due(scene, own, begin):
        return WAITING
    if status == OK:
        info.base_steps += 1
        status = integrate(own, at_scene, at_state, t, dt)  # x_1, and phi on the way
    if status != OK:
        return shorter(own, info, status, 0.25 * dt, t)
    if own.control.searching:
        return search(scene, own, begin, at_scene, at_state, t, dt)  # phi(t + dt) = 0
    return smooth_step(scene, own, begin, at_scene, at_state, t, dt)


@phase
def integrate(own, at_scene, at_state, t, dt):
    """Smooth motion over `dt` by the integrator that serves."""
    if not own.control.implicit:
        return call_step(own.at.integrate, at_scene, at_state, t, dt)
    part = late(own.at.implicit)
    return call_step(part, at_scene, at_state, t, dt) if part != 0 else UNCONVERGED


@phase
def take_transition(scene, own, begin, at_scene, at_state, t):
    """Impacts and new modes in no time."""
    own.control.repeated += 1
    if own.control.repeated > MOST_REPEATED:
        return CHATTER
    status = call_at_state(own.at.transition, at_scene, at_state, t)
    scene.info.changed = changes(scene, begin)
    return status


@phase
def smooth_step(scene, own, begin, at_scene, at_state, t, dt):
    """The trial is accepted, shortened, or found to hold the end of a mode."""
    control, info, t_stop = own.control, scene.info, scene.ask.t_stop
    blurs(scene, own, begin.modes)
    error = error_of_step(scene, own, begin, t, dt)
    factor = 0.9 * max(error, 1e-12) ** (-1.0 / (control.error_order + 1))
    if error > 1.0:
        info.error = error
        planned = dt * min(max(factor, 0.1), 0.9)
        # (the error of a step as short as rounding of the time is not worth a still shorter one)
        if ends_at_once(scene, own, begin, t, planned):
            return WAITING
        return shorter(own, info, REJECTED, planned, t)
    early = alarm(scene, own, begin, dt)
    if early < 1.0:
        return look_closer(scene, own, begin, t, dt, early)
    f_end = least_function(scene, own, begin)
    if f_end <= 0.0:
        open_bracket(control, dt, f_end)
        return WAITING
    if passes_by(scene, own, begin, dt):
        control.grazings += 1
        control.t_grazing = t
    note_discontinuity(scene, own, begin, t, dt)
    whole = t + dt >= t_stop
    # a step cut short by the end of the segment tells nothing about the next one
    control.dt_next = min(
        max(dt, control.dt_next if whole else 0.0) * min(max(factor, 0.3), 4.0), control.dt_max
    )
    control.dt_smooth, control.begun = dt, 1
    if control.watched:
        watch_stiffness(own, scene.model.size, t, dt)
    info.error = error
    info.t_new = t_stop if whole else t + dt
    if whole and closes_at_end(scene, own, begin, t, t_stop):
        before_end(scene, own, t)
    return call_step(own.at.finish, at_scene, at_state, t, dt)


@phase
def note_discontinuity(scene, own, begin, t, dt):
    """A step that came to pass after many rejections passed a discontinuity that nobody declared, if it was not the turn of a slip."""
    control = own.control
    # (steps of an implicit method become short by themselves where something stiff dies away)
    sudden = control.rejected >= SUSPICIOUS and dt < 1e-3 * control.dt_smooth
    if sudden and control.begun and not control.implicit and not slip_turns(scene, own, begin):
        control.discontinuities += 1
        control.t_discontinuity = t + dt
    control.rejected = 0


@phase
def slip_turns(scene, own, begin):
    """Whether a slip in two directions turned in the step: where it comes close to a stop, its friction turns about in no time."""
    laws = scene.model.laws
    for l in range(scene.model.size.n_laws):
        if laws.dim[l] == 2 and begin.modes[l] == UPPER:
            for i in range(laws.row[l], laws.row[l] + 2):
                if abs(own.slip[i] - own.slip_0[i]) > TURNED:
                    return True
    return False


@phase
def nothing_left(scene, begin, t):
    """What is left of the segment is rounding: its end is reached."""
    info = scene.info
    copy_state(begin, scene.end)
    for l in range(scene.model.size.n_laws):
        scene.work.struck[l] = 0
    for i in range(scene.model.size.n_rows):
        scene.end.P[i] = 0.0
    info.t_new, info.dt, info.changed, info.residual, info.iterations = (
        scene.ask.t_stop,
        scene.ask.t_stop - t,
        -1,
        0.0,
        0,
    )
    return OK


@kernel(AT_STATE, part=True)
def begin_trial(at_scene, at_begin, t):
    """Slopes and laws' functions at the begin of the step."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own = own_at(scene.at.own)
    own.slip_0[:] = 0.0
    status = call_accelerate(own.at.accelerate, at_scene, at_begin, at_begin, t, 0)
    if status == OK:
        remember_begin(scene, own, begin, t)
    return status


@phase
def remember_begin(scene, own, begin, t):
    """What the end of the step is compared with: slips, gaps, the laws' functions, and what counts as zero in them."""
    model, work = scene.model, scene.work
    for i in range(model.size.n_rows):
        own.slip_0[i] = own.slip[i]
    force_scales(scene, own)
    for l in range(model.size.n_laws):
        own.phi_0[l] = own.phi[0, l]
        own.rate_0[l] = own.rate[l]
        own.gap_0[l] = 0.0
        if l < model.size.n_N:
            work.slack[l] = rounding_of_gap(scene, own, begin, l, t)
            own.gap_0[l] = work.g[l] - own.rest_gap[l]
            own.gap_max[l] = max(own.gap_max[l], work.g[l])
        own.size[l] = zero_of(scene, own, begin, l)
        # (forces that cancel leave the rounding of derivatives)
        own.blur[l] = NOISE if begin.modes[l] == CONSTRAINT else 1.0


@phase
def due(scene, own, begin):
    """Whether a contact closes where the run stands (within what rounding hides of its gap): a transition comes first."""
    for l in range(scene.model.size.n_N):
        if begin.modes[l] != CONSTRAINT and not armed(own, l) and own.rate_0[l] < -small(scene, own, l):
            own.fired[l] = 1
            own.control.jump = 1
    return own.control.jump == 1


@phase
def changes(scene, begin):
    """The first law that changed its structure or was struck, or -1."""
    for l in range(scene.model.size.n_laws):
        if scene.work.struck[l]:
            return l
    return first_change(scene.model, begin, scene.end)


@kernel(BETWEEN, part=True)
def event_driven_between(at_scene, at_state, t, dt, t_out):
    """The same integration again, up to the instant asked for."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    if dt == 0.0 or t_out >= scene.info.t_new:
        copy_state(scene.end, scene.between)
        return OK
    status = call_at_state(own.at.begin_trial, at_scene, at_state, t)
    if status == OK:
        status = integrate(own, at_scene, at_state, t, t_out - t)
    if status != OK:
        return status
    return trial_between(scene, own, begin, at_scene, t_out)
