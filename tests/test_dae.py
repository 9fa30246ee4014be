"""`solve_dae`: semi-explicit equations of index 2 and 3 (Compere 2001, sec. 6.2)."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import nonsmooth as ns
from nonsmooth.errors import (
    InconsistentStateError,
    InputError,
    ModelError,
    NoSolutionError,
    RangeError,
)


def pendulum(t, y, z):
    return np.array([y[2], y[3], -z[0] * y[0], -z[0] * y[1] - 9.81])


def rod(t, y):
    return np.array([y[0] ** 2 + y[1] ** 2 - 1.0])


def spiral(t, y, z):
    return np.array([-y[1] + z[0] * y[0], y[0] + z[0] * y[1]])


def shrinking(t, y):
    return y[0] ** 2 + y[1] ** 2 - np.exp(-2.0 * t)


def test_index_3_holds_position_and_velocity_and_gives_the_force():
    result = ns.solve_dae(pendulum, rod, (0, 2), [1.0, 0.0, 0.0, 0.0], rtol=1e-8, atol=1e-10)
    x, y, vx, vy = result.y
    assert result.success and result.index == 3
    assert np.abs(x**2 + y**2 - 1).max() <= 1e-14 and np.abs(x * vx + y * vy).max() <= 1e-13
    assert np.ptp(0.5 * (vx**2 + vy**2) + 9.81 * y) < 1e-5
    np.testing.assert_allclose(result.z[0], vx**2 + vy**2 - 9.81 * y, atol=1e-10)
    assert result.audit.ok


def test_rate_of_the_constraint_can_be_given():
    rate = lambda t, y: np.array([2 * y[0] * y[2] + 2 * y[1] * y[3]])  # noqa: E731
    result = ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.0, 0.0], rtol=1e-8, atol=1e-10, rate=rate)
    np.testing.assert_allclose(
        result.z[0], result.y[2] ** 2 + result.y[3] ** 2 - 9.81 * result.y[1], atol=1e-12
    )


@pytest.mark.parametrize("method", ["RKF45", "Radau"])
def test_index_2_in_time(method):
    result = ns.solve_dae(spiral, shrinking, (0, 3), [1.0, 0.0], method=method, rtol=1e-8, atol=1e-10)
    exact = np.exp(-result.t) * np.array([np.cos(result.t), np.sin(result.t)])
    assert result.index == 2 and np.abs(result.y - exact).max() < 1e-6
    np.testing.assert_allclose(result.z, -1.0, atol=1e-10)


def test_constraints_without_complex_numbers():
    plain = lambda t, y: np.hypot(y[0], y[1]) - 1.0  # noqa: E731  (hypot takes no complex numbers)
    result = ns.solve_dae(pendulum, plain, (0, 1), [1.0, 0.0, 0.0, 0.0], rtol=1e-7)
    assert np.abs(np.hypot(*result.y[:2]) - 1).max() <= 1e-14


def test_nonlinear_in_z():
    fun = lambda t, y, z: np.array([z[0] ** 3 + z[0] - t, 1.0])  # noqa: E731
    result = ns.solve_dae(fun, lambda t, y: y[0] - y[1] ** 2, (0, 2), [0.0, 0.0])
    z = result.z[0]
    np.testing.assert_allclose(z**3 + z - result.t, 2 * result.t, atol=1e-8)


def test_stiff_equations_take_few_steps():
    # a fast mode with rate 1e5 beside the motion on the circle
    def fun(t, y, z):
        return np.array([*spiral(t, y[:2], z), -1e5 * (y[2] - y[0])])

    constraint = lambda t, y: shrinking(t, y)  # noqa: E731
    result = ns.solve_dae(fun, constraint, (0, 2), [1.0, 0.0, 1.0], method="Radau", rtol=1e-6, atol=1e-8)
    assert result.success and result.nsteps < 300
    np.testing.assert_allclose(result.y[2], result.y[0], atol=1e-4)


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.AdjustmentWarning")
def test_switched_equations():
    back = lambda t, y: np.array([y[0], y[1], -0.8 * y[2], -0.8 * y[3]])  # noqa: E731
    wall = ns.Switch(lambda t, y: y[0] + 0.5, kind="unilateral", reset=back, name="wall")
    result = ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.0, 0.0], rtol=1e-9, atol=1e-11, switches=[wall])
    (event,) = result.events
    # from the horizontal through 120 degrees: the angle a from there has a' = sqrt(2 g sin(a))
    time, _ = quad(lambda w: 2.0 * w / np.sqrt(2 * 9.81 * np.sin(w * w)), 0.0, np.sqrt(2 * np.pi / 3))
    assert event.t == pytest.approx(time, abs=1e-8)
    assert np.abs(result.y[0] ** 2 + result.y[1] ** 2 - 1).max() <= 1e-13
    energy = 0.5 * (result.y[2] ** 2 + result.y[3] ** 2) + 9.81 * result.y[1]
    after = result.t > event.t
    assert energy[~after][:-1] == pytest.approx(0.0, abs=1e-6)
    assert energy[after] == pytest.approx(0.64 * 9.81 * np.sqrt(0.75) - 9.81 * np.sqrt(0.75), abs=1e-6)


def test_modes_reach_the_right_hand_side():
    def fun(t, y, z, mode):
        return np.array([z[0], 1.0 if mode[0] > 0 else -1.0])

    side = ns.Switch(lambda t, y: 1.0 - t, kind="bilateral", name="half")
    result = ns.solve_dae(fun, lambda t, y: y[0] - y[1], (0, 2), [0.0, 0.0], switches=[side], rtol=1e-8)
    np.testing.assert_allclose(result.y[:, -1], 0.0, atol=1e-7)


def test_bad_input():
    with pytest.raises(InconsistentStateError, match="constraint 0 is violated by"):
        ns.solve_dae(pendulum, rod, (0, 1), [1.1, 0.0, 0.0, 0.0])
    with pytest.raises(InconsistentStateError, match="rate of constraint 0"):
        ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.3, 0.0])
    moved = ns.solve_dae(pendulum, rod, (0, 0.1), [1.1, 0.0, 0.3, 0.0], project=True)
    np.testing.assert_allclose(moved.y[:, 0], [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    with pytest.raises(ModelError, match="relative order"):
        ns.solve_dae(lambda t, y, z: np.array([y[1], y[2], z[0]]), lambda t, y: y[0], (0, 1), [0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="does not appear"):
        ns.solve_dae(lambda t, y, z: np.array([y[1], -y[0]]), lambda t, y: y[0], (0, 1), [0.0, 1.0])
    with pytest.raises(InputError, match="method"):
        ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.0, 0.0], method="LSODA")
    with pytest.raises(RangeError, match="sigma"):
        ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.0, 0.0], sigma=-1.0)
    with pytest.raises(InputError, match="unknown option 'foo'"):
        ns.solve_dae(pendulum, rod, (0, 1), [1.0, 0.0, 0.0, 0.0], foo=1)
    conflict = lambda t, y: np.array([y[0] - t, y[0] - np.sin(t)])  # noqa: E731
    with pytest.raises(NoSolutionError):
        ns.solve_dae(lambda t, y, z: np.array([z[0] + z[1], 0.0]), conflict, (0, 1), [0.0, 0.0])


@pytest.mark.parametrize("method", ["RKF45", "Radau"])
def test_the_error_is_estimated(method):
    """A pendulum against its angle."""
    angle = solve_ivp(
        lambda t, s: [s[1], -9.81 * np.sin(s[0])], (0, 1), [1.2, 0.0], "DOP853", rtol=1e-12, atol=1e-13
    )
    (theta, omega), c = angle.y[:, -1], np.cos
    exact = np.array([np.sin(theta), -c(theta), c(theta) * omega, np.sin(theta) * omega])
    start = [np.sin(1.2), -np.cos(1.2), 0.0, 0.0]
    run = ns.solve_dae(pendulum, rod, (0, 1), start, method=method, rtol=1e-5, atol=1e-5)
    true = np.max(np.abs(run.y[:, -1] - exact))
    assert 0.3 * true <= np.max(run.error_estimate.y) <= 3.0 * true
    assert "error" in run.summary()


@pytest.mark.parametrize(("length", "time"), [(1.0, 1e-6), (1e6, 1e-3), (1e-3, 1e3)])
def test_units_in_which_what_starts_from_rest_becomes_fast(length, time):
    """A pendulum from rest: velocities begin at zero, whatever their unit."""
    g = 9.81 * length / time**2

    def fun(t, y, z):
        return np.array([y[2], y[3], -z[0] * y[0], -z[0] * y[1] - g])

    def rod(t, y):
        return (y[0] ** 2 + y[1] ** 2) / length**2 - 1.0

    atol = 1e-10 * np.array([length, length, length / time, length / time])
    for start in ([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, -4e-15, 0.0]):  # (or but for rounding)
        y0 = np.array(start) * [length, length, length / time, length / time]
        run = ns.solve_dae(fun, rod, (0, time), y0, method="DOP853", rtol=1e-9, atol=atol)
        exact = ns.solve_ivp(
            lambda t, s: [s[1], -9.81 * np.sin(s[0])],
            (0, 1),
            [np.pi / 2, 0.0],
            "DOP853",
            rtol=1e-12,
            atol=1e-13,
        )
        angle = exact.y[0, -1]
        np.testing.assert_allclose(run.y[:2, -1] / length, [np.sin(angle), -np.cos(angle)], atol=1e-7)
        assert float(run.error_estimate) < 1e-7


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_functions_that_end_to_be_finite_are_named(method):
    """The run goes up to there, and says what it met."""
    roots, jumps = (
        ns.solve_dae(fun, constraint, (0, 2), [0.0], method=method)
        for fun, constraint in (
            (lambda t, y, z: np.array([z[0] * np.sqrt(1.0 - t)]), lambda t, y: y[0] - np.sin(t)),
            (lambda t, y, z: np.array([z[0]]), lambda t, y: y[0] + (np.nan if t > 1.0 else 0.0)),
        )
    )
    assert roots.t[-1] == pytest.approx(1.0, abs=1e-6) and 0.0 < jumps.t[-1] <= 1.0
    for run, name in ((roots, "`fun`"), (jumps, "`constraint`")):
        assert not run.success and name in run.message and "finite" in run.message.replace("nan", "finite")
