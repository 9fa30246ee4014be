"""The planar geometrically exact beam: closed forms, order, no locking."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import nonsmooth as ns


def cantilever(n=16, **numbers):
    world = ns.World(gravity=(0, 0))
    given = {"EA": 1e3, "GA": 5e2, "EI": 1.0, "rhoA": 1.0, "fixed": "start", **numbers}
    return world, world.add(ns.Beam([(0, 0), (1, 0)], n, name="beam", **given))


def rolled_up(n):
    """The beam under the tip moment 2 pi EI / L, which bends it to a full circle: nodes (x, y, phi) and those of the circle."""
    world, beam = cantilever(n)
    world.add(ns.Load(beam.end, torque=2 * np.pi))
    found = ns.equilibrium(world, load_steps=4).q.reshape(n, 3)
    s = np.arange(1, n + 1) / n
    exact = np.column_stack([np.sin(2 * np.pi * s), 1 - np.cos(2 * np.pi * s)]) / (2 * np.pi)
    return found, exact


def test_roll_up():
    errors = []
    for n in (8, 16, 32):
        found, exact = rolled_up(n)
        assert np.max(np.abs(found[-1] - [0.0, 0.0, 2 * np.pi])) <= 1e-10
        errors.append(np.max(np.abs(found[:, :2] - exact)))
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(order - 2.0) < 0.1)


def elastica(P, EI, EA, GA):
    """Tip of a cantilever of length one under a dead load P across: Reissner's equations as a boundary value problem."""

    def field(s, y):
        c, sn = np.cos(y[2]), np.sin(y[2])
        N, Q = -P * sn, -P * c
        stretch, shear = 1 + N / EA, Q / GA
        return np.array(
            [c * stretch - sn * shear, sn * stretch + c * shear, y[3] / EI, shear * N - stretch * Q]
        )

    s = np.linspace(0, 1, 51)
    solution = solve_bvp(
        field,
        lambda a, b: np.array([a[0], a[1], a[2], b[3]]),
        s,
        np.vstack([s, 0 * s, 0 * s, 0 * s]),
        tol=1e-9,
    )
    return solution.y[:2, -1]


@pytest.mark.parametrize("slenderness", [10.0, 1e3, 1e5])
def test_no_locking(slenderness):
    h = 1 / slenderness
    EA = 12 / h**2
    stiffness = {"EI": 1.0, "EA": EA, "GA": 5 / 6 * EA / 2.6}
    world, beam = cantilever(16, **stiffness)
    world.add(ns.Load(beam.end, (0, -1.0)))
    tip = ns.equilibrium(world).q[-3:-1]
    assert abs(tip[1] / elastica(1.0, **stiffness)[1] - 1) < 0.01


def test_frequencies_of_timoshenko():
    EI, EA, GA, rhoA = 1.0, 1e3, 3e2, 1.0
    rhoI, k = rhoA * EI / EA, np.pi * np.arange(1, 4)
    b, c = GA * rhoA + (EI * rhoA + GA * rhoI) * k**2, EI * GA * k**4
    exact = np.sqrt((b - np.sqrt(b**2 - 4 * rhoA * rhoI * c)) / (2 * rhoA * rhoI))  # pinned at both ends
    for mass in ("consistent", "lumped"):
        errors = []
        for n in (16, 32):
            world = ns.World(gravity=(0, 0))
            fixed = {"start": "position", "end": "y"}
            world.add(ns.Beam([(0, 0), (1, 0)], n, EA=EA, GA=GA, EI=EI, rhoA=rhoA, mass=mass, fixed=fixed))
            omega = 2 * np.pi * ns.modes(world).frequencies
            errors.append([np.min(np.abs(omega - x)) / x for x in exact])
        order = np.log2(np.array(errors[0]) / errors[1])
        assert np.all(np.abs(order - 2.0) < 0.15), mass


