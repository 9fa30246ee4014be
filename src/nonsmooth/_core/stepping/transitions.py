"""What happens at an instant at which a mode ends: impacts, and the modes that follow.

*Impact.* All contacts that touch take part (also those that would touch within the region of concurrency, the time by which
an instant is uncertain); Newton's law as in Moreau's rule with dt -> 0, with the library's contact problem (Studer et al. 2008, (17)-(19)):

    -(gamma^+ + e gamma^-) in N(P),   gamma^+ - gamma^- = G P

or, where it is asked for, Poisson's or the energetic hypothesis (`impact_process`).

*Modes.* Contacts that stay closed, elements that do not slip and joints are subject to the same laws one level higher, on forces and
accelerations: -(G la + c) in N(la), c = W^T M^-1 h + kappa. What slips has a force that follows from the others and is eliminated,
la_T = s mu la_N, which adds its columns to those of the normal forces.

*Accumulation.* A contact that would rebound to less than what is asked for, and whose acceleration brings it back, has come to rest; its
impacts accumulate at t* = t + 2 gamma^+ / (|a| (1 - e)), the sum of a geometric series. Contacts that are that close come to rest together.
"""

from nonsmooth._core.calls.late import late
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.linalg.small import solve_lower_transposed
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    DISK,
    FREE,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    LOWER,
    UPPER,
)
from nonsmooth._core.records.process import NEWTON
from nonsmooth._core.records.scene import STAYS_CLOSED, scene_at, state_at
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.books import ENERGY_GAIN, book_gain, kinetic_energy
from nonsmooth._core.stepping.phases import copy_state
from nonsmooth._core.stepping.smooth_motion import (
    AT_END,
    AT_STATE,
    KIND,
    SETTLE,
    call_at_end,
    call_at_state,
    call_settle,
    delassus,
    evaluate,
    forces,
    own_at,
    pulls,
    relative_accelerations,
)

# part of the tolerance that a rebound may have to count as rest
REST = 0.1
GRAZING = 100.0
SLOW = 1e-10  # part of the running size of velocities that is none
STOP = 10.0  # tolerances of the velocity with which a slip in two directions may pass by zero and count as stopped
NEARLY_ELASTIC = 0.9999
IDLE = 1e-11  # part of its terms that the acceleration of a contact may have and be none
ROUNDING = 1e-8  # accelerations this small beside former ones are left over from terms that cancel
SAME = 1e-6  # part of the largest acceleration by which two solutions may differ and still be one
JOINED = 2  # takes part in a transition because it comes to rest with others
GAP_ULPS = 8 * 2.220446049250313e-16


@phase
def touching(scene, own, begin, modes):
    """Which laws take part: contacts that are closed or about to close, what rests on them, elements, joints."""
    model, work, control = scene.model, scene.work, own.control
    laws = model.laws
    window = control.rtol * control.dt_smooth
    for l in range(model.size.n_laws):
        touches = 1
        if laws.kind[l] == HALF_LINE:
            rate = own.gamma[laws.row[l]]
            # (a start is known to the digits it is given with)
            near = max(work.slack[l] * (64.0 if control.at_start else 1.0), -rate * window)
            closed = modes[l] == CONSTRAINT or own.fired[l] or work.g[l] - own.rest_gap[l] <= near
            touches = 1 if closed else 0
        elif laws.link[l] >= 0:
            touches = own.touches[laws.link[l]]
        own.touches[l] = touches


@phase
def small(scene, own, l):
    """Relative velocity of law `l` that is none beside the velocities of the system."""
    model, i = scene.model, scene.model.laws.row[l]
    fastest, largest, short = 0.0, 0.0, 1e-3 * own.control.dt_max
    for j in range(model.size.n_u):
        fastest = max(fastest, own.scale[model.size.n_q + j])
    for j in range(model.size.n_u):
        # (what starts from rest has the velocity that its forces give it in a short time)
        u_j = max(own.scale[model.size.n_q + j], KIND * fastest, own.pull[j] * short)
        largest = max(largest, abs(scene.work.WT[i, j]) * u_j)
    return SLOW * largest


@phase
def approaching(scene, own):
    """Whether a contact that touches closes with some speed."""
    laws = scene.model.laws
    for l in range(scene.model.size.n_N):
        if own.touches[l] and own.gamma[laws.row[l]] < -small(scene, own, l):
            return True
    return False


