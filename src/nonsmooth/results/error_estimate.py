"""What the error of a run is, told by a second one: ``result.error_estimate``, and ``verify=True``.

A scheme with a tolerance controls the error of its steps; what they add up to depends on the motion. The same run with a tenth of the
tolerance has a tenth of the error, more or less, so that the difference of both is the error of the first. It is made when somebody
looks at it, and costs about as much as the run. A second *scheme* (``verify=True``) shares nothing but the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nonsmooth.errors import NonsmoothError
from nonsmooth.results.notebook import Shown

TIGHTER = 0.1
SHORTER = 0.6  # longest step of the second pass, beside the first one's: where steps are as long as they may be, the tolerance says nothing
AT_REST = 1e-6  # part of what forces alone would make of a motion that is none
LEAST = 1e-14  # of a tolerance; below, a second pass is looser instead


@dataclass(eq=False)
class ErrorEstimate(Shown):
    """Global error of a run, seen against a second one.

    Attributes
    ----------
    t : float
        Instant of the state that was compared: the last one stored.
    y : ndarray, shape (n,)
        Error of each component of the state (q above u) there.
    relative : ndarray, shape (n,)
        The same, relative to the largest size the component has had (or others of its kind, where it never moved): comparable with `rtol`.
        ``float(estimate)`` is the largest, ``np.asarray(estimate)`` all of them.
    t_end : float
        Difference of the last instants: not zero where a terminal event ends the run.
    events : ndarray, shape (n_events,)
        Error of the instant of each event; NaN where the second run has no such event.
    against : str
        What the second run was.
    notes : list of str
        What does not fit between both.
    """

    t: float
    y: np.ndarray
    relative: np.ndarray
    t_end: float = 0.0
    events: np.ndarray = field(default_factory=lambda: np.zeros(0))
    against: str = ""
    notes: list[str] = field(default_factory=list)

    def __float__(self) -> float:
        return float(np.max(self.relative, initial=0.0))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self.relative, dtype=dtype)

    @property
    def worst_event(self) -> float:
        """Largest known error of an instant; 0 if there is none."""
        known = self.events[np.isfinite(self.events)]
        return float(np.max(known, initial=0.0))

    def as_dict(self) -> dict[str, Any]:
        """Fields by name."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{float(self):.2g} of the running scale at t = {self.t:.6g}"
        if self.events.size:
            text += f", instants of events {self.worst_event:.2g}"
        text += f" ({self.against})"
        return "; ".join([text, *self.notes])


def second_pass(rtol, name: str = "rtol") -> tuple[float, str]:
    """Factor for the tolerances of the second pass, and what it is called; `name` of the tolerance."""
    factor = TIGHTER if np.min(rtol) * TIGHTER >= LEAST else 1.0 / TIGHTER
    return factor, f"second pass with {name} = {float(np.min(rtol)) * factor:.3g}"


def estimate(result: Any, again: Callable[[], Any], against: str) -> ErrorEstimate:
    """Compare `result` with what `again` returns; a second run that fails says so and leaves NaN."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            second = again()
    except NonsmoothError as exc:
        second, why = None, f"{type(exc).__name__}: {exc}"
    else:
        why = "" if second.success else second.message
    n = result.y.shape[0]
    if not len(result) or second is None or not len(second) or why:
        nothing = np.full(n, np.nan)
        t = float(result.t[-1]) if len(result) else np.nan
        return ErrorEstimate(
            t, nothing, nothing.copy(), against=against, notes=[f"the second run failed ({why})"]
        )
    y = np.abs(result.y[:, -1] - second.y[:, -1])
    events, notes = _instants(result.events, second.events)
    return ErrorEstimate(
        float(result.t[-1]), y, y / _ruler(result), abs(float(result.t[-1] - second.t[-1])), events, against, notes
    )  # fmt: skip


def _ruler(result: Any) -> np.ndarray:
    """Running scale; what rests has velocities of rounding size, beside what its forces would have made."""
    scale, model = running_scale(result), getattr(result, "_model", None)
    if model is None or not hasattr(model, "mass_matrix") or not len(result):
        return scale
    t, q, u = float(result.t[-1]), result.q[:, -1].copy(), result.u[:, -1].copy()
    made = np.max(np.abs(np.linalg.solve(model.mass_matrix(t, q), model.forces(t, q, u))), initial=0.0)
    span = abs(float(result.t[-1] - result.t[0]))
    n_q = result.q.shape[0]
    scale[:n_q] = np.maximum(scale[:n_q], AT_REST * made * span**2)
    scale[n_q:] = np.maximum(scale[n_q:], AT_REST * made * span)
    return scale


def running_scale(result: Any) -> np.ndarray:
    """Largest size of each component; one that never moved is measured by the others of its kind (q or u)."""
    size = np.max(np.abs(result.y), axis=1)
    n_q = result.q.shape[0]
    for part in (slice(0, n_q), slice(n_q, None)):
        kind = np.max(size[part], initial=0.0)
        size[part] = np.where(size[part] <= 1e-9 * kind, kind, size[part])
    return np.where(size > 0.0, size, 1.0)


def _instants(events: Any, others: Any) -> tuple[np.ndarray, list[str]]:
    """Differences of instants, each event beside the one of the same kind and name with the same number; and what has no partner.

    Where the numbers differ (of impacts that accumulate another run leaves out others), the nearest one is the partner.
    """
    wanted: dict[tuple[str, str], list[float]] = {}
    for event in others:
        wanted.setdefault((event.kind, event.name), []).append(event.t)
    places: dict[tuple[str, str], list[int]] = {}
    for i, event in enumerate(events):
        places.setdefault((event.kind, event.name), []).append(i)
    count = {key: len(mine) for key, mine in places.items()}
    found = np.full(len(events), np.nan)
    for key, mine in places.items():
        own, other = np.array([events[i].t for i in mine]), np.array(wanted.get(key, ()))
        if own.size == other.size:
            found[mine] = np.abs(own - other)
        elif other.size:
            after = np.searchsorted(other, own)
            around = other[np.clip([after - 1, after], 0, other.size - 1)]
            found[mine] = np.min(np.abs(own - around), axis=0)
    notes = []
    for key in sorted({*wanted, *count}):
        here, there = count.get(key, 0), len(wanted.get(key, ()))
        if here != there:
            notes.append(f"{here} events {key[0]!r} of {key[1]!r} here, {there} in the second run")
    return found, notes
