"""Joints that hold what others hold: runs leave such rows out by themselves and tell the smallest forces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nonsmooth as ns
from nonsmooth.errors import ModelError, RedundantConstraintWarning
from nonsmooth.model.redundancy import lasting

G = 9.81


def bricard(scale=1.0):
    corners = scale * np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)])
    edges = np.roll(corners, -1, axis=0) - corners
    axes = np.cross(np.roll(edges, 1, axis=0), edges) / scale**2
    world = ns.World((0, -G * scale, 0))
    rods = world.add_bodies(
        5, "rod", mass=1.0, inertia=[(0.1 * scale**2,) * 3] * 5, position=(corners + 0.5 * edges)[:5]
    )
    sides = [world.ground, *rods, world.ground]
    world.add(
        *(ns.Revolute(sides[k], sides[k + 1], corners[k], axes[k], name=f"hinge {k}") for k in range(6))
    )
    return world


def two_hinges(axis=(0, 0, 1)):
    """A door on two hinges along one line; with another axis they hold it fast."""
    world = ns.World((0, 0, -G))
    door = world.add(ns.Body(mass=2.0, inertia=(0.3, 0.2, 0.1), position=(0.5, 0, 0.2), name="door"))
    for k in range(2):
        world.add(ns.Revolute(world.ground, door, (0, 0, k - 0.5), axis, name=f"hinge {k}"))
    return world


METHODS = {
    "moreau": dict(dt=5e-4),
    "theta": dict(method=ns.Theta(dt=5e-4)),
    "theta, projected": dict(method=ns.Theta(dt=5e-4, projection="combined")),
    "generalized-alpha": dict(method=ns.GeneralizedAlpha(dt=1e-3)),
    "event-driven": dict(method="event-driven", rtol=1e-9),
}


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_an_overconstrained_loop_moves_under_every_scheme(scale):
    world, ends = bricard(scale), {}
    for name, options in METHODS.items():
        with pytest.warns(RedundantConstraintWarning, match="30 constraints have rank 29.*leaves them out"):
            run = ns.simulate(world, (0, 0.5), **options)
        assert run.audit.ok and len(run.law_names) == 29
        ends[name] = run.q[:15, -1]
    exact = ends["event-driven"]
    assert np.abs(exact - world.start()[0][:15]).max() > 0.1 * scale
    bounds = {"moreau": 2e-3, "theta": 1e-5, "theta, projected": 1e-5, "generalized-alpha": 1e-4}
    for name, bound in bounds.items():
        assert np.abs(ends[name] - exact).max() < bound * scale, name


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.RedundantConstraintWarning")
def test_forces_are_the_smallest_with_the_same_effect(tmp_path):
    world = two_hinges()
    run = ns.simulate(world, (0, 0.3), method="event-driven", rtol=1e-10)
    model = world.bind(0.0, *world.start())
    told = np.vstack([run[f"hinge {k}"].multipliers for k in range(2)])
    assert told.shape[0] == 10 and len(run.law_names) == 5
    k = 5
    WT = model.directions(run.t[k], run.q[:, k])[0] / np.sqrt(np.diag(model.mass_matrix(0.0, run.q[:, k])))
    lengths = np.linalg.norm(WT, axis=1)
    scaled, la = WT / lengths[:, None], lengths * told[:, k]
    null = np.linalg.svd(scaled)[0][:, 5:]
    assert_allclose(null.T @ la, 0.0, atol=1e-9 * np.abs(la).max())  # nothing cancels
    one = ns.World((0, 0, -G))
    door = one.add(ns.Body(mass=2.0, inertia=(0.3, 0.2, 0.1), position=(0.5, 0, 0.2), name="door"))
    one.add(ns.Revolute(one.ground, door, (0, 0, 0.5), (0, 0, 1), name="hinge"))
    alone = ns.simulate(one, (0, 0.3), method="event-driven", rtol=1e-10, t_eval=run.t)
    assert_allclose(alone["door"].position, run["door"].position, atol=1e-8)
    together = sum(run[f"hinge {k}"].force for k in range(2))
    assert_allclose(together[:, 2:], alone["hinge"].force[:, 2:], atol=1e-6)
    run.save(tmp_path / "door.hdf5")
    again = world.view(ns.Result.load(tmp_path / "door.hdf5"), "hinge 1")
    assert_allclose(again.multipliers, run["hinge 1"].multipliers)


def test_rows_that_depend_by_accident_stay():
    """A parallelogram that lies flat: a row depends on the others there and nowhere else."""
    world = ns.World((0, -G))
    a = world.add(ns.Body(mass=1.0, position=(1, 0), name="a"))
    b = world.add(ns.Body(mass=1.0, position=(3, 0), name="b"))
    world.add(ns.Distance(world.ground, a, name="left"), ns.Distance(a, b, name="coupler"))
    world.add(ns.Distance(world.ground, b, at_a=(2, 0), name="right"))
    q, _ = world.start()
    assert ns.diagnose(world).redundant == ["right"]
    assert lasting(world.bind(0.0, q, 0 * q), 0.0, q) == []
    with pytest.warns(RedundantConstraintWarning, match="'right'.*not unique"):
        run = ns.simulate(world, (0, 0.01), dt=1e-3)
    assert len(run.law_names) == 3


def test_a_drive_stays_and_a_second_one_is_refused():
    world = ns.World((0, -G))
    bar = world.add(
        ns.Body(mass=1.0, inertia=0.1, position=(1, 0), angular_velocity=1.0, velocity=(0, 1), name="bar")
    )
    world.add(ns.Revolute(world.ground, bar, (0, 0), drive=lambda t: t, name="motor"))
    world.add(ns.Distance(world.ground, bar, name="strut"))
    with pytest.warns(RedundantConstraintWarning):
        run = ns.simulate(world, (0, 1), method="event-driven", rtol=1e-9)
    assert_allclose(run["bar"].angle[-1], 1.0, atol=1e-8)
    world.add(ns.Revolute(world.ground, bar, (0, 0), drive=lambda t: t, name="second"))
    with pytest.raises(ModelError, match="drives or functions prescribe"):
        ns.simulate(world, (0, 1), dt=1e-2)


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.RedundantConstraintWarning")
@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_what_is_held_fast_stays_and_no_alarm_is_given(options):
    run = ns.simulate(two_hinges(axis=(0.1, 0, 1)), (0, 0.1), **options)
    assert run.audit.ok and np.abs(run.q[:, -1] - run.q[:, 0]).max() < 1e-14


def rod_and_drive(drive):
    """A pendulum on a rod of fixed length, and on another one whose length is prescribed."""
    world = ns.World((0, -G))
    bob = world.add(ns.Body(mass=1.0, position=(1, 0), name="bob"))
    world.add(
        ns.Distance(world.ground, bob, name="rod"), ns.Distance(world.ground, bob, drive=drive, name="driven")
    )
    return world


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.RedundantConstraintWarning")
@pytest.mark.parametrize("name", ["moreau", "generalized-alpha", "event-driven"])
def test_rows_that_contradict_later_are_refused(name):
    """At the start the driven rod holds what the other holds, position, velocity and acceleration; later it does not."""
    with pytest.raises(
        ModelError, match=r"contradict each other.*'driven'.*'rod'|contradict.*'rod'.*'driven'"
    ) as caught:
        ns.simulate(rod_and_drive(lambda t: 0.1 * t**3), (0, 1), **METHODS[name])
    assert caught.value.partial.t[-1] == 1.0
    run = ns.simulate(rod_and_drive(lambda t: 0.0 * t), (0, 0.2), **METHODS[name])
    assert run.t[-1] == 0.2
