"""Events a user asks for in `simulate`: functions of the state whose zeros are found, stop the run, or reset the state.

Written as in SciPy, ``event(t, q, u[, p])`` with the attributes `terminal` and `direction`, and here also `reset` and `name`; or as a
`Switch` with the same arguments. `_core.stepping.watch` finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth._core.jit import VECTOR
from nonsmooth.errors import EventError, InputError, RangeError
from nonsmooth.events.switch import Switch
from nonsmooth.model.functions import UserFunction, chain
from nonsmooth.names import check_label
from nonsmooth.results.events import Event, EventList, EventTable

#: So many stops in a row, each sooner than the one before, that come closer than this part of the span are an accumulation.
CROWDED, NO_TIME = 10, 1e-9


@dataclass(frozen=True)
class UserEvent:
    """One function and what happens where it vanishes.

    Parameters
    ----------
    g : callable ``g(t, q, u[, p]) -> float``
    direction : {-1, 0, 1}
        Which crossings count.
    terminal : int
        The run ends at this event, counted from 1; 0: never.
    reset : callable ``reset(t, q, u[, p]) -> (q, u)``, optional
    name : str
    kind : str
        Kind of the event in the result.
    act : callable ``act(t, q, u)``, optional
        What else happens there: a controller that changes its output.
    """

    g: Callable
    direction: int = 0
    terminal: int = 0
    reset: Callable | None = None
    name: str = "event"
    kind: str = "event"
    act: Callable | None = None


def as_events(events: Any) -> list[UserEvent]:
    """What a user gave as `events`, checked."""
    if events is None:
        return []
    given = [events] if callable(events) or isinstance(events, Switch) else events
    try:
        given = list(given)
    except TypeError as exc:
        raise InputError(
            f"`events` is {events!r}: a function event(t, q, u) or a list of them is wanted."
        ) from exc
    found = [_event(event, k) for k, event in enumerate(given)]
    names = [event.name for event in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two events are called {name!r}: give them distinct names (event.name = ...).")
    return found


def _event(event: Any, k: int) -> UserEvent:
    function = event.g if isinstance(event, Switch) else event
    if not callable(function):
        raise InputError(f"`events[{k}]` is {event!r}: a function event(t, q, u) is wanted.")
    if isinstance(event, Switch) and (event.size != 1 or event.params is not None):
        raise InputError(
            f"`events[{k}]` has `size` or `params`: give one event for each function; parameters are those of the system."
        )
    name = getattr(event, "name", None)
    name = f"event {k}" if name is None else name
    check_label(name, f"`name` of events[{k}]")
    terminal, direction = getattr(event, "terminal", 0) or 0, getattr(event, "direction", 0) or 0
    reset = getattr(event, "reset", None)
    try:
        whole = int(terminal) == terminal and terminal >= 0
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise RangeError(
            f"`terminal` of event {name!r} is {terminal!r}: a boolean or a positive number is wanted."
        )
    if not isinstance(direction, int | float | np.number) or not np.isfinite(direction):
        raise RangeError(f"`direction` of event {name!r} is {direction!r}: -1, 0 or 1 is wanted.")
    if reset is not None and not callable(reset):
        raise InputError(f"`reset` of event {name!r} is {reset!r}: a function is wanted.")
    return UserEvent(function, int(np.sign(direction)), int(terminal), reset, name)


class UserEvents:
    """The events of a run: compiled functions, what has been found, and what happens at those that stop it."""

    def __init__(self, events: list[UserEvent], model, t: float, q: np.ndarray, u: np.ndarray):
        self.events, self.model = events, model
        self._functions = [
            UserFunction(event.g, f"event {event.name!r}", (1,), True, model.parameters) for event in events
        ]
        for function in self._functions:
            function.check_finite(t, q, u)
        writers = [function.writer(q, u, t, slice(i, i + 1)) for i, function in enumerate(self._functions)]
        self.writer = chain(writers, VECTOR)
        self._resets = [None if event.reset is None else _Reset(event, model.parameters) for event in events]
        self.left = [event.terminal for event in events]
        self.found: list[list[tuple[float, np.ndarray, np.ndarray]]] = [[] for _ in events]
        self._stops: list[float] = []

    def __len__(self) -> int:
        return len(self.events)

    def prepare(self, watch) -> None:
        """Tell the loop what to look for."""
        watch.direction[:] = [event.direction for event in self.events]
        for i, event in enumerate(self.events):
            stops = event.reset is not None or event.act is not None
            watch.stops[i] = 1 if stops else event.terminal

    def take(self, watch) -> None:
        """Put away what the loop has logged."""
        self.keep(self.logged(watch))
        watch.control.logged = 0

    def logged(self, watch) -> list[tuple[int, float, np.ndarray, np.ndarray]]:
        """What the loop has logged: number of the event, instant, state."""
        return [
            (int(watch.event[k]), float(watch.t[k]), watch.q[k].copy(), watch.u[k].copy())
            for k in range(int(watch.control.logged))
        ]

    def keep(self, logged: list[tuple[int, float, np.ndarray, np.ndarray]]) -> None:
        """Put away some of what was `logged`."""
        for i, t, q, u in logged:
            self.left[i] -= self.left[i] > 0
            self.found[i].append((t, q, u))

    def due(self, watch, t: float) -> list[int]:
        """The events that stop the run at `t`: all whose zeros rounding cannot tell from the first."""
        first = int(watch.control.stopped)
        near = 32 * np.spacing(abs(t))
        others = [i for i in np.flatnonzero(watch.found[: len(self)]) if i != first]
        return [first, *(int(i) for i in others if watch.stops[i] == 1 and watch.root[i] <= t + near)]

    def stopped(self, i: int, t: float, q: np.ndarray, u: np.ndarray, span: float):
        """The run stands at event `i`: (whether it ends here, the state to go on with)."""
        event, reset = self.events[i], self._resets[i]
        self.found[i].append((t, q.copy(), u.copy()))
        ends = self.left[i] == 1
        self.left[i] -= self.left[i] > 0
        if reset is not None:
            q, u = reset(t, q, u, self.model.parameters.flat)
        if event.act is not None:
            event.act(t, q, u)
        self._stops = [*self._stops[-CROWDED:], t]
        between = np.diff(self._stops)
        if (
            len(between) == CROWDED
            and np.all(np.diff(between) <= 0)
            and between[-1] <= NO_TIME * span
            and not ends
        ):
            raise EventError(
                f"event {event.name!r} stops the run again and again at t = {t:.9g} (the last two {between[-1]:.3g} apart): its resets "
                "accumulate; give the system a Contact instead, which comes to rest, or end the run (terminal)."
            )
        return ends, q, u

    def records(self) -> list[Event]:
        """All events found; `before` is the state (q, u) there."""
        return [
            Event(t, event.kind, event.name, before=np.concatenate([q, u]))
            for event, found in zip(self.events, self.found)
            for t, q, u in found
        ]

    def fields(self) -> dict[str, list[np.ndarray]]:
        """`t_events` and `y_events` as SciPy has them; y is q above u."""
        mine = [found for event, found in zip(self.events, self.found) if event.kind == "event"]
        n = self.model.n_q + self.model.n_u
        return {
            "t_events": [np.array([t for t, _, _ in found]) for found in mine],
            "y_events": [
                np.array([np.concatenate([q, u]) for _, q, u in found]).reshape(len(found), n)
                for found in mine
            ],
        }


def with_user_events(events: EventTable, watched: UserEvents) -> EventList:
    """Changes of modes and events of the user in one list, in order of time."""
    return EventList(sorted([*events, *watched.records()], key=lambda event: event.t))


class _Reset:
    """A reset map, called in Python and checked."""

    def __init__(self, event: UserEvent, parameters):
        self.name = event.name
        self.function = UserFunction(event.reset, f"reset of event {event.name!r}", (1,), True, parameters)

    def __call__(self, t, q, u, p):
        value = self.function.raw(float(t), q.copy(), u.copy(), p)
        try:
            new_q, new_u = (np.array(part, dtype=np.float64).reshape(-1) for part in value)
        except (TypeError, ValueError):
            raise EventError(
                f"reset of event {self.name!r} returned {value!r} at t = {t:.9g}: a pair (q, u) is wanted."
            ) from None
        if new_q.shape != q.shape or new_u.shape != u.shape:
            raise EventError(
                f"reset of event {self.name!r} returned shapes {new_q.shape}, {new_u.shape} at t = {t:.9g}: {q.shape} and {u.shape} "
                "are wanted."
            )
        if not (np.all(np.isfinite(new_q)) and np.all(np.isfinite(new_u))):
            raise EventError(f"reset of event {self.name!r} is not finite at t = {t:.9g}: check its formula.")
        return new_q, new_u
