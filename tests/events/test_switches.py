"""Switches against closed forms: detection, location, order, resets, restarts, special cases."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from nonsmooth.errors import EventError, RateWarning, ShapeError, ZenoWarning
from nonsmooth.ivp import Switch, solve_ivp

EPS = np.finfo(float).eps
METHODS = ["RK23", "RK45", "RKF78", "DOP853", "SDIRK4", "Radau"]


def clock(t, y):
    return [1.0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["bilateral", "unilateral"])
def test_location_and_side(method, kind):
    # y' = 1: g = 0.7 - y falls through zero at 0.7
    switch = Switch(lambda t, y: 0.7 - y[0], kind=kind, terminal=True)
    result = solve_ivp(clock, (0, 2), [0.0], method, switches=[switch], rtol=1e-6)
    (event,) = result.events
    assert result.status == 1 and event.kind == ("switch" if kind == "bilateral" else "impact")
    assert abs(event.before[0] - 0.7) <= 5 * EPS
    g = 0.7 - event.before[0]
    assert (g < 0.0) if kind == "bilateral" else (g >= 0.0)
    assert result.t[-1] == event.t


@pytest.mark.parametrize("tol", [1e-5, 1e-10])
def test_location_tolerance(tol):
    switch = Switch(lambda t, y: y[0] - 0.5, tol=tol)
    result = solve_ivp(lambda t, y: [np.cos(t)], (0, 2), [0.0], switches=[switch], rtol=1e-9, atol=1e-9)
    (event,) = result.events
    assert 0.0 <= event.before[0] - 0.5 <= 2.0 * tol
    assert event.extra["iterations"] <= 3


def oscillator_events():
    path = Path(__file__).parents[1] / "data" / "events" / "oscillator_10_3.json"
    return json.loads(path.read_text())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_impact_oscillator_all_impacts(method, rtol):
    if method == "RK23" and rtol < 1e-6:
        rtol = 1e-8
    data = oscillator_events()
    wall = Switch(lambda t, y: -y[0], kind="unilateral", reset=lambda t, y: [y[0], -0.6 * y[1]], name="wall")
    result = solve_ivp(
        lambda t, y: [y[1], -200.0 * (y[0] + 0.15)],
        (0, 3),
        [-0.5, 0.2],
        method,
        switches=[wall],
        rtol=rtol,
        atol=rtol,
    )
    times = [event.t for event in result.events]
    assert len(times) == 8 and all(event.kind == "impact" for event in result.events)
    np.testing.assert_allclose(times, data["impact_times"][:8], atol=max(300 * rtol, 1e-9))
    assert result.y[0].max() <= 0.0


def test_zeno_ball_comes_to_rest():
    ball = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -0.5 * y[1]], name="floor")
    with pytest.warns(ZenoWarning, match="accumulate at t = 1.354570"):
        result = solve_ivp(
            lambda t, y: [y[1], -9.81],
            (0, 3),
            [1.0, 0.0],
            switches=[ball],
            rtol=1e-8,
            atol=1e-10,
            dense_output=True,
        )
    assert result.success and result.t[-1] == 3.0
    np.testing.assert_allclose(result.y[:, -1], 0.0, atol=1e-12)
    assert result.sol(np.linspace(0, 3, 3001))[0].min() >= -1e-14
    zeno = [event for event in result.events if event.kind == "zeno"]
    assert len(zeno) == 1 and abs(zeno[0].t - 3.0 * np.sqrt(2.0 / 9.81)) < 1e-8
    assert result.modes[0, -1] == 0


def test_zeno_rules():
    ball = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -0.5 * y[1]], name="floor")
    common = dict(switches=[ball], rtol=1e-8, atol=1e-10)
    with pytest.warns(ZenoWarning):
        stopped = solve_ivp(lambda t, y: [y[1], -9.81], (0, 3), [1.0, 0.0], on_zeno="stop", **common)
    assert stopped.status == 1 and abs(stopped.t[-1] - 3.0 * np.sqrt(2.0 / 9.81)) < 1e-7
    with pytest.raises(EventError, match="accumulate"):
        solve_ivp(lambda t, y: [y[1], -9.81], (0, 3), [1.0, 0.0], on_zeno="raise", **common)
    with pytest.warns(ZenoWarning):
        thrown = solve_ivp(
            lambda t, y: [y[1], -9.81], (0, 1.6), [1.0, 0.0], on_zeno=lambda t, y, i: [0.0, 1.0], **common
        )
    assert thrown.y[0].max() > 0.04 and thrown.success


def test_rest_and_release():
    # A mass on a table that accelerates downwards later: plastic contact, held, let go when the force
    # vanishes.
    def fun(t, y):
        return [y[1], -9.81 + 10.0 * max(t - 1.0, 0.0)]

    table = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], 0.0], name="table")
    result = solve_ivp(fun, (0, 3), [0.1, 0.0], "DOP853", switches=[table], rtol=1e-9, atol=1e-11)
    kinds = [event.kind for event in result.events]
    assert kinds == ["impact", "close", "open"], result.events
    assert abs(result.events[-1].t - 1.981) < 1e-5
    s = 3.0 - 1.981
    assert abs(result.y[0, -1] - 10.0 * s**3 / 6.0) < 1e-4


def test_simultaneous_events_all_reported_in_order():
    switches = [Switch(lambda t, y, k=k: y[0] - 0.5, name=f"s{k}") for k in range(4)]
    result = solve_ivp(clock, (0, 1), [0.0], switches=switches)
    assert [event.name for event in result.events] == ["s0", "s1", "s2", "s3"]
    assert len({event.t for event in result.events}) == 1
    assert result.modes[:, -1].tolist() == [1, 1, 1, 1]


def test_simultaneous_unilateral_resets():
    switches = [
        Switch(lambda t, y, k=k: y[2 * k], kind="unilateral", reset=_bounce(k), name=f"ball {k}")
        for k in range(2)
    ]
    result = solve_ivp(
        lambda t, y: [y[1], -9.81, y[3], -9.81],
        (0, 0.6),
        [1.0, 0.0, 1.0, 0.0],
        switches=switches,
        rtol=1e-9,
        atol=1e-9,
    )
    assert [event.name for event in result.events] == ["ball 0", "ball 1"]
    assert abs(result.events[0].t - result.events[1].t) <= 4 * EPS
    assert result.y[0, -1] == pytest.approx(result.y[2, -1], abs=1e-12) and result.y[1, -1] > 0


def _bounce(k):
    def reset(t, y):
        y[2 * k + 1] *= -0.8
        return y

    return reset


def test_chained_events_by_fixed_point():
    # Newton's cradle: the hit of 0 on 1 makes 1 hit 2 at the same instant (gap 0).
    def exchange(a, b):
        def reset(t, y):
            y[3 + a], y[3 + b] = y[3 + b], y[3 + a]
            return y

        return reset

    switches = [
        Switch(
            lambda t, y, a=a: y[a + 1] - y[a] - 1.0,
            kind="unilateral",
            reset=exchange(a, a + 1),
            name=f"{a}{a + 1}",
        )
        for a in range(2)
    ]
    result = solve_ivp(
        lambda t, y: [*y[3:], 0.0, 0.0, 0.0],
        (0, 2),
        [-1.0, 1.0, 2.0, 1.0, 0.0, 0.0],
        switches=switches,
        rtol=1e-9,
    )
    assert [event.name for event in result.events if not event.extra.get("start")] == ["01", "12"]
    np.testing.assert_allclose(result.y[3:, -1], [0.0, 0.0, 1.0], atol=1e-14)


def test_grazing_is_a_touch():
    # parabola (t - 1)^2 by integration: touches zero at t = 1
    result = solve_ivp(
        lambda t, y: [2.0 * (t - 1.0)],
        (0, 2.5),
        [1.0],
        switches=[Switch(lambda t, y: y[0], name="g")],
        rtol=1e-10,
        atol=1e-12,
    )
    (event,) = result.events
    assert event.kind == "touch" and abs(event.t - 1.0) < 1e-7
    assert result.modes.min() == 1


def test_double_root_inside_one_large_step():
    # g dips below zero for 2e-3 inside a step of order 8 that spans everything.
    g = Switch(lambda t, y: (y[0] - 0.5) ** 2 - 1e-6, name="g")
    result = solve_ivp(clock, (0, 1), [0.0], "DOP853", switches=[g], first_step=1.0)
    times = [event.before[0] for event in result.events]
    np.testing.assert_allclose(times, [0.499, 0.501], atol=1e-13)


def test_hermite_detection_of_the_paper():
    g = Switch(lambda t, y: (y[0] - 0.5) ** 2 - 1e-6, name="g")
    result = solve_ivp(clock, (0, 1), [0.0], "DOP853", switches=[g], first_step=1.0, detection="hermite")
    np.testing.assert_allclose([event.before[0] for event in result.events], [0.499, 0.501], atol=1e-12)


def test_locked_modes_and_order_of_the_method():
    # y' = 2 for y < 1, 1 after: exact, since each piece is integrated with its own field.
    def fun(t, y, mode):
        assert mode.dtype == np.int8
        return [1.0 if mode[0] > 0 else 2.0]

    result = solve_ivp(fun, (0, 2), [0.0], switches=[Switch(lambda t, y: y[0] - 1.0)])
    assert abs(result.y[0, -1] - 2.5) < 1e-14
    assert result.modes[0, 0] == -1 and result.modes[0, -1] == 1


def test_relay_with_hysteresis_counts():
    # x' = -x + u, u = 1 until x = 0.6, then 0 until x = 0.4: closed-form period ln(1.5) + ln(1.5)
    state = Switch(
        lambda t, y: (y[0] - 0.6) if y[1] > 0.5 else (0.4 - y[0]),
        name="relay",
        direction=1,
        reset=lambda t, y: [y[0], 1.0 - y[1]],
    )
    result = solve_ivp(
        lambda t, y: [-y[0] + y[1], 0.0],
        (0, 5),
        [0.4, 1.0],
        "DOP853",
        switches=[state],
        rtol=1e-10,
        atol=1e-12,
    )
    times = np.array([event.t for event in result.events if event.extra.get("direction") == 1])
    np.testing.assert_allclose(np.diff(times), np.log(1.5), rtol=1e-8)
    assert times.size == int(5 / np.log(1.5))


def test_thousand_restarts_at_a_root_never_retrigger():
    rng = np.random.default_rng(3)
    switch = Switch(lambda t, y: np.sin(y[0]), name="sin", terminal=True)
    again = 0
    for _ in range(250):
        y, t = rng.uniform(0.1, 3.0), rng.uniform(0.0, 10.0)
        for _ in range(4):
            result = solve_ivp(clock, (t, t + 10.0), [y], switches=[switch], rtol=1e-6)
            t_new, y_new = result.t[-1], result.y[0, -1]
            again += t_new - t < 1e-6
            t, y = t_new, y_new
    assert again == 0


def test_root_at_both_ends_of_the_span():
    g = Switch(lambda t, y: y[0] * (y[0] - 1.0), name="g")
    result = solve_ivp(clock, (0, 1), [0.0], switches=[g])
    assert [event.t for event in result.events] == [0.0, 1.0]
    for sign in (1.0, -1.0):
        result = solve_ivp(clock, (0, 1), [0.0], switches=[Switch(lambda t, y, s=sign: s * (y[0] - 1.0))])
        assert len(result.events) == 1 and result.events[0].t == pytest.approx(1.0, abs=4 * EPS)


def test_start_on_the_surface():
    moving_out = Switch(lambda t, y: y[0], name="g")
    result = solve_ivp(lambda t, y: [-1.0], (0, 1), [0.0], switches=[moving_out])
    assert [event.extra.get("start") for event in result.events] == [True]
    assert result.modes[0, -1] == -1
    inwards = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], 1.0], name="floor")
    result = solve_ivp(lambda t, y: [y[1], 0.0], (0, 1), [0.0, -1.0], switches=[inwards])
    assert [event.t for event in result.events] == [0.0] and result.y[0, -1] == pytest.approx(1.0)


def test_direction_and_terminal_count():
    g = Switch(lambda t, y: np.sin(y[0]), direction=-1, terminal=2, name="sin")
    result = solve_ivp(clock, (0, 20), [0.5], switches=[g])
    assert len(result.events) == 2 and result.status == 1
    assert result.t[-1] == pytest.approx(3 * np.pi - 0.5, abs=1e-12)


def test_backward_bilateral():
    result = solve_ivp(
        lambda t, y, mode: [2.0 if mode[0] < 0 else 1.0],
        (1.5, 0),
        [2.0],
        switches=[Switch(lambda t, y: y[0] - 1.0)],
    )
    assert len(result.events) == 1 and result.y[0, -1] == pytest.approx(0.0, abs=1e-12)


def test_chatter_is_recognised_and_slid():
    def fun(t, y, mode):
        return [-mode[0] * 1.0 + 0.5 * np.cos(t)]

    switch = Switch(lambda t, y: y[0], name="x")
    with pytest.raises(EventError, match="solve_filippov"):
        solve_ivp(fun, (0, 3), [1.0], switches=[switch], rtol=1e-9, atol=1e-9)
    result = solve_ivp(fun, (0, 3), [1.0], switches=[switch], rtol=1e-9, atol=1e-9, on_chatter="filippov")
    assert abs(result.y[0, -1]) < 1e-10 and result.modes[0, -1] == 0


def test_sliding_ends():
    def fun(t, y, mode):
        return [-float(mode[0]) + t]  # slides until t = 1, then leaves upwards

    result = solve_ivp(
        fun,
        (0, 2),
        [0.05],
        "DOP853",
        switches=[Switch(lambda t, y: y[0], name="x")],
        rtol=1e-9,
        atol=1e-9,
        on_chatter="filippov",
    )
    assert [event.kind for event in result.events[-2:]] == ["stick", "slip"]
    assert abs(result.events[-1].t - 1.0) < 1e-6
    assert abs(result.y[0, -1] - 0.5) < 1e-6  # x' = t - 1


def test_dense_output_and_t_eval_give_right_limits():
    ball = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -0.5 * y[1]])
    t_hit = np.sqrt(2.0 / 9.81)
    result = solve_ivp(
        lambda t, y: [y[1], -9.81],
        (0, 0.8),
        [1.0, 0.0],
        switches=[ball],
        rtol=1e-9,
        atol=1e-9,
        dense_output=True,
        t_eval=[0.0, 0.3, 0.7, 0.8],
    )
    np.testing.assert_array_equal(result.t, [0.0, 0.3, 0.7, 0.8])
    np.testing.assert_allclose(result.y[0, 1], 1 - 0.5 * 9.81 * 0.09, atol=1e-9)
    te = result.events[0].t
    np.testing.assert_allclose(result.sol(te), result.events[0].after, atol=1e-12)
    assert abs(te - t_hit) < 1e-12
    plain = solve_ivp(lambda t, y: [y[1], -9.81], (0, 0.8), [1.0, 0.0], switches=[ball], rtol=1e-9, atol=1e-9)
    at = np.flatnonzero(plain.t == plain.events[0].t)
    assert at.size == 2 and plain.y[1, at[0]] < 0 < plain.y[1, at[1]]


def test_scipy_events_together_with_switches():
    def apex(t, y):
        return y[1]

    apex.direction = -1
    ball = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -y[1]])

    def run(**options):
        return solve_ivp(
            lambda t, y: [y[1], -10.0],
            (0, 3),
            [0.2, 2.0],
            "DOP853",
            switches=[ball],
            events=apex,
            rtol=1e-10,
            atol=1e-10,
            **options,
        )

    result = run()
    assert result.t_events[0].size >= 3
    np.testing.assert_allclose(result.y_events[0][:, 0], 0.4, atol=1e-8)
    apex.terminal = 2
    result = run(dense_output=True)
    assert result.status == 1 and result.t[-1] == result.t_events[0][-1]
    np.testing.assert_allclose(result.sol(result.t[-1])[0], 0.4, atol=1e-8)


def test_compiled_equals_python():
    def fun(t, y, mode):
        return [y[1], -y[0] - 0.1 * mode[0]]

    def g(t, y):
        return y[1] + 0.01

    options = dict(switches=[Switch(g)], rtol=1e-8, atol=1e-10)
    slow = solve_ivp(fun, (0, 10), [1.0, 0.0], **options)
    fast = solve_ivp(fun, (0, 10), [1.0, 0.0], compile=True, **options)
    assert len(slow.events) == len(fast.events) == 4
    np.testing.assert_allclose(fast.y[:, -1], slow.y[:, -1], rtol=1e-12)


def test_region_of_concurrency_groups_events():
    spacing = 1e-9
    switches = [
        Switch(lambda t, y, k=k: y[0] - 0.5 - k * spacing, tol=1e-12, name=f"s{k}") for k in range(10)
    ]
    alone = solve_ivp(clock, (0, 1), [0.0], switches=switches)
    together = solve_ivp(clock, (0, 1), [0.0], switches=switches, concurrency=(1e-7, 1e-6))
    assert len({event.t for event in alone.events}) == 10
    assert len({event.t for event in together.events}) == 1 and len(together.events) == 10


def test_step_size_memory_after_events():
    ball = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -y[1]])
    result = solve_ivp(lambda t, y: [y[1], -9.81], (0, 9), [1.0, 0.0], switches=[ball], rtol=1e-6, atol=1e-6)
    assert len(result.events) == 10
    assert result.nsteps < 60  # a start-up phase after each event would need several hundred


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="First-class function type")
        solve_ivp(clock, (0, 1), [0.0], switches=[Switch(lambda t, y: y[0] - 0.5)])


def test_given_rate_is_checked():
    good = Switch(lambda t, y: y[0] ** 2 - 0.5, rate=lambda t, y, ydot: 2.0 * y[0] * ydot[0])
    assert len(solve_ivp(clock, (0, 1), [0.1], switches=[good]).events) == 1
    wrong = Switch(lambda t, y: y[0] ** 2 - 0.5, rate=lambda t, y, ydot: 5.0, name="g")
    with pytest.raises(EventError, match="rate"):
        solve_ivp(clock, (0, 1), [0.1], switches=[wrong])


def test_wrong_rate_is_told_at_events_and_changes_none():
    # Right at the start, wrong from t = 0.5 on: the events are those without a rate.
    def late(t, y, ydot):
        return ydot[0] * (1.0 if t < 0.5 else -3.0)

    def solve(rate):
        switch = Switch(lambda t, y: y[0], rate=rate, name="zero")
        return solve_ivp(
            lambda t, y: [y[1], -y[0]], (0, 10), [1.0, 0.0], switches=[switch], rtol=1e-9, atol=1e-9
        )

    plain = solve(None)
    with pytest.warns(RateWarning, match="'zero'") as caught:
        told = solve(late)
    assert len(caught) == 1  # once for a switch, not at every event
    assert [event.t for event in told.events] == [event.t for event in plain.events]
    assert len(plain.events) == 3
    with pytest.warns(RateWarning):
        solve(lambda t, y, ydot: ydot[0] if t < 0.5 else np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(lambda t, y, ydot: ydot[0])


def test_rates_of_several_functions():
    # The rate of the second function is wrong after its mode has changed.
    def rate(t, y, ydot):
        return [ydot[0], ydot[1] if t < 2.0 else 7.0]

    switch = Switch(lambda t, y: y - [0.5, 2.5], rate=rate, size=2, name="level")
    with pytest.warns(RateWarning, match=r"level\[1\]"):
        result = solve_ivp(lambda t, y, mode: [1.0, 1.0], (0, 3), [0.0, 0.0], switches=[switch])
    assert np.allclose([event.t for event in result.events], [0.5, 2.5], rtol=0, atol=1e-14)
    with pytest.raises(ShapeError, match="2 are wanted"):
        solve_ivp(
            lambda t, y: [1.0, 1.0],
            (0, 3),
            [0.0, 0.0],
            switches=[Switch(lambda t, y: y - 0.5, rate=lambda t, y, ydot: ydot[0], size=2)],
        )


def test_exception_in_rate_passes_with_a_note_and_the_result_so_far():
    def rate(t, y, ydot):
        if t > 0.0:
            raise ZeroDivisionError("mine")
        return 1.0

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        solve_ivp(lambda t, y: [1.0], (0, 2), [-1.0], switches=[Switch(lambda t, y: y[0], rate=rate)])
    assert any("rate" in note for note in caught.value.__notes__)
    assert len(caught.value.partial.events) == 1


def test_accumulating_resets_of_a_bilateral_switch_are_passed():
    ball = Switch(lambda t, y: y[0], direction=-1, reset=lambda t, y: [abs(y[0]), -0.5 * y[1]], name="floor")
    with pytest.warns(ZenoWarning, match="accumulate at t = 1.354570"):
        result = solve_ivp(
            lambda t, y: [y[1], -9.81], (0, 3), [1.0, 0.0], switches=[ball], rtol=1e-8, atol=1e-10
        )
    assert result.success and result.t[-1] == 3.0
    np.testing.assert_allclose(result.y[:, -1], 0.0, atol=1e-8)
    assert [event.kind for event in result.events].count("zeno") == 1 and len(result.events) < 100


def test_resets_of_a_bilateral_switch_accumulate():
    """A ball that bounces by resets comes to rest; the accumulation does not end at `max_events`."""
    floor = Switch(
        lambda t, y: y[0], direction=-1, reset=lambda t, y: np.array([0.0, -0.5 * y[1]]), name="floor"
    )
    with pytest.warns(ZenoWarning, match="accumulate at t = 1.35457"):
        result = solve_ivp(lambda t, y, mode: [y[1], -9.81], (0, 3), [1.0, 0.0], switches=[floor], rtol=1e-8)
    assert result.success and len(result.events) < 100
    assert result.events.of("zeno")[0].t == pytest.approx(3 * np.sqrt(2 / 9.81), rel=1e-8)
    assert np.max(np.abs(result.y[:, -1])) < 1e-9