def test_patch():
    """Elements of any lengths: constant strains are exact, rigid motions cost nothing."""
    x = np.array([0.0, 0.1, 0.45, 0.6, 1.0])
    world = ns.World(gravity=(0, 0))
    numbers = {"EA": 20.0, "GA": 8.0, "EI": 1.0, "rhoA": 1.0}
    beam = world.add(ns.Beam(np.column_stack([x, 0 * x]), fixed="start", name="beam", **numbers))
    load = world.add(ns.Load(beam.end, (2.0, 0.0), name="load"))
    found = ns.equilibrium(world).q.reshape(-1, 3)
    np.testing.assert_allclose(found, np.column_stack([1.1 * x[1:], 0 * x[1:], 0 * x[1:]]), atol=1e-13)
    bent = ns.World(gravity=(0, 0))
    beam = bent.add(ns.Beam(np.column_stack([x, 0 * x]), fixed="start", name="beam", **numbers))
    bent.add(ns.Load(beam.end, torque=1.3))
    np.testing.assert_allclose(ns.equilibrium(bent).q[2::3], 1.3 * x[1:], atol=1e-12)
    assert load.force == (2.0, 0.0)

    free = ns.World(gravity=(0, 0))
    free.add(ns.Beam([(0, 0), (0.5, 0.2), (1, 0), (1.1, -0.6)], name="beam", **numbers))  # a curved one
    q, u = free.start()
    model, turn = free.bind(0.0, q, u), 2.5
    c, s = np.cos(turn), np.sin(turn)
    nodes = q.reshape(-1, 3)
    moved = np.column_stack(
        [3 + c * nodes[:, 0] - s * nodes[:, 1], s * nodes[:, 0] + c * nodes[:, 1], nodes[:, 2] + turn]
    )
    assert np.max(np.abs(model.forces(0.0, moved.ravel(), u))) < 1e-13


def test_momentum_and_energy_of_free_flight():
    """A bent free beam: momentum, angular momentum and (without damping) energy are kept."""
    world = ns.World(gravity=(0, 0))
    beam = ns.Beam(
        [(0, 0), (1, 0)],
        6,
        EA=1e3,
        GA=5e2,
        EI=1.0,
        rhoA=1.0,
        velocity=(0.3, 0.1),
        angular_velocity=2.0,
        name="beam",
    )
    world.add(beam)
    q0, u0 = world.start()
    q0 = q0.reshape(-1, 3).copy()
    q0[:, 1] += 0.05 * np.sin(np.pi * q0[:, 0])
    result = ns.simulate(world, (0, 0.3), q0.ravel(), u0, method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=1.0))
    assert result.audit.ok
    M = result._model.mass_matrix(0.0, q0.ravel())
    for k in (0, 1):
        momentum = (M @ result.u)[k::3].sum(axis=0)
        np.testing.assert_allclose(momentum, momentum[0], rtol=1e-9)
    view = result["beam"]
    total = view.kinetic_energy + view.strain_energy
    assert np.max(np.abs(total / total[0] - 1)) < 2e-3
    assert view.position.shape == (2, 7, result.t.size) and view.angle.shape == (7, result.t.size)
    assert view.section_forces.shape == (3, 6, result.t.size)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"EA": -1.0}, ns.errors.RangeError, "EA"),
        ({"EI": np.nan}, ns.errors.NonFiniteError, "EI"),
        ({"rhoA": [1.0, 2.0, 3.0]}, ns.errors.ShapeError, "rhoA"),
        ({"mass": "half"}, ns.errors.InputError, "mass"),
        ({"fixed": {7: "all"}}, ns.errors.InputError, "7"),
        ({"fixed": {"start": "w"}}, ns.errors.InputError, "w"),
        ({"damping": -1.0}, ns.errors.RangeError, "damping"),
        ({"velocity": (1.0, 0.0)}, ns.errors.ModelError, "fixed"),
    ],
)
def test_bad_numbers(change, error, says):
    with pytest.raises(error, match=says):
        world, _ = cantilever(4, **change)
        world.start()


def test_bad_places():
    numbers = {"EA": 1.0, "GA": 1.0, "EI": 1.0, "rhoA": 1.0}
    with pytest.raises(ns.errors.ModelError, match="no length"):
        ns.Beam([(0, 0), (0, 0), (1, 0)], **numbers)
    with pytest.raises(ns.errors.ShapeError, match="points"):
        ns.Beam([0, 1], **numbers)
    space = ns.World(gravity=(0, 0, -9.81))
    space.add(ns.Beam([(0, 0), (1, 0)], 2, name="flat", **numbers))
    with pytest.raises(ns.errors.InputError, match="flat"):
        space.start()


def test_large_deflection_of_a_nearly_inextensible_beam():
    """P L^2 / EI = 10 against theta'' = -10 cos theta: order 2, although forces on the way are 1e8 times those that act."""
    exact = np.array([1 - 0.5549955978, -0.8106090249, -1.4302855388])
    errors = []
    for elements in (16, 32, 64):
        world = ns.World(gravity=(0, 0))
        beam = world.add(
            ns.Beam([(0, 0), (1, 0)], elements, EA=1e7, GA=1e7, EI=1.0, rhoA=1.0, fixed="start", name="beam")
        )
        world.add(ns.Load(beam.end, (0.0, -10.0), name="P"))
        rest = ns.equilibrium(world)
        assert rest.residual < 1e-6
        errors.append(np.abs(rest.q[-3:] - exact).max())
    assert np.all(np.abs(np.log2(np.array(errors[:-1]) / errors[1:]) - 2) < 0.1)
