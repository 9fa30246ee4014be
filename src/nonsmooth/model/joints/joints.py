"""The joints. Points and axes are given in the world, as they are at the start.

====================  ====================================  ==========================================================
joint                 plane                                 space
====================  ====================================  ==========================================================
`Revolute`            point                                 point, axis parallel
`Prismatic`           one direction held, no turning        two directions held, no turning
`Cylindrical`                                               two directions held, axis parallel
`Spherical`                                                 point
`Universal`                                                 point, one axis of each perpendicular to the other
`PlanarJoint`                                               one direction held, axis parallel
`Fixed`               point, no turning                     point, no turning
`Distance`            length                                length
`PointOnLine`         one direction held                    two directions held
`PointOnPlane`                                              one direction held
`Gear`                angles                                angular velocities
`Rolling`             contact kept, no slip                 contact kept, no slip
====================  ====================================  ==========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.errors import InputError, ModelError
from nonsmooth.model.bodies.check import number
from nonsmooth.model.bodies.element import Side, across
from nonsmooth.model.bodies.rows import FLAT, GEAR, SPIN, Row
from nonsmooth.model.bodies.shapes import _Flat
from nonsmooth.model.joints.base import (
    Coordinate,
    JointElement,
    coincident,
    held,
    pair,
    parallel_axis,
    perpendicular,
    same_rotation,
    sliding,
    stretching,
    turning,
)

#: Distance of two places, in terms of those of the bodies, from which on they are not the same.
APART = 1e-9


class _AtPoint(JointElement):
    """A joint with a place, by default where body b is."""

    def __init__(self, a: Any, b: Any, at: Any = None, **others: Any):
        super().__init__(a, b, **others)
        self.at = at

    def _at(self, b: Side, dim: int) -> np.ndarray:
        return self.place(self.at, dim, "at", b.placed.x)

    def _shared(self, a: Side, b: Side, dim: int) -> list[Row]:
        """Rows of a point that both bodies share and about which they turn: what does not turn, it would hold fast from afar."""
        at = self._at(b, dim)
        size = max(np.linalg.norm(x) for x in (at, a.placed.x, b.placed.x))
        for side in (a, b):
            if side.number and not side.turns and np.linalg.norm(at - side.placed.x) > APART * size:
                raise ModelError(
                    f"{self.owner} is away from {side.owner}, which cannot turn (point mass) and would not move about it: give "
                    "`inertia` or a shape, or take a Distance."
                )
        return coincident(a, b, at, dim)


class _WithAxis(_AtPoint):
    """A joint with a place and an axis."""

    def __init__(self, a: Any, b: Any, at: Any = None, axis: Any = None, **others: Any):
        super().__init__(a, b, at, **others)
        self.axis = axis

    def _axis(self, dim: int) -> np.ndarray:
        if self.axis is None:
            raise InputError(f"`axis` of {self.owner} is missing: a direction is wanted.")
        return self.axis_in(self.axis, dim)


class Revolute(_WithAxis):
    """A hinge: both bodies share the point `at` and turn against each other about `axis` (in the plane always the normal)."""

    def _axis(self, dim: int) -> np.ndarray:
        return self.normal_or_axis(self.axis, dim)

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        rows, axis = self._shared(a, b, dim), self._axis(dim)
        if dim == 3:
            self.wants_turning(a, b)
            rows += parallel_axis(a, b, axis)
        return rows

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        return turning(a, b, self._axis(dim), dim)


class Prismatic(_WithAxis):
    """A slider: body b moves along `axis` of body a and does not turn against it."""

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        at, axis = self._at(b, dim), self._axis(dim)
        self.wants_turning(a, b)
        normals = across(axis) if dim == 3 else (np.array([-axis[1], axis[0], 0.0]),)
        return [held(a, b, at, n) for n in normals] + same_rotation(a, b, dim)

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        return sliding(a, b, self._at(b, dim), self._axis(dim))


class Cylindrical(_WithAxis):
    """In space: body b slides along `axis` of body a and turns about it; drives, stops and friction act on the sliding."""

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        self.wants_dimension(dim, 3, "Prismatic or PointOnLine")
        self.wants_turning(a, b)
        at, axis = self._at(b, dim), self._axis(dim)
        return [held(a, b, at, n) for n in across(axis)] + parallel_axis(a, b, axis)

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        return sliding(a, b, self._at(b, dim), self._axis(dim))


class Spherical(_AtPoint):
    """In space: both bodies share the point `at`."""

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        self.wants_dimension(dim, 3, "Revolute")
        return self._shared(a, b, dim)


class Universal(_AtPoint):
    """In space: both bodies share the point `at`; `axis_a` of a and `axis_b` of b stay perpendicular."""

    def __init__(self, a: Any, b: Any, at: Any = None, axis_a: Any = None, axis_b: Any = None, **others: Any):
        super().__init__(a, b, at, **others)
        self.axis_a, self.axis_b = axis_a, axis_b

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        self.wants_dimension(dim, 3, "Revolute")
        self.wants_turning(a, b)
        e_a, e_b = self.axis_in(self.axis_a, dim, "axis_a"), self.axis_in(self.axis_b, dim, "axis_b")
        if abs(e_a @ e_b) > 1e-8:
            raise InputError(
                f"`axis_a` and `axis_b` of {self.owner} are not perpendicular: their product is {e_a @ e_b:.3g}."
            )
        return [*self._shared(a, b, dim), perpendicular(a, b, e_a, e_b)]


class PlanarJoint(_AtPoint):
    """In space: body b moves in a plane of body a with the given `normal` and turns about the normal."""

    def __init__(self, a: Any, b: Any, at: Any = None, normal: Any = None, **others: Any):
        super().__init__(a, b, at, **others)
        self.normal = normal

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        self.wants_dimension(dim, 3, "no joint: every body is in the plane")
        self.wants_turning(a, b)
        n = self.axis_in(self.normal, dim, "normal")
        return [held(a, b, self._at(b, dim), n), *parallel_axis(a, b, n)]


class Fixed(_AtPoint):
    """Both bodies move as one; a point mass (or a node of a cable) sticks to the place where it is, and holds no rotation."""

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        points = [side for side in (a, b) if side.is_point]
        if not points:
            rows = coincident(a, b, self._at(b, dim), dim)
            return rows + same_rotation(a, b, dim) if a.turns or b.turns else rows
        size = max(np.linalg.norm(side.placed.x) for side in (a, b))
        if len(points) == 2 and np.linalg.norm(a.placed.x - b.placed.x) > APART * size:
            raise ModelError(
                f"{self.owner} joins point masses that are apart, {a.owner} and {b.owner}: nothing would hold their direction; take a "
                "Distance, or a body with `inertia`."
            )
        return coincident(a, b, points[0].placed.x, dim)


class Distance(JointElement):
    """A massless rod: a point of b keeps its distance from a point of a.

    With `stops` the length is free between them: ``stops=(None, 0.0)`` is a rope, slack or taut; with `drive` it is prescribed.

    Parameters
    ----------
    at_a, at_b : (dim,)
        Its ends; default: where the bodies are.
    length : float
        Default: the distance at the start.
    """

    def __init__(
        self, a: Any, b: Any, length: float | None = None, at_a: Any = None, at_b: Any = None, **others: Any
    ):
        super().__init__(a, b, **others)
        self.at_a, self.at_b = at_a, at_b
        self.length = None if length is None else number(length, "length", self.owner, 0.0, strict=True)

    def _ends(self, a: Side, b: Side, dim: int) -> tuple[np.ndarray, np.ndarray, float]:
        at_a, at_b = (
            self.place(self.at_a, dim, "at_a", a.placed.x),
            self.place(self.at_b, dim, "at_b", b.placed.x),
        )
        found = float(np.linalg.norm(at_b - at_a))
        if found == 0.0:
            raise InputError(
                f"the ends of {self.owner} coincide at the start: a distance has no direction there."
            )
        return at_a, at_b, found if self.length is None else self.length

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        if self.drive is not None or self.stops != (None, None):
            return []  # the length may change
        return [stretching(a, b, *self._ends(a, b, dim)).at(1.0, 0.0)]

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        return stretching(a, b, *self._ends(a, b, dim))


class PointOnLine(_WithAxis):
    """A point of b stays on a line of a, through `at` along `axis`."""

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        at, axis = self._at(b, dim), self._axis(dim)
        normals = across(axis) if dim == 3 else (np.array([-axis[1], axis[0], 0.0]),)
        return [held(a, b, at, n) for n in normals]

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        return sliding(a, b, self._at(b, dim), self._axis(dim))


class PointOnPlane(_AtPoint):
    """In space: a point of b stays in a plane of a, through `at` with the given `normal`."""

    def __init__(self, a: Any, b: Any, at: Any = None, normal: Any = None, **others: Any):
        super().__init__(a, b, at, **others)
        self.normal = normal

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        self.wants_dimension(dim, 3, "PointOnLine")
        return [held(a, b, self._at(b, dim), self.axis_in(self.normal, dim, "normal"))]


class Gear(JointElement):
    """Two wheels that mesh: omega_b = -ratio omega_a about `axis` (a negative ratio: they turn the same way).

    Holds on position level in the plane; in space, where angles are known up to full turns, on velocity level.
    """

    def __init__(self, a: Any, b: Any, ratio: float = 1.0, axis: Any = None, **others: Any):
        super().__init__(a, b, **others)
        self.ratio, self.axis = number(ratio, "ratio", self.owner), axis

    def _row(self, kind, a: Side, b: Side, dim: int) -> Row:
        self.wants_turning(a, b)
        axis = self.normal_or_axis(self.axis, dim)
        constant = [b.placed.phi + self.ratio * a.placed.phi] if kind is GEAR else []
        return pair(kind, a, b, a.along(axis), self.ratio, constant)

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        return [self._row(GEAR, a, b, dim)] if dim == 2 else []

    def velocity_rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        return [] if dim == 2 else [self._row(SPIN, a, b, dim)]


class Rolling(JointElement):
    """A disk or ball that stays on a half-plane or plane and rolls on it without slipping (nonholonomic in space).

    Parameters
    ----------
    body : Body
        With a Disk or Sphere as shape.
    surface : HalfPlane or Plane
    """

    def __init__(self, body: Any, surface: Any, **others: Any):
        owner = f"Rolling {others['name']!r}" if others.get("name") else "a Rolling without name"
        if not isinstance(surface, _Flat):
            raise InputError(f"{owner} got the surface {surface!r}: a HalfPlane or Plane is wanted.")
        carrier = surface.body if surface.body is not None else getattr(body.world, "ground", None)
        if carrier is None:
            raise InputError(f"{owner} got {body!r}, which is in no world: add the body first.")
        super().__init__(carrier, body, **others)
        if body.shape is None or not hasattr(body.shape, "radius") or hasattr(body.shape, "length"):
            raise InputError(
                f"{self.owner} got {body.owner}, which is not round: a body with a Disk or Sphere is wanted."
            )
        self.surface = surface

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        n = self.axis_in(self.surface.normal, dim, "normal")
        at = self.place(self.surface.point, dim, "point", b.placed.x)
        from nonsmooth.model.bodies.rows import CARRIED

        return [pair(CARRIED, a, b, a.point(at), np.zeros(3), a.along(n), self.b.shape.radius)]

    def velocity_rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        n = self.axis_in(self.surface.normal, dim, "normal")
        tangents = across(n) if dim == 3 else (np.array([n[1], -n[0], 0.0]),)
        return [pair(FLAT, a, b, a.along(n), a.along(T), np.zeros(3), self.b.shape.radius) for T in tangents]
