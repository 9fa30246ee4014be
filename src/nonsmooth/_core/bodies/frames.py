"""Where bodies and nodes are and how they move, whatever they are: every element works with positions, rotations and wrenches in space.

A body or node of a structure has a row in the table of frames: its kind, where its coordinates begin in q, where its velocities begin in u,
how many components its position has, how many coordinates it has.

    POINT    x                    u = x'
    PLANAR   (x, y, phi)          u = q'                      a body in the plane z = 0, turned about the z axis
    SPATIAL  (x, y, z, quaternion), u = (x', omega)           omega in the frame of the body
    HELD     some of (x, y, z, phi), u = q'                   from where they are held; the others do not move (boundary conditions)
    ALONG    s                    u = s'                      x = x_0 + s e on a line
    TURNING  quaternion           u = omega                   a node in space that is pinned
    GROUND   nothing              nothing

HELD, ALONG and TURNING find what does not move in the table `fixed`: x, y, z, phi; x_0, e; x.
"""

from math import cos, sin
from typing import NamedTuple

import numpy as np

from nonsmooth._core.bodies.vectors import dot, plus, quaternion_rotation, turned, turned_back
from nonsmooth._core.jit import phase

GROUND, POINT, PLANAR, SPATIAL, HELD, ALONG, TURNING = 0, 1, 2, 3, 4, 5, 6

#: Columns of `Frames.parts`: coordinates of HELD nodes.
X, Y, Z, PHI = range(4)
#: Columns of the table of what does not move.
FIXED_X, FIXED_PHI, FIXED_E = 0, 3, 3
FIXED_COLUMNS = 6


class Frames(NamedTuple):
    """One entry per body or node; the first is the ground."""

    kind: np.ndarray
    at_q: np.ndarray  # where its coordinates begin
    at_u: np.ndarray  # and its velocities
    dim: np.ndarray  # components of its position
    size: np.ndarray  # how many velocities it has
    parts: np.ndarray  # (n, 4): which coordinate of its block x, y, z, phi of a HELD node is, or -1


def make_frames(n):
    """Room for n of them, all on the ground."""
    return Frames(*(np.zeros(n, dtype=np.int64) for _ in range(5)), np.zeros((n, 4), dtype=np.int64))


def frame_of(frames, k):
    """One of them, as numbers."""
    return Frames(*(column[k] for column in frames))


@phase
def held(table, b, q, component):
    """Component x, y, z or phi (0 to 3) of a HELD node."""
    k = table.frames.parts[b, component]
    moved = q[table.frames.at_q[b] + k] if k >= 0 else 0.0
    return table.fixed[b, component] + moved


@phase
def held_rate(table, b, u, component):
    """Rate of a component of a HELD node."""
    k = table.frames.parts[b, component]
    return u[table.frames.at_u[b] + k] if k >= 0 else 0.0


@phase
def line(table, b):
    """Direction of a node that moves along a line."""
    return (table.fixed[b, FIXED_E], table.fixed[b, FIXED_E + 1], table.fixed[b, FIXED_E + 2])


@phase
def position(table, b, q):
    """Origin of the frame: the centre of mass."""
    kind = table.frames.kind[b]
    if kind == GROUND:
        return (0.0, 0.0, 0.0)
    if kind == HELD:
        return (held(table, b, q, X), held(table, b, q, Y), held(table, b, q, Z))
    if kind == TURNING:
        return (table.fixed[b, 0], table.fixed[b, 1], table.fixed[b, 2])
    i = table.frames.at_q[b]
    if kind == ALONG:
        e, s = line(table, b), q[i]
        return (table.fixed[b, 0] + s * e[0], table.fixed[b, 1] + s * e[1], table.fixed[b, 2] + s * e[2])
    return (q[i], q[i + 1], q[i + 2] if table.frames.dim[b] == 3 else 0.0)


@phase
def plane_angle(table, b, q):
    """Angle of a body in the plane, which counts turns."""
    kind = table.frames.kind[b]
    if kind == PLANAR:
        return q[table.frames.at_q[b] + 2]
    return held(table, b, q, PHI) if kind == HELD else 0.0


@phase
def rotation(table, b, q):
    """Rotation from the frame of the body into the world, row by row."""
    kind = table.frames.kind[b]
    if kind == PLANAR or kind == HELD:
        phi = plane_angle(table, b, q)
        c, s = cos(phi), sin(phi)
        return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
    if kind == SPATIAL or kind == TURNING:
        return quaternion_rotation(q, table.frames.at_q[b] + (3 if kind == SPATIAL else 0))
    return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@phase
def velocity(table, b, u):
    """Velocity of the origin."""
    kind = table.frames.kind[b]
    if kind == GROUND or kind == TURNING:
        return (0.0, 0.0, 0.0)
    if kind == HELD:
        return (held_rate(table, b, u, X), held_rate(table, b, u, Y), held_rate(table, b, u, Z))
    j = table.frames.at_u[b]
    if kind == ALONG:
        e, s = line(table, b), u[j]
        return (s * e[0], s * e[1], s * e[2])
    return (u[j], u[j + 1], u[j + 2] if table.frames.dim[b] == 3 else 0.0)


@phase
def spin(table, b, R, u):
    """Angular velocity in the world; it is constant where u is: d/dt (R omega) = R (omega x omega)."""
    kind = table.frames.kind[b]
    if kind == PLANAR:
        return (0.0, 0.0, u[table.frames.at_u[b] + 2])
    if kind == SPATIAL or kind == TURNING:
        j = table.frames.at_u[b] + (3 if kind == SPATIAL else 0)
        return turned(R, (u[j], u[j + 1], u[j + 2]))
    if kind == HELD:
        return (0.0, 0.0, held_rate(table, b, u, PHI))
    return (0.0, 0.0, 0.0)


@phase
def place(table, b, R, q, s):
    """Where the point s of the body is."""
    return plus(position(table, b, q), turned(R, s))


@phase
def add_held(table, b, F, T, out):
    """Add the generalised force to those components that move."""
    j = table.frames.at_u[b]
    load = (F[0], F[1], F[2], T[2])
    for component in range(4):
        k = table.frames.parts[b, component]
        if k >= 0:
            out[j + k] += load[component]


@phase
def add_wrench(table, b, R, F, T, out):
    """Add the generalised force of a force F at the origin and a torque T, both in the world, to `out`."""
    kind = table.frames.kind[b]
    if kind == GROUND:
        return
    j = table.frames.at_u[b]
    if kind == HELD:
        add_held(table, b, F, T, out)
        return
    if kind == ALONG:
        out[j] += dot(line(table, b), F)
        return
    if kind != TURNING:
        out[j] += F[0]
        out[j + 1] += F[1]
        if table.frames.dim[b] == 3:
            out[j + 2] += F[2]
    if kind == PLANAR:
        out[j + 2] += T[2]
    elif kind == SPATIAL or kind == TURNING:
        m, first = turned_back(R, T), j + 3 if kind == SPATIAL else j
        out[first] += m[0]
        out[first + 1] += m[1]
        out[first + 2] += m[2]
