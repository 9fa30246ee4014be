"""`equilibrium`, `modes` and `diagnose` against closed forms."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import nonsmooth as ns
from nonsmooth import errors

G = 9.81


def rod_on_a_pin(**spring):
    """A uniform rod of length 1 that hangs on one end."""
    world = ns.World((0, -G))
    rod = world.add(ns.Body(mass=2.0, inertia=2.0 / 12.0, position=(0.5, 0), name="rod"))
    world.add(ns.Revolute(world.ground, rod, (0, 0), name="pin"))
    if spring:
        world.add(ns.TorsionSpring(world.ground, rod, name="spring", **spring))
    return world


def test_a_rod_hangs_straight_down():
    rest = ns.equilibrium(rod_on_a_pin())
    np.testing.assert_allclose(rest.q[:2], [0, -0.5], atol=1e-10)
    np.testing.assert_allclose(rest.forces, [0, 2.0 * G], atol=1e-9)


@pytest.mark.parametrize("load_steps", [1, 4])
def test_a_rod_on_a_torsion_spring(load_steps):
    """k phi = -m g cos(phi) / 2."""
    rest = ns.equilibrium(rod_on_a_pin(stiffness=5.0), load_steps=load_steps)
    phi = rest.q[2]
    assert 5.0 * phi == pytest.approx(-2.0 * G * np.cos(phi) / 2, abs=1e-9)


def test_hanging_weight_in_any_units():
    """x = -m g / k, with lengths and masses from 1e-6 to 1e6."""
    for length, mass in ((1.0, 1.0), (1e-6, 1e3), (1e6, 1e-3)):
        world = ns.World((0, -G))
        weight = world.add(ns.Body(mass=mass, position=(0, -length)))
        world.add(ns.Spring(world.ground, weight, mass * G / length, length))
        assert ns.equilibrium(world).q[1] == pytest.approx(-2.0 * length, rel=1e-9)


def test_what_falls_freely_has_no_rest():
    world = ns.World((0, -G))
    world.add(ns.Body(mass=1.0))
    with pytest.raises(errors.ConvergenceError, match="may fall freely"):
        ns.equilibrium(world)


def test_a_contact_at_the_state_of_rest_is_named():
    world = rod_on_a_pin()
    world.contact(world["rod"], ns.HalfPlane((0, -0.4), name="floor"))
    with pytest.raises(errors.ModelError, match="'rod on floor'"):
        ns.equilibrium(world)


def test_modes_of_a_physical_pendulum():
    """omega^2 = m g l / (J + m l^2), about the state of rest."""
    world = rod_on_a_pin()
    found = ns.modes(world, ns.equilibrium(world))
    omega = np.sqrt(2.0 * G * 0.5 / (2.0 / 12 + 2.0 * 0.25))
    np.testing.assert_allclose(found.frequencies, omega / (2 * np.pi), rtol=1e-8)
    np.testing.assert_allclose(found.damping, 0.0, atol=1e-8)
    # the shape: turning about the pin
    shape = found.shapes[:, 0] / found.shapes[2, 0]
    np.testing.assert_allclose(shape.real, [0.5, 0.0, 1.0], atol=1e-8)


def test_modes_of_two_masses_with_a_damper():
    """Against the eigenvalues of the 4 x 4 matrix written by hand."""
    world = ns.World((0, 0))
    a, b = (world.add(ns.Body(mass=m, position=(x, 0))) for m, x in ((1.0, 1.0), (2.0, 2.0)))
    rail = [ns.PointOnLine(world.ground, body, axis=(1, 0)) for body in (a, b)]
    world.add(*rail, ns.Spring(world.ground, a, 50.0, damping=0.3), ns.Spring(a, b, 20.0, damping=0.1))
    K = np.array([[70.0, -20.0], [-20.0, 20.0]]) / np.array([[1.0], [2.0]])
    D = np.array([[0.4, -0.1], [-0.1, 0.1]]) / np.array([[1.0], [2.0]])
    values = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -D]]))
    values = values[values.imag > 0]
    np.testing.assert_allclose(ns.modes(world).eigenvalues, values[np.argsort(np.abs(values))], rtol=1e-7)


def four_bar_in_space():
    """Four revolute joints with parallel axes: three of the rows too many."""
    world = ns.World((0, -G, 0))
    points = np.array([(0, 0, 0), (0, 1, 0), (2, 1, 0), (2, 0, 0)], dtype=float)
    bars = [
        world.add(ns.Body(mass=1.0, inertia=(0.1, 0.1, 0.1), position=0.5 * (p + q), name=f"bar {k}"))
        for k, (p, q) in enumerate(zip(points, points[1:]))
    ]
    sides = [world.ground, *bars, world.ground]
    world.add(*(ns.Revolute(sides[k], sides[k + 1], points[k], (0, 0, 1), name=f"pin {k}") for k in range(4)))
    return world


def test_four_bar_in_space_is_redundant_by_name():
    found = ns.diagnose(four_bar_in_space())
    assert (found.velocities, found.constraints, found.rank, found.degrees_of_freedom) == (18, 20, 17, 1)
    assert len(found.redundant) == 3 and all(name.startswith("pin 3") for name in found.redundant)
    assert found.loops == 1
    text = str(found)
    assert "1 degrees of freedom" in text and "'pin 3" in text


def test_bricard_loop_moves_although_counting_says_no():
    """Six hinges along the edges of a cube: 30 velocities, 30 rows of rank 29."""
    world = bricard()
    found = ns.diagnose(world)
    assert (found.velocities, found.constraints, found.rank, found.degrees_of_freedom) == (30, 30, 29, 1)
    assert len(found.redundant) == 1 and found.redundant[0].startswith("hinge 5")
    loop = world.without_redundant_rows()
    assert (ns.diagnose(loop).constraints, ns.diagnose(loop).redundant) == (29, [])
    exact, coarse, fine = (
        ns.simulate(loop, (0, 0.5), **method)
        for method in (dict(method=ns.GeneralizedAlpha(dt=1e-3)), dict(dt=1e-3), dict(dt=5e-4))
    )  # it moves, and the more exactly the smaller the steps are
    assert np.abs(exact.q[:, -1] - exact.q[:, 0]).max() > 0.1 and exact.audit.ok
    first, second = (np.abs(run.q[:, -1] - exact.q[:, -1]).max() for run in (coarse, fine))
    assert second < 0.7 * first < 0.02


def test_diagnosis_of_a_pendulum_and_its_start():
    found = ns.diagnose(rod_on_a_pin(stiffness=5.0))
    assert found.degrees_of_freedom == 1 and not found.redundant and found.loops == 0
    assert found.position == 0.0 and found.acceleration < 1e-12
    off = ns.diagnose(rod_on_a_pin(), q0=[0.6, 0.0, 0.0], u0=[0.0, 0.0, 1.0])
    assert off.position == pytest.approx(0.1) and off.worst_position == "pin [0]"
    assert off.velocity == pytest.approx(0.5)


def test_a_system_of_functions_is_diagnosed_too():
    rod = ns.Joint(lambda t, q: np.array([q[0] ** 2 + q[1] ** 2 - 1.0]), name="rod")
    system = ns.MechanicalSystem(np.eye(2), np.array([0.0, -G]), joints=rod)
    found = ns.diagnose(system, [1.0, 0.0], [0.0, 0.0])
    assert found.degrees_of_freedom == 1 and found.loops is None
    assert "event-driven" in found.methods
    rest = ns.equilibrium(system, [0.6, -0.8])
    np.testing.assert_allclose(rest.q, [0.0, -1.0], atol=1e-9)


def bricard():
    """Six hinges along the edges of a cube: 30 velocities, 30 rows of rank 29."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)], dtype=float)
    edges = np.roll(corners, -1, axis=0) - corners
    axes = np.cross(np.roll(edges, 1, axis=0), edges)
    world = ns.World((0, -G, 0))
    rods = world.add_bodies(
        5, "rod", mass=1.0, inertia=[(0.1, 0.1, 0.1)] * 5, position=(corners + 0.5 * edges)[:5]
    )
    sides = [world.ground, *rods, world.ground]
    world.add(
        *(ns.Revolute(sides[k], sides[k + 1], corners[k], axes[k], name=f"hinge {k}") for k in range(6))
    )
    return world


