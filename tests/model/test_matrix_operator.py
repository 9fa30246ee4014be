"""Matrices that factorise and solve: the method follows the pattern, the solution follows NumPy."""

import numpy as np
import pytest
from scipy import sparse

from nonsmooth import MechanicalSystem
from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.errors import ModelError
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.matrix_operator import MatrixOperator

RNG = np.random.default_rng(5)


def grid(n):
    """Pattern of the neighbours on a square of n x n unknowns."""
    line = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sparse.kron(line, sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), line)


def shuffled_chain(n):
    order = RNG.permutation(n)
    chain = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    return chain[order][:, order]


CASES = {
    "dense, small": (np.ones((7, 7)), "dense", "dense"),
    "dense": (np.ones((40, 40)), "dense", "dense"),
    "chain": (shuffled_chain(60), ("banded", "sparse"), "banded"),
    "arrow": (np.eye(80) + np.outer(np.arange(80) == 79, np.ones(80)) + np.outer(np.ones(80), np.arange(80) == 79), "sparse", None),
    "grid": (grid(25), ("banded", "sparse"), "banded"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("definite", [True, False])
def test_solution(case, definite):
    matrix, if_definite, if_not = CASES[case]
    pattern = Pattern.of(matrix)
    dense = pattern.sparse(RNG.uniform(-1, 1, pattern.size)).toarray()
    n = dense.shape[0]
    if definite:
        dense = dense + dense.T + 20.0 * np.eye(n) * (dense != 0).sum(axis=1).max()
    values = dense[np.repeat(np.arange(n), np.diff(pattern.row_start)), pattern.columns]
    operator = MatrixOperator(pattern, definite)
    wanted = if_definite if definite else if_not
    assert wanted is None or operator.kind in wanted
    b = RNG.standard_normal(n)
    for _ in range(2):  # scratch space is left as it was found
        operator.factorise(values)
        np.testing.assert_allclose(dense @ operator.solve(b), b, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(dense @ operator.solve(2 * b), 2 * b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", ["dense, small", "chain", "grid"])
def test_bad_pivots_are_named(case):
    pattern = Pattern.of(CASES[case][0])
    n = pattern.shape[0]
    rows = np.repeat(np.arange(n), np.diff(pattern.row_start))
    values = np.where(rows == pattern.columns, 1.0, 0.0)
    values[(rows == 3) & (pattern.columns == 3)] = -1.0
    with pytest.raises(ModelError, match="not positive definite"):
        MatrixOperator(pattern, True).factorise(values)
    values[(rows == 3) & (pattern.columns == 3)] = 0.0
    with pytest.raises(ModelError, match="not regular"):
        MatrixOperator(pattern, False).factorise(values)


@pytest.mark.parametrize("constant", [True, False])
def test_the_mass_of_a_model(constant):
    """A chain of masses; parameters of another system are not mixed up with factors kept."""

    def fixed(t, q, p):
        M = np.zeros((30, 30))
        for i in range(30):
            M[i, i] = 2.0 * p.m
            if i > 0:
                M[i, i - 1] = M[i - 1, i] = 0.5 * p.m
        return M

    def moving(t, q, p):
        return fixed(t, q, p) * (1.0 + q[0] ** 2)

    system = MechanicalSystem(fixed if constant else moving, lambda t, q, u: -q, params={"m": 2.0})
    q, b = np.full(30, 0.7), RNG.standard_normal(30)
    for m in (2.0, 5.0):
        model = system.with_params(m=m).bind(0.0, q, q)
        operator = model.mass_operator
        assert operator.constant == (constant and JIT_ENABLED) and operator.kind in ("banded", "sparse")
        for state in (q, 2.0 * q):
            operator.factorise(0.0, state)
            np.testing.assert_allclose(model.mass_matrix(0.0, state) @ operator.solve(b), b, rtol=1e-12)
