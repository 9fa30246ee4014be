"""What every benchmark problem is made of: the system, its start, and what is known of its motion.

A `Problem` is cheap to make: its `system` is built (and its functions compiled) when it is first asked for,
so that closed forms and tables can be used alone. Closed forms return **right limits** at instants where
the velocity jumps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RangeError

Array = NDArray[np.float64]
StateFunction = Callable[[ArrayLike], Array]


@dataclass(frozen=True)
class ReferenceEvent:
    """An instant at which the motion changes its kind.

    Attributes
    ----------
    t : float
        The instant.
    kind : str
        ``impact`` (closes and reopens at once), ``close``, ``open``, ``stick``, ``slip``, ``reversal``,
        ``breakpoint``.
    name : str
        The law that changes: a contact's name, or the name followed by " friction".
    u_before, u_after : tuple of float
        Velocities on both sides where they are known, else empty.
    """

    t: float
    kind: str
    name: str
    u_before: tuple[float, ...] = ()
    u_after: tuple[float, ...] = ()


@dataclass(frozen=True)
class Reference:
    """What is known of the exact motion.

    Attributes
    ----------
    q, u : callable or None
        Closed forms ``q(t)``, ``u(t)``: shape (n,) for a number t, (n, k) for k instants; right limits.
    events : tuple of ReferenceEvent
        Switching instants in order of time, as many as are known.
    t_samples, q_samples, u_samples : ndarray, shapes (k,), (n_q, k), (n_u, k)
        Tabulated states, empty where none are given.
    error : float
        Bound of the absolute error of the values above.
    origin : str
        How the values were obtained.
    """

    origin: str
    error: float
    q: StateFunction | None = None
    u: StateFunction | None = None
    events: tuple[ReferenceEvent, ...] = ()
    t_samples: Array = field(default_factory=lambda: np.empty(0))
    q_samples: Array = field(default_factory=lambda: np.empty((0, 0)))
    u_samples: Array = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def from_record(cls, record: Mapping[str, Any], origin: str) -> Reference:
        """What a stored record holds: ``events``, ``samples`` (t, q, u) and ``error`` by quantity."""
        samples = record["samples"]
        return cls(
            origin=origin,
            error=max(record["error"].values()),
            events=tuple(
                ReferenceEvent(
                    e["t"], e["kind"], e["name"], tuple(e.get("u_before", ())), tuple(e.get("u_after", ()))
                )
                for e in record["events"]
            ),
            t_samples=np.array([s["t"] for s in samples]),
            q_samples=np.array([s["q"] for s in samples]).T,
            u_samples=np.array([s["u"] for s in samples]).T,
        )

    def event_times(self, kind: str | None = None, name: str | None = None) -> Array:
        """Instants of the events of one kind and of one law (all if None), shape (k,)."""
        chosen = [e.t for e in self.events if kind in (None, e.kind) and name in (None, e.name)]
        return np.array(chosen, dtype=np.float64)

    def states_at(self, t: ArrayLike) -> tuple[NDArray[np.intp], Array, Array]:
        """Reference states on the instants of `t` where they are known.

        Parameters
        ----------
        t : array_like, shape (k,)
            Instants, ascending.

        Returns
        -------
        index : ndarray of int, shape (j,)
            Which of the instants are known: all of them for a closed form, those of the table otherwise.
        q, u : ndarray, shapes (n_q, j), (n_u, j)
        """
        times = np.asarray(t, dtype=np.float64)
        if self.q is not None and self.u is not None:
            return np.arange(times.size), self.q(times), self.u(times)
        if self.t_samples.size == 0 or times.size == 0:
            return np.empty(0, dtype=np.intp), self.q_samples[:, :0], self.u_samples[:, :0]
        # A stored instant belongs to a table entry when both agree to rounding.
        near = np.abs(times[None, :] - self.t_samples[:, None])
        index = np.argmin(near, axis=1)
        hit = near[np.arange(index.size), index] <= 1e-12 * np.maximum(1.0, np.abs(self.t_samples))
        return index[hit], self.q_samples[:, hit], self.u_samples[:, hit]

    def deviation(self, t: ArrayLike, q: ArrayLike, u: ArrayLike) -> dict[str, float]:
        """How far a computed motion is from the reference.

        Velocities jump, so their difference is measured in the mean (L1 over time, divided by the length of
        time); in the maximum norm a shift of an impact by one rounding error counts as much as a missing
        impact.

        Returns
        -------
        dict
            ``max_q`` largest position error, ``mean_u`` mean velocity error (largest component), ``points``
            number of instants compared.
        """
        times = np.asarray(t, dtype=np.float64)
        index, q_ref, u_ref = self.states_at(times)
        if index.size == 0:
            return {"max_q": float("nan"), "mean_u": float("nan"), "points": 0}
        difference_q = np.abs(np.asarray(q)[:, index] - q_ref)
        difference_u = np.abs(np.asarray(u)[:, index] - u_ref)
        span = times[index[-1]] - times[index[0]]
        closed_form = self.q is not None and span > 0.0
        if closed_form:
            mean_u = np.trapezoid(difference_u, times[index], axis=1) / span
        else:
            mean_u = difference_u.mean(axis=1)
        return {"max_q": float(difference_q.max()), "mean_u": float(mean_u.max()), "points": int(index.size)}


@dataclass(frozen=True)
class Problem:
    """A benchmark of the literature: system, start, span, parameters and reference.

    Attributes
    ----------
    name, title, source, summary : str
        Name in the registry, one line, citation, what is special about it.
    build : callable
        Makes the system; called once, when `system` is first read.
    q0, u0 : ndarray, shapes (n_q,), (n_u,)
        Start.
    t_span : (float, float)
        Span of the usual run.
    params : mapping
        Parameters by name, as the factory function takes them.
    breakpoints : tuple of float
        Instants at which the model itself is discontinuous in time.
    coordinates : tuple of str
        Names of the coordinates.
    dt : float
        Step recommended for plain Moreau time-stepping.
    reference : Reference or None
        What is known of the motion; None for parameters without a known solution.
    kind : str
        ``mechanics``; other kinds of systems have their own subclass with its own `simulate`.
    """

    name: str
    title: str
    source: str
    summary: str
    build: Callable[[], Any]
    q0: Array
    u0: Array
    t_span: tuple[float, float]
    params: Mapping[str, Any]
    dt: float
    breakpoints: tuple[float, ...] = ()
    coordinates: tuple[str, ...] = ()
    reference: Reference | None = None
    kind: str = "mechanics"

    @cached_property
    def system(self) -> Any:
        """The system, built on first use."""
        return self.build()

    def simulate(self, t_span: tuple[float, float] | None = None, **options: Any) -> Any:
        """Run the problem: `nonsmooth.simulate` with the start, span and breakpoints of the problem.

        Without ``dt``, ``method`` and ``rtol`` the recommended step is used with Moreau's scheme.
        """
        from ..simulate import simulate

        start, end = self.t_span if t_span is None else t_span
        if not {"dt", "method", "rtol"} & set(options):
            options["dt"] = self.dt
        options.setdefault("breakpoints", [t for t in self.breakpoints if start < t < end])
        options.setdefault("problem_name", self.name)
        options.setdefault("coordinate_names", self.coordinates)
        return simulate(self.system, (start, end), self.q0, self.u0, **options)


@cache
def stored(name: str) -> dict[str, Any]:
    """Reference data kept beside the problems, in the file `name`.json."""
    return json.loads(files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8"))


def as_state(values: Sequence[float]) -> Array:
    """A read-only float64 vector."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def require(condition: bool, name: str, value: object, wanted: str) -> None:
    """Raise `RangeError` naming the parameter, the value got and the value wanted."""
    if not condition:
        raise RangeError(f"parameter `{name}` of the problem is {value!r}; it must be {wanted}.")


def stack(t: ArrayLike, *components: Array) -> Array:
    """Components of a state, each of the shape of t, as (n,) for a number t and (n, k) for k instants."""
    rows = np.stack([np.broadcast_to(c, np.shape(t)) for c in components])
    return np.ascontiguousarray(rows, dtype=np.float64)


def exp_integral(a: float, w_0: ArrayLike, w: ArrayLike) -> Array:
    """Integral of exp(a x) from w_0 to w, accurate also for a near 0."""
    w_0, w = np.asarray(w_0, dtype=np.float64), np.asarray(w, dtype=np.float64)
    # Anchored at the end where the exponential is largest: nothing overflows that is not large itself.
    x = np.abs(a * (w - w_0))
    ratio = np.where(x == 0.0, 1.0, -np.expm1(-x) / np.where(x == 0.0, 1.0, x))
    return np.exp(np.maximum(a * w_0, a * w)) * (w - w_0) * ratio
