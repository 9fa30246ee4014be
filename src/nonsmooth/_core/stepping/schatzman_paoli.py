"""The scheme of Schatzman and Paoli: constraints on position level, one step, compiled.

L. Paoli, M. Schatzman, "A numerical scheme for impact problems I, II", SIAM J. Numer. Anal. 40 (2002) 702-733, 734-768 (cited by Acary
2012 as the other event-capturing scheme). With w_k = (q_k - q_(k-1))/h, the velocity over the last step,

    M(q_k) (q_(k+1) - 2 q_k + q_(k-1)) - h^2 F(t_k, q_k, w_k) = h W P
    0 <= g(y) _|_ P_N >= 0,   y = (q_(k+1) + e q_(k-1)) / (1 + e)
    g_J(t_(k+1), q_(k+1)) = 0                                           joints

No forecast of contacts is needed, and what is left of a gap does not drift. An impact takes two steps, in which the gap may be negative by
e h |w|; then w has been reversed and multiplied by e (energy made by an impact law cannot be told from one step). In terms of w, with
lengths h_0 of the last and h of this step (h_0 = 0 at the start, which is half a step of the leapfrog rule):

    M(q_k) (w_1 - w_0) = (h_0 + h)/2 F + W P,    q_1 = q_k + h B w_1,    y = q_k + h B (w_1 - e w_0)/(1 + e)
    xi = (1 + e) g(t_y, y)/h      the velocity in the law of a contact, and its slope  d xi/d w_1 = W(y)^T
    xi = g_J(t_1, q_1)/h          of a joint
    xi = gamma_1 + e gamma_0      of friction and everything else on velocity level, W at q_k

Forces act along W(q_k), so that smooth motion with joints is the SHAKE rule, of second order in q. Solved by Newton's method with laws
inside (`implicit`); contacts whose gap is positive without impulses are left out until they turn out to be violated. ``state.own`` keeps
the length of the last step.
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import by_reference, kernel, phase
from nonsmooth._core.records.laws import FREE
from nonsmooth._core.records.scene import STEP, scene_at, state_at
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, NON_FINITE, NON_FINITE_GAP, OK, UNCONVERGED
from nonsmooth._core.stepping import implicit as newton
from nonsmooth._core.stepping.books import book_forces, book_gaps, end_of_solve, work_of_laws
from nonsmooth._core.stepping.implicit import MAX_NEWTON, Implicit
from nonsmooth._core.stepping.phases import (
    FORCED,
    bounds_of_forces,
    first_change,
    impulses,
    laws_by_gaps,
    move,
    normalise,
    not_finite_gap,
)

MAX_SETS = 30


class Paoli(NamedTuple):
    """The scheme's own record."""

    implicit: Implicit
    u_new: np.ndarray
    w_y: np.ndarray  # (w_1 - e w_0)/(1 + e)
    y: np.ndarray
    g: np.ndarray  # gaps at y
    g_J: np.ndarray
    WT_y: np.ndarray
    gamma_0: np.ndarray


def make_own(size, at, n_values):
    """The record for a model of that size; `at`: addresses of the tangent and its factors."""
    rows = max(size.n_rows, 1)
    return Paoli(
        newton.make_implicit(at, size.n_u, size.n_rows, n_values), np.zeros(size.n_u), np.zeros(size.n_u), np.zeros(size.n_q),
        np.zeros(max(size.n_N, 1)), np.zeros(max(size.n_joints, 1)), np.zeros((rows, size.n_u)), np.zeros(rows),
    )  # fmt: skip


def _example():
    one, row = np.zeros(1), np.zeros((1, 1))
    return Paoli(newton.EXAMPLE, one, one, one, one, one, row, one)


_, own_at = by_reference(_example())


@kernel(STEP, part=True)
def paoli_step(at_scene, at_state, t, dt):
    """One step of the scheme of Schatzman and Paoli."""
    scene, begin = scene_at(at_scene), state_at(at_state)
    own = own_at(scene.at.own)
    model, size, work = scene.model, scene.model.size, scene.work
    weight = 0.5 * (begin.own[0] + dt)
    scene.end.own[0] = dt
    status = without_laws(scene, begin, own, t, weight)  # w_1 without impulses
    if status == OK:
        status = first_contacts(scene, begin, own, t, dt)  # gaps at y that are not positive then
    if status != OK:
        return status
    for _ in range(MAX_SETS):
        status = with_laws(scene, begin, own, t, dt, weight)
        if status != OK and status != UNCONVERGED:
            break
        missed = violated(scene, begin, own, t, dt)
        if missed < 0:
            status = NON_FINITE_GAP
        if missed <= 0:
            break
        laws_by_gaps(
            model, begin, scene.end, work, scene.problem, scene.info, scene.ask, scene.model.size.n_laws
        )
    for l in range(size.n_N):
        work.slack[l] = 0.0
    if status != OK and status != UNCONVERGED:
        return status
    return finish(scene, begin, own, status, t, dt, weight)


