"""Bad input and misbehaving functions: each gets its typed answer, what was computed stays reachable."""

import numpy as np
import pytest

from nonsmooth.errors import (
    EventError,
    InconsistentStateError,
    InputError,
    ModelError,
    NonFiniteError,
    NonFiniteStateError,
    RangeError,
    ShapeError,
    StepLimitError,
)
from nonsmooth.ivp import Switch, solve_ivp


def clock(t, y):
    return [1.0]


MARK = Switch(lambda t, y: y[0] - 0.5, name="mark")


@pytest.mark.parametrize("switches", [None, [MARK]])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_right_hand_side_not_finite_later(switches, value):  # B7, B8
    result = solve_ivp(lambda t, y: [1.0 if t < 0.7 else value], (0, 1), [0.0], switches=switches)
    assert result.status == -1 and not result.success
    assert 0.69 < result.t[-1] <= 0.7 and np.all(np.isfinite(result.y))
    if switches:
        assert isinstance(result.error, NonFiniteStateError) and "component 0" in result.message
        assert [event.name for event in result.events] == ["mark"]


def test_switch_not_finite(recwarn):  # B9
    bad = Switch(lambda t, y: np.nan if y[0] > 0.3 else 1.0, name="hole")
    with pytest.raises(EventError, match="hole") as info:
        solve_ivp(clock, (0, 1), [0.0], switches=[bad], max_step=0.05)
    assert info.value.partial.t[-1] > 0.2


@pytest.mark.parametrize(
    "value, error", [([1.0, 2.0], ShapeError), (None, InputError), ([1j], InputError), (["a"], InputError)]
)
def test_right_hand_side_of_wrong_kind(value, error):  # B12
    with pytest.raises(error, match="fun"):
        solve_ivp(lambda t, y: value, (0, 1), [0.0], switches=[MARK])


def test_start_values():
    with pytest.raises(NonFiniteError):
        solve_ivp(clock, (0, 1), [np.nan], switches=[MARK])
    with pytest.raises(NonFiniteError):
        solve_ivp(clock, (0, np.nan), [0.0], switches=[MARK])
    with pytest.raises(NonFiniteError):
        solve_ivp(clock, (0, np.nan), [0.0])
    with pytest.raises(NonFiniteError):
        solve_ivp(clock, (np.inf, 0), [0.0])
    with pytest.raises(ShapeError):
        solve_ivp(clock, (0, 1), [[0.0]], switches=[MARK])
    with pytest.raises(ValueError):
        solve_ivp(clock, (0, 1), [0.0], method="Euler")
    with pytest.raises(InputError):
        solve_ivp(clock, (0, 1), [0.0], method="BDF", switches=[MARK])
    with pytest.raises(InputError):
        solve_ivp(clock, (0, 1), [0.0], switches=[MARK], on_chatter="maybe")
    with pytest.raises(InputError):
        solve_ivp(clock, (0, 1), [0.0], switches=[MARK], unknown=1)
    with pytest.raises(RangeError):
        Switch(clock, direction=2)
    with pytest.raises(InconsistentStateError):
        solve_ivp(clock, (0, 1), [0.0], switches=[Switch(lambda t, y: y[0] - 0.1, kind="unilateral")])
    with pytest.raises(InputError, match="backward"):
        solve_ivp(clock, (1, 0), [1.0], switches=[Switch(lambda t, y: y[0], kind="unilateral")])


def test_constant_zero_switch():  # B37
    with pytest.raises(EventError, match="constant zero"):
        solve_ivp(clock, (0, 1), [0.0], switches=[MARK, Switch(lambda t, y: 0.0, name="nothing")])


def test_event_at_a_step_point_and_at_the_end():  # B39
    result = solve_ivp(
        clock, (0, 1), [0.0], switches=[Switch(lambda t, y: t - 0.5)], first_step=0.5, max_step=0.5
    )
    assert len(result.events) == 1 and abs(result.events[0].t - 0.5) <= 4e-16
    result = solve_ivp(clock, (0, 1), [0.0], switches=[Switch(lambda t, y: 1.0 - t)])
    assert len(result.events) == 1 and result.events[0].t == 1.0


def test_monotone_times_with_events_at_rounding_distance():  # B40, B41
    switches = [Switch(lambda t, y, k=k: t - 0.3 - k * 1.1e-16, name=f"s{k}") for k in range(5)]
    result = solve_ivp(clock, (0, 1), [0.0], switches=switches)
    assert sorted(event.name for event in result.events) == [f"s{k}" for k in range(5)]
    assert np.all(np.diff(result.t) >= 0.0)


def test_not_repeatable_switch():  # B42
    rng = np.random.default_rng(0)
    noisy = Switch(lambda t, y: y[0] - 0.5 + 1e-3 * rng.standard_normal(), name="noisy")
    with pytest.raises(EventError, match="noisy"):
        solve_ivp(clock, (0, 1), [0.0], switches=[noisy])


def test_discontinuous_switch_is_located_and_flagged():  # B43
    result = solve_ivp(
        clock, (0, 1), [0.0], switches=[Switch(lambda t, y: -1.0 if t < 1 / 3 else 1.0, name="step")]
    )
    (event,) = result.events
    assert event.extra["jump"] and abs(event.t - 1 / 3) <= 4.5e-16


