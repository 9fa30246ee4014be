"""Worlds of many joints under `moreau` and `theta`: the sparse step gives the motion of the dense one."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.results.audit import batch
from nonsmooth.schemes import jointed

METHODS = (ns.Moreau(dt=1e-3), ns.Theta(dt=1e-3), ns.Theta(dt=1e-3, theta=0.6, directions="enduring"))


def both(world, span, method, monkeypatch):
    """The dense run, then the sparse one."""
    runs = []
    for many in (10**9, 1):
        monkeypatch.setattr(jointed, "MANY_JOINTS", many)
        runs.append(ns.simulate(world, span, method=method, progress=False))
    return runs


def same(dense, sparse, tolerance=1e-11):
    for name in ("q", "u", "P_N", "P_T", "P_J"):
        a, b = getattr(dense, name), getattr(sparse, name)
        assert np.max(np.abs(a - b), initial=0.0) <= tolerance * np.max(np.abs(a), initial=1.0), name
    assert np.array_equal(dense.modes, sparse.modes)
    assert dense.audit.ok and sparse.audit.ok


def planar_chain(n):
    """Disks on arms that fall on a floor; joints with stops and dry friction."""
    world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.3, friction=0.4))
    world.add(ns.HalfPlane())
    before = None
    for k in range(n):
        at = 0.2 + 0.02 * k
        link = world.add(ns.Body(ns.Disk(0.1), mass=1.0, inertia=0.1, position=(k + 0.5, at)))
        if before is not None:
            joint = {"stops": (-0.2, 0.2), "restitution": 0.2, "friction": 0.5}
            world.add(ns.Revolute(before, link, at=(k, at - 0.01), **joint))
        before = link
    return world


def spatial_chain(n, drive=None):
    """Links that turn about axes across, the first one driven if asked for, above a floor."""
    world = ns.World(gravity=(0, 0, -9.81), material=ns.Material(restitution=0.3, friction=0.4))
    world.add(ns.Plane(normal=(0, 0, 1)))
    before = world.ground
    for k in range(n):
        ball = ns.Body(ns.Sphere(0.1), mass=1.0, inertia=(0.02, 0.1, 0.1), position=(k + 0.5, 0, 0.3))
        link = world.add(ball)
        axis = (0, 1, 0) if k % 2 == 0 else (0, 0.6, 0.8)
        own = {"drive": drive} if drive is not None and k == 0 else {}
        world.add(ns.Revolute(before, link, at=(k, 0, 0.3), axis=axis, **own))
        before = link
    return world


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_contacts_stops_and_friction(method, monkeypatch):
    dense, sparse = both(planar_chain(5), (0, 0.3), method, monkeypatch)
    assert len(dense.events) > 0
    same(dense, sparse)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_in_space_with_a_drive(method, monkeypatch):
    dense, sparse = both(spatial_chain(3, lambda t: 2.0 * t**2), (0, 0.3), method, monkeypatch)
    assert len(dense.events) > 0
    same(dense, sparse)


@pytest.mark.parametrize("method", METHODS[:2], ids=repr)
def test_flexible_links(method, monkeypatch):
    """Beams between hinges: a mass matrix that is no block diagonal, forces with a stiffness."""
    world = ns.World(gravity=(0, -9.81))
    before = world.ground
    for k in range(2):
        beam = world.add(
            ns.Beam([(k, 0), (k + 1, 0)], 3, EA=100.0, GA=40.0, EI=1.0, rhoA=1.0, name=f"beam {k}")
        )
        world.add(ns.Revolute(before, beam.nodes[0], at=(k, 0), name=f"hinge {k}"))
        before = beam.nodes[-1]
    dense, sparse = both(world, (0, 0.05), method, monkeypatch)
    assert np.ptp(dense.q) > 1e-3
    same(dense, sparse, 1e-9)


@pytest.mark.parametrize("method", METHODS[:2], ids=repr)
def test_at_rest(method, monkeypatch):
    """A chain that hangs straight down stays; its joints carry the weights."""
    world, before, n = ns.World(gravity=(0, 0, -9.81)), None, 4
    for k in range(n):
        link = ns.Body(mass=1.0, inertia=(0.1, 0.1, 0.01), position=(0, 0, -k - 0.5))
        link = world.add(link)
        world.add(ns.Spherical(world.ground if k == 0 else before, link, at=(0, 0, -k), name=f"joint {k}"))
        before = link
    sparse = both(world, (0, 0.05), method, monkeypatch)[1]
    assert np.max(np.abs(sparse.u)) <= 1e-14
    assert np.max(np.abs(np.abs(sparse.P_J[2, 1:]) - n * 9.81 * 1e-3)) <= 1e-12


def test_many_joints_take_the_sparse_step():
    model, few = (world.bind(0.0, *world.start()) for world in (spatial_chain(8), spatial_chain(3)))
    assert all(method.is_sparse(model) for method in METHODS)
    assert not ns.Moreau(dt=1e-3, projection=True).is_sparse(model)
    assert not ns.Moreau(dt=1e-3).is_sparse(few)


def test_a_row_that_joints_hold_takes_no_impulse(monkeypatch):
    """A ball welded to the ground where it touches the floor: the joint carries it."""
    world = ns.World(gravity=(0, 0, -9.81))
    world.add(ns.Plane(normal=(0, 0, 1)))
    ball = world.add(ns.Body(ns.Sphere(0.1), mass=1.0, position=(0, 0, 0.1)))
    world.add(ns.Fixed(world.ground, ball, name="weld"))
    dense, sparse = both(world, (0, 0.02), ns.Moreau(dt=1e-3), monkeypatch)
    assert np.max(np.abs(sparse.u)) <= 1e-14
    assert np.max(np.abs(sparse.P_N)) == 0.0
    assert sparse.audit.ok


@pytest.mark.parametrize("method", [*METHODS, ns.GeneralizedAlpha(dt=1e-3)], ids=repr)
def test_audits_of_large_worlds_are_those_of_small_ones(method, monkeypatch):
    """Sparse matrices in the second route: the same numbers."""
    audits = []
    for many in (10**9, 0):
        monkeypatch.setattr(batch, "MANY_ENTRIES", many)
        audits.append(ns.simulate(planar_chain(14), (0, 0.1), method=method, progress=False).audit.as_dict())
    dense, sparse = audits
    assert sparse["steps_checked"] > 0 and sparse["joint_drift_position"] > 0.0
    for name, value in dense.items():
        if isinstance(value, float):
            assert sparse[name] == pytest.approx(value, rel=1e-6, abs=1e-11), name
    for name, value in dense["energy_balance"].items():
        assert sparse["energy_balance"][name] == pytest.approx(value, rel=1e-9, abs=1e-11), name
