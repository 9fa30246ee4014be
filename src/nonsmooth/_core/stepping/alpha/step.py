"""The nonsmooth generalized-alpha method: one step, compiled.

O. Bruls, V. Acary, A. Cardona, "On the constraints formulation in the nonsmooth generalized-alpha method", in: Advanced Topics in Nonsmooth
Dynamics, Springer 2018, eqs. (65) and (70)-(74), with errata 1 (h^2 (1/2 - beta)), 9 and 10. h is the step, W^T the paper's g_q:

    M v~' - W lambda~ = f(t_1, q_1, v_1)                         smooth motion                                              (65a)
    W^T v~' + kappa = 0 on S                                     see `smooth`                                               (65b, c)
    M U = W nu,       g(q_1) = 0 on A                            position correction                                        (65d-f)
    M J = W Lambda,   W^T v_1 + e W_0^T v_0 = 0 on B             velocity jump (the paper's W)                              (65g-i)
    delta = h v_0 + h^2 (1/2 - beta) a_0 + h^2 beta a_1 + U,     q_1 = retract(q_0, delta)                                  (65j)
    v_1 = v_0 + h (1 - gamma) a_0 + h gamma a_1 + J                                                                         (65k)
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) v~'_1 + alpha_f v~'_0                                                   (65l)
    Lambda* = Lambda + h (1 - gamma) eta_0 + h gamma eta_1,      nu* = nu + h^2 (1/2 - beta) eta_0 + h^2 beta eta_1         (65m, n)
    (1 - alpha_m) eta_1 + alpha_m eta_0 = (1 - alpha_f) lambda~_1 + alpha_f lambda~_0                                       (65o)

Laws hold for the totals: 0 <= g _|_ nu* >= 0 and 0 <= gamma_1 + e gamma_0 _|_ Lambda* >= 0 (erratum 10), with friction on
Lambda*. Written in totals the smooth multipliers drop out of positions and velocities: with y = M^-1 f,
beta' = h^2 beta (1 - alpha_f)/(1 - alpha_m), gamma' = h gamma (1 - alpha_f)/(1 - alpha_m),

    delta = delta^ + beta' y + M^-1 W (nu* - nu^)                v_1 = v^ + gamma' y + M^-1 W (Lambda* - Lambda^)

where delta^, v^, nu^, Lambda^ are known at the begin. So a step solves for y, nu*, Lambda* together (`motion`, `laws`; both
levels are one contact problem) and then for lambda~ and v~' at the state found (`smooth`): the same step as (65), equation by
equation, with its three multipliers per contact condensed once. Rows without a position level (friction,
nonholonomic) move delta by half a step of what they do to v_1.

Smooth forms: P (index 3) and V (index 2) have one multiplier, nu* = beta' lambda and Lambda* = gamma' lambda; A (index 1) the same
with the constraint on acceleration level, (71c); PV is (74), PV-GGL (73) with M(q_0) U = W(q_0) nu (as printed, without the mass, what
it does depends on units, and in millimetres it has no solution); PVA is (70).
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, LOWER, UPPER
from nonsmooth._core.records.scene import STEP, scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK, UNCONVERGED
from nonsmooth._core.stepping.alpha.laws import begin_laws, forecast, write_laws
from nonsmooth._core.stepping.alpha.motion import (
    FIRST,
    FRESH,
    KEPT,
    call_solve,
    left_alone,
    predict,
    row_times,
    weights_of,
)
from nonsmooth._core.stepping.alpha.records import (
    BROKEN,
    GGL,
    JUMPED,
    PART,
    PLAIN,
    PVA,
    PVV,
    STEADY,
    STRIKES,
    ZERO,
    alpha_at,
    call_part,
    first_velocity_slot,
    memory,
)
from nonsmooth._core.stepping.alpha.smooth import (
    AS_BEFORE,
    ON_VELOCITY_LEVEL,
    OUT,
    WITH_CONTACTS,
    WITH_JOINTS,
    free_accelerations,
    modes_at_start,
    terms_of,
)
from nonsmooth._core.stepping.books import book_gaps, book_solve, go_on_unsolved
from nonsmooth._core.stepping.phases import first_change

MAX_NEWTON = 40
ACCEPTED = 1e-9  # a change of this size that does not get smaller is rounding
STAGNANT = 1e-6  # ... and after many iterations with tangents of their own: stiff structures near rest, whose forces are rounding
LATE = 6  # from this iteration on every one has a tangent of its own
SLOW = 0.02  # an iteration that gains less asks for a new tangent
BLUR = 1e-15  # of a time: on which side of a breakpoint it lies
GENTLE = 1e-9  # of its terms: a relative velocity that is none
BEGIN, MOVED = 0, 1


@kernel(STEP, part=True)
def alpha_step(at_scene, at_state, t, dt):
    """One step of the nonsmooth generalized-alpha method."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    at, weights = own.at, own.weights
    t_1 = end_of_step(weights, t, dt)
    weights.scale = weights.residual = weights.rounding = 0.0
    weights.modes_changed = 0
    status = call_part(at.begin, at_scene, at_state, t, 0)  # a_0, lambda~_0; delta^, v^, nu^, Lambda^
    if status != OK:
        return status
    last, which = 1e300, FIRST
    for iteration in range(MAX_NEWTON):
        status = call_part(at.evaluate, at_scene, at_state, t_1, MOVED)  # M, f, g, W
        if (
            own.options.exact
            and iteration > 0
            and status == OK
            and not closes(own, scene.work.g, scene.model.size.n_N)
        ):
            return call_part(at.finish, at_scene, at_state, t, iteration)
        if status == OK:
            status = call_part(at.change, at_scene, at_state, t_1, which)  # A, dy, d delta, dv
        if status != OK:
            return status
        unsettled = call_part(at.speak, at_scene, at_state, t_1, iteration)  # xi, A^-1 of every slot
        limit = weights.scale * own.options.tol
        which = FRESH if iteration + 1 >= LATE or weights.error > SLOW * last else KEPT
        limit_of_rounding = (ACCEPTED if iteration < 2 * LATE else STAGNANT) * weights.scale
        limit_of_rounding = max(limit_of_rounding, weights.rounding)
        rounded = weights.error <= limit_of_rounding and not weights.error < 0.5 * last
        if not unsettled and (weights.error <= limit or rounded):
            settle(own)
            return call_part(at.finish, at_scene, at_state, t, iteration)  # lambda~, v~', a_1, books
        last = 1e300 if unsettled else weights.error
        status = call_part(at.levels, at_scene, at_state, t_1, iteration)  # nu*, Lambda*
        if status != OK and not (status == UNCONVERGED and scene.ask.accept):
            return status
    scene.info.residual = weights.error / max(weights.scale, 1e-300)
    return IMPLICIT_UNSOLVED


