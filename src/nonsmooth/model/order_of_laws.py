"""Laws in an order in which those that see each other stand close: G = W^T M^-1 W of many contacts has its entries near the diagonal.

Laws see each other if they move the same body, or bodies tied together by M (the nodes of a structure) or by joints, which a step may
take out of the contact problem. A contact and its friction stay together; the order of contacts is that of Cuthill and McKee, reversed: a
row of boxes is as many small problems side by side, a stack a band of the width of a layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

#: Up to so many rows G is small; an order pays where less than this part of a row of G is near the diagonal.
FEW_ROWS, NEAR = 100, 0.5


def order_of_laws(model: Any) -> tuple[np.ndarray, int] | tuple[None, None]:
    """The order, and how far apart in it rows can be that see each other; None for models that do not know, or where it does not pay."""
    laws = model.laws
    if laws.n_rows <= FEW_ROWS or not hasattr(model, "assembly"):
        return None, None
    contact = np.where(laws.link >= 0, laws.link, np.arange(laws.n_laws))  # friction goes with its contact
    sees = _sees(model, contact)
    place = np.empty(laws.n_laws, dtype=np.int64)
    place[reverse_cuthill_mckee(sees, symmetric_mode=True)] = np.arange(laws.n_laws)
    order = np.lexsort((np.arange(laws.n_laws), place[contact]))
    first = np.zeros(laws.n_laws, dtype=np.int64)  # row of each law in this order
    first[order] = np.cumsum(laws.dim[order]) - laws.dim[order]
    last = first + laws.dim - 1
    begin = np.full(laws.n_laws, laws.n_rows)  # ... and of all laws of its contact
    end = np.zeros(laws.n_laws, dtype=np.int64)
    np.minimum.at(begin, contact, first)
    np.maximum.at(end, contact, last)
    one, other = sees.nonzero()
    reach = int(np.max(end[one] - begin[other], initial=0))
    return (order, reach) if reach < NEAR * laws.n_rows else (None, None)


def _sees(model, contact) -> sparse.csr_array:
    """Which contacts (numbers of their first laws) see each other, and themselves."""
    laws, M, W = model.laws, model.pattern_M, model.pattern_W
    W_J = W.sparse()[laws.n_rows - laws.n_J :]
    tied = connected_components(M.sparse() + W_J.T @ W_J)[1]  # velocities that M or joints tie together
    law_of_row = np.repeat(np.arange(laws.n_laws), laws.dim)
    row = np.repeat(np.arange(laws.n_rows), np.diff(W.row_start))
    moves = (np.ones(row.size), (contact[law_of_row[row]], tied[W.columns]))
    moves = sparse.csr_array(moves, shape=(laws.n_laws, int(tied.max(initial=0)) + 1))
    return sparse.csr_array(moves @ moves.T)
