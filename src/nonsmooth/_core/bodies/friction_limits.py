"""Limits of dry friction in joints, and coefficients of friction that change with the speed of slipping (Stribeck).

    f(v) = f_k + (f_s - f_k) exp(-(v / v_s)^delta) + c v,      v = |W_T^T u|

f is a force or torque in a joint, the coefficient mu at a contact. A constant limit is f_k = f_s, c = 0.
"""

from math import exp, sqrt

from nonsmooth._core.calls.model_functions import call_matrix
from nonsmooth._core.jit import VECTOR, kernel, matrix_at, phase, with_record, word

#: Numbers of a limit in p.
KINETIC, STATIC, SPEED, EXPONENT, VISCOUS = 0, 1, 2, 3, 4
NUMBERS = 5

# record: code, how many, (row, directions, place of its numbers in p) as floats, rows of all laws, writer of W^T of the rows of friction
# or 0, the first of these rows, how many, scratch for them
COUNT, TABLE, ROWS, DIRECTIONS, FIRST, SLIDING, SCRATCH = 1, 2, 3, 4, 5, 6, 7


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
    n, n_rows, varying = word(record, COUNT), word(record, ROWS), word(record, DIRECTIONS)
    table = matrix_at(word(record, TABLE), n, 3)
    WT = matrix_at(word(record, SCRATCH), word(record, SLIDING), u.size)
    if varying != 0:
        call_matrix(varying, t, q, u, p, WT)
    for k in range(n):
        row, dim, at = int(table[k, 0]), int(table[k, 1]), int(table[k, 2])
        v = speed_of(WT, row - word(record, FIRST), dim, u) if varying != 0 else 0.0
        limit = limit_at(p, at, v)
        for i in range(row, row + dim):
            out[i] = -limit
            out[n_rows + i] = limit
