"""Projection of positions around `theta` and `moreau`: contacts and joints to rounding, energy, units, enduring contacts."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InconsistentStateError

WALL = 0.5**0.5
START = np.pi / 12


def pendulum(length=1.0, e=0.8):
    """Bouncing pendulum of Bruls et al. 2018, sec. 6.1, with gravity along +y: q = (x, y, angle)."""
    return ns.MechanicalSystem(
        lambda t, q, p: np.diag(np.array([1.0, 1.0, 0.1 * p.L**2])),
        lambda t, q, u, p: np.array([0.0, 10.0 * p.L, 0.0]),
        contacts=[ns.Contact(lambda t, q, p: q[0] - 0.7071067811865476 * p.L, restitution=e, name="wall")],
        joints=[ns.Joint(lambda t, q, p: np.array([q[0] - p.L * np.cos(q[2]), q[1] - p.L * np.sin(q[2])]))],
        params={"L": length},
    )


def swing(method, length=1.0, t_end=4.0):
    q0 = [length * np.cos(START), length * np.sin(START), START]
    return ns.simulate(pendulum(length), (0, t_end), q0, np.zeros(3), method=method)


def residuals(run, length=1.0):
    """Worst gap and worst joint, relative to the length."""
    x, y, angle = run.q
    joints = np.abs([x / length - np.cos(angle), y / length - np.sin(angle)])
    return np.min(x) / length - WALL, np.max(joints)


def energies(run):
    """Energy at each instant, and the work of the projection in each step: with theta = 1/2, q* = q_0 + dt (u_0 + u_1)/2."""
    E = 0.5 * (run.u[0] ** 2 + run.u[1] ** 2 + 0.1 * run.u[2] ** 2) - 10.0 * run.q[1]
    free = run.q[1, :-1] + 0.5 * np.diff(run.t) * (run.u[1, :-1] + run.u[1, 1:])
    return E, -10.0 * (run.q[1, 1:] - free)


def work_of_impulses(run):
    """Work of wall and joints in each step, at the mean velocity and the directions at q_theta (theta = 1/2)."""
    mean, dt = 0.5 * (run.u[:, :-1] + run.u[:, 1:]), np.diff(run.t)
    angle = run.q[2, :-1] + 0.5 * dt * mean[2]
    along = np.array([mean[0] + np.sin(angle) * mean[2], mean[1] - np.cos(angle) * mean[2]])
    return np.sum(run.extra["P_J"][:, 1:] * along, axis=0) + run.P_N[0, 1:] * mean[0]


@pytest.mark.parametrize("projection", ["direct", "combined"])
@pytest.mark.parametrize(
    "method",
    [ns.Moreau(dt=1e-3), ns.Theta(dt=1e-3), ns.Theta(dt=1e-3, theta=1.0)],
    ids=["moreau", "theta-1/2", "theta-1"],
)
def test_contacts_and_joints_hold_to_rounding(method, projection):
    """Eq. (19) of Acary 2012, with joints; without it they do not (negative control in `test_four_bar`)."""
    run = swing(type(method)(**{**vars(method), "projection": projection}))
    gap, joint = residuals(run)
    assert gap >= -1e-15 and joint <= 5e-15
    assert run.audit.worst_gap >= -1e-15
    assert run.audit.energy_balance["unexplained"] < 1e-12


@pytest.mark.parametrize("projection", ["direct", "combined"])
def test_a_step_gains_what_the_projection_works(projection):
    """With the midpoint rule for joints nothing else can raise the energy: every gain equals the work, which is in the books."""
    run = swing(ns.Theta(dt=1e-3, directions="enduring", projection=projection))
    E, work = energies(run)
    assert np.max(np.diff(E) - work) < 1e-14
    assert run.audit.energy_balance["work_projection"] == pytest.approx(np.sum(work), abs=1e-12)
    assert run.audit.ok, run.audit.failures()


def test_energy_never_above_the_start():
    """As printed, with velocities at q_theta: impulses only take energy away, and every change is their work and the projection's."""
    run = swing(ns.Theta(dt=1e-3, directions="theta", projection="direct"))
    (E, work), impulses = energies(run), work_of_impulses(run)
    assert np.max(E) == E[0]
    assert np.max(impulses) <= 1e-15
    assert np.max(np.abs(np.diff(E) - work - impulses)) < 2e-14


