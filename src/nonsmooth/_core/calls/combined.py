"""Model functions made of others: constraints at rest, Jacobians times kinematics, bounds of forces."""

from nonsmooth._core.calls.model_functions import call_matrix, call_vector
from nonsmooth._core.jit import MATRIX, VECTOR, floats_at, kernel, matrix_at, with_record, words

AtRest, at_rest_at = words("AtRest", "function zeros")
Product, product_at = words("Product", "by_q B J_scratch B_scratch")
#: Bounds of `count` laws of `dim` rows each, the first of which is `row` among `n_rows` of all laws; their limits, with scratch for them.
Symmetric, symmetric_at = words("Symmetric", "limit scratch row dim n_rows count")
#: Bounds of `count` rows.
Fixed, fixed_at = words("Fixed", "bounds row count n_rows")


@kernel(with_record(VECTOR), part=True)
def at_rest(t, q, u, p, out, record):
    """Value of a function at u = 0."""
    own = at_rest_at(record)
    call_vector(own.function, t, q, floats_at(own.zeros, u.size), p, out)


@kernel(with_record(MATRIX), part=True)
def times_kinematics(t, q, u, p, out, record):
    """dg/dq B."""
    own = product_at(record)
    m, n_q, n_u = out.shape[0], q.size, u.size
    J, B = matrix_at(own.J_scratch, m, n_q), matrix_at(own.B_scratch, n_q, n_u)
    call_matrix(own.by_q, t, q, u, p, J)
    call_matrix(own.B, t, q, u, p, B)
    for i in range(m):
        for k in range(n_u):
            s = 0.0
            for l in range(n_q):
                s += J[i, l] * B[l, k]
            out[i, k] = s


@kernel(with_record(VECTOR), part=True)
def symmetric_bounds(t, q, u, p, out, record):
    """-limit and limit."""
    own = symmetric_at(record)
    limit = floats_at(own.scratch, own.count)
    call_vector(own.limit, t, q, u, p, limit)
    for k in range(own.count):
        for i in range(own.row + k * own.dim, own.row + (k + 1) * own.dim):
            out[i] = -limit[k]
            out[own.n_rows + i] = limit[k]


@kernel(with_record(VECTOR), part=True)
def fixed_bounds(t, q, u, p, out, record):
    """Lower and upper bound as they are."""
    own = fixed_at(record)
    bounds = floats_at(own.bounds, 2)
    for i in range(own.row, own.row + own.count):
        out[i] = bounds[0]
        out[own.n_rows + i] = bounds[1]
