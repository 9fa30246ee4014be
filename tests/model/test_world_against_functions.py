"""A world moves like the same system written with functions: four cases in the plane, four in space, under several schemes."""

from typing import NamedTuple

import numpy as np
import pytest

import nonsmooth as ns

G = 9.81


class Case(NamedTuple):
    world: ns.World
    system: ns.MechanicalSystem
    span: float


# -- plane -------------------------------------------------------------------------------------------------------------


def disk_on_floor():
    """A disk that bounces, slips and rolls."""
    world = ns.World((0, -G), material=ns.Material(0.5, 0.3))
    world.add(ns.Body(ns.Disk(0.1), mass=2.0, position=(0, 0.3), velocity=(1.0, 0)), ns.HalfPlane())

    def gap(t, q):
        return np.array([q[1] - 0.1])

    def tangent(t, q):
        return np.array([1.0, 0.0, 0.1])

    floor = ns.Contact(gap, restitution=0.5, friction=0.3, tangent=tangent)
    return Case(world, ns.MechanicalSystem(np.diag([2.0, 2.0, 0.01]), [0.0, -2.0 * G, 0.0], floor), 1.0)


def double_pendulum():
    """Two rods on hinges."""
    world = ns.World((0, -G))
    a = world.add(ns.Body(mass=1.0, inertia=0.1, position=(0.5, 0)))
    b = world.add(ns.Body(mass=0.7, inertia=0.05, position=(1.0, -0.4), angle=0.3))
    world.add(ns.Revolute(world.ground, a, (0, 0)), ns.Revolute(a, b, (1, 0)))
    c, s = np.cos(0.3), np.sin(0.3)
    x, y = s * 0.4, c * 0.4

    def hinges(t, q):
        ca, sa, cb, sb = np.cos(q[2]), np.sin(q[2]), np.cos(q[5]), np.sin(q[5])
        return np.array([
            q[0] - 0.5 * ca, q[1] - 0.5 * sa,
            q[3] + cb * x - sb * y - q[0] - 0.5 * ca, q[4] + sb * x + cb * y - q[1] - 0.5 * sa,
        ])  # fmt: skip

    mass = np.diag([1.0, 1.0, 0.1, 0.7, 0.7, 0.05])
    system = ns.MechanicalSystem(mass, [0, -G, 0, 0, -0.7 * G, 0], joints=ns.Joint(hinges))
    return Case(world, system, 0.5)


def masses_on_springs():
    """A point and a rod: spring with damper, torsion spring, dry friction, a force of time, a stop."""
    world = ns.World((0, -G))
    rod = world.add(ns.Body(mass=1.0, inertia=0.2, position=(0, 0)))
    point = world.add(ns.Body(mass=0.5, position=(1.0, 0.2)))
    world.add(
        ns.Spring(rod, point, 50.0, 0.8, 0.4, at_a=(0.3, 0.0)),
        ns.TorsionSpring(world.ground, rod, 4.0, damping=0.05),
    )
    world.add(ns.Load(rod, wobble))
    world.contact(point, ns.HalfPlane((0, -0.5)), restitution=0.4, friction=0.2)

    def force(t, q, u):
        c, s = np.cos(q[2]), np.sin(q[2])
        dx, dy = q[3] - q[0] - 0.3 * c, q[4] - q[1] - 0.3 * s
        vx, vy = u[3] - u[0] + 0.3 * s * u[2], u[4] - u[1] - 0.3 * c * u[2]
        length = np.sqrt(dx * dx + dy * dy)
        tension = 50.0 * (length - 0.8) + 0.4 * (dx * vx + dy * vy) / length
        fx, fy = tension * dx / length, tension * dy / length
        turn = 0.3 * (c * fy - s * fx) - 4.0 * q[2] - 0.05 * u[2]
        return np.array([fx + 3.0 * np.sin(5.0 * t), fy - G, turn, -fx, -fy - 0.5 * G])

    def gap(t, q):
        return np.array([q[4] + 0.5])

    def tangent(t, q):
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0])

    floor = ns.Contact(gap, restitution=0.4, friction=0.2, tangent=tangent)
    return Case(world, ns.MechanicalSystem(np.diag([1.0, 1.0, 0.2, 0.5, 0.5]), force, floor), 1.0)


