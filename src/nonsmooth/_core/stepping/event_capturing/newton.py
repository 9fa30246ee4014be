"""Simplified Newton iterations for the accelerations of the stages,

    (I - h A x J_u - h^2 A^2 x J_q B) dV' = r_u + h A x J_q r_q

until the change, or what the rate of convergence leaves of it, is small beside the motion.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.elimination import lu_solve
from nonsmooth._core.records.scene import state_reference
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK
from nonsmooth._core.stepping.event_capturing.first_slopes import SAME, first_slopes
from nonsmooth._core.stepping.event_capturing.index_2 import correct_shifts
from nonsmooth._core.stepping.event_capturing.stage import free_stage, stage
from nonsmooth._core.stepping.event_capturing.stage_states import at_stage, end_of_step
from nonsmooth._core.stepping.event_capturing.tangent import factor
from nonsmooth._core.stepping.event_driven.sizes import KIND, relative
from nonsmooth._core.stepping.event_driven.stage_state import time_of_stage

MOST_ITERATIONS = 25
SLOW = 7  # iterations after which the tangent is made anew before the next step
STALLED = 1e-11  # ... and one that does not get smaller any more


@phase
def newton(scene, own, capture, begin, at_scene, at_begin, t, dt):
    """Simplified Newton iterations for the slopes of the stages 1 ... s - 1, into X."""
    control, s, size = capture.control, own.control.stages, scene.model.size
    first_slopes(own, capture, size, dt)
    if abs(dt - control.dt_factored) > SAME * dt and not factor(own, capture, size, dt):
        return IMPLICIT_UNSOLVED
    control.dt_factored = dt
    before = 1e300
    for iteration in range(MOST_ITERATIONS):
        for k in range(1, s):
            at_stage(scene.model, own, capture, begin, dt, k)
            if control.unloaded:
                status = free_stage(
                    at_scene, state_reference(own.trial), time_of_stage(scene, own, t, dt, k), k
                )
            else:
                status = stage(
                    at_scene, state_reference(own.trial), at_begin, time_of_stage(scene, own, t, dt, k), k
                )
            if status != OK:
                return status
        change = newton_change(scene.model, scene.work, own, capture, dt)
        if control.index_2:
            change = max(change, correct_shifts(scene, own, capture, begin, dt))
        if not change - change == 0.0:
            return NON_FINITE
        if iteration == 0 and change > control.newton and not control.index_2:
            if change * control.rate <= control.newton:
                status = end_of_step(scene, own, capture, begin, at_scene, at_begin, t, dt)
                if status == OK and end_is_right(size, own, capture, dt):
                    control.ended = 1
                    return OK
        rate = change / before
        small = change <= control.newton
        if iteration > 0 and rate < 1.0:
            small = small or change * rate / (1.0 - rate) <= control.newton
            control.rate = rate
        if small or (change <= STALLED and rate > 0.5):
            control.have_tangent = 1 if iteration < SLOW else 0
            return OK
        if rate > 2.0 and iteration > 1:
            break
        before = change
    return IMPLICIT_UNSOLVED


@phase
def newton_change(model, work, own, capture, dt):
    """One correction of the slopes; returns its size, relative to the motion."""
    size, s, rhs = model.size, own.control.stages, capture.rhs
    n_q, n_u = size.n_q, size.n_u
    # residuals stand in K
    for k in range(1, s):
        for i in range(n_q):
            own.K_q[k, i] -= capture.X_q[k, i]
        for i in range(n_u):
            own.K_u[k, i] -= capture.X_u[k, i]
    for k in range(1, s):
        for i in range(n_u):
            r = own.K_u[k, i]
            for m in range(n_q):
                x = 0.0
                for j in range(1, s):
                    x += own.A[k, j] * own.K_q[j, m]
                r += dt * capture.J_q[i, m] * x
            rhs[(k - 1) * n_u + i] = r
    lu_solve(capture.LU, capture.pivots, (s - 1) * n_u, rhs)
    worst, q_max, u_max = 0.0, 0.0, 0.0
    for i in range(n_q):
        q_max = max(q_max, own.scale[i])
    for i in range(n_u):
        u_max = max(u_max, own.scale[n_q + i])
    for k in range(1, s):
        for i in range(n_q):
            x = own.K_q[k, i]
            for m in range(n_u):
                if size.has_B or m == i:
                    v = 0.0
                    for j in range(1, s):
                        v += own.A[k, j] * rhs[(j - 1) * n_u + m]
                    x += dt * v * (work.B[i, m] if size.has_B else 1.0)
            capture.X_q[k, i] += x
            worst = max(worst, relative(dt * x, max(own.scale[i], KIND * q_max, dt * u_max)))
        for i in range(n_u):
            x = rhs[(k - 1) * n_u + i]
            capture.X_u[k, i] += x
            ruler = max(own.scale[n_q + i], KIND * u_max, KIND * q_max / dt, dt * abs(own.K_u[0, i]))
            worst = max(worst, relative(dt * x, ruler))
        for i in range(n_q):
            worst += capture.X_q[k, i] - capture.X_q[k, i]  # not a number, if one of them is not
    return worst


@phase
def end_is_right(size, own, capture, dt):
    """Whether the last stage, which is the end of the step, has the slope that was solved for."""
    s, u_max, worst = own.control.stages, 0.0, 0.0
    for i in range(size.n_u):
        u_max = max(u_max, own.scale[size.n_q + i])
    for i in range(size.n_u):
        ruler = max(own.scale[size.n_q + i], KIND * u_max, dt * abs(own.K_u[0, i]))
        worst = max(worst, relative(dt * (own.K_u[s, i] - capture.X_u[s - 1, i]), ruler))
    return worst <= capture.control.newton
