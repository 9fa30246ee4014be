"""A small contact problem in one compiled call: sweeps, velocities and verdict.

Everything a call needs travels in two flat arrays made once per problem, because unpacking arguments is what
a call costs when the problem has three contacts.
"""

import math

from nonsmooth._core.contact.nsgs import multiply, sweep1, sweep2, sweep3
from nonsmooth._core.contact.verdict import of_laws, rounding, verdict
from nonsmooth._core.jit import f8_1, float64, i8_1, int64, kernel, phase


@phase
def unpacked(numbers, dim, n, count):
    """What `numbers` of `solve_direct` holds, for n contacts with `count` blocks of W."""
    rows = dim * n
    end = count * dim * dim
    data = numbers[:end].reshape((count, dim, dim))
    q = numbers[end : end + rows]
    end += rows
    mu = numbers[end : end + n]
    rho = numbers[end + n : end + 2 * n]
    weight = numbers[end + 2 * n : end + 3 * n]
    bilateral = numbers[end + 3 * n : end + 4 * n]
    law_rho = numbers[end + 4 * n : end + 6 * n]
    diagonal_W = numbers[end + 6 * n : end + 6 * n + rows]
    return data, q, mu, rho, weight, bilateral, law_rho, diagonal_W, numbers[end + 6 * n + rows]


@phase
def judge(dim, r, u, q, mu, bilateral, rho, law_rho, diagonal_W, size, tol, out):
    """Write the residuals ``scaled, unit, cone, laws`` and whether they are small enough; tells that, too."""
    scaled, unit, cone = verdict(dim, r, u, mu, bilateral, rho, size)
    laws, _ = of_laws(dim, r, u, q, mu, bilateral, law_rho, diagonal_W)
    out[0] = scaled
    out[1] = unit
    out[2] = cone
    out[3] = laws
    small = laws <= tol and scaled <= tol and (unit <= tol or unit <= rounding(r, rho, size))
    out[4] = 1.0 if small else 0.0
    return small


@kernel(int64(f8_1, i8_1, int64, int64, float64, int64, float64, f8_1), references=False)
def solve_direct(numbers, places, dim, n, tol, sweeps, patience, out):
    """Sweeps until all residuals are below `tol`; returns the number of sweeps.

    It gives up after `sweeps`, or when the measured rate promises more than `patience` further sweeps; the
    residuals say so.

    Parameters
    ----------
    numbers : ndarray
        Blocks of W, q, mu, rho, ``1 / rho**2``, bilateral flags as 0 or 1, scales of the laws, diagonal of W, ``|q|``, one after the
        other.
    places : ndarray of int64
        Row pointers, columns and places of the diagonal blocks.
    out : ndarray, shape (2*dim*n + 5 + n,)
        Receives r, u, the residuals ``scaled, unit, cone, laws``, and 1 if they are small enough, else 0; work space.
    """
    data, q, mu, rho, weight, bilateral, law_rho, diagonal_W, size = unpacked(
        numbers, dim, n, places.size - 2 * n - 1
    )
    indptr, indices, diagonal = places[: n + 1], places[n + 1 : places.size - n], places[places.size - n :]
    rows = dim * n
    r = out[:rows]
    u = out[rows : 2 * rows]
    alpha = out[2 * rows + 5 :]
    out[2 * rows + 4] = 0.0
    alpha[:] = 0.0
    r[:] = 0.0
    done = 0
    target = 0.5 * tol * size
    change = math.inf
    while True:
        before = change
        batch = min(50, sweeps - done)
        if dim == 3:
            new, change = sweep3(
                indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, alpha, batch, target
            )
        elif dim == 2:
            new, change = sweep2(
                indptr, indices, data, diagonal, q, mu, bilateral, rho, weight, r, batch, target
            )
        else:
            new, change = sweep1(indptr, indices, data, diagonal, q, bilateral, rho, weight, r, batch, target)
        done += new
        if change <= target or done >= sweeps:
            multiply(indptr, indices, data, r, u)
            for k in range(rows):
                u[k] += q[k]
            if judge(dim, r, u, q, mu, bilateral, rho, law_rho, diagonal_W, size, tol, out[2 * rows :]):
                return done
            if done >= sweeps or target < 1e-6 * tol * size:
                return done
            target *= 0.1
            change = math.inf
        elif not change < math.inf or (  # the first batch tells no rate
            before < math.inf
            and (change >= before or math.log(target / change) / math.log(change / before) * new > patience)
        ):
            # it would take too long: leave the rest to another method
            out[2 * rows : 2 * rows + 4] = math.inf
            return done
