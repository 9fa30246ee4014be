"""Pictures of a run: positions, velocities, impulses, mode strips, step size and order on one time axis.

The mode strips are drawn as in Fig. 13 of Studer, Leine, Glocker 2008: black is *constraint* mode, grey is *impressed* mode,
white is open. Jumps are drawn as jumps, long steps of high order as the curves they are. Figures are made without the state
machine of pyplot, so that nothing depends on a display and nothing stays open; a notebook shows the returned figure by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.names import check_shown
from nonsmooth.results.columns import Columns, kept_columns
from nonsmooth.results.row_names import door, impulse_names, state_names, velocity_names
from nonsmooth.results.thinning import mode_spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels in the order of the picture.
PANELS = ("q", "u", "y", "P_N", "P_T", "modes", "dt", "order")

# Distinguishable for colour-blind readers (after Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B6B6B", "#7A4B94")
WHITE, GREY, BLACK = "#ffffff", "#b4b4b4", "#111111"
INK, FAINT = "#333333", "#dddddd"
_MAX_LINES = 8
_BUDGET = 60_000


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own canvas: no pyplot, no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def columns_of(result: Any, t_span: tuple[float, float] | None = None) -> Columns:
    """The columns a picture shows; an error if there are none."""
    if not np.size(result.t):
        raise InputError("the result holds no instants, so there is nothing to plot.")
    columns = kept_columns(result, _BUDGET, t_span)
    if not columns.t.size:
        t = np.asarray(result.t)
        raise InputError(f"`t_span` {t_span} holds no instant; the result covers {t[0]:.6g} ... {t[-1]:.6g}.")
    return columns


def plot_result(
    result: Any,
    path: str | PathLike[str] | None = None,
    panels: Sequence[str] | None = None,
    coordinates: Sequence[int] | None = None,
    t_span: tuple[float, float] | None = None,
    title: str | None = None,
    axes: Sequence[Axes] | Axes | None = None,
) -> Any:
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
    axes : one or more matplotlib axes, optional
        Where to draw, one for each panel; default: a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        Or the axes, if `axes` were given.
    """
    columns = columns_of(result, t_span)
    chosen = _panels(columns, panels)
    figure = None
    if axes is None:
        heights = [_height(columns, name) for name in chosen]
        figure = new_figure(9.0, sum(heights) + 0.9)
        drawn = list(figure.subplots(len(chosen), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    else:
        drawn = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(drawn) != len(chosen):
            raise InputError(
                f"`axes` holds {len(drawn)} axes for {len(chosen)} panels ({', '.join(chosen)}): give one for each."
            )
    for axis, name in zip(drawn, chosen):
        style(axis)
        _DRAW[name](axis, result, columns, coordinates)
        if name != "modes":
            mark_events(axis, columns)
    drawn[-1].set_xlabel("t")
    if columns.t[-1] > columns.t[0]:
        for axis in drawn:
            axis.set_xlim(*(t_span or (columns.t[0], columns.t[-1])))
    if figure is None:
        return axes
    check_shown(title, "`title`")
    figure.suptitle(
        title if title is not None else _title(result, columns), fontsize=10.5, color=INK, x=0.01, ha="left"
    )
    figure.align_ylabels(drawn)
    if path is not None:
        figure.savefig(path)
    return figure


def _title(result: Any, columns: Columns) -> str:
    steps = f"{result.nsteps} steps" if getattr(result, "nsteps", 0) else ""
    found = f"{columns.n_events} events" if columns.n_events else ""
    state = "" if getattr(result, "success", True) else f"NOT SUCCESSFUL: {result.message}"[:80]
    name, method = getattr(result, "problem_name", "") or "", getattr(result, "method", "") or ""
    return "  ·  ".join(part for part in (name, method, steps, found, state) if part)


def _panels(columns: Columns, panels: Sequence[str] | None) -> list[str]:
    """Panels that hold something, or those asked for."""
    if panels is not None:
        wrong = [name for name in panels if name not in PANELS]
        if wrong or not len(panels):
            raise InputError(f"`panels` is {list(panels)!r}; choose from {', '.join(PANELS)}.")
        empty = [name for name in panels if not np.size(getattr(columns, name))]
        if empty:
            raise InputError(f"`panels` asks for {', '.join(empty)}, which this result does not hold.")
        return list(panels)
    chosen = [name for name in ("q", "u", "y", "P_N", "P_T", "modes") if getattr(columns, name).size]
    steps = columns.dt[columns.dt > 0]
    if steps.size and np.ptp(steps) > 1e-6 * steps.max():  # a constant step needs no picture
        chosen.append("dt")
    if columns.order.size and columns.order.max() > 1:
        chosen.append("order")
    return chosen


def _height(columns: Columns, name: str) -> float:
    if name == "modes":
        return 0.35 + 0.2 * columns.modes.shape[0]
    return {"q": 1.9, "u": 1.9, "y": 2.6, "P_N": 1.3, "P_T": 1.3}.get(name, 1.1)


def style(axis: Axes) -> None:
    """The look of all axes."""
    axis.grid(True, color=FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axis.spines[side].set_color("#999999")
    axis.tick_params(labelsize=8.5, colors=INK, length=3)
    axis.margins(y=0.08)


def mark_events(axis: Axes, columns: Columns) -> None:
    """Thin lines at the events, as long as they do not cover the picture."""
    if 0 < columns.n_events <= 60:
        for instant in {event.t for event in columns.events}:
            axis.axvline(instant, color="#bbbbbb", linewidth=0.5, zorder=0.5)


def _draw_lines(
    axis: Axes, columns: Columns, values: np.ndarray, names: Sequence[str], rows: Sequence[int]
) -> None:
    for i, row in enumerate(rows):
        dash = ":" if names[row].startswith("Im ") else "-"
        axis.plot(
            columns.t, values[row], dash, color=COLOURS[i % len(COLOURS)], linewidth=1.1, label=names[row]
        )
    if len(rows) > 1 or names[rows[0]] not in ("q[0]", "u[0]", "y[0]"):
        legend(axis)


def legend(axis: Axes) -> None:
    axis.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), fontsize=8, frameon=False, handlelength=1.2)


def _rows(n: int, coordinates: Sequence[int] | None) -> list[int]:
    if coordinates is None:
        return list(range(min(n, _MAX_LINES)))
    wrong = [i for i in coordinates if not -n <= i < n]
    if wrong:
        raise InputError(f"`coordinates` asks for row {wrong[0]}, there are {n} rows, numbered from 0.")
    return [int(i) % n for i in coordinates]


def _draw_q(axis: Axes, result: Any, columns: Columns, coordinates: Sequence[int] | None) -> None:
    rows = _rows(columns.q.shape[0], coordinates)
    _draw_lines(axis, columns, columns.q, state_names(result, columns), rows)
    axis.set_ylabel("position q", fontsize=9)


def _draw_u(axis: Axes, result: Any, columns: Columns, coordinates: Sequence[int] | None) -> None:
    n = columns.u.shape[0]
    rows = _rows(n, coordinates if n == columns.q.shape[0] else None)
    _draw_lines(axis, columns, columns.u, velocity_names(result, columns), rows)
    axis.set_ylabel("velocity u", fontsize=9)


def _draw_y(axis: Axes, result: Any, columns: Columns, coordinates: Sequence[int] | None) -> None:
    rows = _rows(columns.y.shape[0], coordinates)
    _draw_lines(axis, columns, columns.y, state_names(result, columns), rows)
    axis.set_ylabel("state y", fontsize=9)


def _draw_impulses(axis: Axes, result: Any, columns: Columns, which: str) -> None:
    """Impulses as stems: an impact stands out as a spike, sustained contact as a low band."""
    values = getattr(columns, which)
    names = impulse_names(result, columns, which)
    for i in range(min(values.shape[0], _MAX_LINES)):
        carrying = np.flatnonzero(values[i])
        colour = COLOURS[i % len(COLOURS)]
        x, y = columns.t[carrying], values[i, carrying]
        axis.vlines(x, 0.0, y, color=colour, linewidth=0.8)
        axis.plot(x, y, ".", color=colour, markersize=2.2, label=names[i])
    axis.axhline(0.0, color="#999999", linewidth=0.6)
    axis.set_ylabel({"P_N": "impulse P$_N$", "P_T": "impulse P$_T$"}[which], fontsize=9)
    if values.shape[0] > 1:
        legend(axis)


_LABELS = {
    "mechanics": {1: "constraint", 2: "impressed", 0: "open"},
    "filippov": {1: "sliding", 2: "active", 0: "inactive"},
    "ivp": {1: "g ≥ 0", -1: "g < 0", 0: "held"},
}


def draw_modes(axis: Axes, result: Any, columns: Columns, _: Sequence[int] | None = None) -> None:
    """One strip per law: black constraint, grey impressed, white open (Studer et al. 2008, Fig. 13)."""
    from matplotlib.patches import Patch

    kind = door(result, columns)
    signed = kind == "ivp"
    colours = {1: GREY, -1: WHITE, 0: BLACK} if signed else {0: WHITE, 1: BLACK, 2: GREY}
    t, n = columns.t, columns.modes.shape[0]
    names = list(getattr(result, "law_names", ()) or [f"switch {i}" for i in range(n)])
    shortest = (t[-1] - t[0]) * 1.5e-3  # an impact of one small step stays visible
    for i in range(n):
        bars: dict[str, list[tuple[float, float]]] = {GREY: [], BLACK: []}
        for begin, end, mode in mode_spans(t, columns.modes[i], signed=signed):
            colour = colours.get(mode, GREY)
            if colour != WHITE:
                bars[colour].append((begin, max(end - begin, shortest)))
        for colour, spans in bars.items():
            axis.broken_barh(spans, (i - 0.36, 0.72), facecolor=colour, linewidth=0)
        axis.axhline(i + 0.5, color=FAINT, linewidth=0.5)
    axis.set_ylim(n - 0.5, -0.5)
    axis.set_yticks(range(n), [_shortened(name) for name in names], fontsize=8)
    axis.grid(False)
    axis.tick_params(axis="y", length=0)
    handles = [
        Patch(facecolor=colours[mode], edgecolor="#888888", label=word)
        for mode, word in _LABELS[kind].items()
    ]
    axis.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.005, 0.5),
        fontsize=8,
        frameon=False,
        handlelength=1.0,
    )
    if not columns.n_events and not columns.modes.any() and kind == "mechanics":
        axis.text(0.5, 0.5, "all laws open", transform=axis.transAxes, ha="center", va="center", color=INK)


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else name[:22] + "…"


