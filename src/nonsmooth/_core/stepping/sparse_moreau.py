"""Moreau's midpoint rule for worlds of many joints: work linear in the number of bodies.

The step is that of `moreau`, with bilateral constraints taken out of the contact problem and into the matrix of `saddle`:

    [ M     W_J ] [  u_E - u_B ]   [ h dt + W P               ]
    [ W_J^T  0  ] [ -P_J       ] = [ -(W_J^T u_B + zeta_J)    ]            (15) and gamma_J = 0

Without P this is the free velocity u_F; with W_i alone on the right, x_i, it gives the contact problem of the other laws that act,

    G_ij = W_i^T x_j,    c = W^T u_F + zeta + e gamma_B                    (18)

(see `saddle_laws`).
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import address_record, by_reference, kernel, phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import STEP, scene_at, state_at
from nonsmooth._core.records.status import MASS_SINGULAR, NON_FINITE, OK, UNCONVERGED, ZERO_DIRECTION
from nonsmooth._core.space.retract import drift, space_at, terms_of_drift
from nonsmooth._core.stepping.books import (
    book_forces,
    book_gain,
    book_gaps,
    book_solve,
    go_on_unsolved,
    made_by_laws,
    work_of_laws,
)
from nonsmooth._core.stepping.phases import (
    GAP_ULPS,
    bounds_of_forces,
    first_change,
    impulses,
    normalise,
    not_finite_gap,
    row_of_problem,
)
from nonsmooth._core.stepping.saddle import (
    EXAMPLE,
    Saddle,
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


class SparseMoreau(NamedTuple):
    """The step's own record."""

    at: Any  # addresses: mass (values of M on its pattern), space
    saddle: Saddle
    M: np.ndarray
    terms: np.ndarray  # by velocity: what gaps are made of
    mean: np.ndarray  # (u_B + u_E) / 2


def make_sparse(at, saddle, n_u, n_values):
    """The record around a `Saddle` of the bilateral constraints, M with so many values."""
    return SparseMoreau(at, saddle, np.zeros(n_values), np.zeros(n_u), np.zeros(n_u))


_, sparse_at = by_reference(make_sparse(address_record(mass=0, space=0), EXAMPLE, 1, 1))


