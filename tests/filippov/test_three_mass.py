"""Stewart's three masses (1996, eq. (15)): switching points, accuracy, order through switches and sliding,
tables.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nonsmooth.filippov import solve_filippov
from nonsmooth.problems.three_mass import SWITCHING, three_mass

GRID = np.array(
    json.loads((Path(__file__).parents[1] / "data" / "filippov" / "three_mass_grid.json").read_text())["grid"]
)
PROBLEM = three_mass()


def run(**options):
    return solve_filippov(PROBLEM.system, PROBLEM.t_span, PROBLEM.x0, **options)


def grid_error(result):
    """Largest Euclidean error on the 0.05 grid, as the paper measures it."""
    return np.sqrt(((result.y.T - GRID[:, 1:]) ** 2).sum(axis=1)).max()


def test_switching_points():
    result = run(rtol=1e-10, atol=1e-10)
    assert len(result.events) == 22
    np.testing.assert_allclose(result.t_switch, PROBLEM.switching_times, rtol=0, atol=1e-9)
    for event, (_, mass, _, after) in zip(result.events, SWITCHING):
        assert event.name == f"mass {mass}"
        assert event.kind == ("stick" if after == 0 else "switch")
        assert event.after.tolist() == {1: [0], -1: [1], 0: [0, 1]}[after]
    assert result.t[0] == 0.0 and result.t[-1] == 10.0 and result.success
    # Switching points are stored twice; modes belong to both sides.
    assert np.sum(np.diff(result.t) == 0.0) == 22
    assert set(np.unique(result.modes)) == {0, 1, 2}


def test_mass_1_sticks_exactly():
    result = run(rtol=1e-10, atol=1e-10)
    stuck = result.t > 3.7289936123479044 + 1e-9
    assert np.all(result.y[3, stuck] == 0.0)
    assert np.all(result.modes[:2, stuck] == 1)
    _, end, sets = result.sliding_sets[-1]
    assert sets[0] == (0, 1) and end == 10.0
    x1 = result.y[0, stuck]
    assert np.ptp(x1) < 1e-14


def test_error_below_1e_10_is_reached():
    result = run(rtol=1e-12, atol=1e-12, method="DOP853", t_eval=GRID[:, 0])
    assert np.array_equal(result.t, GRID[:, 0])
    assert grid_error(result) <= 1e-10


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        ("RK45", 5, (0.1, 0.05, 0.025, 0.0125)),
        ("RK23", 3, (0.1, 0.05, 0.025, 0.0125)),
        ("DOP853", 8, (0.25, 0.125)),
    ],
)
def test_order_through_switches_and_sliding(method, order, steps):
    errors = []
    for dt in steps:
        result = run(method=method, dt=dt, rtol=1e-10, location=1e-14)
        assert len(result.events) == 22
        errors.append(np.linalg.norm(result.y[:, -1] - PROBLEM.end_state))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - order) <= 0.3, (errors, slope)


def test_fewer_evaluations_than_table_1():
    result = run(method="RK45", rtol=10**-4.4, atol=10**-4.4, t_eval=GRID[:, 0])
    assert grid_error(result) <= 5.4e-4
    assert len(result.events) == 22
    assert result.evaluations["total"] <= 0.32 * 16586


def test_fewer_evaluations_than_table_2():
    result = run(method="DOP853", rtol=10**-6.3, atol=10**-6.3, t_eval=GRID[:, 0])
    assert grid_error(result) <= 4.68e-6
    assert len(result.events) == 22
    assert result.evaluations["total"] <= 0.38 * 23375


@pytest.mark.parametrize(("method", "rtol"), [("RK45", 1e-6), ("DOP853", 1e-6), ("RKF78", 1e-7)])
def test_location_keeps_to_the_tolerance(method, rtol):
    # The state of the dense output is taken over only where it is accurate; RKF78 has a poor interpolant.
    auto, dense, step = (
        run(method=method, rtol=rtol, atol=rtol, location=location) for location in (None, "dense", 1e-13)
    )
    errors = [np.abs(r.t_switch - PROBLEM.switching_times).max() for r in (auto, dense, step)]
    assert errors[0] <= 5 * rtol and errors[0] <= 1.1 * max(errors[1:])
    assert auto.evaluations["total"] <= step.evaluations["total"]
    assert sum(auto.located.values()) == 22 and dense.located["on integration"] == 0
    if method == "RKF78":
        assert auto.located["on integration"] > 11


@pytest.mark.parametrize(
    ("method", "dt", "error", "f", "h"),
    [
        ("taubert-euler", 1e-3, 9.5e-3, 30327, 60654),
        ("taubert-rk4", 1e-3, 6.4e-4, 121308, 242616),
        ("taubert-euler", 1e-5, 9.51e-5, 3000393, 6000786),
    ],
)
def test_taubert_rows(method, dt, error, f, h):
    result = run(method=method, dt=dt, t_eval=GRID[:, 0])
    assert abs(grid_error(result) / error - 1.0) <= 0.02
    assert abs(result.evaluations["f"] / f - 1.0) <= 0.02
    assert abs(result.evaluations["h"] / h - 1.0) <= 0.02


def test_dense_output_and_repeatability():
    first = run(rtol=1e-8, dense_output=True)
    second = run(rtol=1e-8, dense_output=True)
    assert np.array_equal(first.y, second.y) and np.array_equal(first.t, second.t)
    at = np.linspace(0, 10, 41)
    np.testing.assert_allclose(first.sol(at)[:, -1], first.y[:, -1])
    assert np.abs(first.sol(GRID[:, 0]) - GRID[:, 1:].T).max() < 1e-6
    assert first.sol(3.0).shape == (6,)


def test_parameters_change_without_a_new_system():
    problem = three_mass()
    problem.system.params["forcing"] = 0.0
    quiet = solve_filippov(problem.system, (0, 40), problem.x0, rtol=1e-8)
    assert np.all(quiet.y[3:, -1] == 0.0)  # everything comes to rest
    problem.system.params["forcing"] = 10.0
    forced = solve_filippov(problem.system, problem.t_span, problem.x0, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(forced.t_switch, PROBLEM.switching_times, atol=1e-9, rtol=0)
