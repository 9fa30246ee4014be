"""The critical step is taken: Moreau's step over hbar (order 0, a contact closes), or impact and new modes in no time.

The forecast (37), the contacts that the critical step strikes, is right if they are those that the smooth motion closes inside it (35).
"""

from nonsmooth._core.jit import float64, int64, kernel, noinline, phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import scene_at, state_at, state_reference
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_capturing.begin import NOTHING, start
from nonsmooth._core.stepping.event_capturing.records import capture_at
from nonsmooth._core.stepping.event_driven.records import call_at_state, own_at
from nonsmooth._core.stepping.event_driven.step import changes
from nonsmooth._core.stepping.phases import copy_state, normalise


@phase
def cross(scene, own, capture, begin, at_scene, at_state, t):
    """Moreau's step over the critical step, or impacts and new modes in no time."""
    capture.control.have_tangent, capture.control.dt_before, capture.control.known = 0, 0.0, NOTHING
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
    status = start(scene, own, capture, begin, at_scene, at_state, t)
    wanted.known = NOTHING
    if status != OK:
        return status
    copy_state(begin, free)
    t_event, ahead = wanted.t_event, wanted.t_event - t
    for k in range(size.n_u):
        free.u[k] += h * own.K_u[0, k]
    for i in range(size.n_q):
        free.q[i] += ahead * own.K_q[0, i]
    normalise(model, free.q)
    for i in range(size.n_rows):
        own.La[own.control.stages, i] = own.La[0, i]
        free.P[i] = own.La[0, i]
    scene.books.work_forces += h * own.power[0, 0]
    scene.books.work_contacts += h * own.power[0, 1]
    # where the contact closes: constraints that depend on each other there do so nowhere else, and surfaces may move
    status = call_at_state(own.at.transition, at_scene, state_reference(free), t_event)
    if status != OK:
        return status
    judge_forecast(scene, capture, begin, t_new)
    for i in range(size.n_q):
        end.q[i] = begin.q[i]
        if size.has_B:
            for k in range(size.n_u):
                end.q[i] += h * scene.work.B[i, k] * end.u[k]
        else:
            end.q[i] += h * end.u[i]
    normalise(model, end.q)
    for i in range(size.n_rows):
        end.P[i] += h * free.P[i]
    info.order, info.dt, info.t_new = 1, h, t_new
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
