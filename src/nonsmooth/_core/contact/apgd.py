"""Projection steps ``r = P_K(y - t (W y + q + shift(y)))`` with and without Nesterov's acceleration, in
scaled variables.

The shift ``mu |u_T|`` of De Saxcé's formulation is taken at the point where the gradient is. Restart rule:
O'Donoghue and Candès (2015); for contact problems Mazhar, Heyn, Negrut, Tasora (2015).
"""

import math

import numpy as np

from nonsmooth._core.contact.nsgs import multiply
from nonsmooth._core.jit import kernel


@kernel
def shift_and_step(dim, y, u, mu, bilateral, t, out):
    """``out = P_K(y - t ũ)`` contact by contact, ũ the shifted velocity."""
    for i in range(mu.size):
        base = dim * i
        if bilateral[i]:
            for a in range(dim):
                out[base + a] = y[base + a] - t * u[base + a]
            continue
        slip = 0.0
        for a in range(1, dim):
            slip += u[base + a] * u[base + a]
        x = y[base] - t * (u[base] + mu[i] * math.sqrt(slip))
        length = 0.0
        for a in range(1, dim):
            out[base + a] = y[base + a] - t * u[base + a]
            length += out[base + a] * out[base + a]
        length = math.sqrt(length)
        out[base] = x
        if x >= 0.0 and length <= mu[i] * x:
            continue
        height = (x + mu[i] * length) / (1.0 + mu[i] * mu[i])
        if height <= 0.0:
            for a in range(dim):
                out[base + a] = 0.0
            continue
        out[base] = height
        for a in range(1, dim):
            out[base + a] *= mu[i] * height / length


@kernel
def largest_eigenvalue(indptr, indices, data, steps):
    """Estimate of the spectral radius of W by power iteration from a fixed start vector."""
    n = data.shape[1] * (indptr.size - 1)
    x = np.empty(n)
    y = np.empty(n)
    for k in range(n):
        x[k] = 1.0 + 0.5 * math.sin(1.7 * k)
    value = 0.0
    for _ in range(steps):
        norm = 0.0
        for k in range(n):
            norm += x[k] * x[k]
        norm = math.sqrt(norm)
        if norm == 0.0:
            return 0.0
        for k in range(n):
            x[k] /= norm
        multiply(indptr, indices, data, x, y)
        value = 0.0
        for k in range(n):
            value += y[k] * y[k]
            x[k] = y[k]
        value = math.sqrt(value)
    return value


@kernel
def accelerate(r, y, new, theta):
    """The step from `r` to `new`, and the extrapolated point `y` to step from next; returns Nesterov's next theta."""
    against = 0.0
    for k in range(r.size):
        against += (y[k] - new[k]) * (new[k] - r[k])
    theta_new = 0.5 * (math.sqrt(theta**4 + 4.0 * theta * theta) - theta * theta)
    beta = theta * (1.0 - theta) / (theta * theta + theta_new)
    if against > 0.0:
        # the momentum points uphill: restart
        beta = 0.0
        theta_new = 1.0
    for k in range(r.size):
        y[k] = new[k] + beta * (new[k] - r[k])
        r[k] = new[k]
    return theta_new


@kernel
def jacobi_steps(indptr, indices, data, q, mu, bilateral, r, t, steps):
    """`steps` plain projection steps of length `t` for all contacts at once; `r` is modified in place."""
    dim = data.shape[1]
    u = np.empty(r.size)
    new = np.empty(r.size)
    for _ in range(steps):
        multiply(indptr, indices, data, r, u)
        for k in range(r.size):
            u[k] += q[k]
        shift_and_step(dim, r, u, mu, bilateral, t, new)
        for k in range(r.size):
            r[k] = new[k]


@kernel
def accelerated_steps(indptr, indices, data, q, mu, bilateral, r, y, state, t, steps):
    """`steps` accelerated projection steps of length `t`.

    `r` and the extrapolated point `y` are modified in place; ``state[0]`` is Nesterov's theta, carried
    between calls.
    """
    dim = data.shape[1]
    u = np.empty(r.size)
    new = np.empty(r.size)
    theta = state[0]
    for _ in range(steps):
        multiply(indptr, indices, data, y, u)
        for k in range(r.size):
            u[k] += q[k]
        shift_and_step(dim, y, u, mu, bilateral, t, new)
        theta = accelerate(r, y, new, theta)
    state[0] = theta
