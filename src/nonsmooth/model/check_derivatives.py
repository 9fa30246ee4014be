"""Derivatives given by the user, compared with differences of the functions they belong to.

A Jacobian of the wrong sign pushes bodies through walls, and no residual shows it. At the start a contradiction is an error; at
instants of a run it is a warning, because a kink of the function may lie there. One point may be a kink: only a contradiction at
most of the points counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from nonsmooth.errors import DerivativeWarning, ModelError
from nonsmooth.model.functions import UserFunction
from nonsmooth.warn import warn_user

#: Steps of the differences, as fractions of the size of what is varied; an entry is right if one of them agrees.
STEPS = (1e-3, 1e-5, 1e-7)
AGREEMENT = 1e-4
EPS = np.finfo(np.float64).eps
POINTS = 5


class Given(NamedTuple):
    """A derivative the user has given: `derivative` of `function` by "q" or "u"."""

    derivative: UserFunction
    function: UserFunction
    variable: str


def given_derivatives(model) -> list[Given]:
    """All Jacobians of gaps and joints, and tangents of the force, that the user has given."""
    pairs = [*zip(model.jacobians_of, model.gaps_of), *zip(model.joint_jacobians_of, model.joints_of)]
    found = [Given(jacobian, f, "q") for jacobian, f in pairs if jacobian is not None]
    if model.system.force_tangents is not None:
        for function, variable, n in zip(model.system.force_tangents, "qu", (model.n_q, model.n_u)):
            tangent = UserFunction(function, f"dh/d{variable}", (model.n_u, n), True, model.parameters)
            found.append(Given(tangent, model.f_force, variable))
    return found


def check_at_start(model, t: float, q: np.ndarray, u: np.ndarray) -> None:
    """`ModelError` if a given derivative contradicts differences at the start and nearby."""
    rng = np.random.default_rng(1744)
    nearby = [(t + 1e-3 * k, _moved(q, rng, 0.02), _moved(u, rng, 0.5, 1.0)) for k in range(1, 3)]
    for fault in contradictions(model, [(t, q, u), *nearby]):
        raise ModelError(fault + " Correct it, or leave it out: it is found automatically.")


def check_along(model, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> list[str]:
    """Sentences about given derivatives that contradict differences at instants of a run, each also a `DerivativeWarning`."""
    chosen = np.unique(np.linspace(0, t.size - 1, POINTS).astype(int)) if t.size else ()
    points = [(float(t[k]), q[:, k].copy(), u[:, k].copy()) for k in chosen]
    said = list(contradictions(model, points))
    for fault in said:
        warn_user(fault, DerivativeWarning)
    return said


def contradictions(model, points) -> Iterator[str]:
    """What is wrong with the derivatives the user has given, at most of the `points`."""
    p = model.parameters.flat
    for given in given_derivatives(model):
        fault = _mostly(partial(_worst_entry, given, p), points)
        if fault is not None:
            yield _sentence(given.derivative.name, given.function.name, *fault)
    for rows in (rows for rows in model._quadratic.rows if rows.rate is not None):
        fault = _mostly(partial(_worst_rate, model, rows, p), points)
        if fault is not None:
            yield _sentence(rows.rate.name, f"the relative velocity of {rows.name}", *fault)


def _mostly(worst, points):
    """Where `worst` finds an entry wrong at most of the points: the first, with its time; else None."""
    wrong, tried = [], 0
    for t, q, u in points:
        try:
            with np.errstate(all="ignore"):
                entry = worst(t, q, u)
        except (ArithmeticError, ValueError):  # outside the domain of the function: says nothing
            continue
        tried += 1
        if entry is not None:
            wrong.append((t, *entry))
    return wrong[0] if 2 * len(wrong) > tried else None


def _sentence(derivative, function, t, place, value, found):
    return f"{derivative} has {value:.9g} in entry {place} at t = {t:.6g}, but differences of {function} give {found:.9g}."


def _worst_rate(model, rows, p, t, q, u):
    """The same as `_worst_entry` for d/dt(W^T) u + d zeta/dt."""
    value = rows.rate.call(t, q, u, p)
    found, error = model._quadratic.differences(rows, t, q, u, p)
    size = max(np.max(np.abs(value), initial=0.0), np.max(np.abs(found), initial=0.0))
    excess = np.abs(value - found) - (AGREEMENT * size + 100.0 * error)
    k = int(np.argmax(excess))
    return ((k,), float(value[k]), float(found[k])) if excess[k] > 0.0 else None


def _worst_entry(given: Given, p, t, q, u):
    """Place, given and found value of the entry that is most wrong; None where all agree."""
    J = given.derivative.call(t, q, u, p)
    x = q if given.variable == "q" else u
    scale = np.where(np.abs(x) > 0.0, np.abs(x), max(float(np.max(np.abs(x), initial=0.0)), 1.0))
    size = float(np.max(np.abs(given.function.call(t, q, u, p)), initial=0.0))
    excess, best = np.full(J.shape, np.inf), J.copy()
    for step in STEPS:
        D = _differences(given, t, q, u, p, step * scale)
        noise = 100 * EPS * size / (step * scale)
        allowed = AGREEMENT * max(np.max(np.abs(D), initial=0.0), np.max(np.abs(J), initial=0.0)) + noise
        nearer = np.abs(J - D) / np.maximum(allowed, 1e-300) < excess
        excess = np.where(nearer, np.abs(J - D) / np.maximum(allowed, 1e-300), excess)
        best = np.where(nearer, D, best)
    if not np.all(np.isfinite(excess)) or np.max(excess, initial=0.0) <= 1.0:
        return None
    place = tuple(int(k) for k in np.unravel_index(np.argmax(excess), J.shape))
    return place, float(J[place]), float(best[place])


def _differences(given: Given, t, q, u, p, steps):
    """Central differences of the function, shape (m, n)."""
    call: Callable = given.function.call
    columns = []
    for j, h in enumerate(steps):
        e = np.zeros(steps.size)
        e[j] = h
        if given.variable == "q":
            columns.append((call(t, q + e, u, p) - call(t, q - e, u, p)) / (2.0 * h))
        else:
            columns.append((call(t, q, u + e, p) - call(t, q, u - e, p)) / (2.0 * h))
    return np.array(columns).T


def _moved(x, rng, reach, least=1e-3):
    """A point near `x`."""
    size = max(float(np.max(np.abs(x), initial=0.0)), least)
    return x + reach * size * rng.uniform(-1.0, 1.0, x.size)
