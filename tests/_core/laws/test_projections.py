"""Projections, modes, residual and r-factors, seen through the solver (a budget of one sweep shows each of them)."""

import numpy as np
import pytest
from prox_problem import Prox

from nonsmooth._core.jit import JIT_ENABLED, PROJECT, user_kernel
from nonsmooth._core.records import laws as L


def one_law(kind, c, lower=0.0, upper=0.0, G=2.0):
    c = np.atleast_1d(np.asarray(c, dtype=float))
    n = c.size
    problem = Prox(G * np.eye(n), c, [(kind, n, -1, 0.0)], np.full(n, lower), np.full(n, upper))
    return problem, problem.solve()


@pytest.mark.parametrize(
    ("kind", "c", "bounds", "P", "mode"),
    [
        (L.HALF_LINE, -3.0, (0, 0), 1.5, 1),
        (L.HALF_LINE, 3.0, (0, 0), 0.0, -2),
        (L.HALF_LINE, 0.0, (0, 0), 0.0, -2),
        (L.INTERVAL, -3.0, (-1, 2), 1.5, 1),
        (L.INTERVAL, -5.0, (-1, 2), 2.0, 2),
        (L.INTERVAL, 5.0, (-1, 2), -1.0, -2),
        (L.INTERVAL, -5.0, (1, np.inf), 2.5, 1),  # pre-stressed, unbounded above
        (L.INTERVAL, 5.0, (1, np.inf), 1.0, -2),
        (L.FREE, -3.0, (0, 0), 1.5, 1),
        (L.FREE, 3.0, (0, 0), -1.5, 1),
    ],
)
def test_one_row_sets(kind, c, bounds, P, mode):
    problem, got = one_law(kind, c, *bounds)
    assert got[0] == P
    assert problem.modes[0] == mode
    assert problem.xi[0] == 2.0 * P + c
    assert problem.residual == 0.0


def test_disk():
    problem, P = one_law(L.DISK, [-0.6, -0.8], upper=1.0)
    np.testing.assert_allclose(P, [0.3, 0.4], rtol=1e-15)
    assert problem.modes[0] == 1
    problem, P = one_law(L.DISK, [-6.0, -8.0], upper=1.0)
    np.testing.assert_allclose(P, [0.6, 0.8], rtol=1e-15)  # on the rim, against the velocity
    assert problem.modes[0] == 2
    problem, P = one_law(L.DISK, [0.0, 0.0], upper=0.0)
    assert np.array_equal(P, [0.0, 0.0])


def test_friction_of_an_open_contact_is_inactive():
    laws = [(L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 0, 0.5)]
    problem = Prox(np.eye(2), [1.0, -2.0], laws)
    assert np.array_equal(problem.solve(), [0.0, 0.0])
    assert list(problem.modes) == [-2, 0]


def test_infinite_coefficient_sticks_exactly():
    laws = [(L.HALF_LINE, 1, -1, 0.0), (L.COULOMB_1D, 1, 0, np.inf)]
    problem = Prox(np.array([[1.0, 0.3], [0.3, 1.0]]), [-1.0, -50.0], laws)
    P = problem.solve()
    assert problem.violation(P) < 1e-14 or P[0] == 0.0
    problem = Prox(np.eye(2), [-1.0, -50.0], laws)
    np.testing.assert_allclose(problem.solve(), [1.0, 50.0], rtol=1e-15)
    assert list(problem.modes) == [1, 1]
    # open: 0 * inf is no friction at all
    problem = Prox(np.eye(2), [1.0, -50.0], laws)
    assert np.array_equal(problem.solve(), [0.0, 0.0])


def square(law, x, out):
    """Projection onto the square |x_i| <= 1."""
    for i in range(x.size):
        out[i] = min(max(x[i], -1.0), 1.0)


def test_user_set_is_scaled_by_the_step():
    project = user_kernel(square, PROJECT) if JIT_ENABLED else square
    dt = 0.01
    problem = Prox(np.eye(2), [-3.0, 0.004], [(L.USER_SET, 2, -1, 0.0)], project=project)
    P = problem.solve(dt=dt)
    np.testing.assert_allclose(P, [dt, -0.004], rtol=1e-12)  # force 1 for a time dt; inside the square
    assert problem.modes[0] == 2


def test_residual_is_a_ratio_of_velocities():
    """The same problem in other units takes the same sweeps to the same residual."""
    G, c = np.array([[2.0, 0.9], [0.9, 1.0]]), np.array([-1.0, -0.3])
    laws = [(L.HALF_LINE, 1, -1, 0.0)] * 2
    reference = Prox(G, c, laws)
    P = reference.solve("psor")
    for length, mass in ((1e-6, 1e3), (1e9, 1e-12)):
        problem = Prox(G / mass, c * length, laws)
        np.testing.assert_allclose(problem.solve("psor"), P * mass * length, rtol=1e-12)
        assert problem.iterations == reference.iterations
        np.testing.assert_allclose(problem.residual, reference.residual, rtol=1e-3, atol=1e-16)


def test_balanced_impulses_count_as_solved():
    """A constant force held by sticking friction: tiny velocities, large impulses, rounding of the impulses remains."""
    G = np.array([[1.0, 0.7, 0.3], [0.7, 1.3, 0.2], [0.3, 0.2, 1.1]])
    laws = [(L.INTERVAL, 1, -1, 0.0)] * 3
    problem = Prox(G, [1e-20, -3e-21, 2e-21], laws, [1.0, -5.0, -5.0], [1.0, 5.0, 5.0])
    P = problem.solve()
    assert problem.residual <= 1e-10
    assert P[0] == 1.0
    assert np.max(np.abs((G @ P)[1:])) < 1e-15


@pytest.mark.parametrize("strategy", ["local", "row-sum", "common"])
def test_r_factors(strategy):
    """One Jacobi sweep from zero gives P = -r c."""
    G = np.array([[2.0, -0.5, 0.1], [-0.5, 1.0, 0.2], [0.1, 0.2, 4.0]])
    c = np.array([-1.0, -1.0, -1.0])
    expected = {
        "local": 0.8 / np.diag(G),
        "row-sum": 0.8 / np.abs(G).sum(axis=1),
        "common": np.full(3, 0.8 / np.abs(G).sum(axis=1).max()),
    }[strategy]
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 3)
    P = problem.solve("pjor", omega=0.8, strategy=strategy, max_iter=1)
    np.testing.assert_allclose(P, expected, rtol=1e-15)
    assert problem.iterations == 1
    assert problem.residual > 1e-10  # and it says that this is not the solution
