"""The step of `event-capturing`: Algorithm 1 of Acary 2012 with errata (no event: on to the end of the step; index sets with U and la).

A step of the grid is taken in pieces. A *smooth step* integrates the motion in the present modes by a Runge-Kutta method of order p
(`stages`). If a law's function vanishes in it (`event_driven.law_functions`: gap, contact force, room to the edge of a set, slip speed),
the instant is bracketed on the integration itself, by steps of other lengths, until the bracket, the *critical step*, is as short as
Mannshardt's rule asks:

    hbar = C T (h/T)^((p+1)/(q+1)),     T the time scale of the model; not below what rounding of time and gap can tell

Then the critical method of order q takes the motion across:

    q = 0   a contact closes, U < 0: Moreau's step over hbar, with the instant of the secant in its middle: free motion u + hbar u',
            Newton's law on it, q + hbar B u^+ (gaps stay positive); where rounding makes hbar longer than the rule: as for q > 0
            a contact opens, something sticks or slips: no impulse; modes from accelerations at the upper end (`event_driven.modes`)
    q > 0   impact or new modes in no time, at the instant that interpolation gives with an error of O(hbar^(q+1)): the secant
            through the bracket (1), one more trial there and the secant through it (2), the inverse parabola through all three (3)

Rebounds lower than the accuracy of the critical step end in rest (`event_driven.rest`), which passes accumulation points. The forecast
(37), the contacts that the critical step strikes, is right if they are those that the smooth motion closes inside it (35).
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.scene import BETWEEN, STEP, call_step, scene_at, state_at
from nonsmooth._core.records.status import CHATTER, OK, REJECTED, WAITING
from nonsmooth._core.stepping.event_capturing.begin import NOTHING, known_at_end, start
from nonsmooth._core.stepping.event_capturing.critical_step import (
    approach,
    bracket,
    length_in_bracket,
    start_search,
)
from nonsmooth._core.stepping.event_capturing.crossing import cross
from nonsmooth._core.stepping.event_capturing.first_slopes import remember_slopes
from nonsmooth._core.stepping.event_capturing.grid import end_of_grid_step, end_of_trial, nothing_left
from nonsmooth._core.stepping.event_capturing.records import capture_at
from nonsmooth._core.stepping.event_capturing.stages import solve_stages
from nonsmooth._core.stepping.event_capturing.tangent import estimate_error
from nonsmooth._core.stepping.event_driven.end_of_step import trial_between
from nonsmooth._core.stepping.event_driven.records import own_at
from nonsmooth._core.stepping.event_driven.runge_kutta import error_of_step
from nonsmooth._core.stepping.event_driven.sizes import EPS, INFINITY
from nonsmooth._core.stepping.event_driven.step import MOST_REPEATED, due
from nonsmooth._core.stepping.event_driven.trial_length import shorter
from nonsmooth._core.stepping.event_driven.watch_laws import (
    alarm,
    ends_at_once,
    least_function,
    look_closer,
    passes_by,
)
from nonsmooth._core.stepping.phases import copy_state, normalise


@kernel(STEP, part=True)
def event_capturing_step(at_scene, at_state, t, left):
    """A critical step, a change of modes in no time, or one trial of a smooth step."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own, capture = own_at(scene.at.own), capture_at(scene.at.control)
    control, info = own.control, scene.info
    info.jump_next = 0
    info.order, capture.control.crossed = capture.control.order, 0
    if capture.control.crossing or control.jump:
        control.repeated += 1
        if control.repeated > MOST_REPEATED:
            return CHATTER
        return cross(scene, own, capture, begin, at_scene, at_state, t)
    dt = length_of_trial(scene, own, capture, begin.modes, t)
    if not dt > 4.0 * EPS * abs(t):
        return nothing_left(scene, begin, t, dt)
    status = start(scene, own, capture, begin, at_scene, at_state, t)
    if status == OK and due(scene, own, begin):
        return WAITING
    if status == OK:
        info.base_steps += 1
        status = solve_stages(at_scene, at_state, t, dt)  # (64)
    if status != OK:
        capture.control.last_trial = 0.0
        return shorter(own, info, status, 0.25 * dt, t)
    if capture.control.last_trial > 0.0:
        return before_critical_step(scene, own, capture, begin, at_scene, at_state, t, dt)
    if control.searching:
        return bracket(scene, own, capture, begin, t, dt)
    return smooth_step(scene, own, capture, begin, at_scene, at_state, t, dt)


