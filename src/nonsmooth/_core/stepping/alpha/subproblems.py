"""The three sub-problems of Algorithm 1 (Bruls, Acary, Cardona 2018, sec. 3.8), one after the other in each iteration.

    1.  A dw - W lambda~ = f - M w,   W^T w + kappa  by the laws of S      A = M + gamma' D + beta' K, U and J as they are    (65a-c)
    2.  M dU = W dnu,                 g(q_1)         by nu* >= 0           w and J as they are                                (65d-f)
    3.  M dJ = W dLambda,             gamma_1 + e gamma_0  by Lambda*      w and U as they are                                (65g-i)

What U and J do to the forces, K U and D J, is left out of the matrices: it is found by iteration, which converges linearly, while
the coupled iteration (`levels.solve_levels`) has it in one problem. Each sub-problem is a contact problem of its own; which contacts act
in 3 follows from 2, those of S from the iteration before. The iterate is w, lambda~ and the totals; y = w - M^-1 W lambda~ makes
positions and velocities of them by the same formulas (see `motion`).

An iterate is a solution when the residual of (65a-c) is small beside the largest of its terms, and those of (65d-i) are small beside the
velocities.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.records.laws import INACTIVE
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import OK, UNCONVERGED
from nonsmooth._core.stepping.alpha.laws import evaluate_slots
from nonsmooth._core.stepping.alpha.levels import ACCEPTED_LAWS, SETS, assemble, closed_again, list_laws, take
from nonsmooth._core.stepping.alpha.motion import (
    add_times,
    call_solve,
    defects,
    in_norm_of_mass,
    inverse_mass_row,
    newest_tangent,
    row_times,
)
from nonsmooth._core.stepping.alpha.records import (
    AUGMENTED,
    MOVED,
    PART,
    POSITION,
    PVA,
    VELOCITY,
    alpha_at,
    call_part,
    first_velocity_slot,
)
from nonsmooth._core.stepping.alpha.smooth import IN, ON_VELOCITY_LEVEL, WITH_CONTACTS, curvature, smooth_laws


@kernel(PART, part=True)
def residuals(at_scene, at_state, t, fresh):
    """The tangent at the iterate; what is missing in (65a-c) and (65j, k). Returns a status."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    it, weights, size, work = own.it, own.weights, scene.model.size, scene.work
    status = newest_tangent(own, scene.model, t, fresh)
    if status != OK:
        return status
    for s in range(own.slots.row.size):  # no answer of the motion
        own.slots.known[s] = 1
        for j in range(size.n_u):
            own.slots.dy[s, j] = 0.0
    without_laws(own, size, work.WT)
    defects(own, scene.model, work.WT)
    for j in range(size.n_u):
        it.dy[j] = work.h[j]
    add_times(own.row_start, own.columns, own.M, -1.0, it.y, it.dy)
    call_solve(own.at.solve, own.at.mass_factors, it.dy)  # M^-1 (f + W lambda~ - M w)
    if size.n_rows > 0:
        curvature(own, scene.model, work, t)
    weights.residual = weights.gamma * max(
        in_norm_of_mass(own.row_start, own.columns, own.M, it.dy), residual_of_smooth_laws(own, size, work)
    )
    for j in range(size.n_u):
        it.tmp[j] = it.y[j] + it.dy[j]  # M^-1 f
    weights.forces = weights.gamma * max(
        in_norm_of_mass(own.row_start, own.columns, own.M, it.tmp),
        in_norm_of_mass(own.row_start, own.columns, own.M, it.w),
    )
    return OK


@phase
def without_laws(own, size, WT):
    """y = w - M^-1 W lambda~."""
    it, rows = own.it, own.rows
    for j in range(size.n_u):
        it.y[j] = it.w[j]
    for i in range(size.n_rows):
        if rows.lam[i] != 0.0:
            inverse_mass_row(own.at, WT, own.Z, own.Z_known, i)
            for j in range(size.n_u):
                it.y[j] -= own.Z[i, j] * rows.lam[i]


@phase
def residual_of_smooth_laws(own, size, work):
    """How far relative accelerations of S are from those of the last sub-problem, in the norm of M."""
    rows, WT, start, columns, worst = own.rows, work.WT, own.W_start, own.W_columns, 0.0
    for i in range(size.n_rows):
        if rows.acts[i] != IN:
            continue
        inverse_mass_row(own.at, WT, own.Z, own.Z_known, i)
        along = abs(row_times(start, columns, WT, i, own.Z[i])) ** 0.5
        xi = rows.kappa[i] + row_times(start, columns, WT, i, own.it.w)
        if own.options.form != PVA:
            xi = row_times(start, columns, WT, i, own.it.w)
            xi += (work.zeta[i] + row_times(start, columns, WT, i, own.it.v_hat)) / own.weights.gamma
        if along > 0.0:
            worst = max(worst, abs(xi - rows.xi_lin[i]) / along)
    return worst


