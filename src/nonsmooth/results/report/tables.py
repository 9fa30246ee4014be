"""The tables of a report: events with the values on both sides, parameters, versions."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from nonsmooth.results.columns import Columns
from nonsmooth.results.report.encode import text
from nonsmooth.results.report.summary import number
from nonsmooth.results.row_names import mode_words, state_names, velocity_names

MAX_ROWS = 1000
_MAX_SIDES = 4


def table(head: list[str], rows: list[list[str]], label: str) -> str:
    """An HTML table; cells are HTML already."""
    if not rows:
        return ""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table aria-label="{text(label)}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def pairs(values: dict[str, Any], label: str) -> str:
    """A table of names and values."""
    return table(
        ["name", "value"], [[text(key), text(_value(value))] for key, value in values.items()], label
    )


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=20)
    return number(value) if isinstance(value, (int, float, np.number)) else str(value)[:500]


def event_table(result: Any, columns: Columns) -> str:
    """Events in order of time; modes, and velocities (or states) on both sides."""
    words = mode_words(result, columns)
    sides = _Sides(result, columns)
    listed = columns.events[:MAX_ROWS]
    rows = []
    for event in listed:
        begin, end = event.bracket or (event.t, event.t)
        rows.append(
            [
                f'<button type="button" class="seek" data-t="{float(event.t)!r}">{event.t:.9g}</button>',
                f"{end - begin:.2g}" if end > begin else "",
                f'<span class="kind {text(event.kind)}">{text(event.kind)}</span>',
                text(event.name),
                *(_side(side, words) for side in (event.before, event.after)),
                sides.at(event.t),
            ]
        )
    changed = "velocity, before → after" if columns.u.size else "state, before → after"
    head = ["t", "within", "kind", "name", "mode before", "mode after", changed]
    shown = [any(row[i] not in ("", "–") for row in rows) for i in range(len(head))]
    if not any(_is_mode(side) for event in listed for side in (event.before, event.after)):
        shown[4] = shown[5] = False  # states, which the last column shows with their names
    html = table(
        [cell for cell, show in zip(head, shown) if show],
        [[cell for cell, show in zip(row, shown) if show] for row in rows],
        "events",
    )
    left = columns.n_events - len(rows)
    return html + (f'<p class="note">{number(left)} more events are not listed.</p>' if left > 0 else "")


def _is_mode(value: Any) -> bool:
    return value is not None and np.asarray(value).dtype.kind not in "fc"


def _side(value: Any, words: dict[int, str]) -> str:
    """A mode in words, a state in numbers."""
    if value is None:
        return "–"
    array = np.asarray(value)
    if array.ndim == 0 and array.dtype.kind in "iu":
        return text(words.get(int(array), int(array)))
    flat = array.ravel()
    shown = ", ".join(number(v) for v in flat[:_MAX_SIDES].tolist())
    return text(shown + (", …" if flat.size > _MAX_SIDES else ""))


class _Sides:
    """Values just before and just after an instant, for the rows that change most."""

    def __init__(self, result: Any, columns: Columns) -> None:
        self.t = columns.t
        self.values = columns.u if columns.u.size else columns.y
        self.names = velocity_names(result, columns) if columns.u.size else state_names(result, columns)

    def at(self, t: float) -> str:
        if self.t.size < 2:
            return ""
        left, right = int(np.searchsorted(self.t, t, "left")), int(np.searchsorted(self.t, t, "right"))
        # stored twice: left and right limit; else the columns on both sides
        left, right = (left, right - 1) if right - left >= 2 else (left - 1, min(right, self.t.size - 1))
        before, after = self.values[:, max(left, 0)], self.values[:, right]
        jump = np.abs(after - before)
        rows = range(len(before)) if len(before) <= _MAX_SIDES else np.sort(np.argsort(-jump)[:_MAX_SIDES])
        return "<br>".join(f"{text(self.names[i])}: {before[i]:.6g} → {after[i]:.6g}" for i in rows)


def versions() -> dict[str, str]:
    """Versions of what computed and of what shows the run."""
    import numpy
    import scipy

    from nonsmooth.results.plain import library_version
    from nonsmooth.results.report.vendored import UPLOT_VERSION

    return {
        "nonsmooth": library_version(), "Python": platform.python_version(), "NumPy": numpy.__version__,
        "SciPy": scipy.__version__, "uPlot (in this page)": UPLOT_VERSION,
    }  # fmt: skip
