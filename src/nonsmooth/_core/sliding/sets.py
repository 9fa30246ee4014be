"""Active sets: the candidates at a point, all sets that continue the solution from there (Step 5 of Algorithm 2 of
Stewart 1996, the LCP (13)), and the bookkeeping of the set a run continues with.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls.parts import part
from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.lcp.enumeration import enumerate_lcp
from nonsmooth._core.sliding.algebra import build_lcp, project
from nonsmooth._core.sliding.records import (
    ENUMERATE,
    OF_RUN,
    STRICT,
    call_enumerate,
    call_of_run,
    run_at,
)

#: Returned by `two_sided` where it cannot tell.
UNCLEAR = -2
# How a surface between two regions is continued: base alone, the other alone, both.
BASE, OTHER, BOTH = range(3)


@part(ENUMERATE, allocates=True)
def enumerate_into(N, q, tol, vertices, rays, masks, result):
    """`enumerate_lcp`, with its four numbers in an array."""
    status, count, n_rays, nodes = enumerate_lcp(N, q, tol, vertices, rays, masks)
    result[0] = status
    result[1] = count
    result[2] = n_rays
    result[3] = nodes


@part(OF_RUN, allocates=True)
def onto_surfaces(address):
    """`project` with the indicators and gradients in `values`."""
    run = run_at(address)
    project(run.starts, run.set.active, run.values.h, run.values.G, run.solver.y)
    return 0


@phase
def to_surface(run):
    """Least-norm step onto the surfaces of the active set, with the indicators and gradients in `values`."""
    h, G, y = run.values.h, run.values.G, run.solver.y
    if run.size.codimension == 1:
        i, b = run.size.pair_row, run.size.pair_base
        drift = h[b] - h[i]
        size = 0.0
        for k in range(y.size):
            size += (G[i, k] - G[b, k]) ** 2
        if drift != 0.0 and size > 0.0:
            for k in range(y.size):
                y[k] += drift * (G[i, k] - G[b, k]) / size
    elif run.size.codimension > 1:
        call_of_run(run.at.project, run.at.run)


@phase
def set_active(run):
    """Make `chosen` the active set; returns the codimension of the sliding surface."""
    I, size, starts, chosen = run.set, run.size, run.starts, run.set.chosen
    size.codimension = 0
    size.active = 0
    size.slides = 0
    for j in range(starts.size - 1):
        members = 0
        base = -1
        for k in range(starts[j], starts[j + 1]):
            I.active[k] = 1.0 if chosen[k] > 0.0 else 0.0
            if chosen[k] > 0.0:
                I.members[size.active] = k
                size.active += 1
                members += 1
                if members == 1:
                    base = k
                else:
                    size.pair_row = k
                    size.pair_base = base
        for k in range(starts[j], starts[j + 1]):
            slides = chosen[k] > 0.0 and members > 1
            I.slides[k] = 1.0 if slides else 0.0
            size.slides += 1 if slides else 0
        size.codimension += max(members - 1, 0)
    return size.codimension


@phase
def watch_all(run):
    """Watch every region."""
    for k in range(run.set.watch.size):
        run.set.watch[k] = 1.0


@phase
def watch_group(run, k):
    """Watch only the group of region k."""
    starts = run.starts
    for j in range(starts.size - 1):
        on = 1.0 if starts[j] <= k < starts[j + 1] else 0.0
        for i in range(starts[j], starts[j + 1]):
            run.set.watch[i] = on


@kernel(references=False, forceinline=False)
def two_sided_equations(trial, F, G, i0, b0, i1, b1, second, s, D):
    """Rates of the surfaces, ``rho_a = s_a + sum_e D_ae lam_e``, each divided by its largest terms; False if one is empty.

    lam = 0 is the base region b alone, lam = 1 the other one i: x' = x'_0 + sum_e lam_e (f_i - f_b)_e.
    """
    n = F.shape[1]
    R = trial.size
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
        return False
    s[0], D[0, 0], D[0, 1] = s0 / size0, D00 / size0, D01 / size0
    s[1], D[1, 0], D[1, 1] = s1 / size1, D10 / size1, D11 / size1
    return True


@kernel(references=False, forceinline=False)
def two_sided_weights(first, other, s, D, lam):
    """lam of a combination of BASE, OTHER and BOTH on two surfaces; False where a pivot is within rounding of zero."""
    lam[0], lam[1] = float(first), float(other)
    if first == BOTH and other == BOTH:
        det = D[0, 0] * D[1, 1] - D[0, 1] * D[1, 0]
        if not abs(det) > 1e-9:
            return False
        lam[0] = (D[0, 1] * s[1] - D[1, 1] * s[0]) / det
        lam[1] = (D[1, 0] * s[0] - D[0, 0] * s[1]) / det
    elif first == BOTH:
        if not abs(D[0, 0]) > 1e-9:
            return False
        lam[0] = -(s[0] + D[0, 1] * lam[1]) / D[0, 0]
    elif other == BOTH:
        if not abs(D[1, 1]) > 1e-9:
            return False
        lam[1] = -(s[1] + D[1, 0] * lam[0]) / D[1, 1]
    return True


@kernel(references=False, forceinline=False)
def continues(kind, lam, rate):
    """1 if a surface can be continued as `kind`: base alone needs rho > 0, the other alone rho < 0, both 0 < lam < 1 (and
    rho = 0); 0 if not; UNCLEAR within rounding.
    """
    if kind == BOTH:
        if abs(lam) <= 10.0 * STRICT or abs(lam - 1.0) <= 10.0 * STRICT:
            return UNCLEAR
        return 1 if 0.0 < lam < 1.0 else 0
    if abs(rate) <= 10.0 * STRICT:
        return UNCLEAR
    return 1 if (rate > 0.0 if kind == BASE else rate < 0.0) else 0


@kernel
def two_sided(starts, trial, F, G, d, sets):
    """`active_sets` where one or two groups have two candidates each and the others one: every combination is tried.

    Where a sign or a pivot is within rounding of zero, UNCLEAR is returned and the LCP is solved.
    """
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
    s, D, lam = np.empty(2), np.empty((2, 2)), np.empty(2)
    if not two_sided_equations(trial, F, G, i0, b0, i1, b1, second, s, D):
        return UNCLEAR
    count = 0
    for pattern in range(9 if second else 3):
        first, other = pattern % 3, pattern // 3
        if not two_sided_weights(first, other, s, D, lam):
            return UNCLEAR
        good = continues(first, lam[0], s[0] + D[0, 0] * lam[0] + D[0, 1] * lam[1])
        if good == UNCLEAR:
            return UNCLEAR
        if second:
            also = continues(other, lam[1], s[1] + D[1, 0] * lam[0] + D[1, 1] * lam[1])
            if also == UNCLEAR:
                return UNCLEAR
            good = min(good, also)
        if good == 1:
            for r in range(trial.size):
                sets[count, r] = trial[r]
            sets[count, b0] = 0.0 if first == OTHER else 1.0
            sets[count, i0] = 0.0 if first == BASE else 1.0
            if second:
                sets[count, b1] = 0.0 if other == OTHER else 1.0
                sets[count, i1] = 0.0 if other == BASE else 1.0
            count += 1
    return count


@phase
def set_of_vertex(run, z, A, q, index, card, count):
    """The active set of a solution z of the LCP into row `count`; 1 if it is not strictly complementary."""
    found = run.set.found
    for k in range(found.shape[1]):
        found[count, k] = run.set.watch[k]
    degenerate = 0
    for a in range(card):
        w = q[a]
        for b in range(q.size):
            w += A[a, b] * z[b]
        inside = z[a] > STRICT
        found[count, index[a]] = 1.0 if inside else 0.0
        if not inside and w <= STRICT:
            degenerate = 1
    return degenerate


@phase
def known_before(run, count):
    """Whether the set in row `count` is one of those before it."""
    found = run.set.found
    for e in range(count):
        equal = True
        for k in range(found.shape[1]):
            if found[e, k] != found[count, k]:
                equal = False
        if equal:
            return True
    return False


@phase
def sets_of_vertices(run, vertices, total, A, q, index, card):
    """The different active sets of the first `total` solutions of the LCP; their number."""
    count = 0
    for s in range(total):
        if count == run.set.found.shape[0]:
            break
        degenerate = set_of_vertex(run, vertices[s], A, q, index, card, count)
        if not known_before(run, count):
            run.set.degenerate[count] = degenerate
            count += 1
    return count


@part(OF_RUN, allocates=True)
def active_sets(address):
    """All active sets I that continue the solution from the candidate set I_0 in `watch` (Step 5 of Algorithm 2,
    eq. (14)), into ``set.found`` and ``set.degenerate``. Their number, or -1: the LCP is too large for enumeration.
    """
    run = run_at(address)
    trial, starts, found = run.set.watch, run.starts, run.set.found
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
        for k in range(trial.size):
            found[0, k] = trial[k]
        run.set.degenerate[0] = 0
        return 1
    if most == 2 and groups <= 2:
        count = two_sided(starts, trial, run.values.F, run.values.G, groups, found)
        if count > 0:
            for k in range(count):
                run.set.degenerate[k] = 0
            return count
    c = card + groups
    if c > 16:
        return -1
    index = np.empty(trial.size, dtype=np.int64)
    A, q = np.empty((c, c)), np.empty(c)
    build_lcp(starts, trial, run.values.F, run.values.G, index, A, q)  # (13)
    vertices, rays, masks = np.empty((64, c)), np.empty((4, c)), np.empty(4, dtype=np.int64)
    result = np.zeros(4, dtype=np.int64)
    call_enumerate(run.at.enumerate, A, q, 1e-10, vertices, rays, masks, result)
    return sets_of_vertices(run, vertices, result[1], A, q, index, card)
