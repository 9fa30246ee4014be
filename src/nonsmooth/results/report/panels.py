"""The time plots of a report: one panel per quantity, all on the same instants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonsmooth.results.columns import MAX_LINES, Columns
from nonsmooth.results.report.encode import curve, packed
from nonsmooth.results.row_names import impulse_names, mode_looks, state_names, velocity_names
from nonsmooth.results.thinning import mode_spans

_MAX_STRIPS = 40
_EVALUATIONS = 3000  # columns at which energy and gaps are computed


def panels(columns: Columns, result: Any, model: Any) -> list[dict[str, Any]]:
    """All panels that have something to show, ready for JSON."""
    found = [
        _lines("position q", columns.q, state_names(result, columns)),
        _lines("velocity u", columns.u, velocity_names(result, columns)),
        _lines("state y", columns.y, state_names(result, columns)),
        _gaps(columns, result, model),
        _lines("impulse P_N", columns.P_N, impulse_names(result, columns, "P_N"), "stems"),
        _lines("impulse P_T", columns.P_T, impulse_names(result, columns, "P_T"), "stems"),
        _energy(columns, model),
        _modes(columns, result),
        _steps(columns),
        _order(columns),
    ]
    return [panel for panel in found if panel is not None]


def _lines(
    label: str, values: np.ndarray, names: Sequence[str], kind: str = "lines", scale: str = "linear"
) -> dict[str, Any] | None:
    if not values.size:
        return None
    rows = values[:MAX_LINES]
    series = [{"name": str(name), **curve(np.asarray(row, float))} for name, row in zip(names, rows)]
    return {
        "label": label, "kind": kind, "scale": scale, "series": series, "left_out": len(values) - len(rows),
    }  # fmt: skip


def _sample(columns: Columns, cost: int) -> np.ndarray:
    """Columns at which a model is asked, evenly spread and around events."""
    n = columns.t.size
    most = int(min(_EVALUATIONS, max(2e8 / max(cost, 1), 50)))
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).astype(int))


def _spread(columns: Columns, at: np.ndarray, values: np.ndarray) -> np.ndarray:
    rows = np.full((values.shape[0], columns.t.size), np.nan)
    rows[:, at] = values
    return rows


def _gaps(columns: Columns, result: Any, model: Any) -> dict[str, Any] | None:
    if model is None or not columns.q.size or not model.laws.n_N:
        return None
    at = _sample(columns, columns.q.shape[0])
    found = np.stack([np.atleast_1d(model.gaps(columns.t[k], columns.q[:, k])) for k in at], axis=1)
    return _lines("gap g_N", _spread(columns, at, found), impulse_names(result, columns, "P_N"))


def energies(t: np.ndarray, q: np.ndarray, u: np.ndarray, model: Any) -> np.ndarray:
    """Kinetic and, where the model has a potential, potential energy and their sum; shape (1 or 3, n)."""
    kinetic = (
        model.kinetic_energies(u.T)
        if hasattr(model, "kinetic_energies")
        else np.array(
            [0.5 * float(u[:, k] @ model.mass_matrix(t[k], q[:, k]) @ u[:, k]) for k in range(t.size)]
        )
    )
    ask = getattr(model, "potential_energy", None)
    potential = [None if ask is None else ask(t[k], q[:, k]) for k in range(t.size)]
    if any(value is None for value in potential):
        return kinetic[None]
    return np.stack([kinetic, np.array(potential, dtype=float), kinetic + np.array(potential, dtype=float)])


def _energy(columns: Columns, model: Any) -> dict[str, Any] | None:
    if model is None or not columns.u.size:
        return None
    at = _sample(columns, columns.u.shape[0] ** 2)
    found = energies(columns.t[at], columns.q[:, at], columns.u[:, at], model)
    return _lines("energy", _spread(columns, at, found), ("kinetic", "potential", "total"))


def _modes(columns: Columns, result: Any) -> dict[str, Any] | None:
    """One strip per law: intervals of equal mode."""
    if not columns.modes.size:
        return None
    strips = []
    names = getattr(result, "law_names", None) or [f"switch {i}" for i in range(len(columns.modes))]
    for name, row in list(zip(names, columns.modes))[:_MAX_STRIPS]:
        spans = mode_spans(columns.t, row, signed=True)
        strips.append(
            {
                "name": str(name),
                "begin": packed([s[0] for s in spans], "f8"),
                "end": packed([s[1] for s in spans], "f8"),
                "mode": packed([s[2] + 8 for s in spans], "u1"),
            }
        )
    used = {int(mode) for mode in np.unique(columns.modes)}
    looks = mode_looks(result, columns)
    legend = [{"mode": m, "word": word, "colour": colour} for m, (word, colour) in looks.items() if m in used]
    return {
        "label": "modes", "kind": "modes", "strips": strips, "legend": legend,
        "left_out": len(columns.modes) - len(strips),
    }  # fmt: skip


def _steps(columns: Columns) -> dict[str, Any] | None:
    dt = columns.dt
    steps = dt[dt > 0]
    if not steps.size or np.ptp(steps) <= 1e-6 * steps.max():  # a constant step needs no picture
        return None
    values = np.where(dt > 0, dt, np.nan)
    return _lines(
        "step size dt", values[None], ("dt",), "steps", "log" if steps.max() > 5 * steps.min() else "linear"
    )


def _order(columns: Columns) -> dict[str, Any] | None:
    order = columns.order
    if not order.size or order.max() < 2 or order.min() == order.max():
        return None
    return _lines("order", np.where(order > 0, order, np.nan)[None].astype(float), ("order",), "steps")
