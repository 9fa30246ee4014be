"""Derivatives of model functions by the complex step and by Richardson's differences (see `nonsmooth.model.derivatives`)."""

from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.derivatives.pieces import CENTRAL, piece_around, side_of_stencil
from nonsmooth._core.jit import (
    COMPLEX_VECTOR,
    MATRIX,
    VECTOR,
    caller,
    cell_at,
    complexes_at,
    floats_at,
    kernel,
    with_record,
    words,
)

COMPLEX_STEP = 1e-40

call_complex = caller(COMPLEX_VECTOR)

#: A function, the number of its values, whether the derivative is by q (else by u), scratch arrays; differences take the scales of what
#: they vary, the step as a fraction of them and the pieces of time.
ByComplexStep, by_complex_step_at = words("ByComplexStep", "function m by_q q u value")
ByDifferences, by_differences_at = words(
    "ByDifferences", "function m by_q q u plus minus coarse scales factor pieces"
)


@kernel(with_record(MATRIX), part=True)
def complex_jacobian(t, q, u, p, out, record):
    """df/dx_j = Im f(x + i h e_j) / h."""
    own = by_complex_step_at(record)
    f, m, by_q = own.function, own.m, own.by_q
    q_c, u_c = complexes_at(own.q, q.size), complexes_at(own.u, u.size)
    value = complexes_at(own.value, m)
    for i in range(q.size):
        q_c[i] = q[i]
    for i in range(u.size):
        u_c[i] = u[i]
    for j in range(out.shape[1]):
        if by_q != 0:
            q_c[j] = q[j] + 1j * COMPLEX_STEP
        else:
            u_c[j] = u[j] + 1j * COMPLEX_STEP
        call_complex(f, complex(t), q_c, u_c, p, value)
        for i in range(m):
            out[i, j] = value[i].imag / COMPLEX_STEP
        if by_q != 0:
            q_c[j] = q[j]
        else:
            u_c[j] = u[j]


@kernel(with_record(VECTOR), part=True)
def complex_rate(t, q, u, p, out, record):
    """df/dt = Im f(t + i h) / h."""
    own = by_complex_step_at(record)
    m = own.m
    q_c, u_c = complexes_at(own.q, q.size), complexes_at(own.u, u.size)
    value = complexes_at(own.value, m)
    for i in range(q.size):
        q_c[i] = q[i]
    for i in range(u.size):
        u_c[i] = u[i]
    call_complex(own.function, t + 1j * COMPLEX_STEP, q_c, u_c, p, value)
    for i in range(m):
        out[i] = value[i].imag / COMPLEX_STEP


@kernel(with_record(MATRIX), part=True)
def difference_jacobian(t, q, u, p, out, record):
    """df/dx_j = (4 D(h/2) - D(h)) / 3."""
    own = by_differences_at(record)
    f, m, by_q = own.function, own.m, own.by_q
    q_d, u_d = floats_at(own.q, q.size), floats_at(own.u, u.size)
    plus, minus = floats_at(own.plus, m), floats_at(own.minus, m)
    coarse = floats_at(own.coarse, m)
    scale, factor = floats_at(own.scales, out.shape[1]), floats_at(own.factor, 1)[0]
    for i in range(q.size):
        q_d[i] = q[i]
    for i in range(u.size):
        u_d[i] = u[i]
    x = q_d if by_q != 0 else u_d
    for j in range(out.shape[1]):
        x_j = x[j]
        h = factor * max(scale[j], abs(x_j))
        for level in range(2):
            x[j] = x_j + h
            call_vector(f, t, q_d, u_d, p, plus)
            x[j] = x_j - h
            call_vector(f, t, q_d, u_d, p, minus)
            for i in range(m):
                d = (plus[i] - minus[i]) / (2.0 * h)
                if level == 0:
                    coarse[i] = d
                else:
                    out[i, j] = (4.0 * d - coarse[i]) / 3.0
            h *= 0.5
        x[j] = x_j


#: Weights of the derivative at the first of five equidistant nodes, times 12 and the distance: of order 4, as the central one.
ONE_SIDED = -25.0, 48.0, -36.0, 16.0, -3.0


@kernel(with_record(VECTOR), part=True)
def difference_rate(t, q, u, p, out, record):
    """df/dt = (4 D(h/2) - D(h)) / 3, or the one-sided formula of the same order where time is cut beside t."""
    own = by_differences_at(record)
    f, m = own.function, own.m
    plus, minus = floats_at(own.plus, m), floats_at(own.minus, m)
    coarse = floats_at(own.coarse, m)
    a, b = piece_around(cell_at(own.pieces, 2), t)
    h = floats_at(own.factor, 1)[0] * floats_at(own.scales, 1)[0]
    h = min(h, 0.125 * (b - a))  # so that there is room on one side
    side = side_of_stencil(t, a, b, h, 2.0 * h)
    if side != CENTRAL:
        distance = 0.5 * h * side
        for i in range(m):
            out[i] = 0.0
        for k in range(5):
            call_vector(f, t + k * distance, q, u, p, plus)
            for i in range(m):
                out[i] += ONE_SIDED[k] / (12.0 * distance) * plus[i]
        return
    for level in range(2):
        call_vector(f, t + h, q, u, p, plus)
        call_vector(f, t - h, q, u, p, minus)
        for i in range(m):
            d = (plus[i] - minus[i]) / (2.0 * h)
            if level == 0:
                coarse[i] = d
            else:
                out[i] = (4.0 * d - coarse[i]) / 3.0
        h *= 0.5