@phase
def list_law(model, problem, l, a, n):
    """Law `l` of the model as number `a` of the problem, from row n on."""
    laws, active = model.laws, problem.laws
    problem.place[l] = a
    active.law[a], active.kind[a], active.row[a], active.dim[a] = l, laws.kind[l], n, laws.dim[l]
    active.link[a] = problem.place[laws.link[l]] if laws.link[l] >= 0 else -1
    active.mu[a] = laws.mu[l]
    problem.count.laws, problem.count.rows = a + 1, n + laws.dim[l]


@phase
def fill_matrix(scene, own):
    """G of the rows listed, with what slips eliminated: columns of normal forces carry their friction along."""
    model, problem, G_all = scene.model, scene.problem, scene.work.G_all
    laws, active = model.laws, problem.laws
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            i, k = laws.row[active.law[a]] + d, active.row[a] + d
            for b in range(problem.count.laws):
                for c in range(active.dim[b]):
                    problem.G[k, active.row[b] + c] = G_all[i, laws.row[active.law[b]] + c]
    for l in range(model.size.n_laws):
        if problem.place[l] >= 0 or laws.link[l] < 0 or own.mode[l] == INACTIVE:
            continue
        b = problem.place[laws.link[l]]
        if b < 0:
            continue
        for a in range(problem.count.laws):
            for d in range(active.dim[a]):
                i, k = laws.row[active.law[a]] + d, active.row[a] + d
                for c in range(laws.dim[l]):
                    problem.G[k, active.row[b]] += G_all[i, laws.row[l] + c] * friction_share(own, laws, l, c)


@phase
def friction_share(own, laws, l, d):
    """la_T / la_N of a law that slips."""
    if laws.dim[l] == 1:
        return laws.mu[l] if own.mode[l] == UPPER else -laws.mu[l]
    return -laws.mu[l] * own.slip[laws.row[l] + d]


@phase
def list_impulses(scene, own):
    """What touches, as a problem for impulses: -(gamma^+ + e gamma^-) in N(P). Returns how many laws and rows there are."""
    model, problem = scene.model, scene.problem
    laws, active, rows = model.laws, problem.laws, problem.rows
    a, n = 0, 0
    problem.count.laws, problem.count.rows = 0, 0
    for l in range(model.size.n_laws):
        kind = laws.kind[l]
        problem.place[l] = -1
        if kind == INTERVAL or kind == DISK or not own.touches[l]:
            continue  # forces that are bounded make no impulse
        list_law(model, problem, l, a, n)
        for d in range(laws.dim[l]):
            i = laws.row[l] + d
            rows.gamma_B[n + d] = own.gamma[i]
            rows.gamma_F[n + d] = own.gamma[i]
            rows.P[n + d] = 0.0
            active.e[a] = laws.e[l]
            active.mode[a] = CONSTRAINT
        n += laws.dim[l]
        a += 1
    fill_impulse_matrix(scene)
    for b in range(a):
        for d in range(active.dim[b]):
            k = active.row[b] + d
            rows.c[k] = (1.0 + active.e[b]) * rows.gamma_B[k]
            rows.lo[k], rows.hi[k] = 0.0, 0.0
    return a, n


@phase
def impact(scene, own, end, at_scene, at_problem):
    """Impulses and velocities after them. Returns a status."""
    model, work, problem = scene.model, scene.work, scene.problem
    laws, active, rows, n_u = model.laws, problem.laws, problem.rows, model.size.n_u
    a, n = list_impulses(scene, own)
    if own.control.restitution != NEWTON:
        part = late(own.at.process)
        if part == 0 or call_settle(part, at_scene, a, n) != OK:
            return NO_SOLUTION
    elif not solved(scene, at_problem, a, n):
        return NO_SOLUTION
    for k in range(n_u):
        work.du[k] = 0.0
    for b in range(a):
        for d in range(active.dim[b]):
            i = laws.row[active.law[b]] + d
            end.P[i] += rows.P[active.row[b] + d]
            for k in range(n_u):
                work.du[k] += work.Y[i, k] * rows.P[active.row[b] + d]
    solve_lower_transposed(work.L, work.du, work.du, n_u)
    for k in range(n_u):
        end.u[k] += work.du[k]
    return OK


