"""The one matrix an implicit scheme factorises:  cM M + cD D + cK K,  D = -dh/du,  K = d(M a - h - W la)/d delta.

delta are the increments of a step, q <- q + B delta. The values stand on one fixed pattern, row by row.
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.derivatives.coloured import COLOURED, Coloured, add_coloured
from nonsmooth._core.jit import (
    MATRIX,
    by_reference,
    caller,
    f8_1,
    f8_2,
    f8_ro,
    float64,
    i8_1,
    int64,
    kernel,
    types,
    void,
)

call_matrix = caller(MATRIX)


class TangentParts(NamedTuple):
    """What the weighted tangent of a model is made of.

    Fields
    ------
    h_by_q, h_by_u, Ma_by_q, Wla_by_q : Coloured
    mass, kinematics : (1,) int64, addresses
    has_B : (1,) int64, whether q' = B u
    M_rows, M_columns, M_place : entries of M that can be nonzero, and where they stand
    M, B : scratch space
    """

    h_by_q: Coloured
    h_by_u: Coloured
    Ma_by_q: Coloured
    Wla_by_q: Coloured
    mass: np.ndarray
    has_B: np.ndarray
    kinematics: np.ndarray
    M_rows: np.ndarray
    M_columns: np.ndarray
    M_place: np.ndarray
    M: np.ndarray
    B: np.ndarray


PARTS = types.NamedTuple([COLOURED] * 4 + [i8_1] * 6 + [f8_2] * 2, TangentParts)
_, parts_at = by_reference(PARTS)

#: (address of the parts, t, q, u, a, la, p, cM, cD, cK, values)
TANGENT = void(int64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, float64, float64, float64, f8_1)


@kernel(TANGENT, references=False)
def weighted_tangent(at, t, q, u, a, la, p, cM, cD, cK, values):
    """Values of cM M + cD D + cK K. Each part is evaluated only if it is asked for."""
    parts = parts_at(at)
    has_B = parts.has_B[0]
    for k in range(values.size):
        values[k] = 0.0
    if has_B and cK != 0.0:
        call_matrix(parts.kinematics[0], t, q, u, p, parts.B)
    if cM != 0.0:
        call_matrix(parts.mass[0], t, q, u, p, parts.M)
        for k in range(parts.M_rows.size):
            values[parts.M_place[k]] += cM * parts.M[parts.M_rows[k], parts.M_columns[k]]
    add_coloured(parts.h_by_u, -cD, t, q, u, p, parts.B, has_B, values)
    add_coloured(parts.h_by_q, -cK, t, q, u, p, parts.B, has_B, values)
    add_coloured(parts.Ma_by_q, cK, t, q, a, p, parts.B, has_B, values)
    add_coloured(parts.Wla_by_q, -cK, t, q, la, p, parts.B, has_B, values)
