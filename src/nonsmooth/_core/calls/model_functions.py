"""Functions of a model ``(t, q, u, p, out)`` as compiled loops take them.

A model function is a record of 64-bit words: the address of its code, then whatever that code wants to know: other model
functions it calls, numbers, addresses of scratch arrays. Code is called with the address of the record as its last argument (`caller`
in `jit`), so that a thousand systems share it: a sum of rows, a Jacobian by complex steps, a Python callback are kernels of the
library, compiled once and kept on disk; of a new system only the user's own functions are compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.calls import faults
from nonsmooth._core.jit import (
    JIT_ENABLED,
    MATRIX,
    VECTOR,
    call_of_record,
    callable_inside,
    caller,
    code_of,
    int64,
    kernel,
    record_of,
    void,
    with_record,
)


class ModelFunction:
    """One function of a model.

    Parameters
    ----------
    code : compiled function
        Of `signature`, or of ``with_record(signature)`` if there are words for it to read.
    signature : VECTOR, MATRIX or one of their complex forms
    words : sequence
        The rest of the record: integers, other functions of a model, arrays (their addresses).
    name, where : str
        How error messages call it, and its place; functions of the library have none.
    keep : object
        Kept alive as long as the function.
    """

    def __init__(self, code, signature, words=(), name: str | None = None, where: str = "", keep: Any = None):
        self.code, self.signature, self.name, self.where = code, signature, name, where
        self.keep = (tuple(words), keep)
        self.parts: list | None = None  # of a function made by `rows_of`
        if not JIT_ENABLED:
            self.record = (None, *words)
            return
        own = code_of(code, with_record(signature) if words else signature)
        self.words = np.array([own, *(_word(entry, signature) for entry in words)], dtype=np.int64)
        self.address = self.words.ctypes.data
        self._inside = None
        if name is not None:
            faults.watch(self)

    def __call__(self, t, q, u, p, out):
        if JIT_ENABLED:
            call = _vector_from_python if self.signature == VECTOR else _matrix_from_python
            faults.forget()
            try:
                call(self.address, t, q, u, p, out)
            except Exception as exc:
                raise faults.explained(exc)[0] from None
        elif len(self.record) > 1:
            self.code(t, q, u, p, out, self.record)
        else:
            self.code(t, q, u, p, out)

    @property
    def inside(self):
        """The intrinsic compiled functions call when they name this object."""
        if self._inside is None:
            self._inside = call_of_record(self.address, self.signature)
            _named_in_code.append(self)  # their code holds the address
        return self._inside


callable_inside(ModelFunction, lambda function: function.inside)

_named_in_code: list[ModelFunction] = []


def _word(entry, signature) -> int:
    if isinstance(entry, np.ndarray):
        return entry.ctypes.data
    return int(entry) if isinstance(entry, int | np.integer) else record_of(entry, signature)


call_vector, call_matrix = caller(VECTOR), caller(MATRIX)


@kernel(void(int64, *VECTOR.args))
def _vector_from_python(address, t, q, u, p, out):
    call_vector(address, t, q, u, p, out)


@kernel(void(int64, *MATRIX.args))
def _matrix_from_python(address, t, q, u, p, out):
    call_matrix(address, t, q, u, p, out)
