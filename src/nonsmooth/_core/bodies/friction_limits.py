"""Limits of dry friction in joints, and coefficients of friction that change with the speed of slipping (Stribeck).

    f(v) = f_k + (f_s - f_k) exp(-(v / v_s)^delta) + c v,      v = |W_T^T u|

f is a force or torque in a joint, the coefficient mu at a contact. A constant limit is f_k = f_s, c = 0.
"""

from math import exp, sqrt

from nonsmooth._core.calls.model_functions import call_matrix
from nonsmooth._core.jit import VECTOR, kernel, matrix_at, phase, with_record, words

#: Numbers of a limit in p.
KINETIC, STATIC, SPEED, EXPONENT, VISCOUS = 0, 1, 2, 3, 4
NUMBERS = 5

#: `count` limits, (row, directions, place of its numbers in p) as floats in `table`, among `n_rows` rows of all laws; the writer of W^T of
#: the rows of friction or 0, the first of these rows, how many are `sliding`, scratch for them.
Limits, limits_at = words("Limits", "count table n_rows directions first sliding scratch")


@phase
def limit_at(p, at, v):
    """f(v)."""
    f_k, f_s = p[at + KINETIC], p[at + STATIC]
    if f_k == f_s:
        return f_k + p[at + VISCOUS] * v
    return f_k + (f_s - f_k) * exp(-((v / p[at + SPEED]) ** p[at + EXPONENT])) + p[at + VISCOUS] * v


@phase
def speed_of(WT, first, dim, u):
    """|W_T^T u| of neighbouring rows."""
    square = 0.0
    for i in range(first, first + dim):
        s = 0.0
        for j in range(u.size):
            s += WT[i, j] * u[j]
        square += s * s
    return sqrt(square)


@kernel(with_record(VECTOR), part=True)
def set_limits(t, q, u, p, out, record):
    """-f and f in the rows of every limit."""
    own = limits_at(record)
    table = matrix_at(own.table, own.count, 3)
    WT = matrix_at(own.scratch, own.sliding, u.size)
    varying = own.directions != 0
    if varying:
        call_matrix(own.directions, t, q, u, p, WT)
    for k in range(own.count):
        row, dim, at = int(table[k, 0]), int(table[k, 1]), int(table[k, 2])
        v = speed_of(WT, row - own.first, dim, u) if varying else 0.0
        limit = limit_at(p, at, v)
        for i in range(row, row + dim):
            out[i] = -limit
            out[own.n_rows + i] = limit
