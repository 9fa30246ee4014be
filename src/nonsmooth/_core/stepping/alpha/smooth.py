"""The smooth motion of a step: accelerations v~' and multipliers lambda~ as functions of (t, q, v), eqs. (38), (65a-c).

    M v~' = f + W lambda~,     W^T v~' + kappa = 0 for joints,   0 <= W^T v~' + kappa _|_ lambda~ >= 0 for contacts in S

with friction at acceleration level (Capobianco, Harsch, Eugster, Leine 2021): what sticks obeys Coulomb's law in its relative acceleration;
what slips has lambda_T = tau lambda_N, tau = -mu gamma_T/|gamma_T|, folded into the direction of the normal force. Elements that slip
act with their bound.

S: contacts closed on position and velocity level whose velocity is zero (erratum 9): with restitution, those that would be back
within the step, gamma_1 <= h/2 sum |terms of the relative acceleration|. Accelerations are at first those without contacts; a body on
another one, or pushed by it, is found by those with the contacts known so far. LITERAL is (42): all of B, whatever their velocity.
"""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    FREE,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    LOWER,
    UPPER,
    USER_SET,
)
from nonsmooth._core.records.scene import scene_at
from nonsmooth._core.records.status import NON_FINITE, OK, UNCONVERGED
from nonsmooth._core.stepping.alpha.levels import ACCEPTED_LAWS, add_law
from nonsmooth._core.stepping.alpha.motion import call_solve, inverse_mass_row, row_times
from nonsmooth._core.stepping.alpha.records import LITERAL, PART, RESTING, alpha_at

REST = 0.5  # of what a step's acceleration does to a velocity: slower contacts rest
STICKS = 1e-11  # tangential velocity at a start, relative to the speed of the motion, that counts as none


# what `accelerate` is asked for
WITH_JOINTS, WITH_CONTACTS, AS_BEFORE, ON_VELOCITY_LEVEL = range(4)
# rows on acceleration level: no part, in the problem, given by slip
OUT, IN, GIVEN = 0.0, 1.0, 2.0


@kernel(PART, part=True)
def accelerate(at_scene, at_state, t, asked):
    """w = v~' and lambda~ at the iterate, whose functions are evaluated and whose `modes` say what rests and slips. Returns a status.

    WITH_JOINTS alone; WITH_CONTACTS: S is chosen; AS_BEFORE: with the S there is; ON_VELOCITY_LEVEL: the smooth motion of [12], joints
    hold on velocity level of the smooth motion, W^T (v^ + gamma' v~') + zeta = 0.
    """
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    if scene.model.size.n_rows > 0:
        curvature(own, scene.model, scene.work, t)
    return smooth_laws(scene, own, asked, own.Z, own.Z_known)


@phase
def smooth_laws(scene, own, asked, Z, Z_known):
    """w = y + Z lambda~ by the laws of acceleration level. Returns a status."""
    model, size, rows, it, work = scene.model, scene.model.size, own.rows, own.it, scene.work
    rounds = size.n_N + 1 if asked == WITH_CONTACTS and own.options.smooth >= RESTING else 1
    for k in range(rounds):
        if k == 0 and asked != AS_BEFORE:
            only_joints(model.laws, rows, size, own.options.smooth > 0, asked == ON_VELOCITY_LEVEL)
        if k > 0 and not choose_contacts(own, model.laws, size, work.WT):
            break
        slips(own, model, work.bounds, scene.end.P)
        for j in range(size.n_u):
            it.w[j] = it.y[j]
        for i in range(size.n_rows):
            rows.lam[i] = rows.fixed[i]
            if rows.acts[i] != OUT:
                inverse_mass_row(own.at, work.WT, Z, Z_known, i)
            if rows.fixed[i] != 0.0:
                push(Z[i], rows.fixed[i], it.w)
        list_resting(own, model.laws, size)
        n, m = own.problem.count.laws, own.problem.count.rows
        if m == 0:
            continue
        if not delassus(own, model, work, Z, asked == ON_VELOCITY_LEVEL):
            return NON_FINITE
        scene.info.residual = call_solver(own.problem.at.solve, own.at.problem, 1.0, n, m)
        take(own, model, Z)
        if not scene.info.residual <= max(own.problem.options.tol, ACCEPTED_LAWS):
            return UNCONVERGED
    return OK