@phase
def solved(scene, at_problem, n_laws, n_rows):
    """Solve the problem that is listed; whether that went well."""
    residual = call_solver(scene.problem.at.solve, at_problem, 1.0, n_laws, n_rows)
    scene.info.residual = max(scene.info.residual, residual)
    scene.info.iterations += scene.problem.count.iterations
    return residual <= scene.problem.options.tol


@phase
def fill_impulse_matrix(scene):
    """G of the rows listed."""
    model, problem, G_all = scene.model, scene.problem, scene.work.G_all
    laws, active = model.laws, problem.laws
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            for b in range(problem.count.laws):
                for c in range(active.dim[b]):
                    problem.G[active.row[a] + d, active.row[b] + c] = G_all[
                        laws.row[active.law[a]] + d, laws.row[active.law[b]] + c
                    ]


@phase
def book_impact(scene, begin, end):
    """Work of the impulses, and energy made by the impact law."""
    model, work, problem, books = scene.model, scene.work, scene.problem, scene.books
    active, rows = problem.laws, problem.rows
    made, worst, worst_law = 0.0, 0.0, -1
    for a in range(problem.count.laws):
        here = 0.0
        for d in range(active.dim[a]):
            k = active.row[a] + d
            gamma_E = rows.xi[k] - active.e[a] * rows.gamma_B[k]
            here += 0.5 * (gamma_E + rows.gamma_B[k]) * rows.P[k]
            books.work_contacts -= rows.P[k] * work.zeta[model.laws.row[active.law[a]] + d]
        made += here
        books.work_contacts += here
        if here > worst:
            worst, worst_law = here, active.law[a]
    if made > 0.0:
        T_B = kinetic_energy(work.M, begin.u, model.size.n_u)
        T_E = kinetic_energy(work.M, end.u, model.size.n_u)
        if made > ENERGY_GAIN * (T_B + T_E):
            book_gain(books, made, T_B, T_E, worst_law, scene.info.t_new)


@phase
def classify(scene, own, begin, after_impact):
    """Modes to start from: what moves is open or slips; what does not is left to the acceleration problem (CONSTRAINT)."""
    model = scene.model
    laws, size = model.laws, model.size
    for l in range(size.n_laws):
        kind, i = laws.kind[l], laws.row[l]
        own.mode[l] = INACTIVE
        if not own.touches[l]:
            continue
        limit = small(scene, own, l)
        if kind == HALF_LINE:
            stays = begin.modes[l] == CONSTRAINT and not after_impact
            own.mode[l] = CONSTRAINT if stays or own.gamma[i] <= limit else INACTIVE
        elif laws.link[l] >= 0 and own.mode[laws.link[l]] != CONSTRAINT:
            continue
        elif kind == FREE:
            own.mode[l] = CONSTRAINT
        else:
            own.mode[l] = slip_or_stick(
                own, laws, l, limit, begin.modes[l], after_impact, own.control.at_start
            )
            own.size[l] = limit


@phase
def slip_or_stick(own, laws, l, limit, mode, after_impact, at_start):
    """Mode of friction: the sign of its slip, or CONSTRAINT where there is none."""
    i, s = laws.row[l], 0.0
    for d in range(laws.dim[l]):
        s += own.gamma[i + d] ** 2
    stuck = mode == CONSTRAINT or own.fired[l]
    if laws.dim[l] == 2 and mode != CONSTRAINT and s**0.5 > STOP * own.control.rtol / SLOW * limit:
        stuck = False  # the slip has turned around without stopping
    still = s**0.5 <= limit or (stuck and not after_impact and not at_start)
    if still:
        return CONSTRAINT
    if laws.dim[l] == 2:
        for d in range(2):
            own.slip[i + d] = own.gamma[i + d] / s**0.5
        return UPPER
    return LOWER if own.gamma[i] > 0.0 else UPPER


@phase
def fixed_force(own, work, laws, l, d, n):
    """Force of an element that slips under a given bound."""
    i = laws.row[l]
    if laws.kind[l] == INTERVAL:
        return work.bounds[n + i] if own.mode[l] == UPPER else work.bounds[i]
    return -work.bounds[n + i] * own.slip[i + d]


