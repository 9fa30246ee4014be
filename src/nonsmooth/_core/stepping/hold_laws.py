"""Laws that stay constraints through a main step are held at its end (a kernel of its own: only curved laws need it).

Extrapolation keeps W(t, q)^T u + zeta = 0 up to the tolerance of the step only, where W depends on q. A closed contact that
parts with a velocity of that size would be seen to open in the next short step, and its gap would drift. So the end of a
step is projected, in the norm of the mass matrix and by no more than the error it has anyway:

    position   q <- q - B M^-1 W (W^T M^-1 W)^-1 (g(t, q) - g_B)     gaps of closed contacts stay what they were
    velocity   u <- u - M^-1 W (W^T M^-1 W)^-1 (W^T u + zeta)        relative velocities of all held laws vanish

Rows that depend on others are left out: they are satisfied with them.
"""

from nonsmooth._core.jit import kernel
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.records.codes import (
    DIM,
    HALF_LINE,
    KIND,
    ROW,
    S_CONST_M,
    S_HAS_B,
    S_HAS_ZETA,
    S_NL,
    S_NN,
    S_NQ,
    S_NR,
    S_NU,
    S_UNIT,
    USER_SET,
    B,
)
from nonsmooth._core.stepping.extrapolation import ACTUAL, HOLD, PREVIOUS, steps_at
from nonsmooth._core.stepping.moreau import (
    A_B,
    A_DIR,
    A_GAP,
    A_MASS,
    A_UNIT,
    A_ZETA,
    DU,
    MASS_SINGULAR,
    OK,
    call_matrix,
    call_unit,
    call_vector,
    scene_at,
)

# a pivot lost to cancellation: the row depends on those before it
DEPENDENT = 1e-11


@kernel(HOLD, part=True)
def hold(scene_address, steps, t, limit):
    """Project the actual step, which ends at `t`; contacts whose gap changed by more than `limit` are let go.

    Returns a status of the base scheme.
    """
    scene, s = scene_at(scene_address), steps_at(steps)
    f, laws, size, p, w, prox = scene.f, scene.laws, scene.size, scene.p, scene.w, scene.prox
    n_q, n_u, n_N, n_laws, n = size[S_NQ], size[S_NU], size[S_NN], size[S_NL], size[S_NR]
    q, u = s.q[ACTUAL], s.u[ACTUAL]
    G, A, Y, WT, residual, du = w.G_all, prox.A, w.Y, w.WT, prox.rows[B], w.speeds[DU]
    held = False
    for l in range(n_laws):
        if s.modes[PREVIOUS, l] == 1 and s.modes[ACTUAL, l] == 1 and laws.ints[KIND, l] != USER_SET:
            held = True
    if not held:
        return OK
    # position twice (what is left after the first is its square), then velocity
    for stage in range(3):
        if stage < 2:
            if n_N > 0:
                call_vector(f[A_GAP], t, q, u, p, s.gap[ACTUAL])
            if size[S_CONST_M] == 0:
                call_matrix(f[A_MASS], t, q, u, p, w.M)
                if cholesky(w.M, w.L, n_u) != 0:
                    return MASS_SINGULAR
            if size[S_HAS_B]:
                call_matrix(f[A_B], t, q, u, p, w.B)
            call_matrix(f[A_DIR], t, q, u, p, WT)
            if size[S_HAS_ZETA]:
                call_vector(f[A_ZETA], t, q, u, p, w.zeta)
        # matrix and residual; rows that are not held get a one on the diagonal and nothing else
        for l in range(n_laws):
            keep = s.modes[PREVIOUS, l] == 1 and s.modes[ACTUAL, l] == 1 and laws.ints[KIND, l] != USER_SET
            change = 0.0
            if keep and laws.ints[KIND, l] == HALF_LINE:
                change = s.gap[ACTUAL, l] - s.gap[PREVIOUS, l]
                keep = abs(change) <= limit
            for i in range(laws.ints[ROW, l], laws.ints[ROW, l] + laws.ints[DIM, l]):
                residual[i] = 0.0
                if not keep:
                    for k in range(n_u):
                        Y[i, k] = 0.0
                else:
                    solve_lower(w.L, WT[i], Y[i], n_u)
                    residual[i] = change
                    if stage == 2:
                        residual[i] = w.zeta[i]
                        for k in range(n_u):
                            residual[i] += WT[i, k] * u[k]
                for j in range(i + 1):
                    r = 0.0
                    for k in range(n_u):
                        r += Y[i, k] * Y[j, k]
                    G[i, j] = r
                if not residual[i] - residual[i] == 0.0:
                    return OK  # not finite: the next step finds out why
        # factor and solve, leaving out rows that depend on those before
        for j in range(n):
            r = G[j, j]
            for k in range(j):
                r -= A[j, k] * A[j, k]
            A[j, j] = 0.0
            if r > DEPENDENT * G[j, j]:
                A[j, j] = 1.0 / r**0.5
            for i in range(j + 1, n):
                r = G[i, j]
                for k in range(j):
                    r -= A[i, k] * A[j, k]
                A[i, j] = r * A[j, j]
        solve_lower(A, residual, residual, n)
        solve_lower_transposed(A, residual, residual, n)
        # M^-1 W times the multipliers
        for k in range(n_u):
            r = 0.0
            for i in range(n):
                r += Y[i, k] * residual[i]
            du[k] = r
        solve_lower_transposed(w.L, du, du, n_u)
        if stage == 2:
            for k in range(n_u):
                u[k] -= du[k]
        elif size[S_HAS_B]:
            for i in range(n_q):
                for k in range(n_u):
                    q[i] -= w.B[i, k] * du[k]
        else:
            for k in range(n_u):
                q[k] -= du[k]
        if size[S_UNIT] and stage < 2:
            call_unit(f[A_UNIT], size, q)
    return OK
