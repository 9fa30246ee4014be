"""Laws on position and velocity level in one contact problem, linearised at an iterate (see `step`).

    0 <= g(q_1)                _|_  nu* >= 0           contacts that may close in the step; joints: g = 0
    0 <= gamma_1 + e gamma_0   _|_  Lambda* >= 0       contacts in A: closed on position level; friction, elements, joints: their laws

xi_k = xi_k(iterate) + S_k (d delta, dv) + sum_l G_kl (mu_l - mu_l(iterate)), both levels together, so that the linear problem of an
iteration is solved exactly. A, which laws on velocity level act, follows from the solution and is found by solving again.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE, INACTIVE
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK, UNCONVERGED, ZERO_DIRECTION
from nonsmooth._core.stepping.alpha.motion import (
    add_times,
    call_solve,
    in_norm_of_mass,
    inverse_mass_row,
    move,
    row_times,
)
from nonsmooth._core.stepping.alpha.records import (
    ACCELERATION,
    AUGMENTED,
    BY_GAP,
    GGL,
    PART,
    POSITION,
    PVV,
    VELOCITY,
    A,
    P,
    V,
    alpha_at,
    first_velocity_slot,
)

SETS = 8  # solves within an iteration after which a law that acted once stays
ROUNDING = 1e-13  # part of the velocities that a residual of forces may move
ULPS = 2e-15  # rounding of a gap, of its terms
ACCEPTED_LAWS = 1e-8  # residual of an iteration's problem with which Newton's method goes on


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


@phase
def measure(own, begin, WT, dt):
    """How far the iterate is from a solution, and the velocities this is measured by, in the norm of M."""
    it, weights, slots = own.it, own.weights, own.slots
    row_start, columns, M = own.row_start, own.columns, own.M
    for j in range(it.v.size):
        it.tmp[j] = it.ddelta[j] / dt
    error = max(in_norm_of_mass(row_start, columns, M, it.dv), in_norm_of_mass(row_start, columns, M, it.tmp))
    if weights.scale == 0.0:  # of the first iterate
        weights.scale = reached(row_start, columns, M, begin.u, it, dt)
    weights.scale = max(weights.scale, in_norm_of_mass(row_start, columns, M, it.v))
    for s in range(slots.row.size):
        asked = slots.place[s] >= 0 or slots.level[s] == POSITION
        if slots.acts[s] and slots.level[s] == POSITION and slots.size[s] > 0.0:
            blur = rounding_of_row(own.W_start, own.W_columns, WT, slots.row[s], own.q)
            weights.rounding = max(weights.rounding, blur * slots.scale[s] / slots.size[s])
        if slots.acts[s] and asked and slots.size[s] > 0.0:
            error = max(error, abs(slots.xi[s] + slots.xi_0[s] - slots.xi_lin[s]) / slots.size[s])
    if weights.residual > ROUNDING * weights.scale:
        error = max(error, weights.residual / weights.forces * weights.scale)
    weights.error = error


@phase
def rounding_of_row(start, columns, WT, i, q):
    """What rounding can hide of a gap or joint: some units in the last place of its terms."""
    q_size, w_size = 0.0, 0.0
    for k in range(q.size):
        q_size = max(q_size, abs(q[k]))
    for k in range(start[i], start[i + 1]):
        w_size = max(w_size, abs(WT[i, columns[k]]))
    return ULPS * w_size * q_size


@phase
def reached(row_start, columns, M, u, it, dt):
    """Velocities at the begin, or what forces alone make of them in the step, at its begin (0 at a start) or end, if this is more."""
    for j in range(u.size):
        it.tmp[j] = dt * it.y[j]
    scale = max(in_norm_of_mass(row_start, columns, M, u), in_norm_of_mass(row_start, columns, M, it.tmp))
    for j in range(u.size):
        it.tmp[j] = dt * (it.y[j] + it.dy[j])
    return max(scale, in_norm_of_mass(row_start, columns, M, it.tmp))


@kernel(PART, part=True)
def solve_levels(at_scene, at_state, t, iteration):
    """Multipliers of both levels for this linearisation; which laws act is found with them. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    problem, info = own.problem, scene.info
    for again in range(2 * SETS):
        list_laws(own, scene.model, begin.modes)
        n, k = problem.count.laws, problem.count.rows
        status = assemble(own, scene.model.size, scene.work.WT, scene.work.bounds, info)
        if status != OK:
            return status
        info.residual = 0.0
        if k > 0:
            info.residual = call_solver(problem.at.solve, own.at.problem, own.weights.dt, n, k)
        if own.options.activation != AUGMENTED or own.options.form < PVV:
            break
        stay = again >= SETS or iteration >= SETS
        if not closed_again(own.slots, own.closed, problem.laws.mode, scene.model.size.n_N, stay):
            break
    take(own)
    return OK if info.residual <= max(problem.options.tol, ACCEPTED_LAWS) else UNCONVERGED


@phase
def list_laws(own, model, modes):
    """The table of the problem: positions of contacts and joints, then the laws on velocity level that act."""
    slots, size, active, n, k = own.slots, model.size, own.problem.laws, 0, 0
    for s in range(first_velocity_slot(size)):
        slots.place[s] = -1
        if slots.acts[s]:
            slots.place[s] = k
            slots.xi_0[s] = 0.0
            kind = HALF_LINE if s < size.n_N else FREE
            n, k = add_law(active, n, k, s if s < size.n_N else 0, kind, 1, CONSTRAINT)
    for l in range(size.n_laws):
        own.place_V[l] = -1
        s = first_velocity_slot(size) + model.laws.row[l]
        link = model.laws.link[l]
        acts = slots.acts[s] and own.closed[l] == 1 and (link < 0 or own.place_V[link] >= 0)
        for d in range(model.laws.dim[l]):
            slots.place[s + d] = k + d if acts else -1
            slots.xi_0[s + d] = model.laws.e[l] * own.rows.gamma_0[model.laws.row[l] + d]
            if slots.level[s + d] == ACCELERATION:
                slots.xi_0[s + d] = 0.0
        if acts:
            own.place_V[l] = n
            n, k = add_law(active, n, k, l, model.laws.kind[l], model.laws.dim[l], modes[l])
            active.link[n - 1] = own.place_V[link] if link >= 0 else -1
            active.mu[n - 1] = model.laws.mu[l]
    own.problem.count.laws, own.problem.count.rows = n, k


