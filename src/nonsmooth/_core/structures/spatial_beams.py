"""The geometrically exact beam in space with helicoidal elements: strains are constant in an element, which is a piece of a helix.
V. Sonneville, A. Cardona, O. Bruls, "Geometrically exact beam finite element formulated on the special Euclidean group SE(3)",
Comput. Methods Appl. Mech. Engrg. 268 (2014) 451-474.

Nodes (x, R), R from the axes of the world at the start to those of now; D are the axes of the section of an element at the start, first
along it. With r = (R_1 D)^T (x_2 - x_1), exp [theta] = (R_1 D)^T R_2 D and B(theta) of `rotation_vectors`

    Gamma = B r / L - Gamma_0,   kappa = theta / L - kappa_0          stretch, shear (2);  twist, bending (2)
    V = L/2 (Gamma, kappa) . C (Gamma, kappa),    (n, m) = C (strain + tau strain rate),   C = diag(EA, GA, GA_2, GJ, EI_2, EI)

Increments: x <- x + dx, R <- R exp [phi]. With f = D^T phi on either node, A = d(B r)/d theta:

    d theta = B^T f_2 - B f_1,    d(B r) = B (R_1 D)^T (dx_2 - dx_1) + B (r x f_1) + A d theta
    A e = -e x r / 2 + c (e (theta.r) + theta (e.r) - 2 r (theta.e)) + 2 c' (theta.e) (theta (theta.r) - s r),   c' = dc/ds

Forces are minus the transpose on (n, m). Strains of the start carry no force. Pure bending and torsion are exact whatever the number of
elements; small motions have the strains of linear elements with one point of integration: no locking. Rotary inertia stands on the
nodes, so that M is constant: h_omega = -omega x J omega. K: G^T C G / L, G the matrix of the increments above, and the change of G^T (n, m)
at constant (n, m) by differences (exact to 1e-10 of them); dropped: the change of strain rates with q (times tau).
"""

from math import cos, sin
from typing import NamedTuple

import numpy as np

from nonsmooth._core.bodies.rotation_vectors import (
    bent,
    rotation_vector,
    slope_of_third_factor,
    third_factor,
)
from nonsmooth._core.bodies.vectors import (
    cross,
    dot,
    minus,
    plus,
    quaternion_rotation,
    times,
    turned,
    turned_back,
    vector,
)
from nonsmooth._core.jit import VECTOR, by_reference, kernel, own, phase, with_record

#: Numbers of an element in p: length, C, tau, strains of the start, D row by row. Of a node: inertia xx, yy, zz, xy, xz, yz.
LENGTH, C, TAU, START, AXES = 0, 1, 7, 8, 14
NUMBERS, NODE_NUMBERS = 23, 6

UNIT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
STEP = 1e-5  # of differences, in angles and lengths of elements


class SpatialBeam(NamedTuple):
    """Nodes and elements of one beam; places are -1 where something is held."""

    x: np.ndarray  # (nodes,) places of positions in q
    turn: np.ndarray  # of quaternions
    v: np.ndarray  # of velocities in u
    omega: np.ndarray
    held: np.ndarray  # (nodes, 3) positions that are held
    node_at: np.ndarray  # numbers of nodes in p
    at: np.ndarray  # numbers of elements in p; element k joins the nodes k and k + 1
    tangent: np.ndarray  # (elements, 144) places among the values of the tangent
    work: np.ndarray  # (4, 12)
    G: np.ndarray  # (12, 6)


def _example():
    integers, square = np.zeros(1, dtype=np.int64), np.zeros((1, 1), dtype=np.int64)
    floats = np.zeros((1, 1))
    return SpatialBeam(*(integers,) * 4, floats, integers, integers, square, floats, floats)


_, beam_at = by_reference(_example())


# -- nodes -------------------------------------------------------------------------------------------------------------


@phase
def node_position(s, k, q):
    return vector(q, s.x[k]) if s.x[k] >= 0 else (s.held[k, 0], s.held[k, 1], s.held[k, 2])


