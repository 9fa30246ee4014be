"""Options of schemes as users give them: numbers, tolerances, choices; refused by name, value and what is wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError

#: The smallest relative tolerance that rounding leaves a meaning.
LEAST_RTOL = 10 * np.finfo(float).eps


def number(name: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(f"`{name}` is {value!r}: a number is wanted.")
    if not math.isfinite(value):
        raise NonFiniteError(f"`{name}` is {value!r}: it must be finite.")
    return float(value)


def positive(name: str, value: Any) -> float:
    """A positive finite number."""
    found = number(name, value)
    if found <= 0:
        raise RangeError(f"`{name}` is {value:g}: it must be positive.")
    return found


def choice(name: str, value: Any, allowed: Any) -> None:
    """One of several names."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"`{name}` is {value!r}: one of {', '.join(map(repr, allowed))} is wanted.")


def relative_tolerance(name: str, value: Any) -> float:
    """A relative tolerance that rounding allows."""
    found = number(name, value)
    if not LEAST_RTOL <= found <= 1:
        raise RangeError(f"`{name}` is {value:g}: it must lie between 2.3e-15 and 1.")
    return found


def tolerances(rtol: Any, atol: Any) -> None:
    """A relative tolerance, and an absolute one beside it."""
    relative_tolerance("rtol", rtol)
    if number("atol", atol) < 0:
        raise RangeError(
            f"`atol` is {atol:g}: it must not be negative (0: rtol times the size of each component)."
        )


def share(name: str, value: Any) -> float:
    """A number between 0 and 1."""
    found = number(name, value)
    if not 0.0 <= found <= 1.0:
        raise RangeError(f"`{name}` is {value:g}: it must lie between 0 and 1.")
    return found
