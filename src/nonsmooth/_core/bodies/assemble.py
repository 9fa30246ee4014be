"""Writers of a world made of those of its elements."""

from math import floor, pi

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import (
    MATRIX,
    VECTOR,
    caller,
    floats_at,
    kernel,
    matrix_at,
    own,
    with_record,
    word,
    words,
)

call_matrix = caller(MATRIX)

FIRST = 2  # behind the code and the number of functions, in records of `all_vectors` and `all_matrices`
#: f(t), `count` values, for rows (as floats).
Subtracted, subtracted_at = words("Subtracted", "function count scratch rows")
#: W^T of `rows` rows, scratch for it, zeros for u.
Directions, directions_at = words("Directions", "writer scratch rows zeros")


@kernel(with_record(VECTOR), part=True)
def all_vectors(t, q, u, p, out, record):
    """One function after the other, each on the whole of `out`."""
    for k in range(own(record)):
        call_vector(word(record, FIRST + k), t, q, u, p, out)


@kernel(with_record(MATRIX), part=True)
def all_matrices(t, q, u, p, out, record):
    """One function after the other, each on the whole of `out`."""
    for k in range(own(record)):
        call_matrix(word(record, FIRST + k), t, q, u, p, out)


@kernel(with_record(VECTOR), part=True)
def zero_vector(t, q, u, p, out, record):
    """Zeros, before others add or set their entries."""
    out[:] = 0.0


@kernel(with_record(VECTOR), part=True)
def subtract_at(t, q, u, p, out, record):
    """out[row] -= f(t)."""
    drive = subtracted_at(record)
    value, rows = floats_at(drive.scratch, drive.count), floats_at(drive.rows, drive.count)
    call_vector(drive.function, t, q, u, p, value)
    for k in range(drive.count):
        out[int(rows[k])] -= value[k]


@kernel(with_record(VECTOR), part=True)
def directions_times(t, q, la, p, out, record):
    """W la."""
    known = directions_at(record)
    m, n = known.rows, out.size
    WT, rest = matrix_at(known.scratch, m, n), floats_at(known.zeros, n)
    call_matrix(known.writer, t, q, rest, p, WT)
    for j in range(n):
        s = 0.0
        for i in range(m):
            s += WT[i, j] * la[i]
        out[j] = s


@kernel(with_record(VECTOR), part=True)
def subtract_turned(t, q, u, p, out, record):
    """The same for an angle that is known up to full turns: what is left is brought to within half a turn."""
    drive = subtracted_at(record)
    value, row = floats_at(drive.scratch, 1), int(floats_at(drive.rows, 1)[0])
    call_vector(drive.function, t, q, u, p, value)
    left = out[row] - value[0]
    out[row] = left - 2.0 * pi * floor(left / (2.0 * pi) + 0.5)
