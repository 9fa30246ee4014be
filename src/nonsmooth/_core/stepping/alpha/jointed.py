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
serves all three. The matrix is that of `saddle`, with the mass matrix for A.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import by_reference, kernel, phase, scalars
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, OK
from nonsmooth._core.stepping.alpha.begin import begin_of_step, look_ahead, mirror, recall, starts_anew
from nonsmooth._core.stepping.alpha.finish import carry_over, jumped, keep_books
from nonsmooth._core.stepping.alpha.measure import ULPS
from nonsmooth._core.stepping.alpha.motion import (
    KEPT,
    add_times,
    call_tangent,
    in_norm_of_mass,
    move,
    predict,
    weights_of,
)
from nonsmooth._core.stepping.alpha.records import BEGIN, MOVED, PART, PLAIN, alpha_at, call_part, memory
from nonsmooth._core.stepping.alpha.smooth import IN
from nonsmooth._core.stepping.books import book_solve
from nonsmooth._core.stepping.phases import first_change
from nonsmooth._core.stepping.saddle import (
    EXAMPLE,
    Saddle,
    add_forces,
    factorise_saddle,
    row_of,
    scale_velocities,
    solve_saddle,
)

Settings = scalars(
    "Settings",
    ready=int,  # M and scales are there
)


class Jointed(NamedTuple):
    """What the sparse step works on besides `Alpha`."""

    settings: Any
    saddle: Saddle
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


def make_jointed(saddle, n_u, n_rows):
    """The record around a `Saddle` of all rows."""
    by_row, by_u = (lambda: np.zeros(n_rows)), (lambda: np.zeros(n_u))
    return Jointed(
        Settings(), saddle, by_row(), by_row(), *(by_u() for _ in range(5)), *(by_row() for _ in range(3))
    )


_, jointed_at = by_reference(make_jointed(EXAMPLE, 1, 1))


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
    call_matrix(ours.saddle.at.directions, t, q, it.v, model.p, ours.saddle.W)
    call_vector(model.at.kappa, t, q, it.v, model.p, own.rows.kappa)
    if size.has_zeta:
        call_vector(model.at.zeta, t, q, it.v, model.p, work.zeta)
    call_vector(model.at.joints, t, q, it.v, model.p, own.g_J)
    check = 0.0
    for j in range(size.n_u):
        check += work.h[j] - work.h[j]
    for i in range(size.n_rows):
        own.rows.gamma_1[i] = work.zeta[i] + row_of(ours.saddle.W, ours.saddle.column, i, it.v)
        check += own.rows.gamma_1[i] - own.rows.gamma_1[i]
    return OK if check == 0.0 else NON_FINITE


@phase
def masses(own, ours, p, t):
    """M, which is constant, and the scales of velocities."""
    it = own.it
    call_tangent(own.at.weigh, own.at.tangent, t, own.q, it.v, it.y, own.la, p, 1.0, 0.0, 0.0, own.M)
    scale_velocities(ours.saddle, own.M)
    ours.settings.ready = 1


@phase
def factors(own, ours):
    """Factors of the matrix. Returns a status."""
    return OK if factorise_saddle(ours.saddle, own.M, ours.saddle.W) == 0 else IMPLICIT_UNSOLVED


@phase
def solved(ours, x, la):
    """Solution for the right-hand side in ``saddle.b``: x, and la with its sign."""
    solve_saddle(ours.saddle)
    b, n = ours.saddle.b, x.size
    for j in range(n):
        x[j] = b[j]
    for i in range(la.size):
        la[i] = -b[n + i]


@kernel(PART, part=True)
def change_jointed(at_scene, at_state, t, fresh):
    """The matrices at the iterate, unless those of the last iteration serve, and the changes of Newton's method. Returns a status."""
    scene = scene_at(at_scene)
    own = alpha_at(scene.at.own)
    ours = jointed_at(own.at.jointed)
    it, rows, weights, size, b = own.it, own.rows, own.weights, scene.model.size, ours.saddle.b
    n, status = size.n_u, OK
    if fresh != KEPT:
        status = factors(own, ours)
    if status != OK:
        return status
    for j in range(n):
        b[j] = scene.work.h[j]
    add_forces(ours.saddle.W, ours.saddle.column, 0, rows.lam, b)
    add_times(own.row_start, own.columns, own.M, -1.0, it.w, b[:n])
    for i in range(size.n_rows):
        b[n + i] = -rows.kappa[i] - row_of(ours.saddle.W, ours.saddle.column, i, it.w)
    solved(ours, ours.dw, ours.dlam)
    corrected(own, ours, weights.beta, own.g_J, ours.U, ours.nu, ours.dU, ours.dnu)
    corrected(own, ours, weights.gamma, rows.gamma_1, ours.J, ours.La, ours.dJ, ours.dLa)
    for j in range(n):
        it.ddelta[j] = weights.beta * ours.dw[j] + ours.dU[j]
        it.dv[j] = weights.gamma * ours.dw[j] + ours.dJ[j]
    return OK


@phase
def corrected(own, ours, weight, violation, X, la, dX, dla):
    """dX and dla of a level: M (X + dX) = W (la + dla), violation + W^T (weight dw + dX) = 0."""
    b, n = ours.saddle.b, X.size
    for j in range(n):
        b[j] = 0.0
    add_forces(ours.saddle.W, ours.saddle.column, 0, la, b)
    add_times(own.row_start, own.columns, own.M, -1.0, X, b[:n])
    for i in range(la.size):
        b[n + i] = -violation[i] - weight * row_of(ours.saddle.W, ours.saddle.column, i, ours.dw)
    solved(ours, dX, dla)


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
        ours.saddle.b[j] = h[j]
    for i in range(lam.size):
        ours.saddle.b[n + i] = -own.rows.kappa[i]
    solved(ours, w, lam)
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