@phase
def node_rotation(s, k, q):
    """R row by row."""
    i = s.turn[k]
    return quaternion_rotation(q, i) if i >= 0 else UNIT


@phase
def node_rates(s, k, u):
    """Velocity and angular velocity (in the frame of the node)."""
    v = vector(u, s.v[k]) if s.v[k] >= 0 else (0.0, 0.0, 0.0)
    w = vector(u, s.omega[k]) if s.omega[k] >= 0 else (0.0, 0.0, 0.0)
    return v, w


@phase
def axes_of(p, at):
    """D row by row."""
    i = at + AXES
    return (p[i], p[i + 1], p[i + 2], p[i + 3], p[i + 4], p[i + 5], p[i + 6], p[i + 7], p[i + 8])


@phase
def product(P, Q):
    """P Q of matrices row by row."""
    return (
        P[0] * Q[0] + P[1] * Q[3] + P[2] * Q[6], P[0] * Q[1] + P[1] * Q[4] + P[2] * Q[7], P[0] * Q[2] + P[1] * Q[5] + P[2] * Q[8],
        P[3] * Q[0] + P[4] * Q[3] + P[5] * Q[6], P[3] * Q[1] + P[4] * Q[4] + P[5] * Q[7], P[3] * Q[2] + P[4] * Q[5] + P[5] * Q[8],
        P[6] * Q[0] + P[7] * Q[3] + P[8] * Q[6], P[6] * Q[1] + P[7] * Q[4] + P[8] * Q[7], P[6] * Q[2] + P[7] * Q[5] + P[8] * Q[8],
    )  # fmt: skip


@phase
def transposed(P):
    return (P[0], P[3], P[6], P[1], P[4], P[7], P[2], P[5], P[8])


@phase
def spun(R, j, angle):
    """R exp(angle [e_j])."""
    a, b = (j + 1) % 3, (j + 2) % 3
    c, s = cos(angle), sin(angle)
    A = (c * R[a] + s * R[b], c * R[3 + a] + s * R[3 + b], c * R[6 + a] + s * R[6 + b])
    E = (c * R[b] - s * R[a], c * R[3 + b] - s * R[3 + a], c * R[6 + b] - s * R[6 + a])
    J = (R[j], R[3 + j], R[6 + j])
    x, y, z = J, A, E
    if j == 1:
        x, y, z = E, J, A
    elif j == 2:
        x, y, z = A, E, J
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


# -- strains and their changes ------------------------------------------------------------------------------------------


@phase
def shape(S_1, S_2, x_1, x_2):
    """r and theta; S = R D."""
    return turned_back(S_1, minus(x_2, x_1)), rotation_vector(product(transposed(S_1), S_2))


@phase
def by_theta(theta, r, e):
    """A e."""
    along, across = dot(theta, r), dot(e, r)
    of_e, s = dot(theta, e), dot(theta, theta)
    mixed = minus(plus(times(along, e), times(across, theta)), times(2.0 * of_e, r))
    change = 2.0 * slope_of_third_factor(theta) * of_e
    bend = times(change, minus(times(along, theta), times(s, r)))
    return plus(plus(times(-0.5, cross(e, r)), times(third_factor(theta), mixed)), bend)


@phase
def by_theta_back(theta, r, n):
    """A^T n."""
    along, of_n, both, s = dot(theta, r), dot(theta, n), dot(r, n), dot(theta, theta)
    mixed = minus(plus(times(along, n), times(of_n, r)), times(2.0 * both, theta))
    change = 2.0 * slope_of_third_factor(theta) * (of_n * along - s * both)
    return plus(plus(times(-0.5, cross(r, n)), times(third_factor(theta), mixed)), times(change, theta))


