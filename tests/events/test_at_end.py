"""Events exactly at the end of a span happen there, once; splitting a span at an event loses none and doubles none."""

import numpy as np
import pytest

from nonsmooth import Switch, solve_ivp
from nonsmooth.errors import EventError

T_FALL = np.sqrt(2 / 9.81)


def fall(t, y):
    return [y[1], -9.81]


FLOOR = Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: [y[0], -0.8 * y[1]], name="floor")
TIGHT = {"rtol": 1e-9, "atol": 1e-12}


def told(result):
    """Events, without what is told about the start."""
    return [event for event in result.events if not event.extra.get("start")]


@pytest.mark.parametrize("t_end", [T_FALL, np.nextafter(T_FALL, 0), np.nextafter(T_FALL, 1)])
def test_impact_at_the_end(t_end):
    result = solve_ivp(fall, (0, t_end), [1.0, 0.0], switches=[FLOOR], dense_output=True, **TIGHT)
    (event,) = result.events
    assert event.kind == "impact" and abs(event.t - T_FALL) <= 4 * np.spacing(T_FALL)
    v = 9.81 * T_FALL
    np.testing.assert_allclose([event.before[1], event.after[1]], [-v, 0.8 * v], rtol=1e-9)
    np.testing.assert_allclose(result.y[:, -1], [0, 0.8 * v], rtol=1e-9, atol=1e-14)
    assert np.all(np.diff(result.t) >= 0) and result.t[-1] == t_end
    np.testing.assert_array_equal(result.sol(t_end), result.y[:, -1])
    chosen = solve_ivp(fall, (0, t_end), [1.0, 0.0], switches=[FLOOR], t_eval=[0.1, t_end], **TIGHT)
    np.testing.assert_array_equal(chosen.y[:, -1], result.y[:, -1])


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("start", [0.0, 1000.0])
def test_a_span_split_at_an_impact(method, start):
    def run(a, b, y):
        return solve_ivp(fall, (a, b), y, method=method, switches=[FLOOR], **TIGHT)

    whole = run(start, start + 3, [1.0, 0.0])
    assert len(whole.events) == 6
    for event in whole.events:
        for t in (event.t, np.nextafter(event.t, -np.inf), np.nextafter(event.t, np.inf)):
            first = run(start, t, [1.0, 0.0])
            second = run(t, start + 3, first.y[:, -1])
            assert [e.kind for e in told(first) + told(second)] == ["impact"] * 6
            np.testing.assert_allclose(second.y[:, -1], whole.y[:, -1], atol=1e-6 if start else 1e-9)


@pytest.mark.parametrize("start", [0.0, 1000.0])
def test_a_span_split_at_a_switch(start):
    switch = Switch(lambda t, y: y[0], name="sign")

    def run(a, b, y):
        return solve_ivp(
            lambda t, y, mode: [y[1], -y[0] - 0.5 * mode[0]], (a, b), y, switches=[switch], **TIGHT
        )

    whole = run(start, start + 10, [1.0, 0.0])
    assert len(whole.events) >= 3
    for event in whole.events:
        for t in (event.t, np.nextafter(event.t, -np.inf), np.nextafter(event.t, np.inf)):
            first = run(start, t, [1.0, 0.0])
            second = run(t, start + 10, first.y[:, -1])
            assert len(told(first)) + len(told(second)) == len(whole.events)
            np.testing.assert_allclose(second.y[:, -1], whole.y[:, -1], atol=1e-6)


def test_modes_and_resets_of_a_bilateral_switch_at_the_end():
    jump = Switch(lambda t, y: t - 1.0, reset=lambda t, y: [y[0] + 10.0], name="clock")
    result = solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], switches=[jump])
    assert result.modes[0, -1] == 1 and result.modes[0, -2] == -1
    np.testing.assert_allclose(result.y[0, -2:], [1, 11])
    down = Switch(lambda t, y: t - 1.0, direction=-1, reset=jump.reset, name="clock")
    result = solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], switches=[down])
    assert len(result.events) == 0 and result.modes[0, -1] == 1
    np.testing.assert_allclose(result.y[0, -1], 1)


def test_a_chain_at_the_end():
    """The reset of the first throws the second over its zero; a third one is not concerned."""
    switches = [
        Switch(lambda t, y: y[0] - 0.5, name="far"),
        Switch(lambda t, y: t - 1.0, reset=lambda t, y: [y[0] + 1.0], name="clock"),
        Switch(lambda t, y: y[0] - 7.0, name="beyond"),
    ]
    result = solve_ivp(lambda t, y: [0.0], (0, 1), [0.0], switches=switches)
    assert [event.name for event in result.events] == ["clock", "far"]
    assert result.y[0, -1] == 1.0 and result.modes[:, -1].tolist() == [1, 1, -1]


def test_terminal_at_the_end():
    stop = Switch(lambda t, y: t - 1.0, terminal=True)
    assert solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], switches=[stop]).status == 1
    second = Switch(lambda t, y: t - 1.0, terminal=2)
    assert solve_ivp(lambda t, y: [1.0], (0, 1), [0.0], switches=[second]).status == 0


def test_resets_without_end_at_the_end():
    there = Switch(lambda t, y: y[0], reset=lambda t, y: [-1.0 if y[0] >= 0 else 1.0], name="there")
    begin = Switch(lambda t, y: t - 1.0, reset=lambda t, y: [1.0], name="begin")
    with pytest.raises(EventError, match="'there'"):
        solve_ivp(lambda t, y: [0.0], (0, 1), [-1.0], switches=[begin, there])


def test_a_reset_that_raises_at_the_end():
    def bad(t, y):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as caught:
        solve_ivp(
            fall, (0, T_FALL), [1.0, 0.0], switches=[Switch(FLOOR.g, kind="unilateral", reset=bad, name="x")]
        )
    assert any("reset of x" in note for note in caught.value.__notes__)
    assert caught.value.partial.t[-1] == T_FALL


def test_functions_are_not_called_beyond_the_end():
    seen = []

    def fun(t, y):
        seen.append(t)
        return [y[1], -9.81]

    solve_ivp(fun, (0, T_FALL), [1.0, 0.0], switches=[FLOOR], **TIGHT)
    assert max(seen) <= T_FALL * (1 + 1e-12)
