"""Events of a run in order of time; the records are made when they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from nonsmooth._core.events.records import EV_JUMP, EV_TOUCH, Log
from nonsmooth.results.events import Event, EventQuestions


class EventLog(Sequence[Event], EventQuestions):
    """A sequence of `Event`: the compiled loop's own log, and records added by hand.

    Parameters
    ----------
    names : sequence of str
        Names of the switching functions.
    n : int
        Number of states.
    """

    def __init__(self, names: Sequence[str], n: int):
        self._names, self._n = names, n
        self._records: list[Event] = []
        self._logs: list[tuple[Log, np.ndarray, frozenset[int]]] = []
        self._waiting = 0
        self._ordered = True

    def add(self, log: Log, unilateral: np.ndarray, resting: frozenset[int]) -> None:
        """Events of the compiled loop, with the state of the switches that they belong to."""
        self._logs.append((log, unilateral, resting))
        self._waiting += len(log.event)

    def append(self, event: Event) -> None:
        """Add a record."""
        self.records().append(event)
        self._ordered = False

    def replace_last(self, event: Event) -> None:
        """Put another record in place of the last one."""
        self.records()[-1] = event

    def keep_within(self, t_0: float, reach: float) -> None:
        """Drop the events further than `reach` from `t_0`."""
        self.records()[:] = [event for event in self.records() if abs(event.t - t_0) <= reach]

    def sort(self, reverse: bool = False) -> None:
        """Bring records that were added by hand to their place in time."""
        if not self._ordered:
            self.records().sort(key=attrgetter("t"), reverse=reverse)
            self._ordered = True

    def records(self) -> list[Event]:
        """All records."""
        for log, unilateral, resting in self._logs:
            for row, before, after in zip(log.event.tolist(), log.before, log.after):
                t, i, code, direction, iterations, rate = row
                kind = "touch" if code == EV_TOUCH else "switch"
                if kind == "switch" and unilateral[i]:
                    kind = "open" if i in resting else "impact"
                extra: dict[str, Any] = {
                    "direction": direction,
                    "iterations": iterations,
                    "rate": rate,
                    "jump": code == EV_JUMP,
                }
                self._records.append(Event(t, kind, self._names[i], before, after, i, None, extra))
        self._logs.clear()
        self._waiting = 0
        return self._records

    def __len__(self) -> int:
        return len(self._records) + self._waiting

    def __getitem__(self, index: Any) -> Any:
        return self.records()[index]

    def __iter__(self):
        return iter(self.records())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (EventLog, list, tuple)):
            return NotImplemented
        return self.records() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.records())
