"""Joints, constraints and contacts that are functions, beside those of the library: the same motion."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import errors


def links(own, dim=2):
    """A body on a joint of the library, and a second one on the first, by a function where `own` is."""
    world = ns.World(gravity=(0, -9.81, 0)[:dim], params=dict(half=0.5))
    J = 0.1 if dim == 2 else (0.05, 0.1, 0.12)
    turning = {} if dim == 2 else {"angular_velocity": (0.3, 0.0, 0.0)}
    at = np.eye(dim)[0]
    first = world.add(ns.Body(mass=1.0, inertia=J, position=0.5 * at, name="first"))
    second = world.add(ns.Body(mass=2.0, inertia=J, position=1.5 * at, name="second", **turning))
    joint = ns.Revolute if dim == 2 else ns.Spherical
    world.add(joint(world.ground, first, 0 * at, name="pin"))
    if not own:
        world.add(joint(first, second, at, name="elbow"))
        return world

    def in_plane(t, q, p):
        c, s, d, e = np.cos(q[2]), np.sin(q[2]), np.cos(q[5]), np.sin(q[5])
        return np.array([q[3] - p.half * d - q[0] - p.half * c, q[4] - p.half * e - q[1] - p.half * s])

    def in_space(t, q, p):
        found = q[7:10] - q[0:3]
        for i in (3, 10):  # first column of both rotations
            w, x, y, z = q[i], q[i + 1], q[i + 2], q[i + 3]
            f = 2.0 / (
                w * w + x * x + y * y + z * z
            )  # of any length: inside a step it is one up to its error
            found -= p.half * np.array([1 - f * (y * y + z * z), f * (x * y + w * z), f * (x * z - w * y)])
        return found

    world.add(ns.Joint(in_plane if dim == 2 else in_space, name="elbow", bodies=(first, second)))
    return world


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize(
    "method", [dict(dt=1e-3), dict(method="event-driven", rtol=1e-9), dict(method=ns.GeneralizedAlpha(dt=1e-3))],
    ids=["moreau", "event-driven", "generalized-alpha"],
)  # fmt: skip
def test_joint_of_functions(dim, method):
    known, own = (ns.simulate(links(own, dim), (0, 0.5), **method) for own in (False, True))
    np.testing.assert_allclose(own.q[:, -1], known.q[:, -1], atol=1e-7 if "rtol" in method else 1e-9)
    assert own.audit.ok == known.audit.ok
    if "rtol" not in method:  # the same steps
        np.testing.assert_allclose(own["elbow"].force[:, -1], known["elbow"].force[:, -1], atol=1e-5)
        np.testing.assert_allclose(own["elbow"].torque[..., -1], known["elbow"].torque[..., -1], atol=1e-5)
        longer = links(True, dim).with_params(half=0.5)
        assert np.array_equal(ns.simulate(longer, (0, 0.5), **method).q[:, -1], own.q[:, -1])


def test_contact_and_velocities_of_functions():
    """A disk on the ground by functions: it falls, bounces and slides like one of the library; then it rolls."""

    def make(own):
        world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.5, friction=0.2))
        disk = world.add(
            ns.Body(
                ns.Disk(0.1),
                mass=1.0,
                position=(0, 0.3),
                velocity=(1.0, 0),
                angular_velocity=3.0,
                name="disk",
            )
        )
        if own:
            slip = lambda t, q: np.array([1.0, 0.0, 0.1])  # noqa: E731
            world.add(ns.Contact(lambda t, q: q[1] - 0.1, 0.5, 0.2, slip, name="disk on floor", bodies=disk))
        else:
            world.contact(disk, ns.HalfPlane(name="floor"))
        return world

    known, own = (ns.simulate(make(own), (0, 1), dt=1e-3) for own in (False, True))
    np.testing.assert_allclose(own.q, known.q, atol=1e-12)
    assert own.audit.ok and np.array_equal(own.modes, known.modes)

    rolling = ns.World(gravity=(9.81 * np.sin(0.1), -9.81 * np.cos(0.1)))
    disk = rolling.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 0.1), name="disk"))
    rolling.add(
        ns.Joint(lambda t, q: q[1] - 0.1, name="contact", bodies=[disk]),
        ns.NonholonomicConstraint(lambda t, q, u: u[0] + 0.1 * u[2], name="no slip", bodies=[disk]),
    )
    x = ns.simulate(rolling, (0, 1), dt=1e-3)["disk"].position[0, -1]
    assert x == pytest.approx(0.5 * 9.81 * np.sin(0.1) / 1.5, rel=1e-9)


def circle(x, p):
    return x[0] ** 2 + (x[1] - 1.0) ** 2 - p.radius**2


def test_point_on_a_curve():
    """A bead on a circle is a pendulum."""
    bead, pendulum = (ns.World(gravity=(0, -9.81), params=dict(radius=1.0)) for _ in range(2))
    for world in (bead, pendulum):
        world.add(ns.Body(mass=1.0, position=(1, 1), name="bead"))
    bead.add(ns.PointOnCurve(bead.ground, bead["bead"], circle, name="wire"))
    pendulum.add(ns.Distance(pendulum.ground, pendulum["bead"], at_a=(0, 1), name="wire"))
    one, other = (ns.simulate(world, (0, 1), method="event-driven", rtol=1e-10) for world in (bead, pendulum))
    np.testing.assert_allclose(one.q[:, -1], other.q[:, -1], atol=1e-8)
    one, other = (ns.simulate(world, (0, 0.3), dt=1e-3)["wire"].force[:, -1] for world in (bead, pendulum))
    np.testing.assert_allclose(
        one, other, atol=1e-4
    )  # the gradient, which is not of length one, is that of the end of a step


def test_point_on_a_curve_of_a_body():
    """An ellipse on a turning ring: a point of a ball stays on it, energy too."""

    def ellipse(x):
        return np.array([x[0] ** 2 / 4 + x[1] ** 2 - 1.0, x[2] - 0.0])

    world = ns.World(gravity=(0, -9.81, 0))
    ring = ns.Body(mass=5.0, inertia=(2.0, 2.5, 3.0), angular_velocity=(0.5, 1.0, 0.2), name="ring")
    bead = ns.Body(ns.Sphere(0.1), mass=1.0, position=(2.1, 0, 0), velocity=(0, 0.4, -2), name="bead")
    world.add(ring, bead)
    world.add(
        ns.Spherical(world.ground, ring, (0, 0, 0)),
        ns.PointOnCurve(ring, bead, ellipse, at=(2, 0, 0), name="wire"),
    )
    result = ns.simulate(world, (0, 0.3), method=ns.GeneralizedAlpha(dt=1e-3))
    y = np.einsum("nji,jn->in", result["ring"].rotation, result["bead"].point((-0.1, 0, 0)))
    assert np.abs(y[0] ** 2 / 4 + y[1] ** 2 - 1).max() < 1e-9 and np.abs(y[2]).max() < 1e-9
    energy = result.energy()
    total = energy.kinetic + energy.potential
    assert np.abs(total - total[0]).max() < 1e-4 and result.audit.ok


def test_what_is_refused():
    world = ns.World(gravity=(0, -9.81))
    body, other = world.add(ns.Body(mass=1.0, name="one")), ns.Body(mass=1.0, name="other")
    hold = lambda t, q: q[1]  # noqa: E731
    for joint, error, says in (
        (ns.Joint(hold, name="x"), errors.InputError, "`bodies` of joint 'x' is missing"),
        (ns.Joint(hold, name="x", bodies=(body, other)), errors.ModelError, "'other'"),
        (ns.Joint(hold, name="x", bodies=(world.ground, body)), errors.InputError, "leave the ground out"),
        (ns.Joint(hold, name="x", bodies=(body, body)), errors.ModelError, "twice"),
        (ns.Joint(hold, name="one", bodies=body), errors.ModelError, "used twice"),
    ):
        with pytest.raises(error, match=says):
            world.add(joint)
    with pytest.raises(errors.InputError, match="for worlds"):
        ns.MechanicalSystem(np.eye(2), np.zeros(2), joints=ns.Joint(hold, bodies=body))
    world.add(
        ns.Contact(hold, 0.0, lambda t, q, u: 0.1, lambda t, q: np.array([1.0, 0.0]), name="c", bodies=body)
    )
    with pytest.raises(errors.InputError, match="Stribeck"):
        world.assembly  # noqa: B018
