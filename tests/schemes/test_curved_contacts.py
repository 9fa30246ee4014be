"""Extrapolated time-stepping where force directions depend on q: enduring contacts on curved surfaces, joints."""

import math
import warnings

import numpy as np
import pytest

from nonsmooth import Contact, ExtrapolatedMoreau, Joint, MechanicalSystem, simulate
from nonsmooth.errors import ZenoWarning

G = 9.81
pytestmark = pytest.mark.filterwarnings("ignore::nonsmooth.errors.ZenoWarning")


def weight(t, q, u):
    return np.array([0.0, -9.81])


def dome_gap(t, q):
    return np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0


def dome_tangent(t, q):
    r = np.sqrt(q[0] ** 2 + q[1] ** 2)
    return np.array([q[1] / r, -q[0] / r])


def on_dome(angle, speed):
    """Start on the unit circle, moving along it."""
    s, c = math.sin(angle), math.cos(angle)
    return [s, c], [speed * c, -speed * s]


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("options", [{}, {"base": "implicit"}, {"locate": False, "dt_min": 1e-7}])
def test_particle_leaves_a_dome_where_it_must(restitution, options):
    # v^2 = g cos(angle) with energy conserved: cos(angle) = 2/3 (cos(start) + v_0^2 / 2 g)
    system = MechanicalSystem(np.eye(2), weight, Contact(dome_gap, restitution=restitution, name="dome"))
    q0, u0 = on_dome(0.1, 0.5)
    method = ExtrapolatedMoreau(rtol=1e-8, **options)
    result = simulate(system, (0, 0.8), q0, u0, method, max_steps=20000)
    kinds = [event.kind for event in result.events]
    # bisection sees a few bounces of rounding size at the start, where the gap is not exactly zero
    assert kinds == ["open"] or ("locate" in options and kinds[-1] == "open" and len(kinds) < 10)
    height = 2 / 3 * (q0[1] + 0.5**2 / (2 * G))
    last = np.searchsorted(result.t, result.events[-1].t)
    assert abs(result.q[1, last] - height) < 1e-5
    # before that it stays on the dome, in position and velocity
    on = result.t < result.events[-1].t
    assert np.abs(np.hypot(*result.q[:, on]) - 1).max() < 1e-9
    assert np.abs((result.q * result.u).sum(axis=0)[on]).max() < 1e-6
    energy = 0.5 * (result.u**2).sum(axis=0) + G * result.q[1]
    assert np.abs(energy - energy[0]).max() < 1e-6
    if "locate" not in options:
        assert result.nsteps < 200


def test_two_contacts_on_one_surface_hold_each_other():
    # the second contact repeats the first: its row depends on it
    contacts = Contact(lambda t, q: np.array([dome_gap_of(q), 2 * dome_gap_of(q)]), name=["a", "b"])
    twice = MechanicalSystem(np.eye(2), weight, contacts)
    once = MechanicalSystem(np.eye(2), weight, Contact(dome_gap, name="dome"))
    q0, u0 = on_dome(0.1, 0.5)
    t_eval = np.linspace(0, 0.55, 12)
    a = simulate(twice, (0, 0.55), q0, u0, rtol=1e-8, t_eval=t_eval, max_steps=2000)
    b = simulate(once, (0, 0.55), q0, u0, rtol=1e-8, t_eval=t_eval, max_steps=2000)
    assert np.abs(a.q - b.q).max() < 1e-7


def dome_gap_of(q):
    return np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0


def test_friction_stops_a_particle_on_a_dome_and_holds_it():
    contact = Contact(dome_gap, restitution=0.4, friction=0.5, tangent=dome_tangent, name="dome")
    system = MechanicalSystem(np.eye(2), weight, contact)
    q0, u0 = on_dome(0.05, 0.6)
    result = simulate(system, (0, 3.0), q0, u0, rtol=1e-8, max_steps=2000)
    assert [event.kind for event in result.events] == ["stick"]
    stuck = result.t > result.events[0].t + 1e-6
    assert stuck.sum() > 3 and np.abs(result.u[:, stuck]).max() < 1e-9
    # v^2 as a function of the angle: d(v^2)/d(angle) = 2 g (sin - mu cos) + 2 mu v^2
    angles, square, n = 0.05, 0.36, 40000
    step = 1e-5
    for _ in range(n):
        slope = 2 * G * (math.sin(angles) - 0.5 * math.cos(angles)) + square
        middle = square + 0.5 * step * slope
        slope = 2 * G * (math.sin(angles + step / 2) - 0.5 * math.cos(angles + step / 2)) + middle
        if square + step * slope < 0:
            break
        square, angles = square + step * slope, angles + step
    assert abs(math.atan2(result.q[0, -1], result.q[1, -1]) - angles) < 2e-5


