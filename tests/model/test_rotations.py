"""Unit quaternions and inertia matrices: checks at the start, kinematics, momentum of a body that tumbles and bounces."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import nonsmooth as ns
from nonsmooth.errors import ModelError, NonFiniteError, NormalisationWarning, RangeError, ShapeError

J = np.diag([1.0, 2.0, 2.5])


def mass(t, q, p, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
        out[i, i] = p.J[i]


def gyroscopic(t, q, u, p, out):
    """-omega x (J omega)"""
    out[0] = -(p.J[2] - p.J[1]) * u[1] * u[2]
    out[1] = -(p.J[0] - p.J[2]) * u[2] * u[0]
    out[2] = -(p.J[1] - p.J[0]) * u[0] * u[1]


def kinematics(t, q):
    return ns.quaternion_rates(q)


BODY = ns.MechanicalSystem(
    mass, gyroscopic, kinematics=kinematics, params={"J": np.diag(ns.inertia_matrix(J))}, quaternions=[0]
)
OMEGA = np.array([0.3, 2.0, -0.1])  # near the unstable axis: it tumbles
Q0 = np.array([np.cos(0.2), 0.0, np.sin(0.2), 0.0])


def tumbling(t_end):
    def rates(t, y):
        return np.concatenate(
            [ns.quaternion_rates(y[:4]) @ y[4:], np.linalg.solve(J, -np.cross(y[4:], J @ y[4:]))]
        )

    run = solve_ivp(rates, (0, t_end), np.concatenate([Q0, OMEGA]), method="DOP853", rtol=1e-12, atol=1e-13)
    return run.y[:4, -1], run.y[4:, -1]


@pytest.mark.parametrize(("options", "tolerance"), [({"dt": 1e-4}, 2e-3), ({"rtol": 1e-10}, 1e-7)])
def test_a_body_tumbles_as_scipy_says(options, tolerance):
    result = ns.simulate(BODY, (0, 5), Q0, OMEGA, **options)
    q, omega = tumbling(5.0)
    np.testing.assert_allclose(result.q[:, -1], q, atol=tolerance)
    np.testing.assert_allclose(result.u[:, -1], omega, atol=tolerance)
    # length of the quaternion and angular momentum in the frame of the world
    assert np.abs(np.linalg.norm(result.q, axis=0) - 1).max() < tolerance
    momentum = [
        Rotation.from_quat(np.roll(x, -1)).apply(J @ w) for x, w in zip(result.q.T[::500], result.u.T[::500])
    ]
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=5 * tolerance)


def momentum_and_energy(result):
    """Angular momentum in the frame of the world, shape (n, 3), and kinetic energy, shape (n,)."""
    L = Rotation.from_quat(np.roll(result.q[:4].T, -1, axis=1)).apply((J @ result.u).T)
    return L, 0.5 * np.einsum("ik,ij,jk->k", result.u, J, result.u)


# Bounds of angular momentum and energy. Without normalisation: 1.13e-2 and 2.23e-2 (dt), 5.44e-7 and 1.80e-7 (rtol 1e-6),
# 5.85e-11 and 1.32e-11 (rtol 1e-10); with it the same, but 5.83e-11 and 1.46e-11 in the last. Bisection: a round bound.
@pytest.mark.parametrize(
    ("options", "momentum", "energy"),
    [
        ({"dt": 1e-3}, 1.25e-2, 2.5e-2),
        ({"dt": 1e-3, "t_eval": np.linspace(0, 20, 777)}, 1.25e-2, 2.5e-2),
        ({"method": "extrapolated-moreau", "rtol": 1e-6}, 6.0e-7, 2.0e-7),
        ({"method": "extrapolated-moreau", "rtol": 1e-6, "t_eval": np.linspace(0, 20, 777)}, 6.0e-7, 2.0e-7),
        ({"rtol": 1e-6, "locate": False}, 1e-5, 1e-5),
        ({"method": "extrapolated-moreau", "rtol": 1e-10}, 6.5e-11, 1.6e-11),
        ({"rtol": 1e-10}, 1e-9, 1e-9),
    ],
)
def test_i15_quaternions_keep_their_length(options, momentum, energy):
    result = ns.simulate(BODY, (0, 20), Q0, OMEGA, **options)
    assert np.abs(np.linalg.norm(result.q, axis=0) - 1).max() <= 1e-13
    L, T = momentum_and_energy(result)
    assert np.abs(L - L[0]).max() < momentum
    assert np.abs(T - T[0]).max() < energy


def error_at_5(**options):
    result = ns.simulate(BODY, (0, 5), Q0, OMEGA, **options)
    return np.abs(np.concatenate([result.q[:, -1], result.u[:, -1]]) - np.concatenate(tumbling(5.0))).max()


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_order_with_quaternions(order):
    dt = 5 / 2.0 ** np.arange(5, 8)
    errors = [error_at_5(method=ns.ExtrapolatedMoreau(order=order, dt_max=h, dt_min=1e-9)) for h in dt]
    np.testing.assert_allclose(np.log2(errors[:-1] / np.array(errors[1:])), order, atol=0.2)


def test_order_of_the_midpoint_rule_with_quaternions():
    errors = np.array([error_at_5(dt=5 / 2.0**k) for k in range(9, 13)])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 1, atol=0.1)


def rod_mass(t, q, p, out):
    for i in range(6):
        for j in range(6):
            out[i, j] = 0.0
        out[i, i] = p.m if i < 3 else p.J[i - 3]


def rod_force(t, q, u, p, out):
    out[0] = out[1] = 0.0
    out[2] = -9.81 * p.m
    gyroscopic(t, q, u[3:], p, out[3:])


def rod_kinematics(t, q):
    B = np.zeros((7, 6))
    for i in range(3):
        B[4 + i, i] = 1.0
    B[:4, 3:] = ns.quaternion_rates(q)
    return B


def tip_height(t, q, p):
    """Height of the lower end, at -l along the body's third axis."""
    return q[6] - p.l * (1.0 - 2.0 * (q[1] ** 2 + q[2] ** 2))


