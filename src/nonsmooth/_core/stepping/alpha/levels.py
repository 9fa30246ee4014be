"""Multipliers of positions and velocities from one contact problem, linearised at an iterate (see `step`, `laws`).

xi_k = xi_k(iterate) + S_k (d delta, dv) + sum_l G_kl (mu_l - mu_l(iterate)), both levels together, so that the linear problem of an
iteration is solved exactly. A, which laws on velocity level act, follows from the solution and is found by solving again.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK, UNCONVERGED, ZERO_DIRECTION
from nonsmooth._core.stepping.alpha.measure import rounding_of_row
from nonsmooth._core.stepping.alpha.motion import row_times
from nonsmooth._core.stepping.alpha.records import (
    ACCELERATION,
    AUGMENTED,
    GGL,
    PART,
    POSITION,
    PVV,
    VELOCITY,
    P,
    alpha_at,
    first_velocity_slot,
)

SETS = 8  # solves within an iteration after which a law that acted once stays
ACCEPTED_LAWS = 1e-8  # residual of an iteration's problem with which Newton's method goes on


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
        if not closed_again(own, begin.modes, scene.work.WT, scene.model.size.n_N, stay):
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
def closed_again(own, before, WT, n_N, stay):
    """A as the solution says, (55); returns whether it is another one. With `stay` laws that acted go on acting.

    A contact that was closed stays in A while rounding hides its gap, and the velocity says whether it opens: in steps so short that
    coordinates hardly move, corrections of joints would lift contacts that rest, which fall back, without end.

    (Position laws come first and have one row each: the place of a row is that of its law.)
    """
    slots, closed, problem, another = own.slots, own.closed, own.problem, False
    for l in range(n_N):
        now = 0
        if slots.acts[l]:
            k = slots.place[l]
            hidden = slots.scale[l] * rounding_of_row(own.W_start, own.W_columns, WT, l, own.q)
            kept = before[l] == CONSTRAINT and problem.rows.xi[k] <= hidden
            now = 1 if problem.laws.mode[k] == CONSTRAINT or kept else 0
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
