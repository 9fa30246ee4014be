"""Events of a run: instants at which a law changes its mode, a switch fires, or time is cut.

`Event` is one record. `EventTable` holds many of them column by column, as a compiled loop leaves them, and
makes the records on access, so that ten million events cost a few hundred megabytes and not ten gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ShapeError

#: Every kind an event can have; the position is its code in files and in compiled loops.
EVENT_KINDS: tuple[str, ...] = (
    "impact",  # a contact closes and opens again at once
    "close",  # a contact closes and stays closed
    "open",  # a closed contact opens
    "stick",  # friction: slip ends
    "slip",  # friction: slip begins
    "reversal",  # friction: the slip direction changes sign
    "touch",  # a gap or switch function touches zero without crossing
    "zeno",  # infinitely many events accumulate here
    "switch",  # a switch function or region boundary is crossed
    "breakpoint",  # a declared discontinuity in time
    "event",  # asked for by the user
    "reach",  # a constraint that was violated at the start is met
)
_CODE = {kind: code for code, kind in enumerate(EVENT_KINDS)}


@dataclass(frozen=True, eq=False)
class Event:
    """One event.

    Parameters
    ----------
    t : float
        Instant, the best estimate inside `bracket`.
    kind : str
        One of `EVENT_KINDS`.
    name : str
        Name of the law, switch or breakpoint.
    before, after : int, float, ndarray or None
        Modes of the law, or states, on both sides.
    law : int
        Row of ``result.modes``, -1 if the event belongs to no law.
    bracket : tuple of float, optional
        Interval that certainly holds the instant; ``(t, t)`` if not given.
    extra : dict
        Anything a method wants to add (iterations, residual, direction, ...).
    """

    t: float
    kind: str
    name: str = ""
    before: Any = None
    after: Any = None
    law: int = -1
    bracket: tuple[float, float] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_kind(self.kind)
        if self.bracket is None:
            object.__setattr__(self, "bracket", (self.t, self.t))

    def __repr__(self) -> str:
        side = f", {_short(self.before)} -> {_short(self.after)}"
        return f"Event(t={self.t:.12g}, {self.kind}, {self.name!r}{side})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (
            (self.t, self.kind, self.name, self.law) == (other.t, other.kind, other.name, other.law)
            and self.bracket == other.bracket
            and _same(self.before, other.before)
            and _same(self.after, other.after)
        )

    __hash__ = None  # type: ignore[assignment]


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"array{value.shape}"
    return np.array2string(value, precision=6) if isinstance(value, np.ndarray) else repr(value)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind in "fc")


class EventTable(Sequence[Event]):
    """Events column by column; behaves as a sequence of `Event` in order of time.

    Parameters
    ----------
    t : ndarray, shape (n,)
    kind : ndarray of int, shape (n,)
        Codes, positions in `EVENT_KINDS`.
    law : ndarray of int, shape (n,)
        Row of ``result.modes`` or -1.
    before, after : ndarray of int, shape (n,)
        Modes on both sides.
    names : sequence of str
        Name of each law; an event of law i is called ``names[i]``.
    bracket : ndarray, shape (2, n), optional
    """

    def __init__(
        self,
        t: np.ndarray,
        kind: np.ndarray,
        law: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        names: Sequence[str] = (),
        bracket: np.ndarray | None = None,
    ) -> None:
        self.t = np.asarray(t, dtype=np.float64)
        self.kind = np.asarray(kind, dtype=np.uint8)
        self.law = np.asarray(law, dtype=np.int64)
        self.before = np.asarray(before, dtype=np.int8)
        self.after = np.asarray(after, dtype=np.int8)
        self.names = tuple(names)
        self.bracket = (
            np.vstack([self.t, self.t]) if bracket is None else np.asarray(bracket, dtype=np.float64)
        )
        n = self.t.size
        for label, column in (
            ("kind", self.kind),
            ("law", self.law),
            ("before", self.before),
            ("after", self.after),
        ):
            if column.shape != (n,):
                raise ShapeError(
                    f"column `{label}` of the event table has shape {column.shape}, wanted ({n},)."
                )
        if self.bracket.shape != (2, n):
            raise ShapeError(f"`bracket` of the event table has shape {self.bracket.shape}, wanted (2, {n}).")
        if n and self.kind.max() >= len(EVENT_KINDS):
            raise InputError(
                f"event kind code {self.kind.max()} is unknown, codes end at {len(EVENT_KINDS) - 1}."
            )

    def __len__(self) -> int:
        return int(self.t.size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._record(i) for i in range(*index.indices(len(self)))]
        i = int(index)
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(f"event {index} of {len(self)}")
        return self._record(i)

    def __iter__(self) -> Iterator[Event]:
        return (self._record(i) for i in range(len(self)))

    def _record(self, i: int) -> Event:
        law = int(self.law[i])
        return Event(
            t=float(self.t[i]),
            kind=EVENT_KINDS[self.kind[i]],
            name=self.names[law] if 0 <= law < len(self.names) else "",
            before=int(self.before[i]),
            after=int(self.after[i]),
            law=law,
            bracket=(float(self.bracket[0, i]), float(self.bracket[1, i])),
        )

    def of(self, kind: str | None = None, name: str | None = None) -> EventTable:
        """Those of one kind, of one law, or both: ``events.of("impact", name="beak")``."""
        chosen = np.ones(len(self), dtype=bool) if kind is None else self.kind == checked_kind(kind)
        if name is not None:
            laws = [law for law, other in enumerate(self.names) if other == name]
            chosen = chosen & np.isin(self.law, laws)
        t, kinds, law, before, after = (
            column[chosen] for column in (self.t, self.kind, self.law, self.before, self.after)
        )
        return EventTable(t, kinds, law, before, after, self.names, self.bracket[:, chosen])

    def between(self, t_begin: float, t_end: float) -> EventTable:
        """Those from t_begin to t_end."""
        chosen = (self.t >= t_begin) & (self.t <= t_end)
        columns = (self.t, self.kind, self.law, self.before, self.after)
        t, kinds, law, before, after = (column[chosen] for column in columns)
        return EventTable(t, kinds, law, before, after, self.names, self.bracket[:, chosen])

    def __repr__(self) -> str:
        return f"EventTable({len(self)} events: {counts_text(count_kinds(self))})"


class EventQuestions(Iterable[Event]):
    """What an `EventTable` answers, for sequences of single records."""

    @property
    def t(self) -> np.ndarray:
        """Instants, shape (n,)."""
        return np.array([event.t for event in self], dtype=np.float64)

    def of(self, kind: str | None = None, name: str | None = None) -> EventList:
        """Those of one kind, of one name, or both: ``events.of("switch", name="relay")``."""
        if kind is not None:
            checked_kind(kind)
        return EventList(event for event in self if kind in (None, event.kind) and name in (None, event.name))


class EventList(list[Event], EventQuestions):
    """Events one by one, with the questions that an `EventTable` answers."""


def checked_kind(kind: str) -> int:
    """Code of a kind that a user has written."""
    if kind not in _CODE:
        raise InputError(f"`kind` of an event is {kind!r}; use one of {', '.join(EVENT_KINDS)}.")
    return _CODE[kind]


def kind_code(kind: str) -> int:
    """Code of a kind, its position in `EVENT_KINDS`."""
    return _CODE[kind]


def count_kinds(events: Iterable[Event]) -> dict[str, int]:
    """Number of events of each kind that occurs, in the order of `EVENT_KINDS`."""
    if isinstance(events, EventTable):
        numbers = np.bincount(events.kind, minlength=len(EVENT_KINDS))
        return {kind: int(n) for kind, n in zip(EVENT_KINDS, numbers) if n}
    counts: dict[str, int] = {}
    for event in events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    return {kind: counts[kind] for kind in EVENT_KINDS if kind in counts}


def event_times(events: Iterable[Event]) -> np.ndarray:
    """Instants of all events, shape (n,)."""
    if isinstance(events, EventTable):
        return events.t
    return np.array([event.t for event in events], dtype=np.float64)


def counts_text(counts: Mapping[str, int]) -> str:
    """``'3 impact, 1 stick'``, or ``'none'``."""
    return ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none"
