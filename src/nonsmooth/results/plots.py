"""Pictures of a run: positions, velocities, impulses, mode strips, step size and order on one time axis.

The mode strips are drawn as in Fig. 13 of Studer, Leine, Glocker 2008: black is *constraint* mode, grey is
*impressed* mode, white is open. Figures are made without the state machine of pyplot, so that nothing
depends on a display and nothing stays open; a notebook shows the returned figure by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.events import event_times
from nonsmooth.results.thinning import thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nonsmooth.results.result import Result

#: Panels in the order of the picture.
PANELS = ("q", "u", "y", "P_N", "P_T", "modes", "dt", "order")

# Distinguishable for colour-blind readers (after Okabe and Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B6B6B", "#7A4B94")
_WHITE, _GREY, _BLACK = "#ffffff", "#b4b4b4", "#111111"
_INK, _FAINT = "#333333", "#dddddd"
_MAX_LINES = 8
_MAX_POINTS = 4000


def plot_result(
    result: Result,
    path: str | PathLike[str] | None = None,
    panels: Sequence[str] | None = None,
    coordinates: Sequence[int] | None = None,
    t_span: tuple[float, float] | None = None,
    title: str | None = None,
) -> Figure:
    """Picture of a run.

    Parameters
    ----------
    result : Result
    path : path-like, optional
        Where to write it; the ending chooses the format.
    panels : sequence of str, optional
        Which of `PANELS` to draw; default: all that hold something.
    coordinates : sequence of int, optional
        Which rows of q, u and y to draw; default: the first eight.
    t_span : tuple of float, optional
        Part of the time axis.
    title : str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not len(result):
        raise InputError("the result holds no instants, so there is nothing to plot.")
    chosen = _panels(result, panels)
    columns = _columns(result, t_span)
    heights = [_height(result, name) for name in chosen]
    figure = Figure(figsize=(9.0, sum(heights) + 0.9), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axis, name in zip(axes, chosen):
        _style(axis)
        _DRAW[name](axis, result, columns, coordinates)
        if name != "modes":
            _mark_events(axis, result)
        elif len(result.events) == 0 and not result.modes.any():
            axis.text(
                0.5, 0.5, "all laws open", transform=axis.transAxes, ha="center", va="center", color=_INK
            )
    axes[-1].set_xlabel("t")
    t = result.t[columns]
    if t[-1] > t[0]:
        axes[-1].set_xlim(*(t_span or (t[0], t[-1])))
    figure.suptitle(
        title if title is not None else _title(result), fontsize=10.5, color=_INK, x=0.01, ha="left"
    )
    figure.align_ylabels(list(axes))
    if path is not None:
        figure.savefig(path)
    return figure


def _title(result: Result) -> str:
    name = result.problem_name or ""
    steps = f"{result.nsteps} steps" if result.nsteps else ""
    found = f"{len(result.events)} events" if len(result.events) else ""
    state = "" if result.success else f"NOT SUCCESSFUL: {result.message}"[:80]
    return "  ·  ".join(part for part in (name, result.method, steps, found, state) if part)


def _panels(result: Result, panels: Sequence[str] | None) -> list[str]:
    """Panels that hold something, or those asked for."""
    if panels is not None:
        wrong = [name for name in panels if name not in PANELS]
        if wrong or not len(panels):
            raise InputError(f"`panels` is {list(panels)!r}; choose from {', '.join(PANELS)}.")
        empty = [name for name in panels if not np.size(getattr(result, name))]
        if empty:
            raise InputError(f"`panels` asks for {', '.join(empty)}, which this result does not hold.")
        return list(panels)
    chosen = [name for name in ("q", "u", "P_N", "P_T", "modes") if getattr(result, name).size]
    if not result.q.size:
        chosen.insert(0, "y")
    steps = result.dt[result.dt > 0]
    if steps.size and np.ptp(steps) > 1e-6 * steps.max():  # a constant step needs no picture
        chosen.append("dt")
    if result.order.size and result.order.max() > 1:
        chosen.append("order")
    return chosen


def _height(result: Result, name: str) -> float:
    if name == "modes":
        return 0.35 + 0.2 * result.modes.shape[0]
    return {"q": 1.9, "u": 1.9, "y": 2.6, "P_N": 1.3, "P_T": 1.3}.get(name, 1.1)


def _columns(result: Result, t_span: tuple[float, float] | None) -> np.ndarray:
    """Indices of the instants inside `t_span`."""
    if t_span is None:
        return np.arange(len(result))
    inside = np.flatnonzero((result.t >= t_span[0]) & (result.t <= t_span[1]))
    if not inside.size:
        raise InputError(
            f"`t_span` {t_span} holds no instant; the result covers {result.t[0]:.6g} ... {result.t[-1]:.6g}."
        )
    return inside


def _style(axis: Axes) -> None:
    axis.grid(True, color=_FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color("#999999")
    axis.tick_params(labelsize=8.5, colors=_INK, length=3)
    axis.margins(y=0.08)


def _mark_events(axis: Axes, result: Result) -> None:
    """Thin lines at the events, as long as they do not cover the picture."""
    instants = event_times(result.events)
    if 0 < instants.size <= 60:
        for instant in np.unique(instants):
            axis.axvline(instant, color="#bbbbbb", linewidth=0.5, zorder=0.5)


def _draw_lines(
    axis: Axes,
    result: Result,
    columns: np.ndarray,
    values: np.ndarray,
    names: Sequence[str],
    rows: Sequence[int],
) -> None:
    t = result.t[columns]
    for i, row in enumerate(rows):
        line = values[row, columns]
        parts = ((line.real, "-"), (line.imag, ":")) if np.iscomplexobj(line) else ((line, "-"),)
        for part, dash in parts:
            x, y = thin(t, part)
            label = names[row] if dash == "-" else None
            axis.plot(x, y, dash, color=_COLOURS[i % len(_COLOURS)], linewidth=1.1, label=label)
    if len(rows) > 1 or names[rows[0]] not in ("q[0]", "u[0]", "y[0]"):
        _legend(axis)


def _legend(axis: Axes) -> None:
    axis.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), fontsize=8, frameon=False, handlelength=1.2)


