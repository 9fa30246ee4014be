"""Structures in worlds: kernels against the second route, attached joints, forces and contacts, bars against waves, changed numbers."""

import numpy as np
import pytest

import nonsmooth as ns


def mixed():
    """A bar, a beam and given matrices with boundary conditions of every kind, tied to each other and to a body."""
    rng = np.random.default_rng(3)
    world = ns.World(gravity=(0.5, -9.81))
    points = [(0, 0), (1, 0.5), (1.5, 0.2), (2, 0.3)]
    fixed = {"start": "position", "end": "y"}
    beam = ns.Beam(points, EA=100, GA=40, EI=3, rhoA=2, rhoI=0.1, damping=0.02, fixed=fixed, name="beam")
    bar = ns.Bar([(0, 0), (1, 1)], 4, EA=50, rhoA=1, damping=0.1, fixed="start", name="bar")
    ball = ns.Body(ns.Disk(0.1), mass=1.0, position=(2, 0.3), name="ball")
    K, M = np.diag([2.0, 3, 4, 5]), np.eye(4)
    K[0, 1] = K[1, 0] = -1
    M[2, 3] = M[3, 2] = 0.2
    nodes = {"tip": ((0, 1), (0, 3, 1))}
    given = ns.LinearStructure(
        M, K, 0.1 * K, nodes=nodes, directions=rng.standard_normal((4, 2)), fixed=[2], name="given"
    )
    world.add(beam, bar, ball, given)
    tip = given.node("tip")
    world.add(
        ns.Revolute(beam.node(1), ball, (1, 0.5), name="pin"), ns.Spring(bar.end, ball, 3.0), ns.Load(beam.end, (1, 2), 0.5),
        ns.Load(tip, (1, 2), 0.5), ns.Spring(tip, beam.start, 3.0, at_a=(0.1, 1.0), damping=0.1),
        ns.Load(bar.end, lambda t, q, u: np.array([q[0], u[0]])),
    )  # fmt: skip
    world.contact(beam, ns.HalfPlane((0, -1), (0.2, 1)), friction=0.3)
    world.contact(bar.end, ns.HalfPlane((0, -1)), friction=0.1)
    world.contact(tip, ns.HalfPlane((0, -1)), friction=0.2)
    return world


@pytest.fixture(scope="module")
def bound():
    world, rng = mixed(), np.random.default_rng(0)
    q, u = world.start()
    model = world.bind(0.0, q, u)
    return model, q + 0.1 * rng.standard_normal(q.size), rng.standard_normal(u.size)


def written(model, writer, q, u, shape):
    out = np.zeros(shape)
    writer(0.3, q, u, model.parameters.flat, out)
    return out


def test_kernels_against_second_route(bound):
    model, q, u = bound
    n, laws = model.n_u, model.laws
    np.testing.assert_allclose(
        written(model, model.core.mass, q, u, (n, n)), model.mass_matrix(0.3, q), rtol=0, atol=0
    )
    np.testing.assert_allclose(written(model, model.core.force, q, u, n), model.forces(0.3, q, u), atol=1e-12)
    np.testing.assert_allclose(written(model, model.core.gap, q, u, laws.n_N), model.gaps(0.3, q), atol=1e-14)
    WT = written(model, model.core.directions, q, u, (laws.n_rows, n))
    np.testing.assert_allclose(WT, model.directions(0.3, q)[0], atol=1e-14)
    assert np.all((WT != 0) <= (model.pattern_W.sparse().toarray() != 0))


def test_tangents_against_differences(bound):
    model, q, u = bound
    la, s = np.zeros(model.laws.n_rows), 1e-6
    M, D = (model.tangent(0.3, q, u, 0 * u, la, **{c: 1.0}).toarray() for c in ("cM", "cD"))
    np.testing.assert_allclose(M, model.mass_matrix(0.3, q), rtol=0, atol=0)
    K = model.tangent(
        0.3, q, 0 * u, 0 * u, la, cK=1.0
    ).toarray()  # at rest: the change of strain rates with q is left out
    for j in range(model.n_u):
        d = s * np.eye(model.n_u)[j]
        by_q = -(model.forces(0.3, q + d, 0 * u) - model.forces(0.3, q - d, 0 * u)) / (2 * s)
        by_u = -(model.forces(0.3, q, u + d) - model.forces(0.3, q, u - d)) / (2 * s)
        np.testing.assert_allclose(K[:, j], by_q, atol=1e-7)
        np.testing.assert_allclose(D[:, j], by_u, atol=1e-7)


def test_names_and_views():
    world = mixed()
    assert world.coordinate_names[:3] == ["beam[0].phi", "beam[1].x", "beam[1].y"]
    result = ns.simulate(world, (0, 0.02), method=ns.GeneralizedAlpha(dt=1e-3))
    assert result.audit.ok
    np.testing.assert_allclose(result["beam"].position[:, 0, 5], [0.0, 0.0])
    np.testing.assert_allclose(result["bar"].position[:, -1], result["bar[4]"].position)
    np.testing.assert_allclose(result["bar"].velocity[:, -1], result["bar[4]"].velocity)
    energy = result.energy()
    parts = [result[name].kinetic_energy for name in ("beam", "bar", "given", "ball")]
    np.testing.assert_allclose(np.sum(parts, axis=0), energy.kinetic, rtol=1e-12)
    assert any(shape.name == "beam" for shape in world.draw)
    with pytest.raises(ns.errors.InputError, match="structure"):
        result["bar[4]"].kinetic_energy  # noqa: B018


