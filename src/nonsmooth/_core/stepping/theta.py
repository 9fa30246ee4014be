"""The theta-Moreau scheme: one step, compiled.

V. Acary, "Higher order event capturing time-stepping schemes for nonsmooth multibody systems with unilateral constraints and impacts",
Applied Numerical Mathematics 62 (2012) 1259-1275, eq. (16), F the applied force (erratum 1), with kinematics q' = B u, walls that
move, friction, bilateral constraints and any other law on velocity level:

    M(q_th) (u_1 - u_0) - dt F(t_th, q_th, u_th) = W(q_th) P                                            (16a)
    q_1 = q_0 + dt B(q_th) u_th,    u_th = (1 - theta) u_0 + theta u_1                                  (16b)
    q_th = q_0 + theta dt B(q_0) u_th        (the paper's (1 - theta) q_0 + theta q_1 where q' = u)
    gamma_1 = W^T u_1 + zeta                 at q_1, or at q_th as printed                              (16c)
    -(gamma_1 + e gamma_0) in N(P)           for contacts whose forecast gap is not positive            (16d)
    g_0 + gamma dt gamma_0 <= 0              the forecast; or g_0 <= 0, or the gap half a step ahead    (16e)

Where W depends on q, relative velocities taken at q_th as printed make the local error of the velocity O(dt) for theta = 1/2 in sustained
contact (erratum 12: Proposition 2 fails). Cures: `AT_END`, gamma_1 at (t_1, q_1) and gamma_0 at (t_0, q_0); or `ENDURING`, theta gamma_1
+ (1 - theta) gamma_0 = 0 at q_th for laws that were constraints; or `SECANT`, the same with directions along the chord of the step
(`chord`).

The unknown is x = u_1, solved by Newton's method with laws inside (`implicit`):

    R = M (u_1 - u_0) - dt F,     A = dR/du_1 = M + theta dt D + theta^2 dt^2 K,   a = (u_1 - u_0)/dt, la = P/dt
    xi = gamma_1 + e gamma_0,     S = W^T + d xi/dq dq/du_1

d xi/dq by differences of W, once per step. (Where q' = B u the change of B with u_1 is dropped from A and S.)
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import by_reference, kernel, phase, scalars
from nonsmooth._core.records.laws import CONSTRAINT, FREE, USER_SET
from nonsmooth._core.records.scene import STEP, scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK
from nonsmooth._core.stepping import implicit as newton
from nonsmooth._core.stepping.books import (
    book_forces,
    book_gaps,
    book_made,
    end_of_solve,
    work_of_laws,
)
from nonsmooth._core.stepping.chord import along_chord, places
from nonsmooth._core.stepping.implicit import DAMPED, MAX_NEWTON, Implicit
from nonsmooth._core.stepping.phases import (
    bounds_of_forces,
    first_change,
    impulses,
    laws_by_gaps,
    move,
    normalise,
    not_finite_gap,
)

# which gap decides whether a contact acts
FORECAST, NOT_FORECAST, MIDPOINT = range(3)
# where relative velocities are taken
AT_END, AT_THETA, ENDURING, SECANT = range(4)

Options = scalars("Options", theta=float, gamma=float, activation=int, directions=int)


class Theta(NamedTuple):
    """The scheme's own record."""

    options: Any
    implicit: Implicit
    u_th: np.ndarray
    u_new: np.ndarray
    q_1: np.ndarray
    q_move: np.ndarray
    gamma_0: np.ndarray  # relative velocities at the begin, by row
    WT_1: np.ndarray  # directions and
    zeta_1: np.ndarray  # velocities of surfaces where relative velocities are taken
    WT_move: np.ndarray
    zeta_move: np.ndarray
    bend: np.ndarray  # d xi/d delta, by row
    reach: np.ndarray  # steps of differences of q, by velocity
    shift: np.ndarray  # how far a projection moves q_1 (zero without one)
    place_0: np.ndarray  # gaps, then joints: at the begin
    place_1: np.ndarray  # ... and at q_1 (`SECANT`)
    way_q: np.ndarray  # what they change with q,
    way_t: np.ndarray  # ... and with t
    sizes: np.ndarray  # of coordinates, by velocity


