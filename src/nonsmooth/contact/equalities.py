"""Equality rows of a local contact problem: elimination of their multipliers, and the way back.

The mixed problem of FCLIB (Acary, Brémond, Koziara, Pérignon 2014) is ::

    u = W r + V l + q,       0 = V^T r + R l + s                                                          (1)

with contact laws between `u` and `r` and free multipliers `l`. Eliminating ``l = -R^-1 (V^T r + s)`` leaves a contact
problem with ``W - V R^-1 V^T`` and ``q - V R^-1 s``. Redundant joints make R singular; where the equations remain
consistent, every pseudo-inverse gives the same contact problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from nonsmooth.errors import ModelError

#: Up to this many equality rows a singular R is treated by its singular values.
LARGEST_SINGULAR = 2000
#: Singular values below this, relative to the largest, count as zero.
RANK_TOL = 1e-11


class MixedForm(NamedTuple):
    """The data of (1); `solve` applies the inverse (or a pseudo-inverse) of R to a vector or to columns."""

    W: Any
    V: Any
    R: Any
    q: np.ndarray
    s: np.ndarray
    solve: Any


def eliminate(W, V, R, q, s):
    """``(W - V R^-1 V^T, q - V R^-1 s, solve)`` of the mixed problem (1)."""
    V, R = sp.csc_matrix(V), sp.csc_matrix(R)
    if R.shape[0] == 0:
        return W, q.copy(), lambda b: np.zeros(np.shape(b))
    solve = _factor(R) or _pseudo_inverse(R, V, s)
    correction = V @ solve(V.T.toarray())
    reduced = (W.toarray() if sp.issparse(W) else W) - correction
    if sp.issparse(W) and np.count_nonzero(reduced) < 0.3 * reduced.size:
        reduced = sp.csc_matrix(reduced)
    return reduced, q - V @ solve(s), solve


def _factor(R):
    """A solver with sparse factors of R, or None if R is singular."""
    try:
        factor = spl.splu(R)
    except RuntimeError:
        return None
    diagonal = np.abs(factor.U.diagonal())
    return factor.solve if diagonal.min() > 1e-12 * diagonal.max() else None


def _pseudo_inverse(R, V, s):
    if R.shape[0] > LARGEST_SINGULAR:
        raise ModelError(
            f"ContactProblem.from_mixed: R is singular with {R.shape[0]} equality rows (up to {LARGEST_SINGULAR} can be "
            "reduced); remove redundant joints."
        )
    dense = R.toarray()
    inverse = np.linalg.pinv(dense, rcond=RANK_TOL)
    rest = dense @ inverse - np.identity(R.shape[0])
    wrong = np.abs(rest @ V.T.toarray()).max(initial=0.0), np.abs(rest @ s).max(initial=0.0)
    sizes = np.abs(V).max() if V.nnz else 0.0, np.abs(s).max(initial=0.0)
    if any(w > 1e-8 * size for w, size in zip(wrong, sizes)):
        raise ModelError(
            "ContactProblem.from_mixed: R is singular and the equality rows V^T r + R l + s = 0 cannot be satisfied for "
            "every r; remove contradictory joints."
        )
    return lambda b: inverse @ b


def split(W, q, dim, bilateral):
    """Bilateral blocks of a local problem as equality rows: ``(W, V, R, q, s)`` of (1), or None if W is unsymmetric
    there."""
    held = np.repeat(bilateral, dim)
    A = sp.csc_matrix(W)
    V, back = A[~held][:, held], A[held][:, ~held]
    if abs(V - back.T).max() > 0.0:
        return None
    return A[~held][:, ~held], V, A[held][:, held], q[~held], q[held]
