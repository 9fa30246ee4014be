"""Records of runs that have ended, for the next run of the same shape: making them takes longer than a short run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth._core.records.rewind import put_back


class Pristine:
    """What the arrays in nested `records` hold when this is made; without those in the records `fixed`: what no run changes, and output,
    which is written before it is read."""

    def __init__(self, records: Any, fixed: Any = ()):
        known = {id(array) for array in _arrays(fixed)}
        words, self._others = [], []
        for array in _arrays(records):
            if id(array) in known:  # (a record may belong to two)
                continue
            known.add(id(array))
            if JIT_ENABLED and array.dtype.itemsize % 8 == 0 and array.flags.c_contiguous:
                words.append(array)
            else:
                self._others.append((array, array.copy()))
        self._arrays = words  # (kept alive)
        self._addresses = np.array([array.ctypes.data for array in words], dtype=np.int64)
        self._sizes = np.array([array.nbytes // 8 for array in words], dtype=np.int64)
        self._words = np.frombuffer(b"".join(array.tobytes() for array in words)).copy()

    def restore(self) -> None:
        """The arrays hold that again."""
        if self._arrays:
            put_back(self._addresses, self._sizes, self._words)
        for array, copy in self._others:
            np.copyto(array, copy)


def _arrays(value):
    """Arrays in nested records; a record of numbers is the array of one that it lies in."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, np.record):
        yield value.base
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _arrays(member)


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
