"""Mechanical systems with friction of given normal force as Filippov systems.

    q' = u,   M(t, q) u' = h(t, q, u) - sum_i a_i(t, q, u) w_i(t, q) sgn(gamma_i),   gamma_i = w_i^T u +
    zeta_i(t, q)

One group per `FrictionElement`, with the regions gamma > 0 and gamma < 0 (Stewart 1996, sec. 2). The state
is x = (q, u).

Friction in a plane (forces in a disk of radius a) is no finite union of regions. If it is asked for, the disk is replaced by
a regular polygon of the same area with 2 m corners, which is a sum of m line segments:

    m line elements along d_j = w_1 cos(j pi/m) + w_2 sin(j pi/m),  each with the limit  a sin(pi/2m) sqrt(pi/(m sin(pi/m))).

Directions of the force are then off by up to pi/(2 m), its size by up to 11 % (m = 2), 2.6 % (m = 4), 0.6 % (m = 8). With
m > 2 the weights of a sticking element are not unique (condition B'), its motion is.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from nonsmooth._core.jit import JIT_ENABLED, kernel, user_kernel
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve
from nonsmooth.errors import InputError, ModelError, RangeError, ShapeError
from nonsmooth.model.functions import UserFunction
from nonsmooth.sliding.groups import FilippovSystem, Group

_converted: WeakKeyDictionary = WeakKeyDictionary()


@kernel
def divide_by_mass(M, b):
    """``M^-1 b`` in place; NaN if M is singular."""
    n = b.size
    piv = np.empty(n, dtype=np.int64)
    if lu_factor(M, piv, n) > 0.0:
        lu_solve(M, piv, n, b)
    else:
        b[0] = np.nan


def from_mechanical(system, t0, x0, facets=None):
    """The Filippov system of a `MechanicalSystem` whose only set-valued laws are friction elements along
    lines.

    Parameters
    ----------
    system : MechanicalSystem
    t0 : float
    x0 : ndarray, shape (2 n,)
        Start state (q, u); used to find out which functions are constant.
    facets : int, optional
        Even number of sides of the polygon that stands for a disk of friction forces.

    Returns
    -------
    FilippovSystem
        With the parameter values the system has now.
    """
    if x0.size % 2:
        raise ShapeError(
            f"solve_filippov: the state of a mechanical system is (q, u), of even length; got {x0.size}"
        )
    key = (x0.size, facets, tuple(system.parameters.flat))
    known = _converted.setdefault(system, {})
    if key not in known:
        known[key] = _convert(system, t0, x0, facets)
    return known[key]


def _convert(system, t0, x0, facets):
    for label in ("contacts", "elements", "joints", "nonholonomic"):
        if getattr(system, label):
            raise InputError(
                f"solve_filippov: the mechanical system has {label}; only friction elements become regions, use `simulate`"
            )
    if system.kinematics is not None:
        raise InputError("solve_filippov: `kinematics` other than q' = u is not converted; use `simulate`")
    n = x0.size // 2
    q0, u0 = x0[:n], x0[n:]
    p = system.parameters.flat.copy()

    def function(f, name, shape, takes_u=False):
        return UserFunction(f, name, shape, takes_u, system.parameters)

    mass = function(system.mass, "mass", (n, n))
    force = function(system.force, "force", (n,), True)
    M0 = mass.check_finite(t0, q0, u0)
    if np.linalg.matrix_rank(M0) < n:
        raise ModelError("solve_filippov: the mass matrix is singular at the start")
    force.check_finite(t0, q0, u0)
    write_mass, write_force = mass.writer(q0, u0, t0), force.writer(q0, u0, t0)

    def smooth(t, x, out):
        q, u = x[:n], x[n:]
        M = np.empty((n, n))
        write_mass(t, q, u, p, M)
        write_force(t, q, u, p, out[n:])
        divide_by_mass(M, out[n:])
        for i in range(n):
            out[i] = u[i]

    groups = []
    fixed_mass = not mass.depends_on("t", "q")
    for k, element in enumerate(system.friction):
        name = element.name or f"friction {k}"
        sample = np.asarray(function(element.direction, f"direction of {name!r}", (n,)).raw(t0, q0, u0))
        columns = sample.size // n if sample.ndim == 2 else 1
        if sample.size != n * columns or sample.shape[0] != n or columns not in (1, 2):
            raise ShapeError(
                f"solve_filippov: the direction of {name!r} has shape {sample.shape}, wanted ({n},), ({n}, 1) or ({n}, 2)"
            )
        for label, coefficients, factor in _lines(name, columns, facets):
            line = _Line(element, label, function, n, sample.ndim, columns, coefficients, factor)
            groups.append(_group(line, write_mass, M0 if fixed_mass else None, n, t0, q0, u0, p))
    return FilippovSystem(smooth, groups, names=[f"q[{i}]" for i in range(n)] + [f"u[{i}]" for i in range(n)])


def _lines(name, columns, facets):
    """(name, coefficients of the columns, factor on the limit) of the line elements that stand for an element."""
    if columns == 1:
        return [(name, np.ones(1), 1.0)]
    if facets is None:
        raise InputError(
            f"solve_filippov: {name!r} is friction in a plane (a disk of forces), which has no finite set of regions; "
            "pass facets=8 (or another even number) to replace the disk by a polygon, or use `simulate`"
        )
    if int(facets) != facets or facets < 4 or facets % 2:
        raise RangeError(f"solve_filippov: facets = {facets!r} must be an even number, at least 4")
    m = int(facets) // 2
    factor = np.sin(np.pi / (2 * m)) * np.sqrt(np.pi / (m * np.sin(np.pi / m)))
    angles = np.arange(m) * np.pi / m
    return [(f"{name} {j}", np.array([np.cos(a), np.sin(a)]), factor) for j, a in enumerate(angles)]


class _Line:
    """Friction along one line: the direction, surface velocity and limit of an element, or a combination of its columns."""

    def __init__(self, element, name, function, n, ndim, columns, coefficients, factor):
        self.element, self.name, self.n, self.ndim = element, name, n, ndim
        self.function, self.coefficients, self.factor = function, coefficients, factor
        shape = (n,) if ndim == 1 else (n, columns)
        self.direction = function(element.direction, f"direction of {name!r}", shape)
        self.zeta = None
        if element.surface_velocity is not None:
            self.zeta = function(element.surface_velocity, f"surface velocity of {name!r}", (columns,))

    def vector(self, t, q, u):
        """The direction at a point."""
        value = self.direction.call(t, q, u)
        return value if self.ndim == 1 else value @ self.coefficients

    def direction_writer(self, t0, q0, u0):
        """Compiled ``(t, q, u, p, out)`` for the direction."""
        write = self.direction.writer(q0, u0, t0)
        if self.ndim == 1:
            return write
        c, n, k = self.coefficients, self.n, self.coefficients.size

        def combined(t, q, u, p, out):
            W = np.empty((n, k))
            write(t, q, u, p, W)
            for i in range(n):
                out[i] = 0.0
                for j in range(k):
                    out[i] += W[i, j] * c[j]

        return _jit(combined)

    def zeta_writer(self, t0, q0, u0):
        """Compiled ``(t, q, u, p, out)`` for the surface velocity along the line, or None."""
        if self.zeta is None:
            return None
        write, c, k = self.zeta.writer(q0, u0, t0), self.coefficients, self.coefficients.size

        def combined(t, q, u, p, out):
            value = np.empty(k)
            write(t, q, u, p, value)
            out[0] = 0.0
            for j in range(k):
                out[0] += value[j] * c[j]

        return _jit(combined)

    def limit_writer(self, t0, q0, u0):
        """Compiled ``(t, q, u, p, out)`` for the largest force."""
        factor = self.factor
        if callable(self.element.limit):
            write = self.function(self.element.limit, f"limit of {self.name!r}", (1,), True).writer(
                q0, u0, t0
            )

            def limit(t, q, u, p, out):
                write(t, q, u, p, out)
                out[0] *= factor
        else:
            constant = factor * float(self.element.limit)

            def limit(t, q, u, p, out):
                out[0] = constant

        return _jit(limit)


def _group(line, write_mass, M0, n, t0, q0, u0, p):
    fixed_direction = not line.direction.depends_on("t", "q")
    w0 = line.vector(t0, q0, u0)
    if M0 is not None and fixed_direction and not callable(line.element.limit):
        slope = np.concatenate(
            [np.zeros(n), -line.factor * float(line.element.limit) * np.linalg.solve(M0, w0)]
        )
        fields = [slope, -slope]
    else:
        fields = _fields(line, write_mass, n, t0, q0, u0, p)
    if fixed_direction and line.zeta is None:
        indicator = np.concatenate([np.zeros(n), w0])
        group = Group(fields, [-indicator, indicator], name=line.name, regions=["+", "-"])
    else:
        velocity = _velocity(line, n, t0, q0, u0, p)
        group = Group(fields, [lambda t, x: -velocity(t, x), velocity], name=line.name, regions=["+", "-"])
        group.mirror = True
    return group


def _fields(line, write_mass, n, t0, q0, u0, p):
    write_direction, write_limit = line.direction_writer(t0, q0, u0), line.limit_writer(t0, q0, u0)

    def slope(t, x, out, sign):
        q, u = x[:n], x[n:]
        M = np.empty((n, n))
        a = np.empty(1)
        write_mass(t, q, u, p, M)
        write_direction(t, q, u, p, out[n:])
        write_limit(t, q, u, p, a)
        divide_by_mass(M, out[n:])
        for i in range(n):
            out[i] = 0.0
            out[n + i] *= -sign * a[0]

    slope = _jit(slope)
    return [lambda t, x, out: slope(t, x, out, 1.0), lambda t, x, out: slope(t, x, out, -1.0)]


def _velocity(line, n, t0, q0, u0, p):
    write_direction, write_zeta = line.direction_writer(t0, q0, u0), line.zeta_writer(t0, q0, u0)

    def without(t, x):
        w = np.empty(n)
        write_direction(t, x[:n], x[n:], p, w)
        s = 0.0
        for i in range(n):
            s += w[i] * x[n + i]
        return s

    if write_zeta is None:
        return without
    inner = _jit(without)

    def with_surface(t, x):
        out = np.empty(1)
        write_zeta(t, x[:n], x[n:], p, out)
        return inner(t, x) + out[0]

    return with_surface


def _jit(f):
    return user_kernel(f) if JIT_ENABLED else f
