"""All combinations of contact modes in the plane, one linear system each (see `nonsmooth.contact.enumeration`).

Modes: 0 open (``r = 0``), 1 held or sticking (``u = 0``), 2 and 3 sliding with ``r_T = +-mu r_N`` and ``u_N = 0``. A contact
with two choices is open or closed without friction, one with a single choice is held.
"""

import math

import numpy as np

from nonsmooth._core.jit import kernel
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve

OPEN, HELD, FORWARD, BACKWARD = 0, 1, 2, 3


@kernel
def violation(mode, dim, r, u, mu, choices, rho):
    """How far the inequalities of the modes are violated, as a velocity (Euclidean norm over contacts)."""
    total = 0.0
    for i in range(mode.size):
        base = dim * i
        if choices[i] == 1:
            continue
        if mode[i] == OPEN:
            v = min(0.0, u[base])
        else:
            v = min(0.0, r[base]) / rho[i]
            if choices[i] == 4:
                if mode[i] == HELD:
                    over = max(0.0, abs(r[base + 1]) - mu[i] * r[base]) / rho[i]
                elif mode[i] == FORWARD:
                    over = max(0.0, u[base + 1])
                else:
                    over = max(0.0, -u[base + 1])
                total += over * over
        total += v * v
    return math.sqrt(total)


@kernel
def best_mode(W, q, mu, choices, dim, rho, tol, limit, best_r):
    """Write the impulses of the first mode whose violation is below `tol`, else of the best, to `best_r`.

    Returns the number of combinations tried.
    """
    n = mu.size
    rows = q.size
    mode = np.zeros(n, dtype=np.int64)
    A = np.empty((rows, rows))
    r = np.empty(rows)
    u = np.empty(rows)
    piv = np.empty(rows, dtype=np.int64)
    best = math.inf
    for i in range(n):
        if choices[i] == 1:
            mode[i] = HELD
    for count in range(limit):
        # equations of the modes: u rows of W r + q = 0, or conditions on r
        for i in range(n):
            for a in range(dim):
                k = dim * i + a
                pulled = mode[i] == HELD and (a == 0 or choices[i] != 2)
                pulled = pulled or (mode[i] >= FORWARD and a == 0)
                if pulled:
                    for j in range(rows):
                        A[k, j] = W[k, j] * rho[i]
                    r[k] = -q[k] * rho[i]
                    continue
                for j in range(rows):
                    A[k, j] = 0.0
                A[k, k] = 1.0
                r[k] = 0.0
                if a == 1 and mode[i] >= FORWARD:
                    # sliding forwards, r_T = -mu r_N would oppose u_T > 0
                    A[k, k - 1] = -mu[i] if mode[i] == FORWARD else mu[i]
        ratio = lu_factor(A, piv, rows)
        if ratio > 1e-14:
            lu_solve(A, piv, rows, r)
            for k in range(rows):
                total = q[k]
                for j in range(rows):
                    total += W[k, j] * r[j]
                u[k] = total
            value = violation(mode, dim, r, u, mu, choices, rho)
            if value < best:
                best = value
                for k in range(rows):
                    best_r[k] = r[k]
                if best <= tol:
                    return count + 1
        # next combination
        i = 0
        while i < n:
            if choices[i] == 1:
                i += 1
                continue
            mode[i] += 1
            if mode[i] < choices[i]:
                break
            mode[i] = 0
            i += 1
        if i == n:
            return count + 1
    return limit
