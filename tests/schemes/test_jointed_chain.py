"""Chains of links under `generalized-alpha`: the sparse step of systems with joints only gives the motion of the dense one."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.schemes.generalized_alpha import record


def chain(n, joint):
    """Links of length 1 along x, turning as one body about the first joint."""
    world, before = ns.World(gravity=(0, 0, -9.81)), None
    omega = (0.3, 2.0, -0.7) if joint is ns.Spherical else (0.0, 2.0, 0.0)
    for k in range(n):
        x = (k + 0.5, 0.0, 0.0)
        link = ns.Body(
            mass=1.0, inertia=(1 / 24, 1 / 12, 1 / 11), position=x, velocity=tuple(np.cross(omega, x)),
            angular_velocity=omega, name=f"link {k}",
        )  # fmt: skip
        link = world.add(link)
        axis = {} if joint is ns.Spherical else {"axis": (0, 1, 0)}
        world.add(joint(world.ground if k == 0 else before, link, at=(k, 0, 0), name=f"joint {k}", **axis))
        before = link
    return world


def simulated(world, monkeypatch, rows):
    monkeypatch.setattr(record, "MANY_ROWS", rows)
    return ns.simulate(world, (0, 0.04), method=ns.GeneralizedAlpha(dt=2e-3), progress=False)


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("joint", [ns.Spherical, ns.Revolute])
def test_sparse_step_is_the_dense_step(joint, n, monkeypatch):
    world = chain(n, joint)
    dense, sparse = (simulated(world, monkeypatch, rows) for rows in (10**9, 1))
    for name in ("q", "u", "la"):
        a, b = getattr(dense, name), getattr(sparse, name)
        assert np.max(np.abs(a - b)) <= 1e-10 * np.max(np.abs(a)), name
    assert abs(dense.newton.sum() - sparse.newton.sum()) <= 0.05 * dense.newton.sum()
    assert sparse.audit.ok


def test_driven_and_controlled(monkeypatch):
    """A chain whose first joint is driven, with steps that follow a tolerance: the same steps, the same motion."""
    world = ns.World(gravity=(0, -9.81))
    before = world.ground
    for k in range(5):
        link = world.add(ns.Body(mass=1.0, inertia=0.1, position=(k + 0.5, 0), name=f"link {k}"))
        drive = {} if k else {"drive": lambda t: 0.3 * t**2}
        world.add(ns.Revolute(before, link, at=(k, 0), name=f"joint {k}", **drive))
        before = link
    runs = []
    for rows in (10**9, 1):
        monkeypatch.setattr(record, "MANY_ROWS", rows)
        runs.append(ns.simulate(world, (0, 0.3), method=ns.GeneralizedAlpha(rtol=1e-5), progress=False))
    assert runs[0].t.size == runs[1].t.size
    assert np.max(np.abs(runs[0].q - runs[1].q)) <= 1e-10


def test_redundant_rows_take_the_dense_step(monkeypatch):
    """A joint stated twice has no regular matrix; the motion is that of the joint stated once."""
    once, twice = chain(3, ns.Spherical), chain(3, ns.Spherical)
    twice.add(ns.Spherical(twice.ground, twice["link 0"], at=(0, 0, 0), name="again"))
    with pytest.warns(ns.errors.RedundantConstraintWarning):
        doubled = simulated(twice, monkeypatch, 1)
    assert np.max(np.abs(doubled.q - simulated(once, monkeypatch, 1).q)) <= 1e-10
