"""Tangents of function models: the weighted tangent against formulas, patterns, colours, sources; derivatives by parameters."""

import numpy as np
import pytest
from scipy import sparse

from nonsmooth import Contact, Joint, MechanicalSystem
from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.errors import ShapeError
from nonsmooth.model.assembled import Assembled
from nonsmooth.model.colouring import Pattern

COMPLEX = "complex step" if JIT_ENABLED else "differences"


# -- double pendulum: M, h and W depend on q; angles from the vertical, l = 1, m = 1, g = 9.81 ---------------------------


def mass(t, q):
    c = np.cos(q[0] - q[1])
    M = np.zeros((2, 2)) + 0.0 * c
    M[0, 0], M[0, 1], M[1, 0], M[1, 1] = 2.0, c, c, 1.0
    return M


def force(t, q, u):
    s = np.sin(q[0] - q[1])
    return np.array(
        [-s * u[1] * u[1] - 19.62 * np.sin(q[0]) - 0.1 * u[0], s * u[0] * u[0] - 9.81 * np.sin(q[1])]
    )


PENDULUM = MechanicalSystem(
    mass,
    force,
    contacts=Contact(lambda t, q: 3.0 - np.cos(q[0]) - np.cos(q[1]), name="floor"),
    joints=Joint(lambda t, q: np.sin(q[0]) * q[1], name="slot"),
)


def test_double_pendulum():
    q, u, a, la = np.array([0.4, -0.9]), np.array([1.2, 0.5]), np.array([0.7, -2.0]), np.array([3.0, -1.5])
    model = PENDULUM.bind(0.0, q, u)
    s, c = np.sin(q[0] - q[1]), np.cos(q[0] - q[1])
    M = np.array([[2.0, c], [c, 1.0]])
    dh_dq = np.array(
        [
            [-c * u[1] ** 2 - 19.62 * np.cos(q[0]), c * u[1] ** 2],
            [c * u[0] ** 2, -c * u[0] ** 2 - 9.81 * np.cos(q[1])],
        ]
    )
    dh_du = np.array([[-0.1, -2 * s * u[1]], [2 * s * u[0], 0.0]])
    dMa_dq = np.array([[-s * a[1], s * a[1]], [-s * a[0], s * a[0]]])
    # W la = la_0 (sin q0, sin q1) + la_1 (cos(q0) q1, sin q0)
    dWla_dq = np.array(
        [
            [la[0] * np.cos(q[0]) - la[1] * np.sin(q[0]) * q[1], la[1] * np.cos(q[0])],
            [la[1] * np.cos(q[0]), la[0] * np.cos(q[1])],
        ]
    )
    dq, du = model.tangents(0.0, q, u)
    np.testing.assert_allclose(dq, dh_dq, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(du, dh_du, rtol=1e-10, atol=1e-10)
    K = dMa_dq - dh_dq - dWla_dq
    for cM, cD, cK in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (2.0, -0.3, 0.07)):
        found = model.tangent(0.0, q, u, a, la, cM, cD, cK).toarray()
        np.testing.assert_allclose(found, cM * M - cD * dh_du + cK * K, rtol=1e-9, atol=1e-9)


# -- patterns ---------------------------------------------------------------------------------------------------------------


def chain_force(t, q, u, p):
    h = np.zeros_like(q)
    for i in range(q.size):
        left = q[i] - q[i - 1] if i > 0 else q[i] * 1.0
        f = -p.k * (left + left * left**2)
        h[i] += f - 0.1 * u[i]
        if i > 0:
            h[i - 1] -= f
    return h


def one_sided(t, q, u, p):
    h = -0.1 * u
    for i in range(1, q.size):
        push = p.k * max(0.0, q[i - 1] - q[i] + 0.7)  # closed by moves only
        h[i] += push
        h[i - 1] -= push
    return h


def unit_mass(t, q):
    return np.eye(q.size)


