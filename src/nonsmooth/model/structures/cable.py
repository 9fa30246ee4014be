"""`Cable`: points one after the other, tension between them (equations in `nonsmooth._core.structures.cables`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_COLUMNS, HELD, POINT
from nonsmooth._core.structures import cables
from nonsmooth.errors import ModelError, ShapeError
from nonsmooth.model.bodies.check import in_space, number
from nonsmooth.model.structures.base import (
    LaidElements,
    Node,
    PlacedNode,
    Structure,
    assembled,
    lightened,
    linear_mass,
)
from nonsmooth.model.structures.given import (
    checked_lumping,
    held_components,
    light_nodes,
    line_of_nodes,
    per_element,
    velocities_of,
)

KERNELS = (cables.cable_forces, cables.cable_stiffness, cables.cable_damping)


class Cable(Structure):
    """A cable without bending stiffness, in the plane or in space.

    Parameters
    ----------
    points : (2, dim) or (n + 1, dim)
        Its two ends, with `elements`, or all nodes, in the world, at the start.
    elements : int
    EA : float, or one for each element
        Stiffness against stretch.
    rhoA : float, or one for each element
        Mass by length, of the length without tension.
    length : float, optional
        Without tension, of the whole cable; default: that at the start. Elements share it as their lengths at the start.
    slack : bool
        Whether elements go slack instead of pushing.
    damping : float
        A time tau: the tension is EA (strain + tau strain rate).
    mass : {"consistent", "lumped"}
    light : a node, or several
        See `Beam`.
    radius : float
        With which nodes touch other things.
    fixed : a node, or a mapping from nodes to "all", "position" or some of "x", "y", "z"
        What does not move: no unknowns.
    velocity : (dim,) or (n + 1, dim)
    material : Material, optional
    name : str, optional
    """

    def __init__(
        self,
        points: Any,
        elements: int | None = None,
        *,
        EA: Any,
        rhoA: Any,
        length: float | None = None,
        slack: bool = True,
        damping: float = 0.0,
        mass: str = "lumped",
        light: Any = None,
        radius: float = 0.0,
        fixed: Any = None,
        velocity: Any = None,
        material: Any = None,
        name: str | None = None,
    ):
        super().__init__(name, material)
        self.points = line_of_nodes(points, elements, self.owner)
        self.EA, self.rhoA, self.length, self.slack, self.damping = EA, rhoA, length, bool(slack), damping
        self.mass, self.light, self.fixed, self.velocity = mass, light, fixed, velocity
        self.radius = number(radius, "radius", self.owner, 0.0)
        self.frames = [Node(self, k) for k in range(self.points.shape[0])]
        self._checked()

    def _checked(self):
        owner, n, dim = self.owner, self.points.shape[0] - 1, self.points.shape[1]
        L = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        if self.length is not None:
            L = L * (number(self.length, "length", owner, 0.0, strict=True) / L.sum())
        EA, rhoA = per_element(self.EA, n, "EA", owner), per_element(self.rhoA, n, "rhoA", owner)
        tau = number(self.damping, "damping", owner, 0.0)
        checked_lumping(self.mass, owner)
        held = held_components(self.fixed, self._number, ("x", "y", "z")[:dim], owner)
        return L, EA, rhoA, tau, held

    def lay(self, dim: int, gravity: np.ndarray) -> LaidCable:
        if self.points.shape[1] != dim:
            raise ShapeError(
                f"`points` of {self.owner} have {self.points.shape[1]} entries in a world of dimension {dim}."
            )
        L, EA, rhoA, tau, held = self._checked()
        v, names = velocities_of(self, self.points), ("x", "y", "z")[:dim]
        placed, unknown, n = [], np.full(self.points.shape, -1), 0
        for k, point in enumerate(self.points):
            free = np.array([name not in held.get(k, ()) for name in names])
            if np.any(v[k, ~free]):
                raise ModelError(
                    f"node {k} of {self.owner} is fixed, but has the velocity {v[k].tolist()}: give one row for each node."
                )
            unknown[k, free] = n + np.arange(free.sum())
            n += int(free.sum())
            placed.append(_placed(point, v[k], free, names))
        return LaidCable(self, placed, n, unknown, (L, EA, rhoA, tau), gravity)


def _placed(point, v, free, names) -> PlacedNode:
    dim = point.size
    if np.all(free):
        return PlacedNode(POINT, dim, in_space(point), point.copy(), v.copy(), names)
    fixed, offsets = np.zeros(FIXED_COLUMNS), np.full(4, -1)
    fixed[:dim] = np.where(free, 0.0, point)
    offsets[:dim] = np.where(free, np.cumsum(free) - 1, -1)
    own = tuple(name for name, moves in zip(names, free) if moves)
    return PlacedNode(
        HELD, dim, in_space(point), point[free], v[free], own, offsets=tuple(offsets), fixed=fixed
    )


class LaidCable(LaidElements):
    """A cable in a world."""

    linear = False

    def __init__(self, cable, placed, n, unknown, numbers, gravity):
        L, EA, rhoA, tau = numbers
        dim = unknown.shape[1]
        self.dim = dim
        place, held = np.hstack([unknown[:-1], unknown[1:]]), np.hstack([cable.points[:-1], cable.points[1:]])
        pushes = np.full(L.size, 0.0 if cable.slack else 1.0)
        super().__init__(
            cable, placed, n, place, held, np.column_stack([L, EA, np.full(L.size, tau), pushes]), KERNELS
        )
        self.has_damping = tau > 0.0
        pattern = linear_mass(rhoA * L, checked_lumping(cable.mass, cable.owner))
        pattern = lightened(pattern, L, light_nodes(cable), cable.owner)
        matrices = np.zeros((L.size, 2 * dim, 2 * dim))
        for i in range(dim):
            matrices[:, i::dim, i::dim] = pattern
            for side in (0, dim):
                free = place[:, side + i] >= 0
                np.add.at(self.weights, place[free, side + i], 0.5 * gravity[i] * (rhoA * L)[free])
        self.mass = assembled(place, matrices, n)

    def _line(self, q):
        """e (n_t, elements, dim) and l (n_t, elements)."""
        x = self.coordinates(q)
        d = x[..., self.dim :] - x[..., : self.dim]
        l = np.sqrt(np.sum(d**2, axis=-1))
        return d / np.where(l > 0.0, l, 1.0)[..., None], l

    def resultants(self, q, u) -> np.ndarray:
        """Tension, shape (n_t, elements, 1)."""
        L, EA, tau, pushes = self.element_numbers.T
        (e, l), v = self._line(q), self.rates(u)
        speed = np.sum(e * (v[..., self.dim :] - v[..., : self.dim]), axis=-1)
        N = EA * (l / L - 1.0 + tau * speed / L)
        slack = (pushes == 0.0) & ((l < L) | (N < 0.0))
        return np.where(slack, 0.0, N)[..., None]

    def plain_forces(self, q, u):
        pull = self.resultants(q, u) * self._line(q)[0]
        return self.gathered(np.concatenate([pull, -pull], axis=-1))

    def strain_energy(self, q):
        L, EA, _, pushes = self.element_numbers.T
        strain = self._line(q)[1] / L - 1.0
        strain = np.where((pushes == 0.0) & (strain < 0.0), 0.0, strain)
        return 0.5 * np.sum(EA * L * strain**2, axis=1)
