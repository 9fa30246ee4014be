"""Laws that stay constraints through a main step are held at its end (a kernel of its own: only curved laws need it).

Extrapolation keeps W(t, q)^T u + zeta = 0 up to the tolerance of the step only, where W depends on q. A closed contact that
parts with a velocity of that size would be seen to open in the next short step, and its gap would drift. So the end of a
step is projected, in the norm of the mass matrix and by no more than the error it has anyway:

    position   q <- q - B M^-1 W (W^T M^-1 W)^-1 (g(t, q) - g_B)     gaps of closed contacts stay what they were
    velocity   u <- u - M^-1 W (W^T M^-1 W)^-1 (W^T u + zeta)        relative velocities of all held laws vanish

Rows that depend on others are left out: they are satisfied with them.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import caller, float64, int64, kernel, phase
from nonsmooth._core.linalg.small import cholesky
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, USER_SET
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import MASS_SINGULAR, OK
from nonsmooth._core.stepping.extrapolation.records import own_at
from nonsmooth._core.stepping.projection import correction, hold_row, shift

# hold(scene, t, limit)
HOLD = int64(int64, float64, float64)
call_hold = caller(HOLD)


@kernel(HOLD, part=True)
def hold(at_scene, t, limit):
    """Project the actual step, which ends at `t`; contacts whose gap changed by more than `limit` are let go.

    Returns a status.
    """
    scene = scene_at(at_scene)
    own = own_at(scene.at.own)
    model, work, state = scene.model, scene.work, own.actual.state
    if not any_held(model, own):
        return OK
    # position twice (what is left after the first is its square), then velocity
    for stage in range(3):
        if stage < 2 and evaluate(model, work, own, t) != OK:
            return MASS_SINGULAR
        if not held_rows(scene, own, stage == 2, limit):
            return OK  # not finite: the next step finds out why
        correction(scene)
        if stage == 2:
            for k in range(model.size.n_u):
                state.u[k] -= work.du[k]
        else:
            shift(model, work, state.q)
    return OK


@phase
def is_held(model, own, l):
    """Whether law `l` was and stays a constraint."""
    before, after = own.previous.state.modes[l], own.actual.state.modes[l]
    return before == CONSTRAINT and after == CONSTRAINT and model.laws.kind[l] != USER_SET


@phase
def any_held(model, own):
    """Whether there is anything to do."""
    for l in range(model.size.n_laws):
        if is_held(model, own, l):
            return True
    return False


@phase
def evaluate(model, work, own, t):
    """Gaps, mass, kinematics and directions at the end of the actual step."""
    q, u, size = own.actual.state.q, own.actual.state.u, model.size
    if size.n_N > 0:
        call_vector(model.at.gap, t, q, u, model.p, own.actual.gap)
    if not size.constant_M:
        call_matrix(model.at.mass, t, q, u, model.p, work.M)
        if cholesky(work.M, work.L, size.n_u) != 0:
            return MASS_SINGULAR
    if size.has_B:
        call_matrix(model.at.kinematics, t, q, u, model.p, work.B)
    call_matrix(model.at.directions, t, q, u, model.p, work.WT)
    if size.has_zeta:
        call_vector(model.at.zeta, t, q, u, model.p, work.zeta)
    return OK


@phase
def held_rows(scene, own, velocity, limit):
    """Matrix and residual of the held laws. Returns whether the residual is finite."""
    model, work, residual = scene.model, scene.work, scene.problem.rows.b
    laws, n_u = model.laws, model.size.n_u
    for l in range(model.size.n_laws):
        keep = is_held(model, own, l)
        change = 0.0
        if keep and laws.kind[l] == HALF_LINE:
            change = own.actual.gap[l] - own.previous.gap[l]
            keep = abs(change) <= limit
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            residual[i] = 0.0
            if keep:
                residual[i] = change
                if velocity:
                    residual[i] = work.zeta[i]
                    for k in range(n_u):
                        residual[i] += work.WT[i, k] * own.actual.state.u[k]
            hold_row(scene, i, keep)
            if not residual[i] - residual[i] == 0.0:
                return False
    return True
