"""What measures every contact solver, in plain NumPy and independent of all of them.

*laws*     The one residual, of steps in time and of `solve_contact`. The laws of contact `i` apart, each with its projection::

               e_N = (r_N - max(0, r_N - rho_N u_N)) / rho_N,    e_T = (r_T - P_D(r_T - rho_T u_T)) / rho_T        (1)

           with the disk D of radius ``mu r_N``, ``rho_N = 1 / W_NN``, ``rho_T = 1 / max W_TT``; ``|e| / |q|``, where ``|q|`` is
           taken over the laws that are *closed*: whose projection is not zero. A contact that parts in a hurry does not make the errors of
           those at rest look small.

Two figures of published comparisons are reported beside it. The natural map of De Saxcé's formulation, with
``ũ = u + (mu |u_T|, 0, 0)``::

    e_i(rho) = r_i - P_K(r_i - rho ũ_i)                                                                   (2)

*scaled*   ``rho_i = 1 / mean diag W_ii``; ``|| (e_i / rho_i)_i || / ||q||`` over all contacts.
*unit*     ``rho = 1``; ``|| (e_i)_i || / ||q||``. It mixes impulses and velocities.

All are zero exactly at a solution, for every ``rho > 0``; the first two are a velocity over a velocity and do not change with the
units of mass, length and time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nonsmooth._core.laws.projections import ROUNDED

#: Rounding of impulses on the surface of a cone, relative to their size.
ROUNDING = 4 * float(np.finfo(float).eps)


class Residual(NamedTuple):
    """Both scalings of the natural map, the worst violation of the cone relative to the largest impulse, and the residual of
    the laws."""

    scaled: float
    unit: float
    cone: float
    laws: float


def project(x, mu, bilateral=None):
    """Rows of `x`, shape (n, dim), projected onto their Coulomb cones (the exact Euclidean projection)."""
    normal = x[:, 0]
    tangent = x[:, 1:]
    length = np.sqrt(np.einsum("ij,ij->i", tangent, tangent))
    # on the boundary: the point of the ray (1, mu t) nearest to x
    height = np.maximum(0.0, (normal + mu * length) / (1.0 + mu * mu))
    inside = (length <= mu * normal) & (normal >= 0.0)
    out = np.empty_like(x)
    out[:, 0] = np.where(inside, normal, height)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(inside, 1.0, np.where(length > 0.0, mu * height / length, 0.0))
    out[:, 1:] = tangent * shrink[:, None]
    if bilateral is not None and bilateral.any():
        out[bilateral] = x[bilateral]
    return out


def natural_map(r, u, mu, rho, bilateral=None):
    """``r - P_K(r - rho ũ)`` per contact, eq. (2); `r`, `u` of shape (n, dim), `rho` of shape (n,)."""
    shifted = u.copy()
    shift = mu * np.sqrt(np.einsum("ij,ij->i", u[:, 1:], u[:, 1:]))
    if bilateral is not None:
        shift[bilateral] = 0.0
    shifted[:, 0] += shift
    moved = rho[:, None] * shifted
    point = r - moved
    projected = project(point, mu, bilateral)
    # where the projection changes nothing the difference is rho ũ itself, without cancellation
    kept = np.all(projected == point, axis=1)
    return np.where(kept[:, None], moved, r - projected)


def of_laws(problem, R, U) -> float:
    """The residual of the laws, eq. (1); `R`, `U` of shape (n, dim)."""
    Q, bilateral = problem.q.reshape(R.shape), problem.bilateral
    rho = np.repeat(problem.law_rho, [1, problem.dim - 1], axis=1)
    point = R - rho * U
    image = point.copy()
    image[:, 0] = np.maximum(point[:, 0], 0.0)
    reach = np.sqrt(np.einsum("ij,ij->i", point[:, 1:], point[:, 1:]))
    radius = problem.mu * np.maximum(R[:, 0], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        image[:, 1:] *= np.where(reach > radius, radius / reach, 1.0)[:, None]
    image[bilateral] = point[bilateral]
    # inside its set a law has the error u itself, without cancellation
    error = np.where(image == point, U, (R - image) / rho)
    own = np.maximum(np.abs(Q), ROUNDED * problem.diagonal * np.abs(R)) ** 2
    closed = np.repeat(
        np.column_stack([image[:, 0] != 0.0, np.any(image[:, 1:] != 0.0, axis=1)]),
        [1, problem.dim - 1],
        axis=1,
    )
    size = float(own[closed].sum()) or float(own.sum())
    value = float(np.sqrt(np.sum(error**2) / size)) if size > 0.0 else float(np.linalg.norm(error))
    return value if np.isfinite(value) else np.inf


def approach(problem, u) -> float:
    """Norm of the approaching normal velocities ``min(0, u_N)`` relative to ``|q|``.

    For ``mu`` far above 1 the natural map shrinks by ``1 / mu`` where impulses are missing, and a small
    residual no longer says that contacts have stopped to approach; this does.
    """
    normal = np.asarray(u).reshape(-1, problem.dim)[~problem.bilateral, 0]
    size = problem.q_norm if problem.q_norm > 0.0 else 1.0
    value = float(np.linalg.norm(np.minimum(0.0, normal))) / size
    return value if np.isfinite(value) else np.inf


def rounding(problem, r) -> float:
    """Part of the *unit* residual that is rounding of the impulses themselves, relative to ``|q|``.

    Impulses on the surface of their cones lie there to a few units in the last place of ``|r|``, which the
    natural map with ``rho = 1`` compares with velocities. Where impulses are 1e9 times as large as
    velocities, nothing below 1e-7 can be represented. At most the typical impulse ``|q| / mean diag W``
    counts, so that impulses that are large for other reasons (a nearly singular W) are no excuse.
    """
    if problem.n_contacts == 0 or problem.q_norm == 0.0:
        return 0.0
    size = min(float(np.linalg.norm(r)) / problem.q_norm, float(problem.rho.mean()))
    return ROUNDING * size


def residual(problem, r, u=None) -> Residual:
    """All figures for the impulses `r`; ``u = W r + q`` is recomputed unless given."""
    n, dim = problem.n_contacts, problem.dim
    if n == 0:
        return Residual(0.0, 0.0, 0.0, 0.0)
    r = np.asarray(r, dtype=float)
    u = problem.velocity(r) if u is None else u
    R, U = r.reshape(n, dim), np.asarray(u).reshape(n, dim)
    size = problem.q_norm if problem.q_norm > 0.0 else 1.0
    bilateral = problem.bilateral if problem.bilateral.any() else None
    rho = problem.rho
    unit = natural_map(R, U, problem.mu, np.ones(n), bilateral) / size
    scaled = natural_map(R, U, problem.mu, rho, bilateral) / (rho[:, None] * size)
    top = np.max(np.abs(r))
    outside = np.sqrt(np.einsum("ij,ij->i", R[:, 1:], R[:, 1:])) - problem.mu * R[:, 0]
    outside = np.maximum(outside, -R[:, 0])
    outside[problem.bilateral] = 0.0
    cone = max(0.0, float(outside.max())) / float(top) if top > 0.0 else 0.0
    values = float(np.linalg.norm(scaled)), float(np.linalg.norm(unit)), cone, of_laws(problem, R, U)
    # NaN must never pass a comparison with a tolerance
    return Residual(*(v if np.isfinite(v) else np.inf for v in values))
