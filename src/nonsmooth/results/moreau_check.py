"""One step of Moreau's scheme, recomputed by plain NumPy from its two ends.

For a step from (t_B, q_B, u_B) to (t_E, q_E, u_E) with impulses P, notation as in [1]_:

    t_M = t_B + dt/2,  q_M = q_B + B(q_B) u_B dt/2                                  midpoint
    M_M (u_E - u_B) - h_M dt - W_M P = 0                                            eq. (15), momentum
    q_E = q_B + B(q_M) (u_B + u_E)/2 dt, then unit quaternions divided by length    eq. (21), position
    -(gamma_E + e gamma_B) in N_C(P),  gamma = W_M^T u + zeta                       eq. (17), law
    P_i = prox_Ci(P_i - r_i xi_i),  xi = gamma_E + e gamma_B,  r_i = 1/max G_ii     eq. (19), natural map
    Delta T = 1/2 (W^T (u_E + u_B))^T P + 1/2 (u_E + u_B)^T h dt                    energy identity

The energy identity is (15) multiplied by (u_E + u_B)/2, with M_M on both sides; the relative velocities in it
are those without the contribution zeta of moving walls, because P acts on the system through W alone.

Every residual is relative. Velocities are measured by what rounding can reach, the largest of |W^T||u|,
|zeta| and G_ii |P_i| in the step, never by a fixed number, so that units do not matter.

References
----------
.. [1] C. Studer, R.I. Leine, Ch. Glocker, "Step size adjustment and extrapolation for time-stepping schemes
       in non-smooth dynamics", Int. J. Numer. Meth. Engng 76 (2008) 1747-1781.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Kinds of laws in a law table.
HALF_LINE, INTERVAL, DISK, COULOMB_1D, COULOMB_2D, USER_SET, FREE = range(7)

_EPS = np.finfo(np.float64).eps


@dataclass
class StepCheck:
    """Residuals of one step of Moreau's scheme, each relative (see the module docstring)."""

    momentum: float
    position: float
    complementarity: float
    cone: float
    energy: float
    gain: float
    gain_law: int
    T_before: float
    T_after: float
    mismatch: bool
    gap: float
    travel: float
    unchecked_laws: int
    stretch: float


