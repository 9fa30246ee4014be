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
    """As printed, with velocities at q_theta, joints only take energy away."""
    E, work = energies(swing(ns.Theta(dt=1e-3, directions="theta", projection="direct")))
    assert np.max(E) == E[0]
    assert np.max(np.diff(E) - work) < 1e-14


@pytest.mark.parametrize("length", [1e-6, 1e5])
def test_units_do_not_matter(length):
    """A length in other units beside an angle: constraints are measured by their own terms."""
    method = ns.Theta(dt=1e-3, projection="combined")
    run, unit = swing(method, length, 1.0), swing(method, 1.0, 1.0)
    gap, joint = residuals(run, length)
    assert gap >= -1e-15 and joint <= 5e-15
    assert run.q[:2] / length == pytest.approx(unit.q[:2], abs=1e-9)


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


def test_inconsistent_start_is_named_and_repaired_on_request():
    """A joint violated at the start: an error that names it; with project=True it is moved there."""
    q0, method = [1.0, 0.3, 0.2], ns.Theta(dt=1e-3, projection="direct")
    with pytest.raises(InconsistentStateError, match="project=True"):
        ns.simulate(pendulum(), (0, 0.1), q0, np.zeros(3), method=method)
    run = ns.simulate(pendulum(), (0, 0.1), q0, np.zeros(3), method=method, project=True)
    assert residuals(run)[1] < 5e-15
