"""The phases a time-stepping scheme is made of; each is a few lines of its equations.

Notation of Studer, Leine, Glocker 2008, sec. 3 (see `moreau`): index m is where M, h, W are evaluated, 0 the begin of the step,
1 its end. Phases read the begin, write work space, contact problem or end, and return a status where they can fail.
"""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.linalg.small import (
    cholesky,
    profile,
    solve_lower,
    solve_lower_near,
    solve_lower_transposed,
)
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE, LOWER, USER_SET
from nonsmooth._core.records.status import (
    MASS_SINGULAR,
    NON_FINITE,
    NON_FINITE_GAP,
    OK,
    UNCONVERGED,
    ZERO_DIRECTION,
)

#: Slack of a contact that acts whatever its gap.
FORCED = 1e300
#: Units in the last place of its terms by which a gap at rest can wander.
GAP_ULPS = 16 * 2.0**-52
#: Part of an instant that tells on which side of a breakpoint it lies.
BLUR = 1e-15


@phase
def within_segment(scene, t, dt, instant):
    """Where functions are asked in a step of length dt from t: before the end of a segment, not on it, since they may jump there."""
    return min(instant, max(t, scene.ask.t_stop - BLUR * (abs(t) + dt)))


@phase
def evaluation_point(model, begin, work, t, t_m, dt):
    """q_m = q_0 + B(t_0, q_0) u_e dt, and B there; `dt` from the begin to the evaluation point."""
    q, q_m, u_e, B = begin.q, work.q_m, work.u_e, work.B
    n_q, n_u = model.size.n_q, model.size.n_u
    if not model.size.has_B:
        for i in range(n_q):
            q_m[i] = q[i] + dt * u_e[i]
        return
    call_matrix(model.at.kinematics, t, q, begin.u, model.p, B)
    for i in range(n_q):
        s = 0.0
        for j in range(n_u):
            s += B[i, j] * u_e[j]
        q_m[i] = q[i] + dt * s
    call_matrix(model.at.kinematics, t_m, q_m, begin.u, model.p, B)


@phase
def free_velocity(model, begin, end, work, info, t_m, dt):
    """M and its factor, h, and u_F = u_0 + M^-1 h dt (eq. (15) without contacts)."""
    h, du, u_free, n_u = work.h, work.du, work.u_free, model.size.n_u
    # what does not change during the run is evaluated in its first step only
    if not info.ready or not model.size.constant_M:
        call_matrix(model.at.mass, t_m, work.q_m, begin.u, model.p, work.M)
        if cholesky(work.M, work.L, n_u) != 0:
            return MASS_SINGULAR
        profile(work.L, work.first, n_u)
    call_vector(model.at.force, t_m, work.q_m, work.u_e, model.p, h)
    solve_lower(work.L, h, du, n_u)
    solve_lower_transposed(work.L, du, du, n_u)
    for i in range(n_u):
        u_free[i] = begin.u[i] + dt * du[i]
        end.u[i] = u_free[i]
    return OK


@phase
def closed_contacts(model, begin, end, work, problem, info, ask, n_laws):
    """Which of the first `n_laws` laws act: contacts with a gap `work.g` <= 0, everything else always; the others have no impulse at the
    end. Sets `info.changed` to -1, or to the law whose gap is not finite; returns whether the set of laws is another one than in the
    last step."""
    laws, g = model.laws, work.g
    another = info.ready == 0
    info.changed = -1
    for l in range(n_laws):
        acts = 1
        if laws.kind[l] == HALF_LINE:
            limit = work.slack[l]
            if begin.modes[l] == CONSTRAINT and limit < FORCED:
                limit = max(limit, ask.stay)
            if not g[l] <= limit:
                if g[l] != g[l]:
                    info.changed = l
                acts = 0
        elif laws.link[l] >= 0:
            acts = problem.acts[laws.link[l]]
        if not acts:
            end.modes[l] = INACTIVE
            end.P[laws.row[l]] = 0.0
            for d in range(1, laws.dim[l]):
                end.P[laws.row[l] + d] = 0.0
        if acts != problem.acts[l]:
            problem.acts[l] = acts
            another = True
    return another


@phase
def list_laws(model, problem, n_laws):
    """The table of those of the first `n_laws` laws that act, in the order of the problem."""
    laws, active = model.laws, problem.laws
    n_active = 0
    n = 0
    for k in range(model.size.n_laws):
        l = problem.order[k]
        if l >= n_laws or problem.acts[l] == 0:
            problem.place[l] = -1
            continue
        a = n_active
        problem.place[l] = a
        active.law[a] = l
        active.kind[a] = laws.kind[l]
        active.row[a] = n
        active.dim[a] = laws.dim[l]
        active.link[a] = problem.place[laws.link[l]] if laws.link[l] >= 0 else -1
        active.mu[a] = laws.mu[l]
        n += laws.dim[l]
        n_active += 1
    problem.count.laws = n_active
    problem.count.rows = n


