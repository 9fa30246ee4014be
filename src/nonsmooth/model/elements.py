"""What a user hangs on a mechanical system: contacts, friction elements, other set-valued laws, constraints.

These classes only hold and check what was given. `MechanicalSystem` turns them into laws and functions.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, RangeError
from nonsmooth.names import Label

NO_FRICTION = 1e-100


def without_underflow(mu: np.ndarray) -> np.ndarray:
    """Friction coefficients, those so small that mu P_N may underflow replaced by zero.

    Such friction would be there in some units and not in others.
    """
    return np.where(mu < NO_FRICTION, 0.0, mu)


def check_coefficient(
    values, name: str, owner: str, upper: float | None, allow_infinite: bool = False
) -> np.ndarray:
    """A coefficient or an array of them as float64, each in [0, upper]."""
    try:
        if values is None:  # NumPy would take it for NaN
            raise TypeError("None is no number")
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`{name}` of {owner} is {values!r}: give a number, or an array with one per contact."
        ) from exc
    if array.ndim != 1:
        raise InputError(
            f"`{name}` of {owner} has {array.ndim} dimensions: give a number, or one number per contact."
        )
    for value in array:
        if math.isnan(value) or (math.isinf(value) and not (allow_infinite and value > 0)):
            raise NonFiniteError(f"`{name}` of {owner} is {value}: it must be a finite number.")
        if value < 0:
            raise RangeError(f"`{name}` of {owner} is {value:g}: it must not be negative.")
        if upper is not None and value > upper:
            raise RangeError(
                f"`{name}` of {owner} is {value:g}: it must lie between 0 and {upper:g} (a larger one creates energy)."
            )
    return array


def arguments_of(function: Callable) -> int:
    """How many arguments a coefficient given as a function takes."""
    try:
        return len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return 1


def _coefficient(values, name: str, owner: str, upper: float | None, of_state: bool = False):
    """A coefficient as it is kept: an array, or a function of the parameters (of the state as well, where that is allowed)."""
    if not callable(values):
        return check_coefficient(values, name, owner, upper, allow_infinite=upper is None)
    n = arguments_of(values)
    if n == 1 or (of_state and n in (3, 4)):
        return values
    forms = f"{name}(p)" + (f", {name}(t, q, u) or {name}(t, q, u, p)" if of_state else "")
    raise InputError(f"`{name}` of {owner} is a function of {n} arguments: {forms} is wanted.")


def _owner(kind: str, name) -> str:
    return f"{kind} {name!r}" if name else kind


def _check_function(value, attribute: str, owner: str, optional: bool = True) -> None:
    if not callable(value) and not (optional and value is None):
        raise InputError(f"`{attribute}` of {owner} is {value!r}: a function is wanted.")


def _function_or_constant(value, attribute: str, owner: str, optional: bool = True):
    """What may be given as a function of (t, q) or, where it does not change, as a number or an array."""
    if callable(value) or (optional and value is None):
        return value
    try:
        if value is None:  # NumPy would take it for NaN
            raise TypeError("None is no number")
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(
            f"`{attribute}` of {owner} is {value!r}: a function, a number or an array is wanted."
        ) from exc
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(
            f"`{attribute}` of {owner} contains NaN or infinite entries: give finite numbers."
        )
    return array


@dataclass
class Contact:
    """Unilateral contact(s), with restitution and Coulomb friction.

    Parameters
    ----------
    gap : callable ``gap(t, q[, p]) -> float or (m,)``
        Gap functions, positive when open. With a trailing ``out`` they are written instead of returned.
    restitution : float or (m,), or callable ``restitution(p)``
        Newton's coefficient e_N in [0, 1].
    friction : float or (m,), or callable ``friction(p)`` or ``friction(t, q, u[, p]) -> float or (m,)``
        Coulomb coefficient mu >= 0; ``inf`` means "always sticks while closed", less than 1e-100 counts as 0. A function of the
        state (Stribeck) is evaluated where bounds of forces are: with the true normal force, in every scheme.
    tangent : callable ``tangent(t, q[, p]) -> (n,) or (n, k m)``, or a constant array
        Directions W_T in columns, k = 1 (line) or 2 (isotropic disk) per contact.
    surface_velocity : callable ``(t, q[, p]) -> float or (k m,)``, or a constant
        Added to W_T^T u, e.g. minus the speed of a belt.
    tangential_restitution : float or (m,), or callable of ``p``
        e_T in [0, 1].
    jacobian : callable ``jacobian(t, q[, p]) -> (m, n_q)``, or a constant array
        dg/dq; found automatically if left out.
    jacobian_rate : callable ``(t, q, u[, p]) -> (m,)``
        d/dt(W_N^T) u + d zeta/dt, needed by acceleration-level schemes; found automatically if left out.
    tangent_rate : callable ``(t, q, u[, p]) -> (k m,)``
        The same for the tangents, d/dt(W_T^T) u plus the rate of `surface_velocity`.
    size : int
        Number of contacts m, only needed if it cannot be seen from `gap`.
    name : str or sequence of str
    bodies : sequence of one or two bodies
        In a `World`: whose coordinates and velocities, one body after the other, the functions see as q and u.
    """

    gap: Callable
    restitution: Any = 0.0
    friction: Any = 0.0
    tangent: Any = None
    surface_velocity: Any = None
    tangential_restitution: Any = 0.0
    jacobian: Any = None
    jacobian_rate: Callable | None = None
    size: int | None = None
    name: Any = Label(several=True)
    tangent_rate: Callable | None = None
    bodies: Any = None

    def __post_init__(self):
        owner = _owner("contact", self.name)
        self.restitution = _coefficient(self.restitution, "restitution", owner, 1.0)
        self.friction = _coefficient(self.friction, "friction", owner, None, of_state=True)
        self.tangential_restitution = _coefficient(
            self.tangential_restitution, "tangential_restitution", owner, 1.0
        )
        if not callable(self.friction):
            self.friction = without_underflow(self.friction)
        for attribute in ("gap", "jacobian_rate", "tangent_rate"):
            _check_function(getattr(self, attribute), attribute, owner)
        self.tangent = _function_or_constant(self.tangent, "tangent", owner)
        self.surface_velocity = _function_or_constant(self.surface_velocity, "surface_velocity", owner)
        self.jacobian = _function_or_constant(self.jacobian, "jacobian", owner)
        if self.gap is None:
            raise InputError(f"`gap` of {owner} is missing.")
        if self.has_friction and self.tangent is None:
            given = "a function" if callable(self.friction) else self.friction.tolist()
            raise InputError(
                f"{owner} has friction = {given} but no `tangent`: give the sliding directions W_T."
            )

    @property
    def has_friction(self) -> bool:
        """Whether the contact has friction for some values of its parameters and some states."""
        return callable(self.friction) or bool(np.any(self.friction > 0))


@dataclass
class FrictionElement:
    """Dry friction with a given force limit, always active.

    Parameters
    ----------
    direction : callable ``direction(t, q[, p]) -> (n,) or (n, k)``, or a constant array
        k = 1 (line) or 2 (disk) directions in columns.
    limit : float or callable ``limit(t, q, u[, p]) -> float``
        Largest friction force.
    surface_velocity : callable ``(t, q[, p]) -> float or (k,)``, or a constant
    name : str
    direction_rate : callable ``(t, q, u[, p]) -> (k,)``
        d/dt(W^T) u plus the rate of `surface_velocity`; found automatically if left out.
    """

    direction: Any
    limit: Any
    surface_velocity: Any = None
    name: Any = Label(several=True)
    direction_rate: Callable | None = None

    def __post_init__(self):
        owner = _owner("friction element", self.name)
        self.direction = _function_or_constant(self.direction, "direction", owner, optional=False)
        self.surface_velocity = _function_or_constant(self.surface_velocity, "surface_velocity", owner)
        _check_function(self.direction_rate, "direction_rate", owner)
        if not callable(self.limit):
            self.limit = float(check_coefficient(self.limit, "limit", owner, None)[0])


@dataclass(frozen=True)
class Interval:
    """The forces [lower, upper]; a pre-stressed spring, a one-sided damper. Infinite ends are allowed."""

    lower: float
    upper: float

    def __post_init__(self):
        lower, upper = float(self.lower), float(self.upper)
        if math.isnan(lower) or math.isnan(upper):
            raise NonFiniteError(f"Interval({self.lower}, {self.upper}): the ends must be numbers.")
        if not lower <= upper:
            raise RangeError(
                f"Interval({self.lower}, {self.upper}): the lower end must not exceed the upper one."
            )


@dataclass(frozen=True)
class Ball:
    """The forces of size at most `radius`."""

    radius: float

    def __post_init__(self):
        check_coefficient(self.radius, "radius", "Ball", None)


@dataclass(frozen=True)
class ConvexSet:
    """A convex set of forces given by its projection ``project(x) -> nearest point``, x of shape (k,), k <= 3."""

    project: Callable

    def __post_init__(self):
        if not callable(self.project):
            raise InputError(f"`project` of a ConvexSet is {self.project!r}: a function is wanted.")


@dataclass
class SetValuedElement:
    """Any other set-valued law -(gamma_E + e gamma_B) in N_C(P), C a convex set of forces.

    Parameters
    ----------
    direction : callable ``direction(t, q[, p]) -> (n,) or (n, k)``, or a constant array
    set : Interval, Ball or ConvexSet
    restitution : float in [0, 1]
    name : str
    direction_rate : callable ``(t, q, u[, p]) -> (k,)``
        d/dt(W^T) u; found automatically if left out.
    """

    direction: Any
    set: Interval | Ball | ConvexSet
    restitution: float = 0.0
    name: Any = Label(several=True)
    direction_rate: Callable | None = None

    def __post_init__(self):
        owner = _owner("set-valued element", self.name)
        self.direction = _function_or_constant(self.direction, "direction", owner, optional=False)
        _check_function(self.direction_rate, "direction_rate", owner)
        if not isinstance(self.set, Interval | Ball | ConvexSet):
            raise InputError(f"`set` of {owner} is {self.set!r}: give an Interval, a Ball or a ConvexSet.")
        self.restitution = float(check_coefficient(self.restitution, "restitution", owner, 1.0)[0])


@dataclass
class Joint:
    """Holonomic constraint(s) ``constraint(t, q[, p]) = 0``, shape (m,).

    `jacobian` (m, n_q) and ``jacobian_rate(t, q, u[, p])``, shape (m,), d/dt(W^T) u + d zeta/dt, are found if left out. In a `World`
    `bodies`, one or two of them, are those whose coordinates, one after the other, the functions see as q.
    """

    constraint: Callable
    jacobian: Any = None
    name: Any = Label(several=True)
    jacobian_rate: Callable | None = None
    bodies: Any = None

    def __post_init__(self):
        owner = _owner("joint", self.name)
        _check_function(self.constraint, "constraint", owner, optional=False)
        self.jacobian = _function_or_constant(self.jacobian, "jacobian", owner)
        _check_function(self.jacobian_rate, "jacobian_rate", owner)


@dataclass
class NonholonomicConstraint:
    """Constraint(s) ``constraint(t, q, u[, p]) = 0``, shape (m,), linear in the velocities.

    ``rate(t, q, u[, p])``, shape (m,), is the rate of the constraint at fixed u; found if left out. `bodies` as those of a `Joint`.
    """

    constraint: Callable
    name: Any = Label(several=True)
    rate: Callable | None = None
    bodies: Any = None

    def __post_init__(self):
        owner = _owner("nonholonomic constraint", self.name)
        _check_function(self.constraint, "constraint", owner, optional=False)
        _check_function(self.rate, "rate", owner)
