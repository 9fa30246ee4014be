"""Which model function raised inside a compiled loop, when, and what."""

import weakref
from typing import Any

import numpy as np

from nonsmooth._core.jit import FAULT

_kept: list[BaseException] = []
_named: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class CallbackFault(Exception):
    """A Python function inside a compiled loop has raised; `explained` finds its exception."""


def keep(exception: BaseException) -> None:
    """Remember the exception of a Python function for `explained`."""
    _kept[:] = [exception]


def watch(function) -> None:
    """Let `explained` name `function` (it has `address` and `name`)."""
    _named[function.address] = function


def forget() -> None:
    """Before a loop: nothing has raised."""
    FAULT[0] = 0
    _kept.clear()


def explained(exception: BaseException) -> tuple[BaseException, Any, float]:
    """What was really raised, by which model function (None if that is not known), called at which time.

    The exception of a Python function is its own, unchanged. None was seen if a signal handler raised before Python could
    keep it: that is how Ctrl-C is answered.
    """
    function, t = _named.get(int(FAULT[0])), float(FAULT[1:].view(np.float64)[0])
    if isinstance(exception, CallbackFault):
        exception = _kept[0] if _kept else KeyboardInterrupt()
    forget()
    noted = any("raised in" in note for note in getattr(exception, "__notes__", ()))
    if function is not None and not noted:
        exception.add_note(f"raised in {function.name}, called at t = {t:.9g}")
    return exception, function, t