@phase
def smooth_step(scene, own, capture, begin, at_scene, at_state, t, dt):
    """The step is accepted, shortened, or found to hold the end of a mode."""
    control, info = own.control, scene.info
    factor = 1.0
    if capture.control.dt == 0.0:
        if capture.control.implicit:
            estimate_error(scene, own, capture, dt)
        error = error_of_step(scene, own, begin, t, dt)
        info.error = error
        factor = min(max(0.9 * max(error, 1e-12) ** (-1.0 / (control.error_order + 1)), 0.3), 4.0)
        if error > 1.0:
            planned = dt * min(factor, 0.9)
            if ends_at_once(scene, own, begin, t, planned):
                return WAITING
            return shorter(own, info, REJECTED, planned, t)
    early = alarm(scene, own, begin, dt)
    if early < 1.0:
        return look_closer(scene, own, begin, t, dt, early)
    f_end = least_function(scene, own, begin)
    if f_end <= 0.0:
        start_search(scene, own, capture, begin, f_end, dt)
        return WAITING
    if passes_by(scene, own, begin, dt):
        control.grazings += 1
        control.t_grazing = t
    t_new = end_of_trial(scene, capture, t, dt)
    if capture.control.dt == 0.0:
        planned = (
            control.dt_next if t_new == scene.ask.t_stop else 0.0
        )  # a step cut short tells nothing about the next
        control.dt_next = min(max(dt, planned) * factor, control.dt_max)
    else:
        control.dt_next = INFINITY
    control.rejected = 0
    control.dt_smooth = dt
    remember_slopes(own, capture, scene.model.size, dt)
    return accept(scene, own, capture, at_scene, at_state, dt, t_new)


@phase
def accept(scene, own, capture, at_scene, at_state, dt, t_new):
    """The trial becomes the end of the step."""
    scene.info.t_new = t_new
    capture.control.known = known_at_end(scene, capture)
    return call_step(own.at.finish, at_scene, at_state, t_new - dt, dt)


@phase
def length_of_trial(scene, own, capture, modes, t):
    """Length of the smooth step to try."""
    control = own.control
    if capture.control.last_trial > 0.0:
        return capture.control.last_trial
    if control.searching:
        return length_in_bracket(own, capture, modes, scene.model.size.n_N, t)
    left = end_of_grid_step(scene, capture, t) - t
    if control.dt_next >= left * (1.0 - 1e-10):
        return left
    halves = capture.control.dt == 0.0 and control.dt_next > 0.5 * left
    return 0.5 * left if halves else control.dt_next


@phase
def before_critical_step(scene, own, capture, begin, at_scene, at_state, t, dt):
    """The smooth step up to the critical one is accepted."""
    control, wanted = own.control, capture.control
    if wanted.strikes and dt > control.lo and least_function(scene, own, begin) <= 0.0:
        wanted.last_trial = control.lo  # closed already: the secant was no good, the bracket is
        return approach(own, capture, t)
    wanted.last_trial = 0.0
    control.rejected = 0
    control.dt_next = INFINITY if wanted.dt > 0.0 else max(control.dt_smooth, dt)
    t_new = end_of_trial(scene, capture, t, dt)
    if wanted.strikes and wanted.t_critical > t_new:
        wanted.crossing = 1
    else:
        control.jump = 1
        scene.info.jump_next = 1
    return accept(scene, own, capture, at_scene, at_state, dt, t_new)


@kernel(BETWEEN, part=True)
def event_capturing_between(at_scene, at_state, t, dt, t_out):
    """The same integration again, up to the instant asked for; in a critical step the straight way across."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own, capture, end = own_at(scene.at.own), capture_at(scene.at.control), scene.end
    wanted = capture.control
    if dt == 0.0 or t_out >= scene.info.t_new:
        copy_state(end, scene.between)
        return OK
    if wanted.crossed:
        copy_state(begin, scene.between)
        x = (t_out - t) / dt
        for i in range(scene.model.size.n_q):
            scene.between.q[i] += x * (end.q[i] - begin.q[i])
        for i in range(scene.model.size.n_u):
            scene.between.u[i] += x * (end.u[i] - begin.u[i])
        normalise(scene.model, scene.between.q)
        return OK
    wanted.known = NOTHING
    status = start(scene, own, capture, begin, at_scene, at_state, t)
    wanted.known = NOTHING
    if status == OK:
        dt_before, rate = wanted.dt_before, wanted.rate
        wanted.dt_before = 0.0  # the slopes kept are those of this step already
        status = solve_stages(at_scene, at_state, t, t_out - t)
        wanted.dt_before, wanted.rate = dt_before, rate
    if status != OK:
        return status
    return trial_between(scene, own, begin, at_scene, t_out)
