"""Warnings that point at the line of the user's program, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` for the first caller outside the library."""
    level, frame = 2, sys._getframe(1)
    # by module, because functions that dataclasses make have no file
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "nonsmooth":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
