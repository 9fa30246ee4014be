"""Impacts: Newton's law as in Moreau's rule with dt -> 0, with the library's contact problem (Studer et al. 2008, (17)-(19)):

    -(gamma^+ + e gamma^-) in N(P),   gamma^+ - gamma^- = G P

or, where it is asked for, Poisson's or the energetic hypothesis (`impact_process`).
"""

from nonsmooth._core.calls.late import late
from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.small import solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT, DISK, INTERVAL
from nonsmooth._core.records.process import NEWTON
from nonsmooth._core.records.status import NO_SOLUTION, OK
from nonsmooth._core.stepping.books import book_gain, kinetic_energy
from nonsmooth._core.stepping.event_driven.listed_problem import fill_matrix, list_law, solved
from nonsmooth._core.stepping.event_driven.records import call_settle


@phase
def impact(scene, own, end, at_scene, at_problem):
    """Impulses and velocities after them. Returns a status."""
    model, work, problem = scene.model, scene.work, scene.problem
    laws, active, rows, n_u = model.laws, problem.laws, problem.rows, model.size.n_u
    a, n = list_impulses(scene, own)
    if own.control.restitution != NEWTON:
        part = late(own.at.process)
        if part == 0 or call_settle(part, at_scene, a, n) != OK:
            return NO_SOLUTION
    elif not solved(scene, at_problem, a, n):
        return NO_SOLUTION
    for k in range(n_u):
        work.du[k] = 0.0
    for b in range(a):
        for d in range(active.dim[b]):
            i = laws.row[active.law[b]] + d
            end.P[i] += rows.P[active.row[b] + d]
            for k in range(n_u):
                work.du[k] += work.Y[i, k] * rows.P[active.row[b] + d]
    solve_lower_transposed(work.L, work.du, work.du, n_u)
    for k in range(n_u):
        end.u[k] += work.du[k]
    return OK


@phase
def list_impulses(scene, own):
    """What touches, as a problem for impulses: -(gamma^+ + e gamma^-) in N(P). Returns how many laws and rows there are."""
    model, problem = scene.model, scene.problem
    laws, active, rows = model.laws, problem.laws, problem.rows
    a, n = 0, 0
    problem.count.laws, problem.count.rows = 0, 0
    for l in range(model.size.n_laws):
        kind = laws.kind[l]
        problem.place[l] = -1
        if kind == INTERVAL or kind == DISK or not own.touches[l]:
            continue  # forces that are bounded make no impulse
        list_law(model, problem, l, a, n)
        for d in range(laws.dim[l]):
            i = laws.row[l] + d
            rows.gamma_B[n + d] = own.gamma[i]
            rows.gamma_F[n + d] = own.gamma[i]
            rows.P[n + d] = 0.0
            active.e[a] = laws.e[l]
            active.mode[a] = CONSTRAINT
        n += laws.dim[l]
        a += 1
    fill_matrix(scene)
    for b in range(a):
        for d in range(active.dim[b]):
            k = active.row[b] + d
            rows.c[k] = (1.0 + active.e[b]) * rows.gamma_B[k]
            rows.lo[k], rows.hi[k] = 0.0, 0.0
    return a, n


@phase
def book_impact(scene, begin, end):
    """Work of the impulses, and energy made by the impact law."""
    model, work, problem, books = scene.model, scene.work, scene.problem, scene.books
    active, rows = problem.laws, problem.rows
    made, worst, worst_law = 0.0, 0.0, -1
    for a in range(problem.count.laws):
        here = 0.0
        for d in range(active.dim[a]):
            k = active.row[a] + d
            gamma_E = rows.xi[k] - active.e[a] * rows.gamma_B[k]
            here += 0.5 * (gamma_E + rows.gamma_B[k]) * rows.P[k]
            books.work_contacts -= rows.P[k] * work.zeta[model.laws.row[active.law[a]] + d]
        made += here
        books.work_contacts += here
        if here > worst:
            worst, worst_law = here, active.law[a]
    if made > 0.0:
        T_B = kinetic_energy(work.M, begin.u, model.size.n_u)
        T_E = kinetic_energy(work.M, end.u, model.size.n_u)
        book_gain(books, made, T_B, T_E, worst_law, scene.info.t_new)
