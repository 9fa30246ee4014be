"""Directions of sliding at contacts; the gaps themselves are rows of `point_rows`.

FLAT: a ball of radius r (0: a point) around the point s of body b, on a plane with the normal N = R_a n carried by body a.
    contact point  P = p_b - r N,      P' = p_b' - r N',       T = R_a tau,  T' = w_a x T,  N' = w_a x N
ROUND: balls around points of both bodies, or a ball inside a circle: N = d / |d| from p_a to p_b.
    contact point  P = p_a + rho N,    P' = p_a' + rho N',     N' = (d' - N (N.d')) / |d|
    T_1 = w / |w|,  w = e - (e.N) N,  e the axis that is least parallel to N;   T_2 = N x T_1     (plane: T = e_z x N)

    gamma = T . (v_b + w_b x r_b - v_a - w_a x r_a),      r = P - x
    kappa = T' . (v_b + w_b x r_b - v_a - w_a x r_a) + T . (w_b x r_b' - w_a x r_a'),      r' = P' - v
"""

from nonsmooth._core.bodies.frames import position, rotation, spin, velocity
from nonsmooth._core.bodies.point_rows import add_pair
from nonsmooth._core.bodies.table import table_at
from nonsmooth._core.bodies.vectors import cross, dot, minus, norm, plus, times, turned, vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, phase, with_record, word

#: Numbers of a row in p. FLAT: normal and tangent in a, point of b, radius. ROUND: points, rho, which tangent (0: plane, 1, 2).
FLAT_N, FLAT_T, FLAT_S, FLAT_R = 0, 3, 6, 9
FLAT_NUMBERS = 10
ROUND_A, ROUND_B, ROUND_RHO, ROUND_WHICH = 0, 3, 6, 7
ROUND_NUMBERS = 8


@phase
def point_velocity(table, b, R, x, q, u, P):
    """Velocity of the point of body b that is at P."""
    r = minus(P, x)
    return plus(velocity(table, b, u), cross(spin(table, b, R, u), r))


@phase
def slip_rate(table, k, q, u, R_a, R_b, P, P_dot, T, T_dot):
    """T' . (relative velocity) + T . (w_b x r_b' - w_a x r_a')."""
    a, b = table.a[k], table.b[k]
    x_a, x_b = position(table, a, q), position(table, b, q)
    w_a, w_b = spin(table, a, R_a, u), spin(table, b, R_b, u)
    v_a, v_b = velocity(table, a, u), velocity(table, b, u)
    relative = minus(plus(v_b, cross(w_b, minus(P, x_b))), plus(v_a, cross(w_a, minus(P, x_a))))
    turning = minus(cross(w_b, minus(P_dot, v_b)), cross(w_a, minus(P_dot, v_a)))
    return dot(T_dot, relative) + dot(T, turning)


# -- FLAT ----------------------------------------------------------------------------------------------------------------


@kernel(with_record(MATRIX), part=True)
def flat_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(word(record, 1))
    for k in range(table.a.size):
        a, b, at = table.a[k], table.b[k], table.at[k]
        R_a, R_b = rotation(table, a, q), rotation(table, b, q)
        N, T = turned(R_a, vector(p, at + FLAT_N)), turned(R_a, vector(p, at + FLAT_T))
        p_b = plus(position(table, b, q), turned(R_b, vector(p, at + FLAT_S)))
        P = minus(p_b, times(p[at + FLAT_R], N))
        row = out[table.row[k]]
        row[:] = 0.0
        add_pair(table, k, q, R_a, R_b, T, P, P, row)


