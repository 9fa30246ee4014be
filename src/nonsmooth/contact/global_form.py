"""The global form of a contact problem, ``M v = H r + f, u = H^T v + w``: inverse of M, and ``W = H^T M^-1 H``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth.errors import ModelError

#: Above this share of non-zero blocks a matrix is treated as dense by the direct solvers.
DENSE_SHARE = 0.3


class GlobalForm(NamedTuple):
    """The matrices; `solve_mass` applies the inverse of M to a vector or to columns."""

    M: Any
    H: Any
    f: np.ndarray
    w: np.ndarray
    G: Any
    b: np.ndarray | None
    solve_mass: Any
    solve_kkt: Any


def mass_solver(M):
    """Factor M once; the returned function applies its inverse to a vector or to the columns of an array."""
    try:
        if M.shape[0] == 0:
            return lambda rhs: np.zeros(np.shape(rhs))
        factor = spl.splu(sp.csc_matrix(M))
        diagonal = np.abs(factor.U.diagonal())
    except RuntimeError:
        diagonal = np.zeros(1)
    if diagonal.min() <= 1e-14 * diagonal.max():
        raise ModelError(
            "ContactProblem.from_global: M (with the joints G) is singular; "
            "remove bodies without mass or redundant joints."
        )
    return lambda rhs: factor.solve(rhs.toarray() if sp.issparse(rhs) else np.asarray(rhs))


def delassus(g: GlobalForm):
    """``W = H^T M^-1 H``, sparse where it is sparse: columns are solved in slices, tiny fill is dropped
    exactly at zero."""
    n = g.w.size
    Ht = sp.csr_matrix(g.H.T)
    inverse = _sparse_inverse(g.M) if g.G is None else None
    if inverse is not None:
        W = sp.csc_matrix(Ht @ (inverse @ sp.csc_matrix(g.H)))
        return W if W.nnz < DENSE_SHARE * n * n else W.toarray()
    slices = []
    for start in range(0, n, 512):
        columns = g.H[:, start : start + 512]
        slices.append(sp.csc_matrix(Ht @ g.solve_mass(columns)))
    W = sp.hstack(slices, format="csc") if slices else sp.csc_matrix((n, n))
    W.eliminate_zeros()
    return W if W.nnz < DENSE_SHARE * n * n else W.toarray()


def _sparse_inverse(M, largest=24):
    """``M^-1`` as a sparse matrix where M falls into small independent blocks (bodies without joints), else
    None."""
    M = sp.csr_matrix(M)
    count, label = sp.csgraph.connected_components(M, directed=False)
    sizes = np.bincount(label, minlength=count)
    if M.shape[0] == 0 or sizes.max() > largest:
        return None
    order = np.argsort(label, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows, columns, values = [], [], []
    for size in np.unique(sizes):
        members = order[starts[:-1][sizes == size][:, None] + np.arange(size)]  # one block per line
        place = np.empty(M.shape[0], dtype=np.int64)
        place[members] = np.arange(members.shape[0])[:, None]
        inner = np.empty(M.shape[0], dtype=np.int64)
        inner[members] = np.arange(size)
        entries = M[members.ravel()].tocoo()
        blocks = np.zeros((members.shape[0], size, size))
        source = members.ravel()[entries.row]
        np.add.at(blocks, (place[source], inner[source], inner[entries.col]), entries.data)
        values.append(np.linalg.inv(blocks).ravel())
        rows.append(np.repeat(members, size, axis=1).ravel())
        columns.append(np.tile(members, (1, size)).ravel())
    return sp.csr_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=M.shape
    )
