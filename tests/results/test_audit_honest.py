"""Runs that are not in order must not be called so: each case was "ok" once, or was never looked at."""

import pickle
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import EnergyGainWarning
from nonsmooth.results import Audit, audit_moreau


def identity(t, q):
    return np.eye(4)


def gravity(t, q, u):
    return np.array([0.0, -9.81, 0.0, -9.81])


def rods(t, q):
    return np.array([q[0] ** 2 + q[1] ** 2 - 1.0, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1.0])


def coupled_mass(t, q):
    c = np.cos(q[0] - q[1])
    return np.array([[2.0, c], [c, 1.0]])


def coupled_force(t, q, u):
    s = np.sin(q[0] - q[1])
    return np.array([-s * u[1] ** 2 - 2 * 9.81 * np.sin(q[0]), s * u[0] ** 2 - 9.81 * np.sin(q[1])])


def spring(t, q, u):
    return np.array([-q[0]])


def kicked(t, q, u):
    return np.array([-q[0] + (1.0 if t > 0.7 else 0.0)])


def nothing(t, q, u):
    return np.array([0.0])


def thin(t, q):
    return abs(q[0]) - 0.01


def floor(t, q):
    return q[0]


def upside_down(t, q):
    """Right at the start, where it is compared with differences, wrong later."""
    return np.array([[1.0 if t < 0.1 else -1.0]])


def weight(t, q, u):
    return np.array([-9.81])


def text_of(audit):
    return "; ".join(audit.failures())


def test_nothing_checked_is_never_ok():
    assert not Audit().ok and "nothing was checked" in text_of(Audit())
    assert not Audit(steps_total=10, points_checked=5).ok
    assert Audit(steps_total=10, steps_checked=3).ok
    result = ns.simulate(
        ns.MechanicalSystem(1.0, spring), (0, 1), q0=[1.0], u0=[0.0], dt=1e-2, t_eval=np.zeros(0)
    )
    assert not result.audit.ok


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 1e-8},
        {"rtol": 1e-8, "method": "extrapolated-moreau"},
        {"rtol": 1e-8, "t_eval": np.linspace(0, 3, 31)},
        {"rtol": 1e-6, "every": 2},
        {"rtol": 1e-6, "every": 3},
    ],
)
def test_runs_with_a_tolerance_are_recomputed(options):
    system = ns.MechanicalSystem(
        1.0, spring, ns.Contact(lambda t, q: q[0] + 0.5, restitution=0.6, name="wall")
    )
    audit = ns.simulate(system, (0, 3), q0=[1.0], u0=[0.0], **options).audit
    assert audit.ok, str(audit)
    assert audit.steps_checked >= 18 and audit.step_error < 1.0
    if set(options) == {"rtol"}:
        # the start is a step of no length, with nothing to integrate again; the impact is one whose impulse is looked at
        assert audit.steps_checked == audit.steps_total - 1
        assert audit.momentum_residual < 1e-12 and audit.complementarity < 1e-12
        assert audit.unexplained_energy < 1e-6 and audit.energy_balance["loss_contacts"] > 0.1
    if "method" in options:
        assert audit.steps_checked == audit.steps_total
        assert audit.unexplained_energy < 1e-7 and audit.event_error < 1e-9


@pytest.mark.parametrize(
    "instants", [np.linspace(0, 3, 41), np.sort(np.random.default_rng(1).uniform(0, 3, 33))]
)
def test_steps_behind_given_instants_are_recomputed(instants):
    system = ns.MechanicalSystem(
        1.0, spring, ns.Contact(lambda t, q: q[0] + 0.5, restitution=0.6, name="wall")
    )
    audit = ns.simulate(
        system, (0, 3), q0=[1.0], u0=[0.0], dt=1.7e-3, t_eval=instants, breakpoints=[1.0003]
    ).audit
    assert audit.ok, str(audit)
    assert audit.steps_checked >= 32 and audit.momentum_residual < 1e-14 and audit.position_residual < 1e-14


def test_joint_drift_and_the_energy_it_costs():
    """Double pendulum in four coordinates: 0.1 off and 3.2 J lost after 10 s with dt = 1e-3."""
    system = ns.MechanicalSystem(identity, gravity, joints=[ns.Joint(rods, name="rods")])
    coarse = ns.simulate(system, (0, 10), q0=[1, 0, 2, 0], u0=np.zeros(4), dt=1e-3).audit
    assert not coarse.ok and "energy lost in joints" in text_of(coarse) and "smaller dt" in text_of(coarse)
    assert coarse.energy_balance["loss_joints"] == pytest.approx(3.2, abs=0.3)
    assert coarse.joint_drift_position > 0.1
    fine = ns.simulate(system, (0, 1), q0=[1, 0, 2, 0], u0=np.zeros(4), dt=1e-4).audit
    assert fine.ok, str(fine)
    adaptive = ns.simulate(system, (0, 2), q0=[1, 0, 2, 0], u0=np.zeros(4), rtol=1e-8).audit
    assert adaptive.ok and adaptive.joint_drift_relative < 1e-7, str(adaptive)


