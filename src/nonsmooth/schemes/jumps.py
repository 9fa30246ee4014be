"""Discontinuities in time that nobody declared, found before a run that keeps a tolerance, so that its steps end on them.

Step-size control steps over a pulse that lies between the stages of a step, and locates a jump no better than its tolerance needs in that
very step. So functions of the model that read the time are asked at many instants of the span (`_core.derivatives.jumps`), at the start
and at a state nearby, where what is multiplied by zero at the start shows: forces, surface velocities and whatever else enters
accelerations for jumps, gaps and constraints of position for jumps and kinks, since their rates enter velocities. What is found is treated
like a declared breakpoint and said once. Numbers that a function is written with are instants to look at, too: they often are where it
changes.

What cannot be found: pulses shorter than the distance of two instants whose borders stand nowhere as numbers, jumps at other states only.
Step-size control is left with these, and says what it notes (`EventDrivenRun.warn`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.calls.faults import explained, forget
from nonsmooth._core.derivatives import jumps
from nonsmooth._core.jit import MATRIX, VECTOR, address
from nonsmooth.errors import DiscontinuityWarning
from nonsmooth.model.functions import UserFunction
from nonsmooth.model.start import start_key
from nonsmooth.warn import warn_user

#: Instants of the span, intervals to look into: of a compiled function, and of one that runs in Python.
COMPILED, IN_PYTHON = (16384, 4096), (256, 32)
MOST_VALUES = 2**18  # instants times entries of a function
MOST = 65536  # suspicious intervals of a function
ROUNDS = 3  # of looking into what is left of an interval in which a jump was found
LEAST, BESIDE = 1e-8, 1e-12  # least jump, beside the size of the entry and of all entries
NOISE = 8.0  # and beside what is usual
LEAST_KINK = 1e-5  # least jump of a slope: differences are rounded
REACH = 1e-3  # of these differences, as part of the distance of two instants
NEARBY = 0.05  # how far the second state lies, as part of the scale of the start
WRITTEN = 64  # numbers of a function that are looked at
EPS = float(np.finfo(float).eps)
BLUR = 8.0 * EPS  # of an instant


class Found(NamedTuple):
    """A discontinuity in time."""

    t: float  # the first instant behind it
    what: str  # "force jumps"
    blur: float  # how well it is known: kinks are where two straight lines meet


def step_on_jumps(model, scheme, request) -> list[Found]:
    """Put undeclared discontinuities in time among the breakpoints of `request`, and say so; those that are new.

    Where something jumps at the very start, steps begin behind it; where it jumps at the end, they see what was before.
    """
    t_0, t_1 = request.t_span
    if t_1 == t_0 or not getattr(scheme, "keeps_tolerance", bool)():
        return []
    every, blur = all_jumps(model, t_0, t_1), BLUR * max(abs(t_0), abs(t_1))
    at_start = [found.t for found in every if found.t <= t_0 + blur]
    if at_start:
        request.behind_start = at_start[-1]
    inside = [found for found in every if t_0 + blur < found.t < t_1 - blur]
    declared = request.breakpoints
    new = [found for found in inside if not np.any(np.abs(declared - found.t) <= found.blur)]
    # a function that jumps behind its breakpoint (t <= t_b) has its new value at the next number only
    exact = np.array([found.t for found in inside if found.blur <= blur])
    kept = [t for t in declared if not np.any(np.abs(exact - t) <= blur)]
    at_end = [t_1] if any(found.t >= t_1 - blur for found in every) else []
    request.breakpoints = np.unique([*kept, *exact, *(found.t for found in new), *at_end])
    if new:
        warn_user(
            f"{as_text(new)}: steps end on them, but a pulse shorter than about 1e-4 of the span may be missed; declare instants of "
            "discontinuities as breakpoints=[...].",
            DiscontinuityWarning,
        )
    return new


def as_text(found: list[Found]) -> str:
    """What jumps, and when."""
    first = ", ".join(f"{one.t:.9g}" for one in found[:4]) + (", ..." if len(found) > 4 else "")
    what = "; ".join(sorted({one.what for one in found})[:4])
    return f"{what} at instants that were not declared: t = {first} ({len(found)} such instants)"


def all_jumps(model, t_0: float, t_1: float) -> list[Found]:
    """Discontinuities in time of the functions of a model, sorted; found once for all runs from the same start over the same span."""
    functions = list(_functions_of_time(model))
    if not functions:
        return []
    checked = getattr(model, "checked", {})
    key = *start_key(model, model._t0, model._q0, model._u0), t_0, t_1
    if checked.get("jumps", (None,))[0] != key:
        every = [found for function in functions for found in _jumps_of(model, *function, t_0, t_1)]
        checked["jumps"] = key, _apart(every)
    return checked["jumps"][1]


def _apart(every: list[Found]) -> list[Found]:
    """Sorted; of several at one instant the one known best, and the last of these (all functions have their new value there), with all
    that happens."""
    kept = list[Found]()
    for found in sorted(every, key=lambda found: (found.blur, -found.t)):
        near = next((k for k, one in enumerate(kept) if abs(one.t - found.t) <= found.blur), None)
        if near is None:
            kept.append(found)
        elif found.what not in kept[near].what:
            kept[near] = kept[near]._replace(what=f"{kept[near].what}, {found.what}")
    return sorted(kept)


def _functions_of_time(model) -> Iterator[tuple[UserFunction, Any, bool]]:
    """Functions of the user that read the time, what they see of the state, and whether they are positions."""
    places = _positions(model)
    for given in model.functions:
        is_whole = isinstance(given, UserFunction)
        function, seen = (
            (given, _whole) if is_whole else (getattr(given, "function", None), getattr(given, "seen", None))
        )
        if not isinstance(function, UserFunction):
            continue
        if function.depends_on("t"):
            yield function, seen, any(function is place for place in places)


def _positions(model) -> list[UserFunction]:
    """Gaps, constraints of joints, prescribed coordinates."""
    assembly = getattr(model, "assembly", None)
    found = [*model.gaps_of, *model.joints_of]
    if assembly is not None:
        found += [model.user_functions.drive_function(drive) for drive in assembly.drives]
        found += [
            place for rows in assembly.user_rows for place in (*rows.model.gaps_of, *rows.model.joints_of)
        ]
    return found


def _whole(q, u):
    return q, u


def _jumps_of(model, function: UserFunction, seen, is_place: bool, t_0: float, t_1: float) -> Iterator[Found]:
    """Discontinuities in time of one function."""
    q_0, u_0, scales = model._q0, model._u0, model.differentiator.scales
    rng = np.random.default_rng(271828)
    near = [x + NEARBY * scales[name] * rng.uniform(0.5, 1.0, x.size) for x, name in ((q_0, "q"), (u_0, "u"))]
    try:
        states = [[np.array(x, dtype=float) for x in seen(*state)] for state in ((q_0, u_0), near)]
        writer = function.writer(states[0][0], states[0][1], t_0)
    except Exception:  # what is wrong with it, the start says
        return
    count, looks = COMPILED if function.compiled else IN_PYTHON
    count = min(count, max(MOST_VALUES // int(np.prod(function.shape)), IN_PYTHON[0]))
    written = _written(function, t_0, t_1)
    instants = _instants(written, t_0, t_1, count)
    blur = BLUR * max(abs(t_0), abs(t_1))
    reach = REACH * (t_1 - t_0) / count
    states = states if function.compiled and function.depends_on("q", "u") else states[:1]
    for q, u in states:
        asked = _asked(function, writer, q, u, model.parameters.flat, t_0, t_1)
        values = _sampled(asked, instants)
        times = instants[: len(values)]
        yield from (Found(t, f"{function.name} jumps", blur) for t in _found(asked, times, values, looks))
        if is_place and reach > 64.0 * EPS * max(abs(t_0), abs(t_1)):
            slopes = np.diff(values, axis=0) / np.diff(times)[:, None]
            found = _found(asked._replace(reach=reach), times, slopes, looks)
            found = _sharpened(model, found, reach, written)
            yield from (Found(t, f"{function.name} has a kink", reach) for t in found)


def _asked(function: UserFunction, writer, q, u, p, t_0: float, t_1: float) -> jumps.Asked:
    vector = np.zeros(int(np.prod(function.shape)))
    is_matrix = len(function.shape) == 2
    matrix = vector.reshape(function.shape) if is_matrix else np.zeros((1, 1))
    at = address(writer, MATRIX if is_matrix else VECTOR)
    return jumps.Asked(at, is_matrix, 0.0, t_0, t_1, q, u, p, matrix, vector, np.zeros_like(vector))


def _sampled(asked: jumps.Asked, instants: np.ndarray) -> np.ndarray:
    """Values at these instants, shape (n, m), up to the first at which the function raises or is not finite."""
    values = np.full((instants.size, asked.vector.size), np.nan)
    _done(jumps.sample, asked, instants, values)
    finite = np.isfinite(values).all(axis=1)
    return values if finite.all() else values[: np.argmin(finite)]


def _found(asked: jumps.Asked, instants: np.ndarray, values: np.ndarray, looks: int) -> list[float]:
    """The first instants behind jumps of `values`: of the function at the instants or, with a reach, of its slopes between them."""
    if len(values) < 4:
        return []
    low, high = values.min(axis=0), values.max(axis=0)
    if np.all(low == high):
        return []
    size = np.maximum(np.abs(low), np.abs(high))
    floor = np.maximum((LEAST_KINK if asked.reach > 0.0 else LEAST) * size, BESIDE * np.max(size))
    floor = np.maximum(floor, NOISE * _usual(values))
    place, component, weight = np.empty(MOST, dtype=np.int64), np.empty(MOST, dtype=np.int64), np.empty(MOST)
    found = jumps.suspects(values, floor, high - low, place, component, weight)
    pick = np.argsort(-weight[:found], kind="stable")[:looks]
    place, component = place[pick], component[pick]
    end = instants[place + 2] - asked.reach if asked.reach > 0.0 else instants[place + 1]
    return _narrowed(asked, instants[place], end, component, floor)


def _usual(values: np.ndarray) -> np.ndarray:
    """How far changes commonly stand out among their neighbours: what rounding does, or an oscillation that no sample resolves."""
    v = [values[k : len(values) - 3 + k : 16] for k in range(4)]
    return np.median(np.abs(v[2] - v[1] - 0.5 * (v[1] - v[0] + v[3] - v[2])), axis=0)


def _narrowed(asked: jumps.Asked, low, high, component, floor) -> list[float]:
    """Jumps in the intervals [low, high], and in what is left of these beside one."""
    # (neighbouring numbers, but around zero)
    width = 2.0 * asked.reach if asked.reach > 0.0 else 0.25 * EPS * max(abs(asked.t_0), abs(asked.t_1))
    found: list[float] = []
    for _ in range(ROUNDS):
        a, b = low.copy(), high.copy()
        if not low.size or not _done(jumps.narrow, asked, a, b, component, floor[component], width):
            break
        there = np.isfinite(a)
        found += b[there].tolist()
        component = np.tile(component[there], 2)
        low, high = np.append(low[there], b[there]), np.append(a[there], high[there])
    return found


def _done(kernel, *arguments) -> bool:
    """Run a kernel that calls functions of the user; False if one of them raised: the run may never ask it there."""
    forget()
    try:
        kernel(*arguments)
    except Exception as exc:
        said = explained(exc)[0]
        if not isinstance(said, Exception):
            raise said from None
        return False
    return True


def _sharpened(model, found: list[float], reach: float, written: np.ndarray) -> list[float]:
    """Instants of kinks to rounding: numbers written in the function, or where its derivative jumps, if that is exact."""
    sharp = []
    for t in found:
        near = written[np.abs(written - t) <= reach].tolist() or _jumps_of_rates(model, t - reach, t + reach)
        sharp.append(near[0] if near else t)
    return sharp


def _jumps_of_rates(model, a: float, b: float) -> list[float]:
    """Jumps between a and b of what relative velocities have from moving surfaces."""
    if not model.size().has_zeta:
        return []
    zeta, at = np.zeros(model.laws.n_rows), address(model.core.zeta, VECTOR)
    state = model._q0, model._u0, model.parameters.flat
    asked = jumps.Asked(at, False, 0.0, a, b, *state, zeta[None], zeta, zeta.copy())
    values = _sampled(asked, np.array([a, b]))
    if len(values) < 2:
        return []
    floor = LEAST_KINK * np.max(np.abs(values), axis=0)
    rows = np.flatnonzero(np.abs(values[1] - values[0]) > floor)
    return _narrowed(asked, np.full(rows.size, a), np.full(rows.size, b), rows, floor)


def _written(function: UserFunction, t_0: float, t_1: float) -> np.ndarray:
    """Instants that stand in a function as numbers, sorted."""
    return np.array(sorted({x for x in _numbers(function) if t_0 < x < t_1})[:WRITTEN])


def _instants(written: np.ndarray, t_0: float, t_1: float, count: int) -> np.ndarray:
    """Instants at equal distances, and those that are written in the function, with the middles between them."""
    instants = np.linspace(t_0, t_1, count)
    more = np.append(written, 0.5 * (written[1:] + written[:-1]))
    return np.unique(np.append(instants, more)) if more.size else instants


def _numbers(function: UserFunction) -> Iterator[float]:
    """Numbers in the code of a function, in what it closes over, and its parameters."""
    code = getattr(function.python, "__code__", None)
    if code is None:
        return
    cells = function.python.__closure__ or ()
    known = [function.python.__globals__.get(name) for name in code.co_names]
    values = [*code.co_consts, *(cell.cell_contents for cell in cells), *known, function.parameters.flat]
    for value in values:
        if isinstance(value, int | float | tuple | list | np.ndarray | np.generic):
            try:
                array = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                continue
            yield from array.ravel()[:WRITTEN].tolist()