@pytest.mark.parametrize("dt", [1e-3, 2e-3])
def test_energy_never_rises(dt):
    """Directions along the chord: joints keep their positions without work, and the projection moves contacts that close only."""
    run = swing(ns.Theta(dt=dt, projection="combined"))
    (E, work), (gap, joint) = energies(run), residuals(run)
    assert gap >= -1e-15 and joint <= 5e-15
    assert np.max(E) - E[0] < 1e-13 and np.max(np.diff(E)) < 1e-13
    assert np.max(np.diff(E) - work) < 1e-13
    assert np.count_nonzero(np.abs(work) > 1e-12) < 100
    assert run.audit.ok, run.audit.failures()


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_carried_by_a_floor_that_turns_back(theta):
    """What a surface does by itself turns no direction: a body on it whose velocity passes zero is carried on."""
    system = ns.MechanicalSystem(
        1.0, -9.81, ns.Contact(lambda t, q: q[0] - 0.3 - 0.1 * np.sin(4.0 * t) - 0.2 * t, restitution=0.5)
    )
    method = ns.Theta(dt=2e-4, theta=theta, projection="combined")
    assert method.directions == "secant" and ns.Theta(dt=1.0).directions == "end"
    run = ns.simulate(system, (0, 3), [0.3], [0.6], method=method)
    late = run.t > 1.0
    floor = 0.3 + 0.1 * np.sin(4.0 * run.t) + 0.2 * run.t
    assert np.max(np.abs(run.q[0] - floor)[late]) < 1e-11 and run.audit.ok, str(run.audit)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_chords_keep_joints_without_projection(theta):
    """A joint that is not quadratic and moves in time: the midpoint rule drifts, directions along the chord do not."""
    system = ns.MechanicalSystem(
        np.diag([1.0, 2.0, 0.5]),
        lambda t, q, u: np.array([0.0, -9.81 * 2.0, 0.3 * np.sin(t)]),
        joints=[
            ns.Joint(
                lambda t, q: np.array([q[0] - np.cos(q[2]) - 0.1 * np.sin(3.0 * t), q[1] - np.sin(q[2])])
            )
        ],
    )
    drift = []
    for directions in ("enduring", "secant"):
        method = ns.Theta(dt=1e-2, theta=theta, directions=directions)
        run = ns.simulate(system, (0, 3), [1.0, 0.0, 0.0], [0.3, 0.0, 0.0], method=method)
        x, y, angle = run.q
        off = [x - np.cos(angle) - 0.1 * np.sin(3.0 * run.t), y - np.sin(angle)]
        drift.append(np.max(np.abs(off)))
        assert max(run.audit.momentum_residual, run.audit.complementarity) < 1e-12
    assert drift[0] > 1e-6 and drift[1] < 1e-12


@pytest.mark.parametrize("length", [1e-6, 1e5])
def test_units_do_not_matter(length):
    """A length in other units beside an angle: constraints are measured by their own terms."""
    method = ns.Theta(dt=1e-3, projection="combined")
    run, unit = swing(method, length, 1.0), swing(method, 1.0, 1.0)
    gap, joint = residuals(run, length)
    assert gap >= -1e-15 and joint <= 5e-15
    assert run.q[:2] / length == pytest.approx(unit.q[:2], abs=1e-9)


def test_contacts_held_by_a_projection_are_no_changed_numbers():
    """A rebound without loss keeps its gap of zero over the step, and is held there while the joint is put in its place."""
    system = ns.MechanicalSystem(
        np.eye(2), [0.0, -10.0], ns.Contact(lambda t, q: q[0] + 0.2, restitution=1.0),
        joints=ns.Joint(lambda t, q: np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0),
    )  # fmt: skip
    method = ns.Theta(dt=0.01, projection="direct")
    run = ns.simulate(
        system, (0, 2), [np.sin(0.9), -np.cos(0.9)], [0.0, 0.0], method=method, on_energy_gain="ignore"
    )
    assert np.any(run.P_N > 0.0) and run.audit.position_residual < 1e-14


