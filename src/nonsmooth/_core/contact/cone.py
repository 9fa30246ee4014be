"""Coulomb's cone at one contact: exact projection and exact solution of the one-contact problem.

One contact with velocity ``u = A r + b`` (A the diagonal block of W) is solved in closed form up to one
scalar root. Three cases, in this order:

*open*   ``b_N >= 0``: ``r = 0``.
*stick*  ``r = -A^-1 b`` lies in the cone.
*slip*   ``u_N = 0`` and ``u_T = -alpha r_T``, ``alpha > 0``. Elimination of ``r_N`` leaves
         ``(S + alpha I) r_T = -c`` with the Schur complement ``S = A_TT - A_TN A_NT / A_NN`` and
         ``c = b_T - A_TN b_N / A_NN``; alpha is the root of

             G(alpha) = mu r_N(alpha) / |r_T(alpha)| - 1                                                  (1)

         For positive definite A, ``G < 0`` at the sticking value ``alpha = 0`` and ``G > 0`` for large
         alpha, so a bracketed Newton iteration always ends. G is linear in alpha when S is a multiple of the
         identity and ``A_NT = 0``, which is why this form (the secular equation of trust regions) needs one
         or two steps where the quartic of Bonnefon and Daviet (2011) needs all its roots.
"""

import math

import numpy as np

from nonsmooth._core.jit import kernel

SOLVED, INDEFINITE = 0, 1


@kernel(error_model="numpy")
def project_cone3(x0, x1, x2, mu):
    """Euclidean projection of one vector onto ``|x_T| <= mu x_N``."""
    length = math.sqrt(x1 * x1 + x2 * x2)
    if x0 >= 0.0 and length <= mu * x0:
        return x0, x1, x2
    height = (x0 + mu * length) / (1.0 + mu * mu)
    if height <= 0.0:
        return 0.0, 0.0, 0.0
    shrink = mu * height / length
    return height, x1 * shrink, x2 * shrink


@kernel(error_model="numpy")
def project_cone2(x0, x1, mu):
    """The same in the plane."""
    if x0 >= 0.0 and abs(x1) <= mu * x0:
        return x0, x1
    height = (x0 + mu * abs(x1)) / (1.0 + mu * mu)
    if height <= 0.0:
        return 0.0, 0.0
    return height, math.copysign(mu * height, x1)


@kernel(error_model="numpy")
def solve_block3(a, k, b0, b1, b2):
    """``-A^-1 b`` for the 3x3 block that starts at ``a[k]`` (bilateral contact); zero where it is singular."""
    a00 = a[k + np.uint64(0)]
    a01 = a[k + np.uint64(1)]
    a02 = a[k + np.uint64(2)]
    a10 = a[k + np.uint64(3)]
    a11 = a[k + np.uint64(4)]
    a12 = a[k + np.uint64(5)]
    a20 = a[k + np.uint64(6)]
    a21 = a[k + np.uint64(7)]
    a22 = a[k + np.uint64(8)]
    c00 = a11 * a22 - a12 * a21
    c01 = a12 * a20 - a10 * a22
    c02 = a10 * a21 - a11 * a20
    det = a00 * c00 + a01 * c01 + a02 * c02
    if det == 0.0:
        return 0.0, 0.0, 0.0
    c10 = a02 * a21 - a01 * a22
    c11 = a00 * a22 - a02 * a20
    c12 = a01 * a20 - a00 * a21
    c20 = a01 * a12 - a02 * a11
    c21 = a02 * a10 - a00 * a12
    c22 = a00 * a11 - a01 * a10
    inv = -1.0 / det
    return (
        inv * (c00 * b0 + c10 * b1 + c20 * b2),
        inv * (c01 * b0 + c11 * b1 + c21 * b2),
        inv * (c02 * b0 + c12 * b1 + c22 * b2),
    )


# These three are inlined into the sweep: handing five numbers back through memory costs a tenth of a contact.
@kernel(error_model="numpy", forceinline=True)
def local3(a, k, b0, b1, b2, mu, alpha):
    """Solve one 3-D contact ``u = A r + b`` exactly; the nine numbers of A start at ``a[k]``, row by row.

    Returns ``(r0, r1, r2, alpha, status)``: `alpha` is the slip multiplier (a good start value for the next
    call); status INDEFINITE says that the block is not positive definite enough for the exact cases (take a
    projection step instead).
    """
    if b0 >= 0.0:  # open
        return 0.0, 0.0, 0.0, alpha, SOLVED
    a00 = a[k]
    if not a00 > 0.0:
        return 0.0, 0.0, 0.0, alpha, INDEFINITE
    inv = 1.0 / a00
    if mu == 0.0:
        return -b0 * inv, 0.0, 0.0, alpha, SOLVED
    a01 = a[k + np.uint64(1)]
    a02 = a[k + np.uint64(2)]
    a10 = a[k + np.uint64(3)]
    a11 = a[k + np.uint64(4)]
    a12 = a[k + np.uint64(5)]
    a20 = a[k + np.uint64(6)]
    a21 = a[k + np.uint64(7)]
    a22 = a[k + np.uint64(8)]
    # without r_N: S and c, r_N = r_free - g . r_T
    g1 = a01 * inv
    g2 = a02 * inv
    s11 = a11 - a10 * g1
    s12 = a12 - a10 * g2
    s21 = a21 - a20 * g1
    s22 = a22 - a20 * g2
    r_free = -b0 * inv
    c1 = b1 + a10 * r_free
    c2 = b2 + a20 * r_free
    size = abs(s11) + abs(s22)
    tiny = 1e-14 * (a11 + a22)
    if s11 < -tiny or s22 < -tiny:
        return 0.0, 0.0, 0.0, alpha, INDEFINITE
    det = s11 * s22 - s12 * s21
    if det > 1e-15 * size * size:
        r0, t1, t2 = stick3(s11, s12, s21, s22, det, c1, c2, g1, g2, r_free)
        limit = mu * r0
        if r0 >= 0.0 and t1 * t1 + t2 * t2 <= limit * limit:
            return r0, t1, t2, 0.0, SOLVED
        floor = 0.0
    else:
        # a singular block sticks only in the limit: start the root just above zero
        floor = 1e-10 * (size + a00)
    if not alpha > floor:
        alpha = max(floor, 0.5 * size)
    return slip3(s11, s12, s21, s22, c1, c2, g1, g2, r_free, mu, alpha, floor, size)


