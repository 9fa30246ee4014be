"""Finite elements as kernels see them: where the coordinates of each element stand, what of them is held, where its numbers begin.

Held coordinates are no unknowns: their place is -1 and their value stands in `held`. Velocities stand `shift` places further than
coordinates (rotations in space have more coordinates than velocities). Numbers of elements are part of the flat parameters p.
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.jit import VECTOR, by_reference, kernel, phase, scalars, with_record, words

Shift = scalars("Shift", u=int)
#: Of `count` neighbouring velocities from `first` on; they begin at `at` in p.
Weights, weights_at = words("Weights", "first count at")


class Elements(NamedTuple):
    """Elements of one structure."""

    info: object  # shift
    place: np.ndarray  # (elements, coordinates): in q, or -1
    held: np.ndarray  # values of what does not move
    at: np.ndarray  # numbers in p
    tangent: (
        np.ndarray
    )  # (elements, coordinates^2): place of each entry among the values of the tangent, or -1


def _example():
    square = np.zeros((1, 1), dtype=np.int64)
    return Elements(Shift(), square, np.zeros((1, 1)), np.zeros(1, dtype=np.int64), square)


_, elements_at = by_reference(_example())


@phase
def coordinate(e, k, i, q):
    """Coordinate i of element k."""
    place = e.place[k, i]
    return q[place] if place >= 0 else e.held[k, i]


@phase
def rate(e, k, i, u):
    """Rate of coordinate i of element k."""
    place = e.place[k, i]
    return u[place + e.info.u] if place >= 0 else 0.0


@phase
def add_force(e, k, i, value, out):
    """Add to the force on coordinate i of element k."""
    place = e.place[k, i]
    if place >= 0:
        out[place + e.info.u] += value


@phase
def add_entry(e, k, entry, value, values):
    """Add to an entry of the tangent, counted row by row in the matrix of element k."""
    place = e.tangent[k, entry]
    if place >= 0:
        values[place] += value


@kernel(with_record(VECTOR), part=True)
def weights(t, q, u, p, out, record):
    """Constant forces on neighbouring velocities."""
    own = weights_at(record)
    for j in range(own.count):
        out[own.first + j] += p[own.at + j]
