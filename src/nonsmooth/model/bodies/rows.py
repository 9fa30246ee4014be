"""Types of rows: the compiled kernels of each, and the same in plain NumPy for the audit.

A position row has a value g; its directions are found in the second route by complex steps of g. A velocity row has a relative velocity
gamma that is linear in the velocities; its directions are gamma of unit velocities. Formulas in `_core.bodies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.bodies import block_rows, contact_rows, point_rows, turning_rows


class Ends(NamedTuple):
    """Both bodies of m rows at n instants: positions (n, m, 3), rotations (n, m, 3, 3), angles in the plane (n, m) or None."""

    x_a: np.ndarray
    R_a: np.ndarray
    phi_a: np.ndarray | None
    x_b: np.ndarray
    R_b: np.ndarray
    phi_b: np.ndarray | None


class RowType(NamedTuple):
    """One kind of row."""

    name: str
    directions: Any  # kernels
    kappa: Any
    value: Any = None
    plain_value: Callable | None = None  # (ends, numbers) -> (n, m)
    plain_gamma: Callable | None = None  # (ends, numbers, v_a, w_a, v_b, w_b) -> (n, m)


class Row(NamedTuple):
    """One row of an element: its type, both bodies (numbers in the table of frames), its numbers."""

    type: RowType
    a: int
    b: int
    numbers: np.ndarray


# -- helpers -----------------------------------------------------------------------------------------------------------


def turn(R, s):
    """R s for rotations (n, m, 3, 3) and vectors (m, 3) or (n, m, 3)."""
    return np.einsum("nmij,nmj->nmi", R, np.broadcast_to(s, R.shape[:2] + (3,)))


def dot(a, b):
    return np.sum(a * b, axis=-1)


def length(d):
    """Analytic, so that complex steps pass."""
    return np.sqrt(dot(d, d))


def direction(d):
    """d / |d|; zero where d is."""
    size = length(d)[..., None]
    return np.divide(d, size, out=np.zeros_like(d), where=size != 0.0)


def between(ends: Ends, c):
    """d = p_b - p_a and both points."""
    p_a, p_b = ends.x_a + turn(ends.R_a, c[:, 0:3]), ends.x_b + turn(ends.R_b, c[:, 3:6])
    return p_b - p_a, p_a, p_b


# -- position rows -----------------------------------------------------------------------------------------------------


def fixed(ends, c):
    return dot(between(ends, c)[0], c[:, 6:9]) - c[:, 9]


def carried(ends, c):
    return dot(between(ends, c)[0], turn(ends.R_a, c[:, 6:9])) - c[:, 9]


def distance(ends, c):
    return c[:, 6] * (length(between(ends, c)[0]) - c[:, 9])


def dots(ends, c):
    return dot(turn(ends.R_a, c[:, 0:3]), turn(ends.R_b, c[:, 3:6])) - c[:, 6]


def angle_of(ends, c, middle):
    """The angle of `turning_rows`."""
    if ends.phi_a is not None:
        return ends.phi_b - ends.phi_a
    E_b = turn(ends.R_b, c[:, 6:9])
    S, C = dot(turn(ends.R_a, c[:, 3:6]), E_b), dot(turn(ends.R_a, c[:, 0:3]), E_b)
    theta = np.arctan2(S.real, C.real)
    theta = theta - 2 * np.pi * np.floor((theta - middle) / (2 * np.pi) + 0.5)
    if np.iscomplexobj(S):
        theta = theta + 1j * (C.real * S.imag - S.real * C.imag) / (C.real**2 + S.real**2)
    return theta


def angle(ends, c):
    return c[:, 9] * (angle_of(ends, c, c[:, 10]) - c[:, 10])


def gear(ends, c):
    """In the plane: phi_b + ratio phi_a - c."""
    return ends.phi_b + c[:, 3] * ends.phi_a - c[:, 4]


def nearest_on_block(ends, c):
    """Middle of the ball, distance from the block (negative inside) and the normal in the world, towards the ball."""
    p_a = ends.x_a + turn(ends.R_a, c[:, 0:3])
    y = turn(np.swapaxes(ends.R_b, -1, -2), p_a - ends.x_b) - c[:, 3:6]
    h = c[:, 6:9]
    f = np.where(np.abs(y.real) > h, y - np.sign(y.real) * h, 0.0)
    outside = np.any(np.abs(y.real) > h, axis=-1)
    distance = length(np.where(outside[..., None], f, 1.0))
    depth = h - np.sign(y.real) * y
    face = np.argmin(np.broadcast_to(depth.real, y.shape), axis=-1)[..., None]
    inner = -np.take_along_axis(np.broadcast_to(depth, y.shape), face, axis=-1)[..., 0]
    side = np.zeros(y.shape)
    np.put_along_axis(
        side, face, np.where(np.take_along_axis(y.real, face, axis=-1) >= 0.0, 1.0, -1.0), axis=-1
    )
    n = np.where(outside[..., None], f / distance[..., None], side)
    return p_a, np.where(outside, distance, inner), turn(ends.R_b, n)


def block(ends, c):
    return nearest_on_block(ends, c)[1] - c[:, 9]


# -- velocity rows -----------------------------------------------------------------------------------------------------


def spin(ends, c, v_a, w_a, v_b, w_b):
    return dot(turn(ends.R_a, c[:, 0:3]), w_b + c[:, 3:4] * w_a)


def slip(ends, P, T, v_a, w_a, v_b, w_b):
    """T . (velocity of b - velocity of a) at the place P."""
    at_b, at_a = v_b + np.cross(w_b, P - ends.x_b), v_a + np.cross(w_a, P - ends.x_a)
    return dot(T, at_b - at_a)


def flat(ends, c, *velocities):
    N, T = turn(ends.R_a, c[:, 0:3]), turn(ends.R_a, c[:, 3:6])
    P = ends.x_b + turn(ends.R_b, c[:, 6:9]) - c[:, 9:10] * N
    return slip(ends, P, T, *velocities)


def rounded(ends, c, *velocities):
    d, p_a, _ = between(ends, c)
    N = direction(d)
    return slip(ends, p_a + c[:, 6:7] * N, tangent(N, c[:, 7]), *velocities)


def rolling(ends, c, v_a, w_a, v_b, w_b):
    d = between(ends, c)[0]
    return dot(tangent(direction(d), c[:, 7]), w_b - w_a)


def along_block(ends, c, *velocities):
    p_a, _, N = nearest_on_block(ends, c)
    return slip(ends, p_a - c[:, 9:10] * N, tangent(-N, c[:, 10]), *velocities)


def tangent(N, which):
    """The tangent of `contact_rows`."""
    T = np.stack([-N[..., 1], N[..., 0], np.zeros_like(N[..., 0])], axis=-1)
    e = np.eye(3)[np.argmin(np.abs(N), axis=-1)]
    w = e - dot(e, N)[..., None] * N
    T_1 = w / length(w)[..., None]
    which = which[None, :, None]
    return np.where(which == 0, T, np.where(which == 1, T_1, np.cross(N, T_1)))


#: Rows of a function of the user (`model.bodies.user_rows`).
USER = RowType("user", None, None)
FIXED = RowType("fixed", point_rows.fixed_directions, point_rows.fixed_kappa, point_rows.fixed_value, fixed)
CARRIED = RowType(
    "carried", point_rows.carried_directions, point_rows.carried_kappa, point_rows.carried_value, carried
)
DISTANCE = RowType(
    "distance", point_rows.distance_directions, point_rows.distance_kappa, point_rows.distance_value, distance
)
DOT = RowType("dot", turning_rows.dot_directions, turning_rows.dot_kappa, turning_rows.dot_value, dots)
ANGLE = RowType(
    "angle", turning_rows.angle_directions, turning_rows.angle_kappa, turning_rows.angle_value, angle
)
SPIN = RowType("spin", turning_rows.spin_directions, turning_rows.spin_kappa, plain_gamma=spin)
GEAR = RowType("gear", turning_rows.spin_directions, turning_rows.spin_kappa, turning_rows.gear_value, gear)
FLAT = RowType("flat", contact_rows.flat_directions, contact_rows.flat_kappa, plain_gamma=flat)
ROUND = RowType("round", contact_rows.round_directions, contact_rows.round_kappa, plain_gamma=rounded)
ROLLING = RowType("rolling", contact_rows.rolling_directions, contact_rows.rolling_kappa, plain_gamma=rolling)
BLOCK = RowType("block", block_rows.block_directions, block_rows.block_kappa, block_rows.block_value, block)
ALONG_BLOCK = RowType(
    "along block", block_rows.along_block_directions, block_rows.along_block_kappa, plain_gamma=along_block
)
