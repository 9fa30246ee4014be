"""Semismooth Newton for contact, in Jacobi-scaled variables (the mean diagonal of every block of W is 1).

Three systems of equations with the same solutions, chosen by `form`; ``ũ = u + (mu |u_T|, 0, 0)``:

*0, Alart and Curnier (1991)*  with ``y = r_N - u_N`` and ``x = r_T - u_T``::

    Phi_N = r_N - max(0, y),        Phi_T = r_T - P_disk(mu max(0, y))(x)                                 (1)

*1, natural map*               ``Phi = r - P_K(r - ũ)``                                                   (2)

*2, Fischer and Burmeister*    in the Jordan algebra of the cone (Fukushima, Luo, Tseng 2002), with
``x = (mu r_N, r_T)`` and ``y = (ũ_N, mu u_T)``::

    Phi = x + y - (x o x + y o y)^(1/2)                                                                   (3)

A generalised Jacobian of ``r -> Phi(r, W r + q)`` is ``J = A W + B`` with block-diagonal A and B. Where W is
rank-deficient, ``W + eps I`` stands in the matrix, and for proximal steps also in the equations.
"""

import math

import numpy as np

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.elimination import eliminate

ALART_CURNIER, NATURAL, FISCHER_BURMEISTER = 0, 1, 2


@phase
def tangential_length(dim, base, v):
    """Length of the tangential part of a contact's block of `v`."""
    total = 0.0
    for a in range(1, dim):
        total += v[base + a] * v[base + a]
    return math.sqrt(total)


@phase
def add_shift(dim, i, u, mu, slip, A):
    """The shift of ũ_N: its rate is d u_N + mu u_T . d u_T / |u_T|."""
    base = dim * i
    if slip > 0.0:
        for a in range(dim):
            front = A[i, a, 0]
            for b in range(1, dim):
                A[i, a, b] += front * mu * u[base + b] / slip


@kernel
def alart_curnier(dim, i, r, u, mu, phi, A, B):
    """Equations (1) of contact `i`."""
    base = dim * i
    y = r[base] - u[base]
    if not y > 0.0:
        # open: r = 0
        for a in range(dim):
            B[i, a, a] = 1.0
            phi[base + a] = r[base + a]
        return
    A[i, 0, 0] = 1.0
    phi[base] = u[base]
    length = 0.0
    for a in range(1, dim):
        x = r[base + a] - u[base + a]
        length += x * x
    length = math.sqrt(length)
    radius = mu * y
    if length <= radius:
        # stick: u_T = 0
        for a in range(1, dim):
            A[i, a, a] = 1.0
            phi[base + a] = u[base + a]
        return
    # slip: r_T = radius x / |x|
    ratio = radius / length
    for a in range(1, dim):
        xa = (r[base + a] - u[base + a]) / length
        for b in range(1, dim):
            xb = (r[base + b] - u[base + b]) / length
            A[i, a, b] = -ratio * xa * xb
            B[i, a, b] = ratio * xa * xb
        A[i, a, a] += ratio
        B[i, a, a] += 1.0 - ratio
        A[i, a, 0] = mu * xa
        B[i, a, 0] = -mu * xa
        phi[base + a] = r[base + a] - radius * xa


@kernel
def natural(dim, i, r, u, mu, phi, A, B):
    """Equations (2) of contact `i`."""
    base = dim * i
    slip = tangential_length(dim, base, u)
    x0 = r[base] - u[base] - mu * slip
    length = 0.0
    for a in range(1, dim):
        x = r[base + a] - u[base + a]
        length += x * x
    length = math.sqrt(length)
    if x0 >= 0.0 and length <= mu * x0:
        # inside the cone: ũ = 0
        phi[base] = u[base] + mu * slip
        A[i, 0, 0] = 1.0
        for a in range(1, dim):
            phi[base + a] = u[base + a]
            A[i, a, a] = 1.0
            if slip > 0.0:
                A[i, 0, a] = mu * u[base + a] / slip
        return
    c = 1.0 / (1.0 + mu * mu)
    height = c * (x0 + mu * length)
    if height <= 0.0:
        for a in range(dim):
            phi[base + a] = r[base + a]
            B[i, a, a] = 1.0
        return
    # on the boundary: A = DP E, B = I - DP with the derivative DP of the projection and E of the shift
    phi[base] = r[base] - height
    A[i, 0, 0] = c
    B[i, 0, 0] = 1.0 - c
    for a in range(1, dim):
        xa = (r[base + a] - u[base + a]) / length
        shift = mu * u[base + a] / slip if slip > 0.0 else 0.0
        A[i, 0, a] = c * mu * xa + c * shift
        B[i, 0, a] = -c * mu * xa
        A[i, a, 0] = c * mu * xa
        B[i, a, 0] = -c * mu * xa
        phi[base + a] = r[base + a] - mu * height * xa
        for b in range(1, dim):
            xb = (r[base + b] - u[base + b]) / length
            shift_b = mu * u[base + b] / slip if slip > 0.0 else 0.0
            same = 1.0 if a == b else 0.0
            dp = mu * mu * c * xa * xb + mu * height / length * (same - xa * xb)
            A[i, a, b] = dp + c * mu * xa * shift_b
            B[i, a, b] = same - dp


