"""Branches of periodic orbits: pseudo-arclength continuation in a parameter.

With the tangents N of the section at the last orbit, the unknowns of a point are xi and the parameter p,

    N^+ (P(x* + N xi; p) - x*) - xi = 0,      (xi / |size|, p / |range|) . tangent = step                      (bordered Newton)

The tangent of the branch is the null vector of [dP/dxi - 1, dP/dp], so that folds are passed like any other point. Nothing is evaluated
outside the range of the parameter. What is marked on a branch, and how it is located, stands in `branch_marks`; behind a grazing the
branch may go on in either direction of the parameter, and both are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nonsmooth.branch_marks import (
    FAILED,
    Point,
    away_from,
    grazing_of,
    marks_between,
    same_events,
    where_impacts_vanish,
)
from nonsmooth.errors import ConvergenceError, InputError, RangeError
from nonsmooth.orbits import Crossing, PeriodicOrbit

MOST_ITERATIONS = 8
SMALLEST = 1 / 64  # step, in parts of the largest one, below which a branch ends
BORDER = (
    1 / 8
)  # longest step, in these parts, across a change of what happens in a period: a neighbour, not another branch
HOPS = (0.02, 0.1, 0.5, 1.0)  # steps behind a grazing at which the branch is looked for


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
        "fold", "flip", "torus" (a pair of multipliers leaves or enters the unit circle), "grazing", "stick-slip": where on the parameter,
        between orbits `index` and `index + 1`.
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
    start = float(values[parameter])
    if not min(low, high) <= start <= max(low, high):
        raise RangeError(
            f"`range` is {tuple(range)!r}: the value of the orbit, {parameter} = {start!r}, must lie in it."
        )
    if not 0.0 < step <= 1.0:
        raise RangeError(f"`step` is {step!r}: it must lie in (0, 1].")
    return _Walk(orbit, parameter, (low, high), step, tol).run(max_points)


class _Walk:
    """A continuation in progress."""

    def __init__(self, orbit, parameter, span, step, tol):
        self.parameter, self.span, self.step, self.tol = parameter, span, step, tol
        self.width = abs(span[1] - span[0])
        self.branch = Branch(parameter)
        value, self.n_q = float(orbit.system.params[parameter]), orbit.q.size
        self.branch.add(value, orbit)
        self.size = orbit.shooting.sizes(Crossing(orbit.q, orbit.u, orbit.period, np.zeros(0), ()))
        self.forward = np.append(np.zeros(self.size.size), math.copysign(1.0, span[1] - span[0]))

    def run(self, max_points) -> Branch:
        """Orbits until the range is left, or no further one is found."""
        branch, step, before = self.branch, self.step, None
        here = self.point(float(branch.values[0]), branch.orbits[0], self.forward)
        while len(branch.orbits) < max_points:
            try:
                there, left = self.next(here, here.tangent, step)
                if step > BORDER * self.step and not same_events(there.orbit, here.orbit):
                    raise ConvergenceError(
                        "other events in a step that is too long to tell one branch from another"
                    )
                found = marks_between(self, here, there, len(branch.orbits) - 1)
            except FAILED as exc:
                step *= 0.5
                if step >= SMALLEST * self.step:
                    continue
                hopped = self.hop(before, here)
                if hopped is None:
                    branch.message = (
                        f"no orbit was found beyond {self.parameter} = {branch.values[-1]:.9g}: {exc}"
                    )
                    return branch
                there, left, found = hopped, False, []
            branch.marks += found
            if found and found[-1][0] == "grazing":
                there = away_from(there, there.value - found[-1][1])
            branch.add(there.value, there.orbit)
            if left:
                branch.message = f"{self.parameter} left the range"
                return branch
            moved = self.rephased(there)
            before, here = (here if moved is there else None), moved
            step = min(self.step, 1.5 * step)
        branch.message = f"max_points = {max_points} reached"
        return branch

    # -- one step ------------------------------------------------------------------------------------------------------

    def next(self, here: Point, tangent, step) -> tuple[Point, bool]:
        """The orbit one step along the branch, and whether the range is left with it (then it is the one on its end)."""
        ends = (min(self.span), max(self.span))
        value = here.value + step * tangent[-1] * self.width
        if not ends[0] <= value <= ends[1]:
            end = ends[0] if value < ends[0] else ends[1]
            part = (end - here.value) / (tangent[-1] * self.width)
            orbit = self.solved(here.orbit, end, here.x + part * tangent[:-1] * self.size)
            if np.max(np.abs(self.apart(here, orbit))) > 3.0 * step:
                raise ConvergenceError("another branch was met at the end of the range")
            return self.point(end, orbit, tangent), True
        orbit, value = self.corrected(here, tangent, step)
        chord = np.append(self.apart(here, orbit), (value - here.value) / self.width)
        return self.point(value, orbit, chord), False

    def corrected(self, here: Point, tangent, step) -> tuple[PeriodicOrbit, float]:
        """Bordered Newton from the predicted point."""
        last, n_q, best = here.orbit, here.orbit.q.size, math.inf
        x, value = here.x + step * tangent[:-1] * self.size, here.value + step * tangent[-1] * self.width
        for iteration in np.arange(MOST_ITERATIONS):
            shooting = last.shooting.with_params(**{self.parameter: value})
            crossing = shooting.map(x[:n_q], x[n_q:], last.period)
            at = Crossing(x[:n_q], x[n_q:], crossing.t, crossing.modes, crossing.events)
            N = shooting.tangents(at)
            miss = shooting.miss(x, crossing, N)
            change = np.append((x - here.x) / self.size, (value - here.value) / self.width)
            change[list(last.shooting.drift)] = 0.0
            short = step - change @ tangent
            error = max(float(np.max(np.abs(N @ miss) / self.size, initial=0.0)), abs(short))
            if error <= self.tol:
                return shooting.orbit(x, crossing, N, self.size, int(iteration)), value
            if error > 1e2 * best or np.max(np.abs(change)) > 3.0 * step:
                break
            best = min(best, error)
            D, _ = shooting.derivative(x[:n_q], x[n_q:], N, self.size, crossing.t)
            k = N.shape[1]
            A = np.zeros((k + 1, k + 1))
            A[:k, :k], A[:k, k] = D - np.eye(k), self.by_parameter(shooting, x, N, value, crossing.t)
            A[k, :k], A[k, k] = (N / self.size[:, None]).T @ tangent[:-1], tangent[-1]
            move = np.linalg.solve(A, np.append(-miss, short))
            x, value = x + N @ move[:k], value + move[k] * self.width
            if not min(self.span) <= value <= max(self.span):
                raise ConvergenceError(f"Newton's method left the range of {self.parameter}")
        raise ConvergenceError(f"Newton's method left a relative error of {error:.3g}")

    def by_parameter(self, shooting, x, N, value, period) -> np.ndarray:
        """Derivative of the map by the parameter, in units of its range; differences that stay in the range."""
        n_q, h, missed = self.n_q, 1e-5 * self.width, []
        middle = min(max(value, min(self.span) + h), max(self.span) - h)
        for shifted in (middle + h, middle - h):
            other = shooting.with_params(**{self.parameter: shifted})
            missed.append(shooting.miss(x, other.map(x[:n_q], x[n_q:], period), N))
        return (missed[0] - missed[1]) / (2 * h) * self.width

    def point(self, value, orbit: PeriodicOrbit, along) -> Point:
        """An orbit with the unit tangent of the branch there, in (x / size, p / width), on the side of `along`."""
        N, D, k = orbit.tangents, orbit.slope, orbit.slope.shape[0]
        by_p = self.by_parameter(orbit.shooting, orbit.x, N, value, orbit.period)
        null = np.linalg.svd(np.column_stack([D - np.eye(k), by_p]))[2][-1]
        tangent = np.append(N @ null[:k] / self.size, null[k])
        tangent /= np.linalg.norm(tangent)
        return Point(value, orbit, tangent if tangent @ along >= 0.0 else -tangent)

    def solved(self, last: PeriodicOrbit, value, x=None) -> PeriodicOrbit:
        """The orbit at a value of the parameter, from a state nearby."""
        x, n_q = last.x if x is None else x, last.q.size
        shooting = last.shooting.with_params(**{self.parameter: value})
        crossing = shooting.map(x[:n_q], x[n_q:], last.period)
        start = Crossing(x[:n_q], x[n_q:], crossing.t, crossing.modes, crossing.events)
        return shooting.solve(start, max(self.tol, 1e-10))

    def apart(self, here: Point, orbit: PeriodicOrbit) -> np.ndarray:
        """Distance of two orbits in units of the motion."""
        change = (orbit.x - here.x) / self.size
        change[list(orbit.shooting.drift)] = 0.0
        return change

    def rephased(self, here: Point) -> Point:
        """The same point with a begin of the period that no event is near to."""
        orbit = here.orbit
        at = Crossing(orbit.q, orbit.u, orbit.period, np.zeros(0), orbit.events)
        shooting, start = orbit.shooting.rephased(at)
        if shooting is orbit.shooting:
            return here
        moved = shooting.solve(start, max(self.tol, 1e-10))
        # the tangent at the new begin has the side of a neighbour on the branch, followed to there
        h = 1e-4
        value = here.value + h * here.tangent[-1] * self.width
        if not min(self.span) <= value <= max(self.span):
            h, value = -h, here.value - h * here.tangent[-1] * self.width
        beside = orbit.shooting.with_params(**{self.parameter: value})
        x, n_q = here.x + h * here.tangent[:-1] * self.size, orbit.q.size
        run = beside._run(x[:n_q], x[n_q:], (shooting.begin - orbit.shooting.begin) * beside.span())
        change = np.append((run.y[:, -1] - moved.x) / self.size, (value - here.value) / self.width) / h
        return self.point(here.value, moved, change)

    # -- behind a grazing ----------------------------------------------------------------------------------------------

    def hop(self, before: Point | None, here: Point) -> Point | None:
        """The first orbit behind a grazing in which the branch seems to end; it is marked, whether there is one or not."""
        forward = math.copysign(1.0, here.tangent[-1])
        value = grazing_of(self, here.orbit, here.value, forward)
        x, from_impacts = here.x, False
        if value is None and before is not None:
            value, part = where_impacts_vanish(self, before, here)
            x, from_impacts = here.x + part * (here.x - before.x), True
        if value is None:
            return None
        index = len(self.branch.orbits) - 1
        for away in HOPS:
            for side in (forward, -forward):
                other = value + side * away * self.step * self.width
                if not min(self.span) <= other <= max(self.span):
                    continue
                try:
                    orbit = self.solved(here.orbit, other, x)
                except FAILED:
                    continue
                if same_events(orbit, here.orbit):
                    continue
                place = grazing_of(self, orbit, other, -side) if from_impacts else value
                self.branch.marks.append(("grazing", value if place is None else place, index))
                return away_from(self.point(other, orbit, side * abs(self.forward)), side)
        self.branch.marks.append(("grazing", value, index))
        return None
