"""Periodic orbits of mechanical systems that impact, stick and slip: shooting, Floquet multipliers, continuation.

An orbit is a fixed point of the return map P of a section: an event of given kind and law, or a period of the excitation. The states of a
section form a surface: positions keep closed contacts closed, velocities keep them at rest and what sticks sticking. With a basis N of its
tangents, x = x* + N xi, shooting solves

    N^+ (P(x* + N xi) - x*) - xi = 0

by Newton's method; the eigenvalues of the derivative of the map at the orbit are its Floquet multipliers. Derivatives are extrapolated
central differences of runs of `event-driven`; they exist where the neighbouring runs pass the same events in the same order, which is
checked.

A period of the excitation may begin at any of its instants. Where an event falls upon the begin the map is not smooth there; it is then
begun in the middle of the longest pause between events (`Shooting.rephased`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nonsmooth._core.records.laws import CONSTRAINT, FREE
from nonsmooth.errors import (
    ConvergenceError,
    InconsistentStateError,
    InputError,
    IntegrationError,
    RangeError,
    SolverError,
)
from nonsmooth.model.start import as_state
from nonsmooth.schemes.event_driven import EventDriven
from nonsmooth.simulate import simulate

NEAR_BEGIN = 0.03  # part of a period within which an event is too near to its begin
PART = 1e-4  # of the size of the motion, by which states are varied
SHRUNK = 1e-6  # of the motion at the start: what is left of it is no orbit, its events accumulate
ROUNDS = 25


@dataclass(frozen=True)
class PeriodicOrbit:
    """A periodic orbit.

    Attributes
    ----------
    system : MechanicalSystem
        With the parameters of the orbit.
    q, u : ndarray
        State on the section (at the begin of the period).
    period : float
    drift : ndarray, shape (n_q,)
        Change of the coordinates over a period; zero but for those named as drifting.
    multipliers : ndarray
        Floquet multipliers of the return map, largest first; real where all of them are.
    error : float
        By how much the orbit misses itself, relative to the size of the motion.
    events : tuple of (kind, name)
        What happens in a period, in order.
    smooth : bool
        Whether all neighbouring runs passed the same events: only then do multipliers mean anything.
    iterations : int
    t_0 : float
        Instant of `q` and `u`: zero, or where in the period of the excitation they are taken (no event is near).
    """

    system: Any
    q: np.ndarray
    u: np.ndarray
    period: float
    drift: np.ndarray
    multipliers: np.ndarray
    error: float
    events: tuple[tuple[str, str], ...]
    smooth: bool
    iterations: int
    t_0: float = 0.0
    shooting: Any = field(repr=False, default=None)
    tangents: Any = field(repr=False, default=None)  # N
    slope: Any = field(repr=False, default=None)  # dP/dxi, whose eigenvalues the multipliers are

    @property
    def stable(self) -> bool:
        """Whether all multipliers lie inside the unit circle."""
        return bool(np.all(np.abs(self.multipliers) < 1.0))

    @property
    def x(self) -> np.ndarray:
        """The state on the section, (q, u)."""
        return np.concatenate([self.q, self.u])

    def simulate(self, periods: float = 1.0, **options: Any) -> Any:
        """Run the system along the orbit."""
        options.setdefault("method", self.shooting.scheme)
        span = (self.t_0, self.t_0 + periods * self.period)
        return simulate(self.system, span, self.q, self.u, **options)


def find_periodic_orbit(
    system: Any,
    guess: tuple[Any, Any],
    section: tuple[str, str] | None = None,
    period: float | Callable | None = None,
    *,
    returns: int = 1,
    drift: Sequence[int] = (),
    transient: int = 0,
    rtol: float = 1e-11,
    tol: float = 1e-11,
    max_time: float = 100.0,
) -> PeriodicOrbit:
    """Find a periodic orbit by shooting.

    Parameters
    ----------
    system : MechanicalSystem
    guess : (q0, u0)
        A state near the orbit; it is run to the section first.
    section : (kind, name)
        The event that closes a period, as ``("stick", "lower sleeve friction")``; for systems that do not depend on time.
    period : float, or callable ``period(params) -> float``
        Instead: the period of the excitation.
    returns : int
        Section events (or periods of the excitation) in a period of the orbit.
    drift : sequence of int
        Coordinates that may change over a period (a toy that moves down its pole); the system must not depend on them.
    transient : int
        Returns to let pass before the search.
    rtol : float
        Tolerance of the runs.
    tol : float
        By how much the orbit may miss itself, relative to the size of the motion.
    max_time : float
        Longest time to wait for a section event.

    Returns
    -------
    PeriodicOrbit

    Raises
    ------
    ConvergenceError
        The section is not reached, Newton's method does not come closer, or the motion shrinks to rest on the section.
    """
    if (section is None) == (period is None):
        raise InputError("one of `section` (an event) and `period` (of the excitation) is wanted.")
    if not isinstance(returns, int) or returns < 1:
        raise RangeError(f"`returns` is {returns!r}: a positive whole number is wanted.")
    shooting = Shooting(system, section, period, returns, tuple(int(i) for i in drift), rtol, max_time)
    q, u = as_state(guess[0], "guess[0]"), as_state(guess[1], "guess[1]")
    start = shooting.to_section(q, u, transient)
    shooting, start = shooting.rephased(start)
    return shooting.solve(start, tol)


class Crossing:
    """A state on the section and how it was reached: after which time, by which events, at which parts of the period."""

    def __init__(self, q, u, t, modes, events, parts=()):
        self.q, self.u, self.t, self.modes, self.events, self.parts = q, u, t, modes, events, parts

    @property
    def x(self) -> np.ndarray:
        return np.concatenate([self.q, self.u])


class Shooting:
    """The return map of a system and its fixed points."""

    def __init__(self, system, section, period, returns, drift, rtol, max_time):
        self.system, self.section, self.returns, self.drift = system, section, returns, drift
        self.period, self.max_time = period, max_time
        self.begin = 0.0  # where in the period of the excitation, as a part of it
        self.scheme = EventDriven(rtol=rtol)

    def with_params(self, **changes) -> Shooting:
        """The same map of the system with other parameters."""
        return self._changed(system=self.system.with_params(**changes))

    def _changed(self, **changes) -> Shooting:
        other = Shooting.__new__(Shooting)
        other.__dict__.update(self.__dict__, **changes)
        return other

    @property
    def t_0(self) -> float:
        """Instant at which a period begins."""
        return 0.0 if self.section is not None else self.begin * self.span()

    def rephased(self, at: Crossing) -> tuple[Shooting, Crossing]:
        """The map begun in the middle of the longest pause between events, where one is near the begin, and the state there."""
        if self.section is not None:
            return self, at
        parts = np.array(self.map(at.q, at.u).parts)
        if not parts.size or (parts.min() > NEAR_BEGIN and parts.max() < 1.0 - NEAR_BEGIN):
            return self, at
        ends = np.append(parts, parts[0] + 1.0)
        longest = int(np.argmax(np.diff(ends)))
        shift = 0.5 * (ends[longest] + ends[longest + 1]) % 1.0
        result = self._run(at.q, at.u, max(shift, 1e-3) * self.span())
        there = Crossing(
            result.q[:, -1].copy(), result.u[:, -1].copy(), at.t, result.modes[:, -1].copy(), at.events
        )
        return self._changed(begin=self.begin + shift), there

    def _run(self, q, u, length):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return simulate(self.system, (self.t_0, self.t_0 + length), q, u, self.scheme, audit=False)

    # -- the map -------------------------------------------------------------------------------------------------------

    def span(self) -> float:
        """Period of the excitation."""
        from types import SimpleNamespace

        period = self.period
        if callable(period):
            period = period(SimpleNamespace(**self.system.params))
        if not 0.0 < period < math.inf:
            raise RangeError(f"`period` is {period!r}: the period of the excitation is a positive time.")
        return self.returns * float(period)

    def to_section(self, q, u, transient=0) -> Crossing:
        """The first crossing from a state anywhere, or the state itself where a period is given."""
        if self.section is None:
            crossing = Crossing(q, u, 0.0, np.zeros(0, dtype=np.int8), ())
        else:
            crossing = self._cross(q, u, 1, guess=None)
        for _ in range(transient):
            crossing = self.map(crossing.q, crossing.u)
        return crossing

    def map(self, q, u, guess=None) -> Crossing:
        """The state after one period."""
        return self._cross(q, u, self.returns, guess)

    def _cross(self, q, u, count, guess) -> Crossing:
        if self.section is None:
            result = self._run(q, u, self.span())
            return self._at(result, result.t.size - 1, result.t[-1])
        length = 1.5 * guess if guess else min(1.0, self.max_time)
        while True:
            result = self._run(q, u, length)
            hits = [e.t for e in result.events if (e.kind, e.name) == self.section and e.t > 1e-9 * length]
            if len(hits) >= count:
                t = hits[count - 1]
                return self._at(result, int(np.flatnonzero(result.t <= t * (1 + 1e-14))[-1]), t)
            if length >= self.max_time:
                raise ConvergenceError(
                    f"the event {self.section} was met {len(hits)} of {count} times in {length:g}: start nearer to the orbit, or name "
                    f"another section (met were {sorted({(e.kind, e.name) for e in result.events})[:6]})."
                )
            length = min(2.0 * length, self.max_time)

    def _at(self, result, column, t) -> Crossing:
        passed = [e for e in result.events if e.t <= t + 1e-14 * abs(t)]
        length = float(t - result.t[0])
        return Crossing(
            result.q[:, column].copy(),
            result.u[:, column].copy(),
            length,
            result.modes[:, column].copy(),
            tuple((e.kind, e.name) for e in passed),
            tuple((e.t - result.t[0]) / length for e in passed) if length else (),
        )

    # -- the section ---------------------------------------------------------------------------------------------------

    def tangents(self, at: Crossing) -> np.ndarray:
        """Basis of the directions in which the state may be varied, columns."""
        model = self.system.bind(self.t_0, at.q, at.u)
        laws, n_q, n_u = model.laws, at.q.size, at.u.size
        if self.section is None:
            at = self._with_modes(at)
        WT, _ = model.directions(self.t_0, at.q)
        rows_q, rows_u = [], []
        for law in range(laws.n_laws):
            rows = range(laws.row[law], laws.row[law] + laws.dim[law])
            bilateral = laws.kind[law] == FREE
            struck = self.section is not None and laws.name[law] == self.section[1]
            held = bilateral or at.modes[law] == CONSTRAINT
            if law < laws.n_N and (held or struck):
                rows_q += [WT[k] for k in rows]
            if bilateral and rows[0] - (laws.n_rows - laws.n_J) < int(model.size().n_joints):
                rows_q += [WT[k] for k in rows]
            if held or (struck and law >= laws.n_N):
                rows_u += [WT[k] for k in rows]
        for i in self.drift:
            rows_q.append(np.eye(n_q)[i])
        blocks = []
        for held_rows, n, first in ((rows_q, n_q, 0), (rows_u, n_u, n_q)):
            basis = _null_space(np.array(held_rows).reshape(len(held_rows), n), n)
            block = np.zeros((n_q + n_u, basis.shape[1]))
            block[first : first + n] = basis
            blocks.append(block)
        return np.hstack(blocks)

    def _with_modes(self, at: Crossing) -> Crossing:
        result = self._run(at.q, at.u, 1e-6 * self.span())
        return Crossing(at.q, at.u, 0.0, result.modes[:, 0], ())

    def miss(self, x, crossing: Crossing, N) -> np.ndarray:
        """Where the map leaves the state, along the tangents."""
        return np.linalg.pinv(N) @ self._undrifted(crossing.x - x)

    def _undrifted(self, change):
        change = change.copy()
        change[list(self.drift)] = 0.0
        return change

    # -- Newton --------------------------------------------------------------------------------------------------------

    def sizes(self, start: Crossing) -> np.ndarray:
        """Size of the motion in each component over a period."""
        size = self._extent(start.q, start.u, start.t if start.t > 0 else self.span())
        return np.maximum(size, 1e-6 * np.max(size))

    def _extent(self, q, u, length) -> np.ndarray:
        """How far each component moves within a time."""
        result = self._run(q, u, length)
        return np.concatenate([np.ptp(result.q, axis=1), np.ptp(result.u, axis=1)])

    def derivative(self, q, u, N, size, period) -> tuple[np.ndarray, bool]:
        """dP/dxi along the tangents, shape (k, k), by differences extrapolated to fourth order; whether all runs passed the same events."""
        x, k, smooth = np.concatenate([q, u]), N.shape[1], True
        base = self.map(q, u, period).events
        out, left = np.zeros((k, k)), np.linalg.pinv(N)
        for j in range(k):
            h = PART * float(np.min(size[np.abs(N[:, j]) > 0.1 * np.max(np.abs(N[:, j]))]))
            ends = {}
            for c in (-2, -1, 1, 2):
                y = x + 0.5 * c * h * N[:, j]
                found = self.map(y[: q.size], y[q.size :], period)
                smooth &= found.events == base
                ends[c] = left @ self._undrifted(found.x)
            out[:, j] = (8.0 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (6.0 * h)
        return out, smooth

    def _damped(self, x, step, crossing, size, error):
        """The state after a Newton step, halved while the orbit misses itself by more than before or cannot start there."""
        n_q, reason = crossing.q.size, None
        for _ in range(8):
            try:
                found = self.map((x + step)[:n_q], (x + step)[n_q:], crossing.t)
            except Exception as exc:
                if not _no_state(exc):
                    raise
                reason, step = exc, 0.5 * step
                continue
            if float(np.max(np.abs(self._undrifted(found.x - x - step)) / size)) <= max(2.0 * error, 1e-6):
                return x + step, found
            step = 0.5 * step
        raise ConvergenceError(
            f"shooting found no state nearer to an orbit (relative error {error:.3g}): start nearer to it."
        ) from reason

    def solve(self, start: Crossing, tol) -> PeriodicOrbit:
        """The fixed point near a state on the section."""
        crossing = self.map(start.q, start.u)
        size = self.sizes(Crossing(start.q, start.u, crossing.t, start.modes, ()))
        x, n_q, D, smooth = start.x, start.q.size, None, True
        modes, best = crossing.modes, math.inf
        for iteration in range(1, ROUNDS + 1):
            at = Crossing(x[:n_q], x[n_q:], crossing.t, modes, crossing.events)
            N = self.tangents(at)
            miss = self.miss(x, crossing, N)
            error = float(np.max(np.abs(self._undrifted(crossing.x - x)) / size))
            if error <= tol and D is not None:
                break
            if error > 1e3 * best:
                raise ConvergenceError(
                    f"shooting departs from the orbit (relative error {error:.3g} after {iteration} iterations)."
                )
            best = min(best, error)
            D, smooth = self.derivative(x[:n_q], x[n_q:], N, size, crossing.t)
            x, crossing = self._damped(
                x, N @ np.linalg.solve(np.eye(N.shape[1]) - D, miss), crossing, size, error
            )
            modes = crossing.modes
        else:
            raise ConvergenceError(
                f"shooting stopped after {ROUNDS} iterations with relative error {error:.3g} (wanted {tol:.3g}): start nearer to the "
                "orbit, or ask for less."
            )
        if self.section is not None and np.max(self._extent(x[:n_q], x[n_q:], crossing.t) / size) < SHRUNK:
            raise ConvergenceError(
                f"the motion shrinks to rest on the section {self.section}: its events accumulate there, and no orbit was found; start "
                "nearer to one."
            )
        return self.orbit(x, crossing, N, size, iteration)

    def orbit(self, x, crossing: Crossing, N, size, iterations) -> PeriodicOrbit:
        """The orbit through a fixed point x, reached again at `crossing`, with its multipliers."""
        n_q = crossing.q.size
        D, smooth = self.derivative(x[:n_q], x[n_q:], N, size, crossing.t)
        values = np.linalg.eigvals(D)
        values = values[np.argsort(-np.abs(values))]
        largest = float(np.max(np.abs(values), initial=0.0))
        if np.all(np.abs(values.imag) <= 1e-9 * max(1.0, largest)):
            values = values.real
        change = np.zeros(n_q)
        change[list(self.drift)] = (crossing.q - x[:n_q])[list(self.drift)]
        error = float(np.max(np.abs(self._undrifted(crossing.x - x)) / size))
        return PeriodicOrbit(
            self.system, x[:n_q].copy(), x[n_q:].copy(), crossing.t, change, values, error, crossing.events, smooth, iterations, self.t_0,
            self, N, D,
        )  # fmt: skip


def _no_state(exc: Exception) -> bool:
    """Whether a Newton step has left the states a run can start from."""
    return isinstance(exc, InconsistentStateError | IntegrationError | SolverError)


def _null_space(A: np.ndarray, n: int) -> np.ndarray:
    """Orthonormal basis of the null space of A, shape (n, k)."""
    if A.shape[0] == 0:
        return np.eye(n)
    A = A / np.maximum(np.linalg.norm(A, axis=1), 1e-300)[:, None]
    _, values, V = np.linalg.svd(A)
    rank = int(np.count_nonzero(values > 1e-10 * values[0]))
    return V[rank:].T
