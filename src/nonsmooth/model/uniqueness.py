"""Whether a start leads on in one way only: accelerations by enumeration of all modes of what touches.

A sliding contact with la_T = -mu la_N gamma_T/|gamma_T| accelerates by a = A la_N + c_N, A = G_NN - mu G_NT gamma_T/|gamma_T|. With A < 0
and c_N > 0 it may open or stay closed (Painleve): schemes may choose differently. Small systems only, and only where friction is
strong enough for A to be negative; everything else has one answer or is left to the run.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

from nonsmooth._core.records.laws import COULOMB_1D, COULOMB_2D, FREE
from nonsmooth.errors import NonUniqueWarning
from nonsmooth.model.start import motion_scale

OPEN, CLOSED = "opens", "stays closed"
MOST = 729  # combinations of modes that are looked at
SAME = 1e-6
AT_REST = 1e-9  # part of the velocities that is none


def check_unique(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> None:
    """Warn of a start with several continuations."""
    touching = _sliding(model, t, q, u, span)
    if not touching:
        return
    names = [model.laws.name[contact] for contact, _, _ in touching]
    found = continuations(model, t, q, u, touching)
    if len(found) > 1:
        ways = " | ".join(", ".join(f"{n!r} {how}" for n, how in zip(names, way)) for way in found[:3])
        warnings.warn(
            f"the motion from the start is not unique ({ways}): friction is so strong that a sliding contact may open or not (Painleve's "
            "paradox), and methods may choose differently. event-driven lets it open; less friction or another start excludes it.",
            NonUniqueWarning,
            stacklevel=3,
        )


def continuations(model, t: float, q: np.ndarray, u: np.ndarray, touching) -> list[tuple[str, ...]]:
    """What the contacts that touch may do, as far as accelerations differ."""
    laws, M = model.laws, model.mass_matrix(t, q)
    WT, _ = model.directions(t, q)
    kappa = model.quadratic_term(t, q, u)
    free = M_inv(M, model.forces(t, q, u))
    held = _rows(laws, [l for l in range(laws.n_laws) if laws.kind[l] == FREE])
    normal = [int(laws.row[contact]) for contact, _, _ in touching]
    found: list[tuple[tuple[str, ...], np.ndarray]] = []
    for way in product((OPEN, CLOSED), repeat=len(touching)):
        closed = [k for k, how in enumerate(way) if how == CLOSED]
        rows = [normal[k] for k in closed] + held
        # each force acts along its normal and its friction; it holds its own row
        pushes = [WT[normal[k]] + touching[k][2] for k in closed] + [WT[i] for i in held]
        a, forces = free, np.zeros(0)
        if rows:
            along = M_inv(M, np.array(pushes).T)
            matrix, miss = WT[rows] @ along, -(WT[rows] @ free + kappa[rows])
            forces = np.linalg.lstsq(matrix, miss, rcond=None)[0]
            if np.max(np.abs(matrix @ forces - miss)) > SAME * np.max(np.abs(miss), initial=0.0):
                continue
            a = free + along @ forces
        parts = WT[normal] @ a + kappa[normal]
        size = max(np.max(np.abs(WT[normal] @ free + kappa[normal])), np.max(np.abs(parts)))
        opens = all(parts[k] >= -SAME * size for k, how in enumerate(way) if how == OPEN)
        pulls = np.min(forces[: len(closed)], initial=0.0) < 0.0
        if (
            opens
            and not pulls
            and not any(np.max(np.abs(a - b)) <= SAME * np.max(np.abs(a)) for _, b in found)
        ):
            found.append((way, a))
    return [way for way, _ in found]


def _sliding(model, t, q, u, span) -> list[tuple[int, int, np.ndarray]]:
    """Closed contacts: number, number of the friction, what friction adds to the direction of the force (-mu W_T gamma_T/|gamma_T|).

    None if friction is too weak, too many touch, or something sticks.
    """
    laws = model.laws
    rough = [l for l in range(laws.n_laws) if laws.kind[l] in (COULOMB_1D, COULOMB_2D)]
    if not rough or laws.n_N == 0:
        return []
    WT, zeta = model.directions(t, q)
    gamma, speed = WT @ u + zeta, np.abs(WT) @ np.abs(u) + np.abs(zeta)
    near = 1e-9 * motion_scale(model, t, q, u, span)
    upper = model.bounds(t, q, u)[1]
    closed = [
        l
        for l in range(laws.n_N)
        if model.gaps(t, q)[l] <= near and abs(gamma[laws.row[l]]) <= AT_REST * speed[laws.row[l]]
    ]
    if not closed or 2 ** len(closed) > MOST:
        return []
    touching, jams = [], False
    M = model.mass_matrix(t, q)
    for contact in closed:
        add, number = np.zeros(WT.shape[1]), -1
        for l in rough:
            if laws.link[l] != contact:
                continue
            rows = slice(int(laws.row[l]), int(laws.row[l]) + int(laws.dim[l]))
            slip, mu = np.linalg.norm(gamma[rows]), laws.mu[l]
            mu = float(upper[rows.start]) if np.isnan(mu) else float(mu)
            if not np.isfinite(mu) or slip <= AT_REST * np.max(speed[rows]):
                return []
            add, number = -mu * (gamma[rows] / slip) @ WT[rows], l
        normal = WT[int(laws.row[contact])]
        held = WT[_rows(laws, [l for l in range(laws.n_laws) if laws.kind[l] == FREE])]
        jams = jams or _held(M, held, normal, normal + add) <= 0.0
        touching.append((contact, number, add))
    return touching if jams else []


def _held(M, held: np.ndarray, row: np.ndarray, push: np.ndarray) -> float:
    """Acceleration along `row` that a force along `push` makes while the rows `held` do not move."""
    a = M_inv(M, push)
    if held.size:
        along = M_inv(M, held.T)
        a = a - along @ np.linalg.lstsq(held @ along, held @ a, rcond=None)[0]
    return float(row @ a)


def _rows(laws, which: list[int]) -> list[int]:
    """Rows of laws."""
    return [i for l in which for i in range(int(laws.row[l]), int(laws.row[l]) + int(laws.dim[l]))]


def M_inv(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """M^-1 b."""
    return np.linalg.solve(M, b)
