"""`PointOnCurve`: a point of one body stays on a curve (or surface) of another one, given by equations.

    f(y) = 0,      y = x_a0 + R_a0 R_a^T (p_b - x_a),   p_b = x_b + R_b s

y is the point as an observer on body a sees it who stood still at the start: the curve is given in the world, as it is at the start.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import GROUND, PLANAR, SPATIAL
from nonsmooth.errors import InputError
from nonsmooth.model.bodies.element import Element, Side
from nonsmooth.model.elements import Joint


class PointOnCurve(Element):
    """A point of b stays where ``curve(x[, p])`` is zero: on a curve of the plane (one value), on a curve (two) or surface (one) in space.

    Parameters
    ----------
    a, b : Body or world.ground
        The curve is carried by a.
    curve : callable ``curve(x[, p]) -> float or (m,)``
        x is a point of the world at the start, shape (dim,); gradients must not vanish on the curve.
    at : (dim,)
        The point of b; default: where b is.
    name : str, optional
    """

    def __init__(self, a: Any, b: Any, curve: Callable, at: Any = None, name: str | None = None):
        super().__init__(a, b, name)
        if not callable(curve):
            raise InputError(f"`curve` of {self.owner} is {curve!r}: a function of a point is wanted.")
        self.curve, self.at = curve, at

    def joint(self, a: Side, b: Side, dim: int) -> tuple[Joint, tuple[float, ...]]:
        """The constraint as a function of the coordinates of both bodies, and the numbers it is made of."""
        at = self.place(self.at, dim, "at", b.placed.x)
        s, x_0, R_0 = b.point(at), a.placed.x, a.placed.R
        kinds, first = (a.placed.kind, b.placed.kind), a.placed.q.size
        for side in (a, b):
            if side.placed.kind not in (GROUND, PLANAR, SPATIAL) and side.placed.q.size != dim:
                raise InputError(
                    f"{self.owner} joins {side.owner}, of which something is held: take a body or a free node."
                )
        constraint = on_curve(self.curve, _takes_p(self.curve, self.owner), kinds, first, dim, s, x_0, R_0)
        return Joint(constraint, name=self.name), (*s, *x_0, *R_0.ravel())


def _takes_p(curve: Callable, owner: str) -> bool:
    try:
        n = len(inspect.signature(curve).parameters)
    except (TypeError, ValueError):
        n = 1
    if n not in (1, 2):
        raise InputError(
            f"`curve` of {owner} takes {n} arguments: a point, or a point and the parameters, are wanted."
        )
    return n == 2


def turned(q, i, kind, s):
    """R s of the body whose angle or quaternion begins at i, as complex as q."""
    if kind == PLANAR:
        c, n = np.cos(q[i]), np.sin(q[i])
        return c * s[0] - n * s[1], n * s[0] + c * s[1], s[2] + 0.0 * q[i]
    w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
    f = 2.0 / (w * w + x * x + y * y + z * z)
    a, b, c = y * s[2] - z * s[1], z * s[0] - x * s[2], x * s[1] - y * s[0]
    return (
        s[0] + f * (w * a + y * c - z * b),
        s[1] + f * (w * b + z * a - x * c),
        s[2] + f * (w * c + x * b - y * a),
    )


def turned_back(q, i, kind, s):
    """R^T s."""
    if kind == PLANAR:
        c, n = np.cos(q[i]), np.sin(q[i])
        return c * s[0] + n * s[1], c * s[1] - n * s[0], s[2] + 0.0 * q[i]
    w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
    f = 2.0 / (w * w + x * x + y * y + z * z)
    a, b, c = y * s[2] - z * s[1], z * s[0] - x * s[2], x * s[1] - y * s[0]
    return (
        s[0] + f * (y * c - z * b - w * a),
        s[1] + f * (z * a - x * c - w * b),
        s[2] + f * (x * b - y * a - w * c),
    )


def on_curve(curve, takes_p, kinds, first, dim, s, x_0, R_0):
    """The constraint as a function of (t, q[, p]), q those of a (if it moves) and b."""
    kind_a, kind_b = kinds
    moves, turns_a, turns_b = kind_a != GROUND, kind_a in (PLANAR, SPATIAL), kind_b in (PLANAR, SPATIAL)
    s_b = (float(s[0]), float(s[1]), float(s[2]))

    def seen(q):
        """y, shape (dim,)."""
        x = np.zeros(3, q.dtype)
        if turns_b:
            r = turned(q, first + dim, kind_b, s_b)
            x[0], x[1], x[2] = r[0], r[1], r[2]
        else:
            x[0], x[1], x[2] = s_b[0], s_b[1], s_b[2]
        for k in range(dim):
            x[k] += q[first + k]
        if moves:
            for k in range(dim):
                x[k] -= q[k]
            if turns_a:
                r = turned_back(q, dim, kind_a, (x[0], x[1], x[2]))
                x[0], x[1], x[2] = r[0], r[1], r[2]
            y = np.zeros(3, q.dtype)
            for i in range(3):
                y[i] = x_0[i]
                for j in range(3):
                    y[i] += R_0[i, j] * x[j]
            return y[:dim]
        return x[:dim]

    if takes_p:

        def with_parameters(t, q, p):
            return curve(seen(q), p)

        return with_parameters

    def constraint(t, q):
        return curve(seen(q))

    return constraint
