"""One contact with friction on a line: its two rows in closed form, for the modes of the last step.

    stick      G_NN P_N + G_NT P_T + c_N = 0,  G_TN P_N + G_TT P_T + c_T = 0;     holds if  P_N > 0,  |P_T| <= mu P_N
    slip, +-   P_T = +-mu P_N,  (G_NN +- mu G_NT) P_N + c_N = 0;                  holds if  P_N > 0,  +-xi_T < 0

This is what Newton's method on the modes does first (`modes_newton`), without building and factorising a matrix. Whatever does not
hold clearly, by more than rounding, is left to that method: so are other modes, parting contacts, singular matrices.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.laws.projections import EDGE, ROUNDED
from nonsmooth._core.records.laws import CONSTRAINT, COULOMB_1D, HALF_LINE, INACTIVE, UPPER

#: The modes do not hold: the impulses are those of the guess.
NOT_FOUND = 1e300


@phase
def is_one_contact(x, n_laws, n):
    """Whether the problem is a contact that was closed, with friction on a line that acted."""
    laws = x.laws
    return (
        n_laws == 2 and n == 2 and laws.kind[0] == HALF_LINE and laws.kind[1] == COULOMB_1D
        and laws.mode[0] == CONSTRAINT and laws.mode[1] != INACTIVE
    )  # fmt: skip


@phase
def one_contact(x):
    """Impulses for the modes as they are, if these hold; returns the residual (see `projections.residual`), else `NOT_FOUND`."""
    rows, G, mu, mode = x.rows, x.G, x.laws.mu[1], x.laws.mode[1]
    c_N, c_T = rows.c[0], rows.c[1]
    if mode == CONSTRAINT:
        det = G[0, 0] * G[1, 1] - G[0, 1] * G[1, 0]
        if not det > EDGE * G[0, 0] * G[1, 1]:
            return NOT_FOUND
        P_N = (G[0, 1] * c_T - G[1, 1] * c_N) / det
        P_T = (G[1, 0] * c_N - G[0, 0] * c_T) / det
        if not (P_N > 0.0 and abs(P_T) <= mu * P_N):
            return NOT_FOUND
    else:
        slope = mu if mode == UPPER else -mu
        pivot = G[0, 0] + slope * G[0, 1]
        if not pivot > EDGE * G[0, 0]:
            return NOT_FOUND
        P_N = -c_N / pivot
        P_T = slope * P_N
    xi_N = c_N + G[0, 0] * P_N + G[0, 1] * P_T
    xi_T = c_T + G[1, 0] * P_N + G[1, 1] * P_T
    error = xi_N * xi_N
    if mode != CONSTRAINT:
        # the argument P_T - rho xi_T, rho = 1 / G_TT, lies beyond the bound
        beyond = -xi_T if mode == UPPER else xi_T
        if not (P_N > 0.0 and beyond > 2.0 * EDGE * G[1, 1] * abs(P_T)):
            return NOT_FOUND
    else:
        error += xi_T * xi_T
    own_N = max(abs(c_N), ROUNDED * G[0, 0] * P_N)
    own_T = max(abs(c_T), ROUNDED * G[1, 1] * abs(P_T))
    res = (error / (own_N * own_N + own_T * own_T)) ** 0.5
    if not res <= x.options.tol:
        return NOT_FOUND
    rows.P[0], rows.P[1], rows.xi[0], rows.xi[1] = P_N, P_T, xi_N, xi_T
    return res
