"""A Python function without arguments that a kernel may call at its address (`jit.call_plain`), at any depth of a compiled loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from nonsmooth._core.calls.interrupts import interruptible
from nonsmooth._core.jit import JIT_ENABLED


class PlainCall:
    """`function` at an `address`; the kernel is told 0 if it returned True, else 1.

    An exception cannot pass through compiled code: it is kept, and `raise_error` raises it when the loop has returned. Until then
    every further call fails at once.
    """

    def __init__(self, function: Callable[[], bool]):
        self._errors: list[BaseException] = []
        call = _guarded(function, self._errors)
        self._c_function = ctypes.CFUNCTYPE(ctypes.c_int)(call)
        # where nothing is compiled, the function itself stands for its address
        self.address = ctypes.cast(self._c_function, ctypes.c_void_p).value if JIT_ENABLED else call

    def raise_error(self) -> None:
        """Raise what the function raised."""
        if self._errors:
            raise self._errors.pop()


def _guarded(function, errors):
    @interruptible
    def call() -> int:
        if errors:
            return 1
        try:
            return 0 if function() else 1
        except BaseException as exc:
            errors.append(exc)
            return 1

    return call
