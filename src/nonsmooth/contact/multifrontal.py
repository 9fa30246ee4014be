"""Multifrontal elimination (Duff and Reid 1983): a sparse system as a few hundred dense ones.

Along a tree of separators (`nonsmooth.contact.dissection`) every group of unknowns is eliminated in a dense *front*: the group
and the later unknowns it is connected with, its boundary. With the entries of the matrix and the updates of the groups below::

    F = [F11 F12]     Y = F11^-1 F12,     update for the group above:  F22 - F21 Y                        (1)
        [F21 F22]

Nearly all the work are products of dense matrices. For thousands of bodies in space that is several times faster than
a factorisation by columns. A symmetric positive definite matrix takes half of it (Cholesky, lower triangles only)::

    F11 = L11 L11^T,     L21 = F21 L11^-T,     update:  F22 - L21 L21^T                                    (2)

Pivots are chosen inside a group only: enough for the systems of `nonsmooth.contact.bodies`, whose
diagonal blocks contain the masses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dgemm, dsyrk, dtrsm, dtrsv
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf

from nonsmooth._core.linalg.fronts import extend_add
from nonsmooth.contact.dissection import dissect


class Multifrontal:
    """The fronts of all matrices with (at most) the symmetric pattern of `A`.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
        Only its pattern is used.
    """

    def __init__(self, A):
        A = sp.csr_matrix(A)
        tree = dissect(A)
        self.order = tree.order
        A = A[self.order][:, self.order]
        ends = np.cumsum([g.size for g in tree.groups])
        self.own = [(int(e - g.size), int(e)) for g, e in zip(tree.groups, ends)]
        self.children: list[list[int]] = [[] for _ in self.own]
        for k, above in enumerate(tree.parent):
            if above >= 0:
                self.children[above].append(k)
        # what lies in the front of a group, and where the boundaries of the groups below lie in it
        self.front: list[np.ndarray] = []
        self.place: list[np.ndarray] = [np.zeros(0, dtype=np.int64)] * len(self.own)
        for k, (begin, end) in enumerate(self.own):
            reach = [A.indices[A.indptr[begin] : A.indptr[end]]]
            reach += [self._boundary(c) for c in self.children[k]]
            later = np.unique(np.concatenate(reach))
            self.front.append(np.concatenate([np.arange(begin, end), later[later >= end]]))
            for c in self.children[k]:
                self.place[c] = np.searchsorted(self.front[k], self._boundary(c))

    def _boundary(self, k) -> np.ndarray:
        begin, end = self.own[k]
        return self.front[k][end - begin :]

    def factor(self, K, symmetric=False):
        """A function that solves with the matrix `K`; raises `numpy.linalg.LinAlgError` where a pivot vanishes.

        Parameters
        ----------
        K : sparse matrix, shape (n, n)
        symmetric : bool
            `K` is symmetric and positive definite.
        """
        rows = sp.csr_matrix(sp.csr_matrix(K)[self.order][:, self.order])
        # the rows of a symmetric matrix are its columns
        columns = sp.csc_matrix(rows) if not symmetric else rows
        eliminate = _cholesky if symmetric else _gauss
        updates: dict[int, np.ndarray] = {}
        parts = []
        # one place for all fronts: fresh memory costs as much as what is done there
        space = np.empty(max((front.size for front in self.front), default=0) ** 2)
        for k, (begin, end) in enumerate(self.own):
            F = self._assemble(k, None if symmetric else rows, columns, space)
            for c in self.children[k]:
                extend_add(F, self.place[c], updates.pop(c), symmetric)
            part, updates[k] = eliminate(F, end - begin)
            parts.append(part)

        def solve(b):
            x = np.array(b)[self.order]
            for k, (begin, end) in enumerate(self.own):
                x[begin:end] = parts[k].down(x[begin:end])
                x[self._boundary(k)] -= parts[k].lower @ x[begin:end]
            for k in range(len(self.own) - 1, -1, -1):
                begin, end = self.own[k]
                x[begin:end] = parts[k].up(x[begin:end], x[self._boundary(k)])
            out = np.empty_like(x)
            out[self.order] = x
            return out

        return solve

    def _assemble(self, k, rows, columns, space) -> np.ndarray:
        """The entries of the matrix in front `k`, made in `space`: rows of its group and columns of it below; of a symmetric one
        (`rows` is None) columns only."""
        begin, end = self.own[k]
        front = self.front[k]
        F = space[: front.size**2].reshape((front.size, front.size), order="F")
        F.fill(0.0)
        below = begin if rows is None else end
        for matrix, transposed, first in ((rows, False, begin), (columns, True, below)):
            if matrix is None:
                continue
            span = slice(matrix.indptr[begin], matrix.indptr[end])
            inner = np.repeat(np.arange(end - begin), np.diff(matrix.indptr[begin : end + 1]))
            outer, values = matrix.indices[span], matrix.data[span]
            keep = outer >= first  # what lies before was taken by the groups below
            inner, outer, values = inner[keep], np.searchsorted(front, outer[keep]), values[keep]
            if transposed:
                F[outer, inner] = values
            else:
                F[inner, outer] = values
        return F


class _Gauss(NamedTuple):
    """An eliminated group, eq. (1)."""

    lu: np.ndarray
    pivots: np.ndarray
    lower: np.ndarray
    Y: np.ndarray

    def down(self, x):
        return dgetrs(self.lu, self.pivots, x)[0]

    def up(self, x, boundary):
        return x - self.Y @ boundary


def _gauss(F, size):
    """Eliminate the first `size` unknowns of a front: ``(group, update)``."""
    lu, pivots, info = dgetrf(F[:size, :size])
    if info != 0:
        raise np.linalg.LinAlgError("a group of unknowns has a singular block")
    lower = np.array(F[size:, :size], order="F")
    if F.shape[0] == size:
        return _Gauss(lu, pivots, lower, F[:size, size:]), F[size:, size:]
    Y = dgetrs(lu, pivots, F[:size, size:])[0]
    # by BLAS itself: the same matrix by columns, which the sums of fronts want
    return _Gauss(lu, pivots, lower, Y), dgemm(-1.0, lower, Y, 1.0, F[size:, size:])


class _Cholesky(NamedTuple):
    """An eliminated group, eq. (2)."""

    L: np.ndarray
    lower: np.ndarray

    def down(self, x):
        return dtrsv(self.L, x, lower=1)

    def up(self, x, boundary):
        return dtrsv(self.L, x - self.lower.T @ boundary, lower=1, trans=1)


def _cholesky(F, size):
    """The same for a symmetric front, of which only the lower triangle is read."""
    L, info = dpotrf(F[:size, :size], lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("a group of unknowns has a block that is not positive definite")
    if F.shape[0] == size:
        return _Cholesky(L, F[size:, :size]), F[size:, size:]
    lower = dtrsm(1.0, L, F[size:, :size], side=1, lower=1, trans_a=1)
    return _Cholesky(L, lower), dsyrk(-1.0, lower, beta=1.0, c=F[size:, size:], lower=1)