def rod(restitution):
    return ns.MechanicalSystem(
        rod_mass,
        rod_force,
        contacts=[ns.Contact(tip_height, restitution=restitution)],
        kinematics=rod_kinematics,
        potential=lambda t, q, p: 9.81 * p.m * q[6],
        params={"m": 2.0, "l": 0.5, "J": np.array([0.3, 0.3, 0.02])},
        quaternions=[0],
    )


@pytest.mark.parametrize("options", [{"dt": 1e-4}, {"rtol": 1e-7}, {"rtol": 1e-7, "locate": False}])
def test_i15_a_spinning_rod_slides_on_its_tip(options):
    """A contact that lasts and whose direction turns: positions are projected, lengths stay."""
    tilt = 0.2
    q0 = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0, 0, 0, 0.5 * np.cos(tilt)]
    result = ns.simulate(rod(0.0), (0, 0.3), q0, [0, 0, 0, 0, 0, 30.0], **options)
    assert np.mean(result.modes[0] == 1) > 0.99
    assert np.abs(np.linalg.norm(result.q[:4], axis=0) - 1).max() <= 1e-13
    E = 0.5 * np.array([2, 2, 2, 0.3, 0.3, 0.02]) @ result.u**2 + 2 * 9.81 * result.q[6]
    assert np.abs(E - E[0]).max() < (2e-2 if "dt" in options else 2e-6)
    gap = result.q[6] - 0.5 * (1 - 2 * (result.q[1] ** 2 + result.q[2] ** 2))
    assert np.abs(gap).max() < (1e-3 if "dt" in options else 1e-9)


@pytest.mark.parametrize("options", [{"dt": 1e-4, "every": 7}, {"rtol": 1e-7}])
def test_i15_a_spinning_rod_bounces(options):
    q0 = [np.cos(0.3), np.sin(0.3), 0, 0, 0, 0, 0.6]
    result = ns.simulate(rod(1.0), (0, 0.4), q0, [0.1, 0.2, 0, 1.0, -2.0, 10.0], **options)
    assert any(event.kind == "impact" for event in result.events)
    assert np.abs(np.linalg.norm(result.q[:4], axis=0) - 1).max() <= 1e-13
    assert result.audit.position_residual is None or result.audit.position_residual < 1e-14


def test_turning_too_far_in_a_step_is_told():
    result = ns.simulate(BODY, (0, 1), Q0, [0, 0, 8.0], dt=0.1)  # 0.8 radians per step
    assert any("turns too far in a step" in note for note in result.audit.notes)
    result = ns.simulate(BODY, (0, 1), Q0, [0, 0, 8.0], dt=0.01)
    assert not any("turns too far" in note for note in result.audit.notes)


def test_a_projected_start_has_unit_quaternions():
    held = ns.MechanicalSystem(
        mass,
        gyroscopic,
        joints=[ns.Joint(lambda t, q: q[1] - 0.3)],
        kinematics=kinematics,
        params={"J": np.diag(J)},
        quaternions=[0],
    )
    result = ns.simulate(held, (0, 0.1), Q0, [0, 0, 0], dt=1e-2, project=True)
    np.testing.assert_allclose(np.linalg.norm(result.q, axis=0), 1, rtol=0, atol=1e-13)
    assert abs(result.q[1, 0] - 0.3) < 1e-12


def test_b22_quaternions_of_the_start():
    with pytest.warns(NormalisationWarning, match=r"q0\[0:4\] has length 2; it is normalised"):
        result = ns.simulate(BODY, (0, 0.01), 2 * Q0, OMEGA, dt=1e-3)
    np.testing.assert_allclose(result.q[:, 0], Q0, atol=1e-15)
    ns.simulate(BODY, (0, 0.01), Q0 * (1 + 1e-10), OMEGA, dt=1e-3)  # rounding: no warning
    with pytest.raises(RangeError, match=r"the quaternion q0\[0:4\] is zero"):
        ns.simulate(BODY, (0, 0.01), np.zeros(4), OMEGA, dt=1e-3)
    misplaced = ns.MechanicalSystem(np.eye(3), gyroscopic, params={"J": np.ones(3)}, quaternions=[2])
    with pytest.raises(ShapeError, match="`quaternions` names place 2"):
        ns.simulate(misplaced, (0, 0.01), np.zeros(3), OMEGA, dt=1e-3)


@pytest.mark.parametrize(
    ("inertia", "error", "text"),
    [
        ([1.0, 1.0, 2.1], ModelError, "triangle inequality"),
        (
            Rotation.from_euler("xyz", [1, 2, 3]).apply(np.eye(3)) @ np.diag([1, 1, 3.0]),
            ModelError,
            "symmetric",
        ),
        ([1.0, -1.0, 1.0], ModelError, "positive"),
        ([1.0, np.nan, 1.0], NonFiniteError, "inertia"),
        ([1.0, 1.0], ShapeError, "three principal moments"),
    ],
)
def test_b21_inertia(inertia, error, text):
    with pytest.raises(error, match=text):
        ns.inertia_matrix(inertia)


def test_inertia_of_thin_bodies_is_on_the_edge():
    R = Rotation.from_euler("xyz", [0.3, -1, 2]).as_matrix()
    disk = R @ np.diag([1.0, 1.0, 2.0]) @ R.T
    np.testing.assert_array_equal(ns.inertia_matrix(disk), disk)
