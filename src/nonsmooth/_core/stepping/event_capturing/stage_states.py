"""States and instants of the stages from their slopes:  Q_i = q + h sum_j a_ij Q'_j,  V_i = u + h sum_j a_ij V'_j,
and the end of the step.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import phase
from nonsmooth._core.records.scene import state_reference
from nonsmooth._core.stepping.event_capturing.stage import stage
from nonsmooth._core.stepping.event_driven.stage_state import combine, time_of_stage


@phase
def at_stage(model, own, capture, begin, dt, k):
    """State of stage k from the slopes that are being solved for, into ``own.trial``."""
    s, trial = own.control.stages, own.trial
    for i in range(model.size.n_q):
        x = own.A[k, 0] * own.K_q[0, i]
        for j in range(1, s):
            x += own.A[k, j] * capture.X_q[j, i]
        trial.q[i] = begin.q[i] + dt * x
    for i in range(model.size.n_u):
        x = own.A[k, 0] * own.K_u[0, i]
        for j in range(1, s):
            x += own.A[k, j] * capture.X_u[j, i]
        trial.u[i] = begin.u[i] + dt * x


@phase
def gaps_of_stages(scene, own, capture, begin, t, dt):
    """Gaps at the stages inside the step, where no law carries a force."""
    model, s = scene.model, own.control.stages
    for k in range(1, s):
        if model.size.n_N > 0 and 0.0 < own.c[k] < 1.0:
            at_stage(model, own, capture, begin, dt, k)
            call_vector(model.at.gap, t + own.c[k] * dt, own.trial.q, own.trial.u, model.p, scene.work.g)
            for l in range(model.size.n_N):
                own.phi[k, l] = scene.work.g[l] - own.rest_gap[l]


@phase
def end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """State and slope at the end of the step from the slopes of the stages that were solved for; gaps on the way."""
    s, size = own.control.stages, scene.model.size
    for k in range(1, s):
        for i in range(size.n_q):
            own.K_q[k, i] = capture.X_q[k, i]
        for i in range(size.n_u):
            own.K_u[k, i] = capture.X_u[k, i]
    if capture.control.unloaded:
        gaps_of_stages(scene, own, capture, begin, t, dt)
    combine(size, own, begin, dt, s, s)
    for i in range(size.n_rows):
        capture.shift[s, i] = capture.shift[s - 1, i]
    return stage(at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, s), s)
