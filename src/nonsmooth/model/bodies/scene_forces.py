"""Contact forces of a world for its scene: where they act, along which directions, at all frames at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.model import drawing as draw
from nonsmooth.model.bodies.contacts import Touch, touches
from nonsmooth.model.bodies.plain import Group, Poses, slopes
from nonsmooth.model.bodies.rows import BLOCK, CARRIED, Ends, Row, between, length, nearest_on_block, turn

MOST_POINTS = 60  # contact points of a world up to which their forces are drawn


class ContactForce(draw.Force):
    """Arrow of one contact point; the force is the one that body b gets.

    A row is gamma = ... + d^T v_b + ...: its force acts on body b along d, which is what the row becomes with unit velocities of b.
    """

    def __init__(self, world: Any, law: str, touch: Touch, slides: bool):
        super().__init__(law, at=(0.0,) * world.dim)
        self._world, self._touch, self._slides = world, touch, slides

    def track(self, t: np.ndarray, q: np.ndarray, p: Any) -> dict[str, np.ndarray]:
        world, touch = self._world, self._touch
        poses = Poses(world.assembly, np.ascontiguousarray(q.T))
        group = Group([(0, touch.gap)])
        found = {
            "at": _place(poses.ends(group.a, group.b), touch.gap, group.numbers, touch)[:, 0, : world.dim],
            "normal": _direction(poses, touch.gap, world.dim),
        }
        if self._slides:
            rows = [_direction(poses, row, world.dim) for row in touch.sliding]
            found["tangent"] = np.stack(rows, axis=1)
        return found


def contact_forces(world: Any) -> list[ContactForce]:
    """One arrow for each contact point of a world; none where there are too many to look at."""
    assembly = world.assembly
    found = []
    for contact in assembly.contacts:
        points = touches(contact, assembly.side, world.dim)
        for k, touch in enumerate(points):
            name = contact.name if len(points) == 1 else f"{contact.name} [{k}]"
            found.append(ContactForce(world, name, touch, bool(contact.material.friction)))
    return found if len(found) <= MOST_POINTS else []


def _direction(poses: Poses, row: Row, dim: int) -> np.ndarray:
    """Force directions of one row on its body b, shape (frames, dim)."""
    group = Group([(0, row)])
    ends = poses.ends(group.a, group.b)
    return np.moveaxis(slopes(group, ends, 1, np.arange(dim))[:, :, 0], 0, -1)


def _place(ends: Ends, row: Row, c: np.ndarray, touch: Touch) -> np.ndarray:
    """Where a gap closes, shape (frames, 1, 3)."""
    d, p_a, p_b = between(ends, c)
    if row.type is CARRIED:  # a ball above a plane: its lowest point
        return p_b - c[:, 9:10] * turn(ends.R_a, c[:, 6:9])
    if row.type is BLOCK:  # a ball outside a box or capsule
        p_a, _, N = nearest_on_block(ends, c)
        return p_a - touch.sliding[0].numbers[9] * N
    radius = float(touch.sliding[0].numbers[6])  # of the circle or ball a
    with np.errstate(invalid="ignore", divide="ignore"):
        return p_a + radius * d / length(d)[..., None]