@phase
def settle(own):
    """The change of y that belongs to an iterate that stays: positions and velocities may be there before y is."""
    if not own.options.apart and own.at.jointed == 0:
        for j in range(own.it.y.size):
            own.it.y[j] += own.it.dy[j]


@phase
def end_of_step(weights, t, dt):
    """Where functions are evaluated at the end of the step: before a breakpoint, not on it, since they may jump there."""
    weights.dt, weights.t_1 = dt, t + dt
    if weights.t_1 >= weights.breaks - blur(t, dt):
        weights.t_1 = weights.breaks - blur(t, dt)
    return weights.t_1


@phase
def blur(t, dt):
    """A time that rounding hides."""
    return BLUR * (abs(t) + dt)


@phase
def begin_of_step(old, t, dt):
    """Where functions are evaluated at the begin of the step: behind a breakpoint."""
    return t + blur(t, dt) if old.jumped[0] == BROKEN else t


@phase
def starts_anew(old, x):
    """Whether accelerations and multipliers are made consistent: at a start, at breakpoints, and after jumps if asked for."""
    fresh = old.ready[0] == 0.0
    return (
        (fresh and (x.start != ZERO or x.restart))
        or (not fresh and old.jumped[0] == BROKEN)
        or (x.restart and old.jumped[0] != STEADY)
    )


@phase
def closes(own, g, n_N):
    """Whether a contact is closed that no one thought of."""
    for l in range(n_N):
        if g[l] < 0.0 and own.candidate[l] == 0:
            return True
    return False