def make_own(size, at, n_values, reach, sizes):
    """The record of a scheme for a model of that size; `at`: addresses of the tangent and its factors."""
    n_q, n_u, rows, places = size.n_q, size.n_u, max(size.n_rows, 1), max(size.n_N, 1) + max(size.n_joints, 1)
    return Theta(
        Options(), newton.make_implicit(at, n_u, size.n_rows, n_values), np.zeros(n_u), np.zeros(n_u), np.zeros(n_q), np.zeros(n_q),
        np.zeros(rows), np.zeros((rows, n_u)), np.zeros(rows), np.zeros((rows, n_u)), np.zeros(rows), np.zeros((rows, n_u)),
        reach, np.zeros(n_q), np.zeros(places), np.zeros(places), np.zeros(places), np.zeros(places), sizes,
    )  # fmt: skip


def _example():
    one, row = np.zeros(1), np.zeros((1, 1))
    return Theta(
        Options(), newton.EXAMPLE, one, one, one, one, one, row, one, row, one, row, one, one, one, one, one, one, one
    )  # fmt: skip


_, own_at = by_reference(_example())


@kernel(STEP, part=True)
def theta_step(at_scene, at_state, t, dt):
    """One step of the theta-Moreau scheme."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    model, end, info, size = scene.model, scene.end, scene.info, scene.model.size
    status = laws_of_step(scene, begin, own, t, dt)  # (16e)
    if status != OK:
        return status
    for j in range(size.n_u):
        own.implicit.x[j] = begin.u[j]
    before = scale = 0.0
    for iteration in range(MAX_NEWTON):
        first = iteration == 0
        points(scene, begin, own, t, dt)  # u_th, q_th, q_1
        status = equations(scene, begin, own, t, dt, first)  # R, A
        if status == OK:
            status = contact_problem(
                scene, begin, own, t, dt, first, iteration < 2 or iteration % 5 == 0
            )  # xi, S
        if status != OK:
            return status
        if scene.problem.count.rows > 0:
            status = impulses(scene.problem, info, scene.at.problem, dt)
        newton.take_impulses(own.implicit, model, end, scene.problem, own.u_new)
        change, scale = newton.changes(scene, begin, own.implicit, own.u_new, scale)
        if not change - change == 0.0:
            return NON_FINITE
        noise = 0.0
        if own.options.directions == SECANT:
            noise = newton.rounding_of_positions(model, scene.work, begin.q, dt)
        settled = newton.settled(change, scale, before, noise)
        next_iterate(own, size.n_u, 0.5 if iteration >= DAMPED and not settled else 1.0)
        if settled and not first:
            return finish(scene, begin, own, status, t, dt)
        before = change
    info.residual = before / max(scale, 1e-300)
    return IMPLICIT_UNSOLVED


@phase
def laws_of_step(scene, begin, own, t, dt):
    """Relative velocities at the begin and the laws that act, (16e). Returns a status."""
    model, work, info, size, options = scene.model, scene.work, scene.info, scene.model.size, own.options
    n_u, n_N = size.n_u, size.n_N
    for i in range(size.n_rows):
        work.zeta[i] = 0.0
    if size.n_rows > 0:
        call_matrix(model.at.directions, t, begin.q, begin.u, model.p, work.WT)
        if size.has_zeta:
            call_vector(model.at.zeta, t, begin.q, begin.u, model.p, work.zeta)
        for i in range(size.n_rows):
            own.gamma_0[i] = newton.row_velocity(work.WT, work.zeta, begin.u, i, n_u)
    if options.directions == SECANT:
        places(scene, begin, t, begin.q, own.place_0)
    if n_N > 0:
        if options.activation == MIDPOINT:
            straight_ahead(model, begin, work, own, t, 0.5 * dt)
            call_vector(model.at.gap, t + 0.5 * dt, own.q_move, begin.u, model.p, work.g)
        else:
            call_vector(model.at.gap, t, begin.q, begin.u, model.p, work.g)
        if options.activation == FORECAST:
            for l in range(n_N):
                work.g[l] += options.gamma * dt * own.gamma_0[l]
    laws_by_gaps(model, begin, scene.end, work, scene.problem, info, scene.ask, size.n_laws)
    return not_finite_gap(info)


@phase
def straight_ahead(model, begin, work, own, t, dt):
    """q_0 + B(q_0) u_0 dt, into `q_move`."""
    if model.size.has_B:
        call_matrix(model.at.kinematics, t, begin.q, begin.u, model.p, work.B)
    newton.along(model, work, begin.q, begin.u, dt, own.q_move)


@phase
def points(scene, begin, own, t, dt):
    """u_th, q_th and q_1 of the iterate, (16b); a shift of q_1 by a projection moves q_th along, (19b)."""
    model, work, size, theta, x = (
        scene.model, scene.work, scene.model.size, own.options.theta, own.implicit.x
    )  # fmt: skip
    for j in range(size.n_u):
        own.u_th[j] = (1.0 - theta) * begin.u[j] + theta * x[j]
    if size.has_B:
        call_matrix(model.at.kinematics, t, begin.q, begin.u, model.p, work.B)
    newton.along(model, work, begin.q, own.u_th, theta * dt, work.q_m)
    for i in range(size.n_q):
        work.q_m[i] += theta * own.shift[i]
    if size.has_B:
        call_matrix(model.at.kinematics, t + theta * dt, work.q_m, begin.u, model.p, work.B)
    newton.along(model, work, begin.q, own.u_th, dt, own.q_1)
    for i in range(size.n_q):
        own.q_1[i] += own.shift[i]
    if scene.ask.unit:
        normalise(model, own.q_1)


@phase
def equations(scene, begin, own, t, dt, first):
    """R and A of the equation of motion, (16a), and x_F. Returns a status."""
    model, work, end, imp, n_u = scene.model, scene.work, scene.end, own.implicit, scene.model.size.n_u
    theta = own.options.theta
    t_th = t + theta * dt
    call_matrix(model.at.mass, t_th, work.q_m, own.u_th, model.p, work.M)
    call_vector(model.at.force, t_th, work.q_m, own.u_th, model.p, work.h)
    for i in range(n_u):
        r = -dt * work.h[i]
        for j in range(n_u):
            r += work.M[i, j] * (imp.x[j] - begin.u[j])
        imp.r[i] = r
        imp.a[i] = (imp.x[i] - begin.u[i]) / dt
    for i in range(scene.model.size.n_rows):
        imp.la[i] = 0.0 if first else end.P[i] / dt
    status = newton.tangent(imp, model, t_th, work.q_m, own.u_th, 1.0, theta * dt, theta * theta * dt * dt)
    if status == OK:
        newton.without_impulses(imp, n_u)
    return status


@phase
def contact_problem(scene, begin, own, t, dt, first, bends):
    """xi and S of the laws that act, (16c, d), and the contact problem they make. Returns a status."""
    model, work, problem, size = scene.model, scene.work, scene.problem, scene.model.size
    if problem.count.rows == 0:
        return OK
    t_th = t + own.options.theta * dt
    surfaces(scene, begin, t_th, work.q_m, work.WT, work.zeta)
    if size.has_bounds:
        bounds_of_forces(model, work, t_th, work.q_m, own.u_th)
    at_end = own.options.directions == AT_END
    t_1, q_1 = (t + dt, own.q_1) if at_end else (t_th, work.q_m)
    surfaces(scene, begin, t_1, q_1, own.WT_1, own.zeta_1)
    for a in range(problem.count.laws):
        begin_of_law(scene, begin, own, a, dt, first)
    if bends and not size.constant_W:
        bend(scene, begin, own, t_1, q_1)
    if own.options.directions == SECANT:
        newton.along(model, work, begin.q, own.u_th, dt, own.q_move)
        if scene.ask.unit:
            normalise(model, own.q_move)
        along_chord(scene, begin, own, t, dt)
    velocities_and_slopes(scene, begin, own, dt)
    return newton.linearised_laws(own.implicit, model, work.WT, problem, scene.info)


@phase
def surfaces(scene, begin, t, q, WT, zeta):
    """W^T and zeta at (t, q)."""
    model = scene.model
    call_matrix(model.at.directions, t, q, begin.u, model.p, WT)
    if model.size.has_zeta:
        call_vector(model.at.zeta, t, q, begin.u, model.p, zeta)


@phase
def begin_of_law(scene, begin, own, a, dt, first):
    """Restitution, bounds and the guess of law `a`."""
    laws, active, rows, bounds = scene.model.laws, scene.problem.laws, scene.problem.rows, scene.work.bounds
    l = active.law[a]
    active.e[a] = laws.e[l]
    active.mu[a] = laws.mu[l]
    theta = own.options.theta
    lasts = begin.modes[l] == CONSTRAINT or (active.kind[a] == FREE and own.options.directions == SECANT)
    if own.options.directions >= ENDURING and lasts and active.kind[a] != USER_SET:
        active.e[a] = (1.0 - theta) / theta
    if first:
        active.mode[a] = begin.modes[l]
    for d in range(active.dim[a]):
        i, k = laws.row[l] + d, active.row[a] + d
        rows.lo[k] = bounds[i] * dt
        rows.hi[k] = bounds[scene.model.size.n_rows + i] * dt
        if first:
            rows.P[k] = begin.P[i]


@phase
def law_velocity(own, begin, WT, zeta, x, e, i, n_u):
    """xi_i = gamma_1 + e gamma_0, with gamma_0 at the begin or, like gamma_1, where WT and zeta belong."""
    if own.options.directions == AT_END:
        return newton.row_velocity(WT, zeta, x, i, n_u) + e * own.gamma_0[i]
    s = (1.0 + e) * zeta[i]
    for j in range(n_u):
        s += WT[i, j] * (x[j] + e * begin.u[j])
    return s


@phase
def velocities_and_slopes(scene, begin, own, dt):
    """xi and S at the iterate."""
    model, problem, n_u, imp = scene.model, scene.problem, scene.model.size.n_u, own.implicit
    theta = own.options.theta
    way = theta * dt if own.options.directions == AT_END else theta * theta * dt  # dq/du_1 = way B
    for a in range(problem.count.laws):
        l = problem.laws.law[a]
        for i in range(model.laws.row[l], model.laws.row[l] + model.laws.dim[l]):
            imp.xi[i] = law_velocity(own, begin, own.WT_1, own.zeta_1, imp.x, problem.laws.e[a], i, n_u)
            for j in range(n_u):
                imp.S[i, j] = own.WT_1[i, j] + way * own.bend[i, j]


@phase
def bend(scene, begin, own, t, q):
    """d xi/d delta along the columns of B, by differences of W and zeta."""
    model, work, problem, size, x = (
        scene.model, scene.work, scene.problem, scene.model.size, own.implicit.x
    )  # fmt: skip
    for i in range(size.n_rows):
        own.zeta_move[i] = own.zeta_1[i]
    for j in range(size.n_u):
        s = own.reach[j]
        for i in range(size.n_q):
            B_ij = work.B[i, j] if size.has_B else (1.0 if i == j else 0.0)
            own.q_move[i] = q[i] + s * B_ij
        surfaces(scene, begin, t, own.q_move, own.WT_move, own.zeta_move)
        for a in range(problem.count.laws):
            l, e = problem.laws.law[a], problem.laws.e[a]
            for i in range(model.laws.row[l], model.laws.row[l] + model.laws.dim[l]):
                moved = law_velocity(own, begin, own.WT_move, own.zeta_move, x, e, i, size.n_u)
                here = law_velocity(own, begin, own.WT_1, own.zeta_1, x, e, i, size.n_u)
                own.bend[i, j] = (moved - here) / s


@phase
def next_iterate(own, n_u, share):
    """A part of the change, or all of it."""
    for j in range(n_u):
        own.implicit.x[j] += share * (own.u_new[j] - own.implicit.x[j])


@phase
def finish(scene, begin, own, status, t, dt):
    """The end of the step, (16b), books and structure; what is not solved goes on only if that was asked for."""
    model, work, end, info = scene.model, scene.work, scene.end, scene.info
    for j in range(model.size.n_u):
        end.u[j] = own.implicit.x[j]
    if not move(model, begin, end, work, own.options.theta, dt):
        return NON_FINITE
    status = end_of_solve(scene, status, t + dt)
    if status != OK:
        return status
    if scene.ask.books:
        keep_books(scene, begin, own, t, dt)
    info.changed = first_change(model, begin, end)
    info.ready = 1
    return OK


@phase
def keep_books(scene, begin, own, t, dt):
    """Gaps at the end; work of forces and laws, which act along W(q_th); energy made by laws, in the velocities they speak of."""
    model, work, problem, end, books = scene.model, scene.work, scene.problem, scene.end, scene.books
    if model.size.n_N > 0:
        call_vector(model.at.gap, t + dt, end.q, end.u, model.p, work.g)
        book_gaps(model, work, books, t + dt)
    book_forces(model, begin, end, work, books, dt)
    if problem.count.rows == 0:
        return
    newton.velocities_of_rows(scene, begin, own.implicit, work.WT, work.zeta)
    books.work_contacts += work_of_laws(model, work, problem)
    if own.options.directions == AT_END:
        newton.velocities_of_rows(scene, begin, own.implicit, own.WT_1, own.zeta_1)
        for a in range(problem.count.laws):
            for d in range(problem.laws.dim[a]):
                i, k = model.laws.row[problem.laws.law[a]] + d, problem.laws.row[a] + d
                problem.rows.xi[k] += problem.laws.e[a] * (own.gamma_0[i] - problem.rows.gamma_B[k])
                problem.rows.gamma_B[k] = own.gamma_0[i]
    book_made(model, begin, end, work, problem, books, t + dt)
