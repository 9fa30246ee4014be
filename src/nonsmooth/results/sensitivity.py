"""Derivatives of a run by its start and by parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from nonsmooth.errors import InputError


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of a run: ``result.sensitivity``.

    Attributes
    ----------
    names : tuple of str
        What derivatives are taken by, one column each: "q0[0]", "u0[0]", "c".
    q, u : ndarray, shape (n_q, columns, n_t), (n_u, columns, n_t)
        Derivatives of ``result.q`` and ``result.u`` at fixed instants, one sheet per column of the result.
    events : ndarray, shape (events, columns)
        Derivatives of the instants of ``result.events``; NaN where there are none.
    exists : bool
        Whether derivatives exist up to the end; behind an instant at which they end they are NaN.
    reason : str
        Why they end: grazing, independent events at one instant, accumulation, neighbouring runs that part.
    t_end : float or None
        Where they end.
    """

    names: tuple[str, ...]
    q: np.ndarray
    u: np.ndarray
    events: np.ndarray
    exists: bool
    reason: str = ""
    t_end: float | None = None

    @property
    def final(self) -> np.ndarray:
        """Derivatives of the final state (q, u), shape (n_q + n_u, columns)."""
        return np.concatenate([self.q[..., -1], self.u[..., -1]])

    def by(self, name: str) -> np.ndarray:
        """Derivatives of the final state by one name ("c", "q0[1]") or by all components of it ("q0")."""
        chosen = [k for k, n in enumerate(self.names) if n == name or n.startswith(f"{name}[")]
        if not chosen:
            raise InputError(f"{name!r} is not among the names {', '.join(self.names)}.")
        return self.final[:, chosen[0]] if self.names[chosen[0]] == name else self.final[:, chosen]

    def of(self, output: Callable, result: Any, column: int = -1) -> np.ndarray:
        """Derivatives of an output ``output(q, u) -> number or vector`` at a column of the result, shape (outputs, columns)."""
        q, u = result.q[:, column], result.u[:, column]
        size = np.maximum(np.max(np.abs(result.y), axis=1), 1e-300)
        S = np.concatenate([self.q[..., column], self.u[..., column]])
        n_q, found = q.size, []
        for way in S.T:
            r = float(np.max(np.abs(way) / size, initial=0.0))
            h = 1e-3 / r if r > 0.0 else 1.0
            ends = {
                c: np.atleast_1d(np.asarray(output(q + c * h * way[:n_q], u + c * h * way[n_q:]), float))
                for c in (-1.0, -0.5, 0.5, 1.0)
            }
            found.append((8.0 * (ends[0.5] - ends[-0.5]) - (ends[1.0] - ends[-1.0])) / (6.0 * h))
        return np.array(found).T

    def _asdict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def __repr__(self) -> str:
        until = "" if self.exists else f", until t = {self.t_end:.9g}: {self.reason}"
        return f"<Sensitivity by {', '.join(self.names)}{until}>"
