"""The Filippov problems shipped with the library, and mechanical systems converted to Filippov systems."""

import warnings

import numpy as np
import pytest

from nonsmooth.errors import InputError, ShapeError, ZenoWarning
from nonsmooth.filippov import solve_filippov
from nonsmooth.model.elements import Contact, FrictionElement
from nonsmooth.model.system import MechanicalSystem
from nonsmooth.problems.relays import coupled_relays, filippov_spiral
from nonsmooth.problems.three_mass import three_mass


@pytest.mark.parametrize("n", [2, 3])
def test_coupled_relays(n):
    problem = coupled_relays(n)
    result = problem.simulate(rtol=1e-9)
    np.testing.assert_allclose(result.t_switch, problem.switching_times, atol=1e-11)
    assert np.all(result.y[:, -1] == 0.0)
    with pytest.raises(ShapeError):
        coupled_relays(7)


def test_filippov_spiral():
    problem = filippov_spiral(0.7, -0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        result = problem.simulate(rtol=1e-10)
    assert abs(result.t_switch[-1] - problem.switching_times[0]) < 1e-11
    assert np.all(result.y[:, -1] == 0.0)


def force(t, q, u, p):
    return np.array([
        -q[0] + (q[1] - q[0]) - u[0],
        (q[0] - q[1]) + (q[2] - q[1]) - u[1],
        (q[1] - q[2]) - u[2] + p.forcing * np.cos(np.pi * t),
    ])  # fmt: skip


def first(t, q):
    return np.array([1.0, 0.0, 0.0])


def second(t, q):
    return np.array([0.0, 1.0, 0.0])


def third(t, q):
    return np.array([0.0, 0.0, 1.0])


def test_mechanical_system_with_friction_elements():
    problem = three_mass()
    friction = [FrictionElement(d, 0.3, name=f"mass {k + 1}") for k, d in enumerate((first, second, third))]
    system = MechanicalSystem(np.eye(3), force, friction=friction, params={"forcing": 10.0})
    result = solve_filippov(system, (0, 10), problem.x0, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(result.t_switch, problem.switching_times, atol=1e-9, rtol=0)
    assert {event.name for event in result.events} == {"mass 1", "mass 2", "mass 3"}


def test_block_on_a_belt():
    # Mass on a belt of speed 1 held by a spring: sticks to the belt, slips off where k q reaches the
    # friction limit.
    def mass(t, q, p):
        return np.array([[p.m * (1.0 + 0.0 * q[0])]])

    def spring(t, q, u, p):
        return np.array([-p.k * q[0]])

    def line(t, q):
        return np.array([np.cos(0.0 * q[0])])

    def limit(t, q, u, p):
        return p.mu

    def belt(t, q, p):
        return -p.v

    params = {"m": 2.0, "k": 8.0, "mu": 1.0, "v": 1.0}
    system = MechanicalSystem(
        mass, spring, friction=FrictionElement(line, limit, belt, name="belt"), params=params
    )
    result = solve_filippov(system, (0, 3), [0.0, 1.0], rtol=1e-9)
    # Stuck from the start: q = v t; released at k q = mu, t = 1/8; then q oscillates about mu/k with
    # amplitude v/w, w = 2.
    assert [event.kind for event in result.events] == ["slip"] and abs(result.t_switch[0] - 0.125) < 1e-8
    at = np.searchsorted(result.t, 1.0)
    t = result.t[at]
    expected = 0.125 + 0.5 * np.sin(2.0 * (t - 0.125))
    assert abs(result.y[0, at] - expected) < 1e-7


def test_what_cannot_be_converted():
    def gap(t, q):
        return q[0]

    def plane(t, q):
        return np.eye(2)

    def free(t, q, u):
        return -q

    with pytest.raises(InputError, match="contacts"):
        solve_filippov(MechanicalSystem(np.eye(1), free, contacts=Contact(gap)), (0, 1), [1.0, 0.0])
    with pytest.raises(InputError, match="disk"):
        solve_filippov(
            MechanicalSystem(np.eye(2), free, friction=FrictionElement(plane, 1.0)),
            (0, 1),
            [1.0, 0.0, 0.0, 0.0],
        )
    with pytest.raises(ShapeError, match="even"):
        solve_filippov(MechanicalSystem(np.eye(1), free), (0, 1), [1.0, 0.0, 2.0])