@phase
def without_laws(scene, begin, own, t, weight):
    """M, F, W at the begin, and w_1 = w_0 + M^-1 F (h_0 + h)/2. Returns a status."""
    model, work, imp, size = scene.model, scene.work, own.implicit, scene.model.size
    call_matrix(model.at.mass, t, begin.q, begin.u, model.p, work.M)
    call_vector(model.at.force, t, begin.q, begin.u, model.p, work.h)
    for j in range(size.n_u):
        imp.r[j] = -weight * work.h[j]
        imp.x[j] = begin.u[j]
        imp.a[j] = 0.0
    for i in range(size.n_rows):
        imp.la[i] = 0.0
        work.zeta[i] = 0.0
    status = newton.tangent(imp, model, t, begin.q, begin.u, 1.0, 0.0, 0.0)
    if status != OK:
        return status
    newton.without_impulses(imp, size.n_u)
    for j in range(size.n_u):
        imp.x[j] = imp.x_F[j]
    if size.n_rows > 0:
        call_matrix(model.at.directions, t, begin.q, begin.u, model.p, work.WT)
        if size.has_zeta:
            call_vector(model.at.zeta, t, begin.q, begin.u, model.p, work.zeta)
        if size.has_bounds:
            bounds_of_forces(model, work, t, begin.q, begin.u)
        for i in range(size.n_rows):
            own.gamma_0[i] = newton.row_velocity(work.WT, work.zeta, begin.u, i, size.n_u)
    return OK


@phase
def kinematics(scene, begin, own, t, dt):
    """B half way, where q' = B u."""
    model, work = scene.model, scene.work
    if model.size.has_B:
        call_matrix(model.at.kinematics, t, begin.q, begin.u, model.p, work.B)
        newton.along(model, work, begin.q, own.implicit.x, 0.5 * dt, own.y)
        call_matrix(model.at.kinematics, t + 0.5 * dt, own.y, begin.u, model.p, work.B)


@phase
def place(scene, begin, own, e, t, dt):
    """y of contacts with restitution e; returns its time."""
    for j in range(scene.model.size.n_u):
        own.w_y[j] = (own.implicit.x[j] - e * begin.u[j]) / (1.0 + e)
    newton.along(scene.model, scene.work, begin.q, own.w_y, dt, own.y)
    normalise(scene.model, own.y)
    return t + dt * (1.0 - e) / (1.0 + e)


@phase
def gaps_at_y(scene, begin, own, t, dt, slopes):
    """Gaps of all contacts, each at its own y, into `work.g`; and of those that act, with `slopes`, W^T there."""
    model, work, size, laws = scene.model, scene.work, scene.model.size, scene.model.laws
    for l in range(size.n_N):
        if l == 0 or laws.e[l] != laws.e[l - 1]:
            t_y = place(scene, begin, own, laws.e[l], t, dt)
            call_vector(model.at.gap, t_y, own.y, begin.u, model.p, own.g)
            if slopes:
                call_matrix(model.at.directions, t_y, own.y, begin.u, model.p, own.WT_y)
        work.g[l] = own.g[l]
        if slopes and scene.problem.acts[l]:
            own.implicit.xi[l] = (1.0 + laws.e[l]) * own.g[l] / dt
            for j in range(size.n_u):
                own.implicit.S[l, j] = own.WT_y[l, j]


@phase
def first_contacts(scene, begin, own, t, dt):
    """Contacts whose gap at y is not positive without impulses. Returns a status."""
    kinematics(scene, begin, own, t, dt)
    gaps_at_y(scene, begin, own, t, dt, False)
    laws_by_gaps(
        scene.model,
        begin,
        scene.end,
        scene.work,
        scene.problem,
        scene.info,
        scene.ask,
        scene.model.size.n_laws,
    )
    return not_finite_gap(scene.info)


@phase
def violated(scene, begin, own, t, dt):
    """How many contacts that were left out have a negative gap at y: they are made to act; -1 for a gap that is no number."""
    work, found = scene.work, 0
    gaps_at_y(scene, begin, own, t, dt, False)
    for l in range(scene.model.size.n_N):
        if work.g[l] != work.g[l]:
            scene.info.law = l
            return -1
        if scene.problem.acts[l]:
            work.slack[l] = FORCED
        elif work.g[l] < 0.0:
            work.slack[l] = FORCED
            found += 1
    return found


