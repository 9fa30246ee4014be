"""Active sets: the candidates at a point, all sets that continue the solution from there (Step 5 of Algorithm 2 of
Stewart 1996, the LCP (13)), and the bookkeeping of the set a run continues with.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.jit import caller, f8_1, f8_2, float64, i8_1, int64, kernel, void
from nonsmooth._core.lcp.enumeration import enumerate_lcp
from nonsmooth._core.sliding.algebra import build_lcp, project
from nonsmooth._core.sliding.layout import (
    A_ENUMERATE,
    A_PROJECT,
    ACTIVE,
    FIELDS,
    GRADIENTS,
    HEAD,
    LIST,
    MASK,
    N_ACTIVE,
    N_MASK,
    PAIR_B,
    PAIR_I,
    R_,
    RUN_T,
    SLIDES,
    STRICT,
    WATCH,
    H,
    N,
)

#: (N, q, tol, vertices, rays, masks, result)
ENUMERATE = void(f8_2, f8_1, float64, f8_2, f8_2, i8_1, i8_1)
#: (run, sets, flags): number of active sets that continue the solution from the candidates in `watch`.
SETS = int64(RUN_T, f8_2, i8_1)
#: (run): least-norm step onto the surfaces of the active set.
ONTO = float64(RUN_T)

call_enumerate, call_project = caller(ENUMERATE), caller(ONTO)

#: Returned by `two_sided` where it cannot tell.
UNCLEAR = -2


@kernel(ENUMERATE, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def enumerate_into(N_a, q, tol, vertices, rays, masks, result):
    """`enumerate_lcp`, with its four numbers in an array."""
    status, count, n_rays, nodes = enumerate_lcp(N_a, q, tol, vertices, rays, masks)
    result[0] = status
    result[1] = count
    result[2] = n_rays
    result[3] = nodes


@kernel(ONTO, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def onto_surfaces(run):
    """`project` with h and gradients as they stand in p."""
    lay, p = run.lay, run.p
    R, n = lay[R_], lay[N]
    a, h, g = lay[ACTIVE], lay[H], lay[GRADIENTS]
    G = p[g : g + R * (n + 1)].reshape((R, n + 1))
    return project(run.starts, p[a : a + R], p[h : h + R], G, run.y)


@kernel(void(RUN_T), internal=True)
def to_surface(run):
    """Least-norm step onto the surfaces of the active set, with h and gradients as they stand in p."""
    lay, p, y = run.lay, run.p, run.y
    o = lay[HEAD]
    if p[o + SLIDES] == 1.0:
        i = int(p[o + PAIR_I])
        b = int(p[o + PAIR_B])
        drift = p[lay[H] + b] - p[lay[H] + i]
        gi = lay[GRADIENTS] + i * (lay[N] + 1)
        gb = lay[GRADIENTS] + b * (lay[N] + 1)
        size = 0.0
        for k in range(y.size):
            size += (p[gi + k] - p[gb + k]) ** 2
        if drift != 0.0 and size > 0.0:
            for k in range(y.size):
                y[k] += drift * (p[gi + k] - p[gb + k]) / size
    elif p[o + SLIDES] > 1.0:
        call_project(run.calls[A_PROJECT], run)


@kernel(int64(RUN_T, f8_1), references=False)
def set_active(run, chosen):
    """Write the active set `chosen` (R,) and what follows from it into p; returns the codimension of the sliding
    surface.
    """
    lay, starts, p = run.lay, run.starts, run.p
    o = lay[HEAD]
    d = 0
    count = 0
    p[o + N_MASK] = 0.0
    for j in range(starts.size - 1):
        members = 0
        base = -1
        for k in range(starts[j], starts[j + 1]):
            p[lay[ACTIVE] + k] = 1.0 if chosen[k] > 0.0 else 0.0
            if chosen[k] > 0.0:
                p[lay[LIST] + count] = k
                count += 1
                members += 1
                if members == 1:
                    base = k
                else:
                    p[o + PAIR_I] = k
                    p[o + PAIR_B] = base
        for k in range(starts[j], starts[j + 1]):
            slides = chosen[k] > 0.0 and members > 1
            p[lay[MASK] + k] = 1.0 if slides else 0.0
            p[o + N_MASK] += 1.0 if slides else 0.0
        d += max(members - 1, 0)
    p[o + N_ACTIVE] = count
    p[o + SLIDES] = d
    return d


@kernel(void(RUN_T, float64), internal=True)
def watch_all(run, value):
    """Watch every region (1.0) or none (0.0)."""
    for k in range(run.lay[R_]):
        run.p[run.lay[WATCH] + k] = value


@kernel(void(RUN_T, int64), internal=True)
def watch_group(run, k):
    """Watch only the group of region k."""
    starts = run.starts
    for j in range(starts.size - 1):
        on = 1.0 if starts[j] <= k < starts[j + 1] else 0.0
        for i in range(starts[j], starts[j + 1]):
            run.p[run.lay[WATCH] + i] = on


@kernel(int64(i8_1, f8_1, f8_2, f8_2, int64, f8_2), part=True)
def two_sided(starts, trial, F, G, d, sets):
    """`active_sets` where one or two groups have two candidates each and the others one: every combination of "first
    only", "second only" and "both" is tried.

    With x' = x'_0 + sum_e lam_e (f_i - f_b)_e the difference h_i - h_b of surface a grows at the rate
    ``rho_a = s_a + sum_e D_ae lam_e``; b alone needs lam = 0 and rho > 0, i alone lam = 1 and rho < 0, both 0 < lam < 1
    and rho = 0. Where a sign or a pivot is within rounding of zero, UNCLEAR is returned and the LCP is solved.
    """
    n = F.shape[1]
    R = trial.size
    i0, b0, i1, b1 = -1, -1, -1, -1
    for j in range(starts.size - 1):
        base = -1
        for k in range(starts[j], starts[j + 1]):
            if trial[k] > 0.0:
                if base < 0:
                    base = k
                elif i0 < 0:
                    i0, b0 = k, base
                else:
                    i1, b1 = k, base
    second = d == 2
    if not second:
        i1, b1 = i0, b0
    s0 = G[i0, n] - G[b0, n]
    s1 = G[i1, n] - G[b1, n]
    D00, D01, D10, D11 = 0.0, 0.0, 0.0, 0.0
    size0, size1 = 0.0, 0.0
    for k in range(n):
        v = F[R, k]
        for r in range(R):
            if trial[r] > 0.0 and r != i0 and r != i1:
                v += F[r, k]
        c0 = G[i0, k] - G[b0, k]
        c1 = G[i1, k] - G[b1, k]
        f0 = F[i0, k] - F[b0, k]
        f1 = F[i1, k] - F[b1, k]
        s0 += c0 * v
        s1 += c1 * v
        D00 += c0 * f0
        D11 += c1 * f1
        size0 += abs(c0 * f0)
        size1 += abs(c1 * f1)
        if second:
            D01 += c0 * f1
            D10 += c1 * f0
            size0 += abs(c0 * f1)
            size1 += abs(c1 * f0)
    if not (size0 > 0.0 and size1 > 0.0 and np.isfinite(s0 + s1 + size0 + size1)):
        return UNCLEAR
    s0, D00, D01 = s0 / size0, D00 / size0, D01 / size0
    s1, D10, D11 = s1 / size1, D10 / size1, D11 / size1
    count = 0
    for pattern in range(9 if second else 3):
        first, other = pattern % 3, pattern // 3
        x0, x1 = float(first), float(other)
        if first == 2 and other == 2:
            det = D00 * D11 - D01 * D10
            if not abs(det) > 1e-9:
                return UNCLEAR
            x0 = (D01 * s1 - D11 * s0) / det
            x1 = (D10 * s0 - D00 * s1) / det
        elif first == 2:
            if not abs(D00) > 1e-9:
                return UNCLEAR
            x0 = -(s0 + D01 * x1) / D00
        elif other == 2:
            if not abs(D11) > 1e-9:
                return UNCLEAR
            x1 = -(s1 + D10 * x0) / D11
        good = True
        for a in range(2 if second else 1):
            kind = first if a == 0 else other
            x = x0 if a == 0 else x1
            rate = s0 + D00 * x0 + D01 * x1 if a == 0 else s1 + D10 * x0 + D11 * x1
            if kind == 2:
                if abs(x) <= 10.0 * STRICT or abs(x - 1.0) <= 10.0 * STRICT:
                    return UNCLEAR
                good = good and 0.0 < x < 1.0
            else:
                if abs(rate) <= 10.0 * STRICT:
                    return UNCLEAR
                good = good and (rate > 0.0 if kind == 0 else rate < 0.0)
        if good:
            for r in range(R):
                sets[count, r] = trial[r]
            sets[count, b0] = 0.0 if first == 1 else 1.0
            sets[count, i0] = 0.0 if first == 0 else 1.0
            if second:
                sets[count, b1] = 0.0 if other == 1 else 1.0
                sets[count, i1] = 0.0 if other == 0 else 1.0
            count += 1
    return count


@kernel(SETS, no_cfunc_wrapper=True)
def active_sets(run, sets, flags):
    """All active sets I that continue the solution from the candidate set I_0 in `watch` (Step 5 of Algorithm 2,
    eq. (14)), with the fields and gradients in p.

    Parameters
    ----------
    sets : ndarray, shape (k, R)
        One row per solution, 1.0 for members, written in place.
    flags : ndarray of int, shape (k,)
        1 if the solution is not strictly complementary (condition C' violated).

    Returns
    -------
    count : int
        Number of different sets; -1: the LCP is too large for enumeration.
    """
    lay, starts, p = run.lay, run.starts, run.p
    R, n = lay[R_], lay[N]
    trial = p[lay[WATCH] : lay[WATCH] + R]
    F = p[lay[FIELDS] : lay[FIELDS] + (R + 1) * n].reshape((R + 1, n))
    G = p[lay[GRADIENTS] : lay[GRADIENTS] + R * (n + 1)].reshape((R, n + 1))
    card = 0
    groups = 0
    most = 0
    for j in range(starts.size - 1):
        members = 0
        for k in range(starts[j], starts[j + 1]):
            if trial[k] > 0.0:
                members += 1
        most = max(most, members)
        if members > 1:
            card += members
            groups += 1
    if card == 0:
        for k in range(R):
            sets[0, k] = trial[k]
        flags[0] = 0
        return 1
    if most == 2 and groups <= 2:
        count = two_sided(starts, trial, F, G, groups, sets)
        if count > 0:
            for k in range(count):
                flags[k] = 0
            return count
    c = card + groups
    if c > 16:
        return -1
    index = np.empty(R, dtype=np.int64)
    A = np.empty((c, c))
    q = np.empty(c)
    build_lcp(starts, trial, F, G, index, A, q)
    vertices = np.empty((64, c))
    rays = np.empty((4, c))
    masks = np.empty(4, dtype=np.int64)
    result = np.zeros(4, dtype=np.int64)
    call_enumerate(run.calls[A_ENUMERATE], A, q, 1e-10, vertices, rays, masks, result)
    count = 0
    for s in range(result[1]):
        if count == sets.shape[0]:
            break
        for k in range(R):
            sets[count, k] = trial[k]
        degenerate = 0
        for a in range(card):
            w = q[a]
            for b in range(c):
                w += A[a, b] * vertices[s, b]
            inside = vertices[s, a] > STRICT
            sets[count, index[a]] = 1.0 if inside else 0.0
            if not inside and w <= STRICT:
                degenerate = 1
        same = False
        for e in range(count):
            equal = True
            for k in range(R):
                if sets[e, k] != sets[count, k]:
                    equal = False
            same = same or equal
        if not same:
            flags[count] = degenerate
            count += 1
    return count
