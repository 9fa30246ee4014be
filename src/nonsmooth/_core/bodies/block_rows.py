"""A ball around a point of body a (radius rho; a point if zero) outside a block of body b: a box with the half edges h, rounded by r; half
edges of zero make it a line or a point (a capsule, a ball).

    y = R_b^T (p_a - x_b) - m,   c = y clamped to [-h, h],   f = y - c
    g = |f| - (rho + r),   n = f / |f|                       outside: only components |y_i| > h_i count ("across")
    g = -min_i (h_i - |y_i|) - (rho + r)                     inside, n the face that is nearest

n points from the block to the ball, in the frame of b; N = R_b n. The ball does not turn with b, so that with w = w_b

    y' = R_b^T (p_a' - v_b - w x d),   y'' = R_b^T (p_a'' - 2 w x d' + w x (w x d)),   d = p_a - x_b,   d' = p_a' - v_b
    n' = (1_across - n n^T) y' / |f|,   kappa = n . y'' + n' . y'

Force -N on b and N on a, both at p_a. Sliding: at the point P = p_a - rho N, with the tangents of `contact_rows`:
N' = w x N + R_b n',   P' = p_a' - rho N'.
"""

from nonsmooth._core.bodies.contact_rows import point_velocity, round_tangent, slip_rate
from nonsmooth._core.bodies.frames import place, position, rotation, spin, velocity
from nonsmooth._core.bodies.point_rows import add_pair
from nonsmooth._core.bodies.table import clear_row, table_at
from nonsmooth._core.bodies.vectors import cross, dot, minus, norm, plus, times, turned, turned_back, vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, own, phase, with_record

#: Numbers of a row in p: point of a, middle of the block in b, half edges, rho + r (gap) or rho (sliding), which tangent (sliding).
POINT, MIDDLE, HALF, REACH, WHICH = 0, 3, 6, 9, 10
NUMBERS = 11


@phase
def beyond(y, h):
    """What of a coordinate is outside [-h, h]."""
    return y - h if y > h else y + h if y < -h else 0.0


@phase
def nearest(y, h):
    """|f| (negative inside) and n."""
    f = (beyond(y[0], h[0]), beyond(y[1], h[1]), beyond(y[2], h[2]))
    distance = norm(f)
    if distance > 0.0:
        return distance, times(1.0 / distance, f)
    x, v, z = h[0] - abs(y[0]), h[1] - abs(y[1]), h[2] - abs(y[2])
    # in the plane h_z is without bound
    if x <= v and x <= z:
        return -x, (1.0 if y[0] >= 0.0 else -1.0, 0.0, 0.0)
    if v <= z:
        return -v, (0.0, 1.0 if y[1] >= 0.0 else -1.0, 0.0)
    return -z, (0.0, 0.0, 1.0 if y[2] >= 0.0 else -1.0)


@phase
def block(table, k, q, p):
    """Rotations, the middle of the ball, y, |f|, n."""
    at = table.at[k]
    R_a, R_b = rotation(table, table.a[k], q), rotation(table, table.b[k], q)
    p_a = place(table, table.a[k], R_a, q, vector(p, at + POINT))
    y = minus(turned_back(R_b, minus(p_a, position(table, table.b[k], q))), vector(p, at + MIDDLE))
    distance, n = nearest(y, vector(p, at + HALF))
    return R_a, R_b, p_a, y, distance, n


@phase
def bending(y, h, distance, n, rate):
    """n'."""
    if distance <= 0.0:
        return (0.0, 0.0, 0.0)
    across = (
        rate[0] if abs(y[0]) > h[0] else 0.0,
        rate[1] if abs(y[1]) > h[1] else 0.0,
        rate[2] if abs(y[2]) > h[2] else 0.0,
    )
    return times(1.0 / distance, minus(across, times(dot(n, rate), n)))


@phase
def rate_of(table, k, q, u, R_b, p_a, v_a):
    """y'."""
    b = table.b[k]
    d, d_dot = minus(p_a, position(table, b, q)), minus(v_a, velocity(table, b, u))
    return turned_back(R_b, minus(d_dot, cross(spin(table, b, R_b, u), d)))


# -- gaps --------------------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def block_value(t, q, u, p, out, record):
    """g."""
    table = table_at(own(record))
    for k in range(table.a.size):
        distance = block(table, k, q, p)[4]
        out[table.row[k]] = distance - p[table.at[k] + REACH]


@kernel(with_record(MATRIX), part=True)
def block_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, p_a, _, _, n = block(table, k, q, p)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, times(-1.0, turned(R_b, n)), p_a, p_a, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def block_kappa(t, q, u, p, out, record):
    """n . y'' + n' . y'."""
    table = table_at(own(record))
    for k in range(table.a.size):
        a, b = table.a[k], table.b[k]
        R_a, R_b, p_a, y, distance, n = block(table, k, q, p)
        w, w_a, x_a = spin(table, b, R_b, u), spin(table, a, R_a, u), position(table, a, q)
        v_a = point_velocity(table, a, R_a, q, u, p_a)
        a_a = cross(w_a, cross(w_a, minus(p_a, x_a)))
        d, d_dot = minus(p_a, position(table, b, q)), minus(v_a, velocity(table, b, u))
        second = turned_back(R_b, plus(minus(a_a, times(2.0, cross(w, d_dot))), cross(w, cross(w, d))))
        rate = rate_of(table, k, q, u, R_b, p_a, v_a)
        turning = bending(y, vector(p, table.at[k] + HALF), distance, n, rate)
        out[table.row[k]] = dot(n, second) + dot(turning, rate)


# -- sliding -----------------------------------------------------------------------------------------------------------


@kernel(with_record(MATRIX), part=True)
def along_block_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, p_a, _, _, n = block(table, k, q, p)
        N = turned(R_b, n)
        P = minus(p_a, times(p[table.at[k] + REACH], N))
        T, _ = round_tangent(p[table.at[k] + WHICH], times(-1.0, N), N)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, T, P, P, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def along_block_kappa(t, q, u, p, out, record):
    """d/dt(W^T) u."""
    table = table_at(own(record))
    for k in range(table.a.size):
        rho, which, h = p[table.at[k] + REACH], p[table.at[k] + WHICH], vector(p, table.at[k] + HALF)
        R_a, R_b, p_a, y, distance, n = block(table, k, q, p)
        v_a = point_velocity(table, table.a[k], R_a, q, u, p_a)
        turning = bending(y, h, distance, n, rate_of(table, k, q, u, R_b, p_a, v_a))
        N = turned(R_b, n)
        N_dot = plus(cross(spin(table, table.b[k], R_b, u), N), turned(R_b, turning))
        P, P_dot = minus(p_a, times(rho, N)), minus(v_a, times(rho, N_dot))
        T, T_dot = round_tangent(which, times(-1.0, N), times(-1.0, N_dot))
        out[table.row[k]] = slip_rate(table, k, q, u, R_a, R_b, P, P_dot, T, T_dot)
