"""Stacks of matrices, one for each instant: arrays of shape (n, rows, columns), or n sparse matrices of large worlds.

What an audit asks of W^T and M, it asks through the functions below, so that it need not know which of both it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse


class Stack:
    """n sparse matrices of one shape."""

    def __init__(self, matrices: Iterable[Any], shape: tuple[int, int]):
        self.matrices = list(matrices)
        self.shape = (len(self.matrices), *shape)

    def __len__(self) -> int:
        return len(self.matrices)

    def __abs__(self) -> Stack:
        return self._made(abs, self.shape[1:])

    def __getitem__(self, which: Any) -> Stack:
        """Some of the instants; with ``[:, rows]`` some rows of all of them."""
        if not isinstance(which, tuple):
            return Stack([self.matrices[k] for k in np.arange(len(self))[which]], self.shape[1:])
        rows = np.arange(self.shape[1])[which[1]]
        return self[which[0]]._made(lambda A: A[rows], (rows.size, self.shape[2]))

    def _made(self, f: Any, shape: Any) -> Stack:
        return Stack((f(A) for A in self.matrices), shape)

    def transposed(self) -> Stack:
        return self._made(lambda A: A.T.tocsr(), self.shape[:0:-1])


def times(A: Any, x: np.ndarray) -> np.ndarray:
    """A x for stacks of matrices and vectors."""
    if isinstance(A, Stack):
        return _gathered((B @ y for B, y in zip(A.matrices, x)), len(A), A.shape[1])
    return (A @ x[..., None])[..., 0]


def transposed(A: Any) -> Any:
    """A^T."""
    return A.transposed() if isinstance(A, Stack) else A.transpose(0, 2, 1)


def product(A: Any, B: Any) -> np.ndarray:
    """A B, as an array."""
    if not isinstance(A, Stack):
        return A @ B
    found = [(a @ b).toarray() for a, b in zip(A.matrices, B.matrices)]
    return np.array(found).reshape(len(A), A.shape[1], B.shape[2])


def diagonal_of_product(A: Any, B: Any) -> np.ndarray:
    """(A B)_ii, shape (n, rows)."""
    if not isinstance(A, Stack):
        return np.einsum("nri,nir->nr", A, B)
    return _gathered(
        (a.multiply(b.T).sum(axis=1) for a, b in zip(A.matrices, B.matrices)), len(A), A.shape[1]
    )


def lengths(A: Any) -> np.ndarray:
    """Lengths of the rows, shape (n, rows)."""
    if not isinstance(A, Stack):
        return np.sqrt(np.sum(A**2, axis=2))
    return np.sqrt(_gathered((a.multiply(a).sum(axis=1) for a in A.matrices), len(A), A.shape[1]))


def _gathered(rows: Iterable[Any], n: int, m: int) -> np.ndarray:
    return np.array([np.asarray(row).ravel() for row in rows], dtype=float).reshape(n, m)


def from_entries(row: np.ndarray, column: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> Stack:
    """Matrices with the same places and their own `values`, shape (n, entries); entries at one place are added."""
    return Stack((sparse.csr_array((v, (row, column)), shape=shape) for v in values), shape)
