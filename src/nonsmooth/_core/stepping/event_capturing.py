"""The step of `event-capturing`: Algorithm 1 of Acary 2012 with errata (no event: on to the end of the step; index sets with U and la).

A step of the grid is taken in pieces. A *smooth step* integrates the motion in the present modes by a Runge-Kutta method of order p
(`stages`). If a law's function vanishes in it (`smooth_motion.law_functions`: gap, contact force, room to the edge of a set, slip speed),
the instant is bracketed on the integration itself, by steps of other lengths, until the bracket, the *critical step*, is as short as
Mannshardt's rule asks:

    hbar = C T (h/T)^((p+1)/(q+1)),     T the time scale of the model; not below what rounding of time and gap can tell

Then the critical method of order q takes the motion across:

    q = 0   a contact closes, U < 0: Moreau's step over hbar, with the instant of the secant in its middle: free motion u + hbar u',
            Newton's law on it, q + hbar B u^+ (gaps stay positive)
            a contact opens, something sticks or slips: no impulse; modes from accelerations at the upper end (`transitions.settle`)
    q > 0   impact or new modes in no time, at the instant that interpolation gives with an error of O(hbar^(q+1)): the secant
            through the bracket (1), one more trial there and the secant through it (2), the inverse parabola through all three (3)

Rebounds lower than the accuracy of the critical step end in rest (`transitions.rest`), which passes accumulation points. The forecast
(37), the contacts that the critical step strikes, is right if they are those that the smooth motion closes inside it (35).
"""

from nonsmooth._core.jit import float64, int64, kernel, noinline, phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE
from nonsmooth._core.records.scene import BETWEEN, STEP, call_step, scene_at, state_at, state_reference
from nonsmooth._core.records.status import CHATTER, OK, REJECTED, STEP_UNDERFLOW, WAITING
from nonsmooth._core.stepping.event_driven import (
    EPS,
    LEAST,
    MOST_REPEATED,
    MOST_SEARCHED,
    alarm,
    armed,
    changes,
    due,
    least_function,
    passes_by,
    shorter,
    unexpected,
)
from nonsmooth._core.stepping.phases import copy_state, normalise
from nonsmooth._core.stepping.smooth_motion import INFINITY, call_at_state, error_of_step, own_at
from nonsmooth._core.stepping.stages import capture_at, estimate_error, remember_slopes, solve_stages

NEXT = 1e-6  # part of a step of the grid that is not worth a step of its own
SHARE = 0.1  # of the tolerance that the critical step may take
FLOOR = 16.0 * EPS


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
    dt = length_of_trial(scene, own, capture, t)
    if not dt > 4.0 * EPS * abs(t):
        return nothing_left(scene, begin, t, dt)
    status = start(own, at_scene, at_state, t)
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
        error = error_of_step(scene, own, begin, dt)
        info.error = error
        factor = min(max(0.9 * max(error, 1e-12) ** (-1.0 / (control.error_order + 1)), 0.3), 4.0)
        if error > 1.0:
            return shorter(own, info, REJECTED, dt * min(factor, 0.9), t)
    early = alarm(scene, own, begin, dt)
    if early < 1.0:
        if early * dt < LEAST * control.dt_max and unexpected(scene, own, begin):
            control.jump = 1
            return WAITING
        return shorter(own, info, WAITING, early * dt, t)
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
    return accept(scene, own, at_scene, at_state, dt, t_new)


@phase
def start(own, at_scene, at_state, t):
    """Slopes, forces and the laws' functions where the run stands."""
    return call_at_state(own.at.begin_trial, at_scene, at_state, t)


@phase
def accept(scene, own, at_scene, at_state, dt, t_new):
    """The trial becomes the end of the step."""
    scene.info.t_new = t_new
    return call_step(own.at.finish, at_scene, at_state, t_new - dt, dt)


# -- the grid -----------------------------------------------------------------------------------------------------------


@phase
def end_of_grid_step(scene, capture, t):
    """The next instant of the grid, or the end of the segment."""
    control, t_stop = capture.control, scene.ask.t_stop
    if control.dt == 0.0:
        return t_stop
    target = control.grid_begin + (control.grid_step + 1) * control.dt
    while target - t < NEXT * control.dt:
        control.grid_step += 1
        target = control.grid_begin + (control.grid_step + 1) * control.dt
    return t_stop if target > t_stop - NEXT * control.dt else target


