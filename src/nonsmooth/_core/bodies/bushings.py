"""Bushings: bodies b and a held together in all directions by forces of six components s, in the frame of a.

    s = (d, theta),   d = R_a^T (p_b - p_a),   exp [theta] = R_a^T R_b R_0^T          R_0: R_a^T R_b at the start

Forces are those of work f . ds, f = K s + C s' or what a law of the user says: with B(theta) of `rotation_vectors`,

    d' = R_a^T (velocity of p_b seen from a),   theta' = B R_a^T (w_b - w_a),   force -R_a f_d at p_b, torque -R_a B^T f_theta

so K conserves energy however large the turning is, and C takes it. In the plane theta counts full turns and B = 1; in space it stays
within half a turn.
"""

from nonsmooth._core.bodies.frames import add_wrench, place, plane_angle, position, rotation, spin, velocity
from nonsmooth._core.bodies.rotation_vectors import bent, rotation_vector
from nonsmooth._core.bodies.table import table_at
from nonsmooth._core.bodies.turning_rows import NO_FORCE
from nonsmooth._core.bodies.vectors import (
    cross,
    dot,
    minus,
    plus,
    times,
    turned,
    turned_back,
    vector,
)
from nonsmooth._core.calls.model_functions import call_vector
from nonsmooth._core.jit import VECTOR, floats_at, kernel, own, phase, with_record, words

#: Numbers in p: points of both bodies, R_0 row by row, angle at the start (plane), K and C row by row.
S_A, S_B, R_0, ANGLE_0, K, C = 0, 3, 6, 15, 16, 52
NUMBERS = 88
#: A bushing whose law is a function of the user; scratch for s, s' and f, of so many components each.
ByLaw, by_law_at = words("ByLaw", "table function scratch components")


@phase
def turning(table, k, q, p, R_a, R_b):
    """theta, and that of B (zero in the plane)."""
    a, b, at = table.a[k], table.b[k], table.at[k]
    if table.frames.dim[b] == 2:
        angle = plane_angle(table, b, q) - plane_angle(table, a, q) - p[at + ANGLE_0]
        return (0.0, 0.0, angle), NO_FORCE
    # columns of R_a^T R_b, which R_0^T mixes
    c_0 = turned_back(R_a, (R_b[0], R_b[3], R_b[6]))
    c_1 = turned_back(R_a, (R_b[1], R_b[4], R_b[7]))
    c_2 = turned_back(R_a, (R_b[2], R_b[5], R_b[8]))
    r_0, r_1, r_2 = vector(p, at + R_0), vector(p, at + R_0 + 3), vector(p, at + R_0 + 6)
    t_0, t_1, t_2 = (c_0[0], c_1[0], c_2[0]), (c_0[1], c_1[1], c_2[1]), (c_0[2], c_1[2], c_2[2])
    theta = rotation_vector(
        (dot(t_0, r_0), dot(t_0, r_1), dot(t_0, r_2), dot(t_1, r_0), dot(t_1, r_1), dot(t_1, r_2),
         dot(t_2, r_0), dot(t_2, r_1), dot(t_2, r_2))
    )  # fmt: skip
    return theta, theta


@phase
def deformed(table, k, q, u, p):
    """d, theta, their rates, theta of B."""
    a, b, at = table.a[k], table.b[k], table.at[k]
    R_a, R_b = rotation(table, a, q), rotation(table, b, q)
    p_a, p_b = place(table, a, R_a, q, vector(p, at + S_A)), place(table, b, R_b, q, vector(p, at + S_B))
    w_a, w_b = spin(table, a, R_a, u), spin(table, b, R_b, u)
    v_b = plus(velocity(table, b, u), cross(w_b, minus(p_b, position(table, b, q))))
    v_a = plus(velocity(table, a, u), cross(w_a, minus(p_b, position(table, a, q))))  # of a, where p_b is
    theta, of_B = turning(table, k, q, p, R_a, R_b)
    rate = bent(of_B, -1.0, turned_back(R_a, minus(w_b, w_a)))
    return turned_back(R_a, minus(p_b, p_a)), theta, turned_back(R_a, minus(v_b, v_a)), rate, of_B


@phase
def hold(table, k, q, p, f_d, f_theta, of_B, out):
    """Force -R_a f_d at p_b and torque -R_a B^T f_theta on b, the opposite on a."""
    a, b = table.a[k], table.b[k]
    R_a, R_b = rotation(table, a, q), rotation(table, b, q)
    p_b = place(table, b, R_b, q, vector(p, table.at[k] + S_B))
    F, T = turned(R_a, times(-1.0, f_d)), turned(R_a, bent(of_B, 1.0, times(-1.0, f_theta)))
    r_a, r_b = minus(p_b, position(table, a, q)), minus(p_b, position(table, b, q))
    add_wrench(table, b, R_b, F, plus(T, cross(r_b, F)), out)
    add_wrench(table, a, R_a, times(-1.0, F), times(-1.0, plus(T, cross(r_a, F))), out)


@phase
def row_times(p, at, x, y):
    """One row of a matrix with six columns times (x, y)."""
    return dot(vector(p, at), x) + dot(vector(p, at + 3), y)


@phase
def rows_times(p, at, x, y):
    """Three neighbouring rows."""
    return (row_times(p, at, x, y), row_times(p, at + 6, x, y), row_times(p, at + 12, x, y))


@kernel(with_record(VECTOR), part=True)
def bushings(t, q, u, p, out, record):
    """f = K s + C s'."""
    table = table_at(own(record))
    for k in range(table.a.size):
        at = table.at[k]
        d, theta, d_1, theta_1, of_B = deformed(table, k, q, u, p)
        f_d = plus(rows_times(p, at + K, d, theta), rows_times(p, at + C, d_1, theta_1))
        f_theta = plus(rows_times(p, at + K + 18, d, theta), rows_times(p, at + C + 18, d_1, theta_1))
        hold(table, k, q, p, f_d, f_theta, of_B, out)


@phase
def fill(x, at, d, theta, in_plane):
    """Components as the user sees them: (x, y, phi), or all six."""
    for i in range(2 if in_plane else 3):
        x[at + i] = d[i]
    if in_plane:
        x[at + 2] = theta[2]
    else:
        for i in range(3):
            x[at + 3 + i] = theta[i]


@kernel(with_record(VECTOR), part=True)
def bushing_by_function(t, q, u, p, out, record):
    """f = law(t, s, s')."""
    law = by_law_at(record)
    n = law.components
    table, x = table_at(law.table), floats_at(law.scratch, 3 * n)
    in_plane = table.frames.dim[table.b[0]] == 2
    d, theta, d_1, theta_1, of_B = deformed(table, 0, q, u, p)
    fill(x, 0, d, theta, in_plane)
    fill(x, n, d_1, theta_1, in_plane)
    f = x[2 * n :]
    call_vector(law.function, t, x[0:n], x[n : 2 * n], p, f)
    f_d, f_theta = (f[0], f[1], 0.0), (0.0, 0.0, f[2])
    if not in_plane:
        f_d, f_theta = vector(f, 0), vector(f, 3)
    hold(table, 0, q, p, f_d, f_theta, of_B, out)