@phase
def curvature(own, model, work, t):
    """kappa and relative velocities of all rows."""
    rows, v = own.rows, own.it.v
    call_vector(model.at.kappa, t, own.q, v, model.p, rows.kappa)
    for i in range(model.size.n_rows):
        rows.gamma_1[i] = work.zeta[i] + row_times(own.W_start, own.W_columns, work.WT, i, v)


@phase
def free_accelerations(at, h, y):
    """y = M^-1 f."""
    for j in range(y.size):
        y[j] = h[j]
    call_solve(at.solve, at.mass_factors, y)


@phase
def only_joints(laws, rows, size, wanted, no_elements):
    """S without contacts: bilateral constraints, and elements with a set of their own."""
    for l in range(size.n_laws):
        acts = wanted and laws.kind[l] != HALF_LINE and laws.link[l] < 0
        if no_elements and laws.kind[l] != FREE:
            acts = False
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            rows.acts[i] = IN if acts else OUT
            rows.tau[i] = rows.fixed[i] = 0.0


@phase
def choose_contacts(own, laws, size, WT):
    """S: resting contacts, by the accelerations found without them; returns whether there are more of them than before."""
    rows, more = own.rows, False
    for l in range(size.n_N):
        if own.modes[l] != CONSTRAINT or rows.acts[l] == IN:
            continue
        rests = own.options.smooth == LITERAL or laws.e[l] == 0.0
        if not rests:
            pull = terms_of(own.W_start, own.W_columns, WT, l, own.it.w) + abs(rows.kappa[l])
            rests = abs(rows.gamma_1[l]) <= REST * own.weights.dt * pull
        if rests:
            rows.acts[l] = IN
            more = True
    for l in range(size.n_N, size.n_laws):
        link = laws.link[l]
        if link >= 0 and rows.acts[link] == IN and own.modes[l] != INACTIVE:
            for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
                rows.acts[i] = IN
    return more


@phase
def terms_of(start, columns, WT, i, x):
    """Row i of W^T times x, terms taken as positive: what they are made of where they cancel."""
    s = 0.0
    for k in range(start[i], start[i + 1]):
        s += abs(WT[i, columns[k]] * x[columns[k]])
    return s


@phase
def slips(own, model, bounds, P):
    """tau and given forces of what slips; it takes no part in the problem."""
    rows, modes, laws, n_rows = own.rows, own.modes, model.laws, model.size.n_rows
    for l in range(model.size.n_laws):
        i, kind, mu = laws.row[l], laws.kind[l], laws.mu[l]
        if rows.acts[i] == OUT or kind == HALF_LINE or kind == FREE or modes[l] == CONSTRAINT:
            continue
        if kind == COULOMB_1D:
            rows.tau[i] = mu if modes[l] == UPPER else -mu
        elif kind == INTERVAL:
            rows.fixed[i] = bounds[n_rows + i] if modes[l] == UPPER else bounds[i]
        elif kind == USER_SET:
            for d in range(laws.dim[l]):
                rows.fixed[i + d] = P[i + d] / own.weights.dt
        else:
            speed = (rows.gamma_1[i] ** 2 + rows.gamma_1[i + 1] ** 2) ** 0.5
            for d in range(2):
                along = rows.gamma_1[i + d] / speed if speed > 0.0 else 0.0
                if kind == COULOMB_2D:
                    rows.tau[i + d] = -mu * along
                else:
                    rows.fixed[i + d] = -bounds[n_rows + i] * along
        for d in range(laws.dim[l]):
            rows.acts[i + d] = GIVEN


@phase
def push(Z, force, w):
    """w += M^-1 W force."""
    for j in range(w.size):
        w[j] += Z[j] * force


@phase
def list_resting(own, laws, size):
    """The table of the problem on acceleration level."""
    active, n, k = own.problem.laws, 0, 0
    for l in range(size.n_laws):
        own.place_V[l] = -1
        if own.rows.acts[laws.row[l]] == IN:
            own.place_V[l] = n
            n, k = add_law(active, n, k, l, laws.kind[l], laws.dim[l], CONSTRAINT)
            active.link[n - 1] = own.place_V[laws.link[l]] if laws.link[l] >= 0 else -1
            active.mu[n - 1] = laws.mu[l]
    own.problem.count.laws, own.problem.count.rows = n, k


