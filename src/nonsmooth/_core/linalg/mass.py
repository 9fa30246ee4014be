"""The mass matrix of a model as an operator: evaluated, factorised, solved; once per run where it is constant."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    address_record,
    by_reference,
    caller,
    f8_ro,
    float64,
    int64,
    kernel,
    scalars,
)
from nonsmooth._core.linalg.factors import factorise

call_matrix, call_vector = caller(MATRIX), caller(VECTOR)

MassInfo = scalars(
    "MassInfo",
    constant=int,
    ready=int,  # factors of the constant matrix are there
)


class Mass(NamedTuple):
    """A mass matrix and where its factors are."""

    at: Any  # addresses: mass, or mass_values (M on its pattern; 0: there is none); factors (see `factors`, also for `solve`)
    info: Any
    rows: np.ndarray  # of the entries that can be nonzero
    columns: np.ndarray
    values: np.ndarray
    M: np.ndarray


def _example():
    integers = np.zeros(1, dtype=np.int64)
    return Mass(
        address_record(mass=0, mass_values=0, factors=0),
        MassInfo(),
        integers,
        integers,
        np.zeros(1),
        np.zeros((1, 1)),
    )


_, mass_at = by_reference(_example())


@kernel(int64(int64, float64, f8_ro, f8_ro, f8_ro), references=False)
def factorise_mass(at, t, q, u, p):
    """Factors of M(t, q). Returns 0, or a positive number where M is not positive definite."""
    mass = mass_at(at)
    if mass.info.constant and mass.info.ready:
        return 0
    if mass.at.mass_values != 0:
        call_vector(mass.at.mass_values, t, q, u, p, mass.values)
    else:
        call_matrix(mass.at.mass, t, q, u, p, mass.M)
        for k in range(mass.rows.size):
            mass.values[k] = mass.M[mass.rows[k], mass.columns[k]]
    status = factorise(mass.at.factors, mass.values)
    mass.info.ready = 1 if status == 0 else 0
    return status
