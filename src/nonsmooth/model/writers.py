"""Small compiled functions made around those of the user: products, bounds, projections."""

from __future__ import annotations

from nonsmooth._core.jit import JIT_ENABLED, MATRIX, PROJECT, VECTOR, objmode, user_kernel
from nonsmooth.model.functions import COMPILE_ERRORS, compilable, say_callback


def at_rest(writer, n_u, differentiator):
    """Value of a nonholonomic constraint at u = 0: its zeta."""
    zero = differentiator._scratch(n_u)

    def write(t, q, u, p, out):
        writer(t, q, zero(), p, out)

    return user_kernel(write, VECTOR)


def times_kinematics(by_q, kinematics, offset, m, n_q, n_u, differentiator):
    J, B = differentiator._scratch((m, n_q)), differentiator._scratch((n_q, n_u))

    def write(t, q, u, p, out):
        j, b = J(), B()
        by_q(t, q, u, p, j)
        kinematics(t, q, u, p, b)
        for i in range(m):
            for k in range(n_u):
                s = 0.0
                for l in range(n_q):
                    s += j[i, l] * b[l, k]
                out[offset + i, k] = s

    return user_kernel(write, MATRIX)


def symmetric_bounds(limit, row, dim, n_rows, differentiator):
    value = differentiator._scratch(1)

    def write(t, q, u, p, out):
        v = value()
        limit(t, q, u, p, v)
        for i in range(dim):
            out[row + i] = -v[0]
            out[n_rows + row + i] = v[0]

    return user_kernel(write, VECTOR)


def fixed_bounds(lower, upper, row, dim, n_rows):
    def write(t, q, u, p, out):
        for i in range(dim):
            out[row + i] = lower
            out[n_rows + row + i] = upper

    return user_kernel(write, VECTOR)


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
