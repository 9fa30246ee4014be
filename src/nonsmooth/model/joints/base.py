"""Joints as sets of rows (Haug 1989, sec. 9.4); coordinates of joints for drives, stops and friction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nonsmooth.errors import InputError, RangeError
from nonsmooth.model.bodies.check import number
from nonsmooth.model.bodies.element import Element, Side, across
from nonsmooth.model.bodies.material import friction_of
from nonsmooth.model.bodies.rows import ANGLE, CARRIED, DISTANCE, DOT, FIXED, SPIN, Row, RowType

AXES = np.eye(3)


class Coordinate(NamedTuple):
    """What moves in a joint: rows for a position `value` times `sign` minus a constant, and for its velocity."""

    at: Callable[[float, float], Row]  # (sign, constant) -> position row  sign (x - constant)
    velocity: Row
    wraps: bool  # an angle in space: known up to full turns


class JointElement(Element):
    """Base of joints.

    Every joint takes `name`; those with one coordinate (angle, displacement, length) also

    drive : callable ``f(t[, p]) -> float``
        Prescribes the coordinate, which is zero at the start.
    stops : (lower, upper)
        Limits of the coordinate, unilateral; `restitution` belongs to them. None: no limit on this side.
    friction : float or Stribeck
        Dry friction: limit of the force (torque) against the motion in the joint.
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        name: str | None = None,
        drive: Callable | None = None,
        stops: Any = None,
        restitution: float = 0.0,
        friction: Any = 0.0,
    ):
        super().__init__(a, b, name)
        if drive is not None and not callable(drive):
            raise InputError(f"`drive` of {self.owner} is {drive!r}: a function of t is wanted.")
        self.drive, self.stops = drive, _limits(stops, self.owner)
        self.restitution = number(restitution, "restitution", self.owner, 0.0)
        if self.restitution > 1.0:
            raise RangeError(
                f"`restitution` of {self.owner} is {restitution:g}: it must lie between 0 and 1."
            )
        self.friction = friction_of(friction, "friction", self.owner)

    def rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        """Rows that hold on position level."""
        raise NotImplementedError

    def velocity_rows(self, a: Side, b: Side, dim: int) -> list[Row]:
        """Rows that hold on velocity level only."""
        return []

    def coordinate(self, a: Side, b: Side, dim: int) -> Coordinate | None:
        """What drives, stops and friction act on."""
        return None


def _limits(stops, owner):
    if stops is None:
        return None, None
    try:
        low, high = stops
    except (TypeError, ValueError) as exc:
        raise InputError(f"`stops` of {owner} is {stops!r}: a pair (lower, upper) is wanted.") from exc
    low = None if low is None else number(low, "stops", owner)
    high = None if high is None else number(high, "stops", owner)
    if low is not None and high is not None and low >= high:
        raise RangeError(f"`stops` of {owner} is ({low:g}, {high:g}): the lower one must be the smaller one.")
    return low, high


# -- rows from points and directions in the world at the start ---------------------------------------------------------------


def pair(kind: RowType, a: Side, b: Side, *numbers: Any) -> Row:
    return Row(kind, a.number, b.number, np.concatenate([np.atleast_1d(x) for x in numbers]).astype(float))


def coincident(a: Side, b: Side, at: np.ndarray, dim: int) -> list[Row]:
    """A point of b stays on a point of a: one row for each axis of the world."""
    s_a, s_b = a.point(at), b.point(at)
    return [pair(FIXED, a, b, s_a, s_b, AXES[k], 0.0) for k in range(dim)]


def held(a: Side, b: Side, at: np.ndarray, e: np.ndarray, c: float = 0.0) -> Row:
    """The point of b stays where it is along e, a direction of a."""
    return pair(CARRIED, a, b, a.point(at), b.point(at), a.along(e), c)


def perpendicular(a: Side, b: Side, e_a: np.ndarray, e_b: np.ndarray) -> Row:
    return pair(DOT, a, b, a.along(e_a), b.along(e_b), 0.0)


def parallel_axis(a: Side, b: Side, e: np.ndarray) -> list[Row]:
    """The axis e of a stays parallel to that of b."""
    return [perpendicular(a, b, e, n) for n in across(e)]


def same_rotation(a: Side, b: Side, dim: int) -> list[Row]:
    """b does not turn against a."""
    if dim == 2:
        return [angle_row(a, b, AXES[2], 1.0, b.placed.phi - a.placed.phi)]
    return [perpendicular(a, b, AXES[i], AXES[j]) for i, j in ((0, 1), (1, 2), (2, 0))]


def angle_row(a: Side, b: Side, axis: np.ndarray, sign: float, c: float) -> Row:
    """sign (angle of b against a - c); in space the angle is zero at the start, in the plane it is phi_b - phi_a."""
    n_1, n_2 = across(axis)
    return pair(ANGLE, a, b, a.along(n_1), a.along(n_2), b.along(n_1), sign, c)


def turning(a: Side, b: Side, axis: np.ndarray, dim: int) -> Coordinate:
    """The angle of b against a, zero at the start."""
    start = b.placed.phi - a.placed.phi if dim == 2 else 0.0
    return Coordinate(
        lambda sign, c: angle_row(a, b, axis, sign, start + c),
        pair(SPIN, a, b, a.along(axis), -1.0),
        wraps=dim == 3,
    )


def sliding(a: Side, b: Side, at: np.ndarray, axis: np.ndarray) -> Coordinate:
    """The displacement of b along an axis of a."""
    return Coordinate(
        lambda sign, c: held(a, b, at, sign * axis, sign * c), held(a, b, at, axis), wraps=False
    )


def stretching(a: Side, b: Side, at_a: np.ndarray, at_b: np.ndarray, length: float) -> Coordinate:
    """The change of a distance."""
    s_a, s_b = a.point(at_a), b.point(at_b)

    def row(sign, c):
        return pair(DISTANCE, a, b, s_a, s_b, (sign, 0.0, 0.0), length + c)

    return Coordinate(row, row(1.0, 0.0), wraps=False)