@kernel
def fischer_burmeister(dim, i, r, u, mu, phi, A, B):
    """Equations (3) of contact `i`, ``mu > 0``."""
    base = dim * i
    slip = tangential_length(dim, base, u)
    x0 = mu * r[base]
    y0 = u[base] + mu * slip
    # z = x o x + y o y, its spectral values and its root w = (w0, wd e)
    z0 = x0 * x0 + y0 * y0
    length = 0.0
    for a in range(1, dim):
        xa = r[base + a]
        ya = mu * u[base + a]
        z0 += xa * xa + ya * ya
        za = 2.0 * (x0 * xa + y0 * ya)
        length += za * za
    length = math.sqrt(length)
    high = math.sqrt(z0 + length)
    if high == 0.0:
        for a in range(dim):
            phi[base + a] = 0.0
            A[i, a, a] = 0.3 if a == 0 else 0.3 * mu
            B[i, a, a] = 0.3 * mu if a == 0 else 0.3
        return
    # keep the root a little inside the cone, so that it can be inverted
    low = max(math.sqrt(max(0.0, z0 - length)), 1e-8 * high)
    w0 = 0.5 * (high + low)
    wd = 0.5 * (high - low)
    phi[base] = x0 + y0 - w0
    for a in range(1, dim):
        phi[base + a] = r[base + a] + mu * u[base + a] - wd * axis(base, a, r, u, mu, x0, y0, length)
    for b in range(dim):
        arrow_column(dim, i, b, r, u, mu, x0, y0, w0, wd, length, A, B)
    add_shift(dim, i, u, mu, slip, A)


@phase
def axis(base, a, r, u, mu, x0, y0, length):
    """Component a of e = z_T / |z_T|, the axis of z."""
    return 2.0 * (x0 * r[base + a] + y0 * mu * u[base + a]) / length if length > 0.0 else 0.0


@phase
def arrow_column(dim, i, b, r, u, mu, x0, y0, w0, wd, length, A, B):
    """Column b of ``I - L_w^-1 L_y`` and ``I - L_w^-1 L_x``, of u and r: L is the arrow matrix of its argument."""
    base = dim * i
    det = w0 * w0 - wd * wd
    head_x = w0 * (x0 if b == 0 else r[base + b])
    head_y = w0 * (y0 if b == 0 else mu * u[base + b])
    for k in range(1, dim):
        wk = wd * axis(base, k, r, u, mu, x0, y0, length)
        head_x -= wk * (r[base + k] if b == 0 else (x0 if k == b else 0.0))
        head_y -= wk * (mu * u[base + k] if b == 0 else (y0 if k == b else 0.0))
    head_x /= det
    head_y /= det
    for a in range(dim):
        mx, my = head_x, head_y
        if a > 0:
            wa = wd * axis(base, a, r, u, mu, x0, y0, length)
            mx = ((r[base + a] if b == 0 else (x0 if a == b else 0.0)) - wa * head_x) / w0
            my = ((mu * u[base + a] if b == 0 else (y0 if a == b else 0.0)) - wa * head_y) / w0
        same = 1.0 if a == b else 0.0
        B[i, a, b] = (same - mx) * (mu if b == 0 else 1.0)
        A[i, a, b] = (same - my) * (1.0 if b == 0 else mu)


@kernel
def equations(form, dim, r, u, mu, bilateral, phi, A, B):
    """Fill `phi`, shape (n*dim,), and the blocks `A`, `B`, shape (n, dim, dim); returns ``|phi|``."""
    for i in range(mu.size):
        for a in range(dim):
            for b in range(dim):
                A[i, a, b] = 0.0
                B[i, a, b] = 0.0
        if bilateral[i]:
            for a in range(dim):
                A[i, a, a] = 1.0
                phi[dim * i + a] = u[dim * i + a]
        elif form == NATURAL:
            natural(dim, i, r, u, mu[i], phi, A, B)
        elif form == FISCHER_BURMEISTER and mu[i] > 0.0:
            fischer_burmeister(dim, i, r, u, mu[i], phi, A, B)
        else:
            alart_curnier(dim, i, r, u, mu[i], phi, A, B)
    total = 0.0
    for k in range(phi.size):
        total += phi[k] * phi[k]
    return math.sqrt(total)


