"""Set-valued laws in stacks: projections on their sets, and which impulses belong to impacts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    DISK,
    FREE,
    HALF_LINE,
    INTERVAL,
    USER_SET,
)

_EPS = np.finfo(np.float64).eps


def rows_of(laws: Any, i: int) -> slice:
    """Rows of law i."""
    return slice(int(laws.row[i]), int(laws.row[i]) + int(laws.dim[i]))


def projected(
    model: Any, i: int, x: np.ndarray, P: np.ndarray, lower: np.ndarray, upper: np.ndarray, dt: np.ndarray
) -> np.ndarray | None:
    """Nearest admissible impulses of law i, eq. (20); None if the set is not known.

    Parameters
    ----------
    x : ndarray, shape (n, dim)
    P : ndarray, shape (n, n_rows)
        All impulses; the normal ones bound friction.
    lower, upper : ndarray, shape (n, n_rows)
        Force bounds.
    dt : ndarray, shape (n,)
    """
    laws = model.laws
    kind, rows = int(laws.kind[i]), rows_of(laws, i)
    if kind == HALF_LINE:
        return np.maximum(x, 0.0)
    if kind == INTERVAL:
        return np.clip(x, lower[:, rows] * dt[:, None], upper[:, rows] * dt[:, None])
    if kind == DISK:
        return _to_disk(x, upper[:, rows.start] * dt)
    if kind in (COULOMB_1D, COULOMB_2D):
        if math.isinf(laws.mu[i]):
            return x
        mu = (
            upper[:, rows.start] if math.isnan(laws.mu[i]) else laws.mu[i]
        )  # a function of the state, or a number
        return _to_disk(x, mu * np.maximum(P[:, int(laws.row[int(laws.link[i])])], 0.0))
    if kind == FREE:
        return x
    # A user-defined set is one of forces, the impulses lie in dt times it: prox_{dt C}(x) = dt prox_C(x / dt).
    user_set = getattr(model, "sets", {}).get(i)
    if user_set is None:
        return None
    return np.array([np.asarray(user_set.project(y / h), dtype=float) * h for y, h in zip(x, dt)]).reshape(
        x.shape
    )


def _to_disk(x: np.ndarray, radius: np.ndarray) -> np.ndarray:
    length = np.sqrt(np.sum(x * x, axis=1))
    factor = np.divide(radius, length, out=np.ones_like(length), where=length > radius)
    return x * factor[:, None]


def impact_impulses(
    laws: Any, modes: np.ndarray, P: np.ndarray, G: np.ndarray, push: np.ndarray
) -> np.ndarray:
    """Impulses of contacts and constraints without the part that only answers the forces, shape (n, n_rows).

    Rows C in constraint mode obey ``G_CC P_C + G_CI P_I + (1 + e) gamma_B + push_C = 0`` with the push of the forces
    ``W^T M^-1 h dt``, so their impulse is linear in it; sliding friction follows its normal impulse. Without this split a
    step in which a force presses a contact that is just about to separate would look like an impact that creates energy,
    by an amount that vanishes with dt. Laws with given force bounds count as forces here. Steps with the same modes are
    treated together.
    """
    result = np.zeros_like(P)
    contact = contact_rows(laws)
    push = push + (G @ np.where(contact, 0.0, P)[..., None])[..., 0]
    patterns, which = np.unique(modes, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        here = np.flatnonzero(which.ravel() == k)
        result[here] = np.where(contact, P[here], 0.0) - _answers(laws, pattern, P[here], G[here], push[here])
    return result


def contact_rows(laws: Any) -> np.ndarray:
    """Rows of contacts, their friction and bilateral constraints: laws whose set is not one of given forces."""
    contact = np.zeros(int(laws.n_rows), dtype=bool)
    for i in range(laws.n_laws):
        contact[rows_of(laws, i)] = int(laws.kind[i]) not in (INTERVAL, DISK, USER_SET)
    return contact


def _answers(laws: Any, modes: np.ndarray, P: np.ndarray, G: np.ndarray, push: np.ndarray) -> np.ndarray:
    """What contacts answer to `push`, for steps with the same modes."""
    constrained: list[int] = []
    sliding: list[tuple[slice, int, float]] = []
    for i in range(laws.n_laws):
        rows, kind = rows_of(laws, i), int(laws.kind[i])
        if kind in (INTERVAL, DISK, USER_SET):
            continue
        if modes[i] == CONSTRAINT:
            constrained += range(rows.start, rows.stop)
        elif modes[i] and kind in (COULOMB_1D, COULOMB_2D):
            sliding.append((rows, int(laws.row[int(laws.link[i])]), float(laws.mu[i])))
    known = np.isfinite(G).all(axis=(1, 2)) & np.isfinite(P).all(axis=1) & np.isfinite(push).all(axis=1)
    if not constrained or not known.any():
        return np.zeros_like(P)
    # Answer = E x: x on the rows in constraint mode, mu x of the normal row along the friction force if it slides.
    E = np.zeros((*P.shape, len(constrained)))
    E[:, constrained, np.arange(len(constrained))] = 1.0
    for rows, normal, mu in sliding:
        if normal in constrained:
            length = np.linalg.norm(P[:, rows], axis=1)
            along = np.divide(
                P[:, rows], length[:, None], out=np.zeros_like(P[:, rows]), where=length[:, None] > 0
            )
            if math.isnan(mu):  # a function of the state: what slides shows it
                ratio = np.divide(length, P[:, normal], out=np.zeros_like(length), where=P[:, normal] > 0)
                E[:, rows, constrained.index(normal)] = ratio[:, None] * along
                continue
            E[:, rows, constrained.index(normal)] = mu * along
    A = np.where(known[:, None, None], (G @ E)[:, constrained], 0.0)
    b = np.where(known[:, None], -push[:, constrained], 0.0)
    x = (np.linalg.pinv(A, rcond=_EPS * max(A.shape[1:])) @ b[..., None])[..., 0]
    return (E @ x[..., None])[..., 0]
