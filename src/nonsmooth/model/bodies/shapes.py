"""Shapes of bodies: what they weigh, where they touch, how they look; and the planes, half-planes and circles they touch.

Moments of inertia about the centre (mass m): disk m r^2/2; sphere 2 m r^2/5; box m (a^2 + b^2)/12; capsule: cylinder and two half-balls
(in the plane: rectangle and two half-disks), each with its share of the mass.
"""

from __future__ import annotations

from itertools import product
from math import pi
from typing import Any, ClassVar

import numpy as np

from nonsmooth.errors import InputError, ShapeError
from nonsmooth.model.bodies.check import direction, flag, number, vector
from nonsmooth.model.bodies.material import material_of, refuse_coefficients
from nonsmooth.names import Label, short


class Form:
    """Base of the shapes of bodies."""

    dims: ClassVar[tuple[int, ...]] = (2, 3)

    def volume(self, dim: int) -> float:
        """Volume, or area in the plane."""
        raise NotImplementedError

    def moments(self, dim: int) -> np.ndarray:
        """Moments of inertia for mass one: three of them, in the plane one."""
        raise NotImplementedError

    def balls(self, dim: int) -> tuple[np.ndarray, float]:
        """Points, shape (k, 3), in the frame of the body and the radius around them that make contact with planes."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        sizes = np.concatenate([np.ravel(size) for name, size in vars(self).items() if name != "dims"])
        return f"{self.label}({', '.join(f'{size:g}' for size in sizes)})"


class Disk(Form):
    """A disk in the plane."""

    dims = (2,)

    def __init__(self, radius: float):
        self.radius = number(radius, "radius", "Disk", 0.0, strict=True)

    def volume(self, dim: int) -> float:
        return pi * self.radius**2

    def moments(self, dim: int) -> np.ndarray:
        return np.array([0.5 * self.radius**2])

    def balls(self, dim: int) -> tuple[np.ndarray, float]:
        return np.zeros((1, 3)), self.radius


class Sphere(Form):
    """A ball in space."""

    dims = (3,)

    def __init__(self, radius: float):
        self.radius = number(radius, "radius", "Sphere", 0.0, strict=True)

    def volume(self, dim: int) -> float:
        return 4.0 / 3.0 * pi * self.radius**3

    def moments(self, dim: int) -> np.ndarray:
        return np.full(3, 0.4 * self.radius**2)

    def balls(self, dim: int) -> tuple[np.ndarray, float]:
        return np.zeros((1, 3)), self.radius


class Box(Form):
    """A box (in the plane: a rectangle) with its edges along the axes of the body.

    Parameters
    ----------
    *size : float
        Full lengths of the edges, three of them or two; also as one sequence.
    """

    def __init__(self, *size: Any):
        given = size[0] if len(size) == 1 and np.ndim(size[0]) == 1 else size
        if len(given) not in (2, 3):
            raise ShapeError(
                f"`size` of Box has {len(given)} lengths: two (plane) or three (space) are wanted."
            )
        self.size = np.array([number(edge, "size", "Box", 0.0, strict=True) for edge in given])
        self.dims = (len(given),)  # type: ignore[misc]

    def volume(self, dim: int) -> float:
        return float(np.prod(self.size))

    def moments(self, dim: int) -> np.ndarray:
        square = self.size**2
        return np.array([square.sum()]) / 12.0 if dim == 2 else (square.sum() - square) / 12.0

    def balls(self, dim: int) -> tuple[np.ndarray, float]:
        half = np.zeros(3)
        half[:dim] = 0.5 * self.size
        if dim == 2:  # counterclockwise
            return half * np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]), 0.0
        return half * np.array(list(product((-1, 1), repeat=3))), 0.0


class Capsule(Form):
    """A cylinder (in the plane: a rectangle) along the first axis of the body, closed by two half-balls.

    Parameters
    ----------
    length : float
        Between the centres of the half-balls.
    radius : float
    """

    def __init__(self, length: float, radius: float):
        self.length = number(length, "length", "Capsule", 0.0, strict=True)
        self.radius = number(radius, "radius", "Capsule", 0.0, strict=True)

    def _parts(self, dim: int) -> tuple[float, float]:
        """Volumes of the middle part and of both ends."""
        l, r = self.length, self.radius
        return (2 * r * l, pi * r**2) if dim == 2 else (pi * r**2 * l, 4.0 / 3.0 * pi * r**3)

    def volume(self, dim: int) -> float:
        return sum(self._parts(dim))

    def moments(self, dim: int) -> np.ndarray:
        l, r = self.length, self.radius
        middle, ends = self._parts(dim)
        m, e = middle / (middle + ends), ends / (middle + ends)
        if dim == 2:
            centre = 4.0 * r / (3.0 * pi)  # of a half-disk, from its flat side
            across = m * (l**2 + 4 * r**2) / 12.0 + e * (0.5 * r**2 + 0.25 * l**2 + l * centre)
            return np.array([across])
        centre = 3.0 * r / 8.0
        along = 0.5 * m * r**2 + 0.4 * e * r**2
        across = m * (3 * r**2 + l**2) / 12.0 + e * (0.4 * r**2 + 0.25 * l**2 + l * centre)
        return np.array([along, across, across])

    def balls(self, dim: int) -> tuple[np.ndarray, float]:
        half = 0.5 * self.length
        return np.array([(-half, 0.0, 0.0), (half, 0.0, 0.0)]), self.radius


# -- what bodies touch -----------------------------------------------------------------------------------------------------


class Surface:
    """Base of planes, half-planes and circles, fixed to the ground or to a body.

    Parameters
    ----------
    body : Body, optional
        That carries it; point and normal are in the world at the start.
    material : Material, optional
    name : str, optional
    """

    name = Label()
    dim: ClassVar[int | None] = None
    point: np.ndarray

    def __init__(self, body: Any = None, material: Any = None, name: str | None = None, **unknown: Any):
        refuse_coefficients(f"a {type(self).__name__}", unknown)
        self.body, self.name = body, name
        self.material = material_of(material, self.owner)

    @property
    def owner(self) -> str:
        return f"{type(self).__name__} {self.name!r}" if self.name else type(self).__name__

    def __repr__(self) -> str:
        return short(self)


class _Flat(Surface):
    _default: ClassVar[tuple[float, ...]]

    def __init__(self, point: Any = None, normal: Any = None, **others: Any):
        super().__init__(**others)
        n = len(self._default)
        self.point = vector(np.zeros(n) if point is None else point, n, "point", self.owner)
        self.normal = direction(self._default if normal is None else normal, n, "normal", self.owner)


class HalfPlane(_Flat):
    """Everything below the line through `point`, in the plane; `normal` points into the free side.

    Parameters
    ----------
    point : (2,), default (0, 0)
    normal : (2,), default (0, 1)
    body, material, name
        See `Surface`.
    """

    dim = 2
    _default = (0.0, 1.0)


class Plane(_Flat):
    """Everything below the plane through `point`, in space; `normal` points into the free side.

    Parameters
    ----------
    point : (3,), default (0, 0, 0)
    normal : (3,), default (0, 0, 1)
    body, material, name
        See `Surface`.
    """

    dim = 3
    _default = (0.0, 0.0, 1.0)


class Circle(Surface):
    """A circle (in space: a sphere) that bodies touch from outside, or in which they are kept.

    Parameters
    ----------
    radius : float
    point : (dim,)
        Its middle.
    inside : bool
        Whether bodies are inside.
    body, material, name
        See `Surface`.
    """

    def __init__(self, radius: float, point: Any = (0.0, 0.0), inside: bool = False, **others: Any):
        super().__init__(**others)
        self.radius = number(radius, "radius", self.owner, 0.0, strict=True)
        if np.ndim(point) != 1 or len(point) not in (2, 3):
            raise InputError(f"`point` of {self.owner} is {point!r}: two or three numbers are wanted.")
        self.point = vector(point, len(point), "point", self.owner)
        self.inside = flag(inside, "inside", self.owner)