@kernel(STEP, part=True)
def sparse_moreau_step(at_scene, at_state, t, dt):
    """One step of Moreau's midpoint rule."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = sparse_at(scene.at.own)
    work, problem, end, info = scene.work, scene.problem, scene.end, scene.info
    space, t_m = space_at(own.at.space), t + 0.5 * dt
    drift(space, begin.q, begin.q, begin.u, 0.5 * dt, work.q_m)  # q_M
    status = matrix(scene, begin, own, t_m)  # M, W
    if status == OK:
        status = free_velocity(scene, begin, own, t_m, dt)  # u_F                                      (15)
    if status != OK:
        info.ready = 0
        return status
    active_laws(scene, begin, own, t_m)  # g(t_M, q_M) <= 0
    if not_finite_gap(info) != OK:
        return not_finite_gap(info)
    if problem.count.rows > 0:
        status = contact_problem(scene, begin, own, t_m, dt)  # G, c                                    (18)
        if status != OK:
            return status
        status = impulses(problem, info, scene.at.problem, dt)  # P = prox(P - r (G P + c))            (19)
    missing = velocity(scene, begin, own, dt)  # u_E, P_J
    info.ready = 1
    info.residual = max(info.residual, missing)
    if not missing <= problem.options.tol:
        status = UNCONVERGED
    for j in range(end.u.size):
        own.mean[j] = 0.5 * (begin.u[j] + end.u[j])
    drift(space, work.q_m, begin.q, own.mean, dt, end.q)  # q_E                                          (21)
    return close_step(scene, begin, own, status if is_finite(end) else NON_FINITE, t, dt)


@phase
def matrix(scene, begin, own, t_m):
    """M and W where they are evaluated, and the factors of the matrix. Returns a status."""
    model, work, info, size, saddle = scene.model, scene.work, scene.info, scene.model.size, own.saddle
    if not info.ready:
        call_vector(own.at.mass, t_m, work.q_m, begin.u, model.p, own.M)
        scale_velocities(saddle, own.M)
    call_matrix(saddle.at.directions, t_m, work.q_m, begin.u, model.p, saddle.W)
    if size.has_zeta:
        call_vector(model.at.zeta, t_m, work.q_m, begin.u, model.p, work.zeta)
    return OK if factorise_saddle(saddle, own.M, saddle.W) == 0 else MASS_SINGULAR


@phase
def free_velocity(scene, begin, own, t_m, dt):
    """u_F: what forces and joints alone lead to. Returns a status."""
    model, work, n_u = scene.model, scene.work, scene.model.size.n_u
    call_vector(model.at.force, t_m, work.q_m, begin.u, model.p, work.h)
    check = 0.0
    for j in range(n_u):
        check += work.h[j] - work.h[j]
    if check != 0.0:
        return NON_FINITE
    right_hand_side(scene, begin, own, dt)
    held_motion(own.saddle, own.M, own.saddle.W)
    for j in range(n_u):
        work.u_free[j] = begin.u[j] + own.saddle.x[j]
    return OK


@phase
def right_hand_side(scene, begin, own, dt):
    """h dt, and what joints have to undo."""
    saddle, work = own.saddle, scene.work
    for j in range(scene.model.size.n_u):
        saddle.r[j] = dt * work.h[j]
    for i in range(saddle.joined.first, scene.model.size.n_rows):
        saddle.s[i] = -(work.zeta[i] + row_of(saddle.W, saddle.column, i, begin.u))


@phase
def active_laws(scene, begin, own, t_m):
    """The laws of this step besides joints, by their gaps at the evaluation point."""
    model, work, size = scene.model, scene.work, scene.model.size
    if size.n_N > 0:
        call_vector(model.at.gap, t_m, work.q_m, begin.u, model.p, work.g)
        known = False
        for l in range(size.n_N):
            if work.g[l] > 0.0 and begin.modes[l] == CONSTRAINT:
                if not known:
                    terms_of_drift(space_at(own.at.space), work.q_m, own.terms)
                    known = True
                if work.g[l] <= GAP_ULPS * terms_of_row(own, model.laws.row[l]):
                    work.g[l] = 0.0
    other_laws(scene, begin, own.saddle)


@phase
def terms_of_row(own, i):
    """Sum of the terms |W_j B_kj q_k| of a gap."""
    W, column, s = own.saddle.W, own.saddle.column, 0.0
    for k in range(column.shape[1]):
        if column[i, k] >= 0:
            s += abs(W[i, k]) * own.terms[column[i, k]]
    return s


@phase
def contact_problem(scene, begin, own, t_m, dt):
    """G, c and bounds of the laws that act. Returns a status."""
    model, work, problem, saddle, size = (
        scene.model, scene.work, scene.problem, own.saddle, scene.model.size
    )  # fmt: skip
    laws, active, bounds = model.laws, problem.laws, work.bounds
    if size.has_bounds:
        bounds_of_forces(model, work, t_m, work.q_m, begin.u)
    for a in range(problem.count.laws):
        l = active.law[a]
        active.mode[a], active.mu[a], active.e[a] = begin.modes[l], laws.mu[l], laws.e[l]
        for d in range(active.dim[a]):
            i, k = laws.row[l] + d, active.row[a] + d
            gamma_B = work.zeta[i] + row_of(saddle.W, saddle.column, i, begin.u)
            gamma_F = work.zeta[i] + row_of(saddle.W, saddle.column, i, work.u_free)
            lower, upper = bounds[i] * dt, bounds[size.n_rows + i] * dt
            if not row_of_problem(problem.rows, k, laws.e[l], gamma_B, gamma_F, begin.P[i], lower, upper):
                return NON_FINITE
    for j in range(saddle.s.size):
        saddle.s[j] = 0.0
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            if not delassus_row(model, saddle, own.M, saddle.W, problem, a, d):
                scene.info.law = active.law[a]
                return ZERO_DIRECTION
    return OK


@phase
def velocity(scene, begin, own, dt):
    """u_E and the impulses of all laws. Returns what is missing of gamma_J = 0, relative to its terms."""
    saddle = own.saddle
    right_hand_side(scene, begin, own, dt)
    put_impulses(scene, saddle, saddle.r)
    missing = held_motion(saddle, own.M, saddle.W)
    for j in range(scene.model.size.n_u):
        scene.end.u[j] = begin.u[j] + saddle.x[j]
    put_joints(scene, saddle)
    return missing


@phase
def close_step(scene, begin, own, status, t, dt):
    """Quaternions, books and structure at the end of a step; what is not solved goes on only if that was asked for."""
    model, work, end, books = scene.model, scene.work, scene.end, scene.books
    normalise(model, end.q)
    status = go_on_unsolved(scene, status, t + dt)
    if status != OK:
        return status
    book_solve(books, scene.info, t + dt)
    if scene.ask.books:
        book_gaps(model, work, books, t + 0.5 * dt)
        book_forces(model, begin, end, work, books, dt)
        book_impulses(scene, begin, own, t + dt)
    scene.info.changed = first_change(model, begin, end)
    return OK


@phase
def book_impulses(scene, begin, own, t):
    """Work of laws and joints, and energy made by impact laws."""
    problem, end, books, saddle = scene.problem, scene.end, scene.books, own.saddle
    for i in range(saddle.joined.first, scene.model.size.n_rows):
        books.work_contacts += row_of(saddle.W, saddle.column, i, own.mean) * end.P[i]
    if problem.count.rows == 0:
        return
    books.work_contacts += work_of_laws(scene.model, scene.work, problem)
    made, law = made_by_laws(problem)
    if made > 0.0:
        book_gain(
            books, made, kinetic_energy(saddle, own.M, begin.u), kinetic_energy(saddle, own.M, end.u), law, t
        )
