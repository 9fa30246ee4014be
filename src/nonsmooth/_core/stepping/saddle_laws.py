"""The contact problem of sparse steps: laws besides joints, on the motions that joints leave (see `saddle`).

With x_i the answer of masses and joints to W_i alone, G_ij = S_i x_j is as large as the rows of those laws. A row that joints hold cannot
move: G_ii is rounding, and the row takes no impulse.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.stepping.phases import laws_by_gaps
from nonsmooth._core.stepping.saddle import add_product, add_row, held_motion, row_of

#: Part of what a row would yield to an impulse without joints, below which joints hold it.
HELD = 1e-9


@phase
def other_laws(scene, begin, saddle):
    """The laws of this step besides joints, by the gaps in ``work.g``."""
    n_laws = scene.model.size.n_laws - saddle.diagonal.size  # joints have one row each and are the last ones
    laws_by_gaps(scene.model, begin, scene.end, scene.work, scene.problem, scene.info, scene.ask, n_laws)


@phase
def delassus_row(model, saddle, A, S, problem, a, d):
    """Column d of law `a` in G = S A^-1 W of the motions that joints leave. Returns whether the row is a direction at all."""
    laws, active, G = model.laws, problem.laws, problem.G
    i, k = laws.row[active.law[a]] + d, active.row[a] + d
    for j in range(saddle.r.size):
        saddle.r[j] = 0.0
    add_row(saddle.W, saddle.column, i, 1.0, saddle.r)
    alone = 0.0
    for j in range(saddle.column.shape[1]):
        if saddle.column[i, j] >= 0:
            alone += (saddle.W[i, j] * saddle.scale[saddle.column[i, j]]) ** 2
    if not alone > 0.0:
        return False
    held_motion(saddle, A, S)
    held = not row_of(S, saddle.column, i, saddle.x) > HELD * alone
    for b in range(problem.count.laws):
        first, to = laws.row[active.law[b]], active.row[b]
        for c in range(active.dim[b]):
            G[to + c, k] = 0.0 if held else row_of(S, saddle.column, first + c, saddle.x)
    if held:
        G[k, k], problem.rows.c[k] = alone, 0.0
    return True


@phase
def put_impulses(scene, saddle, r):
    """Impulses and modes of the laws that act; r += W P."""
    model, problem, end = scene.model, scene.problem, scene.end
    laws, active = model.laws, problem.laws
    for a in range(problem.count.laws):
        l = active.law[a]
        end.modes[l] = active.mode[a]
        for d in range(active.dim[a]):
            i = laws.row[l] + d
            end.P[i] = problem.rows.P[active.row[a] + d]
            add_row(saddle.W, saddle.column, i, end.P[i], r)


@phase
def put_joints(scene, saddle):
    """Impulses and modes of joints."""
    end, size = scene.end, scene.model.size
    for i in range(saddle.joined.first, size.n_rows):
        end.P[i] = saddle.y[i]
    for l in range(size.n_laws - saddle.diagonal.size, size.n_laws):
        end.modes[l] = CONSTRAINT


@phase
def is_finite(end):
    """Whether the end of the step consists of numbers."""
    check = 0.0
    for i in range(end.q.size):
        check += end.q[i] - end.q[i]
    for j in range(end.u.size):
        check += end.u[j] - end.u[j]
    return check == 0.0


@phase
def kinetic_energy(saddle, M, u):
    """1/2 u^T M u."""
    T, product = 0.0, saddle.b[: u.size]
    for j in range(u.size):
        product[j] = 0.0
    add_product(saddle, M, 1.0, u, product)
    for j in range(u.size):
        T += 0.5 * u[j] * product[j]
    return T
