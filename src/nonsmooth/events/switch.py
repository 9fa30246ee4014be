"""What a user says about a discontinuity: a function g(t, y) whose zeros are events."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.jit import is_dispatcher
from nonsmooth.errors import InputError, RangeError
from nonsmooth.model.parameters import Parameters
from nonsmooth.names import Label


@dataclass(frozen=True, eq=False)
class Switch:
    """A switching function and what happens where it vanishes.

    Parameters
    ----------
    g : callable
        ``g(t, y)`` or ``g(t, y, p)``, a float (or an array of `size` values).
    rate : callable, optional
        ``rate(t, y, ydot) -> float`` (or `size` values), dg/dt. Checked against the rate found from `g` along the
        flow, which is the one that is used: at the start (`EventError`) and at every event (`RateWarning`).
    kind : {"bilateral", "unilateral"}
        Bilateral: g crosses zero, the mode (+1 for g >= 0, -1 for g < 0) changes, and the event is placed
        just behind the zero. Unilateral: g >= 0 always, `reset` acts, and the event is placed just before the
        zero.
    direction : {0, 1, -1}
        Which crossings count as events (are recorded, reset, stop). Modes follow every crossing.
    reset : callable, optional
        ``reset(t, y) -> y`` (``reset(t, y, p)`` with `params`; ``reset(t, y, i)`` with `size` > 1, i the one
        that acts).
    terminal : bool or int
        Stop at the first, or at the n-th, event.
    tol : float
        Bound for ``|g|`` at the event; 0 means the resolution of time.
    name : str, optional
    size : int
        Number of switching functions that `g` returns at once.
    params : mapping, optional
        Parameters, handed over as a record ``p``.
    """

    g: Callable
    rate: Callable | None = None
    kind: str = "bilateral"
    direction: int = 0
    reset: Callable | None = None
    terminal: bool | int = False
    tol: float = 0.0
    name: Any = Label()
    size: int = 1
    params: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not callable(self.g):
            raise InputError(f"`g` of a switch is {self.g!r}; a function g(t, y) is wanted.")
        for label in ("rate", "reset"):
            value = getattr(self, label)
            if value is not None and not callable(value):
                raise InputError(f"`{label}` of switch {self.name!r} is {value!r}; a function is wanted.")
        if self.kind not in ("bilateral", "unilateral"):
            raise InputError(
                f'`kind` of switch {self.name!r} is {self.kind!r}; use "bilateral" or "unilateral".'
            )
        if self.direction not in (-1, 0, 1):
            raise RangeError(f"`direction` of switch {self.name!r} is {self.direction!r}; use -1, 0 or 1.")
        if not (isinstance(self.terminal, (bool, int, np.integer)) and self.terminal >= 0):
            raise RangeError(
                f"`terminal` of switch {self.name!r} is {self.terminal!r}; use a boolean or a count."
            )
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise RangeError(
                f"`tol` of switch {self.name!r} is {self.tol!r}; it must be finite and not negative."
            )
        if not (isinstance(self.size, (int, np.integer)) and self.size >= 1):
            raise RangeError(f"`size` of switch {self.name!r} is {self.size!r}; at least 1 is wanted.")
        if self.kind == "unilateral" and self.direction == 1:
            raise RangeError(
                f"switch {self.name!r} is unilateral: g >= 0 is left in direction -1 only, direction=1 never happens."
            )

    def fields(self) -> tuple:
        """Everything said about the switch, in the order of the arguments."""
        return (
            self.g,
            self.rate,
            self.kind,
            self.direction,
            self.reset,
            self.terminal,
            self.tol,
            self.name,
            self.size,
        )

    def record(self):
        """The parameter record, or None."""
        return None if self.params is None else Parameters(self.params).record()

    def names(self, position: int) -> list[str]:
        """Names of its switching functions."""
        base = self.name if self.name is not None else f"switch {position}"
        return [base] if self.size == 1 else [f"{base}[{k}]" for k in range(self.size)]


def positional_count(function: Callable) -> int | None:
    """Number of positional arguments of `function`, None if it cannot be told or takes any number."""
    plain: Any = getattr(function, "py_func", function) if is_dispatcher(function) else function
    if inspect.isfunction(plain) and not plain.__defaults__ and not plain.__code__.co_flags & 0x0C:
        return plain.__code__.co_argcount
    try:
        signature = inspect.signature(plain)
    except (TypeError, ValueError):
        return None
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return sum(
        parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
        for parameter in signature.parameters.values()
    )


def extra_arguments(function: Callable, base: int, record: Any, args: tuple) -> tuple:
    """What `function` gets after its first `base` arguments: the parameter record and/or ``args``."""
    extra = () if record is None else (record,)
    count = positional_count(function)
    if args and (count is None or count >= base + len(extra) + len(args)):
        return (*extra, *args)
    return extra


def as_switches(given: Any) -> tuple[Switch, ...]:
    """One switch, several or none, as users give them."""
    if given is None or isinstance(given, Switch):
        return () if given is None else (given,)
    try:
        found = tuple(given)
    except TypeError as exc:
        raise InputError(f"`switches` is {given!r}; Switches are wanted.") from exc
    for k, switch in enumerate(found):
        if not isinstance(switch, Switch):
            raise InputError(f"`switches[{k}]` is {switch!r}; a Switch is wanted.")
    return found
