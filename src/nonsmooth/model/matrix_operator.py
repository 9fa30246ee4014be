"""A matrix that factorises and solves: the method is chosen once, by its pattern."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from nonsmooth._core.jit import Reference
from nonsmooth._core.linalg.factors import (
    BANDED_CHOLESKY,
    BANDED_LU,
    DENSE_CHOLESKY,
    DENSE_LU,
    SPARSE_LDL,
    Factors,
    Method,
    factorise,
    solve,
)
from nonsmooth._core.linalg.sparse_ldl import elimination_tree
from nonsmooth.contact.dissection import dissect
from nonsmooth.errors import ModelError
from nonsmooth.model.colouring import Pattern

#: Up to this size nothing beats dense factors.
SMALL = 16
NAMES = {
    DENSE_CHOLESKY: "dense",
    BANDED_CHOLESKY: "banded",
    SPARSE_LDL: "sparse",
    DENSE_LU: "dense",
    BANDED_LU: "banded",
}


class MatrixOperator:
    """A square matrix on a fixed pattern, for schemes that solve with it.

    Parameters
    ----------
    pattern : Pattern, shape (n, n)
    definite : bool
        Symmetric positive definite (mass matrices): half the work, and sparse factors where they pay. Else any matrix with pivots.

    Attributes
    ----------
    kind : str
        "dense", "banded" or "sparse".
    reference : Reference
        ``reference.address`` is what the kernels `factorise` and `solve` of `_core.linalg.factors` take.
    """

    def __init__(self, pattern: Pattern, definite: bool):
        self.pattern, self.definite = pattern, definite
        self.n = pattern.shape[0]
        self._record = self._dense() if self.n <= SMALL else self._cheapest()
        self.kind = NAMES[int(self._record.method.kind)]
        self.reference = Reference(self._record)

    def factorise(self, values) -> None:
        """Factorise the matrix with these values on its pattern, row by row."""
        status = factorise(self.reference.address, np.ascontiguousarray(values, float))
        if status:
            what = "positive definite" if self.definite else "regular"
            raise ModelError(
                f"a matrix of {self.n} unknowns is not {what} (pivot {status - 1}): a body without mass, a constraint "
                "stated twice, or a wrong sign."
            )

    def solve(self, b) -> np.ndarray:
        """Solution with the factors of the last `factorise`."""
        x = np.array(b, dtype=np.float64)
        solve(self.reference.address, x)
        return x

    # -- choice of the method -------------------------------------------------------------------------------------------

    def _cheapest(self) -> Factors:
        """The method of least work, counted in multiplications."""
        graph = (self.pattern | self.pattern.transposed).sparse()
        narrow = reverse_cuthill_mckee(graph.tocsr(), symmetric_mode=True)
        narrow = np.ascontiguousarray(narrow, dtype=np.int64)  # it comes as a view read backwards
        lower, upper = self.pattern.permuted(narrow).bandwidth
        if sum(self.pattern.bandwidth) <= lower + upper:  # the unknowns stand well as they are
            narrow, (lower, upper) = np.arange(self.n), self.pattern.bandwidth
        dense = self.n**3 / (6 if self.definite else 3)
        banded = self.n * (lower**2 / 2 if self.definite else lower * (lower + upper))
        if self.definite:
            nested = dissect(graph).order.astype(np.int64)
            tree = self._tree(nested)
            sparse = 3.0 * np.sum((tree[1] + 1.0) ** 2)  # indirect: slower by operation
            if sparse < min(banded, dense):
                return self._sparse(nested, *tree)
        return self._banded(narrow, lower, upper) if banded < dense else self._dense()

    def _entries(self, order):
        """Rows and columns of the entries in the order of elimination."""
        number = np.empty(self.n, dtype=np.int64)
        number[order] = np.arange(self.n)
        row = np.repeat(np.arange(self.n), np.diff(self.pattern.row_start))
        return number[row], number[self.pattern.columns]

    def _made(self, kind, place, order, lower=0, upper=0, A=None, **sparse) -> Factors:
        method, n = Method(), self.n
        method.kind, method.lower, method.upper = kind, lower, upper
        method.natural = int(np.array_equal(order, np.arange(self.n)))
        none, nothing = np.zeros(1, dtype=np.int64), np.zeros(1)
        parts = {
            "column_start": none, "rows": none, "a": nothing, "parent": none, "L_start": none, "L_rows": none, "L": nothing,
            "D": nothing, "filled": none, "path": none, "seen": none,
        } | sparse  # fmt: skip
        A = np.zeros((1, 1)) if A is None else A
        return Factors(method, place, order, A, np.zeros(n, dtype=np.int64), np.zeros(n), **parts)

    def _dense(self) -> Factors:
        order = np.arange(self.n)
        row, column = self._entries(order)
        kind = DENSE_CHOLESKY if self.definite else DENSE_LU
        return self._made(kind, row * self.n + column, order, A=np.zeros((self.n, self.n)))

    def _banded(self, order, lower, upper) -> Factors:
        row, column = self._entries(order)
        width = lower + 1 if self.definite else 2 * lower + upper + 1
        place = row * width + column - row + lower
        if self.definite:
            place = np.where(column <= row, place, -1)
        kind = BANDED_CHOLESKY if self.definite else BANDED_LU
        return self._made(kind, place, order, lower, upper, A=np.zeros((self.n, width)))

    def _tree(self, order):
        """Elimination tree in this order, number of entries of every column of L, pattern of the upper triangle."""
        upper = self.pattern.permuted(order).upper
        parent, count, seen = (np.zeros(self.n, dtype=np.int64) for _ in range(3))
        elimination_tree(upper.column_start, upper.rows, parent, count, seen)
        return parent, count, upper

    def _sparse(self, order, parent, count, upper) -> Factors:
        row, column = self._entries(order)
        number = upper.sparse(np.arange(1.0, upper.size + 1)).tocsc()  # values by rows -> place by columns
        number.sort_indices()
        by_column = np.empty(upper.size, dtype=np.int64)
        by_column[number.data.astype(np.int64) - 1] = np.arange(upper.size)
        by_row = np.full(row.size, -1, dtype=np.int64)
        wanted = row <= column
        sequence = np.lexsort((column[wanted], row[wanted]))
        places = np.empty(sequence.size, dtype=np.int64)
        places[sequence] = by_column
        by_row[wanted] = places
        L_start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        size, n = max(int(L_start[-1]), 1), self.n
        ints = {name: np.zeros(n, dtype=np.int64) for name in ("filled", "path", "seen")}
        return self._made(
            SPARSE_LDL, by_row, order, column_start=upper.column_start, rows=upper.rows, a=np.zeros(upper.size), parent=parent,
            L_start=L_start, L_rows=np.zeros(size, dtype=np.int64), L=np.zeros(size), D=np.zeros(n), **ints,
        )  # fmt: skip
