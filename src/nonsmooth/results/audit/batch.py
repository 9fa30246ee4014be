"""A model at many points at once: stacks of M, h, W, gaps, ... with the sample as first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.results.audit.stacks import Stack, from_entries, times

#: Entries of W^T from which on sparse matrices are quicker.
MANY_ENTRIES = 40_000


class Batch:
    """Questions to a model, each answered for n points by one call.

    The user's functions are called compiled, one after the other, by a loop that knows no scheme. A model without compiled
    functions (hand-written ones that only follow the protocol) is asked point by point.

    Parameters
    ----------
    model : object
        Follows the model protocol.
    sparse : bool
        Whether M and W^T of large worlds of bodies may be a `Stack` of sparse matrices.
    """

    def __init__(self, model: Any, sparse: bool = False):
        self.model, self.laws = model, model.laws
        self.n_q, self.n_u = model.n_q, model.n_u
        self.n_rows, self.n_N = int(model.laws.n_rows), int(model.laws.n_N)
        self.n_J = int(getattr(model.laws, "n_J", 0))
        # a model with a second route for many points at once is asked there
        self.plain = hasattr(model, "batch_forces")
        self.core = None if self.plain else getattr(model, "core", None)
        self.has_kinematics = getattr(model, "f_kinematics", True) is not None
        self.pieces = getattr(getattr(model, "system", None), "pieces", None)
        self.sparse = sparse and self.n_rows * self.n_u > MANY_ENTRIES and _of_bodies(model)
        self.borders = np.zeros(0) if self.pieces is None else self.pieces.borders  # of the last run

    def cut(self, borders: np.ndarray) -> None:
        """Functions may have kinks and jumps at these instants, and exist between the first and the last alone."""
        self.borders = np.unique(borders)
        if self.pieces is not None:  # the model takes differences itself
            self.pieces.cut(self.borders)

    def room(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far functions are smooth before and after each instant."""
        if self.borders.size < 2:
            return np.full(t.shape, np.inf), np.full(t.shape, np.inf)
        k = np.clip(np.searchsorted(self.borders, t, side="right"), 1, self.borders.size - 1)
        return t - self.borders[k - 1], self.borders[k] - t

    def _values(self, name: str, shape: tuple[int, ...], t: np.ndarray, q: np.ndarray, u: np.ndarray):
        from nonsmooth._core.calls.batches import values_at  # compiled: only where a model is

        return values_at(getattr(self.core, name), _c(t), _c(q), _c(u), self.model.parameters.flat, shape)

    def _no_u(self, t: np.ndarray) -> np.ndarray:
        return np.zeros((t.size, self.n_u))

    def mass(self, t: np.ndarray, q: np.ndarray) -> Any:
        """M, shape (n, n_u, n_u)."""
        if self.sparse:
            return Stack([self.model.sparse_mass] * t.size, (self.n_u, self.n_u))
        if self.core is None:
            return _stack([self.model.mass_matrix(*x) for x in zip(t, q)], (self.n_u, self.n_u))
        return self._values("mass", (self.n_u, self.n_u), t, q, self._no_u(t))

    def free_accelerations(self, t: np.ndarray, q: np.ndarray, h: np.ndarray) -> np.ndarray:
        """M^-1 h, shape (n, n_u)."""
        M = None if hasattr(self.model, "sparse_mass") else self.mass(t, q)
        return self.over_mass(M, h[..., None])[..., 0]

    def over_mass(self, M, b: Any) -> Any:
        """M^-1 b for stacks, shapes (n, n_u, n_u) and (n, n_u, m); worlds have one sparse M for all instants."""
        if not hasattr(self.model, "sparse_mass"):
            return solved(M, b)
        if isinstance(b, Stack):
            return Stack((self.model.sparse_inverse_mass @ B for B in b.matrices), b.shape[1:])
        from scipy.sparse.linalg import splu

        n, n_u, m = b.shape
        columns = np.ascontiguousarray(b.transpose(1, 0, 2).reshape(n_u, n * m))
        found = splu(self.model.sparse_mass).solve(columns) if m else columns
        return found.reshape(n_u, n, m).transpose(1, 0, 2)

    def force(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """h, shape (n, n_u)."""
        if self.plain:
            return self.model.batch_forces(t, q, u)
        if self.core is None:
            return _stack([self.model.forces(*x) for x in zip(t, q, u)], (self.n_u,))
        return self._values("force", (self.n_u,), t, q, u)

    def gaps(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """g_N, shape (n, n_N)."""
        if self.n_N == 0:
            return np.zeros((t.size, 0))
        if self.plain:
            return self.model.batch_gaps(t, q)
        if self.core is None:
            return _stack([self.model.gaps(*x) for x in zip(t, q)], (self.n_N,))
        return self._values("gap", (self.n_N,), t, q, self._no_u(t))

    def directions(self, t: np.ndarray, q: np.ndarray) -> tuple[Any, np.ndarray]:
        """W^T, shape (n, n_rows, n_u), and zeta, shape (n, n_rows)."""
        if self.n_rows == 0:
            return np.zeros((t.size, 0, self.n_u)), np.zeros((t.size, 0))
        if self.sparse:
            (row, column, values), zeta = self.model.batch_sparse_directions(t, q)
            return from_entries(row, column, values, (self.n_rows, self.n_u)), zeta
        if self.plain:
            return self.model.batch_directions(t, q)
        if self.core is None:
            both = [self.model.directions(*x) for x in zip(t, q)]
            return (
                _stack([WT for WT, _ in both], (self.n_rows, self.n_u)),
                _stack([zeta for _, zeta in both], (self.n_rows,)),
            )
        u = self._no_u(t)
        WT = self._values("directions", (self.n_rows, self.n_u), t, q, u)
        return WT, self._values("zeta", (self.n_rows,), t, q, u)

    def bounds(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper force bounds, shape (n, n_rows) each."""
        n = self.n_rows
        if n == 0 or (self.core is not None and not (self.model.bounds_of or self.model.friction_of)):
            return np.zeros((t.size, n)), np.zeros((t.size, n))
        if self.core is None:
            both = [np.concatenate(self.model.bounds(*x)) for x in zip(t, q, u)]
            values = _stack(both, (2 * n,))
        else:
            values = self._values("bounds", (2 * n,), t, q, u)
        return values[:, :n], values[:, n:]

    def q_dot(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """B u, shape (n, n_q)."""
        if not self.has_kinematics:
            return u
        if self.plain:
            return self.model.batch_rates(q, u)
        if self.core is None:
            B = _stack([self.model.kinematic_matrix(*x) for x in zip(t, q)], (self.n_q, self.n_u))
        else:
            B = self._values("kinematics", (self.n_q, self.n_u), t, q, self._no_u(t))
        return times(B, u)

    def joints(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Position residuals of joints, shape (n, m); m = 0 for models without any."""
        residuals = getattr(self.model, "joint_residuals", None)
        if residuals is None or self.n_J == 0:
            return np.zeros((t.size, 0))
        if self.plain:
            return self.model.batch_joints(t, q)
        functions = getattr(self.model, "joints_of", None)
        if functions is None:
            return np.stack([residuals(*x)[0] for x in zip(t, q, u)])
        p = self.model.parameters.flat
        rows = [np.concatenate([np.zeros(0), *(f.call(*x, p) for f in functions)]) for x in zip(t, q, u)]
        return np.stack(rows) if rows else np.zeros((0, 0))

    def kinetic(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Kinetic energy u^T M u / 2, shape (n,)."""
        if hasattr(self.model, "kinetic_energies"):
            return self.model.kinetic_energies(u)
        return 0.5 * np.einsum("ni,nij,nj->n", u, self.mass(t, q), u)

    def most(self, wanted: int) -> int:
        """How many of `wanted` points can be looked at without using much memory, or time."""
        entries = (12 * (self.n_u + self.n_rows) if self.sparse else self.n_u * (self.n_u + self.n_rows)) + 1
        return int(min(wanted, max(1_000_000 // entries, min(16_000_000 // entries, 4), 1)))


def _of_bodies(model: Any) -> bool:
    """Whether a model is a world without structures and without rows that are functions."""
    return getattr(model, "sparse_inverse_mass", None) is not None and not model.assembly.user_rows


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b for stacks; NaN where A is singular."""
    if b.shape[-1] == 0:
        return np.zeros_like(b)
    try:
        return np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        out = np.full(b.shape, np.nan)
        for k in range(len(A)):
            try:
                out[k] = np.linalg.solve(A[k], b[k])
            except np.linalg.LinAlgError:
                continue
        return out


def _c(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float64)


def _stack(values: list, shape: tuple[int, ...]) -> np.ndarray:
    return np.array(values, dtype=float).reshape(len(values), *shape)
