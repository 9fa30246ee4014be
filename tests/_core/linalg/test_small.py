"""Small dense linear algebra against NumPy."""

import numpy as np
import pytest

from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_cholesky_and_triangular_solves(n):
    rng = np.random.default_rng(n)
    for scale in (1e-12, 1.0, 1e12):
        X = rng.normal(size=(n, n + 1))
        A = scale * (X @ X.T)
        L = np.full((n, n), np.nan)
        assert cholesky(A, L, n) == 0
        factor = np.tril(L, -1) + np.diag(1 / np.diag(L))  # the diagonal holds reciprocals
        np.testing.assert_allclose(factor @ factor.T, A, rtol=0, atol=1e-14 * np.abs(A).max())
        b = rng.normal(size=n)
        x, kept = np.zeros(n), b.copy()
        solve_lower(L, b, x, n)
        np.testing.assert_allclose(x, np.linalg.solve(factor, b), rtol=1e-9)
        assert np.array_equal(b, kept)
        solve_lower_transposed(L, x, x, n)  # in place
        np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-8 * np.linalg.cond(A) * np.abs(b).max() * 1e-5)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_cholesky_names_the_bad_pivot(scale):
    L = np.zeros((3, 3))
    semidefinite = scale * np.array([[2.0, 1, 1], [1, 2, 1], [1, 1, 2.0 / 3.0]])  # last pivot 2/3 - 2/3
    assert cholesky(semidefinite, L, 3) == 3
    indefinite = scale * np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])
    assert cholesky(indefinite, L, 3) == 2
    assert cholesky(scale * np.zeros((3, 3)), L, 3) == 1
    nan = np.eye(3)
    nan[1, 1] = np.nan
    assert cholesky(nan, L, 3) == 2