@phase
def new_modes(scene, own, at_problem):
    """Accelerations decide what opens, sticks and begins to slip. `rows.c` holds c of all rows of the model.

    Leaves the modes in ``own.mode``; returns a status.
    """
    model, work, problem = scene.model, scene.work, scene.problem
    laws, active, rows, n_all = model.laws, problem.laws, problem.rows, model.size.n_rows
    c_all = rows.best  # free until the solver is called
    for i in range(n_all):
        c_all[i] = rows.c[i]
    a, n = 0, 0
    problem.count.laws, problem.count.rows = 0, 0
    for l in range(model.size.n_laws):
        problem.place[l] = -1
        if own.mode[l] == CONSTRAINT:
            list_law(model, problem, l, a, n)
            active.mode[a], active.e[a] = CONSTRAINT, 0.0
            n += laws.dim[l]
            a += 1
    if a == 0:
        return OK
    fill_matrix(scene, own)
    for b in range(a):
        l = active.law[b]
        for d in range(active.dim[b]):
            i, k = laws.row[l] + d, active.row[b] + d
            s = c_all[i]
            for m in range(model.size.n_laws):
                bounded = laws.kind[m] == INTERVAL or laws.kind[m] == DISK
                if bounded and own.mode[m] != CONSTRAINT:
                    for e in range(laws.dim[m]):
                        s += work.G_all[i, laws.row[m] + e] * fixed_force(own, work, laws, m, e, n_all)
            own.allowed[k] = s
            rows.lo[k], rows.hi[k] = work.bounds[i], work.bounds[n_all + i]
    if not accelerations(scene, own, at_problem, a, n):
        return NO_SOLUTION
    for b in range(a):
        if is_idle(scene, own, b):
            keep_closed(scene, b)
    for i in range(n_all):
        own.allowed[i] = 0.0
    for b in range(a):
        l = active.law[b]
        own.mode[l] = active.mode[b]
        for d in range(active.dim[b]):
            own.allowed[laws.row[l] + d] = rows.P[active.row[b] + d]
        if active.dim[b] == 2 and active.mode[b] == UPPER:
            i, k = laws.row[l], active.row[b]
            s = (rows.P[k] ** 2 + rows.P[k + 1] ** 2) ** 0.5
            for d in range(2):
                own.slip[i + d] = -rows.P[k + d] / s if s > 0.0 else 0.0
    for l in range(model.size.n_laws):
        if laws.kind[l] == HALF_LINE and own.mode[l] != CONSTRAINT:
            own.mode[l] = INACTIVE
    for l in range(model.size.n_laws):
        if laws.link[l] >= 0 and own.mode[laws.link[l]] != CONSTRAINT:
            own.mode[l] = INACTIVE
    return OK


@phase
def is_idle(scene, own, b):
    """Whether the solver opened a contact that neither presses nor parts, but for rounding (bodies that fall side by side)."""
    laws, active, rows, apart = scene.model.laws, scene.problem.laws, scene.problem.rows, 0.0
    if active.kind[b] != HALF_LINE or active.mode[b] == CONSTRAINT:
        return False
    for k in range(scene.model.size.n_u):
        apart = max(apart, abs(scene.work.WT[laws.row[active.law[b]], k]) * own.pull[k])
    return rows.xi[active.row[b]] <= IDLE * apart


@phase
def keep_closed(scene, b):
    """An idle contact stays closed: opened by rounding it would strike by itself where it should do so with others. Its friction is none:
    what begins to slip does."""
    active, rows = scene.problem.laws, scene.problem.rows
    active.mode[b] = CONSTRAINT
    for f in range(scene.problem.count.laws):
        if active.link[f] != b or active.mode[f] != CONSTRAINT:
            continue
        k = active.row[f]
        if active.dim[f] == 1:
            active.mode[f] = LOWER if rows.xi[k] > 0.0 else UPPER
        else:
            active.mode[f] = UPPER
            for d in range(2):
                rows.P[k + d] = -rows.xi[k + d]


@phase
def accelerations(scene, own, at_problem, a, n):
    """Solve the problem that is listed, with c in ``own.allowed``; whether that went well.

    With friction there may be several solutions (Painleve): it is solved from closed and from open contacts. If both differ, the one with
    open contacts is taken, and counted.
    """
    rows, kept, differs, rough = scene.problem.rows, own.acceleration, False, False
    for l in range(scene.model.size.n_laws):
        rough = rough or (scene.model.laws.link[l] >= 0 and own.mode[l] != INACTIVE)
    opens = rough and solved_from(scene, own.allowed, LOWER, at_problem, a, n)
    for k in range(n):
        kept[k] = rows.xi[k]
    closes = solved_from(scene, own.allowed, CONSTRAINT, at_problem, a, n)
    if opens and closes:
        largest = 0.0
        for k in range(n):
            largest = max(largest, abs(own.allowed[k]))
        for k in range(n):
            differs = differs or abs(rows.xi[k] - kept[k]) > SAME * largest
    if differs and not own.control.at_start:  # (of a start the model itself is asked, for all schemes)
        own.control.ambiguous += 1
        own.control.t_ambiguous = scene.info.t_new
    if opens and (differs or not closes):
        return solved_from(scene, own.allowed, LOWER, at_problem, a, n)
    return closes


