"""Independent checks of a run, each for a stack of steps or states; a scheme composes its audit from them.

Nothing here knows a scheme's code. For a step of the midpoint rule from (t_B, q_B, u_B) to (t_E, q_E, u_E) with impulses P,
notation as in [1]_:

    t_M = t_B + dt/2,  q_M = q_B + B(q_B) u_B dt/2                                  midpoint
    M_M (u_E - u_B) - h_M dt - W_M P = 0                                            eq. (15), momentum
    q_E = q_B + B(q_M) (u_B + u_E)/2 dt, then unit quaternions divided by length    eq. (21), position
    -(gamma_E + e gamma_B) in N_C(P),  gamma = W_M^T u + zeta                       eq. (17), law
    P_i = prox_Ci(P_i - r_i xi_i),  xi = gamma_E + e gamma_B,  r_i = 1/max G_ii     eq. (19), natural map
    Delta T = 1/2 (W^T (u_E + u_B))^T P + 1/2 (u_E + u_B)^T h dt                    energy identity

The energy identity is (15) multiplied by (u_E + u_B)/2, with M_M on both sides; the relative velocities in it are those
without the contribution zeta of moving walls, because P acts on the system through W alone.

Every residual is relative. Velocities are measured by what rounding can reach, the largest of |W^T||u|, |zeta| and
G_ii |P_i| in the step, never by a fixed number, so that units do not matter. NaN stays NaN.

References
----------
.. [1] C. Studer, R.I. Leine, Ch. Glocker, "Step size adjustment and extrapolation for time-stepping schemes
       in non-smooth dynamics", Int. J. Numer. Meth. Engng 76 (2008) 1747-1781.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import FREE, HALF_LINE, INACTIVE
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.laws import contact_rows, impact_impulses, projected, rows_of
from nonsmooth.results.audit.stacks import diagonal_of_product, product, times, transposed
from nonsmooth.results.audit.steps import Steps

_EPS = np.finfo(np.float64).eps


@dataclass
class Midpoint:
    """The model at the midpoints of n steps (or where else they evaluate it), and what follows for the step.

    Attributes
    ----------
    t, q : ndarray, shapes (n,), (n, n_q)
    M : ndarray, shape (n, n_u, n_u)
        Here and of WT and M_inv_W a `Stack` of sparse matrices in large worlds.
    impulse_h, M_inv_h : ndarray, shape (n, n_u)
        h dt, and M^-1 times it.
    WT, zeta : ndarray, shapes (n, n_rows, n_u), (n, n_rows)
    lower, upper : ndarray, shape (n, n_rows)
        Force bounds.
    M_inv_W : ndarray, shape (n, n_u, n_rows)
    G_diagonal : ndarray, shape (n, n_rows)
    rate_B, rate_E : ndarray, shape (n, n_rows)
        W^T u at both ends.
    velocity : ndarray, shape (n,)
        What relative velocities are measured by.
    """

    t: np.ndarray
    q: np.ndarray
    M: Any
    impulse_h: np.ndarray
    M_inv_h: np.ndarray
    WT: Any
    zeta: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    M_inv_W: Any
    G_diagonal: np.ndarray
    rate_B: np.ndarray
    rate_E: np.ndarray
    velocity: np.ndarray


def midpoint(batch: Batch, s: Steps) -> Midpoint:
    """The model half way through each step."""
    t = s.t_B + 0.5 * s.dt
    return evaluated_at(batch, s, t, s.q_B + batch.q_dot(s.t_B, s.q_B, s.u_B) * (0.5 * s.dt)[:, None], s.u_B)


def evaluated_at(
    batch: Batch, s: Steps, t: np.ndarray, q: np.ndarray, u: np.ndarray, chord: bool = False
) -> Midpoint:
    """The model at (t, q, u) of each step, and what follows for the step; directions along the `chord` of the step if asked for."""
    M = batch.mass(t, q)
    WT, zeta = batch.directions(t, q)
    if chord:
        WT, zeta = along_chord(batch, s, M, WT, zeta, batch.q_dot(t, q, s.dt[:, None] * u), u)
    lower, upper = batch.bounds(t, q, u)
    M_inv_W = batch.over_mass(M, transposed(WT))
    impulse_h = batch.force(t, q, u) * s.dt[:, None]
    G_diagonal = diagonal_of_product(WT, M_inv_W)
    reach = times(abs(WT), np.maximum(np.abs(s.u_B), np.abs(s.u_E)))
    return Midpoint(
        t=t, q=q, M=M, impulse_h=impulse_h, M_inv_h=batch.over_mass(M, impulse_h[..., None])[..., 0], WT=WT, zeta=zeta,
        lower=lower, upper=upper, M_inv_W=M_inv_W, G_diagonal=G_diagonal, rate_B=times(WT, s.u_B), rate_E=times(WT, s.u_E),
        velocity=largest(reach, zeta, G_diagonal * np.abs(s.P)),
    )  # fmt: skip


def along_chord(batch: Batch, s: Steps, M, WT, zeta, move, u) -> tuple[np.ndarray, np.ndarray]:
    """W- and zeta- of contacts and joints, a discrete gradient: W-^T d is what the position changes with q over the step, d = u dt,
    zeta- dt what it changes with t."""
    q_new, d = s.q_B + move, s.dt[:, None] * u
    for place in getattr(batch.model, "quaternions", ()):
        q_new[:, place : place + 4] /= np.linalg.norm(q_new[:, place : place + 4], axis=1)[:, None]
    (here, there), (later_here, later_there) = (
        [np.concatenate([batch.gaps(t, q), batch.joints(t, q, s.u_B)], axis=1) for q in (s.q_B, q_new)]
        for t in (s.t_B, s.t_B + s.dt)
    )
    with_q, with_t = (
        0.5 * (there - here + later_there - later_here),
        0.5 * (later_here - here + later_there - there),
    )
    first = batch.n_rows - batch.n_J
    joints = np.arange(first, first + here.shape[1] - batch.n_N)
    rows = np.concatenate([np.arange(batch.n_N), joints]).astype(int)
    Md = times(M, d)
    square = np.einsum("ni,ni->n", d, Md)[:, None]
    missed = with_q - times(WT[:, rows], d)
    # (what rounding of positions leaves is no bend)
    sizes = np.max(np.abs(s.q_B), axis=0, initial=0.0)
    sizes = np.where(sizes > 0.0, sizes, np.max(sizes, initial=0.0))
    if batch.has_kinematics:
        sizes = np.full(batch.n_u, np.max(sizes, initial=0.0))
    size = np.einsum("nri,i->nr", np.abs(WT[:, rows]), sizes)
    share = np.divide(
        missed, square, out=np.zeros_like(missed), where=(square > 0.0) & (np.abs(missed) > 16 * _EPS * size)
    )
    bent, moving = WT.copy(), zeta.copy()
    bent[:, rows] += share[:, :, None] * Md[:, None, :]
    turned = np.abs(with_t - s.dt[:, None] * zeta[:, rows]) > 16 * _EPS * size
    moving[:, rows] = np.where(turned, with_t / s.dt[:, None], zeta[:, rows])
    return bent, moving


def momentum_residual(s: Steps, m: Midpoint) -> np.ndarray:
    """Residual of (15), relative to its terms."""
    W, M = transposed(m.WT), m.M
    residual = times(M, s.u_E - s.u_B) - m.impulse_h - times(W, s.P)
    inertia = times(abs(M), np.maximum(np.abs(s.u_B), np.abs(s.u_E)))
    return relative(largest(residual), largest(inertia, m.impulse_h, times(abs(W), np.abs(s.P))))


def position_residual(
    batch: Batch, s: Steps, m: Midpoint, u: np.ndarray, projected: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Residual of the new positions q_B + B u dt, relative to its terms, and how much quaternions were stretched before they were
    normalised. Positions that were `projected` may differ by what their constraints can push."""
    move = batch.q_dot(m.t, m.q, s.dt[:, None] * u)
    q_new, stretch = s.q_B + move, np.zeros(len(s))
    for place in getattr(batch.model, "quaternions", ()):
        part = q_new[:, place : place + 4]
        length = np.linalg.norm(part, axis=1)
        stretch = np.maximum(stretch, np.abs(length - 1.0))
        q_new[:, place : place + 4] = part / length[:, None]
    off = s.q_E - q_new
    size = largest(s.q_B, s.q_E, move)
    if projected and not batch.has_kinematics:
        off = not_pushed(batch, s, off, size)
    elif projected:  # along curved coordinates: only where nothing is touched
        off = np.where(np.any(touched(batch, s, size), axis=1, keepdims=True), 0.0, off)
    return relative(largest(off), size), stretch


