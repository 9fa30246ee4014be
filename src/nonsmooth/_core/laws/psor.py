"""Projected Jacobi (PJOR) and Gauss-Seidel (PSOR) relaxation for the prox equations of the set-valued laws.

Studer, Leine, Glocker 2008, eqs (22) and (23):

    PJOR:  P_i <- prox( P_i - r_i (sum_j G_ij P_j + c_i) )                         all i at once
    PSOR:  P_i <- prox( P_i - r_i (sum_{j<i} G_ij P_j^new + sum_{j>=i} G_ij P_j + c_i) )

with r_i = omega / G_ii (see `laws.r_factors`). The radius of a Coulomb law uses the newest normal impulse.
"""

from nonsmooth._core.jit import caller, float64, int64, kernel, types
from nonsmooth._core.laws.projections import A_PROJECT, project, prox_at, radius, residual
from nonsmooth._core.records.codes import DIM, RHO, ROW, XI, C, P

CHECK_EVERY = 16


RELAX = types.UniTuple(float64, 2)(int64, int64, float64, int64, int64, float64, int64)
call_relax = caller(RELAX)


@kernel(RELAX, part=True)
def relax(problem, jacobi, dt, n_laws, n, tol, max_iter):
    """Sweep until the residual is at most `tol`. Returns (iterations, residual); impulses, xi and modes are set.

    The change of a sweep over r_i is the natural residual along the way; the true residual is computed when that looks
    small, and every `CHECK_EVERY` sweeps, so that its cost does not show.
    """
    x = prox_at(problem)
    f_project, ints, reals, rows, G, xy = x.f[A_PROJECT], x.ints, x.reals, x.rows, x.G, x.xy
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(rows[C, i]))
    iteration = 0
    while True:
        res = residual(f_project, ints, reals, rows, G, xy, dt, n_laws, n)
        if res <= tol or iteration >= max_iter or not res < 1e290:
            return float(iteration), res
        for _ in range(1 if jacobi else CHECK_EVERY):
            iteration += 1
            change = 0.0
            for l in range(n_laws):
                i0 = ints[ROW, l]
                d = ints[DIM, l]
                rho = reals[RHO, l]
                for i in range(d):
                    s = rows[XI, i0 + i]  # of the last sweep, eq. (22)
                    if not jacobi:  # eq. (23)
                        s = rows[C, i0 + i]
                        for j in range(n):
                            s += G[i0 + i, j] * rows[P, j]
                    xy[0, i] = rows[P, i0 + i] - rho * s
                project(f_project, ints, rows, l, radius(ints, reals, rows, l), dt, xy)
                for i in range(d):
                    change = max(change, abs(xy[1, i] - rows[P, i0 + i]) / rho)
                    rows[P, i0 + i] = xy[1, i]
            if change <= tol * scale or iteration >= max_iter:
                break
