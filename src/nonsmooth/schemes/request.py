"""What a user asks of a simulation besides model, start and scheme: checked once, then handed on as one record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError, StepLimitError
from nonsmooth.names import check_label
from nonsmooth.schemes.options import choice

ON_FAILURE = ("raise", "halve", "accept", "dump")
ON_ENERGY_GAIN = ("warn", "raise", "ignore")
MEMORY_LIMIT = 4 * 2**30  # bytes of output kept in memory; longer runs are streamed to a file


@dataclass
class Request:
    """What is stored, when a run ends, what is said; the arguments of `simulate` by their names."""

    t_span: Any
    t_eval: np.ndarray | None = None
    every: int = 1
    dense_output: bool = False
    breakpoints: Any = ()
    on_failure: str = "raise"
    dump_path: str | PathLike[str] = "failed_step.hdf5"
    on_energy_gain: str = "warn"
    output: str | PathLike[str] | None = None
    overwrite: bool = False
    progress: bool | None = None
    max_steps: int | None = None
    memory_limit: float = MEMORY_LIMIT
    time_limit: float | None = None
    watch: bool = True
    audit: bool = True
    problem_name: str | None = None
    coordinate_names: Sequence[str] = ()
    behind_start: float | None = None  # where steps begin if a function jumps at the very start

    def __post_init__(self):
        self.t_span = as_span(self.t_span)
        self.t_eval = as_instants(self.t_eval, *self.t_span)
        self.every = as_whole("every", self.every)
        self.breakpoints = np.ravel(as_vector("breakpoints", self.breakpoints))
        choice("on_failure", self.on_failure, ON_FAILURE)
        choice("on_energy_gain", self.on_energy_gain, ON_ENERGY_GAIN)
        if self.max_steps is not None:
            self.max_steps = as_whole("max_steps", self.max_steps)
        limit = self.time_limit
        if limit is not None and not (isinstance(limit, int | float) and limit > 0):
            raise RangeError(f"`time_limit` is {limit!r}: a positive number of seconds is wanted.")
        check_label(self.problem_name, "`problem_name`")
        for k, name in enumerate(self.coordinate_names):
            check_label(name, f"`coordinate_names[{k}]`")
        if self.dense_output and (self.t_eval is not None or self.every > 1 or self.output is not None):
            raise InputError(
                "`dense_output` needs all steps in memory: leave out `t_eval`, `every` and `output`; result.sol(t) gives any instant."
            )

    def segments(self, scheme: Any, instants: Any = ()) -> list[tuple[float, float]]:
        """The span, cut at the breakpoints and at `instants`; empty if it has no length."""
        t_0, t_1 = self.t_span
        if t_1 == t_0:
            return []
        dt, largest = getattr(scheme, "dt", None), max(abs(t_0), abs(t_1))
        if dt is not None and largest + dt == largest:
            raise StepLimitError(
                f"t + dt == t at t = {largest:g}, dt = {dt:g}: the step is below the resolution of time; shift the time axis or "
                "use a larger step."
            )
        return list(pairwise(self.borders(instants)))

    def borders(self, instants: Any = ()) -> list[float]:
        """Start, breakpoints inside the span and `instants`, end."""
        t_0, t_1 = self.t_span
        t_0 = t_0 if self.behind_start is None else self.behind_start
        return [t_0, *sorted({float(t) for t in [*self.breakpoints, *instants] if t_0 < t < t_1}), t_1]


def as_whole(name: str, value: Any) -> int:
    """A positive whole number."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number < 1 or number != value:
        raise RangeError(f"`{name}` is {value!r}: a positive whole number is wanted.")
    return number


def as_vector(name: str, values: Any) -> np.ndarray:
    """Instants as float64 array."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`{name}` is {values!r}: an array of instants is wanted.") from exc
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{name}` contains NaN or infinite instants.")
    return array


def as_span(t_span: Any) -> tuple[float, float]:
    """Begin and end, forward in time."""
    try:
        if isinstance(t_span, str) or any(isinstance(x, str) for x in t_span):
            raise TypeError("text")
        t_0, t_1 = (float(x) for x in t_span)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`t_span` is {t_span!r}: a pair (begin, end) is wanted.") from exc
    for name, value in (("t_span[0]", t_0), ("t_span[1]", t_1)):
        if not math.isfinite(value):
            raise NonFiniteError(f"`{name}` is {value}: it must be finite.")
    if t_1 < t_0:
        raise InputError(
            f"`t_span` runs backward from {t_0:g} to {t_1:g}: impacts and friction dissipate and cannot be undone; "
            "exchange the ends (smooth equations run backward with solve_ivp)."
        )
    return t_0, t_1


def as_instants(t_eval: Any, t_0: float, t_1: float) -> np.ndarray | None:
    """Instants to store, in the span and in order; None: store steps."""
    if t_eval is None:
        return None
    instants = as_vector("t_eval", t_eval)
    if instants.ndim != 1:
        raise ShapeError(f"`t_eval` has shape {instants.shape}: a vector of instants is wanted.")
    if instants.size and (instants.min() < t_0 or instants.max() > t_1):
        raise RangeError(f"`t_eval` reaches outside `t_span` = ({t_0:g}, {t_1:g}).")
    if np.any(np.diff(instants) <= 0):
        raise RangeError("`t_eval` must be sorted in increasing order without repetitions.")
    return instants
