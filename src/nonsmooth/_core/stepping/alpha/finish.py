"""The end of a generalized-alpha step: impulses and modes, the smooth motion, what is remembered and shown, books (see `step`)."""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, LOWER, UPPER
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import NON_FINITE, OK
from nonsmooth._core.stepping.alpha.levels import write_laws
from nonsmooth._core.stepping.alpha.motion import left_alone
from nonsmooth._core.stepping.alpha.records import (
    JUMPED,
    PART,
    PVA,
    PVV,
    STEADY,
    STRIKES,
    alpha_at,
    call_part,
    first_velocity_slot,
    memory,
)
from nonsmooth._core.stepping.alpha.smooth import ON_VELOCITY_LEVEL, OUT, WITH_CONTACTS, terms_of
from nonsmooth._core.stepping.books import book_gaps, book_solve, go_on_unsolved
from nonsmooth._core.stepping.phases import first_change

GENTLE = 1e-9  # of its terms: a relative velocity that is none


@kernel(PART, part=True)
def finish_step(at_scene, at_state, t, newton):
    """The end of the step: impulses and modes, the smooth motion, what is remembered, books. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    model, size, it, end, info = scene.model, scene.model.size, own.it, scene.end, scene.info
    form, t_1, new = own.options.form, own.weights.t_1, memory(end.own, size.n_u, size.n_rows)
    check = 0.0
    for j in range(size.n_u):
        end.u[j] = it.v[j]
        new.y[j] = it.y[j]
        check += end.u[j] - end.u[j]
    for i in range(size.n_q):
        end.q[i] = own.q[i]
        check += end.q[i] - end.q[i]
    if check != 0.0:
        return NON_FINITE
    write_laws(own, model, end)
    for l in range(size.n_laws):
        own.modes[l] = end.modes[l]
    status = OK
    if form >= PVV and not own.options.apart:  # (there they are the iterate)
        asked = WITH_CONTACTS if form == PVA else ON_VELOCITY_LEVEL
        status = call_part(own.at.accelerate, at_scene, at_state, t_1, asked)
    elif form < PVV:
        if strikes(own, size, begin, end, scene.work):
            return STRIKES
        multipliers_of_impulses(own, end.P)
    if form == PVA and not own.options.apart:
        reversals(own, model, begin.modes, end.modes)
    status = go_on_unsolved(scene, status, t_1)
    if status != OK:
        return status
    remember(own, size, model.laws.link, end, new)
    new.ready[0], new.newton[0], new.dt[0] = 1.0, newton, own.weights.dt
    new.jumped[0] = jumped(own, size, begin, end)
    info.iterations = newton
    info.changed = first_change(model, begin, end)
    info.ready = 1
    if size.n_rows > 0:
        book_solve(scene.books, info, t_1)
    if scene.ask.books:
        keep_books(scene, own, new, t_1)
    return OK


@phase
def reversals(own, model, before, after):
    """What slipped, stands still at the end of the step and cannot hold on acceleration level slips on: the way its force says."""
    for l in range(model.size.n_N, model.size.n_laws):
        k = own.place_V[l]
        if k < 0 or model.laws.link[l] < 0 or after[l] != CONSTRAINT:
            continue
        if before[l] == UPPER or before[l] == LOWER:
            after[l] = own.problem.laws.mode[k]


@phase
def strikes(own, size, begin, end, work):
    """Whether a contact closes faster than two steps of its acceleration make it: an impact, which forms of one multiplier do not have."""
    it, rows, dt = own.it, own.rows, own.weights.dt
    start, columns = own.W_start, own.W_columns
    for l in range(size.n_N):
        if begin.modes[l] == CONSTRAINT or (end.modes[l] != CONSTRAINT and not work.g[l] < 0.0):
            continue
        pull = max(terms_of(start, columns, work.WT, l, it.w_0), terms_of(start, columns, work.WT, l, it.y))
        blur = GENTLE * (terms_of(start, columns, work.WT, l, begin.u) + abs(work.zeta[l]))
        if rows.gamma_0[l] < -(2.0 * dt * pull + blur):
            return True
    return False


@phase
def multipliers_of_impulses(own, P):
    """lambda = Lambda*/gamma' of the forms with one multiplier, and v' = y + M^-1 W lambda."""
    it, rows = own.it, own.rows
    for j in range(it.w.size):
        it.w[j] = it.y[j]
    for i in range(P.size):
        rows.lam[i] = P[i] / own.weights.gamma
        if rows.lam[i] != 0.0:
            for j in range(it.w.size):
                it.w[j] += own.Z[i, j] * rows.lam[i]


@phase
def remember(own, size, link, end, new):
    """What the next step starts from; U, W, Lambda, nu and the sets, as they are shown in results."""
    x, it, rows, slots, weights = own.options, own.it, own.rows, own.slots, own.weights
    carry_over(own, size, new)
    for j in range(size.n_u):
        new.U[j] = it.delta[j] - it.delta_hat[j] - weights.beta * it.w[j]
        new.W[j] = it.v[j] - it.v_hat[j] - weights.gamma * it.w[j]
    first = first_velocity_slot(size)
    for i in range(size.n_rows):
        alone = left_alone(own, link, i, size.n_N)
        new.La[i] = end.P[i] - weights.gamma * rows.lam[i] - (0.0 if alone else rows.La_hat[i])
        new.nu[i] = new.sets[i] = 0.0
        if slots.acts[first + i] and slots.place[first + i] >= 0:
            new.sets[i] = 2.0
        if x.form >= PVV and rows.acts[i] != OUT:
            new.sets[i] += 4.0
    for s in range(first):
        i = slots.row[s]
        if slots.acts[s]:
            new.nu[i] = slots.reach_delta[s] * slots.mu[s] - weights.beta * rows.lam[i]
            if not left_alone(own, link, i, size.n_N):
                new.nu[i] -= rows.nu_hat[i]
            if s >= size.n_N or own.closed[s] == 1:
                new.sets[i] += 1.0


@phase
def carry_over(own, size, new):
    """What the next step starts from: v~'_1 and lambda~_1, a_1 by (65l) and eta_1 by (65o)."""
    it, rows, f, m = own.it, own.rows, own.options.alpha_f, own.options.alpha_m
    share = 1.0 / (1.0 - m)
    for j in range(size.n_u):
        new.w[j] = it.w[j]
        new.a[j] = share * ((1.0 - f) * it.w[j] + f * it.w_0[j] - m * it.a_0[j])
    for i in range(size.n_rows):
        new.lam[i] = rows.lam[i]
        new.eta[i] = share * ((1.0 - f) * rows.lam[i] + f * rows.lam_0[i] - m * rows.eta_0[i])


