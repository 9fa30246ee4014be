"""The scheme of Schatzman and Paoli: a step by hand, orders, joints, friction, moving walls, bad input."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import EnergyGainWarning, RangeError


def test_steps_of_a_ball_by_hand():
    """The recursion of the paper, q_(k+1) = -e q_(k-1) + max(0, 2 q_k - (1 - e) q_(k-1) + h^2 f), after a leapfrog start."""
    e, f, h = 0.5, -2.0, 0.07
    ball = ns.MechanicalSystem(
        1.0, lambda t, q, u: np.array([-2.0]), ns.Contact(lambda t, q: q[0], restitution=e)
    )
    result = ns.simulate(ball, (0, 50 * h), [1.0], [0.3], method=ns.SchatzmanPaoli(dt=h))
    q = [1.0, 1.0 + 0.3 * h + 0.5 * h**2 * f]
    for _ in range(49):
        q.append(-e * q[-2] + max(0.0, 2 * q[-1] - (1 - e) * q[-2] + h**2 * f))
    assert result.q[0] == pytest.approx(q, abs=1e-12)
    assert result.audit.ok, result.audit.failures()


def test_order_of_smooth_motion_with_a_joint():
    """SHAKE: second order in q, the joint holds to rounding."""
    system = ns.MechanicalSystem(
        np.eye(2), np.array([0.0, -9.81]), joints=[ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)]
    )
    exact, errors = np.array([-0.98629175113, -0.16501085313]), []  # as in test_theta
    for n in (50, 100, 200):
        result = ns.simulate(system, (0, 1), [1.0, 0.0], [0.0, 0.0], method=ns.SchatzmanPaoli(dt=1 / n))
        errors.append(np.linalg.norm(result.q[:, -1] - exact))
        assert np.max(np.abs(np.sum(result.q**2, axis=0) - 1.0)) < 1e-14
        assert result.audit.ok, result.audit.failures()
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2.0, abs=0.2)


def test_order_through_impacts():
    """First order in the integral norm through impacts."""
    problem = ns.problems.acary_oscillator(case=2, t_end=4.0)
    fine, errors = np.linspace(0, 4, 20001), []
    for h in (0.02, 0.01, 0.005, 0.0025):
        result = problem.simulate(method=ns.SchatzmanPaoli(dt=h))
        errors.append(ns.l1_error(result.t, result.q, fine, problem.reference.q(fine)))
        assert result.audit.ok, result.audit.failures()
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(1.0, abs=0.2)


def test_rest_without_drift_and_friction():
    """A block on an incline sticks below the angle of friction, slides above it with g (sin - mu cos); it never sinks."""
    for angle, moves in ((0.2, False), (0.5, True)):
        slope = ns.MechanicalSystem(
            np.eye(2), 9.81 * np.array([np.sin(angle), -np.cos(angle)]),
            ns.Contact(lambda t, q: q[1], friction=0.3, tangent=lambda t, q: np.array([1.0, 0.0])),
        )  # fmt: skip
        result = ns.simulate(slope, (0, 2), [0.0, 0.0], [0.0, 0.0], method=ns.SchatzmanPaoli(dt=1e-3))
        a = 9.81 * (np.sin(angle) - 0.3 * np.cos(angle)) if moves else 0.0
        assert result.q[0, -1] == pytest.approx(2.0 * a, abs=1e-9)
        assert np.max(np.abs(result.q[1])) < 1e-15
        assert result.audit.ok, result.audit.failures()


def test_moving_wall_and_short_last_step():
    """A block that rests on a table moving to and fro stays on it, also in a last step of another length."""
    table = ns.MechanicalSystem(
        1.0, lambda t, q, u: np.array([-9.81]), ns.Contact(lambda t, q: q[0] - 0.01 * np.sin(5.0 * t))
    )
    result = ns.simulate(table, (0, 1.0003), [0.0], [0.05], method=ns.SchatzmanPaoli(dt=1e-3))
    assert np.max(np.abs(result.q[0] - 0.01 * np.sin(5.0 * result.t))) < 1e-14
    assert result.audit.ok, result.audit.failures()


def test_contacts_with_different_restitution():
    """Each contact has its own y: two balls side by side bounce as they do alone."""
    balls = ns.MechanicalSystem(
        np.eye(2),
        np.array([-2.0, -2.0]),
        ns.Contact(lambda t, q: np.array([q[0], q[1]]), restitution=[0.8, 0.3]),
    )
    both = ns.simulate(balls, (0, 3), [1.0, 0.7], [0.0, 0.0], method=ns.SchatzmanPaoli(dt=0.01))
    for i, (e, q0) in enumerate([(0.8, 1.0), (0.3, 0.7)]):
        ball = ns.MechanicalSystem(
            1.0, lambda t, q, u: np.array([-2.0]), ns.Contact(lambda t, q: q[0], restitution=e)
        )
        alone = ns.simulate(ball, (0, 3), [q0], [0.0], method=ns.SchatzmanPaoli(dt=0.01))
        assert both.q[i] == pytest.approx(alone.q[0], abs=1e-12)


def test_bad_step():
    with pytest.raises(RangeError, match="dt"):
        ns.SchatzmanPaoli(dt=-1.0)


def test_energy_made_by_impact_laws_is_told():
    """With gamma_T = u_0 + 2 u_1 and friction an impact multiplies the energy by four; without friction it makes none."""
    for friction in (0.8, 0.0):
        floor = ns.Contact(
            lambda t, q: q[1],
            restitution=0.9,
            friction=friction,
            tangent=lambda t, q: np.array([1.0, 2.0]),
            name="floor",
        )
        system = ns.MechanicalSystem(np.eye(2), np.array([0.0, -1.0]), floor)
        for dt in (3.3e-3, 1e-3):
            start = (system, (0.0, 1.5), [0.0, 0.5], [1.0, 0.0])
            if friction:
                with pytest.warns(EnergyGainWarning, match="raised the kinetic energy"):
                    result = ns.simulate(*start, method=ns.SchatzmanPaoli(dt=dt))
                gains = result.audit.energy_gains
                assert gains["T_after"] > 1.5 * gains["T_before"] and abs(gains["t"] - 1.0) < 3 * dt
                assert "floor" in gains["law"] and not result.audit.ok
            else:
                result = ns.simulate(*start, method=ns.SchatzmanPaoli(dt=dt))
                assert result.audit.ok and result.audit.energy_gains["count"] == 0


def test_no_false_gains():
    """The second of the two steps of an impact gives velocity back; elastic, on a moving table and along a bowl."""
    system = ns.MechanicalSystem(
        1.0,
        -9.81,
        ns.Contact(lambda t, q, p: q[0] - p.a * np.sin(9.0 * t), restitution=1.0),
        params={"a": 0.0},
    )
    bowl = ns.MechanicalSystem(
        np.eye(2), np.array([0.0, -9.81]),
        ns.Contact(
            lambda t, q: 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2), restitution=0.3, friction=0.1,
            tangent=lambda t, q: np.array([-q[1], q[0]]) / np.sqrt(q[0] ** 2 + q[1] ** 2),
        ),
    )  # fmt: skip
    for case, q0 in ((system, [1.0]), (system.with_params(a=0.05), [1.0]), (bowl, [0.9, 0.0])):
        result = ns.simulate(case, (0, 1.5), q0, 0.0 * np.array(q0), method=ns.SchatzmanPaoli(dt=1e-3))
        assert result.audit.ok and result.audit.energy_gains["count"] == 0, result.audit.failures()


def test_rest_far_from_the_origin():
    """Positions carry the laws: what their rounding leaves of the velocities of a body at rest is no lack of convergence."""
    slope = ns.Contact(
        lambda t, q: q[1] - 0.4 * q[0] + 0.1204, friction=0.6, tangent=np.array([1.0, 0.4]), name="slope"
    )
    system = ns.MechanicalSystem(np.eye(2), [0.0, -9.81], slope)
    for far in (3.0, 300.0):
        start = [far, 0.4 * far - 0.1204]
        run = ns.simulate(system, (0, 1), start, [2.5, 1.0], method=ns.SchatzmanPaoli(dt=1e-4))
        assert run.audit.ok and abs(run.u[0, -1]) < 1e-9, str(run.audit)
