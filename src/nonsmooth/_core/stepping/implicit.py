"""Newton's method for the equations of an implicit step, with set-valued laws inside.

A scheme has equations of motion and relative velocities (or whatever else its laws speak of) in its unknown x,

    R(x) = W P,    xi(x) in its law with P,

and linearises both at an iterate:  A = dR/dx,  S = d xi/dx  (one row per row of the laws that act). Then

    x_new = x_F + A^-1 W P,    x_F = x - A^-1 R(x)                          without impulses
    xi    = G P + c,           G = S A^-1 W,   c = xi(x) + S (x_F - x)      the contact problem of every iteration

so that laws are satisfied exactly at every iterate and only smooth functions are linearised. A = cM M + cD D + cK K is the weighted
tangent of the model (exact: complex steps or extrapolated differences, M(q) and W(q) included; see `model.tangents`). G need not be
symmetric.

Changes are measured in the norm of M, which knows no units: |dx|_M <= NEWTON_TOL times the largest of |u_0|_M, |u_1|_M and |M^-1 h dt|_M.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.derivatives.weighted_tangent import weighted_tangent
from nonsmooth._core.jit import address_record, phase
from nonsmooth._core.linalg.factors import factorise, solve
from nonsmooth._core.records.status import IMPLICIT_UNSOLVED, MASS_SINGULAR, NON_FINITE, OK, ZERO_DIRECTION

MAX_NEWTON = 40
DAMPED = 12  # from this iteration on only half of each change is taken, so that a kink of a force is not jumped over for ever
NEWTON_TOL = 1e-12
ROUNDING = 16.0 * 2.0**-52  # of positions, in terms of coordinates
ACCEPTED = 1e-9  # a change of this size that does not get smaller is rounding


class Implicit(NamedTuple):
    """What Newton's method works on; rows are those of the model."""

    at: Any  # addresses: tangent (parts of the weighted tangent), factors (of A)
    values: np.ndarray  # A on its pattern
    a: np.ndarray  # accelerations and
    la: np.ndarray  # multipliers at which K is taken
    x: np.ndarray  # the iterate
    x_F: np.ndarray  # ... and where it goes without impulses
    r: np.ndarray  # R(x)
    S: np.ndarray  # d xi/dx
    AW: np.ndarray  # A^-1 W, one row each
    xi: np.ndarray  # xi(x)


def make_implicit(at, n_u, n_rows, n_values):
    """Work space for a model of that size; `at` with the addresses named above."""
    rows = max(n_rows, 1)
    return Implicit(
        at, np.zeros(n_values), np.zeros(n_u), np.zeros(rows), np.zeros(n_u), np.zeros(n_u), np.zeros(n_u), np.zeros((rows, n_u)),
        np.zeros((rows, n_u)), np.zeros(rows),
    )  # fmt: skip


EXAMPLE = make_implicit(address_record(tangent=0, factors=0), 1, 1, 1)


@phase
def tangent(implicit, model, t, q, u, cM, cD, cK):
    """A = cM M + cD D + cK K at (t, q, u) with the accelerations `a` and multipliers `la`, factorised. Returns a status."""
    weighted_tangent(
        implicit.at.tangent, t, q, u, implicit.a, implicit.la, model.p, cM, cD, cK, implicit.values
    )
    return OK if factorise(implicit.at.factors, implicit.values) == 0 else MASS_SINGULAR


@phase
def without_impulses(implicit, n_u):
    """x_F = x - A^-1 R(x)."""
    for j in range(n_u):
        implicit.x_F[j] = implicit.r[j]
    solve(implicit.at.factors, implicit.x_F)
    for j in range(n_u):
        implicit.x_F[j] = implicit.x[j] - implicit.x_F[j]


@phase
def linearised_laws(implicit, model, WT, problem, info):
    """G = S A^-1 W and c = xi(x) + S (x_F - x) of the laws that act. Returns a status."""
    laws, active, n_u = model.laws, problem.laws, model.size.n_u
    for a in range(problem.count.laws):
        l = active.law[a]
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            for j in range(n_u):
                implicit.AW[i, j] = WT[i, j]
            solve(implicit.at.factors, implicit.AW[i])
    for a in range(problem.count.laws):
        l = active.law[a]
        for d in range(active.dim[a]):
            i = laws.row[l] + d
            k = active.row[a] + d
            c = implicit.xi[i]
            for j in range(n_u):
                c += implicit.S[i, j] * (implicit.x_F[j] - implicit.x[j])
            problem.rows.c[k] = c
            # NaN would pass through a projection unseen; so would a negative limit
            if not (c - c == 0.0 and problem.rows.lo[k] <= problem.rows.hi[k]):
                return NON_FINITE
            delassus_row(implicit, laws, problem, i, k, n_u)
            if problem.G[k, k] < 0.0:  # the tangent leads astray: a step too long for how fast bodies turn
                info.residual = change_without_impulses(implicit, n_u)
                return IMPLICIT_UNSOLVED
            if not problem.G[k, k] > 0.0:
                info.law = l
                return ZERO_DIRECTION
    return OK


