"""The linear bar: two nodes that move along its axis, strain constant in an element.

N = EA (s_2 - s_1) / L + tau d/dt,      h = (N, -N),      K = EA/L [[1, -1], [-1, 1]],   D = tau K
"""

from nonsmooth._core.jit import VECTOR, kernel, own, phase, with_record
from nonsmooth._core.structures.elements import add_entry, elements_at

#: Numbers of an element in p: EA / L and tau EA / L.
STIFFNESS, DAMPING = 0, 1
NUMBERS = 2


@kernel(with_record(VECTOR), part=True)
def bar_forces(t, q, u, p, out, record):
    """h of all elements of a bar."""
    e = elements_at(own(record))
    shift = e.info.u
    for k in range(e.at.size):
        i, j, at = e.place[k, 0], e.place[k, 1], e.at[k]
        s_1, v_1, s_2, v_2 = 0.0, 0.0, 0.0, 0.0
        if i >= 0:
            s_1, v_1 = q[i], u[i + shift]
        if j >= 0:
            s_2, v_2 = q[j], u[j + shift]
        N = p[at + STIFFNESS] * (s_2 - s_1) + p[at + DAMPING] * (v_2 - v_1)
        if i >= 0:
            out[i + shift] += N
        if j >= 0:
            out[j + shift] -= N


@phase
def add_springs(e, number, p, values):
    """[[k, -k], [-k, k]] of every element, k a number of p."""
    for k in range(e.at.size):
        stiffness = p[e.at[k] + number]
        for entry in range(4):
            add_entry(e, k, entry, stiffness if entry == 0 or entry == 3 else -stiffness, values)


@kernel(with_record(VECTOR), part=True)
def bar_stiffness(t, q, u, p, values, record):
    """K on the pattern of the tangent."""
    add_springs(elements_at(own(record)), STIFFNESS, p, values)


@kernel(with_record(VECTOR), part=True)
def bar_damping(t, q, u, p, values, record):
    """D on the pattern of the tangent."""
    add_springs(elements_at(own(record)), DAMPING, p, values)