def test_a_chain_is_three_colours():
    n = 40
    q, u = np.linspace(0.1, 1.0, n), np.ones(n)
    model = MechanicalSystem(unit_mass, chain_force, params={"k": 3.0}).bind(0.0, q, u)
    part = model.tangent_parts.parts["h_by_q"]
    assert part.pattern.bandwidth == (1, 1) and part.pattern.size == 3 * n - 2
    assert part.pattern.colours()[1].size - 1 == 3
    assert model.differentiator.sources == {"d/dq h": COMPLEX, "d/du h": COMPLEX}
    stiffness = 3.0 * (1.0 + 3.0 * np.diff(np.append(0.0, q)) ** 2)
    exact = np.diag(-stiffness) + np.diag(stiffness[1:], 1) + np.diag(stiffness[1:], -1)
    exact[np.arange(n - 1), np.arange(n - 1)] -= stiffness[1:]
    np.testing.assert_allclose(model.tangents(0.0, q, u)[0], exact, rtol=1e-9, atol=1e-9)


def test_one_sided_forces_are_found_by_moves():
    n = 40
    q = np.arange(n, dtype=float)
    model = MechanicalSystem(unit_mass, one_sided, params={"k": 3.0}).bind(0.0, q, np.ones(n))
    part = model.tangent_parts.parts["h_by_q"]
    assert part.pattern.bandwidth == (1, 1) and part.pattern.size == 3 * n - 2
    assert model.differentiator.sources["d/dq h"] == "differences"
    dq, _ = model.tangents(0.0, 0.5 * q, np.ones(n))
    np.testing.assert_allclose(np.diag(dq)[1:-1], -6.0, rtol=1e-9)


@pytest.mark.parametrize("sparsity", [1, np.tri(9, 9, 1) - np.tri(9, 9, -2), sparse.eye_array(9)])
def test_given_patterns(sparsity):
    """A pattern that misses entries is noticed and replaced by the full one."""
    n = 9
    q, u = np.linspace(0.1, 1.0, n), np.ones(n)
    system = MechanicalSystem(unit_mass, chain_force, params={"k": 3.0}, sparsity=sparsity)
    model = system.bind(0.0, q, u)
    free = MechanicalSystem(unit_mass, chain_force, params={"k": 3.0}).bind(0.0, q, u)
    np.testing.assert_allclose(model.tangents(0.0, q, u), free.tangents(0.0, q, u), rtol=1e-9, atol=1e-9)
    assert model.tangent_parts.pattern.size == (n * n if sparse.issparse(sparsity) else 3 * n - 2)


def test_a_pattern_of_the_wrong_size():
    system = MechanicalSystem(unit_mass, lambda t, q, u: -q, sparsity=np.eye(3))
    with pytest.raises(ShapeError, match=r"`sparsity` has shape \(3, 3\).*\(2, 2\)"):
        system.bind(0.0, np.ones(2), np.ones(2)).tangent_parts  # noqa: B018


def test_colours_share_no_row():
    rng = np.random.default_rng(3)
    matrix = sparse.random_array((60, 50), density=0.04, rng=rng)
    pattern = Pattern.of(matrix)
    columns, start = pattern.colours()
    assert sorted(columns) == list(range(50))
    dense = matrix.toarray() != 0
    for begin, end in zip(start, start[1:]):
        assert np.max(dense[:, columns[begin:end]].sum(axis=1)) <= 1
    larger = pattern | Pattern.of(np.eye(60, 50))
    places = pattern.places_in(larger)
    rows = np.repeat(np.arange(60), np.diff(larger.row_start))[places]
    assert np.array_equal(rows, pattern.rows)


# -- kinematics, given tangents ------------------------------------------------------------------------------------------------


