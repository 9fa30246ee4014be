"""The one matrix an implicit scheme factorises:  cM M + cD D + cK K,  D = -dh/du,  K = d(M a - h - W la)/d delta.

delta are the increments of a step, q <- q + B delta. The values stand on one fixed pattern, row by row.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.derivatives.coloured import add_coloured
from nonsmooth._core.jit import (
    MATRIX,
    address_record,
    by_reference,
    caller,
    f8_1,
    f8_ro,
    float64,
    int64,
    kernel,
    void,
)

call_matrix = caller(MATRIX)

#: Derivatives in it, each a `Coloured`.
DERIVATIVES = ("h_by_q", "h_by_u", "Ma_by_q", "Wla_by_q")


class TangentParts(NamedTuple):
    """What the weighted tangent of a model is made of."""

    at: Any  # addresses: DERIVATIVES, mass, kinematics (0 where q' = u)
    M_rows: np.ndarray  # entries of M that can be nonzero
    M_columns: np.ndarray
    M_place: np.ndarray  # and where they stand among the values
    M: np.ndarray  # work space
    B: np.ndarray


def _example():
    integers, matrix = np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    addresses = address_record(**dict.fromkeys((*DERIVATIVES, "mass", "kinematics"), 0))
    return TangentParts(addresses, *[integers] * 3, matrix, matrix)


_, parts_at = by_reference(_example())

#: (address of the parts, t, q, u, a, la, p, cM, cD, cK, values)
TANGENT = void(int64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, float64, float64, float64, f8_1)


@kernel(TANGENT, references=False)
def weighted_tangent(at, t, q, u, a, la, p, cM, cD, cK, values):
    """Values of cM M + cD D + cK K. Each part is evaluated only if it is asked for."""
    parts = parts_at(at)
    for k in range(values.size):
        values[k] = 0.0
    if parts.at.kinematics != 0 and cK != 0.0:
        call_matrix(parts.at.kinematics, t, q, u, p, parts.B)
    if cM != 0.0:
        call_matrix(parts.at.mass, t, q, u, p, parts.M)
        for k in range(parts.M_rows.size):
            values[parts.M_place[k]] += cM * parts.M[parts.M_rows[k], parts.M_columns[k]]
    add_coloured(parts.at.h_by_u, -cD, t, q, u, p, parts.B, values)
    add_coloured(parts.at.h_by_q, -cK, t, q, u, p, parts.B, values)
    add_coloured(parts.at.Ma_by_q, cK, t, q, a, p, parts.B, values)
    add_coloured(parts.at.Wla_by_q, -cK, t, q, la, p, parts.B, values)
