"""Helpers of user functions are compiled with them, checked for bounds, and shared where the code is the same."""

import types
import warnings

import numba
import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.errors import CallbackWarning, FunctionIndexError, InputError, ModelError
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.helpers import prepared
from nonsmooth.model.parameters import Parameters

P = Parameters({"k": 3.0})
Q, U = np.array([1.0, 2.0]), np.zeros(2)
STIFFNESS = 2.0
compiled_only = pytest.mark.skipif(not JIT_ENABLED, reason="about compiled code")


def spring(x):
    return STIFFNESS * stretch(x)


def stretch(x):
    return x - 1.0


@numba.njit
def entry(array, i):
    return array[i]


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def closure_over(helper):
    return lambda t, q: helper(q[0])


module = types.ModuleType("users_module")
module.stretch = stretch


def forms():
    return {
        "global": lambda t, q: spring(q[1]),
        "closure": closure_over(spring),
        "module": lambda t, q: module.stretch(q[0]),
        "compiled": lambda t, q: entry(q, 1),
        "recursive": lambda t, q: q[0] * factorial(4),
        "library": lambda t, q: ns.quaternion_rates(np.array([1.0, q[0], 0.0, 0.0]))[0, 0],
    }


@pytest.mark.parametrize("form", list(forms()))
def test_helpers_are_compiled(form):
    f = UserFunction(forms()[form], "gap", (1,), False, P)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CallbackWarning)
        write = f.writer(Q, U, 0.0)
    out = np.zeros(1)
    write(0.0, Q, U, P.flat, out)
    assert out[0] == f.call(0.0, Q, U)[0]
    assert f.compiled or not JIT_ENABLED


@pytest.mark.parametrize("given", [[1.0, 2.0, 2.5], np.array([1.0, 2.0, 2.5]), np.diag([1.0, 2.0, 2.5])])
def test_inertia_matrix_inside(given):
    f = UserFunction(lambda t, q: ns.inertia_matrix(given), "mass", (3, 3), False, P)
    out = np.zeros((3, 3))
    f.writer(Q, U, 0.0)(0.0, Q, U, P.flat, out)
    assert np.array_equal(out, np.diag([1.0, 2.0, 2.5]))
    assert f.compiled or not JIT_ENABLED
    g = UserFunction(
        lambda t, q: ns.inertia_matrix(np.array([1.0, 1.0, 1.0 + q[0]])), "mass", (3, 3), False, P
    )
    write = g.writer(Q, U, 0.0)
    with pytest.raises(ModelError, match="principal moment"):
        write(0.0, 2 * Q, U, P.flat, out)


@compiled_only
def test_same_code_is_the_same_function():
    def make(c):
        return lambda t, q: c * stretch(q[0])

    def key(f):
        return prepared(f).key

    assert key(make(1.0)) == key(make(1.0)) != key(make(2.0))
    assert key(make(0.0)) != key(make(-0.0)) and key(make(1)) != key(make(1.0))
    assert key(make(np.ones(2))) == key(make(np.ones(2))) != key(make(np.zeros(2)))
    assert key(make({"a": 1})) is None  # may change: not shared
    before = key(spring)
    try:
        globals()["STIFFNESS"] = 5.0  # a helper's constant is part of it
        assert key(spring) != before
    finally:
        globals()["STIFFNESS"] = 2.0


def test_the_users_own_compiled_helpers_are_checked_also_from_python():
    f = UserFunction(lambda t, q: entry(q, 2 if t > 0.0 else 0), "gap", (1,), False, P)
    write, out = f.writer(Q, U, 0.0), np.zeros(1)
    for call in (lambda: f.call(1.0, Q, U), lambda: write(1.0, Q, U, P.flat, out)):
        with pytest.raises(IndexError):
            call()


@compiled_only
def test_what_cannot_be_checked_runs_in_python():
    f = UserFunction(lambda t, q: q.flat[int(t)], "gap", (1,), False, P)
    with pytest.warns(
        CallbackWarning, match=r"gap \(.*test_helpers.py:\d+\) cannot be compiled .*flat.* Write it"
    ):
        write = f.writer(Q, U, 0.0)
    with pytest.raises(IndexError):
        write(5.0, Q, U, P.flat, np.zeros(1))


def test_index_beyond_the_size_during_a_run():
    def force(t, q, u, out):
        out[0] = -9.81
        if t > 0.1:
            out[10**9] = 1e300

    system = ns.MechanicalSystem([[1.0]], force)
    with pytest.raises(FunctionIndexError if JIT_ENABLED else IndexError) as info:
        ns.simulate(system, (0, 0.3), [1.0], [0.0], dt=1e-3, progress=False)
    said = " ".join([str(info.value), *getattr(info.value, "__notes__", ())])
    assert "force" in said and "at t = 0.1005" in said
    assert info.value.partial.t[-1] == pytest.approx(0.1)


def test_index_beyond_the_size_at_the_start():
    """Also where the function is called in Python first, and where a helper of the user has been compiled."""
    for force in (lambda t, q, u: q[-2:-1][0] + q[-2], lambda t, q, u: np.array([entry(q, 7)])):
        system = ns.MechanicalSystem([[1.0]], force)
        with pytest.raises(FunctionIndexError, match=r"force reached beyond the size of an array at t = 0"):
            ns.simulate(system, (0, 0.3), [1.0], [0.0], dt=1e-3, progress=False)


@compiled_only
def test_no_value_during_a_run():
    system = ns.MechanicalSystem([[1.0]], lambda t, q, u: None if t > 0.1 else np.array([-9.81]))
    with pytest.raises(InputError, match=r"force \(.*\) returned None at t = 0\.1005: return its value"):
        ns.simulate(system, (0, 0.3), [1.0], [0.0], dt=1e-3, progress=False)
