"""`LinearStructure`: given matrices M, D, K, from arrays, `scipy.sparse` or Matrix Market files; reduced by Craig and Bampton.

R. R. Craig, M. C. C. Bampton, "Coupling of substructures for dynamic analyses", AIAA J. 6 (1968) 1313-1319: boundary coordinates b are
kept, inner ones i follow by constraint modes and lowest modes with b held,

    q_i = Psi q_b + Phi eta,    Psi = -K_ii^-1 K_ib,    K_ii Phi = M_ii Phi diag(omega^2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg, sparse

from nonsmooth._core.bodies.frames import FIXED_COLUMNS, HELD
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import VECTOR, Reference
from nonsmooth._core.structures import matrices as kernels
from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError
from nonsmooth.model.bodies.check import floats, in_space, vector
from nonsmooth.model.structures.base import NOTHING, Entries, Laid, Node, PlacedNode, Structure

SYMMETRY = 1e-9  # of the largest entry


class LinearStructure(Structure):
    """Linear structure M q'' + D q' + K q = forces at its nodes; q are displacements from a shape without stress.

    Parameters
    ----------
    M, K, D : (n, n) array or scipy.sparse
        Mass, stiffness and damping (optional); M symmetric and positive definite, K symmetric.
    nodes : mapping from name to (position, coordinates)
        Points that joints, forces and contacts attach to (``structure.node(name)``): where they are without displacement, and which
        coordinates are their displacements along x, y (and z; in the plane a third one is their rotation); None where it
        does not move.
    fixed : sequence of int
        Coordinates that do not move: no unknowns.
    directions : (n, dim), optional
        Direction in the world of the displacement each coordinate stands for; with it the structure has weight.
    displacement, velocity : (n,), optional
        At the start.
    material : Material, optional
    name : str, optional
    """

    def __init__(
        self,
        M: Any,
        K: Any,
        D: Any = None,
        *,
        nodes: Mapping[Any, Any] | None = None,
        fixed: Any = (),
        directions: Any = None,
        displacement: Any = None,
        velocity: Any = None,
        material: Any = None,
        name: str | None = None,
    ):
        super().__init__(name, material)
        self.M = square(M, "M", self.owner)
        n = self.M.shape[0]
        self.K = square(K, "K", self.owner, n)
        self.D = sparse.csr_array((n, n)) if D is None else square(D, "D", self.owner, n)
        for matrix, what in ((self.M, "M"), (self.K, "K")):
            check_symmetric(matrix, what, self.owner)
        check_definite(self.M, self.owner)
        if not isinstance(nodes, Mapping | None):
            raise InputError(
                f"`nodes` of {self.owner} is {nodes!r}: a mapping from labels to pairs (position, coordinates) is wanted."
            )
        self.points_of = (
            {}
            if nodes is None
            else {label: _point(label, given, n, self.owner) for label, given in nodes.items()}
        )
        self.fixed = _indices(fixed, n, self.owner)
        self.directions = None if directions is None else _array(directions, None, "directions", self.owner)
        self.displacement, self.velocity = displacement, velocity
        self.frames = [Node(self, "coordinates"), *(Node(self, label) for label in self.points_of)]
        self._labels = list(self.points_of)

    @classmethod
    def from_files(cls, mass: Any, stiffness: Any, damping: Any = None, **more: Any) -> LinearStructure:
        """From Matrix Market files; further arguments as those of the class."""
        from nonsmooth.model.structures.matrix_market import read_matrix

        M, K = read_matrix(mass, "mass"), read_matrix(stiffness, "stiffness")
        return cls(M, K, None if damping is None else read_matrix(damping, "damping"), **more)

    @property
    def nodes(self) -> list[Node]:
        return self.frames[1:]

    def _number(self, which: Any, argument: str = "") -> int:
        if which not in self._labels:
            raise InputError(f"{self.owner} has no node {which!r}; it has {self._labels}.")
        return self._labels.index(which)

    def reduced(self, modes: int, keep: Any = None, name: str | None = None) -> LinearStructure:
        """The structure with fewer coordinates (Craig and Bampton): those kept, and amplitudes of the lowest `modes` with them held.

        keep : sequence of int, default: all coordinates of nodes.
        """
        held = set(self.fixed)
        if keep is None:
            keep = sorted(
                {i for _, places in self.points_of.values() for i in places if i is not None} - held
            )
        b = _indices(keep, self.M.shape[0], self.owner)
        i = np.array([k for k in range(self.M.shape[0]) if k not in set(b) | held], dtype=np.int64)
        if isinstance(modes, bool) or not isinstance(modes, int | np.integer) or not 0 <= modes <= i.size:
            raise RangeError(
                f"`modes` of {self.owner} is {modes!r}: a whole number from 0 to {i.size} is wanted."
            )
        if held & set(b):
            raise ModelError(f"{self.owner} keeps coordinates that are fixed: {sorted(held & set(b))}.")
        K, M, D = (matrix.toarray() for matrix in (self.K, self.M, self.D))
        T = np.zeros((self.M.shape[0], b.size + modes))
        T[b, np.arange(b.size)] = 1.0
        if i.size:
            T[np.ix_(i, np.arange(b.size))] = -np.linalg.solve(K[np.ix_(i, i)], K[np.ix_(i, b)])
        if modes:
            shapes = linalg.eigh(K[np.ix_(i, i)], M[np.ix_(i, i)], subset_by_index=(0, modes - 1))[1]
            T[np.ix_(i, b.size + np.arange(modes))] = shapes
        number = {int(old): new for new, old in enumerate(b)}
        nodes = {
            label: (
                at,
                [None if p is None or p in held else _kept(number, p, label, self.owner) for p in places],
            )
            for label, (at, places) in self.points_of.items()
        }
        M, K, D = (T.T @ matrix @ T for matrix in (M, K, D))
        made = LinearStructure(
            0.5 * (M + M.T), 0.5 * (K + K.T), D, nodes=nodes, material=self.material, name=name or self.name
        )
        if self.directions is not None:
            made.directions = np.linalg.solve(made.M.toarray(), T.T @ (self.M @ self.directions))
        return made

    def lay(self, dim: int, gravity: np.ndarray) -> LaidMatrices:
        n, owner = self.M.shape[0], self.owner
        free = np.setdiff1d(np.arange(n), self.fixed)
        number = np.full(n, -1)
        number[free] = np.arange(free.size)
        start = [
            np.zeros(n) if x is None else vector(x, n, what, owner)
            for x, what in ((self.displacement, "displacement"), (self.velocity, "velocity"))
        ]
        for x, what in zip(start, ("displacement", "velocity")):
            if np.any(x[self.fixed] != 0.0):
                raise ModelError(
                    f"`{what}` of {owner} moves coordinate {int(self.fixed[np.argmax(x[self.fixed] != 0)])}, which is fixed."
                )
        names = tuple(f"{i}" for i in free)
        placed = [PlacedNode(HELD, dim, np.zeros(3), start[0][free], start[1][free], names)]
        for label, (at, places) in self.points_of.items():
            if at.size != dim:
                raise ShapeError(
                    f"node {label!r} of {owner} has a position of {at.size} entries in a world of dimension {dim}."
                )
            placed.append(_placed(at, places, number, start, free.size, dim))
        weights = np.zeros(free.size)
        if self.directions is not None:
            if self.directions.shape != (n, dim):
                raise ShapeError(
                    f"`directions` of {owner} has shape {self.directions.shape}: ({n}, {dim}) is wanted."
                )
            weights = (self.M @ (self.directions @ gravity[:dim]))[free]
        return LaidMatrices(self, placed, free, weights)


def _placed(at, places, number, start, n, dim) -> PlacedNode:
    """A node that moves with coordinates of the structure."""
    fixed, offsets, moved = np.zeros(FIXED_COLUMNS), [-1, -1, -1, -1], in_space(at).copy()
    fixed[:3] = moved
    angle = 0.0
    for component, place in enumerate(places):
        if place is None or number[place] < 0:
            continue
        turning = dim == 2 and component == 2
        offsets[3 if turning else component] = int(number[place])
        if turning:
            angle = start[0][place]
        else:
            moved[component] += start[0][place]
    made = PlacedNode(
        HELD,
        dim,
        moved,
        NOTHING,
        NOTHING,
        (),
        phi=angle,
        offsets=tuple(offsets),
        fixed=fixed,
        turns=offsets[3] >= 0,
    )
    made.block, made.seen = True, (n, n)
    return made


class LaidMatrices(Laid):
    """Given matrices in a world."""

    def __init__(self, structure, placed, free, weights):
        super().__init__(structure, placed, free.size)
        M, K, D = (
            sparse.csr_array(matrix[free][:, free]) for matrix in (structure.M, structure.K, structure.D)
        )
        coo = M.tocoo()
        self.mass = Entries(coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data)
        both = sparse.csr_array(abs(K) + abs(D))
        both.sort_indices()
        self._start, self._columns = both.indptr.astype(np.int64), both.indices.astype(np.int64)
        self._rows = np.repeat(np.arange(free.size), np.diff(self._start))
        self.K, self.D, self.weights, self.has_damping = K, D, weights, D.nnz > 0
        values = [
            np.asarray(matrix[self._rows, self._columns]).ravel() if both.nnz else NOTHING
            for matrix in (K, D)
        ]
        self.numbers = np.concatenate(values)

    def coupled(self):
        return self._rows, self._columns

    def _record(self, tangent) -> Reference:
        where = kernels.Where()
        where.q, where.u, where.K, where.D = self.first_q, self.first_u, self.at, self.at + self._columns.size
        return Reference(kernels.Matrices(where, self._start, self._columns, tangent))

    def force(self):
        reference = self._record(np.zeros(1, dtype=np.int64))
        return ModelFunction(kernels.matrix_forces, VECTOR, [reference.address], keep=reference)

    def tangents(self, places):
        reference = self._record(places(self._rows, self._columns))
        codes = (kernels.matrix_stiffness, kernels.matrix_damping)
        K, D = (ModelFunction(code, VECTOR, [reference.address], keep=reference) for code in codes)
        return K, D if self.has_damping else None

    def plain_forces(self, q, u):
        return -(self.K @ self.block_q(q).T + self.D @ self.block_u(u).T).T

    def strain_energy(self, q):
        x = self.block_q(q)
        return 0.5 * np.sum(x * (self.K @ x.T).T, axis=1)

    def resultants(self, q, u):
        raise InputError(f"{self.structure.owner} has no elements: it is given by its matrices.")


# -- what users give -------------------------------------------------------------------------------------------------------


def square(matrix: Any, what: str, owner: str, n: int | None = None) -> sparse.csr_array:
    """A finite square matrix."""
    try:
        found = sparse.csr_array(matrix)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`{what}` of {owner} is no matrix: an array or a sparse matrix is wanted.") from exc
    if found.dtype.kind not in "fiub":
        raise InputError(f"`{what}` of {owner} has entries of type {found.dtype}: real numbers are wanted.")
    wanted = (found.shape[0], found.shape[0]) if n is None else (n, n)
    if found.ndim != 2 or found.shape != wanted or found.shape[0] == 0:
        raise ShapeError(
            f"`{what}` of {owner} has shape {found.shape}: {'a square matrix' if n is None else f'({n}, {n})'} is wanted."
        )
    found = found.astype(np.float64)
    if not np.all(np.isfinite(found.data)):
        raise NonFiniteError(f"`{what}` of {owner} contains NaN or infinite entries.")
    found.sum_duplicates()
    return found


def check_symmetric(matrix: sparse.csr_array, what: str, owner: str) -> None:
    skew = abs(matrix - matrix.T).tocoo()
    if skew.nnz and skew.data.max() > SYMMETRY * abs(matrix).max():
        k = int(np.argmax(skew.data))
        i, j = int(skew.row[k]), int(skew.col[k])
        raise ModelError(
            f"`{what}` of {owner} is not symmetric: entries ({i}, {j}) and ({j}, {i}) are {matrix[i, j]:g} and {matrix[j, i]:g}."
        )


def check_definite(M: sparse.csr_array, owner: str) -> None:
    """All pivots of elimination must be positive."""
    from scipy.sparse.linalg import splu

    diagonal = M.diagonal()
    if np.any(diagonal <= 0.0):
        k = int(np.argmin(diagonal))
        raise ModelError(f"`M` of {owner} is not positive definite: entry ({k}, {k}) is {diagonal[k]:g}.")
    d = sparse.diags_array(1.0 / np.sqrt(diagonal))
    try:
        factors = splu(
            sparse.csc_array(d @ M @ d),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        pivots = factors.U.diagonal()
    except RuntimeError:
        pivots = np.zeros(1)
    if np.min(pivots) <= 1e-14 * M.shape[0]:
        raise ModelError(f"`M` of {owner} is not positive definite: a motion without mass.")


def _array(value, shape, what, owner):
    found = floats(value, "numbers are", what, owner)
    if not np.all(np.isfinite(found)):
        raise NonFiniteError(f"`{what}` of {owner} contains NaN or infinite entries.")
    return found


def _indices(values, n, owner) -> np.ndarray:
    found = np.array(list(values) if np.iterable(values) else values, dtype=object)
    if found.ndim == 1 and all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in found):
        found = found.astype(np.int64)
    if found.size == 0:
        return np.zeros(0, dtype=np.int64)
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise InputError(
            f"{owner} has {n} coordinates: {found.tolist()} are not all whole numbers from 0 to {n - 1}."
        )
    return np.unique(found).astype(np.int64)


def _point(label, given, n, owner) -> tuple[np.ndarray, list[int | None]]:
    try:
        at, places = given
        places = list(places)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"node {label!r} of {owner} is {given!r}: a pair (position, coordinates) is wanted."
        ) from exc
    at = _array(at, None, f"position of node {label!r}", owner)
    if at.ndim != 1 or not len(places) <= 3:
        raise ShapeError(
            f"node {label!r} of {owner} is {given!r}: a point and at most three coordinates are wanted."
        )
    _indices([p for p in places if p is not None], n, owner)
    return at, [None if p is None else int(p) for p in places]


def _kept(number, place, label, owner) -> int:
    if place not in number:
        raise ModelError(
            f"node {label!r} of {owner} moves with coordinate {place}, which is not kept: add it to `keep`."
        )
    return number[place]
