"""The motion of a generalized-alpha step: what it starts from, its functions at an iterate, and the changes of Newton's method.

    delta = delta^ + beta' y + M^-1 W (nu* - nu^),     v = v^ + gamma' y + M^-1 W (Lambda* - Lambda^),     M y = f(t_1, q_1, v)

see `step`. Linearised, with A = M + gamma' D + beta' K, K = d(M y - f)/d delta, D = -df/dv:

    A dy = -(M y - f) + K rho_delta + D rho_v        rho_delta = delta - (delta^ + ...), rho_v = v - (v^ + ...)
    d delta = -rho_delta + beta' dy,   d v = -rho_v + gamma' dy                      without a change of multipliers
    dy_s = -A^-1 (b K Z + c D Z)                     answer to slot s, which moves delta by b Z and v by c Z, Z = M^-1 W

Dropped from the matrix (and so found by iteration): the change of Z with q.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.derivatives.weighted_tangent import TANGENT
from nonsmooth._core.jit import caller, f8_1, f8_ro, float64, int64, kernel, phase, void
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, MASS_SINGULAR, NON_FINITE, OK
from nonsmooth._core.space.retract import RETRACT, space_at, to_unit_length
from nonsmooth._core.stepping.alpha.records import (
    GGL,
    LITERAL,
    PART,
    POSITION,
    PVV,
    P,
    alpha_at,
    first_velocity_slot,
)
from nonsmooth._core.stepping.phases import bounds_of_forces

#: Tangents of an iteration: as it was in the last one; the first one of a step; a new one.
KEPT, FIRST, FRESH = 0, 1, 2

# linear algebra and retraction are called at their addresses: linked in, they would be compiled again with every part
SOLVE, FACTORISE = void(int64, f8_1), int64(int64, f8_1)
FACTORISE_MASS = int64(int64, float64, f8_ro, f8_ro, f8_ro)
call_solve, call_factorise, call_mass = caller(SOLVE), caller(FACTORISE), caller(FACTORISE_MASS)
call_retract, call_tangent = caller(RETRACT), caller(TANGENT)


@phase
def weights_of(own, size, dt):
    """beta', gamma' and what slots reach, for a step of this length."""
    x, weights, slots = own.options, own.weights, own.slots
    share = (1.0 - x.alpha_f) / (1.0 - x.alpha_m)
    weights.dt = dt
    weights.beta = dt * dt * x.beta * share
    weights.gamma = dt * x.gamma * share
    together = weights.beta / weights.gamma  # of the forms with one multiplier
    for s in range(slots.row.size):
        slots.reach_v[s] = 1.0
        slots.reach_delta[s] = together
        slots.scale[s] = 1.0
        if slots.level[s] == POSITION:
            if x.form == P:
                slots.scale[s] = 1.0 / together
            else:
                slots.reach_v[s] = 0.0
                slots.reach_delta[s] = dt
                slots.scale[s] = 1.0 / dt
        elif x.form >= PVV:
            slots.reach_delta[s] = 0.5 * dt  # rows without a position level: half a step of what they do to v
    if x.form >= PVV:
        for s in range(slots.row.size):
            if slots.level[s] == POSITION:
                slots.reach_delta[first_velocity_slot(size) + slots.row[s]] = 0.0


@phase
def predict(own, begin, old, size, dt):
    """delta^, v^ and the totals of the smooth multipliers so far, (65j-o); the first iterate goes on as the last step."""
    x, it, rows, weights = own.options, own.it, own.rows, own.weights
    for j in range(size.n_u):
        a, w = it.a_0[j], it.w_0[j]
        rest = (x.alpha_f * w - x.alpha_m * a) / (1.0 - x.alpha_m)
        it.delta_hat[j] = dt * begin.u[j] + dt * dt * ((0.5 - x.beta) * a + x.beta * rest)  # erratum 1
        it.v_hat[j] = begin.u[j] + dt * ((1.0 - x.gamma) * a + x.gamma * rest)
        it.y[j] = old.y[j]
        it.delta[j] = it.delta_hat[j] + weights.beta * w
        it.v[j] = it.v_hat[j] + weights.gamma * w
    for i in range(size.n_rows):
        rows.nu_hat[i] = rows.La_hat[i] = 0.0
        if x.form >= PVV:
            eta = rows.eta_0[i]
            rest = (x.alpha_f * rows.lam_0[i] - x.alpha_m * eta) / (1.0 - x.alpha_m)
            rows.nu_hat[i] = dt * dt * ((0.5 - x.beta) * eta + x.beta * rest)
            rows.La_hat[i] = dt * ((1.0 - x.gamma) * eta + x.gamma * rest)


@phase
def move(at, kinematics, p, q, delta, t, q_mid, B, half, out):
    """out = retract(q, delta); with kinematics of the user by the midpoint rule, B taken half way."""
    space = space_at(at.space)
    if space.at.kinematics == 0:
        call_retract(at.retract, at.space, t, q, delta, p, out)
        return
    for j in range(delta.size):
        half[j] = 0.5 * delta[j]
    call_retract(at.retract, at.space, t, q, half, p, q_mid)
    call_matrix(kinematics, t, q_mid, delta, p, B)
    for i in range(q.size):
        out[i] = q[i] + dot(B[i], delta)
    for k in range(space.unit.size):
        if space.unit[k] >= 0:
            to_unit_length(out, space.unit[k])


@kernel(PART, part=True)
def evaluate(at_scene, at_state, t, moved):
    """Forces, mass, gaps, joints, directions and force bounds at the iterate, or (not `moved`) at the begin. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    if moved:
        move(
            own.at,
            scene.model.at.kinematics,
            scene.model.p,
            begin.q,
            own.it.delta,
            t,
            own.q_mid,
            own.B,
            own.it.tmp,
            own.q,
        )
    else:
        for i in range(begin.q.size):
            own.q[i] = begin.q[i]
        for j in range(begin.u.size):
            own.it.v[j] = begin.u[j]
    model, work, size, q, v = scene.model, scene.work, scene.model.size, own.q, own.it.v
    call_vector(model.at.force, t, q, v, model.p, work.h)
    check = 0.0
    for j in range(size.n_u):
        check += work.h[j] - work.h[j]
    if call_mass(own.at.factorise_mass, own.at.mass, t, q, v, model.p) != 0:
        return MASS_SINGULAR
    if size.n_rows > 0:
        if not (size.constant_W and own.weights.directions):
            call_matrix(model.at.directions, t, q, v, model.p, work.WT)
            own.weights.directions = 1
        if size.has_zeta:
            call_vector(model.at.zeta, t, q, v, model.p, work.zeta)
        if size.has_bounds:
            bounds_of_forces(model, work, t, q, v)
        if not (size.constant_M and size.constant_W):
            for i in range(size.n_rows):
                own.Z_known[i] = 0
    if size.n_N > 0:
        call_vector(model.at.gap, t, q, v, model.p, work.g)
    if size.n_joints > 0:
        call_vector(model.at.joints, t, q, v, model.p, own.g_J)
    return OK if check == 0.0 else NON_FINITE


