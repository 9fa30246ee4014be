"""The beam in space (equations in `nonsmooth._core.structures.spatial_beams`): nodes on R^3 x SO(3), helicoidal elements.

Frames of nodes are the axes of the world at the start; what turns an element from there is D, its section at the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_COLUMNS, HELD, POINT, SPATIAL, TURNING
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import VECTOR, Reference
from nonsmooth._core.structures import spatial_beams as core
from nonsmooth.errors import InputError, ModelError
from nonsmooth.model.bodies.body import matrix_of
from nonsmooth.model.bodies.check import direction, number, vector
from nonsmooth.model.structures import line
from nonsmooth.model.structures.base import NOTHING, Laid, PlacedNode, assembled
from nonsmooth.model.structures.given import held_components, per_element, velocities_of

SPACE = ("x", "y", "z", "rotation")
PLACES = frozenset(SPACE[:3])
NONE = np.array([1.0, 0.0, 0.0, 0.0])  # the rotation of the start


def stiffness_of(beam: Any) -> list[np.ndarray]:
    """EA, GA, GA_2, GJ, EI_2, EI of every element, in the order of the strains."""
    n, owner = beam.points.shape[0] - 1, beam.owner
    if beam.GJ is None:
        raise InputError(f"`GJ` of {owner} is missing: a beam in space wants its torsional stiffness.")
    found = {name: per_element(getattr(beam, name), n, name, owner) for name in ("EA", "GA", "GJ", "EI")}
    for name in ("GA", "EI"):
        second = getattr(beam, f"{name}_2")
        found[f"{name}_2"] = found[name] if second is None else per_element(second, n, f"{name}_2", owner)
    return [found[name] for name in ("EA", "GA", "GA_2", "GJ", "EI_2", "EI")]


def sections(beam: Any) -> np.ndarray:
    """D of every element, shape (n, 3, 3): columns along the element, along `normal`, across both; carried along without twist."""
    d = np.diff(beam.points, axis=0)
    d = d / np.linalg.norm(d, axis=1)[:, None]
    if beam.normal is None:
        up = np.eye(3)[2 if abs(d[0, 2]) < 0.9 else 1]
        normal = np.cross(up, d[0])
    else:
        normal = direction(beam.normal, 3, "normal", beam.owner)
    found, before = [], d[0]
    for e in d:
        # the rotation that takes one tangent to the next takes the normal along
        axis, cosine = np.cross(before, e), float(before @ e)
        if cosine < -1.0 + 1e-12:
            raise ModelError(
                f"`points` of {beam.owner} turn back on themselves: a beam has no kinks of half a turn."
            )
        normal = normal + np.cross(axis, normal) + np.cross(axis, np.cross(axis, normal)) / (1.0 + cosine)
        normal = normal - (normal @ e) * e
        length = np.linalg.norm(normal)
        if length < 1e-8:
            raise ModelError(f"`normal` of {beam.owner} is along the beam: a direction across it is wanted.")
        normal = normal / length
        found.append(np.column_stack([e, normal, np.cross(e, normal)]))
        before = e
    return np.array(found)


def lay(beam: Any, gravity: np.ndarray) -> LaidSpatialBeam:
    """A `Beam` in a world of dimension 3."""
    owner, n_nodes = beam.owner, beam.points.shape[0]
    beam.fits(3)
    stiffness, n = stiffness_of(beam), n_nodes - 1
    rhoA = per_element(beam.rhoA, n, "rhoA", owner)
    EA, _, _, _, EI_2, EI = stiffness
    rhoI, rhoI_2 = (
        rhoA * own / EA if given is None else per_element(given, n, name, owner)
        for given, own, name in ((beam.rhoI, EI, "rhoI"), (beam.rhoI_2, EI_2, "rhoI_2"))
    )
    tau = number(beam.damping, "damping", owner, 0.0)
    held = held_components(beam.fixed, beam._number, SPACE, owner)
    spin = np.zeros(3) if np.isscalar(beam.angular_velocity) and beam.angular_velocity == 0.0 else (
        vector(beam.angular_velocity, 3, "angular_velocity", owner)
    )  # fmt: skip
    v = velocities_of(beam, beam.points) + np.cross(spin, beam.points - beam.points[0])
    placed = [_placed(beam, k, held.get(k, set()), v[k], spin) for k in range(n_nodes)]
    return LaidSpatialBeam(beam, placed, (stiffness, rhoA, rhoI, rhoI_2, tau), gravity)


def _placed(beam: Any, k: int, held: set[str], v: np.ndarray, spin: np.ndarray) -> PlacedNode:
    """A node that is free, clamped, pinned, or does not turn."""
    at, fixed = beam.points[k], np.zeros(FIXED_COLUMNS)
    moves, turns = not held & PLACES, "rotation" not in held
    if held & PLACES and not held >= PLACES:
        raise InputError(
            f'`fixed` of {beam.owner} holds {sorted(held)} of node {k}: in space "all", "position" or "rotation" can be held; hold single '
            "components by a joint to the ground (PointOnLine, PointOnPlane)."
        )
    if (not moves and np.any(v)) or (not turns and np.any(spin)):
        raise ModelError(
            f"node {k} of {beam.owner} is fixed, but moves at the start: give `velocity` for each node."
        )
    names = (("x", "y", "z") if moves else ()) + (("qw", "qx", "qy", "qz") if turns else ())
    q = np.concatenate([at if moves else NOTHING, NONE if turns else NOTHING])
    u = np.concatenate([v if moves else NOTHING, spin if turns else NOTHING])
    kind = {(1, 1): SPATIAL, (1, 0): POINT, (0, 1): TURNING, (0, 0): HELD}[int(moves), int(turns)]
    if not moves:
        fixed[:3] = at
    return PlacedNode(kind, 3, at, q, u, names, fixed=fixed, turns=turns)


class LaidSpatialBeam(Laid):
    """A beam in a world of dimension 3."""

    linear = False
    has_damping = True  # nodes that turn have gyroscopic forces

    def __init__(self, beam, placed, numbers, gravity):
        stiffness, rhoA, rhoI, rhoI_2, tau = numbers
        super().__init__(beam, placed, sum(node.u.size for node in placed))
        L = beam.lengths()
        D, n = sections(beam), L.size
        self._place_nodes()
        start = self._start_strains(beam.points, D, L)
        self.element_numbers = np.column_stack([L, *stiffness, np.full(n, tau), start, D.reshape(n, 9)])
        self.inertia = _node_inertia(L, D, rhoI, rhoI_2)
        self.numbers = np.concatenate([self.element_numbers.ravel(), self.inertia.ravel()])
        self._masses(rhoA * L, gravity)

    def _place_nodes(self):
        """Where coordinates and velocities of every node stand in the block, or -1: x, quaternion; v, omega."""
        table, q, u = [], 0, 0
        for node in self.placed:
            moves, turns = node.kind in (SPATIAL, POINT), node.kind in (SPATIAL, TURNING)
            table.append(
                (
                    q if moves else -1,
                    q + 3 * moves if turns else -1,
                    u if moves else -1,
                    u + 3 * moves if turns else -1,
                )
            )
            q, u = q + node.q.size, u + node.u.size
        self.places = np.array(table, dtype=np.int64)
        self.held = np.array([node.fixed[:3] for node in self.placed])
        pairs = np.hstack([self.places[:-1, 2:], self.places[1:, 2:]])  # v, omega of both nodes
        self.place = np.where(pairs[:, :, None] >= 0, pairs[:, :, None] + np.arange(3), -1).reshape(-1, 12)

    def _start_strains(self, points, D, L):
        """Without stress: elements are straight at the start, sections of neighbours differ by D alone."""
        start = np.zeros((L.size, 6))
        start[:, 0] = 1.0
        return start

    def _masses(self, mass, gravity):
        beam = self.structure
        matrices = np.zeros((mass.size, 12, 12))
        pattern = beam.masses(mass, beam.lengths())
        for i in range(3):
            matrices[:, i::6, i::6] = pattern
        turning = [(0, 3, 4), (3, 1, 5), (4, 5, 2)]
        for k, numbers in enumerate(self.inertia):  # of a node, on the first element that has it
            element, first = (k, 3) if k < mass.size else (k - 1, 9)
            matrices[element, first : first + 3, first : first + 3] = [
                [numbers[c] for c in row] for row in turning
            ]
        self.mass = assembled(self.place, matrices, self.n)
        self.weights = line.weights(self.place, self.n, gravity, pattern)

    # -- compiled ----------------------------------------------------------------------------------------------------------

    def coupled(self):
        rows, columns = np.repeat(self.place, 12, axis=1).ravel(), np.tile(self.place, (1, 12)).ravel()
        both = (rows >= 0) & (columns >= 0)
        return rows[both], columns[both]

    def _record(self, tangent: np.ndarray) -> Reference:
        first = np.array([self.first_q, self.first_q, self.first_u, self.first_u])
        places = np.where(self.places >= 0, self.places + first, -1)
        n, m = self.place.shape[0], self.places.shape[0]
        at = self.at + core.NUMBERS * np.arange(n, dtype=np.int64)
        node_at = self.at + core.NUMBERS * n + core.NODE_NUMBERS * np.arange(m, dtype=np.int64)
        x, turn, v, omega = (np.ascontiguousarray(places[:, k]) for k in range(4))
        held, work, G = np.ascontiguousarray(self.held), np.zeros((4, 12)), np.zeros((12, 6))
        return Reference(core.SpatialBeam(x, turn, v, omega, held, node_at, at, tangent, work, G))

    def force(self):
        reference = self._record(np.zeros((1, 1), dtype=np.int64))
        return ModelFunction(core.beam_forces, VECTOR, [reference.address], keep=reference)

    def tangents(self, places):
        rows, columns = np.repeat(self.place, 12, axis=1), np.tile(self.place, (1, 12))
        both = (rows >= 0) & (columns >= 0)
        tangent = np.full(rows.shape, -1, dtype=np.int64)
        tangent[both] = places(rows[both], columns[both])
        reference = self._record(tangent)
        K, D = (
            ModelFunction(kernel, VECTOR, [reference.address], keep=reference)
            for kernel in (core.beam_stiffness, core.beam_damping)
        )
        return K, D

    # -- plain NumPy -------------------------------------------------------------------------------------------------------

    def _nodes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n_t, nodes, 3) and quaternions (n_t, nodes, 4)."""
        own, m = self.block_q(q), len(self.placed)
        x = np.broadcast_to(self.held, (q.shape[0], m, 3)).copy()
        turn = np.broadcast_to(NONE, (q.shape[0], m, 4)).copy()
        moves, turns = (np.flatnonzero(self.places[:, k] >= 0) for k in (0, 1))
        x[:, moves] = own[:, self.places[moves, 0][:, None] + np.arange(3)]
        turn[:, turns] = own[:, self.places[turns, 1][:, None] + np.arange(4)]
        return x, turn

    def _strains(self, x, turn):
        """Gamma and kappa (start included) of all elements, shape (n_t, elements, 6); analytic in both nodes."""
        L, D = self.element_numbers[:, 0], self.element_numbers[:, core.AXES :].reshape(-1, 3, 3)
        return strains(x[0], turn[0], x[1], turn[1], D) / L[:, None]

    def _ends(self, q):
        x, turn = self._nodes(q)
        return (x[:, :-1], x[:, 1:]), (turn[:, :-1], turn[:, 1:])

    def _slopes(self, q):
        """Change of strains with the 12 increments of an element by complex steps, shape (n_t, elements, 6, 12)."""
        x, turn = self._ends(q)
        found, h = [], 1e-40
        for column in range(12):
            side, part, j = column // 6, (column % 6) // 3, column % 3
            moved_x, moved_turn = list(x), list(turn)
            if part == 0:
                moved_x[side] = x[side] + 1j * h * np.eye(3)[j]
            else:
                step = np.zeros(4, dtype=complex)
                step[1 + j] = 0.5j * h
                moved_turn[side] = turn[side] + times(turn[side], step)
            found.append(np.imag(self._strains(moved_x, moved_turn)) / h)
        return np.stack(found, axis=-1)

    def resultants(self, q, u) -> np.ndarray:
        """N, Q, Q_2, T, M_2, M, shape (n_t, elements, 6)."""
        C, tau = self.element_numbers[:, core.C : core.C + 6], self.element_numbers[0, core.TAU]
        strain = self._strains(*self._ends(q)) - self.element_numbers[:, core.START : core.START + 6]
        if tau != 0.0:
            strain = strain + tau * np.einsum("teij,tej->tei", self._slopes(q), self._rates(u))
        return C * strain

    def _rates(self, u):
        v = np.zeros((u.shape[0], *self.place.shape))
        free = self.place >= 0
        v[:, free] = self.block_u(u)[:, self.place[free]]
        return v

    def plain_forces(self, q, u):
        forces = -np.einsum(
            "e,teij,tei->tej", self.element_numbers[:, 0], self._slopes(q), self.resultants(q, u)
        )
        out, free = np.zeros((q.shape[0], self.n)), self.place >= 0
        np.add.at(out.T, self.place[free], forces[:, free].T)
        for k, numbers in zip(self.places[:, 3], self.inertia):
            if k >= 0:
                w = self.block_u(u)[:, k : k + 3]
                J = np.array([[numbers[c] for c in row] for row in ((0, 3, 4), (3, 1, 5), (4, 5, 2))])
                out[:, k : k + 3] -= np.cross(w, w @ J)
        return out

    def strain_energy(self, q):
        C, L = self.element_numbers[:, core.C : core.C + 6], self.element_numbers[:, 0]
        strain = self._strains(*self._ends(q)) - self.element_numbers[:, core.START : core.START + 6]
        return 0.5 * np.einsum("e,ei,tei->t", L, C, strain**2)

    def work_of_weight(self, q):
        """Potential energy of its weight, zero where it starts with x = 0."""
        x, own = self._nodes(q)[0], np.zeros(q.shape[0])
        for node, place in enumerate(self.places[:, 2]):
            if place >= 0:
                own -= x[:, node] @ self.weights[place : place + 3]
        return own


