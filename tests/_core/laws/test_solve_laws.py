"""The whole solver on random problems of mixed laws: every answer checked by plain NumPy."""

import numpy as np
from prox_problem import Prox, contact_matrix

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth._core.records import laws as L


def random_problem(rng):
    """Contacts with friction, an element with bounds, a disk and perhaps a bilateral constraint."""
    n_N = int(rng.integers(1, 4))
    laws = [(L.HALF_LINE, 1, -1, 0.0)] * n_N
    laws += [(L.COULOMB_1D, 1, k, float(rng.uniform(0, 0.8))) for k in range(n_N)]
    laws += [(L.INTERVAL, 1, -1, 0.0), (L.DISK, 2, -1, 0.0)]
    if rng.random() < 0.5:
        laws.append((L.FREE, 1, -1, 0.0))
    n = sum(law[1] for law in laws)
    G = contact_matrix(rng, n, 0)
    lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    return G, rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3), laws, lower, upper


def test_mixed_laws_campaign():
    rng = np.random.default_rng(2008)
    for _ in range(300 if JIT_ENABLED else 40):
        G, c, laws, lower, upper = random_problem(rng)
        size = np.abs(c).max()
        problem = Prox(G, c, laws, lower * size, upper * size)
        P = problem.solve()
        assert problem.residual <= 1e-10
        assert problem.violation(P) <= 1e-10
        np.testing.assert_allclose(problem.xi, G @ P + c, rtol=0, atol=1e-13 * (size + np.abs(G @ P).max()))


def test_strongly_coupled_friction_is_solved_or_reported():
    """Wedges and dependent contacts: whatever is returned as solved is solved."""
    rng = np.random.default_rng(5)
    solved = 0
    for _ in range(200 if JIT_ENABLED else 20):
        n = int(rng.integers(2, 4))
        W = rng.normal(size=(3, 2 * n))
        G = W.T @ W
        c = W.T @ rng.normal(size=3)
        laws = [(L.HALF_LINE, 1, -1, 0.0)] * n + [(L.COULOMB_1D, 1, k, 0.3) for k in range(n)]
        problem = Prox(G, c, laws)
        P = problem.solve(max_iter=500)
        if problem.residual <= 1e-10:
            solved += 1
            scale = max(np.abs(c).max(), np.max(np.diag(G) * np.abs(P)))
            assert problem.violation(P) * np.abs(c).max() <= 1e-9 * scale
    assert solved >= 0.9 * (200 if JIT_ENABLED else 20)


def test_bit_reproducible():
    rng = np.random.default_rng(6)
    G, c, laws, lower, upper = random_problem(rng)
    first = Prox(G, c, laws, lower, upper).solve()
    assert np.array_equal(first, Prox(G, c, laws, lower, upper).solve())
