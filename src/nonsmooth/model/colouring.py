"""Patterns of Jacobians: given by the user or found by probing, compressed, coloured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nonsmooth._core.derivatives.colouring import colour_columns
from nonsmooth.errors import ShapeError

#: Every entry of a point is moved by these multiples of its scale: a little, and far enough to close or open what is one-sided.
CHANGES = (0.37, -0.53, 11.3, -17.1)


@dataclass(frozen=True)
class Pattern:
    """Which entries of a matrix can be nonzero.

    Attributes
    ----------
    shape : tuple of int
    row_start, columns : ndarray of int64
        Row by row (compressed rows), columns ascending.
    column_start, rows : ndarray of int64
        The same by columns.
    """

    shape: tuple[int, int]
    row_start: np.ndarray
    columns: np.ndarray
    column_start: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, matrix) -> Pattern:
        """Pattern of the nonzero entries of a matrix, dense or sparse."""
        by_rows = sparse.csr_array(np.asarray(matrix) != 0 if not sparse.issparse(matrix) else matrix != 0)
        by_rows.sort_indices()
        by_columns = sparse.csc_array(by_rows)
        by_columns.sort_indices()
        arrays = (by_rows.indptr, by_rows.indices, by_columns.indptr, by_columns.indices)
        return cls(by_rows.shape, *(np.ascontiguousarray(a, dtype=np.int64) for a in arrays))

    @classmethod
    def given(cls, sparsity, n: int) -> Pattern:
        """What a user says: a matrix, or a number of diagonals on either side of the main one."""
        i = np.arange(n)
        pattern = cls.of(
            np.abs(i[:, None] - i) <= int(sparsity)
            if np.ndim(sparsity) == 0 and not sparse.issparse(sparsity)
            else sparsity
        )
        if pattern.shape != (n, n):
            raise ShapeError(
                f"`sparsity` has shape {pattern.shape}: a matrix of shape ({n}, {n}) with nonzero entries where tangents can "
                "have them, or a number of diagonals, is wanted."
            )
        return pattern

    @classmethod
    def full(cls, n_rows: int, n_columns: int) -> Pattern:
        return cls.of(np.ones((n_rows, n_columns)))

    @classmethod
    def empty(cls, n_rows: int, n_columns: int) -> Pattern:
        return cls.of(sparse.csr_array((n_rows, n_columns)))

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.columns.size)

    @property
    def bandwidth(self) -> tuple[int, int]:
        """Number of diagonals below and above the main one."""
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.row_start))
        off = row - self.columns
        return int(np.max(off, initial=0)), int(np.max(-off, initial=0))

    @property
    def transposed(self) -> Pattern:
        return Pattern.of(self.sparse().T)

    @property
    def upper(self) -> Pattern:
        """The upper triangle, with the diagonal."""
        return Pattern.of(sparse.triu(self.sparse()))

    def permuted(self, order) -> Pattern:
        """The same with rows and columns in this order."""
        return Pattern.of(self.sparse()[order][:, order])

    def sparse(self, values=None) -> sparse.csr_array:
        """As a SciPy matrix, with ones or with `values`."""
        values = np.ones(self.size) if values is None else values
        return sparse.csr_array((values, self.columns, self.row_start), shape=self.shape)

    def __matmul__(self, other: Pattern) -> Pattern:
        """Pattern of the product."""
        return Pattern.of(self.sparse() @ other.sparse())

    def __or__(self, other: Pattern) -> Pattern:
        """Pattern of the sum."""
        return Pattern.of(self.sparse() + other.sparse())

    def places_in(self, larger: Pattern) -> np.ndarray:
        """Where the entries, taken by columns, stand among the entries of `larger`, taken by rows."""
        number = sparse.csr_array(
            (np.arange(1, larger.size + 1), larger.columns, larger.row_start), shape=larger.shape
        ).tocsc()
        mine = sparse.csc_array(
            (np.ones(self.size, dtype=np.int64), self.rows, self.column_start), shape=self.shape
        )
        common = sparse.csc_array(number.multiply(mine))
        common.sort_indices()
        return np.ascontiguousarray(common.data, dtype=np.int64) - 1

    def places(self, rows, columns) -> np.ndarray:
        """Where entries of the pattern stand, taken by rows."""
        n = self.shape[1]
        known = np.repeat(np.arange(self.shape[0]), np.diff(self.row_start)) * n + self.columns
        return np.searchsorted(known, np.asarray(rows, np.int64) * n + columns).astype(np.int64)

    def colours(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns sorted by colour, and where each colour begins."""
        colour = np.zeros(self.shape[1], dtype=np.int64)
        if 4 * self.size > self.shape[0] * self.shape[1]:  # dense: nothing to be gained
            colour[:] = np.arange(colour.size)
            n_colours = colour.size
        else:
            taken = np.zeros(colour.size + 1, dtype=np.int8)
            arrays = (self.column_start, self.rows, self.row_start, self.columns)
            n_colours = colour_columns(*arrays, colour, taken)
        start = np.searchsorted(np.sort(colour), np.arange(n_colours + 1))
        return np.argsort(colour, kind="stable").astype(np.int64), start.astype(np.int64)
