"""What people who do not know the library hand to `simulate`: odd functions, odd values, copies; and what they get back."""

import copy
import functools
import pickle
import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError, StepLimitError, StorageError


def weight(t, q, u):
    return np.array([-9.81])


def gap(t, q):
    return q[0]


def weight_p(t, q, u, p):
    return np.array([-p.g])


def ball(force=weight, mass=1.0, params=None, **contact):
    contact = {"restitution": 0.5, "name": "floor", **contact}
    return ns.MechanicalSystem(mass, force, ns.Contact(gap, **contact), params=params)


def run(system, span=(0, 1), q0=(1.0,), u0=(0.0,), dt=1e-2, **options):
    return ns.simulate(system, span, q0, u0, dt=dt, **options)


REFERENCE = 0.047081125


class Weight:
    def __init__(self, g):
        self.g, self.calls = g, 0

    def __call__(self, t, q, u):
        return np.array([-self.g])

    def method(self, t, q, u):
        self.calls += 1
        return np.array([-self.g])


@dataclass
class Record:
    g: float = 9.81


FORCES = {
    "list": lambda t, q, u: [-9.81],
    "tuple": lambda t, q, u: (-9.81,),
    "number": lambda t, q, u: -9.81,
    "strided": lambda t, q, u: np.array([-9.81, 0.0, 0.0])[::3],
    "any arguments": lambda *arguments: np.array([-9.81]),
    "default value": lambda t, q, u, k=9.81: np.array([-k]),
    "keyword only": lambda t, q, u, *, k=9.81: np.array([-k]),
    "partial": functools.partial(lambda g, t, q, u: np.array([-g]), 9.81),
    "object": Weight(9.81),
    "method": Weight(9.81).method,
}


@pytest.mark.parametrize("name", FORCES)
def test_forms_of_functions(name):
    assert abs(run(ball(FORCES[name])).q[0, -1] - REFERENCE) < 1e-12


@pytest.mark.parametrize(
    "params", [{"g": 9.81}, Record(), namedtuple("Pair", "g")(9.81), {"g": np.array(9.81)}]
)
def test_forms_of_parameters(params):
    assert abs(run(ball(weight_p, params=params)).q[0, -1] - REFERENCE) < 1e-12


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ball(params=[1, 2]), InputError, "`params` is .* mapping"),
        (lambda: ball(params={"g": None}), InputError, r"`params\['g'\]` is None"),
        (lambda: ball(mass="heavy"), InputError, "`mass` is 'heavy'"),
        (lambda: ball(mass=None), InputError, "`mass` is None"),
        (lambda: ball(mass=1j), InputError, "`mass` is 1j"),
        (lambda: ball(restitution=None), InputError, "`restitution` .* is None"),
        (lambda: ball(name=3), InputError, "`name` of a Contact is 3"),
        (lambda: run(ball(), dt=True), InputError, "`dt` is True"),
        (lambda: run(ball(), span=(0, "1")), InputError, "`t_span`"),
        (lambda: run(ball(), q0=np.ma.masked_array([1.0], mask=[True])), InputError, "masked"),
        (lambda: run(ball(), dt=None, method=ns.Moreau), InputError, "configured"),
        (lambda: run(ball(), friction=1.0), InputError, "option 'friction'; it takes dt, solver"),
        (lambda: run(ns.problems.falling_ball()), InputError, "class Problem.*problem.system"),
        (lambda: run(ball(), span=(1e15, 1e15 + 10), dt=None), StepLimitError, "resolution of time"),
    ],
)
def test_refused_by_name(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("places", "error", "text"),
    [
        ([-1], RangeError, "place -1"),
        ([0.5], InputError, "whole numbers"),
        (["a"], InputError, "whole numbers"),
        (5, InputError, "`quaternions` is 5"),
        ([0, 2], RangeError, "places 0 and 2"),
        ([1], ShapeError, "place 1"),
    ],
)
def test_places_of_quaternions(places, error, text):
    with pytest.raises(error, match=text):
        system = ns.MechanicalSystem(
            np.eye(3),
            lambda t, q, u: 0 * u,
            kinematics=lambda t, q: ns.quaternion_rates(q),
            quaternions=places,
        )
        ns.simulate(system, (0, 1), [1, 0, 0, 0], [0, 0, 0], dt=0.1)


def test_shape_that_changes_during_the_run_names_the_function():
    calls = []

    def compiled(t, q, u):
        return np.full(1 if t < 0.3 else 2, -9.81)

    def callback(t, q, u):
        calls.append(t)
        return np.full(1 if t < 0.3 else 2, -9.81)

    for force in (compiled, callback):
        for options in ({"dt": 1e-2}, {"dt": None, "rtol": 1e-6}):
            with pytest.raises(ShapeError, match=r"force.*shape") as caught:
                run(ball(force), **options)
            assert any(
                "during a step from t = 0.2" in note or "t = 0.3" in note for note in caught.value.__notes__
            )
            assert 0 < caught.value.partial.t[-1] <= 0.3 + 1e-12


def test_exception_out_of_an_extrapolated_step_names_the_function():
    def force(t, q, u):
        if t > 0.3:
            raise KeyError("mine")
        return np.array([-9.81])

    with pytest.raises(KeyError) as caught:
        run(ball(force), dt=None, rtol=1e-6)
    assert any("raised in force" in note for note in caught.value.__notes__)


def test_not_finite_start_of_a_function_is_no_surprise():
    with pytest.raises(NonFiniteError, match="force is nan"):
        run(ball(lambda t, q, u: np.array([np.nan])))


def test_systems_can_be_copied_and_pickled():
    system = ball(weight_p, params={"g": 9.81})
    wanted = run(system).q
    unpickled = pickle.loads(pickle.dumps(system))  # noqa: S301
    for other in (copy.copy(system), copy.deepcopy(system), unpickled):
        assert np.array_equal(run(other).q, wanted)
        assert other.with_params(g=1.0).params == {"g": 1.0}
    result = run(system)
    assert np.array_equal(pickle.loads(pickle.dumps(result)).q, wanted)  # noqa: S301


def test_overflow_is_told_once_and_not_by_numpy():
    def force(t, q, u, out):
        out[0] = u[0] ** 3 * 1e4

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ns.errors.NonFiniteStateError):
            run(ball(force), u0=[1e3])


def test_a_result_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="no such file: check its name"):
        ns.Result.load(tmp_path / "nothing.h5")
