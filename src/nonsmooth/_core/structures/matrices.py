"""Given matrices: h = -K q - D u on neighbouring coordinates, both matrices on one pattern (row by row), values in p."""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.jit import VECTOR, by_reference, kernel, own, phase, scalars, with_record

#: Where the coordinates and velocities begin, and the values of K and D in p.
Where = scalars("Where", q=int, u=int, K=int, D=int)


class Matrices(NamedTuple):
    """Pattern of K and D, and where its entries stand among the values of the tangent."""

    where: object
    row_start: np.ndarray
    columns: np.ndarray
    tangent: np.ndarray


_, matrices_at = by_reference(Matrices(Where(), *(np.zeros(1, dtype=np.int64) for _ in range(3))))


@kernel(with_record(VECTOR), part=True)
def matrix_forces(t, q, u, p, out, record):
    """-K q - D u."""
    m = matrices_at(own(record))
    w = m.where
    for i in range(m.row_start.size - 1):
        s = 0.0
        for k in range(m.row_start[i], m.row_start[i + 1]):
            s += p[w.K + k] * q[w.q + m.columns[k]] + p[w.D + k] * u[w.u + m.columns[k]]
        out[w.u + i] -= s


@phase
def add_values(m, at, p, values):
    for k in range(m.columns.size):
        values[m.tangent[k]] += p[at + k]


@kernel(with_record(VECTOR), part=True)
def matrix_stiffness(t, q, u, p, values, record):
    """K on the pattern of the tangent."""
    m = matrices_at(own(record))
    add_values(m, m.where.K, p, values)


@kernel(with_record(VECTOR), part=True)
def matrix_damping(t, q, u, p, values, record):
    """D on the pattern of the tangent."""
    m = matrices_at(own(record))
    add_values(m, m.where.D, p, values)
