"""Moreau's rule with many contacts: laws in an order in which G has its entries near the diagonal."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.linalg.elimination import SINGULAR, eliminate_near
from nonsmooth.model.order_of_laws import order_of_laws
from nonsmooth.schemes import jointed


def column(n, **material):
    """Disks on top of each other."""
    world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.0, friction=0.4))
    disks = [
        world.add(ns.Body(ns.Disk(0.5), mass=1.0 + k % 3, position=(0, 0.5 + k), name=f"disk {k}"))
        for k in range(n)
    ]
    world.add(ns.HalfPlane(name="floor"))
    for below, above in zip(disks, disks[1:]):
        world.contact(below, above)
    return world


def pairs(n, radii=(0.5, 0.5), spins=(0.0, 0.0)):
    """Pairs of disks on rods above a floor."""
    world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.0, friction=0.4))
    for k in range(n):
        pair = [
            world.add(
                ns.Body(
                    ns.Disk(r), mass=1.0, position=(4.0 * k + x, r), angular_velocity=spin, name=f"{k}, {x}"
                )
            )
            for x, r, spin in zip((0.0, 2.0), radii, spins)
        ]
        world.add(ns.Distance(*pair, name=f"rod {k}"))
    world.add(ns.HalfPlane(name="floor"))
    return world


def boxes(n):
    """Boxes side by side that slide on the floor and fall onto it."""
    world = ns.World(gravity=(0, 0, -9.81), material=ns.Material(restitution=0.0, friction=0.3))
    for k in range(n):
        at = (2.0 * k, 0.0, 0.501 + 1e-3 * (k % 3))
        world.add(
            ns.Body(ns.Box(1, 1, 1), mass=1.0, position=at, velocity=(0.5, 0, 0), name=f"box {k}"),
        )
    world.add(ns.Plane(name="floor"))
    return world


def test_rows_that_see_each_other_stand_close():
    """In a column a contact sees its neighbours, in a row of boxes the corners of its box, however many there are."""
    for make, sizes, most in ((column, (80, 160), 8), (boxes, (10, 20), 24)):
        reaches = []
        for n in sizes:
            world = make(n)
            model = world.bind(0.0, *world.start())
            order, reach = order_of_laws(model)
            assert sorted(order) == list(range(model.laws.n_laws))
            place = np.argsort(order)
            friction = np.flatnonzero(model.laws.link >= 0)
            assert np.all(place[friction] == place[model.laws.link[friction]] + 1)
            reaches.append(reach)
        assert reaches[0] == reaches[1] < most


def test_joints_tie_what_they_hold():
    """Contacts of both disks on a rod see each other, those of other pairs do not."""
    n = 30
    world = pairs(n)
    model = world.bind(0.0, *world.start())
    order, reach = order_of_laws(model)
    laws, row = model.laws, np.empty(model.laws.n_laws, dtype=int)
    row[order] = np.cumsum(laws.dim[order]) - laws.dim[order]
    for k in range(n):
        of_pair = row[[2 * k, 2 * k + 1, laws.n_N + 2 * k, laws.n_N + 2 * k + 1, laws.n_laws - n + k]]
        assert np.ptp(of_pair) <= reach <= 8
    run = ns.simulate(world, (0, 0.01), dt=1e-3)
    np.testing.assert_allclose(run.P_N[:, -1], 9.81e-3, rtol=1e-9)
    assert run.audit.ok


@pytest.mark.parametrize("solver", ["auto", "newton", "psor", "nsgs"])
def test_a_column_at_rest_carries_its_weight(solver):
    world = column(60)
    run = ns.simulate(world, (0, 0.01), method=ns.Moreau(dt=1e-3, solver=solver), on_failure="accept")
    if solver in ("auto", "newton"):  # sweeps carry a weight down one disk at a time
        masses = 1.0 + np.arange(60) % 3
        above = np.cumsum(masses[::-1])[::-1]
        normal = np.sort(run.P_N[:, -1])[:-61:-1] / (9.81 * 1e-3)
        np.testing.assert_allclose(normal, above, rtol=1e-9)
        assert run.audit.ok
    assert np.all(np.isfinite(run.u))


def test_boxes_move_as_each_would_alone():
    """Twenty boxes at once, and three of them one by one."""
    many = ns.simulate(boxes(20), (0, 0.02), dt=1e-3)
    few = ns.simulate(boxes(3), (0, 0.02), dt=1e-3)
    for k in range(3):
        np.testing.assert_allclose(
            many[f"box {k}"].velocity, few[f"box {k}"].velocity, atol=1e-9 * abs(few.u).max()
        )
    assert many.audit.ok


def test_sparse_steps_keep_the_order_of_laws(monkeypatch):
    """Disks on slanted rods that slide and roll: joints in the matrix of masses, contacts in the order of the dense step."""
    world, method = pairs(jointed.MANY_JOINTS, radii=(0.5, 1.0), spins=(5.0, 0.0)), ns.Moreau(dt=1e-3)
    model = world.bind(0.0, *world.start())
    assert order_of_laws(model)[0] is not None
    assert method.is_sparse(model)
    sparse = ns.simulate(world, (0, 0.2), method=method)
    monkeypatch.setattr(jointed, "MANY_JOINTS", jointed.MANY_JOINTS + 1)
    assert not method.is_sparse(model)
    dense = ns.simulate(world, (0, 0.2), method=method)
    np.testing.assert_allclose(sparse.q, dense.q, rtol=0.0, atol=1e-10)
    assert np.array_equal(sparse.modes, dense.modes)
    assert sparse.audit.ok and dense.audit.ok


def test_elimination_near_the_diagonal():
    rng = np.random.default_rng(3)
    for n, reach in ((12, 1), (30, 4), (9, 20)):
        near = abs(np.subtract.outer(np.arange(n), np.arange(n))) <= reach
        A, b = np.where(near, rng.normal(size=(n, n)), 0.0), rng.normal(size=n)
        wanted, x = np.linalg.solve(A, b), b.copy()
        assert eliminate_near(A.copy(), x, n, reach, SINGULAR) == 0
        np.testing.assert_allclose(x, wanted, rtol=1e-8)


def test_a_pyramid_of_disks_is_solved():
    """Redundant contacts in the plane, some of which carry next to nothing: Newton's method crawls, pivots end."""
    world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.0, friction=0.4))
    height, rows = np.sqrt(3.0) / 2.0, []
    for j in range(10):
        rows.append([
            world.add(ns.Body(ns.Disk(0.5), mass=1.0, position=(k + 0.5 * j, 0.5 + j * height), name=f"{j}, {k}"))
            for k in range(10 - j)
        ])  # fmt: skip
    floor = ns.HalfPlane(name="floor")
    for disk in rows[0]:
        world.contact(disk, floor)
    for below, row in zip([None, *rows], rows):
        for k, disk in enumerate(row):
            if k + 1 < len(row):
                world.contact(disk, row[k + 1])
            if below is not None:
                world.contact(below[k], disk)
                world.contact(below[k + 1], disk)
    run = ns.simulate(world, (0, 0.01), dt=1e-3)
    assert run.residual.max() <= 1e-10
    assert run.audit.ok
