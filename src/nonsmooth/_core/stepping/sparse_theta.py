"""The theta-Moreau scheme for worlds of many joints: work linear in the number of bodies.

The equations are those of `theta`; Newton's method has bilateral constraints in the matrix of `saddle`,

    [ A    W ] [  dx  ]   [ -R + W P ]          A = M + theta dt D + theta^2 dt^2 K   (K without that of the multipliers)
    [ S_J  0 ] [ -P_J ] = [ -xi_J    ]          S = d xi/dx

and the other laws see G = S A^-1 W, c = xi + S dx_F on the motions that leaves (`saddle_laws`). S has the zeros of W^T:

    xi_i = W_i(q_a, q_b)^T y,    y = x + e u_0,     d xi_i/d delta_a by differences, every body moved at once along one of its velocities

with the two bodies of a row reading their coordinates from two copies of q, so that one of them can stay where it is.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.derivatives.weighted_tangent import TANGENT
from nonsmooth._core.jit import address_record, by_reference, caller, kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT, USER_SET
from nonsmooth._core.records.scene import STEP, Size, scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK, UNCONVERGED, ZERO_DIRECTION
from nonsmooth._core.space.retract import drift, space_at
from nonsmooth._core.stepping import implicit as newton
from nonsmooth._core.stepping.books import (
    book_forces,
    book_gain,
    book_gaps,
    book_solve,
    go_on_unsolved,
    made_by_laws,
)
from nonsmooth._core.stepping.implicit import DAMPED, MAX_NEWTON
from nonsmooth._core.stepping.phases import (
    bounds_of_forces,
    first_change,
    impulses,
    normalise,
    not_finite_gap,
)
from nonsmooth._core.stepping.saddle import (
    EXAMPLE,
    SIDE,
    Saddle,
    add_forces,
    add_product,
    add_row,
    factorise_saddle,
    held_motion,
    row_of,
    scale_velocities,
)
from nonsmooth._core.stepping.saddle_laws import (
    delassus_row,
    is_finite,
    kinetic_energy,
    other_laws,
    put_impulses,
    put_joints,
)
from nonsmooth._core.stepping.theta import AT_END, ENDURING, FORECAST, MIDPOINT, Options

call_tangent = caller(TANGENT)


class SparseTheta(NamedTuple):
    """The step's own record; rows are those of the model."""

    at: Any  # addresses: tangent, weigh, space, moved (W of two copies of q)
    options: Any
    saddle: Saddle
    M: np.ndarray  # values on the pattern of the tangent
    A: np.ndarray
    stiff: np.ndarray  # (1,): whether K is asked for
    own_velocity: np.ndarray  # by velocity: which of its body's it is
    reach: np.ndarray  # steps of differences, by velocity
    q_th: np.ndarray
    q_1: np.ndarray
    q_both: np.ndarray  # two copies of q
    u_th: np.ndarray
    x: np.ndarray  # the iterate
    y: np.ndarray  # x + e u_0
    a: np.ndarray  # accelerations
    la: np.ndarray  # zeros
    du: np.ndarray
    gamma_0: np.ndarray  # relative velocities at the begin, by row
    e: np.ndarray  # restitution in this step, by row
    xi: np.ndarray
    zeta_1: np.ndarray
    W_1: np.ndarray  # rows of W^T where relative velocities are taken,
    W_moved: np.ndarray  # moved,
    S: np.ndarray  # and linearised
    kept: np.ndarray  # work space by velocity


ADDRESSES = ("tangent", "weigh", "space", "moved")


def make_sparse(at, saddle, size, n_values, own_velocity, reach):
    """The record around a `Saddle` of the bilateral constraints, A with so many values."""
    n_q, n_u, rows, table = size.n_q, size.n_u, max(size.n_rows, 1), saddle.W.shape
    return SparseTheta(
        at, Options(), saddle, np.zeros(n_values), np.zeros(n_values), np.zeros(1, dtype=np.int64), own_velocity, reach,
        np.zeros(n_q), np.zeros(n_q), np.zeros(2 * n_q), *(np.zeros(n_u) for _ in range(4)), np.zeros(rows), np.zeros(n_u),
        *(np.zeros(rows) for _ in range(4)), *(np.zeros(table) for _ in range(3)), np.zeros(n_u),
    )  # fmt: skip


def _example():
    size = Size()
    size.n_q = size.n_u = 1
    return make_sparse(
        address_record(**dict.fromkeys(ADDRESSES, 0)),
        EXAMPLE,
        size,
        1,
        np.zeros(1, dtype=np.int64),
        np.ones(1),
    )


_, sparse_at = by_reference(_example())


