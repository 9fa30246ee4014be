"""An explicit pair of one's own: orders checked, known to every door by its name."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError
from nonsmooth.extend import add_integrator

HEUN = {
    "A": [[0, 0, 0], [1 / 3, 0, 0], [0, 2 / 3, 0]],
    "b": [1 / 4, 0, 3 / 4],
    "c": [0, 1 / 3, 2 / 3],
    "order": 3,
    "b_hat": [-1 / 2, 3 / 2, 0],
    "error_order": 2,
}


def test_it_has_its_order_in_solve_ivp():
    add_integrator("Heun3", **HEUN)
    errors = []
    for h in (0.02, 0.01, 0.005):
        run = ns.solve_ivp(
            lambda t, y: [y[1], -y[0]], (0, 2), [1.0, 0.0], "Heun3", max_step=h, rtol=1, atol=1
        )
        errors.append(np.abs(run.y[:, -1] - [np.cos(2), -np.sin(2)]).max())
    assert np.all(np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 3) < 0.1)


def test_it_runs_with_switches():
    add_integrator("Heun3", **HEUN)
    ground = ns.Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: np.array([0.0, -0.5 * y[1]]))
    run = ns.solve_ivp(
        lambda t, y, mode: [y[1], -2.0], (0, 2.2), [1.0, 0.0], "Heun3", switches=[ground], rtol=1e-8
    )
    assert np.allclose([event.t for event in run.events], [1.0, 2.0], atol=1e-8)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"order": 4, "error_order": 3}, InputError, "condition of order 4"),
        ({"b_hat": [1, 0, 0]}, InputError, "`b_hat` is not of order 2"),
        ({"c": [0, 1 / 3, 0.7]}, InputError, r"`c\[2\]`"),
        ({"A": np.ones((3, 3))}, InputError, "lower triangular"),
        ({"A": np.zeros((2, 3))}, ShapeError, "shapes"),
        ({"b_hat": [1.0]}, ShapeError, "b_hat"),
        ({"b": [1 / 4, np.nan, 3 / 4]}, NonFiniteError, "`b`"),
        ({"b": ["a", 0, 0]}, InputError, "real numbers"),
        ({"error_order": 3}, RangeError, "error_order"),
        ({"dense_order": 4}, RangeError, "dense_order"),
        ({"name": "RK45"}, InputError, "method of the library"),
        ({"name": "a\x1b"}, InputError, "`name`"),
    ],
)
def test_what_it_is_not_is_refused(change, error, says):
    with pytest.raises(error, match=says):
        add_integrator(**{"name": "mine", **HEUN, **change})
