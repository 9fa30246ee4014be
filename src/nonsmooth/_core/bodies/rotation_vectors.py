"""Rotation vectors theta of rotations exp [theta], and the inverse B of the left Jacobian of exp:

exp [theta]' = [theta_L'] exp [theta],   theta' = B(theta) theta_L',     B(theta) exp [theta] = B(-theta) = B(theta)^T
B x = x - theta x x / 2 + c theta x (theta x x),   c(s) = (1 - |theta|/2 cot(|theta|/2)) / s,   s = |theta|^2
"""

from math import atan2, sin, sqrt, tan

from nonsmooth._core.bodies.vectors import cross, dot, norm, plus, times
from nonsmooth._core.jit import phase

SMALL = 1e-2  # of s, below which c is its series
SMALL_SLOPE = 0.05  # and its slope, which cancels more
NEAR_HALF_A_TURN = -0.9  # of the cosine, below which the axis comes from the symmetric part


@phase
def rotation_vector(R):
    """theta of R = exp [theta], |theta| <= pi."""
    v = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))  # sin |theta| times the axis
    sine, cosine = norm(v), 0.5 * (R[0] + R[4] + R[8] - 1.0)
    angle = atan2(sine, cosine)
    if cosine > NEAR_HALF_A_TURN:
        return times(angle / sine, v) if sine > 0.0 else v
    # n n^T = (S - cosine) / (1 - cosine) with S the symmetric part: its longest column
    x, y, z = R[0] - cosine, R[4] - cosine, R[8] - cosine
    xy, xz, yz = 0.5 * (R[1] + R[3]), 0.5 * (R[2] + R[6]), 0.5 * (R[5] + R[7])
    n = (x, xy, xz)
    if y >= x and y >= z:
        n = (xy, y, yz)
    elif z >= x:
        n = (xz, yz, z)
    sign = -1.0 if dot(n, v) < 0.0 else 1.0
    return times(sign * angle / norm(n), n)


@phase
def third_factor(theta):
    """c."""
    square = dot(theta, theta)
    if square < SMALL:
        return 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square / 1209600.0))
    half = 0.5 * sqrt(square)
    return (1.0 - half / tan(half)) / square


@phase
def slope_of_third_factor(theta):
    """dc/ds."""
    s = dot(theta, theta)
    if s < SMALL_SLOPE:
        last = s * (1.0 / 11975040.0 + s * 691.0 / 261534873600.0)
        return 1.0 / 720.0 + s * (1.0 / 15120.0 + s * (1.0 / 403200.0 + last))
    h = 0.5 * sqrt(s)
    f = h / tan(h)
    rate = 1.0 / tan(h) - h / sin(h) ** 2  # of f, by h
    return (-rate / (8.0 * h) - (1.0 - f) / s) / s


@phase
def bent(theta, sign, x):
    """B x (sign -1) or B^T x (sign 1)."""
    turning = cross(theta, x)
    return plus(plus(x, times(0.5 * sign, turning)), times(third_factor(theta), cross(theta, turning)))
