"""Checks of what a user says about a switch, made while a run goes on."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.events import records as core
from nonsmooth.errors import EventError, InputError, RateWarning, ShapeError
from nonsmooth.warn import warn_user


def check_switches(run):
    """Switching functions are numbers: a truth value has no sign that changes, its switch would never act."""
    t, y = run.t, run.y
    for k, (g, extra, size) in enumerate(run.bound.plan.g_calls):
        value = np.asarray(getattr(g, "py_func", g)(t, y.copy(), *extra))
        name = run.bound.switches[k].names(k)[0]
        if value.dtype.kind not in "fiu":
            raise InputError(
                f"`g` of {name!r} returned values of type {value.dtype}: real numbers are wanted, such as y[0] - 1 for y[0] > 1."
            )
        if value.size not in (1, size):
            raise ShapeError(f"`g` of {name!r} returned shape {value.shape}: {size} value(s) are wanted.")


def _differ(given: float, found: float) -> bool:
    """Whether a given rate is not the one found (by a difference along the flow)."""
    return not abs(given - found) <= 1e-3 * (abs(found) + abs(given)) + 1e-6


def _given_rates(run, k, t, y, slope) -> np.ndarray:
    """What `rate` of switch k says, shape (size,)."""
    switch = run.bound.switches[k]
    try:
        given = np.asarray(switch.rate(t, y.copy(), slope.copy()), dtype=float).ravel()
    except Exception as exc:
        exc.add_note(f"raised in `rate` of {switch.names(k)[0]!r} at t = {t:.9g}")
        raise
    if given.size != switch.size:
        raise ShapeError(
            f"`rate` of {switch.names(k)[0]!r} gave {given.size} values; {switch.size} are wanted."
        )
    return given


def check_rates(run):
    """A given rate must agree with the one found along the flow."""
    for k, first in run.bound.plan.rates:
        for q, given in enumerate(_given_rates(run, k, run.t, run.y, run.slope)):
            found = run.rate(first + q)
            if _differ(given, found):
                raise EventError(
                    f"`rate` of switch {run.bound.names[first + q]!r} is {given:.6g} at the start; g changes at "
                    f"{found:.6g} along the solution: correct it or leave it out."
                )


def check_rates_at_events(run, rows, log):
    """The same at every located event. The found rate is the one that is used: no event is lost or misplaced."""
    for k, first in run.bound.plan.rates:
        for event, y in zip(log.event, log.before):
            i, t = int(event["switch"]), float(event["t"])
            located = event["iterations"] > 0 and event["kind"] == core.EV_SWITCH
            at = np.flatnonzero((rows.t == t) & (rows.jump == 0))
            if not (first <= i < first + run.bound.switches[k].size and located and at.size) or run.held:
                continue
            modes = rows.modes[at[0]]
            given = _given_rates(run, k, t, y, run.bound.f_in(t, y.copy(), modes))[i - first]
            if _differ(given, event["rate"]) and (first, "rate") not in run.warned:
                run.warned.add((first, "rate"))
                warn_user(
                    f"`rate` of switch {run.bound.names[i]!r} is {given:.6g} at its event at t = {t:.9g}; g changes at "
                    f"{event['rate']:.6g} along the solution, which is what was used: correct it or leave it out.",
                    RateWarning,
                )


def check_not_zero(run, g):
    """A switching function that is zero wherever it is tried is a mistake."""
    zero = g == 0.0
    if not zero.any():
        return
    rng = np.random.default_rng(1)
    probes = 5
    for k in range(probes):
        if not zero.any():
            return
        move = 0.1 * (k + 1) * (np.abs(run.y) + 1.0) * rng.uniform(-1.0, 1.0, run.y.size)
        try:
            zero &= run.bound.g_values(run.t + 0.01 * (k + 1) * run.scale, run.y + move) == 0.0
        except Exception:  # outside its domain: not a constant
            return
    if zero.any():
        i = int(np.flatnonzero(zero)[0])
        raise EventError(
            f"switch {run.bound.names[i]!r} is constant zero over {probes + 1} probes around the start: g must vanish at "
            "events only."
        )