@phase
def pull(S_1, D, r, theta, n, m, out):
    """G^T (n, m), 12 numbers: (x, phi) of both nodes."""
    Bn = bent(theta, 1.0, n)
    mu = plus(m, by_theta_back(theta, r, n))
    F = turned(S_1, Bn)
    T_1 = turned(D, minus(cross(Bn, r), bent(theta, 1.0, mu)))
    T_2 = turned(D, bent(theta, -1.0, mu))
    for i in range(3):
        out[i], out[6 + i] = -F[i], F[i]
        out[3 + i], out[9 + i] = T_1[i], T_2[i]


@phase
def slopes(S_1, D, r, theta, G):
    """G^T: change of (L Gamma, L kappa) with each of the 12 increments."""
    for j in range(3):
        along = bent(theta, -1.0, (S_1[3 * j], S_1[3 * j + 1], S_1[3 * j + 2]))  # B S_1^T e_j
        f = (D[3 * j], D[3 * j + 1], D[3 * j + 2])  # D^T e_j
        e_1, e_2 = times(-1.0, bent(theta, -1.0, f)), bent(theta, 1.0, f)
        first = plus(bent(theta, -1.0, cross(r, f)), by_theta(theta, r, e_1))
        second = by_theta(theta, r, e_2)
        for i in range(3):
            G[j, i], G[6 + j, i] = -along[i], along[i]
            G[j, 3 + i], G[6 + j, 3 + i] = 0.0, 0.0
            G[3 + j, i], G[3 + j, 3 + i] = first[i], e_1[i]
            G[9 + j, i], G[9 + j, 3 + i] = second[i], e_2[i]


@phase
def strain_rates(S_1, D, r, theta, v_1, w_1, v_2, w_2):
    """Rates of L Gamma and L kappa."""
    f_1, f_2 = turned_back(D, w_1), turned_back(D, w_2)
    e = minus(bent(theta, 1.0, f_2), bent(theta, -1.0, f_1))
    moved = bent(theta, -1.0, plus(turned_back(S_1, minus(v_2, v_1)), cross(r, f_1)))
    return plus(moved, by_theta(theta, r, e)), e


@phase
def resultants(s, k, q, u, p):
    """S_1, S_2, r, theta, n, m of an element."""
    at = s.at[k]
    L, tau, D = p[at + LENGTH], p[at + TAU], axes_of(p, at)
    S_1, S_2 = product(node_rotation(s, k, q), D), product(node_rotation(s, k + 1, q), D)
    r, theta = shape(S_1, S_2, node_position(s, k, q), node_position(s, k + 1, q))
    gamma = minus(times(1.0 / L, bent(theta, -1.0, r)), vector(p, at + START))
    kappa = minus(times(1.0 / L, theta), vector(p, at + START + 3))
    if tau != 0.0:
        v_1, w_1 = node_rates(s, k, u)
        v_2, w_2 = node_rates(s, k + 1, u)
        rate, turn = strain_rates(S_1, D, r, theta, v_1, w_1, v_2, w_2)
        gamma, kappa = plus(gamma, times(tau / L, rate)), plus(kappa, times(tau / L, turn))
    n = (p[at + C] * gamma[0], p[at + C + 1] * gamma[1], p[at + C + 2] * gamma[2])
    m = (p[at + C + 3] * kappa[0], p[at + C + 4] * kappa[1], p[at + C + 5] * kappa[2])
    return S_1, S_2, r, theta, n, m


@phase
def momentum(p, at, w):
    """J omega."""
    xx, yy, zz = vector(p, at)
    xy, xz, yz = vector(p, at + 3)
    return (
        xx * w[0] + xy * w[1] + xz * w[2], xy * w[0] + yy * w[1] + yz * w[2], xz * w[0] + yz * w[1] + zz * w[2],
    )  # fmt: skip


# -- kernels -----------------------------------------------------------------------------------------------------------


