"""Pictures of the benchmark problems: motion, reference, modes, and for the woodpecker the toy itself.

Figures are made without the state machine of pyplot: nothing depends on a display and nothing stays open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import Problem
from .woodpecker import PARAMETERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, PURPLE, INK, FAINT = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#222222", "#d8d8d8"
LINES = (BLUE, RED, GREEN, PURPLE)


def figure(problem: Problem, result: Any) -> Figure:
    """The picture of a run of `problem`.

    Parameters
    ----------
    problem : Problem
    result : Result
        A run of ``problem.system``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if problem.name == "woodpecker":
        return _woodpecker(problem, result)
    if problem.kind != "mechanics":
        return result.plot(title=problem.title)
    return _motion(problem, result)


def _new(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def _plain(axis: Axes, ylabel: str = "") -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color=FAINT, linewidth=0.5)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    axis.set_ylabel(ylabel, fontsize=9)


def _thinned(t: np.ndarray, limit: int = 6000) -> slice:
    """Every k-th column, so that long runs do not make heavy pictures."""
    return slice(None, None, max(1, t.size // limit))


# -- mechanics in general --------------------------------------------------------------------------------


def _motion(problem: Problem, result: Any) -> Figure:
    """Positions, velocities, modes, distance from the closed form over time; portrait beside them."""
    r = problem.reference
    exact_q, exact_u = (None, None) if r is None else (r.q, r.u)
    heights = [1.0, 1.0, 0.16 + 0.13 * result.modes.shape[0]] + ([] if exact_q is None else [0.8])
    canvas = _new(9.5, 1.7 * sum(heights) + 0.6)
    canvas.suptitle(problem.title, fontsize=12, x=0.01, ha="left")
    grid = canvas.add_gridspec(len(heights), 2, width_ratios=[2.3, 1], height_ratios=heights)
    first = canvas.add_subplot(grid[0, 0])
    axes = [first] + [canvas.add_subplot(grid[k, 0], sharex=first) for k in range(1, len(heights))]
    keep = _thinned(result.t)
    t = result.t[keep]
    marks = np.linspace(result.t[0], result.t[-1], 41)

    for axis, label, values, exact in (
        (axes[0], "position q", result.q, exact_q),
        (axes[1], "velocity u", result.u, exact_u),
    ):
        _plain(axis, label)
        for i, row in enumerate(values):
            axis.plot(t, row[keep], color=LINES[i % 4], linewidth=1.2)
            if exact is not None:
                axis.plot(marks, exact(marks)[i], ".", color=INK, markersize=4, zorder=3)
    _strips(axes[2], result)
    if exact_q is not None:
        _plain(axes[3], "|q - exact|")
        off = np.max(np.abs(result.q[:, keep] - exact_q(t)), axis=0)
        axes[3].semilogy(t, np.maximum(off, 1e-17), color=INK, linewidth=0.9)
    for axis in axes[:-1]:
        axis.tick_params(labelbottom=False)
    axes[-1].set_xlabel("t", fontsize=9)

    portrait = canvas.add_subplot(grid[:, 1])
    _plain(portrait)
    if result.q.shape[0] == 1 or np.ptp(result.q[1]) < 1e-12:
        portrait.plot(result.q[0, keep], result.u[0, keep], color=BLUE, linewidth=1.0)
        portrait.set_xlabel("q", fontsize=9)
        portrait.set_ylabel("u", fontsize=9)
        portrait.set_title("phase portrait", fontsize=9)
    else:
        portrait.plot(result.q[0, keep], result.q[1, keep], color=BLUE, linewidth=1.4)
        portrait.plot(*result.q[:2, 0], "o", color=GREEN, markersize=6, label="start")
        portrait.plot(*result.q[:2, -1], "s", color=RED, markersize=6, label="end")
        portrait.set_xlabel("q[0]", fontsize=9)
        portrait.set_ylabel("q[1]", fontsize=9)
        portrait.set_title("path", fontsize=9)
        portrait.legend(fontsize=8, frameon=False)
    return canvas


def _strips(axis: Axes, result: Any) -> None:
    """Mode of every law over time, as in Studer et al. 2008, Fig. 13: black constraint, grey impressed."""
    names = list(result.law_names)
    for row, modes in enumerate(result.modes):
        for wanted, colour in ((modes == 1, "#111111"), (np.abs(modes) == 2, "#b0b0b0")):
            pieces = _intervals(result.t, wanted)
            if pieces:
                axis.broken_barh(pieces, (len(names) - 1 - row - 0.36, 0.72), color=colour, linewidth=0)
    # An impact lasts one step: too thin to be seen as a bar.
    for event in result.events:
        if event.kind == "impact" and event.name in names:
            place = len(names) - 1 - names.index(event.name)
            axis.plot([event.t, event.t], [place - 0.36, place + 0.36], color=RED, linewidth=1.2)
    axis.set_yticks(range(len(names)), names[::-1], fontsize=7.5)
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlim(result.t[0], result.t[-1])
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(left=False, labelsize=8)


def _intervals(t: np.ndarray, wanted: np.ndarray) -> list[tuple[float, float]]:
    """(start, length) of the runs of steps with `wanted`; column k is the step that ends at t[k]."""
    change = np.flatnonzero(np.diff(np.concatenate(([0], wanted[1:].astype(np.int8), [0]))))
    return [(t[a], t[b] - t[a]) for a, b in zip(change[::2], change[1::2])]


# -- woodpecker ------------------------------------------------------------------------------------------


def _woodpecker(problem: Problem, result: Any) -> Figure:
    """The toy at six instants of its cycle; angular velocities, modes, portrait and descent."""
    canvas = _new(13.0, 7.4)
    halves: Any = canvas.subfigures(1, 2, width_ratios=[1.0, 1.5])
    left, right = halves

    # Left: stills of one cycle.
    left.suptitle("Woodpecker toy", fontsize=14, x=0.03, ha="left")
    constants = {key: problem.params[key] for key in PARAMETERS}
    for axis, t_still in zip(left.subplots(2, 3).flat, _cycle(result)):
        k = int(np.argmin(np.abs(result.t - t_still)))
        y = result.q[0, k]
        _draw_toy(axis, result.q[:, k], constants)
        axis.fill_betweenx(
            [y - 0.04, y + 0.04], -constants["r_0"], constants["r_0"], color="#c9a26b", zorder=1
        )
        axis.set(xlim=(-0.009, 0.043), ylim=(y - 0.036, y + 0.034), aspect="equal")
        axis.set_title(f"{result.t[k]:.3f} s, {_phase(result, k)}", fontsize=9, color=INK)
        axis.set_axis_off()

    # Right: time histories above, portrait and descent below.
    grid = right.add_gridspec(3, 2, height_ratios=[1.35, 0.95, 1.25])
    velocities, strips = right.add_subplot(grid[0, :]), right.add_subplot(grid[1, :])
    portrait, descent = right.add_subplot(grid[2, 0]), right.add_subplot(grid[2, 1])
    keep = _thinned(result.t)
    t = result.t[keep]
    _plain(velocities, "angular velocity, rad/s")
    velocities.plot(t, result.u[1, keep], color=RED, linewidth=0.9, label="sleeve")
    velocities.plot(t, result.u[2, keep], color=BLUE, linewidth=1.3, label="bird")
    switching = np.array([event.t for event in result.events])
    if switching.size:
        velocities.plot(switching, np.interp(switching, result.t, result.u[2]), ".", color=INK, markersize=4)
    velocities.set_xlim(result.t[0], result.t[-1])
    velocities.tick_params(labelbottom=False)
    velocities.legend(fontsize=8, frameon=False, loc="upper right", ncols=2)
    _strips(strips, result)
    strips.set_xlabel("t, s   (black: constraint, grey: impressed, empty: open, red: impact)", fontsize=8.5)

    _plain(portrait, "bird: angular velocity")
    portrait.plot(result.q[2, keep], result.u[2, keep], color=BLUE, linewidth=0.9)
    portrait.set_xlabel("bird: angle, rad", fontsize=9)
    _plain(descent, "height of the sleeve, mm")
    descent.plot(t, 1e3 * result.q[0, keep], color=GREEN, linewidth=1.4, label="computed")
    if problem.reference is not None:
        r = problem.reference
        inside = r.t_samples <= result.t[-1] * (1 + 1e-12)
        descent.plot(
            r.t_samples[inside], 1e3 * r.q_samples[0, inside], "o", color=INK, markersize=4, label="reference"
        )
    descent.set_xlabel("t, s", fontsize=9)
    descent.legend(fontsize=8, frameon=False)
    return canvas


def _cycle(result: Any) -> np.ndarray:
    """Six instants of the last full cycle, which begins when the lower sleeve sticks; else equidistant."""
    sticks = [e.t for e in result.events if e.kind == "stick" and e.name == "lower sleeve friction"]
    begins = [t for t in sticks if t + 0.125 < result.t[-1]]
    pecks = [
        e.t for e in result.events if e.kind == "impact" and e.name == "beak" and begins and e.t > begins[-1]
    ]
    if not begins or not pecks:
        return np.linspace(result.t[0], result.t[-1], 6)
    start, peck = begins[-1], pecks[0]
    return np.array([start + 0.002, start + 0.034, peck - 0.008, peck, peck + 0.02, start + 0.124])


def _phase(result: Any, k: int) -> str:
    """What the toy does in the step that ends at column k."""
    if any(e.kind == "impact" and e.name == "beak" and abs(e.t - result.t[k]) < 1e-3 for e in result.events):
        return "pecks"
    normal, friction = result.modes[:3, k], result.modes[3:, k]
    if not normal.any():
        return "loose"
    return "jammed" if (friction == 1).any() else "slides"


def _draw_toy(axis: Axes, q: np.ndarray, p: dict[str, float]) -> None:
    """Sleeve, spring and bird in the configuration q = (y, phi_M, phi_S)."""
    from matplotlib.patches import Ellipse, Polygon

    y, phi_M, phi_S = q

    def turned(points: Any, phi: float, centre: tuple[float, float]) -> np.ndarray:
        cos, sin = np.cos(phi), np.sin(phi)
        return np.asarray(points, dtype=float) @ np.array([[cos, sin], [-sin, cos]]) + np.asarray(centre)

    # Sleeve: two walls of the height 2 h_M with the bore r_M, and the lug that holds the spring at l_M.
    centre = (0.0, y)
    wall = 0.0011
    for side in (-1.0, 1.0):
        inner, outer = side * p["r_M"], side * (p["r_M"] + wall)
        box = [(inner, -p["h_M"]), (outer, -p["h_M"]), (outer, p["h_M"]), (inner, p["h_M"])]
        axis.add_patch(
            Polygon(turned(box, phi_M, centre), facecolor="#555555", edgecolor=INK, linewidth=0.6, zorder=4)
        )
    lug = turned([(p["r_M"] + wall, 0.0), (p["l_M"], 0.0)], phi_M, centre)
    axis.plot(*lug.T, color="#555555", linewidth=2.5, zorder=3, solid_capstyle="round")

    # Bird: centre of mass at l_G from the spring's foot, beak at (-l_S, h_S) from there.
    foot = lug[1]
    mass_centre = foot + turned([(p["l_G"], 0.0)], phi_S, (0.0, 0.0))[0]
    zigzag = np.column_stack((np.linspace(0.0, p["l_G"] - 0.004, 13), 0.0009 * np.resize([0, 1, 0, -1], 13)))
    axis.plot(*turned(zigzag, phi_S, foot).T, color=INK, linewidth=0.8, zorder=3)
    degrees = float(np.rad2deg(phi_S))
    c = tuple(mass_centre)
    tail = turned([(-0.001, -0.012), (0.004, -0.012), (0.009, -0.026), (0.005, -0.027)], phi_S, c)
    axis.add_patch(Polygon(tail, facecolor="#1d1d1d", linewidth=0, zorder=4))
    axis.add_patch(
        Ellipse(c, 0.0135, 0.031, angle=degrees + 8, facecolor="#2f2f2f", edgecolor="none", zorder=5)
    )
    belly = turned([(-0.0035, -0.001)], phi_S, c)[0]
    axis.add_patch(
        Ellipse(tuple(belly), 0.006, 0.022, angle=degrees + 8, facecolor="#f3efe4", linewidth=0, zorder=6)
    )
    head = turned([(-0.0058, p["h_S"] - 0.0005)], phi_S, c)[0]
    axis.add_patch(
        Ellipse(tuple(head), 0.012, 0.0105, angle=degrees, facecolor="#2f2f2f", linewidth=0, zorder=5)
    )
    crest = turned([(-0.0085, 0.0235), (-0.003, 0.0262), (0.0008, 0.0205), (-0.004, 0.0225)], phi_S, c)
    axis.add_patch(Polygon(crest, facecolor="#c8102e", linewidth=0, zorder=6))
    beak = turned(
        [(-p["l_S"], p["h_S"]), (-0.0105, p["h_S"] + 0.0021), (-0.0105, p["h_S"] - 0.0023)], phi_S, c
    )
    axis.add_patch(Polygon(beak, facecolor="#e0a526", linewidth=0, zorder=6))
    eye = turned([(-0.0078, p["h_S"] + 0.0008)], phi_S, c)[0]
    axis.plot(*eye, "o", color="white", markersize=2.2, zorder=7)
