"""Joints and masses in one sparse matrix, the multipliers beside their bodies: what steps of large worlds solve with.

    [ A    W ] [  x ]   [ r ]
    [ W^T -d ] [ -y ] = [ s ]         W: rows of bilateral constraints, the last ones of the model

A is the mass matrix or a tangent on a fixed pattern. Rows of W^T are kept without zeros, the velocities of both bodies side by side, so
that all this is linear in the number of bodies. The matrix is scaled: velocities by the roots of the diagonal of A, rows to size one, so
that pivots mean something. With d = 0 rows must be independent; a small d > 0 keeps the matrix regular whatever they are, and
`held_motion` takes its effect away: y <- y + dy is the proximal-point iteration, which from y = 0 ends at the y of least (scaled) norm.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, caller, f8_1, int64, phase, scalars, void

#: Velocities of a body.
SIDE = 6
#: A d that keeps the matrix regular where joints repeat each other.
SOFT = 1e-11
#: Solves after the first, at most; and what of a residual is rounding.
MAX_REFINED = 8
ROUNDED = 4e-16

# called at their addresses: linked in, they would be compiled again with every part
SOLVE, FACTORISE = void(int64, f8_1), int64(int64, f8_1)
call_solve, call_factorise = caller(SOLVE), caller(FACTORISE)

Joined = scalars(
    "Joined",
    first=int,  # the first row in the matrix
    soft=float,  # d, in the scaled matrix
)


class Saddle(NamedTuple):
    """The matrix, its factors and work space."""

    at: Any  # addresses: directions (rows without zeros), factors, factorise, solve
    joined: Any
    W: np.ndarray  # rows of W^T, (n_rows, 2 SIDE)
    column: np.ndarray  # the velocity each entry belongs to, or -1
    place: np.ndarray  # where W^T stands among the values of the matrix, and
    place_T: np.ndarray  # W
    diagonal: np.ndarray  # and -d
    A_from: np.ndarray  # entries of A: among the values it is given by,
    A_place: np.ndarray  # among those of the matrix,
    A_row: np.ndarray  # their rows
    A_column: np.ndarray  # and columns
    values: np.ndarray
    b: np.ndarray  # right-hand side, then solution
    scale: np.ndarray  # of velocities, then of rows
    r: np.ndarray  # right-hand sides of `held_motion`
    s: np.ndarray  # by row of the model
    x: np.ndarray  # its solution
    y: np.ndarray  # by row of the model


ADDRESSES = ("directions", "factors", "factorise", "solve")


def make_saddle(at, n_u, n_rows, first, n_values, column, places, A, soft=0.0):
    """The record; `places` (W^T, W, diagonal) and `A` (from, place, row, column) as the model lays them out."""
    joined, n = Joined(), n_u + n_rows - first
    joined.first, joined.soft = first, soft
    return Saddle(
        at, joined, np.zeros(column.shape), column, *places, *A, np.zeros(n_values), np.zeros(n), np.ones(n),
        np.zeros(n_u), np.zeros(max(n_rows, 1)), np.zeros(n_u), np.zeros(max(n_rows, 1)),
    )  # fmt: skip


def _example():
    one, ints, square = np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    table = np.zeros((1, 1), dtype=np.int64)
    return Saddle(
        address_record(**dict.fromkeys(ADDRESSES, 0)), Joined(), square, table, table, table, *[ints] * 5, *[one] * 7
    )  # fmt: skip


EXAMPLE = _example()


@phase
def row_of(W, column, i, x):
    """Row i of W^T times x."""
    s = 0.0
    for k in range(column.shape[1]):
        if column[i, k] >= 0:
            s += W[i, k] * x[column[i, k]]
    return s


@phase
def add_row(W, column, i, factor, out):
    """out += W_i factor."""
    for k in range(column.shape[1]):
        if column[i, k] >= 0:
            out[column[i, k]] += W[i, k] * factor


@phase
def add_forces(W, column, first, y, out):
    """out += W y of the rows from `first` on."""
    for i in range(first, y.size):
        add_row(W, column, i, y[i], out)


@phase
def scale_velocities(saddle, A):
    """Scales of velocities, by the diagonal of the matrix with these values."""
    for k in range(saddle.A_from.size):
        i = saddle.A_row[k]
        if saddle.A_column[k] == i:
            saddle.scale[i] = 1.0 / A[saddle.A_from[k]] ** 0.5


@phase
def factorise_saddle(saddle, A, S):
    """Factors of the scaled matrix, A with these values, W as it is, S in the place of W^T (the same, or a linearisation of what rows
    speak of). Returns 0, or a positive number where there is no pivot."""
    values, scale, n, first = saddle.values, saddle.scale, saddle.x.size, saddle.joined.first
    for k in range(values.size):
        values[k] = 0.0
    for k in range(saddle.A_place.size):
        values[saddle.A_place[k]] = A[saddle.A_from[k]] * scale[saddle.A_row[k]] * scale[saddle.A_column[k]]
    for i in range(first, first + saddle.diagonal.size):
        length, at = 0.0, n + i - first
        for k in range(saddle.column.shape[1]):
            if saddle.column[i, k] >= 0:
                length = max(length, abs(saddle.W[i, k]) * scale[saddle.column[i, k]])
        scale[at] = 1.0 / length if length > 0.0 else 1.0
        for k in range(saddle.column.shape[1]):
            if saddle.column[i, k] >= 0:
                size = scale[saddle.column[i, k]] * scale[at]
                values[saddle.place[i, k]] = S[i, k] * size
                values[saddle.place_T[i, k]] = saddle.W[i, k] * size
        values[saddle.diagonal[i - first]] = -saddle.joined.soft
    return call_factorise(saddle.at.factorise, saddle.at.factors, values)


@phase
def solve_saddle(saddle):
    """The right-hand side ``saddle.b`` becomes the solution x, -y."""
    b, scale = saddle.b, saddle.scale
    for k in range(b.size):
        b[k] *= scale[k]
    call_solve(saddle.at.solve, saddle.at.factors, b)
    for k in range(b.size):
        b[k] *= scale[k]


@phase
def add_product(saddle, A, factor, x, out):
    """out += factor A x."""
    for k in range(saddle.A_from.size):
        out[saddle.A_row[k]] += factor * A[saddle.A_from[k]] * x[saddle.A_column[k]]


@phase
def held_motion(saddle, A, S):
    """x and y for the right-hand sides r and s: solved with the factors, then refined until rounding is left.

    Returns what is missing of S x = s, relative to its terms.
    """
    r, s, x, y, b, W, column = saddle.r, saddle.s, saddle.x, saddle.y, saddle.b, saddle.W, saddle.column
    n, first = x.size, saddle.joined.first
    for j in range(n):
        x[j] = 0.0
    for i in range(first, first + saddle.diagonal.size):
        y[i] = 0.0
    before, missing = 1e300, 0.0
    for k in range(MAX_REFINED + 1):
        for j in range(n):
            b[j] = r[j]
        add_product(saddle, A, -1.0, x, b[:n])
        for i in range(first, first + saddle.diagonal.size):
            add_row(W, column, i, y[i], b[:n])
            b[n + i - first] = s[i] - row_of(S, column, i, x)
        error, missing = left_over(saddle, S)
        if error <= ROUNDED or (k > 1 and not error < 0.5 * before) or k == MAX_REFINED:
            break
        before = error
        solve_saddle(saddle)
        for j in range(n):
            x[j] += b[j]
        for i in range(first, first + saddle.diagonal.size):
            y[i] -= b[n + i - first]
    return missing


@phase
def left_over(saddle, S):
    """The residuals in `b`, scaled, relative to the largest of their terms: of both equations, and of the rows alone, which are also
    measured by what the right-hand side r would do without joints (of bodies at rest)."""
    b, r, scale, x, n, first = saddle.b, saddle.r, saddle.scale, saddle.x, saddle.x.size, saddle.joined.first
    forces, force, rates, rate = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        forces = max(forces, abs(b[j]) * scale[j])
        force = max(force, abs(r[j]) * scale[j], abs(x[j]) / scale[j])
    for i in range(first, first + saddle.diagonal.size):
        at = n + i - first
        rates = max(rates, abs(b[at]) * scale[at])
        rate = max(rate, abs(saddle.s[i]) * scale[at])
        for k in range(saddle.column.shape[1]):
            j = saddle.column[i, k]
            if j >= 0:
                rate = max(rate, abs(S[i, k]) * scale[at] * max(abs(x[j]), abs(r[j]) * scale[j] * scale[j]))
    missing = rates / rate if rate > 0.0 else 0.0
    return max(missing, forces / force if force > 0.0 else 0.0), missing
