"""Joints that hold what others hold: their rows are left out of the equations of motion, and share in the forces afterwards.

W (n_u x m) are the directions of all rows of joints, rank r < m, null space N = {c: W c = 0}. At one position rows may depend on each
other by accident (a singular start); they are redundant where they do so at other positions, too. Such a row is implied by the others as
long as positions are exact; off them by a rounding all m rows together lock the mechanism. So a run knows r independent rows only, W_k.
The others are chosen so that their block of N stays regular on walks through positions which the joints allow: W_k has rank r there.

Of all forces with the same effect the smallest are told, in a norm that does not depend on units:

    min sum_i G_ii la_i^2   subject to   W la = W_k la_k,     G = W^T M^-1 W,     la = D (W D)^+ W_k la_k,   D = diag(G)^(-1/2)

Directions do not know what drives and functions of time will ask for: a rod of fixed length beside a driven one is implied by it until
the drive moves. What no correction of positions can mend of the residuals r of all rows is N^T r; where it grows, rows contradict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.records.laws import FREE
from nonsmooth.errors import ModelError, RedundantConstraintWarning
from nonsmooth.model.bodies.plain import Poses
from nonsmooth.model.independence import MANY_ROWS, dependent_rows, lengths_one, surely_independent
from nonsmooth.model.start import length_scale, moved_onto
from nonsmooth.warn import warn_user

#: Steps of a walk, in radians and in terms of the distances between bodies; how many, and how many with many rows.
STEP, STEPS, FEW = 0.1, 25, 5
#: Part of a row outside the span of others that is too large for a rounding.
RANK = 1e-9
#: What rows that were left out may be off by, in terms of the motion, beside what the drift of the others explains.
OFF = 1e-6
#: How many states of a run are looked at.
LOOKED_AT = 500


def independent(system: Any, model: Any, t: float, q: np.ndarray, u: np.ndarray) -> Any:
    """The model a run uses: that of `system`, without the rows that others imply; a warning names them.

    Models of functions keep all rows.
    """
    found = redundant_names(model, t, q)
    if not found:
        return model
    left_out = lasting(model, t, q) if hasattr(model, "assembly") else []
    listed = ", ".join(map(repr, (left_out or found)[:5]))
    cure = (
        "; a run leaves them out, and forces of joints are the smallest that do the same." if left_out
        else "; the impulses of such constraints are not unique."
    )  # fmt: skip
    warn_user(
        f"{model.laws.n_J} constraints have rank {model.laws.n_J - len(found)}: {listed} depend(s) on the others{cure}",
        RedundantConstraintWarning,
    )
    return _without(system, model, left_out, t, q, u)


def independent_for_rest(system: Any, model: Any, t: float, q: np.ndarray, u: np.ndarray) -> Any:
    """The same without a word, where forces of all rows are told afterwards."""
    if not hasattr(model, "assembly") or not redundant_names(model, t, q):
        return model
    return _without(system, model, lasting(model, t, q), t, q, u)


def _without(system, model, left_out, t, q, u):
    if not left_out:
        return model
    run = system.without_rows(left_out).bind(t, q, u)
    run.complete = model
    return run


def redundant_names(model: Any, t: float, q: np.ndarray) -> list[str]:
    """Rows of joints that depend on those before them."""
    laws = model.laws
    if laws.n_J < 2:
        return []
    J = model.directions(t, q)[0][laws.n_rows - laws.n_J :]
    if laws.n_J > MANY_ROWS and surely_independent(J):
        return []
    names = names_of_rows(laws)
    return [names[k] for k in dependent_rows(lengths_one(J))]


def names_of_rows(laws: Any) -> list[str]:
    """Names of the rows of joints and other constraints."""
    return [name for name, kind in zip(laws.name, laws.kind) if kind == FREE]


def lasting(model: Any, t: float, q: np.ndarray) -> list[str]:
    """Rows of a world that others imply at all positions nearby, chosen so that those which stay are independent along the motion."""
    names, spaces = names_of_rows(model.laws), []
    for t_k, q_k in positions(model, t, q):
        A = rows_of_joints(model, t_k, q_k) / np.sqrt(np.diag(model.mass_matrix(t_k, q_k)))
        U, sizes, _ = np.linalg.svd(lengths_one(A))
        spaces.append(U[:, np.count_nonzero(sizes > RANK) :])
    p = min(N.shape[1] for N in spaces)  # more are accidents
    N = np.array([N for N in spaces if N.shape[1] == p])
    free = np.array([name in model.assembly.may_go for name in names])
    return [names[k] for k in sorted(best_rows(N, free))]


def best_rows(N: np.ndarray, free: np.ndarray) -> list[int]:
    """p rows k whose blocks N_k of null spaces N, shape (positions, m, p), are as far from singular as may be at all positions.

    Elimination with pivots: at every turn the row whose part outside those taken is largest where it is smallest.
    """
    N, taken = N.copy(), []
    for _ in range(N.shape[2]):
        sizes = np.min(np.linalg.norm(N, axis=2), axis=0) * free
        k = int(np.argmax(sizes))
        if sizes[k] <= RANK:
            raise ModelError(
                "drives or functions prescribe what the other joints hold already: take one of them away."
            )
        e = N[:, k] / np.linalg.norm(N[:, k], axis=1)[:, None]
        N -= np.einsum("sm,sp->smp", np.einsum("smp,sp->sm", N, e), e)
        taken.append(k)
    return taken


def rows_of_joints(model: Any, t: float, q: np.ndarray) -> np.ndarray:
    """W^T of joints and other constraints."""
    return model.directions(t, q)[0][model.laws.n_rows - model.laws.n_J :]


def positions(model: Any, t: float, q: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Positions that joints allow, away from (t, q): to and fro along motions at random."""
    steps = STEPS if model.laws.n_J <= MANY_ROWS else FEW
    one_motion = model.n_u - np.linalg.matrix_rank(lengths_one(rows_of_joints(model, t, q)), RANK) <= 1
    found = []
    for seed in range(1 if one_motion else 2):
        for side in (1.0, -1.0):
            found += walk(model, t, q, steps, side * np.random.default_rng(seed).standard_normal(model.n_u))
    return found or [(t, q)]


