"""Records of runs that have ended, for the next run of the same shape: making them takes longer than a short run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

#: Arrays above this number of bytes (output) are not restored: they are written before they are read.
_SMALL = 1 << 14


class Pristine:
    """The contents of all small arrays and records of a record, to be put back."""

    def __init__(self, record: Any):
        found: dict[int, bytes] = {}
        self._collect(record, found)
        self._parts = [(address, content, len(content)) for address, content in found.items()]

    def _collect(self, value, found):
        if isinstance(value, tuple):
            for member in value:
                self._collect(member, found)
        elif isinstance(value, np.ndarray) and 0 < value.nbytes <= _SMALL:
            found[value.ctypes.data] = value.tobytes()
        elif isinstance(value, np.record):
            found[value.__array_interface__["data"][0]] = value.tobytes()

    def restore(self) -> None:
        """Everything as it was."""
        for address, content, size in self._parts:
            ctypes.memmove(address, content, size)


class Pool:
    """Things made by ``make(*key)`` that can be used again after ``thing.renew()``."""

    def __init__(self, make: Callable[..., Any], most: int = 8):
        self._make, self._most = make, most
        self._free: dict[Hashable, list] = {}

    def take(self, *key: Hashable) -> Any:
        """One that nobody uses."""
        free = self._free.get(key)
        if free:
            try:
                found = free.pop()
            except IndexError:  # another thread was quicker
                return self._make(*key)
            found.renew()
            return found
        return self._make(*key)

    def give_back(self, thing: Any, *key: Hashable) -> None:
        """`thing` is free again."""
        free = self._free.setdefault(key, [])
        if len(free) < self._most:
            free.append(thing)
