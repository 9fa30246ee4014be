"""Nonsmooth Gauss-Seidel sweeps (Jourdan, Alart, Jean 1998) with the exact solution of every contact.

W is stored in block rows (see `ContactProblem.blocks`); `data` is flat inside a block, row-major. One call
does up to `sweeps` sweeps and stops early when the change of a sweep, measured as a velocity,
``sqrt(sum |Δr_i / rho_i|^2)``, is below `stop`.
"""

import math

import numpy as np

from nonsmooth._core.cone import local2, local3, project_cone2, project_cone3, solve_block3
from nonsmooth._core.jit import kernel

ONE, TWO = np.uint64(1), np.uint64(2)


# Divisions here have positive divisors, or their infinite result is tested for: no exception is needed.
@kernel(error_model="numpy")
def sweep3(indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, alpha, sweeps, stop):
    """3-D sweeps; `r`, shape (3n,), and the slip multipliers `alpha`, shape (n,), are modified in place.

    ``weight = 1 / rho**2`` is handed in: a division per contact takes longer than the rest of the sum of changes.

    Returns ``(sweeps done, change of the last sweep)``.
    """
    n = mu.size
    # flat, because strides of a block are known to the programmer but not to the compiler
    flat = data.reshape(data.size)
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(n):
            # unsigned places: the compiler then drops the test for negative indices
            c = np.uint64(i)
            row = np.uint64(3 * i)
            home = np.uint64(diagonal[c])
            friction = mu[c]
            b0 = q[row]
            b1 = q[row + ONE]
            b2 = q[row + TWO]
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
                n0, n1, n2 = solve_block3(flat, np.uint64(9) * home, b0, b1, b2)
            else:
                n0, n1, n2, alpha[c], status = local3(
                    flat, np.uint64(9) * home, b0, b1, b2, friction, alpha[c]
                )
                if status != 0:
                    # no exact solution: one projection step of the natural map
                    u0 = b0 + data[home, 0, 0] * r0 + data[home, 0, 1] * r1 + data[home, 0, 2] * r2
                    u1 = b1 + data[home, 1, 0] * r0 + data[home, 1, 1] * r1 + data[home, 1, 2] * r2
                    u2 = b2 + data[home, 2, 0] * r0 + data[home, 2, 1] * r1 + data[home, 2, 2] * r2
                    u0 += friction * math.sqrt(u1 * u1 + u2 * u2)
                    n0, n1, n2 = project_cone3(r0 - rho[c] * u0, r1 - rho[c] * u1, r2 - rho[c] * u2, friction)
            d0 = n0 - r0
            d1 = n1 - r1
            d2 = n2 - r2
            total += (d0 * d0 + d1 * d1 + d2 * d2) * weight[c]
            r[row] = n0
            r[row + ONE] = n1
            r[row + TWO] = n2
        change = math.sqrt(total)
        if change <= stop:
            return sweep + 1, change
    return sweeps, change


@kernel(error_model="numpy")
def sweep2(indptr, indices, data, diagonal, q, mu, bilateral, rho, r, sweeps, stop):
    """2-D sweeps; `r`, shape (2n,), is modified in place. Returns
    ``(sweeps done, change of the last sweep)``."""
    n = mu.size
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(n):
            b0 = q[2 * i]
            b1 = q[2 * i + 1]
            home = diagonal[i]
            for k in range(indptr[i], indptr[i + 1]):
                if k == home:
                    continue
                j = 2 * indices[k]
                b0 += data[k, 0, 0] * r[j] + data[k, 0, 1] * r[j + 1]
                b1 += data[k, 1, 0] * r[j] + data[k, 1, 1] * r[j + 1]
            r0 = r[2 * i]
            r1 = r[2 * i + 1]
            if bilateral[i]:
                det = data[home, 0, 0] * data[home, 1, 1] - data[home, 0, 1] * data[home, 1, 0]
                n0 = n1 = 0.0
                if det != 0.0:
                    n0 = (data[home, 0, 1] * b1 - data[home, 1, 1] * b0) / det
                    n1 = (data[home, 1, 0] * b0 - data[home, 0, 0] * b1) / det
            else:
                n0, n1, status = local2(data, home, b0, b1, mu[i])
                if status != 0:
                    u0 = b0 + data[home, 0, 0] * r0 + data[home, 0, 1] * r1
                    u1 = b1 + data[home, 1, 0] * r0 + data[home, 1, 1] * r1
                    n0, n1 = project_cone2(r0 - rho[i] * (u0 + mu[i] * abs(u1)), r1 - rho[i] * u1, mu[i])
            d0 = n0 - r0
            d1 = n1 - r1
            total += (d0 * d0 + d1 * d1) / (rho[i] * rho[i])
            r[2 * i] = n0
            r[2 * i + 1] = n1
        change = math.sqrt(total)
        if change <= stop:
            return sweep + 1, change
    return sweeps, change


@kernel(error_model="numpy")
def sweep1(indptr, indices, data, diagonal, q, bilateral, rho, r, sweeps, stop):
    """Frictionless rows: projected Gauss-Seidel. Returns ``(sweeps done, change of the last sweep)``."""
    n = rho.size
    change = math.inf
    for sweep in range(sweeps):
        total = 0.0
        for i in range(n):
            b = q[i]
            home = diagonal[i]
            for k in range(indptr[i], indptr[i + 1]):
                if k != home:
                    b += data[k, 0, 0] * r[indices[k]]
            a = data[home, 0, 0]
            new = -b / a if a > 0.0 else r[i] - rho[i] * (b + a * r[i])
            if new < 0.0 and not bilateral[i]:
                new = 0.0
            d = (new - r[i]) / rho[i]
            total += d * d
            r[i] = new
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
