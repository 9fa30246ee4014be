"""The cable: nodes that are points, elements that carry tension along the line between them.

With d = x_2 - x_1, l = |d|, e = d / l and the strain eps = l / L - 1

    N = EA (eps + tau eps'),   eps' = e . d' / L;     force N e on node 1, the opposite on node 2
    K = EA / L e e^T + N / l (1 - e e^T),   D = tau EA / L e e^T          [[., -.], [-., .]]

A cable that goes slack has N = 0 where eps < 0 (`pushes` zero); where tau would make N negative it is zero, too: a cable does not push.
Dropped from K: the change of eps' with q (times tau).
"""

from math import sqrt

from nonsmooth._core.jit import VECTOR, kernel, own, phase, with_record
from nonsmooth._core.structures.elements import add_entry, add_force, coordinate, elements_at, rate

#: Numbers of an element in p: length, EA, tau, whether it pushes.
LENGTH, EA, TAU, PUSHES = 0, 1, 2, 3
NUMBERS = 4


@phase
def line(e, k, q, dim):
    """e (three components) and l."""
    x = coordinate(e, k, dim, q) - coordinate(e, k, 0, q)
    y = coordinate(e, k, dim + 1, q) - coordinate(e, k, 1, q)
    z = coordinate(e, k, 5, q) - coordinate(e, k, 2, q) if dim == 3 else 0.0
    l = sqrt(x * x + y * y + z * z)
    if l == 0.0:
        return (0.0, 0.0, 0.0), 0.0  # no direction, no force
    return (x / l, y / l, z / l), l


@phase
def tension(e, k, u, p, dim, along, l):
    """N, and whether the element is taut."""
    at = e.at[k]
    strain = l / p[at + LENGTH] - 1.0
    if strain < 0.0 and p[at + PUSHES] == 0.0:
        return 0.0, False
    if p[at + TAU] != 0.0:
        speed = 0.0
        for i in range(dim):
            speed += along[i] * (rate(e, k, dim + i, u) - rate(e, k, i, u))
        strain += p[at + TAU] * speed / p[at + LENGTH]
    N = p[at + EA] * strain
    if N < 0.0 and p[at + PUSHES] == 0.0:
        return 0.0, False
    return N, True


@kernel(with_record(VECTOR), part=True)
def cable_forces(t, q, u, p, out, record):
    """h of all elements of a cable."""
    e = elements_at(own(record))
    dim = e.place.shape[1] // 2
    for k in range(e.at.size):
        along, l = line(e, k, q, dim)
        N, _ = tension(e, k, u, p, dim, along, l)
        for i in range(dim):
            add_force(e, k, i, N * along[i], out)
            add_force(e, k, dim + i, -N * along[i], out)


@phase
def add_block(e, k, dim, along, both, across, values):
    """`both` e e^T + `across` (1 - e e^T) on the diagonal, the opposite beside it."""
    m = 2 * dim
    for i in range(dim):
        for j in range(dim):
            value = (both - across) * along[i] * along[j] + (across if i == j else 0.0)
            add_entry(e, k, m * i + j, value, values)
            add_entry(e, k, m * (dim + i) + dim + j, value, values)
            add_entry(e, k, m * i + dim + j, -value, values)
            add_entry(e, k, m * (dim + i) + j, -value, values)


@kernel(with_record(VECTOR), part=True)
def cable_stiffness(t, q, u, p, values, record):
    """K on the pattern of the tangent."""
    e = elements_at(own(record))
    dim = e.place.shape[1] // 2
    for k in range(e.at.size):
        along, l = line(e, k, q, dim)
        N, taut = tension(e, k, u, p, dim, along, l)
        if taut:
            add_block(e, k, dim, along, p[e.at[k] + EA] / p[e.at[k] + LENGTH], N / l, values)


@kernel(with_record(VECTOR), part=True)
def cable_damping(t, q, u, p, values, record):
    """D on the pattern of the tangent."""
    e = elements_at(own(record))
    dim = e.place.shape[1] // 2
    for k in range(e.at.size):
        along, l = line(e, k, q, dim)
        _, taut = tension(e, k, u, p, dim, along, l)
        if taut:
            add_block(e, k, dim, along, p[e.at[k] + TAU] * p[e.at[k] + EA] / p[e.at[k] + LENGTH], 0.0, values)
