"""Event capturing against `event-driven` on generated systems: a block on a floor that shakes or runs, pulled by a mass with friction."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import EventCapturing

DATA = dict(m1=1.0, m2=1.0, k=10.0, c=0.1, a=1.0, w=3.0, g=9.81, k2=5.0, c2=0.1, f=0.0, wf=1.0, v=0.0)


def mass(t, q, p):
    return np.array([[p.m1, 0.0, 0.0], [0.0, p.m1, 0.0], [0.0, 0.0, p.m2]])


def force(t, q, u, p):
    f = p.k * (q[2] - q[0] - 1.0) + p.c * (u[2] - u[0])
    return np.array([f + p.a * np.cos(p.w * t), -p.m1 * p.g, -f - p.k2 * q[2] - p.c2 * u[2]])


def floor(t, q, p):
    return q[1] - p.f * np.sin(p.wf * t)


def case(seed):
    """System and start number `seed`: restitution, friction, masses, springs, shaking and speed of the floor at random."""
    rng = np.random.default_rng(seed)
    U = rng.uniform
    mu, e, limit = U(0.1, 0.8), rng.choice([0.0, U(0.1, 0.7)]), U(0.1, 2.0)
    contact = ns.Contact(
        floor, restitution=e, friction=mu, tangent=lambda t, q: np.array([1.0, 0.0, 0.0]), surface_velocity=lambda t, q, p: -p.v,
    )  # fmt: skip
    element = ns.FrictionElement(lambda t, q: np.array([0.0, 0.0, 1.0]), limit)
    system = ns.MechanicalSystem(mass, force, contact, friction=element, params=DATA)
    system = system.with_params(
        m1=U(0.5, 2), m2=U(0.5, 2), k=U(2, 30), c=U(0, 0.5), a=U(0, 8), w=U(1, 6), g=U(5, 12), k2=U(1, 10), c2=U(0, 0.5),
        f=rng.choice([0.0, U(0, 0.05)]), wf=U(1, 5), v=rng.choice([0.0, U(-1, 1)]),
    )  # fmt: skip
    return system, [U(-1, 1), U(0.05, 0.5), U(0, 2)], [U(-2, 2), U(-1, 1), U(-2, 2)]


METHODS = [
    (EventCapturing("radau5", rtol=1e-9), 1e-9),
    (EventCapturing("RK45", rtol=1e-9), 1e-7),
    (EventCapturing("lobatto6", dt=0.01), 1e-9),
    (EventCapturing("radau5", dt=0.01, critical_order=2), 1e-7),
    (EventCapturing("radau5", dt=0.01, stages="complementarity"), 1e-7),
    (EventCapturing("radau5", dt=0.01, form="index-2"), 1e-7),
]


def lasting(run):
    """What happened but for impacts, whose number before an accumulation depends on the accuracy."""
    return [(event.kind, event.name) for event in run.events if event.kind not in ("impact", "zeno")]


@pytest.mark.parametrize("seed", [0, 1, 4, 7])
def test_same_motion_as_event_driven(seed):
    system, q0, u0 = case(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = ns.simulate(system, (0, 3), q0, u0, method="event-driven", rtol=1e-11, audit=False)
        for method, tolerance in METHODS:
            run = ns.simulate(system, (0, 3), q0, u0, method=method, audit=False)
            assert lasting(run) == lasting(exact), method
            assert np.max(np.abs(run.y[:, -1] - exact.y[:, -1])) < tolerance, method


def groove(a, mu):
    """A mass between two rough slopes of 45 degrees, pulled aside by a cos t: two motions, four forces."""
    s = np.sqrt(0.5)
    slopes = [
        ns.Contact(
            lambda t, q, k=k: s * (k * q[0] + q[1]), friction=mu, tangent=np.array([s, -k * s]), name=name
        )
        for k, name in ((1.0, "left"), (-1.0, "right"))
    ]
    return ns.MechanicalSystem(
        np.eye(2), lambda t, q, u, p: np.array([p.a * np.cos(t), -10.0]), slopes, params=dict(a=a)
    )


WEDGING = [EventCapturing("radau5", rtol=1e-8), ns.EventDriven(rtol=1e-8)]


@pytest.mark.parametrize("method", WEDGING)
def test_rests_in_a_groove_as_long_as_some_forces_hold_it(method):
    """Either slope takes a pull of 10 tan(45 deg + atan 0.6) = 40 by itself; which forces share one of 25 turns with it."""
    run = ns.simulate(groove(25.0, 0.6), (0.0, 6.0), [0.0, 0.0], [0.0, 0.0], method=method)
    assert run.audit.ok and not run.events and np.max(np.abs(run.q)) < 1e-12


@pytest.mark.parametrize("method", WEDGING)
def test_leaves_a_groove_when_no_forces_hold_it(method):
    """A friction of 0.4 takes a pull of 23.3: at t = 0 less than 25."""
    run = ns.simulate(groove(25.0, 0.4), (0.0, 2.5), [0.0, 0.0], [0.0, 0.0], method=method)
    plain = ns.simulate(
        groove(25.0, 0.4), (0.0, 2.5), [0.0, 0.0], [0.0, 0.0], method=ns.Moreau(dt=2.5e-4), audit=False
    )
    assert run.audit.ok
    assert np.max(np.abs(run.q)) == pytest.approx(np.max(np.abs(plain.q)), rel=2e-3)
    assert np.max(np.abs(run.q[:, -1])) < 1e-9  # back in the bottom, wedged again
