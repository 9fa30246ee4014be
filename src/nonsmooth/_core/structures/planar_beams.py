"""The planar geometrically exact beam: J. C. Simo, "A finite strain beam formulation. The three-dimensional dynamic problem. Part I",
Comput. Methods Appl. Mech. Engrg. 49 (1985) 55-70, in the plane (E. Reissner, ZAMP 23 (1972) 795-804).

Linear elements with one point of integration in the middle (no locking). Nodes (x, y, phi), phi the angle of the cross-section; in an
element of length L with d = x_2 - x_1 and theta = (phi_1 + phi_2)/2

    c = R(theta)^T d / L,   Gamma = c - c_0,   kappa = (phi_2 - phi_1)/L - kappa_0          stretch and shear, curvature
    V = L/2 (EA Gamma_1^2 + GA Gamma_2^2 + EI kappa^2)
    (N, Q, M) = (EA, GA, EI) (strain + tau strain rate)
    h = -dV/d(x, phi):   force R (N, Q) on node 1, the opposite on node 2;  moments +-M - 1/2 L (N c_2 - Q c_1) on either node

Strains of the start (c_0, kappa_0) carry no force: curved beams. Tangent: material part L B^T C B, B = d strain/d(x, phi), and geometric
part; dropped from K: the change of strain rates with q (times tau).
"""

from math import cos, sin

from nonsmooth._core.jit import VECTOR, kernel, own, phase, with_record
from nonsmooth._core.structures.elements import add_entry, add_force, coordinate, elements_at, rate

#: Numbers of an element in p.
LENGTH, EA, GA, EI, TAU, C_1, C_2, KAPPA = 0, 1, 2, 3, 4, 5, 6, 7
NUMBERS = 8


@phase
def shape(e, k, q, p):
    """cos and sin of theta, c, kappa + kappa_0."""
    L = p[e.at[k] + LENGTH]
    phi_1, phi_2 = coordinate(e, k, 2, q), coordinate(e, k, 5, q)
    theta = 0.5 * (phi_1 + phi_2)
    cs, sn = cos(theta), sin(theta)
    dx = (coordinate(e, k, 3, q) - coordinate(e, k, 0, q)) / L
    dy = (coordinate(e, k, 4, q) - coordinate(e, k, 1, q)) / L
    return cs, sn, cs * dx + sn * dy, cs * dy - sn * dx, (phi_2 - phi_1) / L


@phase
def resultants(e, k, u, p, cs, sn, c_1, c_2, turn):
    """N, Q, M."""
    at = e.at[k]
    L, tau = p[at + LENGTH], p[at + TAU]
    g_1, g_2, kappa = c_1 - p[at + C_1], c_2 - p[at + C_2], turn - p[at + KAPPA]
    if tau != 0.0:
        w_1, w_2 = rate(e, k, 2, u), rate(e, k, 5, u)
        vx, vy = (rate(e, k, 3, u) - rate(e, k, 0, u)) / L, (rate(e, k, 4, u) - rate(e, k, 1, u)) / L
        w = 0.5 * (w_1 + w_2)
        g_1 += tau * (cs * vx + sn * vy + c_2 * w)
        g_2 += tau * (cs * vy - sn * vx - c_1 * w)
        kappa += tau * (w_2 - w_1) / L
    return p[at + EA] * g_1, p[at + GA] * g_2, p[at + EI] * kappa


@kernel(with_record(VECTOR), part=True)
def beam_forces(t, q, u, p, out, record):
    """h of all elements of a beam."""
    e = elements_at(own(record))
    for k in range(e.at.size):
        L = p[e.at[k] + LENGTH]
        cs, sn, c_1, c_2, turn = shape(e, k, q, p)
        N, Q, M = resultants(e, k, u, p, cs, sn, c_1, c_2, turn)
        fx, fy, couple = cs * N - sn * Q, sn * N + cs * Q, 0.5 * L * (N * c_2 - Q * c_1)
        add_force(e, k, 0, fx, out)
        add_force(e, k, 1, fy, out)
        add_force(e, k, 2, M - couple, out)
        add_force(e, k, 3, -fx, out)
        add_force(e, k, 4, -fy, out)
        add_force(e, k, 5, -M - couple, out)


@phase
def strain_rows(i, cs, sn, c_1, c_2, L):
    """Column i of B: change of c_1, c_2 and kappa with coordinate i."""
    sign = -1.0 if i < 3 else 1.0
    if i == 0 or i == 3:
        return sign * cs / L, -sign * sn / L, 0.0
    if i == 1 or i == 4:
        return sign * sn / L, sign * cs / L, 0.0
    return 0.5 * c_2, -0.5 * c_1, sign / L


@phase
def add_material(e, k, p, cs, sn, c_1, c_2, factor, values):
    """factor L B^T C B."""
    at = e.at[k]
    L = p[at + LENGTH]
    for i in range(6):
        a_1, a_2, a_3 = strain_rows(i, cs, sn, c_1, c_2, L)
        n_1, n_2, n_3 = (
            factor * L * p[at + EA] * a_1,
            factor * L * p[at + GA] * a_2,
            factor * L * p[at + EI] * a_3,
        )
        for j in range(6):
            b_1, b_2, b_3 = strain_rows(j, cs, sn, c_1, c_2, L)
            add_entry(e, k, 6 * i + j, n_1 * b_1 + n_2 * b_2 + n_3 * b_3, values)


@phase
def add_geometric(e, k, L, N, Q, cs, sn, c_1, c_2, values):
    """L (N d^2 c_1 + Q d^2 c_2)."""
    wx, wy, turning = -0.5 * (N * sn + Q * cs), 0.5 * (N * cs - Q * sn), -0.25 * L * (N * c_1 + Q * c_2)
    for i in (2, 5):
        for j in (0, 3):
            sign = -1.0 if j == 0 else 1.0
            add_entry(e, k, 6 * i + j, sign * wx, values)
            add_entry(e, k, 6 * j + i, sign * wx, values)
            add_entry(e, k, 6 * i + j + 1, sign * wy, values)
            add_entry(e, k, 6 * (j + 1) + i, sign * wy, values)
        for j in (2, 5):
            add_entry(e, k, 6 * i + j, turning, values)


@kernel(with_record(VECTOR), part=True)
def beam_stiffness(t, q, u, p, values, record):
    """K on the pattern of the tangent."""
    e = elements_at(own(record))
    for k in range(e.at.size):
        cs, sn, c_1, c_2, turn = shape(e, k, q, p)
        N, Q, _ = resultants(e, k, u, p, cs, sn, c_1, c_2, turn)
        add_material(e, k, p, cs, sn, c_1, c_2, 1.0, values)
        add_geometric(e, k, p[e.at[k] + LENGTH], N, Q, cs, sn, c_1, c_2, values)


@kernel(with_record(VECTOR), part=True)
def beam_damping(t, q, u, p, values, record):
    """D on the pattern of the tangent."""
    e = elements_at(own(record))
    for k in range(e.at.size):
        tau = p[e.at[k] + TAU]
        if tau != 0.0:
            cs, sn, c_1, c_2, _ = shape(e, k, q, p)
            add_material(e, k, p, cs, sn, c_1, c_2, tau, values)
