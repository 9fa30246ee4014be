"""Contacts of shapes with surfaces and with each other: rows of gaps and of sliding.

A shape touches planes, and circles from inside, with balls: a disk or ball with one, a box with its corners (radius zero), a capsule with
its two ends; a point mass with itself. Contact points of a box on a plane are its corners, all of them. Balls and points touch balls, and
boxes and capsules at the place that is nearest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.model.bodies.check import in_space
from nonsmooth.model.bodies.element import Side, across
from nonsmooth.model.bodies.material import Material
from nonsmooth.model.bodies.rows import ALONG_BLOCK, BLOCK, CARRIED, DISTANCE, FLAT, ROLLING, ROUND, SPIN, Row
from nonsmooth.model.bodies.shapes import Box, Capsule, Circle, Surface, _Flat
from nonsmooth.model.joints.base import pair

#: Tangents of a round contact: one in the plane, two in space.
WHICH = {2: (0.0,), 3: (1.0, 2.0)}


class Touch(NamedTuple):
    """One contact point: its gap, directions of sliding, of rolling (None: rolling friction is not known there)."""

    gap: Row
    sliding: list[Row]
    rolling: list[Row] | None


class ContactPair:
    """Two things that may touch: a body and a surface, or two bodies."""

    def __init__(self, a: Any, b: Any, material: Material, name: str):
        self.a, self.b, self.material, self.name = a, b, material, name

    @property
    def owner(self) -> str:
        return f"contact {self.name!r}"


def touches(contact: ContactPair, side_of: Any, dim: int) -> list[Touch]:
    """All contact points of a pair."""
    a, b = contact.a, contact.b
    if isinstance(a, _Flat):
        return _on_plane(a, b, side_of(a.body), side_of(b), dim)
    if isinstance(a, Circle):
        return _in_circle(a, b, side_of(a.body), side_of(b), dim)
    return _balls(contact, a, b, side_of(a), side_of(b), dim)


def balls_of(body: Any, dim: int) -> tuple[np.ndarray, float]:
    """Points and radius with which a body touches."""
    return (np.zeros((1, 3)), getattr(body, "radius", 0.0)) if body.shape is None else body.shape.balls(dim)


def _on_plane(surface, body, a: Side, b: Side, dim) -> list[Touch]:
    N, at = a.along(in_space(surface.normal)), a.point(in_space(surface.point))
    n = in_space(surface.normal)
    tangents = across(n) if dim == 3 else (np.array([n[1], -n[0], 0.0]),)
    points, radius = balls_of(body, dim)
    rolls = _rolling(a, b, n, tangents, dim) if radius > 0.0 else []
    found = []
    for s in points:
        gap = pair(CARRIED, a, b, at, s, N, radius)
        sliding = [pair(FLAT, a, b, N, a.along(T), s, radius) for T in tangents]
        found.append(Touch(gap, sliding, rolls))
    return found


def _in_circle(circle, body, a: Side, b: Side, dim) -> list[Touch]:
    middle = a.point(in_space(circle.point))
    if _is_block(body) and not circle.inside:
        return [_on_block(a, b, middle, circle.radius, body, dim)]
    points, radius = balls_of(body, dim)
    sign = -1.0 if circle.inside else 1.0
    reach = circle.radius + sign * radius
    if reach <= 0.0:
        raise InputError(
            f"{circle.owner} with radius {circle.radius:g} has no room for {b.owner} of radius {radius:g}."
        )
    return [_round(a, b, middle, s, sign, reach, circle.radius, dim) for s in points]


def _balls(contact, body_a, body_b, a: Side, b: Side, dim) -> list[Touch]:
    if _is_block(body_a):
        body_a, body_b, a, b = body_b, body_a, b, a
    if _is_block(body_a):
        raise InputError(
            f"{contact.owner} is between {body_a.owner} and {body_b.owner}: one of them must be a disk, ball, point or node here."
        )
    (p_a, r_a), r_b = balls_of(body_a, dim), 0.0
    if _is_block(body_b):
        return [_on_block(a, b, p_a[0], r_a, body_b, dim)]
    p_b, r_b = balls_of(body_b, dim)
    if r_a + r_b == 0.0:
        raise InputError(
            f"{contact.owner} is between the points {body_a.owner} and {body_b.owner}, which never meet: give one a shape or a `radius`."
        )
    return [_round(a, b, p_a[0], p_b[0], 1.0, r_a + r_b, r_a, dim)]


def _round(a, b, s_a, s_b, sign, reach, rho, dim) -> Touch:
    gap = pair(DISTANCE, a, b, s_a, s_b, (sign, 0.0, 0.0), reach)
    sliding, rolling = ([pair(kind, a, b, s_a, s_b, rho, k) for k in WHICH[dim]] for kind in (ROUND, ROLLING))
    return Touch(gap, sliding, _turning(a, b) if dim == 2 else rolling)


def _is_block(body) -> bool:
    return isinstance(body.shape, Box | Capsule)


def _on_block(a, b, s, rho, body, dim) -> Touch:
    """A ball around the point s of a, outside the box or capsule of b."""
    half, r = np.zeros(3), 0.0
    if isinstance(body.shape, Box):
        half[:dim] = 0.5 * body.shape.size
    else:
        half[0], r = 0.5 * body.shape.length, body.shape.radius
    if dim == 2:
        half[2] = 1e300  # no face towards the third direction
    gap = pair(BLOCK, a, b, s, np.zeros(3), half, rho + r)
    sliding = [pair(ALONG_BLOCK, a, b, s, np.zeros(3), half, rho, k) for k in WHICH[dim]]
    return Touch(gap, sliding, _turning(a, b) if dim == 2 else None)


def _turning(a, b) -> list[Row]:
    """Relative angular velocity in the plane."""
    return [pair(SPIN, a, b, a.along(np.array([0.0, 0.0, 1.0])), -1.0)]


def _rolling(a, b, n, tangents, dim) -> list[Row]:
    """Relative angular velocity about the directions of rolling."""
    axes = (np.array([0.0, 0.0, 1.0]),) if dim == 2 else tangents
    return [pair(SPIN, a, b, a.along(axis), -1.0) for axis in axes]


def name_of(thing: Any, number: int) -> str:
    if thing.name:
        return thing.name
    kind = type(thing).__name__.lower() if isinstance(thing, Surface) else "body"
    return f"{kind} {number}"
