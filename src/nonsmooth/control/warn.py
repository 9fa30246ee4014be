"""Warnings that point at the line of the user's program, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_LIBRARY = str(Path(__file__).parents[1])


def warn_user(text: str, category: type[Warning]) -> None:
    """`warnings.warn` for the first caller outside the library."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
