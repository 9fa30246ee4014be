"""Coordinates moved by the increments of a step,  q <- retract(q, delta):  R^n and SO(2) add, SO(3) turns.

A rotation in space is a unit quaternion (w, x, y, z); its increment is a rotation vector in the frame of the body, so that delta / dt
is the body's angular velocity:  q <- q * exp(delta / 2), divided by its length (Brüls, Cardona, Arnold: Lie group generalized-alpha
time integration, 2012). Models that give q' = B u themselves move by q + B delta, their unit quaternions divided by their length.
"""

from math import cos, sin
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    MATRIX,
    address_record,
    by_reference,
    caller,
    f8_1,
    f8_ro,
    float64,
    int64,
    kernel,
    phase,
    void,
)

#: Kinds of blocks.
LINEAR, PLANE_ROTATION, SPACE_ROTATION = 0, 1, 2

call_matrix = caller(MATRIX)


class SpaceRecord(NamedTuple):
    """Blocks of coordinates, in their order, or the kinematics of the user."""

    at: Any  # address: kinematics (0: by blocks)
    kind: np.ndarray
    size: np.ndarray  # of the block in u
    unit: np.ndarray  # where unit quaternions begin in q, for models with kinematics
    B: np.ndarray


def _example():
    integers = np.zeros(1, dtype=np.int64)
    return SpaceRecord(address_record(kinematics=0), integers, integers, integers, np.zeros((1, 1)))


_, space_at = by_reference(_example())

#: (address of the space, t, q, delta, p, out)
RETRACT = void(int64, float64, f8_ro, f8_ro, f8_ro, f8_1)


@kernel(RETRACT, references=False)
def retract(at, t, q, delta, p, out):
    """q moved by delta; `out` may be q."""
    space = space_at(at)
    if space.at.kinematics != 0:
        along_kinematics(at, t, q, delta, p, out)
        return
    i = j = 0  # places in q and u
    for k in range(space.kind.size):
        if space.kind[k] == SPACE_ROTATION:
            turn(q[i : i + 4], delta[j : j + 3], out[i : i + 4])
            i += 4
            j += 3
        else:
            for l in range(space.size[k]):
                out[i + l] = q[i + l] + delta[j + l]
            i += space.size[k]
            j += space.size[k]


@kernel(void(f8_ro, f8_ro, f8_1), references=False)
def turn(q, delta, out):
    """q * exp(delta / 2), of length one."""
    angle = (delta[0] * delta[0] + delta[1] * delta[1] + delta[2] * delta[2]) ** 0.5
    c = cos(0.5 * angle)
    # sin(angle / 2) / angle, from its series where the quotient loses digits
    s = sin(0.5 * angle) / angle if angle > 1e-4 else 0.5 - angle * angle / 48.0
    a, b, d = s * delta[0], s * delta[1], s * delta[2]
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0] = w * c - x * a - y * b - z * d
    out[1] = w * a + x * c + y * d - z * b
    out[2] = w * b - x * d + y * c + z * a
    out[3] = w * d + x * b - y * a + z * c
    to_unit_length(out, 0)


@kernel(void(f8_1, int64), references=False)
def to_unit_length(q, i):
    """Divide the quaternion that begins at place i by its length."""
    length = (q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]) ** 0.5
    for j in range(i, i + 4):
        q[j] /= length


@kernel(RETRACT, references=False)
def along_kinematics(at, t, q, delta, p, out):
    """q + B delta."""
    space = space_at(at)
    call_matrix(space.at.kinematics, t, q, delta, p, space.B)
    for i in range(q.size):
        s = q[i]
        for j in range(delta.size):
            s += space.B[i, j] * delta[j]
        out[i] = s
    for k in range(space.unit.size):
        if space.unit[k] >= 0:
            to_unit_length(out, space.unit[k])


@phase
def drift(space, at, q, u, dt, out):
    """q + dt B(at) u, block by block, for spaces that have no kinematics of their own."""
    i = j = 0
    for k in range(space.kind.size):
        if space.kind[k] == SPACE_ROTATION:
            w, x, y, z = 0.5 * at[i], 0.5 * at[i + 1], 0.5 * at[i + 2], 0.5 * at[i + 3]
            a, b, c = u[j], u[j + 1], u[j + 2]
            out[i] = q[i] + dt * (-x * a - y * b - z * c)
            out[i + 1] = q[i + 1] + dt * (w * a - z * b + y * c)
            out[i + 2] = q[i + 2] + dt * (z * a + w * b - x * c)
            out[i + 3] = q[i + 3] + dt * (-y * a + x * b + w * c)
            i += 4
            j += 3
        else:
            for l in range(space.size[k]):
                out[i + l] = q[i + l] + dt * u[j + l]
            i += space.size[k]
            j += space.size[k]


@phase
def terms_of_drift(space, q, out):
    """sum_i |B_ij q_i| by velocity: what a rate of change along B is made of."""
    i = j = 0
    for k in range(space.kind.size):
        if space.kind[k] == SPACE_ROTATION:
            w, x, y, z = abs(q[i]), abs(q[i + 1]), abs(q[i + 2]), abs(q[i + 3])
            out[j], out[j + 1], out[j + 2] = x * w + y * z, y * w + x * z, z * w + x * y
            i += 4
            j += 3
        else:
            for l in range(space.size[k]):
                out[j + l] = abs(q[i + l])
            i += space.size[k]
            j += space.size[k]
