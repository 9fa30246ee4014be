"""Lorentz cones for an interior-point method: scaling of Nesterov and Todd, Jordan division, step to the boundary.

Per contact ``x = (mu r_N, r_T)`` and ``y = (ũ_N, mu u_T)`` lie inside Lorentz's cone. The symmetric matrix P of Nesterov and
Todd (1997) satisfies ``P x = P^-1 y = lambda``; with ``J = diag(1, -1, -1)``, unit determinants ``x̄ = x / det(x)^(1/2)``, ȳ::

    g = ((1 + x̄.ȳ) / 2)^(1/2),     w = (ȳ + J x̄) / (2 g),     P^2 = (det y / det x)^(1/2) (2 w w^T - J)         (1)

Contacts without friction are half-lines in their normal component, bilateral blocks have no cone; `kind` says which
(0 cone, 1 half-line, 2 free).
"""

import math

import numpy as np

from nonsmooth._core.jit import kernel

CONE, HALF_LINE, FREE = 0, 1, 2


@kernel
def determinant(dim, v, base):
    """``v_0^2 - |v_T|^2`` as a product, which loses less to cancellation."""
    length = 0.0
    for a in range(1, dim):
        length += v[base + a] * v[base + a]
    length = math.sqrt(length)
    return (v[base] - length) * (v[base] + length)


@kernel
def scaling(dim, kind, x, y, P, lam):
    """Fill the blocks `P`, shape (n, dim, dim), and ``lam = P x`` by (1). Returns False if a point left its cone."""
    w = np.empty(3)
    for i in range(kind.size):
        base = dim * i
        for a in range(dim):
            lam[base + a] = 0.0
            for b in range(dim):
                P[i, a, b] = 0.0
        if kind[i] == FREE:
            continue
        if kind[i] == HALF_LINE:
            if not (x[base] > 0.0 and y[base] > 0.0):
                return False
            P[i, 0, 0] = math.sqrt(y[base] / x[base])
            lam[base] = math.sqrt(y[base] * x[base])
            continue
        det_x = determinant(dim, x, base)
        det_y = determinant(dim, y, base)
        if not (det_x > 0.0 and det_y > 0.0 and x[base] > 0.0 and y[base] > 0.0):
            return False
        root_x = math.sqrt(det_x)
        root_y = math.sqrt(det_y)
        inner = 0.0
        for a in range(dim):
            inner += x[base + a] * y[base + a]
        g = math.sqrt(0.5 * (1.0 + inner / (root_x * root_y)))
        for a in range(dim):
            sign = 1.0 if a == 0 else -1.0
            w[a] = (y[base + a] / root_y + sign * x[base + a] / root_x) / (2.0 * g)
        eta = math.sqrt(root_y / root_x)
        P[i, 0, 0] = eta * w[0]
        for a in range(1, dim):
            P[i, 0, a] = P[i, a, 0] = eta * w[a]
            for b in range(1, dim):
                P[i, a, b] = eta * w[a] * w[b] / (1.0 + w[0])
            P[i, a, a] += eta
        for a in range(dim):
            total = 0.0
            for b in range(dim):
                total += P[i, a, b] * x[base + b]
            lam[base + a] = total
    return True


@kernel
def blocks(dim, kind, mu, P, A, B):
    """Blocks of Newton's matrix ``A W + B``: ``B = F P^2 F / mu`` with ``F = diag(mu, 1, 1)``, A the identity."""
    for i in range(kind.size):
        for a in range(dim):
            for b in range(dim):
                A[i, a, b] = 0.0
                B[i, a, b] = 0.0
        if kind[i] == FREE:
            for a in range(dim):
                A[i, a, a] = 1.0
            continue
        if kind[i] == HALF_LINE:
            A[i, 0, 0] = 1.0
            B[i, 0, 0] = P[i, 0, 0] * P[i, 0, 0]
            for a in range(1, dim):
                B[i, a, a] = 1.0  # no friction: these impulses stay zero
            continue
        for a in range(dim):
            A[i, a, a] = 1.0
            for b in range(dim):
                total = 0.0
                for c in range(dim):
                    total += P[i, a, c] * P[i, c, b]
                B[i, a, b] = (mu[i] if a == 0 else 1.0) * total * (mu[i] if b == 0 else 1.0) / mu[i]


