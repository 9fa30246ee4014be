"""Lemke's complementary pivoting with the lexicographic ratio test.

Find ``w = M z + q``, ``z >= 0``, ``w >= 0``, ``z^T w = 0`` (LCP(M, q)). The method follows the almost
complementary path of ``w = M z + d z_0 + q`` from ``z_0 = max(-q_i/d_i)`` until ``z_0`` leaves the basis
(solution) or no ratio bounds the step (ray). The lexicographic rule compares the rows of ``[q, B^-1]``
instead of ``q`` alone: no basis can repeat, so degenerate problems cannot cycle (Cottle, Pang, Stone, *The
Linear Complementarity Problem*, 1992, sec. 4.4 and 4.9).

Data are expected to be equilibrated (entries of order one): see `contact.lcp`.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve

SOLVED, RAY, PIVOT_LIMIT, NUMERICAL = 0, 1, 2, 3


@kernel
def _lexicographic_row(T, n, enter, tol, basis):
    """Row that leaves: lexicographic minimum of ``T[i, (q, w_1..w_n)] / T[i, enter]``, or -1 if none bounds
    the step.

    ``z_0`` (index 2n) wins every tie of the first component: the path ends there.
    """
    best = -1
    for i in range(n):
        if T[i, enter] > tol:
            if best < 0:
                best = i
                continue
            a = T[i, 2 * n + 1] / T[i, enter]
            b = T[best, 2 * n + 1] / T[best, enter]
            scale = tol * (1.0 + abs(a) + abs(b))
            if abs(a - b) <= scale and basis[i] == 2 * n:
                best = i
                continue
            if abs(a - b) <= scale and basis[best] == 2 * n:
                continue
            if a < b - scale:
                best = i
                continue
            if a > b + scale:
                continue
            for j in range(n):
                a = T[i, j] / T[i, enter]
                b = T[best, j] / T[best, enter]
                scale = tol * (1.0 + abs(a) + abs(b))
                if a < b - scale:
                    best = i
                    break
                if a > b + scale:
                    break
    return best


@kernel
def _pivot(T, n, row, col):
    width = 2 * n + 2
    inv = 1.0 / T[row, col]
    for j in range(width):
        T[row, j] *= inv
    T[row, col] = 1.0
    for i in range(n):
        if i != row:
            f = T[i, col]
            if f != 0.0:
                for j in range(width):
                    T[i, j] -= f * T[row, j]
                T[i, col] = 0.0


@kernel
def solve_support(M, q, basic, z, w):
    """Complementary basic solution of the index set `basic`: ``M_aa z_a = -q_a`` by LU with one step of
    refinement.

    Returns
    -------
    ratio : float
        Pivot ratio of ``M_aa`` (0.0: singular, `z` and `w` then hold no solution).
    """
    n = q.shape[0]
    index = np.empty(n, dtype=np.int64)
    k = 0
    for i in range(n):
        if basic[i]:
            index[k] = i
            k += 1
    A = np.empty((k, k))
    piv = np.empty(k, dtype=np.int64)
    x = np.empty(k)
    r = np.empty(k)
    for a in range(k):
        x[a] = -q[index[a]]
        for b in range(k):
            A[a, b] = M[index[a], index[b]]
    ratio = lu_factor(A, piv, k)
    for i in range(n):
        z[i] = 0.0
    if ratio > 0.0:
        lu_solve(A, piv, k, x)
        for a in range(k):
            s = -q[index[a]]
            for b in range(k):
                s -= M[index[a], index[b]] * x[b]
            r[a] = s
        lu_solve(A, piv, k, r)
        for a in range(k):
            z[index[a]] = x[a] + r[a]
    for i in range(n):
        s = q[i]
        for b in range(k):
            s += M[i, index[b]] * z[index[b]]
        w[i] = s
    for a in range(k):
        w[index[a]] = 0.0
    return ratio


@kernel
def lemke(M, q, d, max_pivots, tol, z, w, ray):
    """Solve LCP(M, q) along Lemke's path with covering vector `d` > 0.

    Parameters
    ----------
    M : ndarray, shape (n, n)
    q, d : ndarray, shape (n,)
    max_pivots : int
    tol : float
        Entries below `tol` do not count as pivots; ratios closer than `tol` are ties.
    z, w : ndarray, shape (n,)
        Solution, written in place.
    ray : ndarray, shape (n,)
        Direction of z on the secondary ray, written in place when the path ends on one.

    Returns
    -------
    status : int
        SOLVED, RAY, PIVOT_LIMIT or NUMERICAL.
    pivots : int
    """
    n = q.shape[0]
    for i in range(n):
        z[i] = 0.0
        w[i] = q[i]
        ray[i] = 0.0
    start = -1
    for i in range(n):
        # Lexicographic minimum of [q_i, e_i] / d_i: among equal ratios the last index wins (its unit vector
        # comes last).
        if q[i] < 0.0 and (start < 0 or q[i] / d[i] <= q[start] / d[start]):
            start = i
    if start < 0:
        return SOLVED, 0
    T = np.zeros((n, 2 * n + 2))
    basis = np.empty(n, dtype=np.int64)
    for i in range(n):
        T[i, i] = 1.0
        for j in range(n):
            T[i, n + j] = -M[i, j]
        T[i, 2 * n] = -d[i]
        T[i, 2 * n + 1] = q[i]
        basis[i] = i
    _pivot(T, n, start, 2 * n)
    leave = start
    basis[start] = 2 * n
    pivots = 1
    while pivots < max_pivots:
        # The complement of the variable that has just left enters.
        enter = leave + n if leave < n else leave - n
        row = _lexicographic_row(T, n, enter, tol, basis)
        if row < 0:
            for i in range(n):
                if n <= basis[i] < 2 * n:
                    ray[basis[i] - n] = -T[i, enter]
            if enter >= n:
                ray[enter - n] = 1.0
            return RAY, pivots
        leave = basis[row]
        _pivot(T, n, row, enter)
        basis[row] = enter
        pivots += 1
        if leave == 2 * n:
            basic = np.zeros(n, dtype=np.int8)
            for i in range(n):
                if basis[i] >= n:
                    basic[basis[i] - n] = 1
            ratio = solve_support(M, q, basic, z, w)
            if ratio <= 1e-13:
                return NUMERICAL, pivots
            return SOLVED, pivots
    return PIVOT_LIMIT, pivots