@phase
def end_of_trial(scene, capture, t, dt):
    """t + dt, or the instant of the grid that it means."""
    target = end_of_grid_step(scene, capture, t)
    return target if abs(target - (t + dt)) <= 4.0 * EPS * max(abs(t), abs(target)) else t + dt


@phase
def length_of_trial(scene, own, capture, t):
    """Length of the smooth step to try."""
    control = own.control
    if capture.control.last_trial > 0.0:
        return capture.control.last_trial
    if control.searching:
        return length_in_bracket(own, capture, t)
    left = end_of_grid_step(scene, capture, t) - t
    if control.dt_next >= left * (1.0 - 1e-10):
        return left
    halves = capture.control.dt == 0.0 and control.dt_next > 0.5 * left
    return 0.5 * left if halves else control.dt_next


@phase
def nothing_left(scene, begin, t, dt):
    """The end of the segment is as near as two numbers can be: it is reached."""
    info = scene.info
    info.dt = dt
    if scene.ask.t_stop - t > 4.0 * EPS * abs(t):
        return STEP_UNDERFLOW
    copy_state(begin, scene.end)
    for i in range(scene.model.size.n_rows):
        scene.end.P[i] = 0.0
    info.t_new, info.dt, info.changed, info.residual, info.iterations = scene.ask.t_stop, 0.0, -1, 0.0, 0
    return OK


# -- the critical step is located ----------------------------------------------------------------------------------------


@phase
def start_search(scene, own, capture, begin, f_end, dt):
    """The first end of a mode lies between 0 and dt."""
    control, wanted = own.control, capture.control
    control.searching, control.side, wanted.polishing = 1, 0, 0
    control.lo, control.hi, control.f_lo, control.f_hi = 0.0, dt, 1.0, f_end
    wanted.f_lo, wanted.f_hi = 1.0, f_end
    T, C, h = wanted.time_scale, wanted.constant, wanted.dt
    wanted.error = SHARE * control.rtol * dt
    if wanted.dt > 0.0:
        wanted.error = C * T * (h / T) ** (wanted.order + 1)
    wanted.width = longest_bracket(scene, own, capture, dt)
    mark(scene, own, capture, begin)


@phase
def longest_bracket(scene, own, capture, length):
    """Mannshardt's rule, hbar^(q+1) = O(h^(p+1)); for motion that turns within less than T (low rebounds) by its own length."""
    wanted = capture.control
    T, C, h, q = wanted.time_scale, wanted.constant, wanted.dt, wanted.critical_order
    if q == 0:
        return wanted.error
    longest = length * (wanted.error / length) ** (1.0 / (q + 1))
    return min(longest, C * T * (h / T) ** ((wanted.order + 1.0) / (q + 1))) if h > 0.0 else longest


@phase
def mark(scene, own, capture, begin):
    """Laws whose modes have ended at the upper end of the bracket; whether a contact closes among them."""
    s, capture.control.closing = own.control.stages, 0
    for l in range(scene.model.size.n_laws):
        waits = armed(own, l) and own.phi_0[l] < INFINITY
        own.fired[l] = 1 if waits and own.phi[s, l] <= 0.0 else 0
        closes = scene.model.laws.kind[l] == HALF_LINE and begin.modes[l] != CONSTRAINT
        # (contacts that close together do so up to rounding)
        capture.predicted[l] = 1 if waits and closes and own.phi[s, l] <= own.size[l] else 0
        if capture.predicted[l]:
            capture.control.closing = 1


@phase
def resolution(scene, own, capture, t):
    """What rounding of time and of the gaps that close leaves of an instant."""
    least = FLOOR * max(abs(t), own.control.hi)
    for l in range(scene.model.size.n_N):
        if capture.predicted[l] and own.rate_0[l] < 0.0:
            least = max(least, own.size[l] / -own.rate_0[l])
    return least


@phase
def length_in_bracket(own, capture, t):
    """Illinois' rule, aimed a little to the side that is far from the end of the mode, so that the bracket closes from both."""
    control = own.control
    if capture.control.polishing:
        return secant(control.lo, capture.control.f_lo, control.hi, capture.control.f_hi)
    span = control.hi - control.lo
    x = control.lo + span * control.f_lo / (control.f_lo - control.f_hi)
    aside = 0.3 * capture.control.width
    x += -aside if control.side == 1 else aside
    if control.searching % 8 == 0:
        x = 0.5 * (control.lo + control.hi)  # a safeguard for functions that are far from straight
    edge = max(5.0 * EPS * max(abs(t), control.hi), min(0.25 * capture.control.width, 0.1 * span))
    return min(max(x, control.lo + edge), control.hi - edge)