def check_moreau_step(
    system: Any,
    t_B: float,
    q_B: np.ndarray,
    u_B: np.ndarray,
    dt: float,
    q_E: np.ndarray,
    u_E: np.ndarray,
    P: np.ndarray,
    modes: np.ndarray,
    t_E: float | None = None,
    u_max: np.ndarray | None = None,
) -> StepCheck:
    """Recompute one step of Moreau's scheme from its two ends, impulses and modes.

    Parameters
    ----------
    system : object
        Follows the model protocol (``mass_matrix``, ``forces``, ``gaps``, ``directions``, ``bounds``,
        ``kinematic_matrix``, ``laws``).
    t_B, dt : float
    q_B, q_E : ndarray, shape (n_q,)
    u_B, u_E : ndarray, shape (n_u,)
    P : ndarray, shape (n_rows,)
        Normal rows first, then tangential rows, then those of bilateral constraints.
    modes : ndarray, shape (n_laws,)
    t_E : float, optional
        End of the step, default ``t_B + dt``.
    u_max : ndarray, shape (n_u,), optional
        Largest velocities of the run: what rounding of them can do (64 eps) is no violation of a law.

    Returns
    -------
    StepCheck
    """
    laws = system.laws
    # Midpoint, Studer et al. 2008, before eq. (15)
    t_M = t_B + 0.5 * dt
    q_M = q_B + (system.kinematic_matrix(t_B, q_B) @ u_B) * (0.5 * dt)
    M = np.asarray(system.mass_matrix(t_M, q_M), dtype=float)
    impulse_h = np.asarray(system.forces(t_M, q_M, u_B), dtype=float) * dt
    WT, zeta = _directions(system, t_M, q_M, u_B.size)

    # Momentum, eq. (15)
    left, right = M @ (u_E - u_B), WT.T @ P
    scale = largest(np.abs(M) @ np.maximum(np.abs(u_B), np.abs(u_E)), impulse_h, np.abs(WT.T) @ np.abs(P))
    momentum = relative(largest(left - impulse_h - right), scale)

    # Positions, eq. (21)
    move = system.kinematic_matrix(t_M, q_M) @ (0.5 * dt * (u_B + u_E))
    q_new = q_B + move
    stretch = 0.0
    for place in getattr(system, "quaternions", ()):
        length = float(np.linalg.norm(q_new[place : place + 4]))
        stretch = max(stretch, abs(length - 1.0))
        q_new[place : place + 4] /= length
    position = relative(largest(q_E - q_new), largest(q_B, q_E, move))

    # Relative velocities and Delassus matrix
    rate_B, rate_E = WT @ u_B, WT @ u_E
    gamma_B, gamma_E = rate_B + zeta, rate_E + zeta
    G = WT @ np.linalg.solve(M, WT.T) if WT.shape[0] else np.zeros((0, 0))
    velocity = largest(np.abs(WT) @ np.maximum(np.abs(u_B), np.abs(u_E)), zeta, np.diag(G) * np.abs(P))
    lower, upper = system.bounds(t_M, q_M, u_B) if WT.shape[0] else (np.zeros(0), np.zeros(0))

    # Laws, eqs (17) and (19)
    blur = 64 * _EPS * (np.abs(WT) @ (np.zeros_like(u_B) if u_max is None else u_max))
    natural = cone = 0.0
    unchecked = 0
    for i in range(laws.n_laws):
        rows = slice(int(laws.row[i]), int(laws.row[i]) + int(laws.dim[i]))
        P_i, G_ii = P[rows], max(float(np.max(np.diag(G)[rows])), 0.0)
        if modes[i] == 0:
            natural = max(
                natural, G_ii * largest(P_i)
            )  # an inactive law carries no impulse, not even a small one
            continue
        if G_ii == 0.0:
            continue  # the direction does not move the system: the law decides nothing
        xi = gamma_E[rows] + laws.e[i] * gamma_B[rows]
        project = _projection(system, i, P, lower, upper, dt)
        if project is None:
            unchecked += 1
            continue
        natural = max(natural, G_ii * largest(P_i - project(P_i - xi / G_ii)) - largest(blur[rows]))
        cone = max(cone, largest(P_i - project(P_i)))

    # Energy identity of the step, constant M or M_M on both sides
    T_B, T_E = 0.5 * float(u_B @ M @ u_B), 0.5 * float(u_E @ M @ u_E)
    work_P, work_h = 0.5 * float((rate_B + rate_E) @ P), 0.5 * float((u_B + u_E) @ impulse_h)
    reach = 0.5 * float(
        (np.abs(rate_B) + np.abs(rate_E)) @ np.abs(P) + (np.abs(u_B) + np.abs(u_E)) @ np.abs(impulse_h)
    )
    energy = relative(abs(T_E - T_B - work_P - work_h), T_B + T_E + reach)
    # What the impacts added, each row times its own relative velocity; below `floor` the sign is a matter of
    # rounding and of the solver's tolerance (bodies at rest)
    push = WT @ np.linalg.solve(M, impulse_h) if WT.shape[0] else np.zeros(0)
    power = 0.5 * (gamma_B + gamma_E) * impact_impulses(laws, modes, P, G, push)
    created, floor = float(np.sum(power)), 1e-10 * velocity * float(np.sum(np.abs(P)))
    gain = relative(created, T_B) if created > floor else 0.0
    by_law = [np.sum(power[laws.row[i] : laws.row[i] + laws.dim[i]]) for i in range(laws.n_laws)]
    gain_law = int(np.argmax(by_law)) if gain > 0.0 else -1

    # Gaps: activation at the midpoint, penetration at the end
    n_N = int(laws.n_N)
    gap, travel, mismatch = math.inf, 0.0, False
    if n_N:
        g_M = np.asarray(system.gaps(t_M, q_M), dtype=float)
        g_E = np.asarray(system.gaps(t_B + dt if t_E is None else t_E, q_E), dtype=float)
        near = 64 * _EPS * max(largest(q_B, q_M), dt * largest(gamma_B[:n_N]))
        active = np.asarray(modes[:n_N]) != 0
        mismatch = bool(np.any(active & (g_M > near)) or np.any(~active & (g_M < -near)))
        gap = float(g_E.min())
        travel = dt * largest(gamma_B[:n_N], gamma_E[:n_N])

    return StepCheck(
        momentum=momentum,
        position=position,
        complementarity=relative(natural, velocity),
        cone=relative(cone, largest(P)),
        energy=energy,
        gain=gain,
        gain_law=gain_law,
        T_before=T_B,
        T_after=T_E,
        mismatch=mismatch,
        gap=gap,
        travel=travel,
        unchecked_laws=unchecked,
        stretch=stretch,
    )