def wobble(t, q, u):
    return np.array([3.0 * np.sin(5.0 * t), 0.0])


def driven_slider():
    """A slider on a rail, driven by a crank whose angle is prescribed."""
    world = ns.World((0, -G))
    crank = world.add(ns.Body(mass=0.5, inertia=0.01, position=(0, 0), angular_velocity=3.0))
    slider = world.add(ns.Body(mass=0.4, position=(0.5, 0)))
    world.add(
        ns.Revolute(world.ground, crank, (0, 0), drive=steady),
        ns.PointOnLine(world.ground, slider, axis=(1, 0)),
    )
    world.add(ns.Distance(crank, slider, at_a=(0.1, 0)))

    def rows(t, q):
        dx, dy = q[3] - q[0] - 0.1 * np.cos(q[2]), q[4] - q[1] - 0.1 * np.sin(q[2])
        return np.array([q[0], q[1], q[2] - 3.0 * t, q[4], np.sqrt(dx * dx + dy * dy) - 0.4])

    mass = np.diag([0.5, 0.5, 0.01, 0.4, 0.4])
    return Case(world, ns.MechanicalSystem(mass, [0, -0.5 * G, 0, 0, -0.4 * G], joints=ns.Joint(rows)), 1.0)


def steady(t):
    return 3.0 * t


# -- space: coordinates (x, y, z, quaternion), velocities (v, omega) -----------------------------------------------------------


def rotation(q):
    w, x, y, z = q[3], q[4], q[5], q[6]
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def rates(t, q):
    B = np.zeros((7, 6))
    for i in range(3):
        B[i, i] = 1.0
    B[3:, 3:] = ns.quaternion_rates(q[3:7])
    return B


J = np.array([0.3, 0.2, 0.1])


def gyroscopic(t, q, u):
    w = u[3:6]
    return np.array([
        0.0, 0.0, -2.0 * G, (J[1] - J[2]) * w[1] * w[2], (J[2] - J[0]) * w[2] * w[0], (J[0] - J[1]) * w[0] * w[1],
    ])  # fmt: skip


def in_space(force=gyroscopic, **laws):
    mass = np.diag([2.0, 2.0, 2.0, *J])
    return ns.MechanicalSystem(mass, force, kinematics=rates, quaternions=[3], **laws)


def one_body(**start):
    world = ns.World((0, 0, -G))
    return world, world.add(ns.Body(mass=2.0, inertia=J, name="body", **start))


def tumbling():
    world, _ = one_body(velocity=(1, 0, 2), angular_velocity=(0.1, 4.0, 0.2))
    return Case(world, in_space(), 1.0)


def on_a_ball_joint():
    world, body = one_body(position=(0.5, 0, 0), angular_velocity=(1.0, 0, 2.0), velocity=(0.0, 1.0, 0.0))
    world.add(ns.Spherical(world.ground, body, (0, 0, 0)))

    def tip(t, q):
        return q[:3] - 0.5 * rotation(q)[:, 0]

    return Case(world, in_space(joints=ns.Joint(tip)), 0.5)


def on_a_hinge():
    world, body = one_body(position=(0.5, 0, 0))
    world.add(
        ns.Revolute(world.ground, body, (0, 0, 0), (0, 1, 0)),
        ns.TorsionSpring(world.ground, body, 5.0, axis=(0, 1, 0)),
    )

    def hinge(t, q):
        R = rotation(q)
        return np.array([q[0] - 0.5 * R[0, 0], q[1] - 0.5 * R[1, 0], q[2] - 0.5 * R[2, 0], R[1, 0], R[1, 2]])

    def force(t, q, u):
        R, h = rotation(q), gyroscopic(t, q, u)
        h[4] -= 5.0 * np.arctan2(R[0, 2], R[2, 2])
        return h

    return Case(world, in_space(force, joints=ns.Joint(hinge)), 0.5)


