"""The parameter record `p`: a named tuple for the user, one flat float64 array inside the loops.

Changing a value never recompiles: the compiled functions read the flat array, only names and shapes are frozen.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, parameter_unpacker
from nonsmooth.errors import InputError, NonFiniteError
from nonsmooth.names import check_name


class Parameters:
    """Names, shapes and values of the parameters of a model.

    Parameters
    ----------
    values : mapping from name to number or array
        Or a named tuple, or a dataclass.
    """

    def __init__(self, values: Any = None):
        values = _mapping(values)
        self.names = tuple(values)
        arrays = []
        for name, value in values.items():
            if (
                not (isinstance(name, str) and name.isidentifier())
                or keyword.iskeyword(name)
                or name[0] == "_"
            ):
                raise InputError(
                    f"`params` has the key {name!r}: a parameter needs a name that works as `p.name`."
                )
            check_name(name, "`params`")
            try:
                array = np.asarray(_given(value), dtype=np.float64)
            except (TypeError, ValueError) as exc:
                raise InputError(
                    f"`params[{name!r}]` is {value!r}: give a real number or an array of real numbers."
                ) from exc
            if not np.all(np.isfinite(array)):
                raise NonFiniteError(f"`params[{name!r}]` is {value!r}: it must be finite.")
            arrays.append(array)
        self.shapes = tuple(array.shape for array in arrays)
        self.flat = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
        self.record_class: Any = _record_class(self.names)
        self._record: Any = None

    @property
    def unpack(self):
        """Function from a flat array to the named tuple, usable inside compiled code."""
        return _unpacker(self.names, self.shapes) if JIT_ENABLED else self.record

    def record(self, flat: np.ndarray | None = None):
        """The named tuple seen by user functions called from Python."""
        if flat is None or (flat is self.flat and self._record is not None):
            if self._record is None:  # values never change in place: see `replaced`
                self._record = self.record(self.flat)
            return self._record
        fields: list[Any] = []
        offset = 0
        for shape in self.shapes:
            size = int(np.prod(shape, dtype=int))
            piece = flat[offset : offset + size]
            offset += size
            if shape:
                piece = piece.reshape(shape)
                piece.flags.writeable = False
                fields.append(piece)
            else:
                fields.append(float(piece[0]))
        return self.record_class(*fields)

    def as_dict(self) -> dict[str, Any]:
        """Values by name (numbers as float, arrays as copies)."""
        return {
            name: (value if isinstance(value, float) else value.copy())
            for name, value in zip(self.names, self.record())
        }

    def replaced(self, changes: Mapping[str, Any]) -> Parameters:
        """A record with some values changed; names and shapes stay, so compiled functions stay valid."""
        unknown = sorted(set(changes) - set(self.names))
        if unknown:
            raise InputError(
                f"unknown parameter {unknown[0]!r}; the model has {', '.join(self.names) or 'none'}."
            )
        new = Parameters({**self.as_dict(), **changes})
        if new.shapes != self.shapes:
            raise InputError("a changed parameter must keep its shape; build a new system instead.")
        return new


@cache
def _record_class(names):
    """One class for all systems with these parameters: compiled code is shared between them."""
    return namedtuple("Parameters", names)  # type: ignore[misc]


@cache
def _unpacker(names, shapes):
    return parameter_unpacker(_record_class(names), shapes)


def _mapping(values) -> dict[str, Any]:
    """Values by name, from a mapping, a named tuple or a dataclass."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, tuple) and hasattr(values, "_fields"):
        return dict(zip(values._fields, values))
    if is_dataclass(values) and not isinstance(values, type):
        return {entry.name: getattr(values, entry.name) for entry in fields(values)}
    raise InputError(
        f"`params` is {values!r}: a mapping from names to numbers is wanted, for example params=dict(m=1.0)."
    )


def _given(value):
    """`value`, unless it is None, which NumPy would take for NaN."""
    if value is None:
        raise TypeError("None is no number")
    return value
