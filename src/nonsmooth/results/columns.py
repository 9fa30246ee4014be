"""The columns of a run that are shown: all of a short run, the telling ones of a long one, more where steps are long.

Memory stays bounded: a streamed run is read piece by piece, and of each piece only the telling columns are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth.results.events import Event, count_kinds, event_times
from nonsmooth.results.thinning import extremes, jumps

FIELDS = ("q", "u", "y", "P_N", "P_T", "modes")
STEP_FIELDS = ("dt", "order", "residual", "iterations")
#: Numbers the plots of a report may hold, and rows of each field that are plotted.
BUDGET = 120_000
MAX_LINES = 12
MAX_EVENTS = 2000
_DENSE = 600  # points over the span below which long steps are filled in


@dataclass
class Columns:
    """Columns of a run in order of time; fields as in `Result`, empty where there is nothing."""

    t: np.ndarray
    fields: dict[str, np.ndarray]
    events: list[Event] = field(default_factory=list)
    event_counts: dict[str, int] = field(default_factory=dict)
    total: int = 0
    filled: np.ndarray | None = None  # True for columns between the stored ones

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def thinned(self) -> bool:
        """Whether columns were left out."""
        stored = self.t.size if self.filled is None else int(np.count_nonzero(~self.filled))
        return stored < self.total

    @property
    def n_events(self) -> int:
        return sum(self.event_counts.values())


def kept_columns(result: Any, budget: int = BUDGET, t_span: tuple[float, float] | None = None) -> Columns:
    """The columns of `result` that pictures show.

    Parameters
    ----------
    result : Result or anything with its fields
    budget : int
        About how many numbers may be kept for plots.
    t_span : (float, float), optional
        Only columns between these instants.
    """
    total = len(result) if hasattr(result, "_reader") else int(np.size(result.t))
    if t_span is not None and not hasattr(result, "_reader"):
        total = int(np.count_nonzero(_inside(np.asarray(result.t), t_span)))
    columns = _gather(result, total, budget, t_span)
    if columns.t.size > 1 and columns.t[-1] < columns.t[0]:
        columns = _turned(columns)
    return _filled_in(columns, result)


# --- choice -----------------------------------------------------------------------------------------------


def _pieces(result: Any) -> Iterator[tuple[Mapping[str, np.ndarray], Sequence[Event]]]:
    reader = getattr(result, "_reader", None)
    if reader is not None:
        wanted = [name for name in ("t", *FIELDS, *STEP_FIELDS) if name in reader.head["layout"]]
        yield from reader.pieces(only=(*wanted, "events"))
        return
    whole = {"t": np.asarray(result.t)}
    for name in (*FIELDS, *STEP_FIELDS):
        value = getattr(result, name, None)
        if value is not None and np.size(value):
            whole[name] = np.asarray(value)
    if "q" in whole:
        whole.pop("y", None)
    if np.iscomplexobj(whole.get("y", 0.0)):
        whole["y"] = np.vstack([whole["y"].real, whole["y"].imag])
    yield whole, getattr(result, "events", None) or ()


def _inside(t: np.ndarray, t_span: tuple[float, float]) -> np.ndarray:
    return (t >= min(t_span)) & (t <= max(t_span))


def _gather(result: Any, total: int, budget: int, t_span: tuple[float, float] | None) -> Columns:
    """One pass over the pieces of a run."""
    parts: dict[str, list[np.ndarray]] = {}
    events: list[Event] = []
    counts: dict[str, int] = {}
    offset = 0
    for piece, some in _pieces(result):
        if t_span is not None:
            inside = _inside(piece["t"], t_span)
            piece = {name: values[..., inside] for name, values in piece.items()}
            some = [event for event in some if min(t_span) <= event.t <= max(t_span)]
        n = piece["t"].size
        keep = _telling(piece, event_times(some), offset, total, budget)
        for name, values in piece.items():
            if values.size:
                parts.setdefault(name, []).append(np.array(values[..., keep]))
        for kind, count in count_kinds(some).items():
            counts[kind] = counts.get(kind, 0) + count
        events += list(some[: max(MAX_EVENTS - len(events), 0)])
        offset += n
    arrays = {name: np.concatenate(values, axis=-1) for name, values in parts.items()}
    t = arrays.pop("t", np.zeros(0))
    for name in FIELDS:
        arrays.setdefault(name, np.zeros((0, t.size)))
    for name in STEP_FIELDS:
        arrays.setdefault(name, np.zeros(0))
    return Columns(t, arrays, events, counts, total)


def _telling(
    piece: Mapping[str, np.ndarray], instants: np.ndarray, offset: int, total: int, budget: int
) -> np.ndarray:
    """Columns of a piece to keep: half evenly spaced, the rest extremes, jumps and the neighbourhood of events."""
    n = piece["t"].size
    shown = [piece[name][:MAX_LINES] for name in ("q", "u", "y", "P_N", "P_T") if name in piece]
    n_rows = max(sum(len(rows) for rows in shown), 1)
    capacity = min(max(budget // n_rows, 600), 20_000)
    if total <= capacity or n < 3:
        return np.arange(n)
    share = capacity * n / total
    stride = max(2 * total // capacity, 1)
    chosen = [np.arange(-offset % stride, n, stride)]
    bins = max(int(share / (8 * n_rows)), 1)
    chosen += [extremes(rows, bins) for rows in shown]
    chosen += [jumps(piece[name][:MAX_LINES], bins) for name in ("u", "y") if name in piece]
    room = max(int(share / 16), 1)
    if instants.size > room:
        instants = instants[np.linspace(0, instants.size - 1, room).astype(int)]
    order = 1 if piece["t"][-1] >= piece["t"][0] else -1
    at = np.searchsorted(order * piece["t"], order * instants)
    chosen += [np.clip(at + k, 0, n - 1) for k in (-2, -1, 0, 1)]
    if offset + n >= total:
        chosen.append(np.array([n - 1]))
    return np.unique(np.concatenate(chosen))


def _turned(columns: Columns) -> Columns:
    """A run backward in time, read forward."""
    fields = {name: values[..., ::-1] for name, values in columns.fields.items()}
    return Columns(columns.t[::-1], fields, columns.events[::-1], columns.event_counts, columns.total)


# --- long steps -------------------------------------------------------------------------------------------


def _filled_in(columns: Columns, result: Any) -> Columns:
    """Columns between the stored ones where a step is long and the motion in it is known to high order."""
    t = columns.t
    if t.size < 2 or t.size > 4 * _DENSE or columns.thinned:
        return columns
    curve = _curve(columns, result)
    if curve is None:
        return columns
    length = np.diff(t)
    inner = np.minimum(np.ceil(length * _DENSE / max(t[-1] - t[0], 1e-300)).astype(int) - 1, 200)
    inner = np.where(length > 0, np.maximum(inner, 0), 0)
    if columns.order.size == t.size and columns.q.size:
        inner[columns.order[1:] <= 1] = 0
    step = np.repeat(np.arange(inner.size), inner)
    if step.size == 0:
        return columns
    first = np.concatenate([[0], np.cumsum(inner)[:-1]])
    theta = (np.arange(step.size) - first[step] + 1) / (inner[step] + 1)
    between = t[step] + theta * length[step]
    new = curve(step, theta, between)
    place = step + 1
    fields = {}
    for name, values in columns.fields.items():
        if not values.size:
            fields[name] = np.zeros(
                values.shape[:-1] + ((t.size + step.size) * (values.ndim == 2),), values.dtype
            )
            continue
        inserted = new.get(name)
        if inserted is None:
            inserted = values[..., place]  # dt, order, modes of the step that ends there
            if name in ("P_N", "P_T"):
                inserted = np.zeros_like(inserted)
        fields[name] = np.insert(values, place, inserted, axis=-1)
    filled = np.insert(np.zeros(t.size, dtype=bool), place, True)
    return Columns(
        np.insert(t, place, between), fields, columns.events, columns.event_counts, columns.total, filled
    )


def _curve(columns: Columns, result: Any) -> Any:
    """Function (step, theta, t) -> values of the moving fields inside steps, or None."""
    sol, make = getattr(result, "sol", None), getattr(result, "_curve", None)
    if sol is None and make is not None:
        sol = make()
    if columns.q.size == 0 and callable(sol) and not np.iscomplexobj(result.y):
        return lambda step, theta, between: {"y": sol(between)}
    if columns.y.size:
        return _spline(columns.t, columns.y)
    if columns.q.shape != columns.u.shape or columns.order.size != columns.t.size or columns.order.max() < 2:
        return None
    return _hermite(columns.t, columns.q, columns.u)


def _hermite(t: np.ndarray, q: np.ndarray, u: np.ndarray) -> Any:
    """Cubic Hermite pieces from positions and velocities at the ends of a step."""

    def curve(step: np.ndarray, x: np.ndarray, between: np.ndarray) -> dict[str, np.ndarray]:
        h = np.diff(t)[step]
        q_0, q_1, u_0, u_1 = q[:, step], q[:, step + 1], u[:, step], u[:, step + 1]
        rise = (q_1 - q_0) / h
        b, c = 3 * rise - 2 * u_0 - u_1, u_0 + u_1 - 2 * rise
        return {"q": q_0 + h * x * (u_0 + x * (b + x * c)), "u": u_0 + x * (2 * b + 3 * x * c)}

    return curve


def _spline(t: np.ndarray, y: np.ndarray) -> Any:
    """Cubic splines between instants that are stored twice."""
    from scipy.interpolate import CubicSpline

    edges = np.flatnonzero(np.diff(t) == 0) + 1
    begins, ends = np.append(0, edges), np.append(edges, t.size)
    if not np.all(np.isfinite(y)):
        return None

    def curve(step: np.ndarray, theta: np.ndarray, between: np.ndarray) -> dict[str, np.ndarray]:
        values = np.empty((y.shape[0], step.size))
        for begin, end in zip(begins, ends):
            inside = (step >= begin) & (step < end - 1)
            if inside.any():
                values[:, inside] = CubicSpline(t[begin:end], y[:, begin:end], axis=1)(between[inside])
        return {"y": values}

    return curve
