"""Semismooth Newton on Alart and Curnier's equations, in Jacobi-scaled variables (mean diagonal of every
block is 1).

With ``y = r_N - u_N`` and ``x = r_T - u_T`` the equations of one contact are (Alart and Curnier 1991)::

    Phi_N = r_N - max(0, y),        Phi_T = r_T - P_disk(mu max(0, y))(x)                                 (1)

and a generalised Jacobian of ``r -> Phi(r, W r + q)`` is ``J = A W + B`` with block-diagonal A and B. The
proximal term of the outer iteration enters as ``W + eps I``, so that J is regular although W may be
rank-deficient.
"""

import math

import numpy as np

from nonsmooth._core.jit import kernel


@kernel
def alart_curnier(dim, r, u, mu, bilateral, phi, A, B):
    """Fill `phi`, shape (n*dim,), and the blocks `A`, `B`, shape (n, dim, dim), of (1); returns ``|phi|``."""
    total = 0.0
    for i in range(mu.size):
        base = dim * i
        for a in range(dim):
            for b in range(dim):
                A[i, a, b] = 0.0
                B[i, a, b] = 0.0
        if bilateral[i]:
            for a in range(dim):
                A[i, a, a] = 1.0
                phi[base + a] = u[base + a]
                total += u[base + a] * u[base + a]
            continue
        y = r[base] - u[base]
        if not y > 0.0:
            # open: r = 0
            for a in range(dim):
                B[i, a, a] = 1.0
                phi[base + a] = r[base + a]
                total += r[base + a] * r[base + a]
            continue
        A[i, 0, 0] = 1.0
        phi[base] = u[base]
        total += phi[base] * phi[base]
        length = 0.0
        for a in range(1, dim):
            x = r[base + a] - u[base + a]
            length += x * x
        length = math.sqrt(length)
        radius = mu[i] * y
        if length <= radius:
            # stick: u_T = 0
            for a in range(1, dim):
                A[i, a, a] = 1.0
                phi[base + a] = u[base + a]
                total += phi[base + a] * phi[base + a]
            continue
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
            A[i, a, 0] = mu[i] * xa
            B[i, a, 0] = -mu[i] * xa
            phi[base + a] = r[base + a] - radius * xa
            total += phi[base + a] * phi[base + a]
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
def line_search(dim, r, u, step, u_step, mu, bilateral, limit, phi, A, B, r_new, u_new):
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
        value = alart_curnier(dim, r_new, u_new, mu, bilateral, phi, A, B)
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
        best = alart_curnier(dim, r_new, u_new, mu, bilateral, phi, A, B)
    for k in range(r.size):
        r[k] = r_new[k]
        u[k] = u_new[k]
    return t_best, best


@kernel
def lu_solve(J, x):
    """Solve ``J y = x`` in place by Gaussian elimination with row pivoting; `J` is destroyed. Returns False
    if singular."""
    n = x.size
    for k in range(n):
        p = k
        top = abs(J[k, k])
        for i in range(k + 1, n):
            if abs(J[i, k]) > top:
                top = abs(J[i, k])
                p = i
        if not top > 0.0 or top == math.inf:
            return False
        if p != k:
            for j in range(k, n):
                J[k, j], J[p, j] = J[p, j], J[k, j]
            x[k], x[p] = x[p], x[k]
        inv = 1.0 / J[k, k]
        for i in range(k + 1, n):
            f = J[i, k] * inv
            if f != 0.0:
                for j in range(k + 1, n):
                    J[i, j] -= f * J[k, j]
                x[i] -= f * x[k]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= J[i, j] * x[j]
        x[i] = total / J[i, i]
    return True


@kernel
def newton_dense(dim, W, q, mu, bilateral, eps, centre, r, max_iter, stop, memory):
    """Newton's iteration on the proximal problem ``u = W r + q + eps (r - centre)`` with dense elimination.

    `r` is modified in place. Returns ``(iterations, |phi|)``; ``|phi| > stop`` says that it gave up (steps
    became tiny, a singular Jacobian, or `max_iter`).
    """
    n = q.size
    u = np.empty(n)
    u_new = np.empty(n)
    r_new = np.empty(n)
    u_step = np.empty(n)
    step = np.empty(n)
    phi = np.empty(n)
    J = np.empty((n, n))
    A = np.empty((mu.size, dim, dim))
    B = np.empty((mu.size, dim, dim))
    recent = np.full(memory, math.inf)
    for i in range(n):
        total = q[i] + eps * (r[i] - centre[i])
        for j in range(n):
            total += W[i, j] * r[j]
        u[i] = total
    value = alart_curnier(dim, r, u, mu, bilateral, phi, A, B)
    for k in range(memory):
        recent[k] = value
    bad = 0
    for iteration in range(max_iter):
        if value <= stop:
            return iteration, value
        for i in range(mu.size):
            for a in range(dim):
                row = dim * i + a
                for j in range(n):
                    total = 0.0
                    for c in range(dim):
                        total += A[i, a, c] * W[dim * i + c, j]
                    J[row, j] = total
                for b in range(dim):
                    J[row, dim * i + b] += eps * A[i, a, b] + B[i, a, b]
                step[row] = -phi[row]
        if not lu_solve(J, step):
            return iteration + 1, math.inf
        for i in range(n):
            total = eps * step[i]
            for j in range(n):
                total += W[i, j] * step[j]
            u_step[i] = total
        limit = 0.0
        for k in range(memory):
            limit = max(limit, recent[k])
        t, value = line_search(dim, r, u, step, u_step, mu, bilateral, limit, phi, A, B, r_new, u_new)
        recent[iteration % memory] = value
        bad = bad + 1 if t < 0.1 else max(0, bad - 1)
        if bad >= 4 or not value < math.inf:
            return iteration + 1, value
    return max_iter, value
