"""Rows of constraints held exactly: positions on their surface, relative velocities zero, by least changes in the norm of M.

    position   q <- q - B M^-1 W (W^T M^-1 W)^-1 g(t, q)
    velocity   u <- u - M^-1 W (W^T M^-1 W)^-1 (W^T u + zeta)

Rows that depend on others are left out: they are satisfied with them. Y = L^-1 W and G = Y Y^T of the rows that are held stand in the
work space; rows that are not held are zero there.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.linalg.small import solve_lower, solve_lower_transposed
from nonsmooth._core.stepping.phases import normalise

# a pivot lost to cancellation: the row depends on those before it
DEPENDENT = 1e-11


@phase
def hold_row(scene, i, keep):
    """Row i of the model in Y and G, or zeros."""
    work, n_u = scene.work, scene.model.size.n_u
    if keep:
        solve_lower(work.L, work.WT[i], work.Y[i], n_u)
    else:
        for k in range(n_u):
            work.Y[i, k] = 0.0
    for j in range(i + 1):
        r = 0.0
        for k in range(n_u if keep else 0):
            r += work.Y[i, k] * work.Y[j, k]
        work.G_all[i, j] = r


@phase
def correction(scene):
    """M^-1 W (W^T M^-1 W)^-1 times the residual in `rows.b`, into `work.du`."""
    work, size, residual = scene.work, scene.model.size, scene.problem.rows.b
    multipliers(scene)
    for k in range(size.n_u):
        r = 0.0
        for i in range(size.n_rows):
            r += work.Y[i, k] * residual[i]
        work.du[k] = r
    solve_lower_transposed(work.L, work.du, work.du, size.n_u)


@phase
def multipliers(scene):
    """Factor and solve, leaving out rows that depend on those before; the residual becomes the multipliers."""
    n, G, A, residual = scene.model.size.n_rows, scene.work.G_all, scene.problem.A, scene.problem.rows.b
    for j in range(n):
        r = G[j, j]
        for k in range(j):
            r -= A[j, k] * A[j, k]
        A[j, j] = 0.0
        if r > DEPENDENT * G[j, j]:
            A[j, j] = 1.0 / r**0.5
        for i in range(j + 1, n):
            A[i, j] = 0.0
            if A[j, j] > 0.0 and G[i, i] > 0.0:
                r = G[i, j]
                for k in range(j):
                    r -= A[i, k] * A[j, k]
                A[i, j] = r * A[j, j]
    solve_lower(A, residual, residual, n)
    solve_lower_transposed(A, residual, residual, n)


@phase
def shift(model, work, q):
    """q <- q - B du."""
    if model.size.has_B:
        for i in range(model.size.n_q):
            for k in range(model.size.n_u):
                q[i] -= work.B[i, k] * work.du[k]
    else:
        for k in range(model.size.n_u):
            q[k] -= work.du[k]
    normalise(model, q)
