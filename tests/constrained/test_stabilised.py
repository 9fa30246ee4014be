"""The stabilised index-1 form (69) against the generalized-alpha method and closed forms."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError, RangeError

ROD = ns.Joint(lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])]))
PENDULUM = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.1]), np.array([0.0, -10.0, 0.0]), joints=[ROD])
C, S = np.cos(np.pi / 6), np.sin(np.pi / 6)
START = [C, S, np.pi / 6], [-10 * S, 10 * C, 10.0]
THETA, OMEGA = 1.494388938, 9.537406  # at 0.1 s, by integration in the angle to 1e-10


def test_constraints_hold_under_another_integrator():
    form = ns.stabilised_form(PENDULUM, *START)
    r = ns.solve_dae(form.fun, form.constraint, (0, 0.1), np.concatenate(START), rtol=1e-8, atol=1e-10)
    end = r.y[:, -1]
    assert r.index == 2 and np.max(np.abs(form.constraint(0.1, end))) <= 1e-12
    assert np.max(np.abs(r.z)) <= 1e-8  # mu = xi = 0 on solutions
    assert np.allclose(end[[2, 5]], [THETA, OMEGA], rtol=0, atol=1e-5)


def test_as_an_ordinary_equation_and_against_generalized_alpha():
    form = ns.stabilised_form(PENDULUM, *START)
    r = ns.solve_ivp(form.rhs, (0, 0.1), np.concatenate(START), rtol=1e-9, atol=1e-11)
    a = ns.simulate(PENDULUM, (0, 0.1), *START, method=ns.GeneralizedAlpha(dt=1e-3))
    assert np.max(np.abs(r.y[:3, -1] - a.q[:, -1])) < 1e-5
    w, la = form.accelerations(0.1, np.concatenate([a.q[:, -1], a.u[:, -1]]))
    assert np.allclose(w, a.acceleration[:, -1], rtol=0, atol=1e-8)
    assert np.allclose(la, a.la[:, -1], rtol=0, atol=1e-8)


BOUNCING = ns.MechanicalSystem(
    np.diag([1.0, 1.0, 0.1]),
    np.array([0.0, 10.0, 0.0]),
    joints=[ROD],
    contacts=[ns.Contact(lambda t, q: q[0] - np.sqrt(0.5), restitution=0.8, name="wall")],
)


def phases(form, y, T, t=0.0):
    """Form, instants and states of all phases; in joints and closed contacts as a DAE, else as an ordinary equation."""
    found = []
    while t < T:
        if form.n_z:
            r = ns.solve_dae(
                form.fun, form.constraint, (t, T), y, switches=form.switches, rtol=1e-9, atol=1e-11
            )
        else:
            r = ns.solve_ivp(form.rhs, (t, T), y, switches=form.switches, rtol=1e-10, atol=1e-12)
        t, y = float(r.t[-1]), r.y[:, -1]
        found.append((form, t, y))
        if t < T:
            form, y = form.after(t, y)
    return found


def test_impacts_of_a_pendulum_with_a_wall():
    """Sec. 6.1 of the paper under `solve_dae`: one phase from impact to impact, joints on position and velocity level throughout."""
    theta = np.pi / 12
    y = np.array([np.cos(theta), np.sin(theta), theta, 0.0, 0.0, 0.0])
    found = phases(ns.stabilised_form(BOUNCING, y[:3], y[3:]), y, 1.5)
    exact = ns.simulate(BOUNCING, (0, 1.5), y[:3], y[3:], method=ns.EventDriven(rtol=1e-10))
    hits = [t for _, t, _ in found[:-1]]
    assert np.allclose(hits, [e.t for e in exact.events], rtol=0, atol=1e-7)
    assert np.max(np.abs(found[-1][2][:3] - exact.q[:, -1])) < 1e-6
    assert all(np.max(np.abs(form.constraint(t, y))) < 1e-10 for form, t, y in found)


def test_an_impact_with_redundant_joints_in_other_units():
    """Joints told twice and masses a thousand times larger: the same velocity after the impact, -e of that before along the wall."""
    theta = np.pi / 4
    y = np.array([np.cos(theta), np.sin(theta), theta, -2 * np.sin(theta), 2 * np.cos(theta), 2.0])
    twice = ns.MechanicalSystem(
        1e3 * np.diag([1.0, 1.0, 0.1]),
        np.array([0.0, 1e4, 0.0]),
        joints=[ROD, ns.Joint(ROD.constraint)],
        contacts=BOUNCING.contacts,
    )
    for system in (BOUNCING, twice):
        form = ns.stabilised_form(system, y[:3], -y[3:])
        _, after = form.after(0.0, y)
        assert np.allclose(after[3:], -0.8 * y[3:], rtol=0, atol=1e-12)


def test_a_contact_rests_and_opens():
    """A mass on a table under a force that outgrows its weight at t = 1; then free: q = 10 (t - 1)^3/6."""
    table = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([10.0 * t - 10.0]),
        contacts=[ns.Contact(lambda t, q: q[0], name="table")],
    )
    form = ns.stabilised_form(table, [0.0], [0.0])
    assert form.closed == ("table",) and form.accelerations(0.5, [0.0, 0.0])[1][0] == 5.0
    (_, opens, _), (free, _, end) = phases(form, np.zeros(2), 1.5)
    assert abs(opens - 1.0) < 1e-9 and free.closed == ()
    assert abs(end[0] - 10 / 6 * 0.5**3) < 1e-8


def test_accumulating_impacts_stop_counting_where_they_are_told():
    """A ball with e = 0.5 from 1 m: rest after t_0 (1 + 2 e/(1 - e)) = 3 t_0."""
    ball = ns.MechanicalSystem(2.0, -20.0, contacts=[ns.Contact(lambda t, q: q[0], restitution=0.5)])
    found = phases(ns.stabilised_form(ball, [1.0], [0.0], rest=1e-3), np.array([1.0, 0.0]), 2.0)
    t_0 = np.sqrt(0.2)
    assert abs(found[-2][1] - 3 * t_0) < 1e-3 and len(found[-1][0].closed) == 1
    assert abs(found[0][1] - t_0) < 1e-9 and np.max(np.abs(found[-1][2])) < 2e-3


def test_what_has_no_such_form():
    with pytest.raises(InputError, match="no joints"):
        ns.stabilised_form(ns.MechanicalSystem(1.0, -9.81), [0.0])
    wall = ns.Contact(lambda t, q: q[0], friction=0.3, tangent=lambda t, q: np.array([0.0, 1.0, 0.0]))
    both = ns.MechanicalSystem(np.eye(3), np.zeros(3), joints=[ROD], contacts=[wall])
    with pytest.raises(InputError, match="friction"):
        ns.stabilised_form(both, START[0])
    with pytest.raises(RangeError, match="rest"):
        ns.stabilised_form(PENDULUM, *START, rest=-1.0)