@phase
def inverse_mass_row(at, WT, Z, Z_known, i):
    """Z_i = M^-1 W_i, where it is not known. (Helpers take the arrays they need: whole records are slow to compile.)"""
    if Z_known[i] == 0:
        for j in range(Z.shape[1]):
            Z[i, j] = WT[i, j]
        call_solve(at.solve, at.mass_factors, Z[i])
        Z_known[i] = 1


@phase
def add_times(row_start, columns, values, factor, x, out):
    """out += factor values x on the pattern of the tangent."""
    for i in range(out.size):
        s = 0.0
        for k in range(row_start[i], row_start[i + 1]):
            s += values[k] * x[columns[k]]
        out[i] += factor * s


@phase
def in_norm_of_mass(row_start, columns, M, x):
    """sqrt(x^T M x)."""
    total = 0.0
    for i in range(x.size):
        s = 0.0
        for k in range(row_start[i], row_start[i + 1]):
            s += M[k] * x[columns[k]]
        total += x[i] * s
    return abs(total) ** 0.5


@phase
def row_times(start, columns, WT, i, x):
    """Row i of W^T times x, on the pattern of W^T."""
    s = 0.0
    for k in range(start[i], start[i + 1]):
        s += WT[i, columns[k]] * x[columns[k]]
    return s


@phase
def residual(row_start, columns, M, K, y, rho, out):
    """out -= M y + K rho, both on the pattern of the tangent."""
    for i in range(out.size):
        s = 0.0
        for k in range(row_start[i], row_start[i + 1]):
            j = columns[k]
            s += M[k] * y[j] + K[k] * rho[j]
        out[i] -= s


@phase
def dot(x, y):
    """x^T y."""
    s = 0.0
    for j in range(x.size):
        s += x[j] * y[j]
    return s