@phase
def active_laws(model, begin, end, work, problem, info, ask, t_m):
    """The laws of this step, by their gaps at the evaluation point; `another` tells whether they are others than in the last one."""
    if model.size.n_N > 0:
        call_vector(model.at.gap, t_m, work.q_m, begin.u, model.p, work.g)
        close_up_to_rounding(model, begin, work, t_m)
    return laws_by_gaps(model, begin, end, work, problem, info, ask, model.size.n_laws)


@phase
def close_up_to_rounding(model, begin, work, t_m):
    """The gap of a contact that carries an impulse is zero where rounding of its terms hides it: a body at rest does not fall for a
    step because its gap became 1e-17."""
    known = False
    for l in range(model.size.n_N):
        if work.g[l] > 0.0 and begin.modes[l] == CONSTRAINT:
            if not known:
                call_matrix(model.at.directions, t_m, work.q_m, begin.u, model.p, work.WT)
                known = True
            if work.g[l] <= rounding_of_gap(model, work, l):
                work.g[l] = 0.0


@phase
def rounding_of_gap(model, work, l):
    """What rounding can hide of a gap: some units in the last place of its terms W_j B_ij q_i."""
    terms, n_u, row = 0.0, model.size.n_u, model.laws.row[l]
    for j in range(n_u):
        if model.size.has_B:
            for i in range(model.size.n_q):
                terms += abs(work.WT[row, j] * work.B[i, j] * work.q_m[i])
        else:
            terms += abs(work.WT[row, j] * work.q_m[j])
    return GAP_ULPS * terms


@phase
def laws_by_gaps(model, begin, end, work, problem, info, ask, n_laws):
    """The laws of this step among the first `n_laws`, by the gaps in `work.g`; impulses and modes of those that act are still to be
    found."""
    another = closed_contacts(model, begin, end, work, problem, info, ask, n_laws)
    if another:
        list_laws(model, problem, n_laws)
    info.residual = 0.0
    info.iterations = 0
    return another


@phase
def bounds_of_forces(model, work, t, q, u):
    """Bounds of forces, and friction coefficients that are functions of the state, at (t, q, u)."""
    laws, size = model.laws, model.size
    call_vector(model.at.bounds, t, q, u, model.p, work.bounds)
    if size.has_friction:
        for l in range(size.n_laws):
            if laws.link[l] >= 0:
                laws.mu[l] = work.bounds[size.n_rows + laws.row[l]]


@phase
def directions(model, begin, work, problem, info, t_m):
    """W^T at the evaluation point, where a law acts."""
    size = model.size
    if size.n_rows > 0:
        if (size.constant_W and not info.ready) or (not size.constant_W and problem.count.rows > 0):
            call_matrix(model.at.directions, t_m, work.q_m, begin.u, model.p, work.WT)
    if problem.count.rows > 0:
        if size.has_zeta:
            call_vector(model.at.zeta, t_m, work.q_m, begin.u, model.p, work.zeta)
        if size.has_bounds:
            bounds_of_forces(model, work, t_m, work.q_m, begin.u)


@phase
def restitution(e, mode, kind, gamma_B, gamma_F, lasting, ask):
    """Restitution in this step: `lasting` for laws that were constraints (see `moreau`, enduring laws), else e."""
    if ask.enduring and kind != USER_SET:
        slow = ask.slow and kind == HALF_LINE and abs(gamma_B) <= abs(gamma_F - gamma_B)
        if mode == CONSTRAINT or slow:
            return lasting
    return e


@phase
def delassus_row(model, work, problem, a, d):
    """Row d of law `a` in G = W^T M^-1 W, against all rows that it sees up to itself."""
    laws, active, G, Y, n_u = model.laws, problem.laws, problem.G, work.Y, model.size.n_u
    i = laws.row[active.law[a]] + d
    k = active.row[a] + d
    begin = solve_lower_near(work.L, work.first, work.WT[i], Y[i], n_u)
    for b in range(a, -1, -1):
        j0 = laws.row[active.law[b]]
        m0 = active.row[b]
        if m0 + active.dim[b] <= k - problem.count.reach:
            break
        for c in range(active.dim[b] if b < a else d + 1):
            s = 0.0
            for v in range(begin, n_u):
                s += Y[i, v] * Y[j0 + c, v]
            G[k, m0 + c] = s
            G[m0 + c, k] = s


@phase
def row_of_problem(rows, k, e, gamma_B, gamma_F, P, lower, upper):
    """c, bounds and guess of a row; returns whether they are numbers."""
    c = gamma_F + e * gamma_B
    rows.gamma_B[k], rows.gamma_F[k], rows.c[k] = gamma_B, gamma_F, c
    rows.P[k], rows.lo[k], rows.hi[k] = P, lower, upper
    # NaN would pass through a projection unseen; so would a negative limit
    return c - c == 0.0 and lower <= upper


