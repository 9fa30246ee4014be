"""The first end of a mode, by steps of other lengths from the same begin: for gaps by cubics through values and rates (`trial_length`), for
everything else, and what these do not find, by Illinois' method on the least of the laws' functions.

The step that ends behind it is the one. At the very end of a segment an event happens two numbers before it.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import call_step
from nonsmooth._core.records.status import WAITING
from nonsmooth._core.stepping.event_driven.runge_kutta import error_of_step
from nonsmooth._core.stepping.event_driven.sizes import EPS, INFINITY, armed, rounding_of_time
from nonsmooth._core.stepping.event_driven.trial_length import shorter
from nonsmooth._core.stepping.event_driven.watch_laws import least_function

MOST_SEARCHED = 120
CLOSER = 0.8  # part of the way to the stop of a slip in two directions that a step goes while its direction still turns
STEADY = 1e-2  # tolerances of error below which it has stopped turning (the estimate is rough where stages lie behind the stop)


@phase
def search(scene, own, begin, at_scene, at_state, t, dt):
    """One iteration for the first end of a mode; the step that ends behind it is the one."""
    control = own.control
    f = least_function(scene, own, begin)
    illinois(control, dt, f)
    narrow = control.hi - control.lo <= 8.0 * EPS * max(abs(t), control.hi)
    there = is_zero(scene, own) if f <= 0.0 else is_nearly(scene, own)
    # (where the bracket is narrow and the last trial was before the event, the one behind it is two numbers away)
    if not there and not narrow and control.searching <= MOST_SEARCHED:
        return WAITING
    if stops_on_disk(scene, own, begin) and error_of_step(scene, own, begin, t, dt) > STEADY:
        return shorter(own, scene.info, WAITING, CLOSER * dt, t)
    if found(scene, own, begin, t, dt):
        before_end(scene, own, t)
    return call_step(own.at.finish, at_scene, at_state, t, dt)


@phase
def open_bracket(control, dt, f_end):
    """The first end of a mode lies between 0 and dt."""
    control.searching, control.side = 1, 0
    control.lo, control.hi, control.f_lo, control.f_hi = 0.0, dt, 1.0, f_end


@phase
def illinois(control, x, f):
    """The trial at x takes the place of one end of the bracket; the value at an end that is kept twice is halved."""
    control.searching += 1
    if f <= 0.0:
        control.hi, control.f_hi = x, f
        if control.side == 1:
            control.f_lo *= 0.5
        control.side = 1
    else:
        control.lo, control.f_lo = x, f
        if control.side == -1:
            control.f_hi *= 0.5
        control.side = -1


@phase
def stops_on_disk(scene, own, begin):
    """Whether a slip in two directions stops at the end of the trial: its direction has a limit there, but no value, and the last
    stages may turn it about. Where the error shows that, the stop is approached by steps of which each leaves a part of the way."""
    for l in range(scene.model.size.n_laws):
        slips = scene.model.laws.dim[l] == 2 and begin.modes[l] != CONSTRAINT
        if slips and ends_here(scene, own, begin, l):
            return True
    return False


@phase
def ends_here(scene, own, begin, l):
    """Whether the mode of law `l` ends where the trial does."""
    # a trial that ends two numbers before the event counts as the event: what comes first then is the least function
    control, phi = own.control, own.phi[own.control.stages, l]
    first = max(least_function(scene, own, begin), 0.0) * (1.0 + 1e-12)
    if (
        l < scene.model.size.n_N and begin.modes[l] != CONSTRAINT
    ):  # (a gap, by what it closes between two numbers)
        first = min(first, 16.0 * abs(own.rate[l]) * (control.hi - control.lo) / own.phi_0[l])
    return armed(own, l) and own.phi_0[l] < INFINITY and phi <= max(own.size[l], first * own.phi_0[l])


@phase
def is_zero(scene, own):
    """Whether every function that is negative is so by no more than rounding."""
    s = own.control.stages
    for l in range(scene.model.size.n_laws):
        if armed(own, l) and own.phi[s, l] < -own.size[l]:
            return False
    return True


@phase
def is_nearly(scene, own):
    """Whether a gap is closed within rounding, before it is seen to be negative."""
    s = own.control.stages
    for l in range(scene.model.size.n_N):
        if armed(own, l) and own.phi[s, l] <= 0.25 * own.size[l]:
            return True
    return False


@phase
def found(scene, own, begin, t, dt):
    """The step ends where modes end; whether any does (a function that is nothing but rounding has no zeros)."""
    control, some = own.control, False
    for l in range(scene.model.size.n_laws):
        own.fired[l] = 1 if ends_here(scene, own, begin, l) else 0
        some = some or own.fired[l] == 1
    control.searching = 0
    control.rejected = 0
    control.dt_next = max(control.dt_smooth, dt)
    scene.info.t_new = t + dt
    return some


@phase
def before_end(scene, own, t):
    """An event at the very end of a segment happens two numbers before it: so it belongs to the segment."""
    own.control.jump = 1
    scene.info.jump_next = 1
    last = scene.ask.t_stop - 0.5 * rounding_of_time(t, scene.ask.t_stop)
    scene.info.t_new = min(scene.info.t_new, last)