def touched(batch: Batch, s: Steps, size: np.ndarray) -> np.ndarray:
    """Which rows of contacts (closed at the end of the step) and joints can push positions, shape (n, n_rows)."""
    rows = np.zeros((len(s), batch.n_rows), dtype=bool)
    rows[:, : batch.n_N] = np.abs(batch.gaps(s.t_E, s.q_E)) <= 1e-9 * size[:, None]
    joints = batch.joints(s.t_E, s.q_E, s.u_E).shape[1] if batch.n_J else 0
    rows[:, batch.n_rows - batch.n_J : batch.n_rows - batch.n_J + joints] = True
    return rows


def not_pushed(batch: Batch, s: Steps, off: np.ndarray, size: np.ndarray) -> np.ndarray:
    """What is left of displacements `off` after those constraints can have made: M^-1 W tau, tau >= 0 of contacts but those that
    acted in the step, which are held closed."""
    left, rows = off.copy(), touched(batch, s, size)
    WT, M = batch.directions(s.t_E, s.q_E)[0], batch.mass(s.t_E, s.q_E)
    for k in np.flatnonzero(largest(off) > 64 * _EPS * size):
        W = WT[k][rows[k]]
        if W.size:
            push = np.linalg.solve(M[k], W.T)
            tau = np.linalg.lstsq(push, off[k], rcond=None)[0]
            row = np.flatnonzero(rows[k])
            idle = (
                (row < batch.n_N) & (s.modes[k][np.minimum(row, batch.n_N - 1)] == INACTIVE)
                if batch.n_N
                else row < 0
            )
            tau = np.where(idle & (tau < 0.0), 0.0, tau)
            left[k] = off[k] - push @ tau
    return left