def test_gap_drift_and_a_ledge():
    # the floor falls by 3 mm at x = 1: the contact opens there, whatever the directions are taken for
    def ledge(t, q):
        return q[1] - (0.0 if q[0] < 1.0 else -0.003)

    for jacobian in (lambda t, q: np.array([[0.0, 1.0]]), lambda t, q: np.array([[0.0 * q[0], 1.0]])):
        system = MechanicalSystem(
            np.eye(2), weight, Contact(ledge, restitution=0.3, jacobian=jacobian, name="floor")
        )
        result = simulate(
            system, (0, 2), [0.0, 0.0], [1.0, 0.0], method="extrapolated-moreau", rtol=1e-6, max_steps=5000
        )
        first, second = result.events[0], result.events[1]
        assert (first.kind, second.kind) == ("open", "impact")
        assert abs(first.t - 1.0) < 1e-6
        assert abs(second.t - 1.0 - math.sqrt(2 * 0.003 / G)) < 1e-6


def test_rod_sliding_on_the_floor_converges_with_the_tolerance():
    def force(t, q, u):
        return np.array([0.0, -9.81, 0.0])

    def gap(t, q):
        return np.array([q[1] - np.sin(q[2]), q[0] - np.cos(q[2]), 2.5 - (q[0] + np.cos(q[2]))])

    def tangent(t, q):
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [s, c, c]])

    contacts = Contact(
        gap,
        restitution=[0.3, 0.2, 0.5],
        friction=[0.3, 0.2, 0.4],
        tangent=tangent,
        name=["floor", "wall", "bumper"],
    )
    system = MechanicalSystem(np.diag([1.0, 1.0, 1 / 3]), force, contacts)
    q0, u0 = [math.cos(1.0) + 0.05, math.sin(1.0) + 0.05, 1.0], [0.5, 0.0, 0.0]
    t_eval = np.linspace(0, 1.5, 16)
    runs = {}
    for rtol in (1e-5, 1e-7, 1e-10):
        runs[rtol] = simulate(system, (0, 1.5), q0, u0, rtol=rtol, t_eval=t_eval, max_steps=2000)
        kinds = [event.kind for event in runs[rtol].events if event.name.startswith("floor")]
        assert kinds[-3:] == ["close", "reversal", "reversal"] or kinds[-3:] == [
            "zeno",
            "reversal",
            "reversal",
        ]
    assert np.abs(runs[1e-5].q - runs[1e-10].q).max() < 1e-5
    assert np.abs(runs[1e-7].q - runs[1e-10].q).max() < 1e-7
    # first-order convergence of the plain rule to the same motion
    errors = []
    for dt in (4e-4, 1e-4, 2.5e-5):
        plain = simulate(system, (0, 1.5), q0, u0, dt=dt, t_eval=t_eval)
        errors.append(np.abs(plain.q - runs[1e-10].q).max())
    assert errors[0] > 2 * errors[1] > 4 * errors[2] and errors[2] < 5e-4


def test_joint_velocities_do_not_drift():
    def rod(t, q):
        return np.array([q[0] ** 2 + q[1] ** 2 - 1.0])

    system = MechanicalSystem(np.eye(2), weight, joints=Joint(rod, name="rod"))
    result = simulate(system, (0, 10), [1.0, 0.0], [0.0, 0.0], rtol=1e-9)
    assert np.abs((result.q * result.u).sum(axis=0)).max() < 1e-13
    assert np.abs(np.hypot(*result.q) - 1).max() < 1e-8
    energy = 0.5 * (result.u**2).sum(axis=0) + G * result.q[1]
    assert np.abs(energy - energy[0]).max() < 5e-8


def test_slight_overlap_at_the_start_is_kept_not_pushed_out():
    system = MechanicalSystem(np.eye(2), weight, Contact(dome_gap, name="dome"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simulate(system, (0, 0.3), [0.0, 1.0 - 1e-4], [0.3, 0.0], rtol=1e-8, max_steps=2000)
    assert np.abs(np.hypot(*result.q) - (1 - 1e-4)).max() < 1e-9
    energy = 0.5 * (result.u**2).sum(axis=0) + G * result.q[1]
    assert np.abs(energy - energy[0]).max() < 1e-8


def test_modes_of_a_bouncing_end_are_told_once():
    # a ball bouncing to rest inside a bowl: the contact closes for good once, then it slides
    def bowl(t, q):
        return 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2)

    system = MechanicalSystem(np.eye(2), weight, Contact(bowl, restitution=0.5, name="bowl"))
    with pytest.warns(ZenoWarning):
        result = simulate(system, (0, 4), [0.0, -0.8], [0.1, 0.0], rtol=1e-8, max_steps=5000)
    closing = [event.t for event in result.events if event.kind == "close"]
    assert len(closing) == 1
    sliding = result.t > closing[0] + 0.01
    assert np.abs(np.hypot(*result.q[:, sliding]) - 1).max() < 1e-8
