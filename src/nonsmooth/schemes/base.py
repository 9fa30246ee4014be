"""What a scheme owes, and what the driver gives.

A scheme is a small frozen object of options. It owes

1. ``name``: its key in `METHODS`;
2. ``start(model, state, plan) -> Run``: a run that has taken no step yet;
3. a `Run` whose ``advance(budget)`` takes at most `budget` steps inside compiled code, writes finished columns into
   its buffers and returns a status; all progress lives in arrays, so that an exception raised by a user function, or
   Ctrl-C between two slices, loses nothing;
4. steps that are pure: they can be tried, rejected and repeated with half the size.

The driver strings slices of at most 50 ms together, cuts the span at breakpoints, streams output, shows progress and
turns status codes into typed errors. It knows no scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np


@dataclass
class Plan:
    """What the driver asks of a run.

    Attributes
    ----------
    segments : list of (float, float)
        The span, cut at breakpoints.
    t_eval : ndarray
        Instants to store (empty: store steps).
    every : int
        Store every k-th step.
    capacity : int
        Rows of the output buffer.
    accept : bool
        Whether unconverged steps are accepted (and marked).
    keep_begin : bool
        Whether the begin of each stored step is kept for the audit (when output is thinned).
    """

    segments: list[tuple[float, float]]
    t_eval: np.ndarray = field(default_factory=lambda: np.zeros(0))
    every: int = 1
    capacity: int = 1
    accept: bool = False
    keep_begin: bool = False


class Run(Protocol):
    """A run in progress."""

    t: float
    finished_segment: bool

    def begin_segment(self, t_begin: float, t_end: float) -> None: ...

    def advance(self, budget: int) -> int: ...

    def output_full(self) -> bool: ...

    def take_output(self) -> dict[str, np.ndarray]: ...

    def take_events(self) -> tuple[np.ndarray, np.ndarray]: ...

    def totals(self) -> dict[str, Any]: ...


class Scheme(Protocol):
    """A configured scheme."""

    name: str

    def start(self, model: Any, t: float, q: np.ndarray, u: np.ndarray, plan: Plan) -> Run: ...

    def estimate_steps(self, segments: list[tuple[float, float]]) -> int: ...