def _draw_dt(axis: Axes, result: Any, columns: Columns, _: Sequence[int] | None) -> None:
    steps = columns.dt > 0
    x, y = columns.t[steps], columns.dt[steps]
    axis.step(x, y, where="pre", color=COLOURS[0], linewidth=0.9)
    axis.set_yscale("log" if y.size and y.max() > 5 * y.min() else "linear")
    axis.set_ylabel("step dt", fontsize=9)


def _draw_order(axis: Axes, result: Any, columns: Columns, _: Sequence[int] | None) -> None:
    from matplotlib.ticker import MaxNLocator

    order = columns.order.astype(float)
    steps = order > 0
    axis.step(columns.t[steps], order[steps], where="pre", color=COLOURS[2], linewidth=0.9)
    axis.set_ylim(0.5, max(float(order.max()) + 0.5, 2.5))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylabel("order", fontsize=9)


_DRAW: dict[str, Callable[..., Any]] = {
    "q": _draw_q,
    "u": _draw_u,
    "y": _draw_y,
    "P_N": lambda axis, result, columns, _: _draw_impulses(axis, result, columns, "P_N"),
    "P_T": lambda axis, result, columns, _: _draw_impulses(axis, result, columns, "P_T"),
    "modes": draw_modes,
    "dt": _draw_dt,
    "order": _draw_order,
}
