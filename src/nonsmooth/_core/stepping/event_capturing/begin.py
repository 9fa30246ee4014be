"""Stage 0 of a step: slopes, forces and the laws' functions where the run stands.

They are found once for all trials from there. Where no law carried a force in the step before, its end is where the run stands, nothing has
moved it since, and its last stage has found them already.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import phase
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_driven.law_functions import law_functions
from nonsmooth._core.stepping.event_driven.motion import delassus
from nonsmooth._core.stepping.event_driven.records import call_at_state
from nonsmooth._core.stepping.event_driven.step import remember_begin

# what is known where the run stands
NOTHING, LAST_STAGE, STAGE_0 = range(3)


@phase
def start(scene, own, capture, begin, at_scene, at_state, t):
    """Stage 0 at the begin of the step."""
    wanted = capture.control
    if wanted.known == STAGE_0:
        for i in range(scene.model.size.n_rows):
            own.slip[i] = own.slip_0[i]
        return OK
    status = OK
    if wanted.known == LAST_STAGE:
        take_over(scene, own, capture, begin, t)
    else:
        status = call_at_state(own.at.begin_trial, at_scene, at_state, t)
    wanted.known = STAGE_0 if status == OK and not wanted.index_2 else NOTHING
    return status


@phase
def known_at_end(scene, capture):
    """What is known where a step ends: its last stage, unless constraints or the length of quaternions have moved the state since."""
    in_flight = capture.control.unloaded and not capture.control.index_2
    return LAST_STAGE if in_flight and scene.model.size.n_unit == 0 else NOTHING


@phase
def take_over(scene, own, capture, begin, t):
    """Stage 0 is the last stage of the step before, in free flight; forces are zero."""
    model, s = scene.model, own.control.stages
    size = model.size
    estimated = (
        capture.control.implicit and capture.control.dt == 0.0
    )  # (an error stands in place of the slope)
    for i in range(size.n_q):
        own.K_q[0, i] = capture.X_q[s, i] if estimated else own.K_q[s, i]
    for i in range(size.n_u):
        own.K_u[0, i] = capture.X_u[s, i] if estimated else own.K_u[s, i]
    for i in range(size.n_rows):
        own.La[0, i] = 0.0
    own.power[0, 0], own.power[0, 1] = own.power[s, 0], 0.0
    law_functions(scene, own, begin.modes, own.La[0], own.phi[0])
    if size.n_rows > 0:
        if not size.constant_W or size.has_zeta:
            call_vector(model.at.kappa, t, begin.q, begin.u, model.p, own.kappa)
        delassus(scene, own)  # (sizes of forces follow from it)
    remember_begin(scene, own, begin, t)
