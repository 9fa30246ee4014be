"""Energy over a run: T_end - T_0 = work of forces + work of inertia + work of contacts + what nobody explains.

With a mass matrix that depends on q (or t) the kinetic energy changes by ``u^T M u' + 1/2 u^T M' u``: the second part is the
work of inertia here; forces h contain the terms that balance it in a closed system.
"""

from __future__ import annotations

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.checks import dot
from nonsmooth.results.audit.stacks import times
from nonsmooth.results.audit.steps import Steps

CHUNK = 20_000  # steps at a time


def constant_mass(batch: Batch, t: np.ndarray, q: np.ndarray) -> bool:
    """Whether the mass matrix is the same at all these points."""
    if hasattr(batch.model, "sparse_mass"):  # worlds: bodies in their frames
        return True
    M = batch.mass(t, q)
    return bool(np.all(M == M[:1]))


def work_of_inertia(batch: Batch, s: Steps) -> float:
    """Sum over steps of u^T (M_E - M_B) u / 2 with the mean velocity u."""
    total = 0.0
    for part in _chunks(s):
        u = 0.5 * (part.u_B + part.u_E)
        change = batch.mass(part.t_E, part.q_E) - batch.mass(part.t_B, part.q_B)
        total += 0.5 * float(np.sum(dot(u, times(change, u))))
    return total


def loss_in_joints(batch: Batch, s: Steps, point) -> tuple[float, float]:
    """Energy that bilateral constraints took away, where ideal ones take none, and what drives handed to and fro;
    ``point(steps)``: where W is evaluated, (t, q)."""
    total = driven = 0.0
    for part in _chunks(s):
        t, q = point(part)
        WT, zeta = batch.directions(t, q)
        joints = slice(batch.n_rows - batch.n_J, batch.n_rows)
        gamma = times(WT[:, joints], 0.5 * (part.u_B + part.u_E)) + zeta[:, joints]
        total -= float(np.sum(dot(gamma, part.P[:, joints])))
        driven += float(np.sum(np.abs(zeta[:, joints] * part.P[:, joints])))
    return total, driven


def _chunks(s: Steps):
    for begin in range(0, len(s), CHUNK):
        yield s.pick(np.arange(begin, min(begin + CHUNK, len(s))))


def energy_of_forces(batch, t: np.ndarray, q: np.ndarray, u: np.ndarray, span: float, steps: int) -> float:
    """Kinetic energy that the forces alone would give within single steps, summed over all steps."""
    h = batch.force(t, q, u)
    power = dot(h, batch.free_accelerations(t, q, h))
    steps = max(steps, 1)
    return 0.5 * float(np.max(power, initial=0.0)) * (span / steps) ** 2 * steps


def add_potential(balance: dict[str, float], batch: Batch, t: np.ndarray, q: np.ndarray) -> None:
    """Potential energy at both ends, where the model has one."""
    potential = getattr(batch.model, "potential_energy", None)
    if potential is None:
        return
    V = [potential(t[k], q[k]) for k in (0, -1)]
    if V[0] is not None and V[1] is not None:
        balance["potential_start"], balance["potential_end"] = float(V[0]), float(V[1])
