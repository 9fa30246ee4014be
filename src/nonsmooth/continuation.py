"""Branches of periodic orbits: pseudo-arclength continuation in a parameter.

With the tangents N of the section at the last orbit, the unknowns of a point are xi and the parameter p,

    N^+ (P(x* + N xi; p) - x*) - xi = 0,      (xi / |size|, p / |range|) . tangent = step                      (bordered Newton)

Marked on a branch: folds (p turns back), flips (a multiplier passes -1), and changes of what happens in a period: *grazing* where contacts
that close are won or lost, *stick-slip* where only sticking or slipping is. A change is bisected in p. A grazing makes the return map
singular (its slope grows like one over the speed of the impact), so that Newton's method often finds no orbit behind it: it is located from
the side on which the contact stays open, as the zero of its least gap m(p), by secants of orbits before it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from nonsmooth.errors import (
    ConvergenceError,
    InconsistentStateError,
    InputError,
    IntegrationError,
    RangeError,
    SolverError,
)
from nonsmooth.orbits import Crossing, PeriodicOrbit, Shooting

MOST_ITERATIONS = 8
MOST_SECANTS = 12
NEAR = 0.2  # least gap, relative to the largest, at which a branch may have ended in grazing
FAILED = (InconsistentStateError, SolverError, IntegrationError, np.linalg.LinAlgError)


@dataclass
class Branch:
    """Periodic orbits along a parameter.

    Attributes
    ----------
    parameter : str
    values : ndarray
        Of the parameter, one per orbit.
    orbits : list of PeriodicOrbit
    marks : list of (kind, value, index)
        "fold", "flip", "grazing", "stick-slip": where on the parameter, between orbits `index` and `index + 1`.
    message : str
        Why the branch ends.
    """

    parameter: str
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    orbits: list[PeriodicOrbit] = field(default_factory=list)
    marks: list[tuple[str, float, int]] = field(default_factory=list)
    message: str = ""

    def add(self, value: float, orbit: PeriodicOrbit) -> None:
        self.values = np.append(self.values, value)
        self.orbits.append(orbit)


def continue_orbit(
    orbit: PeriodicOrbit,
    parameter: str,
    range: Sequence[float],
    *,
    step: float = 0.02,
    max_points: int = 200,
    tol: float = 1e-9,
) -> Branch:
    """Follow a periodic orbit while a parameter changes.

    Parameters
    ----------
    orbit : PeriodicOrbit
        Of `find_periodic_orbit`.
    parameter : str
        A parameter of the system that is a number.
    range : (float, float)
        The branch ends where the parameter leaves it; it is followed towards the second value first.
    step : float
        Largest arclength between orbits, in parts of the range and of the size of the motion.
    max_points : int
    tol : float
        By how much orbits may miss themselves, relative.

    Returns
    -------
    Branch
    """
    values = orbit.system.params
    if parameter not in values or np.ndim(values[parameter]) != 0:
        raise InputError(
            f"`parameter` is {parameter!r}: a number among {', '.join(values) or 'no parameters'} is wanted."
        )
    low, high = (float(x) for x in range)
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        raise RangeError(f"`range` is {tuple(range)!r}: two different finite numbers are wanted.")
    if not 0.0 < step <= 1.0:
        raise RangeError(f"`step` is {step!r}: it must lie in (0, 1].")
    return _Walk(orbit, parameter, (low, high), step, tol).run(max_points)


class _Walk:
    """A continuation in progress."""

    def __init__(self, orbit, parameter, span, step, tol):
        self.parameter, self.span, self.step, self.tol = parameter, span, step, tol
        self.width = abs(span[1] - span[0])
        self.branch = Branch(parameter)
        self.branch.add(float(orbit.system.params[parameter]), orbit)
        self.size = orbit.shooting.sizes(Crossing(orbit.q, orbit.u, orbit.period, np.zeros(0), ()))

    def run(self, max_points) -> Branch:
        """Orbits until the range is left, or no further one is found."""
        branch, forward = self.branch, math.copysign(1.0, self.span[1] - self.span[0])
        tangent, step = None, self.step
        while len(branch.orbits) < max_points:
            try:
                value, orbit, tangent_new = self.next(tangent, step, forward)
            except FAILED as exc:
                step *= 0.5
                if step < self.step / 64:
                    self.mark_end(forward if tangent is None else math.copysign(1.0, tangent[-1]))
                    branch.message = (
                        f"no orbit was found beyond {self.parameter} = {branch.values[-1]:.9g}: {exc}"
                    )
                    return branch
                continue
            if not min(self.span) <= value <= max(self.span):
                branch.message = f"{self.parameter} left the range"
                return branch
            before, tangent = tangent, tangent_new
            self.mark(before, tangent, value, orbit)
            branch.add(value, orbit)
            step = min(self.step, 1.5 * step)
        branch.message = f"max_points = {max_points} reached"
        return branch

    def next(self, tangent, step, forward):
        """The orbit one step along the branch: parameter, orbit, unit tangent in (x / size, p / width)."""
        last, p = self.branch.orbits[-1], float(self.branch.values[-1])
        if tangent is None:
            tangent = np.zeros(self.size.size + 1)
            tangent[-1] = forward
        x = np.concatenate([last.q, last.u]) + step * tangent[:-1] * self.size
        value = p + step * tangent[-1] * self.width
        for _ in np.arange(MOST_ITERATIONS):
            shooting = last.shooting.with_params(**{self.parameter: value})
            x, value, error = self.newton(shooting, x, value, last, p, tangent, step)
            if error <= self.tol:
                break
        else:
            raise ConvergenceError(f"Newton's method left a relative error of {error:.3g}")
        orbit = self.finished(x, value, last)
        change = np.append(
            (np.concatenate([orbit.q, orbit.u]) - np.concatenate([last.q, last.u])) / self.size,
            (value - p) / self.width,
        )
        change[list(last.shooting.drift)] = 0.0
        return value, orbit, change / np.linalg.norm(change)

    def newton(self, shooting: Shooting, x, value, last, p, tangent, step):
        """One bordered iteration."""
        n_q = last.q.size
        crossing = shooting.map(x[:n_q], x[n_q:], last.period)
        at = Crossing(x[:n_q], x[n_q:], crossing.t, crossing.modes, crossing.events)
        N = shooting.tangents(at)
        miss = shooting.miss(x, crossing, N)
        D, _ = shooting.derivative(x[:n_q], x[n_q:], N, self.size, crossing.t)
        h = 1e-5 * self.width
        ends = []
        for shifted in (value + h, value - h):
            other = shooting.with_params(**{self.parameter: shifted})
            ends.append(shooting.miss(x, other.map(x[:n_q], x[n_q:], crossing.t), N))
        by_p = (ends[0] - ends[1]) / (2 * h)
        k = N.shape[1]
        A, b = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        A[:k, :k], A[:k, k], b[:k] = D - np.eye(k), by_p * self.width, -miss
        A[k, :k], A[k, k] = (N / self.size[:, None]).T @ tangent[:-1], tangent[-1]
        here = np.append((x - np.concatenate([last.q, last.u])) / self.size, (value - p) / self.width)
        here[list(shooting.drift)] = 0.0
        b[k] = step - here @ tangent
        move = np.linalg.solve(A, b)
        change = float(np.max(np.abs(N @ move[:k]) / self.size, initial=0.0) + abs(move[k]))
        return x + N @ move[:k], value + move[k] * self.width, change

    def finished(self, x, value, last) -> PeriodicOrbit:
        """The orbit at a value of the parameter, polished."""
        n_q = last.q.size
        shooting = last.shooting.with_params(**{self.parameter: value})
        crossing = shooting.map(x[:n_q], x[n_q:], last.period)
        return shooting.solve(
            Crossing(x[:n_q], x[n_q:], crossing.t, crossing.modes, crossing.events), max(self.tol, 1e-10)
        )

    # -- marks ---------------------------------------------------------------------------------------------------------

    def mark(self, before, tangent, value, orbit) -> None:
        """What happened between the last orbit and this one."""
        branch = self.branch
        last, p, index = branch.orbits[-1], float(branch.values[-1]), len(branch.orbits) - 1
        if before is not None and before[-1] * tangent[-1] < 0.0:
            branch.marks.append(("fold", 0.5 * (p + value), index))
        flips = [float(np.min(np.append(o.multipliers.real, 1.0))) + 1.0 for o in (last, orbit)]
        if flips[0] * flips[1] < 0.0 and last.events == orbit.events:
            branch.marks.append(("flip", p + (value - p) * flips[0] / (flips[0] - flips[1]), index))
        if last.events != orbit.events:
            contacts = [
                sum(kind in ("impact", "close", "open") for kind, _ in o.events) for o in (last, orbit)
            ]
            kind = "grazing" if contacts[0] != contacts[1] else "stick-slip"
            place = None
            if kind == "grazing":  # from the side on which the contact stays open
                begin, at, end = (last, p, value) if contacts[0] < contacts[1] else (orbit, value, p)
                place = self.grazing_of(begin, at, math.copysign(1.0, end - at))
            branch.marks.append((kind, self.bisect(last, p, value) if place is None else place, index))

    def mark_end(self, forward) -> None:
        """A grazing in which the branch ends."""
        branch = self.branch
        value = self.grazing_of(branch.orbits[-1], float(branch.values[-1]), forward)
        if value is not None:
            branch.marks.append(("grazing", value, len(branch.orbits) - 1))

    def grazing_of(self, orbit, p, forward) -> float | None:
        """Where the least gap of contacts that stay open over the period of an orbit vanishes, ahead of it; None if it does not."""
        gap = least_gap(orbit)
        if not gap < NEAR:
            return None
        value, root = p - forward * 0.1 * self.step * self.width, math.nan
        try:
            other = self.finished(np.concatenate([orbit.q, orbit.u]), value, orbit)
            for _ in np.arange(MOST_SECANTS):
                gap_other = least_gap(other)
                if other.events != orbit.events or gap_other == gap:
                    return None
                before, root = root, p + gap * (value - p) / (gap - gap_other)
                if not forward * (root - p) > 0.0 or abs(root - p) > self.width:
                    return None
                if abs(root - before) <= 1e-9 * self.width:
                    break
                value, other = p, orbit
                p += 0.8 * (root - p)
                orbit = self.finished(np.concatenate([orbit.q, orbit.u]), p, orbit)
                gap = least_gap(orbit)
        except FAILED:
            pass  # as near as it gets
        return float(root) if math.isfinite(root) else None

    def bisect(self, last, p, value) -> float:
        """The value at which the events of a period change, to 1e-6 of the range."""
        inside, outside, orbit = p, value, last
        while abs(outside - inside) > 1e-6 * self.width:
            middle = 0.5 * (inside + outside)
            try:
                found = self.finished(np.concatenate([orbit.q, orbit.u]), middle, orbit)
            except FAILED:
                outside = middle
                continue
            if found.events == last.events:
                inside, orbit = middle, found
            else:
                outside = middle
        return 0.5 * (inside + outside)


def least_gap(orbit: PeriodicOrbit) -> float:
    """The least gap over a period among contacts that never close, relative to the largest; infinite if there are none.

    Between steps the gap is the cubic of its values and rates.
    """
    closing = {name for kind, name in orbit.events if kind in ("impact", "close", "open")}
    scheme = replace(orbit.shooting.scheme, dt_max=orbit.period / 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = orbit.simulate(method=scheme, audit=False)
    model = orbit.system.bind(0.0, orbit.q, orbit.u)
    n, least = model.laws.n_N, math.inf
    open_ones = [
        k for k in np.arange(n) if model.laws.name[k] not in closing and not np.any(run.modes[k] == 1)
    ]
    if not open_ones:
        return least
    gaps = np.array([model.gaps(t, q) for t, q in zip(run.t, run.q.T)])[:, open_ones]
    rates = np.empty_like(gaps)
    for i, (t, q, u) in enumerate(zip(run.t, run.q.T, run.u.T)):
        WT, zeta = model.directions(t, q)
        rates[i] = (WT @ u + zeta)[:n][open_ones]
    for k, _ in enumerate(open_ones):
        size = float(np.max(np.abs(gaps[:, k])))
        turns = np.flatnonzero((rates[:-1, k] < 0.0) & (rates[1:, k] >= 0.0) & (np.diff(run.t) > 0.0))
        for first in turns:
            ends = slice(first, first + 2)
            cubic = CubicHermiteSpline(run.t[ends], gaps[ends, k], rates[ends, k])
            lows = [float(cubic(t)) for t in cubic.derivative().roots(extrapolate=False)]
            least = min([least, *(low / size for low in lows)])
        least = min(least, float(np.min(gaps[:, k])) / size)
    return least
