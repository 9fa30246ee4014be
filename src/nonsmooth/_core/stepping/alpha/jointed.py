"""Generalized-alpha steps of systems of joints alone: one sparse matrix, the multipliers beside their bodies.

The equations are those of `step` in the form PVA, S holding all joints. The iterate is w = v~', lambda~, U, nu, J, Lambda:

    delta = delta^ + beta' w + U,     v = v^ + gamma' w + J

    [ M  W ] [  dw      ]   [ f + W lambda~ - M w  ]                                                   (65a, b)
    [ W^T 0 ] [ -dlambda ] = [ -(W^T w + kappa)     ]
    [ M  W ] [  dU      ]   [ W nu - M U           ]                                                   (65d, e)
    [ W^T 0 ] [ -dnu     ] = [ -g - beta' W^T dw    ]
    [ M  W ] [  dJ      ]   [ W Lambda - M J       ]                                                   (65g, h)
    [ W^T 0 ] [ -dLambda ] = [ -gamma_1 - gamma' W^T dw ]

Forces are weight, rotation and given loads: what they and W lambda~ change within a step is found by iteration, so that one factorisation
serves all three. Rows of W^T are kept without zeros, the velocities of both bodies side by side.

Matrices are scaled: velocities by the roots of their masses, rows to size one, so that pivots mean something.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import address_record, by_reference, kernel, phase, scalars
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK
from nonsmooth._core.stepping.alpha.laws import ULPS
from nonsmooth._core.stepping.alpha.motion import (
    KEPT,
    add_times,
    call_factorise,
    call_solve,
    call_tangent,
    in_norm_of_mass,
    move,
    predict,
    weights_of,
)
from nonsmooth._core.stepping.alpha.records import PART, PLAIN, alpha_at, call_part, memory
from nonsmooth._core.stepping.alpha.smooth import IN
from nonsmooth._core.stepping.alpha.step import (
    begin_of_step,
    carry_over,
    jumped,
    keep_books,
    look_ahead,
    mirror,
    recall,
    starts_anew,
)
from nonsmooth._core.stepping.books import book_solve
from nonsmooth._core.stepping.phases import first_change

BEGIN, MOVED = 0, 1
#: Velocities of a body.
SIDE = 6

Settings = scalars(
    "Settings",
    ready=int,  # M and scales are there
)


class Jointed(NamedTuple):
    """What the sparse step works on besides `Alpha`."""

    at: Any  # addresses: directions (rows without zeros), factors
    settings: Any
    W: np.ndarray  # rows of W^T, (n_rows, 2 SIDE)
    column: np.ndarray  # the velocity each entry belongs to, or -1
    place: np.ndarray  # where W^T stands among the values of the matrix, and
    place_T: np.ndarray  # W
    mass_from: np.ndarray  # entries of M: among the values of the tangent,
    mass_place: np.ndarray  # among those of the matrix,
    mass_row: np.ndarray  # their rows
    mass_column: np.ndarray  # and columns
    values: np.ndarray
    b: np.ndarray  # right-hand side, then solution
    scale: np.ndarray  # of velocities, then of rows
    nu: np.ndarray  # by row
    La: np.ndarray
    U: np.ndarray  # by velocity
    J: np.ndarray
    dw: np.ndarray  # changes
    dU: np.ndarray
    dJ: np.ndarray
    dlam: np.ndarray
    dnu: np.ndarray
    dLa: np.ndarray


ADDRESSES = ("directions", "factors")


def make_jointed(at, n_u, n_rows, n_values, column, places, mass):
    """The record; `places` (W^T, W) and `mass` (from, place, row, column) as the model lays them out."""
    by_row, by_u = (lambda: np.zeros(n_rows)), (lambda: np.zeros(n_u))
    return Jointed(
        at, Settings(), np.zeros(column.shape), column, *places, *mass, np.zeros(n_values), np.zeros(n_u + n_rows),
        np.ones(n_u + n_rows), by_row(), by_row(), *(by_u() for _ in range(5)), *(by_row() for _ in range(3)),
    )  # fmt: skip


def _example():
    one, ints, square, table = (
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
        np.zeros((1, 1)),
        np.zeros((1, 1), dtype=np.int64),
    )
    return Jointed(
        address_record(**dict.fromkeys(ADDRESSES, 0)), Settings(), square, table, table, table, *[ints] * 4, *[one] * 13
    )  # fmt: skip


_, jointed_at = by_reference(_example())


@kernel(PART, part=True)
def evaluate_jointed(at_scene, at_state, t, moved):
    """Forces, joints, their directions, rates and kappa at the iterate, or (not `moved`) at the begin. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    ours = jointed_at(own.at.jointed)
    model, work, size, q, it = scene.model, scene.work, scene.model.size, own.q, own.it
    if moved:
        move(own.at, model.at.kinematics, model.p, begin.q, it.delta, t, own.q_mid, own.B, it.tmp, q)
    else:
        for i in range(begin.q.size):
            q[i] = begin.q[i]
        for j in range(begin.u.size):
            it.v[j] = begin.u[j]
    call_vector(model.at.force, t, q, it.v, model.p, work.h)
    call_matrix(ours.at.directions, t, q, it.v, model.p, ours.W)
    call_vector(model.at.kappa, t, q, it.v, model.p, own.rows.kappa)
    if size.has_zeta:
        call_vector(model.at.zeta, t, q, it.v, model.p, work.zeta)
    call_vector(model.at.joints, t, q, it.v, model.p, own.g_J)
    check = 0.0
    for j in range(size.n_u):
        check += work.h[j] - work.h[j]
    for i in range(size.n_rows):
        own.rows.gamma_1[i] = work.zeta[i] + row_of(ours.W, ours.column, i, it.v)
        check += own.rows.gamma_1[i] - own.rows.gamma_1[i]
    return OK if check == 0.0 else NON_FINITE


