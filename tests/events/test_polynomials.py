"""No event lost, none twice, all in order: random piecewise polynomials with known roots (full count:
benchmarks).
"""

import numpy as np
import pytest

from nonsmooth._core.events.scan import MAX_DEPTH
from nonsmooth.ivp import Switch, solve_ivp

from .polynomials import M, judge, random_function, run_functions

METHODS = ("RK45", "DOP853", "RK23", "RKF78")


def campaign(functions, seed):
    rng = np.random.default_rng(seed)
    total = dict(lost=0, double=0, misplaced=0, disordered=0, wrong_side=0)
    roots = 0
    for k in range(functions // M):
        rows = np.array([random_function(rng, kinks=k % 2 == 0) for _ in range(M)])
        events, _ = run_functions(rows, METHODS[k % 4])
        bad, count = judge(rows, events)
        roots += count
        for name, number in bad.items():
            total[name] += int(number)
    return total, roots


def test_random_piecewise_polynomials():
    total, roots = campaign(8000, seed=11)
    assert roots > 20_000
    assert total == dict(lost=0, double=0, misplaced=0, disordered=0, wrong_side=0)


@pytest.mark.soak
def test_random_piecewise_polynomials_in_full():
    total, roots = campaign(100_000, seed=7)
    assert roots > 250_000
    assert total == dict(lost=0, double=0, misplaced=0, disordered=0, wrong_side=0)


def test_edge_of_the_guaranteed_class():
    # Degree 8 over one step, eight simple roots: inside the class.
    inside = np.array([0.05, 0.051, 0.3, 0.42, 0.5, 0.77, 0.9, 0.999])
    result = solve_ivp(
        lambda t, y: [1.0],
        (0, 1),
        [0.0],
        "DOP853",
        first_step=1.0,
        switches=[Switch(lambda t, y: np.prod(y[0] - inside))],
    )
    np.testing.assert_allclose([event.before[0] for event in result.events], inside, atol=1e-14)
    # A dip of width 1e-6 h without any trace at the nodes is outside; it is found once max_step brings it
    # inside.
    dip = Switch(lambda t, y: 1.0 - 2.0 * np.exp(-(((y[0] - 0.3141) / 1e-6) ** 2)))
    coarse = solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], "RK45", first_step=1.0, switches=[dip])
    fine = solve_ivp(lambda t, y: [1.0], (0.314, 0.3142), [0.314], "RK45", max_step=5e-6, switches=[dip])
    assert len(coarse.events) == 0 and len(fine.events) == 2


def test_kink_resolution_is_as_documented():
    # A V that dips below zero: found when its width is above h 2^-MAX_DEPTH.
    h = 1.0
    for width, found in ((64 * h * 0.5**MAX_DEPTH, 2),):
        g = Switch(lambda t, y, w=width: abs(y[0] - 0.377) - 0.5 * w)
        result = solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], "RK45", first_step=1.0, switches=[g])
        assert len(result.events) == found
