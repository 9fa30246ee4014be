"""One world under every scheme: a rod on a hinge or ball joint with a spring, and a disk that strikes the floor."""

import numpy as np
import pytest

import nonsmooth as ns

#: Options, and how far the end may be from that of event-driven integration.
OPTIONS = {
    "moreau": (dict(dt=2e-3), 1e-2), "theta": (dict(dt=2e-3), 1e-4), "schatzman-paoli": (dict(dt=2e-3), 1e-3),
    "adaptive-moreau": (dict(tol=1e-4), 1e-3), "event-capturing": (dict(rtol=1e-8), 1e-6),
    "generalized-alpha": (dict(dt=2e-3), 1e-4),
}  # fmt: skip


def rod(dim):
    at = np.eye(dim)
    gravity, inertia = (0, -9.81, 0)[:dim], 0.2 if dim == 2 else (0.2, 0.3, 0.25)
    world = ns.World(gravity)
    start = {} if dim == 2 else {"angular_velocity": (0, 0, 1.0), "velocity": (0, 0.5, 0)}
    body = world.add(ns.Body(mass=2.0, inertia=inertia, position=0.5 * at[0], name="rod", **start))
    joint = ns.Revolute if dim == 2 else ns.Spherical
    world.add(
        joint(world.ground, body, 0 * at[0], name="pin"), ns.Spring(world.ground, body, 20.0, 0.3, at_a=at[1])
    )
    return world


def disk():
    world = ns.World((0, -9.81), material=ns.Material(0.5, 0.3))
    world.add(
        ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 0.15), velocity=(1, 0), name="disk"), ns.HalfPlane()
    )
    return world


@pytest.mark.parametrize("make", [lambda: rod(2), lambda: rod(3)], ids=["plane", "space"])
@pytest.mark.parametrize("method", OPTIONS)
def test_smooth_motion(make, method):
    options, tolerance = OPTIONS[method]
    exact = ns.simulate(make(), (0, 0.2), method="event-driven", rtol=1e-10)
    result = ns.simulate(make(), (0, 0.2), method=method, **options)
    np.testing.assert_allclose(result.q[:, -1], exact.q[:, -1], atol=tolerance)
    assert exact.audit.ok and (result.audit.ok or method == "moreau")


@pytest.mark.parametrize("method", OPTIONS)
def test_impact(method):
    options, tolerance = OPTIONS[method]
    exact = ns.simulate(disk(), (0, 0.19), method="event-driven", rtol=1e-10)
    result = ns.simulate(disk(), (0, 0.19), method=method, **options)
    np.testing.assert_allclose(
        result.q[:, -1], exact.q[:, -1], atol=max(tolerance, 10 * options.get("dt", 0.0))
    )
    assert result.audit.ok


@pytest.mark.parametrize("driven", [False, True])
def test_points_on_rods_by_generalized_alpha(driven):
    """Tangents are not asked for at positions where rods have no direction: free, and with no freedom left."""
    world = ns.World((0, -9.81))
    crank = world.add(ns.Body(mass=1.0, inertia=0.1, angular_velocity=2.0 * driven, name="crank"))
    drive = (lambda t: 2.0 * t) if driven else None
    world.add(ns.Revolute(world.ground, crank, (0, 0), drive=drive, name="motor"))
    near = world.add(ns.Body(mass=0.5, position=(1.0, 0.8), name="near"))
    far = world.add(ns.Body(mass=0.5, position=(1.5, 0.5), name="far"))
    world.add(ns.Distance(crank, near, at_a=(0.5, 0)), ns.Distance(near, far))
    world.add(ns.Distance(world.ground, near, at_a=(2, 0)))
    if driven:
        world.add(ns.Distance(world.ground, far, at_a=(2, 1)))
    run = ns.simulate(world, (0, 0.3), method=ns.GeneralizedAlpha(dt=1e-3), project=True)
    exact = ns.simulate(world, (0, 0.3), method="event-driven", rtol=1e-10, project=True)
    np.testing.assert_allclose(run.q[:, -1], exact.q[:, -1], atol=1e-8 if driven else 2e-5)
    assert run.audit.ok


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_a_tumbling_box_strikes_the_floor_under_adaptive_steps(tol):
    """A trial step in which the box turns by half a turn has no use, and says nothing of the direction of a contact."""
    world = ns.World((0, 0, -9.81), material=ns.Material(0.5, 0.3))
    box = ns.Body(
        ns.Box(0.3, 0.2, 0.1), mass=1.0, position=(0, 0, 0.5), rotation=(0.8, 0.36, 0.48, 0), velocity=(1, 0, 0),
        angular_velocity=(1, 2, 3), name="box",
    )  # fmt: skip
    world.add(box, ns.Plane())
    exact = ns.simulate(world, (0, 0.4), method="event-driven", rtol=1e-9)
    run = ns.simulate(world, (0, 0.4), method="adaptive-moreau", tol=tol)
    assert run.audit.ok
    np.testing.assert_allclose(run.q[:3, -1], exact.q[:3, -1], atol=20 * tol)
