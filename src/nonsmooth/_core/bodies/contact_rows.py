"""Directions of sliding at contacts; the gaps themselves are rows of `point_rows`.

FLAT: a ball of radius r (0: a point) around the point s of body b, on a plane with the normal N = R_a n carried by body a.
    contact point  P = p_b - r N,      P' = p_b' - r N',       T = R_a tau,  T' = w_a x T,  N' = w_a x N
ROUND: balls around points of both bodies, or a ball inside a circle: N = d / |d| from p_a to p_b.
    contact point  P = p_a + rho N,    P' = p_a' + rho N',     N' = (d' - N (N.d')) / |d|
    T_1 = w / |w|,  w = e - (e.N) N,  e the axis that is least parallel to N;   T_2 = N x T_1     (plane: T = e_z x N)

    gamma = T . (v_b + w_b x r_b - v_a - w_a x r_a),      r = P - x
    kappa = T' . (v_b + w_b x r_b - v_a - w_a x r_a) + T . (w_b x r_b' - w_a x r_a'),      r' = P' - v

ROLLING on a round contact, of velocities only:  gamma = T . (w_b - w_a),   kappa = T' . (w_b - w_a).
"""

from nonsmooth._core.bodies.frames import place, position, rotation, spin, velocity
from nonsmooth._core.bodies.point_rows import S_A, S_B, add_pair, ends
from nonsmooth._core.bodies.table import clear_row, table_at
from nonsmooth._core.bodies.turning_rows import add_couple
from nonsmooth._core.bodies.vectors import cross, dot, inverse_norm, minus, norm, plus, times, turned, vector
from nonsmooth._core.jit import MATRIX, VECTOR, kernel, own, phase, with_record

#: Numbers of a row in p. FLAT: normal and tangent in a, point of b, radius. ROUND: points, rho, which tangent (0: plane, 1, 2).
FLAT_N, FLAT_T, FLAT_S, FLAT_R = 0, 3, 6, 9
FLAT_NUMBERS = 10
ROUND_A, ROUND_B, ROUND_RHO, ROUND_WHICH = S_A, S_B, 6, 7  # points as all rows of points have them
ROUND_NUMBERS = 8


@phase
def point_velocity(table, b, R, q, u, P):
    """Velocity of the point of body b that is at P."""
    r = minus(P, position(table, b, q))
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


@phase
def flat_place(table, k, q, p):
    """Rotations of both bodies, N, T, the middle of the ball, the contact point."""
    at = table.at[k]
    R_a, R_b = rotation(table, table.a[k], q), rotation(table, table.b[k], q)
    N, T = turned(R_a, vector(p, at + FLAT_N)), turned(R_a, vector(p, at + FLAT_T))
    p_b = place(table, table.b[k], R_b, q, vector(p, at + FLAT_S))
    return R_a, R_b, N, T, p_b, minus(p_b, times(p[at + FLAT_R], N))


@kernel(with_record(MATRIX), part=True)
def flat_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, _, T, _, P = flat_place(table, k, q, p)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, T, P, P, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def flat_kappa(t, q, u, p, out, record):
    """d/dt(W^T) u."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, N, T, p_b, P = flat_place(table, k, q, p)
        w_a = spin(table, table.a[k], R_a, u)
        v_b = point_velocity(table, table.b[k], R_b, q, u, p_b)
        P_dot = minus(v_b, times(p[table.at[k] + FLAT_R], cross(w_a, N)))
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


@phase
def round_place(table, k, q, p):
    """Rotations of both bodies, the points, N (zero where they coincide), 1 / |d|."""
    R_a, R_b, p_a, p_b = ends(table, k, q, p)
    d = minus(p_b, p_a)
    return R_a, R_b, p_a, p_b, times(inverse_norm(d), d), inverse_norm(d)


@kernel(with_record(MATRIX), part=True)
def round_directions(t, q, u, p, out, record):
    """Rows of W^T."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, p_a, _, N, _ = round_place(table, k, q, p)
        P = plus(p_a, times(p[table.at[k] + ROUND_RHO], N))
        T, _ = round_tangent(p[table.at[k] + ROUND_WHICH], N, N)
        clear_row(table, k, out)
        add_pair(table, k, q, R_a, R_b, T, P, P, out[table.row[k]])


@phase
def round_rates(table, k, q, u, p):
    """What round_place says, the velocity of the point of a, N'."""
    R_a, R_b, p_a, p_b, N, curvature = round_place(table, k, q, p)
    v_a = point_velocity(table, table.a[k], R_a, q, u, p_a)
    d_dot = minus(point_velocity(table, table.b[k], R_b, q, u, p_b), v_a)
    return R_a, R_b, p_a, N, v_a, times(curvature, minus(d_dot, times(dot(N, d_dot), N)))


@kernel(with_record(VECTOR), part=True)
def round_kappa(t, q, u, p, out, record):
    """d/dt(W^T) u."""
    table = table_at(own(record))
    for k in range(table.a.size):
        rho, which = p[table.at[k] + ROUND_RHO], p[table.at[k] + ROUND_WHICH]
        R_a, R_b, p_a, N, v_a, N_dot = round_rates(table, k, q, u, p)
        T, T_dot = round_tangent(which, N, N_dot)
        P, P_dot = plus(p_a, times(rho, N)), plus(v_a, times(rho, N_dot))
        out[table.row[k]] = slip_rate(table, k, q, u, R_a, R_b, P, P_dot, T, T_dot)


@kernel(with_record(MATRIX), part=True)
def rolling_directions(t, q, u, p, out, record):
    """Rows of W^T of T . (w_b - w_a)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, _, _, N, _ = round_place(table, k, q, p)
        T, _ = round_tangent(p[table.at[k] + ROUND_WHICH], N, N)
        clear_row(table, k, out)
        add_couple(table, k, R_a, R_b, times(-1.0, T), T, out[table.row[k]])


@kernel(with_record(VECTOR), part=True)
def rolling_kappa(t, q, u, p, out, record):
    """T' . (w_b - w_a)."""
    table = table_at(own(record))
    for k in range(table.a.size):
        R_a, R_b, _, N, _, N_dot = round_rates(table, k, q, u, p)
        _, T_dot = round_tangent(p[table.at[k] + ROUND_WHICH], N, N_dot)
        relative = minus(spin(table, table.b[k], R_b, u), spin(table, table.a[k], R_a, u))
        out[table.row[k]] = dot(T_dot, relative)
