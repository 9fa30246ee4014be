"""Steps of a run to look at again: their two ends, impulses and modes, the step as first axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

_EPS = np.finfo(np.float64).eps
IMPULSES = ("P_N", "P_T", "P_J")


@dataclass
class Steps:
    """n steps from (t_B, q_B, u_B) to (t_E, q_E, u_E).

    Attributes
    ----------
    t_B, t_E, dt : ndarray, shape (n,)
    q_B, q_E, u_B, u_E : ndarray, shape (n, n_q), (n, n_u)
    P : ndarray, shape (n, n_rows)
        Normal rows first, then tangential rows, then those of bilateral constraints.
    modes : ndarray, shape (n, n_laws)
    """

    t_B: np.ndarray
    q_B: np.ndarray
    u_B: np.ndarray
    t_E: np.ndarray
    q_E: np.ndarray
    u_E: np.ndarray
    dt: np.ndarray
    P: np.ndarray
    modes: np.ndarray

    def __len__(self) -> int:
        return int(self.t_B.size)

    def pick(self, which: np.ndarray) -> Steps:
        """Some of the steps."""
        return Steps(*(getattr(self, f.name)[which] for f in fields(self)))

    @classmethod
    def joined(cls, parts: list[Steps]) -> Steps:
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    @classmethod
    def from_columns(cls, columns: Any, k: np.ndarray) -> Steps:
        """The steps from column k - 1 to column k of a result (or of a mapping of its arrays)."""
        t, q, u, dt = (np.asarray(get(columns, name)) for name in ("t", "q", "u", "dt"))
        stored = [np.asarray(get(columns, name)).T[k] for name in IMPULSES if get(columns, name) is not None]
        P = np.concatenate(stored, axis=1) if stored else np.zeros((k.size, 0))
        modes, q, u = np.asarray(get(columns, "modes")).T, q.T, u.T
        return cls(t[k - 1], q[k - 1], u[k - 1], t[k], q[k], u[k], dt[k], P, modes[k])

    @classmethod
    def from_samples(cls, samples: Mapping[str, np.ndarray], most: int) -> Steps:
        """Full steps kept by a driver whose output is thinned; last axis of each array is the sample."""
        s = {name: np.asarray(value) for name, value in samples.items()}
        k = evenly(s["t_B"].size, most)
        return cls(*(s[f.name][..., k].T for f in fields(cls)))


def get(columns: Any, name: str, default: Any = None) -> Any:
    """A field of a mapping or of an object."""
    if isinstance(columns, Mapping):
        return columns.get(name, default)
    return getattr(columns, name, default)


def impulse_rows(columns: Any) -> int:
    """How many impulse rows are stored; those of bilateral constraints (``P_J``) may be missing."""
    return sum(np.shape(get(columns, name))[0] for name in IMPULSES if get(columns, name) is not None)


def evenly(n: int, most: int) -> np.ndarray:
    """At most `most` of the numbers 0 ... n - 1, evenly spaced, first and last included."""
    return (
        np.unique(np.linspace(0, n - 1, min(most, n)).astype(int))
        if n and most > 0
        else np.zeros(0, dtype=int)
    )


def whole_steps(t: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """Columns k that hold the end of a step whose begin is column k - 1."""
    if t.size < 2 or dt.size != t.size:
        return np.zeros(0, dtype=int)
    blur = 8 * _EPS * np.maximum(np.abs(t[1:]), np.abs(t[:-1]))
    return 1 + np.flatnonzero((dt[1:] > 0) & (np.abs(t[1:] - t[:-1] - dt[1:]) <= blur + 8 * _EPS * dt[1:]))


def near_events(t: np.ndarray, among: np.ndarray, instants: np.ndarray, most: int) -> np.ndarray:
    """Those columns of `among` next to the instants of events; of at most a third of `most` events."""
    if instants.size == 0 or among.size == 0:
        return np.zeros(0, dtype=int)
    instants = instants[evenly(instants.size, max(most // 3, 1))]
    at = np.searchsorted(t, instants)
    near = np.unique(np.concatenate([at - 1, at, at + 1]))
    place = np.minimum(np.searchsorted(among, near), among.size - 1)
    return near[among[place] == near]