@phase
def row_of(W, column, i, x):
    """Row i of W^T times x."""
    s = 0.0
    for k in range(column.shape[1]):
        if column[i, k] >= 0:
            s += W[i, k] * x[column[i, k]]
    return s


@phase
def add_forces(W, column, la, out):
    """out += W la."""
    for i in range(la.size):
        for k in range(column.shape[1]):
            if column[i, k] >= 0:
                out[column[i, k]] += W[i, k] * la[i]


@phase
def masses(own, ours, p, t):
    """M, which is constant, and the scales of velocities."""
    it = own.it
    call_tangent(own.at.weigh, own.at.tangent, t, own.q, it.v, it.y, own.la, p, 1.0, 0.0, 0.0, own.M)
    for i in range(it.v.size):
        for k in range(own.row_start[i], own.row_start[i + 1]):
            if own.columns[k] == i:
                ours.scale[i] = 1.0 / own.M[k] ** 0.5
    ours.settings.ready = 1


@phase
def factors(own, ours):
    """Factors of the scaled matrix. Returns a status."""
    values, scale, n = ours.values, ours.scale, own.it.v.size
    for k in range(values.size):
        values[k] = 0.0
    for k in range(ours.mass_place.size):
        values[ours.mass_place[k]] = (
            own.M[ours.mass_from[k]] * scale[ours.mass_row[k]] * scale[ours.mass_column[k]]
        )
    for i in range(ours.W.shape[0]):
        length = 0.0
        for k in range(2 * SIDE):
            if ours.column[i, k] >= 0:
                length = max(length, abs(ours.W[i, k]) * scale[ours.column[i, k]])
        scale[n + i] = 1.0 / length if length > 0.0 else 1.0
        for k in range(2 * SIDE):
            if ours.column[i, k] >= 0:
                entry = ours.W[i, k] * scale[ours.column[i, k]] * scale[n + i]
                values[ours.place[i, k]] = values[ours.place_T[i, k]] = entry
    return OK if call_factorise(own.at.factorise, ours.at.factors, values) == 0 else IMPLICIT_UNSOLVED


@phase
def solved(own, ours, x, la):
    """Solution for the right-hand side in ``ours.b``: x, and la with its sign."""
    b, scale, n = ours.b, ours.scale, x.size
    for k in range(b.size):
        b[k] *= scale[k]
    call_solve(own.at.solve, ours.at.factors, b)
    for j in range(n):
        x[j] = b[j] * scale[j]
    for i in range(la.size):
        la[i] = -b[n + i] * scale[n + i]


