"""Elimination with pivots against NumPy."""

import numpy as np
import pytest

from nonsmooth._core.linalg.elimination import SINGULAR, eliminate, lu_factor, lu_solve, solve_by_rank


def systems():
    """Matrices that need an exchange of rows, with right-hand sides."""
    rng = np.random.default_rng(7)
    for n in (1, 2, 6, 30):
        A = rng.uniform(-1, 1, (n, n))
        if n > 1:
            A[0, 0] = 0.0
        yield n, A, rng.normal(size=n)


@pytest.mark.parametrize(("n", "A", "b"), list(systems()))
def test_all_three_solve(n, A, b):
    wanted = np.linalg.solve(A, b)
    x = b.copy()
    assert eliminate(A.copy(), x, n, SINGULAR) == 0
    np.testing.assert_allclose(x, wanted, rtol=1e-10)
    LU, pivots, x = A.copy(), np.zeros(n, dtype=np.int64), b.copy()
    assert lu_factor(LU, pivots, n) > 0.0
    lu_solve(LU, pivots, n, x)
    np.testing.assert_allclose(x, wanted, rtol=1e-10)
    rows, columns = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    assert solve_by_rank(A.copy(), b.copy(), x, rows, columns, n, SINGULAR) == n
    np.testing.assert_allclose(x, wanted, rtol=1e-10)


def test_factors_of_complex_matrices():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
    b, pivots = rng.normal(size=4) + 0j, np.zeros(4, dtype=np.int64)
    LU, x = A.copy(), b.copy()
    assert lu_factor(LU, pivots, 4) > 0.0
    lu_solve(LU, pivots, 4, x)
    np.testing.assert_allclose(A @ x, b, atol=1e-13)


@pytest.mark.parametrize(
    "A",
    [np.array([[1.0, 2.0], [0.5, 1.0]]), np.zeros((2, 2)), np.full((2, 2), np.nan), np.full((2, 2), np.inf)],
)
def test_singular_matrices_are_told(A):
    assert eliminate(A.copy(), np.ones(2), 2, SINGULAR) == 1


def test_rows_that_depend_on_others():
    A = np.array(
        [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [1.0, 1.0, 0.0]]
    )  # the last row is 2/3 of the others' sum
    x, rows, columns = np.zeros(3), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    follows, misses = np.array([1.5, 1.5, 2.0]), np.array([1.5, 1.5, 3.0])
    assert solve_by_rank(A.copy(), follows, x, rows, columns, 3, 1e-12) == 2
    np.testing.assert_allclose(A @ x, [1.5, 1.5, 2.0], atol=1e-15)
    assert abs(follows[2]) < 1e-15 and x[2] == 0.0
    assert solve_by_rank(A.copy(), misses, x, rows, columns, 3, 1e-12) == 2
    assert abs(misses[2]) > 0.1