@phase
def jumped(own, size, begin, end):
    """Whether the structure changed in the step, or a contact closed without resting: accelerations may have jumped."""
    for l in range(size.n_laws):
        if end.modes[l] != begin.modes[l]:
            return JUMPED
        if l < size.n_N and end.modes[l] == CONSTRAINT and own.rows.acts[l] == OUT:
            return JUMPED
    return STEADY


@phase
def keep_books(scene, own, new, t_1):
    """Worst gap; work of forces, 1/2 (f_0 + f_1) delta (exact where f is linear in q), and of laws, 1/2 (gamma_0 + gamma_1) P."""
    books, it, work, rows, size = scene.books, own.it, scene.work, own.rows, scene.model.size
    book_gaps(scene.model, work, books, t_1)
    forces, normal, friction, joints = 0.0, 0.0, 0.0, 0.0
    for j in range(it.delta.size):
        forces += 0.5 * (it.f_0[j] + work.h[j]) * it.delta[j]
    for i in range(size.n_rows):
        done = 0.5 * (rows.gamma_0[i] + rows.gamma_1[i]) * scene.end.P[i]
        if i < size.n_N:
            normal += done
        elif i < size.n_rows - size.n_J:
            friction += done
        else:
            joints += done
    new.work_forces[0], new.work_normal[0], new.work_friction[0], new.work_joints[0] = (
        forces, normal, friction, joints
    )  # fmt: skip
    books.work_forces += forces
    books.work_contacts += normal + friction + joints
