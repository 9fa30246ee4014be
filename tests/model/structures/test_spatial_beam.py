"""The geometrically exact beam in space: closed forms, order, no locking, rotations of any size."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import errors

NUMBERS = {"EA": 1e3, "GA": 5e2, "EI": 1.0, "GJ": 0.8, "rhoA": 1.0}


def cantilever(n=8, turned=None, **numbers):
    """Along x, or along the first column of `turned`, of length one, clamped."""
    R = np.eye(3) if turned is None else turned
    world = ns.World(gravity=(0, 0, 0))
    given = {**NUMBERS, "fixed": "start", **numbers}
    return world, world.add(ns.Beam([(0, 0, 0), R[:, 0]], n, normal=R[:, 1], name="beam", **given))


def rotation(axis, angle):
    n, K = np.array(axis) / np.linalg.norm(axis), np.zeros((3, 3))
    K[[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]] = -n[2], n[1], n[2], -n[0], -n[1], n[0]
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


@pytest.fixture(scope="module", params=["free", "pinned", "clamped"])
def bound(request):
    """A curved, damped beam of unequal numbers."""
    world = ns.World(gravity=(0.3, -9.81, 1.0))
    points = [(0, 0, 0), (0.5, 0.1, 0), (0.9, 0.2, 0.3), (1.2, -0.1, 0.5)]
    fixed = {"free": {}, "pinned": {"start": "position", "end": "rotation"}, "clamped": {"start": "all"}}[
        request.param
    ]
    world.add(
        ns.Beam(points, EA=100.0, GA=40.0, GA_2=30.0, EI=2.0, EI_2=1.0, GJ=1.5, rhoA=1.0, rhoI=0.1, rhoI_2=0.2, fixed=fixed,
                normal=(0, 1, 0.2))
    )  # fmt: skip
    return world.bind(0.0, *world.start())


@pytest.mark.parametrize("size", [1e-3, 0.1, 0.7])
def test_kernels_against_second_route(bound, size):
    rng = np.random.default_rng(3)
    q = np.array(bound.space.retract(bound._q0, size * rng.normal(size=bound.n_u)))
    u, h, zero = rng.normal(size=bound.n_u), np.zeros(bound.n_u), np.zeros(bound.n_u)
    bound.core.force(0.0, q, u, bound.parameters.flat, h)
    exact = bound.forces(0.0, q, u)
    np.testing.assert_allclose(h, exact, atol=1e-13 * np.abs(exact).max())
    K, D = (bound.tangent(0.0, q, u, zero, zero[:0], **c).toarray() for c in ({"cK": 1.0}, {"cD": 1.0}))
    step = 1e-6
    for j, e in enumerate(step * np.eye(bound.n_u)):
        moved = [np.array(bound.space.retract(q, sign * e)) for sign in (1, -1)]
        by_q = (bound.forces(0.0, moved[1], u) - bound.forces(0.0, moved[0], u)) / (2 * step)
        by_u = (bound.forces(0.0, q, u - e) - bound.forces(0.0, q, u + e)) / (2 * step)
        np.testing.assert_allclose(K[:, j], by_q, atol=2e-8 * np.abs(K).max())
        np.testing.assert_allclose(D[:, j], by_u, atol=1e-7 * np.abs(K).max())


@pytest.mark.parametrize("turned", [None, rotation((1, 2, 3), 2.1)], ids=["along x", "turned"])
def test_roll_up(turned):
    """A full circle under a tip moment: every node is exact, also out of the planes of the world."""
    R, n = np.eye(3) if turned is None else turned, 8
    world, beam = cantilever(n, turned)
    world.add(ns.Load(beam.end, torque=2 * np.pi * R[:, 2]))
    found = ns.equilibrium(
        world, load_steps=8, stable=False
    )  # a moment about an axis of the world would tip the circle over
    s = 2 * np.pi * np.arange(1, n + 1) / n
    exact = np.column_stack([np.sin(s), 1 - np.cos(s), 0 * s]) / (2 * np.pi) @ R.T
    np.testing.assert_allclose(found.q.reshape(n, 7)[:, :3], exact, atol=1e-10)
    assert abs(abs(found.q[-4]) - 1.0) < 1e-10  # one turn


@pytest.mark.parametrize("n", [1, 2, 5])
def test_helix(n):
    """Nodes on a helix have its constant strains, with any number of elements."""
    world, _ = cantilever(n)
    model = world.bind(0.0, *world.start())
    kappa = np.array([1.5, 0.0, 2.0])  # twist and curvature
    a, s = np.linalg.norm(kappa), np.arange(1, n + 1)[:, None] / n
    N, e = kappa / a, np.eye(3)[0]
    x = s * N * N[0] + np.sin(a * s) / a * (e - N * N[0]) + (1 - np.cos(a * s)) / a * np.cross(N, e)
    q = np.hstack([x, np.cos(0.5 * a * s), np.sin(0.5 * a * s) * N]).reshape(1, -1)
    found = model.assembly.structures[0].resultants(q, np.zeros((1, model.n_u)))[0]
    np.testing.assert_allclose(found, np.tile([0, 0, 0, 0.8 * 1.5, 0, 2.0], (n, 1)), atol=1e-11)


@pytest.mark.parametrize("slenderness", [10.0, 1e3, 1e5])
def test_no_locking(slenderness):
    """Tip of a cantilever under a small load across, in both directions: P L^3 / 3 EI + P L / GA."""
    EA = 12 * slenderness**2
    numbers = {"EI": 1.0, "EI_2": 4.0, "EA": EA, "GA": EA / 3, "GJ": 1.0}
    world, beam = cantilever(16, **numbers)
    P = 1e-4
    world.add(ns.Load(beam.end, (0, P, P)))
    tip = ns.equilibrium(world).q[-7:-4]
    exact = [P / 3 + P / numbers["GA"], P / 12 + P / numbers["GA"]]
    np.testing.assert_allclose(tip[1:], exact, rtol=0.01)


def test_same_as_in_the_plane():
    """Large bending in the plane: both elements go to one solution with order 2."""
    differences = []
    for n in (8, 16):
        world, beam = cantilever(n)
        world.add(ns.Load(beam.end, (0, 4.0, 0)))
        plane = ns.World(gravity=(0, 0))
        other = plane.add(ns.Beam([(0, 0), (1, 0)], n, EA=1e3, GA=5e2, EI=1.0, rhoA=1.0, fixed="start"))
        plane.add(ns.Load(other.end, (0, 4.0)))
        differences.append(np.abs(ns.equilibrium(world).q[-7:-5] - ns.equilibrium(plane).q[-3:-1]).max())
    assert 1.8 < np.log2(differences[0] / differences[1]) < 2.2 and differences[1] < 2e-3


def test_frequencies():
    """Pinned at both ends: bending in both planes (Timoshenko) and stretching, of order 2; torsion of a clamped one."""
    EI, EI_2, EA, GA, GJ = 1.0, 3.0, 1e3, 3e2, 0.7
    k = np.pi * np.arange(1, 3)

    def timoshenko(EI):
        rhoI = EI / EA
        b, c = GA + (EI + GA * rhoI) * k**2, EI * GA * k**4
        return np.sqrt((b - np.sqrt(b**2 - 4 * rhoI * c)) / (2 * rhoI))

    errors_of = []
    for n in (8, 16):
        world = ns.World(gravity=(0, 0, 0))
        beam = world.add(
            ns.Beam(
                [(0, 0, 0), (1, 0, 0)],
                n,
                EA=EA,
                GA=GA,
                EI=EI,
                EI_2=EI_2,
                GJ=GJ,
                rhoA=1.0,
                fixed={"start": "position"},
            )
        )
        world.add(
            ns.PointOnLine(world.ground, beam.end, axis=(1, 0, 0)),
            ns.TorsionSpring(world.ground, beam.start, 1e-3, axis=(1, 0, 0)),
        )
        omega = 2 * np.pi * ns.modes(world).frequencies
        exact = np.concatenate([timoshenko(EI), timoshenko(EI_2)])
        errors_of.append([np.min(np.abs(omega - x)) / x for x in exact])
    order = np.log2(np.array(errors_of[0]) / errors_of[1])
    assert np.all(np.abs(order - 2.0) < 0.25), order


def test_free_flight():
    """A twisted throw: momenta stay, energy too, under generalized-alpha without damping; the audit agrees."""
    world = ns.World(gravity=(0, 0, 0))
    world.add(
        ns.Beam(
            [(0, 0, 0), (1, 0, 0)], 4, EA=200.0, GA=80.0, EI=0.5, EI_2=0.8, GJ=0.4, rhoA=1.0, rhoI=0.01,
            velocity=(0.3, 0, 0.1), angular_velocity=(1.0, 3.0, 2.0), name="beam"
        )
    )  # fmt: skip
    result = ns.simulate(world, (0, 0.5), method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=1.0))
    assert result.audit.ok
    view = result["beam"]
    energy = view.kinetic_energy + view.strain_energy
    assert (
        np.abs(energy - energy[0]).max() < 1e-4 * energy[0] < np.inf
        and view.strain_energy.max() > 5e-3 * energy[0]
    )
    p = world.bind(0.0, *world.start()).sparse_mass @ result.u
    momentum = sum(p[6 * k : 6 * k + 3] for k in range(5))
    assert np.abs(momentum - momentum[:, :1]).max() < 1e-9


def test_bad_input():
    for change, error, says in (
        ({"GJ": None}, errors.InputError, "`GJ` of Beam 'beam' is missing"),
        ({"GJ": -1.0}, errors.RangeError, "`GJ`"),
        ({"normal": (1, 0, 0)}, errors.ModelError, "along the beam"),
        ({"fixed": {"start": "x"}}, errors.InputError, "PointOnLine"),
        ({"fixed": "start", "velocity": (1.0, 0, 0)}, errors.ModelError, "is fixed, but moves"),
        ({"angular_velocity": 2.0}, errors.InputError, "`angular_velocity`"),
    ):
        given = {**NUMBERS, "normal": None, **change}
        world = ns.World(gravity=(0, 0, 0))
        with pytest.raises(error, match=says):
            world.add(ns.Beam([(0, 0, 0), (1, 0, 0)], 2, name="beam", **given))
            world.assembly  # noqa: B018
    plane = ns.World(gravity=(0, 0))
    plane.add(ns.Beam([(0, 0), (1, 0)], 2, name="beam", **NUMBERS))
    with pytest.raises(errors.InputError, match="`GJ` of Beam 'beam' is for space"):
        plane.assembly  # noqa: B018
