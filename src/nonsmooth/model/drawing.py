"""Shapes for the animated scene of a model made of plain functions: ``MechanicalSystem(..., draw=[...])``.

A place (``at``, ``points``, ``a``, ``b``, ``angle``, ``rotation``, ``normal``, ``tangent``) is a constant or a function of the
configuration: ``f(q)``, ``f(t, q)`` or ``f(t, q, p)`` with the parameters of the system. Points have two coordinates (plane,
second axis up) or three (space, third axis up); one scene has one kind of points. ::

    import nonsmooth as ns

    ball = ns.draw.Circle(at=lambda q: (0.0, q[0]), radius=0.1, name="ball")
    floor = ns.draw.Ground(at=(0.0, 0.0), normal=(0.0, 1.0))
    push = ns.draw.Force("floor", at=lambda q: (0.0, q[0] - 0.1), normal=(0.0, 1.0))
    # ns.MechanicalSystem(..., draw=[floor, ball, push])

Shapes are evaluated at the frames of a scene only, in Python, after the run: they cost the run nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from nonsmooth.errors import InputError, RangeError, ShapeError
from nonsmooth.names import Label

__all__ = [
    "Box",
    "Circle",
    "Force",
    "Ground",
    "Line",
    "Mesh",
    "Polygon",
    "Shape",
    "Sphere",
    "Spring",
    "Trace",
]

Place = Callable[..., Any] | Sequence[Any] | np.ndarray | float


class Shape:
    """Base of all shapes: what stays the same in every frame, and what moves.

    A class of shapes owes: `kind` (what the canvas program draws), `places` (names of the attributes that may move) and
    `fixed` (names of those that do not). A model whose frames can be computed at once overrides `track`.
    """

    kind: ClassVar[str]
    places: ClassVar[tuple[str, ...]] = ()
    fixed: ClassVar[tuple[str, ...]] = ()
    name = Label()
    colour = Label()

    def __init__(self, name: str = "", colour: str | None = None):
        self.name = name
        self.colour = colour

    def constants(self) -> dict[str, Any]:
        """What does not move: numbers and lists fit for JSON."""
        return {name: np.asarray(getattr(self, name)).tolist() for name in self.fixed}

    def track(self, t: np.ndarray, q: np.ndarray, p: Any) -> dict[str, np.ndarray]:
        """Values of all places, one row per frame (one row in all for a place that is constant).

        Parameters
        ----------
        t : ndarray, shape (F,)
        q : ndarray, shape (n_q, F)
        p : object
            Parameters of the system as attributes.

        Returns
        -------
        dict of ndarray, each of shape (F, ...) or (1, ...)
        """
        tracks = {}
        for name in self.places:
            value = getattr(self, name)
            if value is not None:
                tracks[name] = self._values(name, value, t, q, p)
        return tracks

    def _values(self, name: str, value: Any, t: np.ndarray, q: np.ndarray, p: Any) -> np.ndarray:
        label = f"`{name}` of the {self.kind} {self.name!r}"
        if not callable(value):
            return np.asarray(value, dtype=np.float64)[None]
        call = _caller(value, label)
        rows = [np.asarray(call(float(t[k]), q[:, k], p), dtype=np.float64) for k in range(t.size)]
        if len({row.shape for row in rows}) > 1:
            raise ShapeError(
                f"{label} returns arrays of different shapes in different frames: keep one shape."
            )
        return np.stack(rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _caller(function: Callable[..., Any], label: str) -> Callable[[float, np.ndarray, Any], Any]:
    """`function` as a function of (t, q, p); it may take q alone, or t and q."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [
        v for v in inspect.signature(function).parameters.values() if v.kind in kinds and v.default is v.empty
    ]
    if len(given) == 1:
        return lambda t, q, p: function(q)
    if len(given) == 2:
        return lambda t, q, p: function(t, q)
    if len(given) == 3:
        return function
    raise InputError(f"{label} takes {len(given)} arguments: write f(q), f(t, q) or f(t, q, p).")


def _point(value: Any, name: str) -> Any:
    """A point, a list of points, or a function; constants are checked now."""
    if callable(value):
        return value
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] not in (2, 3) or not np.all(np.isfinite(array)):
        raise ShapeError(f"`{name}` is {value!r}: points of two or three finite coordinates are wanted.")
    return array


def _size(value: Any, name: str) -> Any:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array > 0) & np.isfinite(array)):
        raise RangeError(f"`{name}` is {value!r}: it must be positive and finite.")
    return value


class Circle(Shape):
    """A disc in the plane; with `angle` a spoke shows how it turns."""

    kind = "circle"
    places = ("at", "angle")
    fixed = ("radius",)

    def __init__(self, at: Place, radius: float, angle: Place | None = None, **look: Any):
        super().__init__(**look)
        self.at, self.radius, self.angle = _point(at, "at"), _size(radius, "radius"), angle


class Polygon(Shape):
    """A rigid polygon: its corners `points` in a frame that sits at `at` and is turned by `angle`."""

    kind = "polygon"
    places = ("at", "angle")
    fixed = ("points",)

    def __init__(self, points: Any, at: Place = (0.0, 0.0), angle: Place | None = None, **look: Any):
        super().__init__(**look)
        self.points = np.asarray(points, dtype=np.float64)
        if self.points.ndim != 2 or self.points.shape[1] != 2 or not np.all(np.isfinite(self.points)):
            raise ShapeError(f"`points` has shape {self.points.shape}: finite corners (k, 2) are wanted.")
        self.at, self.angle = _point(at, "at"), angle


