"""`MechanicalSystem`: what moves and what acts on it, written as plain functions, independent of any scheme."""

from __future__ import annotations

import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nonsmooth._core.derivatives.pieces import Pieces
from nonsmooth.errors import InputError, IntegrationError, ModelError, NonFiniteError, RangeError
from nonsmooth.model.drawing import Shape, as_shapes
from nonsmooth.model.elements import Contact, FrictionElement, Joint, NonholonomicConstraint, SetValuedElement
from nonsmooth.model.model import Model
from nonsmooth.model.parameters import Parameters
from nonsmooth.names import Label


class RunGuard:
    """Lets one run at a time use the compiled functions of a system: they share scratch space.

    A second run of the same thread is a function of the system calling the simulation it is part of: an error. Runs of
    other threads wait for their turn (compiled code holds the interpreter lock anyway).
    """

    def __init__(self):
        self._free()
        _guards.add(self)

    def _free(self):
        self._lock = threading.Lock()
        self._owner: int | None = None

    def __enter__(self):
        if self._owner == threading.get_ident():
            raise IntegrationError(
                "re-entrant: a function of this system called simulate() on the system that is being simulated; build a "
                "second system for the inner run."
            )
        self._lock.acquire()
        self._owner = threading.get_ident()
        return self

    def __exit__(self, *exc):
        self._owner = None
        self._lock.release()


_guards: weakref.WeakSet[RunGuard] = weakref.WeakSet()


def _free_guards():
    """In a forked child the threads that held guards are gone."""
    for guard in list(_guards):
        guard._free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_guards)


class MechanicalSystem:
    """A mechanical system M(t,q) u' = h(t,q,u) + W(t,q) lambda, q' = B(t,q) u, with set-valued laws on lambda.

    Parameters
    ----------
    mass : callable ``mass(t, q[, p]) -> (n, n)``, or a constant array
    force : callable ``force(t, q, u[, p]) -> (n,)``, or a constant number or array
        All smooth forces: applied, gyroscopic, springs, dampers.
    contacts, friction, elements, joints, nonholonomic : sequences
        Of `Contact`, `FrictionElement`, `SetValuedElement`, `Joint`, `NonholonomicConstraint`.
    params : mapping from name to number or array (or a named tuple, or a dataclass)
        Reaches every function as its argument ``p`` (``p.name``); changing a value never recompiles.
    kinematics : callable ``kinematics(t, q[, p]) -> (n_q, n_u)``
        B(t, q) where q' is not u.
    potential : callable ``potential(t, q[, p]) -> float``
        Only for energy bookkeeping.
    force_tangents : pair of callables ``(t, q, u[, p]) -> (n, n_q)`` and ``-> (n, n)``
        dh/dq and dh/du for implicit schemes; found automatically if left out.
    quaternions : sequence of int
        Where unit quaternions (w, x, y, z) begin in q; those of a start state are checked and normalised, and every step ends
        with quaternions of length one.
    name : str
    draw : sequence of shapes
        What the animated scene shows: shapes of `nonsmooth.draw`, placed by functions of q.
    sparsity : matrix, shape (n, n), or int
        Nonzero where dh/dq, dh/du and d(M a)/dq can have entries (or the number of diagonals on either side); found by probing if
        left out.
    """

    name = Label()

    def __init__(
        self,
        mass: Callable | Any,
        force: Callable | Any,
        contacts: Iterable[Contact] | Contact = (),
        friction: Iterable[FrictionElement] | FrictionElement = (),
        elements: Iterable[SetValuedElement] | SetValuedElement = (),
        joints: Iterable[Joint] | Joint = (),
        nonholonomic: Iterable[NonholonomicConstraint] | NonholonomicConstraint = (),
        params: Mapping[str, Any] | Any = None,
        kinematics: Callable | None = None,
        potential: Callable | None = None,
        force_tangents: tuple[Callable, Callable] | None = None,
        quaternions: Sequence[int] = (),
        name: str | None = None,
        draw: Iterable[Shape] | Shape = (),
        sparsity: Any = None,
    ):
        self.mass = mass if callable(mass) else _constant(mass, "mass", "a matrix", 2)
        self.force = force if callable(force) else _constant(force, "force", "a vector", 1)
        self.contacts = _collect(contacts, Contact)
        self.friction = _collect(friction, FrictionElement)
        self.elements = _collect(elements, SetValuedElement)
        self.joints = _collect(joints, Joint)
        self.nonholonomic = _collect(nonholonomic, NonholonomicConstraint)
        self.parameters = Parameters(params)
        self.kinematics = kinematics
        self.potential = potential
        self.force_tangents = force_tangents
        self.quaternions = _places(quaternions)
        self.name = name
        self.draw = as_shapes(draw)
        self.sparsity = sparsity
        self.pieces = Pieces()  # of the time axis, cut by runs
        # bound models by size of the state; shared by all systems made with `with_params`, as are the guard and the pieces
        self._family: dict[tuple[int, int], Model] = {}
        self._guard = RunGuard()
        self._check_names()

    @property
    def params(self) -> dict[str, Any]:
        """Parameter values by name (a copy)."""
        return self.parameters.as_dict()

    def with_params(self, **changes) -> MechanicalSystem:
        """The same system with other parameter values; nothing is recompiled."""
        other = MechanicalSystem.__new__(MechanicalSystem)
        other.__dict__.update(self.__dict__)
        other.parameters = self.parameters.replaced(changes)
        return other

    def bind(self, t0: float, q0, u0) -> Model:
        """The model for a start state of this size: laws counted, functions compiled, derivatives chosen."""
        q0, u0 = np.asarray(q0, dtype=np.float64), np.asarray(u0, dtype=np.float64)
        key = (q0.size, u0.size)
        if key not in self._family:
            self._family[key] = Model(self, float(t0), q0, u0)
        return self._family[key].bound_to(self, float(t0), q0, u0)

    def running(self) -> RunGuard:
        """Context of a run: one at a time for a system and its `with_params` relatives, which share compiled functions."""
        return self._guard

    def _check_names(self):
        seen: dict[str, str] = {}
        for kind, items in (
            ("contact", self.contacts), ("friction element", self.friction), ("set-valued element", self.elements),
            ("joint", self.joints), ("nonholonomic constraint", self.nonholonomic),
        ):  # fmt: skip
            for index, item in enumerate(items):
                names = [item.name] if isinstance(item.name, str) or item.name is None else item.name
                for name in names:
                    if name is None:
                        continue
                    place = f"{kind} {index}"
                    if name in seen:
                        raise ModelError(
                            f"the name {name!r} is used twice: by {seen[name]} and by {place}; rename one."
                        )
                    seen[name] = place

    def __reduce__(self):
        # copies share functions and values; locks and compiled code are made anew
        given = (
            self.mass, self.force, self.contacts, self.friction, self.elements, self.joints, self.nonholonomic,
            self.params or None, self.kinematics, self.potential, self.force_tangents, self.quaternions, self.name,
            self.draw, self.sparsity,
        )  # fmt: skip
        return MechanicalSystem, given

    def __repr__(self):
        parts = [
            f"{len(items)} {label}" for items, label in (
                (self.contacts, "contacts"), (self.friction, "friction elements"), (self.elements, "elements"),
                (self.joints, "joints"), (self.nonholonomic, "nonholonomic constraints"),
            ) if items
        ]  # fmt: skip
        title = f"MechanicalSystem {self.name}" if self.name else "MechanicalSystem"
        return f"<{title}: {', '.join(parts) or 'no laws'}>"

    def _repr_html_(self) -> str:
        from nonsmooth.results.notebook import system_table

        return system_table(self)


