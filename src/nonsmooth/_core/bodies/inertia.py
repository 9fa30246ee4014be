"""Mass and inertia of bodies and structures, and what acts on all of them.

    M = diag(m, J)   in the frame of the body: constant; entries of structures beside them
    h = (m g, -omega x J omega)

Every entry of M is one number of the flat parameters: `Entries` says which. The rates of coordinates are q' = u but for quaternions,
q' = B(q) omega (`model.rotations`).
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.bodies.frames import GROUND, SPATIAL, TURNING
from nonsmooth._core.bodies.table import table_at
from nonsmooth._core.bodies.vectors import cross, vector
from nonsmooth._core.jit import MATRIX, VECTOR, by_reference, kernel, own, with_record

#: Numbers of a body in p: mass, inertia (xx, yy, zz, xy, xz, yz; in the plane the first); gravity stands once, at `row`.
MASS, J = 0, 1
NUMBERS = 7


class Entries(NamedTuple):
    """Entries of M: where they stand in the matrix, on its pattern (row by row), and in p."""

    rows: np.ndarray
    columns: np.ndarray
    place: np.ndarray
    at: np.ndarray


_, entries_at = by_reference(Entries(*(np.zeros(1, dtype=np.int64) for _ in range(4))))


@kernel(with_record(MATRIX), part=True)
def mass_matrix(t, q, u, p, out, record):
    """M."""
    entries = entries_at(own(record))
    out[:, :] = 0.0
    for k in range(entries.at.size):
        out[entries.rows[k], entries.columns[k]] += p[entries.at[k]]


@kernel(with_record(VECTOR), part=True)
def mass_values(t, q, u, p, out, record):
    """Values of M on its pattern."""
    entries = entries_at(own(record))
    out[:] = 0.0
    for k in range(entries.at.size):
        out[entries.place[k]] += p[entries.at[k]]


@kernel(with_record(VECTOR), part=True)
def body_forces(t, q, u, p, out, record):
    """h of gravity and rotation; sets `out`, to which the other forces are added."""
    table = table_at(own(record))
    out[:] = 0.0
    for k in range(table.b.size):
        b, at = table.b[k], table.at[k]
        j, dim = table.frames.at_u[b], table.frames.dim[b]
        for i in range(dim):
            out[j + i] = p[at + MASS] * p[table.row[k] + i]
        if table.frames.kind[b] == SPATIAL:
            w = (u[j + 3], u[j + 4], u[j + 5])
            xx, yy, zz = vector(p, at + J)
            xy, xz, yz = vector(p, at + J + 3)
            L = (
                xx * w[0] + xy * w[1] + xz * w[2],
                xy * w[0] + yy * w[1] + yz * w[2],
                xz * w[0] + yz * w[1] + zz * w[2],
            )
            gyro = cross(L, w)
            for i in range(3):
                out[j + 3 + i] = gyro[i]


@kernel(with_record(MATRIX), part=True)
def kinematics(t, q, u, p, out, record):
    """B in q' = B u."""
    table = table_at(own(record))
    out[:, :] = 0.0
    for k in range(table.frames.kind.size):
        if table.frames.kind[k] == GROUND:
            continue
        kind = table.frames.kind[k]
        i, j, size = table.frames.at_q[k], table.frames.at_u[k], table.frames.size[k]
        if kind == SPATIAL or kind == TURNING:
            size = 3 if kind == SPATIAL else 0
        for l in range(size):
            out[i + l, j + l] = 1.0
        if kind == SPATIAL or kind == TURNING:
            i, j = i + size, j + size
            w, x, y, z = 0.5 * q[i], 0.5 * q[i + 1], 0.5 * q[i + 2], 0.5 * q[i + 3]
            out[i, j], out[i, j + 1], out[i, j + 2] = -x, -y, -z
            out[i + 1, j], out[i + 1, j + 1], out[i + 1, j + 2] = w, -z, y
            out[i + 2, j], out[i + 2, j + 1], out[i + 2, j + 2] = z, w, -x
            out[i + 3, j], out[i + 3, j + 1], out[i + 3, j + 2] = -y, x, w
