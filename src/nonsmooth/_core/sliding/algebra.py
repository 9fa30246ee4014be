"""The algebra of Stewart's active sets: sliding field, switching function, projection, and the LCP at a
switching point.

Notation of Stewart 1996 (J. Austral. Math. Soc. B 37): groups j = 1..m, regions k of group j are numbered
consecutively, group j owns the regions ``starts[j] .. starts[j+1]-1``. A system is ``x' = s(t, x) + sum_j
f^j(t, x)`` with ``f^j = f_k`` where indicator h_k is the smallest of its group, eqs. (6)-(7). ``active[k]``
is 1.0 for the members of the active set I = (I^1, ..., I^m).

Sliding field (eqs. (9)-(11)). With one member a_j of every I^j as base and the others as unknowns, (11)
reduces to

    D lam = -(c_r . x'_0 + dh_r/dt),   D_rs = c_r . (f_s - f_a(s)),   c_r = grad h_r - grad h_a(r),   x'_0 = s + sum_j f_a_j,

one row for every member r of I^j beyond the base: N_alpha of (11) is regular exactly if D is (the number
alpha drops out, Lemma 1). Time is treated as a state: its derivative enters through dh/dt.

Fields are stored in ``F`` (R + 1, n), the last row being the smooth part; gradients in ``G`` (R, n + 1), the
last column being dh/dt.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import kernel, noinline, phase
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve

SINGULAR = 1e-12  # pivot ratio below which condition B' counts as violated


@kernel
def least_norm(D, r, d, lam):
    """Least-norm least-squares solution of ``D lam = r`` for a singular D: ``lam = D^T y`` with ``D D^T y =
    r``.

    Returns
    -------
    misfit : float
        ``|D lam - r|`` relative to ``|r|``.
    """
    S = np.zeros((d, d))
    y = np.zeros(d)
    res = np.zeros(d)
    used = np.zeros(d, dtype=np.int64)
    top = 0.0
    for i in range(d):
        lam[i] = 0.0
        for j in range(d):
            for k in range(d):
                S[i, j] += D[i, k] * D[j, k]
        res[i] = r[i]
        top = max(top, S[i, i])
    # Gauss-Jordan on the symmetric semidefinite S with diagonal pivots: y is a basic solution, lam = D^T y
    # is unique.
    for _ in range(d):
        p = -1
        best = 1e-20 * top
        for i in range(d):
            if used[i] == 0 and S[i, i] > best:
                best = S[i, i]
                p = i
        if p < 0 or best <= 1e-13 * top:
            break
        used[p] = 1
        inv = 1.0 / S[p, p]
        for j in range(d):
            S[p, j] *= inv
        res[p] *= inv
        for i in range(d):
            if i != p:
                f = S[i, p]
                for j in range(d):
                    S[i, j] -= f * S[p, j]
                res[i] -= f * res[p]
    for i in range(d):
        if used[i] == 1:
            y[i] = res[i]
    for k in range(d):
        for i in range(d):
            lam[k] += D[i, k] * y[i]
    misfit = 0.0
    size = 1e-300
    for i in range(d):
        s = -r[i]
        for k in range(d):
            s += D[i, k] * lam[k]
        misfit += s * s
        size += r[i] * r[i]
    return np.sqrt(misfit / size)


@kernel
def surfaces(starts, active, rows, bases):
    """The surfaces of an active set: every member r of I^j beyond the first one, a, stands for ``h_r = h_a``.

    `rows` and `bases` (R,) get r and a of each; returns their number d, the codimension.
    """
    d = 0
    for j in range(starts.size - 1):
        base = -1
        for k in range(starts[j], starts[j + 1]):
            if active[k] > 0.0:
                if base < 0:
                    base = k
                else:
                    rows[d] = k
                    bases[d] = base
                    d += 1
    return d


@kernel
def sliding_weights(D, r, d, lam):
    """Weights lam of ``D lam = r``, rows scaled by the caller to their largest terms; `D` is kept.

    Returns
    -------
    ratio : float
        Pivot ratio of D; below `SINGULAR` condition B' is violated and the least-norm weights around equal ones were taken,
        no region being preferred; a negative value says that not even those fulfil the equations.
    """
    A = np.empty((d, d))
    piv = np.empty(d, dtype=np.int64)
    for a in range(d):
        lam[a] = r[a]
        for e in range(d):
            A[a, e] = D[a, e]
    ratio = lu_factor(A, piv, d)
    for a in range(d):
        ratio = min(ratio, abs(A[a, a]))
    if ratio > SINGULAR:
        lu_solve(A, piv, d, lam)
        return ratio
    if d == 1:
        # Both fields have the same normal speed.
        lam[0] = 0.5 + 0.0 * (D[0, 0] + r[0])
        return 0.0 if abs(r[0]) <= 1e-8 else -1.0
    for a in range(d):
        for e in range(d):
            r[a] -= D[a, e] * 0.5
    misfit = least_norm(D, r, d, lam)
    for e in range(d):
        lam[e] += 0.5 + 0.0 * misfit  # not finite if the gradients are not
    return -1.0 if misfit > 1e-8 else 0.0


@kernel
def sliding_equations(F, G, rows, bases, x_0, D, r):
    """D and r of ``D lam = r`` for the surfaces (rows, bases), with x'_0 of the bases; each row divided by its largest terms
    (it has the units of its indicator).
    """
    n = x_0.size
    d = r.size
    for a in range(d):
        i, b = rows[a], bases[a]
        s = G[i, n] - G[b, n]
        size = 0.0
        for k in range(n):
            s += (G[i, k] - G[b, k]) * x_0[k]
        r[a] = -s
        for e in range(d):
            s = 0.0
            terms = 0.0
            for k in range(n):
                product = (G[i, k] - G[b, k]) * (F[rows[e], k] - F[bases[e], k])
                s += product
                terms += abs(product)
            D[a, e] = s
            size = max(size, terms)
        if size > 0.0:
            r[a] /= size
            for e in range(d):
                D[a, e] /= size


@kernel
def combine(starts, active, F, G, z, out):
    """Sliding vector field of the active set, eq. (9) with z from (11).

    Parameters
    ----------
    starts : ndarray of int, shape (m + 1,)
    active : ndarray, shape (R,)
    F, G : ndarray, shapes (R + 1, n) and (R, n + 1)
    z : ndarray, shape (R,)
        Weights of the regions, written in place.
    out : ndarray, shape (n,)
        x', written in place.

    Returns
    -------
    ratio : float
        Pivot ratio as `sliding_weights` returns it; 1 without sliding.
    """
    noinline()
    n = out.size
    R = active.size
    rows = np.empty(R, dtype=np.int64)
    bases = np.empty(R, dtype=np.int64)
    d = surfaces(starts, active, rows, bases)
    for k in range(n):
        out[k] = F[R, k]
    for k in range(R):
        z[k] = active[k]
    for a in range(d):
        z[rows[a]] = 0.0
    for k in range(R):
        if z[k] > 0.0:
            for i in range(n):
                out[i] += F[k, i]
    if d == 0:
        return 1.0
    D = np.empty((d, d))
    r = np.empty(d)
    lam = np.empty(d)
    sliding_equations(F, G, rows, bases, out, D, r)
    ratio = sliding_weights(D, r, d, lam)
    for a in range(d):
        z[rows[a]] = lam[a]
        z[bases[a]] -= lam[a]
        for k in range(n):
            out[k] += lam[a] * (F[rows[a], k] - F[bases[a], k])
    return ratio


@kernel
def project(starts, active, h, G, y):
    """One Newton step of least norm back onto the surfaces ``h_i = h_k``, i, k in I^j. Returns the largest
    drift.

    `h` and `G` must belong to the active regions at `y` (modified in place).
    """
    noinline()
    n = y.size
    R = active.size
    rows = np.empty(R, dtype=np.int64)
    bases = np.empty(R, dtype=np.int64)
    d = surfaces(starts, active, rows, bases)
    drift = 0.0
    if d == 0:
        return drift
    S = np.empty((d, d))
    r = np.empty(d)
    lam = np.empty(d)
    for a in range(d):
        r[a] = h[bases[a]] - h[rows[a]]
        drift = max(drift, abs(r[a]))
    if drift == 0.0:
        return 0.0
    for a in range(d):
        for b in range(d):
            s = 0.0
            for k in range(n):
                s += (G[rows[a], k] - G[bases[a], k]) * (G[rows[b], k] - G[bases[b], k])
            S[a, b] = s
    least_norm(S, r, d, lam)
    for a in range(d):
        for k in range(n):
            y[k] += lam[a] * (G[rows[a], k] - G[bases[a], k])
    return drift


@kernel
def build_lcp(starts, trial, F, G, index, N, q):
    """The LCP (13) of Stewart 1996 for the candidate set I_0 = `trial`, groups with one candidate left out.

    Rows of a group are scaled to size one (its indicator's units), the smooth part and the groups with one
    candidate are added to the fields of the first group of the LCP (the split of the shared part is
    arbitrary), and alpha = 1 - min M makes M_alpha positive (erratum 6).

    Parameters
    ----------
    index : ndarray of int, shape (R,)
        Region of each z of the LCP, written in place.
    N, q : ndarray, shapes (c, c) and (c,) at least
        Matrix and vector of (13), written in place.

    Returns
    -------
    card, groups : int
        Number of z and of mu: the LCP has size card + groups.
    """
    noinline()
    group = np.empty(trial.size, dtype=np.int64)
    shared = np.empty(F.shape[1])
    card, groups = candidates(starts, trial, F, shared, index, group)
    products(F, G, shared, index, group, card, N)
    for j in range(groups):
        scale_group(N, group, card, j)
    # alpha = 1 - min M; the rows start at zero after the shift of `scale_group`
    for a in range(card):
        for b in range(card):
            N[a, b] += 1.0
        q[a] = 0.0
    for j in range(groups):
        c = card + j
        q[c] = -1.0
        for b in range(card + groups):
            N[c, b] = 0.0
        for a in range(card):
            on = group[a] == j
            N[c, a] = 1.0 if on else 0.0
            N[a, c] = -1.0 if on else 0.0
    return card, groups


@phase
def candidates(starts, trial, F, shared, index, group):
    """Region and group of each z of the LCP, and the field of all that is decided, into `shared`; returns how many z and groups."""
    R, n = trial.size, shared.size
    for k in range(n):
        shared[k] = F[R, k]
    card = 0
    groups = 0
    for j in range(starts.size - 1):
        members = 0
        for k in range(starts[j], starts[j + 1]):
            if trial[k] > 0.0:
                members += 1
        for k in range(starts[j], starts[j + 1]):
            if trial[k] > 0.0:
                if members == 1:
                    for i in range(n):
                        shared[i] += F[k, i]
                else:
                    index[card] = k
                    group[card] = groups
                    card += 1
        if members > 1:
            groups += 1
    return card, groups


@phase
def products(F, G, shared, index, group, card, N):
    """grad h_i f_k of the candidates; the fields of the first group have the shared part with them."""
    n = shared.size
    for a in range(card):
        i = index[a]
        b_i = G[i, n]
        for k in range(n):
            b_i += G[i, k] * shared[k]
        for b in range(card):
            s = 0.0
            for k in range(n):
                s += G[i, k] * F[index[b], k]
            if group[b] == 0:
                s += b_i
            N[a, b] = s


@phase
def scale_group(N, group, card, j):
    """The rows of group j by their common spread: w changes by a positive factor, the solutions do not.

    Only differences of rows of one group matter: the common part goes into mu_j.
    """
    size = 0.0
    for b in range(card):
        low = np.inf
        high = -np.inf
        for a in range(card):
            if group[a] == j:
                low = min(low, N[a, b])
                high = max(high, N[a, b])
        size = max(size, high - low)
        for a in range(card):
            if group[a] == j:
                N[a, b] -= low
    for a in range(card):
        if group[a] == j and size > 0.0:
            for b in range(card):
                N[a, b] /= size
