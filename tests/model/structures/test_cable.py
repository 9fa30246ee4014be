"""Cables: catenary, waves, slack, contacts."""

import numpy as np
import pytest
from scipy.optimize import brentq

import nonsmooth as ns
from nonsmooth import errors

G = 9.81


def hanging(n, dim=2, length=1.4):
    world = ns.World(gravity=(0, -G, 0)[:dim])
    s = np.linspace(-1, 1, n + 1)
    points = np.column_stack([0.5 * s, -0.3 * (1 - s**2), 0.0 * s])[:, :dim]
    cable = world.add(ns.Cable(points, EA=1e5, rhoA=0.3, length=length, fixed=["start", "end"], name="cable"))
    return world, cable


@pytest.mark.parametrize("dim", [2, 3])
def test_catenary(dim):
    """A long stiff cable hangs as cosh, order 2: sag from 2 a sinh(w / 2a) = length."""
    a = brentq(lambda a: 2 * a * np.sinh(0.5 / a) - 1.4, 0.05, 5)
    sag = a * (np.cosh(0.5 / a) - 1)
    found = []
    for n in (8, 16):
        world, _ = hanging(n, dim)
        q = ns.equilibrium(world).q
        found.append(abs(-q.reshape(n - 1, dim)[:, 1].min() - sag))
    assert 1.8 < np.log2(found[0] / found[1]) < 2.2 and found[1] < 2e-3


def test_string_frequencies():
    """Small motions of a taut string: k c / 2 L with c^2 = N / rhoA, order 2."""
    EA, strain = 200.0, 0.02
    errors_of = []
    for n in (8, 16):
        world = ns.World(gravity=(0, 0))
        world.add(
            ns.Cable(
                [(0, 0), (1.02, 0)],
                n,
                EA=EA,
                rhoA=0.5 / 1.02 * 1.02,
                length=1.0,
                mass="consistent",
                fixed=["start", "end"],
            )
        )
        f = ns.modes(world).frequencies
        c = np.sqrt(EA * strain / (0.5 / 1.02))
        exact = c * np.arange(1, 3) / (2 * 1.02)
        errors_of.append([np.min(np.abs(f - x)) / x for x in exact])
    assert np.all(np.abs(np.log2(np.array(errors_of[0]) / errors_of[1]) - 2) < 0.2)


def test_kernels_against_second_route():
    world = ns.World(gravity=(0, -G, 1.0))
    rng = np.random.default_rng(0)
    world.add(
        ns.Cable(
            rng.normal(size=(6, 3)),
            EA=30.0,
            rhoA=1.0,
            length=9.0,
            damping=0.2,
            fixed={0: "position", 5: "y"},
            name="cable",
        )
    )
    model = world.bind(0.0, *world.start())
    q, u = model._q0 + 0.3 * rng.normal(size=model.n_q), rng.normal(size=model.n_u)
    h = np.zeros(model.n_u)
    model.core.force(0.0, q, u, model.parameters.flat, h)
    np.testing.assert_allclose(h, model.forces(0.0, q, u), atol=1e-12 * np.abs(h).max())
    zero = np.zeros(model.n_u)
    K, D = (model.tangent(0.0, q, 0 * u, zero, zero[:0], **c).toarray() for c in ({"cK": 1.0}, {"cD": 1.0}))
    for j, e in enumerate(1e-6 * np.eye(model.n_u)):
        by_q = (model.forces(0.0, q - e, 0 * u) - model.forces(0.0, q + e, 0 * u)) / 2e-6
        np.testing.assert_allclose(K[:, j], by_q, atol=1e-7 * np.abs(K).max())
        by_u = (model.forces(0.0, q, -e) - model.forces(0.0, q, e)) / 2e-6
    assert np.abs(D).max() > 0 and np.all(np.isfinite(by_u))


def test_slack():
    """A weight on a loose cable falls freely until it is taut."""
    world = ns.World(gravity=(0, -G))
    cable = world.add(
        ns.Cable([(0, 0), (0, -0.5)], 1, EA=1e4, rhoA=1e-3, length=1.0, fixed="start", name="cable")
    )
    weight = world.add(ns.Body(mass=1.0, position=(0, -0.5), name="weight"))
    world.add(ns.Fixed(cable.end, weight, name="knot"))
    result = ns.simulate(world, (0, 0.4), method=ns.GeneralizedAlpha(dt=1e-3))
    y, tension = result["weight"].position[1], result["cable"].section_forces[0, 0]
    free = result.t < np.sqrt(2 * 0.5 / G) - 2e-3
    np.testing.assert_allclose(y[free], -0.5 - 0.5 * G * result.t[free] ** 2, atol=1e-3)
    assert tension.min() == 0.0 and tension.max() > 100.0 and y.min() > -1.05


def test_cable_hits_a_wall_and_a_point():
    """A swinging cable stays in front of a wall; nodes with a radius touch points."""
    world = ns.World(gravity=(0, -G), material=ns.Material(0.0, 0.3))
    cable = world.add(
        ns.Cable(
            [(0, 0), (1, 0)], 8, EA=200.0, rhoA=0.5, damping=2e-3, radius=0.01, fixed="start", name="cable"
        )
    )
    wall = ns.HalfPlane((-0.1, 0), (1, 0), name="wall")
    for node in cable.nodes[1:]:
        world.contact(node, wall)
    peg = world.add(ns.Body(mass=1e3, position=(0.2, -0.6), name="peg"))
    world.contact(peg, cable.end, name="touch")
    result = ns.simulate(world, (0, 0.6), dt=2e-4)
    assert result["cable"].position[0].min() > -0.1 - 1e-3 + 0.01 and result.audit.worst_gap > -1e-3


def test_bad_input():
    for change, error, says in (
        ({"EA": 0.0}, errors.RangeError, "`EA` of Cable 'rope'"),
        ({"length": -1.0}, errors.RangeError, "`length` of Cable 'rope'"),
        ({"fixed": {0: "phi"}}, errors.InputError, "holds"),
        ({"fixed": 0, "velocity": (1, 0)}, errors.ModelError, "is fixed, but has the velocity"),
        ({"radius": np.nan}, errors.NonFiniteError, "`radius`"),
    ):
        world = ns.World(gravity=(0, -G))
        with pytest.raises(error, match=says):
            world.add(ns.Cable([(0, 0), (1, 0)], 2, name="rope", **{"EA": 1.0, "rhoA": 1.0, **change}))
            world.assembly  # noqa: B018
