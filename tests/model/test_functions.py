"""Every form a user function may have gives the same numbers, compiled or as a Python callback."""

import functools
import warnings

import numpy as np
import pytest

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth.errors import CallbackWarning, InputError, NonFiniteError, ShapeError
from nonsmooth.model import functions
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.parameters import Parameters

P = Parameters({"k": 3.0})
T, Q, U = 0.5, np.array([1.0, 2.0]), np.array([-1.0, 0.5])
EXPECTED = np.array([-3.0 * np.sin(1.0) + 0.5, -6.0 - 0.5])


def by_return(t, q, u, p):
    return np.array([-p.k * np.sin(q[0]) + t, -p.k * q[1] - u[1]])


def by_out(t, q, u, p, out):
    out[0] = -p.k * np.sin(q[0]) + t
    out[1] = -p.k * q[1] - u[1]


def by_list(t, q, u):
    return [-3.0 * np.sin(q[0]) + t, -3.0 * q[1] - u[1]]


def in_python(t, q, u, p):
    import math  # noqa: F401  (Numba does not compile an import)

    return np.array([-p.k * np.sin(q[0]) + t, -p.k * q[1] - u[1]])


class Spring:
    def __call__(self, t, q, u, p):
        return by_return(t, q, u, p)


def with_stiffness(k, t, q, u):
    return np.array([-k * np.sin(q[0]) + t, -k * q[1] - u[1]])


FORMS = [
    (by_return, True),
    (by_out, True),
    (by_list, True),
    (in_python, False),
    (Spring(), False),
    (functools.partial(with_stiffness, 3.0), False),
]


@pytest.mark.parametrize(
    ("function", "compiled"), FORMS, ids=["return", "out", "list", "callback", "object", "partial"]
)
def test_forms_agree(function, compiled):
    f = UserFunction(function, "force", (2,), True, P)
    np.testing.assert_allclose(f.call(T, Q, U), EXPECTED, rtol=1e-15)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        functions._SAID.clear()
        write = f.writer(Q, U, T)
        f.writer(Q, U, T)
    out = np.zeros(2)
    write(T, Q, U, P.flat, out)
    np.testing.assert_allclose(out, EXPECTED, rtol=1e-15)
    if JIT_ENABLED:
        assert f.compiled == compiled
        assert [w.category for w in said] == ([] if compiled else [CallbackWarning])  # said, and only once
    write(T, Q, U, P.replaced({"k": 0.0}).flat, out)
    if f.has_p:
        np.testing.assert_allclose(out, [0.5, -0.5], rtol=1e-15)


def test_scalars_rows_and_transposed_directions():
    gap = UserFunction(lambda t, q: q[0] - q[1], "gap", (1,), False, P)
    row = UserFunction(lambda t, q: np.array([q[0], t]), "jacobian", (1, 2), False, P)
    tangent = UserFunction(
        lambda t, q: np.array([[1.0, 0.0, q[0]], [0.0, 2.0, t]]), "tangent", (3, 2), False, P, transposed=True
    )
    out = np.zeros(3)
    gap.writer(Q, U, T, slice(2, 3))(T, Q, U, P.flat, out)
    assert np.array_equal(out, [0.0, 0.0, -1.0])
    matrix = np.zeros((4, 2))
    row.writer(Q, U, T, slice(0, 1))(T, Q, U, P.flat, matrix)
    tangent.writer(Q, U, T, slice(1, 4))(T, Q, U, P.flat, matrix)
    assert np.array_equal(matrix, [[1.0, 0.5], [1.0, 0.0], [0.0, 2.0], [1.0, 0.5]])
    assert np.array_equal(matrix[1:], tangent.call(T, Q, U))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, InputError), (np.zeros(3), ShapeError), (np.zeros((2, 2)), ShapeError), (1j * np.ones(2), InputError),
        (np.array(["a", "b"]), InputError), (np.array([None, 1], dtype=object), InputError), ([[1], [2, 3]], ShapeError),
    ],
)  # fmt: skip
def test_wrong_values_are_named(value, error):
    f = UserFunction(lambda t, q, u: value, "force", (2,), True, P)
    with pytest.raises(error, match="force"):
        f.call(T, Q, U)
    with pytest.raises(NonFiniteError, match=r"force is nan in entry \(1,\) at t = 0.5"):
        UserFunction(lambda t, q, u: np.array([0.0, np.nan]), "force", (2,), True, P).check_finite(T, Q, U)


def test_signatures():
    with pytest.raises(InputError, match="takes 1 arguments"):
        UserFunction(lambda t: t, "gap", (1,), False, P)
    with pytest.raises(InputError, match="a function is wanted"):
        UserFunction(3.0, "gap", (1,), False, P)
    f = UserFunction(lambda t, q, out: None, "gap", (1,), False, P)
    assert f.has_out and not f.has_p
    f = UserFunction(lambda t, q, p: None, "gap", (1,), False, P)
    assert f.has_p and not f.has_out


def wrapped(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)

    return inner


def test_what_a_function_reads():
    def make(f):
        return UserFunction(f, "f", (1,), False, P)

    assert make(lambda t, q: q[0] + t).depends_on("t")
    assert not make(lambda t, q: q[0]).depends_on("t")
    assert not make(lambda t, q: 1.0).depends_on("t", "q")
    assert make(lambda x, y: y[0] * x).depends_on("t")  # whatever the arguments are called
    assert make(lambda t, q: (lambda: q[0])()).depends_on("q")  # read by a closure
    assert make(wrapped(lambda t, q: q[0] + t)).depends_on("t")  # cannot be told: yes
    assert make(Spring.__call__.__get__(Spring())).depends_on("t")


def test_inputs_are_read_only_and_exceptions_are_the_users_own():
    def writes(t, q, u):
        q[0] = 1.0
        return q

    with pytest.raises(ValueError, match="read-only") as info:
        UserFunction(writes, "force", (2,), True, P).call(T, Q, U)
    assert "raised in force, called at t = 0.5" in info.value.__notes__
    error = KeyError("mine")

    def fails(t, q, u):
        raise error

    with pytest.raises(KeyError) as info:
        UserFunction(fails, "force", (2,), True, P).call(T, Q, U)
    assert info.value is error
