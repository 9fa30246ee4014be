"""Model functions made of others: constraints at rest, Jacobians times kinematics, bounds of forces."""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, floats_at, kernel, matrix_at, with_record, word


@kernel(with_record(VECTOR), part=True)
def at_rest(t, q, u, p, out, record):
    """Value of a function at u = 0. Record: code, function, zeros."""
    call_vector(word(record, 1), t, q, floats_at(word(record, 2), u.size), p, out)


@kernel(with_record(MATRIX), part=True)
def times_kinematics(t, q, u, p, out, record):
    """dg/dq B. Record: code, dg/dq, B, scratch arrays for both."""
    m, n_q, n_u = out.shape[0], q.size, u.size
    J, B = matrix_at(word(record, 3), m, n_q), matrix_at(word(record, 4), n_q, n_u)
    call_matrix(word(record, 1), t, q, u, p, J)
    call_matrix(word(record, 2), t, q, u, p, B)
    for i in range(m):
        for k in range(n_u):
            s = 0.0
            for l in range(n_q):
                s += J[i, l] * B[l, k]
            out[i, k] = s


@kernel(with_record(VECTOR), part=True)
def symmetric_bounds(t, q, u, p, out, record):
    """-limit and limit. Record: code, limit, scratch for its values, first row, rows of a law, rows of all laws, number of laws."""
    row, dim, n_rows, count = word(record, 3), word(record, 4), word(record, 5), word(record, 6)
    limit = floats_at(word(record, 2), count)
    call_vector(word(record, 1), t, q, u, p, limit)
    for k in range(count):
        for i in range(row + k * dim, row + (k + 1) * dim):
            out[i] = -limit[k]
            out[n_rows + i] = limit[k]


@kernel(with_record(VECTOR), part=True)
def fixed_bounds(t, q, u, p, out, record):
    """Lower and upper bound as they are. Record: code, both, first row, number of rows, rows of all laws."""
    bounds = floats_at(word(record, 1), 2)
    row, n_rows = word(record, 2), word(record, 4)
    for i in range(row, row + word(record, 3)):
        out[i] = bounds[0]
        out[n_rows + i] = bounds[1]
