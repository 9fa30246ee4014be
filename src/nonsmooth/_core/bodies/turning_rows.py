"""Rows made of directions of two bodies.

    DOT    g = E_a . E_b - c                                          E_a = R_a e_a, E_b = R_b e_b
    ANGLE  g = sigma (theta - c),  theta = atan2(S, C)                 S = E_2 . E_b,  C = E_1 . E_b,  E_1, E_2 carried by a
    SPIN   gamma = E_a . (w_b - w_a)                                   of velocities only: friction and rolling resistance
    GEAR   gamma = E_a . (w_b + sigma w_a)                             (in the plane also on position level)

The angle lies within half a turn of c; in the plane it is phi_b - phi_a and counts full turns. With constant w, E' = w x E:

    DOT    wrench E_a x E_b on a, the opposite on b;   kappa = E_a''.E_b + 2 E_a'.E_b' + E_a.E_b''
    ANGLE  theta' = (C S' - S C') / (S^2 + C^2),   kappa = sigma ((C S'' - S C'') - 2 theta' (C C' + S S')) / (S^2 + C^2)
    SPIN   kappa = E_a' . (w_b - w_a) = (w_a x E_a) . w_b
"""

from math import atan2, floor, pi

from nonsmooth._core.bodies.frames import add_wrench, plane_angle, rotation, spin
from nonsmooth._core.bodies.table import clear_row, table_at
from nonsmooth._core.bodies.vectors import cross, dot, minus, plus, times, turned, vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, own, phase, with_record

#: Numbers of a row in p. DOT: both directions, constant. ANGLE: two directions of a, one of b, sign, constant. SPIN: axis, sign.
DOT_A, DOT_B, DOT_C = 0, 3, 6
DOT_NUMBERS = 7
ANGLE_1, ANGLE_2, ANGLE_B, ANGLE_SIGN, ANGLE_C = 0, 3, 6, 9, 10
ANGLE_NUMBERS = 11
SPIN_AXIS, SPIN_RATIO = 0, 3
SPIN_NUMBERS = 4

NO_FORCE = (0.0, 0.0, 0.0)


@phase
def add_couple(table, k, R_a, R_b, T_a, T_b, out):
    """Torques on both bodies."""
    add_wrench(table, table.a[k], R_a, NO_FORCE, T_a, out)
    add_wrench(table, table.b[k], R_b, NO_FORCE, T_b, out)


@phase
def pair_of_axes(table, k, q, p):
    """Rotations of both bodies, E_a, E_b."""
    R_a, R_b, at = rotation(table, table.a[k], q), rotation(table, table.b[k], q), table.at[k]
    return R_a, R_b, turned(R_a, vector(p, at + DOT_A)), turned(R_b, vector(p, at + DOT_B))


@phase
def axis_of_a(table, k, q, p):
    """Rotations of both bodies, E_a."""
    R_a, R_b = rotation(table, table.a[k], q), rotation(table, table.b[k], q)
    return R_a, R_b, turned(R_a, vector(p, table.at[k] + SPIN_AXIS))


@phase
def rates(E_a, E_b, w_a, w_b):
    """First and second rate of E_a . E_b at constant w."""
    E_a1, E_b1 = cross(w_a, E_a), cross(w_b, E_b)
    first = dot(E_a1, E_b) + dot(E_a, E_b1)
    second = dot(cross(w_a, E_a1), E_b) + 2.0 * dot(E_a1, E_b1) + dot(E_a, cross(w_b, E_b1))
    return first, second


# -- DOT ---------------------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def dot_value(t, q, u, p, out, record):
    """E_a . E_b - c."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, _, E_a, E_b = pair_of_axes(table, k, q, p)
        out[table.row[k]] = dot(E_a, E_b) - p[table.at[k] + DOT_C]


@kernel(with_record(MATRIX), part=True)
def dot_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, E_a, E_b = pair_of_axes(table, k, q, p)
        T = cross(E_a, E_b)
        clear_row(table, k, out)
        add_couple(table, k, R_a, R_b, T, times(-1.0, T), out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def dot_kappa(t, q, u, p, out, record):
    """E_a''.E_b + 2 E_a'.E_b' + E_a.E_b''."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, E_a, E_b = pair_of_axes(table, k, q, p)
        _, second = rates(E_a, E_b, spin(table, table.a[k], R_a, u), spin(table, table.b[k], R_b, u))
        out[table.row[k]] = second