def test_energy_with_a_mass_matrix_that_depends_on_q():
    """Without the work of inertia several percent stayed unexplained, and nobody was told."""
    wall = ns.Contact(lambda t, q: np.sin(q[0]) + 0.5, restitution=0.5, name="wall")
    system = ns.MechanicalSystem(coupled_mass, coupled_force, wall)
    found = {}
    for dt in (1e-2, 1e-3):
        with warnings.catch_warnings():
            warnings.simplefilter("error", EnergyGainWarning)
            found[dt] = ns.simulate(system, (0, 5), q0=[1.5, 1.5], u0=[0, 0], dt=dt).audit
        assert found[dt].energy_gains["count"] == 0
    balance = found[1e-3].energy_balance
    explained = balance["work_forces"] + balance["work_inertia"] - balance["loss_contacts"]
    assert balance["kinetic_end"] - balance["kinetic_start"] == pytest.approx(explained, abs=0.03)
    assert abs(balance["work_inertia"]) > 0.1 and found[1e-3].ok
    assert found[1e-3].unexplained_energy < 0.2 * found[1e-2].unexplained_energy


def test_energy_gains_are_warned_of_and_not_ok():
    """Newton's law with unequal restitution: the warning says what the audit says, also in runs with a tolerance."""
    W = np.array([[1.0, -1.0], [1.0, 1.0]])
    mass = np.diag([0.3, 2.0])
    system = ns.MechanicalSystem(
        lambda t, q: mass,
        lambda t, q, u: np.zeros(2),
        ns.Contact(lambda t, q: W @ q, restitution=[1.0, 0.0], name=("a", "b")),
    )
    start = dict(q0=[0.1, 0.0], u0=[-1.0, 0.0])
    for options in ({"dt": 1e-2}, {"rtol": 1e-6}):
        result = ns.simulate(system, (0, 0.3), **start, **options, on_energy_gain="ignore")
        T = 0.5 * np.einsum("ik,ij,jk->k", result.u, mass, result.u)
        if T[-1] <= T[0] * (1 + 1e-6):
            continue
        assert result.audit.ok and result.audit.energy_gains["count"] >= 1
        with pytest.warns(EnergyGainWarning):
            result = ns.simulate(system, (0, 0.3), **start, **options)
        assert not result.audit.ok and "created energy" in text_of(result.audit)


@pytest.mark.parametrize(("dt", "seen"), [(1e-2, False), (2e-2, False), (1e-4, True)])
def test_a_wall_passed_inside_a_step(dt, seen):
    system = ns.MechanicalSystem(1.0, nothing, ns.Contact(thin, restitution=0.5, name="thin"))
    result = ns.simulate(system, (0, 1), q0=[-1.003], u0=[3.0], dt=dt)
    assert (result.q[0, -1] < 0) == seen
    assert result.audit.ok == seen, str(result.audit)
    if not seen:
        assert "'thin'" in text_of(result.audit) and "smaller dt" in text_of(result.audit)


def chain(t, q, u):
    """A slow spring to the ground, and a bar of frequency 1000 between two masses."""
    bar = 5e5 * (q[1] - q[0])
    return np.array([bar - q[0], -bar])


def damped(t, q, u):
    return np.array([-100.0 * u[0]])


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("options", [{}, {"every": 7}], ids=["all", "thinned"])
@pytest.mark.parametrize("method", ["moreau", "schatzman-paoli"])
def test_forces_too_stiff_for_their_step(method, options, unit):
    system = ns.MechanicalSystem(np.eye(2), chain)
    start = dict(q0=[unit, unit * (1 + 1e-9)], u0=[0.0, 0.0], method=method, **options)
    blown = ns.simulate(system, (0, 140 * 2.1e-3), dt=2.1e-3, **start)
    assert np.all(np.isfinite(blown.q)) and np.max(np.abs(blown.q)) > 100 * unit
    assert not blown.audit.ok and blown.audit.force_change > 2
    assert "too stiff for this dt" in text_of(blown.audit)
    sound = ns.simulate(system, (0, 0.3), dt=1e-4, **start)
    assert sound.audit.ok and sound.audit.force_change < 0.01, str(sound.audit)


