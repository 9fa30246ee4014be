"""The one matrix an implicit scheme factorises:  cM M + cD D + cK K,  D = -dh/du,  K = d(M a - h - W la)/d delta.

delta are the increments of a step, q <- q + B delta. The values stand on one fixed pattern, row by row. Models that know parts of them
(structures) write these themselves, and M on its pattern.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.derivatives.coloured import add_coloured
from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    address_record,
    by_reference,
    caller,
    f8_1,
    f8_ro,
    float64,
    int64,
    kernel,
    phase,
    void,
)

call_matrix, call_vector = caller(MATRIX), caller(VECTOR)

#: Derivatives in it, each a `Coloured`.
DERIVATIVES = ("h_by_q", "h_by_u", "Ma_by_q", "Wla_by_q")
#: Writers of values, 0 where there is none: M on its own pattern, K and D (added to those of the derivatives) on the whole one.
WRITERS = ("mass_values", "stiffness", "damping")


class TangentParts(NamedTuple):
    """What the weighted tangent of a model is made of."""

    at: Any  # addresses: DERIVATIVES, WRITERS, mass, kinematics (0 where q' = u)
    M_rows: np.ndarray  # entries of M that can be nonzero
    M_columns: np.ndarray
    M_place: np.ndarray  # and where they stand among the values
    M: np.ndarray  # work space: M as a matrix, or
    M_values: np.ndarray  # on its pattern, row by row; M_rows, M_columns are not wanted then
    B: np.ndarray
    known: np.ndarray  # values that writers know


def _example():
    integers, matrix = np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    addresses = address_record(**dict.fromkeys((*DERIVATIVES, *WRITERS, "mass", "kinematics"), 0))
    return TangentParts(addresses, *[integers] * 3, matrix, np.zeros(1), matrix, np.zeros(1))


_, parts_at = by_reference(_example())

#: (address of the parts, t, q, u, a, la, p, cM, cD, cK, values)
TANGENT = void(int64, float64, f8_ro, f8_ro, f8_ro, f8_ro, f8_ro, float64, float64, float64, f8_1)


@phase
def add_known(writer, factor, t, q, u, p, known, values):
    """values += factor times what a writer knows."""
    for k in range(known.size):
        known[k] = 0.0
    call_vector(writer, t, q, u, p, known)
    for k in range(known.size):
        values[k] += factor * known[k]


@phase
def any_nonzero(x):
    """Whether x is not zero."""
    for k in range(x.size):
        if x[k] != 0.0:
            return True
    return False


@kernel(TANGENT, references=False)
def weighted_tangent(at, t, q, u, a, la, p, cM, cD, cK, values):
    """Values of cM M + cD D + cK K. Each part is evaluated only if it is asked for."""
    parts = parts_at(at)
    for k in range(values.size):
        values[k] = 0.0
    if parts.at.kinematics != 0 and cK != 0.0:
        call_matrix(parts.at.kinematics, t, q, u, p, parts.B)
    if cM != 0.0 and parts.at.mass_values != 0:
        call_vector(parts.at.mass_values, t, q, u, p, parts.M_values)
        for k in range(parts.M_place.size):
            values[parts.M_place[k]] += cM * parts.M_values[k]
    elif cM != 0.0:
        call_matrix(parts.at.mass, t, q, u, p, parts.M)
        for k in range(parts.M_rows.size):
            values[parts.M_place[k]] += cM * parts.M[parts.M_rows[k], parts.M_columns[k]]
    if cK != 0.0 and parts.at.stiffness != 0:
        add_known(parts.at.stiffness, cK, t, q, u, p, parts.known, values)
    if cD != 0.0 and parts.at.damping != 0:
        add_known(parts.at.damping, cD, t, q, u, p, parts.known, values)
    add_coloured(parts.at.h_by_u, -cD, t, q, u, p, parts.B, values)
    add_coloured(parts.at.h_by_q, -cK, t, q, u, p, parts.B, values)
    add_coloured(parts.at.Ma_by_q, cK, t, q, a, p, parts.B, values)
    if any_nonzero(la):  # else W may not even exist at q: points at one place, joined by a rod
        add_coloured(parts.at.Wla_by_q, -cK, t, q, la, p, parts.B, values)