@kernel(PART, part=True)
def change(at_scene, at_state, t, fresh):
    """The tangent at the iterate, unless that of the last iteration serves, and the changes of Newton's method with the multipliers as
    they are. Returns a status."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    it, weights, n_u = own.it, own.weights, scene.model.size.n_u
    status = newest_tangent(own, scene.model, t, fresh)
    if status != OK:
        return status
    defects(own, scene.model, scene.work.WT)
    for j in range(n_u):
        it.dy[j] = scene.work.h[j]
    residual(own.row_start, own.columns, own.M, own.K, it.y, it.ddelta, it.dy)
    if own.options.damped:
        add_times(own.row_start, own.columns, own.D, -1.0, it.dv, it.dy)
    call_solve(own.at.solve, own.at.factors, it.dy)
    for j in range(n_u):
        it.ddelta[j] += weights.beta * it.dy[j]
        it.dv[j] += weights.gamma * it.dy[j]
    return OK


@phase
def newest_tangent(own, model, t, fresh):
    """The tangent where it is asked for, and first of all, unless that of a linear model is kept. Returns a status.

    One that is kept may be old, but not its M: the residual is made of it.
    """
    it, at = own.it, own.at
    kept = own.options.linear and own.weights.cached == own.weights.dt
    if fresh == FRESH or (fresh == FIRST and not kept):
        return tangent(at, own.weights, it, own, model.p, t, fresh)
    if not model.size.constant_M:
        call_tangent(at.weigh, at.tangent, t, own.q, it.v, it.y, own.la, model.p, 1.0, 0.0, 0.0, own.M)
    return OK


@phase
def defects(own, model, WT):
    """-rho: from delta and v of the iterate to those that y and the multipliers make."""
    it, rows, slots, weights, Z, size = own.it, own.rows, own.slots, own.weights, own.Z, model.size
    for j in range(size.n_u):
        it.ddelta[j] = it.delta_hat[j] + weights.beta * it.y[j] - it.delta[j]
        it.dv[j] = it.v_hat[j] + weights.gamma * it.y[j] - it.v[j]
    for i in range(size.n_rows):
        if (rows.nu_hat[i] != 0.0 or rows.La_hat[i] != 0.0) and not left_alone(
            own, model.laws.link, i, size.n_N
        ):
            inverse_mass_row(own.at, WT, Z, own.Z_known, i)
            for j in range(size.n_u):
                it.ddelta[j] -= Z[i, j] * rows.nu_hat[i]
                it.dv[j] -= Z[i, j] * rows.La_hat[i]
    for s in range(slots.row.size):
        if slots.mu[s] != 0.0:
            i = slots.row[s]
            inverse_mass_row(own.at, WT, Z, own.Z_known, i)
            along = own.Z_0 if slots.level[s] == POSITION and own.options.form == GGL else Z
            for j in range(size.n_u):
                it.ddelta[j] += slots.reach_delta[s] * along[i, j] * slots.mu[s]
                it.dv[j] += slots.reach_v[s] * Z[i, j] * slots.mu[s]


@phase
def left_alone(own, link, i, n_N):
    """Whether what is remembered of an open contact goes on acting, as in (65f, i) read literally (erratum 10)."""
    l = own.law_of[i]
    contact = link[l] if link[l] >= 0 else l
    return own.options.smooth == LITERAL and contact < n_N and own.closed[contact] == 0


@phase
def tangent(at, weights, it, own, p, t, fresh):
    """M, K, D and the factors of A = M + gamma' D + beta' K; those of a linear model are kept. Returns a status."""
    q, v = own.q, it.v
    if own.options.linear and fresh != FRESH:
        t, q, v = 0.0, own.q_mid, it.tmp  # the same numbers whatever state it is asked at
        for i in range(q.size):
            q[i] = 0.0
        for j in range(v.size):
            v[j] = 0.0
    weights.cached = weights.dt
    for s in range(own.slots.row.size):
        own.slots.known[s] = 0
    for part in range(3):
        if part == 1 and not own.options.damped:
            continue
        values = own.M if part == 0 else (own.D if part == 1 else own.K)
        cM, cD, cK = 1.0 * (part == 0), 1.0 * (part == 1), 1.0 * (part == 2)
        call_tangent(at.weigh, at.tangent, t, q, v, it.y, own.la, p, cM, cD, cK, values)
    for k in range(own.values.size):
        own.values[k] = own.M[k] + weights.gamma * own.D[k] + weights.beta * own.K[k]
    return OK if call_factorise(at.factorise, at.factors, own.values) == 0 else IMPLICIT_UNSOLVED
