"""`Body`: a rigid body or a point mass, with its start."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import GROUND, PLANAR, POINT, SPATIAL
from nonsmooth.errors import InputError, ModelError, NonFiniteError, RangeError, ShapeError
from nonsmooth.model.bodies.check import floats, in_space, number, vector
from nonsmooth.model.bodies.material import material_of, refuse_coefficients
from nonsmooth.model.bodies.shapes import Form
from nonsmooth.model.rotations import inertia_matrix
from nonsmooth.names import Label, short


class Body:
    """A rigid body; without inertia and shape a point mass.

    Its frame has the origin in the centre of mass. The dimension is that of the world it is added to.

    Parameters
    ----------
    shape : Disk, Sphere, Box or Capsule, optional
        Where it touches, how it looks, and its inertia.
    mass, density : float
        One of them; density (mass by area in the plane) needs a shape.
    inertia : float, or (3,) or (3, 3) in space, optional
        About the centre of mass, in the frame of the body; default: that of the shape.
    position, velocity : (dim,), default zero
        Of the centre of mass, at the start.
    angle, angular_velocity : float
        In the plane, at the start. In space `angular_velocity` is (3,), in the frame of the body.
    rotation : (4,) or (3, 3), optional
        In space: a quaternion (w, x, y, z) or a matrix, from the frame of the body into the world.
    material : Material, optional
        Default: that of the world.
    name : str, optional
    """

    name = Label()

    def __init__(
        self,
        shape: Form | None = None,
        mass: float | None = None,
        inertia: Any = None,
        *,
        density: float | None = None,
        position: Any = None,
        velocity: Any = None,
        angle: float = 0.0,
        rotation: Any = None,
        angular_velocity: Any = None,
        material: Any = None,
        name: str | None = None,
        **unknown: Any,
    ):
        refuse_coefficients("a Body", unknown)
        if shape is not None and not isinstance(shape, Form):
            raise InputError(
                f"`shape` of {_owner(name)} is {shape!r}: Disk, Sphere, Box or Capsule is wanted (the mass is an argument of its own)."
            )
        self.name = name
        self.shape, self.mass, self.inertia, self.density = shape, mass, inertia, density
        self.position, self.velocity, self.angle, self.rotation = position, velocity, angle, rotation
        self.angular_velocity, self.material = angular_velocity, material_of(material, self.owner)
        self.world: Any = None

    @property
    def owner(self) -> str:
        return _owner(self.name)

    def __repr__(self) -> str:
        return short(self)


def _owner(name):
    return f"body {name!r}" if name else "a body without name"


class Ground:
    """What does not move: `World.ground`."""

    shape = material = None
    name = "ground"
    owner = "the ground"

    def __init__(self, world: Any):
        self.world = world

    def __repr__(self) -> str:
        return "<ground>"


class Placed:
    """A body in a world of known dimension: checked numbers.

    Attributes
    ----------
    kind : int
    mass : float
    J : ndarray, shape (6,)
        xx, yy, zz, xy, xz, yz; in the plane the first.
    x, R : ndarray, shape (3,), (3, 3)
        Position and rotation at the start.
    q, u : ndarray
        Coordinates and velocities at the start.
    parts : tuple of str
        Names of the coordinates.
    """

    # what nodes of structures have (`model.structures.base.PlacedNode`)
    offsets, fixed, block = (-1, -1, -1, -1), 0.0, False

    def __init__(self, body: Any, dim: int):
        self.dim = dim
        self.parts: tuple[str, ...] = ()
        if isinstance(body, Ground):
            self.kind, self.mass, self.J, self.phi = GROUND, 0.0, np.zeros(6), 0.0
            self.x, self.R, self.q, self.u = np.zeros(3), np.eye(3), np.zeros(0), np.zeros(0)
            return
        owner, shape = body.owner, body.shape
        if shape is not None and dim not in shape.dims:
            raise InputError(
                f"`shape` of {owner} is a {shape.label} of dimension {shape.dims[0]}, but the world has dimension {dim}."
            )
        self.mass = _mass(body, dim)
        self.J, rigid = _inertia(body, dim, self.mass)
        self.kind = (PLANAR if dim == 2 else SPATIAL) if rigid else POINT
        at = vector(np.zeros(dim) if body.position is None else body.position, dim, "position", owner)
        v = vector(np.zeros(dim) if body.velocity is None else body.velocity, dim, "velocity", owner)
        self.x, self.R, self.phi = in_space(at), np.eye(3), 0.0
        self._check_turning(body, rigid)
        if not rigid:
            self.q, self.u = at, v
        elif dim == 2:
            self.phi = number(body.angle, "angle", owner)
            spin = number(
                0.0 if body.angular_velocity is None else body.angular_velocity, "angular_velocity", owner
            )
            c, s = np.cos(self.phi), np.sin(self.phi)
            self.R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            self.q, self.u = np.append(at, self.phi), np.append(v, spin)
        else:
            given = np.zeros(3) if body.angular_velocity is None else body.angular_velocity
            w = vector(given, 3, "angular_velocity", owner)
            quaternion = as_quaternion(body.rotation, owner)
            self.R = np.eye(3) if body.rotation is None else matrix_of(quaternion)
            self.q, self.u = np.concatenate([at, quaternion]), np.concatenate([v, w])
        self.parts = ("x", "y", "z")[:dim] + {PLANAR: ("phi",), SPATIAL: ("qw", "qx", "qy", "qz")}.get(
            self.kind, ()
        )

    @property
    def turns(self) -> bool:
        return self.kind in (PLANAR, SPATIAL)

    @property
    def seen(self) -> tuple[int, int]:
        """Number of coordinates and velocities that functions of loads see."""
        return self.q.size, self.u.size

    def _check_turning(self, body, rigid):
        if self.dim == 2 and body.rotation is not None:
            raise InputError(f"`rotation` of {body.owner} is for space: in the plane give `angle`.")
        angle = number(body.angle, "angle", body.owner)
        if self.dim == 3 and angle != 0.0:
            raise InputError(f"`angle` of {body.owner} is for the plane: in space give `rotation`.")
        turns = angle != 0.0 or body.rotation is not None or body.angular_velocity is not None
        if not rigid and turns:
            raise InputError(
                f"{body.owner} has no inertia, so it is a point mass, but it is turned: give `inertia` or a shape."
            )


def _mass(body, dim) -> float:
    owner = body.owner
    if (body.mass is None) == (body.density is None):
        what = "neither" if body.mass is None else "both"
        raise InputError(f"{what} of `mass` and `density` of {owner} are given: one of them is wanted.")
    if body.mass is not None:
        return number(body.mass, "mass", owner, 0.0, strict=True)
    density = number(body.density, "density", owner, 0.0, strict=True)
    if body.shape is None:
        raise InputError(f"`density` of {owner} needs a shape: give `shape`, or `mass`.")
    return density * body.shape.volume(dim)


def _inertia(body, dim, mass) -> tuple[np.ndarray, bool]:
    """Numbers of the inertia, and whether there is any."""
    J, owner = np.zeros(6), body.owner
    given = body.inertia
    if given is None:
        if body.shape is None:
            return J, False
        moments = mass * body.shape.moments(dim)
        J[: moments.size] = moments
        return J, True
    wanted = "one number is" if dim == 2 else "three principal moments or a 3 x 3 matrix are"
    array = floats(given, wanted, "inertia", owner)
    if dim == 2:
        if array.ndim != 0:
            raise ShapeError(
                f"`inertia` of {owner} has shape {array.shape}: in the plane one number is wanted."
            )
        J[0] = number(given, "inertia", owner, 0.0, strict=True)
        return J, True
    if array.ndim == 0:
        raise ShapeError(f"`inertia` of {owner} is {given!r}: {wanted} wanted in space.")
    try:
        matrix = inertia_matrix(array)
    except (ShapeError, NonFiniteError, ModelError) as exc:
        raise type(exc)(f"{owner}: {exc}") from None
    J[:] = matrix[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return J, True


def as_quaternion(rotation, owner) -> np.ndarray:
    """A unit quaternion from what a user gives."""
    if rotation is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    array = floats(rotation, "a quaternion (w, x, y, z) or a 3 x 3 matrix is", "rotation", owner)
    if not np.all(np.isfinite(array)):
        raise NonFiniteError(f"`rotation` of {owner} contains NaN or infinite entries.")
    if array.shape == (3, 3):
        if np.max(np.abs(array @ array.T - np.eye(3))) > 1e-8 or np.linalg.det(array) < 0:
            raise ModelError(f"`rotation` of {owner} is no rotation: R R^T = 1 and det R = 1 are wanted.")
        from scipy.spatial.transform import Rotation

        found = Rotation.from_matrix(array).as_quat()
        return found[[3, 0, 1, 2]]
    if array.shape != (4,):
        raise ShapeError(
            f"`rotation` of {owner} has shape {array.shape}: a quaternion (w, x, y, z) or a 3 x 3 matrix is wanted."
        )
    length = float(np.linalg.norm(array))
    if abs(length - 1.0) > 1e-6:
        raise RangeError(
            f"`rotation` of {owner} is a quaternion of length {length:.6g}: length one is wanted."
        )
    return array / length


def matrix_of(q) -> np.ndarray:
    """Rotation matrices of quaternions (w, x, y, z), shape (..., 4) to (..., 3, 3)."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    f = 2.0 / (w * w + x * x + y * y + z * z)
    rows = [
        [1 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y)],
        [f * (x * y + w * z), 1 - f * (x * x + z * z), f * (y * z - w * x)],
        [f * (x * z - w * y), f * (y * z + w * x), 1 - f * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