@kernel(PART, part=True)
def change_jointed(at_scene, at_state, t, fresh):
    """The matrices at the iterate, unless those of the last iteration serve, and the changes of Newton's method. Returns a status."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    ours = jointed_at(own.at.jointed)
    it, rows, weights, size, b = own.it, own.rows, own.weights, scene.model.size, ours.b
    n, status = size.n_u, OK
    if fresh != KEPT:
        status = factors(own, ours)
    if status != OK:
        return status
    for j in range(n):
        b[j] = scene.work.h[j]
    add_forces(ours.W, ours.column, rows.lam, b)
    add_times(own.row_start, own.columns, own.M, -1.0, it.w, b[:n])
    for i in range(size.n_rows):
        b[n + i] = -rows.kappa[i] - row_of(ours.W, ours.column, i, it.w)
    solved(own, ours, ours.dw, ours.dlam)
    corrected(own, ours, weights.beta, own.g_J, ours.U, ours.nu, ours.dU, ours.dnu)
    corrected(own, ours, weights.gamma, rows.gamma_1, ours.J, ours.La, ours.dJ, ours.dLa)
    for j in range(n):
        it.ddelta[j] = weights.beta * ours.dw[j] + ours.dU[j]
        it.dv[j] = weights.gamma * ours.dw[j] + ours.dJ[j]
    return OK


@phase
def corrected(own, ours, weight, violation, X, la, dX, dla):
    """dX and dla of a level: M (X + dX) = W (la + dla), violation + W^T (weight dw + dX) = 0."""
    b, n = ours.b, X.size
    for j in range(n):
        b[j] = 0.0
    add_forces(ours.W, ours.column, la, b)
    add_times(own.row_start, own.columns, own.M, -1.0, X, b[:n])
    for i in range(la.size):
        b[n + i] = -violation[i] - weight * row_of(ours.W, ours.column, i, ours.dw)
    solved(own, ours, dX, dla)


@kernel(PART, part=True)
def speak_jointed(at_scene, at_state, t, iteration):
    """How far the iterate is from a solution: the changes in the norm of M. Returns 0: nothing else is open."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    it, weights, dt = own.it, own.weights, own.weights.dt
    row_start, columns, M = own.row_start, own.columns, own.M
    for j in range(it.v.size):
        it.tmp[j] = it.ddelta[j] / dt
    weights.error = max(
        in_norm_of_mass(row_start, columns, M, it.dv), in_norm_of_mass(row_start, columns, M, it.tmp)
    )
    for j in range(it.v.size):
        it.tmp[j] = dt * it.w[j]
    if weights.scale == 0.0:
        weights.scale = max(
            in_norm_of_mass(row_start, columns, M, begin.u), in_norm_of_mass(row_start, columns, M, it.tmp)
        )
    weights.scale = max(weights.scale, in_norm_of_mass(row_start, columns, M, it.v))
    weights.rounding = ULPS * largest(own.q) * largest(M) ** 0.5 / dt
    return 0


@phase
def largest(x):
    """max |x|."""
    found = 0.0
    for k in range(x.size):
        found = max(found, abs(x[k]))
    return found


@kernel(PART, part=True)
def take_jointed(at_scene, at_state, t, iteration):
    """The changes. Returns a status."""
    own = alpha_at(scene_at(at_scene).at.own)
    ours, it, rows = jointed_at(own.at.jointed), own.it, own.rows
    for j in range(it.v.size):
        it.w[j] += ours.dw[j]
        ours.U[j] += ours.dU[j]
        ours.J[j] += ours.dJ[j]
        it.delta[j] += it.ddelta[j]
        it.v[j] += it.dv[j]
    for i in range(rows.lam.size):
        rows.lam[i] += ours.dlam[i]
        ours.nu[i] += ours.dnu[i]
        ours.La[i] += ours.dLa[i]
    return OK