def ball_on_floor():
    """A ball with spin that bounces and starts to roll."""
    world = ns.World((0, 0, -G), material=ns.Material(0.5, 0.3))
    world.add(
        ns.Body(
            ns.Sphere(0.1),
            mass=2.0,
            inertia=J * 0.1,
            position=(0, 0, 0.25),
            velocity=(1, 0, 0),
            angular_velocity=(3, 0, 5),
        )
    )
    world.add(ns.Plane())

    def gap(t, q):
        return np.array([q[2] - 0.1])

    def force(t, q, u):
        w, K = u[3:6], 0.1 * J
        return np.array([
            0.0, 0.0, -2.0 * G, (K[1] - K[2]) * w[1] * w[2], (K[2] - K[0]) * w[2] * w[0], (K[0] - K[1]) * w[0] * w[1],
        ])  # fmt: skip

    def tangents(t, q):
        R, W = rotation(q), np.zeros((6, 2))
        W[0, 0] = W[1, 1] = 1.0
        for k in range(3):  # R^T (r x e), r = (0, 0, -0.1)
            W[3 + k, 0] = -0.1 * R[1, k]
            W[3 + k, 1] = 0.1 * R[0, k]
        return W

    floor = ns.Contact(gap, restitution=0.5, friction=0.3, tangent=tangents)
    system = ns.MechanicalSystem(
        np.diag([2.0, 2.0, 2.0, *(0.1 * J)]), force, floor, kinematics=rates, quaternions=[3]
    )
    return Case(world, system, 0.4)


PLANE = [disk_on_floor, double_pendulum, masses_on_springs, driven_slider]
SPACE = [tumbling, on_a_ball_joint, on_a_hinge, ball_on_floor]


OTHERS: dict[str, dict] = {
    "theta": dict(dt=1e-3), "schatzman-paoli": dict(dt=1e-3), "event-driven": dict(rtol=1e-11), "event-capturing": dict(rtol=1e-10),
    "generalized-alpha": dict(dt=1e-3),
}  # fmt: skip


def difference(case, method, **options):
    q0, u0 = case.world.start()
    instants = np.linspace(0, case.span, 21)
    first = ns.simulate(case.world, (0, case.span), method=method, t_eval=instants, **options)
    second = ns.simulate(case.system, (0, case.span), q0, u0, method=method, t_eval=instants, **options)
    assert first.audit.ok == second.audit.ok
    return max(
        np.abs(first.q - second.q).max(), np.abs(first.u - second.u).max() / max(np.abs(first.u).max(), 1.0)
    )


@pytest.mark.parametrize("make", PLANE)
def test_in_the_plane(make):
    case = make()
    assert difference(case, "moreau", dt=1e-3) < 1e-12
    assert difference(case, "extrapolated-moreau", rtol=1e-8) < 1e-9
    assert difference(case, "extrapolated-moreau", rtol=1e-11) < 1e-11


@pytest.mark.parametrize("make", PLANE)
def test_in_the_plane_under_other_schemes(make):
    case = make()
    for method, options in OTHERS.items():
        assert difference(case, method, **options) < 1e-12, method


@pytest.mark.parametrize("make", SPACE)
def test_in_space(make):
    """Under `moreau` with a difference of order dt^2: the world turns by quaternions of length one also inside a step."""
    case = make()
    coarse, fine = (difference(case, "moreau", dt=dt) for dt in (1e-3, 5e-4))
    assert coarse < 1e-5 and (fine < coarse / 3 or coarse < 1e-12)
    assert difference(case, "extrapolated-moreau", rtol=1e-11) < 1e-9


@pytest.mark.parametrize("make", SPACE)
def test_in_space_under_other_schemes(make):
    """With a tolerance to 1e-9; with constant steps a difference of order dt^2, as under `moreau`."""
    case = make()
    for method, options in OTHERS.items():
        found = difference(case, method, **options)
        if "rtol" in options:
            assert found < 1e-9, method
        else:
            finer = difference(case, method, dt=5e-4)
            assert found < 1e-5 and (finer < found / 3 or found < 1e-12), method