@phase
def contact_problem(model, begin, work, problem, info, ask, another, lasting, dt):
    """G, c and bounds of the laws that act, eq. (18):  c = W^T u_F + zeta + e gamma_B  (erratum 3: zeta enters once)."""
    size, laws, active, rows = model.size, model.laws, problem.laws, problem.rows
    G, WT, zeta, bounds, n_u, n_rows = problem.G, work.WT, work.zeta, work.bounds, size.n_u, size.n_rows
    known = size.constant_M and size.constant_W and not another  # G of the same rows is the same
    for a in range(problem.count.laws):
        l = active.law[a]
        mode, e = begin.modes[l], laws.e[l]
        active.mode[a] = mode
        active.mu[a] = laws.mu[l]
        for d in range(active.dim[a]):
            i = laws.row[l] + d
            k = active.row[a] + d
            gamma_B = zeta[i]
            gamma_F = zeta[i]
            for j in range(n_u):
                gamma_B += WT[i, j] * begin.u[j]
                gamma_F += WT[i, j] * work.u_free[j]
            e = restitution(e, mode, active.kind[a], gamma_B, gamma_F, lasting, ask)
            if not row_of_problem(
                rows, k, e, gamma_B, gamma_F, begin.P[i], bounds[i] * dt, bounds[n_rows + i] * dt
            ):
                return NON_FINITE
            if known:
                continue
            delassus_row(model, work, problem, a, d)
            if not G[k, k] > 0.0:
                info.law = l
                return ZERO_DIRECTION
        active.e[a] = e
    return OK


@phase
def impulses(problem, info, at_problem, dt):
    """P = prox(P - r (G P + c)), eq. (19); a single frictionless contact needs no solver."""
    laws, rows, G = problem.laws, problem.rows, problem.G
    if problem.count.rows == 1 and laws.kind[0] == HALF_LINE:
        c = rows.c[0]
        closes = c < 0.0
        rows.P[0] = max(0.0, -c / G[0, 0])
        rows.xi[0] = 0.0 if closes else c
        laws.mode[0] = CONSTRAINT if closes else LOWER
        return OK
    info.residual = call_solver(problem.at.solve, at_problem, dt, problem.count.laws, problem.count.rows)
    info.iterations = problem.count.iterations
    return OK if info.residual <= problem.options.tol else UNCONVERGED


@phase
def kick(model, end, work, problem):
    """u_1 = u_F + M^-1 W P; impulses and modes by row and law of the model."""
    laws, active, du, n_u = model.laws, problem.laws, work.du, model.size.n_u
    for a in range(problem.count.laws):
        l = active.law[a]
        end.modes[l] = active.mode[a]
        for d in range(active.dim[a]):
            i = laws.row[l] + d
            s = problem.rows.P[active.row[a] + d]
            end.P[i] = s
            first = a == 0 and d == 0
            for j in range(n_u):
                du[j] = (0.0 if first else du[j]) + work.Y[i, j] * s
    solve_lower_transposed(work.L, du, du, n_u)
    for j in range(n_u):
        end.u[j] += du[j]


@phase
def move(model, begin, end, work, share, dt):
    """q_1 = q_0 + B_m ((1 - share) u_0 + share u_1) dt, eq. (21); returns whether the end is finite."""
    n_q, n_u = model.size.n_q, model.size.n_u
    check = 0.0
    for i in range(n_q):
        s = 0.0
        if model.size.has_B:
            for j in range(n_u):
                s += work.B[i, j] * ((1.0 - share) * begin.u[j] + share * end.u[j])
        else:
            s = (1.0 - share) * begin.u[i] + share * end.u[i]
        end.q[i] = begin.q[i] + dt * s
        check += end.q[i] - end.q[i]
    for i in range(n_u):
        check += end.u[i] - end.u[i]
    return check == 0.0  # inf - inf and nan - nan are nan


@phase
def normalise(model, q):
    """Unit quaternions in `q` are divided by their length.

    The exact motion keeps |q| = 1, a step only up to its error; q / |q| is a smooth map that leaves exact values alone, so
    that a step followed by it has the same order.
    """
    for k in range(model.size.n_unit):
        i = model.unit[k]
        length = (q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]) ** 0.5
        for j in range(i, i + 4):
            q[j] /= length


@phase
def structure(kind, mode):
    """What the integrator sees of a mode: an open contact and a closed one without impulse are the same (sec. 8.1)."""
    return INACTIVE if kind == HALF_LINE and mode == LOWER else mode


@phase
def first_change(model, begin, end):
    """The first law whose structure differs at the two ends of the step, or -1."""
    for l in range(model.size.n_laws):
        kind = model.laws.kind[l]
        if structure(kind, end.modes[l]) != structure(kind, begin.modes[l]):
            return l
    return -1


@phase
def not_finite_gap(info):
    """The status of a gap that is not a number, which `closed_contacts` found."""
    if info.changed < 0:
        return OK
    info.law = info.changed
    return NON_FINITE_GAP


@phase
def copy_state(source, target):
    """`target` becomes `source`."""
    for i in range(source.q.size):
        target.q[i] = source.q[i]
    for i in range(source.u.size):
        target.u[i] = source.u[i]
    for i in range(source.P.size):
        target.P[i] = source.P[i]
    for l in range(source.modes.size):
        target.modes[l] = source.modes[l]
    for i in range(source.own.size):
        target.own[i] = source.own[i]