def test_rest_of_an_overconstrained_loop():
    """The sum of all heights is least; forces in all rows, also those left out, hold the weights."""
    world = bricard()
    rest = ns.equilibrium(world)
    model = world.bind(0.0, rest.q, np.zeros(30))
    W = model.directions(0.0, rest.q)[0].T
    assert rest.forces.size == 30 and rest.residual < 1e-12
    np.testing.assert_allclose(W @ rest.forces, -model.forces(0.0, rest.q, np.zeros(30)), atol=1e-10)
    lean = world.without_redundant_rows()
    other = ns.equilibrium(lean)
    np.testing.assert_allclose(rest.q, other.q, atol=1e-9)
    frequencies = [ns.modes(w, rest).frequencies for w in (world, lean)]
    assert frequencies[0].size == 1
    np.testing.assert_allclose(frequencies[0], frequencies[1], rtol=1e-6)


def test_a_search_goes_on_from_a_state_that_is_not_stable():
    """A pendulum that starts upside down; `stable=False` leaves it there."""
    world = ns.World((0, -G))
    rod = world.add(ns.Body(mass=1.0, inertia=0.1, position=(0, 1), name="rod"))
    world.add(ns.Revolute(world.ground, rod, (0, 0), name="pin"))
    np.testing.assert_allclose(ns.equilibrium(world).q[:2], [0, -1], atol=1e-10)
    upside_down = ns.equilibrium(world, stable=False)
    np.testing.assert_allclose(upside_down.q[:2], [0, 1], atol=1e-10)
    s = np.sqrt(G / 1.1)
    np.testing.assert_allclose(np.sort(ns.modes(world, upside_down).eigenvalues.real), [-s, s], rtol=1e-8)