def hitting_bar(n=40, mass="lumped"):
    """The bar of Bruls et al. 2018, sec. 6.3, on its way to the wall."""
    world = ns.World(gravity=(0, 0))
    bar = world.add(
        ns.Bar([(0, 0), (10, 0)], n, EA=900.0, rhoA=1.0, mass=mass, velocity=(10.0, 0.0), name="bar")
    )
    world.contact(bar.end, ns.HalfPlane((10.1, 0), (-1, 0)), name="wall")
    return world


def test_bar_hits_a_wall():
    """Contact lasts two travels of the wave, 2 L / c; then the bar flies back as fast as it came (less what the node lost)."""
    result = ns.simulate(hitting_bar(), (0, 0.9), method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8))
    assert result.audit.ok
    closed = result.t[result.P_N[0] > 0]
    assert abs(closed[0] - 0.01) < 2e-3
    assert abs(closed[-1] - closed[0] - 2 * 10.0 / 30.0) < 0.03
    back = result._model.mass_matrix(0, result.q[:, 0]).sum(axis=0) @ result.u[:, -1] / 10.0
    assert abs(back + 10.0) < 0.6


def test_one_iteration_is_enough_for_a_bar():
    """A world knows that a bar is linear and stops after one iteration; a system of functions with the same matrices iterates."""
    n = 40
    world = hitting_bar(n, "consistent")
    model = world.bind(0.0, *world.start())
    assert model.exactly_linear and model.constant_directions and not model.damped
    M, k = model.mass_matrix(0.0, None), 900.0 * n / 10.0
    K = k * (2 * np.eye(n + 1) - np.eye(n + 1, k=1) - np.eye(n + 1, k=-1))
    K[0, 0] = K[n, n] = k
    wall = ns.Contact(lambda t, q: 0.1 - q[q.size - 1])
    system = ns.MechanicalSystem(M, lambda t, q, u: -K @ q, contacts=[wall])
    method = ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8)
    here = ns.simulate(world, (0, 0.1), method=method)
    there = ns.simulate(system, (0, 0.1), np.zeros(n + 1), np.full(n + 1, 10.0), method=method)
    np.testing.assert_allclose(here.q, there.q, atol=1e-11)
    np.testing.assert_allclose(here.P_N, there.P_N, atol=1e-9)
    assert np.max(here.newton) <= 2


def test_light_nodes():
    """The mass of a light node stands on its neighbours: the sum stays, an impact of the node takes a tenth."""
    lost = []
    for light in (None, "end"):
        world = ns.World(gravity=(0, 0))
        numbers = {
            "EA": 900.0,
            "rhoA": 1.0,
            "mass": "lumped",
            "velocity": (10.0, 0.0),
            "light": light,
            "name": "bar",
        }
        bar = world.add(ns.Bar([(0, 0), (10, 0)], 40, **numbers))
        world.contact(bar.end, ns.HalfPlane((10.1, 0), (-1, 0)))
        result = ns.simulate(world, (0, 0.02), method=ns.GeneralizedAlpha(dt=1e-4, rho_inf=1.0))
        energy = result.energy().total
        assert np.isclose(result._model.mass_matrix(0.0, None).sum(), 10.0)
        lost.append(energy[0] - energy[np.argmax(result.P_N[0] > 0) + 1])
    assert np.isclose(lost[0], 0.5 * 0.125 * 100.0, rtol=0.1) and lost[1] < 0.2 * lost[0]
    with pytest.raises(ns.errors.InputError, match="lumped"):
        other = ns.World(gravity=(0, 0))
        other.add(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1, light="end"))
        other.start()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("light", ["start", "end", 2, ["start", 3]])
def test_light_nodes_keep_the_centre_of_mass(dim, light):
    """Also of uneven elements: M times unit velocities of a rigid turn is the moment of the mass."""
    x = np.array([0.0, 0.7, 1.9, 2.8, 4.0, 5.1])
    points = np.outer(x, np.eye(dim)[0])
    numbers = dict(EA=1e3, GA=1e3, EI=1.0, rhoA=2.0, mass="lumped") | (dict(GJ=1.0) if dim == 3 else {})
    moments = []
    for given in (None, light):
        world = ns.World(np.zeros(dim))
        world.add(ns.Beam(points, light=given, name="beam", **numbers))
        q, u = world.start()
        M = world.bind(0.0, q, u).mass_matrix(0.0, q)[1 :: 3 * (dim - 1), 1 :: 3 * (dim - 1)]
        moments.append((M.sum(), M.sum(axis=0) @ x))
        assert np.all(np.diag(M) > 0.0)
    np.testing.assert_allclose(moments[1], moments[0], rtol=1e-13)
    np.testing.assert_allclose(moments[0][0], 2.0 * 5.1)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("kind", [ns.Bar, ns.Cable, ns.Beam])
