"""Mechanical systems with friction of given normal force as Filippov systems.

    q' = u,   M(t, q) u' = h(t, q, u) - sum_i a_i(t, q, u) w_i(t, q) sgn(gamma_i),   gamma_i = w_i^T u +
    zeta_i(t, q)

One group per `FrictionElement`, with the regions gamma > 0 and gamma < 0 (Stewart 1996, sec. 2). The state
is x = (q, u).
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from nonsmooth._core.dense_lu import lu_factor, lu_solve
from nonsmooth._core.jit import JIT_ENABLED, kernel
from nonsmooth.errors import InputError, ModelError, ShapeError
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


def from_mechanical(system, t0, x0):
    """The Filippov system of a `MechanicalSystem` whose only set-valued laws are friction elements along
    lines.

    Parameters
    ----------
    system : MechanicalSystem
    t0 : float
    x0 : ndarray, shape (2 n,)
        Start state (q, u); used to find out which functions are constant.

    Returns
    -------
    FilippovSystem
        With the parameter values the system has now.
    """
    if x0.size % 2:
        raise ShapeError(
            f"solve_filippov: the state of a mechanical system is (q, u), of even length; got {x0.size}"
        )
    key = (x0.size, tuple(system.parameters.flat))
    known = _converted.setdefault(system, {})
    if key not in known:
        known[key] = _convert(system, t0, x0)
    return known[key]


def _convert(system, t0, x0):
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
        groups.append(
            _group(element, name, function, write_mass, M0 if fixed_mass else None, n, t0, q0, u0, p)
        )
    return FilippovSystem(smooth, groups, names=[f"q[{i}]" for i in range(n)] + [f"u[{i}]" for i in range(n)])


def _group(element, name, function, write_mass, M0, n, t0, q0, u0, p):
    sample = np.asarray(function(element.direction, f"direction of {name!r}", (n,)).raw(t0, q0, u0))
    if sample.size != n:
        raise InputError(
            f"solve_filippov: the direction of {name!r} has shape {sample.shape}; friction in a plane "
            "(a disk) has no finite set of regions, only friction along lines is converted"
        )
    direction = function(_flat(element.direction), f"direction of {name!r}", (n,)) if sample.ndim == 2 else function(
        element.direction, f"direction of {name!r}", (n,)
    )  # fmt: skip
    zeta = None
    if element.surface_velocity is not None:
        zeta = function(element.surface_velocity, f"surface velocity of {name!r}", (1,))
    fixed_direction = sample.ndim == 1 and not direction.depends_on("t", "q")
    w0 = direction.call(t0, q0, u0)
    if M0 is not None and fixed_direction and not callable(element.limit):
        slope = np.concatenate([np.zeros(n), -float(element.limit) * np.linalg.solve(M0, w0)])
        fields = [slope, -slope]
    else:
        fields = _fields(element, name, function, direction, write_mass, n, t0, q0, u0, p)
    if fixed_direction and zeta is None:
        indicator = np.concatenate([np.zeros(n), w0])
        group = Group(fields, [-indicator, indicator], name=name, regions=["+", "-"])
    else:
        velocity = _velocity(direction, zeta, n, t0, q0, u0, p)
        group = Group(fields, [lambda t, x: -velocity(t, x), velocity], name=name, regions=["+", "-"])
        group.mirror = True
    return group


def _flat(direction):
    """A direction given as a column, as a vector (runs as a Python callback)."""

    def flat(t, q, *p):
        return np.asarray(direction(t, q, *p))[:, 0]

    return flat


def _fields(element, name, function, direction, write_mass, n, t0, q0, u0, p):
    write_direction = direction.writer(q0, u0, t0)
    if callable(element.limit):
        write_limit = function(element.limit, f"limit of {name!r}", (1,), True).writer(q0, u0, t0)
    else:
        constant = float(element.limit)

        def limit(t, q, u, p, out):
            out[0] = constant

        write_limit = _jit(limit)

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


def _velocity(direction, zeta, n, t0, q0, u0, p):
    write_direction = direction.writer(q0, u0, t0)
    write_zeta = zeta.writer(q0, u0, t0) if zeta is not None else None

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
    from nonsmooth._core.jit import user_kernel

    return user_kernel(f) if JIT_ENABLED else f
