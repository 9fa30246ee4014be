"""Unusable systems and arguments get typed errors; trouble during a run keeps what was computed."""

import numpy as np
import pytest

from nonsmooth.errors import (
    EventError,
    InputError,
    ModelError,
    NonFiniteError,
    NonFiniteStateError,
    RangeError,
    ShapeError,
    StepLimitError,
)
from nonsmooth.filippov import FilippovSystem, Group, sign_term, solve_filippov

FRICTION = sign_term(-1.0, [1.0], [1.0])
SYSTEM = FilippovSystem([0.5], [FRICTION])


def value(t, x):
    return x[0]


def test_group_with_one_region():
    with pytest.raises(ModelError, match="at least two"):
        Group([[1.0]], [[1.0]])


def test_mismatched_lists():
    with pytest.raises(ShapeError, match="indicators"):
        Group([[1.0], [2.0]], [[1.0]])
    with pytest.raises(ShapeError, match="gradients"):
        Group([[1.0], [2.0]], [[1.0], [-1.0]], [[1.0]])
    with pytest.raises(ShapeError, match="rates"):
        Group([[1.0], [2.0]], [[1.0], [-1.0]], rates=[value])
    with pytest.raises(InputError, match="sequence"):
        Group(value, [[1.0], [-1.0]])
    with pytest.raises(InputError, match="function or an array"):
        Group([["a"], [1.0]], [[1.0], [-1.0]])
    with pytest.raises(NonFiniteError):
        Group([[np.nan], [1.0]], [[1.0], [-1.0]])


def test_indicators_that_coincide():
    with pytest.raises(ModelError, match="same function"):
        Group([[1.0], [2.0]], [value, value])
    same = Group([[1.0], [2.0]], [lambda t, x: x[0], lambda t, x: x[0] + 0.0])
    with pytest.raises(ModelError, match="equal everywhere"):
        solve_filippov(FilippovSystem(None, [same]), (0, 1), [1.0])
    linear = Group([[1.0], [2.0]], [[2.0], [2.0]])
    with pytest.raises(ModelError, match="equal everywhere"):
        solve_filippov(FilippovSystem(None, [linear]), (0, 1), [1.0])


