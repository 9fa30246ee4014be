"""What bars, cables and beams share: nodes one after the other, components of them that are held, masses of linear elements, weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_COLUMNS, HELD
from nonsmooth.errors import ModelError, ShapeError
from nonsmooth.model.bodies.check import in_space
from nonsmooth.model.structures.base import Node, PlacedNode, Structure
from nonsmooth.model.structures.given import checked_lumping, light_nodes, line_of_nodes

LIGHT = 0.1  # of its mass stays on a light node


class Line(Structure):
    """A structure whose nodes follow each other: `points`, shape (n + 1, dim)."""

    points: np.ndarray
    mass: str
    light: Any

    def __init__(self, points: Any, elements: Any, name: str | None, material: Any):
        super().__init__(name, material)
        self.points = line_of_nodes(points, elements, self.owner)
        self.frames = [Node(self, k) for k in range(self.points.shape[0])]

    def lengths(self) -> np.ndarray:
        """Of the elements at the start."""
        return np.linalg.norm(np.diff(self.points, axis=0), axis=1)

    def fits(self, dim: int) -> None:
        """Whether its points are of a world of this dimension."""
        if self.points.shape[1] != dim:
            raise ShapeError(
                f"`points` of {self.owner} have {self.points.shape[1]} entries in a world of dimension {dim}."
            )

    def free(self, names: Sequence[str], held: dict[int, set[str]], u: np.ndarray) -> np.ndarray:
        """Which components of the nodes move, shape (nodes, components); what is held has no velocity in `u`."""
        found = np.array([[name not in held.get(k, ()) for name in names] for k in range(u.shape[0])])
        wrong = np.argwhere(~found & (u != 0.0))
        if wrong.size:
            k, i = wrong[0]
            raise ModelError(
                f"node {k} of {self.owner} is fixed, but has the velocity {u[k, i]:g} ({names[i]}): give `velocity` for each node."
            )
        return found

    def masses(self, mass: np.ndarray, L: np.ndarray, light: bool = True) -> np.ndarray:
        """Mass matrices of the elements for one component, shape (elements, 2, 2); `light`: nodes may hand theirs on."""
        found = linear_mass(mass, checked_lumping(self.mass, self.owner))
        return lightened(found, L, light_nodes(self), self.owner) if light else found


def unknowns(free: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers of what moves, node by node, -1 for what is held; how many."""
    return np.where(free, np.cumsum(free).reshape(free.shape) - 1, -1), int(free.sum())


def partly_held(q, u, free, names, columns, offsets, dim: int, phi: float = 0.0) -> PlacedNode:
    """A node with held components: their values go to `columns` of the table of frames, places of the others to `offsets`."""
    fixed, places = np.zeros(FIXED_COLUMNS), np.full(4, -1)
    fixed[columns] = np.where(free, 0.0, q)
    places[offsets] = np.where(free, np.cumsum(free) - 1, -1)
    moving = tuple(name for name, moves in zip(names, free) if moves)
    turns = bool(np.any(np.array(offsets)[free] == 3))
    return PlacedNode(
        HELD, dim, in_space(q[:dim]), q[free], u[free], moving, phi=phi, offsets=tuple(places), fixed=fixed, turns=turns
    )  # fmt: skip


def weights(place: np.ndarray, n: int, gravity: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Weights of elements with masses (elements, 2, 2), so that nothing is strained in free fall; the first coordinates of a node are those
    along `gravity`."""
    found = np.zeros(n)
    for side, mass in zip((0, place.shape[1] // 2), masses.sum(axis=2).T):
        for i, g in enumerate(gravity):
            free = place[:, side + i] >= 0
            np.add.at(found, place[free, side + i], g * mass[free])
    return found


def linear_mass(mass: np.ndarray, lumped: bool) -> np.ndarray:
    """Mass matrices of elements with linear shape functions, shape (elements, 2, 2)."""
    pattern = np.array([[0.5, 0.0], [0.0, 0.5]]) if lumped else np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    return mass[:, None, None] * pattern


def lightened(matrices: np.ndarray, L: np.ndarray, light: list[int], owner: str) -> np.ndarray:
    """Lumped masses of elements (elements, 2, 2) of lengths L, those of `light` nodes on their neighbours: mass and its centre stay.

    A mass between nodes at -L_1 and L_2 is shared as by a lever, L_2 : L_1; that of an end is balanced by the two nodes next to it, at L_1
    and L_1 + L_2, of which the far one loses mass: (L_1 + L_2) / L_2 and -L_1 / L_2.
    """
    found, n = matrices.copy(), L.size
    if light and n < 2:
        raise ModelError(
            f"`light` of {owner} needs two elements or more: one could not keep its centre of mass."
        )
    for node in light:
        sides = [(k, own) for k, own in ((node - 1, 1), (node, 0)) if 0 <= k < n]
        moved = (1.0 - LIGHT) * sum(matrices[k, own, own] for k, own in sides)
        for k, own in sides:
            found[k, own, own] -= (1.0 - LIGHT) * matrices[k, own, own]
        if len(sides) == 2:
            left, right = L[node - 1], L[node]
            found[node - 1, 0, 0] += moved * right / (left + right)
            found[node, 1, 1] += moved * left / (left + right)
        else:
            (k, own), step = sides[0], 1 if node == 0 else -1
            near, far = L[k], L[k + step]
            found[k, 1 - own, 1 - own] += moved * (near + far) / far
            found[k + step, 1 - own, 1 - own] -= moved * near / far
    nodes = np.concatenate([found[:, 0, 0], [0.0]]) + np.concatenate([[0.0], found[:, 1, 1]])
    if np.min(nodes) <= 0.0:
        raise ModelError(
            f"`light` of {owner}: node {int(np.argmin(nodes))} would have no mass left; use more or more even elements."
        )
    return found
