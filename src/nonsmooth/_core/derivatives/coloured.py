"""Jacobians of model functions along coloured columns, as values on a fixed pattern.

One step along all columns of a colour, d = sum of sigma_k e_k, gives the entries of each of them: by the complex step
Im f(x + i h d) / h, or by Richardson's difference (4 D(s/2) - D(s)) / 3 with D(s) = (f(x + s d) - f(x - s d)) / 2s. The columns are
those of q or u, or, where q' = B u, the columns of B: derivatives by the increments of a step are wanted.
"""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    address_record,
    by_reference,
    c16_1,
    caller,
    complex128,
    f8_1,
    f8_2,
    f8_ro,
    float64,
    int64,
    kernel,
    scalars,
    types,
    void,
)

c16_ro = types.Array(complex128, 1, "C", readonly=True)
#: A model function for complex arguments: (t, q, u, p, out).
COMPLEX = void(complex128, c16_ro, c16_ro, f8_ro, c16_1)
COMPLEX_STEP = 1e-40

call_vector, call_matrix, call_complex = caller(VECTOR), caller(MATRIX), caller(COMPLEX)

#: How a derivative is found.
NONE, GIVEN, BY_COMPLEX, BY_DIFFERENCES = 0, 1, 2, 3


Source = scalars(
    "Source",
    kind=int,  # NONE, GIVEN, BY_COMPLEX or BY_DIFFERENCES
    by_q=int,  # derivative by q, along the columns of B if there are any; else by x
    has_B=int,
    step=float,  # s, relative to `scale`
)


class Coloured(NamedTuple):
    """A function f(t, q, x) and the pattern of its derivative by q or by x; x is u, or the accelerations, or the multipliers."""

    at: Any  # address `f`: of the function in the form its source wants, of the Jacobian itself where it is given
    source: Any
    colour_start: np.ndarray  # columns sorted by colour
    columns: np.ndarray
    column_start: np.ndarray  # the pattern by columns
    rows: np.ndarray
    place: np.ndarray  # where each of its entries stands among the values of the whole
    scale: np.ndarray  # size of every entry of q or x
    direction: np.ndarray  # work space from here on
    sigma: np.ndarray
    q_s: np.ndarray
    x_s: np.ndarray
    f_plus: np.ndarray
    f_minus: np.ndarray
    slope: np.ndarray
    q_c: np.ndarray
    x_c: np.ndarray
    f_c: np.ndarray
    J: np.ndarray


def _example():
    integers, reals, numbers = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=complex)
    return Coloured(
        address_record(f=0), Source(), *[integers] * 5, *[reals] * 8, *[numbers] * 3, np.zeros((1, 1))
    )


EXAMPLE = _example()
_, coloured_at = by_reference(EXAMPLE)


@kernel(void(int64, int64, f8_ro, f8_ro, f8_2), references=False)
def seed(at, colour, q, x, B):
    """The direction of a colour, each of its columns scaled to move its entries by their size."""
    c = coloured_at(at)
    d, sigma = c.direction, c.sigma
    point = q if c.source.by_q else x
    for j in range(d.size):
        d[j] = 0.0
    for k in range(c.colour_start[colour], c.colour_start[colour + 1]):
        j = c.columns[k]
        if c.source.has_B and c.source.by_q:
            sigma[j] = 1e300
            for i in range(d.size):
                size = max(c.scale[i], abs(point[i]))
                if abs(B[i, j]) * sigma[j] > size:
                    sigma[j] = size / abs(B[i, j])
            for i in range(d.size):
                d[i] += sigma[j] * B[i, j]
        else:
            sigma[j] = max(c.scale[j], abs(point[j]))
            d[j] = sigma[j]


@kernel(void(int64, float64, f8_ro, f8_ro, f8_ro), references=False)
def slope_by_complex(at, t, q, x, p):
    """Im f(. + i h d) / h."""
    c = coloured_at(at)
    for j in range(q.size):
        c.q_c[j] = complex(q[j], COMPLEX_STEP * c.direction[j] if c.source.by_q else 0.0)
    for j in range(x.size):
        c.x_c[j] = complex(x[j], 0.0 if c.source.by_q else COMPLEX_STEP * c.direction[j])
    call_complex(c.at.f, complex(t, 0.0), c.q_c, c.x_c, p, c.f_c)
    for i in range(c.slope.size):
        c.slope[i] = c.f_c[i].imag / COMPLEX_STEP


@kernel(void(int64, float64, float64, f8_ro, f8_ro, f8_ro), references=False)
def moved(at, s, t, q, x, p):
    """f(. + s d) in `f_plus`, f(. - s d) in `f_minus`."""
    c = coloured_at(at)
    for side in range(2):
        step = s if side == 0 else -s
        for j in range(q.size):
            c.q_s[j] = q[j] + (step * c.direction[j] if c.source.by_q else 0.0)
        for j in range(x.size):
            c.x_s[j] = x[j] + (0.0 if c.source.by_q else step * c.direction[j])
        call_vector(c.at.f, t, c.q_s, c.x_s, p, c.f_plus if side == 0 else c.f_minus)


@kernel(void(int64, float64, f8_ro, f8_ro, f8_ro), references=False)
def slope_by_differences(at, t, q, x, p):
    """(4 D(s/2) - D(s)) / 3."""
    c = coloured_at(at)
    s = c.source.step
    moved(at, s, t, q, x, p)
    for i in range(c.slope.size):
        c.slope[i] = -(c.f_plus[i] - c.f_minus[i]) / (6.0 * s)
    moved(at, 0.5 * s, t, q, x, p)
    for i in range(c.slope.size):
        c.slope[i] += 4.0 * (c.f_plus[i] - c.f_minus[i]) / (3.0 * s)


@kernel(void(int64, float64, float64, f8_ro, f8_ro, f8_ro, f8_2, f8_1), references=False)
def add_given(at, weight, t, q, x, p, B, values):
    """Add `weight` times the user's own Jacobian (times B)."""
    c = coloured_at(at)
    call_matrix(c.at.f, t, q, x, p, c.J)
    for j in range(c.column_start.size - 1):
        for k in range(c.column_start[j], c.column_start[j + 1]):
            entry = 0.0
            if c.source.has_B and c.source.by_q:
                for l in range(q.size):
                    entry += c.J[c.rows[k], l] * B[l, j]
            else:
                entry = c.J[c.rows[k], j]
            values[c.place[k]] += weight * entry


@kernel(void(int64, float64, float64, f8_ro, f8_ro, f8_ro, f8_2, f8_1), references=False)
def add_coloured(at, weight, t, q, x, p, B, values):
    """Add `weight` times the derivative to the `values` of a matrix on its pattern."""
    c = coloured_at(at)
    if c.source.kind == NONE or weight == 0.0:
        return
    if c.source.kind == GIVEN:
        add_given(at, weight, t, q, x, p, B, values)
        return
    for colour in range(c.colour_start.size - 1):
        seed(at, colour, q, x, B)
        if c.source.kind == BY_COMPLEX:
            slope_by_complex(at, t, q, x, p)
        else:
            slope_by_differences(at, t, q, x, p)
        for l in range(c.colour_start[colour], c.colour_start[colour + 1]):
            j = c.columns[l]
            for k in range(c.column_start[j], c.column_start[j + 1]):
                values[c.place[k]] += weight * c.slope[c.rows[k]] / c.sigma[j]
