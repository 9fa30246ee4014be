"""Time-stepping loops written by hand for one model each, as the yardstick for the library's general loop.

They do what a user would write to be fast: the model inlined, constants computed once, scalars instead of arrays, the
same scheme (Moreau's midpoint rule), the same stopping rule of the projected Gauss-Seidel iteration (relative residual
1e-10), and the same output (every 100th state is kept).
"""

import numba
import numpy as np


@numba.njit(fastmath=False)
def ball(n, dt, z, v, g, e, every):
    """Bouncing ball; returns the kept states."""
    out = np.empty((n // every + 1, 2))
    k = 0
    for i in range(n):
        z_m = z + 0.5 * dt * v
        v_new = v - g * dt
        if z_m <= 0.0:
            c = v_new + e * v
            if c < 0.0:
                v_new -= c
        z += 0.5 * dt * (v + v_new)
        v = v_new
        if (i + 1) % every == 0:
            out[k, 0] = z
            out[k, 1] = v
            k += 1
    return out[:k]


@numba.njit(fastmath=False)
def woodpecker(n, dt, q, u, par, every, tol):
    """Woodpecker toy with projected Gauss-Seidel; `par` as in the library's parameter record."""
    m_M, m_S, J_M, J_S, c_s, g, r_0, r_M, h_M, l_M, l_G, h_S, l_S = par
    M = np.empty((3, 3))
    M[0, 0] = m_S + m_M
    M[0, 1] = M[1, 0] = m_S * l_M
    M[0, 2] = M[2, 0] = m_S * l_G
    M[1, 1] = J_M + m_S * l_M**2
    M[1, 2] = M[2, 1] = m_S * l_M * l_G
    M[2, 2] = J_S + m_S * l_G**2
    Mi = np.linalg.inv(M)
    W = np.zeros((6, 3))  # N1, T1, N2, T2, N3, T3
    W[0, 2] = -h_S
    W[1, 0], W[1, 1], W[1, 2] = 1.0, l_M, l_G - l_S
    W[2, 1] = h_M
    W[3, 0], W[3, 1] = 1.0, r_M
    W[4, 1] = -h_M
    W[5, 0], W[5, 1] = 1.0, r_M
    MiW = (Mi @ W.T).copy()
    G = W @ MiW
    e = np.zeros(6)
    e[0] = 0.5
    mu = 0.3
    P = np.zeros(6)
    c = np.zeros(6)
    gap = np.zeros(3)
    out = np.empty((n // every + 1, 6))
    k = 0
    q0, q1, q2 = q[0], q[1], q[2]
    u0, u1, u2 = u[0], u[1], u[2]
    sweeps = 0
    for i in range(n):
        a1 = q1 + 0.5 * dt * u1
        a2 = q2 + 0.5 * dt * u2
        spring = c_s * (a1 - a2)
        h0 = -(m_S + m_M) * g
        h1 = -spring - m_S * g * l_M
        h2 = spring - m_S * g * l_G
        f0 = u0 + dt * (Mi[0, 0] * h0 + Mi[0, 1] * h1 + Mi[0, 2] * h2)
        f1 = u1 + dt * (Mi[1, 0] * h0 + Mi[1, 1] * h1 + Mi[1, 2] * h2)
        f2 = u2 + dt * (Mi[2, 0] * h0 + Mi[2, 1] * h1 + Mi[2, 2] * h2)
        gap[0] = (l_M + l_G - l_S - r_0) - h_S * a2
        gap[1] = (r_M - r_0) + h_M * a1
        gap[2] = (r_M - r_0) - h_M * a1
        scale = 0.0
        for j in range(3):
            if gap[j] <= 0.0:
                for r in range(2 * j, 2 * j + 2):
                    c[r] = (W[r, 0] * f0 + W[r, 1] * f1 + W[r, 2] * f2) + e[r] * (
                        W[r, 0] * u0 + W[r, 1] * u1 + W[r, 2] * u2
                    )
                    scale = max(scale, abs(c[r]))
            else:
                P[2 * j] = 0.0
                P[2 * j + 1] = 0.0
        if scale > 0.0:
            for _ in range(10000):
                change = 0.0
                sweeps += 1
                for j in range(3):
                    if gap[j] > 0.0:
                        continue
                    for r in range(2 * j, 2 * j + 2):
                        s = c[r]
                        for m in range(3):
                            if gap[m] <= 0.0:
                                s += G[r, 2 * m] * P[2 * m] + G[r, 2 * m + 1] * P[2 * m + 1]
                        x = P[r] - s / G[r, r]
                        if r == 2 * j:
                            y = max(x, 0.0)
                        else:
                            b = mu * P[2 * j]
                            y = min(max(x, -b), b)
                        change = max(change, abs(y - P[r]) * G[r, r])
                        P[r] = y
                if change <= tol * scale:
                    break
            for j in range(3):
                if gap[j] <= 0.0:
                    for r in range(2 * j, 2 * j + 2):
                        f0 += MiW[0, r] * P[r]
                        f1 += MiW[1, r] * P[r]
                        f2 += MiW[2, r] * P[r]
        q0 += 0.5 * dt * (u0 + f0)
        q1 += 0.5 * dt * (u1 + f1)
        q2 += 0.5 * dt * (u2 + f2)
        u0, u1, u2 = f0, f1, f2
        if (i + 1) % every == 0:
            out[k, 0] = q0
            out[k, 1] = q1
            out[k, 2] = q2
            out[k, 3] = u0
            out[k, 4] = u1
            out[k, 5] = u2
            k += 1
    return out[:k], sweeps
