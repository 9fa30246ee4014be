"""Where bodies are and how they move, whatever they are: every element works with positions, rotations and wrenches in space.

A body has a row in the table of frames: its kind, where its coordinates begin in q, where its velocities begin in u, and how many
components its position has.

    POINT    x                    u = x'
    PLANAR   (x, y, phi)          u = q'                      a body in the plane z = 0, turned about the z axis
    SPATIAL  (x, y, z, quaternion), u = (x', omega)           omega in the frame of the body
    GROUND   nothing              nothing

A quaternion (w, x, y, z) of any length turns as that of length one: at the points inside a step a scheme evaluates at, its length is one
up to the error of the step only.
"""

from math import cos, sin

from nonsmooth._core.bodies.vectors import plus, turned, turned_back
from nonsmooth._core.jit import phase

GROUND, POINT, PLANAR, SPATIAL = 0, 1, 2, 3

#: Columns of the table of frames.
KIND, AT_Q, AT_U, DIM = 0, 1, 2, 3
FRAME_COLUMNS = 4


@phase
def position(frames, b, q):
    """Origin of the frame: the centre of mass."""
    if frames[b, KIND] == GROUND:
        return (0.0, 0.0, 0.0)
    i = frames[b, AT_Q]
    return (q[i], q[i + 1], q[i + 2] if frames[b, DIM] == 3 else 0.0)


@phase
def rotation(frames, b, q):
    """Rotation from the frame of the body into the world, row by row."""
    kind = frames[b, KIND]
    if kind == PLANAR:
        c, s = cos(q[frames[b, AT_Q] + 2]), sin(q[frames[b, AT_Q] + 2])
        return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
    if kind == SPATIAL:
        i = frames[b, AT_Q] + 3
        w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
        f = 2.0 / (w * w + x * x + y * y + z * z)
        return (
            1.0 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y),
            f * (x * y + w * z), 1.0 - f * (x * x + z * z), f * (y * z - w * x),
            f * (x * z - w * y), f * (y * z + w * x), 1.0 - f * (x * x + y * y),
        )  # fmt: skip
    return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@phase
def velocity(frames, b, u):
    """Velocity of the origin."""
    if frames[b, KIND] == GROUND:
        return (0.0, 0.0, 0.0)
    j = frames[b, AT_U]
    return (u[j], u[j + 1], u[j + 2] if frames[b, DIM] == 3 else 0.0)


@phase
def spin(frames, b, R, u):
    """Angular velocity in the world; it is constant where u is: d/dt (R omega) = R (omega x omega)."""
    kind = frames[b, KIND]
    if kind == PLANAR:
        return (0.0, 0.0, u[frames[b, AT_U] + 2])
    if kind == SPATIAL:
        j = frames[b, AT_U] + 3
        return turned(R, (u[j], u[j + 1], u[j + 2]))
    return (0.0, 0.0, 0.0)


@phase
def place(frames, b, R, q, s):
    """Where the point s of the body is."""
    return plus(position(frames, b, q), turned(R, s))


@phase
def add_wrench(frames, b, R, F, T, out):
    """Add the generalised force of a force F at the origin and a torque T, both in the world, to `out`."""
    kind = frames[b, KIND]
    if kind == GROUND:
        return
    j = frames[b, AT_U]
    out[j] += F[0]
    out[j + 1] += F[1]
    if frames[b, DIM] == 3:
        out[j + 2] += F[2]
    if kind == PLANAR:
        out[j + 2] += T[2]
    elif kind == SPATIAL:
        m = turned_back(R, T)
        out[j + 3] += m[0]
        out[j + 4] += m[1]
        out[j + 5] += m[2]