@kernel(error_model="numpy", forceinline=True)
def stick3(s11, s12, s21, s22, det, c1, c2, g1, g2, r_free):
    """``r = -A^-1 b``: ``S r_T = -c``."""
    inv_det = 1.0 / det
    t1 = (s12 * c2 - s22 * c1) * inv_det
    t2 = (s21 * c1 - s11 * c2) * inv_det
    return r_free - g1 * t1 - g2 * t2, t1, t2


@kernel(error_model="numpy", forceinline=True)
def slip3(s11, s12, s21, s22, c1, c2, g1, g2, r_free, mu, alpha, floor, size):
    """``(S + alpha I) r_T = -c`` with the root of eq. (1): Newton in a bracket, from `alpha`; returns what `local3` does."""
    low = floor
    high = math.inf
    r0 = t1 = t2 = length = 0.0
    for _ in range(60):
        d11 = s11 + alpha
        d22 = s22 + alpha
        det = d11 * d22 - s12 * s21
        if not det > 0.0:
            return 0.0, 0.0, 0.0, 0.0, INDEFINITE
        inv_det = 1.0 / det
        t1 = (s12 * c2 - d22 * c1) * inv_det
        t2 = (s21 * c1 - d11 * c2) * inv_det
        length = math.sqrt(t1 * t1 + t2 * t2)
        r0 = r_free - g1 * t1 - g2 * t2
        if length == 0.0:
            return r_free, 0.0, 0.0, alpha, SOLVED
        gap = mu * r0 - length
        if abs(gap) <= 4e-16 * length:
            break
        if gap < 0.0:
            low = alpha
        else:
            high = alpha
        # derivative of (1): r_T' = -(S + alpha I)^-1 r_T
        p1 = (s12 * t2 - d22 * t1) * inv_det
        p2 = (s21 * t1 - d11 * t2) * inv_det
        slope = mu * (-(g1 * p1 + g2 * p2) - r0 * (t1 * p1 + t2 * p2) / (length * length))
        step = -gap / slope if slope > 0.0 else math.inf
        new = alpha + step
        if not (low < new < high):
            new = 0.5 * (low + high) if high < math.inf else 4.0 * alpha + size
        if abs(new - alpha) <= 4e-16 * alpha:
            alpha = new
            break
        alpha = new
    if not r0 > 0.0:
        return 0.0, 0.0, 0.0, 0.0, INDEFINITE
    shrink = mu * r0 / length
    if shrink < 1.0:
        t1 *= shrink
        t2 *= shrink
    return r0, t1, t2, alpha, SOLVED


@kernel(error_model="numpy")
def local2(a, k, b0, b1, mu):
    """Solve one 2-D contact ``u = a[k] r + b`` exactly; returns ``(r0, r1, status)``, status as in
    `local3`."""
    if b0 >= 0.0:
        return 0.0, 0.0, SOLVED
    a00 = a[k, 0, 0]
    if not a00 > 0.0:
        return 0.0, 0.0, INDEFINITE
    inv = 1.0 / a00
    if mu == 0.0:
        return -b0 * inv, 0.0, SOLVED
    g1 = a[k, 0, 1] * inv
    s = a[k, 1, 1] - a[k, 1, 0] * g1
    c = b1 - a[k, 1, 0] * b0 * inv
    if s < -1e-14 * a[k, 1, 1]:
        return 0.0, 0.0, INDEFINITE
    if s > 0.0:
        t = -c / s
        r0 = -b0 * inv - g1 * t
        if r0 >= 0.0 and abs(t) <= mu * r0:
            return r0, t, SOLVED
    # slip against the free tangential velocity
    sign = -math.copysign(1.0, c)
    den = a00 + sign * mu * a[k, 0, 1]
    if not den > 0.0 and s <= 1e-14 * a[k, 1, 1] and abs(c) <= 1e-12 * abs(b1):
        # a singular block at rest on both sides: the other edge of the cone holds it
        sign = -sign
        den = a00 + sign * mu * a[k, 0, 1]
    if not den > 0.0:
        return 0.0, 0.0, INDEFINITE
    r0 = -b0 / den
    return r0, sign * mu * r0, SOLVED
