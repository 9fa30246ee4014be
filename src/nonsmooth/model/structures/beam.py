"""`Beam`: the geometrically exact beam, in the plane (equations in `nonsmooth._core.structures.planar_beams`) and in space
(`model.structures.spatial_beam`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_PHI, PLANAR
from nonsmooth._core.structures import planar_beams
from nonsmooth.errors import InputError
from nonsmooth.model.bodies.check import in_space, number
from nonsmooth.model.structures import line
from nonsmooth.model.structures.base import LaidElements, PlacedNode, assembled
from nonsmooth.model.structures.given import checked_lumping, held_components, per_element, velocities_of
from nonsmooth.model.structures.spatial_beam import SPACE
from nonsmooth.model.structures.spatial_beam import lay as lay_in_space

KERNELS = (planar_beams.beam_forces, planar_beams.beam_stiffness, planar_beams.beam_damping)
PLANE = ("x", "y", "phi")


class Beam(line.Line):
    """A geometrically exact beam (stretch, shear, bending, torsion; rotations of any size): linear elements in the plane, pieces of
    helices in space.

    Parameters
    ----------
    points : (2, dim) or (n + 1, dim)
        Its two ends, with `elements`, or all nodes, in the world, without stress (a curved beam is a chain of straight elements).
    elements : int
    EA, GA, EI : float, or one for each element
        Stiffness in stretch, shear (modulus times effective area) and bending.
    rhoA : float, or one for each element
        Mass by length.
    rhoI : float, optional
        Rotary inertia by length; default: rhoA EI / EA, that of one material.
    GJ, EI_2, GA_2, rhoI_2 : float, or one for each element
        In space: torsional stiffness; stiffness and rotary inertia across `normal` (default: those along it). Rotary inertia stands
        on the nodes there.
    normal : (3,), optional
        In space: the direction across the beam in which EI and GA bend and shear it; default: horizontal, along z x axis.
    radius : float
        With which nodes touch other things.
    mass : {"consistent", "lumped"}
    light : a node, or several
        Of a lumped mass: nodes that hand all but a tenth of their mass to their neighbours, so that an impact of the node, which
        takes the energy of its mass, takes little (mass redistribution; H. B. Khenous, P. Laborde, Y. Renard 2008).
    damping : float
        A time tau: resultants are those of strain + tau strain rate.
    fixed : a node, or a mapping from nodes to "all" (clamped), "position" (pinned), or some of "x", "y", "phi" (in space "rotation")
        What does not move: no unknowns. Nodes are "start", "end" or numbers.
    velocity : (dim,) or (n + 1, dim)
        Of the nodes at the start.
    angular_velocity : float, or (3,) in space
        Turns the beam about its first node at the start, besides `velocity`.
    material : Material, optional
    name : str, optional
    """

    def __init__(
        self,
        points: Any,
        elements: int | None = None,
        *,
        EA: Any,
        GA: Any,
        EI: Any,
        rhoA: Any,
        rhoI: Any = None,
        GJ: Any = None,
        EI_2: Any = None,
        GA_2: Any = None,
        rhoI_2: Any = None,
        normal: Any = None,
        radius: float = 0.0,
        mass: str = "consistent",
        light: Any = None,
        damping: float = 0.0,
        fixed: Any = None,
        velocity: Any = None,
        angular_velocity: Any = 0.0,
        material: Any = None,
        name: str | None = None,
    ):
        super().__init__(points, elements, name, material)
        self.EA, self.GA, self.EI, self.rhoA, self.rhoI, self.mass = EA, GA, EI, rhoA, rhoI, mass
        self.GJ, self.EI_2, self.GA_2, self.rhoI_2, self.normal = GJ, EI_2, GA_2, rhoI_2, normal
        self.damping, self.light, self.fixed = damping, light, fixed
        self.velocity, self.angular_velocity = velocity, angular_velocity
        self.radius = number(radius, "radius", self.owner, 0.0)
        self._checked()

    def _checked(self):
        """Numbers of elements, what is held."""
        n, owner = self.points.shape[0] - 1, self.owner
        stiffness = [per_element(getattr(self, name), n, name, owner) for name in ("EA", "GA", "EI")]
        rhoA = per_element(self.rhoA, n, "rhoA", owner)
        rhoI = (
            rhoA * stiffness[2] / stiffness[0]
            if self.rhoI is None
            else per_element(self.rhoI, n, "rhoI", owner)
        )
        tau = number(self.damping, "damping", owner, 0.0)
        checked_lumping(self.mass, owner)
        components = PLANE if self.points.shape[1] == 2 else SPACE
        return stiffness, rhoA, rhoI, tau, held_components(self.fixed, self._number, components, owner)

    def lay(self, dim: int, gravity: np.ndarray) -> Any:
        if dim == 3:
            return lay_in_space(self, gravity)
        of_space = [
            name for name in ("GJ", "EI_2", "GA_2", "rhoI_2", "normal") if getattr(self, name) is not None
        ]
        if of_space:
            raise InputError(f"`{of_space[0]}` of {self.owner} is for space, but the world has dimension 2.")
        self.fits(2)
        stiffness, rhoA, rhoI, tau, held = self._checked()
        angles = node_angles(self.points)
        spin = number(self.angular_velocity, "angular_velocity", self.owner)
        v = velocities_of(self, self.points)
        arm = self.points - self.points[0]
        u = np.column_stack([v[:, 0] - spin * arm[:, 1], v[:, 1] + spin * arm[:, 0], np.full(len(v), spin)])
        q = np.column_stack([self.points, angles])
        free = self.free(PLANE, held, u)
        unknown, n = line.unknowns(free)
        placed = [_placed(*node) for node in zip(q, u, free)]
        return LaidBeam(self, placed, n, unknown, q, (stiffness, rhoA, rhoI, tau), gravity)


def node_angles(points: np.ndarray) -> np.ndarray:
    """Angles of the cross-sections: those of the tangent, at inner nodes the mean of both elements; they count turns."""
    d = np.diff(points, axis=0)
    angle = np.unwrap(np.arctan2(d[:, 1], d[:, 0]))
    return np.concatenate([[angle[0]], 0.5 * (angle[1:] + angle[:-1]), [angle[-1]]])


def _placed(q, u, free) -> PlacedNode:
    if np.all(free):
        return PlacedNode(PLANAR, 2, in_space(q[:2]), q.copy(), u.copy(), PLANE, phi=q[2], turns=True)
    return line.partly_held(q, u, free, PLANE, [0, 1, FIXED_PHI], [0, 1, 3], 2, phi=q[2])


class LaidBeam(LaidElements):
    """A beam in a plane world."""

    linear = False

    def __init__(self, beam, placed, n, unknown, q, numbers, gravity):
        stiffness, rhoA, rhoI, tau = numbers
        L = beam.lengths()
        place = np.hstack([unknown[:-1], unknown[1:]])
        held = np.hstack([q[:-1], q[1:]])
        start = strains(held[None], L)[0]
        table = np.column_stack([L, *stiffness, np.full(L.size, tau), start])
        super().__init__(beam, placed, n, place, held, table, KERNELS)
        self.has_damping = tau > 0.0
        matrices = np.zeros((L.size, 6, 6))
        for component, density in enumerate((rhoA, rhoA, rhoI)):
            light = component < 2  # turning meets no contact
            matrices[:, component::3, component::3] = beam.masses(density * L, L, light)
        self.mass = assembled(place, matrices, n)
        self.weights = line.weights(place, n, gravity[:2], matrices[:, ::3, ::3])

    def _strains(self, x):
        return strains(x, self.element_numbers[:, 0]) - self.element_numbers[:, 5:8]

    def _slopes(self, x):
        """B = d strain / d coordinates by complex steps, shape (n_t, elements, 3, 6)."""
        steps = []
        for i in range(6):
            moved = x.astype(complex)
            moved[..., i] += 1e-40j
            steps.append(np.imag(strains(moved, self.element_numbers[:, 0])) / 1e-40)
        return np.stack(steps, axis=-1)

    def resultants(self, q, u) -> np.ndarray:
        """N, Q, M, shape (n_t, elements, 3)."""
        x, v, tau = self.coordinates(q), self.rates(u), self.element_numbers[0, 4]
        rates = np.einsum("teij,tej->tei", self._slopes(x), v)
        return self.element_numbers[:, 1:4] * (self._strains(x) + tau * rates)

    def plain_forces(self, q, u):
        B, L = self._slopes(self.coordinates(q)), self.element_numbers[:, 0]
        return self.gathered(-np.einsum("e,teij,tei->tej", L, B, self.resultants(q, u)))

    def strain_energy(self, q):
        L, C = self.element_numbers[:, 0], self.element_numbers[:, 1:4]
        return 0.5 * np.einsum("e,ei,tei->t", L, C, self._strains(self.coordinates(q)) ** 2)


def strains(x: np.ndarray, L: np.ndarray) -> np.ndarray:
    """c_1, c_2 and the curvature of elements (n_t, elements, 6), shape (n_t, elements, 3)."""
    theta = 0.5 * (x[..., 2] + x[..., 5])
    d = (x[..., 3:5] - x[..., 0:2]) / L[:, None]
    c, s = np.cos(theta), np.sin(theta)
    return np.stack(
        [c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0], (x[..., 5] - x[..., 2]) / L], axis=-1
    )
