"""Which Python frames below a compiled loop may be broken off by an exception.

Between compiled code and a Python function of the user there is glue (conversion of arguments, of arrays, of return
values) that is not prepared for exceptions: a `KeyboardInterrupt` raised there becomes a `TypeError` or a
`SystemError`. Inside the functions registered here, and in all that they call, an exception finds its way out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import TypeVar

_Function = TypeVar("_Function", bound=Callable)

_codes: set[CodeType] = set()


def interruptible(function: _Function) -> _Function:
    """Register `function`: what it calls may be interrupted at any place."""
    _codes.add(function.__code__)
    return function


def in_user_code(frame: FrameType | None) -> bool:
    """Whether `frame` was called, directly or not, by an `interruptible` function."""
    caller = frame.f_back if frame is not None else None
    while caller is not None:
        if caller.f_code in _codes:
            return True
        caller = caller.f_back
    return False