@kernel(PART, part=True)
def three_problems(at_scene, at_state, t, iteration):
    """One iteration of Algorithm 1. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    size = scene.model.size
    status = smooth_problem(scene, own)  # w, lambda~
    if status != OK:
        return status
    for level in (POSITION, VELOCITY):
        put(own, scene.model, scene.work.WT)  # q_1, v_1
        status = call_part(own.at.evaluate, at_scene, at_state, t, MOVED)
        if status == OK:
            status = level_problem(scene, own, begin, t, level)  # nu*; Lambda*
        if status != OK:
            return status
        if level == POSITION and own.options.activation == AUGMENTED:
            closed_again(own, begin.modes, scene.work.WT, size.n_N, iteration >= SETS)
    put(own, scene.model, scene.work.WT)
    keep_modes(own, scene.model, scene.end.P)
    return OK


@phase
def smooth_problem(scene, own):
    """Sub-problem 1: w and lambda~; U and J stay, so that totals change with lambda~. Returns a status."""
    it, rows, slots, weights, size, work = (
        own.it, own.rows, own.slots, own.weights, scene.model.size, scene.work
    )  # fmt: skip
    for j in range(size.n_u):
        it.y[j] = work.h[j]
    add_times(own.row_start, own.columns, own.M, -1.0, it.w, it.y)
    call_solve(own.at.solve, own.at.factors, it.y)
    for j in range(size.n_u):
        it.y[j] += it.w[j]  # w without laws
    for s in range(slots.row.size):
        if slots.acts[s]:
            slots.mu[s] -= share(slots, weights, s) * rows.lam[slots.row[s]]
    for i in range(size.n_rows):
        for j in range(size.n_u):
            own.Y[i, j] = work.WT[i, j]
        call_solve(own.at.solve, own.at.factors, own.Y[i])
    asked = WITH_CONTACTS if own.options.form == PVA else ON_VELOCITY_LEVEL
    status = smooth_laws(scene, own, asked, own.Y, own.Y_known)
    for s in range(slots.row.size):
        if slots.acts[s]:
            slots.mu[s] += share(slots, weights, s) * rows.lam[slots.row[s]]
    return status


@phase
def share(slots, weights, s):
    """What lambda~ adds to a total, (65m, n)."""
    return slots.scale[s] * weights.beta if slots.level[s] == POSITION else weights.gamma


@phase
def level_problem(scene, own, begin, t, level):
    """Sub-problem 2 or 3: the totals of one level, everything else as it is. Returns a status."""
    slots, it, size, problem = own.slots, own.it, scene.model.size, own.problem
    evaluate_slots(scene, own, t)
    for s in range(slots.row.size):
        slots.acts[s] = slots.acts[s] and slots.level[s] == level
    for j in range(size.n_u):
        it.dy[j] = it.ddelta[j] = it.dv[j] = 0.0
    list_laws(own, scene.model, begin.modes)
    n, k = problem.count.laws, problem.count.rows
    status = assemble(own, size, scene.work.WT, scene.work.bounds, scene.info)
    if status != OK or k == 0:
        return status
    scene.info.residual = call_solver(problem.at.solve, own.at.problem, own.weights.dt, n, k)
    take(own)
    return OK if scene.info.residual <= max(problem.options.tol, ACCEPTED_LAWS) else UNCONVERGED


@phase
def put(own, model, WT):
    """delta and v as accelerations and totals make them."""
    it = own.it
    without_laws(own, model.size, WT)
    defects(own, model, WT)
    for j in range(it.v.size):
        it.delta[j] += it.ddelta[j]
        it.v[j] += it.dv[j]


@phase
def keep_modes(own, model, P):
    """Modes and impulses of the velocity level, from which S follows in the next iteration."""
    slots, modes, size = own.slots, own.problem.laws.mode, model.size
    first = first_velocity_slot(size)
    own.weights.modes_changed = 0
    for l in range(size.n_laws):
        mode = modes[own.place_V[l]] if own.place_V[l] >= 0 else INACTIVE
        if mode != own.modes[l]:
            own.modes[l] = mode
            own.weights.modes_changed = 1
    for i in range(size.n_rows):
        P[i] = slots.mu[first + i] if slots.place[first + i] >= 0 else 0.0
