"""The solvers a user chooses: their options, and that they agree on a hard problem of the literature."""

import numpy as np
import pytest

from nonsmooth import PJOR, PSOR, Exact, Moreau, problems
from nonsmooth._core.records import problem as codes
from nonsmooth.errors import InputError, NonFiniteError, RangeError


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Exact(tol=0.0), RangeError, "tol.*0"),
        (lambda: PSOR(tol=np.inf), NonFiniteError, "tol"),
        (lambda: PSOR(tol="tight"), NonFiniteError, "tol.*tight"),
        (lambda: PSOR(omega=2.0), RangeError, "omega.*0 < omega < 2"),
        (lambda: PSOR(omega=-1.0), RangeError, "omega"),
        (lambda: PSOR(max_iter=0), RangeError, "max_iter"),
        (lambda: PSOR(max_iter=1.5), InputError, "max_iter.*1.5"),
        (lambda: PJOR(r_factor="best"), InputError, "r_factor.*'best'.*local, row-sum, common"),
    ],
)
def test_options_are_checked(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_options_reach_the_loops():
    options = PSOR(tol=1e-7, max_iter=33, omega=0.8, r_factor="common").options()
    assert options.method == codes.PSOR and options.tol == 1e-7
    assert options.max_iter == 33 and options.omega == 0.8 and options.strategy == 2
    assert PJOR().r_factor == "row-sum" and PJOR().options().method == codes.PJOR
    assert Exact().options().method == codes.AUTO
    described = Moreau(dt=1e-3, solver=PSOR(tol=1e-7)).options()
    assert described["solver"] == "PSOR" and described["tol"] == 1e-7


@pytest.fixture(scope="module")
def woodpecker():
    problem = problems.woodpecker(start="consistent")
    return problem, problem.simulate((0.0, 0.06), method=Moreau(dt=2e-5), audit=False)


@pytest.mark.parametrize(
    "solver",
    [
        PSOR(tol=1e-13, max_iter=100_000),
        PSOR(tol=1e-13, max_iter=100_000, omega=1.3),
        PSOR(tol=1e-13, max_iter=100_000, r_factor="row-sum"),
        PJOR(tol=1e-12, max_iter=400_000),
        PJOR(tol=1e-12, max_iter=400_000, r_factor="common"),
    ],
    ids=["PSOR", "PSOR over-relaxed", "PSOR row-sum", "PJOR", "PJOR common"],
)
def test_relaxation_reproduces_the_exact_solution(woodpecker, solver):
    """PSOR (23) and PJOR (22) with every r-factor strategy, through impacts of sleeve and beak."""
    problem, exact = woodpecker
    result = problem.simulate((0.0, 0.06), method=Moreau(dt=2e-5, solver=solver), audit=False)
    assert np.count_nonzero(exact.P_N) > 100 and np.all(result.residual <= solver.tol)
    np.testing.assert_allclose(result.q, exact.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.P_T, exact.P_T, rtol=0, atol=1e-9)
    assert np.array_equal(result.modes, exact.modes)


def test_exact_solver_is_exact_and_quick(woodpecker):
    _, exact = woodpecker
    assert exact.residual.max() < 1e-13
    assert exact.iterations.mean() < 3
