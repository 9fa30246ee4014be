"""Records of a finished run that serve the next one: making them takes longer than a short run.

A run is two hundred arrays and their addresses. One that has reached its end is kept beside the model, with what its records held before
the start (`Pristine`), and taken again by a run of the same scheme, laws and parameters. A system runs once at a time (`RunGuard`), and a
run that is being used is kept nowhere. What differs between runs in shape (instants asked for, events, states inside steps) is made
anew, as are runs with more output than `MOST_BYTES`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth._core.records.rewind import put_back

MOST_BYTES = 8_000_000  # of records kept beside a model


class Pristine:
    """What the arrays in nested records hold when this is made; without those in the records `fixed`, which no run changes."""

    def __init__(self, records, fixed=()):
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


def taken(model, scheme, plan) -> Any:
    """A finished run whose records fit, or None; it is no longer kept."""
    kept = getattr(model, "spare", {})
    run = kept.pop(scheme.name, None)
    if run is None or not usual(plan):
        return None
    same = run.scheme == scheme and run.plan.capacity == plan.capacity and run.model.laws is model.laws
    return run if same and run.scene.model.p is model.parameters.flat else None


def keep(run) -> bool:
    """Keep the records of a run that is over; whether they are (then nothing may refer to its output)."""
    kept = getattr(run.model, "spare", None)
    if kept is None or not hasattr(run, "pristine") or not usual(run.plan):
        return False
    if sum(array.nbytes for array in run.out) > MOST_BYTES:
        return False
    kept[run.scheme.name] = run
    return True


def usual(plan) -> bool:
    """Whether a run has the records that most have."""
    return not (plan.t_eval.size or plan.watched or plan.nodes or plan.keep_begin or plan.controllers)


def _arrays(value):
    """Arrays in nested records; a record of numbers is the array of one that it lies in."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, np.record):
        yield value.base
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _arrays(member)
