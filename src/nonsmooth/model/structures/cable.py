"""`Cable`: points one after the other, tension between them (equations in `nonsmooth._core.structures.cables`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import POINT
from nonsmooth._core.structures import cables
from nonsmooth.model.bodies.check import flag, in_space, number
from nonsmooth.model.structures import line
from nonsmooth.model.structures.base import LaidElements, PlacedNode, assembled
from nonsmooth.model.structures.given import checked_lumping, held_components, per_element, velocities_of

KERNELS = (cables.cable_forces, cables.cable_stiffness, cables.cable_damping)


class Cable(line.Line):
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
        super().__init__(points, elements, name, material)
        self.EA, self.rhoA, self.length, self.damping = EA, rhoA, length, damping
        self.slack = flag(slack, "slack", self.owner)
        self.mass, self.light, self.fixed, self.velocity = mass, light, fixed, velocity
        self.radius = number(radius, "radius", self.owner, 0.0)
        self._checked()

    def _checked(self):
        owner, n, dim = self.owner, self.points.shape[0] - 1, self.points.shape[1]
        L = self.lengths()
        if self.length is not None:
            L = L * (number(self.length, "length", owner, 0.0, strict=True) / L.sum())
        EA, rhoA = per_element(self.EA, n, "EA", owner), per_element(self.rhoA, n, "rhoA", owner)
        tau = number(self.damping, "damping", owner, 0.0)
        checked_lumping(self.mass, owner)
        held = held_components(self.fixed, self._number, ("x", "y", "z")[:dim], owner)
        return L, EA, rhoA, tau, held

    def lay(self, dim: int, gravity: np.ndarray) -> LaidCable:
        self.fits(dim)
        L, EA, rhoA, tau, held = self._checked()
        v, names = velocities_of(self, self.points), ("x", "y", "z")[:dim]
        free = self.free(names, held, v)
        unknown, n = line.unknowns(free)
        placed = [_placed(*node, names) for node in zip(self.points, v, free)]
        return LaidCable(self, placed, n, unknown, (L, EA, rhoA, tau), gravity)


def _placed(point, v, free, names) -> PlacedNode:
    dim = point.size
    if np.all(free):
        return PlacedNode(POINT, dim, in_space(point), point.copy(), v.copy(), names)
    own = list(range(dim))
    return line.partly_held(point, v, free, names, own, own, dim)


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
        matrices = np.zeros((L.size, 2 * dim, 2 * dim))
        pattern = cable.masses(rhoA * L, L)
        for i in range(dim):
            matrices[:, i::dim, i::dim] = pattern
        self.mass = assembled(place, matrices, n)
        self.weights = line.weights(place, n, gravity[:dim], pattern)

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
