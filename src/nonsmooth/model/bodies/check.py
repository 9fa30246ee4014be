"""Checks of what users give to bodies, joints and forces; every message names the object."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError


def number(value: Any, name: str, owner: str, low: float | None = None, strict: bool = False) -> float:
    """A finite number, not below `low` (above it, if `strict`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(f"`{name}` of {owner} is {value!r}: a number is wanted.")
    found = float(value)
    if not math.isfinite(found):
        raise NonFiniteError(f"`{name}` of {owner} is {found}: it must be finite.")
    if low is not None and (found <= low if strict else found < low):
        wanted = (
            "positive" if strict and low == 0 else f"greater than {low:g}" if strict else f"at least {low:g}"
        )
        raise RangeError(f"`{name}` of {owner} is {found:g}: it must be {wanted}.")
    return found


def floats(value: Any, wanted: str, name: str, owner: str) -> np.ndarray:
    """An array of numbers, of whatever shape; `wanted` says in words what it should be."""
    try:
        if value is None:
            raise TypeError("None")
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`{name}` of {owner} is {value!r}: {wanted} wanted.") from exc


def flag(value: Any, name: str, owner: str) -> bool:
    """True or False, and nothing that is only taken for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` of {owner} is {value!r}: True or False is wanted.")
    return bool(value)


def vector(value: Any, n: int, name: str, owner: str) -> np.ndarray:
    """A finite vector of n numbers."""
    array = floats(value, f"{n} numbers are", name, owner)
    if array.shape != (n,):
        raise ShapeError(f"`{name}` of {owner} has shape {array.shape}: shape ({n},) is wanted.")
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{name}` of {owner} is {array.tolist()}: it must be finite.")
    return array


def direction(value: Any, n: int, name: str, owner: str) -> np.ndarray:
    """A vector of length one along the one given."""
    array = vector(value, n, name, owner)
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise RangeError(f"`{name}` of {owner} is zero: a direction is wanted.")
    return array / length


def in_space(point: np.ndarray) -> np.ndarray:
    """A point or vector of the plane or of space, in space."""
    return point if point.size == 3 else np.array([point[0], point[1], 0.0])
