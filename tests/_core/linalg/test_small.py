"""Small dense linear algebra against NumPy."""

import numpy as np
import pytest

from nonsmooth._core.linalg.small import cholesky, lu_solve, solve_lower, solve_lower_transposed


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


def test_lu_solve_with_pivoting():
    rng = np.random.default_rng(7)
    for n in (1, 2, 6):
        A = rng.uniform(-1, 1, (n, n))
        if n > 1:
            A[0, 0] = 0.0  # needs an exchange of rows
        b = rng.normal(size=n)
        x = b.copy()
        assert lu_solve(A.copy(), x, n) == 0
        np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-10)
    singular = np.array([[1.0, 2.0], [0.5, 1.0]])
    assert lu_solve(singular, np.ones(2), 2) == 1
    assert lu_solve(np.array([[np.nan]]), np.ones(1), 1) == 1
