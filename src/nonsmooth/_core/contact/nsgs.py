"""Nonsmooth Gauss-Seidel sweeps (Jourdan, Alart, Jean 1998) with the exact solution of every contact.

W is stored in block rows (see `ContactProblem.blocks`); `data` is flat inside a block, row-major. One call
does up to `sweeps` sweeps and stops early when the change of a sweep, measured as a velocity,
``sqrt(sum |Δr_i / rho_i|^2)``, is below `stop`.
"""

import math

import numpy as np

from nonsmooth._core.contact.cone import SOLVED, local2, local3, project_cone2, project_cone3, solve_block3
from nonsmooth._core.jit import kernel

ONE, TWO = np.uint64(1), np.uint64(2)


# One contact of a sweep. `c` is the place of its data and `own` the one of its impulse, both unsigned: the compiler then drops the
# test for negative indices. Returned is the squared change, as a velocity; ``weight = 1 / rho**2`` is handed in, because a
# division takes longer than the rest of it. Divisions have positive divisors, or their infinite result is tested for.
# Inlined into the sweeps here and in `_core.contact.coloured`.


@kernel(error_model="numpy", forceinline=True, references=False)
def update3(c, own, indptr, indices, flat, diagonal, q, mu, bilateral, rho, weight, r, alpha, omega):
    """Solve a 3-D contact for the impulses of the others; the numbers of a block are consecutive in `flat`.

    `omega` times the change is made, and the result brought back into the cone.
    """
    row = np.uint64(3) * own
    start = np.uint64(3) * c
    home = np.uint64(diagonal[c])
    block = np.uint64(9) * home
    friction = mu[c]
    b0 = q[start]
    b1 = q[start + ONE]
    b2 = q[start + TWO]
    for place in range(indptr[c], indptr[c + ONE]):
        k = np.uint64(place)
        if k == home:
            continue
        j = np.uint64(3 * indices[k])
        w = np.uint64(9) * k
        x0 = r[j]
        x1 = r[j + ONE]
        x2 = r[j + TWO]
        b0 += flat[w] * x0 + flat[w + np.uint64(1)] * x1 + flat[w + np.uint64(2)] * x2
        b1 += flat[w + np.uint64(3)] * x0 + flat[w + np.uint64(4)] * x1 + flat[w + np.uint64(5)] * x2
        b2 += flat[w + np.uint64(6)] * x0 + flat[w + np.uint64(7)] * x1 + flat[w + np.uint64(8)] * x2
    r0 = r[row]
    r1 = r[row + ONE]
    r2 = r[row + TWO]
    if bilateral[c]:
        n0, n1, n2 = solve_block3(flat, block, b0, b1, b2)
    else:
        n0, n1, n2, alpha[own], status = local3(flat, block, b0, b1, b2, friction, alpha[own])
        if status != SOLVED:
            # no exact solution: one projection step of the natural map
            u0 = b0 + flat[block] * r0 + flat[block + ONE] * r1 + flat[block + TWO] * r2
            u1 = b1 + flat[block + np.uint64(3)] * r0 + flat[block + np.uint64(4)] * r1
            u1 += flat[block + np.uint64(5)] * r2
            u2 = b2 + flat[block + np.uint64(6)] * r0 + flat[block + np.uint64(7)] * r1
            u2 += flat[block + np.uint64(8)] * r2
            u0 += friction * math.sqrt(u1 * u1 + u2 * u2)
            n0, n1, n2 = project_cone3(r0 - rho[c] * u0, r1 - rho[c] * u1, r2 - rho[c] * u2, friction)
        if omega != 1.0:
            n0, n1, n2 = project_cone3(
                r0 + omega * (n0 - r0), r1 + omega * (n1 - r1), r2 + omega * (n2 - r2), friction
            )
    d0 = n0 - r0
    d1 = n1 - r1
    d2 = n2 - r2
    r[row] = n0
    r[row + ONE] = n1
    r[row + TWO] = n2
    return (d0 * d0 + d1 * d1 + d2 * d2) * weight[c]


@kernel(error_model="numpy", forceinline=True, references=False)
def update2(c, own, indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r):
    """The same in the plane; blocks are ``data[k]``."""
    row = TWO * own
    home = np.uint64(diagonal[c])
    b0 = q[TWO * c]
    b1 = q[TWO * c + ONE]
    for place in range(indptr[c], indptr[c + ONE]):
        k = np.uint64(place)
        if k == home:
            continue
        j = np.uint64(2 * indices[k])
        b0 += data[k, 0, 0] * r[j] + data[k, 0, 1] * r[j + ONE]
        b1 += data[k, 1, 0] * r[j] + data[k, 1, 1] * r[j + ONE]
    r0 = r[row]
    r1 = r[row + ONE]
    if bilateral[c]:
        det = data[home, 0, 0] * data[home, 1, 1] - data[home, 0, 1] * data[home, 1, 0]
        n0 = n1 = 0.0
        if det != 0.0:
            n0 = (data[home, 0, 1] * b1 - data[home, 1, 1] * b0) / det
            n1 = (data[home, 1, 0] * b0 - data[home, 0, 0] * b1) / det
    else:
        n0, n1, status = local2(data, home, b0, b1, mu[c])
        if status != SOLVED:
            u0 = b0 + data[home, 0, 0] * r0 + data[home, 0, 1] * r1
            u1 = b1 + data[home, 1, 0] * r0 + data[home, 1, 1] * r1
            n0, n1 = project_cone2(r0 - rho[c] * (u0 + mu[c] * abs(u1)), r1 - rho[c] * u1, mu[c])
    d0 = n0 - r0
    d1 = n1 - r1
    r[row] = n0
    r[row + ONE] = n1
    return (d0 * d0 + d1 * d1) * weight[c]


