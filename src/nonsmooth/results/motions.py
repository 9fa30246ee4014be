"""Two motions at common instants, so that the norms of `norms` see their difference and nothing of interpolation.

A motion is known in pieces: polynomials between the instants of a run (`DenseSolution`; straight lines where a scheme tells no more), or a
closed form between the instants of its jumps. On every interval of a grid that holds the ends of the pieces of both, and instants
between them, each motion is evaluated at both ends as a limit from inside. Norms that take straight lines between these instants are then
right up to a small part of the error itself, whatever the order of a method: chords of long steps would show an order of two for
every one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.results.dense import DenseSolution

PARTS = 16  # intervals of a piece that is a polynomial ...
MOST_PARTS = 40_000  # ... unless there are so many in all
SAMPLES = 20_001  # of a closed form, besides the instants of its events


@dataclass
class Pieces:
    """A run: polynomials between its instants."""

    sol: DenseSolution
    n_q: int

    def cuts(self) -> np.ndarray:
        """Ends of the pieces, and instants inside them."""
        count = self.sol.t_0.size
        parts = 1 if self.sol.nodes.size == 2 else max(1, min(PARTS, MOST_PARTS // max(count, 1)))
        inside = self.sol.t_0 + np.arange(parts)[:, None] / parts * (self.sol.t_1 - self.sol.t_0)
        return np.append(inside.ravel(), self.sol.t_max)

    def between(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y at the begin and at the end of every interval of `t`, limits from inside."""
        sol = self.sol
        at = np.searchsorted(sol.t_0, 0.5 * (t[:-1] + t[1:]), side="right") - 1
        at = np.clip(at, 0, max(sol.t_0.size - 1, 0))
        length = sol.t_1[at] - sol.t_0[at]
        sides = (np.clip((x - sol.t_0[at]) / length, 0.0, 1.0) for x in (t[:-1], t[1:]))
        begin, end = (sol.in_piece(at, x) for x in sides)
        return begin, end


@dataclass
class ClosedForm:
    """A function of time, continuous from the right, with the instants at which it jumps."""

    motion: Callable[[np.ndarray], Any]
    instants: np.ndarray
    t_span: tuple[float, float]

    def cuts(self) -> np.ndarray:
        inside = (self.instants > self.t_span[0]) & (self.instants < self.t_span[1])
        return np.append(np.linspace(*self.t_span, SAMPLES), self.instants[inside])

    def between(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = self._values(t)
        end = at[:, 1:].copy()
        jumps = np.flatnonzero(np.isin(t[1:], self.instants))
        if jumps.size:
            end[:, jumps] = self._values(np.nextafter(t[1:][jumps], -np.inf))
        return at[:, :-1], end

    def _values(self, t: np.ndarray) -> np.ndarray:
        q, u = (np.atleast_2d(np.asarray(part, dtype=float)) for part in self.motion(t))
        if q.shape[-1] != t.size or u.shape[-1] != t.size:
            raise InputError(
                f"`reference` returned arrays of shapes {q.shape} and {u.shape} for {t.size} instants: one column for each is wanted."
            )
        return np.concatenate([q, u])


def pieces_of(result: Any) -> Pieces:
    """The motion of a result; straight lines between its instants where it keeps no more."""
    sol = getattr(result, "sol", None)
    if not isinstance(sol, DenseSolution):
        y = np.concatenate([np.atleast_2d(result.q), np.atleast_2d(result.u)])
        sol = DenseSolution(np.asarray(result.t, dtype=float), y, np.zeros((0, y.shape[0], y.shape[1])))
    return Pieces(sol, int(np.atleast_2d(result.q).shape[0]))


def at_common_instants(run: Pieces, reference: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instants and the states of both there; where one of them jumps twice, as limits from the left and from the right."""
    begin, end = run.sol.t_min, run.sol.t_max
    cuts = np.concatenate([run.cuts(), reference.cuts()])
    t = np.unique(np.concatenate([[begin], cuts[(cuts > begin) & (cuts < end)], [end]]))
    if t.size < 2:
        t = np.array([begin, end])
    both = []
    for motion in (run, reference):
        values = np.stack(motion.between(t), axis=2)
        both.append(values.reshape(values.shape[0], -1))
    keep = np.ones(2 * t.size - 2, dtype=bool)
    keep[2::2] = np.any([np.any(y[:, 1:-1:2] != y[:, 2::2], axis=0) for y in both], axis=0)
    return np.repeat(t, 2)[1:-1][keep], both[0][:, keep], both[1][:, keep]
