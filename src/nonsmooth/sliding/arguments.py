"""Arguments of `solve_filippov`, checked before anything is computed: numbers, or typed errors."""

from __future__ import annotations

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError, ShapeError


def number(value, name, wanted="a number"):
    """`value` as a float."""
    if isinstance(value, (float, int)):
        return float(value)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or array.shape != () or isinstance(value, str):
        raise InputError(f"solve_filippov: {name} = {value!r} must be {wanted}")
    return float(array)


def positive(value, name, *, infinite=False):
    """`value` as a positive float; None stays None."""
    if value is None:
        return None
    x = number(value, name, "a positive number")
    if not x > 0.0 or (x == np.inf and not infinite):
        raise RangeError(
            f"solve_filippov: {name} = {value!r} must be positive" + ("" if infinite else " and finite")
        )
    return x


def count(value, name):
    """`value` as a non-negative int."""
    x = number(value, name, "an integer")
    if not x >= 0.0 or x != np.floor(x) or x == np.inf:
        raise RangeError(f"solve_filippov: {name} = {value!r} must be a non-negative integer")
    return int(x)


def start(x0):
    """The start state as a float64 vector."""
    try:
        x = np.array(x0, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError) as error:
        raise InputError(f"solve_filippov: x0 = {x0!r} must be a vector of real numbers") from error
    if x.ndim != 1:
        raise ShapeError(f"solve_filippov: x0 must be a vector, got shape {x.shape}")
    if x.size == 0:
        raise ShapeError("solve_filippov: x0 is empty, wanted at least one state")
    if not np.all(np.isfinite(x)):
        k = int(np.flatnonzero(~np.isfinite(x))[0])
        raise NonFiniteError(f"solve_filippov: x0[{k}] = {x[k]} must be finite")
    return x


def span(t_span):
    """(t0, t1), finite and ascending."""
    try:
        t0, t1 = (float(t) for t in t_span)
    except (TypeError, ValueError) as error:
        raise InputError(f"solve_filippov: t_span = {t_span!r} must be two numbers") from error
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise NonFiniteError(f"solve_filippov: t_span = ({t0}, {t1}) must be finite")
    if t1 < t0:
        raise InputError(f"solve_filippov: t_span = ({t0}, {t1}) runs backwards; sliding cannot be undone")
    return t0, t1


def relative_tolerance(rtol):
    """rtol in (0, 1], not below what rounding allows."""
    rtol = number(rtol, "rtol")
    if not (np.isfinite(rtol) and 0.0 < rtol <= 1.0):
        raise RangeError(f"solve_filippov: rtol = {rtol} must lie in (0, 1]")
    return max(rtol, 1e-14)


def absolute_tolerance(atol, rtol, compiled, t0, t1, x):
    """atol, one number or one per state; by default from the size of the start or of what the field makes of it."""
    if atol is None:
        speed = max((float(np.abs(compiled.python.field(k, t0, x)).max(initial=0.0))
                     for k in range(len(compiled.python.fields) + 1)), default=0.0)  # fmt: skip
        atol = rtol * (max(float(np.abs(x).max(initial=0.0)), 0.01 * speed * (t1 - t0)) or 1.0)
    try:
        atol = np.asarray(atol, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"solve_filippov: atol = {atol!r} must be a number or one for every state"
        ) from error
    if atol.shape not in ((), (x.size,)) or not np.all(np.isfinite(atol)) or np.any(atol < 0.0):
        raise RangeError(
            f"solve_filippov: atol = {atol} must be non-negative and finite, one number or {x.size}"
        )
    return atol


def instants(t_eval, t0, t1):
    """t_eval as an array, or None."""
    if t_eval is None:
        return None
    try:
        times = np.array(t_eval, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"solve_filippov: t_eval = {t_eval!r} must be a sequence of numbers") from error
    good = times.ndim == 1 and np.all(np.diff(times) >= 0) and np.all((times >= t0) & (times <= t1))
    if not good:  # also where an entry is not a number
        raise InputError(f"solve_filippov: t_eval must be ascending instants inside ({t0}, {t1})")
    return times


def steps(t0, t1, dt, first_step, max_step, max_steps, max_events):
    """Lengths and numbers of steps, by the names of `Options`: at most a twenty-fifth of the span, unless more is asked for."""
    first_step = positive(first_step, "first_step")
    max_step = positive(max_step, "max_step", infinite=True)
    max_steps, max_events = count(max_steps, "max_steps"), count(max_events, "max_events")
    if max_step == np.inf and dt is None:
        max_step = max((t1 - t0) / 25, 32.0 * np.spacing(max(abs(t0), abs(t1))))
    return dict(
        first_step=dt or first_step or 0.0, max_step=max_step, max_steps=max_steps, max_events=max_events
    )


def switching(choose, location, epsilon):
    """What is asked of switching points, by the names of `Options`."""
    if choose is not None and not callable(choose):
        raise InputError("solve_filippov: choose must be a function (t, x, candidates) -> index")
    if location is not None and location != "dense" and not (isinstance(location, float) and location > 0.0):
        raise RangeError(f"solve_filippov: location = {location!r} must be a positive number or 'dense'")
    return dict(choose=choose, location=location, epsilon=positive(epsilon, "epsilon"))