@kernel(error_model="numpy", forceinline=True, references=False)
def update1(c, own, indptr, indices, data, diagonal, q, bilateral, rho, weight, r):
    """A frictionless row: projected Gauss-Seidel."""
    home = np.uint64(diagonal[c])
    b = q[c]
    for place in range(indptr[c], indptr[c + ONE]):
        k = np.uint64(place)
        if k != home:
            b += data[k, 0, 0] * r[np.uint64(indices[k])]
    a = data[home, 0, 0]
    new = -b / a if a > 0.0 else r[own] - rho[c] * (b + a * r[own])
    if new < 0.0 and not bilateral[c]:
        new = 0.0
    d = new - r[own]
    r[own] = new
    return d * d * weight[c]


@kernel(error_model="numpy")
def sweep3(indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, alpha, sweeps, stop):
    """3-D sweeps; `r`, shape (3n,), and the slip multipliers `alpha`, shape (n,), are modified in place.

    Returns ``(sweeps done, change of the last sweep)``.
    """
    # flat, because strides of a block are known to the programmer but not to the compiler
    flat = data.reshape(data.size)
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(mu.size):
            c = np.uint64(i)
            total += update3(
                c, c, indptr, indices, flat, diagonal, q, mu, bilateral, rho, weight, r, alpha, 1.0
            )
        change = math.sqrt(total)
        if change <= stop:
            return sweep + 1, change
    return sweeps, change


@kernel(error_model="numpy")
def sweep2(indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, sweeps, stop):
    """2-D sweeps; `r`, shape (2n,), is modified in place. Returns
    ``(sweeps done, change of the last sweep)``."""
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(mu.size):
            c = np.uint64(i)
            total += update2(c, c, indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r)
        change = math.sqrt(total)
        if change <= stop:
            return sweep + 1, change
    return sweeps, change


@kernel(error_model="numpy")
def sweep1(indptr, indices, data, diagonal, q, bilateral, rho, weight, r, sweeps, stop):
    """Sweeps over frictionless rows. Returns ``(sweeps done, change of the last sweep)``."""
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(rho.size):
            c = np.uint64(i)
            total += update1(c, c, indptr, indices, data, diagonal, q, bilateral, rho, weight, r)
        change = math.sqrt(total)
        if change <= stop:
            return sweep + 1, change
    return sweeps, change


@kernel
def multiply(indptr, indices, data, x, out):
    """``out = W x`` for square blocks of any size, in block rows."""
    dim = data.shape[1]
    for i in range(indptr.size - 1):
        for a in range(dim):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = dim * indices[k]
                for b in range(dim):
                    total += data[k, a, b] * x[j + b]
            out[dim * i + a] = total


@kernel
def natural_residual(u, r, mu, bilateral, rho, dim, unit_rho):
    """``(scaled, unit)`` sums of squares of the natural map, for the stopping rules inside the core.

    This is the solvers' own copy of the formula; the verdict on a result comes from
    `nonsmooth.contact.residual`.
    """
    scaled = 0.0
    unit = 0.0
    x = np.zeros(3)
    for i in range(mu.size):
        base = dim * i
        slip = 0.0
        for a in range(1, dim):
            slip += u[base + a] * u[base + a]
        slip = math.sqrt(slip)
        for turn in range(2):
            p = rho[i] if turn == 0 else unit_rho
            shift = 0.0 if bilateral[i] else mu[i] * slip
            for a in range(dim):
                x[a] = r[base + a] - p * u[base + a]
            x[0] = r[base] - p * (u[base] + shift)
            reach = 0.0
            for a in range(1, dim):
                reach += x[a] * x[a]
            total = 0.0
            if bilateral[i] or (x[0] >= 0.0 and math.sqrt(reach) <= mu[i] * x[0]):
                # inside the cone the difference is p ũ itself, without cancellation
                for a in range(dim):
                    d = p * (u[base + a] + (shift if a == 0 else 0.0))
                    total += d * d
            else:
                if dim == 3:
                    x[0], x[1], x[2] = project_cone3(x[0], x[1], x[2], mu[i])
                elif dim == 2:
                    x[0], x[1] = project_cone2(x[0], x[1], mu[i])
                else:
                    x[0] = max(0.0, x[0])
                for a in range(dim):
                    d = r[base + a] - x[a]
                    total += d * d
            if turn == 0:
                scaled += total / (p * p)
            else:
                unit += total
    return math.sqrt(scaled), math.sqrt(unit)
