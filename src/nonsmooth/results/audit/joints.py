"""Drift of bilateral constraints at position, velocity and acceleration level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.stacks import lengths, times


@dataclass
class Drift:
    """Largest residuals over some states.

    Attributes
    ----------
    position, velocity : float
        In units of the constraints.
    distance : float
        Position residuals divided by the length of their gradients: how far coordinates are off.
    speed : float
        Velocity residuals divided by the length of their gradients.
    """

    position: float
    velocity: float
    distance: float
    speed: float


def joint_drift(batch: Batch, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> Drift | None:
    """Residuals of joints and nonholonomic constraints; None for models without any."""
    if batch.n_J == 0 or t.size == 0:
        return None
    first = batch.n_rows - batch.n_J
    WT, zeta = batch.directions(t, q)
    velocity = np.abs(times(WT[:, first:], u) + zeta[:, first:])
    length = lengths(WT[:, first:])
    length = np.where(length > 0.0, length, 1.0)
    position = np.abs(batch.joints(t, q, u))  # holonomic rows come first
    m = position.shape[1]
    return Drift(
        position=float(np.max(position, initial=0.0)),
        velocity=float(np.max(velocity, initial=0.0)),
        distance=float(np.max(position / length[:, :m], initial=0.0)),
        speed=float(np.max(velocity / length, initial=0.0)),
    )


def acceleration_residual(
    batch: Batch, t: np.ndarray, q: np.ndarray, u: np.ndarray, a: np.ndarray, dt: np.ndarray
) -> np.ndarray:
    """W^T a + d/dt(W^T) u + d zeta/dt of bilateral rows, shape (n, n_J), for schemes that store accelerations.

    `dt`, shape (n,): a time over which the motion is smooth, such as the step.
    """
    first = batch.n_rows - batch.n_J
    WT, _ = batch.directions(t, q)
    return times(WT[:, first:], a) + rates_of_directions(batch, t, q, u, dt)[:, first:]


def rates_of_directions(
    batch: Batch, t: np.ndarray, q: np.ndarray, u: np.ndarray, dt: np.ndarray
) -> np.ndarray:
    """kappa = d/dt(W^T) u + d zeta/dt along q' = B u at fixed u, shape (n, n_rows)."""

    def gamma(t: np.ndarray, q: np.ndarray) -> np.ndarray:
        WT, zeta = batch.directions(t, q)
        return times(WT, np.tile(u, (t.size // len(u), 1))) + zeta

    return rate_along(gamma, t, q, batch.q_dot(t, q, u), dt, batch.room(t))


#: Weights of a first derivative of sixth order: around the point, and on one side of it.
CENTRAL = {-3: -1.0 / 60.0, -2: 0.15, -1: -0.75, 1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
ONE_SIDED = {0: -2.45, 1: 6.0, 2: -7.5, 3: 20.0 / 3.0, 4: -3.75, 5: 1.2, 6: -1.0 / 6.0}

FEW = 512  # instants at which all points of a difference are asked for at once


def rate_along(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    t: np.ndarray,
    q: np.ndarray,
    q_dot: np.ndarray,
    dt: np.ndarray,
    room: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """df/dt of f(t, q), shape (n, ...), along q', by differences of sixth order.

    Taken over a fiftieth of the time `dt` in which the motion is smooth: the error left in what the rate changes after that time is
    some fifty roundings. `room`: how far f may be asked before and after t; where that is not enough, one side has to do.
    """
    s = 0.02 * dt
    around = (room[0] >= 3.0 * s) & (room[1] > 3.0 * s)
    if around.all():
        return _weighted(f, t, q, q_dot, s, CENTRAL)
    side = np.where(room[1] >= room[0], 1.0, -1.0) * np.minimum(s, np.maximum(*room) / 7.0)
    one_sided = _weighted(f, t, q, q_dot, side, ONE_SIDED)
    if not around.any():
        return one_sided
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # where there is no room at all, nothing is made of it
        central = _weighted(f, t, q, q_dot, np.where(around, s, 0.0), CENTRAL)
    return np.where(np.reshape(around, (-1,) + (1,) * (np.ndim(central) - 1)), central, one_sided)


def _weighted(f, t, q, q_dot, s, weights) -> np.ndarray:
    shifts = [c * s for c in weights]
    if t.size <= FEW:
        at = np.concatenate([t + shift for shift in shifts])
        places = np.concatenate([q + shift[:, None] * q_dot for shift in shifts])
        found = iter(np.split(f(at, places), len(shifts)))
    else:  # one after another, because they need room
        found = (f(t + shift, q + shift[:, None] * q_dot) for shift in shifts)
    total = sum(weight * next(found) for weight in weights.values())
    return total / np.reshape(s, (-1,) + (1,) * (np.ndim(total) - 1))