@kernel(STEP, part=True)
def sparse_theta_step(at_scene, at_state, t, dt):
    """One step of the theta-Moreau scheme."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = sparse_at(scene.at.own)
    info, problem, n_u = scene.info, scene.problem, scene.model.size.n_u
    status = laws_of_step(scene, begin, own, t, dt)  # (16e)
    if status != OK:
        return status
    for j in range(n_u):
        own.x[j] = begin.u[j]
    before = scale = missing = 0.0
    for iteration in range(MAX_NEWTON):
        points(scene, begin, own, t, dt)  # u_th, q_th, q_1
        status = equations(scene, begin, own, t, dt, iteration < 2 or iteration % 5 == 0)  # R, A, xi, S
        if status == OK and problem.count.rows > 0:
            status = contact_problem(scene, begin, own, t, dt, iteration == 0)
            if status == OK:
                status = impulses(problem, info, scene.at.problem, dt)
        if status != OK and status != UNCONVERGED:
            return status
        missing = change_of_iterate(scene, own)
        change, scale = changes(own, begin, scene.work.h, dt, scale)
        if not change - change == 0.0:
            return NON_FINITE
        settled = newton.settled(change, scale, before, 0.0)
        share = 0.5 if iteration >= DAMPED and not settled else 1.0
        for j in range(n_u):
            own.x[j] += share * own.du[j]
        if settled and iteration > 0:
            info.residual = max(info.residual, missing)
            if not missing <= problem.options.tol:
                status = UNCONVERGED
            return finish(scene, begin, own, status, t, dt)
        before = change
    info.residual = before / max(scale, 1e-300)
    return IMPLICIT_UNSOLVED


@phase
def laws_of_step(scene, begin, own, t, dt):
    """Relative velocities at the begin, the laws that act, (16e), and their restitution. Returns a status."""
    model, work, size, options, saddle = (
        scene.model, scene.work, scene.model.size, own.options, own.saddle
    )  # fmt: skip
    laws, theta = model.laws, own.options.theta
    call_matrix(saddle.at.directions, t, begin.q, begin.u, model.p, saddle.W)
    if size.has_zeta:
        call_vector(model.at.zeta, t, begin.q, begin.u, model.p, work.zeta)
    for i in range(size.n_rows):
        own.gamma_0[i] = work.zeta[i] + row_of(saddle.W, saddle.column, i, begin.u)
    if size.n_N > 0:
        if options.activation == MIDPOINT:
            drift(space_at(own.at.space), begin.q, begin.q, begin.u, 0.5 * dt, own.q_1)
            call_vector(model.at.gap, t + 0.5 * dt, own.q_1, begin.u, model.p, work.g)
        else:
            call_vector(model.at.gap, t, begin.q, begin.u, model.p, work.g)
        if options.activation == FORECAST:
            for l in range(size.n_N):
                work.g[l] += options.gamma * dt * own.gamma_0[l]
    for l in range(size.n_laws):
        e = laws.e[l]
        lasts = options.directions == ENDURING and begin.modes[l] == CONSTRAINT
        if lasts and laws.kind[l] != USER_SET:
            e = (1.0 - theta) / theta
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            own.e[i] = e
    other_laws(scene, begin, saddle)
    return not_finite_gap(scene.info)


@phase
def points(scene, begin, own, t, dt):
    """u_th, q_th and q_1 of the iterate, (16b)."""
    space, theta, size = space_at(own.at.space), own.options.theta, scene.model.size
    for j in range(size.n_u):
        own.u_th[j] = (1.0 - theta) * begin.u[j] + theta * own.x[j]
    drift(space, begin.q, begin.q, own.u_th, theta * dt, own.q_th)
    drift(space, own.q_th, begin.q, own.u_th, dt, own.q_1)
    normalise(scene.model, own.q_1)


@phase
def equations(scene, begin, own, t, dt, fresh):
    """R in ``saddle.r``, xi, and (`fresh`) A, S and the factors. Returns a status."""
    model, work, size, saddle, theta = (
        scene.model, scene.work, scene.model.size, own.saddle, own.options.theta
    )  # fmt: skip
    t_th, r = t + theta * dt, saddle.r
    if not scene.info.ready:
        call_tangent(
            own.at.weigh, own.at.tangent, t, begin.q, begin.u, own.a, own.la, model.p, 1.0, 0.0, 0.0, own.M
        )
        scale_velocities(saddle, own.M)
        scene.info.ready = 1
    call_vector(model.at.force, t_th, own.q_th, own.u_th, model.p, work.h)
    for j in range(size.n_u):
        own.du[j] = own.x[j] - begin.u[j]
        own.a[j] = own.du[j] / dt
        r[j] = dt * work.h[j]
    add_product(saddle, own.M, -1.0, own.du, r)
    call_matrix(saddle.at.directions, t_th, own.q_th, begin.u, model.p, saddle.W)
    if size.has_zeta:
        call_vector(model.at.zeta, t_th, own.q_th, begin.u, model.p, work.zeta)
    at_end = own.options.directions == AT_END
    t_1, q_1 = (t + dt, own.q_1) if at_end else (t_th, own.q_th)
    call_matrix(saddle.at.directions, t_1, q_1, begin.u, model.p, own.W_1)
    if size.has_zeta:
        call_vector(model.at.zeta, t_1, q_1, begin.u, model.p, own.zeta_1)
    for i in range(size.n_rows):
        own.xi[i] = law_velocity(own, begin, i, at_end)
    if not fresh:
        return OK
    cK = theta * theta * dt * dt if own.stiff[0] else 0.0
    call_tangent(
        own.at.weigh,
        own.at.tangent,
        t_th,
        own.q_th,
        own.u_th,
        own.a,
        own.la,
        model.p,
        1.0,
        theta * dt,
        cK,
        own.A,
    )
    slopes(scene, begin, own, t_1, q_1, dt, at_end)
    return OK if factorise_saddle(saddle, own.A, own.S) == 0 else IMPLICIT_UNSOLVED


@phase
def law_velocity(own, begin, i, at_end):
    """xi_i = gamma_1 + e gamma_0, with gamma_0 at the begin or, like gamma_1, where W_1 belongs."""
    e, column = own.e[i], own.saddle.column
    s = own.zeta_1[i] + row_of(own.W_1, column, i, own.x)
    return s + e * (own.gamma_0[i] if at_end else own.zeta_1[i] + row_of(own.W_1, column, i, begin.u))


@phase
def slopes(scene, begin, own, t, q, dt, at_end):
    """S = W_1^T + d(W_1^T y)/d delta d delta/dx, y = x + e u_0 (x where gamma_0 belongs to the begin)."""
    saddle, size, theta, space = own.saddle, scene.model.size, own.options.theta, space_at(own.at.space)
    column, n_q, y = saddle.column, size.n_q, own.kept
    way = theta * dt if at_end else theta * theta * dt
    for i in range(size.n_rows):
        for k in range(2 * SIDE):
            own.S[i, k] = own.W_1[i, k]
    if own.at.moved == 0:
        return
    for side in range(2):
        for c in range(SIDE):
            for j in range(size.n_u):
                y[j] = own.reach[j] if own.own_velocity[j] == c else 0.0
            for i in range(n_q):
                own.q_both[i] = own.q_both[n_q + i] = q[i]
            drift(space, q, q, y, 1.0, own.q_both[side * n_q : (side + 1) * n_q])
            call_matrix(own.at.moved, t, own.q_both, begin.u, scene.model.p, own.W_moved)
            for i in range(size.n_rows):
                j = column[i, side * SIDE + c]
                if j >= 0:
                    e = 0.0 if at_end else own.e[i]
                    moved, here = 0.0, 0.0
                    for k in range(2 * SIDE):
                        if column[i, k] >= 0:
                            v = own.x[column[i, k]] + e * begin.u[column[i, k]]
                            moved += own.W_moved[i, k] * v
                            here += own.W_1[i, k] * v
                    own.S[i, side * SIDE + c] += way * (moved - here) / own.reach[j]


@phase
def contact_problem(scene, begin, own, t, dt, first):
    """G, c and bounds of the laws that act besides joints. Returns a status."""
    model, work, problem, saddle, size = (
        scene.model, scene.work, scene.problem, own.saddle, scene.model.size
    )  # fmt: skip
    laws, active, rows, bounds = model.laws, problem.laws, problem.rows, work.bounds
    if size.has_bounds:
        bounds_of_forces(model, work, t + own.options.theta * dt, own.q_th, own.u_th)
    for i in range(saddle.joined.first, size.n_rows):
        saddle.s[i] = -own.xi[i]
    held_motion(saddle, own.A, own.S)
    for a in range(problem.count.laws):
        l = active.law[a]
        active.e[a], active.mu[a] = own.e[laws.row[l]], laws.mu[l]
        if first:
            active.mode[a] = begin.modes[l]
        for d in range(active.dim[a]):
            i, k = laws.row[l] + d, active.row[a] + d
            c = own.xi[i] + row_of(own.S, saddle.column, i, saddle.x)
            rows.c[k], rows.lo[k], rows.hi[k] = c, bounds[i] * dt, bounds[size.n_rows + i] * dt
            if first:
                rows.P[k] = begin.P[i]
            # NaN would pass through a projection unseen; so would a negative limit
            if not (c - c == 0.0 and rows.lo[k] <= rows.hi[k]):
                return NON_FINITE
    for j in range(size.n_u):
        own.kept[j] = saddle.r[j]
    for i in range(saddle.s.size):
        saddle.s[i] = 0.0
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            if not delassus_row(model, saddle, own.A, own.S, problem, a, d):
                scene.info.law = active.law[a]
                return ZERO_DIRECTION
    for j in range(size.n_u):
        saddle.r[j] = own.kept[j]
    return OK


@phase
def change_of_iterate(scene, own):
    """dx and the impulses of all laws. Returns what is missing of the rows of joints, relative to their terms."""
    saddle, size = own.saddle, scene.model.size
    put_impulses(scene, saddle, saddle.r)
    for i in range(saddle.joined.first, size.n_rows):
        saddle.s[i] = -own.xi[i]
    missing = held_motion(saddle, own.A, own.S)
    for j in range(size.n_u):
        own.du[j] = saddle.x[j]
    put_joints(scene, saddle)
    return missing


@phase
def changes(own, begin, h, dt, scale):
    """Size of the change of u_1 and of the velocities it is measured by, in the norm of M."""
    saddle, x, pushed = own.saddle, own.y, 0.0
    for j in range(x.size):
        x[j] = own.x[j] + own.du[j]
        pushed += (dt * h[j] * saddle.scale[j]) ** 2  # |M^-1 h dt|
    change = (2.0 * abs(kinetic_energy(saddle, own.M, own.du))) ** 0.5
    size = max(abs(kinetic_energy(saddle, own.M, begin.u)), abs(kinetic_energy(saddle, own.M, x)))
    return change, max(scale, (2.0 * size) ** 0.5, pushed**0.5)


@phase
def finish(scene, begin, own, status, t, dt):
    """The end of the step, (16b), books and structure; what is not solved goes on only if that was asked for."""
    model, work, end, info, books, theta = (
        scene.model, scene.work, scene.end, scene.info, scene.books, own.options.theta
    )  # fmt: skip
    for j in range(model.size.n_u):
        end.u[j] = own.x[j]
        own.u_th[j] = (1.0 - theta) * begin.u[j] + theta * own.x[j]
    drift(space_at(own.at.space), own.q_th, begin.q, own.u_th, dt, end.q)
    normalise(model, end.q)
    if not is_finite(end):
        return NON_FINITE
    status = go_on_unsolved(scene, status, t + dt)
    if status != OK:
        return status
    book_solve(books, info, t + dt)
    if scene.ask.books:
        if model.size.n_N > 0:
            call_vector(model.at.gap, t + dt, end.q, end.u, model.p, work.g)
            book_gaps(model, work, books, t + dt)
        book_forces(model, begin, end, work, books, dt)
        book_impulses(scene, begin, own, t + dt)
    info.changed = first_change(model, begin, end)
    return OK


@phase
def book_impulses(scene, begin, own, t):
    """Work of all laws, which act along W(q_th), and energy made by impact laws, in the velocities they speak of."""
    model, problem, end, books, saddle, laws = (
        scene.model, scene.problem, scene.end, scene.books, own.saddle, scene.model.laws
    )  # fmt: skip
    active, rows, at_end = problem.laws, problem.rows, own.options.directions == AT_END
    for j in range(model.size.n_u):
        own.du[j] = begin.u[j] + end.u[j]
        own.y[j] = 0.0
    add_acting(problem, laws, end, saddle, own.y)
    add_forces(saddle.W, saddle.column, saddle.joined.first, end.P, own.y)
    for j in range(model.size.n_u):
        books.work_contacts += 0.5 * own.du[j] * own.y[j]
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            i, k = laws.row[active.law[a]] + d, active.row[a] + d
            rows.gamma_B[k] = own.gamma_0[i]
            if not at_end:
                rows.gamma_B[k] = own.zeta_1[i] + row_of(own.W_1, saddle.column, i, begin.u)
            gamma_E = own.zeta_1[i] + row_of(own.W_1, saddle.column, i, end.u)
            rows.gamma_F[k] = rows.c[k] - active.e[a] * rows.gamma_B[k]
            rows.xi[k] = gamma_E + active.e[a] * rows.gamma_B[k]
    made, law = made_by_laws(problem)
    if made > 0.0:
        T_B, T_E = kinetic_energy(saddle, own.M, begin.u), kinetic_energy(saddle, own.M, end.u)
        book_gain(books, made, T_B, T_E, law, t)


@phase
def add_acting(problem, laws, end, saddle, out):
    """out += W P of the laws that act besides joints."""
    active = problem.laws
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            i = laws.row[active.law[a]] + d
            add_row(saddle.W, saddle.column, i, end.P[i], out)
