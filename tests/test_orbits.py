"""Periodic orbits and their branches."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ConvergenceError, InputError, RangeError

WALL = ns.Contact(lambda t, q: 1.0 - q[0], restitution=0.8, name="wall")


def force(t, q, u, p):
    return np.array([0.5 * np.cos(p.w * t) - 0.1 * u[0] - q[0]])


OSCILLATOR = ns.MechanicalSystem(1.0, force, WALL, params={"w": 0.6})


def response(w):
    """Start and amplitude of the linear response to 0.5 cos(w t)."""
    z = 0.5 / (1.0 - w**2 + 0.1j * w)
    return np.array([z.real]), np.array([-w * z.imag]), abs(z)


def turn(p):
    return 2.0 * np.pi / p.w


def test_linear_response_and_its_multipliers():
    q, u, _ = response(0.6)
    orbit = ns.find_periodic_orbit(OSCILLATOR, (q + 0.05, u), period=turn)
    np.testing.assert_allclose([orbit.q[0], orbit.u[0]], [q[0], u[0]], atol=1e-9)
    T = 2 * np.pi / 0.6
    exact = np.exp((-0.05 + 1j * np.sqrt(1 - 0.0025)) * T)
    np.testing.assert_allclose(
        sorted(orbit.multipliers, key=np.imag), sorted([exact, exact.conj()], key=np.imag), atol=1e-7
    )
    assert orbit.stable and orbit.smooth and orbit.events == ()


def test_impacting_orbit_has_the_determinant_of_its_saltation():
    late = ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([0.5 * np.cos(p.w * t + 2.5) - 0.1 * u[0] - q[0]]),
        WALL,
        params={"w": 0.9},
    )
    orbit = ns.find_periodic_orbit(late, ([0.0], [0.0]), period=turn, transient=40)
    assert orbit.events and {kind for kind, _ in orbit.events} == {"impact"}
    product = float(np.prod(orbit.multipliers).real)
    assert product == pytest.approx(0.8 ** (2 * len(orbit.events)) * np.exp(-0.1 * orbit.period), rel=1e-5)
    again = orbit.simulate(3.0, audit=False)
    np.testing.assert_allclose(again.q[:, -1], orbit.q, atol=1e-7)


def test_branch_ends_in_grazing_where_the_amplitude_is_one():
    q, u, _ = response(0.6)
    orbit = ns.find_periodic_orbit(OSCILLATOR, (q, u), period=turn)
    branch = ns.continue_orbit(orbit, "w", (0.6, 0.8), step=0.2)
    squared = (1.99 - np.sqrt(1.99**2 - 4 * 0.75)) / 2  # (1 - w^2)^2 + (0.1 w)^2 = 0.25
    assert np.sqrt(squared) - 2e-3 < branch.values[-1] < np.sqrt(squared)
    assert "no orbit was found" in branch.message
    assert [kind for kind, _, _ in branch.marks] == ["grazing"]
    assert branch.marks[0][1] == pytest.approx(np.sqrt(squared), abs=1e-7)
    for value, found in zip(branch.values, branch.orbits):
        if not found.events:
            np.testing.assert_allclose(found.q, response(value)[0], atol=1e-7)


def test_woodpecker():
    toy = ns.problems.woodpecker(start="consistent")
    orbit = ns.find_periodic_orbit(
        toy.system, (toy.q0, toy.u0), ("stick", "lower sleeve friction"), drift=[0], transient=2
    )
    assert orbit.period == pytest.approx(0.14597606514375, abs=1e-10)
    np.testing.assert_allclose(orbit.multipliers, [-0.83916, 0.0], atol=1e-5)
    assert orbit.drift[0] == pytest.approx(-0.019445379284716614, abs=1e-10)
    assert orbit.stable and orbit.smooth and len(orbit.events) == 9


def test_bad_input():
    with pytest.raises(InputError, match="one of `section`"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]))
    with pytest.raises(RangeError, match="returns"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]), period=turn, returns=0)
    with pytest.raises(ConvergenceError, match="was met 0 of 1"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]), ("stick", "wall"), max_time=2.0)
    q, u, _ = response(0.6)
    orbit = ns.find_periodic_orbit(OSCILLATOR, (q, u), period=turn)
    with pytest.raises(InputError, match="parameter"):
        ns.continue_orbit(orbit, "mass", (0.0, 1.0))
    with pytest.raises(RangeError, match="range"):
        ns.continue_orbit(orbit, "w", (1.0, 1.0))
