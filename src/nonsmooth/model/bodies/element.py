"""What joints, springs and loads have in common: two bodies, a name, points given in the world at the start."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.bodies.frames import POINT
from nonsmooth.errors import InputError, ModelError
from nonsmooth.model.bodies.body import Body, Ground, Placed
from nonsmooth.model.bodies.check import direction, in_space, vector
from nonsmooth.names import Label, short


class Side(NamedTuple):
    """One body of an element, in the world: its number in the table of frames and where it starts."""

    number: int
    placed: Placed
    owner: str

    def point(self, at: np.ndarray) -> np.ndarray:
        """A place in the world as point of the body."""
        return self.placed.R.T @ (at - self.placed.x)

    def along(self, e: np.ndarray) -> np.ndarray:
        """A direction in the world as direction of the body."""
        return self.placed.R.T @ e

    @property
    def turns(self) -> bool:
        return self.placed.turns

    @property
    def is_point(self) -> bool:
        """A point mass or a node of a cable: it moves, and has no rotation."""
        return self.placed.kind == POINT


class Element:
    """Base of everything that acts between two bodies."""

    name = Label()

    def __init__(self, a: Any, b: Any, name: str | None):
        self.a, self.b, self.name = a, b, name
        for body in (a, b):
            if not isinstance(body, Body | Ground):
                raise InputError(
                    f"{self.owner} joins {body!r}: bodies of the world, or world.ground, are wanted."
                )
        if a is b:
            raise ModelError(f"{self.owner} joins {a.owner} to itself: two different bodies are wanted.")
        self.world: Any = None

    @property
    def owner(self) -> str:
        kind = type(self).__name__
        return f"{kind} {self.name!r}" if self.name else f"a {kind} without name"

    @property
    def bodies(self) -> tuple[Any, ...]:
        return self.a, self.b

    def __repr__(self) -> str:
        return short(self)

    def place(self, value: Any, dim: int, name: str, default: np.ndarray) -> np.ndarray:
        """A place in the world, in space."""
        return default if value is None else in_space(vector(value, dim, name, self.owner))

    def axis_in(self, value: Any, dim: int, name: str = "axis") -> np.ndarray:
        """A direction in the world, in space."""
        return in_space(direction(value, dim, name, self.owner))

    def normal_or_axis(self, value: Any, dim: int) -> np.ndarray:
        """What bodies turn about: in the plane its normal, and no other direction may be given; in space z, unless one is."""
        if value is None:
            return np.array([0.0, 0.0, 1.0])
        axis = self.axis_in(value, 3)
        if dim == 2 and axis[2] != 1.0:
            raise InputError(
                f"`axis` of {self.owner} is {value!r}: in the plane bodies turn about its normal, (0, 0, 1); leave it out."
            )
        return axis

    def wants_turning(self, *sides: Side) -> None:
        """One of the bodies must be able to turn."""
        if not any(side.turns for side in sides):
            raise ModelError(
                f"{self.owner} holds the rotation of {' and '.join(side.owner for side in sides)}, which cannot turn (point mass): give "
                "`inertia` or a shape, or take a joint of points."
            )

    def wants_dimension(self, dim: int, wanted: int, instead: str) -> None:
        if dim != wanted:
            place = "the plane" if dim == 2 else "space"
            raise InputError(f"{self.owner} does not exist in {place}: use {instead}.")


def across(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two directions that make a right-handed system with e: (n_1, n_2, e)."""
    helper = np.eye(3)[int(np.argmin(np.abs(e)))]
    n_1 = np.cross(helper, e)
    n_1 /= np.linalg.norm(n_1)
    return n_1, np.cross(e, n_1)