def _places(quaternions) -> tuple[int, ...]:
    """Where quaternions begin, checked."""
    try:
        places = tuple(operator.index(place) for place in quaternions)
    except TypeError as exc:
        raise InputError(
            f"`quaternions` is {quaternions!r}: a sequence of whole numbers is wanted, the places in q where quaternions begin."
        ) from exc
    ordered = sorted(places)
    if ordered and ordered[0] < 0:
        raise RangeError(f"`quaternions` names place {ordered[0]}: places count from the begin of q, from 0.")
    for first, second in pairwise(ordered):
        if second < first + 4:
            raise RangeError(
                f"`quaternions` names places {first} and {second}: a quaternion takes four entries of q."
            )
    return places


def _constant(value, argument, form, ndim):
    """A constant mass or force as an array."""
    try:
        if value is None:
            raise TypeError("not given")
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise InputError(f"`{argument}` is {value!r}: a function, a number or {form} is wanted.") from exc
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`{argument}` contains NaN or infinite entries: give finite numbers.")
    return array.reshape((1,) * ndim) if array.ndim == 0 else array


#: Which argument of a system takes objects of which class.
_PLACES = {
    Contact: "contacts", FrictionElement: "friction", SetValuedElement: "elements", Joint: "joints",
    NonholonomicConstraint: "nonholonomic",
}  # fmt: skip


def _collect(items, kind):
    argument = _PLACES[kind]
    # a single object of whatever class is judged like one in a list
    items = tuple(items) if isinstance(items, Iterable) else (items,)
    for item in items:
        if not isinstance(item, kind):
            other = _PLACES.get(type(item))
            cure = f"; give it as `{other}=`" if other else ""
            raise InputError(
                f"`{argument}` contains {item!r}: objects of class {kind.__name__} are wanted{cure}."
            )
        if getattr(item, "bodies", None) is not None:
            raise InputError(
                f"`bodies` of {item.name or argument!r} is for worlds: add it to its `World` instead."
            )
    return items
