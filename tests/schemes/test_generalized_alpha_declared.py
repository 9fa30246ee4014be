"""What generalized-alpha cannot do is said, with the reason; what it can do does not depend on units."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ConvergenceError, IntegrationError, NonFiniteStateError

G = 9.81


def run(system, span, q0, u0, **options):
    return ns.simulate(system, span, q0, u0, method=ns.GeneralizedAlpha(**options))


@pytest.mark.parametrize("form", ["P", "V", "PV", "PV-GGL", "A"])
def test_forms_without_impacts_stop_at_one(form):
    """They went on: at 0.95 above the floor, or 2.4 below it, with an audit in order."""
    ball = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0]))
    with pytest.raises(IntegrationError, match=r'no impacts.* use "PVA".*from t = 0\.45 to 0\.46'):
        run(ball, (0, 1), [1.0], [0.0], constraints=form, dt=1e-2)


@pytest.mark.parametrize("unit", [1e3, 1e6])
def test_corrections_of_positions_do_not_depend_on_units(unit):
    """(73a) as printed adds lengths to angles: in millimetres it had no solution."""

    def pendulum(L):
        pin = ns.Joint(lambda t, q, p: np.array([q[0] - p.L * np.cos(q[2]), q[1] - p.L * np.sin(q[2])]))
        return ns.MechanicalSystem(
            np.diag([1.0, 1.0, 0.01 * L * L]), np.array([0.0, -10.0 * L, 0.0]), joints=[pin], params={"L": L}
        )

    ends = [
        run(
            pendulum(L), (0, 0.5), [L * np.cos(0.3), L * np.sin(0.3), 0.3], np.zeros(3),
            constraints="PV-GGL", dt=2e-3,
        ).q[:, -1] / [L, L, 1.0]
        for L in (1.0, unit)
    ]  # fmt: skip
    assert ends[1] == pytest.approx(ends[0], abs=1e-11)


def test_audit_of_the_printed_sets():
    """What open contacts remember goes on acting in (65f, i) as printed: the jump has no part in it."""
    system = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0], restitution=0.5))
    r = run(system, (0, 1.5), [0.3], [0.0], smooth_set="literal", dt=1e-3)
    assert r.audit.ok, r.audit.failures()


def test_steps_far_too_long_are_no_fault_of_a_direction():
    """A spring that pushes away, M - h^2 k < 0: the tangent leads astray, the gap is in order."""
    system = ns.MechanicalSystem(
        1.0, lambda t, q, u: np.array([1e4 * np.tanh(q[0] - 0.5)]), ns.Contact(lambda t, q: q[0])
    )
    with pytest.raises(ConvergenceError, match="use a smaller dt"):
        run(system, (0, 1), [0.4], [-1.0], dt=0.1)


@pytest.mark.parametrize(
    "force",
    [lambda t, q, u: -1.0 / q**2, lambda t, q, u: -1.0 / q, lambda t, q, u: np.array([1.0 / (0.4 - t) ** 3])],
    ids=["1/q^2", "1/q", "in time"],
)
def test_poles_are_not_stepped_over(force):
    """The body came out behind the pole, -652 instead of nowhere, with an audit in order."""
    with pytest.raises(NonFiniteStateError, match="pole"):
        run(ns.MechanicalSystem(1.0, force), (0, 2), [0.5], [0.0], rtol=1e-5)


def test_a_force_that_jumps_unannounced_is_seen_by_velocities():
    """7e-3 off before, since only positions were controlled."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([-G if t < 0.733 else 20.0]))
    rest = 1.0 - 0.733
    exact = 0.5 - G / 2 * 0.733**2 - G * 0.733 * rest + 10.0 * rest**2
    r = run(system, (0, 1), [0.5], [0.0], rtol=1e-5)
    assert abs(r.q[0, -1] - exact) < 2e-4 and r.nsteps < 150


def test_estimates_tell_what_local_errors_add_up_to():
    """The tolerance is one of steps; how far the run is off is told within a factor of two."""
    belt = ns.FrictionElement(np.array([1.0]), limit=1.0, surface_velocity=-0.3)
    system = ns.MechanicalSystem(1.0, lambda t, q, u: -q, friction=[belt])
    exact = ns.simulate(system, (0, 12), [0.0], [0.0], method=ns.EventDriven(rtol=1e-10)).y[:, -1]
    r = run(system, (0, 12), [0.0], [0.0], rtol=1e-5)
    assert r.error_estimate.y == pytest.approx(np.abs(r.y[:, -1] - exact), rel=0.5)
