"""Positions on their constraints after each step of any scheme: projection as in Acary 2012, eq. (19), with joints.

    q_1 = q* + B M^-1 W tau,    0 <= g(t_1, q_1) _|_ tau_N >= 0,   g_J(t_1, q_1) = 0                    (19b, e)

q* is where the scheme went. The multipliers act through M^-1 (least change in the norm of M; the paper prints W tau, whose units do not
match). Solved by linearising the constraints at the last q, with all of delta = M^-1 W tau as unknown:

    g(q) + W^T (delta_new - delta) = G tau + c,    G = W^T M^-1 W,   c = g(q) - W^T delta

over joints and the contacts that are or were violated: gaps that were not touched stay as they are. Those that push,
tau > 0, end at g = 0, also where a linearisation has led beyond. Contacts that acted in the step
and are closed up to a little more than rounding are held, 0 = g: what other constraints move, and what rounding of velocities
piles up over many steps, would open one of them one day, and a column would fall. What counts as zero is what rounding
of the positions does to a constraint, sum_j |W_j| s_j + |zeta| t with s_j the largest coordinates so far (kept in ``state.own``).

DIRECT     after the step; velocities stay as they are.
COMBINED   until both hold: a contact violated by q* that did not act in the step acts in it, and the step is taken again; a scheme
           that reads `shift` evaluates its functions with the projected end.

The work of the projection goes into the books. It is what the motion gains by being moved at constant velocity: potential energy, -F(t_1,
q, 0) delta with the force half way, and kinetic energy where the mass matrix depends on q.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import address_record, by_reference, kernel, phase, scalars
from nonsmooth._core.laws.solve_laws import call_solver
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, FREE, HALF_LINE
from nonsmooth._core.records.problem import EXAMPLE as PROBLEM
from nonsmooth._core.records.problem import Problem
from nonsmooth._core.records.scene import STEP, call_step, scene_at, state_at
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK, UNPROJECTED
from nonsmooth._core.stepping.books import kinetic_energy
from nonsmooth._core.stepping.phases import FORCED, normalise

DIRECT, COMBINED = range(2)
UNTOUCHED, VIOLATED, PUSHED, HELD = range(4)  # contacts, in a projection
REGULARISED = 1e-13  # rows that are held may depend on each other
MAX_PASSES = 30
MAX_SWEEPS = 12
EPS = 2.0**-52
ROUNDING = 8.0  # units of rounding of the terms of a constraint that count as zero
ALL_BUT_ZERO = 1e-6  # of the largest: what is smaller is measured by that
STUCK = 1e-10  # a constraint this close, relative to its terms, that does not come closer is on its surface up to rounding

Settings = scalars("Settings", mode=int)


class Projection(NamedTuple):
    """What the projection works on."""

    at: Any  # addresses: step (of the scheme), problem
    settings: Any
    problem: Problem
    q_star: np.ndarray
    q_half: np.ndarray
    delta: np.ndarray
    g: np.ndarray  # gaps, then joints
    touched: np.ndarray  # by contact: it is or was violated, pushes, or is held closed
    forced: np.ndarray  # by contact: it has to act
    slack: np.ndarray
    shift: np.ndarray  # q_1 - q* as the scheme sees it (combined)
    M: np.ndarray
    L: np.ndarray
    WT: np.ndarray
    Y: np.ndarray
    B: np.ndarray
    F: np.ndarray
    rest: np.ndarray  # no velocities
    reach: np.ndarray  # s_j: largest coordinates so far, by velocity
    zeta: np.ndarray
    scale: np.ndarray  # by row: what rounding of a constraint is measured by


def make_projection(at, size, problem, shift):
    """The record for a model of that size."""
    n_q, n_u, rows, n_N = size.n_q, size.n_u, max(size.n_rows, 1), max(size.n_N, 1)
    square = (n_u, n_u)
    return Projection(
        at, Settings(), problem, np.zeros(n_q), np.zeros(n_q), np.zeros(n_u), np.zeros(n_N + max(size.n_joints, 1)),
        np.zeros(n_N, dtype=np.int64), np.zeros(n_N, dtype=np.int64), np.zeros(n_N), shift, np.zeros(square), np.zeros(square),
        np.zeros((rows, n_u)), np.zeros((rows, n_u)), np.zeros((n_q, n_u)), np.zeros(n_u),
        np.zeros(n_u), np.zeros(n_u), np.zeros(rows), np.zeros(rows),
    )  # fmt: skip


def _example():
    one, ints, square = np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    return Projection(
        address_record(step=0, problem=0), Settings(), PROBLEM, one, one, one, one, ints, ints, one, one, square, square, square,
        square, square, one, one, one, one, one,
    )  # fmt: skip


_, projection_at = by_reference(_example())


@kernel(STEP, part=True)
def projected_step(at_scene, at_state, t, dt):
    """A step of the scheme, then its positions on their constraints."""
    scene = scene_at(at_scene)
    own = projection_at(scene.at.projection)
    books, ask = scene.books, scene.ask
    begin = state_at(at_state)
    gap, gap_t, wanted = books.gap, books.gap_t, ask.books
    near(scene, own, begin, t)
    status = OK
    if own.settings.mode == COMBINED:
        ask.books = 0
        status = agree(scene, own, at_scene, at_state, t, dt)
        ask.books = wanted
    if status == OK:
        status = call_step(own.at.step, at_scene, at_state, t, dt)
    free_contacts(scene, own)
    books.gap, books.gap_t = gap, gap_t
    if status != OK:
        return status
    status = project(scene, own, t + dt)
    if status == OK and ask.books:
        keep_books(scene, own, t + dt)
    return status


@phase
def near(scene, own, begin, t):
    """Gaps that rounding of the positions cannot tell from zero count as closed: that is where the projection leaves them."""
    kept = scene.end.own
    for i in range(scene.model.size.n_q):
        k = place_of_size(scene, i)
        kept[k] = max(begin.own[k], abs(begin.q[i]))
    reaches(scene, own, begin.q, t)
    measure(scene, own, begin.q, t)
    for l in range(scene.model.size.n_N):
        scene.work.slack[l] = 2.0 * ROUNDING * EPS * own.scale[l]


@phase
def place_of_size(scene, i):
    """Where the largest value of coordinate i so far stands in what a state remembers: in its last entries."""
    return scene.end.own.size - scene.model.size.n_q + i


@phase
def measure(scene, own, q, t):
    """W^T, zeta at (t, q), and by row what rounding of a constraint is measured by."""
    model, size = scene.model, scene.model.size
    if size.n_rows == 0:
        return
    call_matrix(model.at.directions, t, q, scene.end.u, model.p, own.WT)
    if size.has_zeta:
        call_vector(model.at.zeta, t, q, scene.end.u, model.p, own.zeta)
    largest = 0.0
    for i in range(size.n_rows):
        s = abs(own.zeta[i] * t)
        for j in range(size.n_u):
            s += abs(own.WT[i, j]) * own.reach[j]
        own.scale[i] = s
        largest = max(largest, s)
    for i in range(size.n_rows):  # rows whose coordinates have all been zero so far
        own.scale[i] = max(own.scale[i], ALL_BUT_ZERO * largest)


@phase
def reaches(scene, own, q, t):
    """B, and the largest coordinates so far by velocity: as far as B leads to them."""
    model, size, kept = scene.model, scene.model.size, scene.end.own
    if not size.has_B:
        for j in range(size.n_u):
            own.reach[j] = kept[place_of_size(scene, j)]
        return
    call_matrix(model.at.kinematics, t, q, scene.end.u, model.p, own.B)
    for j in range(size.n_u):
        far, squares = 0.0, 0.0
        for i in range(size.n_q):
            far = max(far, abs(own.B[i, j]) * kept[place_of_size(scene, i)])
            squares += own.B[i, j] * own.B[i, j]
        own.reach[j] = far / squares if squares > 0.0 else 0.0


@phase
def agree(scene, own, at_scene, at_state, t, dt):
    """Which contacts act, and the shift of q_1, so that velocities and positions hold together. Returns a status."""
    size, end, work = scene.model.size, scene.end, scene.work
    for i in range(size.n_q):
        own.shift[i] = 0.0
    moved = 0.0
    for l in range(size.n_N):
        own.forced[l] = 0
        own.slack[l] = work.slack[l]
    for _ in range(MAX_SWEEPS):
        status = call_step(own.at.step, at_scene, at_state, t, dt)
        if status == OK:
            status = project(scene, own, t + dt)
        if status != OK:
            return status
        again = False
        largest = 0.0
        for i in range(size.n_q):
            largest = max(largest, end.own[place_of_size(scene, i)])
        for l in range(size.n_N):
            if own.touched[l] in (VIOLATED, PUSHED) and scene.problem.acts[l] == 0:
                own.forced[l] = 1
                work.slack[l] = FORCED
                again = True
        moved = 0.0
        for i in range(size.n_q):
            shift = end.q[i] - own.q_star[i]
            if (
                shift != own.shift[i]
            ):  # of coordinates that have all but stayed at zero, rounding is what moves
                far = max(end.own[place_of_size(scene, i)], ALL_BUT_ZERO * largest)
                moved = max(moved, abs(shift - own.shift[i]) / far)
            own.shift[i] = shift
        if not again and moved <= 4.0 * EPS:
            break
    return OK if moved <= STUCK else UNPROJECTED


@phase
def free_contacts(scene, own):
    """Gaps decide again in the next step."""
    if own.settings.mode == COMBINED:
        for l in range(scene.model.size.n_N):
            if own.forced[l]:
                scene.work.slack[l] = own.slack[l]
                own.forced[l] = 0


@phase
def project(scene, own, t):
    """Move ``end.q`` onto the constraints at `t`. Returns a status."""
    end, size = scene.end, scene.model.size
    for i in range(size.n_q):
        k = place_of_size(scene, i)
        own.q_star[i] = end.q[i]
        end.own[k] = max(end.own[k], abs(end.q[i]))
    for j in range(size.n_u):
        own.delta[j] = 0.0
    for l in range(size.n_N):
        own.touched[l] = UNTOUCHED
    reaches(scene, own, end.q, t)
    before = FORCED
    for _ in range(MAX_PASSES):
        if constraints(scene, own, t) == 0:
            return OK
        measure(scene, own, end.q, t)
        worst = violation(scene, own)
        if not worst - worst == 0.0:
            return NON_FINITE
        if worst <= ROUNDING * EPS or (worst <= STUCK and not worst < 0.5 * before):
            return OK
        before = worst
        status = least_change(scene, own, t)
        if status != OK:
            return status
    return UNPROJECTED


@phase
def constraints(scene, own, t):
    """Gaps and joints at ``end.q``, and which contacts are touched; returns how many constraints there are to look at."""
    model, q, u, size = scene.model, scene.end.q, scene.end.u, scene.model.size
    found = size.n_joints
    if size.n_N > 0:
        call_vector(model.at.gap, t, q, u, model.p, own.g)
    if size.n_joints > 0:
        call_vector(model.at.joints, t, q, u, model.p, own.g[own.g.size - size.n_joints :])
    for l in range(size.n_N):
        if own.touched[l] == UNTOUCHED:
            if scene.problem.acts[l] and abs(own.g[l]) <= 4.0 * ROUNDING * EPS * own.scale[l]:
                own.touched[l] = HELD
            elif not own.g[l] >= 0.0:
                own.touched[l] = VIOLATED
        found += own.touched[l] != UNTOUCHED
    return found


@phase
def row_of_joint(size, j):
    """Row of the model of joint equation j: bilateral rows are the last, those of joints the first of them."""
    return size.n_rows - size.n_J + j


@phase
def violation(scene, own):
    """Largest violation of a constraint, in terms of what its rounding is measured by; NaN is found."""
    size, worst = scene.model.size, 0.0
    for l in range(size.n_N):
        worst = larger(worst, abs(own.g[l]) if own.touched[l] >= PUSHED else -own.g[l], own.scale[l])
    for j in range(size.n_joints):
        g = own.g[own.g.size - size.n_joints + j]
        worst = larger(worst, abs(g), own.scale[row_of_joint(size, j)])
    return worst


@phase
def larger(worst, value, scale):
    """The larger of `worst` and value / scale, which is infinite for a scale of zero."""
    if value != value:
        return value
    if value <= 0.0:
        return worst
    return max(worst, value / scale if scale > 0.0 else FORCED)


@phase
def least_change(scene, own, t):
    """One linearisation: tau, delta, and ``end.q`` moved by it. Returns a status."""
    model, end, size, problem = scene.model, scene.end, scene.model.size, own.problem
    call_matrix(model.at.mass, t, end.q, end.u, model.p, own.M)
    if cholesky(own.M, own.L, size.n_u) != 0:
        return MASS_SINGULAR
    n = 0
    for l in range(size.n_N):
        if own.touched[l] != UNTOUCHED:
            n = add_row(own, l, own.g[l], FREE if own.touched[l] == HELD else HALF_LINE, n, size.n_u)
    for j in range(size.n_joints):
        g = own.g[own.g.size - size.n_joints + j]
        n = add_row(own, row_of_joint(size, j), g, FREE, n, size.n_u)
    problem.count.laws = problem.count.rows = n
    delassus(own, n, size)
    call_solver(problem.at.solve, own.at.problem, 1.0, n, n)
    for a in range(n):
        l = problem.laws.law[a]
        if l < size.n_N and own.touched[l] != HELD:
            own.touched[l] = PUSHED if problem.rows.P[a] > 0.0 else VIOLATED
    for k in range(size.n_u):
        s = 0.0
        for a in range(n):
            s += own.Y[problem.laws.law[a], k] * problem.rows.P[a]
        own.delta[k] = s
    solve_lower_transposed(own.L, own.delta, own.delta, size.n_u)
    shift_positions(model, own, end.q)
    return OK


@phase
def add_row(own, i, g, kind, n, n_u):
    """Row i of the model as law n of the problem: c = g - W^T delta."""
    laws, rows = own.problem.laws, own.problem.rows
    laws.law[n] = i
    laws.kind[n] = kind
    laws.row[n] = n
    laws.dim[n] = 1
    laws.link[n] = -1
    laws.mode[n] = CONSTRAINT
    rows.P[n] = 0.0
    rows.c[n] = g
    for k in range(n_u):
        rows.c[n] -= own.WT[i, k] * own.delta[k]
    solve_lower(own.L, own.WT[i], own.Y[i], n_u)
    return n + 1


@phase
def delassus(own, n, size):
    """G = W^T M^-1 W (normal directions are the first rows of the model)."""
    law, G = own.problem.laws.law, own.problem.G
    for a in range(n):
        for b in range(a + 1):
            s = 0.0
            for k in range(size.n_u):
                s += own.Y[law[a], k] * own.Y[law[b], k]
            G[a, b] = s
            G[b, a] = s
        if law[a] < size.n_N and own.touched[law[a]] == HELD:
            G[a, a] *= 1.0 + REGULARISED


@phase
def shift_positions(model, own, q):
    """q = q* + B delta."""
    size = model.size
    for i in range(size.n_q):
        s = 0.0
        if size.has_B:
            for k in range(size.n_u):
                s += own.B[i, k] * own.delta[k]
        else:
            s = own.delta[i]
        q[i] = own.q_star[i] + s
    normalise(model, q)


@phase
def keep_books(scene, own, t):
    """The worst gap as it is now, and the work of the projection."""
    model, books, size, end = scene.model, scene.books, scene.model.size, scene.end
    for l in range(size.n_N):
        if own.g[l] < books.gap:
            books.gap = own.g[l]
            books.gap_t = t
    moved = 0.0
    for k in range(size.n_u):
        moved = max(moved, abs(own.delta[k]))
    if moved == 0.0:
        return
    for i in range(size.n_q):
        own.q_half[i] = 0.5 * (own.q_star[i] + end.q[i])
    call_vector(model.at.force, t, own.q_half, own.rest, model.p, own.F)
    work = 0.0
    for k in range(size.n_u):
        work -= own.F[k] * own.delta[k]
    if not work - work == 0.0:  # a force without a value at rest
        call_vector(model.at.force, t, own.q_half, end.u, model.p, own.F)
        work = 0.0
        for k in range(size.n_u):
            work -= own.F[k] * own.delta[k]
    if not size.constant_M:
        call_matrix(model.at.mass, t, end.q, end.u, model.p, own.M)
        work += kinetic_energy(own.M, end.u, size.n_u)
        call_matrix(model.at.mass, t, own.q_star, end.u, model.p, own.M)
        work -= kinetic_energy(own.M, end.u, size.n_u)
    books.work_projection += work
    books.projected += 1