def four_bar(method):
    """Three bodies (x, y, angle) in a closed loop on the ground; returns the largest gap of its joints."""
    length, ground = np.array([1.0, 2.0, 1.5]), 2.0
    mass = np.array([1.0, 2.0, 1.5])

    def joints(t, q, p):
        x, y = q[0::3], q[1::3]
        c, s = 0.5 * p.l * np.cos(q[2::3]), 0.5 * p.l * np.sin(q[2::3])
        return np.array(
            [
                x[0] - c[0], y[0] - s[0], x[0] + c[0] - x[1] + c[1], y[0] + s[0] - y[1] + s[1],
                x[1] + c[1] - x[2] - c[2], y[1] + s[1] - y[2] - s[2], x[2] - c[2] - 2.0, y[2] - s[2],
            ]
        )  # fmt: skip

    system = ns.MechanicalSystem(
        np.diag(np.ravel([(m, m, m * l**2 / 12) for m, l in zip(mass, length)])),
        np.ravel([(0.0, -9.81 * m, 0.0) for m in mass]),
        joints=[ns.Joint(joints)],
        params={"l": length},
    )
    a, d = np.array([0.0, length[0]]), np.array([ground, 0.0])  # ends of the crank and of the ground
    way = np.linalg.norm(d - a)
    along = (way**2 + length[1] ** 2 - length[2] ** 2) / (2 * way)
    unit = (d - a) / way
    b = a + along * unit + np.sqrt(length[1] ** 2 - along**2) * np.array([-unit[1], unit[0]])
    angles = [np.pi / 2, np.arctan2(*(b - a)[::-1]), np.arctan2(*(b - d)[::-1])]
    q0 = np.ravel([(*centre, angle) for centre, angle in zip((a / 2, (a + b) / 2, (b + d) / 2), angles)])
    run = ns.simulate(system, (0, 2), q0, np.zeros(9), method=method)
    p = type("P", (), {"l": length})
    return max(np.max(np.abs(joints(0.0, q, p))) for q in run.q.T)


def test_four_bar():
    """Loop gap at dt = 1e-3 over 2 s: millimetres without projection, rounding with it."""
    assert four_bar(ns.Moreau(dt=1e-3)) > 1e-3
    assert four_bar(ns.Moreau(dt=1e-3, projection="direct")) < 1e-13
    assert four_bar(ns.Theta(dt=1e-3, projection="direct")) < 1e-13


def tower(n=10):
    """Blocks of height one on each other, which move up and down only."""

    def gap(t, q):
        out = q.copy()
        out[1:] -= q[:-1] + 1.0
        return out

    return ns.MechanicalSystem(np.eye(n), np.full(n, -9.81), ns.Contact(gap)), np.arange(float(n))


@pytest.mark.parametrize("projection", ["direct", "combined"])
def test_a_column_stays(projection):
    """Ten blocks on each other rest for ever; what forces do in a step is only rounding to the energy balance."""
    system, q0 = tower()
    run = ns.simulate(system, (0, 2), q0, 0 * q0, method=ns.Moreau(dt=1e-3, projection=projection))
    assert np.max(np.abs(run.q.T - q0)) < 1e-12
    assert run.audit.ok, run.audit.failures()


