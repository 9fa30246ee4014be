"""Projected Jacobi (PJOR) and Gauss-Seidel (PSOR) relaxation for the prox equations of the set-valued laws.

Studer, Leine, Glocker 2008, eqs (22) and (23):

    PJOR:  P_i <- prox( P_i - r_i (sum_j G_ij P_j + c_i) )                         all i at once
    PSOR:  P_i <- prox( P_i - r_i (sum_{j<i} G_ij P_j^new + sum_{j>=i} G_ij P_j + c_i) )

with r_i = omega / G_ii (see `projections.r_factors`). The radius of a Coulomb law uses the newest normal impulse.
"""

from nonsmooth._core.jit import caller, float64, int64, kernel, phase, types
from nonsmooth._core.laws.projections import project, radius, residual, row_of_xi
from nonsmooth._core.records.problem import problem_at

CHECK_EVERY = 16

RELAX = types.UniTuple(float64, 2)(int64, int64, float64, int64, int64, float64, int64)
call_relax = caller(RELAX)


@phase
def sweep(x, jacobi, dt, n_laws, n):
    """All laws once; returns the largest change over r_i, which is the natural residual along the way."""
    laws, rows, xy = x.laws, x.rows, x.xy
    change = 0.0
    for l in range(n_laws):
        i0 = laws.row[l]
        d = laws.dim[l]
        rho = laws.rho[l]
        for i in range(d):
            s = rows.xi[i0 + i]  # of the last sweep, eq. (22)
            if not jacobi:  # eq. (23)
                s = row_of_xi(x, i0 + i, n)
            xy[0, i] = rows.P[i0 + i] - rho * s
        project(x, l, radius(x, l), dt)
        for i in range(d):
            change = max(change, abs(xy[1, i] - rows.P[i0 + i]) / rho)
            rows.P[i0 + i] = xy[1, i]
    return change


@kernel(RELAX, part=True)
def relax(problem, jacobi, dt, n_laws, n, tol, max_iter):
    """Sweep until the residual is at most `tol`. Returns (iterations, residual); impulses, xi and modes are set.

    The true residual is computed when the change of a sweep looks small, and every `CHECK_EVERY` sweeps, so that its cost
    does not show.
    """
    x = problem_at(problem)
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(x.rows.c[i]))
    iteration = 0
    while True:
        res = residual(x, dt, n_laws, n)
        if res <= tol or iteration >= max_iter or not res < 1e290:
            return float(iteration), res
        for _ in range(1 if jacobi else CHECK_EVERY):
            iteration += 1
            if sweep(x, jacobi, dt, n_laws, n) <= tol * scale or iteration >= max_iter:
                break
