"""The scene of a world from the shapes of its bodies, its surfaces, springs, rods and joints, and the forces of its contacts."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import ALONG, HELD, TURNING
from nonsmooth.model import drawing as draw
from nonsmooth.model.bodies.body import matrix_of
from nonsmooth.model.bodies.plain import Poses
from nonsmooth.model.bodies.scene_forces import contact_forces
from nonsmooth.model.bodies.shapes import Box, Capsule, Circle, Disk, Sphere, _Flat
from nonsmooth.model.joints.joints import Distance

POINT_SIZE = 0.01  # of the size of the scene
MOST_NODES = 100  # of a structure that are drawn
MOST_JOINTS = 100  # beyond which they are not marked
JOINT_COLOUR = "#333333"


def scenery(world: Any) -> tuple[Any, ...]:
    """Shapes of `nonsmooth.draw` for everything in a world."""
    assembly = world.assembly
    size = float(np.ptp(np.array([placed.x for placed in assembly.placed]), axis=0).max()) or 1.0
    shapes: list[Any] = [_surface(world, contact.a) for contact in _touched(assembly)]
    for number in np.flatnonzero(assembly.is_body):
        shapes += _body(world, int(number), size)
    for laid in assembly.structures:
        shapes += _structure(world, laid)
    for item in assembly.springs:
        shapes.append(draw.Spring(_end(world, item, 0), _end(world, item, 1), name=assembly.name(item)))
    for item in assembly.elements:
        if isinstance(item, Distance):
            shapes.append(draw.Line(_both(world, item), name=assembly.name(item)))
    return (*shapes, *_joints(world, size), *contact_forces(world))


def _joints(world, size):
    """A dot at every joint that has a place; it moves with the second body."""
    kind = draw.Circle if world.dim == 2 else draw.Sphere
    found = []
    for item in world.elements:
        at = getattr(item, "at", None)
        if at is None or not hasattr(item, "rows"):
            continue
        number = world._numbers[id(item.b)]
        placed, place = world.assembly.placed[number], np.zeros(3)
        place[: world.dim] = at
        s = (placed.R.T @ (place - placed.x))[None]
        where = lambda q, number=number, s=s: _moved(world, number, q, s)[0]  # noqa: E731
        found.append(kind(where, POINT_SIZE * size, name=world.assembly.name(item), colour=JOINT_COLOUR))
    return found if len(found) <= MOST_JOINTS else []


def _touched(assembly):
    """One contact for each surface."""
    return list({id(c.a): c for c in assembly.contacts if isinstance(c.a, _Flat | Circle)}.values())


def _surface(world, surface):
    number = 0 if surface.body is None else world._numbers[id(surface.body)]
    placed, dim = world.assembly.placed[number], world.dim
    at, x_0, R_0 = surface.point, placed.x[:dim], placed.R[:dim, :dim]
    name = surface.name or type(surface).__name__.lower()
    s = R_0.T @ (at - x_0)

    def place(q):
        x, R = pose(world, number, q)
        return x[:dim] + R[:dim, :dim] @ s

    if isinstance(surface, Circle):
        kind = draw.Circle if dim == 2 else draw.Sphere
        return kind(place, surface.radius, name=name)
    n = R_0.T @ surface.normal
    return draw.Ground(place, lambda q: pose(world, number, q)[1][:dim, :dim] @ n, name=name)


def pose(world: Any, number: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation of one body."""
    placed = world.assembly.placed[number]
    i, x, R = world.assembly.frames.at_q[number], np.zeros(3), np.eye(3)
    if placed.kind in (HELD, ALONG, TURNING):
        poses = Poses(world.assembly, np.asarray(q)[None])
        return poses.x[0, number], poses.R[0, number]
    if placed.q.size:
        x[: world.dim] = q[i : i + world.dim]
    if placed.q.size == 7:
        R = matrix_of(q[i + 3 : i + 7])
    elif world.dim == 2 and placed.q.size == 3:
        c, s = np.cos(q[i + 2]), np.sin(q[i + 2])
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return x, R


