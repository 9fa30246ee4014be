"""What is marked on a branch of periodic orbits, and where it lies.

With the derivative D of the return map and the unit tangent of the branch (its last component is that of the parameter p), in which
functions of the arclength change their sign:

    fold     tangent_p                        p turns back, a multiplier passes 1
    flip     det(D + 1)                       a multiplier passes -1
    torus    prod (mu_i mu_j - 1), i < j      two multipliers pass the unit circle together, if they are not real there

They are located by regula falsi along the branch. Where the events of a period change, contacts that close are won or lost (*grazing*) or
only sticking and slipping is (*stick-slip*); that is bisected along the branch. A grazing makes the return map singular (its slope grows
like one over the speed of the impact), so it is located from the side on which the contact stays open, as the zero of its least gap m(p).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth.errors import InconsistentStateError, IntegrationError, SolverError
from nonsmooth.orbits import PeriodicOrbit

MOST_SECANTS = 12
MOST_SEARCHED = 30
NEAR = 0.2  # least gap, relative to the largest, at which a branch may have ended in grazing
CLOSING = ("impact", "close", "open")
FAILED = (InconsistentStateError, SolverError, IntegrationError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Point:
    """An orbit of a branch, its parameter, and the unit tangent of the branch in (x / size, p / width)."""

    value: float
    orbit: PeriodicOrbit
    tangent: np.ndarray

    @property
    def x(self) -> np.ndarray:
        return self.orbit.x


def away_from(point: Point, side: float) -> Point:
    """The point with its tangent on that side of the parameter."""
    flipped = point.tangent[-1] * side < 0.0
    return replace(point, tangent=-point.tangent) if flipped else point


def same_events(one: PeriodicOrbit, other: PeriodicOrbit) -> bool:
    """Whether the same happens in a period, wherever it begins."""
    a, b = one.events, other.events
    return len(a) == len(b) and (a == b or any(a == b[k:] + b[:k] for k in range(1, len(b))))


def marks_between(walk, here: Point, there: Point, index: int) -> list[tuple[str, float, int]]:
    """What happens between two orbits of a branch."""
    if not same_events(here.orbit, there.orbit):
        return [(*border(walk, here, there), index)]
    found = []
    for kind, function in (("fold", parameter_rate), ("flip", flip_function), ("torus", pair_function)):
        ends = function(here), function(there)
        if ends[0] * ends[1] < 0.0:
            value, point = zero_along(walk, here, there, function, ends)
            if kind != "torus" or nearest_pair_turns(point.orbit):
                found.append((kind, value, index))
    return found


def parameter_rate(point: Point) -> float:
    return float(point.tangent[-1])


def flip_function(point: Point) -> float:
    return float(np.prod(point.orbit.multipliers + 1.0).real)


def pair_function(point: Point) -> float:
    return float(np.prod([product - 1.0 for product, _ in pairs(point.orbit)]).real)


def nearest_pair_turns(orbit: PeriodicOrbit) -> bool:
    """Whether the two multipliers whose product is nearest to one turn the motion about the orbit (are not real)."""
    _, one = min(pairs(orbit), key=lambda pair: abs(pair[0] - 1.0))
    return bool(abs(one.imag) > 1e-6)


def pairs(orbit: PeriodicOrbit) -> list[tuple[complex, complex]]:
    """Products of two multipliers, each with the first of the two."""
    mu = orbit.multipliers
    return [(complex(a * b), complex(a)) for i, a in enumerate(mu) for b in mu[:i]]


def zero_along(walk, here: Point, there: Point, function, ends) -> tuple[float, Point]:
    """The parameter where a function of the branch vanishes between two of its orbits (Illinois' method in the arclength), and the last
    orbit that was tried."""
    chord = np.append(walk.apart(here, there.orbit), (there.value - here.value) / walk.width)
    length = float(np.linalg.norm(chord))
    lo, hi, (f_lo, f_hi), side = 0.0, 1.0, ends, 0
    value, found, before = here.value + (there.value - here.value) * f_lo / (f_lo - f_hi), here, math.nan
    for _ in range(MOST_SEARCHED):
        part = lo + (hi - lo) * f_lo / (f_lo - f_hi)
        try:
            found, _ = walk.next(here, chord / length, part * length)
        except FAILED:
            break  # as near as it gets
        value, f = found.value, function(found)
        if abs(value - before) <= 1e-10 * walk.width or f == 0.0:
            break
        before = value
        if f * f_hi < 0.0:
            lo, f_lo, side = part, f, -1 if side >= 0 else side - 1
            f_hi = 0.5 * f_hi if side < -1 else f_hi
        else:
            hi, f_hi, side = part, f, 1 if side <= 0 else side + 1
            f_lo = 0.5 * f_lo if side > 1 else f_lo
    return float(value), found


def border(walk, here: Point, there: Point) -> tuple[str, float]:
    """Kind and place of a change of what happens in a period."""
    contacts = [sum(kind in CLOSING for kind, _ in p.orbit.events) for p in (here, there)]
    if contacts[0] == contacts[1]:
        return "stick-slip", bisected(walk, here, there)
    open_side, other = (here, there) if contacts[0] < contacts[1] else (there, here)
    ahead = math.copysign(1.0, other.value - open_side.value)
    for forward in (ahead, -ahead):  # a branch may turn back where it grazes
        place = grazing_of(walk, open_side.orbit, open_side.value, forward)
        if place is not None:
            return "grazing", place
    return "grazing", bisected(walk, here, there)


def bisected(walk, here: Point, there: Point) -> float:
    """The parameter at which the events of a period change, bisected along the branch to 1e-6 of the step."""
    chord = np.append(walk.apart(here, there.orbit), (there.value - here.value) / walk.width)
    length, inside, outside, value = float(np.linalg.norm(chord)), 0.0, 1.0, here.value
    last = there.value
    while outside - inside > 1e-6:
        middle = 0.5 * (inside + outside)
        try:
            found, _ = walk.next(here, chord / length, middle * length)
        except FAILED:
            outside = middle
            continue
        if same_events(found.orbit, here.orbit):
            inside, value = middle, found.value
        else:
            outside, last = middle, found.value
    return 0.5 * (value + last) if outside < 1.0 else value


# -- grazing -----------------------------------------------------------------------------------------------------------


def grazing_of(walk, orbit: PeriodicOrbit, p: float, forward: float) -> float | None:
    """Where the least gap of contacts that stay open over the period of an orbit vanishes, ahead of it; None if it does not."""
    gap = least_gap(orbit)
    if not gap < NEAR:
        return None
    value, root = p - forward * 0.1 * walk.step * walk.width, math.nan
    value = min(max(value, min(walk.span)), max(walk.span))
    try:
        other = walk.solved(orbit, value)
        for _ in range(MOST_SECANTS):
            gap_other = least_gap(other)
            if not same_events(other, orbit) or gap_other == gap:
                return None
            before, root = root, p + gap * (value - p) / (gap - gap_other)
            if not forward * (root - p) > 0.0 or abs(root - p) > walk.width:
                return None
            if abs(root - before) <= 1e-9 * walk.width:
                break
            value, other = p, orbit
            p += 0.8 * (root - p)
            orbit = walk.solved(orbit, p)
            gap = least_gap(orbit)
    except FAILED:
        pass  # as near as it gets
    return float(root) if math.isfinite(root) else None


def where_impacts_vanish(walk, before: Point, here: Point) -> tuple[float | None, float]:
    """The parameter at which the slowest impact of a period has no speed left, and the steps like the last one until there; None if that is
    not within a step ahead."""
    if not same_events(before.orbit, here.orbit):
        return None, 0.0
    speeds = [slowest_impact(point.orbit) for point in (before, here)]
    if not 0.0 < speeds[1] < speeds[0]:
        return None, 0.0
    part = speeds[1] / (speeds[0] - speeds[1])
    chord = np.append(walk.apart(before, here.orbit), (here.value - before.value) / walk.width)
    if part * np.linalg.norm(chord) > walk.step:
        return None, 0.0
    return here.value + part * (here.value - before.value), part


def slowest_impact(orbit: PeriodicOrbit) -> float:
    """The least speed at which a contact closes in a period, relative to the largest speed; zero if none does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = orbit.simulate(audit=False)
    model = orbit.system.bind(orbit.t_0, orbit.q, orbit.u)
    least = math.inf
    for event in run.events:
        if event.kind not in ("impact", "close") or event.law is None:
            continue
        column = int(np.flatnonzero(run.t >= event.t)[0])
        WT, zeta = model.directions(run.t[column], run.q[:, column])
        row = model.laws.row[event.law]
        least = min(least, abs(float(WT[row] @ run.u[:, column] + zeta[row])))
    largest = float(np.max(np.abs(run.u)))
    return least / largest if math.isfinite(least) and largest > 0.0 else 0.0


def least_gap(orbit: PeriodicOrbit) -> float:
    """The least gap over a period among contacts that never close, relative to the largest; infinite if there are none.

    Between steps the gap is the cubic of its values and rates.
    """
    closing = {name for kind, name in orbit.events if kind in CLOSING}
    scheme = replace(orbit.shooting.scheme, dt_max=orbit.period / 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = orbit.simulate(method=scheme, audit=False)
    model = orbit.system.bind(orbit.t_0, orbit.q, orbit.u)
    n, least = model.laws.n_N, math.inf
    open_ones = [
        k for k in range(n) if model.laws.name[k] not in closing and not np.any(run.modes[k] == CONSTRAINT)
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
