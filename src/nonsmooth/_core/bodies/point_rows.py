"""Rows made of the vector d = p_b - p_a between a point of body a and one of body b.

    FIXED     g = e . d - c                    e fixed in the world
    CARRIED   g = E . d - c,  E = R_a e        e fixed in body a
    DISTANCE  g = sigma (|d| - c)

Joints (Haug: Computer Aided Kinematics and Dynamics of Mechanical Systems, 1989, secs. 9.4, 9.5) and gaps are made of them. With w the
angular velocities in the world, constant where u is,

    p' = v + w x r,   p'' = w x (w x r)  at u' = 0
    FIXED     kappa = e . d''
    CARRIED   kappa = E . d'' + 2 E' . d' + E'' . d,   E' = w_a x E,  E'' = w_a x E'
    DISTANCE  kappa = sigma (n . d'' + (d'.d' - (n.d')^2) / |d|),   n = d / |d|

A row of W^T is a wrench on each body: the force n at p_b on body b, the opposite at the same point (CARRIED) or at p_a on body a.
"""

from nonsmooth._core.bodies.frames import add_wrench, place, position, rotation, spin, velocity
from nonsmooth._core.bodies.table import clear_row, table_at
from nonsmooth._core.bodies.vectors import cross, dot, inverse_norm, minus, norm, plus, times, turned, vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, own, phase, with_record

#: Numbers of a row in p: points of both bodies, direction (DISTANCE: its sign), constant.
S_A, S_B, E, C = 0, 3, 6, 9
NUMBERS = 10


@phase
def ends(table, k, q, p):
    """Rotations of both bodies and the two points."""
    R_a, R_b = rotation(table, table.a[k], q), rotation(table, table.b[k], q)
    p_a = place(table, table.a[k], R_a, q, vector(p, table.at[k] + S_A))
    p_b = place(table, table.b[k], R_b, q, vector(p, table.at[k] + S_B))
    return R_a, R_b, p_a, p_b


@phase
def add_pair(table, k, q, R_a, R_b, n, at_a, at_b, out):
    """The force n at the place `at_b` of body b, -n at `at_a` of body a."""
    r_a = minus(at_a, position(table, table.a[k], q))
    r_b = minus(at_b, position(table, table.b[k], q))
    add_wrench(table, table.a[k], R_a, times(-1.0, n), cross(n, r_a), out)
    add_wrench(table, table.b[k], R_b, n, cross(r_b, n), out)


@phase
def motion(table, k, q, u, p):
    """d, d', d'' at u' = 0, and the angular velocity of body a."""
    R_a, R_b, p_a, p_b = ends(table, k, q, p)
    a, b = table.a[k], table.b[k]
    w_a, w_b = spin(table, a, R_a, u), spin(table, b, R_b, u)
    r_a, r_b = minus(p_a, position(table, a, q)), minus(p_b, position(table, b, q))
    wr_a, wr_b = cross(w_a, r_a), cross(w_b, r_b)
    d_dot = minus(plus(velocity(table, b, u), wr_b), plus(velocity(table, a, u), wr_a))
    return R_a, minus(p_b, p_a), d_dot, minus(cross(w_b, wr_b), cross(w_a, wr_a)), w_a


# -- e fixed in the world ------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def fixed_value(t, q, u, p, out, record):
    """e . d - c."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, _, p_a, p_b = ends(table, k, q, p)
        out[table.row[k]] = dot(vector(p, table.at[k] + E), minus(p_b, p_a)) - p[table.at[k] + C]


@kernel(with_record(MATRIX), part=True)
def fixed_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, p_a, p_b = ends(table, k, q, p)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, vector(p, table.at[k] + E), p_a, p_b, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def fixed_kappa(t, q, u, p, out, record):
    """e . d''."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, _, _, d_ddot, _ = motion(table, k, q, u, p)
        out[table.row[k]] = dot(vector(p, table.at[k] + E), d_ddot)


# -- e carried by body a ---------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def carried_value(t, q, u, p, out, record):
    """E . d - c."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, _, p_a, p_b = ends(table, k, q, p)
        direction = turned(R_a, vector(p, table.at[k] + E))
        out[table.row[k]] = dot(direction, minus(p_b, p_a)) - p[table.at[k] + C]


@kernel(with_record(MATRIX), part=True)
def carried_directions(t, q, u, p, out, record):
    """Rows of W^T: both forces act at p_b."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, _, p_b = ends(table, k, q, p)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, turned(R_a, vector(p, table.at[k] + E)), p_b, p_b, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def carried_kappa(t, q, u, p, out, record):
    """E . d'' + 2 E' . d' + E'' . d."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, d, d_dot, d_ddot, w_a = motion(table, k, q, u, p)
        direction = turned(R_a, vector(p, table.at[k] + E))
        turning = cross(w_a, direction)
        out[table.row[k]] = dot(direction, d_ddot) + 2.0 * dot(turning, d_dot) + dot(cross(w_a, turning), d)


# -- distance ----------------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def distance_value(t, q, u, p, out, record):
    """sigma (|d| - c)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, _, p_a, p_b = ends(table, k, q, p)
        out[table.row[k]] = p[table.at[k] + E] * (norm(minus(p_b, p_a)) - p[table.at[k] + C])


@kernel(with_record(MATRIX), part=True)
def distance_directions(t, q, u, p, out, record):
    """Rows of W^T: sigma n."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, p_a, p_b = ends(table, k, q, p)
        d = minus(p_b, p_a)
        clear_row(table, k, out)
        add_pair(
            table, k, q, R_a, R_b, times(p[table.at[k] + E] * inverse_norm(d), d), p_a, p_b, out[table.row[k]]
        )


@kernel(with_record(VECTOR), part=True)
def distance_kappa(t, q, u, p, out, record):
    """sigma (n . d'' + (d'.d' - (n.d')^2) / |d|)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        _, d, d_dot, d_ddot, _ = motion(table, k, q, u, p)
        curvature = inverse_norm(d)
        n = times(curvature, d)
        across = dot(d_dot, d_dot) - dot(n, d_dot) ** 2
        out[table.row[k]] = p[table.at[k] + E] * (dot(n, d_ddot) + across * curvature)
