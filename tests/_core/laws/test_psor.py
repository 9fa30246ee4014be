"""PSOR (23) and PJOR (22): their sweeps, and that they reproduce the exact solution."""

import numpy as np
import pytest
from prox_problem import Prox, contact_matrix, coulomb, spd

from nonsmooth._core.records import laws as L


def test_one_sweep_is_equation_23():
    G, c = np.array([[2.0, 1.0], [1.0, 4.0]]), np.array([-2.0, -3.0])
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 2)
    P = problem.solve("psor", max_iter=1)
    assert np.array_equal(P, [1.0, 0.5])  # the second row sees the new first impulse
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 2)
    assert np.array_equal(problem.solve("pjor", max_iter=1), [1.0, 0.75])  # here it does not, eq. (22)


@pytest.mark.parametrize("method", ["psor", "pjor"])
@pytest.mark.parametrize("dim", [1, 2])
def test_relaxation_reproduces_the_exact_solution(method, dim):
    rng = np.random.default_rng(20 + dim)
    for _ in range(25):
        G = contact_matrix(rng, 2, dim)
        c = rng.normal(size=2 * (1 + dim))
        exact = Prox(G, c, coulomb(2, dim, 0.4))
        P_exact = exact.solve()
        assert exact.violation(P_exact) < 1e-12
        relaxed = Prox(G, c, coulomb(2, dim, 0.4))
        P = relaxed.solve(method, tol=1e-13, strategy="row-sum" if method == "pjor" else "local")
        assert relaxed.residual <= 1e-13
        np.testing.assert_allclose(P, P_exact, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(relaxed.modes, exact.modes)


@pytest.mark.parametrize("omega", [0.5, 1.0, 1.5])
def test_relaxation_parameter(omega):
    rng = np.random.default_rng(3)
    G, c = spd(rng, 4), rng.normal(size=4)
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 4)
    P = problem.solve("psor", omega=omega, tol=1e-12)
    assert problem.residual <= 1e-12
    assert problem.violation(P) < 1e-10


def test_warm_start_needs_no_sweep():
    rng = np.random.default_rng(4)
    G, c = spd(rng, 4), rng.normal(size=4)
    problem = Prox(G, c, [(L.HALF_LINE, 1, -1, 0.0)] * 4)
    P = problem.solve("psor")
    again = problem.solve("psor")
    assert problem.iterations == 0
    assert np.array_equal(again, P)


def test_iteration_cap_and_nan_are_reported():
    rng = np.random.default_rng(5)
    G = spd(rng, 6)
    problem = Prox(G, -np.ones(6), [(L.HALF_LINE, 1, -1, 0.0)] * 6)
    problem.solve("psor", max_iter=3)
    assert problem.iterations == 3
    assert problem.residual > 1e-10
    problem = Prox(G, np.full(6, np.nan), [(L.HALF_LINE, 1, -1, 0.0)] * 6)
    problem.solve("psor")
    assert not problem.residual <= 1e-10
    problem = Prox(G, np.full(6, np.nan), [(L.HALF_LINE, 1, -1, 0.0)] * 6)
    problem.solve("exact")
    assert not problem.residual <= 1e-10