def test_a_column_buckles_into_the_elastica():
    """P = (2 K(k))^2 EI / L^2 and the ends 2 E(k) / K(k) - 1 apart (Love: Mathematical Theory of Elasticity, sec. 263)."""
    P, far = 11.0, []
    m = brentq(lambda m: (2 * ellipk(m)) ** 2 - P, 1e-6, 0.9)
    for n in (20, 40):
        world = ns.World((0, 0))
        held = {"start": "position", "end": "y"}
        column = ns.Beam([(0, 0), (1, 0)], n, EA=1e7, GA=1e7, EI=1.0, rhoA=1.0, fixed=held, name="column")
        world.add(column, ns.Load(column.end, (-P, 0.0)))
        rest = ns.equilibrium(world)
        assert ns.modes(world, rest).frequencies[0] > 0.1
        far.append(abs(rest.q[-2] - (2 * ellipe(m) / ellipk(m) - 1)))
        straight = ns.equilibrium(world, stable=False)
        assert ns.modes(world, straight).eigenvalues.real.max() > 3.0
    assert far[1] < 5e-3 and 1.8 < np.log2(far[0] / far[1]) < 2.2


def test_a_follower_load_flutters():
    """Beck's column: two frequencies meet at 20.05 EI / L^2."""
    grows = []
    for P in (19.5, 20.6):
        world = ns.World((0, 0))
        column = ns.Beam([(0, 0), (1, 0)], 30, EA=1e6, GA=1e6, EI=1.0, rhoA=1.0, fixed="start", name="column")
        world.add(column, ns.Load(column.end, (-P, 0.0), carried=True))
        grows.append(ns.modes(world, ns.equilibrium(world)).eigenvalues.real.max())
    assert grows[0] < 1e-6 and grows[1] > 1.0