@kernel
def right_side(dim, kind, mu, P, lam, target, affine_x, affine_y, correct, gap, d, out):
    """Right-hand side ``E^-1 P d - gap`` of Newton's system, and ``d = lam \\ (target e - lam o lam - correction)``.

    The correction is Mehrotra's ``(P dx) o (P^-1 dy)`` with the affine step; `affine_y` holds ``P^-1 dy``.
    """
    v = np.empty(3)
    c = np.empty(3)
    for i in range(kind.size):
        base = dim * i
        for a in range(dim):
            d[base + a] = 0.0
            out[base + a] = -gap[base + a]
        if kind[i] == FREE:
            continue
        if kind[i] == HALF_LINE:
            extra = P[i, 0, 0] * affine_x[base] * affine_y[base] if correct else 0.0
            d[base] = (target - lam[base] * lam[base] - extra) / lam[base]
            out[base] += P[i, 0, 0] * d[base]
            for a in range(1, dim):
                out[base + a] = 0.0
            continue
        # v = target e - lam o lam - correction
        v[0] = target
        for a in range(dim):
            v[0] -= lam[base + a] * lam[base + a]
            if a > 0:
                v[a] = -2.0 * lam[base] * lam[base + a]
        if correct:
            for a in range(dim):
                total = 0.0
                for b in range(dim):
                    total += P[i, a, b] * affine_x[base + b]
                c[a] = total
            for a in range(dim):
                v[0] -= c[a] * affine_y[base + a]
                if a > 0:
                    v[a] -= c[0] * affine_y[base + a] + affine_y[base] * c[a]
        det = determinant(dim, lam, base)
        head = lam[base] * v[0]
        for a in range(1, dim):
            head -= lam[base + a] * v[a]
        head /= det
        d[base] = head
        for a in range(1, dim):
            d[base + a] = (v[a] - head * lam[base + a]) / lam[base]
        for a in range(dim):
            total = 0.0
            for b in range(dim):
                total += P[i, a, b] * d[base + b]
            out[base + a] += total if a == 0 else total / mu[i]


@kernel
def directions(dim, kind, mu, P, d, dr, dx, dy, scaled_dy):
    """``dx = F dr``, ``P^-1 dy = d - P dx`` and ``dy`` from the step `dr` of the impulses."""
    for i in range(kind.size):
        base = dim * i
        for a in range(dim):
            front = mu[i] if (a == 0 and kind[i] == CONE) else 1.0
            dx[base + a] = front * dr[base + a]
            dy[base + a] = 0.0
            scaled_dy[base + a] = 0.0
        if kind[i] == FREE:
            continue
        last = dim if kind[i] == CONE else 1
        for a in range(last):
            total = d[base + a]
            for b in range(last):
                total -= P[i, a, b] * dx[base + b]
            scaled_dy[base + a] = total
        for a in range(last):
            total = 0.0
            for b in range(last):
                total += P[i, a, b] * scaled_dy[base + b]
            dy[base + a] = total


@kernel
def to_boundary(dim, kind, x, dx):
    """Largest ``t <= 1`` for which ``x + t dx`` stays in its cones."""
    step = 1.0
    for i in range(kind.size):
        base = dim * i
        if kind[i] == FREE:
            continue
        if dx[base] < 0.0:
            step = min(step, -x[base] / dx[base])
        if kind[i] == HALF_LINE:
            continue
        # roots of det(x + t dx) = c + 2 b t + a t^2
        a = determinant(dim, dx, base)
        c = determinant(dim, x, base)
        b = x[base] * dx[base]
        for k in range(1, dim):
            b -= x[base + k] * dx[base + k]
        inside = b * b - a * c
        if inside < 0.0:
            continue
        root = math.sqrt(inside)
        # the smallest positive root, written without cancellation
        if b < 0.0:
            step = min(step, c / (root - b))
        elif a < 0.0:
            step = min(step, (b + root) / (-a))
    return step
