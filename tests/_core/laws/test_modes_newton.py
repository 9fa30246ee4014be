"""Newton on the modes and the enumeration of modes: exact to rounding, the documented choice."""

import itertools

import numpy as np
import pytest
from prox_problem import Prox, contact_matrix, coulomb, spd

from nonsmooth._core.records import laws as L


def lcp_by_enumeration(G, c):
    """All solutions of 0 <= P, G P + c >= 0, P (G P + c) = 0."""
    found = []
    for closed in itertools.product([False, True], repeat=len(c)):
        mask = np.array(closed)
        P = np.zeros(len(c))
        if mask.any():
            P[mask] = np.linalg.solve(G[np.ix_(mask, mask)], -c[mask])
        if np.all(P >= -1e-12) and np.all(G @ P + c >= -1e-12):
            found.append(P)
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_frictionless_contacts_exactly(n):
    rng = np.random.default_rng(n)
    for _ in range(30):
        G, c = spd(rng, n), rng.normal(size=n)
        problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * n)
        P = problem.solve()
        np.testing.assert_allclose(P, lcp_by_enumeration(G, c)[0], rtol=0, atol=1e-11 * (1 + np.abs(P).max()))
        assert problem.residual < 1e-14
        assert np.all(P >= 0.0)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("n", [1, 3])
def test_frictional_contacts_exactly(n, dim):
    rng = np.random.default_rng(10 * n + dim)
    for _ in range(30):
        G, c = contact_matrix(rng, n, dim), rng.normal(size=n * (1 + dim))
        problem = Prox(G, c, coulomb(n, dim, 0.5))
        P = problem.solve()
        assert problem.residual <= 1e-13
        assert problem.violation(P) <= 1e-12
        # cones hold to the last bit, not only to a tolerance
        T = np.abs(P[n:]) if dim == 1 else np.hypot(P[n::2], P[n + 1 :: 2])
        assert np.all(T <= 0.5 * P[:n] * (1 + 1e-15))


def test_sticking_is_exact():
    rng = np.random.default_rng(0)
    for _ in range(20):
        G = contact_matrix(rng, 2, 1)
        c = np.array([-1.0, -1.0, *rng.uniform(-0.05, 0.05, 2)])
        problem = Prox(G, c, coulomb(2, 1, 1.0))
        P = problem.solve()
        assert list(problem.modes) == [1, 1, 1, 1]
        assert np.max(np.abs(G @ P + c)) <= 4 * np.finfo(float).eps


def test_redundant_contacts_are_solved():
    """Four legs of a table: G of rank three, many impulses, one velocity."""
    rng = np.random.default_rng(1)
    G = spd(rng, 4, rank=3)
    c = G @ np.array([-1.0, -1.0, -1.0, -1.0])
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 4)
    P = problem.solve()
    assert problem.residual <= 1e-10
    np.testing.assert_allclose(G @ P + c, 0.0, atol=1e-9 * np.abs(c).max())


def test_several_solutions_the_first_in_order_is_taken():
    """Wedged friction: with and without contact force both solve; open comes before closed."""
    mu = 2.0
    G = np.array([[1.0, -0.9], [-0.9, 1.0]])
    laws = [(L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 0, mu)]
    problem = Prox(G, [0.1, -0.5], laws)
    results = {tuple(problem.solve()) for _ in range(3)}
    assert len(results) == 1  # deterministic
    assert problem.violation(np.array(results.pop())) <= 1e-12


def test_singular_without_solution_is_reported():
    """xi = c < 0 can never be lifted by an impulse that does nothing."""
    G = np.array([[1.0, 1.0], [1.0, 1.0]])
    problem = Prox(G, [-1.0, -2.0], [(L.FREE, 1, -1, 0.0)] * 2)
    problem.solve(max_iter=200)
    assert problem.residual > 1e-3