@phase
def change_without_impulses(implicit, n_u):
    """|x_F - x| in terms of the larger one."""
    change, size = 0.0, 1e-300
    for j in range(n_u):
        change = max(change, abs(implicit.x_F[j] - implicit.x[j]))
        size = max(size, abs(implicit.x[j]), abs(implicit.x_F[j]))
    return change / size


@phase
def delassus_row(implicit, laws, problem, i, k, n_u):
    """Row k of G, which is row i of the model."""
    active = problem.laws
    for b in range(problem.count.laws):
        first = laws.row[active.law[b]]
        for d in range(active.dim[b]):
            s = 0.0
            for j in range(n_u):
                s += implicit.S[i, j] * implicit.AW[first + d, j]
            problem.G[k, active.row[b] + d] = s


@phase
def take_impulses(implicit, model, end, problem, x_new):
    """x_new = x_F + A^-1 W P; impulses and modes by row and law of the model."""
    laws, active, n_u = model.laws, problem.laws, model.size.n_u
    for j in range(n_u):
        x_new[j] = implicit.x_F[j]
    for a in range(problem.count.laws):
        l = active.law[a]
        end.modes[l] = active.mode[a]
        for d in range(active.dim[a]):
            i = laws.row[l] + d
            P = problem.rows.P[active.row[a] + d]
            end.P[i] = P
            for j in range(n_u):
                x_new[j] += implicit.AW[i, j] * P


@phase
def in_norm_of(M, x, n_u):
    """sqrt(x^T M x)."""
    s = 0.0
    for i in range(n_u):
        r = 0.0
        for j in range(n_u):
            r += M[i, j] * x[j]
        s += x[i] * r
    return abs(s) ** 0.5


@phase
def changes(scene, begin, implicit, x_new, scale):
    """Size of the change of u_1 and of the velocities it is measured by, in the norm of M."""
    work, n_u = scene.work, scene.model.size.n_u
    for j in range(n_u):
        work.du[j] = x_new[j] - implicit.x[j]
    change = in_norm_of(work.M, work.du, n_u)
    scale = max(scale, in_norm_of(work.M, begin.u, n_u), in_norm_of(work.M, x_new, n_u))
    for j in range(n_u):
        work.du[j] = implicit.x_F[j] - begin.u[j]
    return change, max(scale, in_norm_of(work.M, work.du, n_u))


@phase
def settled(change, scale, before, noise):
    """Whether an iteration changed nothing any more, or only rounding, which may be as large as `noise`."""
    return change <= NEWTON_TOL * scale or (
        change <= max(ACCEPTED * scale, noise) and not change < 0.5 * before
    )


@phase
def rounding_of_positions(model, work, q, dt):
    """What rounding of positions leaves of the velocities where laws hold on them, in the norm of M."""
    size, largest = model.size, 0.0
    for i in range(size.n_q):
        largest = max(largest, abs(q[i]))
    for j in range(size.n_u):
        work.du[j] = ROUNDING * (largest if size.has_B else abs(q[j])) / dt
    return in_norm_of(work.M, work.du, size.n_u)


@phase
def row_velocity(WT, zeta, u, i, n_u):
    """gamma_i = W_i^T u + zeta_i."""
    s = zeta[i]
    for j in range(n_u):
        s += WT[i, j] * u[j]
    return s


@phase
def velocities_of_rows(scene, begin, implicit, WT, zeta):
    """Relative velocities before and after the step, and without impulses, as the books take them."""
    problem, laws, n_u = scene.problem, scene.model.laws, scene.model.size.n_u
    active, rows = problem.laws, problem.rows
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            i, k = laws.row[active.law[a]] + d, active.row[a] + d
            rows.gamma_B[k] = row_velocity(WT, zeta, begin.u, i, n_u)
            rows.gamma_F[k] = row_velocity(WT, zeta, implicit.x_F, i, n_u)
            rows.xi[k] = row_velocity(WT, zeta, scene.end.u, i, n_u) + active.e[a] * rows.gamma_B[k]


@phase
def along(model, work, q, u, dt, out):
    """q + B u dt."""
    for i in range(model.size.n_q):
        s = 0.0
        if model.size.has_B:
            for j in range(model.size.n_u):
                s += work.B[i, j] * u[j]
        else:
            s = u[i]
        out[i] = q[i] + dt * s