def column(n=10, w=1.0, h=0.5):
    """Blocks (x, y, angle) in a plane, corners on the face below, friction 0.5."""

    def corner(q, i, side, p):
        c, s = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2])
        return c * side * p.w / 2 + s * p.h / 2, s * side * p.w / 2 - c * p.h / 2

    def gap(t, q, p, out):
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                if i == 0:
                    out[k] = q[1] + y
                else:
                    j = 3 * (i - 1)
                    dx, dy = q[3 * i] + x - q[j], q[3 * i + 1] + y - q[j + 1]
                    out[2 * i + k] = -np.sin(q[j + 2]) * dx + np.cos(q[j + 2]) * dy - p.h / 2

    def tangent(t, q, p, out):
        out[:] = 0.0
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                tx, ty = 1.0, 0.0
                if i > 0:
                    j = 3 * (i - 1)
                    tx, ty = np.cos(q[j + 2]), np.sin(q[j + 2])
                    dx, dy = q[3 * i] + x - q[j], q[3 * i + 1] + y - q[j + 1]
                    out[j, 2 * i + k], out[j + 1, 2 * i + k], out[j + 2, 2 * i + k] = (
                        -tx,
                        -ty,
                        tx * dy - ty * dx,
                    )
                out[3 * i, 2 * i + k], out[3 * i + 1, 2 * i + k] = tx, ty
                out[3 * i + 2, 2 * i + k] = ty * x - tx * y

    m = w * h
    system = ns.MechanicalSystem(
        np.diag(np.tile([m, m, m * (w**2 + h**2) / 12], n)), np.tile([0.0, -9.81 * m, 0.0], n),
        ns.Contact(gap, friction=0.5, tangent=tangent), params={"w": w, "h": h},
    )  # fmt: skip
    return system, np.ravel([(0.0, h / 2 + i * h, 0.0) for i in range(n)])


def test_a_column_of_planar_blocks_stays():
    """Contacts that act are held: else rounding of the projection opens one at the ground after some 4000 steps, and the column falls."""
    system, q0 = column()
    method = ns.Moreau(dt=1e-3, projection="direct")
    run = ns.simulate(system, (0, 6), q0, 0 * q0, method=method, every=100, audit=False)
    assert np.max(np.abs(run.q.T - q0)) < 1e-12 and len(run.events) == 0


def test_more_contacts_than_needed_stay():
    """A table on four legs in a plane: rows that are held depend on each other."""
    legs = np.array([-1.0, -0.3, 0.4, 1.0])
    system = ns.MechanicalSystem(
        np.eye(2),
        [-9.81, 0.0],
        ns.Contact(lambda t, q, p: q[0] + p.x * np.sin(q[1]) - 0.7),
        params={"x": legs},
    )
    for projection in ("direct", "combined"):
        run = ns.simulate(
            system, (0, 3), [0.7, 0.0], [0.0, 0.0], method=ns.Moreau(dt=1e-3, projection=projection)
        )
        assert np.max(np.abs(run.q.T - [0.7, 0.0])) < 1e-14 and run.audit.ok


def test_inconsistent_start_is_named_and_repaired_on_request():
    """A joint violated at the start: an error that names it; with project=True it is moved there."""
    q0, method = [1.0, 0.3, 0.2], ns.Theta(dt=1e-3, projection="direct")
    with pytest.raises(InconsistentStateError, match="project=True"):
        ns.simulate(pendulum(), (0, 0.1), q0, np.zeros(3), method=method)
    run = ns.simulate(pendulum(), (0, 0.1), q0, np.zeros(3), method=method, project=True)
    assert residuals(run)[1] < 5e-15


@pytest.mark.parametrize("projection", ["direct", "combined"])
def test_corners_that_are_pushed_out_end_on_the_surface(projection):
    """Gaps of corners are curved: a linearisation leads beyond the surface, where no push would be."""
    world = ns.World((0, -9.81), material=ns.Material(friction=0.5))
    box = ns.Body(ns.Box((0.4, 0.2)), mass=2.0, position=(0, 0.5), angle=0.3, velocity=(1, 0), name="box")
    world.add(box, ns.HalfPlane())
    run = ns.simulate(world, (0, 0.35), method=ns.Theta(dt=5e-4, projection=projection))
    assert run.audit.ok and run.audit.position_residual < 1e-9
    exact = ns.simulate(world, (0, 0.35), method="event-driven", rtol=1e-8)
    assert np.abs(run.q[:, -1] - exact.q[:, -1]).max() < 1e-2
