"""Writers of a world made of those of its elements."""

from math import floor, pi

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, caller, floats_at, kernel, matrix_at, with_record, word

call_matrix = caller(MATRIX)

# record: code, number of functions, the functions
COUNT, FIRST = 1, 2


@kernel(with_record(VECTOR), part=True)
def all_vectors(t, q, u, p, out, record):
    """One function after the other, each on the whole of `out`."""
    for k in range(word(record, COUNT)):
        call_vector(word(record, FIRST + k), t, q, u, p, out)


@kernel(with_record(MATRIX), part=True)
def all_matrices(t, q, u, p, out, record):
    """One function after the other, each on the whole of `out`."""
    for k in range(word(record, COUNT)):
        call_matrix(word(record, FIRST + k), t, q, u, p, out)


@kernel(with_record(VECTOR), part=True)
def zero_vector(t, q, u, p, out, record):
    """Zeros, before others add or set their entries. Record: code, anything."""
    out[:] = 0.0


@kernel(with_record(VECTOR), part=True)
def subtract_at(t, q, u, p, out, record):
    """out[row] -= f(t). Record: code, function, number of its values, scratch, rows (as floats)."""
    n = word(record, 2)
    value, rows = floats_at(word(record, 3), n), floats_at(word(record, 4), n)
    call_vector(word(record, 1), t, q, u, p, value)
    for k in range(n):
        out[int(rows[k])] -= value[k]


@kernel(with_record(VECTOR), part=True)
def directions_times(t, q, la, p, out, record):
    """W la. Record: code, writer of W^T, scratch for it, number of rows, zeros for u."""
    m, n = word(record, 3), out.size
    WT, rest = matrix_at(word(record, 2), m, n), floats_at(word(record, 4), n)
    call_matrix(word(record, 1), t, q, rest, p, WT)
    for j in range(n):
        s = 0.0
        for i in range(m):
            s += WT[i, j] * la[i]
        out[j] = s


@kernel(with_record(VECTOR), part=True)
def subtract_turned(t, q, u, p, out, record):
    """The same for an angle that is known up to full turns: what is left is brought to within half a turn."""
    value, row = floats_at(word(record, 3), 1), int(floats_at(word(record, 4), 1)[0])
    call_vector(word(record, 1), t, q, u, p, value)
    left = out[row] - value[0]
    out[row] = left - 2.0 * pi * floor(left / (2.0 * pi) + 0.5)
