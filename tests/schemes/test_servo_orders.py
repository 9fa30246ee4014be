"""Servo constraints whose output the input reaches late: a robot with a flexible joint, against its closed form."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InconsistentStateError, ModelError

J_1, J_2, K, MGL, SIZE, RATE = 0.5, 0.2, 40.0, 2.0, 0.4, 1.3


def force(t, q, u):
    return np.array([-K * (q[0] - q[1]) - MGL * np.sin(q[0]), K * (q[0] - q[1])])


def wanted(t):
    return SIZE * np.sin(RATE * t)


def motor(t, q):
    return np.array([0.0, 1.0])


def robot(order=4, output=lambda t, q: q[0], input=motor):
    servo = ns.Servo(output, wanted, input=input, order=order, name="link")
    return ns.MechanicalSystem(np.diag([J_1, J_2]), force, joints=[servo])


def exact(t):
    """States (4, n) and torque: J_1 q_1'' + k (q_1 - q_2) + m g l sin q_1 = 0, J_2 q_2'' = k (q_1 - q_2) + tau, q_1 = wanted."""
    s, c = SIZE * np.sin(RATE * t), SIZE * np.cos(RATE * t)
    y = [s, RATE * c, -(RATE**2) * s, -(RATE**3) * c, RATE**4 * s]
    sin, cos = np.sin(y[0]), np.cos(y[0])
    q_2 = y[0] + (J_1 * y[2] + MGL * sin) / K
    v_2 = y[1] + (J_1 * y[3] + MGL * cos * y[1]) / K
    a_2 = y[2] + (J_1 * y[4] + MGL * (cos * y[2] - sin * y[1] ** 2)) / K
    return np.array([y[0], q_2, y[1], v_2]), J_2 * a_2 - K * (y[0] - q_2)


@pytest.mark.parametrize("options", [{"dt": 0.02}, {"rtol": 1e-10}])
def test_flexible_joint_follows_its_link(options):
    start = exact(0.0)[0]
    method = ns.SlidingMode(integrator="RKF78", **options)
    result = ns.simulate(robot(), (0, 1.5), start[:2], start[2:], method=method)
    states, _ = exact(result.t)
    np.testing.assert_allclose(result.y, states, atol=1e-9)
    np.testing.assert_allclose(result.q[0], wanted(result.t), atol=1e-13)
    # the input of each step is its mean: by Simpson's rule of the closed form
    t, h = result.t[:-1], np.diff(result.t)
    mean = (exact(t)[1] + 4 * exact(t + h / 2)[1] + exact(t + h)[1]) / 6
    np.testing.assert_allclose(result.forces()[0, 1:], mean, atol=1e-5 if "rtol" in options else 1e-7)
    assert result.audit.ok
    assert any("second derivatives of outputs" in note for note in result.audit.notes)


def test_outputs_that_start_elsewhere_come_to_what_is_wanted():
    start = exact(0.0)[0] + [0.0, 0.01, 0.0, 0.0]
    with pytest.raises(InconsistentStateError, match="relative order 4"):
        ns.simulate(robot(), (0, 1), start[:2], start[2:], ns.SlidingMode(dt=0.02))
    method = ns.SlidingMode(integrator="RKF45", rtol=1e-8, reach=0.1, sigma=12.0)
    result = ns.simulate(robot(), (0, 3), start[:2], start[2:], method, audit=False)
    late = result.t > 2.5
    assert np.max(np.abs(result.q[0] - wanted(result.t))) > 1e-4
    assert np.max(np.abs(result.y - exact(result.t)[0])[:, late]) < 1e-7


@pytest.mark.parametrize("order", [3, 5])
def test_a_wrong_relative_order_is_told(order):
    start = exact(0.0)[0]
    with pytest.raises(ModelError, match="relative order of output 'link' is"):
        ns.simulate(robot(order), (0, 1), start[:2], start[2:], ns.SlidingMode(dt=0.02))


def test_an_output_that_no_input_reaches_has_no_relative_order():
    def apart(t, q, u):
        return np.array([-q[0], 0.0])

    servo = ns.Servo(lambda t, q: q[0], wanted, input=motor, order=4, name="alone")
    system = ns.MechanicalSystem(np.eye(2), apart, joints=[servo])
    with pytest.raises(ModelError, match="not defined"):
        ns.simulate(system, (0, 1), [0.0, 0.0], [SIZE * RATE, 0.0], ns.SlidingMode(dt=0.02, reach=1.0))
