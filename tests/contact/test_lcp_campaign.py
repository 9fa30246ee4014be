"""Lemke and the enumeration against independent oracles, on families that break naive solvers."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from nonsmooth._core.lcp.enumeration import COMPLETE, enumerate_lcp
from nonsmooth._core.lcp.lemke import NUMERICAL, RAY, SOLVED, lemke

# Families for which Lemke's method is known to end on a ray only if there is no solution.
DECIDED = ("definite", "semidefinite", "skew", "triangular P", "integer semidefinite")


def family(name, rng, k, n):
    """k problems of size n, shapes (k, n, n) and (k, n)."""
    M, q = rng.normal(size=(k, n, n)), rng.normal(size=(k, n))
    if name == "definite":
        M = M @ M.transpose(0, 2, 1) / n + 0.1 * np.eye(n) + 0.3 * (M - M.transpose(0, 2, 1))
    elif name == "semidefinite":
        low = M[:, :, : max(1, n // 2)]
        M = low @ low.transpose(0, 2, 1)
    elif name == "skew":
        M = M - M.transpose(0, 2, 1)
    elif name == "triangular P":
        M = np.triu(M, 1) + (0.2 + np.abs(M)) * np.eye(n)
    elif name == "integer":
        M, q = (
            rng.integers(-2, 3, size=(k, n, n)).astype(float),
            rng.integers(-2, 3, size=(k, n)).astype(float),
        )
    elif name == "integer semidefinite":
        low = rng.integers(-1, 2, size=(k, n, max(1, n // 2))).astype(float)
        M, q = low @ low.transpose(0, 2, 1), rng.integers(-2, 3, size=(k, n)).astype(float)
    elif name == "degenerate":
        z = np.maximum(rng.integers(-2, 3, size=(k, n)), 0.0)
        w = np.maximum(rng.integers(-2, 3, size=(k, n)), 0.0) * (z == 0)
        q = w - np.einsum("kij,kj->ki", M, z)
    elif name == "rank one":
        M = M[:, :, :1] * M[:, :1, :]
    elif name == "bimatrix":
        h = n // 2
        M = np.abs(M)
        M[:, :h, :h] = 0.0
        M[:, h:, h:] = 0.0
        q = -np.ones((k, n))
    elif name == "infeasible":
        row = rng.integers(0, n, size=k)
        M[np.arange(k), row] = -np.abs(M[np.arange(k), row])
        q[np.arange(k), row] = -0.1 - np.abs(q[np.arange(k), row])
    return np.ascontiguousarray(M), q


FAMILIES = (
    "general",
    "definite",
    "semidefinite",
    "skew",
    "triangular P",
    "integer",
    "integer semidefinite",
    "degenerate",
    "rank one",
    "bimatrix",
    "infeasible",
)


def vertices(M, q):
    n = len(q)
    Z, Y, masks = np.zeros((200, n)), np.zeros((50, n)), np.zeros(50, dtype=np.int64)
    status, count, _, _ = enumerate_lcp(M, q, 1e-9, Z, Y, masks)
    assert status == COMPLETE
    return Z[:count]


def natural(M, q, z):
    return np.max(np.abs(np.minimum(z, M @ z + q)) / (1.0 + np.abs(M) @ np.abs(z)), initial=0.0)


def brute_force(M, q):
    """For every index set with a well-conditioned block: batched solutions (k, n) and whether they solve
    problem k.
    """
    k, n = q.shape
    for size in range(n + 1):
        for a in combinations(range(n), size):
            a = list(a)
            z = np.zeros((k, n))
            good = np.ones(k, dtype=bool)
            if size:
                block = M[:, a][:, :, a]
                good = np.linalg.cond(block) < 1e6
                block[~good] = np.eye(size)
                z[:, a] = np.linalg.solve(block, -q[:, a, None])[:, :, 0]
            w = np.einsum("kij,kj->ki", M, z) + q
            w[:, a] = 0.0
            yield (
                z,
                good
                & np.all(z >= 1e-7, axis=1, where=np.isin(np.arange(n), a))
                & np.all(w >= -1e-11, axis=1),
            )


def campaign(total, seed):
    """Run `total` problems; returns what was seen."""
    rng = np.random.default_rng(seed)
    per = total // (6 * len(FAMILIES)) + 1
    seen = {"problems": 0, "solved by Lemke": 0, "rays": 0, "without solution": 0, "several": 0}
    declared = 0
    for n in range(1, 7):
        d, z, w, ray = np.ones(n), np.empty(n), np.empty(n), np.empty(n)
        for name in FAMILIES:
            M, q = family(name, rng, per, n)
            lists = [vertices(M[k], q[k]) for k in range(per)]
            for k in range(per):
                for v in lists[k]:
                    assert natural(M[k], q[k], v) < 1e-9 and v.min() >= 0.0, (name, k, v)
                status, _ = lemke(M[k], q[k], d, 1000, 1e-11, z, w, ray)
                seen["problems"] += 1
                seen["several"] += len(lists[k]) > 1
                seen["without solution"] += len(lists[k]) == 0
                if status == SOLVED:
                    seen["solved by Lemke"] += 1
                    assert natural(M[k], q[k], np.maximum(z, 0)) < 1e-9, (name, k)
                    near = np.abs(lists[k] - z).max(axis=1, initial=0.0).min(initial=np.inf)
                    assert near <= 1e-6 * (1.0 + np.abs(z).max()), (name, n, k, z, lists[k])
                elif status == NUMERICAL:  # declared: the last basis is singular to rounding
                    declared += 1
                else:
                    assert status == RAY, (name, k, status)
                    seen["rays"] += 1
                    if name in DECIDED:
                        assert len(lists[k]) == 0, (name, n, k)
                if name == "infeasible":
                    assert status != SOLVED and len(lists[k]) == 0
                if name == "degenerate":
                    assert len(lists[k]) > 0
                if name in ("definite", "triangular P"):
                    assert status == SOLVED and len(lists[k]) == 1
            # Every solution found by brute force is in the list.
            for points, solves in brute_force(M, q):
                for k in np.flatnonzero(solves):
                    near = np.abs(lists[k] - points[k]).max(axis=1, initial=0.0).min(initial=np.inf)
                    assert near <= 1e-6 * (1.0 + np.abs(points[k]).max()), (name, n, k, points[k], lists[k])
    assert declared <= 1e-5 * seen["problems"]
    return seen


def test_agreement_on_random_problems():
    seen = campaign(100_000, seed=1996)
    assert seen["problems"] >= 100_000
    assert min(seen.values()) > 5000, seen


@pytest.mark.soak
def test_agreement_on_a_million_random_problems():
    assert campaign(1_000_000, seed=2)["problems"] >= 1_000_000


def exact_solve(A, b):
    """Gauss-Jordan in rational numbers; None if A is singular."""
    n = len(b)
    rows = [[*map(Fraction, A[i]), Fraction(b[i])] for i in range(n)]
    for k in range(n):
        p = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if p is None:
            return None
        rows[k], rows[p] = rows[p], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k])]
    return [row[-1] for row in rows]


def exact_vertices(M, q):
    """All solutions with linearly independent positive columns, in rational arithmetic (the vertices of all
    pieces).
    """
    n = len(q)
    found = set()
    for size in range(n + 1):
        for a in combinations(range(n), size):
            for rows in combinations(range(n), size):
                x = exact_solve([[M[r][c] for c in a] for r in rows], [-q[r] for r in rows])
                if x is None or any(v < 0 for v in x):
                    continue
                z = [Fraction(0)] * n
                for c, v in zip(a, x):
                    z[c] = v
                w = [q[i] + sum(M[i][j] * z[j] for j in range(n)) for i in range(n)]
                if all(v >= 0 for v in w) and all(u * v == 0 for u, v in zip(z, w)):
                    found.add(tuple(z))
    return found


def test_enumeration_equals_rational_enumeration_on_singular_integer_problems():
    rng = np.random.default_rng(12)
    several = 0
    for k in range(700):
        n = 1 + k % 4
        M = rng.integers(-2, 3, size=(n, n))
        if k % 3 == 0:
            M[:, -1] = M[:, 0]  # singular
        q = rng.integers(-2, 2, size=n)
        exact = exact_vertices(M.tolist(), q.tolist())
        several += len(exact) > 1
        ours = vertices(M.astype(float), q.astype(float))
        assert len(ours) == len(exact), (M, q, ours, exact)
        for z in exact:
            assert np.abs(ours - np.array(z, dtype=float)).max(axis=1, initial=0).min(initial=1) < 1e-12, (
                M,
                q,
                z,
            )
    assert several > 50