def impact_impulses(
    laws: Any, modes: np.ndarray, P: np.ndarray, G: np.ndarray, push: np.ndarray
) -> np.ndarray:
    """Impulses of contacts and constraints without the part that only answers the forces, shape (n_rows,).

    Rows C in constraint mode obey ``G_CC P_C + G_CI P_I + (1 + e) gamma_B + push_C = 0`` with the push of the
    forces ``W^T M^-1 h dt``, so their impulse is linear in it; sliding friction follows its normal impulse.
    Without this split a step in which a force presses a contact that is just about to separate would look like
    an impact that creates energy, by an amount that vanishes with dt. Laws with given force bounds count as
    forces here.
    """
    contact = np.zeros(P.size, dtype=bool)
    constrained: list[int] = []
    sliding: list[tuple[slice, int, float]] = []
    for i in range(laws.n_laws):
        rows = slice(int(laws.row[i]), int(laws.row[i]) + int(laws.dim[i]))
        kind = int(laws.kind[i])
        if kind in (INTERVAL, DISK, USER_SET):
            continue
        contact[rows] = True
        if modes[i] == 1:
            constrained += range(rows.start, rows.stop)
        elif modes[i] and kind in (COULOMB_1D, COULOMB_2D):
            sliding.append((rows, int(laws.row[int(laws.link[i])]), float(laws.mu[i])))
    if not constrained or not (np.isfinite(G).all() and np.isfinite(P).all() and np.isfinite(push).all()):
        return np.where(contact, P, 0.0)
    # Answer = E x: x on the rows in constraint mode, mu x of the normal row along the friction force if it slides.
    E = np.zeros((P.size, len(constrained)))
    E[constrained, np.arange(len(constrained))] = 1.0
    for rows, normal, mu in sliding:
        length = float(np.linalg.norm(P[rows]))
        if normal in constrained and length > 0.0:
            E[rows, constrained.index(normal)] = mu * P[rows] / length
    push = push + G @ np.where(contact, 0.0, P)
    x = np.linalg.lstsq((G @ E)[constrained], -push[constrained], rcond=None)[0]
    return np.where(contact, P - E @ x, 0.0)


def _directions(system: Any, t: float, q: np.ndarray, n_u: int) -> tuple[np.ndarray, np.ndarray]:
    if system.laws.n_rows == 0:
        return np.zeros((0, n_u)), np.zeros(0)
    WT, zeta = system.directions(t, q)
    return np.asarray(WT, dtype=float), np.asarray(zeta, dtype=float)


def _projection(
    system: Any, i: int, P: np.ndarray, lower: np.ndarray, upper: np.ndarray, dt: float
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Projection on the set of admissible impulses of law i, eq. (20); None if the set is not known."""
    laws = system.laws
    kind, row = int(laws.kind[i]), int(laws.row[i])
    rows = slice(row, row + int(laws.dim[i]))
    if kind == HALF_LINE:
        return lambda x: np.maximum(x, 0.0)
    if kind == INTERVAL:
        return lambda x: np.clip(x, lower[rows] * dt, upper[rows] * dt)
    if kind == DISK:
        radius = float(upper[row]) * dt
        return lambda x: _to_disk(x, radius)
    if kind in (COULOMB_1D, COULOMB_2D):
        normal = max(float(P[int(laws.row[int(laws.link[i])])]), 0.0)
        radius = math.inf if math.isinf(laws.mu[i]) else float(laws.mu[i]) * normal
        return lambda x: _to_disk(x, radius)
    if kind == FREE:
        return lambda x: x
    # A user-defined set is one of forces, the impulses lie in dt times it: prox_{dt C}(x) = dt prox_C(x / dt).
    user_set = getattr(system, "sets", {}).get(i)
    if user_set is None:
        return None
    return lambda x: np.asarray(user_set.project(x / dt), dtype=float) * dt


def _to_disk(x: np.ndarray, radius: float) -> np.ndarray:
    length = float(np.linalg.norm(x))
    return x if length <= radius else x * (radius / length)


def largest(*arrays: Any) -> float:
    """Largest absolute value of all entries, 0 for none; NaN stays NaN."""
    return max((float(np.max(np.abs(a))) for a in arrays if np.size(a)), default=0.0, key=_nan_first)


def _nan_first(x: float) -> float:
    return math.inf if math.isnan(x) else x


def relative(value: float, scale: float) -> float:
    if value == 0.0:
        return 0.0
    return value / scale if scale > 0.0 else math.inf
