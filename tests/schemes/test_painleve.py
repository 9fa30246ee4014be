"""Painleve's rod, mu = 2: starts in all regions against an enumeration of its modes (`painleve_rod`)."""

import warnings

import numpy as np
import painleve_rod as rod
import pytest

import nonsmooth as ns
from nonsmooth.errors import DegenerateWarning, InputError, NonUniqueWarning, NoSolutionError

MU = 2.0
JAMS = np.array([0.0, rod.L * np.sin(1.0), 1.0, -3.0, 0.0, 0.0])  # A < 0, c_N < 0
OPENS_OR_NOT = np.array(
    [0.0, rod.L * np.sin(1.0), 1.0, -3.0, -8 * rod.L * np.cos(1.0), -8.0]
)  # A < 0, c_N > 0


@pytest.fixture(scope="module")
def system():
    return ns.problems.rod_rough_plane(friction=MU).system


def simulate(system, y, t_end, **options):
    """Result and the classes of warnings heard."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = ns.simulate(system, (0, t_end), y[:3], y[3:], **options)
    return found, {warning.category for warning in heard}


def starts():
    for theta in (0.4, 1.0, 1.2, 1.42, 2.6):
        for omega in (-9.0, -1.0, 1.0, 5.0):
            for v in (-4.0, 1.0):
                yield np.array([0.0, rod.L * np.sin(theta), theta, v, rod.L * np.cos(theta) * omega, omega])


def test_starts_in_all_regions(system):
    regions = set()
    for y in starts():
        slides = float(np.sign(y[3] + rod.L * np.sin(y[2]) * y[5]))
        motion, reached = rod.run(y, MU, 0.25, slides)
        t_end = motion.t if reached else 0.98 * motion.t
        motion = motion if reached else rod.run(y, MU, t_end, slides)[0]
        run, heard = simulate(system, y, t_end, rtol=1e-8)
        found = np.concatenate([run.q[:, -1], run.u[:, -1]])
        assert np.max(np.abs(found - motion.y) / np.maximum(np.abs(motion.y), 1.0)) <= 1e-6
        assert (NonUniqueWarning in heard) == (not motion.unique)
        assert (DegenerateWarning in heard) == bool(motion.jams)
        assert run.audit.ok
        regions.add((motion.unique, bool(motion.jams)))
    assert regions == {(True, False), (True, True), (False, False)}


def test_an_impact_without_collision_is_an_event(system):
    run, _ = simulate(system, JAMS, 0.1, rtol=1e-8)
    impact, stick = run.events[0], run.events[1]
    assert (impact.t, impact.kind, impact.name, impact.before, impact.after) == (0.0, "impact", "left", 1, 1)
    assert (stick.kind, stick.name) == ("stick", "left friction")
    assert run.audit.energy_balance["kinetic_end"] < run.audit.energy_balance["kinetic_start"]
    assert np.max(run.P_N[0]) > 0.1  # an impulse, not a force


def test_a_jam_ends_the_run_on_request(system):
    with pytest.raises(NoSolutionError, match="Painleve"):
        simulate(system, JAMS, 0.1, rtol=1e-8, paradox="raise")
    with pytest.raises(InputError, match="paradox"):
        ns.EventDriven(paradox="ignore")


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(system, unit):
    """Lengths in another unit, gravity with them."""
    scaled = system.with_params(l=rod.L * unit, g=rod.GRAVITY * unit, J=rod.L**2 / 3 * unit**2)
    by = np.array([unit, unit, 1.0, unit, unit, 1.0])
    run, heard = simulate(scaled, JAMS * by, 0.1, rtol=1e-8)
    assert DegenerateWarning in heard and run.events[0].kind == "impact"
    plain, _ = simulate(system, JAMS, 0.1, rtol=1e-8)
    assert run.y[:, -1] / by == pytest.approx(plain.y[:, -1], rel=1e-7, abs=1e-7)


def test_methods_agree_or_warn_where_the_start_is_not_unique(system):
    """Time-stepping knows no accelerations: the start is looked at for every scheme."""
    fine, heard = simulate(system, OPENS_OR_NOT, 0.1, rtol=1e-8)
    steps, heard_too = simulate(system, OPENS_OR_NOT, 0.1, dt=1e-4)
    assert NonUniqueWarning in heard and NonUniqueWarning in heard_too
    assert steps.y[:, -1] == pytest.approx(fine.y[:, -1], abs=1e-2)


def test_less_friction_is_no_paradox(system):
    mild = ns.problems.rod_rough_plane(friction=1.2).system
    _, heard = simulate(mild, JAMS, 0.05, rtol=1e-6)
    assert not heard & {NonUniqueWarning, DegenerateWarning}


def test_all_solutions_of_a_transition_are_listed():
    """At a breakpoint the ground becomes rough and the rod is lifted: its sliding end may open or stay closed."""
    tip = ns.Contact(
        lambda t, q: q[1] - rod.L * np.sin(q[2]),
        friction=lambda t, q, u: 0.1 if t < 0.1 else MU,
        tangent=lambda t, q: np.array([1.0, 0.0, rod.L * np.sin(q[2])]),
        name="tip",
    )
    force = lambda t, q, u: np.array([0.0, -9.81 + (30.0 if t >= 0.1 else 0.0), 0.0])  # noqa: E731
    lifted = ns.MechanicalSystem(np.diag(1.0 / rod.M_INV), force, tip)
    start = np.array([0.0, rod.L * np.sin(1.0), 1.0, -3.0, 0.0, 0.0])
    run, heard = simulate(lifted, start, 0.2, rtol=1e-8, breakpoints=[0.1])
    assert NonUniqueWarning in heard and len(run.ambiguous) == 1
    (choice,) = run.ambiguous
    opens, closed = choice["solutions"]
    assert (choice["t"], choice["of"], choice["taken"]) == (0.1, "accelerations", 0)
    assert (opens["text"], closed["text"]) == ("'tip' opens", "'tip' stays closed")
    # by hand: la_N = -c_N/(G_NN + mu G_NT) with slip to the left
    q = run.q[:, np.searchsorted(run.t, 0.1)]
    y = np.concatenate([q, run.u[:, np.searchsorted(run.t, 0.1)]])
    W, kappa, G = rod.contact(y)
    c = W @ np.array([0.0, 20.19, 0.0]) + kappa
    assert closed["forces"][0] == pytest.approx(-c[0] / (G[0, 0] + MU * G[0, 1]), rel=1e-9)
    assert opens["rates"] == pytest.approx([0.0, 20.19, 0.0])


def test_all_impulses_of_wedged_contacts_are_listed():
    """A body between two rough walls: one of them may strike, or both; each solution obeys the impact law."""
    a, b = np.array([0.37, 0.93, -0.85]), np.array([-0.98, 0.21, -0.52])
    along_a, along_b = np.array([-0.93, 0.37, 0.02]), np.array([-0.21, -0.98, 1.3])
    walls = [
        ns.Contact(lambda t, q, n=n: n @ q, friction=4.0, tangent=lambda t, q, s=s: s, name=name)
        for n, s, name in ((a, along_a, "a"), (b, along_b, "b"))
    ]
    body = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.1]), np.array([0.0, -9.81, 0.0]), walls)
    W = np.array([a, b, along_a, along_b])
    G, several = W @ np.diag([1.0, 1.0, 10.0]) @ W.T, 0
    for u in np.random.default_rng(0).normal(size=(20, 3)):
        run, heard = simulate(body, np.concatenate([np.zeros(3), u]), 1e-6, rtol=1e-8)
        choices = [choice for choice in run.ambiguous if choice["of"] == "impulses"]
        several += len(choices)
        assert run.audit.ok and (NonUniqueWarning in heard) == bool(run.ambiguous)
        for choice in choices:
            assert len(choice["solutions"]) > 1
            for solution in choice["solutions"]:
                P, after = solution["forces"], W @ solution["rates"]
                assert after == pytest.approx(W @ u + G @ P, abs=1e-9)
                assert np.all(P[:2] >= -1e-9) and np.all(after[:2] >= -1e-9)
                assert np.abs(P[:2] * after[:2]) == pytest.approx(0.0, abs=1e-9)
                assert np.all(np.abs(P[2:]) <= 4.0 * P[:2] + 1e-9) and np.all(P[2:] * after[2:] <= 1e-9)
            taken = choice["solutions"][choice["taken"]]["rates"]
            assert run.u[:, -1] == pytest.approx(taken, abs=1e-4)
    assert several
