"""Friction that falls with the speed of slipping, in joints and contacts, against quadrature."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nonsmooth as ns
from nonsmooth import errors

G, LAW = 9.81, dict(static=0.5, kinetic=0.2, speed=0.4, viscous=0.01)


def block(friction, dim=2):
    """A point sliding along x, beside one that has the constant friction of the floor."""
    world = ns.World(gravity=(0, -G) if dim == 2 else (0, 0, -G))
    floor = ns.HalfPlane(name="floor") if dim == 2 else ns.Plane(name="floor")
    v = np.array([1.2, 0.0]) if dim == 2 else np.array([0.72, 0.96, 0.0])
    for name, mu in (("block", friction), ("other", 0.3)):
        body = world.add(ns.Body(mass=2.0, position=np.zeros(dim), velocity=v, name=name))
        world.contact(body, floor, friction=mu)
    return world


def way(law, t, v=1.2):
    """Way and speed of a block that slides for the time t, by SciPy."""
    solution = solve_ivp(lambda s, y: [y[1], -G * law.at(y[1])], (0, t), [0.0, v], rtol=1e-11, atol=1e-13)
    return solution.y[:, -1]


@pytest.mark.parametrize("dim", [2, 3])
def test_block_slides_under_stribeck(dim):
    law = ns.Stribeck(**LAW)
    result = ns.simulate(block(law, dim), (0, 0.3), method="event-driven", rtol=1e-9)
    s, v = way(law, 0.3)
    assert np.linalg.norm(result["block"].position[:, -1]) == pytest.approx(s, rel=1e-7)
    assert np.linalg.norm(result["block"].velocity[:, -1]) == pytest.approx(v, rel=1e-6)
    other = 1.2 * 0.3 - 0.5 * 0.3 * G * 0.09
    assert np.linalg.norm(result["other"].position[:, -1]) == pytest.approx(other, rel=1e-7)
    assert result.audit.ok
    errors_of = []
    for dt in (2e-3, 1e-3):
        coarse = ns.simulate(block(law, dim), (0, 0.3), dt=dt)
        assert coarse.audit.ok
        errors_of.append(abs(np.linalg.norm(coarse["block"].position[:, -1]) - s))
    assert errors_of[1] < 0.6 * errors_of[0] < 2e-3


def test_hinge_with_stribeck_sticks_at_the_static_limit():
    """A wheel under a torque: at rest below the static limit; above it, it turns as quadrature says."""
    law = ns.Stribeck(static=1.0, kinetic=0.6, speed=2.0)

    def wheel(torque):
        world = ns.World(gravity=(0, 0))
        body = world.add(ns.Body(mass=1.0, inertia=0.2, name="wheel"))
        world.add(
            ns.Revolute(world.ground, body, (0, 0), friction=law, name="hinge"), ns.Load(body, torque=torque)
        )
        return world

    held = ns.simulate(wheel(0.95), (0, 1), dt=1e-3)
    assert np.abs(held.q).max() < 1e-12
    exact = solve_ivp(lambda t, w: (1.5 - law.at(w)) / 0.2, (0, 1), [0.0], rtol=1e-11, atol=1e-12).y[0, -1]
    turned = ns.simulate(wheel(1.5), (0, 1), method="event-driven", rtol=1e-9)
    assert turned["wheel"].angular_velocity[-1] == pytest.approx(exact, rel=1e-6)


def test_materials_meet():
    law = ns.Stribeck(0.4, 0.1, 0.5)
    world = ns.World(gravity=(0, -G), material=ns.Material(0.0, 0.1))
    body = world.add(ns.Body(mass=1.0, material=ns.Material(0.0, law)))
    world.contact(body, ns.HalfPlane())
    found = world._contacts()[0].material.friction
    assert (found.static, found.kinetic, found.speed) == pytest.approx((0.2, 0.1, 0.5))
    with pytest.raises(errors.RangeError, match="`speed` of Stribeck"):
        ns.Stribeck(0.4, 0.1, 0.0)