@kernel(PART, part=True)
def begin_step(at_scene, at_state, t, _):
    """What the step starts from: accelerations and multipliers, remembered or (at a start, and where they are restarted, sec. 4.4)
    consistent; relative velocities; the prediction; which contacts may close. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    size, it, rows, x = scene.model.size, own.it, own.rows, own.options
    old = memory(begin.own, size.n_u, size.n_rows)
    weights_of(own, size, own.weights.dt)
    t = begin_of_step(old, t, own.weights.dt)
    status = call_part(own.at.evaluate, at_scene, at_state, t, BEGIN)
    if status != OK:
        return status
    for j in range(size.n_u):
        it.f_0[j] = scene.work.h[j]
    for i in range(size.n_rows):
        rows.gamma_0[i] = scene.work.zeta[i] + row_times(
            own.W_start, own.W_columns, scene.work.WT, i, begin.u
        )
        if x.form == GGL:
            for j in range(size.n_u):
                own.Z_0[i, j] = scene.work.WT[i, j]
            call_solve(own.at.solve, own.at.mass_factors, own.Z_0[i])
    for i in range(own.bounds_0.size):
        own.bounds_0[i] = scene.work.bounds[i]
    if starts_anew(old, x):
        status = consistent(at_scene, at_state, t, old.ready[0] == 0.0)
    else:
        recall(own, old)
    predict(own, begin, old, size, own.weights.dt)
    begin_laws(own, scene.model, begin, scene.end)
    if x.apart:
        forecast(own, scene.model, begin.modes)
    return status


@phase
def recall(own, old):
    """Accelerations and multipliers of the step before (zeros at a start); a_0, eta_0 belong to t + (alpha_m - alpha_f) dt."""
    it, rows = own.it, own.rows
    share = own.weights.dt / old.dt[0] if old.dt[0] > 0.0 else 1.0  # whatever dt was
    for j in range(it.w_0.size):
        it.w_0[j] = old.w[j]
        it.a_0[j] = old.a[j] if share == 1.0 else old.w[j] + share * (old.a[j] - old.w[j])
    for i in range(rows.lam_0.size):
        rows.lam_0[i] = old.lam[i]
        rows.eta_0[i] = old.eta[i] if share == 1.0 else old.lam[i] + share * (old.eta[i] - old.lam[i])


@phase
def consistent(at_scene, at_state, t, fresh):
    """v~'_0 and lambda~_0 by (38); a_0 and eta_0 the same at t + (alpha_m - alpha_f) h (erratum 11), or equal to them. Returns a status.

    The shift is mostly back in time, where functions need not exist: they are asked as far ahead, and what they say is mirrored.
    """
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    size, it, rows, x = scene.model.size, own.it, own.rows, own.options
    free_accelerations(own.at, scene.work.h, it.y)
    for l in range(size.n_laws):
        own.modes[l] = CONSTRAINT if fresh else begin.modes[l]
    status = OK
    if fresh:
        status = call_part(own.at.accelerate, at_scene, at_state, t, WITH_JOINTS)
        modes_at_start(own, scene.model, scene.work, begin.u)
    if status == OK:
        status = call_part(own.at.accelerate, at_scene, at_state, t, WITH_CONTACTS)
    for j in range(size.n_u):
        it.w_0[j] = it.a_0[j] = it.w[j]
    for i in range(size.n_rows):
        rows.lam_0[i] = rows.eta_0[i] = rows.lam[i]
    shift = abs(x.alpha_m - x.alpha_f) * own.weights.dt
    if x.start == PLAIN or shift == 0.0 or status != OK:
        return status
    look_ahead(it, begin.u, shift)
    status = call_part(own.at.evaluate, at_scene, at_state, t + shift, MOVED)
    if status == OK:
        free_accelerations(own.at, scene.work.h, it.y)
        status = call_part(own.at.accelerate, at_scene, at_state, t + shift, AS_BEFORE)
    mirror(it, rows, -1.0 if x.alpha_m < x.alpha_f else 1.0, it.w, rows.lam)
    return status


@phase
def look_ahead(it, u, shift):
    """Displacement and velocities a little later."""
    for j in range(u.size):
        it.delta[j] = shift * (u[j] + 0.5 * shift * it.w_0[j])
        it.v[j] = u[j] + shift * it.w_0[j]


@phase
def mirror(it, rows, side, w, lam):
    """a_0 and eta_0 from accelerations and multipliers a little later."""
    for j in range(w.size):
        it.a_0[j] = it.w_0[j] + side * (w[j] - it.w_0[j])
    for i in range(lam.size):
        rows.eta_0[i] = rows.lam_0[i] + side * (lam[i] - rows.lam_0[i])


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
