"""Poisson's and the energetic hypothesis of restitution against Routh's method: the course of an impact by hand."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError

M = np.diag([1.0, 1.0, 1 / 3])
M_INV = np.diag([1.0, 1.0, 3.0])
LAWS = ("newton", "poisson", "energetic")


def rod(e, mu):
    """A rod of length 2 whose lower tip strikes the ground: x, y of its centre, angle."""
    tip = ns.Contact(
        lambda t, q, p: q[1] - np.sin(q[2]), restitution=lambda p: p.e, friction=lambda p: p.mu,
        tangent=lambda t, q, p: np.array([1.0, 0.0, np.sin(q[2])]),
    )  # fmt: skip
    return ns.MechanicalSystem(M, np.zeros(3), tip, params={"e": e, "mu": mu})


SYSTEM = rod(0.5, 0.5)


def directions(phi):
    return np.array([[0.0, 1.0, -np.cos(phi)], [1.0, 0.0, np.sin(phi)]])


def strike(phi, u, e, mu, law):
    """Velocities after the impact, by a run."""
    start = [0.0, np.sin(phi), phi]
    method = ns.EventDriven(rtol=1e-10, restitution=law)
    run = ns.simulate(SYSTEM.with_params(e=e, mu=mu), (0, 1e-9), start, u, method=method, audit=False)
    return run.u[:, -1]


def routh(G, gamma, e, mu, law):
    """Impulses of one contact in the plane, with the normal impulse p as time: gamma' = G (1, la_T), piecewise linear."""
    gamma, P, work = np.array(gamma), np.zeros(2), 0.0
    ends, released = None, 0.0
    while True:
        stick = -G[1, 0] / G[1, 1]
        slip = np.sign(gamma[1]) if gamma[1] else (0.0 if abs(stick) <= mu else -np.sign(stick))
        d = np.array([1.0, -mu * slip if slip else stick])
        a = G @ d
        steps = [np.inf, np.inf]
        if gamma[1] * a[1] < 0.0:
            steps[0] = -gamma[1] / a[1]
        if ends is None:
            steps[1] = -gamma[0] / a[0] if a[0] > 0.0 else np.inf
        elif law == "poisson":
            steps[1] = (1 + e) * ends[0] - P[0]
        else:  # gamma p + a p^2 / 2 is the work still to come
            left = e**2 * ends[1] - released
            root = gamma[0] ** 2 + 2 * a[0] * left
            steps[1] = (np.sqrt(root) - gamma[0]) / a[0] if root >= 0.0 else np.inf
        p = min(steps)
        here = gamma[0] * p + 0.5 * a[0] * p**2
        work, released = work - here, released + (here if ends else 0.0)
        gamma, P = gamma + a * p, P + d * p
        if steps[0] <= steps[1]:
            gamma[1] = 0.0
        elif ends is None:
            gamma[0], ends = 0.0, (P[0], work)
            if e == 0.0:
                return P
        else:
            return P


def starts(count, seed):
    rng = np.random.default_rng(seed)
    while count:
        phi, mu, e = rng.uniform(0.2, 1.5), rng.uniform(0, 1.5), rng.choice([0.0, 0.05, 0.3, 0.7, 1.0])
        u = rng.uniform(-1, 1, 3) - [0.0, 2.0, 0.0]
        if directions(phi)[0] @ u < -0.1:
            count -= 1
            yield phi, u, e, mu


@pytest.mark.parametrize("law", ["poisson", "energetic"])
def test_single_contacts_against_the_course_by_hand(law):
    for phi, u, e, mu in starts(40, 1):
        W = directions(phi)
        wanted = u + M_INV @ W.T @ routh(W @ M_INV @ W.T, W @ u, e, mu, law)
        found = strike(phi, u, e, mu, law)
        assert np.max(np.abs(found - wanted)) < 1e-10, (phi, u, e, mu)