def walk(
    model: Any, t: float, q: np.ndarray, steps: int, along: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Positions on the way into a direction, with what drives ask for."""
    first, m, L = model.laws.n_rows - model.laws.n_J, model.assembly.n_joints, length_scale(q)
    residual = lambda t, q: model.joint_residuals(t, q, np.zeros(model.n_u))[0]  # noqa: E731
    found: list[tuple[float, np.ndarray]] = []
    for _ in range(steps):
        WT, zeta = model.directions(t, q)
        J = lengths_one(WT[first:])
        inverse = np.linalg.pinv(J, rcond=RANK)
        driven = -inverse @ (zeta[first:] / np.maximum(np.linalg.norm(WT[first:], axis=1), 1e-300))
        along = along - inverse @ (J @ along)
        size, rate = speed(model, q, along), speed(model, q, driven)
        later = STEP / rate if rate > 0.0 else 0.0
        if size > 0.0:
            along = along / size
        q = q + model.kinematic_matrix(t, q) @ (STEP * along + later * driven)
        t, q = t + later, moved_onto(model, t + later, q, residual, slice(first, first + m), L)
        if np.max(np.abs(residual(t, q)), initial=0.0) > 1e-11 * L:
            break
        found.append((t, q))
    return found


def contradiction(model: Any, t: np.ndarray, q: np.ndarray) -> str:
    """What to say where rows that a run left out are not kept in its states, q of shape (n, n_q); empty if they are.

    Off by a small drift d of the rows that it knew, the others may be off by a multiple of it, and N^T r by d^2.
    """
    complete = model.complete
    if complete is None or not len(t):
        return ""
    known, first = set(model.laws.name), complete.laws.n_rows - complete.laws.n_J
    names = names_of_rows(complete.laws)[: complete.assembly.n_joints]
    out = np.array([name not in known for name in names])
    some = np.unique(np.linspace(0, len(t) - 1, LOOKED_AT).astype(int))
    t, q = t[some], q[some]
    size = np.linalg.norm(rows_of_joints(complete, t[0], q[0])[: out.size], axis=1)
    r = np.abs(complete.batch_joints(t, q)) / size
    left, kept = r[:, out].max(axis=1), r[:, ~out].max(axis=1, initial=0.0)
    length = float(np.ptp(q, axis=0).max())
    reach = max(np.abs(row.numbers).max(initial=0.0) for row in complete.assembly.rows[first:])
    bound = OFF * length + 64 * np.finfo(float).eps * max(float(np.abs(q).max()), reach)
    off = np.flatnonzero(left > 2.0 * kept + bound)
    if not off.size:
        return ""
    p = out.size - np.linalg.matrix_rank(lengths_one(rows_of_joints(complete, t[0], q[0])[: out.size]), RANK)
    k = off[np.argmax(left[off])]
    WT = complete.directions(t[k], q[k])[0][first : first + out.size]
    N = np.linalg.svd(lengths_one(WT))[0][:, out.size - p :]
    signed = complete.batch_joints(t[k : k + 1], q[k : k + 1])[0] / np.linalg.norm(WT, axis=1)
    amounts = N.T @ signed
    if np.abs(amounts).max(initial=0.0) <= bound + 10.0 * kept[k] ** 2 / max(length, 1e-300):
        return ""
    share = np.abs(N @ amounts)
    listed = ", ".join(
        repr(names[n]) for n in np.argsort(-share, kind="stable")[:5] if share[n] > 0.1 * share.max()
    )
    return (
        f"the joints contradict each other from about t = {t[off[0]]:.6g} on: {listed} hold the same motion, and what they ask for is "
        f"{np.abs(amounts).max():.3g} apart at t = {t[k]:.6g}; take one of them away or correct its drive."
    )


def speed(model: Any, q: np.ndarray, u: np.ndarray) -> float:
    """How fast bodies move and turn: lengths in terms of the distances between bodies."""
    poses = Poses(model.assembly, q[None])
    v, omega = poses.velocities(u[None])
    apart = float(np.max(np.ptp(poses.x[0, 1:], axis=0), initial=0.0)) or length_scale(q)
    return float(max(np.max(np.abs(v), initial=0.0) / apart, np.max(np.abs(omega), initial=0.0)))


def shared_forces(model: Any, result: Any) -> np.ndarray:
    """Forces in all rows of a world, (n_rows, n_t), from those of a run that knew some of the rows of its joints."""
    laws, la, first = model.laws, result.forces(), model.laws.n_rows - model.laws.n_J
    if la.shape[0] == laws.n_rows:
        return la
    place = rows_kept(laws, result.law_names)
    out = np.zeros((laws.n_rows, len(result)))
    out[:first] = la[:first]
    roots = 1.0 / np.sqrt(np.diag(model.mass_matrix(float(result.t[0]), result.q[:, 0])))
    for begin in range(0, len(result), 256):
        part = slice(begin, begin + 256)
        WT = model.batch_directions(result.t[part], result.q[:, part].T)[0][:, first:] * roots
        out[first:, part] = smallest_forces(WT, place, la[first:, part])
    return out


def rows_kept(laws: Any, known: Any) -> list[int]:
    """Numbers of the rows of joints whose names are `known`."""
    known = set(known)
    return [k for k, name in enumerate(names_of_rows(laws)) if name in known]


def smallest_forces(WT: np.ndarray, place: list[int], la: np.ndarray) -> np.ndarray:
    """D (W D)^+ W_k la_k for directions (n_t, m, n_u) in terms of M^(1/2) and forces (k, n_t) of the rows `place`; shape (m, n_t)."""
    D = 1.0 / np.linalg.norm(WT, axis=2)
    effect = np.einsum("trj,rt->tj", WT[:, place], la)
    inverse = np.linalg.pinv(np.swapaxes(WT * D[:, :, None], 1, 2), rcond=RANK)
    return (D * np.einsum("trj,tj->tr", inverse, effect)).T