@phase
def bracket(scene, own, capture, begin, t, dt):
    """One more trial inside the bracket; when it is narrow, the length of the smooth step up to it is known."""
    control, wanted = own.control, capture.control
    f = least_function(scene, own, begin)
    control.searching += 1
    if wanted.polishing:
        return plan_crossing(scene, own, capture, t, polished(own, capture, dt, f))
    if f <= 0.0:
        control.hi, control.f_hi, wanted.f_hi = dt, f, f
        if control.side == 1:
            control.f_lo *= 0.5
        control.side = 1
        mark(scene, own, capture, begin)
    else:
        control.lo, control.f_lo, wanted.f_lo = dt, f, f
        if control.side == -1:
            control.f_hi *= 0.5
        control.side = -1
    wanted.width = max(longest_bracket(scene, own, capture, control.hi), resolution(scene, own, capture, t))
    if control.hi - control.lo > wanted.width and control.searching <= MOST_SEARCHED:
        return WAITING
    instant = secant(control.lo, wanted.f_lo, control.hi, wanted.f_hi)
    edge = 4.0 * EPS * max(abs(t), control.hi)
    if wanted.critical_order > 1 and control.lo + edge < instant < control.hi - edge:
        wanted.polishing = 1
        return WAITING
    return plan_crossing(scene, own, capture, t, instant)


@phase
def secant(x_0, f_0, x_1, f_1):
    """Where the line through two points vanishes."""
    return x_0 + (x_1 - x_0) * f_0 / (f_0 - f_1)


@phase
def polished(own, capture, x, f):
    """The instant from the bracket and a trial inside it, at the secant: with errors of O(hbar^3) or O(hbar^4)."""
    control, wanted = own.control, capture.control
    lo, hi, f_lo, f_hi = control.lo, control.hi, wanted.f_lo, wanted.f_hi
    if f == 0.0 or not f_hi < f < f_lo:
        return x
    if wanted.critical_order == 2:
        return secant(lo, f_lo, x, f) if f < 0.0 else secant(x, f, hi, f_hi)
    # inverse interpolation: x as a parabola of f, at f = 0
    at_lo = f * f_hi / ((f_lo - f) * (f_lo - f_hi))
    at_x = f_lo * f_hi / ((f - f_lo) * (f - f_hi))
    at_hi = f_lo * f / ((f_hi - f_lo) * (f_hi - f))
    instant = lo * at_lo + x * at_x + hi * at_hi
    return instant if lo <= instant <= hi else x


@phase
def plan_crossing(scene, own, capture, t, instant):
    """Where the smooth step ends: before, in or behind the critical step."""
    control, wanted = own.control, capture.control
    control.searching, wanted.polishing = 0, 0
    wanted.t_event = t + instant
    wanted.crossing = 0
    upper = control.hi
    if wanted.critical_order > 0:
        wanted.last_trial = instant
    elif wanted.closing:
        # a critical step of full length, whatever the bracket: its error follows from hbar, not from chance
        wanted.last_trial = instant - 0.5 * wanted.width
        upper = min(instant + 0.5 * wanted.width, scene.ask.t_stop - t)
    else:
        wanted.last_trial = control.hi
    wanted.t_critical = end_of_trial(scene, capture, t, upper)
    return approach(own, capture, t)


@phase
def approach(own, capture, t):
    """The smooth step up to the critical one comes next; or that one, if it begins where the run stands."""
    wanted = capture.control
    if wanted.last_trial <= 4.0 * EPS * abs(t):
        wanted.last_trial = 0.0
        if wanted.closing and wanted.critical_order == 0 and wanted.t_critical > t:
            wanted.crossing = 1
        else:
            own.control.jump = 1
    return WAITING


@phase
def before_critical_step(scene, own, capture, begin, at_scene, at_state, t, dt):
    """The smooth step up to the critical one is accepted."""
    control, wanted = own.control, capture.control
    strikes = wanted.closing and wanted.critical_order == 0
    if strikes and dt > control.lo and least_function(scene, own, begin) <= 0.0:
        wanted.last_trial = control.lo  # closed already: the secant was no good, the bracket is
        return approach(own, capture, t)
    wanted.last_trial = 0.0
    control.rejected = 0
    control.dt_next = INFINITY if wanted.dt > 0.0 else max(control.dt_smooth, dt)
    t_new = end_of_trial(scene, capture, t, dt)
    if strikes and wanted.t_critical > t_new:
        wanted.crossing = 1
    else:
        control.jump = 1
        scene.info.jump_next = 1
    return accept(scene, own, at_scene, at_state, dt, t_new)


