"""The flat parameters of a world: those of the user, then the numbers of gravity, bodies, rows, friction limits, forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.table import Table
from nonsmooth._core.jit import Reference
from nonsmooth.model.bodies.assembly import Assembly
from nonsmooth.model.bodies.material import as_stribeck
from nonsmooth.model.parameters import Parameters


class WorldParameters(Parameters):
    """Parameters by name for the functions of the user; `flat` also holds the numbers of all elements."""

    def __init__(self, values: Any, numbers: np.ndarray):
        super().__init__(values)
        self.flat = np.concatenate([self.flat, numbers])


class Layout:
    """Where the numbers of every element stand.

    Attributes
    ----------
    numbers : ndarray
        All of them, in order.
    gravity, bodies, rows, limits, springs, torsions, bushings, loads, structures, weights, masses : ndarray of int64
        Where those of each begin in the flat parameters.
    """

    def __init__(self, assembly: Assembly, gravity: np.ndarray, offset: int):
        self._parts: list[np.ndarray] = []
        self._at = offset
        self.gravity = self._places([gravity])
        bodies = [assembly.placed[k] for k in np.flatnonzero(assembly.is_body)]
        self.bodies = self._places([np.concatenate([[b.mass], b.J]) for b in bodies])
        self.rows = self._places([row.numbers for row in assembly.rows])
        self.limits = self._places([as_stribeck(limit.friction).numbers for limit in assembly.limits])
        self.springs = self._places(assembly.spring_numbers)
        self.torsions = self._places(assembly.torsion_numbers)
        self.bushings = self._places(assembly.bushing_numbers)
        self.loads = self._places(assembly.load_numbers)
        structures = assembly.structures
        self.structures = self._places([laid.numbers for laid in structures])
        self.weights = self._places([laid.weights for laid in structures])
        self.masses = self._places([laid.mass.values for laid in structures])
        for laid, at in zip(structures, self.structures):
            laid.at = int(at)
        self.numbers = np.concatenate(self._parts)

    def _places(self, parts: list[np.ndarray]) -> np.ndarray:
        sizes = np.array([part.size for part in parts], dtype=np.int64)
        places = self._at + np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        self._parts += parts
        self._at += int(sizes.sum())
        return places[: len(parts)]


def table(assembly: Assembly, a: Any, b: Any, row: Any, at: Any) -> Reference:
    """A table of elements, as kernels take it."""
    columns = (np.ascontiguousarray(x, dtype=np.int64) for x in (a, b, row, at))
    return Reference(Table(assembly.frames, assembly.fixed, *columns))
