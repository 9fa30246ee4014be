"""Every compiled row, force and matrix of a world against the second route, in the plane and in space, at a state of no symmetry."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.results.audit.batch import Batch
from nonsmooth.results.audit.joints import rates_of_directions


def push(t, q, u):
    return np.array([np.sin(t) * q[0], u[1] + q[1]])


def twist(t, q, u):
    return q[2] + 0.1 * u[2]


def push_in_space(t, q, u):
    return np.array([np.sin(t) * q[0], u[1] + q[1], u[4]])


def twist_in_space(t, q, u):
    return 0.3 * u[3:6]


def cubic(t, x, rate):
    return 3.0 * x**3 + 0.1 * rate


def sine(t, x, rate, p):
    return p.k * np.sin(x) + 0.2 * rate


def hardening(t, s, rate, p):
    return p.k * s + 2.0 * s**3 + 0.1 * rate


def square_of_time(t):
    return 0.3 * t * t


def shaking(t, p):
    return 0.1 * np.sin(p.k * t)


def everything_in_the_plane():
    world = ns.World((0.3, -9.81), material=ns.Material(0.5, 0.3, 0.01), params=dict(k=3.0))
    a = world.add(ns.Body(ns.Disk(0.2), mass=1.2, position=(0.1, 1.0), angle=0.2, name="a"))
    b = world.add(ns.Body(ns.Box(0.3, 0.2), density=3.0, position=(0.7, 1.5), angle=-0.4, name="b"))
    c = world.add(ns.Body(ns.Capsule(0.3, 0.1), mass=0.7, position=(-0.5, 0.6), name="c"))
    d = world.add(ns.Body(ns.Disk(0.15), mass=0.3, position=(1.5, 0.9), name="d"))
    e = world.add(ns.Body(mass=0.3, position=(1.5, 1.9), name="e"))
    world.add(ns.HalfPlane(normal=(0.2, 1.0)), ns.HalfPlane((0, 0.1), body=b, name="lid"))
    world.contact(a, d)
    world.contact(e, ns.Circle(5.0, inside=True))
    world.contact(d, ns.Circle(0.5, (1.5, 0)), friction=0.2)
    world.contact(b, ns.Circle(0.3, (0.2, 0.4)))
    world.contact(c, e)
    world.contact(a, c)
    world.contact(ns.Circle(0.1, (0.75, 1.5), name="inside"), b)
    world.add(
        ns.Revolute(a, b, (0.4, 1.2), stops=(-0.5, 0.6), friction=0.3, drive=square_of_time, name="pin"),
        ns.Prismatic(b, c, (0, 1), axis=(1, 0.5), stops=(-0.2, None), friction=1.0, name="slider"),
        ns.Fixed(c, d, name="weld"), ns.Distance(a, e, name="rod"), ns.Distance(a, c, drive=shaking, name="jack"),
        ns.PointOnLine(a, e, axis=(0, 1), name="slot"), ns.Gear(a, d, 2.0, name="gear"),
        ns.Spring(a, b, 20, damping=0.3, at_a=(0.2, 1.0)), ns.Damper(world.ground, c, 2.0, at_a=(0, 3)),
        ns.TorsionSpring(a, c, 3.0, damping=0.1), ns.Spring(b, e, force=cubic), ns.TorsionSpring(world.ground, d, torque=sine),
        ns.Bushing(a, d, (0.5, 0.8), stiffness=(5, 7, 2), damping=0.2 + np.eye(3)), ns.Bushing(world.ground, b, law=hardening),
        ns.Bushing(e, c, stiffness=3.0), ns.Load(a, (1, 2), 0.5, at=(0.2, 1.1)), ns.Load(b, push, twist, carried=True, at=(0.8, 1.5)),
    )  # fmt: skip
    return world


def everything_in_space():
    world = ns.World((0.3, 0.1, -9.81), material=ns.Material(0.5, 0.3, 0.01), params=dict(k=3.0))
    turned = (0.8, 0.6, 0, 0)
    a = world.add(ns.Body(ns.Sphere(0.2), mass=1.2, position=(0.1, 1.0, 2.0), name="a"))
    b = world.add(
        ns.Body(ns.Box(0.3, 0.2, 0.5), density=3.0, position=(0.7, 1.5, 1.0), rotation=turned, name="b")
    )
    c = world.add(ns.Body(ns.Capsule(0.3, 0.1), mass=0.7, position=(-0.5, 0.6, 1.0), name="c"))
    d = world.add(ns.Body(ns.Sphere(0.15), mass=0.3, position=(1.5, 0.9, 1.3), name="d"))
    e = world.add(ns.Body(mass=0.3, position=(1.5, 1.9, 1.1), name="e"))
    inertia = [[2, 0.1, 0.2], [0.1, 2.5, 0.3], [0.2, 0.3, 2.2]]
    f = world.add(ns.Body(mass=1.0, inertia=inertia, position=(0, 0, 5), name="f"))
    world.add(ns.Plane(normal=(0.2, 0.1, 1.0)), ns.Plane(body=b, name="lid"))
    world.contact(a, d)
    world.contact(e, ns.Circle(9.0, (0, 0, 0), inside=True))
    world.contact(d, ns.Circle(0.5, (1.5, 0, 0)), friction=0.2)
    for other in (ns.Circle(0.3, (0.2, 0.4, 0.1)), e, ns.Circle(0.1, (0.75, 1.5, 1.1), name="inside")):
        world.contact(b, other, rolling_friction=0.0)
    world.contact(a, c, rolling_friction=0.0)
    world.add(
        ns.Revolute(a, b, (0.4, 1.2, 1.5), (1, 2, 3), stops=(-0.5, 0.6), friction=0.3, drive=square_of_time, name="pin"),
        ns.Prismatic(b, c, (0, 1, 1), axis=(1, 0.5, 0.2), stops=(-0.2, None), friction=1.0, name="slider"),
        ns.Fixed(c, d, name="weld"), ns.Distance(a, e, name="rod"), ns.Distance(a, c, drive=shaking, name="jack"),
        ns.PointOnLine(a, e, axis=(0, 1, 0), name="slot"), ns.Gear(a, d, 2.0, axis=(1, 1, 0), name="gear"),
        ns.Cylindrical(a, f, axis=(1, 0, 1), name="cylinder"), ns.Spherical(b, f, (0, 0, 2), name="ball"),
        ns.Universal(c, f, (0, 0, 3), (1, 0, 0), (0, 1, 0), name="cross"), ns.PlanarJoint(d, f, normal=(0, 1, 1), name="table"),
        ns.PointOnPlane(d, e, normal=(0, 0, 1), name="sheet"), ns.Rolling(a, ns.Plane(), name="rolling"),
        ns.Spring(a, b, 20, damping=0.3, at_a=(0.2, 1.0, 0)), ns.Damper(world.ground, c, 2.0, at_a=(0, 3, 0)),
        ns.TorsionSpring(a, c, 3.0, damping=0.1, axis=(1, 1, 1)), ns.Spring(b, e, force=cubic),
        ns.Bushing(a, b, (0.5, 0.8, 1), stiffness=np.diag([5, 7, 2, 1, 3, 2]) + 0.1, damping=(1, 2, 3, 0.1, 0.2, 0.4)),
        ns.Bushing(world.ground, f, law=hardening), ns.Bushing(e, c, stiffness=3.0),
        ns.TorsionSpring(world.ground, d, torque=sine), ns.Load(a, (1, 2, 3), (0.5, 0, 1), at=(0.2, 1.1, 0)),
        ns.Load(b, push_in_space, twist_in_space, carried=True, at=(0.8, 1.5, 1)),
    )  # fmt: skip
    return world


@pytest.fixture(params=[everything_in_the_plane, everything_in_space], scope="module")
def bound(request):
    world, rng = request.param(), np.random.default_rng(0)
    q, u = world.start()
    model = world.bind(0.0, q, u)
    q, u = q + 0.3 * rng.standard_normal(q.size), rng.standard_normal(u.size)
    for k in model.quaternions:
        q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    return model, q, u


def written(model, writer, q, u, shape, t=0.37):
    out = np.zeros(shape)
    writer(t, q, u, model.parameters.flat, out)
    return out


def test_masses_and_forces(bound):
    model, q, u = bound
    n = model.n_u
    assert np.array_equal(written(model, model.core.mass, q, u, (n, n)), model.mass_matrix(0.37, q))
    np.testing.assert_allclose(
        written(model, model.core.force, q, u, n), model.forces(0.37, q, u), rtol=1e-13, atol=1e-13
    )
    if model.quaternions:
        B = written(model, model.core.kinematics, q, u, (model.n_q, n))
        np.testing.assert_allclose(B, model.kinematic_matrix(0.37, q), atol=1e-15)


def test_gaps_and_joints(bound):
    model, q, u = bound
    np.testing.assert_allclose(
        written(model, model.core.gap, q, u, model.laws.n_N), model.gaps(0.37, q), atol=1e-14
    )
    joints = written(model, model.joints, q, u, model.assembly.n_joints)
    np.testing.assert_allclose(joints, model.joint_residuals(0.37, q, u)[0], atol=1e-14)


def test_directions_against_complex_steps_of_the_gaps(bound):
    model, q, u = bound
    WT, zeta = model.directions(0.37, q)
    np.testing.assert_allclose(written(model, model.core.directions, q, u, WT.shape), WT, atol=1e-14)
    np.testing.assert_allclose(written(model, model.core.zeta, q, u, zeta.size), zeta, atol=1e-12)


def test_quadratic_terms_against_differences(bound):
    model, q, u = bound
    kappa = written(model, model.kappa, q, u, model.laws.n_rows)
    found = rates_of_directions(Batch(model), np.array([0.37]), q[None], u[None], np.array([0.05]))[0]
    np.testing.assert_allclose(kappa, found, atol=1e-8)


def test_potential_is_what_conservative_forces_come_from():
    """h = -dV/dq for gravity, springs, torsion springs and a constant force, at rest."""
    world = ns.World((0.0, -9.81))
    a = world.add(ns.Body(mass=1.0, inertia=0.2, position=(0, 0), name="a"))
    b = world.add(ns.Body(mass=2.0, inertia=0.3, position=(1, 0.5), name="b"))
    world.add(
        ns.Spring(a, b, 20.0, 0.7, at_b=(1.2, 0.6)),
        ns.TorsionSpring(a, b, 3.0, 0.4),
        ns.Bushing(a, b, (0.4, 0.3), stiffness=(5.0, 7.0, 2.0)),
        ns.Load(a, (1.0, 2.0), at=(0.1, 0.2)),
    )
    q, u = world.start()
    model, q = world.bind(0.0, q, u), q + np.linspace(-0.3, 0.4, 6)
    slopes = [
        (model.potential_energy(0.0, q + s) - model.potential_energy(0.0, q - s)) / 2e-6
        for s in 1e-6 * np.eye(6)
    ]
    np.testing.assert_allclose(written(model, model.core.force, q, 0 * u, 6), -np.array(slopes), atol=1e-7)


def test_tangent_against_differences(bound):
    """cD D + cK K: minus the change of h + W la with velocities and with increments."""
    model, q, u = bound
    rng = np.random.default_rng(1)
    a, la, d = (
        rng.standard_normal(model.n_u),
        rng.standard_normal(model.laws.n_rows),
        rng.standard_normal(model.n_u),
    )
    t, n, r = 0.37, model.n_u, model.laws.n_rows

    def total(q, u):
        return (
            written(model, model.core.force, q, u, n)
            + written(model, model.core.directions, q, u, (r, n)).T @ la
        )

    s = 1e-5
    along = model.kinematic_matrix(t, q) @ d
    by_q = (total(q + s * along, u) - total(q - s * along, u)) / (2 * s)
    by_u = (total(q, u + s * d) - total(q, u - s * d)) / (2 * s)
    np.testing.assert_allclose(model.tangent(t, q, u, a, la, cK=1.0) @ d, -by_q, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(model.tangent(t, q, u, a, la, cD=1.0) @ d, -by_u, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(
        (model.tangent(t, q, u, a, la, cM=1.0) @ d), model.mass_matrix(t, q) @ d, atol=1e-12
    )
