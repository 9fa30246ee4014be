"""An obvious Moreau loop for the woodpecker alone, in plain NumPy: the oracle of the compiled one.

Written from Studer, Leine & Glocker 2008, eqs. (15)-(23), with nothing of the library but the numbers.
"""

import numpy as np

m_M, m_S, J_M, J_S, c, g = 3e-4, 4.5e-3, 5e-9, 7e-7, 5.6e-3, 9.81
r_0, r_M, h_M, l_M, l_G, h_S, l_S = 2.5e-3, 3.1e-3, 5.8e-3, 0.01, 0.015, 0.02, 0.0201

M = np.array(
    [
        [m_S + m_M, m_S * l_M, m_S * l_G],
        [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
        [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
    ]
)
W_N = np.array([[0, 0, -h_S], [0, h_M, 0], [0, -h_M, 0]])  # rows: contacts
W_T = np.array([[1, l_M, l_G - l_S], [1, r_M, 0], [1, r_M, 0]])
OFFSET = np.array([l_M + l_G - l_S - r_0, r_M - r_0, r_M - r_0])
E_N, MU = np.array([0.5, 0.0, 0.0]), 0.3


def gaps(q):
    return OFFSET + W_N @ q


def gauss_seidel(G, b, n):
    """Projected Gauss-Seidel, eq. (23), to a fixed point: n normal impulses, then n tangential ones."""
    P = [0.0] * (2 * n)
    for _ in range(20000):
        change = 0.0
        for i in range(2 * n):
            trial = P[i] - (sum(a * x for a, x in zip(G[i], P)) + b[i]) / G[i][i]
            new = max(trial, 0.0) if i < n else min(max(trial, -MU * P[i - n]), MU * P[i - n])
            change, P[i] = max(change, abs(new - P[i])), new
        if change <= 1e-16 * (1e-6 + max(abs(x) for x in P)):
            break
    return np.array(P)


def one_contact(G, b):
    """One contact by trying its modes: open, stick, slip with friction on either bound."""
    if b[0] >= 0.0:
        return np.zeros(2)
    determinant = G[0][0] * G[1][1] - G[0][1] * G[1][0]
    P_N = (G[0][1] * b[1] - G[1][1] * b[0]) / determinant
    P_T = (G[1][0] * b[0] - G[0][0] * b[1]) / determinant
    if P_N >= 0.0 and abs(P_T) <= MU * P_N:
        return np.array([P_N, P_T])
    for side in (1.0, -1.0):
        P_N = -b[0] / (G[0][0] + side * MU * G[0][1])
        P_T = side * MU * P_N
        if P_N >= 0.0 and side * (G[1][0] * P_N + G[1][1] * P_T + b[1]) <= 0.0:
            return np.array([P_N, P_T])
    raise ArithmeticError("no mode fits")


def run(q, u, dt, steps):
    """States (3, steps+1) and impulses (3, steps+1) normal and tangential."""
    Q, U = np.empty((3, steps + 1)), np.empty((3, steps + 1))
    PN, PT = np.zeros((3, steps + 1)), np.zeros((3, steps + 1))
    Q[:, 0], U[:, 0] = q, u
    inverse = np.linalg.inv(M)
    for k in range(1, steps + 1):
        q_M = q + 0.5 * dt * u
        spring = c * (q_M[1] - q_M[2])
        h = np.array([-(m_S + m_M) * g, -spring - m_S * g * l_M, spring - m_S * g * l_G])
        free = u + inverse @ h * dt
        active = np.flatnonzero(gaps(q_M) <= 0.0)
        # unknowns: normal impulses of the active contacts, then tangential ones
        if active.size:
            n = active.size
            W = np.vstack((W_N[active], W_T[active]))
            e = np.concatenate((E_N[active], np.zeros(n)))
            G, b = (W @ inverse @ W.T).tolist(), (W @ free + e * (W @ u)).tolist()
            P = one_contact(G, b) if n == 1 else gauss_seidel(G, b, n)
            u_E = free + inverse @ (W.T @ P)
            PN[active, k], PT[active, k] = P[:n], P[n:]
        else:
            u_E = free
        q, u = q + 0.5 * dt * (u + u_E), u_E
        Q[:, k], U[:, k] = q, u
    return Q, U, PN, PT
