"""The stabilised index-1 form (69) against the generalized-alpha method and closed forms."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError

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


def test_what_has_no_such_form():
    with pytest.raises(InputError, match="no joints"):
        ns.stabilised_form(ns.MechanicalSystem(1.0, -9.81), [0.0])
    wall = ns.Contact(lambda t, q: q[0])
    both = ns.MechanicalSystem(np.eye(3), np.zeros(3), joints=[ROD], contacts=[wall])
    with pytest.raises(InputError, match="contact"):
        ns.stabilised_form(both, START[0])