# -- ANGLE -------------------------------------------------------------------------------------------------------------


@phase
def carried_axes(table, k, q, p):
    """Rotations of both bodies, E_1 and E_2 of a, E_b of b."""
    R_a, R_b, at = rotation(table, table.a[k], q), rotation(table, table.b[k], q), table.at[k]
    E_1, E_2 = turned(R_a, vector(p, at + ANGLE_1)), turned(R_a, vector(p, at + ANGLE_2))
    return R_a, R_b, E_1, E_2, turned(R_b, vector(p, at + ANGLE_B))


@phase
def angle_between(table, k, q, p, middle):
    """theta; in space within half a turn of `middle`."""
    a, b = table.a[k], table.b[k]
    if table.frames.dim[b] == 2:
        return plane_angle(table, b, q) - plane_angle(table, a, q)
    _, _, E_1, E_2, E_b = carried_axes(table, k, q, p)
    theta = atan2(dot(E_2, E_b), dot(E_1, E_b))
    return theta - 2.0 * pi * floor((theta - middle) / (2.0 * pi) + 0.5)


@phase
def angle_torque(E_1, E_2, E_b):
    """d theta / d(turn of a); the opposite for b."""
    S, C = dot(E_2, E_b), dot(E_1, E_b)
    along = minus(times(C, cross(E_2, E_b)), times(S, cross(E_1, E_b)))
    return times(1.0 / (S * S + C * C), along)


@kernel(with_record(VECTOR), part=True)
def angle_value(t, q, u, p, out, record):
    """sigma (theta - c)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        at = table.at[k]
        theta = angle_between(table, k, q, p, p[at + ANGLE_C])
        out[table.row[k]] = p[at + ANGLE_SIGN] * (theta - p[at + ANGLE_C])


@kernel(with_record(MATRIX), part=True)
def angle_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, E_1, E_2, E_b = carried_axes(table, k, q, p)
        T = times(p[table.at[k] + ANGLE_SIGN], angle_torque(E_1, E_2, E_b))
        clear_row(table, k, out)
        add_couple(table, k, R_a, R_b, T, times(-1.0, T), out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def angle_kappa(t, q, u, p, out, record):
    """sigma theta'' at u' = 0."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, E_1, E_2, E_b = carried_axes(table, k, q, p)
        w_a, w_b = spin(table, table.a[k], R_a, u), spin(table, table.b[k], R_b, u)
        S, C = dot(E_2, E_b), dot(E_1, E_b)
        S_1, S_2 = rates(E_2, E_b, w_a, w_b)
        C_1, C_2 = rates(E_1, E_b, w_a, w_b)
        square = S * S + C * C
        theta_1 = (C * S_1 - S * C_1) / square
        theta_2 = ((C * S_2 - S * C_2) - 2.0 * theta_1 * (C * C_1 + S * S_1)) / square
        out[table.row[k]] = p[table.at[k] + ANGLE_SIGN] * theta_2


# -- SPIN and GEAR --------------------------------------------------------------------------------------------------------


@kernel(with_record(MATRIX), part=True)
def spin_directions(t, q, u, p, out, record):
    """Rows of W^T of E_a . (w_b + ratio w_a)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, axis = axis_of_a(table, k, q, p)
        ratio = p[table.at[k] + SPIN_RATIO]
        clear_row(table, k, out)
        add_couple(table, k, R_a, R_b, times(ratio, axis), axis, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def spin_kappa(t, q, u, p, out, record):
    """E_a' . (w_b + ratio w_a)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, axis = axis_of_a(table, k, q, p)
        w_a, w_b = spin(table, table.a[k], R_a, u), spin(table, table.b[k], R_b, u)
        out[table.row[k]] = dot(cross(w_a, axis), plus(w_b, times(p[table.at[k] + SPIN_RATIO], w_a)))


@kernel(with_record(VECTOR), part=True)
def gear_value(t, q, u, p, out, record):
    """phi_b + ratio phi_a - c, in the plane; its constant follows the ratio."""
    table = table_at(own(record))
    for k in range(table.a.size):
        at = table.at[k]
        phi_a, phi_b = plane_angle(table, table.a[k], q), plane_angle(table, table.b[k], q)
        out[table.row[k]] = phi_b + p[at + SPIN_RATIO] * phi_a - p[at + SPIN_RATIO + 1]
