"""Motion in fixed modes, integrated by a method of its own: what a step between two events must agree with.

With the modes of all laws known the motion is that of an ODE: closed contacts, sticking friction and joints are constraints at
acceleration level, sliding friction is proportional to its normal force, the other laws press with a known force or not at all,

    M a - W la = h,     W_C^T a = -kappa_C  (constraints),     la_T -+ mu la_N = 0  (sliding),     la = given,

solved for the forces of the laws that act, W_C^T M^-1 W la = -W_C^T M^-1 h - kappa_C.

It is integrated by Gragg's method, the modified midpoint rule extrapolated in the square of the step (Hairer, Norsett, Wanner:
Solving Ordinary Differential Equations I, sec. II.9), order 8, many steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, COULOMB_1D, COULOMB_2D, DISK, FREE, INTERVAL
from nonsmooth.results.audit.batch import Batch, solved
from nonsmooth.results.audit.checks import dot
from nonsmooth.results.audit.joints import rate_along, rates_of_directions
from nonsmooth.results.audit.laws import rows_of
from nonsmooth.results.audit.stacks import times

SUBSTEPS = (2, 4, 6, 8)
_DEPENDENT = 1e-10  # least singular value that counts as one, of equations and unknowns of size one
_SHIFT, _PASSES = 1e-7, 4  # regularisation where they do, and solves, each of which takes it off once more
_MOST_CALLS = 1000  # of the right-hand side, for a step that resists

PARTS = (1, 2, 4, 8, 16)  # steps that are too long for one go are cut into these numbers of pieces


class FixedModes:
    """The motion of n systems, each with its own modes.

    Parameters
    ----------
    batch : Batch
    modes : ndarray, shape (n, n_laws)
    dt : ndarray, shape (n,)
        Lengths of time over which the motion is smooth.
    curved, varies : bool
        Whether directions, and the mass matrix, depend on the state.
    """

    def __init__(
        self, batch: Batch, modes: np.ndarray, dt: np.ndarray, curved: bool = True, varies: bool = True
    ):
        self.batch, self.modes, self.dt, self.curved, self.varies = batch, modes, dt, curved, varies
        self.dependent: np.ndarray | None = (
            None  # whether constraints depend on each other; found at the first call
        )
        n, r, laws = modes.shape[0], batch.n_rows, batch.laws
        held, acting = np.zeros((n, r), dtype=bool), np.zeros((n, r), dtype=bool)
        self.slips: list[
            tuple[int, slice, np.ndarray]
        ] = []  # laws, their rows, and the samples in which they slip
        for i in range(laws.n_laws):
            mode, kind, rows = modes[:, i], int(laws.kind[i]), rows_of(laws, i)
            slips = (np.abs(mode) == 2) & (kind != FREE)
            held[:, rows] = ((mode == CONSTRAINT) | (kind == FREE))[:, None]
            acting[:, rows] = held[:, rows] | slips[:, None]
            if slips.any():
                self.slips.append((i, rows, np.flatnonzero(slips)))
        # rows that act stand first, those of each sample filled up to the same number
        m = int(np.max(np.count_nonzero(acting, axis=1), initial=0))
        self.rows = np.argsort(~acting, axis=1, kind="stable")[:, :m]
        self.acting, self.held = (np.take_along_axis(x, self.rows, axis=1) for x in (acting, held & acting))
        self.law = np.repeat(np.arange(laws.n_laws), laws.dim)[self.rows]
        self.place = np.where(acting, np.cumsum(acting, axis=1) - 1, -1)

    def forces(
        self, t: np.ndarray, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(accelerations, forces h, power of all laws), shapes (n, n_u), (n, n_u), (n,)."""
        b = self.batch
        M, h = b.mass(t, q), b.force(t, q, u)
        if self.rows.shape[1] == 0:
            return np.linalg.solve(M, h[..., None])[..., 0], h, np.zeros(t.size)
        WT_all, zeta = b.directions(t, q)
        gamma = times(WT_all, u) + zeta
        WT = np.where(self.acting[..., None], np.take_along_axis(WT_all, self.rows[..., None], axis=1), 0.0)
        X = np.linalg.solve(M, np.concatenate([h[..., None], WT.transpose(0, 2, 1)], axis=2))
        free, Y = X[..., 0], X[..., 1:]
        G, c = WT @ Y, times(WT, free)
        if self.curved:
            c = c + np.take_along_axis(rates_of_directions(b, t, q, u, self.dt), self.rows, axis=1)
        # forces are measured by what they do: ranks do not depend on units
        size = np.sqrt(np.einsum("nii->ni", G))
        size = np.where(size > 0.0, size, 1.0)
        A = np.where(self.held[..., None], G / (size[..., None] * size[:, None, :]), 0.0)
        A += np.eye(size.shape[1]) * ~self.held[..., None]
        right = np.where(self.held, -c / size, 0.0)
        self._slipping(A, right, size, gamma, *b.bounds(t, q, u))
        la = self._solved(A, right, self._shift_of(size)) / size
        return free + times(Y, la), h, dot(times(WT, u), la)

    def _slipping(self, A, right, size, gamma, least, most) -> None:
        """Laws that press with all they have: friction that slips, in a plane against the velocity, and intervals at a bound."""
        laws = self.batch.laws
        for i, rows, k in self.slips:
            kind, first, sign = int(laws.kind[i]), rows.start, np.sign(self.modes[k, i])
            if kind in (COULOMB_2D, DISK):
                speed = np.sqrt(np.sum(gamma[k, rows] ** 2, axis=1))[:, None]
                along = np.divide(-gamma[k, rows], speed, out=np.zeros((k.size, 2)), where=speed > 0)
            else:
                along = sign[:, None]
            at = self.place[k, rows]
            if kind in (COULOMB_1D, COULOMB_2D):
                normal = self.place[k, int(laws.row[int(laws.link[i])])]
                mu = most[k, first] if np.isnan(laws.mu[i]) else np.full(k.size, laws.mu[i])
                for d in range(at.shape[1]):
                    A[k, at[:, d], normal] = -mu * along[:, d] * size[k, at[:, d]] / size[k, normal]
            elif kind == DISK:
                for d in range(at.shape[1]):
                    right[k, at[:, d]] = most[k, first] * along[:, d] * size[k, at[:, d]]
            elif kind == INTERVAL:
                right[k, at[:, 0]] = np.where(sign > 0, most[k, first], least[k, first]) * size[k, at[:, 0]]

    def _shift_of(self, size: np.ndarray) -> np.ndarray:
        """What regularises the rows that are held, shape (n, m): the rows of a law are measured alike, whatever its tangents are."""
        mine = (self.law[:, :, None] == self.law[:, None, :]) & self.acting[:, None, :]
        mean = times(mine.astype(float), size**2) / np.maximum(np.count_nonzero(mine, axis=2), 1)
        return _SHIFT * self.held * mean / size**2

    def _solved(self, A: np.ndarray, right: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """A^-1 right. Where constraints depend on each other, the limit of small regularisations: each pass takes its own off again."""
        usable = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
        if self.dependent is None:
            least = np.zeros(len(A))
            least[usable] = np.linalg.svd(A[usable], compute_uv=False)[:, -1]
            self.dependent = least <= _DEPENDENT
        shift = shift * self.dependent[:, None]
        A = A + np.eye(A.shape[1]) * shift[..., None]
        x = np.where(usable[:, None], 0.0, np.nan) * right
        for _ in range(_PASSES if self.dependent.any() else 1):
            x[usable] = solved(A[usable], (right + shift * x)[usable][..., None])[..., 0]
        return x

    def rates(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Rates of (q, u, work of forces and inertia, work of laws), shape (n, n_q + n_u + 2)."""
        b = self.batch
        q, u = y[:, : b.n_q], y[:, b.n_q : b.n_q + b.n_u]
        a, h, power = self.forces(t, q, u)
        q_dot, out = b.q_dot(t, q, u), np.zeros_like(y)
        out[:, : b.n_q], out[:, b.n_q : b.n_q + b.n_u] = q_dot, a
        inertia = np.zeros(t.size)
        if self.varies:
            inertia = 0.5 * dot(u, times(rate_along(b.mass, t, q, q_dot, self.dt, b.room(t)), u))
        out[:, -2], out[:, -1] = dot(u, h) + inertia, power
        return out


@dataclass
class Motion:
    """Where n steps end, and how well that is known.

    Attributes
    ----------
    q, u : ndarray, shapes (n, n_q), (n, n_u)
    work_forces, work_laws : ndarray, shape (n,)
        Inertia counts with the forces.
    error : ndarray, shape (n, n_q + n_u)
        Estimated error of q and u.
    """

    q: np.ndarray
    u: np.ndarray
    work_forces: np.ndarray
    work_laws: np.ndarray
    error: np.ndarray


def integrate(system: FixedModes, t: np.ndarray, q: np.ndarray, u: np.ndarray, parts: int = 1) -> Motion:
    """Motion from (t, q, u) over the time ``system.dt``, in `parts` pieces."""
    b, n = system.batch, t.size
    y = np.concatenate([q, u, np.zeros((n, 2))], axis=1)
    error = np.zeros((n, b.n_q + b.n_u))
    H = system.dt / parts
    for k in range(parts):
        y, estimate = gragg(system, t + k * H, y, H)
        error += np.abs(estimate[:, : b.n_q + b.n_u])
    return Motion(y[:, : b.n_q], y[:, b.n_q : b.n_q + b.n_u], y[:, -2], y[:, -1], error)


def gragg(system: FixedModes, t: np.ndarray, y: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One extrapolated step of length H, and the difference of its last two orders."""
    first = system.rates(t, y)
    row: list[np.ndarray] = []
    for i, n in enumerate(SUBSTEPS):
        h = (H / n)[:, None]
        before, now = y, y + h * first
        for k in range(1, n):
            before, now = now, before + 2.0 * h * system.rates(t + k * H / n, now)
        new = 0.5 * (now + before + h * system.rates(t + H, now))
        for j in range(i):  # Aitken-Neville in h^2
            old, row[j] = row[j], new
            new = new + (new - old) / ((n / SUBSTEPS[i - 1 - j]) ** 2 - 1.0)
        row.append(new)
    return row[-1], row[-1] - row[-2]


def to_the_end(
    system: FixedModes, t: float, q: np.ndarray, u: np.ndarray, rtol: float, atol: np.ndarray
) -> np.ndarray | None:
    """(q, u) at the end of one step that Gragg's method does not resolve, by SciPy's DOP853; None if that gives up, too."""
    from scipy.integrate import solve_ivp  # takes a quarter of a second, and is rarely wanted

    n = q.size + u.size
    y = np.concatenate([q, u, np.zeros(2)])
    tolerance = np.concatenate([atol, np.full(2, np.inf)])
    calls = 0

    def f(t: float, y: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS:
            raise FloatingPointError("too long")
        return system.rates(np.array([t]), y[None])[0]

    try:
        found = solve_ivp(
            f, (t, t + float(system.dt[0])), y, method="DOP853", rtol=max(rtol, 1e-13), atol=tolerance
        )
    except (FloatingPointError, ValueError, np.linalg.LinAlgError):
        return None
    return found.y[:n, -1] if found.success else None