@kernel(with_record(VECTOR), part=True)
def flat_kappa(t, q, u, p, out, record):
    """d/dt(W^T) u."""
    table = table_at(word(record, 1))
    for k in range(table.a.size):
        a, b, at = table.a[k], table.b[k], table.at[k]
        R_a, R_b = rotation(table, a, q), rotation(table, b, q)
        N, T = turned(R_a, vector(p, at + FLAT_N)), turned(R_a, vector(p, at + FLAT_T))
        x_b, w_a = position(table, b, q), spin(table, a, R_a, u)
        p_b = plus(x_b, turned(R_b, vector(p, at + FLAT_S)))
        P = minus(p_b, times(p[at + FLAT_R], N))
        P_dot = minus(point_velocity(table, b, R_b, x_b, q, u, p_b), times(p[at + FLAT_R], cross(w_a, N)))
        out[table.row[k]] = slip_rate(table, k, q, u, R_a, R_b, P, P_dot, T, cross(w_a, T))


# -- ROUND ---------------------------------------------------------------------------------------------------------------


@phase
def least_parallel(N):
    """The axis that is least parallel to N."""
    x, y, z = abs(N[0]), abs(N[1]), abs(N[2])
    if x <= y and x <= z:
        return (1.0, 0.0, 0.0)
    if y <= z:
        return (0.0, 1.0, 0.0)
    return (0.0, 0.0, 1.0)


@phase
def round_tangent(which, N, N_dot):
    """Tangent number `which` and its rate."""
    if which == 0.0:
        return (-N[1], N[0], 0.0), (-N_dot[1], N_dot[0], 0.0)
    e = least_parallel(N)
    w = minus(e, times(dot(e, N), N))
    w_dot = times(-1.0, plus(times(dot(e, N_dot), N), times(dot(e, N), N_dot)))
    T_1 = times(1.0 / norm(w), w)
    T_1_dot = times(1.0 / norm(w), minus(w_dot, times(dot(T_1, w_dot), T_1)))
    if which == 1.0:
        return T_1, T_1_dot
    return cross(N, T_1), plus(cross(N_dot, T_1), cross(N, T_1_dot))


@kernel(with_record(MATRIX), part=True)
def round_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(word(record, 1))
    for k in range(table.a.size):
        a, b, at = table.a[k], table.b[k], table.at[k]
        R_a, R_b = rotation(table, a, q), rotation(table, b, q)
        p_a = plus(position(table, a, q), turned(R_a, vector(p, at + ROUND_A)))
        p_b = plus(position(table, b, q), turned(R_b, vector(p, at + ROUND_B)))
        d = minus(p_b, p_a)
        N = times(1.0 / norm(d), d)
        P = plus(p_a, times(p[at + ROUND_RHO], N))
        T, _ = round_tangent(p[at + ROUND_WHICH], N, N)
        row = out[table.row[k]]
        row[:] = 0.0
        add_pair(table, k, q, R_a, R_b, T, P, P, row)


@kernel(with_record(VECTOR), part=True)
def round_kappa(t, q, u, p, out, record):
    """d/dt(W^T) u."""
    table = table_at(word(record, 1))
    for k in range(table.a.size):
        a, b, at = table.a[k], table.b[k], table.at[k]
        R_a, R_b = rotation(table, a, q), rotation(table, b, q)
        x_a, x_b = position(table, a, q), position(table, b, q)
        p_a, p_b = (
            plus(x_a, turned(R_a, vector(p, at + ROUND_A))),
            plus(x_b, turned(R_b, vector(p, at + ROUND_B))),
        )
        v_a, v_b = (
            point_velocity(table, a, R_a, x_a, q, u, p_a),
            point_velocity(table, b, R_b, x_b, q, u, p_b),
        )
        d, d_dot = minus(p_b, p_a), minus(v_b, v_a)
        N = times(1.0 / norm(d), d)
        N_dot = times(1.0 / norm(d), minus(d_dot, times(dot(N, d_dot), N)))
        T, T_dot = round_tangent(p[at + ROUND_WHICH], N, N_dot)
        P, P_dot = plus(p_a, times(p[at + ROUND_RHO], N)), plus(v_a, times(p[at + ROUND_RHO], N_dot))
        out[table.row[k]] = slip_rate(table, k, q, u, R_a, R_b, P, P_dot, T, T_dot)
