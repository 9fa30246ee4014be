"""The stages of a Runge-Kutta method on motion in given modes, eq. (64) of Acary 2012 with its acceleration term:

    Q_i = q + h sum_j a_ij B(Q_j) V_j,     V_i = u + h sum_j a_ij V'_j,     M(Q_i) V'_i = h(t_i, Q_i, V_i) + W(Q_i) la_i
    equalities (62)          W^T V'_i + kappa_i = 0 for every law that holds
    complementarity (63)     0 <= W^T V'_i + kappa_i  _|_  la_i >= 0 for closed contacts, Coulomb's law on accelerations with them
    index 2                  W^T(Q_i) V_i + zeta = 0 instead, by shifts s_i of the accelerations, W^T V'_i + kappa_i + s_i = 0

Forces are eliminated in each stage. What is left is solved by a simplified Newton method for the accelerations V',

    (I - h A x J_u - h^2 A^2 x J_q B) dV' = r_u + h A x J_q r_q,     J = du'/d(q, u) by differences, kept as long as it serves;

half-explicit methods need one sweep. Iterations start from the slopes of the step before, continued as a polynomial. Where the tangent
has proved so good that one correction is enough, the slope at the end of the step, which the last stage shares, shows whether it was.
The shifts of the index-2 form follow from s <- s + A~^-1 gamma / h, where A~ takes accelerations of
stages to velocities of those that follow from them; each sweep gains a factor of h.

The embedded error of implicit methods is filtered, (I - h gamma J)^-1 err (Hairer & Wanner 1996, IV.8): stiff parts of the motion, which
the method damps, do not hold its steps down.
"""

from nonsmooth._core.jit import float64, int64, kernel, noinline, phase
from nonsmooth._core.records.scene import scene_at, state_at, state_reference
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, OK
from nonsmooth._core.stepping.event_capturing.index_2 import correct_shifts
from nonsmooth._core.stepping.event_capturing.newton import MOST_ITERATIONS, STALLED, newton
from nonsmooth._core.stepping.event_capturing.records import capture_at
from nonsmooth._core.stepping.event_capturing.stage import is_unloaded, stage
from nonsmooth._core.stepping.event_capturing.stage_states import end_of_step
from nonsmooth._core.stepping.event_capturing.tangent import tangent
from nonsmooth._core.stepping.event_driven.records import own_at
from nonsmooth._core.stepping.event_driven.stage_state import combine, time_of_stage

RESOLVED = 1e-15  # change of an iteration that is nothing but rounding ...


@kernel(int64(int64, int64, float64, float64), part=True)
def solve_stages(at_scene, at_begin, t, dt):
    """A step of the method into ``own.trial``; the slope at its end is stage `stages`. Stage 0 is known."""
    noinline()
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, capture = own_at(scene.at.own), capture_at(scene.at.control)
    status, s = OK, own.control.stages
    capture.control.unloaded = is_unloaded(scene.model, begin)
    capture.control.ended = 0
    if capture.control.index_2:
        for k in range(s + 1):
            for i in range(scene.model.size.n_rows):
                capture.shift[k, i] = 0.0
    if not capture.control.implicit:
        return explicit_sweeps(scene, own, capture, begin, at_scene, at_begin, t, dt)
    for attempt in range(2):
        if not capture.control.have_tangent:
            status = tangent(scene, own, capture, begin, at_scene, at_begin, t, dt)
            if status != OK:
                return status
            attempt = 1
        status = newton(scene, own, capture, begin, at_scene, at_begin, t, dt)
        if status == OK:
            break
        capture.control.have_tangent = 0
        capture.control.dt_before = 0.0  # their slopes do not tell those of this step
        if attempt == 1:
            return status
    return OK if capture.control.ended else end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt)


@phase
def explicit_sweeps(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """Half-explicit: one stage after the other; in the index-2 form again, until velocities hold."""
    s, before = own.control.stages, 1e300
    for _ in range(MOST_ITERATIONS):
        for k in range(0 if capture.control.index_2 else 1, s + 1):
            combine(scene.model.size, own, begin, dt, k, k)
            status = stage(
                at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, k), k
            )
            if status != OK:
                return status
        if not capture.control.index_2:
            return OK
        change = correct_shifts(scene, own, capture, begin, dt)
        if change <= RESOLVED or (change <= STALLED and change > 0.5 * before):
            return OK
        before = change
    return IMPLICIT_UNSOLVED
