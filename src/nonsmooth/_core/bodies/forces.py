"""Springs, dampers and loads: each adds wrenches to h.

SPRING    F = (k (l - l_0) + c l') n  pulls the points together,   l = |d|, n = d / l
TORSION   T = (k (theta - theta_0) + c theta') about the axis      (angle as in `turning_rows`)
LOAD      a force at a point and a torque, in the world or carried by the body; constant, or what a user's function says
LAW       a spring or torsion spring whose force is a user's function of length and rate
"""

from nonsmooth._core.bodies.frames import SPATIAL, TURNING, add_wrench, place, position, rotation, spin
from nonsmooth._core.bodies.point_rows import add_pair, ends, motion
from nonsmooth._core.bodies.table import table_at
from nonsmooth._core.bodies.turning_rows import NO_FORCE, angle_between, angle_torque, carried_axes, rates
from nonsmooth._core.bodies.vectors import cross, dot, minus, norm, plus, times, turned, vector
from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import VECTOR, floats_at, kernel, own, phase, with_record, words

#: Numbers in p. SPRING: points of both bodies (as in `point_rows`), stiffness, length, damping.
SPRING_K, SPRING_LENGTH, SPRING_C = 6, 7, 8
SPRING_NUMBERS = 9
#: TORSION: axes (as ANGLE in `turning_rows`), stiffness, angle, damping.
TORSION_K, TORSION_ANGLE, TORSION_C = 9, 10, 11
TORSION_NUMBERS = 12
#: LOAD: point of the body, whether the load turns with it, force, torque.
LOAD_AT, LOAD_CARRIED, LOAD_F, LOAD_T = 0, 3, 4, 7
LOAD_NUMBERS = 10

#: One element whose law is a function of the user, with scratch for what that sees and says.
ByFunction, by_function_at = words("ByFunction", "table function scratch")


@phase
def pull(table, k, q, p, tension, d, length, d_dot, out):
    """The tension along d (or, where both points coincide, nothing)."""
    if length > 0.0:
        R_a, R_b, p_a, p_b = ends(table, k, q, p)
        add_pair(table, k, q, R_a, R_b, times(-tension / length, d), p_a, p_b, out)


@kernel(with_record(VECTOR), part=True)
def springs(t, q, u, p, out, record):
    """Springs with dampers."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, d, d_dot, _, _ = motion(table, k, q, u, p)
        length, at = norm(d), table.at[k]
        rate = dot(d, d_dot) / length if length > 0.0 else 0.0
        tension = p[at + SPRING_K] * (length - p[at + SPRING_LENGTH]) + p[at + SPRING_C] * rate
        pull(table, k, q, p, tension, d, length, d_dot, out)


@phase
def turn(table, k, q, p, torque, out):
    """The torque that turns b back against a."""
    R_a, R_b, E_1, E_2, E_b = carried_axes(table, k, q, p)
    T = times(torque, angle_torque(E_1, E_2, E_b))
    add_wrench(table, table.a[k], R_a, NO_FORCE, times(-1.0, T), out)
    add_wrench(table, table.b[k], R_b, NO_FORCE, T, out)


@phase
def angle_rate(table, k, q, u, p):
    """theta'."""
    R_a, R_b, E_1, E_2, E_b = carried_axes(table, k, q, p)
    w_a, w_b = spin(table, table.a[k], R_a, u), spin(table, table.b[k], R_b, u)
    S, C = dot(E_2, E_b), dot(E_1, E_b)
    S_1, _ = rates(E_2, E_b, w_a, w_b)
    C_1, _ = rates(E_1, E_b, w_a, w_b)
    return (C * S_1 - S * C_1) / (S * S + C * C)


@kernel(with_record(VECTOR), part=True)
def torsion_springs(t, q, u, p, out, record):
    """Torsion springs with dampers."""
    table = table_at(own(record))
    for k in range(table.a.size):
        at = table.at[k]
        theta = angle_between(table, k, q, p, p[at + TORSION_ANGLE])
        torque = p[at + TORSION_K] * (theta - p[at + TORSION_ANGLE])
        torque += p[at + TORSION_C] * angle_rate(table, k, q, u, p)
        turn(table, k, q, p, torque, out)


@phase
def apply_load(table, k, q, p, F, T, out):
    """A force at the point of the body and a torque."""
    b, at = table.b[k], table.at[k]
    R = rotation(table, b, q)
    if p[at + LOAD_CARRIED] != 0.0:
        F, T = turned(R, F), turned(R, T)
    r = minus(place(table, b, R, q, vector(p, at + LOAD_AT)), position(table, b, q))
    add_wrench(table, b, R, F, plus(T, cross(r, F)), out)


@kernel(with_record(VECTOR), part=True)
def loads(t, q, u, p, out, record):
    """Constant loads."""
    table = table_at(own(record))
    for k in range(table.b.size):
        at = table.at[k]
        apply_load(table, k, q, p, vector(p, at + LOAD_F), vector(p, at + LOAD_T), out)


# -- functions of the user -------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def load_by_function(t, q, u, p, out, record):
    """A load of t and of the state of its body; scratch for force and torque."""
    law = by_function_at(record)
    table, value = table_at(law.table), floats_at(law.scratch, 6)
    b = table.b[0]
    i, j = table.frames.at_q[b], table.frames.at_u[b]
    n_u = table.frames.size[b]
    kind = table.frames.kind[b]
    n_q = n_u + 1 if kind == SPATIAL or kind == TURNING else n_u
    call_vector(law.function, t, q[i : i + n_q], u[j : j + n_u], p, value)
    apply_load(table, 0, q, p, vector(value, 0), vector(value, 3), out)


@kernel(with_record(VECTOR), part=True)
def spring_by_function(t, q, u, p, out, record):
    """A spring whose tension is a function of its length and rate; scratch for all three."""
    law = by_function_at(record)
    table, x = table_at(law.table), floats_at(law.scratch, 3)
    _, d, d_dot, _, _ = motion(table, 0, q, u, p)
    x[0] = norm(d)
    x[1] = dot(d, d_dot) / x[0] if x[0] > 0.0 else 0.0
    call_vector(law.function, t, x[0:1], x[1:2], p, x[2:3])
    pull(table, 0, q, p, x[2], d, x[0], d_dot, out)


@kernel(with_record(VECTOR), part=True)
def torsion_by_function(t, q, u, p, out, record):
    """A torsion spring whose torque is a function of angle and rate; scratch for all three."""
    law = by_function_at(record)
    table, x = table_at(law.table), floats_at(law.scratch, 3)
    x[0] = angle_between(table, 0, q, p, p[table.at[0] + TORSION_ANGLE])
    x[1] = angle_rate(table, 0, q, u, p)
    call_vector(law.function, t, x[0:1], x[1:2], p, x[2:3])
    turn(table, 0, q, p, x[2], out)
