"""``result.plot``: the picture of a run when called, and the pictures of single aspects by name.

Every method draws on the matplotlib axes given as `ax`, or on new ones, and returns them. ::

    result.plot("run.png")                    # everything on one time axis
    ax = result.plot.phase(0)                 # velocity over position of the first coordinate
    result.plot.energy(ax=some_axes)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.columns import Columns
from nonsmooth.results.events import EVENT_KINDS
from nonsmooth.results.plots import (
    COLOURS,
    FAINT,
    INK,
    columns_of,
    draw_modes,
    mark_events,
    new_figure,
    plot_result,
    style,
)
from nonsmooth.results.row_names import state_names, velocity_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAMPLE = 2000  # instants at which the model is asked for energies


class Plotter:
    """Pictures of one result."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def __repr__(self) -> str:
        return (
            "plot(), plot.phase(x, y), plot.events(), plot.energy(), plot.modes(), plot.convergence(others)"
        )

    def __call__(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Everything on one time axis; see `nonsmooth.results.plots.plot_result`."""
        return plot_result(self._result, path=path, **options)

    def phase(
        self,
        x: int | str = 0,
        y: int | str | None = None,
        ax: Axes | None = None,
        t_span: tuple[float, float] | None = None,
        **look: Any,
    ) -> Axes:
        """Phase portrait: one row over another.

        Parameters
        ----------
        x, y : int or str
            Rows of the state (q above u, or y) by number or name. `y` is by default the velocity of `x`, or the next row.
        ax : matplotlib axes, optional
        t_span : (float, float), optional
        **look
            Passed on to ``ax.plot``.
        """
        columns = columns_of(self._result, t_span)
        names = state_names(self._result, columns)
        if columns.q.size:
            values, names = np.vstack([columns.q, columns.u]), names + velocity_names(self._result, columns)
        else:
            values = columns.y
        i = _row(x, names, "x")
        if y is None:
            n = columns.q.shape[0]
            y = i + n if n and n == columns.u.shape[0] and i < n else (i + 1) % len(names)
        j = _row(y, names, "y")
        ax = _axes(ax, 4.6, 3.8)
        ax.plot(values[i], values[j], **{"color": COLOURS[0], "linewidth": 1.1, **look})
        ax.plot(values[i, 0], values[j, 0], "o", color=COLOURS[2], markersize=5, label="start")
        ax.plot(values[i, -1], values[j, -1], "s", color=COLOURS[1], markersize=5, label="end")
        ax.set_xlabel(names[i])
        ax.set_ylabel(names[j])
        ax.legend(fontsize=8, frameon=False)
        return ax

    def events(self, ax: Axes | None = None, t_span: tuple[float, float] | None = None) -> Axes:
        """Events on the time axis: one line per name, one mark per kind."""
        columns = columns_of(self._result, t_span)
        names = list(dict.fromkeys(event.name for event in columns.events))
        ax = _axes(ax, 8.0, 1.2 + 0.28 * max(len(names), 1))
        marks = dict(zip(EVENT_KINDS, "vo^sD<d*xP"))
        for k, kind in enumerate(dict.fromkeys(event.kind for event in columns.events)):
            found = [event for event in columns.events if event.kind == kind]
            ax.plot(
                [event.t for event in found], [names.index(event.name) for event in found], marks.get(kind, "."),
                color=COLOURS[k % len(COLOURS)], markersize=5.5, label=f"{kind} ({len(found)})",
            )  # fmt: skip
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(*_span(columns, t_span))
        ax.set_xlabel("t")
        if columns.events:
            ax.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), fontsize=8, frameon=False)
        else:
            ax.text(0.5, 0.5, "no events", transform=ax.transAxes, ha="center", va="center", color=INK)
        return ax

    def energy(
        self,
        ax: Axes | None = None,
        t_span: tuple[float, float] | None = None,
        of: Callable[[float, np.ndarray], float] | None = None,
    ) -> Axes:
        """Kinetic energy over time, and with a potential also potential energy and their sum.

        Parameters
        ----------
        ax : matplotlib axes, optional
        t_span : (float, float), optional
        of : callable, optional
            ``of(t, y)``, the energy of a state y (q above u in mechanics). Runs of `solve_ivp`, `solve_filippov` and `solve_dae`, whose
            equations do not say what energy is, and results read from files need it.

        Raises
        ------
        InputError
            No mechanical model and no `of`.
        """
        model = self._result._model
        if of is None and (model is None or not hasattr(model, "mass_matrix")):
            raise InputError(
                "`plot.energy` needs the mechanical model of the run, which equations y' = f and files do not hold: call it on the "
                "result that `simulate` returned, or give the energy of a state, plot.energy(of=lambda t, y: ...)."
            )
        columns = columns_of(self._result, t_span)
        at = np.unique(np.linspace(0, columns.t.size - 1, min(_SAMPLE, columns.t.size)).astype(int))
        rows, names = _energies(columns, at, model, of)
        ax = _axes(ax, 8.0, 2.6)
        for row, name, colour in zip(rows, names, (*COLOURS[:2], INK)):
            ax.plot(columns.t[at], row, color=colour, linewidth=1.2, label=name)
        mark_events(ax, columns)
        ax.set_xlim(*_span(columns, t_span))
        ax.set_xlabel("t")
        ax.set_ylabel("energy")
        ax.legend(fontsize=8, frameon=False)
        return ax

    def modes(self, ax: Axes | None = None, t_span: tuple[float, float] | None = None) -> Axes:
        """Mode of every law (or switch, or region) over time."""
        columns = columns_of(self._result, t_span)
        if not columns.modes.size:
            raise InputError("the result holds no modes: the system has no laws, switches or regions.")
        ax = _axes(ax, 8.0, 0.9 + 0.25 * columns.modes.shape[0])
        draw_modes(ax, self._result, columns)
        ax.set_xlim(*_span(columns, t_span))
        ax.set_xlabel("t")
        return ax

    def convergence(
        self, others: Sequence[Any] = (), ax: Axes | None = None, labels: Sequence[str] | None = None
    ) -> Axes:
        """Error of coarser runs against this one over their mean step size, with a line of slope one.

        Parameters
        ----------
        others : sequence of results
            Runs of the same system over the same span. Without any, the step sizes of this run are drawn over time.
        ax : matplotlib axes, optional
        labels : sequence of str, optional
            One for each run.
        """
        ax = _axes(ax, 4.8, 3.6)
        if not len(others):
            return self._steps(ax)
        from nonsmooth.results.norms import l1_error

        fine = self._result
        steps, errors = [], []
        for run in others:
            a, b = (np.asarray(r.u if np.size(getattr(r, "u", ())) else r.y) for r in (run, fine))
            errors.append(float(np.max(l1_error(run.t, a, fine.t, b))))
            steps.append(float((run.t[-1] - run.t[0]) / max(np.count_nonzero(np.diff(run.t)), 1)))
        ax.loglog(steps, errors, "o-", color=COLOURS[0], linewidth=1.2)
        for step, error, label in zip(steps, errors, labels or ()):
            ax.annotate(str(label), (step, error), textcoords="offset points", xytext=(5, -9), fontsize=8)
        h = np.array([min(steps), max(steps)])
        ax.loglog(
            h, errors[int(np.argmax(steps))] * h / h[1], "--", color="#999999", linewidth=0.9, label="slope 1"
        )
        ax.set_xlabel("mean step")
        ax.set_ylabel("error (L1 in time)")
        ax.legend(fontsize=8, frameon=False)
        return ax

    def _steps(self, ax: Axes) -> Axes:
        columns = columns_of(self._result)
        t, dt = columns.t, columns.dt
        if not dt.size:
            t, dt = t[1:], np.diff(t)
        ax.semilogy(t[dt > 0], dt[dt > 0], drawstyle="steps-pre", color=COLOURS[0], linewidth=0.9)
        ax.set_xlabel("t")
        ax.set_ylabel("step dt")
        return ax


def _energies(
    columns: Columns, at: np.ndarray, model: Any, of: Callable[[float, np.ndarray], float] | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows of energies at the columns `at`, and their names."""
    t = columns.t[at]
    if of is None:
        from nonsmooth.results.report.panels import energies

        return energies(t, columns.q[:, at], columns.u[:, at], model), ("kinetic", "potential", "total")
    states = np.vstack([columns.q, columns.u])[:, at] if columns.q.size else columns.y[:, at]
    return np.array([[float(of(float(time), y)) for time, y in zip(t, states.T)]]), ("energy",)


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    if ax is None:
        ax = new_figure(width, height).subplots()
        style(ax)
        ax.grid(True, color=FAINT, linewidth=0.6)
    return ax


def _span(columns: Columns, t_span: tuple[float, float] | None) -> tuple[float, float]:
    begin, end = t_span or (float(columns.t[0]), float(columns.t[-1]))
    return (begin, end) if end > begin else (begin - 0.5, begin + 0.5)


def _row(which: int | str, names: Sequence[str], argument: str) -> int:
    if isinstance(which, str):
        if which not in names:
            raise InputError(f"`{argument}` is {which!r}; the rows are {', '.join(names)}.")
        return list(names).index(which)
    if not -len(names) <= which < len(names):
        raise InputError(f"`{argument}` is {which}; there are {len(names)} rows, numbered from 0.")
    return int(which) % len(names)
