"""Derivatives: exact by the complex step, by differences where that would be silently wrong."""

import numpy as np
import pytest

from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.parameters import Parameters

P = Parameters({"l": 0.7})
Q, U = np.array([0.4, -1.3]), np.array([0.2, 0.9])


def derivative(f, variable, m, t=0.3, q=Q, u=U, t0=0.0, takes_u=False):
    """Matrix df/dvariable (or vector df/dt) at (t, q, u), and its source."""
    maker = Differentiator(t0, q, u, P.flat)
    function = UserFunction(f, "f", (m,), takes_u, P)
    if variable == "t":
        out = np.zeros(m)
        maker.time_derivative(function, slice(0, m), "f")(t, q, u, P.flat, out)
    else:
        out = np.zeros((m, q.size))
        maker.jacobian(function, variable, slice(0, m), "f")(t, q, u, P.flat, out)
    return out, maker.sources["f"]


def linkage(t, q, p):
    return np.array([p.l * np.sin(q[0]) * np.exp(q[1]), q[0] * q[0] ** 2 / (1.0 + q[1] ** 2)])


def test_complex_step_to_rounding():
    J, source = derivative(linkage, "q", 2)
    a, b = Q
    exact = np.array(
        [
            [0.7 * np.cos(a) * np.exp(b), 0.7 * np.sin(a) * np.exp(b)],
            [3 * a**2 / (1 + b**2), -2 * a**3 * b / (1 + b**2) ** 2],
        ]
    )
    assert source == "complex step"
    np.testing.assert_allclose(J, exact, rtol=1e-13)


def distance(t, q, p):
    return np.sqrt(abs(q[0]) ** 2 + abs(q[1]) ** 2) - p.l


def test_absolute_values_and_norms_fall_back_to_differences():
    J, source = derivative(distance, "q", 1)
    assert source == "differences"
    np.testing.assert_allclose(J[0], Q / np.hypot(*Q), rtol=1e-8)
    J, source = derivative(lambda t, q: np.linalg.norm(q), "q", 1)
    np.testing.assert_allclose(J[0], Q / np.hypot(*Q), rtol=1e-8)
    assert source == "differences"


@pytest.mark.parametrize("cube", [lambda t, q: q[0] ** 3 - q[1], lambda t, q: (q**3.0)[0] - q[1]])
def test_odd_powers_are_multiplications(cube):
    """By way of logarithms (-2 + 1e-40 i)^3 would have the imaginary part 3e-15."""
    J, source = derivative(cube, "q", 1)
    assert source == "complex step"
    np.testing.assert_allclose(J[0], [3 * Q[0] ** 2, -1.0], rtol=1e-13)


@pytest.mark.parametrize("analytic", [True, False])
def test_fast_functions_of_time(analytic):
    """A wall that shakes at 30 kHz: a fixed difference step of 1e-3 would see nothing but noise."""
    if analytic:
        wall = lambda t, q: q[0] - 1e-6 * np.sin(2e5 * t)  # noqa: E731
    else:
        wall = lambda t, q: q[0] - 1e-6 * np.sin(2e5 * abs(t))  # noqa: E731
    rate, source = derivative(wall, "t", 1, t=1e-5, t0=1e-5)
    exact = -0.2 * np.cos(2.0)
    assert source == ("complex step" if analytic else "differences")
    np.testing.assert_allclose(rate[0], exact, rtol=1e-13 if analytic else 1e-5)


def test_a_rate_that_vanishes_at_the_start_is_no_reason_for_differences():
    rate, source = derivative(lambda t, q: q[0] + 3.0 * t**2 * (1.0 + t), "t", 1, t=0.25)
    assert source == "complex step"
    np.testing.assert_allclose(rate[0], 6 * 0.25 + 9 * 0.25**2, rtol=1e-14)


def test_outside_the_domain_nearby_is_no_obstacle():
    """sqrt(q) started at 1e-3 of its scale: trial points outside the domain are left out."""
    q = np.array([0.02, 1.0])
    J, source = derivative(lambda t, q: np.sqrt(q[0]), "q", 1, q=q)
    assert source == "complex step"
    np.testing.assert_allclose(J[0], [0.5 / np.sqrt(0.02), 0.0], rtol=1e-13)


def test_steps_follow_the_start_of_a_later_run():
    maker = Differentiator(0.0, np.array([1e3]), np.array([0.0]), P.flat)
    f = UserFunction(lambda t, q: abs(q[0]) ** 3, "f", (1,), False, P)
    write = maker.jacobian(f, "q", slice(0, 1), "f")
    out, q = np.zeros((1, 1)), np.array([-1e-3])
    maker.rescale(0.0, q, np.array([0.0]))
    write(0.0, q, q, P.flat, out)
    np.testing.assert_allclose(out[0, 0], -3e-6, rtol=1e-8)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_angles_beside_lengths_of_any_size(length):
    """A loop of rods: steps that suit its lengths would turn its angles by thousands of radians."""

    def loop(t, q):
        return np.array([q[0] - length * np.cos(q[2]), q[1] - length * np.sin(q[2])])

    q = np.array([length * np.cos(0.6), length * np.sin(0.6), 0.6])
    W, source = derivative(loop, "q", 2, q=q, u=np.zeros(3))
    exact = [[1.0, 0.0, length * np.sin(0.6)], [0.0, 1.0, -length * np.cos(0.6)]]
    np.testing.assert_allclose(W, exact, rtol=1e-12, atol=1e-12)
    assert source == "complex step"


@pytest.mark.parametrize("period", [1.0, 1e-6, 1e-9])
@pytest.mark.parametrize("t0", [0.0, 0.02])
def test_time_in_units_far_too_long(period, t0):
    """A wall that shakes a million times in a second: seconds are no scale of its motion."""

    def wall(t, q):
        return q[0] - np.sin(3.0 * t / period)

    maker = Differentiator(t0, np.array([1.0]), np.array([0.0]), P.flat)
    write = maker.time_derivative(UserFunction(wall, "wall", (1,), False, P), slice(0, 1), "wall")
    out, t = np.zeros(1), t0 + 0.2 * period
    write(t, np.array([1.0]), np.array([0.0]), P.flat, out)
    assert out[0] * period == pytest.approx(-3.0 * np.cos(3.0 * t / period), abs=1e-6)
    assert maker.sources["wall"] == "complex step"
