"""Servo constraints: an output of the system follows a wanted course, brought about by inputs (Compere 2001, eqs. (3.1)-(3.3), (3.18)).

    output(t, q) = wanted(t)        relative order 2: the input appears in the second derivative; or in a later one, up to the sixth
    output(t, q, u) = wanted(t)     relative order 1

Without `input` the forces act along the gradient of the output (an ideal drive): such a servo is a rheonomic constraint and runs with
every scheme. With ``input(t, q)``, the directions E(q) along which actuators push, it is a problem of inverse dynamics,
M u' = h + E tau + ..., for `sliding-mode`; it has a solution where the inputs reach the output, for order 2 where W^T M^-1 E is regular.
Where they do so through springs (a flexible joint: order 4), the order has to be said.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nonsmooth.errors import InputError, RangeError
from nonsmooth.model.elements import Joint, NonholonomicConstraint

HIGHEST = 6  # relative order


@dataclass
class PositionServo(Joint):
    """A `Servo` of relative order 2 or more."""

    input: Callable | None = None
    order: int = 2
    output: Callable | None = field(default=None, repr=False)


@dataclass
class VelocityServo(NonholonomicConstraint):
    """A `Servo` of relative order 1."""

    input: Callable | None = None
    output: Callable | None = field(default=None, repr=False)


def Servo(
    output: Callable, wanted: Callable, input: Callable | None = None, order: int = 2, name: str | None = None
) -> PositionServo | VelocityServo:
    """An output that follows a wanted course.

    Parameters
    ----------
    output : callable ``output(t, q[, p])``, or ``output(t, q, u[, p])`` with ``order=1``
        A number or an array of m numbers; linear in u where it takes it.
    wanted : callable ``wanted(t[, p])``
        What the output is to be, a number or an array of m numbers; smooth.
    input : callable ``input(t, q[, p]) -> (n,) or (n, m)``
        Directions E of the inputs; by default the gradient of the output.
    order : {2, 1, 3, 4, 5, 6}
        Relative order: derivatives of the output until the input appears. Above 2 `input` is needed, and the start must agree with
        the derivatives of `wanted` up to order - 1.
    name : str

    Returns
    -------
    PositionServo or VelocityServo
        For ``joints=`` (order 2 and more) or ``nonholonomic=`` (order 1) of a `MechanicalSystem`. Mean inputs of the steps
        are ``result.forces()``.
    """
    for value, label in ((output, "output"), (wanted, "wanted")):
        if not callable(value):
            raise InputError(f"`{label}` of a Servo is {value!r}: a function is wanted.")
    if input is not None and not callable(input):
        raise InputError(f"`input` of a Servo is {input!r}: a function is wanted.")
    if order not in range(1, HIGHEST + 1) or isinstance(order, bool):
        raise RangeError(
            f"`order` of a Servo is {order!r}: outputs have relative order 1 (velocities), 2 (positions), or 3 to {HIGHEST} (positions "
            "that the input reaches through springs)."
        )
    if order > 2 and input is None:
        raise InputError(
            f"a Servo of order {order} needs an `input`: forces along its own gradient reach an output at once, order 2."
        )
    constraint = _difference(output, wanted, takes_u=order == 1)
    if order == 1:
        return VelocityServo(constraint, name=name, input=input, output=output)
    return PositionServo(constraint, name=name, input=input, order=order, output=output)


def _difference(output, wanted, takes_u):
    """``output - wanted`` as a constraint; `p` is handed to whom takes it."""
    plain = 3 if takes_u else 2
    output_p, wanted_p = _arguments(output) > plain, _arguments(wanted) > 1
    if takes_u:
        forms = {
            (False, False): lambda t, q, u: output(t, q, u) - wanted(t),
            (True, False): lambda t, q, u, p: output(t, q, u, p) - wanted(t),
            (False, True): lambda t, q, u, p: output(t, q, u) - wanted(t, p),
            (True, True): lambda t, q, u, p: output(t, q, u, p) - wanted(t, p),
        }
    else:
        forms = {
            (False, False): lambda t, q: output(t, q) - wanted(t),
            (True, False): lambda t, q, p: output(t, q, p) - wanted(t),
            (False, True): lambda t, q, p: output(t, q) - wanted(t, p),
            (True, True): lambda t, q, p: output(t, q, p) - wanted(t, p),
        }
    return forms[output_p, wanted_p]


def _arguments(function) -> int:
    """Number of positional arguments."""
    if isinstance(function, np.ufunc):
        return function.nin
    python = getattr(function, "py_func", function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds for parameter in inspect.signature(python).parameters.values())