def _body(world, number, size):
    body, dim = world.bodies[number], world.dim
    name, shape = world.assembly.body_name(number), body.shape
    at = lambda q: pose(world, number, q)[0][:dim]  # noqa: E731
    turned = lambda q: pose(world, number, q)[1]  # noqa: E731
    if dim == 2:
        i = int(world.assembly.frames.at_q[number])
        angle = (lambda q: q[i + 2]) if world.assembly.placed[number].q.size == 3 else None
        if isinstance(shape, Disk):
            return [draw.Circle(at, shape.radius, angle=angle, name=name)]
        corners = _outline(shape)
        if corners is not None:
            return [draw.Polygon(corners, at, angle, name=name)]
        joints = _joint_points(world, number)
        if len(joints) > 1:  # a link: a line through its joints
            return [draw.Line(lambda q: _moved(world, number, q, joints), name=name)]
        return [draw.Circle(at, POINT_SIZE * size, name=name)]
    if isinstance(shape, Box):
        return [draw.Box(at, shape.size, turned, name=name)]
    if isinstance(shape, Sphere):
        return [draw.Sphere(at, shape.radius, turned, name=name)]
    if isinstance(shape, Capsule):
        ends = shape.balls(3)[0]
        place = lambda q, s: _moved(world, number, q, s[None])[0]  # noqa: E731
        balls = [draw.Sphere(lambda q, s=s: place(q, s), shape.radius, turned, name=name) for s in ends]
        return [*balls, draw.Line(lambda q: _moved(world, number, q, ends), width=4.0, name=name)]
    joints = _joint_points(world, number)
    if len(joints) > 1 or (len(joints) == 1 and np.linalg.norm(joints[0]) > 0):
        points = joints if len(joints) > 1 else np.vstack([joints, np.zeros((1, 3))])
        return [draw.Line(lambda q: _moved(world, number, q, points), name=name)]
    return [draw.Sphere(at, POINT_SIZE * size, name=name)]


def _structure(world, laid):
    """A line through the nodes, which is bent as they move."""
    numbers = np.array([world._numbers[id(node)] for node in laid.structure.nodes], dtype=np.int64)
    if numbers.size == 0:
        return []
    most = max(1, -(-numbers.size // MOST_NODES))
    shown = np.unique(np.append(numbers[::most], numbers[-1]))

    def places(q):
        return Poses(world.assembly, np.asarray(q)[None]).x[0, shown, : world.dim]

    return [draw.Line(places, width=3.0, name=laid.structure.name)]


def _outline(shape):
    """Corners of a box or capsule in the plane."""
    if isinstance(shape, Box):
        return shape.balls(2)[0][:, :2]
    if isinstance(shape, Capsule):
        half, r = 0.5 * shape.length, shape.radius
        right = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)
        arc = np.column_stack([half + r * np.cos(right), r * np.sin(right)])
        return np.vstack([arc, -arc])
    return None


def _moved(world, number, q, points):
    x, R = pose(world, number, q)
    return (x + points @ R.T)[:, : world.dim]


def _joint_points(world, number) -> np.ndarray:
    """Points of a body at which joints with a place hold it, in its frame."""
    placed = world.assembly.placed[number]
    found: list[np.ndarray] = []
    for item in world.elements:
        at = getattr(item, "at", None)
        if (
            at is not None
            and hasattr(item, "rows")
            and any(world._numbers[id(b)] == number for b in item.bodies)
        ):
            place = np.zeros(3)
            place[: world.dim] = at
            s = placed.R.T @ (place - placed.x)
            if not any(np.allclose(s, other) for other in found):
                found.append(s)
    return np.array(found).reshape(-1, 3)


def _end(world, item, which):
    """A place of one end of a spring or rod."""
    body = (item.a, item.b)[which]
    number = world._numbers[id(body)]
    placed = world.assembly.placed[number]
    given = (item.at_a, item.at_b)[which]
    at = np.zeros(3)
    at[: world.dim] = placed.x[: world.dim] if given is None else given
    s = placed.R.T @ (at - placed.x)
    return lambda q: _moved(world, number, q, s[None])[0]


def _both(world, item):
    first, second = _end(world, item, 0), _end(world, item, 1)
    return lambda q: np.array([first(q), second(q)])
