"""Springs, dampers, torsion springs and loads. Points are given in the world, as they are at the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.model.bodies.body import Body
from nonsmooth.model.bodies.check import flag, in_space, number, vector
from nonsmooth.model.bodies.element import Element, Side, across
from nonsmooth.names import Label, short


class Spring(Element):
    """A spring, with a damper beside it, between a point of a and one of b.

    Parameters
    ----------
    a, b : Body or world.ground
    stiffness, damping : float
    length : float
        Without force; default: the distance at the start.
    at_a, at_b : (dim,)
        Its ends; default: where the bodies are.
    force : callable ``f(t, length, rate[, p]) -> float``
        The tension instead of stiffness and damping.
    name : str, optional
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        stiffness: float = 0.0,
        length: float | None = None,
        damping: float = 0.0,
        *,
        at_a: Any = None,
        at_b: Any = None,
        force: Callable | None = None,
        name: str | None = None,
    ):
        super().__init__(a, b, name)
        self.stiffness = number(stiffness, "stiffness", self.owner)
        self.damping = number(damping, "damping", self.owner)
        self.length = None if length is None else number(length, "length", self.owner, 0.0)
        self.at_a, self.at_b, self.force = at_a, at_b, _law(force, "force", self.owner)

    def ends(self, a: Side, b: Side, dim: int) -> tuple[np.ndarray, np.ndarray]:
        return (
            self.place(self.at_a, dim, "at_a", a.placed.x),
            self.place(self.at_b, dim, "at_b", b.placed.x),
        )

    def numbers(self, a: Side, b: Side, dim: int) -> np.ndarray:
        at_a, at_b = self.ends(a, b, dim)
        length = float(np.linalg.norm(at_b - at_a)) if self.length is None else self.length
        return np.concatenate([a.point(at_a), b.point(at_b), [self.stiffness, length, self.damping]])


class Damper(Spring):
    """A damper between a point of a and one of b: the tension is `damping` times the rate of their distance."""

    def __init__(
        self, a: Any, b: Any, damping: float, *, at_a: Any = None, at_b: Any = None, name: str | None = None
    ):
        super().__init__(a, b, 0.0, None, damping, at_a=at_a, at_b=at_b, name=name)


class TorsionSpring(Element):
    """A spring and damper against the turning of b against a about `axis` (in the plane always the normal).

    Parameters
    ----------
    stiffness, damping : float
    angle : float
        Without torque, counted from the start.
    axis : (3,)
    torque : callable ``f(t, angle, rate[, p]) -> float``
        That turns b back, instead of stiffness and damping.
    name : str, optional
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        stiffness: float = 0.0,
        angle: float = 0.0,
        damping: float = 0.0,
        *,
        axis: Any = None,
        torque: Callable | None = None,
        name: str | None = None,
    ):
        super().__init__(a, b, name)
        self.stiffness = number(stiffness, "stiffness", self.owner)
        self.damping = number(damping, "damping", self.owner)
        self.angle, self.axis = number(angle, "angle", self.owner), axis
        self.force = _law(torque, "torque", self.owner)

    def numbers(self, a: Side, b: Side, dim: int) -> np.ndarray:
        self.wants_turning(a, b)
        n_1, n_2 = across(self.normal_or_axis(self.axis, dim))
        start = b.placed.phi - a.placed.phi if dim == 2 else 0.0
        last = [self.stiffness, start + self.angle, self.damping]
        return np.concatenate([a.along(n_1), a.along(n_2), b.along(n_1), last])


class Load:
    """A force at a point of a body and a torque: constant, or functions of t and of the state of the body.

    Parameters
    ----------
    body : Body
    force : (dim,), or callable ``f(t, q, u[, p]) -> (dim,)``
        q and u are the coordinates and velocities of this body alone.
    torque : float in the plane, (3,) in space, or such a function
    at : (dim,)
        Where the force acts, in the world at the start; default: the centre of mass.
    carried : bool
        Whether force and torque turn with the body (follower load).
    name : str, optional
    """

    name = Label()

    def __init__(
        self,
        body: Any,
        force: Any = None,
        torque: Any = None,
        *,
        at: Any = None,
        carried: bool = False,
        name: str | None = None,
    ):
        self.name = name
        if not isinstance(body, Body):
            raise InputError(f"{self.owner} acts on {body!r}: a body is wanted.")
        if force is None and torque is None:
            raise InputError(f"{self.owner} has neither `force` nor `torque`: one of them is wanted.")
        self.body, self.force, self.torque, self.at = body, force, torque, at
        self.carried = flag(carried, "carried", self.owner)
        self.world: Any = None

    @property
    def owner(self) -> str:
        return f"Load {self.name!r}" if self.name else "a Load without name"

    def __repr__(self) -> str:
        return short(self)

    @property
    def bodies(self) -> tuple[Any, ...]:
        return (self.body,)

    def numbers(self, b: Side, dim: int) -> np.ndarray:
        """Point, whether it is carried, force and torque (zero where a function says them)."""
        at = b.placed.x if self.at is None else in_space(vector(self.at, dim, "at", self.owner))
        F, T = np.zeros(3), np.zeros(3)
        if self.force is not None and not callable(self.force):
            F = in_space(vector(self.force, dim, "force", self.owner))
        if self.torque is not None and not callable(self.torque):
            if dim == 2:
                T[2] = number(self.torque, "torque", self.owner)
            else:
                T = vector(self.torque, 3, "torque", self.owner)
        if self.torque is not None and not b.turns:
            raise InputError(f"{self.owner} has a torque, but {b.owner} is a point mass.")
        return np.concatenate([b.point(at), [float(self.carried)], F, T])


def _law(function, name, owner):
    if function is not None and not callable(function):
        raise InputError(f"`{name}` of {owner} is {function!r}: a function is wanted.")
    return function
