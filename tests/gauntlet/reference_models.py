"""The mechanics of the gauntlet a second time, for the reference solver: matrices by hand, rates by complex steps.

Nothing here is taken from the functions handed to the library; every function accepts complex arguments, so that
kappa = d/dt(W^T) u + d zeta/dt is exact to rounding.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from .reference import Terms

TINY = 1e-30


class Model:
    """A mechanical system with contacts `e, mu`, friction elements and joints, all by name."""

    n = 1
    elements = 0
    contacts: tuple[str, ...] = ()
    element_names: tuple[str, ...] = ()

    def __init__(self, params, e, mu):
        self.p = SimpleNamespace(**params)
        self.e, self.mu = tuple(e), tuple(mu)
        self.names = self.contacts + self.element_names

    def mass(self, t, q):
        raise NotImplementedError

    def force(self, t, q, u):
        raise NotImplementedError

    def gap(self, t, q):
        return []

    def normals(self, t, q):
        return np.zeros((0, self.n))

    def normal_rates(self, t, q):
        return np.zeros(len(self.contacts))

    def tangents(self, t, q):
        return np.zeros((len(self.contacts), self.n))

    def tangent_rates(self, t, q):
        return np.zeros(len(self.contacts) + self.elements)

    def limits(self, t, q, u):
        return np.zeros(0)

    def joint(self, t, q):
        return np.zeros(0)

    def joint_rows(self, t, q):
        return np.zeros((0, self.n))

    def terms(self, t, q, u):
        t_i, q_i = t + 1j * TINY, q + 1j * TINY * u

        def law(rows, rates):
            # the real part is the value itself: the imaginary step is far below rounding
            W = rows(t_i, q_i)
            gamma = W @ u + rates(t_i, q_i)
            if W.dtype.kind != "c" and gamma.dtype.kind != "c":
                return W, gamma, np.zeros(gamma.size)
            return W.real, gamma.real, gamma.imag / TINY

        none = lambda t, q: 0.0  # noqa: E731
        return Terms(
            np.asarray(self.mass(t, q), dtype=float), np.asarray(self.force(t, q, u), dtype=float),
            *law(self.normals, self.normal_rates), *law(self.tangents, self.tangent_rates), *law(self.joint_rows, none),
            np.asarray(self.limits(t, q, u), dtype=float),
        )  # fmt: skip


class Vertical(Model):
    """A mass above a floor that is displaced or moves, with spring, damper and drive."""

    contacts = ("floor",)

    def mass(self, t, q):
        return [[self.p.m]]

    def force(self, t, q, u):
        p = self.p
        return [-p.m * p.g - p.k * (q[0] - p.z) - p.c * u[0] + p.F * np.cos(p.wF * t)]

    def gap(self, t, q):
        p = self.p
        return [q[0] - p.h - p.A * np.sin(p.w * t) - p.V * t]

    def normals(self, t, q):
        return np.array([[1.0]])

    def normal_rates(self, t, q):
        p = self.p
        return np.array([-p.A * p.w * np.cos(p.w * t) - p.V])


class BetweenWalls(Vertical):
    """The same under a ceiling."""

    contacts = ("floor", "ceiling")

    def gap(self, t, q):
        return [*super().gap(t, q), self.p.top - q[0]]

    def normals(self, t, q):
        return np.array([[1.0], [-1.0]])

    def normal_rates(self, t, q):
        return np.array([*super().normal_rates(t, q), 0.0])


class Planar(Model):
    """A particle over a tilted, curved, moving surface with a belt on it."""

    n = 2
    contacts = ("ground",)

    def mass(self, t, q):
        return np.diag([self.p.m, self.p.m])

    def force(self, t, q, u):
        p = self.p
        return [p.m * p.gx - p.k * q[0] - p.c * u[0] + p.F * np.cos(p.wF * t), -p.m * p.g]

    def slope(self, q):
        return self.p.s + 2 * self.p.b * q[0]

    def gap(self, t, q):
        p = self.p
        return [q[1] - p.h - p.s * q[0] - p.b * q[0] ** 2 - p.A * np.sin(p.w * t)]

    def normals(self, t, q):
        return np.array([[-self.slope(q), 1.0]])

    def normal_rates(self, t, q):
        return np.array([-self.p.A * self.p.w * np.cos(self.p.w * t)])

    def tangents(self, t, q):
        return np.array([[1.0, self.slope(q)]])

    def tangent_rates(self, t, q):
        p = self.p
        return np.array([-p.v0 - p.v1 * np.sin(p.wv * t)])


class Corner(Planar):
    """The same with a rough wall at the right."""

    contacts = ("ground", "wall")

    def gap(self, t, q):
        return [*super().gap(t, q), self.p.xw - q[0]]

    def normals(self, t, q):
        return np.vstack([super().normals(t, q), [-1.0, 0.0]])

    def normal_rates(self, t, q):
        return np.array([*super().normal_rates(t, q), 0.0])

    def tangents(self, t, q):
        return np.vstack([super().tangents(t, q), [0.0, 1.0]])

    def tangent_rates(self, t, q):
        return np.array([*super().tangent_rates(t, q), 0.0])


class Box(Model):
    """A flat box (or rod, d = 0) over level ground: its two lower corners."""

    n = 3
    contacts = ("left", "right")

    def mass(self, t, q):
        return np.diag([self.p.m, self.p.m, self.p.J])

    def force(self, t, q, u):
        p = self.p
        return [p.m * p.gx + p.F * np.cos(p.wF * t), -p.m * p.g, 0.0]

    def corner(self, q, X, Y):
        """Position of a corner and its derivative by theta."""
        c, s = np.cos(q[2]), np.sin(q[2])
        return (q[0] + X * c - Y * s, q[1] + X * s + Y * c), (-X * s - Y * c, X * c - Y * s)

    def corners(self):
        return (-self.p.l, -self.p.d), (self.p.l, -self.p.d)

    def gap(self, t, q):
        return [self.corner(q, *X)[0][1] - self.p.h for X in self.corners()]

    def normals(self, t, q):
        return np.array([[0.0, 1.0, self.corner(q, *X)[1][1]] for X in self.corners()])

    def tangents(self, t, q):
        return np.array([[1.0, 0.0, self.corner(q, *X)[1][0]] for X in self.corners()])


class BoxInSlot(Box):
    """The same under a ceiling: four corners."""

    contacts = ("left", "right", "upper left", "upper right")

    def upper(self):
        return (-self.p.l, self.p.d), (self.p.l, self.p.d)

    def gap(self, t, q):
        return [*super().gap(t, q), *(self.p.top - self.corner(q, *X)[0][1] for X in self.upper())]

    def normals(self, t, q):
        return np.vstack(
            [super().normals(t, q), *([0.0, -1.0, -self.corner(q, *X)[1][1]] for X in self.upper())]
        )

    def tangents(self, t, q):
        return np.vstack(
            [super().tangents(t, q), *([1.0, 0.0, self.corner(q, *X)[1][0]] for X in self.upper())]
        )


class Chain(Model):
    """Three masses on a line above a floor, springs between them and to their places."""

    n = 3
    contacts = ("floor", "lower", "upper")

    def mass(self, t, q):
        return np.diag([self.p.m0, self.p.m1, self.p.m2])

    def force(self, t, q, u):
        p = self.p
        m, z = (p.m0, p.m1, p.m2), (p.z0, p.z1, p.z2)
        out = [-m[i] * p.g - p.kA * (q[i] - z[i]) - p.c * u[i] for i in range(3)]
        for i in range(2):
            pull = p.k * (q[i + 1] - q[i] - (z[i + 1] - z[i]))
            out[i] += pull
            out[i + 1] -= pull
        return out

    def gap(self, t, q):
        return [q[0] - self.p.h, q[1] - q[0] - self.p.d, q[2] - q[1] - self.p.d]

    def normals(self, t, q):
        return np.array([[1.0, 0, 0], [-1.0, 1.0, 0], [0, -1.0, 1.0]])


class ChainUnderCeiling(Chain):
    contacts = ("floor", "lower", "upper", "ceiling")

    def gap(self, t, q):
        return [*super().gap(t, q), self.p.top - q[2]]

    def normals(self, t, q):
        return np.vstack([super().normals(t, q), [0, 0, -1.0]])

    def normal_rates(self, t, q):
        return np.zeros(4)


class Pendulum(Model):
    """A double pendulum (angles from the downward vertical) beside a wall at the left."""

    n = 2
    contacts = ("wall",)

    def mass(self, t, q):
        p = self.p
        c = p.m2 * p.l1 * p.l2 * np.cos(q[0] - q[1])
        return [[(p.m1 + p.m2) * p.l1**2, c], [c, p.m2 * p.l2**2]]

    def force(self, t, q, u):
        p = self.p
        k = p.m2 * p.l1 * p.l2 * np.sin(q[0] - q[1])
        return [
            -k * u[1] ** 2 - (p.m1 + p.m2) * p.g * p.l1 * np.sin(q[0]),
            k * u[0] ** 2 - p.m2 * p.g * p.l2 * np.sin(q[1]),
        ]

    def gap(self, t, q):
        p = self.p
        return [p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[1]) + p.xw]

    def normals(self, t, q):
        p = self.p
        return np.array([[p.l1 * np.cos(q[0]), p.l2 * np.cos(q[1])]])

    def tangents(self, t, q):
        p = self.p
        return np.array([[p.l1 * np.sin(q[0]), p.l2 * np.sin(q[1])]])


class JointPendulum(Model):
    """A double pendulum of two particles in four coordinates, rods as joints, a wall at the left."""

    n = 4
    contacts = ("wall",)

    def mass(self, t, q):
        p = self.p
        return np.diag([p.m1, p.m1, p.m2, p.m2])

    def force(self, t, q, u):
        p = self.p
        return [0.0, -p.m1 * p.g, 0.0, -p.m2 * p.g]

    def gap(self, t, q):
        return [q[2] + self.p.xw]

    def normals(self, t, q):
        return np.array([[0, 0, 1.0, 0]])

    def tangents(self, t, q):
        return np.array([[0, 0, 0, 1.0]])

    def joint(self, t, q):
        p = self.p
        x, y = q[2] - q[0], q[3] - q[1]
        return np.array([0.5 * (q[0] ** 2 + q[1] ** 2 - p.l1**2), 0.5 * (x**2 + y**2 - p.l2**2)])

    def joint_rows(self, t, q):
        x, y = q[2] - q[0], q[3] - q[1]
        return np.array([[q[0], q[1], 0 * x, 0 * x], [-x, -y, x, y]])


class Belts(Model):
    """Two masses on belts of varying speed, springs to the wall and between them, friction of given limits."""

    n = 2
    elements = 2
    element_names = ("first", "second")

    def mass(self, t, q):
        return np.diag([self.p.m0, self.p.m1])

    def force(self, t, q, u):
        p = self.p
        pull = p.k * (q[1] - q[0])
        drive = p.F * np.cos(p.wF * t)
        return [-p.kA * q[0] - p.c * u[0] + pull + drive, -p.kA * q[1] - p.c * u[1] - pull]

    def normals(self, t, q):
        return np.zeros((0, 2))

    def tangents(self, t, q):
        return np.eye(2)

    def tangent_rates(self, t, q):
        p = self.p
        v = -p.v0 - p.v1 * np.sin(p.wv * t)
        return np.array([v, v])

    def limits(self, t, q, u):
        return [self.p.L0, self.p.L1]


class Twin(Model):
    """Two falling masses, each on its floor, their friction coupled by a third coordinate."""

    n = 3
    contacts = ("first", "second")

    def mass(self, t, q):
        return np.diag([self.p.m, self.p.m, self.p.m])

    def force(self, t, q, u):
        return [-self.p.m * self.p.g, -self.p.m * self.p.g, 0.0]

    def gap(self, t, q):
        return [q[1] - self.p.h, q[0] - self.p.h]

    def normals(self, t, q):
        return np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])

    def tangents(self, t, q):
        return np.array([[1.0, 0.0, self.p.s], [0.0, 1.0, -self.p.s]])


MODELS = {
    "vertical": Vertical,
    "walls": BetweenWalls,
    "planar": Planar,
    "corner": Corner,
    "box": Box,
    "slot": BoxInSlot,
    "chain": Chain,
    "chain4": ChainUnderCeiling,
    "pendulum": Pendulum,
    "joints": JointPendulum,
    "belts": Belts,
    "twin": Twin,
}