def law_residuals(
    batch: Batch, s: Steps, m: Midpoint, u_max: np.ndarray | None = None, lasting: float | None = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Violation of the laws (natural map (19), relative to velocities), of their sets (relative to the largest impulse), and
    the number of laws whose set is not known.

    `u_max`, shape (n_u,): largest velocities of the run; what rounding of them can do (64 eps) is no violation of a law.
    `lasting`: restitution that laws which endure may have instead of their own.
    """
    laws = batch.laws
    natural, outside, unknown = np.zeros(len(s)), np.zeros(len(s)), 0
    blur = (
        64 * _EPS * times(abs(m.WT), np.broadcast_to(u_max, s.u_B.shape))
        if u_max is not None
        else np.zeros_like(s.P)
    )
    for i in range(laws.n_laws):
        rows = rows_of(laws, i)
        P, G_ii = s.P[:, rows], np.maximum(np.max(m.G_diagonal[:, rows], axis=1), 0.0)
        # an inactive law carries no impulse, not even a small one
        natural = np.where(s.modes[:, i] == INACTIVE, np.maximum(natural, G_ii * largest(P)), natural)
        # a direction that does not move the system decides nothing
        on = np.flatnonzero((s.modes[:, i] != INACTIVE) & (G_ii != 0.0))
        if on.size == 0:
            continue
        G_on = G_ii[on, None]

        def project(x: np.ndarray, i: int = i, on: np.ndarray = on) -> np.ndarray | None:
            return projected(batch.model, i, x, s.P[on], m.lower[on], m.upper[on], s.dt[on])

        inside = project(P[on])
        if inside is None:
            unknown += 1
            continue
        violation = np.full(on.size, np.inf)
        for e in (laws.e[i],) if lasting is None else (laws.e[i], lasting):
            xi = (m.rate_E + m.zeta + e * (m.rate_B + m.zeta))[on][:, rows]
            nearest = project(P[on] - xi / G_on)
            violation = np.minimum(
                violation, G_on[:, 0] * largest(P[on] - nearest) - largest(blur[on][:, rows])
            )
        natural[on] = np.maximum(natural[on], violation)
        outside[on] = np.maximum(outside[on], largest(P[on] - inside))
    return relative(natural, m.velocity), relative(outside, largest(s.P)), unknown


def left_closing(batch: Batch, s: Steps, m: Midpoint) -> np.ndarray:
    """Speed by which contacts with an impulse still close, and constraints move, after an impact; relative to velocities."""
    laws, speed = batch.laws, m.rate_E + m.zeta
    left = np.zeros(len(s))
    for i in range(laws.n_laws):
        rows = rows_of(laws, i)
        if laws.kind[i] == HALF_LINE:
            left = np.maximum(
                left, np.where(largest(s.P[:, rows]) > 0.0, largest(np.minimum(speed[:, rows], 0.0)), 0.0)
            )
        elif laws.kind[i] == FREE:
            left = np.maximum(left, largest(speed[:, rows]))
    return relative(left, m.velocity)


def energy_identity(s: Steps, m: Midpoint) -> np.ndarray:
    """Violation of the energy identity of a step, relative to its terms and to what its forces alone would do (of a body at rest)."""
    T_B, T_E = kinetic(m.M, s.u_B), kinetic(m.M, s.u_E)
    work = 0.5 * (dot(m.rate_B + m.rate_E, s.P) + dot(s.u_B + s.u_E, m.impulse_h))
    reach = dot(np.abs(m.rate_B) + np.abs(m.rate_E), np.abs(s.P))
    reach = 0.5 * (reach + dot(np.abs(s.u_B) + np.abs(s.u_E), np.abs(m.impulse_h)))
    push = 0.5 * dot(m.impulse_h, m.M_inv_h)
    return relative(np.abs(T_E - T_B - work), T_B + T_E + reach + push)


@dataclass
class Gains:
    """What impacts added to the kinetic energy: relative to it, by which law, energy before and after; shape (n,) each."""

    gain: np.ndarray
    law: np.ndarray
    T_before: np.ndarray
    T_after: np.ndarray


def energy_gains(batch: Batch, s: Steps, m: Midpoint) -> Gains:
    """Energy created by impacts, each row of the laws times its own relative velocity.

    Created is what both say: the work of all contact impulses, and that of the part of them that does not just answer forces.
    Below a floor the sign is a matter of rounding and of the solver's tolerance (bodies at rest).
    """
    laws, n = batch.laws, len(s)
    gain, law = np.zeros(n), np.full(n, -1)
    T_B, T_E = kinetic(m.M, s.u_B), kinetic(m.M, s.u_E)
    speed = 0.5 * (m.rate_B + m.rate_E) + m.zeta
    work = np.sum(np.where(contact_rows(laws), speed * s.P, 0.0), axis=1)
    floor = 1e-10 * m.velocity * np.sum(np.abs(s.P), axis=1)
    on = np.flatnonzero(work > floor)
    if on.size:
        G = product(m.WT[on], m.M_inv_W[on])
        # what else changes relative velocities in the step: forces, and surfaces that gather speed
        push = m.rate_E[on] - m.rate_B[on] - np.einsum("nrs,ns->nr", G, s.P[on])
        power = speed[on] * impact_impulses(laws, s.modes[on], s.P[on], G, push)
        created = np.minimum(power.sum(axis=1), work[on])
        gain[on] = np.where(created > floor[on], relative(created, T_B[on]), 0.0)
        by_law = np.stack([power[:, rows_of(laws, i)].sum(axis=1) for i in range(laws.n_laws)], axis=1)
        law[on] = np.where(gain[on] > 0.0, np.argmax(by_law, axis=1), -1)
    return Gains(gain, law, T_B, T_E)


def activation_mismatch(
    batch: Batch, s: Steps, m: Midpoint, gap: np.ndarray, forced: bool = False
) -> np.ndarray:
    """Whether a contact was active with an open gap where that is decided, or the other way round; `forced`: contacts with an open
    gap may act."""
    if batch.n_N == 0:
        return np.zeros(len(s), dtype=bool)
    approach = largest((m.rate_B + m.zeta)[:, : batch.n_N])
    near = (64 * _EPS * np.maximum(largest(s.q_B, m.q), s.dt * approach))[:, None]
    active = s.modes[:, : batch.n_N] != INACTIVE
    return np.any((active & (gap > near) & (not forced)) | (~active & (gap < -near)), axis=1)


# --- helpers ----------------------------------------------------------------------------------------------------------


def kinetic(M: Any, u: np.ndarray) -> np.ndarray:
    """u^T M u / 2."""
    return 0.5 * dot(u, times(M, u))


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products a_k . b_k of two stacks of vectors."""
    return np.einsum("ni,ni->n", a, b)


def largest(*arrays: np.ndarray) -> np.ndarray:
    """Largest absolute value of all entries of each step, shape (n,); 0 for none, NaN stays NaN."""
    found = np.zeros(len(arrays[0]))
    for a in arrays:
        if a.ndim == 1:
            found = np.maximum(found, np.abs(a))
        elif a.shape[1]:
            found = np.maximum(found, np.max(np.abs(a), axis=1))
    return found


def relative(value: Any, scale: Any) -> np.ndarray:
    """value / scale; 0 where both vanish, infinite where only the scale does."""
    value, scale = np.asarray(value, dtype=float), np.asarray(scale, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            value == 0.0, 0.0, np.where(scale > 0.0, value / np.where(scale > 0.0, scale, 1.0), np.inf)
        )
