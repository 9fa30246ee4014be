"""Tables of elements: whom each joins, which row of the model it writes, where its numbers begin among the parameters.

The numbers of elements stand in the flat parameters p, so that changing them compiles and builds nothing anew.
"""

from typing import NamedTuple

import numpy as np

from nonsmooth._core.bodies.frames import Frames, make_frames
from nonsmooth._core.jit import by_reference, phase


class Table(NamedTuple):
    """Elements of one type."""

    frames: Frames  # of all bodies and nodes
    fixed: np.ndarray  # what does not move of them
    a: np.ndarray  # the body that carries the frame of the element
    b: np.ndarray  # the other one
    row: np.ndarray  # where its value goes
    at: np.ndarray  # where its numbers begin in p


def _example():
    integers = np.zeros(1, dtype=np.int64)
    return Table(make_frames(1), np.zeros((1, 1)), integers, integers, integers, integers)


_, table_at = by_reference(_example())


@phase
def clear_row(table, k, out):
    """Zeros in the row of W^T of element k."""
    out[table.row[k], :] = 0.0