@pytest.mark.parametrize(
    ("system", "error"),
    [
        (FilippovSystem(lambda t, x: np.array([np.nan]), [FRICTION]), NonFiniteError),
        (FilippovSystem(lambda t, x: np.array([1.0, 2.0]), [FRICTION]), ShapeError),
        (FilippovSystem(lambda t, x: None, [FRICTION]), InputError),
        (FilippovSystem(lambda t, x: "a", [FRICTION]), InputError),
        (FilippovSystem([1.0, 2.0], [FRICTION]), ShapeError),
        (FilippovSystem(None, [sign_term(-1.0, [1.0, 0.0], [1.0])]), ShapeError),
        (FilippovSystem(None, [sign_term(-1.0, [1.0], [1.0, 0.0])]), ShapeError),
        (
            FilippovSystem(None, [Group([lambda t, x: np.array([np.inf]), [1.0]], [[1.0], [-1.0]])]),
            NonFiniteError,
        ),
        (FilippovSystem(None, [Group([[1.0], [-1.0]], [lambda t, x: np.nan, [-1.0]])]), NonFiniteError),
        (object(), InputError),
    ],
)
def test_bad_functions_are_found_before_the_first_step(system, error):
    with pytest.raises(error):
        solve_filippov(system, (0, 1), [1.0])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Group([], []), ModelError),
        (lambda: Group(None, None), InputError),
        (lambda: Group([[1.0], [2.0]], [None, [1.0]]), InputError),
        (lambda: Group([[1.0], [2.0]], [[1.0], [-1.0]], regions=3), InputError),
        (lambda: sign_term("a", [1.0], [1.0]), InputError),
        (lambda: sign_term([1.0, 2.0], [1.0], [1.0]), InputError),
        (lambda: sign_term(np.nan, [1.0], [1.0]), NonFiniteError),
        (lambda: sign_term(1.0, "a", [1.0]), InputError),
        (lambda: sign_term(1.0, [1.0], None), InputError),
        (lambda: FilippovSystem("a"), InputError),
        (lambda: FilippovSystem([np.nan]), NonFiniteError),
        (lambda: FilippovSystem(None, None), InputError),
        (lambda: FilippovSystem(None, 3), InputError),
        (lambda: FilippovSystem(None, [FRICTION], 3), InputError),
        (lambda: FilippovSystem(None, [FRICTION], names=3), InputError),
    ],
)
def test_systems_that_make_no_sense(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("answer", [99, -1, None, "a", (0, 1, 2), (0, np.nan), (0, -5.0), (0, "late")])
def test_bad_choices(answer):
    system = FilippovSystem(None, [sign_term(1.0, [1.0], [1.0])])
    with pytest.raises(EventError, match="choose"):
        solve_filippov(system, (0, 2), [0.0], choose=lambda t, x, candidates: answer)


def test_bad_groups():
    with pytest.raises(InputError, match="wanted a Group"):
        FilippovSystem(None, [value])


@pytest.mark.parametrize(
    ("t_span", "x0", "options", "error"),
    [
        ((0, np.nan), [1.0], {}, NonFiniteError),
        ((0, np.inf), [1.0], {}, NonFiniteError),
        ((1, 0), [1.0], {}, InputError),
        ((0,), [1.0], {}, InputError),
        ((0, 1), [np.nan], {}, NonFiniteError),
        ((0, 1), [[1.0]], {}, ShapeError),
        ((0, 1), [1.0], {"rtol": 0.0}, RangeError),
        ((0, 1), [1.0], {"rtol": -1.0}, RangeError),
        ((0, 1), [1.0], {"rtol": np.nan}, RangeError),
        ((0, 1), [1.0], {"atol": -1.0}, RangeError),
        ((0, 1), [1.0], {"atol": [1.0, 2.0]}, RangeError),
        ((0, 1), [1.0], {"method": "Euler"}, InputError),
        ((0, 1), [1.0], {"dt": 0.0}, RangeError),
        ((0, 1), [1.0], {"first_step": -1.0}, RangeError),
        ((0, 1), [1.0], {"max_step": 0.0}, RangeError),
        ((0, 1), [1.0], {"t_eval": [0.5, 0.2]}, InputError),
        ((0, 1), [1.0], {"t_eval": [0.5, 1.2]}, InputError),
        ((0, 1), [1.0], {"location": -1.0}, RangeError),
        ((0, 1), [1.0], {"epsilon": 0.0}, RangeError),
        ((0, 1), [1.0], {"choose": 3}, InputError),
        ((0, 1), [1.0], {"rtol": "small"}, InputError),
        ((0, 1), [1.0], {"rtol": [1e-6]}, InputError),
        ((0, 1), [1.0], {"rtol": None}, RangeError),
        ((0, 1), [1.0], {"atol": "small"}, InputError),
        ((0, 1), [1.0], {"method": ["RK45"]}, InputError),
        ((0, 1), [1.0], {"dt": "short"}, InputError),
        ((0, 1), [1.0], {"first_step": "short"}, InputError),
        ((0, 1), [1.0], {"max_step": "short"}, InputError),
        ((0, 1), [1.0], {"max_step": np.nan}, RangeError),
        ((0, 1), [1.0], {"max_steps": 2.5}, RangeError),
        ((0, 1), [1.0], {"max_steps": -1}, RangeError),
        ((0, 1), [1.0], {"max_events": "few"}, InputError),
        ((0, 1), [1.0], {"epsilon": np.inf}, RangeError),
        ((0, 1), [1.0], {"epsilon": "small"}, InputError),
        ((0, 1), [1.0], {"t_eval": "often"}, InputError),
        ((0, 1), [1.0], {"t_eval": [np.nan]}, InputError),
        ((0, 1), "a", {}, InputError),
        ((0, 1), [1j], {}, InputError),
        ((0, 1), {"x": 1.0}, {}, InputError),
        ((0, 1), [], {}, ShapeError),
        ((0, 1), [1.0], {"method": "taubert-euler", "dt": 1e-300}, RangeError),
        ((0, 1), [1.0], {"method": "taubert-euler"}, InputError),
        ((0, 1), [1.0], {"method": "taubert-rk4", "dt": -1.0}, RangeError),
    ],
)
def test_bad_arguments(t_span, x0, options, error):
    with pytest.raises(error):
        solve_filippov(SYSTEM, t_span, x0, **options)


def test_field_that_becomes_nan_keeps_the_result():
    def late(t, x):
        return np.array([2.0 if t < 1.0 else np.nan])

    with pytest.raises(NonFiniteStateError, match="not finite") as caught:
        solve_filippov(FilippovSystem(late, [FRICTION]), (0, 2), [0.1])
    partial = caught.value.partial
    assert (
        not partial.success
        and 0.9 < partial.t[-1] <= 1.0
        and abs(partial.y[0, -1] - 0.1 - partial.t[-1]) < 1e-9
    )


def test_indicator_that_becomes_nan():
    def late(t, x):
        return x[0] if t < 1.0 else np.nan

    with pytest.raises(EventError, match="indicator"):
        solve_filippov(FilippovSystem([2.0], [sign_term(-1.0, [1.0], late, gradient=[1.0])]), (0, 2), [0.1])


def test_exception_of_a_user_function_passes_unchanged():
    thrown = KeyError("mine")

    def careful(t, x):
        if t > 0.5:
            raise thrown
        return np.array([float(len({"a": 1}) * 2.0)])  # a dictionary: runs as a Python callback

    with pytest.raises(KeyError) as caught:
        solve_filippov(FilippovSystem(careful, [FRICTION]), (0, 2), [0.1])
    assert caught.value is thrown
    assert caught.value.partial.t[-1] <= 0.5 and len(caught.value.partial.t) > 1


def test_limits():
    with pytest.raises(StepLimitError, match="steps") as caught:
        solve_filippov(SYSTEM, (0, 1000), [1.0], max_step=1e-2, max_steps=1000)
    assert caught.value.partial.t[-1] > 1.0
