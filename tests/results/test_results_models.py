"""The audit on real models and runs: every kind of law, joints, user-defined sets, thinned and streamed output."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.model.elements import ConvexSet, SetValuedElement
from nonsmooth.results import Result


def mass(t, q):
    return np.eye(2)


def gravity(t, q, u):
    return np.array([0.0, -9.81])


def rod(t, q):
    return np.array([q[0] ** 2 + q[1] ** 2 - 1.0])


def wall(t, q):
    return q[0] + 0.5


def along_x(t, q):
    return np.array([1.0, 0.0])


def between(x):
    y = x.copy()
    for i in range(x.size):
        y[i] = min(max(x[i], -1.0), 2.0)
    return y


def within_rounding(audit):
    assert audit.ok, str(audit)
    assert audit.steps_checked >= 150
    assert audit.momentum_residual < 1e-13
    assert audit.energy_identity_error < 1e-12
    assert audit.complementarity < 1e-10
    assert audit.energy_balance["unexplained"] < 1e-10
    return True


def test_ball_energy_identity_and_file(tmp_path):
    problem = ns.problems.falling_ball()
    result = problem.simulate()
    assert within_rounding(result.audit)
    assert result.audit.energy_gains["count"] == 0
    result.save(tmp_path / "ball.h5")
    again = Result.load(tmp_path / "ball.h5")
    assert str(again.audit) == str(result.audit)
    assert list(again.events) == list(result.events)
    assert np.array_equal(again.y, result.y)


def test_pendulum_that_hits_a_wall():
    system = ns.MechanicalSystem(
        mass,
        gravity,
        contacts=[ns.Contact(wall, restitution=0.5, name="wall")],
        joints=[ns.Joint(rod, name="rod")],
    )
    result = ns.simulate(system, (0, 1), q0=[1.0, 0.0], u0=[0.0, 0.0], dt=1e-3)
    assert within_rounding(result.audit)
    assert (
        0.0 < result.audit.joint_drift_position < 0.1
    )  # Moreau's scheme drifts at position level, and it is seen


def test_user_defined_set():
    system = ns.MechanicalSystem(
        mass, gravity, elements=[SetValuedElement(along_x, ConvexSet(between), name="set")]
    )
    result = ns.simulate(system, (0, 1), q0=[1.0, 0.0], u0=[0.5, 0.0], dt=1e-3)
    assert within_rounding(result.audit)
    assert not any("not recomputed" in note for note in result.audit.notes)
    assert {1} < set(np.unique(np.abs(result.modes)).tolist()) | {0} or result.modes.any()


@pytest.mark.parametrize("every", [1, 7])
def test_streamed_run_equals_the_one_in_memory(tmp_path, every):
    problem = ns.problems.falling_ball()
    whole = problem.simulate(every=every)
    assert whole.audit.ok and whole.audit.steps_checked > 100
    streamed = problem.simulate(every=every, output=tmp_path / "run.nsr")
    for name in ("t", "q", "u", "P_N", "modes", "dt"):
        assert np.array_equal(getattr(whole, name), getattr(streamed, name)), name
    lazy = Result.load(tmp_path / "run.nsr", lazy=True)
    assert np.array_equal(lazy.q, whole.q)
    assert list(lazy.events) == list(whole.events)
    assert not lazy.unfinished
