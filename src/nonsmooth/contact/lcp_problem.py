"""The data of a linear complementarity problem and of its solution: checked, reduced by free rows, equilibrated (see `lcp`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError


@dataclass
class LCPResult:
    """One solution of an LCP.

    Attributes
    ----------
    z, w : ndarray, shape (n,)
    residual : float
        ``max |min(z, w)|`` of the equilibrated problem, in which ``max |q| = 1``; recomputed from the data.
    success : bool
    message : str
    method : str
    iterations : int
        Pivots, nodes or sweeps.
    unique : bool or None
        Whether this is the only solution; None if that is not known.
    isolated : bool or None
        False if the solution lies on a continuum of solutions (only known from enumeration).
    """

    z: np.ndarray
    w: np.ndarray
    residual: float
    success: bool
    message: str
    method: str
    iterations: int = 0
    unique: bool | None = None
    isolated: bool | None = None

    def _repr_html_(self) -> str:
        from nonsmooth.results.notebook import table

        shown = ("z", "w", "residual", "message", "method", "iterations", "unique", "isolated")
        title = f"LCPResult: {'solved' if self.success else 'NOT solved'}"
        return table(title, [(name, str(getattr(self, name))) for name in shown])


@dataclass
class Scaled:
    """Equilibrated problem ``w' = M' z' + q'`` with ``z = z_scale z'``, ``w = w_scale w'``."""

    M: np.ndarray
    q: np.ndarray
    z_scale: np.ndarray
    w_scale: np.ndarray
    origin: tuple = field(default=(), repr=False)

    def residual(self, z):
        M, q = self.origin
        w = M @ z + q
        return float(np.max(np.abs(np.minimum(z / self.z_scale, w / self.w_scale)), initial=0.0))


def equilibrate(M, q):
    """Scale rows and columns by the least-squares fit of ``log |M_ij| = r_i + c_j``, then to largest entries
    of one.

    The fit does not depend on the units in which z and w are given, unlike the common alternating scaling by
    maxima.
    """
    n = len(q)
    present = M != 0.0
    with np.errstate(divide="ignore"):
        log = np.where(present, np.log2(np.abs(M), where=present, out=np.zeros_like(M)), 0.0)
    in_row, in_col = np.maximum(present.sum(axis=1), 1), np.maximum(present.sum(axis=0), 1)
    row, col = np.zeros(n), np.zeros(n)
    for _ in range(50):
        before = col
        row = np.where(present, log - col[None, :], 0.0).sum(axis=1) / in_row
        col = np.where(present, log - row[:, None], 0.0).sum(axis=0) / in_col
        if np.max(np.abs(col - before)) < 1e-9:
            break
    row, col = np.exp2(-row), np.exp2(-col)
    A = row[:, None] * np.abs(M) * col
    largest = A.max(axis=1)
    row = np.where(
        largest > 0.0, row / np.where(largest > 0.0, largest, 1.0), 1.0 / np.where(q != 0.0, np.abs(q), 1.0)
    )
    A = row[:, None] * np.abs(M) * col
    largest = A.max(axis=0)
    col = col / np.where(largest > 0.0, largest, 1.0)
    size = np.max(np.abs(row * q), initial=0.0) or 1.0
    scaled = np.ascontiguousarray(row[:, None] * M * col[None, :])
    return Scaled(scaled, row * q / size, col * size, size / row, (M, q))


def checked(M, q):
    """M and q as arrays of finite numbers that fit each other, or a typed error."""
    if hasattr(M, "toarray"):
        M = M.toarray()
    try:
        M = np.array(M, dtype=np.float64, ndmin=2)
        q = np.array(q, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"solve_lcp: M and q must be real arrays, got {type(M).__name__} and {type(q).__name__}"
        ) from error
    if q.ndim != 1:
        raise ShapeError(f"solve_lcp: q must be a vector, got shape {q.shape}")
    n = len(q)
    if n == 0 and M.size == 0:
        return np.zeros((0, 0)), q
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ShapeError(f"solve_lcp: M must be square, got shape {M.shape}")
    if M.shape[0] != n:
        raise ShapeError(f"solve_lcp: M has {M.shape[0]} rows but q has {n} entries; both must agree")
    for name, array in (("M", M), ("q", q)):
        if not np.all(np.isfinite(array)):
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NonFiniteError(f"solve_lcp: {name}{list(where)} is {array[where]}, must be finite")
    return M, q


def definiteness(M):
    """2 if the symmetric part is safely positive definite, 1 if positive semidefinite to rounding, 0
    otherwise.
    """
    eig = np.linalg.eigvalsh(0.5 * (M + M.T))
    size = max(abs(eig[0]), abs(eig[-1]))
    if eig[0] > 1e-10 * size:
        return 2
    return 1 if eig[0] >= -1e-13 * size * len(eig) else 0


def reduce_free(M, q, free):
    """Eliminate the rows with w_i = 0 and z_i of any sign; returns the pure LCP and the way back."""
    n = len(q)
    free = np.asarray(free)
    mask = np.zeros(n, dtype=bool)
    try:
        mask[free] = True
    except IndexError as error:
        raise RangeError(f"solve_lcp: free = {free!r} does not index the {n} rows of the problem") from error
    F, C = np.flatnonzero(mask), np.flatnonzero(~mask)
    A = M[np.ix_(F, F)]
    if np.linalg.matrix_rank(A) < len(F):
        raise InputError(
            f"solve_lcp: the block of M on the {len(F)} free rows is singular; "
            "only mixed problems with a regular free block are reduced"
        )
    B = np.linalg.solve(A, np.column_stack([M[np.ix_(F, C)], q[F]]))
    M_c = M[np.ix_(C, C)] - M[np.ix_(C, F)] @ B[:, :-1]
    q_c = q[C] - M[np.ix_(C, F)] @ B[:, -1]

    def back(result):
        z, w = np.zeros(n), np.zeros(n)
        z[C], w[C] = result.z, result.w
        z[F] = -B[:, :-1] @ result.z - B[:, -1]
        result.z, result.w = z, w
        return result

    return M_c, q_c, back
