"""Mode changes as a loop records them, turned into typed events.

A unilateral contact is *closed* in constraint mode. One that closes in a step and is open in the next has closed and
reopened at once: an impact. Friction that appears or disappears with its contact is no event of its own.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core import laws as codes
from nonsmooth.results.events import EventTable, kind_code


def event_table(raw: np.ndarray, times: np.ndarray, laws, breakpoints=()) -> EventTable:
    """Events of a run.

    Parameters
    ----------
    raw : ndarray of int, shape (n, 4)
        Step number, law, mode before, mode after; in order of steps.
    times : ndarray, shape (n, 2)
        Begin and end of the step in which the new mode holds. The switching point lies in that step or in the one
        before (Studer et al. 2008, eq. (36)); its begin is the best single estimate.
    laws : LawTable
    breakpoints : sequence of float
        Declared discontinuities in time that were passed.
    """
    n = raw.shape[0]
    kind = np.full(n, 255, dtype=np.int64)
    law = raw[:, 1]
    kinds = laws.kind[law] if n else np.zeros(0, dtype=np.int64)
    before, after = raw[:, 2], raw[:, 3]
    unilateral = kinds == codes.HALF_LINE
    kind[unilateral & (after == 1)] = kind_code("close")
    kind[unilateral & (after != 1)] = kind_code("open")
    other = ~unilateral & (before != 0) & (after != 0)
    kind[other & (after == 1)] = kind_code("stick")
    kind[other & (before == 1)] = kind_code("slip")
    kind[other & (before != 1) & (after != 1)] = kind_code("reversal")
    after = after.copy()

    # closed for a single step only: close and open become one impact
    for l in np.flatnonzero(laws.kind == codes.HALF_LINE):
        mine = np.flatnonzero(law == l)
        close = mine[:-1][
            (kind[mine[:-1]] == kind_code("close")) & (raw[mine[1:], 0] == raw[mine[:-1], 0] + 1)
        ]
        opened = mine[1:][
            (kind[mine[:-1]] == kind_code("close")) & (raw[mine[1:], 0] == raw[mine[:-1], 0] + 1)
        ]
        kind[close] = kind_code("impact")
        kind[opened] = 255
        after[close] = raw[opened, 3]

    keep = kind != 255
    width = times[:, 1] - times[:, 0]
    bracket = np.vstack([times[:, 0] - width, times[:, 1]])
    columns = [times[keep, 0], kind[keep], law[keep], before[keep], after[keep], bracket[0, keep], bracket[1, keep]]
    if len(breakpoints):
        instants = np.asarray(breakpoints, dtype=np.float64)
        none = np.zeros(instants.size, dtype=np.int64)
        declared = [instants, none + kind_code("breakpoint"), none - 1, none, none, instants, instants]
        columns = [np.concatenate(pair) for pair in zip(columns, declared)]
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] for column in columns]
    return EventTable(*columns[:5], names=laws.name, bracket=np.vstack(columns[5:]))
