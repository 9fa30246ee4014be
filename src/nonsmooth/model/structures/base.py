"""What structures have in common: nodes that joints, forces and contacts attach to, boundary conditions, and what a world asks of them.

A structure owns a block of neighbouring coordinates. Boundary conditions remove unknowns: what is held has no coordinate. `Laid` is a
structure in a world of known dimension, checked: numbers of its block count from zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.bodies.frames import FIXED_COLUMNS
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import VECTOR, Reference
from nonsmooth._core.structures.elements import Elements, Shift
from nonsmooth.errors import InputError
from nonsmooth.model.bodies.body import Body
from nonsmooth.model.bodies.material import material_of
from nonsmooth.names import Label, short

NOTHING = np.zeros(0)


class Node(Body):
    """A node of a structure: joints, loads and contacts take it where they take a body."""

    def __init__(self, structure: Any, label: Any):
        self.structure, self.label = structure, label
        self.shape = None
        self.world: Any = None

    @property
    def material(self):
        return self.structure.material

    @property
    def radius(self) -> float:
        """With which it touches."""
        return getattr(self.structure, "radius", 0.0)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.structure.name or type(self.structure).__name__.lower()}[{self.label}]"

    @property
    def owner(self) -> str:
        return f"node {self.name!r}"

    def __repr__(self) -> str:
        return f"<Node {self.name!r}>"


class PlacedNode:
    """A node in a world: what `model.bodies.body.Placed` is to a body.

    Attributes
    ----------
    q, u : ndarray
        Coordinates it adds to those of the world.
    offsets : tuple of int
        Of a HELD node: which coordinate of its block x, y, z, phi are, or -1.
    fixed : ndarray, shape (6,)
        What does not move.
    seen : tuple of int
        Number of coordinates and velocities that functions of loads see.
    block : bool
        Whether it has no coordinates of its own but those of the first frame of its structure.
    """

    __slots__ = (
        "R",
        "block",
        "dim",
        "fixed",
        "kind",
        "offsets",
        "parts",
        "phi",
        "q",
        "seen",
        "turns",
        "u",
        "x",
    )

    mass, J = 0.0, np.zeros(6)

    def __init__(
        self, kind, dim, x, q, u, parts, *, phi=0.0, offsets=(-1, -1, -1, -1), fixed=None, turns=False
    ):
        self.kind, self.dim, self.x, self.phi = kind, dim, x, phi
        self.q, self.u, self.parts, self.offsets = q, u, parts, offsets
        self.fixed = np.zeros(FIXED_COLUMNS) if fixed is None else fixed
        self.turns, self.block, self.seen = turns, False, (q.size, u.size)
        c, s = np.cos(phi), np.sin(phi)
        self.R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


class Structure:
    """Base of bars, beams and given matrices."""

    name = Label()

    def __init__(self, name: str | None, material: Any):
        self.name = name
        self.material = material_of(material, self.owner)
        self.frames: list[Node] = []  # rows of the table of frames, in order
        self.world: Any = None

    @property
    def owner(self) -> str:
        kind = type(self).__name__
        return f"{kind} {self.name!r}" if self.name else f"a {kind} without name"

    def __repr__(self) -> str:
        return short(self)

    @property
    def nodes(self) -> list[Node]:
        """All nodes, in order."""
        return self.frames

    def node(self, which: Any) -> Node:
        """A node by number (from the end if negative), "start" or "end"."""
        return self.nodes[self._number(which)]

    @property
    def start(self) -> Node:
        return self.node("start")

    @property
    def end(self) -> Node:
        return self.node("end")

    def _number(self, which: Any, argument: str = "") -> int:
        n = len(self.nodes)
        if isinstance(which, str) and which in ("start", "end"):
            return 0 if which == "start" else n - 1
        if isinstance(which, bool) or not isinstance(which, int | np.integer) or not -n <= which < n:
            where = f"`{argument}`: " if argument else ""
            raise InputError(
                f'{where}{self.owner} has no node {which!r}: "start", "end" or a number from 0 to {n - 1} is wanted.'
            )
        return int(which) % n

    def lay(self, dim: int, gravity: np.ndarray) -> Laid:
        """The structure in a world of this dimension."""
        raise NotImplementedError


class Entries(NamedTuple):
    """Entries of a matrix of the block, the same place at most once."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