def test_light_nodes_fall_with_the_others(kind, dim):
    """A node weighs what it has of the mass: a structure that falls freely is not strained, whatever `light` says."""
    down = -np.eye(dim)[1]
    numbers = dict(EA=1e3, rhoA=2.0, mass="lumped", light=["start", 3])
    if kind is ns.Beam:
        numbers |= dict(GA=1e3, EI=1.0) | (dict(GJ=1.0) if dim == 3 else {})
    world = ns.World(9.81 * down)
    world.add(kind(np.outer([0.0, 0.7, 1.9, 2.8, 4.0, 5.1], down), name="one", **numbers))
    run = ns.simulate(world, (0, 0.05), dt=1e-3)
    fallen = run["one"].velocity[:, :, -1]
    np.testing.assert_allclose(fallen, 9.81 * 0.05 * np.repeat(down[:, None], 6, axis=1), atol=1e-12)


def test_light_nodes_that_cannot_be():
    for elements, light in ((1, "end"), (2, ["start", "end"])):
        world = ns.World((0, 0))
        world.add(
            ns.Bar([(0, 0), (1, 0)], elements, EA=1.0, rhoA=1.0, mass="lumped", light=light, name="rod")
        )
        with pytest.raises(ns.errors.ModelError, match=r"`light` of .*'rod'"):
            world.start()


def test_long_bars_have_no_square_matrices():
    """20000 elements: a square matrix would take 3.2 GB."""
    result = ns.simulate(hitting_bar(20_000), (0, 0.02), method=ns.GeneralizedAlpha(dt=2e-3, rho_inf=0.8))
    assert result.audit.ok
    assert np.isclose(result.energy().kinetic[0], 500.0)


def test_frequencies_of_a_bar():
    """Fixed at one end: omega = (2 k - 1) pi c / (2 L); order two, from above with consistent mass, from below with lumped."""
    exact = (2 * np.arange(1, 3) - 1) * np.pi * 30.0 / 20.0
    for mass, sign in (("consistent", 1.0), ("lumped", -1.0)):
        errors = []
        for n in (16, 32):
            world = ns.World(gravity=(0, 0, 0))
            world.add(ns.Bar([(0, 0, 1), (6, 8, 1)], n, EA=900.0, rhoA=1.0, mass=mass, fixed="start"))
            omega = 2 * np.pi * ns.modes(world).frequencies[:2]
            errors.append(sign * (omega / exact - 1))
        assert np.all(np.array(errors) > 0) and np.all(np.abs(np.log2(errors[0] / errors[1]) - 2) < 0.05)


def test_other_numbers_without_a_new_world():
    world = ns.World(gravity=(0, -9.81))
    bar = world.add(ns.Bar([(0, 1), (0, 0)], 8, EA=100.0, rhoA=2.0, fixed="start", name="bar"))
    end = ns.equilibrium(world).q[-1]
    np.testing.assert_allclose(end, 2.0 * 9.81 / (2 * 100.0), rtol=1e-10)  # rho A g L^2 / 2 EA
    softer = world.with_params(bar={"EA": 50.0})
    np.testing.assert_allclose(ns.equilibrium(softer).q[-1], 2 * end, rtol=1e-10)
    assert bar.EA == 100.0


def test_units_do_not_matter():
    """Lengths, masses and times in other units: the same motion."""
    motion = []
    for length, mass, time in ((1.0, 1.0, 1.0), (1e4, 1e-5, 1e3)):
        force = mass * length / time**2
        world = ns.World(gravity=(0, -9.81 * length / time**2))
        numbers = {"EA": 1e3 * force, "GA": 5e2 * force, "EI": force * length**2, "rhoA": mass / length}
        beam = world.add(ns.Beam([(0, 0), (length, 0)], 4, fixed="start", name="beam", **numbers))
        world.contact(beam.end, ns.HalfPlane((0, -0.2 * length), (0, 1)))
        result = ns.simulate(world, (0, 0.4 * time), method=ns.GeneralizedAlpha(dt=2e-3 * time))
        motion.append(result["beam"].position[1, -1] / length)
    np.testing.assert_allclose(motion[0], motion[1], atol=1e-8)


def test_bad_input():
    world = ns.World(gravity=(0, 0))
    with pytest.raises(ns.errors.ModelError, match="line"):
        ns.Bar([(0, 0), (1, 0), (1, 1)], EA=1, rhoA=1)
    bar = world.add(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1, name="bar"))
    with pytest.raises(ns.errors.ModelError, match="this world already"):
        world.add(bar)
    with pytest.raises(ns.errors.ModelError, match="'bar'"):
        world.add(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1, name="bar"))
    with pytest.raises(ns.errors.InputError, match="node 5"):
        bar.node(5)
    with pytest.raises(ns.errors.ModelError, match="along its axis"):
        other = ns.World(gravity=(0, 0))
        other.add(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1, velocity=(0, 1)))
        other.start()
    with pytest.raises(ns.errors.ModelError, match="in no world"):
        world.add(ns.Load(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1).end, (1, 0)))
