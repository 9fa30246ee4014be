"""Orders of the integrators and of their dense output, Jacobians, failures, equality with SciPy."""

import numpy as np
import pytest
import scipy.integrate

from nonsmooth.errors import InputError, NonFiniteStateError, StepLimitError
from nonsmooth.integrators.continuous import elementary_weights, rooted_trees, tree_density
from nonsmooth.integrators.driver import METHODS, get_method, integrate, jacobian, rhs
from nonsmooth.ivp import solve_ivp


def _oscillator(t, y, p, out):
    out[0] = y[1]
    out[1] = -p[0] * y[0]


def _nonlinear(t, y, p, out):
    # y = (sin t, exp(sin t)) solves it
    out[0] = np.cos(t)
    out[1] = y[1] * np.cos(t) * (1.0 + y[0] - np.sin(t))


def _stiff(t, y, p, out):
    out[0] = -p[0] * (y[0] - np.cos(t)) - np.sin(t)


def _stiff_jacobian(t, y, p, out):
    out[0, 0] = -p[0]


def _blows_up(t, y, p, out):
    out[0] = y[0] ** 2


def _not_finite(t, y, p, out):
    out[0] = 1.0 if t < 0.5 else np.nan


@pytest.fixture(scope="module")
def functions():
    return {f.__name__: rhs(f) for f in (_oscillator, _nonlinear, _stiff, _blows_up, _not_finite)}


ORDERS = {
    "RK3": (3, 3, 40),
    "RK23": (3, 3, 40),
    "RK45": (5, 4, 8),
    "RKF45": (5, 4, 8),
    "RKF78": (8, 6, 4),
    "DOP853": (8, 7, 4),
    "SDIRK4": (4, 3, 16),
    "Radau": (5, 3, 8),
}


@pytest.mark.parametrize("name", METHODS)
def test_order_and_dense_order(functions, name):
    order, dense, steps = ORDERS[name]
    errors, dense_errors = [], []
    t = np.linspace(0.0, 2.0, 501)
    for n in (steps, 2 * steps, 4 * steps):
        run = integrate(
            functions["_nonlinear"],
            (0.0, 2.0),
            [0.0, 1.0],
            name,
            first_step=2.0 / n,
            fixed=True,
            rtol=1e-13,
            atol=1e-13,
        )
        errors.append(np.abs(run.y[1, -1] - np.exp(np.sin(2.0))))
        dense_errors.append(np.abs(run(t)[1] - np.exp(np.sin(t))).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates[-1] > order - 0.5, (rates, errors)
    dense_rates = np.log2(np.array(dense_errors[:-1]) / dense_errors[1:])
    # The dense output is a piece of the solution: global order min(order, dense + 1).
    assert dense_rates[-1] > min(order, dense + 1) - 0.5, (dense_rates, dense_errors)


@pytest.mark.parametrize("name", ["RK23", "RK45", "RKF78", "DOP853"])
def test_order_conditions_of_the_tableaus(name):
    method = get_method(name)
    A = method.tableau.A
    b = method.tableau.b
    for k in range(1, min(method.order, 7) + 1):
        for tree in rooted_trees(k):
            assert abs(b @ elementary_weights(tree, A) - 1.0 / tree_density(tree)) < 1e-13


@pytest.mark.parametrize("name", ["SDIRK4", "Radau"])
@pytest.mark.parametrize("given", [False, True])
def test_stiff(functions, name, given):
    jac = jacobian(_stiff_jacobian) if given else None
    run = integrate(functions["_stiff"], (0.0, 2.0), [2.0], name, [1e6], jac=jac, rtol=1e-7, atol=1e-9)
    assert abs(run.y[0, -1] - np.cos(2.0)) < 1e-6
    assert run.nsteps < 200 and run.njev >= 1


@pytest.mark.parametrize("name", ["RK23", "RK45", "DOP853"])
def test_same_steps_as_scipy(functions, name):
    mine = integrate(functions["_oscillator"], (0.0, 20.0), [1.0, 0.0], name, [2.25], rtol=1e-6, atol=1e-6)
    theirs = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -2.25 * y[0]], (0, 20), [1.0, 0.0], name, rtol=1e-6, atol=1e-6
    )
    assert mine.t.size == theirs.t.size
    # Error estimates far below the tolerance are rounding, so step sizes agree to some digits only.
    np.testing.assert_allclose(mine.y, theirs.y, rtol=1e-5, atol=1e-6)


def test_failures_are_typed(functions):
    with pytest.raises(StepLimitError):
        integrate(functions["_blows_up"], (0.0, 2.0), [1.0], "RK45")
    with pytest.raises(NonFiniteStateError):
        integrate(functions["_not_finite"], (0.0, 2.0), [1.0], "RK45")
    with pytest.raises(InputError):
        integrate(functions["_oscillator"], (0.0, 1.0), [1.0, 0.0], "Euler")


def test_backward_in_time(functions):
    run = integrate(
        functions["_oscillator"],
        (1.0, 0.0),
        [np.cos(1.0), -np.sin(1.0)],
        "DOP853",
        [1.0],
        rtol=1e-10,
        atol=1e-10,
    )
    np.testing.assert_allclose(run.y[:, -1], [1.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(run(0.5), [np.cos(0.5), -np.sin(0.5)], atol=1e-8)


@pytest.mark.parametrize("name", ["RKF78", "SDIRK4"])
def test_own_methods_through_the_front_door(name):
    result = solve_ivp(
        lambda t, y: -y, (0, 2), [1.0], name, rtol=1e-8, atol=1e-10, dense_output=True, t_eval=[0.5, 2.0]
    )
    np.testing.assert_allclose(result.y[0], np.exp([-0.5, -2.0]), rtol=1e-6)
    np.testing.assert_allclose(result.sol(1.3), np.exp(-1.3), rtol=1e-6)
