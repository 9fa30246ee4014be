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