@kernel(with_record(VECTOR), part=True)
def beam_forces(t, q, u, p, out, record):
    """h of all elements and nodes."""
    s = beam_at(own(record))
    f = s.work[0]
    for k in range(s.at.size):
        S_1, _, r, theta, n, m = resultants(s, k, q, u, p)
        pull(S_1, axes_of(p, s.at[k]), r, theta, n, m, f)
        for side in range(2):
            v, omega = s.v[k + side], s.omega[k + side]
            for i in range(3):
                if v >= 0:
                    out[v + i] -= f[6 * side + i]
                if omega >= 0:
                    out[omega + i] -= f[6 * side + 3 + i]
    for k in range(s.omega.size):
        if s.omega[k] >= 0:
            w = vector(u, s.omega[k])
            gyro = cross(momentum(p, s.node_at[k], w), w)
            for i in range(3):
                out[s.omega[k] + i] += gyro[i]


@phase
def add_material(s, k, p, S_1, r, theta, factor, values):
    """factor G^T C G / L."""
    at = s.at[k]
    slopes(S_1, axes_of(p, at), r, theta, s.G)
    for i in range(12):
        for j in range(12):
            place = s.tangent[k, 12 * i + j]
            if place >= 0:
                entry = 0.0
                for c in range(6):
                    entry += s.G[i, c] * p[at + C + c] * s.G[j, c]
                values[place] += factor * entry / p[at + LENGTH]


@phase
def moved_pull(s, k, q, D, column, step, n, m, out):
    """G^T (n, m) after a step along one of the 12 increments."""
    x_1, x_2 = node_position(s, k, q), node_position(s, k + 1, q)
    R_1, R_2 = node_rotation(s, k, q), node_rotation(s, k + 1, q)
    j = column % 3
    along = (step if j == 0 else 0.0, step if j == 1 else 0.0, step if j == 2 else 0.0)
    if column < 3:
        x_1 = plus(x_1, along)
    elif column < 6:
        R_1 = spun(R_1, j, step)
    elif column < 9:
        x_2 = plus(x_2, along)
    else:
        R_2 = spun(R_2, j, step)
    S_1, S_2 = product(R_1, D), product(R_2, D)
    r, theta = shape(S_1, S_2, x_1, x_2)
    pull(S_1, D, r, theta, n, m, out)


@kernel(with_record(VECTOR), part=True)
def beam_stiffness(t, q, u, p, values, record):
    """K on the pattern of the tangent."""
    s = beam_at(own(record))
    there, back = s.work[1], s.work[2]
    for k in range(s.at.size):
        D = axes_of(p, s.at[k])
        S_1, _, r, theta, n, m = resultants(s, k, q, u, p)
        add_material(s, k, p, S_1, r, theta, 1.0, values)
        for column in range(12):
            step = STEP * (p[s.at[k] + LENGTH] if column % 6 < 3 else 1.0)
            moved_pull(s, k, q, D, column, step, n, m, there)
            moved_pull(s, k, q, D, column, -step, n, m, back)
            for i in range(12):
                place = s.tangent[k, 12 * i + column]
                if place >= 0:
                    values[place] += 0.5 * (there[i] - back[i]) / step


@kernel(with_record(VECTOR), part=True)
def beam_damping(t, q, u, p, values, record):
    """D on the pattern of the tangent: tau G^T C G / L, and [omega] J - [J omega] of nodes."""
    s = beam_at(own(record))
    for k in range(s.at.size):
        tau = p[s.at[k] + TAU]
        if tau != 0.0:
            S_1, _, r, theta, _, _ = resultants(s, k, q, u, p)
            add_material(s, k, p, S_1, r, theta, tau, values)
    for node in range(s.omega.size):
        if s.omega[node] < 0:
            continue
        w = vector(u, s.omega[node])
        k, side = (node, 0) if node < s.at.size else (node - 1, 1)
        L = momentum(p, s.node_at[node], w)
        for j in range(3):
            e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
            column = plus(cross(w, momentum(p, s.node_at[node], e)), cross(e, L))
            for i in range(3):
                place = s.tangent[k, 12 * (6 * side + 3 + i) + 6 * side + 3 + j]
                if place >= 0:
                    values[place] += column[i]
