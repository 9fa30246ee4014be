"""Explicit integrators from outside: a Butcher tableau by name, its claimed order checked by the order conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.integrators.records import Method
from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError

from .continuous import dense_rows, elementary_weights, rooted_trees, tree_density
from .tableaus import ALIASES, METHODS, explicit, get_method

#: Residuals of order conditions below this are rounding of a tableau typed in with 15 digits.
ROUNDING = 1e-12


def add_integrator(
    name: str, A: Any, b: Any, c: Any, *, order: int, b_hat: Any, error_order: int, dense_order: int = 3
) -> None:
    """Make an explicit Runge-Kutta pair known by `name` to `solve_ivp`, `solve_filippov`, `solve_dae` and all schemes with `integrator=`.

    Parameters
    ----------
    name : str
        A new one; names of the library's own methods are refused.
    A : array_like, shape (s, s)
        Strictly lower triangular.
    b, c : array_like, shape (s,)
        Weights of the solution that is propagated, and nodes.
    order : int
        Of `b`: every order condition up to it must hold to 1e-12.
    b_hat : array_like, shape (s,) or (s + 1,)
        Weights of the second solution; the last of s + 1 multiplies the slope at the end of the step.
    error_order : int
        Order of `b_hat`, checked likewise; smaller than `order`.
    dense_order : int
        3 (the cubic through values and slopes) or 4 (from the order conditions) between steps.

    Raises
    ------
    InputError, ShapeError, NonFiniteError, RangeError
        The name is taken, or the tableau is not what it claims to be; the message names the condition that fails.

    Examples
    --------
    >>> import nonsmooth as ns
    >>> from nonsmooth.extend import add_integrator
    >>> A = [[0, 0], [2 / 3, 0]]
    >>> add_integrator("Ralston", A, [1 / 4, 3 / 4], [0, 2 / 3], order=2, b_hat=[1, 0], error_order=1)
    >>> ns.solve_ivp(lambda t, y: -y, (0, 1), [1.0], method="Ralston", rtol=1e-6).success
    True
    """
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise InputError(f"`name` is {name!r}: a name that can be printed is wanted.")
    if (name in METHODS and name not in _ADDED) or name in ALIASES:
        raise InputError(f"`name` is {name!r}, which is a method of the library: choose another name.")
    A, b, c = (_finite(label, value) for label, value in (("A", A), ("b", b), ("c", c)))
    s = b.size
    if A.shape != (s, s) or b.shape != (s,) or c.shape != (s,):
        raise ShapeError(
            f"`A`, `b`, `c` have the shapes {A.shape}, {b.shape}, {c.shape}: (s, s), (s,), (s,) are wanted."
        )
    if np.any(np.triu(A)):
        raise InputError("`A` is not strictly lower triangular: only explicit methods can be added.")
    second = _finite("b_hat", b_hat)
    if second.shape not in ((s,), (s + 1,)):
        raise ShapeError(f"`b_hat` has the shape {second.shape}: {(s,)} or {(s + 1,)} is wanted.")
    if not 1 <= error_order < order:
        raise RangeError(
            f"`error_order` is {error_order}: at least 1 and less than `order` = {order} is wanted."
        )
    if dense_order not in (3, 4) or (dense_order == 4 and order < 4):
        raise RangeError(
            f"`dense_order` is {dense_order}: 3, or 4 for methods of order 4 and more, is wanted."
        )
    stages, second = _with_end(A, b), np.append(second, np.zeros(s + 1 - second.size))
    _check_nodes(A, c)
    _check_order("b", stages, np.append(b, 0.0), order)
    _check_order("b_hat", stages, second, error_order)
    METHODS[name] = lambda: _method(A, b, c, second, order, error_order, dense_order)
    _ADDED.add(name)
    get_method.cache_clear()


_ADDED: set[str] = set()  # names that may be defined again


def _finite(label, value):
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{label}` is {value!r}: real numbers are wanted.") from error
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{label}` has entries that are not finite.")
    return array


def _with_end(A, b):
    """All stages: those of A, and the slope at the end of the step."""
    stages = np.zeros((b.size + 1, b.size + 1))
    stages[:-1, :-1], stages[-1, :-1] = A, b
    return stages


def _check_nodes(A, c):
    worst = np.argmax(np.abs(A.sum(axis=1) - c))
    if abs(A[worst].sum() - c[worst]) > ROUNDING:
        raise InputError(f"`c[{worst}]` is {c[worst]!r}; the row of `A` adds up to {A[worst].sum()!r}.")


def _check_order(label, stages, weights, order):
    """b^T Phi(tau) = 1/gamma(tau) for all trees up to `order` (Hairer, Norsett & Wanner 1993, II.2)."""
    for size in range(1, order + 1):
        for tree in rooted_trees(size):
            residual = weights @ elementary_weights(tree, stages) - 1.0 / tree_density(tree)
            if abs(residual) > ROUNDING:
                raise InputError(
                    f"`{label}` is not of order {order}: a condition of order {size} is missed by {residual:.2g}."
                )


def _method(A, b, c, second, order, error_order, dense_order) -> Method:
    rows = [dict(enumerate(row[:i])) for i, row in enumerate(A)][1:]
    difference = np.append(b, 0.0) - second
    options = {"order": order, "error_order": error_order}
    bare = explicit(rows, b, difference, c, **options)
    if dense_order == 3:
        return bare
    D = dense_rows(bare.tableau.A, bare.tableau.b, b.size, dense_order)
    return explicit(rows, b, difference, c, D=D, **options)
