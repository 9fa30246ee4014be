"""Stages of an explicit Runge-Kutta method in free flight, where no law carries a force:

    M u' = h,     q' = B u.

Inside the step they ask for forces and gaps only; relative velocities are not needed before its end, forces of laws not at all. Most
steps of impacting motion are of this kind, and their stages are most of its cost.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.laws import HALF_LINE
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.stepping.event_driven.sizes import INFINITY
from nonsmooth._core.stepping.event_driven.stage_state import combine, time_of_stage, velocities


@phase
def fly(scene, own, begin, t, dt):
    """All stages after stage 0, and the slope at the end of the step with the rates of the gaps there."""
    model, work, trial = scene.model, scene.work, own.trial
    at, size, p, q, u = model.at, model.size, model.p, trial.q, trial.u
    for k in range(1, own.control.stages + 1):
        combine(size, own, begin, dt, k, k)
        t_k = time_of_stage(scene, own, t, dt, k)
        if not size.constant_M:
            call_matrix(at.mass, t_k, q, u, p, work.M)
            if cholesky(work.M, work.L, size.n_u) != 0:
                return MASS_SINGULAR
        call_vector(at.force, t_k, q, u, p, work.h)
        if size.n_N > 0:
            call_vector(at.gap, t_k, q, u, p, work.g)
        if size.has_B:
            call_matrix(at.kinematics, t_k, q, u, p, work.B)
        solve_lower(work.L, work.h, work.du, size.n_u)
        solve_lower_transposed(work.L, work.du, own.K_u[k], size.n_u)
        if not keep_stage(model, work, own, u, k) == 0.0:
            return NON_FINITE
    return (
        OK if rates(scene, own, time_of_stage(scene, own, t, dt, own.control.stages)) == 0.0 else NON_FINITE
    )


@phase
def rates(scene, own, t):
    """Relative velocities at the end of the step, those of gaps as their rates. Returns zero if they are finite."""
    model, work, q, u = scene.model, scene.work, own.trial.q, own.trial.u
    at, size, check = model.at, model.size, 0.0
    if size.n_rows > 0 and not size.constant_W:
        call_matrix(at.directions, t, q, u, model.p, work.WT)
    if size.n_rows > 0 and size.has_zeta:
        call_vector(at.zeta, t, q, u, model.p, work.zeta)
    for i in range(size.n_rows):
        s = work.zeta[i]
        for j in range(size.n_u):
            s += work.WT[i, j] * u[j]
        own.gamma[i] = s
        check += s - s
    for l in range(size.n_laws):
        if model.laws.kind[l] == HALF_LINE:
            own.rate[l] = own.gamma[model.laws.row[l]]
    return check


@phase
def keep_stage(model, work, own, u, k):
    """q', power, gaps of stage `k`; forces of laws are none. Returns zero if the slopes are finite."""
    size = model.size
    check = velocities(size, work, u, own.K_q[k])
    own.power[k, 0], own.power[k, 1] = 0.0, 0.0
    for j in range(size.n_u):
        own.power[k, 0] += work.h[j] * u[j]
        check += own.K_u[k, j] - own.K_u[k, j]
    for i in range(size.n_rows):
        own.La[k, i] = 0.0
    for l in range(size.n_laws):
        own.phi[k, l] = work.g[l] - own.rest_gap[l] if model.laws.kind[l] == HALF_LINE else INFINITY
    return check
