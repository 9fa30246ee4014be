"""Moreau's rule: identities of a step, every kind of law in a small system with a known answer."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import (
    Contact,
    ConvexSet,
    FrictionElement,
    Interval,
    Joint,
    MechanicalSystem,
    NonholonomicConstraint,
    SetValuedElement,
    problems,
)

EPS = np.finfo(float).eps


def identity_error(problem, result):
    """Largest violation of dT = 1/2 (gamma_E + gamma_B)^T P + 1/2 (u_E + u_B)^T h dt, relative to T_B + T_E."""
    model = problem.system.bind(result.t[0], problem.q0, problem.u0)
    worst = 0.0
    for k in range(1, result.t.size):
        dt = result.dt[k]
        q_M = result.q[:, k - 1] + 0.5 * dt * result.u[:, k - 1]
        t_M = result.t[k - 1] + 0.5 * dt
        M, WT = model.mass_matrix(t_M, q_M), model.directions(t_M, q_M)[0]
        u_B, u_E = result.u[:, k - 1], result.u[:, k]
        P = np.concatenate([result.P_N[:, k], result.P_T[:, k]])
        gamma = WT @ (u_B + u_E)  # without zeta: the work on the system
        T_B, T_E = 0.5 * u_B @ M @ u_B, 0.5 * u_E @ M @ u_E
        work = 0.5 * gamma @ P + 0.5 * (u_B + u_E) @ model.forces(t_M, q_M, u_B) * dt
        worst = max(worst, abs(T_E - T_B - work) / max(T_B + T_E, abs(work), 1e-300))
    return worst


@pytest.mark.parametrize(
    ("name", "t_end", "dt"),
    [("falling_ball", 0.6, 1e-3), ("woodpecker", 0.12, 2e-4), ("belt_oscillator", 2.0, 4e-3)],
)
def test_energy_identity_of_a_step(name, t_end, dt):
    problem = problems.get(name)
    result = problem.simulate((0.0, t_end), dt=dt, audit=False)
    assert np.abs(result.u).max() > 0 and np.sum(np.abs(result.P_N)) + np.sum(np.abs(result.P_T)) > 0
    assert identity_error(problem, result) < 1e-12


# -- one point mass, many laws ---------------------------------------------------------------------------------------


def unit_mass(t, q, p, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = p.m if i == j else 0.0


def load(t, q, u, p, out):
    for i in range(3):
        out[i] = p.F[i]


def table(t, q, p):
    return q[2] - p.v * t


def plane(t, q):
    return np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def belt(t, q, p):
    return -p.belt


def point(restitution=0.0, friction=0.0, **options):
    """A point mass over a table that rises with velocity v and whose surface moves like a belt."""
    contact = Contact(
        table,
        restitution=restitution,
        friction=friction,
        tangent=plane,
        surface_velocity=belt,
        name="table",
        **options,
    )
    params = {"m": 2.0, "F": [0.0, 0.0, 0.0], "v": 0.0, "belt": [0.0, 0.0]}
    return MechanicalSystem(unit_mass, load, contacts=contact, params=params)


GRIP = point(0.5, 0.4, tangential_restitution=0.25)


def one_step(system, q, u, dt=1e-3, **params):
    return ns.simulate(system.with_params(**params), (0.0, dt), q, u, dt=dt, on_energy_gain="ignore")


def test_restitution_on_a_moving_table():
    """Newton: u+ - v = -e (u- - v), exactly, in a step without forces."""
    result = one_step(GRIP, [0, 0, 0], [0, 0, -3.0], v=2.0)
    assert abs(result.u[2, -1] - (2.0 + 0.5 * 5.0)) < 1e-14
    assert abs(result.P_N[0, -1] - 2.0 * 7.5) < 1e-13


def test_tangential_restitution_and_the_friction_disk():
    # steep: the tangential velocity is reversed with e_T
    result = one_step(GRIP, [0, 0, 0], [0.3, -0.4, -3.0])
    np.testing.assert_allclose(result.u[:, -1], [-0.075, 0.1, 1.5], rtol=1e-14)
    assert result.modes[:, -1].tolist() == [1, 1]
    # flat: the impulse lies on the rim, against the sliding, P_N = m (1 + e) 3
    result = one_step(GRIP, [0, 0, 0], [3.0, -4.0, -3.0])
    rim = 0.4 * 2.0 * 4.5
    np.testing.assert_allclose(result.P_T[:, -1], [-0.6 * rim, 0.8 * rim], rtol=1e-12)
    np.testing.assert_allclose(result.u[:, -1], [3.0 - 0.3 * rim, -4.0 + 0.4 * rim, 1.5], rtol=1e-12)
    assert result.modes[:, -1].tolist() == [1, 2]
    # on a belt only the relative velocity counts
    moved = one_step(GRIP, [0, 0, 0], [4.0, -4.0, -3.0], belt=[1.0, 0.0])
    np.testing.assert_allclose(moved.P_T[:, -1], result.P_T[:, -1], rtol=1e-12)


def test_sliding_comes_to_rest_on_the_belt():
    """Uniform deceleration mu g, then exact rest relative to the belt."""
    system = GRIP.with_params(F=[0.0, 0.0, -20.0], belt=[0.3, 0.1])
    result = ns.simulate(system, (0.0, 1.0), [0, 0, 0], [1.1, 0.7, 0.0], dt=1e-3, t_eval=[0.1, 0.5, 1.0])
    np.testing.assert_allclose(result.u[:2, 0], [1.1 - 0.4 * 0.8, 0.7 - 0.4 * 0.6], rtol=1e-12)
    assert np.array_equal(result.u[:, 2], result.u[:, 1])
    np.testing.assert_allclose(result.u[:2, 1], [0.3, 0.1], rtol=4 * EPS)
    assert [e.kind for e in result.events] == ["stick"]
    assert abs(result.events[0].t - 1.0 / 4.0) < 2e-3


# -- set-valued elements ---------------------------------------------------------------------------------------------


def two_masses(t, q, p):
    return p.M


def push(t, q, u, p):
    return np.array([p.a * np.sin(p.w * t) - q[0], p.a * np.cos(p.w * t) - 2.0 * q[1]])


def x_and_y(t, q):
    return np.array([[1.0, 0.0], [0.0, 1.0]])


def x_only(t, q):
    return np.array([1.0, 0.0])


def y_only(t, q):
    return np.array([0.0, 1.0])


def square(x):
    return np.minimum(np.maximum(x, -0.5), 0.5)


PUSHED = {"M": [[2.0, 0.3], [0.3, 1.0]], "a": 2.0, "w": 3.0}


def test_square_set_equals_two_friction_elements():
    one = MechanicalSystem(
        two_masses, push, elements=SetValuedElement(x_and_y, ConvexSet(square)), params=PUSHED | {"a": 0.8}
    )
    two = MechanicalSystem(
        two_masses,
        push,
        friction=[FrictionElement(x_only, 0.5, name="x"), FrictionElement(y_only, 0.5, name="y")],
        params=PUSHED | {"a": 0.8},
    )
    a, b = (ns.simulate(s, (0.0, 5.0), [0.1, 0], [0.5, -0.5], dt=2e-3) for s in (one, two))
    assert a.audit.max_residual <= 1e-10
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.P_T, b.P_T, rtol=0, atol=1e-9)
    assert {e.kind for e in b.events} >= {"stick", "slip"}
    assert set(b.modes.ravel()) == {1, 2, -2}


def ellipse(x):
    """Projection onto (x/2)^2 + y^2 <= 1 by bisection of the multiplier."""
    if (x[0] / 2.0) ** 2 + x[1] ** 2 <= 1.0:
        return x.copy()
    low, high = 0.0, 10.0 * (abs(x[0]) + abs(x[1])) + 10.0
    for _ in range(200):
        s = 0.5 * (low + high)
        if (2.0 * x[0] / (4.0 + s)) ** 2 + (x[1] / (1.0 + s)) ** 2 > 1.0:
            low = s
        else:
            high = s
    return np.array([4.0 * x[0] / (4.0 + high), x[1] / (1.0 + high)])


def test_ellipse_obeys_the_normal_cone():
    """Anisotropic friction: on the rim the velocity is normal to the ellipse, inside it sticks."""
    pad = SetValuedElement(x_and_y, ConvexSet(ellipse), name="pad")
    system = MechanicalSystem(np.eye(2), push, elements=pad, params=PUSHED | {"a": 0.3})
    result = ns.simulate(system, (0.0, 2.0), [0, 0], [1.0, 0.5], dt=1e-3)
    F = result.P_T[:, 1:] / result.dt[1:]
    u = result.u[:, 1:]
    rim = (F[0] / 2) ** 2 + F[1] ** 2
    assert np.all(rim <= 1 + 1e-9)
    slips = result.modes[0, 1:] == 2
    assert 0 < slips.sum() < slips.size
    normal = np.vstack([F[0] / 4, F[1]])
    cross = np.abs(u[0] * normal[1] - u[1] * normal[0])[slips]
    assert np.max(cross / np.linalg.norm(u[:, slips], axis=0)) < 1e-6
    assert np.all(np.sum(u * F, axis=0)[slips] < 0)
    assert np.max(np.abs(u[:, ~slips])) < 1e-9


def one_mass(t, q, u, p):
    return np.array([p.F * t])


def along(t, q):
    return np.array([1.0])


def test_prestressed_element_holds_until_its_limit():
    """-lambda in [-6, -1]: it never pulls less than 1, holds up to 6, then gives way."""
    element = SetValuedElement(along, Interval(-6.0, -1.0), name="preload")
    system = MechanicalSystem([[2.0]], one_mass, elements=element, params={"F": 2.0})
    result = ns.simulate(system, (0.0, 4.0), [0.0], [0.0], dt=1e-3)
    # load 2t < 1: the element pushes with 1 and the mass runs backward until the load has caught up
    assert result.modes[0, 1] == 2
    np.testing.assert_allclose(result.P_T[0, 1], -1e-3, rtol=1e-12)
    np.testing.assert_allclose(result.u[0, 500], -(0.25) / 2, rtol=1e-6)  # integral of (2t - 1)/2 up to 0.5
    held = result.modes[0] == 1
    assert np.all(np.abs(result.u[0, held]) <= 4 * EPS)
    assert np.all((result.P_T[0, 1:] >= -6e-3 * (1 + EPS)) & (result.P_T[0, 1:] <= -1e-3 * (1 - EPS)))
    slip = [e for e in result.events if e.kind == "slip"][-1]
    assert abs(slip.t - 3.0) <= 2e-3 and slip.after == -2


# -- kinematics, constraints -----------------------------------------------------------------------------------------


def spin_kinematics(t, q, p):
    return np.array([[1.0, 0.0], [0.0, -q[2]], [0.0, q[1]]])


def lift(t, q, u, p):
    return np.array([-p.g, 0.0])


def tip_by_point(t, q, p):
    return q[0] + 0.5 * q[2]


def tip_by_angle(t, q, p):
    return q[0] + 0.5 * np.sin(q[1])


def test_kinematics_of_a_rotation():
    """A falling rod whose tip hits the floor: (cos, sin) as coordinates against the angle itself."""
    options = {"restitution": 0.6, "name": "tip"}
    by_point = MechanicalSystem(
        np.diag([1.0, 0.1]),
        lift,
        Contact(tip_by_point, **options),
        kinematics=spin_kinematics,
        params={"g": 9.81},
    )
    by_angle = MechanicalSystem(
        np.diag([1.0, 0.1]), lift, Contact(tip_by_angle, **options), params={"g": 9.81}
    )
    a = ns.simulate(by_point, (0.0, 0.5), [0.5, 1.0, 0.0], [0.0, 4.0], dt=1e-4)
    b = ns.simulate(by_angle, (0.0, 0.5), [0.5, 0.0], [0.0, 4.0], dt=1e-4)
    assert [e.kind for e in a.events] == [e.kind for e in b.events] and len(a.events) >= 1
    np.testing.assert_allclose(a.q[0], b.q[0], atol=2e-6)
    np.testing.assert_allclose(a.q[2], np.sin(b.q[1]), atol=2e-6)
    assert np.max(np.abs(np.hypot(a.q[1], a.q[2]) - 1.0)) < 1e-6  # the circle is left at second order only


def rod(t, q, p):
    return q[0] ** 2 + q[1] ** 2 - 1.0


def rolling(t, q, u, p):
    return u[0] * q[1] - u[1] * q[0] - p.g * (q[0] ** 2 + q[1] ** 2)


def weight(t, q, u, p):
    return np.array([0.0, -2.0 * p.g])


def test_joint_and_nonholonomic_constraint_at_velocity_level():
    pendulum = MechanicalSystem(2.0 * np.eye(2), weight, joints=Joint(rod, name="rod"), params={"g": 9.81})
    loss, drift = [], []
    for dt in (1e-3, 5e-4):
        result = ns.simulate(pendulum, (0.0, 2.0), [1.0, 0.0], [0.0, 0.0], dt=dt)
        mid = result.q[:, :-1] + 0.5 * result.dt[1:] * result.u[:, :-1]
        rate = np.sum(mid * result.u[:, 1:], axis=0)
        assert np.max(np.abs(rate)) < 1e-14 * np.abs(result.u).max() * 4
        loss.append(-(np.sum(result.u[:, -1] ** 2) / 2 + 9.81 * result.q[1, -1]))
        drift.append(np.max(np.abs(np.hypot(*result.q) - 1)))
    assert result.extra["P_J"].shape == (1, result.t.size)
    assert (
        0 < loss[1] and abs(loss[0] / loss[1] - 2) < 0.2
    )  # the velocity is projected anew in each step: first order
    assert drift[1] < 0.6 * drift[0] < 6e-3
    # the moment of velocity is prescribed: a circular motion at rate g
    driven = MechanicalSystem(
        np.eye(2),
        lambda t, q, u, p: 0.0 * q,
        joints=Joint(rod),
        nonholonomic=NonholonomicConstraint(rolling, name="drive"),
        params={"g": -0.7},
    )
    result = ns.simulate(driven, (0.0, 1.0), [1.0, 0.0], [0.0, 0.7], dt=1e-3)
    np.testing.assert_allclose(np.arctan2(result.q[1, -1], result.q[0, -1]), 0.7, rtol=1e-5)


# -- rest -----------------------------------------------------------------------------------------------------------


def foot(t, q, p, out):
    out[0] = q[1] + 0.2 * q[0] - 0.1 * q[2]


def foot_jacobian(t, q, p, out):
    out[0, 0], out[0, 1], out[0, 2] = 0.2, 1.0, -0.1


def foot_tangent(t, q, p, out):
    out[0, 0], out[1, 0], out[2, 0] = 1.0, -0.2, 0.3


def brake(t, q, p, out):
    out[0, 0], out[1, 0], out[2, 0] = 0.1, 0.3, 1.0


def coupled_mass(t, q, p, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = 2.0 if i == j else 0.4 + 0.1 * (i + j)


def oblique(t, q, u, p, out):
    out[0] = 0.5
    out[1] = -9.81
    out[2] = 0.7


def test_no_creep_over_a_million_steps():
    """A frictional contact and a brake, inertia and directions all coupled, forces below the friction limits."""
    contact = Contact(foot, friction=0.6, tangent=foot_tangent, jacobian=foot_jacobian, name="foot")
    system = MechanicalSystem(coupled_mass, oblique, contacts=contact, friction=FrictionElement(brake, 10.0))
    result = ns.simulate(system, (0.0, 1e3), np.zeros(3), np.zeros(3), dt=1e-3, every=1000)
    V = 9.81e-3  # what gravity does in a step
    assert result.nsteps == 1_000_000
    assert np.all(result.modes == 1)  # closed, sticking, holding
    assert np.max(np.abs(result.u)) <= 4 * EPS * V
    assert np.max(np.abs(result.q[:, -1] - result.q[:, 1])) <= 4 * EPS
    assert result.audit.max_iterations <= 3  # warm start


def block_gap(t, q, p):
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([q[1] - p.a * s - p.b * c, q[1] + p.a * s - p.b * c])


def block_tangent(t, q, p):
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([[1.0, 1.0], [0.0, 0.0], [p.a * s + p.b * c, -p.a * s + p.b * c]])


def test_redundant_friction_at_rest_keeps_its_modes():
    """A block thrown onto its two corners comes to rest; the friction of the corners is redundant and must not flicker."""
    contact = ns.Contact(
        block_gap, restitution=0.3, friction=0.5, tangent=block_tangent, name=("left", "right")
    )
    params = {"a": 0.2, "b": 0.1}
    block = ns.MechanicalSystem(
        np.diag([2.0, 2.0, 2.0 * 0.05 / 3]),
        lambda t, q, u: np.array([0.0, -19.62, 0.0]),
        contact,
        params=params,
    )
    fixed = ns.simulate(block, (0, 2), [0, 0.5, 0.3], [1.0, 0.0, 2.0], dt=1e-4)
    late = fixed.t > 1.5
    assert np.all(fixed.modes[:, late] == 1)
    assert np.max(np.abs(fixed.u[:, late])) < 1e-12
    exact = ns.simulate(block, (0, 2), [0, 0.5, 0.3], [1.0, 0.0, 2.0], rtol=1e-7)
    assert np.max(np.abs(fixed.q[:, -1] - exact.q[:, -1])) < 5e-4  # first order in dt = 1e-4
    assert exact.nsteps < 5000
