"""Where the steps of a run went, and why: ``print(result.profile())``.

Small steps are those below a tenth of the typical one (half of the time is passed in longer ones). Steps that are small in a row are one
place; what happened there names the cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth.results.events import counts_text
from nonsmooth.results.notebook import Shown

SMALL = 0.1  # of the typical step
APART = 3  # places with fewer long steps between them are one
CHATTER = 10  # changes of one law in a place that are no impacts
ACCUMULATION = 5  # impacts of one contact in a place


@dataclass
class Place:
    """Steps that were small in a row.

    Attributes
    ----------
    t_begin, t_end : float
    steps : int
    share : float
        Of the steps of the run.
    smallest : float
        Shortest step.
    why : str
    """

    t_begin: float
    t_end: float
    steps: int
    share: float
    smallest: float
    why: str


@dataclass
class Profile(Shown):
    """What a run spent its steps on.

    Attributes
    ----------
    steps, rejected, base_steps : int
    typical : float
        Typical step: half of the time is passed in longer ones.
    laws : dict
        Events of each law by kind.
    places : list of Place
        Where steps were small, the most expensive first.
    accumulations : list of (float, float, str)
        First impact, accumulation point and name of the contact.
    chatter : list of Place
        Those places in which a law changed its mode again and again.
    """

    steps: int
    rejected: int
    base_steps: int
    typical: float
    laws: dict[str, dict[str, int]]
    places: list[Place] = field(default_factory=list)
    accumulations: list[tuple[float, float, str]] = field(default_factory=list)

    @property
    def chatter(self) -> list[Place]:
        return [place for place in self.places if place.why.startswith("chatter")]

    def __str__(self) -> str:
        lines = [
            f"steps      {self.steps}, rejected {self.rejected}, base steps {self.base_steps}; typical step {self.typical:.3g}"
        ]
        for name, kinds in self.laws.items():
            lines.append(f"{name or 'other':<10} {counts_text(kinds)}")
        for t_begin, t_star, name in self.accumulations:
            lines.append(f"impacts of {name!r} accumulate from t = {t_begin:.9g} to {t_star:.9g}")
        if self.places:
            lines.append(f"{'from':>14} {'to':>14} {'steps':>8} {'share':>6} {'smallest':>9}  why")
        for place in self.places[:12]:
            lines.append(
                f"{place.t_begin:14.8g} {place.t_end:14.8g} {place.steps:8d} {place.share:6.1%} {place.smallest:9.2g}  {place.why}"
            )
        if len(self.places) > 12:
            lines.append(f"... {len(self.places) - 12} more places")
        return "\n".join(lines)


def profile(result: Any) -> Profile:
    """The profile of a run, from its stored steps and events."""
    t = np.asarray(result.t, dtype=float)
    dt = np.asarray(result.dt, dtype=float)
    if dt.size != t.size:
        dt = np.concatenate([[0.0], np.abs(np.diff(t))])[: t.size]
    laws: dict[str, Counter] = {}
    for event in result.events:
        laws.setdefault(event.name, Counter())[event.kind] += 1
    typical = _typical(dt[dt > 0])
    places = [_place(result, t, dt, rows) for rows in _rows_of_places(dt, SMALL * typical)]
    places.sort(key=lambda place: -place.steps)
    return Profile(
        result.nsteps or max(t.size - 1, 0), result.nrejected, result.nbase, typical,
        {name: dict(kinds) for name, kinds in laws.items()}, places, _accumulations(result.events),
    )  # fmt: skip


def _typical(dt: np.ndarray) -> float:
    """Half of the time is passed in longer steps."""
    if dt.size == 0:
        return 0.0
    sizes = np.sort(dt)
    return float(sizes[np.searchsorted(np.cumsum(sizes), 0.5 * np.sum(sizes))])


def _rows_of_places(dt: np.ndarray, limit: float) -> list[np.ndarray]:
    """Rows of steps that are small in a row."""
    small = np.flatnonzero((dt > 0) & (dt < limit))
    if small.size == 0:
        return []
    return np.split(small, np.flatnonzero(np.diff(small) > APART) + 1)


def _place(result: Any, t: np.ndarray, dt: np.ndarray, rows: np.ndarray) -> Place:
    begin, end = float(t[rows[0]] - dt[rows[0]]), float(t[rows[-1]])
    reach = float(dt[min(rows[-1] + 1, dt.size - 1)])
    near = [event for event in result.events if begin - reach <= event.t <= end + reach]
    share = rows.size / max(result.nsteps or t.size - 1, 1)
    return Place(begin, end, int(rows.size), share, float(dt[rows].min()), _why(near))


def _why(near: list) -> str:
    """What made steps small beside these events."""
    if not near:
        return "error control: fast motion, stiff or rough forces"
    impacts = Counter(event.name for event in near if event.kind == "impact")
    others = Counter(
        event.name for event in near if event.kind in ("stick", "slip", "reversal", "open", "close", "switch")
    )
    name, count = impacts.most_common(1)[0] if impacts else ("", 0)
    if count >= ACCUMULATION or any(event.kind == "zeno" for event in near):
        return f"accumulation of impacts of {name or near[0].name!r} ({count})"
    name, count = others.most_common(1)[0] if others else ("", 0)
    if count >= CHATTER:
        return f"chatter of {name!r} ({count} changes)"
    kinds = Counter(f"{event.kind} of {event.name!r}" if event.name else event.kind for event in near)
    return "events: " + ", ".join(f"{n} {what}" if n > 1 else what for what, n in kinds.most_common(3))


def _accumulations(events: Any) -> list[tuple[float, float, str]]:
    """First impact, accumulation point and contact of each "zeno" event."""
    found = []
    for zeno in (event for event in events if event.kind == "zeno"):
        before = [event for event in events if event.name == zeno.name and event.t <= zeno.t]
        begin = zeno.t
        for event in reversed(before):
            if event.kind in ("open", "close") and event.t < zeno.t - 1e-9 * abs(zeno.t):
                break
            if event.kind == "impact":
                begin = event.t
        found.append((begin, zeno.t, zeno.name))
    return found
