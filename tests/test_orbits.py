"""Periodic orbits and their branches."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

import nonsmooth as ns
from nonsmooth.branch_marks import Point, nearest_pair_turns, pair_function
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


def test_branch_goes_on_behind_the_grazing_where_the_amplitude_is_one():
    q, u, _ = response(0.66)
    orbit = ns.find_periodic_orbit(OSCILLATOR.with_params(w=0.66), (q, u), period=turn)
    branch = ns.continue_orbit(orbit, "w", (0.66, 0.73), step=0.3)
    squared = (1.99 - np.sqrt(1.99**2 - 4 * 0.75)) / 2  # (1 - w^2)^2 + (0.1 w)^2 = 0.25
    ((kind, place, index),) = branch.marks
    assert kind == "grazing" and place == pytest.approx(np.sqrt(squared), abs=1e-7)
    assert branch.values[-1] == 0.73 and branch.message == "w left the range"
    for value, found in zip(branch.values, branch.orbits):
        assert len(found.events) == (0 if value < place else 1)
        if not found.events:
            np.testing.assert_allclose(found.q, response(value)[0], atol=1e-7)


def one_impact(w, e=0.8, c=0.1):
    """Forced response X = A + B v at the impact of orbits with one impact per period and speed v after it, X = (x, x'/w): with the flow
    Phi of the free motion over a period, (x, x') is (1 - Phi)^-1 ((1, -v/e) - Phi (1, v)). And the quadratic |X|^2 - amplitude^2 in v."""
    T, z, wd = 2 * np.pi / w, c / 2, np.sqrt(1 - c * c / 4)
    C, S = np.cos(wd * T), np.sin(wd * T)
    Phi = np.exp(-z * T) * np.array([[C + z / wd * S, S / wd], [-S / wd, C - z / wd * S]])
    K = np.linalg.inv(np.eye(2) - Phi)
    A, B = K @ (np.eye(2)[0] - Phi[:, 0]), K @ (np.array([0.0, -1 / e]) - Phi[:, 1])
    A, B = A / [1.0, w], B / [1.0, w]
    return A, B, np.array([B @ B, 2 * A @ B, A @ A - response(w)[2] ** 2])


def test_fold_of_orbits_with_one_impact():
    """Two orbits meet where the discriminant of their quadratic vanishes; the branch turns back there."""

    def discriminant(w):
        a, b, c = one_impact(w)[2]
        return b * b - 4 * a * c

    fold = brentq(discriminant, 1.5, 1.6, xtol=1e-13)
    A, B, quadratic = one_impact(1.54)
    v = np.min(np.roots(quadratic))
    X, (q, u, _) = A + B * v, response(1.54)
    instant = (np.arctan2(-X[1], X[0]) - np.arctan2(-u[0] / 1.54, q[0])) / 1.54 % (2 * np.pi / 1.54)
    system = OSCILLATOR.with_params(w=1.54)
    rest = ns.simulate(system, (instant, 2 * np.pi / 1.54), [1.0], [v], rtol=1e-10, audit=False)
    orbit = ns.find_periodic_orbit(system, (rest.q[:, -1], rest.u[:, -1]), period=turn)
    branch = ns.continue_orbit(orbit, "w", (1.54, 1.6), step=0.5, max_points=6)
    ((kind, place, _),) = branch.marks
    assert kind == "fold" and place == pytest.approx(fold, abs=1e-9)
    assert branch.values[-1] < np.max(branch.values)  # the other of the two orbits
    for value, found in zip(branch.values, branch.orbits):
        run = found.simulate(audit=False)
        (impact,) = run.events
        v = run.u[0, np.flatnonzero(run.t == impact.t)[-1]]
        assert abs(np.polyval(one_impact(value)[2], v)) < 1e-8 * v**2
        assert 0.03 < (impact.t - found.t_0) / found.period < 0.97


@pytest.mark.parametrize("restitution", [None, 0.95])
def test_torus_where_what_impacts_take_is_given_back(restitution):
    """The product of the multipliers is e^2 exp(-c T) for each impact: a pair passes the unit circle at c = 2 ln(e)/T, or at zero."""
    wall = ns.Contact(lambda t, q: 1.0 - q[0], restitution=0.95, name="wall")
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([0.5 * np.cos(p.w * t + 2.5) - p.c * u[0] - q[0]]),
        wall,
        params={"w": 0.6 if restitution is None else 1.0, "c": 0.02},
    )
    z = 0.5 * np.exp(2.5j) / (1.0 - 0.36 + 0.012j)  # the linear response at w = 0.6
    guess, transient = (([z.real], [-0.6 * z.imag]), 0) if restitution is None else (([0.0], [0.0]), 60)
    orbit = ns.find_periodic_orbit(system, guess, period=turn, transient=transient)
    assert len(orbit.events) == (0 if restitution is None else 1) and orbit.stable
    branch = ns.continue_orbit(orbit, "c", (0.02, -0.02), step=0.5)
    ((kind, place, index),) = branch.marks
    wanted = 2 * np.log(restitution or 1.0) / orbit.period
    assert kind == "torus" and place == pytest.approx(wanted, abs=1e-9)
    assert [found.stable for found in branch.orbits] == [k <= index for k in range(len(branch.orbits))]


def test_pairs_are_told_from_real_multipliers_whose_product_is_one():
    def point(*multipliers):
        return Point(0.0, SimpleNamespace(multipliers=np.array(multipliers)), np.zeros(1))

    inside, outside = point(0.5j, -0.5j, 1.2j, -1.2j), point(0.5j, -0.5j, 0.9j, -0.9j)
    assert pair_function(inside) * pair_function(outside) < 0  # whichever pair is the largest
    assert nearest_pair_turns(point(1.0j, -1.0j, 0.3, 0.2).orbit)
    assert not nearest_pair_turns(point(2.0, 0.5, 0.1).orbit)  # a saddle, and no torus


def test_woodpecker():
    toy = ns.problems.woodpecker(start="consistent")
    orbit = ns.find_periodic_orbit(
        toy.system, (toy.q0, toy.u0), ("stick", "lower sleeve friction"), drift=[0], transient=2
    )
    assert orbit.period == pytest.approx(0.14597606514375, abs=1e-10)
    np.testing.assert_allclose(orbit.multipliers, [-0.83916, 0.0], atol=1e-5)
    assert orbit.drift[0] == pytest.approx(-0.019445379284716614, abs=1e-10)
    assert orbit.stable and orbit.smooth and len(orbit.events) == 9


@pytest.mark.parametrize("e", [0.5, 0.9])
def test_a_motion_that_shrinks_to_rest_is_no_orbit(e):
    """A ball that bounces ever lower: Newton's method goes to the accumulation of its impacts, once called an orbit of 2e-9 s."""
    ball = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0], restitution=e, name="floor"))
    with pytest.raises(ConvergenceError, match=r"shrinks to rest|nearer"):
        ns.find_periodic_orbit(ball, ([0.1], [0.0]), ("impact", "floor"), max_time=3.0)


def test_bad_input():
    with pytest.raises(InputError, match="one of `section`"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]))
    with pytest.raises(RangeError, match="returns"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]), period=turn, returns=0)
    with pytest.raises(ConvergenceError, match="was met 0 of 1"):
        ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]), ("stick", "wall"), max_time=2.0)
    for period in (-1.0, np.nan, lambda p: 0.0):
        with pytest.raises(RangeError, match="`period` is"):
            ns.find_periodic_orbit(OSCILLATOR, ([0.0], [0.0]), period=period)
    q, u, _ = response(0.6)
    orbit = ns.find_periodic_orbit(OSCILLATOR, (q, u), period=turn)
    with pytest.raises(InputError, match="parameter"):
        ns.continue_orbit(orbit, "mass", (0.0, 1.0))
    for wrong in ((1.0, 1.0), (0.7, 1.0)):
        with pytest.raises(RangeError, match="range"):
            ns.continue_orbit(orbit, "w", wrong)
