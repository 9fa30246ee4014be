"""Whether rows are independent: one by one, and by sparse algebra for mechanisms of thousands of joints."""

from __future__ import annotations

import numpy as np
from scipy import sparse

#: Smallest pivot of the Gram matrix of rows of length one at which they surely are: squared distance to the span of others.
INDEPENDENT = 1e-9
#: From so many rows on sparse algebra is asked first.
MANY_ROWS = 50
#: A row whose part outside the span of the others is smaller than this, relative to its length, depends on them.
RANK = 1e-10


def lengths_one(rows: np.ndarray) -> np.ndarray:
    """Rows of length one, also those whose squares overflow."""
    rows = rows / np.maximum(np.max(np.abs(rows), axis=1, initial=0.0), 1e-300)[:, None]
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]


def dependent_rows(J: np.ndarray) -> list[int]:
    """Rows (of length one) that lie in the span of those before them."""
    basis, dependent = np.zeros((0, J.shape[1])), []
    for k, row in enumerate(J):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = float(np.linalg.norm(rest))
        if size > RANK:
            basis = np.vstack([basis, rest / size])
        else:
            dependent.append(k)
    return dependent


def surely_independent(rows) -> bool:
    """Whether the rows of a matrix are independent with a margin, by sparse factors of their Gram matrix."""
    from scipy.sparse import linalg  # slow to import

    rows = sparse.csr_array(rows)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    if not np.all(lengths > 0.0) or not np.all(np.isfinite(lengths)):
        return False
    unit = sparse.csr_array(
        sparse.dia_array((1.0 / lengths[None], [0]), shape=(lengths.size, lengths.size)) @ rows
    )
    try:
        factors = linalg.splu(
            sparse.csc_array(unit @ unit.T), diag_pivot_thresh=0.0, permc_spec="MMD_AT_PLUS_A"
        )
    except RuntimeError:  # exactly singular
        return False
    return bool(np.min(np.abs(factors.U.diagonal())) >= INDEPENDENT)