def _rows(n: int, coordinates: Sequence[int] | None) -> list[int]:
    if coordinates is None:
        return list(range(min(n, _MAX_LINES)))
    wrong = [i for i in coordinates if not -n <= i < n]
    if wrong:
        raise InputError(f"`coordinates` asks for row {wrong[0]}, there are {n} rows, numbered from 0.")
    return [int(i) % n for i in coordinates]


def _draw_q(axis: Axes, result: Result, columns: np.ndarray, coordinates: Sequence[int] | None) -> None:
    rows = _rows(result.q.shape[0], coordinates)
    _draw_lines(axis, result, columns, result.q, result.coordinate_names, rows)
    axis.set_ylabel("position q", fontsize=9)


def _draw_u(axis: Axes, result: Result, columns: np.ndarray, coordinates: Sequence[int] | None) -> None:
    n = result.u.shape[0]
    if n == result.q.shape[0]:
        default = all(name == f"q[{i}]" for i, name in enumerate(result.coordinate_names))
        names = [f"u[{i}]" if default else f"{name}'" for i, name in enumerate(result.coordinate_names)]
    else:
        names, coordinates = [f"u[{i}]" for i in range(n)], None
    _draw_lines(axis, result, columns, result.u, names, _rows(n, coordinates))
    axis.set_ylabel("velocity u", fontsize=9)


def _draw_y(axis: Axes, result: Result, columns: np.ndarray, coordinates: Sequence[int] | None) -> None:
    n = result.y.shape[0]
    names = result.coordinate_names if len(result.coordinate_names) == n else [f"y[{i}]" for i in range(n)]
    _draw_lines(axis, result, columns, result.y, names, _rows(n, coordinates))
    axis.set_ylabel("state y", fontsize=9)


def _draw_impulses(axis: Axes, result: Result, columns: np.ndarray, which: str) -> None:
    """Impulses as stems: an impact stands out as a spike, sustained contact as a low band."""
    values, t = getattr(result, which)[:, columns], result.t[columns]
    names = _impulse_names(result, which)
    for i in range(min(values.shape[0], _MAX_LINES)):
        carrying = np.flatnonzero(values[i])
        colour = _COLOURS[i % len(_COLOURS)]
        if carrying.size > _MAX_POINTS:
            x, y = thin(t[carrying], values[i, carrying])
        else:
            x, y = t[carrying], values[i, carrying]
        axis.vlines(x, 0.0, y, color=colour, linewidth=0.8)
        axis.plot(x, y, ".", color=colour, markersize=2.2, label=names[i])
    axis.axhline(0.0, color="#999999", linewidth=0.6)
    axis.set_ylabel({"P_N": "impulse P$_N$", "P_T": "impulse P$_T$"}[which], fontsize=9)
    if values.shape[0] > 1:
        _legend(axis)


def _impulse_names(result: Result, which: str) -> list[str]:
    """Names of the rows: those of the laws where each law has one row, else numbers."""
    n_N, n_T, n_laws = result.P_N.shape[0], result.P_T.shape[0], result.modes.shape[0]
    if which == "P_N" and n_laws >= n_N:
        return list(result.law_names[:n_N])
    if which == "P_T" and n_laws == n_N + n_T:
        return list(result.law_names[n_N:])
    return [f"{which}[{i}]" for i in range(getattr(result, which).shape[0])]