@phase
def with_laws(scene, begin, own, t, dt, weight):
    """w_1 and the impulses of the laws that act, by Newton's method. Returns a status."""
    model, problem, info, imp = scene.model, scene.problem, scene.info, own.implicit
    status = OK
    if problem.count.rows == 0:
        return OK
    before = scale = 0.0
    noise = newton.rounding_of_positions(model, scene.work, begin.q, dt)
    for iteration in range(MAX_NEWTON):
        kinematics(scene, begin, own, t, dt)
        velocities_of_laws(scene, begin, own, t, dt, weight, iteration == 0)  # xi, S
        status = newton.linearised_laws(imp, model, scene.work.WT, problem, info)  # G, c
        if status != OK:
            return status
        status = impulses(problem, info, scene.at.problem, dt)
        newton.take_impulses(imp, model, scene.end, problem, own.u_new)
        change, scale = newton.changes(scene, begin, imp, own.u_new, scale)
        for j in range(model.size.n_u):
            imp.x[j] = own.u_new[j]
        if not change - change == 0.0:
            return NON_FINITE
        if newton.settled(change, scale, before, noise):
            return status
        before = change
    info.residual = before / max(scale, 1e-300)
    return IMPLICIT_UNSOLVED


@phase
def velocities_of_laws(scene, begin, own, t, dt, weight, first):
    """xi and S of the laws that act, and in the first iteration their bounds and guesses."""
    model, work, problem, size, imp = scene.model, scene.work, scene.problem, scene.model.size, own.implicit
    laws, active, rows = model.laws, problem.laws, problem.rows
    gaps_at_y(scene, begin, own, t, dt, True)
    joints(scene, begin, own, t, dt)
    for a in range(problem.count.laws):
        l = active.law[a]
        active.e[a] = laws.e[l]
        if first:
            active.mode[a] = begin.modes[l]
        for d in range(active.dim[a]):
            i, k = laws.row[l] + d, active.row[a] + d
            rows.lo[k] = work.bounds[i] * weight
            rows.hi[k] = work.bounds[size.n_rows + i] * weight
            if first:
                rows.P[k] = begin.P[i]
            if l >= size.n_N and not is_joint(size, active.kind[a], i):
                imp.xi[i] = (
                    newton.row_velocity(work.WT, work.zeta, imp.x, i, size.n_u) + active.e[a] * own.gamma_0[i]
                )
                for j in range(size.n_u):
                    imp.S[i, j] = work.WT[i, j]


@phase
def is_joint(size, kind, i):
    """Whether row i holds on position level: bilateral rows are the last, those of joints the first of them."""
    return kind == FREE and size.n_rows - size.n_J <= i < size.n_rows - size.n_J + size.n_joints


@phase
def joints(scene, begin, own, t, dt):
    """xi and S of joints, at the end of the step."""
    model, size, imp = scene.model, scene.model.size, own.implicit
    if size.n_joints == 0:
        return
    t_1 = place(scene, begin, own, 0.0, t, dt)
    call_vector(model.at.joints, t_1, own.y, begin.u, model.p, own.g_J)
    call_matrix(model.at.directions, t_1, own.y, begin.u, model.p, own.WT_y)
    for n in range(size.n_joints):
        i = size.n_rows - size.n_J + n
        imp.xi[i] = own.g_J[n] / dt
        for j in range(size.n_u):
            imp.S[i, j] = own.WT_y[i, j]


@phase
def finish(scene, begin, own, status, t, dt, weight):
    """The end of the step, books and structure; what is not solved goes on only if that was asked for."""
    model, work, problem, end, info, books = (
        scene.model, scene.work, scene.problem, scene.end, scene.info, scene.books
    )  # fmt: skip
    for j in range(model.size.n_u):
        end.u[j] = own.implicit.x[j]
    if not move(model, begin, end, work, 1.0, dt):
        return NON_FINITE
    status = end_of_solve(scene, status, t + dt)
    if status != OK:
        return status
    if scene.ask.books:
        if model.size.n_N > 0:
            call_vector(model.at.gap, t + dt, end.q, end.u, model.p, work.g)
            book_gaps(model, work, books, t + dt)
        book_forces(model, begin, end, work, books, weight)
        if problem.count.rows > 0:
            newton.velocities_of_rows(scene, begin, own.implicit, work.WT, work.zeta)
            books.work_contacts += work_of_laws(model, work, problem)
    info.changed = first_change(model, begin, end)
    info.ready = 1
    return OK
