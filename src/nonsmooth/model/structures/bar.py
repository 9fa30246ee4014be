"""`Bar`: a linear elastic bar whose nodes move along its axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import ALONG, FIXED_COLUMNS, HELD
from nonsmooth._core.structures import bars
from nonsmooth.errors import ModelError
from nonsmooth.model.bodies.check import in_space, number
from nonsmooth.model.structures import line
from nonsmooth.model.structures.base import NOTHING, LaidElements, PlacedNode, assembled
from nonsmooth.model.structures.given import held_components, per_element, velocities_of

KERNELS = (bars.bar_forces, bars.bar_stiffness, bars.bar_damping)


class Bar(line.Line):
    """A straight elastic bar with linear elements; its coordinates are displacements along its axis.

    Parameters
    ----------
    points : (2, dim) or (n + 1, dim)
        Its two ends, with `elements`, or all nodes (on one line), in the world, without stress.
    elements : int
    EA : float, or one for each element
        Axial stiffness: Young's modulus times area.
    rhoA : float, or one for each element
        Mass by length.
    mass : {"consistent", "lumped"}
    light : a node, or several
        Of a lumped mass: nodes that hand all but a tenth of their mass to their neighbours, so that an impact of the node, which
        takes the energy of its mass, takes little (mass redistribution; H. B. Khenous, P. Laborde, Y. Renard 2008).
    damping : float
        A time tau: the normal force is EA (strain + tau strain rate).
    fixed : "start", "end", a number, or several of them
        Nodes that do not move: no unknowns.
    velocity : (dim,) or (n + 1, dim)
        At the start, along the axis.
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
        mass: str = "consistent",
        light: Any = None,
        damping: float = 0.0,
        fixed: Any = None,
        velocity: Any = None,
        material: Any = None,
        name: str | None = None,
    ):
        super().__init__(points, elements, name, material)
        self.EA, self.rhoA, self.mass, self.damping = EA, rhoA, mass, damping
        self.fixed, self.velocity, self.light = fixed, velocity, light
        self._checked()

    def _checked(self):
        """Direction, lengths and numbers of elements."""
        owner, points = self.owner, self.points
        d = points[-1] - points[0]
        span = float(np.linalg.norm(d))
        e = d / span if span > 0.0 else np.zeros_like(d)
        s = (points - points[0]) @ e
        off = np.max(np.linalg.norm(points - points[0] - s[:, None] * e, axis=1))
        if off > 1e-9 * span or np.any(np.diff(s) <= 0.0):
            raise ModelError(
                f"`points` of {owner} do not lie on a line one after the other: a bar is straight (see Beam)."
            )
        L, n = np.diff(s), points.shape[0] - 1
        tau = number(self.damping, "damping", owner, 0.0)
        held = held_components(self.fixed, self._number, ("x",), owner)
        return e, L, per_element(self.EA, n, "EA", owner), per_element(self.rhoA, n, "rhoA", owner), tau, held

    def lay(self, dim: int, gravity: np.ndarray) -> LaidBar:
        self.fits(dim)
        e, L, EA, rhoA, tau, held = self._checked()
        v = velocities_of(self, self.points)
        speed = v @ e
        if np.max(np.abs(v - speed[:, None] * e), initial=0.0) > 1e-12 * np.max(np.abs(v), initial=0.0):
            raise ModelError(
                f"`velocity` of {self.owner} is not along its axis: its nodes move along the axis only (see Beam)."
            )
        free = self.free(("along its axis",), {k: {"along its axis"} for k in held}, speed[:, None])
        unknown, n = line.unknowns(free[:, 0])
        placed = [
            _placed(dim, in_space(point), in_space(e), rate, moves)
            for point, rate, moves in zip(self.points, speed, free[:, 0])
        ]
        return LaidBar(self, placed, n, unknown, (L, EA, rhoA, tau), gravity[:dim] @ e)


def _placed(dim, at, axis, speed, moves) -> PlacedNode:
    fixed = np.zeros(FIXED_COLUMNS)
    fixed[:3] = at
    if not moves:
        return PlacedNode(HELD, dim, at, NOTHING, NOTHING, (), fixed=fixed)
    fixed[3:] = axis
    return PlacedNode(ALONG, dim, at, np.zeros(1), np.array([speed]), ("s",), fixed=fixed)


class LaidBar(LaidElements):
    """A bar in a world."""

    definite = True

    def __init__(self, bar, placed, n, unknown, numbers, along):
        L, EA, rhoA, tau = numbers
        place = np.column_stack([unknown[:-1], unknown[1:]])
        super().__init__(
            bar, placed, n, place, np.zeros(place.shape), np.column_stack([EA / L, tau * EA / L]), KERNELS
        )  # fmt: skip
        self.has_damping = tau > 0.0
        masses = bar.masses(rhoA * L, L)
        self.mass = assembled(place, masses, n)
        self.weights = line.weights(place, n, np.array([along]), masses)

    def _normal(self, x, v):
        """Normal force without and with damping, shape (n_t, elements)."""
        k, c = self.element_numbers.T
        return k * (x[..., 1] - x[..., 0]), c * (v[..., 1] - v[..., 0])

    def plain_forces(self, q, u):
        N = sum(self._normal(self.coordinates(q), self.rates(u)))
        return self.gathered(np.stack([N, -N], axis=-1))

    def strain_energy(self, q):
        x = self.coordinates(q)
        return 0.5 * np.sum(self.element_numbers[:, 0] * (x[..., 1] - x[..., 0]) ** 2, axis=1)

    def resultants(self, q, u) -> np.ndarray:
        """Normal force, shape (n_t, elements, 1)."""
        return sum(self._normal(self.coordinates(q), self.rates(u)))[..., None]
