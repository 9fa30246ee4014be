"""What a run of Algorithm 2 says: names of regions and active sets, notes, warnings, errors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from nonsmooth.errors import DegenerateWarning
from nonsmooth.warn import warn_user

_MOST_WARNINGS = 20


class Report:
    """Names and messages of a run; base of `Decisions`."""

    c: Any
    names: Any
    out: Any
    t: float

    def region(self, k):
        """Region k of all in words."""
        j = int(np.searchsorted(self.c.starts, k, side="right") - 1)
        return f"{k - int(self.c.starts[j])} of {self.names[j]!r}"

    def named(self, members):
        """Active set as a tuple of tuples of region numbers, one per group."""
        return named_all(np.asarray(members)[None], self.c.starts, self.c.named)[0]

    def note(self, text):
        """Keep `text` among the notes of the result, of which there are a thousand at most."""
        if len(self.out.notes) < 1000:
            self.out.notes.append(text)

    def warn(self, category, text, key):
        """Warn once for every `key`, and note it; of one kind twenty times at most."""
        count = self.said.get(category, 0)
        if key not in self.warned and count < _MOST_WARNINGS:
            self.warned.add(key)
            self.said[category] = count + 1
            if count + 1 == _MOST_WARNINGS:
                text += " (no further warnings of this kind in this run)"
            self.note(text)
            warn_user(text, category)

    def warn_degenerate(self, condition, text):
        """Warn that condition B' or C' is violated here."""
        self.warn(
            DegenerateWarning,
            f"solve_filippov: condition {condition} of Stewart 1996 is violated at t = {self.t:.9g}: {text}",
            f"degenerate {condition}",
        )


def named_all(rows, starts, known):
    """Active sets (k, R) as tuples of tuples of region numbers; a system has few different sets, each is worked out
    once and kept in the dict `known`.
    """
    names = []
    for row in rows:
        key = row.tobytes()
        if key not in known:
            on = row.tolist()
            known[key] = tuple(
                tuple(k - a for k in range(a, b) if on[k] > 0) for a, b in pairwise(starts.tolist())
            )
        names.append(known[key])
    return names
