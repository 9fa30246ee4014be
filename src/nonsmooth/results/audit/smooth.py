"""Motion in fixed modes, integrated by a method of its own: what a step between two events must agree with.

With the modes of all laws known the motion is that of an ODE: closed contacts, sticking friction and joints are constraints at
acceleration level, sliding friction is proportional to its normal force, the other laws press with a known force or not at all,

    M a - W la = h,     W_C^T a = -kappa_C  (constraints),     la_T -+ mu la_N = 0  (sliding),     la = given.

It is integrated by Gragg's method, the modified midpoint rule extrapolated in the square of the step (Hairer, Norsett, Wanner:
Solving Ordinary Differential Equations I, sec. II.9), order 8, many steps at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nonsmooth._core.records.laws import COULOMB_1D, COULOMB_2D, DISK, FREE, INTERVAL
from nonsmooth.results.audit.batch import Batch, times
from nonsmooth.results.audit.checks import dot
from nonsmooth.results.audit.joints import rate_along, rates_of_directions
from nonsmooth.results.audit.laws import rows_of

SUBSTEPS = (2, 4, 6, 8)
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
        self.redundant: bool | None = (
            None  # whether constraints depend on each other; found at the first call
        )
        n, r, laws = modes.shape[0], batch.n_rows, batch.laws
        self.held = np.zeros((n, r), dtype=bool)  # rows that are constraints
        self.lower = np.zeros((n, r, r))  # what the equations of the laws say about forces
        self.in_space: list[tuple[int, slice, np.ndarray]] = []  # laws of two rows that slip
        for i in range(laws.n_laws):
            mode, kind, rows = modes[:, i], int(laws.kind[i]), rows_of(laws, i)
            held = mode == 1 if kind != FREE else np.ones(n, dtype=bool)
            self.held[:, rows] = held[:, None]
            for row in range(rows.start, rows.stop):
                self.lower[:, row, row] = ~held
            if kind == COULOMB_1D and not np.isnan(laws.mu[i]):
                normal = int(laws.row[int(laws.link[i])])
                self.lower[:, rows.start, normal] = np.where(
                    np.abs(mode) == 2, -laws.mu[i] * np.sign(mode), 0.0
                )
            elif kind in (COULOMB_2D, DISK) and np.any(np.abs(mode) == 2):
                self.in_space.append((i, rows, np.abs(mode) == 2))

    def forces(
        self, t: np.ndarray, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(accelerations, forces h, power of all laws), shapes (n, n_u), (n, n_u), (n,)."""
        b, n_u, r = self.batch, self.batch.n_u, self.batch.n_rows
        M, h = b.mass(t, q), b.force(t, q, u)
        if r == 0:
            return np.linalg.solve(M, h[..., None])[..., 0], h, np.zeros(t.size)
        WT, zeta = b.directions(t, q)
        rate = times(WT, u)
        K, right = np.zeros((t.size, n_u + r, n_u + r)), np.zeros((t.size, n_u + r))
        K[:, :n_u, :n_u], K[:, :n_u, n_u:], right[:, :n_u] = M, -WT.transpose(0, 2, 1), h
        K[:, n_u:, :n_u] = np.where(self.held[..., None], WT, 0.0)
        K[:, n_u:, n_u:] = self.lower
        if self.curved:
            right[:, n_u:] = np.where(self.held, -rates_of_directions(b, t, q, u, self.dt), 0.0)
        self._given_forces(K[:, n_u:, n_u:], right[:, n_u:], rate + zeta, *b.bounds(t, q, u))
        x = self._solved(K, right)
        return x[:, :n_u], h, dot(rate, x[:, n_u:])

    def _given_forces(self, lower, right, gamma, least, most) -> None:
        """Laws that press with all they have: intervals at a bound, and slip in a plane against the velocity."""
        laws = self.batch.laws
        for k in np.flatnonzero((laws.kind == COULOMB_1D) & np.isnan(laws.mu)):  # a function of the state
            row, normal, mode = int(laws.row[k]), int(laws.row[int(laws.link[k])]), self.modes[:, k]
            lower[:, row, normal] = np.where(np.abs(mode) == 2, -most[:, row] * np.sign(mode), 0.0)
        for k in np.flatnonzero(laws.kind == INTERVAL):
            row, mode = int(laws.row[k]), self.modes[:, k]
            given = np.where(mode > 0, most[:, row], least[:, row])
            right[:, row] = np.where(np.abs(mode) == 2, given, right[:, row])
        for i, rows, slips in self.in_space:
            speed = np.sqrt(np.sum(gamma[:, rows] ** 2, axis=1))[:, None]
            along = np.divide(-gamma[:, rows], speed, out=np.zeros_like(gamma[:, rows]), where=speed > 0)
            if int(laws.kind[i]) == DISK:
                right[:, rows] = np.where(slips[:, None], most[:, rows.start, None] * along, right[:, rows])
            else:
                normal = int(laws.row[int(laws.link[i])])
                mu = most[:, rows.start, None] if np.isnan(laws.mu[i]) else laws.mu[i]
                lower[:, rows, normal] = np.where(slips[:, None], -mu * along, 0.0)

    def _solved(self, K: np.ndarray, right: np.ndarray) -> np.ndarray:
        """K^-1 right; the shortest solution where constraints depend on each other.

        Velocities are measured by their masses, forces by what they do to them: ranks do not depend on units.
        """
        n_u = self.batch.n_u
        unit = np.ones(right.shape)
        unit[:, :n_u] /= np.sqrt(np.maximum(np.einsum("nii->ni", K[:, :n_u, :n_u]), np.finfo(float).tiny))
        force = np.linalg.norm(unit[:, :n_u, None] * K[:, :n_u, n_u:], axis=1)
        unit[:, n_u:] = np.divide(1.0, force, out=unit[:, n_u:], where=force > 0.0)
        K = K * unit[:, None, :]
        size = np.max(np.abs(K), axis=2)
        row = np.divide(1.0, size, out=np.ones_like(size), where=size > 0.0)
        return unit * self._solved_scaled(row[..., None] * K, row * right)

    def _solved_scaled(self, K: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The same for equations and unknowns of size one."""
        if not self.redundant:
            try:
                x = np.linalg.solve(K, right[..., None])[..., 0]
                if self.redundant is None:
                    size = np.max(np.abs(x), axis=1) + np.max(np.abs(right), axis=1)
                    off = np.max(np.abs(times(K, x) - right), axis=1)
                    self.redundant = bool(np.any(off > 1e-9 * size))
                if not self.redundant:
                    return x
            except np.linalg.LinAlgError:
                self.redundant = True
        usable = np.isfinite(K).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
        x = np.full_like(right, np.nan)
        x[usable] = times(np.linalg.pinv(K[usable], rcond=1e-12), right[usable])
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
        if calls > 5000:
            raise FloatingPointError("too long")
        return system.rates(np.array([t]), y[None])[0]

    try:
        found = solve_ivp(
            f, (t, t + float(system.dt[0])), y, method="DOP853", rtol=max(rtol, 1e-13), atol=tolerance
        )
    except (FloatingPointError, ValueError, np.linalg.LinAlgError):
        return None
    return found.y[:n, -1] if found.success else None
