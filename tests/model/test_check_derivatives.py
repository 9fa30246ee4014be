"""Derivatives given by the user are compared with differences: wrong ones are errors at the start and warnings later."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import DerivativeWarning, ModelError


def ball(jacobian=None, force=None, **options):
    def gap(t, q):
        return np.array([q[0] + 0.1 * q[0] ** 2])

    contact = ns.Contact(gap, restitution=0.5, jacobian=jacobian, name="ground", **options)
    return ns.MechanicalSystem([[1.0]], force or (lambda t, q, u: np.array([-9.81])), contact)


def run(system, **options):
    return ns.simulate(system, (0, 0.2), [1.0], [-1.0], dt=1e-3, progress=False, **options)


def test_right_ones_are_believed():
    result = run(
        ball(lambda t, q: np.array([[1.0 + 0.2 * q[0]]]), jacobian_rate=lambda t, q, u: 0.2 * u[0] ** 2)
    )
    assert result.audit.ok


def test_wrong_sign_is_named():
    with pytest.raises(
        ModelError, match=r"jacobian of contact 'ground' has -1.2 in entry \(0, 0\) .* give 1.2"
    ):
        run(ball(lambda t, q: np.array([[-1.0 - 0.2 * q[0]]])))
    with pytest.raises(ModelError, match=r"jacobian_rate of contact 'ground' has .* give"):
        run(ball(jacobian_rate=lambda t, q, u: -0.2 * u[0] ** 2))


def test_joints_and_force_tangents():
    joint = ns.Joint(
        lambda t, q: np.array([q[0] - q[1]]), jacobian=lambda t, q: np.array([[1.0, 1.0]]), name="rod"
    )
    system = ns.MechanicalSystem(np.eye(2), np.zeros(2), joints=[joint])
    with pytest.raises(ModelError, match=r"jacobian of joint 'rod' has 1 in entry \(0, 1\) .* give -1"):
        ns.simulate(system, (0, 0.1), np.zeros(2), np.zeros(2), dt=0.01, progress=False)
    system = ns.MechanicalSystem(
        [[1.0]],
        lambda t, q, u: -4.0 * q - u,
        force_tangents=(lambda t, q, u: [[4.0]], lambda t, q, u: [[-1.0]]),
    )
    with pytest.raises(ModelError, match=r"dh/dq has 4 .* give -4"):
        run(system)


def test_a_kink_at_the_start_is_no_contradiction():
    contact = ns.Contact(
        lambda t, q: 1.0 + abs(q[0] - 1.0), jacobian=lambda t, q: np.array([[1.0 if q[0] >= 1.0 else -1.0]])
    )
    run(ns.MechanicalSystem([[1.0]], [0.0], contact))


def test_wrong_later_is_a_warning():
    def jacobian(t, q):
        return np.array([[(1.0 if t < 0.05 else -1.0) * (1.0 + 0.2 * q[0])]])

    with pytest.warns(DerivativeWarning, match="jacobian of contact 'ground'"):
        result = run(ball(jacobian))
    assert any("jacobian of contact 'ground'" in note for note in result.audit.notes)
