"""All solutions of a linear complementarity problem by branch and bound over the complementary index sets.

Every index k is decided once: ``z_k = 0`` or ``w_k = 0``. A node keeps the affine dictionary

    y = c + T x,    x = the z_j that are still free (x >= 0),

in which the decided equations ``w_k = 0`` have been eliminated by pivoting. A row of the dictionary bounds
its variable: if ``y >= 0`` is required, ``c < 0`` and no coefficient is positive, no solution lies below the
node (implicit enumeration in the sense of Al-Khayyal 1987, with the bound of the dictionary in the place of
a linear program). Equations without a safe pivot wait as *pending* and are eliminated later, or never: then
the leaf is a singular family, a polyhedron whose vertices and rays are listed.

The solution set is the union of the polyhedra ``P_a = {z >= 0 : z_i = 0 (i not in a), w_i = 0 (i in a), w >=
0}`` over the index sets a. The list holds every vertex of every ``P_a``, hence every isolated solution, and
the rays of unbounded pieces. Two vertices belong to one piece exactly if they are cross complementary
(Cottle, Pang, Stone 1992, sec. 3.1).

Data are expected to be equilibrated (entries of order one): see `contact.lcp`.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import b1_1, f8_1, f8_2, float64, i8_1, int64, kernel, types, void
from nonsmooth._core.lcp.lemke import solve_support
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve

COMPLETE, TOO_MANY = 0, 1

_SAFE_PIVOT = 0.1  # pivots inside the tree, relative to their row: smaller ones wait
_RANK_TOL = 1e-11  # pivots at a leaf: smaller ones are zero
_NO_COEFFICIENT = 1e-13


@kernel(void(f8_2, int64, b1_1, b1_1, i8_1, b1_1, float64), part=True)
def _eliminate(T, n, pend_row, pend_col, row_var, col_live, relative):
    """Eliminate pending equations by complete pivoting while a pivot exceeds `relative` times its row and
    the rank tolerance.
    """
    while True:
        best = _RANK_TOL
        r = -1
        c = -1
        for i in range(n):
            if pend_row[i]:
                size = 0.0
                for j in range(n):
                    if col_live[j] and abs(T[i, j]) > size:
                        size = abs(T[i, j])
                for j in range(n):
                    if pend_col[j] and abs(T[i, j]) > best and abs(T[i, j]) >= relative * size:
                        best = abs(T[i, j])
                        r = i
                        c = j
        if r < 0:
            return
        # Row r reads 0 = const + ... + T[r, c] x_c; solved for x_c it becomes the row of z_c.
        inv = -1.0 / T[r, c]
        for j in range(n + 1):
            T[r, j] *= inv
        T[r, c] = 0.0
        for i in range(n):
            if i != r:
                f = T[i, c]
                if f != 0.0:
                    for j in range(n + 1):
                        T[i, j] += f * T[r, j]
                    T[i, c] = 0.0
        pend_row[r] = 0
        pend_col[c] = 0
        col_live[c] = 0
        row_var[r] = c


@kernel(types.boolean(f8_2, int64, b1_1, b1_1, float64), part=True)
def _impossible(T, n, pend_row, col_live, tol):
    """True if some row of the dictionary excludes every non-negative completion."""
    for i in range(n):
        c = T[i, n]
        scale = tol
        if c < -scale:
            rescued = False
            for j in range(n):
                if col_live[j] and T[i, j] > _NO_COEFFICIENT:
                    rescued = True
                    break
            if not rescued:
                return True
        elif c > scale and pend_row[i]:
            rescued = False
            for j in range(n):
                if col_live[j] and T[i, j] < -_NO_COEFFICIENT:
                    rescued = True
                    break
            if not rescued:
                return True
    return False


@kernel(int64(f8_2, int64, f8_1, int64, float64), part=True)
def _store(Z, count, z, n, tol):
    """Append `z` to the rows of `Z` unless it is there already; returns the new count, or -1 if there is no
    room.
    """
    size = 1.0
    for i in range(n):
        if abs(z[i]) > size:
            size = abs(z[i])
    for k in range(count):
        same = True
        for i in range(n):
            if abs(Z[k, i] - z[i]) > 100.0 * tol * size:
                same = False
                break
        if same:
            return count
    if count >= Z.shape[0]:
        return -1
    for i in range(n):
        Z[count, i] = z[i]
    return count + 1


@kernel(types.boolean(i8_1, int64, int64), part=True)
def _next_combination(choice, k, n):
    """Advance `choice` to the next k-subset of range(n) in lexicographic order; False at the end."""
    i = k - 1
    while i >= 0 and choice[i] == n - k + i:
        i -= 1
    if i < 0:
        return False
    choice[i] += 1
    for j in range(i + 1, k):
        choice[j] = choice[j - 1] + 1
    return True


@kernel(types.boolean(f8_2, int64, b1_1, i8_1, i8_1, int64, f8_1, f8_1, types.boolean, float64), part=True)
def _point_of_family(T, n, pend_row, row_var, cols, d, x, z, homogeneous, tol):
    """Evaluate the dictionary at the free values `x`; False if a variable is negative there."""
    for i in range(n):
        z[i] = 0.0
    for a in range(d):
        if x[a] < -tol:
            return False
        z[cols[a]] = max(x[a], 0.0)
    for i in range(n):
        if pend_row[i]:
            continue
        s = 0.0 if homogeneous else T[i, n]
        for a in range(d):
            s += T[i, cols[a]] * x[a]
        if s < -tol:
            return False
        if row_var[i] >= 0:
            z[row_var[i]] = max(s, 0.0)
    return True


@kernel
def _regular(A, piv, d):
    """Factor `A`; True if every pivot exceeds the rank tolerance."""
    if lu_factor(A, piv, d) <= _RANK_TOL:
        return False
    for a in range(d):
        if abs(A[a, a]) <= _RANK_TOL:
            return False
    return True


@kernel(
    types.UniTuple(int64, 2)(f8_2, int64, b1_1, b1_1, i8_1, float64, f8_2, int64, f8_2, i8_1, int64, int64),
)
def _family(T, n, pend_row, pend_col, row_var, tol, Z, count, Y, masks, n_rays, mask):
    """Vertices of full support and extreme rays of the singular leaf; returns the new counts (-1: no room)."""
    cols = np.empty(n, dtype=np.int64)
    d = 0
    for j in range(n):
        if pend_col[j]:
            cols[d] = j
            d += 1
    rows, choice, piv = np.empty(n, dtype=np.int64), np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    A, x, z = np.empty((d, d)), np.empty(d), np.empty(n)

    # Vertices with every z of the family positive: d of the rows w_i outside the support are zero there. The
    # other vertices of the piece have a smaller support and are found at the leaf of that support.
    m = _rows_outside(T, n, pend_row, row_var, cols, d, rows)
    for a in range(d):
        choice[a] = a
    more = m >= d
    while more:
        for a in range(d):
            i = rows[choice[a]]
            x[a] = -T[i, n]
            for b in range(d):
                A[a, b] = T[i, cols[b]]
        if _regular(A, piv, d):
            lu_solve(A, piv, d, x)
            if _point_of_family(T, n, pend_row, row_var, cols, d, x, z, False, tol):
                count = _store(Z, count, z, n, tol)
                if count < 0:
                    return count, n_rays
        more = _next_combination(choice, d, m)

    # Rays: directions with sum x = 1 and d - 1 of the rows or signs at zero.
    m = d
    for i in range(n):
        if not pend_row[i]:
            rows[m - d] = i
            m += 1
    for a in range(d):
        choice[a] = a
    more = True
    while more:
        _equations_of_ray(T, rows, cols, choice, d, A, x)
        if _regular(A, piv, d):
            lu_solve(A, piv, d, x)
            if _point_of_family(T, n, pend_row, row_var, cols, d, x, z, True, tol) and n_rays < Y.shape[0]:
                Y[n_rays, :n] = z
                masks[n_rays] = mask
                n_rays += 1
        more = d > 1 and _next_combination(choice, d - 1, m)
    return count, n_rays


@kernel(int64(f8_2, int64, b1_1, i8_1, i8_1, int64, i8_1), part=True)
def _rows_outside(T, n, pend_row, row_var, cols, d, rows):
    """Rows of the w outside the support that depend on the family; returns how many there are."""
    m = 0
    for i in range(n):
        if not pend_row[i] and row_var[i] < 0:
            for a in range(d):
                if abs(T[i, cols[a]]) > _RANK_TOL:
                    rows[m] = i
                    m += 1
                    break
    return m


@kernel(void(f8_2, i8_1, i8_1, i8_1, int64, f8_2, f8_1), part=True)
def _equations_of_ray(T, rows, cols, choice, d, A, x):
    """The rows or signs of `choice` at zero, sum x = 1."""
    for a in range(d - 1):
        for b in range(d):
            A[a, b] = 0.0
        x[a] = 0.0
        if choice[a] < d:
            A[a, choice[a]] = 1.0
        else:
            for b in range(d):
                A[a, b] = T[rows[choice[a] - d], cols[b]]
    for b in range(d):
        A[d - 1, b] = 1.0
    x[d - 1] = 1.0


@kernel
def _vertex_of_leaf(M, q, T, n, row_var, tol, z, w, basic):
    """Solution of a regular leaf, refined with the original data; False if it is not one."""
    for i in range(n):
        basic[i] = 0
    for i in range(n):
        if row_var[i] >= 0:
            basic[row_var[i]] = 1
    if solve_support(M, q, basic, z, w) <= 1e-13:
        return False
    for i in range(n):
        size = abs(q[i])
        for j in range(n):
            size += abs(M[i, j] * z[j])
        if z[i] < -tol or w[i] < -tol * max(1.0, size):
            return False
        z[i] = max(z[i], 0.0)
    return True


@kernel
def enumerate_lcp(M, q, tol, Z, Y, masks):
    """List the vertices of the solution set of LCP(M, q).

    Parameters
    ----------
    M : ndarray, shape (n, n)
    q : ndarray, shape (n,)
    tol : float
        Variables above ``-tol`` count as non-negative.
    Z : ndarray, shape (k, n)
        Vertices, written in place.
    Y, masks : ndarray, shape (l, n) and (l,)
        Rays of singular families and the index set (bit mask) they belong to, written in place. Whether a
        ray belongs to the solution set depends on a vertex with that index set: see `ray_is_attached`.

    Returns
    -------
    status : int
        COMPLETE or TOO_MANY (more than k vertices).
    count : int
    n_rays : int
    nodes : int
        Nodes visited: with count 0 they are the proof that there is no solution.
    """
    n = q.shape[0]
    T = np.zeros((n + 1, n, n + 1))
    pend_row = np.zeros((n + 1, n), dtype=np.int8)
    pend_col = np.zeros((n + 1, n), dtype=np.int8)
    col_live = np.zeros((n + 1, n), dtype=np.int8)
    row_var = np.zeros((n + 1, n), dtype=np.int64)
    branch = np.zeros(n + 1, dtype=np.int64)
    mask = np.zeros(n + 1, dtype=np.int64)
    z, w, basic = np.empty(n), np.empty(n), np.empty(n, dtype=np.int8)
    if n == 0:
        return COMPLETE, 1, 0, 1
    T[0, :, :n], T[0, :, n] = M, q
    col_live[0, :], row_var[0, :] = 1, -1
    count, n_rays, nodes, depth = 0, 0, 1, 0
    while depth >= 0:
        if branch[depth] == 2:
            branch[depth] = 0
            depth -= 1
            continue
        child, holds = depth + 1, branch[depth] == 1
        mask[child] = mask[depth] | (1 << depth) if holds else mask[depth]
        _decide(T, pend_row, pend_col, col_live, row_var, depth, holds)
        relative = _SAFE_PIVOT if child < n else 0.0
        _eliminate(T[child], n, pend_row[child], pend_col[child], row_var[child], col_live[child], relative)
        branch[depth] += 1
        nodes += 1
        if _impossible(T[child], n, pend_row[child], col_live[child], tol):
            continue
        if child < n:
            branch[child] = 0
            depth = child
            continue
        if np.any(pend_row[n]):  # equations that found no pivot
            count, n_rays = _family(
                T[n], n, pend_row[n], pend_col[n], row_var[n], tol, Z, count, Y, masks, n_rays, mask[n]
            )
        elif _vertex_of_leaf(M, q, T[n], n, row_var[n], tol, z, w, basic):
            count = _store(Z, count, z, n, tol)
        if count < 0:
            return TOO_MANY, Z.shape[0], n_rays, nodes
    return COMPLETE, count, n_rays, nodes


@kernel
def _decide(T, pend_row, pend_col, col_live, row_var, k, holds):
    """The node below depth k: there the equation w_k = 0 `holds`, or z_k = 0."""
    n, child = row_var.shape[1], k + 1
    for i in range(n):
        for j in range(n + 1):
            T[child, i, j] = T[k, i, j]
        pend_row[child, i] = pend_row[k, i]
        pend_col[child, i] = pend_col[k, i]
        col_live[child, i] = col_live[k, i]
        row_var[child, i] = row_var[k, i]
    if holds:
        pend_row[child, k] = 1
        pend_col[child, k] = 1
    else:
        col_live[child, k] = 0
        for i in range(n):
            T[child, i, k] = 0.0


@kernel
def ray_is_attached(M, q, z, mask, tol):
    """True if the solution `z` lies in the piece of the index set `mask`: z = 0 outside it, w = 0 on it."""
    n = q.shape[0]
    for i in range(n):
        if mask & (1 << i):
            s = q[i]
            size = abs(q[i])
            for j in range(n):
                s += M[i, j] * z[j]
                size += abs(M[i, j] * z[j])
            if abs(s) > tol * max(1.0, size):
                return False
        elif z[i] > tol:
            return False
    return True
