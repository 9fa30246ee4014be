"""The residual against closed forms, and its two scalings."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonsmooth._core.contact.nsgs import natural_residual
from nonsmooth._core.contact.verdict import of_laws, verdict
from nonsmooth._core.contact.verdict import rounding as core_rounding
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import natural_map, project, residual, rounding
from nonsmooth.contact.solve import solve_contact

sys.path.insert(0, str(Path(__file__).parents[1] / "_core" / "laws"))
from prox_problem import Prox, contact_matrix, coulomb

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
    figures = residual(problem, np.array(wrong))
    assert min(figures.scaled, figures.unit, figures.laws) > 1e-3


def test_scaled_does_not_see_units_and_unit_does():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(8, 6))
    W, q, r = H.T @ H, rng.normal(size=6), rng.normal(size=6)
    base = residual(ContactProblem(W, q, 0.3), r)
    for mass, speed in [(1e6, 1.0), (1e-4, 1e3), (1.0, 1e-5)]:
        other = residual(ContactProblem(W / mass, q * speed, 0.3), r * mass * speed)
        assert other.scaled == pytest.approx(base.scaled, rel=1e-12)
        assert other.laws == pytest.approx(base.laws, rel=1e-12)
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
    A = rng.normal(size=(n * dim, n * dim))
    problem = ContactProblem(A @ A.T, rng.normal(size=n * dim), mu, dim, bilateral)
    u = problem.velocity(r)
    compiled, _ = of_laws(
        dim, r, u, problem.q, mu, bilateral, problem.law_rho.ravel(), problem.diagonal.ravel()
    )
    assert compiled == pytest.approx(residual(problem, r).laws, rel=1e-12)


def test_a_contact_that_parts_in_a_hurry_hides_no_error():
    """Two balls apart: one rests with an impulse 1 % wrong, the other leaves at any speed."""
    for speed in (0.0, 1.0, 1e6, 1e12):
        problem = ContactProblem(np.eye(4), [-1.0, 0.0, speed, 0.3], 0.5, 2)
        wrong, right = np.array([0.99, 0.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
        assert residual(problem, wrong).laws == pytest.approx(0.01, rel=1e-9)
        assert residual(problem, right).laws == 0.0
        if speed > 0.0:
            assert solve_contact(problem).residual_laws <= 1e-8


def test_sweeps_stop_by_the_contacts_that_are_closed():
    """A stack of balls beside one that leaves a hundred million times faster: right to the digits asked for, or not called solved.

    (Measured against all velocities, ADMM was content with impulses that were 24 % off.)
    """
    n = 6
    G = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    G[0, 0] = 1.0
    W = np.zeros((n + 1, n + 1))
    W[:n, :n], W[n, n] = G, 1.0
    q = np.full(n + 1, 0.0)
    q[0], q[n] = -1e-2, 1e6  # the floor carries all of them
    exact = np.linalg.solve(G, -q[:n])
    for method in ("auto", "nsgs", "newton", "interior-point", "admm", "apgd"):
        result = solve_contact(ContactProblem(W, q, 0.0, 1), method=method, tol=1e-8)
        assert result.success or method in ("interior-point", "admm", "apgd"), method
        if result.success:
            np.testing.assert_allclose(result.r[:n], exact, rtol=1e-6, err_msg=method)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_and_solve_contact_measure_alike(dim, seed):
    """Impulses of any quality, in and out of their cones: the same figure to rounding."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=4 * dim)
    c[:3] = -np.abs(c[:3])  # normal rows come first; the last contact may part
    step = Prox(contact_matrix(rng, 4, dim - 1), c, coulomb(4, dim - 1, 0.4))
    step.problem.count.laws, step.problem.count.rows = len(step.laws), step.n
    for sweeps in (1, 3, 9):
        step.rows.P[:] = 0.0
        step.solve(method="psor", tol=1e-15, max_iter=sweeps)
        problem = ContactProblem.of_step(step.problem)
        assert step.residual > 1e-14
        assert residual(problem, problem.guess(step.rows.P)).laws == pytest.approx(
            step.residual, rel=1e-9, abs=1e-15
        )


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
