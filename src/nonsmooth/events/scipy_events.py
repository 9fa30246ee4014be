"""SciPy-style `events` in runs with switches: same functions, same attributes, same meaning.

Each stored step is looked at as SciPy does it: signs at both ends, `brentq` on the dense output.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from nonsmooth._core.events.records import Rows

from .solution import Piece

EPS = np.finfo(float).eps


class ScipyEvents:
    """Event functions ``event(t, y, *args)`` with attributes `terminal` and `direction`."""

    def __init__(self, events, args, t_0, y_0):
        self.functions = [events] if callable(events) else list(events)
        self.args = tuple(args)
        self.limit = []
        for event in self.functions:
            terminal = getattr(event, "terminal", None)
            if terminal is None or terminal == 0:
                self.limit.append(np.inf)
            elif int(terminal) == terminal and terminal > 0:
                self.limit.append(terminal)
            else:
                raise ValueError(
                    "The `terminal` attribute of each event must be a boolean or positive integer."
                )
        self.terminal = bool(np.isfinite(self.limit).any())
        self.direction = [getattr(event, "direction", 0) for event in self.functions]
        self.count = [0] * len(self.functions)
        self.found: list[list[tuple[float, np.ndarray]]] = [[] for _ in self.functions]
        self.t, self.y = t_0, y_0.copy()
        self.g = [self.value(k, t_0, y_0) for k in range(len(self.functions))]

    def value(self, k, t, y):
        """Event function k."""
        return self.functions[k](t, y, *self.args)

    def look(self, rows, run):
        """Look at new rows; if a terminal event is among them they are cut there and the run is stopped."""
        for r in range(rows.t.size):
            t, y = rows.t[r], rows.y[r]
            new = [self.value(k, t, y) for k in range(len(self.functions))]
            if rows.jump[r] == 0:
                piece = Piece(self.t, t, self.y, rows.Q[r])
                for root, k in self._roots(piece, new):
                    self.found[k].append((root, piece(root)))
                    if self.count[k] >= self.limit[k]:
                        run.stop("A termination event occurred.")
                        run.events.keep_within(run.t_0, abs(root - run.t_0))
                        return _cut(rows, r, piece, root)
            self.t, self.y, self.g = t, y.copy(), new
        return rows

    def _roots(self, piece, new):
        """Zeros in the step of `piece` as (instant, function), in the order of time; `new` are the values at its end."""
        roots = []
        for k, (a, b) in enumerate(zip(self.g, new)):
            up, down = a <= 0 <= b, a >= 0 >= b
            if (up and self.direction[k] >= 0) or (down and self.direction[k] <= 0):
                root = brentq(
                    lambda s, k=k: self.value(k, s, piece(s)), self.t, piece.t, xtol=4 * EPS, rtol=4 * EPS
                )
                roots.append((root, k))
                self.count[k] += 1
        return sorted(roots, reverse=bool(piece.t < self.t))

    def t_events(self):
        """Times, one array for each event function."""
        return [np.array([t for t, _ in found]) for found in self.found]

    def y_events(self):
        """States, one array for each event function."""
        return [np.array([y for _, y in found]) for found in self.found]


def _cut(rows, r, piece, root):
    """`rows` up to row r, which ends at `root` instead."""
    rows = Rows(*(array[: r + 1].copy() for array in rows))
    rows.t[r], rows.y[r], rows.Q[r] = root, piece(root), _restricted(piece, root)
    return rows


def _restricted(piece: Piece, t: float) -> np.ndarray:
    """Coefficients of the same polynomial on the shorter interval up to `t`."""
    rows = piece.Q.shape[0]
    nodes = 0.5 * (1.0 - np.cos(np.pi * np.arange(1, rows + 1) / rows))
    values = np.array([piece(piece.t_old + s * (t - piece.t_old)) - piece.y_old for s in nodes])
    basis = np.empty((rows, rows))
    for j in range(rows):
        basis[:, j] = np.prod([nodes if k % 2 == 0 else 1.0 - nodes for k in range(j + 1)], axis=0)
    return np.linalg.solve(basis, values)
