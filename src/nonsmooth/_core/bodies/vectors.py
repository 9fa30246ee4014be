"""Vectors and rotations in space as tuples of numbers: no allocation, and formulas that read like the paper."""

from math import sqrt

from nonsmooth._core.jit import phase


@phase
def vector(p, i):
    """Three neighbouring numbers."""
    return (p[i], p[i + 1], p[i + 2])


@phase
def quaternion_rotation(q, i):
    """Rotation R, row by row, of the quaternion (w, x, y, z) that begins at i.

    One of any length turns as that of length one: at the points inside a step a scheme evaluates at, its length is one up to the error of
    the step only.
    """
    w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
    f = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y),
        f * (x * y + w * z), 1.0 - f * (x * x + z * z), f * (y * z - w * x),
        f * (x * z - w * y), f * (y * z + w * x), 1.0 - f * (x * x + y * y),
    )  # fmt: skip


@phase
def plus(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@phase
def minus(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@phase
def times(s, a):
    return (s * a[0], s * a[1], s * a[2])


@phase
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@phase
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@phase
def norm(a):
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@phase
def inverse_norm(a):
    """1 / |a|, 0 for the vector zero: between points that coincide there is no direction."""
    size = norm(a)
    return 1.0 / size if size > 0.0 else 0.0


@phase
def turned(R, a):
    """R a, from the frame of the body into the world; R row by row."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@phase
def turned_back(R, a):
    """R^T a, from the world into the frame of the body."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )
