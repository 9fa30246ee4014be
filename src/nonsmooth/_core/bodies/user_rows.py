"""Rows that a function of the user says of one or two bodies: it sees their coordinates and velocities alone.

The function belongs to a small model of these bodies (`model.bodies.user_rows`), whose compiled writers are called here with the part of
the state it knows; what they write goes to the rows and velocities of the world.
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, by_reference, kernel, phase, with_record, words


class Part(NamedTuple):
    """What a function sees, and where its rows go."""

    from_q: np.ndarray  # places of its coordinates
    from_u: np.ndarray  # and velocities
    to_u: np.ndarray  # where its velocities stand in rows of W^T
    rows: np.ndarray  # its rows
    q: np.ndarray  # work space
    u: np.ndarray
    value: np.ndarray
    WT: np.ndarray


def make_part(from_q, from_u, to_u, rows) -> Part:
    """With work space; nothing is empty, so that types stay the same."""
    whole = (np.ascontiguousarray(x, dtype=np.int64) for x in (from_q, from_u, to_u, rows))
    m, n_q, n_u = max(len(rows), 1), len(from_q), len(from_u)
    return Part(*whole, np.zeros(n_q), np.zeros(n_u), np.zeros(m), np.zeros((m, n_u)))


_, part_at = by_reference(make_part([0], [0], [0], [0]))


OfPart, of_part_at = words("OfPart", "part function")


@phase
def seen(part, q, u):
    """Coordinates and velocities the function sees."""
    for i in range(part.q.size):
        part.q[i] = q[part.from_q[i]]
    for j in range(part.u.size):
        part.u[j] = u[part.from_u[j]]


@kernel(with_record(VECTOR), part=True)
def part_vector(t, q, u, p, out, record):
    """Values of the rows."""
    own = of_part_at(record)
    part = part_at(own.part)
    seen(part, q, u)
    call_vector(own.function, t, part.q, part.u, p, part.value)
    for k in range(part.rows.size):
        out[part.rows[k]] = part.value[k]


@kernel(with_record(MATRIX), part=True)
def part_matrix(t, q, u, p, out, record):
    """Rows of W^T."""
    own = of_part_at(record)
    part = part_at(own.part)
    seen(part, q, u)
    call_matrix(own.function, t, part.q, part.u, p, part.WT)
    for k in range(part.rows.size):
        out[part.rows[k]] = 0.0
        for j in range(part.u.size):
            out[part.rows[k], part.to_u[j]] = part.WT[k, j]
