"""Slip in two directions that comes to a stop under `event-driven`."""

import numpy as np
import pytest

import nonsmooth as ns


@pytest.fixture(scope="module")
def block():
    """A block on a rough plane, mu g = 5."""
    plane = ns.Contact(
        lambda t, q: q[2],
        tangent=lambda t, q: np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]),
        friction=0.5,
    )
    return ns.MechanicalSystem(np.eye(3), np.array([0.0, 0.0, -10.0]), plane)


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_stop_is_located(block, rtol):
    result = ns.simulate(block, (0, 2), [0.0, 0.0, 0.0], [3.0, 4.0, 0.0], rtol=rtol)
    (stick,) = result.events.of("stick")
    assert stick.t == pytest.approx(1.0, abs=1e-12)  # |u| / (mu g)
    np.testing.assert_allclose(result.q[:, -1], [1.5, 2.0, 0.0], atol=1e-12)
    assert result.nsteps < 100


def test_turn_and_stop_take_no_more_steps_than_extrapolation():
    """The explicit method ground at the stop: 172,378 steps at 1e-6, extrapolation 79."""
    problem = ns.problems.get("sliding_mass")
    result = problem.simulate(method=ns.EventDriven(rtol=1e-6), audit=False)
    assert result.nsteps < 1.3 * 79


def test_ball_that_slides_and_spins_begins_to_roll():
    """Rolling begins at 2 |v| / (7 mu g), with 5/7 of the velocity; the spin about the normal does not matter."""
    world = ns.World(gravity=(0, 0, -9.81), material=ns.Material(restitution=0.5, friction=0.3))
    ball = ns.Body(
        ns.Sphere(0.1),
        mass=1.0,
        position=(0, 0, 0.1),
        velocity=(2, 1, 0),
        angular_velocity=(0, 0, 5.0),
        name="ball",
    )
    world.add(ball, ns.Plane(name="floor"))
    result = ns.simulate(world, (0, 1.5), rtol=1e-8)
    (stick,) = result.events.of("stick")
    assert stick.t == pytest.approx(2 * np.sqrt(5) / (7 * 0.3 * 9.81), rel=1e-7)
    np.testing.assert_allclose(result["ball"].velocity[:, -1], [10 / 7, 5 / 7, 0.0], atol=1e-7)
    assert result.audit.ok and result.nsteps < 300