def test_one_contact_without_friction_is_the_same_under_all():
    after = [strike(0.7, [0.3, -2.0, 0.4], 0.6, 0.0, law) for law in LAWS]
    for u in after:
        assert directions(0.7)[0] @ u == pytest.approx(0.6 * (2.0 + 0.4 * np.cos(0.7)), rel=1e-9)


def kane(law):
    """Kane's double pendulum of rods (length 1, mass 1; angles to the vertical 20 and 30 degrees), whose tip strikes rough ground."""

    def mass(t, q):
        c = 0.5 * np.cos(q[0] - q[1])
        return np.array([[4 / 3, c], [c, 1 / 3]])

    height = np.cos(np.radians(20)) + np.cos(np.radians(30))
    tip = ns.Contact(
        lambda t, q: height - np.cos(q[0]) - np.cos(q[1]), restitution=0.7, friction=0.5,
        tangent=lambda t, q: np.array([np.cos(q[0]), np.cos(q[1])]),
    )  # fmt: skip
    system = ns.MechanicalSystem(mass, np.zeros(2), tip)
    start, u = np.radians([20.0, 30.0]), np.array([-0.1, -0.2])
    run = ns.simulate(
        system, (0, 1e-9), start, u, method=ns.EventDriven(rtol=1e-10, restitution=law), audit=False
    )
    T = [0.5 * v @ mass(0.0, start) @ v for v in (u, run.u[:, -1])]
    return T[1] / T[0]


def test_kane_gains_energy_with_newton_only():
    ratios = {law: kane(law) for law in LAWS}
    assert ratios["newton"] > 1.0 + 1e-6
    assert ratios["poisson"] < 1.0
    assert ratios["energetic"] < 1.0


def test_several_contacts_act_together_and_lose_energy():
    """A box that falls flat keeps its symmetry; a tilted start of two corners never gains energy."""
    corners = [
        ns.Contact(
            lambda t, q, s=s: q[1] + s * np.sin(q[2]) - 0.5 * np.cos(q[2]), restitution=0.5, friction=0.6,
            tangent=lambda t, q, s=s: np.array([1.0, 0.0, 0.5 * np.cos(q[2]) - s * np.sin(q[2])]),
        )
        for s in (-1.0, 1.0)
    ]  # fmt: skip
    box = ns.MechanicalSystem(np.diag([1.0, 1.0, 5 / 12]), np.zeros(3), corners)
    for law in ("poisson", "energetic"):
        for u in ([0.0, -1.0, 0.0], [3.0, -1.0, 0.0], [0.3, -1.0, 0.5]):
            run = ns.simulate(
                box,
                (0, 1e-9),
                [0.0, 0.5, 0.0],
                u,
                method=ns.EventDriven(rtol=1e-10, restitution=law),
                audit=False,
            )
            energy = [0.5 * v @ np.diag([1.0, 1.0, 5 / 12]) @ v for v in (np.array(u), run.u[:, -1])]
            assert energy[1] < energy[0]
            assert run.u[1, -1] - abs(run.u[2, -1]) > -1e-9
            if u[0] == u[2] == 0.0:
                assert np.allclose(run.u[:, -1], [0.0, 0.5, 0.0], atol=1e-10)


def test_a_bouncing_ball_and_its_audit():
    ball = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0], restitution=0.5))
    runs = [
        ns.simulate(ball, (0, 2), [1.0], [0.0], method=ns.EventDriven(rtol=1e-8, restitution=law))
        for law in LAWS
    ]
    for run in runs:
        assert run.audit.ok
        assert run.events[0].t == pytest.approx(np.sqrt(2 / 9.81), rel=1e-9)
        assert run.events.of("close")[0].t == pytest.approx(3 * np.sqrt(2 / 9.81), rel=1e-6)


def test_bad_input():
    with pytest.raises(InputError, match="restitution"):
        ns.EventDriven(restitution="moreau")
