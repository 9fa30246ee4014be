"""The three steps that are kept: accepted (cannot be rejected any more), previous (waits for its successor) and actual, Table III; and how
they move on when one is handed out.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.status import OK, REJECTED, WAITING
from nonsmooth._core.stepping.extrapolation.records import DETECTED
from nonsmooth._core.stepping.phases import copy_state, first_change


@phase
def take_actual(own, t, t_new, dt):
    """The main step just computed becomes the actual one."""
    copy_state(own.tableau.end, own.actual.state)
    span = own.actual.span
    span.t_B, span.t_E, span.dt = t, t_new, dt
    span.order, span.error = own.note.order, own.note.error


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
