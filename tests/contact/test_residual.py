"""The residual against closed forms, and its two scalings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonsmooth._core.contact.nsgs import natural_residual
from nonsmooth._core.contact.verdict import rounding as core_rounding
from nonsmooth._core.contact.verdict import verdict
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import natural_map, project, residual, rounding

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@settings(max_examples=300, deadline=None)
@given(st.tuples(numbers, numbers, numbers), st.floats(0, 20))
def test_projection_is_the_nearest_point(x, mu):
    x = np.array(x)
    p = project(x[None], np.array([mu]))[0]
    size = 1e-9 + np.abs(x).max()
    assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-13 * size
    # Moreau: x - p lies in the polar cone and is orthogonal to p
    d = p - x
    assert abs(d @ p) <= 1e-12 * size**2
    assert mu * np.hypot(d[1], d[2]) <= d[0] * (1 + 1e-12) + 1e-11 * size * (1 + mu)


def test_planar_projection_agrees_with_space():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    mu = rng.uniform(0, 3, 200)
    flat = project(x, mu)
    space = project(np.column_stack([x, np.zeros(200)]), mu)
    np.testing.assert_allclose(space, np.column_stack([flat, np.zeros(200)]), atol=1e-15)


def sliding_block():
    """A block of mass m pushed sideways with impulse p on a plane: r_N = m g, r_T = -mu m g, u_T = (p - mu m
    g) / m."""
    m, weight, push, mu = 2.0, 6.0, 5.0, 0.4
    problem = ContactProblem(np.eye(3) / m, [-weight / m, push / m, 0.0], mu)
    return problem, np.array([weight, -mu * weight, 0.0])


def test_zero_at_the_sliding_block():
    problem, r = sliding_block()
    np.testing.assert_allclose(problem.velocity(r), [0.0, (5.0 - 2.4) / 2.0, 0.0], atol=1e-15)
    assert max(residual(problem, r)) < 1e-15


@pytest.mark.parametrize(
    "wrong", [[5.0, -2.0, 0.0], [6.0, 0.0, 0.0], [6.0, 2.4, 0.0], [0.0, 0.0, 0.0], [7.0, -2.8, 0.0]]
)
def test_positive_elsewhere(wrong):
    problem, _ = sliding_block()
    assert min(residual(problem, np.array(wrong))[:2]) > 1e-3


def test_scaled_does_not_see_units_and_unit_does():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(8, 6))
    W, q, r = H.T @ H, rng.normal(size=6), rng.normal(size=6)
    base = residual(ContactProblem(W, q, 0.3), r)
    for mass, speed in [(1e6, 1.0), (1e-4, 1e3), (1.0, 1e-5)]:
        other = residual(ContactProblem(W / mass, q * speed, 0.3), r * mass * speed)
        assert other.scaled == pytest.approx(base.scaled, rel=1e-12)
        assert other.cone == pytest.approx(base.cone, rel=1e-12)
    heavier = residual(ContactProblem(W / 1e6, q, 0.3), r * 1e6)
    assert heavier.unit != pytest.approx(base.unit, rel=1e-3)


def test_nan_is_infinite():
    problem, r = sliding_block()
    assert residual(problem, r * np.nan).unit == np.inf


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_cores_copy_agrees(dim):
    rng = np.random.default_rng(dim)
    n = 40
    r, u = rng.normal(size=n * dim), rng.normal(size=n * dim)
    mu = rng.uniform(0, 2, n) * (dim > 1)
    rho = rng.uniform(0.1, 10, n)
    bilateral = rng.random(n) < 0.2
    R, U = r.reshape(n, dim), u.reshape(n, dim)
    scaled = np.linalg.norm(natural_map(R, U, mu, rho, bilateral) / rho[:, None])
    unit = np.linalg.norm(natural_map(R, U, mu, np.ones(n), bilateral))
    np.testing.assert_allclose(
        natural_residual(u, r, mu, bilateral, rho, dim, 1.0), [scaled, unit], rtol=1e-13
    )
    np.testing.assert_allclose(verdict(dim, r, u, mu, bilateral, rho, 1.0)[:2], [scaled, unit], rtol=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_compiled_verdict_agrees_near_solutions(dim):
    """Impulses on, inside and at the tip of the cone, velocities nearly complementary: where cancellation
    shows."""
    rng = np.random.default_rng(10 + dim)
    n = 200
    mu = rng.uniform(0.1, 2, n) * (dim > 1)
    R = np.zeros((n, dim))
    U = np.zeros((n, dim))
    for i in range(n):
        t = rng.normal(size=dim - 1)
        t /= np.linalg.norm(t) if dim > 1 else 1.0
        if i % 3 == 0:
            R[i, 0], R[i, 1:], U[i, 1:] = 1e3, 1e3 * mu[i] * t, -rng.uniform(0, 1) * t
        elif i % 3 == 1:
            R[i, 0], R[i, 1:] = 1e3, 500 * mu[i] * t
        else:
            U[i, 0], U[i, 1:] = 1.0, t
    R += 1e-9 * rng.normal(size=(n, dim))
    U += 1e-9 * rng.normal(size=(n, dim))
    rho = rng.uniform(0.1, 10, n)
    free = np.zeros(n, dtype=bool)
    scaled = np.linalg.norm(natural_map(R, U, mu, rho) / rho[:, None])
    unit = np.linalg.norm(natural_map(R, U, mu, np.ones(n)))
    assert unit < 1e-6
    got = verdict(dim, R.ravel(), U.ravel(), mu, free, rho, 1.0)
    np.testing.assert_allclose(got[:2], [scaled, unit], rtol=1e-3, atol=1e-12)


def test_the_allowance_for_rounding_is_the_same_in_the_core():
    problem = ContactProblem(1e-9 * np.diag([1.0, 2.0, 3.0, 4.0]), [-1.0, 2.0, 0.5, 1.0], 0.3, 2)
    for r in (np.full(4, 1e7), np.full(4, 1e12), np.zeros(4)):
        assert core_rounding(r, problem.rho, problem.q_norm) == pytest.approx(rounding(problem, r), rel=1e-14)
