"""Mode changes as a loop records them, turned into typed events.

A unilateral contact is *closed* in constraint mode. One that closes in a step and is open in the next has closed and
reopened at once: an impact. Likewise friction that sticks during a single located crossing between opposite slips has
reversed. Friction that appears or disappears with its contact is no event of its own.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from nonsmooth._core.records import laws as codes
from nonsmooth.results.events import EventTable, kind_code

NOTHING = 255


def _kinds() -> np.ndarray:
    """Kinds of events by group of the law (unilateral, held by a constraint, other) and by the modes before and after (-2 ... 2)."""
    table = np.full((3, 5, 5), NOTHING)
    modes = (-2, -1, 0, 1, 2)
    for before, after in product(modes, modes):
        closing = "impact" if before == 1 else "close"  # (an impact without collision)
        table[0, before, after] = kind_code(closing if after == 1 else "open")
        if before != 0 and after != 0:
            change = "slip" if before == 1 else "stick" if after == 1 else "reversal"
            table[1, before, after] = kind_code("reach" if after == 1 else change)
            table[2, before, after] = kind_code(change)
    return table


KINDS = _kinds()
GROUP = np.array([0 if kind == codes.HALF_LINE else 1 if kind == codes.FREE else 2 for kind in range(16)])


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
    law, before, after = raw[:, 1], raw[:, 2], raw[:, 3]
    kind = KINDS[GROUP[laws.kind[law]], before, after]
    after = after.copy()

    located = ~np.isnan(times[:, 2]) if times.shape[1] > 2 else np.zeros(n, dtype=bool)
    # closed for a single step only: close and open become one impact; stuck for a single crossing step between opposite
    # slips: a reversal
    for l in range(laws.n_laws):
        mine = np.flatnonzero(law == l)
        first, second = mine[:-1], mine[1:]
        adjacent = raw[second, 0] == raw[first, 0] + 1
        if laws.kind[l] == codes.HALF_LINE:
            pair = adjacent & (kind[first] == kind_code("close"))
            joined = kind_code("impact")
        else:
            pair = adjacent & (kind[first] == kind_code("stick")) & (before[first] == -raw[second, 3])
            pair &= located[first]
            joined = kind_code("reversal")
        kind[first[pair]] = joined
        kind[second[pair]] = NOTHING
        after[first[pair]] = raw[second[pair], 3]

    keep = kind != NOTHING
    width = times[:, 1] - times[:, 0]
    bracket = np.vstack([times[:, 0] - width, times[:, 1]])
    instant = np.where(located, times[:, -1], times[:, 0])
    columns = [
        instant[keep],
        kind[keep],
        law[keep],
        before[keep],
        after[keep],
        bracket[0, keep],
        bracket[1, keep],
    ]
    if len(breakpoints):
        instants = np.asarray(breakpoints, dtype=np.float64)
        none = np.zeros(instants.size, dtype=np.int64)
        declared = [instants, none + kind_code("breakpoint"), none - 1, none, none, instants, instants]
        columns = [np.concatenate(pair) for pair in zip(columns, declared)]
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] for column in columns]
    t, code, number, mode_before, mode_after, low, high = columns
    bounds = np.vstack([low, high])
    return EventTable(t, code, number, mode_before, mode_after, names=laws.name, bracket=bounds)


def accumulation_points(events: EventTable, laws) -> EventTable:
    """Instants at which impacts of one contact accumulate, as events of kind "zeno".

    Impacts whose intervals shrink by a constant factor r, followed by sustained contact, meet at
    t* = t_k + d_k r / (1 - r), d_k the interval before t_k. Intervals not much longer than the step that crosses an impact
    are distorted by it and are left out, as are the last ones, where bounces are as high as the rounding of a gap.

    Parameters
    ----------
    events : EventTable
        All events of a run.
    laws : LawTable
    """
    found: list[tuple[float, int, float, float]] = []
    if not np.any(events.kind == kind_code("close")):
        none = np.zeros(0)
        return EventTable(none, none, none, none, none, names=laws.name)
    width = events.bracket[1] - events.bracket[0]
    for l in np.flatnonzero(laws.kind == codes.HALF_LINE):
        mine = np.flatnonzero((events.law == l) & (events.kind != kind_code("zeno")))
        for end in np.flatnonzero(events.kind[mine] == kind_code("close")):
            begin = end
            while begin > 0 and events.kind[mine[begin - 1]] == kind_code("impact"):
                begin -= 1
            t, w = events.t[mine[begin:end]], width[mine[begin:end]]
            interval = np.diff(t)
            usable = np.flatnonzero(interval > 30 * w[1:])
            if usable.size < 3 or usable[-1] != usable.size - 1:
                continue
            ratio = interval[1 : usable.size] / interval[: usable.size - 1]
            for last in range(usable.size - 1, 1, -1):
                recent = ratio[max(last - 4, 0) : last]
                r = float(np.exp(np.mean(np.log(recent))))
                if np.ptp(recent) <= 0.1 * r:
                    break
            else:
                continue
            if not r < 0.999:
                continue
            rest = interval[last] * r / (1 - r)
            t_star = float(t[last + 1] + rest)
            t_close = float(events.t[mine[end]])
            if abs(t_close - t_star) > 0.5 * rest:
                continue
            if abs(t_close - t_star) <= 1e-3 * interval[last]:
                t_star = t_close  # one instant, not two that differ by rounding
            upper = float(max(events.bracket[1, mine[end]], t_star))
            found.append((t_star, int(l), float(t[last + 1]), upper))
    found.sort()
    n = len(found)
    table = np.array(found, dtype=np.float64).reshape(n, 4).T  # t*, law, bracket
    kinds = np.full(n, kind_code("zeno"), dtype=np.int64)
    return EventTable(table[0], kinds, table[1], np.zeros(n), np.ones(n), names=laws.name, bracket=table[2:])


def merged(first: EventTable, second: EventTable) -> EventTable:
    """Two tables in one, in order of time."""
    order = np.argsort(np.concatenate([first.t, second.t]), kind="stable")

    def column(name):
        return np.concatenate([getattr(first, name), getattr(second, name)], axis=-1)[..., order]

    t, kind, law, before, after = (column(name) for name in ("t", "kind", "law", "before", "after"))
    return EventTable(t, kind, law, before, after, names=first.names, bracket=column("bracket"))