@pytest.mark.parametrize("dim", [2, 3])
def test_modes_of_a_beam_that_floats(dim):
    """One mode for each free motion, then those of a free beam; rotary inertia so small that its motions are 1e7 times faster."""
    x = np.eye(dim)[0]
    more = {} if dim == 2 else dict(GJ=1.0, EI_2=4.0)
    world = ns.World(np.zeros(dim))
    world.add(ns.Beam([0 * x, x], 30, EA=1e6, GA=1e6, EI=1.0, rhoA=1.0, rhoI=1e-8, name="beam", **more))
    found = ns.modes(world).frequencies
    rigid = 3 * (dim - 1)
    assert np.all(found[:rigid] == 0.0) and found[rigid] > 1.0
    slowest = 4.730040744862704**2 / (2 * np.pi)
    np.testing.assert_allclose(found[rigid], slowest, rtol=3e-3)
    if dim == 3:
        np.testing.assert_allclose(found[rigid + 1], 2 * slowest, rtol=3e-3)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("mass_first", [False, True])
def test_modes_of_a_beam_with_a_mass_at_its_tip(dim, mass_first):
    """1 + cos cosh + m x (cos sinh - sin cosh) = 0: a point mass is fixed to the tip, which turns as it did."""
    m, x = 0.5, np.eye(dim)[0]
    more = {} if dim == 2 else dict(GJ=1.0, EI_2=4.0)
    world = ns.World(np.zeros(dim))
    beam = ns.Beam([0 * x, x], 30, EA=1e6, GA=1e6, EI=1.0, rhoA=1.0, rhoI=1e-8, fixed="start", **more)
    tip = world.add(beam, ns.Body(mass=m, position=x))[1]
    world.add(ns.Fixed(tip, beam.end) if mass_first else ns.Fixed(beam.end, tip, at=0.5 * x))

    def characteristic(y):
        return 1 + np.cos(y) * np.cosh(y) + m * y * (np.cos(y) * np.sinh(y) - np.sin(y) * np.cosh(y))

    root = brentq(characteristic, 1.0, 1.8)
    np.testing.assert_allclose(ns.modes(world).frequencies[0], root**2 / (2 * np.pi), rtol=1e-3)


def test_point_masses_that_are_apart_are_not_fixed_to_each_other():
    world = ns.World((0, -G))
    a, b = (world.add(ns.Body(mass=1.0, position=(x, 0), name=name)) for x, name in ((0, "a"), (1, "b")))
    world.add(ns.Fixed(a, b, name="weld"))
    with pytest.raises(
        errors.ModelError, match="'weld' joins point masses that are apart, body 'a' and body 'b'"
    ):
        world.start()


def test_modes_of_a_motion_come_with_a_warning():
    world = ns.World((0, 0, -G))
    world.add(ns.Body(mass=1.0, inertia=(1, 1, 1), angular_velocity=(0, 0, 1), name="top"))
    with pytest.warns(errors.NonsmoothWarning, match="frozen at this instant"):
        ns.modes(world)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(ns.modes(world, world.start()[0]).frequencies == 0.0)


def test_modes_about_an_equilibrium_are_those_at_rest():
    """Whatever velocities the world starts with."""
    world = rod_on_a_pin()
    damper = ns.TorsionSpring(world.ground, world["rod"], torque=lambda t, angle, rate: 0.1 * rate**3)
    world.add(damper)
    rest = ns.equilibrium(world)
    moving = world.with_params(rod=dict(angular_velocity=5.0, velocity=(0, 2.5)))
    np.testing.assert_allclose(ns.modes(moving, rest).damping, 0.0, atol=1e-8)
