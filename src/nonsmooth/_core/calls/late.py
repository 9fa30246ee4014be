"""Parts of a loop that few runs need: compiled, or fetched from the disk, when a kernel first wants to call them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nonsmooth._core.calls.plain import PlainCall
from nonsmooth._core.jit import JIT_ENABLED, address, call_plain, phase, word

FIND, PART = 0, 1  # words of an entry


class Late:
    """A part and its signature, as an entry of `jit.address_record`; ``late(entry)`` inside a kernel is what `caller` takes.

    The entry is a pair of words: a function of Python that finds the address of the part, and that address, 0 until then.
    """

    _all: ClassVar[list[Late]] = []

    def __init__(self, function, signature):
        self.function, self.signature = function, signature
        self._call = PlainCall(self._find)
        self._all.append(self)
        if JIT_ENABLED:
            self._words = np.array([self._call.address, 0])
            self.address = self._words.ctypes.data
        else:
            self.record = (self._call.address, function)

    def _find(self) -> bool:
        self._words[PART] = address(self.function, self.signature)
        return True

    @classmethod
    def raise_errors(cls) -> None:
        """What was raised while a part was compiled: a signal, say."""
        for part in cls._all:
            part._call.raise_error()


@phase
def late(entry):
    """The address of the part, which is compiled now if no kernel has asked for it before; 0 where that was broken off."""
    if word(entry, PART) == 0:
        call_plain(word(entry, FIND))
    return word(entry, PART)