def test_increments_of_a_turning_frame():
    """q' = B u with B = [[cos, -sin], [sin, cos]](q2): K is by increments, dh/dq B."""

    def turn(t, q):
        B = np.zeros((3, 3)) + 0.0 * q[0]
        B[0, 0], B[0, 1] = np.cos(q[2]), -np.sin(q[2])
        B[1, 0], B[1, 1] = np.sin(q[2]), np.cos(q[2])
        B[2, 2] = 1.0
        return B

    def h(t, q, u):
        return np.array([-q[0] * q[1], u[0] * q[2], -np.sin(q[2])])

    q, u = np.array([0.3, -0.8, 0.6]), np.array([1.0, 2.0, -0.5])
    model = MechanicalSystem(np.eye(3), h, kinematics=turn).bind(0.0, q, u)
    dh_dq = np.array([[-q[1], -q[0], 0.0], [0.0, 0.0, u[0]], [0.0, 0.0, -np.cos(q[2])]])
    dq, du = model.tangents(0.0, q, u)
    np.testing.assert_allclose(dq, dh_dq @ turn(0, q), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(du, [[0, 0, 0], [q[2], 0, 0], [0, 0, 0]], rtol=1e-10, atol=1e-11)
    given = (lambda t, q, u: dh_dq, lambda t, q, u: np.zeros((3, 3)))
    model = MechanicalSystem(np.eye(3), h, kinematics=turn, force_tangents=given).bind(0.0, q, u)
    np.testing.assert_allclose(model.tangents(0.0, q, u)[0], dh_dq @ turn(0, q), rtol=1e-14, atol=1e-15)
    assert model.differentiator.sources["d/dq h"] == "given"


def test_by_parameters():
    def h(t, q, u, p):
        return np.array([-p.k * q[0] + p.f[1] * np.sin(p.w * t), p.f[0] * p.k**2])

    def g(t, q, p):
        return q[0] - np.sqrt(p.k) + 0.0 * abs(p.w)

    params = {"k": 3.0, "f": [2.0, 0.5], "w": 4.0, "unused": 0.0}
    q, u, t = np.array([0.3, 0.2]), np.zeros(2), 0.7
    model = MechanicalSystem(np.eye(2), h, contacts=Contact(g), params=params).bind(0.0, q, u)
    force, gap = np.zeros((2, 5)), np.zeros((1, 5))
    model.force_by_parameters(t, q, u, model.parameters.flat, force)
    model.gap_by_parameters(t, q, u, model.parameters.flat, gap)
    s, c = np.sin(2.8), np.cos(2.8)
    exact = [[-0.3, 0.0, s, 0.5 * 0.7 * c, 0.0], [12.0, 9.0, 0.0, 0.0, 0.0]]
    np.testing.assert_allclose(force, exact, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gap, [[-0.5 / np.sqrt(3.0), 0, 0, 0, 0]], rtol=1e-10, atol=1e-12)


def test_inertia_and_reactions_by_parameters():
    """Rod of length p.l: M a and W la depend on p through products, a square root and an angle."""

    def mass(t, q, p):
        return np.array([[p.m, p.m * p.l * np.cos(q[1])], [p.m * p.l * np.cos(q[1]), p.m * p.l**2]])

    def gap(t, q, p):
        return np.sqrt(p.l) * q[0] + p.l**2 * np.sin(q[1])

    def along(t, q, p):
        return np.array([[p.m], [p.l * q[0]]])

    params = {"m": 2.0, "l": 0.3, "unused": 0.0}
    q, u, t, a, la = np.array([0.4, 0.7]), np.zeros(2), 0.1, np.array([3.0, -1.0]), np.array([5.0, -2.0])
    contact = Contact(gap, friction=0.3, tangent=along)
    model = MechanicalSystem(mass, np.zeros(2), contacts=contact, params=params).bind(0.0, q, u)
    inertia, reactions = np.zeros((2, 3)), np.zeros((2, 3))
    model.inertia_by_parameters(t, q, a, model.parameters.flat, inertia)
    model.reactions_by_parameters(t, q, la, model.parameters.flat, reactions)
    m, l, c = 2.0, 0.3, np.cos(0.7)
    np.testing.assert_allclose(
        inertia,
        [
            [a[0] + l * c * a[1], m * c * a[1], 0.0],
            [l * c * a[0] + l**2 * a[1], m * c * a[0] + 2 * m * l * a[1], 0.0],
        ],
        rtol=1e-10,
        atol=1e-12,
    )
    exact = [[la[1], 0.5 / np.sqrt(l) * la[0], 0.0], [0.0, 2 * l * c * la[0] + q[0] * la[1], 0.0]]
    np.testing.assert_allclose(reactions, exact, rtol=1e-9, atol=1e-10)


def test_the_protocol():
    model = PENDULUM.bind(0.0, np.ones(2), np.zeros(2))
    assert isinstance(model, Assembled)
    assert model.pattern_W.shape == (2, 2) and model.pattern_M.size == model.pattern_K.size == 4
    assert model.laws_at(0.0, np.ones(2)) is model.laws