@pytest.mark.parametrize(("dt", "ok"), [(2.2e-2, False), (2e-3, True)])
def test_dampers_too_stiff_for_their_step(dt, ok):
    audit = ns.simulate(ns.MechanicalSystem(1.0, damped), (0, 0.5), q0=[0.0], u0=[1.0], dt=dt).audit
    assert audit.ok == ok, str(audit)


def test_implicit_steps_may_be_longer_than_stiff_forces_allow():
    system = ns.MechanicalSystem(np.eye(2), chain)
    audit = ns.simulate(system, (0, 3), q0=[1.0, 1.0], u0=[0.0, 0.0], dt=1e-2, method="theta").audit
    assert audit.ok and audit.force_change is None, str(audit)


def test_a_start_from_rest_is_not_stiff():
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([t**3]))
    assert ns.simulate(system, (0, 1), q0=[0.0], u0=[0.0], dt=1e-2).audit.ok
    pressed = ns.MechanicalSystem(
        1.0, lambda t, q, u: np.array([-1e9 * (q[0] + 1.0)]), ns.Contact(floor, restitution=0.5)
    )
    assert ns.simulate(pressed, (0, 1), q0=[0.0], u0=[0.0], dt=1e-2).audit.ok


def test_a_jump_of_the_force_that_was_not_declared():
    """One that no search before the run can find, since the force jumps at other states than the start only; and one that it finds."""
    method = ns.ExtrapolatedMoreau(rtol=1e-8)

    def run(force, **options):
        return ns.simulate(
            ns.MechanicalSystem(1.0, force), (0, 3), q0=[1.0], u0=[0.0], method=method, **options
        ).audit

    hidden = run(lambda t, q, u: np.array([-q[0] + (1.0 if t > 0.7 and q[0] < 0.9 else 0.0)]))
    assert not hidden.ok and "breakpoints" in text_of(hidden)
    with pytest.warns(ns.errors.DiscontinuityWarning, match=r"force jumps .* t = 0\.7 "):
        found = run(kicked)
    assert found.ok and any("force jumps" in note for note in found.notes)
    declared = run(kicked, breakpoints=[0.7])
    assert declared.ok, str(declared)


def test_a_jacobian_of_the_wrong_sign():
    wrong = ns.Contact(floor, restitution=0.5, jacobian=upside_down, name="floor")
    with pytest.warns(ns.errors.DerivativeWarning, match="'floor'"):
        audit = ns.simulate(
            ns.MechanicalSystem(1.0, weight, wrong), (0, 1), q0=[1.0], u0=[0.0], dt=1e-3
        ).audit
    assert not audit.ok and audit.derivative_error > 0.1
    assert any("'floor'" in note for note in audit.notes)


def test_first_steps_that_are_next_to_nothing_raise_no_alarm():
    """Differences to one side over 1e-15 show roundings of the gap, not its rate."""
    world = ns.World((0, -9.81))
    capsule = ns.Body(ns.Capsule(0.3, 0.1), mass=1.0, position=(0, 0.1), angle=0.1, velocity=(0, 0.5))
    a, b = world.add(capsule, ns.Body(ns.Disk(0.1), mass=1.0, position=(0.1, 0.5)))
    world.contact(a, b)
    for rtol in (1e-8, 1e-9):
        audit = ns.simulate(world, (0, 0.3), method="extrapolated-moreau", rtol=rtol).audit
        assert audit.ok, str(audit)


def test_iterations_are_those_of_base_steps():
    audit = ns.problems.woodpecker().simulate(method="extrapolated-moreau", rtol=1e-5).audit
    assert audit.mean_iterations <= audit.max_iterations
    assert "in a base step" in str(audit)


def test_audit_accepts_a_mapping_without_totals():
    columns = {
        "t": np.zeros(1), "q": np.zeros((1, 1)), "u": np.zeros((1, 1)), "P_N": np.zeros((0, 1)), "P_T": np.zeros((0, 1)),
        "modes": np.zeros((0, 1), dtype=np.int8), "dt": np.zeros(1),
    }  # fmt: skip
    system = ns.MechanicalSystem(1.0, spring).bind(0.0, np.zeros(1), np.zeros(1))
    assert audit_moreau(system, columns).ok  # a run of no length: its start was looked at


@pytest.mark.parametrize("length", [1e-2, 1.0, 200.0])
def test_a_block_that_rocks_to_rest_is_no_alarm(length):
    """The impulse that ends the rocking takes all impacts left out; at rest four rows hold three velocities, in any units."""
    world = ns.World(gravity=(0, -9.81))
    tilt, half = 0.05, 0.2 * length
    height = 0.5 * length * np.cos(tilt) + 1.2 * half * np.sin(tilt)
    block = world.add(
        ns.Body(shape=ns.Box((2 * half, length)), density=1000.0, position=(0, height), angle=tilt)
    )
    world.contact(block, ns.HalfPlane(), restitution=0.0, friction=0.8)
    result = ns.simulate(world, (0, 9 * np.sqrt(length / 9.81)), rtol=1e-6)
    assert result.audit.ok, str(result.audit)
    assert abs(result.q[1, -1] - 0.5 * length) < 1e-6 * length


