"""Model functions made around those of the user: products, bounds, projections."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.calls import combined
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.calls.rows import rows_of
from nonsmooth._core.jit import JIT_ENABLED, MATRIX, PROJECT, VECTOR, objmode, user_kernel
from nonsmooth.model.functions import COMPILE_ERRORS, compilable, say_callback


def at_rest(writer, n_u, differentiator):
    """Value of a nonholonomic constraint at u = 0: its zeta."""
    return ModelFunction(combined.at_rest, VECTOR, combined.AtRest(writer, np.zeros(n_u)))


def times_kinematics(by_q, kinematics, offset, m, n_q, n_u, differentiator):
    """dg/dq B in rows that begin at `offset`."""
    product = ModelFunction(
        combined.times_kinematics,
        MATRIX,
        combined.Product(by_q, kinematics, np.zeros((m, n_q)), np.zeros((n_q, n_u))),
    )
    return rows_of([(product, offset, m)], MATRIX)


def symmetric_bounds(limit, row, dim, n_rows, count=1):
    """-limit and limit for `dim` rows of each of `count` laws behind each other; `limit` writes one value for each."""
    words = combined.Symmetric(limit, np.zeros(count), row, dim, n_rows, count)
    return ModelFunction(combined.symmetric_bounds, VECTOR, words)


def fixed_bounds(lower, upper, row, dim, n_rows):
    """Lower and upper bound of `dim` rows."""
    words = combined.Fixed(np.array([lower, upper], float), row, dim, n_rows)
    return ModelFunction(combined.fixed_bounds, VECTOR, words)


def dispatch(law, dim, function, name, rest):
    """Projection of user set number `law`, else the others; and whether it could be compiled."""

    def around(f):
        def project(index, x, out):
            if index == law:
                y = f(x)
                if len(y) != dim:
                    raise ValueError("a projection changed the length of its return value during the run")
                for i in range(dim):
                    out[i] = y[i]
            else:
                rest(index, x, out)

        return project

    if not JIT_ENABLED:
        return around(function), True
    try:
        return user_kernel(around(compilable(function)), PROJECT), True
    except COMPILE_ERRORS as exc:
        say_callback(name, function, exc)

    def fill(x, out):
        try:
            out[:] = function(x)
        except BaseException as exc:
            exc.add_note(f"raised in {name}")
            raise

    def callback(index, x, out):
        if index == law:
            with objmode():
                fill(x, out)
        else:
            rest(index, x, out)

    return user_kernel(callback, PROJECT), False
