"""What the laws on position and velocity level say of an iterate, in the slots that take part (see `step`, `records`).

    0 <= g(q_1)                _|_  nu* >= 0           contacts that may close in the step; joints: g = 0
    0 <= gamma_1 + e gamma_0   _|_  Lambda* >= 0       contacts in A: closed on position level; friction, elements, joints: their laws

`levels` makes one contact problem of them.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.stepping.alpha.levels import SETS
from nonsmooth._core.stepping.alpha.measure import measure
from nonsmooth._core.stepping.alpha.motion import add_times, call_solve, inverse_mass_row, move, row_times
from nonsmooth._core.stepping.alpha.records import (
    ACCELERATION,
    AUGMENTED,
    BY_GAP,
    GGL,
    PART,
    POSITION,
    A,
    P,
    V,
    alpha_at,
    first_velocity_slot,
)


@phase
def begin_laws(own, model, begin, end):
    """Which contacts may close at all, before the first iteration."""
    slots, size = own.slots, model.size
    for l in range(size.n_laws):
        end.modes[l] = INACTIVE
        own.closed[l] = 1
        if model.laws.kind[l] == HALF_LINE:
            own.closed[l] = own.candidate[l] = 1 if begin.modes[l] == CONSTRAINT else 0
    for s in range(slots.row.size):
        slots.mu[s] = 0.0
        slots.acts[s] = 0
    for i in range(size.n_rows):
        end.P[i] = 0.0


@phase
def forecast(own, model, modes):
    """Smooth accelerations, multipliers and totals of Algorithm 1 before the first iteration: lambda~ goes on."""
    it, rows, slots, weights, size = own.it, own.rows, own.slots, own.weights, model.size
    for j in range(size.n_u):
        it.w[j] = it.w_0[j]
    for i in range(size.n_rows):
        rows.lam[i], rows.acts[i], rows.xi_lin[i] = rows.lam_0[i], 0.0, 0.0
    for l in range(size.n_laws):
        own.modes[l] = modes[l]
    for s in range(slots.row.size):
        i = slots.row[s]
        l = own.law_of[i]
        link = model.laws.link[l]
        if i < size.n_rows and own.closed[link if link >= 0 else l] == 1:
            slots.mu[s] = rows.La_hat[i] + weights.gamma * rows.lam[i]
            if slots.level[s] == POSITION:
                slots.mu[s] = slots.scale[s] * (rows.nu_hat[i] + weights.beta * rows.lam[i])


@kernel(PART, part=True)
def speak(at_scene, at_state, t, iteration):
    """What the laws say of the iterate: contacts that may close, xi of all slots that take part, the answer of the motion to each.

    Returns whether the iterate is no solution yet for sure; else ``weights.error`` says how good it is.
    """
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    more = False
    for l in range(scene.model.size.n_N):
        if scene.work.g[l] < 0.0 and own.candidate[l] == 0:
            own.candidate[l] = 1
            own.closed[l] = 1
            more = True
    if own.options.activation != AUGMENTED and (own.options.activation != BY_GAP or iteration == 0):
        act_by_gap(scene, own, begin, t)
    any_law = evaluate_slots(scene, own, t)
    if not own.options.exact:
        measure(own, begin, scene.work.WT, own.weights.dt)
    changed = own.weights.modes_changed and iteration < SETS
    return int(more or changed or own.options.exact or (any_law and iteration == 0))


@phase
def act_by_gap(scene, own, begin, t):
    """Contacts act on velocity level where a forecast gap is not positive: (37) with q* = retract(q_0, h v_0), or the smooth positions."""
    model, it, slots, g = scene.model, own.it, own.slots, scene.work.g
    for j in range(model.size.n_u):
        it.ahead[j] = own.weights.dt * begin.u[j] if own.options.activation == BY_GAP else it.delta[j]
    if own.options.activation != BY_GAP:
        for s in range(first_velocity_slot(model.size)):
            for j in range(model.size.n_u):
                it.ahead[j] -= slots.reach_delta[s] * own.Z[slots.row[s], j] * slots.mu[s]
    q = scene.between.q
    move(own.at, model.at.kinematics, model.p, begin.q, it.ahead, t, own.q_mid, own.B, it.tmp, q)
    ahead = scene.work.slack
    call_vector(model.at.gap, t, q, begin.u, model.p, ahead)
    for l in range(model.size.n_N):
        own.closed[l] = 1 if ahead[l] <= 0.0 else 0
        if own.closed[l] == 1 or g[l] < 0.0:
            own.candidate[l] = 1
        ahead[l] = 0.0


@phase
def takes_part(own, link, size, s):
    """Whether a slot takes part: which levels a form has, and which contacts may act."""
    form, i = own.options.form, own.slots.row[s]
    first_joint = size.n_rows - size.n_J
    if own.slots.level[s] == POSITION:
        return form != V and form != A and (s >= size.n_N or own.candidate[i] == 1)
    if form == P and (i < size.n_N or (i >= first_joint and i < first_joint + size.n_joints)):
        return False
    l = own.law_of[i]
    contact = link[l] if link[l] >= 0 else l
    return contact >= size.n_N or own.candidate[contact] == 1 or own.closed[contact] == 1


@phase
def evaluate_slots(scene, own, t):
    """xi at the iterate and the answer of the motion, of the slots that take part; returns whether there are any."""
    model, slots, size, it, rows = scene.model, own.slots, scene.model.size, own.it, own.rows
    WT, Z, some = scene.work.WT, own.Z, False
    for i in range(size.n_rows):
        rows.gamma_1[i] = scene.work.zeta[i] + row_times(own.W_start, own.W_columns, WT, i, it.v)
    if own.options.form == A:
        call_vector(model.at.kappa, t, own.q, it.v, model.p, rows.kappa)
        accelerations_of_iterate(slots, it, Z, own.weights.gamma)
    for s in range(first_velocity_slot(size) + size.n_rows):
        i = slots.row[s]
        slots.acts[s] = takes_part(own, model.laws.link, size, s)
        if not slots.acts[s]:
            slots.mu[s] = 0.0
            continue
        some = True
        inverse_mass_row(own.at, WT, Z, own.Z_known, i)
        slots.size[s] = abs(row_times(own.W_start, own.W_columns, WT, i, Z[i])) ** 0.5
        slots.xi[s] = rows.gamma_1[i]
        if slots.level[s] == POSITION:
            slots.xi[s] = slots.scale[s] * (scene.work.g[i] if s < size.n_N else own.g_J[s - size.n_N])
        elif slots.level[s] == ACCELERATION:
            acceleration = rows.kappa[i] + row_times(own.W_start, own.W_columns, WT, i, it.w)
            slots.xi[s] = own.weights.gamma * stabilised(own, size, i, acceleration)
        if not slots.known[s]:
            along = own.Z_0 if slots.level[s] == POSITION and own.options.form == GGL else Z
            answer(
                own.row_start,
                own.columns,
                own.K,
                own.D,
                slots.reach_delta[s],
                along[i],
                slots.reach_v[s],
                Z[i],
                slots.dy[s],
            )
            call_solve(own.at.solve, own.at.factors, slots.dy[s])
            slots.known[s] = own.options.linear and size.constant_W and size.constant_M
    return some


@phase
def answer(row_start, columns, K, D, b, along, c, Z, dy):
    """-(b K Z + c D Z), which A takes to dy_s."""
    for j in range(dy.size):
        dy[j] = 0.0
    add_times(row_start, columns, K, -b, along, dy)
    if c != 0.0:
        add_times(row_start, columns, D, -c, Z, dy)


@phase
def accelerations_of_iterate(slots, it, Z, gamma):
    """w = y + M^-1 W lambda, for laws on acceleration level."""
    for j in range(it.w.size):
        it.w[j] = it.y[j]
    for s in range(slots.row.size):
        if slots.mu[s] != 0.0:
            for j in range(it.w.size):
                it.w[j] += Z[slots.row[s], j] * slots.mu[s] / gamma


@phase
def stabilised(own, size, i, acceleration):
    """Baumgarte's form of a constraint on acceleration level, (71c)."""
    s = acceleration + own.options.baumgarte_1 * own.rows.gamma_1[i]
    j = i - (size.n_rows - size.n_J)
    return s + own.options.baumgarte_0 * own.g_J[j] if j >= 0 and j < size.n_joints else s