@kernel(PART, part=True)
def begin_jointed(at_scene, at_state, t, _):
    """What the step starts from, as `step.begin_step`. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    ours, size, it, rows, x = jointed_at(own.at.jointed), scene.model.size, own.it, own.rows, own.options
    old = memory(begin.own, size.n_u, size.n_rows)
    weights_of(own, size, own.weights.dt)
    t = begin_of_step(old, t, own.weights.dt)
    status = call_part(own.at.evaluate, at_scene, at_state, t, BEGIN)
    if status != OK:
        return status
    if not ours.settings.ready:
        masses(own, ours, scene.model.p, t)
    for j in range(size.n_u):
        it.f_0[j] = scene.work.h[j]
    for i in range(size.n_rows):
        rows.gamma_0[i] = rows.gamma_1[i]
    if starts_anew(old, x):
        status = consistent_jointed(at_scene, at_state, t)
    else:
        recall(own, old)
    predict(own, begin, old, size, own.weights.dt)
    for j in range(size.n_u):
        it.w[j], ours.U[j], ours.J[j] = it.w_0[j], 0.0, 0.0
    for i in range(size.n_rows):
        rows.lam[i], ours.nu[i], ours.La[i] = rows.lam_0[i], 0.0, 0.0
    return status


@phase
def consistent_jointed(at_scene, at_state, t):
    """v~'_0, lambda~_0 by (38); a_0, eta_0 the same at t + (alpha_m - alpha_f) h (see `consistent`), or equal to them. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    ours, size, it, rows, x = jointed_at(own.at.jointed), scene.model.size, own.it, own.rows, own.options
    status = smooth_accelerations(own, ours, scene.work.h, it.w_0, rows.lam_0)
    for j in range(size.n_u):
        it.a_0[j] = it.w_0[j]
    for i in range(size.n_rows):
        rows.eta_0[i] = rows.lam_0[i]
    shift = abs(x.alpha_m - x.alpha_f) * own.weights.dt
    if x.start == PLAIN or shift == 0.0 or status != OK:
        return status
    look_ahead(it, begin.u, shift)
    status = call_part(own.at.evaluate, at_scene, at_state, t + shift, MOVED)
    if status == OK:
        status = smooth_accelerations(own, ours, scene.work.h, it.a_0, rows.eta_0)
    mirror(it, rows, -1.0 if x.alpha_m < x.alpha_f else 1.0, it.a_0, rows.eta_0)
    return status


@phase
def smooth_accelerations(own, ours, h, w, lam):
    """M w = f + W lam, W^T w + kappa = 0 where functions were evaluated last. Returns a status."""
    status = factors(own, ours)
    n = w.size
    for j in range(n):
        ours.b[j] = h[j]
    for i in range(lam.size):
        ours.b[n + i] = -own.rows.kappa[i]
    solved(own, ours, w, lam)
    return status


@kernel(PART, part=True)
def finish_jointed(at_scene, at_state, t, newton):
    """The end of the step: totals of the multipliers, what is remembered, books. Returns a status."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = alpha_at(scene.at.own)
    ours, size, it, rows, end = (
        jointed_at(own.at.jointed), scene.model.size, own.it, own.rows, scene.end
    )  # fmt: skip
    new, weights, check = memory(end.own, size.n_u, size.n_rows), own.weights, 0.0
    carry_over(own, size, new)
    for j in range(size.n_u):
        end.u[j] = it.v[j]
        check += it.v[j] - it.v[j]
        new.y[j], new.U[j], new.W[j] = it.w[j], ours.U[j], ours.J[j]
    for i in range(size.n_q):
        end.q[i] = own.q[i]
        check += own.q[i] - own.q[i]
    for i in range(size.n_rows):
        end.P[i] = ours.La[i] + rows.La_hat[i] + weights.gamma * rows.lam[i]  # (65m)
        new.La[i], new.nu[i], new.sets[i] = ours.La[i], ours.nu[i], 7.0
        rows.acts[i] = IN
    for l in range(size.n_laws):
        end.modes[l] = CONSTRAINT
    if check != 0.0:
        return NON_FINITE
    new.ready[0], new.newton[0], new.dt[0] = 1.0, newton, weights.dt
    new.jumped[0] = jumped(own, size, begin, end)
    info = scene.info
    info.iterations, info.residual, info.ready = newton, weights.error / max(weights.scale, 1e-300), 1
    info.changed = first_change(scene.model, begin, end)
    book_solve(scene.books, info, weights.t_1)
    if scene.ask.books:
        keep_books(scene, own, new, weights.t_1)
    return OK