class Line(Shape):
    """A line through points that may move against each other: a rod, a rope, a beam."""

    kind = "line"
    places = ("points",)
    fixed = ("width",)

    def __init__(self, points: Place, width: float = 2.0, **look: Any):
        super().__init__(**look)
        self.points, self.width = _point(points, "points"), _size(width, "width")


class Spring(Shape):
    """A spring from `a` to `b`."""

    kind = "spring"
    places = ("a", "b")
    fixed = ("coils", "width")

    def __init__(self, a: Place, b: Place, coils: int = 8, width: float = 0.0, **look: Any):
        super().__init__(**look)
        self.a, self.b = _point(a, "a"), _point(b, "b")
        self.coils = int(_size(coils, "coils"))
        self.width = width if width == 0.0 else _size(width, "width")


class Ground(Shape):
    """Everything below the line (or plane) through `at` with the normal `normal`."""

    kind = "ground"
    places = ("at", "normal")

    def __init__(self, at: Place, normal: Place, **look: Any):
        super().__init__(**look)
        self.at, self.normal = _point(at, "at"), _point(normal, "normal")


class Sphere(Shape):
    """A sphere; with `rotation` (quaternion w, x, y, z or matrix) a band shows how it turns."""

    kind = "sphere"
    places = ("at", "rotation")
    fixed = ("radius",)

    def __init__(self, at: Place, radius: float, rotation: Place | None = None, **look: Any):
        super().__init__(**look)
        self.at, self.radius, self.rotation = _point(at, "at"), _size(radius, "radius"), rotation

    def track(self, t: np.ndarray, q: np.ndarray, p: Any) -> dict[str, np.ndarray]:
        return _with_quaternions(super().track(t, q, p), self)


class Mesh(Shape):
    """A rigid body bounded by flat faces: corners (k, 3) and faces as lists of corner numbers, seen from outside counterclockwise."""

    kind = "mesh"
    places = ("at", "rotation")
    fixed = ("vertices",)

    def __init__(
        self,
        vertices: Any,
        faces: Sequence[Sequence[int]],
        at: Place = (0.0, 0.0, 0.0),
        rotation: Place | None = None,
        **look: Any,
    ):
        super().__init__(**look)
        self.vertices = np.asarray(vertices, dtype=np.float64)
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3 or not np.all(np.isfinite(self.vertices)):
            raise ShapeError(f"`vertices` has shape {self.vertices.shape}: finite corners (k, 3) are wanted.")
        self.faces = [[int(k) for k in face] for face in faces]
        if any(not 0 <= k < len(self.vertices) for face in self.faces for k in face):
            raise RangeError(
                f"`faces` names a corner that is not among the {len(self.vertices)} of `vertices`."
            )
        self.at, self.rotation = _point(at, "at"), rotation

    def constants(self) -> dict[str, Any]:
        return {**super().constants(), "faces": self.faces}

    def track(self, t: np.ndarray, q: np.ndarray, p: Any) -> dict[str, np.ndarray]:
        return _with_quaternions(super().track(t, q, p), self)


_BOX_FACES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


class Box(Mesh):
    """A box with the edges `size` (three lengths), its middle at `at`."""

    def __init__(self, at: Place, size: Sequence[float], rotation: Place | None = None, **look: Any):
        if np.shape(size) != (3,):
            raise ShapeError(f"`size` is {size!r}: three lengths are wanted (in the plane use Polygon).")
        half = 0.5 * np.asarray(_size(size, "size"), dtype=np.float64)
        corners = np.array([(x, y, z) for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        super().__init__(corners * half, _BOX_FACES, at, rotation, **look)


class Trace(Shape):
    """The path of a point, drawn up to the present."""

    kind = "trace"
    places = ("at",)

    def __init__(self, at: Place, **look: Any):
        super().__init__(**look)
        self.at = _point(at, "at")


class Force(Shape):
    """The force of a contact (or friction element) as an arrow, and the place where its events flash.

    Parameters
    ----------
    law : str
        Name of the contact or friction element.
    at : place
        Where it acts.
    normal : place
        Direction of the normal force on what is drawn; left out for a friction element.
    tangent : place
        Direction of the friction force; with two directions of friction an array of two rows.
    """

    kind = "force"
    places = ("at", "normal", "tangent")
    law = Label()

    def __init__(
        self, law: str, at: Place, normal: Place | None = None, tangent: Place | None = None, **look: Any
    ):
        look.setdefault("name", law)
        super().__init__(**look)
        self.law = law
        self.at = _point(at, "at")
        self.normal = None if normal is None else _point(normal, "normal")
        self.tangent = None if tangent is None else _point(tangent, "tangent")


def as_shapes(draw: Any) -> tuple[Shape, ...]:
    """The argument `draw` of a system, checked."""
    shapes = (draw,) if isinstance(draw, Shape) else tuple(draw or ())
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise InputError(
                f"`draw` contains {shape!r}: shapes of nonsmooth.draw are wanted (Circle, Polygon, Line, Spring, ...)."
            )
    return shapes


def _with_quaternions(tracks: dict[str, np.ndarray], shape: Shape) -> dict[str, np.ndarray]:
    """Rotation matrices become quaternions (w, x, y, z)."""
    given = tracks.get("rotation")
    if given is None:
        return tracks
    if given.shape[1:] == (3, 3):
        from scipy.spatial.transform import Rotation

        tracks["rotation"] = Rotation.from_matrix(given).as_quat()[:, [3, 0, 1, 2]]
    elif given.shape[1:] != (4,):
        raise ShapeError(
            f"`rotation` of the {shape.kind} {shape.name!r} has shape {given.shape[1:]}: a quaternion (w, x, y, z) or a "
            "matrix (3, 3) is wanted."
        )
    return tracks
