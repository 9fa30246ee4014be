"""Bushings: elastic joints, stiff or soft in each direction. Formulas in `_core.bodies.bushings`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonFiniteError, ShapeError
from nonsmooth.model.bodies.check import floats
from nonsmooth.model.bodies.element import Element, Side
from nonsmooth.model.bodies.plain import CROSS, Poses
from nonsmooth.model.bodies.rows import between, turn

#: Which of the six components there are in the plane.
IN_PLANE = np.array([0, 1, 5])


class Bushing(Element):
    """Holds a point of b to a point of a, and b against turning, by forces in the frame of a.

    Parameters
    ----------
    a, b : Body or world.ground
    at : (dim,)
        The point, in the world at the start; default: where b is.
    stiffness, damping : float, (n,) or (n, n)
        Of the components: in the plane n = 3, displacements along x and y of a and angle; in space n = 6, displacements along
        x, y, z of a and the components of the rotation vector. All are zero at the start; a matrix couples them.
    law : callable ``f(t, s, rate[, p]) -> (n,)``
        Forces and torques against the components s and their rates, instead of stiffness and damping.
    name : str, optional
    """

    def __init__(
        self,
        a: Any,
        b: Any,
        at: Any = None,
        *,
        stiffness: Any = 0.0,
        damping: Any = 0.0,
        law: Callable | None = None,
        name: str | None = None,
    ):
        super().__init__(a, b, name)
        if law is not None and not callable(law):
            raise InputError(f"`law` of {self.owner} is {law!r}: a function is wanted.")
        self.at, self.stiffness, self.damping, self.law = at, stiffness, damping, law

    def numbers(self, a: Side, b: Side, dim: int) -> np.ndarray:
        """Points of both bodies, rotation and angle at the start, both matrices."""
        at = self.place(self.at, dim, "at", b.placed.x)
        start = b.placed.phi - a.placed.phi if dim == 2 else 0.0
        R_0 = a.placed.R.T @ b.placed.R
        K, C = (self._matrix(getattr(self, name), name, dim) for name in ("stiffness", "damping"))
        return np.concatenate([a.point(at), b.point(at), R_0.ravel(), [start], K.ravel(), C.ravel()])

    def _matrix(self, value: Any, name: str, dim: int) -> np.ndarray:
        """Six by six, whatever was given."""
        n = components(dim)
        given = floats(value, "numbers are", name, self.owner)
        if given.shape not in ((), (n,), (n, n)):
            raise ShapeError(
                f"`{name}` of {self.owner} has shape {given.shape}: one number, ({n},) or ({n}, {n}) are wanted."
            )
        if not np.all(np.isfinite(given)):
            raise NonFiniteError(f"`{name}` of {self.owner} is {given.tolist()}: it must be finite.")
        matrix = np.zeros((6, 6))
        chosen = IN_PLANE if dim == 2 else np.arange(6)
        matrix[np.ix_(chosen, chosen)] = given if given.ndim == 2 else given * np.eye(n)
        return matrix


def components(dim: int) -> int:
    """How many components a bushing has."""
    return 3 if dim == 2 else 6


class Deformation:
    """The second route: components s of a bushing at n instants, what wrench belongs to forces against them.

    Attributes
    ----------
    s : ndarray, shape (n, 6)
    """

    def __init__(self, poses: Poses, a: int, b: int, c: np.ndarray):
        self.poses, self.a, self.b = poses, a, b
        ends = poses.ends([a], [b])
        d, _, self.p_b = (x[:, 0] for x in between(ends, c[None]))
        self.R_a, R_b = ends.R_a[:, 0], ends.R_b[:, 0]
        if ends.phi_a is not None and ends.phi_b is not None:
            theta = np.zeros_like(d)
            theta[:, 2] = ends.phi_b[:, 0] - ends.phi_a[:, 0] - c[15]
            self.B = np.broadcast_to(np.eye(3), self.R_a.shape)
        else:
            from scipy.spatial.transform import Rotation  # slow to import

            R = np.einsum("nji,njk,lk->nil", self.R_a, R_b, c[6:15].reshape(3, 3))
            theta = Rotation.from_matrix(R).as_rotvec()
            self.B = np.linalg.inv(left_jacobian(theta))
        self.s = np.hstack([self._in_a(d), theta])

    def _in_a(self, x):
        return np.einsum("nji,nj->ni", self.R_a, x)

    def rates(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """s', shape (n, 6), from velocities of all bodies."""
        x, a, b = self.poses.x, self.a, self.b
        moved = (
            v[:, b] + np.cross(w[:, b], self.p_b - x[:, b]) - v[:, a] - np.cross(w[:, a], self.p_b - x[:, a])
        )
        turned = np.einsum("nij,nj->ni", self.B, self._in_a(w[:, b] - w[:, a]))
        return np.hstack([self._in_a(moved), turned])

    def wrench(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force at p_b and torque on b, in the world."""
        f_theta = np.einsum("nji,nj->ni", self.B, f[:, 3:])
        F, T = turn(self.R_a[:, None], -f[:, None, :3]), turn(self.R_a[:, None], -f_theta[:, None])
        return F[:, 0], T[:, 0]


def left_jacobian(theta: np.ndarray) -> np.ndarray:
    """J of exp [theta + J^-1 d] = exp [d] exp [theta] for small d, shape (n, 3, 3)."""
    angle = np.linalg.norm(theta, axis=1)
    safe = np.where(angle > 1e-4, angle, 1.0)
    first = np.where(angle > 1e-4, (1 - np.cos(safe)) / safe**2, 0.5)
    second = np.where(angle > 1e-4, (safe - np.sin(safe)) / safe**3, 1 / 6)
    X = np.einsum("nk,kij->nij", theta, CROSS)
    return np.eye(3) + first[:, None, None] * X + second[:, None, None] * (X @ X)
