"""Worlds under the generalized-alpha method, and its energy books: losses of impacts, friction and the scheme kept apart."""

import numpy as np
import pytest

import nonsmooth as ns


@pytest.mark.parametrize("form", ["PVA", "PVV"])
def test_planar_world_against_event_driven(form):
    """A ball that bounces and starts to spin, beside a pendulum on a pin: errors of the order of a step after the impact."""
    world = ns.World(gravity=(0, -9.81))
    ball = world.add(
        ns.Body(shape=ns.Disk(0.1), mass=1.0, position=(0, 0.4), velocity=(1.0, 0.0), name="ball")
    )
    world.contact(ball, ns.HalfPlane(), restitution=0.5, friction=0.3)
    arm = world.add(ns.Body(mass=2.0, inertia=0.1, position=(2.5, 1.0), name="arm"))
    world.add(ns.Revolute(world.ground, arm, at=(2.0, 1.0)))
    exact = ns.simulate(world, (0, 0.4), method=ns.EventDriven(rtol=1e-8))
    errors = []
    for h in (8e-3, 4e-3):
        r = ns.simulate(world, (0, 0.4), method=ns.GeneralizedAlpha(dt=h, constraints=form))
        assert [e.kind for e in r.events] == [e.kind for e in exact.events]
        assert np.max(np.abs(r.q[:, -1] - exact.q[:, -1])) < 10 * h
        errors.append(np.max(np.abs(r["arm"].position[:, -1] - exact["arm"].position[:, -1])))
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2  # no impact there


def test_box_in_space_slides_to_rest():
    """Obliquely across a plane: mu g against the velocity, then stuck."""
    world = ns.World(gravity=(0, 0, -9.81))
    box = world.add(
        ns.Body(
            shape=ns.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1), velocity=(0.4, 0.3, 0), name="box"
        )
    )
    world.contact(box, ns.Plane(), restitution=0.0, friction=0.3)
    r = ns.simulate(world, (0, 0.2), method=ns.GeneralizedAlpha(dt=2e-3))
    way = 0.5 * 0.5**2 / (0.3 * 9.81)
    end = r["box"].position[:, -1]
    assert end == pytest.approx([0.8 * way, 0.6 * way, 0.1], abs=1e-5)
    assert np.max(np.abs(r.u[:3, -1])) <= 1e-11  # four contacts share the load: as good as their solver
    assert r.audit.ok, r.audit.failures()


def springs(rho_inf, restitution=0.0, speed=10.0, h=1e-2):
    """Eight masses in a line with springs meet a wall; kinetic and spring energy of the run."""

    def force(t, q, u, out):
        out[0] = 0.0
        for i in range(q.size - 1):
            f = 800.0 * (q[i + 1] - q[i])
            out[i] += f
            out[i + 1] = -f

    wall = ns.Contact(lambda t, q: 1.0 - q[q.size - 1], restitution=restitution)
    system = ns.MechanicalSystem(np.eye(8) * 0.1, force, contacts=[wall])
    r = ns.simulate(
        system,
        (0, 0.4),
        np.full(8, 0.5),
        np.full(8, speed),
        method=ns.GeneralizedAlpha(dt=h, rho_inf=rho_inf),
    )
    return r, 0.05 * np.sum(r.u**2, axis=0), 400.0 * np.sum(np.diff(r.q, axis=0) ** 2, axis=0)


def test_work_of_linear_forces_is_exact():
    """1/2 (f_0 + f_1) delta is the change of the energy of the springs; without damping and set changes nothing else is lost."""
    r, T, V = springs(0.8)
    assert np.max(np.abs(r.work_forces[1:] + np.diff(V))) <= 1e-12 * T[0]
    numerical = -np.diff(T) + (r.work_forces + r.work_normal)[1:]
    apart = np.sum(numerical) - np.sum(r.work_normal)
    assert apart == pytest.approx(T[0] + V[0] - T[-1] - V[-1], rel=1e-12)
    assert r.audit.energy_balance["loss_numerical"] == pytest.approx(np.sum(numerical), rel=1e-9, abs=1e-12)
    r, T, V = springs(1.0)
    numerical = -np.diff(T) + (r.work_forces + r.work_normal)[1:]
    same = r.sets[0, 1:] == r.sets[0, :-1]
    assert np.max(np.abs(numerical[same])) <= 1e-12 * T[0]


def test_loss_of_an_impact_and_of_friction_in_closed_form():
    """1/2 m (1 - e^2) v^2 in the step of an impact; mu N times the way for friction."""
    ball = ns.MechanicalSystem(2.0, 0.0, contacts=[ns.Contact(lambda t, q: q[0], restitution=0.5)])
    r = ns.simulate(ball, (0, 0.2), [0.1], [-1.0], method=ns.GeneralizedAlpha(dt=1e-2))
    assert np.sum(r.work_normal) == pytest.approx(-0.5 * 2.0 * 0.75, rel=1e-12)
    floor = ns.Contact(lambda t, q: q[1], friction=0.3, tangent=lambda t, q: np.array([1.0, 0.0]))
    block = ns.MechanicalSystem(np.eye(2), np.array([0.0, -10.0]), contacts=[floor])
    r = ns.simulate(block, (0, 0.2), [0.0, 0.0], [1.0, 0.0], method=ns.GeneralizedAlpha(dt=1e-2))
    assert np.sum(r.work_friction) == pytest.approx(-3.0 * r.q[0, -1], rel=1e-9)
    assert np.max(np.abs(r.work_normal)) <= 1e-15