@kernel
def assemble(indptr, data, diagonal, A, B, eps, slot, out):
    """Entries of ``J = A (W + eps I) + B`` written to ``out[slot]`` (the order of a compressed-column
    matrix)."""
    dim = data.shape[1]
    place = 0
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            for a in range(dim):
                for b in range(dim):
                    total = 0.0
                    for c in range(dim):
                        total += A[i, a, c] * data[k, c, b]
                    if k == diagonal[i]:
                        total += eps * A[i, a, b] + B[i, a, b]
                    out[slot[place]] = total
                    place += 1


@kernel
def line_search(form, dim, r, u, step, u_step, mu, bilateral, limit, phi, A, B, r_new, u_new):
    """Halve the Newton step until ``|phi|`` is below `limit`, at most 7 times; the best trial point is kept.

    Returns ``(t, |phi|)``; `r`, `u`, `phi`, `A`, `B` hold the new point.
    """
    best = math.inf
    t_best = 1.0
    t = 1.0
    for _ in range(8):
        for k in range(r.size):
            r_new[k] = r[k] + t * step[k]
            u_new[k] = u[k] + t * u_step[k]
        value = equations(form, dim, r_new, u_new, mu, bilateral, phi, A, B)
        if value < best:
            best = value
            t_best = t
        if value <= (1.0 - 1e-4 * t) * limit:
            break
        t *= 0.5
    if t != t_best:
        for k in range(r.size):
            r_new[k] = r[k] + t_best * step[k]
            u_new[k] = u[k] + t_best * u_step[k]
        best = equations(form, dim, r_new, u_new, mu, bilateral, phi, A, B)
    for k in range(r.size):
        r[k] = r_new[k]
        u[k] = u_new[k]
    return t_best, best


@phase
def add_product(W, x, out):
    """``out += W x``."""
    for i in range(x.size):
        total = out[i]
        for j in range(x.size):
            total += W[i, j] * x[j]
        out[i] = total


@phase
def jacobian(dim, W, A, B, eps, J):
    """``J = A (W + eps I) + B``."""
    for i in range(A.shape[0]):
        for a in range(dim):
            row = dim * i + a
            for j in range(J.shape[0]):
                total = 0.0
                for c in range(dim):
                    total += A[i, a, c] * W[dim * i + c, j]
                J[row, j] = total
            for b in range(dim):
                J[row, dim * i + b] += eps * A[i, a, b] + B[i, a, b]


@kernel
def newton_dense(form, dim, W, q, mu, bilateral, eps, pull, centre, r, max_iter, stop, memory):
    """Newton's iteration for ``u = W r + q + pull (r - centre)`` with ``W + eps I`` in the matrix, by dense
    elimination.

    ``pull = eps`` is a proximal step, ``pull = 0`` a regularised step on the problem itself. A step is
    accepted when ``|phi|`` falls below the largest of the last `memory` values; ``memory = 0`` takes full
    steps always. `r` is modified in place and ends at the best point met. Returns ``(iterations, |phi|)``;
    ``|phi| > stop`` says that it gave up (steps became tiny, a singular matrix, or `max_iter`).
    """
    n = q.size
    u = np.empty(n)
    u_new = np.empty(n)
    r_new = np.empty(n)
    r_best = r.copy()
    u_step = np.empty(n)
    step = np.empty(n)
    phi = np.empty(n)
    J = np.empty((n, n))
    A = np.empty((mu.size, dim, dim))
    B = np.empty((mu.size, dim, dim))
    recent = np.empty(max(1, memory))
    for i in range(n):
        u[i] = q[i] + pull * (r[i] - centre[i])
    add_product(W, r, u)
    value = equations(form, dim, r, u, mu, bilateral, phi, A, B)
    best = value
    recent[:] = value
    bad = 0
    done = 0
    while done < max_iter and best > stop:
        jacobian(dim, W, A, B, eps, J)
        for i in range(n):
            step[i] = -phi[i]
        done += 1
        if eliminate(J, step, n, 0.0) != 0:
            break
        for i in range(n):
            u_step[i] = pull * step[i]
        add_product(W, step, u_step)
        limit = np.max(recent) if memory > 0 else math.inf
        t, value = line_search(form, dim, r, u, step, u_step, mu, bilateral, limit, phi, A, B, r_new, u_new)
        if not value < math.inf:
            break
        if memory > 0:
            recent[done % memory] = value
        if value < best:
            best = value
            for k in range(n):
                r_best[k] = r[k]
        bad = bad + 1 if t < 0.1 else max(0, bad - 1)
        if bad >= 4 and pull > 0.0:
            break
    for k in range(n):
        r[k] = r_best[k]
    return done, best
