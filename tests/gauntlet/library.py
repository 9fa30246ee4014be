"""The mechanics of the gauntlet as a user of the library writes it: plain functions of t, q, u and parameters.

One `MechanicalSystem` is built for each model and each set of coefficients; all other numbers travel in `params`, so that
systems of a family share their compiled functions.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import nonsmooth as ns

# -- a mass above a floor, under a ceiling ------------------------------------------------------------------------------


def vertical_mass(t, q, p):
    return np.array([[p.m]])


def vertical_force(t, q, u, p):
    return np.array([-p.m * p.g - p.k * (q[0] - p.z) - p.c * u[0] + p.F * np.cos(p.wF * t)])


def vertical_floor(t, q, p):
    return q[0] - (p.h + p.A * np.sin(p.w * t) + p.V * t)


def vertical_ceiling(t, q, p):
    return p.top - q[0]


# -- a particle over a surface, before a wall ---------------------------------------------------------------------------


def planar_mass(t, q, p):
    return p.m * np.eye(2)


def planar_force(t, q, u, p):
    return np.array([p.m * p.gx - p.k * q[0] - p.c * u[0] + p.F * np.cos(p.wF * t), -p.m * p.g])


def planar_gap(t, q, p):
    return q[1] - (p.h + p.s * q[0] + p.b * q[0] * q[0] + p.A * np.sin(p.w * t))


def planar_tangent(t, q, p):
    return np.array([1.0, p.s + 2.0 * p.b * q[0]])


def planar_belt(t, q, p):
    return -(p.v0 + p.v1 * np.sin(p.wv * t))


def wall_gap(t, q, p):
    return p.xw - q[0]


def wall_tangent(t, q, p):
    return np.array([0.0, 1.0])


# -- a box ------------------------------------------------------------------------------------------------------------


def box_mass(t, q, p):
    return np.diag(np.array([p.m, p.m, p.J]))


def box_force(t, q, u, p):
    return np.array([p.m * p.gx + p.F * np.cos(p.wF * t), -p.m * p.g, 0.0])


def box_lower(t, q, p):
    s, c = p.l * np.sin(q[2]), p.d * np.cos(q[2])
    return np.array([q[1] - s - c - p.h, q[1] + s - c - p.h])


def box_lower_tangent(t, q, p):
    s, c = p.l * np.sin(q[2]), p.d * np.cos(q[2])
    return np.array([[1.0, 1.0], [0.0, 0.0], [s + c, c - s]])


def box_upper(t, q, p):
    s, c = p.l * np.sin(q[2]), p.d * np.cos(q[2])
    return np.array([p.top - q[1] + s - c, p.top - q[1] - s - c])


def box_upper_tangent(t, q, p):
    s, c = p.l * np.sin(q[2]), p.d * np.cos(q[2])
    return np.array([[1.0, 1.0], [0.0, 0.0], [s - c, -s - c]])


# -- three masses on a line ---------------------------------------------------------------------------------------------


def chain_mass(t, q, p):
    return np.diag(np.array([p.m0, p.m1, p.m2]))


def chain_force(t, q, u, p):
    x, y, z = q[0] - p.z0, q[1] - p.z1, q[2] - p.z2
    return np.array(
        [
            -p.m0 * p.g - p.kA * x - p.c * u[0] + p.k * (y - x),
            -p.m1 * p.g - p.kA * y - p.c * u[1] + p.k * (z - y) - p.k * (y - x),
            -p.m2 * p.g - p.kA * z - p.c * u[2] - p.k * (z - y),
        ]
    )


def chain_gaps(t, q, p):
    return np.array([q[0] - p.h, q[1] - q[0] - p.d, q[2] - q[1] - p.d])


def chain_ceiling(t, q, p):
    return p.top - q[2]


# -- double pendula -----------------------------------------------------------------------------------------------------


def pendulum_mass(t, q, p):
    c = p.m2 * p.l1 * p.l2 * np.cos(q[0] - q[1])
    return np.array([[(p.m1 + p.m2) * p.l1 * p.l1, c], [c, p.m2 * p.l2 * p.l2]])


def pendulum_force(t, q, u, p):
    k = p.m2 * p.l1 * p.l2 * np.sin(q[0] - q[1])
    first = -k * u[1] ** 2 - (p.m1 + p.m2) * p.g * p.l1 * np.sin(q[0])
    return np.array([first, k * u[0] ** 2 - p.m2 * p.g * p.l2 * np.sin(q[1])])


def pendulum_gap(t, q, p):
    return p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[1]) + p.xw


def pendulum_tangent(t, q, p):
    return np.array([p.l1 * np.sin(q[0]), p.l2 * np.sin(q[1])])


def joints_mass(t, q, p):
    return np.diag(np.array([p.m1, p.m1, p.m2, p.m2]))


def joints_force(t, q, u, p):
    return np.array([0.0, -p.m1 * p.g, 0.0, -p.m2 * p.g])


def joints_gap(t, q, p):
    return q[2] + p.xw


def joints_tangent(t, q, p):
    return np.array([0.0, 0.0, 0.0, 1.0])


def rods(t, q, p):
    x, y = q[2] - q[0], q[3] - q[1]
    return 0.5 * np.array([q[0] ** 2 + q[1] ** 2 - p.l1 * p.l1, x**2 + y**2 - p.l2 * p.l2])


# -- masses on belts ----------------------------------------------------------------------------------------------------


def belts_mass(t, q, p):
    return np.diag(np.array([p.m0, p.m1]))


def belts_force(t, q, u, p):
    pull = p.k * (q[1] - q[0])
    first = -p.kA * q[0] - p.c * u[0] + pull + p.F * np.cos(p.wF * t)
    return np.array([first, -p.kA * q[1] - p.c * u[1] - pull])


def along_first(t, q):
    return np.array([1.0, 0.0])


def along_second(t, q):
    return np.array([0.0, 1.0])


def limit_first(t, q, u, p):
    return p.L0


def limit_second(t, q, u, p):
    return p.L1


def belt_speed(t, q, p):
    return -(p.v0 + p.v1 * np.sin(p.wv * t))


# -- two coupled falling masses -----------------------------------------------------------------------------------------


def twin_mass(t, q, p):
    return p.m * np.eye(3)


def twin_force(t, q, u, p):
    return np.array([-p.m * p.g, -p.m * p.g, 0.0])


def twin_gaps(t, q, p):
    return np.array([q[1] - p.h, q[0] - p.h])


def twin_tangents(t, q, p):
    return np.array([[1.0, 0.0], [0.0, 1.0], [p.s, -p.s]])


# -- systems ------------------------------------------------------------------------------------------------------------


def contact(gap, e, mu, name, tangent=None, surface_velocity=None):
    """A contact, or several in one function; without friction it has no tangent."""
    rough = (
        {"friction": mu, "tangent": tangent, "surface_velocity": surface_velocity}
        if any(np.atleast_1d(mu))
        else {}
    )
    return ns.Contact(gap, restitution=e, name=name, **rough)


def _vertical(e, mu):
    contacts = [contact(vertical_floor, e[0], 0.0, "floor")]
    contacts += [contact(vertical_ceiling, e[1], 0.0, "ceiling")] if len(e) > 1 else []
    return vertical_mass, vertical_force, {"contacts": contacts}


def _planar(e, mu):
    contacts = [contact(planar_gap, e[0], mu[0], "ground", planar_tangent, planar_belt)]
    contacts += [contact(wall_gap, e[1], mu[1], "wall", wall_tangent)] if len(e) > 1 else []
    return planar_mass, planar_force, {"contacts": contacts}


def _box(e, mu):
    contacts = [contact(box_lower, e[:2], mu[:2], ("left", "right"), box_lower_tangent)]
    if len(e) > 2:
        contacts += [contact(box_upper, e[2:], mu[2:], ("upper left", "upper right"), box_upper_tangent)]
    return box_mass, box_force, {"contacts": contacts}


def _chain(e, mu):
    contacts = [contact(chain_gaps, e[:3], mu[:3], ("floor", "lower", "upper"))]
    contacts += [contact(chain_ceiling, e[3], 0.0, "ceiling")] if len(e) > 3 else []
    return chain_mass, chain_force, {"contacts": contacts}


def _pendulum(e, mu):
    contacts = [contact(pendulum_gap, e[0], mu[0], "wall", pendulum_tangent)]
    return pendulum_mass, pendulum_force, {"contacts": contacts}


def _joints(e, mu):
    contacts = [contact(joints_gap, e[0], mu[0], "wall", joints_tangent)]
    return joints_mass, joints_force, {"contacts": contacts, "joints": [ns.Joint(rods, name="rods")]}


def _belts(e, mu):
    elements = [
        ns.FrictionElement(along_first, limit_first, belt_speed, name="first"),
        ns.FrictionElement(along_second, limit_second, belt_speed, name="second"),
    ]
    return belts_mass, belts_force, {"friction": elements}


def _twin(e, mu):
    return (
        twin_mass,
        twin_force,
        {"contacts": [contact(twin_gaps, e, mu, ("first", "second"), twin_tangents)]},
    )


BUILDERS = {
    "vertical": _vertical,
    "walls": _vertical,
    "planar": _planar,
    "corner": _planar,
    "box": _box,
    "slot": _box,
    "chain": _chain,
    "chain4": _chain,
    "pendulum": _pendulum,
    "joints": _joints,
    "belts": _belts,
    "twin": _twin,
}


@cache
def _shared(model, e, mu, names):
    mass, force, laws = BUILDERS[model](np.array(e), np.array(mu))
    return ns.MechanicalSystem(mass, force, params=dict.fromkeys(names, 1.0), name=model, **laws)


def system(description):
    """The library's system of a description."""
    params = description["params"]
    shared = _shared(description["model"], tuple(description["e"]), tuple(description["mu"]), tuple(params))
    return shared.with_params(**params)
