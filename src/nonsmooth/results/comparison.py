"""Runs of several methods beside each other: table, orders of convergence, work-precision picture (made by `nonsmooth.compare`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from nonsmooth.results.notebook import Shown


@dataclass
class Row:
    """One run of one method.

    Attributes
    ----------
    label : str
        The method without what sets its fineness.
    fineness : float
        Its step size or tolerance.
    work, steps : int
        Steps of the base scheme, rejected ones and trials included, and steps of the run.
    seconds : float
        Wall-clock time of the run, compilation left out.
    errors : dict
        By quantity ("q", "u") and norm: ``errors["q", "L1"]``; NaN where the run failed.
    orders : dict
        Orders observed by Richardson; empty for other references.
    message : str
        Why a run failed; empty otherwise.
    """

    label: str
    fineness: float
    work: int = 0
    steps: int = 0
    seconds: float = math.nan
    errors: dict[tuple[str, str], float] = field(default_factory=dict)
    orders: dict[tuple[str, str], float] = field(default_factory=dict)
    message: str = ""


@dataclass
class Comparison(Shown):
    """Runs of several methods beside each other: `print` shows the table, `plot` the picture, `slopes` the orders."""

    rows: list[Row]
    norms: tuple[str, ...]
    reference: str
    name: str = ""

    @property
    def labels(self) -> list[str]:
        """Methods in order of their first run."""
        return list(dict.fromkeys(row.label for row in self.rows))

    def of(self, label: str) -> list[Row]:
        """Runs of one method that reached the end, coarse to fine."""
        done = [row for row in self.rows if row.label == label and not row.message]
        return sorted(done, key=lambda row: -row.fineness)

    def slopes(self, quantity: str = "q", norm: str = "L1") -> dict[str, float]:
        """Order of convergence by method: fitted slope of log error over log step size (or tolerance)."""
        return {label: self._slope(label, quantity, norm) for label in self.labels}

    def _slope(self, label: str, quantity: str, norm: str) -> float:
        rows = self.of(label)
        x = np.array([row.fineness for row in rows])
        y = np.array([row.errors[quantity, norm] for row in rows])
        some = (y > 0) & np.isfinite(y)
        if np.unique(x[some]).size < 2:
            return math.nan
        return float(np.polyfit(np.log(x[some]), np.log(y[some]), 1)[0])

    def work_at(self, error: float, label: str, quantity: str = "q", norm: str = "L1") -> float:
        """Work a method needs for an error, by straight lines between its runs in a double logarithmic picture; NaN outside of them."""
        rows = sorted(self.of(label), key=lambda row: row.errors[quantity, norm])
        errors = np.array([row.errors[quantity, norm] for row in rows])
        work = np.array([row.work for row in rows], dtype=float)
        if not rows or not errors[0] <= error <= errors[-1] or errors[0] <= 0.0:
            return math.nan
        return float(np.exp(np.interp(math.log(error), np.log(errors), np.log(work))))

    def __str__(self) -> str:
        columns = [(quantity, norm) for quantity in ("q", "u") for norm in self.norms]
        width = max([len("method"), *(len(row.label) for row in self.rows)])
        head = f"{'method':{width}} {'step':>9} {'work':>8} {'time/s':>8} " + " ".join(
            f"{norm + '(' + quantity + ')':>12}" for quantity, norm in columns
        )
        lines = [f"{self.name + ': ' if self.name else ''}errors against {self.reference}", head]
        for row in self.rows:
            text = f"{row.label:{width}} {row.fineness:9.3g} "
            if row.message:
                lines.append(text + row.message)
                continue
            errors = " ".join(f"{row.errors[key]:12.3e}" for key in columns)
            lines.append(text + f"{row.work:8d} {row.seconds:8.3f} " + errors)
        for label in self.labels:
            slopes = [self._slope(label, *key) for key in columns]
            if not all(math.isnan(s) for s in slopes):
                lines.append(
                    f"{label:{width}} {'order':>9} {'':8} {'':8} " + " ".join(f"{s:12.2f}" for s in slopes)
                )
        return "\n".join(lines)

    def plot(self, path: str | PathLike[str] | None = None, quantities: Sequence[str] = ("q", "u")) -> Any:
        """Work-precision picture, one panel by quantity and norm; returns the matplotlib figure, and writes it where a path is given."""
        from nonsmooth.results.plots import COLOURS, new_figure, style

        figure = new_figure(3.1 * len(self.norms), 2.9 * len(quantities))
        axes = np.atleast_2d(figure.subplots(len(quantities), len(self.norms), squeeze=False))
        for i, quantity in enumerate(quantities):
            for j, norm in enumerate(self.norms):
                axis = axes[i, j]
                style(axis)
                for k, label in enumerate(self.labels):
                    rows = self.of(label)
                    errors = [row.errors[quantity, norm] for row in rows]
                    axis.loglog(
                        [row.work for row in rows],
                        errors,
                        "o-",
                        ms=3,
                        color=COLOURS[k % len(COLOURS)],
                        label=label,
                    )
                axis.set_title(f"{norm}({quantity})", fontsize=9)
                if i == len(quantities) - 1:
                    axis.set_xlabel("work: base steps", fontsize=8.5)
        axes[0, 0].set_ylabel("error", fontsize=8.5)
        axes[0, 0].legend(fontsize=7, frameon=False)
        if path is not None:
            figure.savefig(path)
        return figure