def _node_inertia(L, D, rhoI, rhoI_2) -> np.ndarray:
    """Rotary inertia on the nodes, half of either element: xx, yy, zz, xy, xz, yz, shape (nodes, 6)."""
    moments = np.stack([rhoI + rhoI_2, rhoI_2, rhoI], axis=-1)  # about the axis, the normal, across
    whole = 0.5 * L[:, None, None] * np.einsum("eij,ej,ekj->eik", D, moments, D)
    J = np.zeros((L.size + 1, 3, 3))
    J[:-1] += whole
    J[1:] += whole
    return J[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


# -- rotations that complex steps pass ------------------------------------------------------------------------------------


def times(p, q):
    """Product of quaternions."""
    w, v, x, y = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    first = w * x - np.sum(v * y, axis=-1, keepdims=True)
    return np.concatenate([first, w * y + x * v + np.cross(v, y)], axis=-1)


def strains(x_1, turn_1, x_2, turn_2, D):
    """B r and theta of elements, shape (n_t, elements, 6), from the quaternions of their nodes."""
    S = np.einsum("teij,ejk->teik", matrix_of(turn_1), D)
    r = np.einsum("teji,tej->tei", S, x_2 - x_1)
    relative = times(turn_1 * np.array([1, -1, -1, -1]), turn_2)
    v, w = relative[..., 1:], relative[..., :1]
    tangent = np.einsum(
        "eji,tej->tei", D, v / w
    )  # tan(|theta| / 2) times the axis, in the section; quaternions of any length
    s = np.sum(tangent**2, axis=-1, keepdims=True)
    small = np.abs(s) < 1e-3
    root = np.sqrt(np.where(small, 1.0, s))
    series = 1 + s * (-1 / 3 + s * (1 / 5 + s * (-1 / 7 + s * (1 / 9 - s / 11))))
    factor = 2 * np.where(small, series, np.arctan(root) / root)
    theta = factor * tangent
    square = np.sum(theta**2, axis=-1, keepdims=True)
    half = 0.5 * np.sqrt(np.where(small, 1.0, square))
    near = 1 / 12 + square * (1 / 720 + square * (1 / 30240 + square / 1209600))
    c = np.where(small, near, (1 - half / np.tan(half)) / np.where(small, 1.0, square))
    turned = np.cross(theta, r)
    return np.concatenate([r - 0.5 * turned + c * np.cross(theta, turned), theta], axis=-1)