def test_endless_cycle():  # B45
    a = Switch(lambda t, y: y[0] - 0.5, reset=lambda t, y: [y[0] - 1e-3 if y[0] >= 0.5 else 0.5], name="a")
    with pytest.raises(EventError, match="'a'"):
        solve_ivp(clock, (0, 1), [0.0], switches=[a])


def test_event_and_step_limits():  # B44, B46
    wave = Switch(lambda t, y: np.sin(50.0 * y[0]), name="wave")
    result = solve_ivp(clock, (0, 100), [0.1], switches=[wave], max_events=20, max_step=0.05)
    assert result.status == -1 and isinstance(result.error, StepLimitError) and len(result.events) == 21
    result = solve_ivp(clock, (0, 100), [0.1], switches=[MARK], max_step=0.01, max_steps=50)
    assert result.status == -1 and isinstance(result.error, StepLimitError) and result.t[-1] > 0.0


def test_step_size_underflow():  # B47
    result = solve_ivp(lambda t, y: [y[0] ** 2], (0, 2), [1.0], switches=[MARK])
    assert result.status == -1 and result.error is not None and abs(result.t[-1] - 1.0) < 1e-3


class Trouble(Exception):
    pass


@pytest.mark.parametrize("where", ["fun", "g", "reset"])
@pytest.mark.parametrize("error", [Trouble, KeyboardInterrupt, SystemExit])
def test_exceptions_pass_through(where, error):  # B54, B57
    kept = error("here")

    def fail(name, value):
        if name == where:
            raise kept
        return value

    switch = Switch(
        lambda t, y: fail("g", y[0]) if t > 0.2 else y[0],
        kind="unilateral",
        name="floor",
        reset=lambda t, y: fail("reset", [y[0], 1.0]),
    )
    with pytest.raises(error) as info:
        solve_ivp(
            lambda t, y: fail("fun", [y[1], -1.0]) if t > 0.2 else [y[1], -1.0],
            (0, 3),
            [1.0, 0.0],
            switches=[switch],
            max_step=0.05,
        )
    assert info.value is kept
    assert any(where in note for note in info.value.__notes__)
    if error is not SystemExit:
        assert info.value.partial.t.size > 1


def test_callback_may_write_into_its_arguments():  # B55: it gets copies
    def fun(t, y):
        y[:] = 7.0
        return [1.0]

    result = solve_ivp(fun, (0, 1), [0.0], switches=[MARK])
    assert result.y[0, -1] == pytest.approx(1.0)


def test_solver_inside_a_callback():  # B56: a run within a run is independent
    def fun(t, y):
        inner = solve_ivp(lambda s, z: [2.0], (0, 1), [0.0], switches=[MARK])
        return [inner.y[0, -1]]

    assert solve_ivp(fun, (0, 1), [0.0], switches=[MARK]).y[0, -1] == pytest.approx(2.0)


def test_zero_length_span():  # B49
    result = solve_ivp(clock, (1, 1), [0.3], switches=[MARK])
    assert result.success and result.y[:, -1].tolist() == [0.3]


def test_instants_that_are_no_numbers():
    for switches in ({}, {"switches": [MARK]}):
        with pytest.raises(NonFiniteError, match="t_eval"):
            solve_ivp(clock, (0, 1), [0.0], t_eval=[0.0, np.nan], **switches)


def test_names_of_switches():
    with pytest.raises(ModelError, match="'mark' belongs to switches 0 and 1"):
        solve_ivp(clock, (0, 1), [0.0], switches=[MARK, MARK])
    with pytest.raises(InputError, match="`name` of a Switch is 3"):
        Switch(lambda t, y: y[0], name=3)


def test_reset_that_puts_the_state_back_on_its_switch():
    # the switch fires again a rounding of time later, without end
    switch = Switch(lambda t, y: y[0], direction=-1, reset=lambda t, y: np.array([0.0, y[1]]), name="floor")
    with pytest.raises(EventError, match=r"without end at t = 0\.4515.*'floor'") as caught:
        solve_ivp(lambda t, y: [y[1], -9.81], (0, 1), [1.0, 0.0], switches=[switch])
    assert caught.value.partial.t[-1] > 0.45


def test_many_switches_at_one_instant_are_no_cycle():
    switches = [Switch(lambda t, y, k=k: t - 0.5 + 0.0 * k, name=f"s{k}") for k in range(150)]
    result = solve_ivp(clock, (0, 1), [0.0], switches=switches)
    assert result.success and len(result.events) == 150


def test_switches_that_are_none():
    for wrong in (5, lambda t, y: y[0], [None]):
        with pytest.raises(InputError, match="`switches"):
            solve_ivp(clock, (0, 1), [0.0], switches=wrong)


def test_a_switch_is_a_number():
    for wrong in (lambda t, y: y[0] > 0.5, lambda t, y: np.array([y[0] > 0.5]), lambda t, y: y[0] + 1j):
        with pytest.raises(InputError, match="`g` of 'switch 0' returned values of type"):
            solve_ivp(clock, (0, 1), [0.0], switches=Switch(wrong))
