"""Restitution and friction as parameters and as functions of the state, in every scheme."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nonsmooth as ns
from nonsmooth.errors import InputError, RangeError

G = 9.81
METHODS = [
    ("moreau", {"dt": 2e-4}, 2e-3),
    ("theta", {"dt": 2e-4}, 2e-3),
    ("extrapolated-moreau", {"rtol": 1e-7}, 1e-6),
    ("event-driven", {"rtol": 1e-8}, 1e-7),
]
each_method = pytest.mark.parametrize("method, options, tol", METHODS, ids=[name for name, *_ in METHODS])


def gap(t, q):
    return q[1]


def tangent(t, q):
    return np.array([1.0, 0.0])


def load(t, q, u, p):
    """A spring along the floor; a weight that changes with time."""
    return np.array([-p.k * q[0], -G - np.sin(2.0 * t)])


def stribeck(t, q, u, p):
    return p.mu_1 + (p.mu_0 - p.mu_1) * np.exp(-((u[0] / p.v_s) ** 2))


PARAMS = {"k": 4.0, "mu_0": 0.4, "mu_1": 0.2, "v_s": 0.3}
SLIDING = ns.MechanicalSystem(
    np.eye(2), load, ns.Contact(gap, friction=stribeck, tangent=tangent, name="floor"), params=PARAMS
)


def slides(k, mu_0, mu_1, v_s):
    """The first slip, from the right to the left, until it stops: an ordinary differential equation."""

    def rates(t, y):
        mu = mu_1 + (mu_0 - mu_1) * np.exp(-((y[1] / v_s) ** 2))
        return [y[1], -k * y[0] + mu * (G + np.sin(2.0 * t))]

    def stops(t, y):
        return y[1]

    stops.terminal, stops.direction = True, 1
    found = solve_ivp(rates, (0, 3), [2.0, 0.0], events=stops, rtol=1e-12, atol=1e-13, first_step=1e-6)
    return found.t[-1], found.y[0, -1]


@each_method
def test_stribeck_with_the_true_normal_force(method, options, tol):
    t_stop, q_stop = slides(**PARAMS)
    result = ns.simulate(SLIDING, (0, 2.0), [2.0, 0.0], [0.0, 0.0], method=method, **options)
    ends = [e for e in result.events if e.kind in ("stick", "reversal")]
    assert ends[0].t == pytest.approx(t_stop, abs=10 * tol)
    at = np.searchsorted(result.t, ends[0].t)
    assert result.q[0, at] == pytest.approx(q_stop, abs=10 * tol)
    assert result.audit.ok, result.audit


def test_parameters_reach_friction_functions_without_a_new_system():
    changed = PARAMS | {"mu_1": 0.3}
    t_stop, _ = slides(**changed)
    system = SLIDING.with_params(mu_1=0.3)
    result = ns.simulate(system, (0, 2.0), [2.0, 0.0], [0.0, 0.0], method="event-driven", rtol=1e-8)
    first = next(e for e in result.events if e.kind in ("stick", "reversal"))
    assert first.t == pytest.approx(t_stop, abs=1e-6)


def test_restitution_and_friction_of_parameters():
    contact = ns.Contact(gap, restitution=lambda p: p.e, friction=lambda p: p.mu, tangent=tangent)
    system = ns.MechanicalSystem(
        np.eye(2), lambda t, q, u: np.array([0.0, -G]), contact, params={"e": 0.5, "mu": 0.1}
    )
    for e, mu in ((0.5, 0.1), (0.8, 0.0), (0.25, 0.3)):
        varied = system.with_params(e=e, mu=mu)
        result = ns.simulate(varied, (0, 0.6), [0.0, 1.0], [3.0, 0.0], dt=1e-3)
        v = G * np.sqrt(2 / G)
        assert np.max(result.u[1]) == pytest.approx(e * v, rel=1e-2)
        # the impact takes mu (1 + e) v off the tangential velocity
        assert 3.0 - result.u[0, -1] == pytest.approx(mu * (1 + e) * v, rel=2e-2, abs=1e-12)


def test_functions_of_the_state_beside_functions_of_parameters_and_numbers():
    def gaps(t, q):
        return q[0]

    def side(t, q):
        return np.array([0.0, 1.0])

    contacts = [
        ns.Contact(gap, friction=lambda t, q, u: 0.25, tangent=tangent, name="a"),
        ns.Contact(gaps, friction=lambda p: p.mu, tangent=side, name="b"),
        ns.Contact(lambda t, q: q[0] + 5.0, friction=0.5, tangent=side, name="c"),
    ]
    force = np.array([-1.0, -2.0])
    system = ns.MechanicalSystem(np.eye(2), force, contacts, params={"mu": 0.125})
    result = ns.simulate(system.with_params(mu=0.5), (0, 0.1), [0.0, 0.0], [0.0, 0.0], dt=1e-3)
    assert np.allclose(result.q, 0.0) and result.audit.ok
    assert np.isnan(system.bind(0.0, np.zeros(2), np.zeros(2)).laws.mu[3])


def test_wrong_forms_are_refused():
    with pytest.raises(InputError, match="function of 2 arguments"):
        ns.Contact(gap, restitution=lambda t, q: 0.5)
    with pytest.raises(InputError, match="no `tangent`"):
        ns.Contact(gap, friction=lambda p: p.mu)
    contact = ns.Contact(gap, restitution=lambda p: p.e)
    with pytest.raises(RangeError, match="restitution"):
        ns.simulate(
            ns.MechanicalSystem(np.eye(2), [0.0, -G], contact, params={"e": 1.5}),
            (0, 1),
            [0, 1],
            [0, 0],
            dt=0.1,
        )
    contact = ns.Contact(gap, friction=lambda t, q, u: -0.1, tangent=tangent)
    with pytest.raises(RangeError, match="must not be negative"):
        ns.simulate(ns.MechanicalSystem(np.eye(2), [0.0, -G], contact), (0, 1), [0, 1], [0, 0], dt=0.1)


def test_friction_that_becomes_negative_is_told():
    contact = ns.Contact(gap, friction=lambda t, q, u: 0.1 - t, tangent=tangent, name="floor")
    system = ns.MechanicalSystem(np.eye(2), [0.0, -G], contact)
    with pytest.raises(ns.errors.IntegrationError, match="friction of contact 'floor' is -"):
        ns.simulate(system, (0, 1), [0.0, 0.0], [1.0, 0.0], dt=1e-2)
