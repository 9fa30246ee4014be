"""The Delassus operator of a contact problem ``u = W r + q``, in whichever form it is known: one small interface.

============  ======================================================================================================
`Entries`     a matrix, dense or sparse
`OfBodies`    ``H^T M^-1 H`` of bodies; formed for methods that ask for its entries, left alone where these would be too many
`Products`    a linear operator that answers products and nothing else; written out, by as many products as it has rows, for
              methods that ask for its entries, as long as these are few
============  ======================================================================================================

A form answers ``apply(r)``, the product with W; ``diagonal()``; ``entries()``, W as a dense or sparse matrix, or a `ModelError`;
and says by ``unformed`` that methods had better do with products.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth.contact.global_form import GlobalForm, delassus
from nonsmooth.contact.problem_input import check_magnitude, matrix
from nonsmooth.errors import InputError, ModelError, NonFiniteError, ShapeError

#: Up to this many rows the operator of bodies is formed.
FORMED = 3000
#: Up to this many rows an operator is written out: without its diagonal it has to be asked as often anyway.
WRITTEN_OUT = 1000
#: Columns per product while an operator is written out.
COLUMNS = 64


class Entries:
    """A matrix."""

    unformed = False

    def __init__(self, W):
        self._W = W

    def entries(self):
        return self._W

    def apply(self, r) -> np.ndarray:
        return np.asarray(self._W @ r).ravel()

    def diagonal(self) -> np.ndarray:
        return np.asarray(self._W.diagonal())


class OfBodies:
    """``H^T M^-1 H`` of a problem in global form."""

    def __init__(self, form: GlobalForm):
        self._form = form
        self._W: Any = None

    def entries(self):
        if self._W is None:
            self._W = delassus(self._form)
        return self._W

    def apply(self, r) -> np.ndarray:
        if self._W is not None:
            return np.asarray(self._W @ r).ravel()
        g = self._form
        return np.asarray(g.H.T @ g.solve_mass(np.asarray(g.H @ r).ravel())).ravel()

    def diagonal(self) -> np.ndarray:
        if not self.unformed:
            return np.asarray(self.entries().diagonal())
        g, n = self._form, self._form.w.size
        found = np.empty(n)
        Ht, H = sp.csr_matrix(g.H.T), sp.csc_matrix(g.H)
        for start in range(0, n, 512):
            solved = g.solve_mass(H[:, start : start + 512])
            found[start : start + 512] = np.asarray(
                Ht[start : start + 512].multiply(solved.T).sum(axis=1)
            ).ravel()
        return found

    @cached_property
    def unformed(self) -> bool:
        """Whether W would be far fuller than H (sampled columns decide)."""
        g, n = self._form, self._form.w.size
        if self._W is not None or n <= FORMED:
            return False
        sample = np.linspace(0, n - 1, 8).astype(int)
        columns = g.H.T @ g.solve_mass(g.H[:, sample])
        filled = np.count_nonzero(np.asarray(columns)) / sample.size * n
        entries = g.H.nnz if sp.issparse(g.H) else g.H.size
        return bool(filled > 2e7 and filled > 30 * entries)


class Products:
    """A linear operator. Its diagonal is asked for if it has a method of that name, else found by products."""

    def __init__(self, operator):
        self._operator = operator
        self.unformed = operator.shape[0] > WRITTEN_OUT
        self._W: Any = None

    def entries(self):
        if self._W is None:
            rows = self._operator.shape[0]
            if self.unformed:
                raise ModelError(
                    f"W is a linear operator of {rows} rows, and this method needs its entries (operators of up to {WRITTEN_OUT} "
                    "rows are written out). Use a method that does with products: 'auto', 'apgd', 'pjor'; or give W as a "
                    "sparse matrix, or the bodies behind it: ContactProblem.from_global."
                )
            self._W = _checked(np.hstack([np.zeros((rows, 0)), *self._columns()]), "W")
        return self._W

    def apply(self, r) -> np.ndarray:
        return np.asarray(self._operator @ r, dtype=float).ravel()

    def diagonal(self) -> np.ndarray:
        if hasattr(self._operator, "diagonal"):
            found = np.asarray(self._operator.diagonal(), dtype=float)
            if found.shape != self._operator.shape[:1]:
                raise ShapeError(
                    f"diagonal() of the operator W has shape {found.shape}; {self._operator.shape[:1]} is wanted."
                )
            return _checked(found, "the diagonal of W")
        if not self.unformed:
            return self.entries().diagonal()
        parts = (np.diagonal(part, -k * COLUMNS) for k, part in enumerate(self._columns()))
        return _checked(np.concatenate([np.zeros(0), *parts]), "the diagonal of W")

    def _columns(self):
        """The columns of W, so many at a time."""
        n = self._operator.shape[0]
        for start in range(0, n, COLUMNS):
            units = np.zeros((n, min(COLUMNS, n - start)))
            units[range(start, start + units.shape[1]), range(units.shape[1])] = 1.0
            yield np.asarray(self._operator @ units, dtype=float)


def _checked(values: np.ndarray, name: str) -> np.ndarray:
    if not np.all(np.isfinite(values)):
        raise NonFiniteError(
            f"products with the operator W give NaN or infinite {name}; give finite numbers."
        )
    check_magnitude(values, name)
    return values


def is_operator(W) -> bool:
    return isinstance(W, spl.LinearOperator)


def as_delassus(W, n: int) -> Entries | Products:
    """What a user gives as W, checked: a matrix, dense or sparse, or a linear operator."""
    if not is_operator(W):
        return Entries(matrix(W, "W", (n, n)))
    if W.shape != (n, n):
        raise ShapeError(f"W has shape {W.shape}; {(n, n)} is wanted (rows of q decide).")
    if W.dtype is not None and np.dtype(W.dtype).kind not in "fiub":
        raise InputError(f"W is an operator of {W.dtype}; a real one is wanted.")
    return Products(W)
