"""Whether rows of a sparse matrix are independent, without dense algebra: mechanisms of thousands of joints."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

#: Smallest pivot of the Gram matrix of rows of length one at which they surely are: squared distance to the span of others.
INDEPENDENT = 1e-9


def surely_independent(rows) -> bool:
    """Whether the rows of a sparse matrix are independent with a margin, by sparse factors of their Gram matrix."""
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
