"""One step of an explicit Runge-Kutta method along smooth motion in given modes, and its error.

    x_k = x_0 + dt sum_j A_kj x'_j,     error = |E_0|^2 / (|E_0|^2 + |E_1|^2/100)^1/2     E_i = dt sum_j E_ij x'_j

each component relative to rtol times its size so far, with what rounding makes of forces that cancel.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.scene import STEP, scene_at, state_at, state_reference
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_driven.flight import fly
from nonsmooth._core.stepping.event_driven.law_functions import acts, none_acts
from nonsmooth._core.stepping.event_driven.motion import BLURRED
from nonsmooth._core.stepping.event_driven.records import call_accelerate, own_at
from nonsmooth._core.stepping.event_driven.sizes import EPS, KIND, pulls
from nonsmooth._core.stepping.event_driven.stage_state import combine, time_of_stage

TIME_ULPS = 32 * EPS  # part of the time by which the instants of stages, and functions of them, are off
MOST_HIDDEN = 1e-4  # part of a size that may be rounding of the time
GROWS = 1.1  # growth in one step of what only begins to move


@kernel(STEP, part=True)
def integrate(at_scene, at_begin, t, dt):
    """A step of the explicit method into ``own.trial``; stage 0 is known. The slope at the end is stage `stages`."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own = own_at(scene.at.own)
    size, s = scene.model.size, own.control.stages
    if none_acts(scene.model, begin.modes):
        return fly(scene, own, begin, t, dt)
    at_trial = state_reference(own.trial)
    for k in range(1, s + 1):
        combine(size, own, begin, dt, k, k)
        status = call_accelerate(
            own.at.accelerate, at_scene, at_trial, at_begin, time_of_stage(scene, own, t, dt, k), k
        )
        if status != OK:
            return status
    return OK


@phase
def blurs(scene, own, modes):
    """The accelerations beside which those of the trial are rounding: forces are known to a part of the largest of them, measured alike
    by what they do to the law they belong to, |la_i| G_ii^1/2; also where they do not act yet at the begin of the step."""
    model, work, largest = scene.model, scene.work, 0.0
    laws = model.laws
    own.noise[:] = 0.0
    for k in range(model.size.n_u):
        largest += work.du[k] ** 2
    largest = largest**0.5
    for l in range(model.size.n_laws):
        for i in range(laws.row[l], laws.row[l] + laws.dim[l] if acts(model, modes, l) else laws.row[l]):
            for k in range(own.control.stages + 1):
                largest = max(largest, abs(own.La[k, i]) * work.G_all[i, i] ** 0.5)
    for l in range(model.size.n_laws):
        for i in range(laws.row[l], laws.row[l] + laws.dim[l] if acts(model, modes, l) else laws.row[l]):
            if work.G_all[i, i] > 0.0:
                pulls(own.noise, work.L, work.Y[i], work.u_free, largest / work.G_all[i, i] ** 0.5)


@phase
def turn(own, k, of_any):
    """Change of acceleration `k`, or the largest of all, in the trial."""
    largest = 0.0
    for i in range(own.K_u.shape[1]):
        if i == k or of_any:
            for j in range(1, own.control.stages + 1):
                largest = max(largest, abs(own.K_u[j, i] - own.K_u[0, i]))
    return largest


@phase
def error_of_step(scene, own, begin, t, dt):
    """Estimated error of the step relative to the tolerance (the combination of two estimators of Hairer, Norsett, Wanner for
    DOP853, one estimator for the others)."""
    size, control, s = scene.model.size, own.control, own.control.stages
    worst = 0.0
    q_max, u_max, pull_max = 0.0, 0.0, 0.0
    noise = 16.0 * BLURRED if control.dependent else 64.0 * EPS
    for i in range(size.n_q):
        q_max = max(q_max, own.scale[i], abs(own.trial.q[i]))
    for i in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + i], abs(own.trial.u[i]))
        pull_max = max(pull_max, own.pull[i], own.noise[i])
    for i in range(size.n_q + size.n_u):
        position = i < size.n_q
        k = i if position else i - size.n_q
        e_0, e_1 = 0.0, 0.0
        for j in range(s + 1):
            slope = own.K_q[j, k] if position else own.K_u[j, k]
            e_0 += own.E[0, j] * slope
            e_1 += own.E[1, j] * slope
        value = own.trial.q[k] if position else own.trial.u[k]
        start = begin.q[k] if position else begin.u[k]
        largest = max(abs(value), abs(start))
        # a component that is nothing but rounding beside its kind is not measured against itself
        ruler = max(largest, own.scale[i], KIND * (q_max if position else u_max))
        tolerance = control.rtol * (ruler if control.atol == 0.0 else largest) + control.atol
        # what rounding makes of forces that cancel: a body at rest has no velocity to be measured against
        pull = pull_max if position and size.has_B else max(own.pull[k], own.noise[k])
        tolerance += noise * dt * pull * (dt if position else 1.0)
        if largest > GROWS * own.scale[i]:
            # (what only begins to move is measured against next to nothing, which rounding of the time hides in a short step; of a pole
            # it would hide everything)
            hidden = TIME_ULPS * abs(t) * turn(own, k, size.has_B and position) * (dt if position else 1.0)
            tolerance += min(hidden, MOST_HIDDEN * largest)
        e_0, e_1 = abs(dt * e_0), abs(dt * e_1)
        if e_0 > 0.0:
            error = e_0 * e_0 / (e_0 * e_0 + 0.01 * e_1 * e_1) ** 0.5
            worst = max(worst, error / tolerance if tolerance > 0.0 else 0.0)
    return worst
