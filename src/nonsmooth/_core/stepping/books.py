"""The books a run keeps: worst gap and residual, work, and the energy an impact law made; and what the ends of all steps have in common.

With constant M,  dT = 1/2 (u_E + u_B)^T h dt + 1/2 (u_E + u_B)^T W P.  What an impact law adds is
D = 1/2 (gamma_E + gamma_B)^T P, or, with the velocity the finite forces alone would lead to, D' = 1/2 (gamma_E + gamma_F)^T
P, gamma_F = W^T (u_B + M^-1 h dt) + zeta. They differ by what finite forces do during the step, which vanishes for an
impact, but makes D positive where an element sticks or reverses, and D' where a force pulls apart what bounces back.
D > 0 and D' > 0 means that the law created energy.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import INTERVAL, USER_SET
from nonsmooth._core.records.status import OK, UNCONVERGED
from nonsmooth._core.stepping.phases import normalise

# energy made by an impact law, relative to T_B + T_E, that is reported; rounding and solver tolerance stay below
ENERGY_GAIN = 4e-10


@phase
def book_solve(books, info, t):
    """Residual and iterations of a contact problem that was solved."""
    if info.residual > books.residual:
        books.residual = info.residual
        books.residual_t = t
    books.solves += 1
    books.iterations_max = max(books.iterations_max, info.iterations)
    books.iterations += info.iterations


@phase
def book_gaps(model, work, books, t):
    """The worst gap."""
    for l in range(model.size.n_N):
        if work.g[l] < books.gap:
            books.gap = work.g[l]
            books.gap_t = t


@phase
def kinetic_energy(M, u, n_u):
    """1/2 u^T M u."""
    T = 0.0
    for i in range(n_u):
        s = 0.0
        for j in range(n_u):
            s += M[i, j] * u[j]
        T += 0.5 * u[i] * s
    return T


@phase
def book_forces(model, begin, end, work, books, dt):
    """Work of the smooth forces in the step."""
    s = 0.0
    for i in range(model.size.n_u):
        s += (begin.u[i] + end.u[i]) * work.h[i]
    books.work_forces += 0.5 * dt * s


@phase
def works_as_force(active, rows, a):
    """A set without zero (pre-stressed), or one that may be so, works like an applied force."""
    if active.kind[a] == USER_SET:
        return active.e[a] == 0.0
    k = active.row[a]
    return active.kind[a] == INTERVAL and (rows.lo[k] > 0.0 or rows.hi[k] < 0.0)


@phase
def book_laws(model, begin, end, work, problem, books, t):
    """Work of the laws in a step, and energy made by its impact laws."""
    books.work_contacts += work_of_laws(model, work, problem)
    book_made(model, begin, end, work, problem, books, t)


@phase
def work_of_laws(model, work, problem):
    """Work of all laws on the motion, 1/2 (u_E + u_B)^T W P."""
    active, rows = problem.laws, problem.rows
    total = 0.0
    for a in range(problem.count.laws):
        i0 = model.laws.row[active.law[a]]
        for d in range(active.dim[a]):
            k = active.row[a] + d
            gamma_B = rows.gamma_B[k]
            gamma_E = rows.xi[k] - active.e[a] * gamma_B
            total += 0.5 * (gamma_E + gamma_B - 2.0 * work.zeta[i0 + d]) * rows.P[k]
    return total


@phase
def book_made(model, begin, end, work, problem, books, t):
    """Energy made by the impact laws of a step."""
    made, worst_law = made_by_laws(problem)
    if made > 0.0:
        T_B = kinetic_energy(work.M, begin.u, model.size.n_u)
        T_E = kinetic_energy(work.M, end.u, model.size.n_u)
        book_gain(books, made, T_B, T_E, worst_law, t)


@phase
def made_by_laws(problem):
    """Energy made by the laws that act, and the law that made most."""
    active, rows = problem.laws, problem.rows
    made, made_free, worst = 0.0, 0.0, 0.0
    worst_law = -1
    for a in range(problem.count.laws):
        made_here = 0.0
        applied = works_as_force(active, rows, a)
        for d in range(active.dim[a]):
            k = active.row[a] + d
            gamma_B = rows.gamma_B[k]
            gamma_E = rows.xi[k] - active.e[a] * gamma_B
            if not applied:
                made_here += 0.5 * (gamma_E + gamma_B) * rows.P[k]
                made_free += 0.5 * (gamma_E + rows.gamma_F[k]) * rows.P[k]
        made += made_here
        if made_here > worst:
            worst = made_here
            worst_law = active.law[a]
    return min(made, made_free), worst_law


@phase
def book_gain(books, made, T_B, T_E, law, t):
    """An impact law may have made energy; the largest share of T_B is kept with its circumstances."""
    if not made > ENERGY_GAIN * (T_B + T_E):
        return
    gain = made / T_B if T_B > 0.0 else 0.0
    books.gain_count += 1
    if gain > books.gain:
        books.gain = gain
        books.gain_t = t
        books.gain_before = T_B
        books.gain_after = T_E
        books.gain_law = law


@phase
def go_on_unsolved(scene, status, t_1):
    """A contact problem that is not solved ends the run, unless it was asked for that steps go on: then it is counted. Returns a status."""
    if status == UNCONVERGED and scene.ask.accept:
        scene.books.unconverged += 1
        scene.books.unconverged_t = t_1
        return OK
    return status


@phase
def end_of_solve(scene, status, t_1):
    """Unit quaternions at the end of the step, and the verdict on its contact problem. Returns a status."""
    if scene.ask.unit:
        normalise(scene.model, scene.end.q)
    status = go_on_unsolved(scene, status, t_1)
    if status == OK and scene.problem.count.rows > 0:
        book_solve(scene.books, scene.info, t_1)
    return status