def _draw_modes(axis: Axes, result: Result, columns: np.ndarray, _: Sequence[int] | None) -> None:
    """One strip per law: black constraint, grey impressed, white open (Studer et al. 2008, Fig. 13)."""
    from matplotlib.patches import Patch

    t, n = result.t[columns], result.modes.shape[0]
    shortest = (t[-1] - t[0]) * 1.5e-3  # an impact of one small step stays visible
    for i in range(n):
        bars: dict[str, list[tuple[float, float]]] = {_GREY: [], _BLACK: []}
        for begin, end, mode in mode_spans(t, result.modes[i, columns]):
            if mode:
                bars[_BLACK if mode == 1 else _GREY].append((begin, max(end - begin, shortest)))
        for colour, spans in bars.items():
            axis.broken_barh(spans, (i - 0.36, 0.72), facecolor=colour, linewidth=0)
        axis.axhline(i + 0.5, color=_FAINT, linewidth=0.5)
    axis.set_ylim(n - 0.5, -0.5)
    axis.set_yticks(range(n), [_shortened(name) for name in result.law_names], fontsize=8)
    axis.grid(False)
    axis.tick_params(axis="y", length=0)
    handles = [
        Patch(facecolor=_BLACK, edgecolor="#888888", label="constraint"),
        Patch(facecolor=_GREY, edgecolor="#888888", label="impressed"),
        Patch(facecolor=_WHITE, edgecolor="#888888", label="open"),
    ]
    axis.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.005, 0.5),
        fontsize=8,
        frameon=False,
        handlelength=1.0,
    )


def mode_spans(
    t: np.ndarray, modes: np.ndarray, limit: int = _MAX_POINTS, signed: bool = False
) -> list[tuple[float, float, int]]:
    """Intervals ``(begin, end, mode)`` of equal mode; the mode at column k holds from column k - 1 to k.

    Modes are given without their sign unless `signed`. With more than `limit` changes the axis is cut into `limit` bins; a
    bin shows constraint mode if it holds any, else impressed mode if it holds any.
    """
    strip = modes.astype(np.int64) if signed else np.abs(modes.astype(np.int64))
    if t.size < 2:
        return [(float(t[0]), float(t[0]), int(strip[0]))] if t.size else []
    ends = np.flatnonzero(np.diff(strip[1:], append=99)) + 1
    if ends.size > limit:
        edges = np.unique(np.linspace(1, t.size - 1, limit + 1).astype(int))[:-1]
        size = np.abs(strip)
        rank = np.maximum.reduceat(np.where(size == 0, 0, 3 - np.minimum(size, 2)), edges)
        ends = np.append(edges[1:], t.size) - 1
        kinds = np.where(rank == 0, 0, 3 - rank)
    else:
        kinds = strip[ends]
    begins = np.concatenate([t[:1], t[ends[:-1]]])
    return [(float(b), float(e), int(k)) for b, e, k in zip(begins, t[ends], kinds)]


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else name[:22] + "…"


def _draw_dt(axis: Axes, result: Result, columns: np.ndarray, _: Sequence[int] | None) -> None:
    dt, t = result.dt[columns], result.t[columns]
    steps = dt > 0
    x, y = thin(t[steps], dt[steps])
    axis.step(x, y, where="pre", color=_COLOURS[0], linewidth=0.9)
    axis.set_yscale("log" if y.size and y.max() > 5 * y.min() else "linear")
    axis.set_ylabel("step dt", fontsize=9)


def _draw_order(axis: Axes, result: Result, columns: np.ndarray, _: Sequence[int] | None) -> None:
    from matplotlib.ticker import MaxNLocator

    order, t = result.order[columns].astype(float), result.t[columns]
    steps = order > 0
    x, y = thin(t[steps], order[steps])
    axis.step(x, y, where="pre", color=_COLOURS[2], linewidth=0.9)
    axis.set_ylim(0.5, max(float(order.max()) + 0.5, 2.5))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("order", fontsize=9)


_DRAW: dict[str, Callable[..., Any]] = {
    "q": _draw_q,
    "u": _draw_u,
    "y": _draw_y,
    "P_N": lambda axis, result, columns, _: _draw_impulses(axis, result, columns, "P_N"),
    "P_T": lambda axis, result, columns, _: _draw_impulses(axis, result, columns, "P_T"),
    "modes": _draw_modes,
    "dt": _draw_dt,
    "order": _draw_order,
}