@phase
def delassus(own, model, work, Z, on_velocity):
    """G and c = W^T y + kappa; columns of contacts that slip carry their friction. Returns whether all is finite."""
    problem, rows, laws, WT, size = own.problem, own.rows, model.laws, work.WT, model.size
    active, it, start, columns = problem.laws, own.it, own.W_start, own.W_columns
    if on_velocity:  # (v^ + gamma' y)/gamma'
        for j in range(size.n_u):
            it.tmp[j] = it.v_hat[j] / own.weights.gamma + it.y[j]
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            i, k = laws.row[active.law[a]] + d, active.row[a] + d
            motion = row_times(start, columns, WT, i, it.tmp if on_velocity else it.w)
            c = motion + (work.zeta[i] / own.weights.gamma if on_velocity else rows.kappa[i])
            problem.rows.c[k] = c
            problem.rows.P[k] = rows.lam_0[i]
            problem.rows.lo[k], problem.rows.hi[k] = work.bounds[i], work.bounds[size.n_rows + i]
            if not c - c == 0.0:
                return False
            for b in range(problem.count.laws):
                l = active.law[b]
                for e in range(active.dim[b]):
                    s = row_times(start, columns, WT, i, Z[laws.row[l] + e])
                    if active.kind[b] == HALF_LINE:
                        for m in range(size.n_rows - size.n_J):
                            if rows.tau[m] != 0.0 and laws.link[own.law_of[m]] == l:
                                s += row_times(start, columns, WT, i, Z[m]) * rows.tau[m]
                    problem.G[k, active.row[b] + e] = s
    return True


@phase
def take(own, model, Z):
    """lambda~ of the solution, friction of contacts that slip, and w."""
    problem, rows, laws = own.problem, own.rows, model.laws
    for a in range(problem.count.laws):
        l = problem.laws.law[a]
        for d in range(problem.laws.dim[a]):
            i = laws.row[l] + d
            rows.lam[i] = problem.rows.P[problem.laws.row[a] + d]
            rows.xi_lin[i] = problem.rows.xi[problem.laws.row[a] + d]
            push(Z[i], rows.lam[i], own.it.w)
    for m in range(model.size.n_rows - model.size.n_J):
        if rows.tau[m] != 0.0 and rows.acts[m] == GIVEN:
            rows.lam[m] = rows.tau[m] * rows.lam[laws.row[laws.link[own.law_of[m]]]]
            push(Z[m], rows.lam[m], own.it.w)


@phase
def modes_at_start(own, model, work, v):
    """Which contacts rest or slip at a start: closed within the first step by their accelerations, and no faster than these make them."""
    rows, size, dt, WT, speed = own.rows, model.size, own.weights.dt, work.WT, 0.0
    for i in range(size.n_rows):
        for j in range(size.n_u):
            speed = max(speed, abs(WT[i, j] * v[j]))
    for l in range(size.n_N):
        free = rows.kappa[l] + row_times(own.W_start, own.W_columns, WT, l, own.it.w)
        pull = terms_of(own.W_start, own.W_columns, WT, l, own.it.w) + abs(rows.kappa[l])
        ahead = work.g[l] + dt * (rows.gamma_1[l] + 0.5 * dt * free)
        slow = abs(rows.gamma_1[l]) <= max(REST * dt * pull, STICKS * speed)
        own.modes[l] = CONSTRAINT if ahead <= STICKS * dt * (dt * pull + speed) and slow else INACTIVE
    for l in range(size.n_N, size.n_laws):
        own.modes[l] = sticking(model.laws, rows.gamma_1, l, speed, own.modes)


@phase
def sticking(laws, gamma_1, l, speed, modes):
    """Mode of friction by its relative velocity."""
    kind, i, link = laws.kind[l], laws.row[l], laws.link[l]
    if link >= 0 and modes[link] != CONSTRAINT:
        return INACTIVE
    gamma = 0.0
    for d in range(laws.dim[l]):
        gamma = max(gamma, abs(gamma_1[i + d]))
    if kind == FREE or gamma <= STICKS * speed:
        return CONSTRAINT
    if kind == COULOMB_1D or kind == INTERVAL:
        return LOWER if gamma_1[i] > 0.0 else UPPER
    return UPPER
