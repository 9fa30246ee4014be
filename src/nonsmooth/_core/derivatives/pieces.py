"""The pieces of the time axis on which the functions of a model are smooth: between start, breakpoints and end of a run.

Differences in time must not reach across a breakpoint, where a table has a kink and a force jumps, nor out of the span, where a function
may not exist. At t they stay inside the piece [a, b) that holds it:

    central, where  a <= t - near  and  t + near < b;     else ahead, where  t + far < b;     else behind, where  a <= t - far,

`near` the reach of the central stencil, `far` that of the one-sided one. The last piece has its end, too. The borders of a run are kept
in a cell (`compiler.arrays`), since compiled functions of a model outlive its runs.
"""

from collections.abc import Iterable

import numpy as np

from nonsmooth._core.jit import array_in, float64, i8_1, int64, kernel, new_cell, put, types

CENTRAL, AHEAD, BEHIND, NOWHERE = 0, 1, -1, 2


@kernel(types.UniTuple(float64, 2)(i8_1, float64), references=False)
def piece_around(cell, t):
    """(a, b): the piece that holds t; the first or the last one outside of the span, all of time if there are no borders."""
    borders = array_in(cell)
    n = borders.size
    if n < 2:
        return -float("inf"), float("inf")
    low, high = 1, n - 1  # borders[k - 1] <= t < borders[k] for the k that is looked for
    while low < high:
        k = (low + high) // 2
        if borders[k] <= t:
            low = k + 1
        else:
            high = k
    return borders[low - 1], borders[low]


@kernel(int64(float64, float64, float64, float64, float64), references=False)
def side_of_stencil(t, a, b, near, far):
    """Where the nodes of a difference at t may lie: around it, ahead of it, behind it, or nowhere."""
    if a <= t - near and t + near < b:
        return CENTRAL
    if t + far < b:
        return AHEAD
    return BEHIND if a <= t - far else NOWHERE


class Pieces:
    """The pieces of a run; all of time before the first one.

    Attributes
    ----------
    cell : cell
        For compiled functions.
    borders : ndarray
        Start, breakpoints and end.
    """

    def __init__(self) -> None:
        self.cell = new_cell()
        self.cut(())

    def cut(self, borders: Iterable[float]) -> None:
        """Take the borders of another run."""
        self.borders = np.unique(np.array([*borders], dtype=np.float64))
        put(self.cell, self.borders)

    def around(self, t: float) -> tuple[float, float]:
        """The piece that holds t."""
        return piece_around(self.cell, t)
