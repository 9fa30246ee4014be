"""Matrices on a fixed pattern, factorised and solved as their pattern suggests: dense, banded or sparse.

Schemes hand over the values on the pattern, row by row, and the address of a `Factors`; which method serves was chosen when the
pattern became known (`nonsmooth.model.matrix_operator`).
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import by_reference, f8_1, int64, kernel, scalars, void
from nonsmooth._core.linalg.banded import banded_cholesky, banded_cholesky_solve, banded_lu, banded_lu_solve
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve
from nonsmooth._core.linalg.small import cholesky, solve_lower, solve_lower_transposed
from nonsmooth._core.linalg.sparse_ldl import sparse_ldl, sparse_ldl_solve

#: Methods: for symmetric positive definite matrices, and for any.
DENSE_CHOLESKY, BANDED_CHOLESKY, SPARSE_LDL, DENSE_LU, BANDED_LU = 0, 1, 2, 3, 4

Method = scalars(
    "Method",
    kind=int,
    lower=int,  # diagonals below and above the main one, in the order of elimination
    upper=int,
    natural=int,  # the order of elimination is that of the unknowns
)


class Factors(NamedTuple):
    """A matrix of n unknowns and its factors."""

    method: Any
    place: (
        np.ndarray
    )  # where each value goes, in `A` or `a`; -1: not wanted (upper triangle of a symmetric matrix)
    order: np.ndarray  # unknowns in the order of elimination
    A: np.ndarray  # dense or banded, becomes the factor
    pivots: np.ndarray
    x: np.ndarray  # work space
    column_start: np.ndarray  # sparse: upper triangle by columns, and its factors
    rows: np.ndarray
    a: np.ndarray
    parent: np.ndarray
    L_start: np.ndarray
    L_rows: np.ndarray
    L: np.ndarray
    D: np.ndarray
    filled: np.ndarray
    path: np.ndarray
    seen: np.ndarray


def _example():
    integers, reals, matrix = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((1, 1))
    return Factors(
        Method(), integers, integers, matrix, integers, reals, integers, integers, reals, *[integers] * 3, reals, reals,
        *[integers] * 3,
    )  # fmt: skip


_, factors_at = by_reference(_example())


@kernel(int64(int64, f8_1), references=False)
def factorise(at, values):
    """Factorise the matrix with `values` on its pattern. Returns 0, or a positive number where there is no pivot."""
    f = factors_at(at)
    kind, n = f.method.kind, f.order.size
    if kind == SPARSE_LDL:
        for k in range(f.a.size):
            f.a[k] = 0.0
        for k in range(values.size):
            if f.place[k] >= 0:
                f.a[f.place[k]] = values[k]
        return sparse_ldl(
            f.column_start,
            f.rows,
            f.a,
            f.parent,
            f.L_start,
            f.filled,
            f.L_rows,
            f.L,
            f.D,
            f.x,
            f.path,
            f.seen,
        )
    width = f.A.shape[1]
    for i in range(n):
        for j in range(width):
            f.A[i, j] = 0.0
    for k in range(values.size):
        if f.place[k] >= 0:
            f.A[f.place[k] // width, f.place[k] % width] = values[k]
    if kind == DENSE_CHOLESKY:
        return cholesky(f.A, f.A, n)
    if kind == BANDED_CHOLESKY:
        return banded_cholesky(f.A, f.method.lower)
    if kind == BANDED_LU:
        return banded_lu(f.A, f.method.lower, f.method.upper, f.pivots)
    return 0 if lu_factor(f.A, f.pivots, n) > 0.0 else 1


@kernel(void(int64, f8_1), references=False)
def solve(at, b):
    """Solve with the factors of the last `factorise`; `b` becomes the solution."""
    f = factors_at(at)
    kind, n = f.method.kind, f.order.size
    if f.method.natural and kind == BANDED_CHOLESKY:
        banded_cholesky_solve(f.A, f.method.lower, b)
        return
    for k in range(n):
        f.x[k] = b[f.order[k]]
    if kind == DENSE_CHOLESKY:
        solve_lower(f.A, f.x, f.x, n)
        solve_lower_transposed(f.A, f.x, f.x, n)
    elif kind == BANDED_CHOLESKY:
        banded_cholesky_solve(f.A, f.method.lower, f.x)
    elif kind == SPARSE_LDL:
        sparse_ldl_solve(f.L_start, f.L_rows, f.L, f.D, f.x)
    elif kind == BANDED_LU:
        banded_lu_solve(f.A, f.method.lower, f.method.upper, f.pivots, f.x)
    else:
        lu_solve(f.A, f.pivots, n, f.x)
    for k in range(n):
        b[f.order[k]] = f.x[k]
    if kind == SPARSE_LDL:  # scratch space of the next factors, zero before and after
        for k in range(n):
            f.x[k] = 0.0