class Laid:
    """A structure in a world.

    Attributes
    ----------
    placed : list of PlacedNode
    n, n_q : int
        Number of its velocities and coordinates.
    mass : Entries
    weights : ndarray, shape (n,)
        Constant forces on its coordinates.
    numbers : ndarray
        Of its elements, for the flat parameters.
    """

    has_damping = False
    linear = True  # forces are linear in q and u,
    definite = False  # and their matrices symmetric, K and D without negative eigenvalues

    def __init__(self, structure: Structure, placed: list[PlacedNode], n: int):
        self.structure, self.placed, self.n = structure, placed, n
        self.n_q = sum(node.q.size for node in placed)
        self.mass = Entries(NOTHING.astype(int), NOTHING.astype(int), NOTHING)
        self.weights, self.numbers = np.zeros(n), NOTHING
        self.first_q = self.first_u = 0  # where its block begins
        self.at = 0  # where its numbers begin in p

    # what kinds of structures have to say

    def coupled(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns that its forces couple."""
        raise NotImplementedError

    def force(self) -> ModelFunction:
        """Compiled forces."""
        raise NotImplementedError

    def tangents(self, places: Any) -> tuple[ModelFunction, ModelFunction | None]:
        """Compiled K and D (or None) on the pattern of the tangent; ``places(rows, columns)`` of entries of the block."""
        raise NotImplementedError

    def plain_forces(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The same forces in NumPy, shape (n_t, n), without weights."""
        raise NotImplementedError

    def strain_energy(self, q: np.ndarray) -> np.ndarray:
        """Shape (n_t,)."""
        raise NotImplementedError

    # -- the same for all ------------------------------------------------------------------------------------------------

    def block_q(self, q: np.ndarray) -> np.ndarray:
        """Its coordinates of states (n_t, n_q)."""
        return q[:, self.first_q : self.first_q + self.n_q]

    def block_u(self, u: np.ndarray) -> np.ndarray:
        return u[:, self.first_u : self.first_u + self.n]

    def weigh(self, place: np.ndarray, matrices: np.ndarray, g: float) -> None:
        """Weights of masses of elements (elements, 2, 2) on coordinates `place` (elements, 2): what falls freely is not strained."""
        for side, weight in enumerate(g * matrices.sum(axis=2).T):
            free = place[:, side] >= 0
            np.add.at(self.weights, place[free, side], weight[free])

    def kinetic_energy(self, u: np.ndarray) -> np.ndarray:
        """Of velocities (n_t, n_u), shape (n_t,)."""
        v, M = self.block_u(u), self.mass
        return 0.5 * np.sum(v[:, M.rows] * M.values * v[:, M.columns], axis=1)

    def work_of_weight(self, q: np.ndarray) -> np.ndarray:
        """Potential energy of its weight, zero where all coordinates are zero."""
        return -self.block_q(q) @ self.weights


class LaidElements(Laid):
    """A structure made of elements of one type.

    Parameters
    ----------
    place : ndarray of int64, shape (elements, m)
        Coordinates of each element in the block, or -1.
    held : ndarray, shape (elements, m)
        Values of what is held.
    numbers : ndarray, shape (elements, k)
    kernels : tuple
        Compiled force, K, D.
    """

    def __init__(self, structure, placed, n, place, held, numbers, kernels):
        super().__init__(structure, placed, n)
        self.place, self.held, self.kernels = place.astype(np.int64), held, kernels
        self.element_numbers, self.numbers = numbers, numbers.ravel()

    def coupled(self):
        m = self.place.shape[1]
        rows, columns = np.repeat(self.place, m, axis=1).ravel(), np.tile(self.place, (1, m)).ravel()
        both = (rows >= 0) & (columns >= 0)
        return rows[both], columns[both]

    def _record(self, tangent: np.ndarray) -> Reference:
        shift = Shift()
        shift.u = self.first_u - self.first_q
        place = np.where(self.place >= 0, self.place + self.first_q, -1)
        at = self.at + self.element_numbers.shape[1] * np.arange(place.shape[0], dtype=np.int64)
        arrays = (np.ascontiguousarray(x) for x in (place, self.held, at, tangent))
        return Reference(Elements(shift, *arrays))

    def force(self):
        reference = self._record(np.zeros((1, 1), dtype=np.int64))
        return ModelFunction(self.kernels[0], VECTOR, [reference.address], keep=reference)

    def tangents(self, places):
        n, m = self.place.shape
        rows, columns = np.repeat(self.place, m, axis=1), np.tile(self.place, (1, m))
        both = (rows >= 0) & (columns >= 0)
        tangent = np.full((n, m * m), -1, dtype=np.int64)
        tangent[both] = places(rows[both], columns[both])
        reference = self._record(tangent)
        K, D = (
            ModelFunction(kernel, VECTOR, [reference.address], keep=reference) for kernel in self.kernels[1:]
        )
        return K, D if self.has_damping else None

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Those of every element, shape (n_t, elements, m)."""
        x = np.broadcast_to(self.held, (q.shape[0], *self.held.shape)).copy()
        free = self.place >= 0
        x[:, free] = self.block_q(q)[:, self.place[free]]
        return x

    def rates(self, u: np.ndarray) -> np.ndarray:
        v = np.zeros((u.shape[0], *self.place.shape))
        free = self.place >= 0
        v[:, free] = self.block_u(u)[:, self.place[free]]
        return v

    def gathered(self, forces: np.ndarray) -> np.ndarray:
        """Forces of elements (n_t, elements, m) on the coordinates of the block."""
        out = np.zeros((forces.shape[0], self.n))
        free = self.place >= 0
        np.add.at(out.T, self.place[free], forces[:, free].T)
        return out


def assembled(place: np.ndarray, matrices: np.ndarray, n: int) -> Entries:
    """Matrices of elements (elements, m, m) at their places, summed; zeros left out."""
    from scipy import sparse

    m = place.shape[1]
    rows, columns = np.repeat(place, m, axis=1).ravel(), np.tile(place, (1, m)).ravel()
    values = matrices.reshape(-1)
    keep = (rows >= 0) & (columns >= 0) & (values != 0.0)
    total = sparse.coo_array((values[keep], (rows[keep], columns[keep])), shape=(n, n)).tocsr()
    total.sum_duplicates()
    total = total.tocoo()
    return Entries(total.row.astype(np.int64), total.col.astype(np.int64), total.data)