@phase
def solved_from(scene, c, mode, at_problem, a, n):
    """Solve the problem that is listed with that c, starting from that mode of its contacts; whether that went well."""
    rows, active = scene.problem.rows, scene.problem.laws
    for k in range(n):
        rows.c[k], rows.P[k] = c[k], 0.0
    for b in range(a):
        active.mode[b] = mode if active.kind[b] == HALF_LINE else CONSTRAINT
    return solved(scene, at_problem, a, n)


@phase
def coming_to_rest(scene, own, t):
    """Contacts whose rebound is less than what is asked for, and that come back: they touch plastically. Returns how many, and
    the instant at which the impacts accumulate.

    Asked when the accelerations with these contacts open are known.
    """
    laws = scene.model.laws
    count, t_star, n = 0, t, scene.model.size.n_N
    for l in range(n):
        own.resting[l] = 1 if rebounds_low(scene, own, l) else 0
    # impacts go on as long as they can be told apart where the segment ends before they do, or where another contact that acts on
    # this one closes before; not where all of these come to rest: what their impulses sum up to does not depend on their order
    changed = True
    while changed:
        changed = False
        for l in range(n):
            if own.resting[l] and told_apart(scene, own, l):
                left = time_of_impacts(own, laws, l)
                if t + left > scene.ask.t_stop or disturbed(scene, own, l, left):
                    own.resting[l] = 0
                    changed = True
    for l in range(n):
        if own.resting[l]:
            count += 1
            t_star = max(t_star, t + time_of_impacts(own, laws, l))
    return count, t_star


@phase
def rebounds_low(scene, own, l):
    """Whether a contact that does not stay closed comes back, from less than the height that counts."""
    laws = scene.model.laws
    gamma, a = own.gamma[laws.row[l]], own.acceleration[laws.row[l]]
    if own.mode[l] == CONSTRAINT or not a < 0.0 or laws.e[l] > NEARLY_ELASTIC:
        return False
    height = rest_height(scene, own, l)
    return scene.work.g[l] <= height and gamma * gamma <= 2.0 * height * -a


@phase
def told_apart(scene, own, l):
    """Whether a rebound is higher than what rounding hides of the gap."""
    i = scene.model.laws.row[l]
    return own.gamma[i] * own.gamma[i] > -2.0 * own.acceleration[i] * 64.0 * scene.work.slack[l]


@phase
def time_of_impacts(own, laws, l):
    """How long the impacts of a contact go on."""
    i = laws.row[l]
    gamma, a = own.gamma[i], own.acceleration[i]
    return 2.0 * gamma / (-a * (1.0 - laws.e[l])) if gamma > 0.0 else 0.0


@phase
def disturbed(scene, own, l, left):
    """Whether an open contact that acts on contact `l`, and does not come to rest with it, closes (in uniformly accelerated motion)
    before that time is over."""
    laws, work = scene.model.laws, scene.work
    for m in range(scene.model.size.n_N):
        if m == l or own.resting[m] or own.mode[m] == CONSTRAINT or not acts_on(scene, l, m):
            continue
        g, gamma, a = max(work.g[m], 0.0), own.gamma[laws.row[m]], own.acceleration[laws.row[m]]
        if g + left * (gamma + 0.5 * a * left) < 0.0:
            return True
    return False


@phase
def acts_on(scene, l, m):
    """Whether impulses of contact m, or of its friction, change the relative velocities of contact l or of its friction."""
    laws, G = scene.model.laws, scene.work.G_all
    for a in range(scene.model.size.n_laws):
        for b in range(scene.model.size.n_laws):
            if (a == l or laws.link[a] == l) and (b == m or laws.link[b] == m):
                for i in range(laws.row[a], laws.row[a] + laws.dim[a]):
                    for j in range(laws.row[b], laws.row[b] + laws.dim[b]):
                        if G[i, j] ** 2 > 1e-24 * G[i, i] * G[j, j]:
                            return True
    return False