def test_a_block_that_comes_to_rest_with_both_corners_in_the_air_is_no_alarm():
    """One corner strikes while the other is on its way up, lower than the tolerance tells: it is pulled back by what is left out."""
    world, half, height, tilt = ns.World(gravity=(0, -23.38)), 80.41, 232.7, 0.07715
    lifted = 0.5 * height * np.cos(tilt) + 1.2 * half * np.sin(tilt)
    block = world.add(
        ns.Body(shape=ns.Box((2 * half, height)), density=0.4893, position=(0, lifted), angle=tilt)
    )
    world.contact(block, ns.HalfPlane(), restitution=0.2, friction=1.051)
    result = ns.simulate(world, (0, 6 * np.sqrt(402.0 / 23.38)), rtol=1e-5)
    assert result.audit.ok, str(result.audit)


@pytest.mark.parametrize(
    "method",
    [
        ns.Theta(dt=1.7e-3),
        ns.Theta(dt=1.7e-3, projection="direct"),
        ns.SchatzmanPaoli(dt=1.7e-3),
        ns.AdaptiveMoreau(tol=1e-4),
        ns.AdaptiveMoreau(tol=1e-4, base="moreau"),
    ],
    ids=lambda method: method.name,
)
def test_instants_inside_steps_are_audited(method):
    """Whole steps are kept for the audit, wherever in them the instants asked for lie."""
    system = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0], restitution=0.5))
    run = ns.simulate(
        system, (0, 1), [1.0], [0.0], method=method, t_eval=[0.0123457, 0.4499, 0.777777], breakpoints=[0.5]
    )
    assert run.audit.ok and run.audit.steps_checked == 3, str(run.audit)


@pytest.mark.parametrize("method", ["event-driven", "event-capturing"])
def test_rest_at_the_origin_is_no_alarm(method):
    """Coordinates that are nothing but rounding of zero: a step of 1e-20 m is not compared with how far the body has come."""
    slope = ns.Contact(
        lambda t, q: q[1] - 0.2122 * q[0], restitution=0.4, friction=0.3, tangent=np.array([1.0, 0.2122])
    )
    system = ns.MechanicalSystem(np.eye(2), [0.0, -9.81], slope)
    run = ns.simulate(system, (0, 1.924), [0.0, 0.0], [0.0, 0.0], method=method, rtol=1e-6)
    assert run.audit.ok and np.max(np.abs(run.q)) < 1e-15, str(run.audit)


def test_penetration_in_steps_that_are_not_looked_at():
    """The one step in which a body settles is not among those kept: what forces can do in a step is the measure."""
    slope = ns.Contact(lambda t, q: q[1] + 0.1 * q[0], friction=0.3, tangent=np.array([1.0, -0.1]))
    system = ns.MechanicalSystem(np.eye(2), [0.0, -9.81], slope)
    method = ns.Moreau(dt=1e-4)
    run = ns.simulate(system, (0, 1), [0.0, 0.0], [0.0, 0.0], method=method, t_eval=np.linspace(0.1, 1, 5))
    assert run.audit.worst_gap < -1e-9 and run.audit.ok, str(run.audit)


def test_an_audit_that_waits_is_that_of_the_run():
    """What happens between the end of a run and the first look at its audit is not seen by it."""
    floor = ns.Contact(lambda t, q: q[0] - 1.0, restitution=0.4, name="floor")
    ball = ns.MechanicalSystem(1.0, lambda t, q, u, p: np.array([-p.g]), floor, params={"g": 9.81})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.errors.ZenoWarning)
        now, later = (ns.simulate(ball, (0, 2), [1.4], [0.0], rtol=1e-8) for _ in range(2))
        wanted = str(now.audit)
        ns.simulate(ball.with_params(g=2e3), (5, 6), [1000.0], [30.0], rtol=1e-4, breakpoints=[5.5])
        later.q[:] *= 1e3  # in millimetres
        assert str(later.audit) == wanted and isinstance(later.audit, ns.Audit) and later.audit.ok
        sent = pickle.loads(pickle.dumps(ns.simulate(ball, (0, 2), [1.4], [0.0], rtol=1e-8)))  # noqa: S301
    assert str(sent.audit) == wanted and sent.error_estimate is None


def test_audits_of_solve_ivp_travel_with_their_results():
    result = ns.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
    sent = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert isinstance(result.audit, ns.Audit) and sent.audit.ok == result.audit.ok
