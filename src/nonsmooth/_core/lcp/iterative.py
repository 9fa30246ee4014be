"""Iterative methods for LCP(M, q): projected SOR and the min-Newton (primal-dual active set) method.

PSOR converges for symmetric positive semidefinite ``M`` with positive diagonal and relaxation in (0, 2) if a
solution exists; min-Newton solves ``min(z, M z + q) = 0`` by active sets, in a few steps for H- and many
P-matrices (Aganagic 1984). Both only claim a solution when the residual says so.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel
from nonsmooth._core.lcp.lemke import solve_support


@kernel
def natural_residual(M, q, z):
    """``max_i |min(z_i, (M z + q)_i)|``."""
    n = q.shape[0]
    worst = 0.0
    for i in range(n):
        s = q[i]
        for j in range(n):
            s += M[i, j] * z[j]
        r = abs(min(z[i], s))
        if not r <= worst:
            worst = r
    return worst


@kernel
def psor(M, q, omega, tol, max_iter, z):
    """Projected successive over-relaxation from the guess `z` (modified in place).

    Returns
    -------
    residual : float
    iterations : int
    """
    n = q.shape[0]
    for k in range(max_iter):
        for i in range(n):
            s = q[i]
            for j in range(n):
                s += M[i, j] * z[j]
            z[i] = max(0.0, z[i] - omega * s / M[i, i])
        if k % 8 == 7 or k == max_iter - 1:
            r = natural_residual(M, q, z)
            if r <= tol or not r < 1e100:
                return r, k + 1
    return natural_residual(M, q, z), max_iter


@kernel
def newton_min(M, q, tol, max_iter, z, w):
    """Active-set Newton method on ``min(z, w) = 0`` from the guess `z` (`z`, `w` modified in place).

    Returns
    -------
    residual : float
        Infinite when an active block was singular.
    iterations : int
    """
    n = q.shape[0]
    basic = np.zeros(n, dtype=np.int8)
    for i in range(n):
        s = q[i]
        for j in range(n):
            s += M[i, j] * z[j]
        w[i] = s
        basic[i] = 1 if z[i] > s else 0
    iterations = 0
    for k in range(max_iter):
        iterations = k + 1
        if solve_support(M, q, basic, z, w) <= 0.0:
            return np.inf, iterations
        changed = False
        for i in range(n):
            new = 1 if z[i] > w[i] else 0
            if new != basic[i]:
                basic[i] = new
                changed = True
        if not changed:
            break
    for i in range(n):
        z[i] = max(z[i], 0.0)
    return natural_residual(M, q, z), iterations