@phase
def rest_height(scene, own, l):
    """Height of a rebound that is nothing beside the accuracy asked for."""
    return max(REST * own.control.rtol * own.gap_max[l], 64.0 * scene.work.slack[l])


@kernel(AT_STATE, part=True)
def transition(at_scene, at_begin, t):
    """The state and the modes after the instant t; returns a status. The new state is left in ``scene.end``."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own, model, info, end = own_at(scene.at.own), scene.model, scene.info, scene.end
    copy_state(begin, end)
    for i in range(model.size.n_rows):
        end.P[i] = 0.0
    info.residual, info.iterations, info.t_new, info.dt = 0.0, 0, t, 0.0
    status = call_at_end(own.at.look, at_scene, t)
    if status != OK:
        return status
    touching(scene, own, begin, begin.modes)
    hit = approaching(scene, own)
    if own.control.at_start and hit:
        return open_start(scene, own)
    if hit:
        status = strike(scene, own, begin, at_scene, t)
        if status != OK:
            return status
    for l in range(model.size.n_laws):
        own.jammed[l] = 0
    status = call_settle(own.at.settle, at_scene, at_begin, hit)
    if status == NO_SOLUTION and not own.control.strict:
        if own.control.at_start:
            return sliding_start(scene, own)
        status = call_at_state(own.at.jam, at_scene, at_begin, t)
    elif status == OK and hit:
        status = call_at_state(own.at.rest, at_scene, at_begin, t)
    if status != OK:
        return status
    note(scene, own, begin, hit, t)
    return status


@kernel(AT_END, part=True)
def look(at_scene, t):
    """Everything that a transition asks about the state in ``scene.end``."""
    scene = scene_at(at_scene)
    own, state = own_at(scene.at.own), scene.end
    own.slip_0[:] = 0.0
    status = evaluate(scene, own, t, state.q, state.u)
    if status == OK:
        delassus(scene, own)
        pulls(own, scene.work.L, scene.work.du, scene.work.u_free, 1.0)
        for l in range(scene.model.size.n_N):
            scene.work.slack[l] = rounding_of_gap(scene, own, state, l, t)
    return status


@phase
def rounding_of_gap(scene, own, state, l, t):
    """What rounding can hide of a gap: some units in the last place of its terms, and of what it moves between two instants.

    Coordinates keep the rounding of the largest values they have had: what fell by a metre onto the origin is there to 1e-16 m.
    """
    q_size, w_size = 0.0, 0.0
    for k in range(scene.model.size.n_q):
        q_size = max(q_size, own.scale[k], abs(state.q[k]))
    for k in range(scene.model.size.n_u):
        w_size = max(w_size, abs(scene.work.WT[l, k]))
    return GAP_ULPS * (abs(scene.work.g[l]) + w_size * q_size + abs(own.gamma[l] * t))


@phase
def stop_rebound(scene, own, begin, at_scene, t):
    """Contacts that come to rest, and laws that hold already, lose their relative velocities: by what the impacts still to come would
    have given beyond the force of a contact that lasts, sum P_N = N (t* - t) - m gamma^+. What slips has its friction, mu P_N, with it."""
    model, work, end, c, la = scene.model, scene.work, scene.end, scene.problem.rows.c, own.La[0]
    laws, n_u = model.laws, model.size.n_u
    for l in range(model.size.n_laws):
        if own.resting[l]:
            own.mode[l] = CONSTRAINT
        elif laws.link[l] >= 0 and own.resting[laws.link[l]]:
            own.mode[l] = slip_or_stick(own, laws, l, small(scene, own, l), begin.modes[l], True, False)
    for i in range(model.size.n_rows):
        c[i] = own.gamma[i]
    forces(scene, own, own.mode, la, True)
    for k in range(n_u):
        work.du[k] = 0.0
        for i in range(model.size.n_rows):
            work.du[k] += work.Y[i, k] * la[i]
    solve_lower_transposed(work.L, work.du, work.du, n_u)
    for i in range(model.size.n_rows):
        end.P[i] += la[i]
    for k in range(n_u):
        end.u[k] += work.du[k]
    return call_at_end(own.at.look, at_scene, t)


@phase
def strike(scene, own, begin, at_scene, t):
    """An impact, and everything at the state after it."""
    status = impact(scene, own, scene.end, at_scene, scene.at.problem)
    if status != OK:
        return status
    book_impact(scene, begin, scene.end)
    return call_at_end(own.at.look, at_scene, t)


@phase
def open_start(scene, own):
    """A start at which an impact happens: first the modes before it."""
    model = scene.model
    for l in range(model.size.n_laws):
        mode = CONSTRAINT
        if model.laws.kind[l] == HALF_LINE or model.laws.link[l] >= 0:
            mode = INACTIVE
        own.mode[l] = mode
        scene.end.modes[l] = mode
        own.fired[l] = 0
    own.control.at_start = 0
    return OK


@phase
def overlap(work, l):
    """Gap of a contact that closes, where it is below zero by more than rounding."""
    return work.g[l] if work.g[l] < -work.slack[l] else 0.0


@phase
def sliding_start(scene, own):
    """A start from which no forces lead on: first the modes before the impulse that does."""
    for l in range(scene.model.size.n_laws):
        scene.end.modes[l] = own.mode[l]
        own.fired[l] = 0
        if l < scene.model.size.n_N and own.mode[l] == CONSTRAINT:
            own.rest_gap[l] = overlap(scene.work, l)
    own.control.at_start = 0
    return OK


@kernel(SETTLE, part=True)
def settle(at_scene, at_begin, hit):
    """The modes at this state: those that just ended are left behind, the rest follows from accelerations."""
    scene, begin = scene_at(at_scene), state_at(at_begin)
    own = own_at(scene.at.own)
    status = OK
    for leaving in range(1, -1, -1):
        classify(scene, own, begin, hit)
        if leaving and (hit or not leave_modes(scene, own, begin)):
            continue
        status = new_modes(scene, own, scene.at.problem)
        own.control.wedged = 0
        relative_accelerations(scene, own)
        if status == OK and own.control.dependent and not inside(scene, own):
            own.control.wedged = 1
            relative_accelerations(scene, own)
        if leaving and status == OK and leaves(scene, own):
            break
    return status


@phase
def inside(scene, own):
    """Whether the forces of constraints lie in their sets, but for rounding."""
    model, work, la = scene.model, scene.work, own.La[0]
    laws, n, largest = model.laws, model.size.n_rows, 0.0
    for i in range(n):
        largest = max(largest, abs(la[i]))
    for l in range(model.size.n_laws):
        if own.mode[l] != CONSTRAINT or laws.kind[l] == FREE:
            continue
        i, size = laws.row[l], 0.0
        for d in range(laws.dim[l]):
            size += la[i + d] ** 2
        size = size**0.5
        if laws.kind[l] == HALF_LINE:
            room = la[i]
        elif laws.link[l] >= 0:
            room = laws.mu[l] * la[laws.row[laws.link[l]]] - size
        elif laws.kind[l] == INTERVAL:
            room = min(work.bounds[n + i] - la[i], la[i] - work.bounds[i])
        else:
            room = work.bounds[n + i] - size
        if room < -1e-9 * largest:
            return False
    return True


@phase
def leave_modes(scene, own, begin):
    """A closed contact whose force vanished opens, a sticking law at the edge of its set slips along its force."""
    model, work, la = scene.model, scene.work, own.La[own.control.stages]
    laws, n, any_left = model.laws, model.size.n_rows, False
    for l in range(model.size.n_laws):
        if not own.fired[l] or begin.modes[l] != CONSTRAINT or own.control.at_start:
            continue
        any_left = True
        i = laws.row[l]
        if laws.kind[l] == HALF_LINE:
            own.mode[l] = INACTIVE
        elif laws.kind[l] == INTERVAL:
            own.mode[l] = UPPER if work.bounds[n + i] - la[i] < la[i] - work.bounds[i] else LOWER
        elif laws.dim[l] == 1:
            own.mode[l] = UPPER if la[i] > 0.0 else LOWER
        else:
            own.mode[l] = UPPER
            s = (la[i] ** 2 + la[i + 1] ** 2) ** 0.5
            for d in range(2):
                own.slip[i + d] = -la[i + d] / s if s > 0.0 else 0.0
    for l in range(model.size.n_laws):
        if laws.link[l] >= 0 and own.mode[laws.link[l]] != CONSTRAINT:
            own.mode[l] = INACTIVE
    return any_left


@phase
def leaves(scene, own):
    """Whether what was let go moves away (at the edge itself not yet: up to the change of acceleration in a small time)."""
    laws, worst, largest = scene.model.laws, 0.0, 0.0
    for i in range(scene.model.size.n_rows):
        largest = max(
            largest, abs(own.acceleration[i]), abs(scene.problem.rows.c[i]), ROUNDING * own.push_scale[i]
        )
    for l in range(scene.model.size.n_laws):
        i = laws.row[l]
        if not own.fired[l] or own.mode[l] == CONSTRAINT:
            continue
        if laws.kind[l] == HALF_LINE:
            worst = min(worst, own.acceleration[i])
        elif laws.dim[l] == 1 and own.mode[l] != INACTIVE:
            worst = min(worst, -own.acceleration[i] if own.mode[l] == UPPER else own.acceleration[i])
    return worst >= -1e-4 * largest


@kernel(AT_STATE, part=True)
def rest(at_scene, at_begin, t):
    """Contacts that come to rest do so; if that does not hold them, everything is as it was."""
    scene = scene_at(at_scene)
    own, model, end = own_at(scene.at.own), scene.model, scene.end
    control = own.control
    count, t_star = coming_to_rest(scene, own, t)
    if count == 0:
        return OK
    for l in range(model.size.n_N):
        if own.touches[l] and own.mode[l] != CONSTRAINT and not own.resting[l]:
            return OK  # struck at the same instant, it goes on: so does what this impact lifted
    for l in range(model.size.n_laws):
        if l >= model.size.n_N:
            own.resting[l] = 0
        elif own.resting[l] and not own.touches[l]:
            own.touches[l] = JOINED
        if model.laws.link[l] >= 0:
            own.touches[l] = own.touches[model.laws.link[l]]
    copy_state(end, own.trial)
    work_contacts = scene.books.work_contacts
    status = stop_rebound(scene, own, state_at(at_begin), at_scene, t)
    if status == OK:
        status = call_settle(own.at.settle, at_scene, at_begin, 1)
    held = status == OK
    for l in range(model.size.n_N):
        held = held and not (own.resting[l] and own.mode[l] != CONSTRAINT)
    if held:
        control.accumulations += 1
        control.t_accumulation = t_star
        for l in range(model.size.n_N):
            if own.resting[l]:
                scene.work.t_best[l] = t_star
        return OK
    for l in range(model.size.n_laws):
        if own.touches[l] == JOINED:
            own.touches[l] = 0
    copy_state(own.trial, end)
    scene.books.work_contacts = work_contacts
    status = call_at_end(own.at.look, at_scene, t)
    return status if status != OK else call_settle(own.at.settle, at_scene, at_begin, 1)


@phase
def grazes(scene, own, begin, l):
    """Whether a contact would have passed by a little further away: how deep it would have come is within the accuracy."""
    i, rate = scene.model.laws.row[l], scene.work.zeta[scene.model.laws.row[l]]
    for k in range(scene.model.size.n_u):
        rate += scene.work.WT[i, k] * begin.u[k]
    away = own.acceleration[i]
    return away > 0.0 and rate * rate <= 2.0 * away * GRAZING * own.control.rtol * own.gap_max[l]


@phase
def note(scene, own, begin, hit, t):
    """Modes, impacts and instants for the log; nothing waits any more."""
    model, work, end = scene.model, scene.work, scene.end
    laws = model.laws
    for l in range(model.size.n_laws):
        end.modes[l] = own.mode[l]
        work.struck[l] = 0
        if laws.kind[l] == HALF_LINE:
            closed = own.mode[l] == CONSTRAINT
            if hit and not closed and begin.modes[l] != CONSTRAINT and end.P[laws.row[l]] > 0.0:
                work.struck[l] = 1
            if own.jammed[l]:
                work.struck[l] = STAYS_CLOSED
            if closed and (begin.modes[l] != CONSTRAINT or own.control.at_start):
                own.rest_gap[l] = overlap(work, l)
            elif own.touches[l] and not closed:
                # without a force there is no telling open from closed: what rounding makes of its velocity must not close it again
                left = scene.ask.t_stop - t
                own.rest_gap[l] = min(work.g[l], 0.0) + 2.0 * left * min(own.gamma[laws.row[l]], 0.0)
            if work.struck[l] == 1 and grazes(scene, own, begin, l):
                own.control.grazings += 1
                own.control.t_grazing = t
        if not (work.t_best[l] >= t):
            work.t_best[l] = t
        own.fired[l] = 0
    own.control.at_start = 0
    own.control.jump = 0
