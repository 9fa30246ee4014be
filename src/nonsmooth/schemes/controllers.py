"""Controllers of a simulation: parameters that change during the run, as digital and relay controllers change their outputs.

A controller's output is a parameter of the system, ``p.name``, which forces read. `Sampled` looks at the state at fixed instants and holds
its output between them; steps end on these instants. `Hysteresis` is a switch with memory: its output changes where a signal rises above
`high` or falls below `low`, and stays between; no extra state is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ModelError, RangeError
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.parameters import Parameters
from nonsmooth.schemes.user_events import UserEvent

MOST_SAMPLES = 10_000_000


def _number(value: Any, what: str) -> float:
    try:
        if isinstance(value, bool | str):
            raise TypeError("no number")
        number = float(value)
    except (TypeError, ValueError) as exc:
        raise InputError(f"{what} is {value!r}: a number is wanted.") from exc
    if not math.isfinite(number):
        raise RangeError(f"{what} is {number}: it must be finite.")
    return number


@dataclass(frozen=True)
class Sampled:
    """A controller that looks at fixed instants and holds its output between them.

    Parameters
    ----------
    output : str
        The parameter of the system that it sets.
    update : callable ``update(t, q, u[, p]) -> float or array``
        Called in Python at the instants ``t_0 + offset + k period``; ``p.<output>`` is its last output.
    period, offset : float
    """

    output: str
    update: Callable
    period: float
    offset: float = 0.0

    def __post_init__(self):
        if not callable(self.update):
            raise InputError(f"`update` of a Sampled controller is {self.update!r}: a function is wanted.")
        if _number(self.period, "`period` of a Sampled controller") <= 0:
            raise RangeError(f"`period` of a Sampled controller is {self.period}: it must be positive.")
        if _number(self.offset, "`offset` of a Sampled controller") < 0:
            raise RangeError(f"`offset` of a Sampled controller is {self.offset}: it must not be negative.")

    def instants(self, t_0: float, t_1: float) -> np.ndarray:
        """When it looks, from t_0 up to t_1 (not included)."""
        count = (t_1 - t_0 - self.offset) / self.period
        if count > MOST_SAMPLES:
            raise RangeError(
                f"`period` = {self.period:g} of controller {self.output!r} gives {count:.3g} samples in the span: at most "
                f"{MOST_SAMPLES:.0e} are taken."
            )
        k = np.arange(max(math.ceil(count - 1e-9), 0))
        return t_0 + self.offset + k * self.period


@dataclass(frozen=True)
class Hysteresis:
    """A switch with memory: a relay, a thermostat, backlash.

    Parameters
    ----------
    output : str
        The parameter of the system that it sets.
    signal : callable ``signal(t, q, u[, p]) -> float``
    low, high : float
        The output becomes ``values[1]`` where the signal rises to `high`, ``values[0]`` where it falls to `low`.
    values : (float, float)
    start : {0, 1}
        Which value it has at a start between `low` and `high`.
    """

    output: str
    signal: Callable
    low: float
    high: float
    values: Sequence[float] = (-1.0, 1.0)
    start: int = 0

    def __post_init__(self):
        if not callable(self.signal):
            raise InputError(f"`signal` of a Hysteresis is {self.signal!r}: a function is wanted.")
        low, high = _number(self.low, "`low` of a Hysteresis"), _number(self.high, "`high` of a Hysteresis")
        if not low < high:
            raise RangeError(
                f"Hysteresis({self.output!r}): low = {low:g} must be smaller than high = {high:g}."
            )
        if len(self.values) != 2:
            raise InputError(f"`values` of a Hysteresis is {self.values!r}: two numbers are wanted.")
        if self.start not in (0, 1):
            raise RangeError(f"`start` of a Hysteresis is {self.start!r}: 0 or 1 is wanted.")


class HeldParameters(Parameters):
    """Parameters of one run whose values change in place."""

    def __init__(self, given: Parameters):
        self.__dict__.update(given.__dict__)
        self.flat = given.flat.copy()
        self._record = None

    def record(self, flat: np.ndarray | None = None):
        """The named tuple of the values as they are now."""
        return super().record((self.flat if flat is None else flat).copy())


class Controllers:
    """The controllers of a run.

    Parameters
    ----------
    given : sequence of Sampled and Hysteresis
    model : Model
        Its parameters are replaced by a copy of its own.
    """

    def __init__(self, given: Any, model, t_0: float, t_1: float, q: np.ndarray, u: np.ndarray):
        self.given = _checked(given)
        self.model = model
        if type(model.parameters) is not Parameters:
            raise InputError(
                "`controllers` need a MechanicalSystem with `params`: a World has none that forces read."
            )
        self.held = model.parameters = HeldParameters(model.parameters)
        self.t_0, self.t_1 = t_0, t_1
        self._places = [self._place(controller.output) for controller in self.given]
        self._functions = [
            UserFunction(
                getattr(controller, "update", None) or controller.signal, f"controller {controller.output!r}",
                (place.stop - place.start,) if isinstance(controller, Sampled) else (1,), True, self.held,
            )
            for controller, place in zip(self.given, self._places)
        ]  # fmt: skip
        self._due = [
            controller.instants(t_0, t_1) if isinstance(controller, Sampled) else np.zeros(0)
            for controller in self.given
        ]
        self._next = [0] * len(self.given)
        #: Instants at which outputs changed, and all parameters from there on.
        self.history: list[tuple[float, np.ndarray]] = []
        for k, controller in enumerate(self.given):
            if isinstance(controller, Hysteresis):
                self._start(k, t_0, q, u)
        self.history.append((t_0, self.held.flat.copy()))

    def _place(self, output: str) -> slice:
        """Where a parameter stands in the flat array."""
        names = self.held.names
        if output not in names:
            raise ModelError(
                f"the output {output!r} of a controller is no parameter of the system; it has {', '.join(names) or 'none'}: give it "
                f"a start value, params=dict({output if isinstance(output, str) else 'name'}=0.0)."
            )
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.held.shapes]
        k = names.index(output)
        return slice(sum(sizes[:k]), sum(sizes[: k + 1]))

    def instants(self) -> np.ndarray:
        """When samples are taken, inside the span."""
        every = np.concatenate([np.zeros(0), *self._due])
        return np.unique(every[(every > self.t_0) & (every < self.t_1)])

    def events(self) -> list[UserEvent]:
        """What must be watched: the edges of each hysteresis."""
        found = []
        for k, controller in enumerate(self.given):
            if isinstance(controller, Hysteresis):
                found += [self._edge(k, controller, 0), self._edge(k, controller, 1)]
        return found

    def _edge(self, k: int, controller: Hysteresis, value: int) -> UserEvent:
        signal = self._functions[k]
        edge = controller.high if value else controller.low

        def act(t, q, u):
            self._set(k, t, controller.values[value])

        return UserEvent(
            _minus(signal, edge), 1 if value else -1, name=f"{controller.output} {'high' if value else 'low'}",
            kind="switch", act=act,
        )  # fmt: skip

    def _start(self, k: int, t: float, q: np.ndarray, u: np.ndarray) -> None:
        controller = self.given[k]
        signal = float(self._functions[k].check_finite(t, q, u)[0])
        value = 1 if signal >= controller.high else 0 if signal <= controller.low else controller.start
        self.held.flat[self._places[k]] = controller.values[value]

    def at(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Take the samples that are due at `t`."""
        for k, due in enumerate(self._due):
            if self._next[k] < due.size and due[self._next[k]] <= t + 1e-9 * self.given[k].period:
                self._next[k] += 1
                self._set(k, t, self._functions[k].call(t, q, u, self.held.flat))

    def _set(self, k: int, t: float, value: Any) -> None:
        value = np.asarray(value, dtype=float)
        if not np.all(np.isfinite(value)):
            raise ModelError(
                f"controller {self.given[k].output!r} returned {value} at t = {t:.9g}: check its formula."
            )
        if not np.array_equal(self.held.flat[self._places[k]], value.ravel()):
            self.held.flat[self._places[k]] = value.ravel()
            if self.history[-1][0] == t:
                self.history.pop()
            self.history.append((t, self.held.flat.copy()))

    def outputs(self) -> dict[str, Any]:
        """Outputs as the result keeps them: instants of changes and the values from there on."""
        t = np.array([instant for instant, _ in self.history])
        values = np.array([flat for _, flat in self.history])
        return {
            controller.output: {"t": t, "value": values[:, place].T.copy()}
            for controller, place in zip(self.given, self._places)
        }

    def longest(self, t: np.ndarray) -> tuple[float, float]:
        """The time without a change that holds most of the instants `t`; the parameters are set to those it had."""
        changes = np.array([instant for instant, _ in self.history] + [np.inf])
        counts = np.histogram(
            t, np.unique(changes[:-1]).tolist() + [max(t[-1], changes[-2]) * (1 + 1e-12) + 1e-300]
        )[0]
        k = int(np.argmax(counts))
        begin = float(np.unique(changes[:-1])[k])
        last = max(i for i, (instant, _) in enumerate(self.history) if instant == begin)
        self.held.flat[:] = self.history[last][1]
        later = [instant for instant, _ in self.history[last + 1 :]]
        return begin, float(later[0]) if later else float(t[-1])


def _minus(signal: UserFunction, edge: float) -> Callable:
    """The signal above an edge, in the form the user's function has."""
    function = signal.python
    if signal.has_p:

        def above(t, q, u, p):
            return function(t, q, u, p) - edge

        return above

    def above_without(t, q, u):
        return function(t, q, u) - edge

    return above_without


def _checked(given: Any) -> list[Any]:
    try:
        items = [given] if isinstance(given, Sampled | Hysteresis) else list(given)
    except TypeError:
        raise InputError(f"`controllers` is {given!r}: a list of Sampled and Hysteresis is wanted.") from None
    for k, controller in enumerate(items):
        if not isinstance(controller, Sampled | Hysteresis):
            raise InputError(f"`controllers[{k}]` is {controller!r}: a Sampled or a Hysteresis is wanted.")
    outputs = [controller.output for controller in items]
    for output in outputs:
        if outputs.count(output) > 1:
            raise InputError(f"two controllers set {output!r}: one output belongs to one controller.")
    return items