# -- the critical step ---------------------------------------------------------------------------------------------------


@phase
def cross(scene, own, capture, begin, at_scene, at_state, t):
    """Moreau's step over the critical step, or impacts and new modes in no time."""
    capture.control.have_tangent, capture.control.dt_before = 0, 0.0
    if capture.control.crossing:
        status = moreau_step(at_scene, at_state, t)
    else:
        status = call_at_state(own.at.transition, at_scene, at_state, t)
        judge_forecast(scene, capture, begin, t)
    scene.info.changed = changes(scene, begin)
    return status


@kernel(int64(int64, int64, float64), part=True)
def moreau_step(at_scene, at_state, t):
    """Free motion of the velocities over the critical step, Newton's law on them, positions with what follows."""
    noinline()
    scene, begin = scene_at(at_scene), state_at(at_state)
    own, capture = own_at(scene.at.own), capture_at(scene.at.control)
    model, wanted, end, info = scene.model, capture.control, scene.end, scene.info
    t_new, size, free = wanted.t_critical, model.size, capture.free
    h = t_new - t
    wanted.crossing, wanted.crossed = 0, 1
    status = start(own, at_scene, at_state, t)
    if status != OK:
        return status
    copy_state(begin, free)
    for k in range(size.n_u):
        free.u[k] += h * own.K_u[0, k]
    for i in range(size.n_rows):
        own.La[own.control.stages, i] = own.La[0, i]
        free.P[i] = own.La[0, i]
    scene.books.work_forces += h * own.power[0, 0]
    scene.books.work_contacts += h * own.power[0, 1]
    status = call_at_state(own.at.transition, at_scene, state_reference(free), t_new)
    if status != OK:
        return status
    judge_forecast(scene, capture, begin, t_new)
    for i in range(size.n_q):
        if size.has_B:
            for k in range(size.n_u):
                end.q[i] += h * scene.work.B[i, k] * end.u[k]
        else:
            end.q[i] += h * end.u[i]
    normalise(model, end.q)
    for i in range(size.n_rows):
        end.P[i] += h * free.P[i]
    for l in range(size.n_laws):
        if scene.work.t_best[l] == t_new:
            scene.work.t_best[l] = wanted.t_event
    info.order, info.dt = 1, h
    return call_at_state(own.at.hold, at_scene, state_reference(end), t_new)


@phase
def judge_forecast(scene, capture, begin, t):
    """Whether the contacts that were struck (37), P > 0, are those that the smooth motion closes (35)."""
    wanted, any_predicted, right = capture.control, False, True
    for l in range(scene.model.size.n_N):
        struck = begin.modes[l] != CONSTRAINT and scene.end.P[scene.model.laws.row[l]] > 0.0
        any_predicted = any_predicted or capture.predicted[l] == 1
        right = right and struck == (capture.predicted[l] == 1)
        capture.predicted[l] = 0
    if any_predicted:
        wanted.critical_steps += 1
        wanted.forecast_right += right
        if not right:
            wanted.forecast_wrong += 1
            wanted.t_wrong = t


@kernel(BETWEEN, part=True)
def event_capturing_between(at_scene, at_state, t, dt, t_out):
    """The same integration again, up to the instant asked for; in a critical step the straight way across."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own, wanted, end = own_at(scene.at.own), capture_at(scene.at.control).control, scene.end
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
    status = start(own, at_scene, at_state, t)
    if status == OK:
        dt_before, rate = wanted.dt_before, wanted.rate
        wanted.dt_before = 0.0  # the slopes kept are those of this step already
        status = solve_stages(at_scene, at_state, t, t_out - t)
        wanted.dt_before, wanted.rate = dt_before, rate
    if status != OK:
        return status
    copy_state(own.trial, scene.between)
    for l in range(scene.model.size.n_laws):
        scene.between.modes[l] = begin.modes[l]
    normalise(scene.model, scene.between.q)
    return call_at_state(own.at.hold, at_scene, state_reference(scene.between), t_out)
