"""Ctrl-C and its relatives at places where they do no harm.

While a run is open a signal that has a Python handler (SIGINT by default, SIGTERM if the program has set one) is noted
and handed to that handler between two slices, where all arrays are consistent and the result so far can be kept.
Two exceptions: inside a Python function of the user the handler acts at once (the function may be the one that hangs),
and a second signal always does. What the handler raises there can be lost (in a finaliser that happens to run, in an `except` of the
function itself); the signal stays noted, so that the run ends with the slice.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from signal import SIGINT, SIGTERM
from types import FrameType
from typing import Any

try:  # `signal` wraps these two to return members of its enumerations, which costs a short run a tenth of its time
    from _signal import getsignal, signal
except ImportError:  # another interpreter
    from signal import getsignal, signal

from nonsmooth._core.calls.interrupts import in_user_code

#: Signals that are held back until a slice has ended.
HELD = (int(SIGINT), int(SIGTERM))


class HeldSignals:
    """Context of a run: signals are held back; `deliver` hands them over.

    Only the main thread of the interpreter receives signals; elsewhere this does nothing. Contexts nest: a run
    inside a user function of another one hands over to that one's handler, which acts at once there.
    """

    def __init__(self) -> None:
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._noted: list[int] = []

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            for number in HELD:
                handler = getsignal(number)
                if callable(handler):
                    self._before[number] = handler
                    signal(number, self._note)
        return self

    def __exit__(self, kind, error, trace) -> None:
        for number, handler in self._before.items():
            if getsignal(number) == self._note:  # unless user code has set another one meanwhile
                signal(number, handler)
        if error is None:
            self.deliver()

    def _note(self, number: int, frame: FrameType | None) -> None:
        at_once = bool(self._noted) or in_user_code(frame)
        self._noted.append(number)
        if at_once:
            self._before[number](number, frame)
            self._noted.remove(
                number
            )  # it has returned; what it raises may be lost, and is then raised again after the slice

    def deliver(self) -> None:
        """Hand a signal that has come to the handler it was meant for (which raises `KeyboardInterrupt`, as a rule)."""
        while self._noted:
            number = self._noted.pop()
            self._before[number](number, sys._getframe())
