"""The grid of steps: t_n = t_begin + n dt, or the end of the segment where the error chooses the steps."""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.status import OK, STEP_UNDERFLOW
from nonsmooth._core.stepping.event_driven.sizes import EPS
from nonsmooth._core.stepping.phases import copy_state

NEXT = 1e-6  # part of a step of the grid that is not worth a step of its own


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