@phase
def add_law(active, n, k, l, kind, dim, mode):
    """One more law, n laws and k rows so far."""
    active.law[n], active.kind[n], active.row[n], active.dim[n], active.link[n] = l, kind, k, dim, -1
    active.mode[n] = mode
    active.mu[n] = active.e[n] = 0.0
    return n + 1, k + dim


@phase
def assemble(own, size, WT, bounds, info):
    """G and c of the listed laws, and their bounds. Returns a status."""
    problem, slots, it, weights = own.problem, own.slots, own.it, own.weights
    G, rows = problem.G, problem.rows
    for s in range(first_velocity_slot(size) + size.n_rows):
        k, i = slots.place[s], slots.row[s]
        if not slots.acts[s] or k < 0:
            continue
        level, start, columns = slots.level[s], own.W_start, own.W_columns
        moved = it.ddelta if level == POSITION else (it.dv if level == VELOCITY else it.dy)
        c = row_times(start, columns, WT, i, moved)
        c = slots.xi[s] + slots.xi_0[s] + c * (weights.gamma if level == ACCELERATION else slots.scale[s])
        for r in range(first_velocity_slot(size) + size.n_rows):
            m = slots.place[r]
            if not slots.acts[r] or (m < 0 and slots.mu[r] == 0.0):
                continue
            effect = row_times(start, columns, WT, i, slots.dy[r])
            if level == POSITION:
                along = own.Z_0 if slots.level[r] == POSITION and own.options.form == GGL else own.Z
                direct = row_times(start, columns, WT, i, along[slots.row[r]])
                effect = (weights.beta * effect + slots.reach_delta[r] * direct) * slots.scale[s]
            else:
                share = 1.0 if level == ACCELERATION else slots.reach_v[r]
                direct = row_times(start, columns, WT, i, own.Z[slots.row[r]])
                effect = weights.gamma * effect + share * direct
            c -= effect * slots.mu[r]
            if m >= 0:
                G[k, m] = effect
        rows.c[k], rows.P[k] = c, slots.mu[s]
        n, half = size.n_rows, 0.5 * weights.dt  # bounds of an impulse: the mean of those at both ends
        rows.lo[k], rows.hi[k] = (
            half * (own.bounds_0[i] + bounds[i]),
            half * (own.bounds_0[n + i] + bounds[n + i]),
        )
        if not (c - c == 0.0 and rows.lo[k] <= rows.hi[k]):
            return NON_FINITE
        if not G[k, k] > 0.0:
            info.law = own.law_of[i]
            info.residual = weights.error / max(weights.scale, 1e-300)
            return (
                IMPLICIT_UNSOLVED if slots.size[s] > 0.0 else ZERO_DIRECTION
            )  # the tangent leads astray, or there is no direction
    return OK


@phase
def closed_again(slots, closed, modes, n_N, stay):
    """A as the solution says, (55); returns whether it is another one. With `stay` laws that acted go on acting.

    (Position laws come first and have one row each: the place of a row is that of its law.)
    """
    another = False
    for l in range(n_N):
        now = 1 if slots.acts[l] and modes[slots.place[l]] == CONSTRAINT else 0
        if stay and closed[l] == 1:
            now = 1
        if now != closed[l]:
            closed[l] = now
            another = True
    return another


@phase
def take(own):
    """The iterate with the multipliers of the solution."""
    it, slots, rows, weights = own.it, own.slots, own.problem.rows, own.weights
    for s in range(slots.row.size):
        if not slots.acts[s]:
            continue
        k, i = slots.place[s], slots.row[s]
        new = rows.P[k] if k >= 0 else 0.0
        slots.xi_lin[s] = rows.xi[k] if k >= 0 else 0.0
        more = new - slots.mu[s]
        slots.mu[s] = new
        if more == 0.0:
            continue
        along = own.Z_0 if slots.level[s] == POSITION and own.options.form == GGL else own.Z
        for j in range(it.y.size):
            dy = slots.dy[s, j] * more
            it.dy[j] += dy
            it.ddelta[j] += slots.reach_delta[s] * along[i, j] * more + weights.beta * dy
            it.dv[j] += slots.reach_v[s] * own.Z[i, j] * more + weights.gamma * dy
    for j in range(it.y.size):
        it.y[j] += it.dy[j]
        it.delta[j] += it.ddelta[j]
        it.v[j] += it.dv[j]


@phase
def write_laws(own, model, end):
    """Impulses, the totals Lambda*, and modes of the step by row and law of the model."""
    slots, modes, size = own.slots, own.problem.laws.mode, model.size
    first = first_velocity_slot(size)
    for l in range(size.n_laws):
        s = first + model.laws.row[l]
        if slots.acts[s] and slots.place[s] >= 0:
            end.modes[l] = modes[own.place_V[l]]
    for s in range(slots.row.size):
        if slots.acts[s] and slots.place[s] >= 0 and (s >= first or own.options.form == P):
            end.P[slots.row[s]] = slots.mu[s]
            if s < first:
                end.modes[own.law_of[slots.row[s]]] = modes[slots.place[s]]
