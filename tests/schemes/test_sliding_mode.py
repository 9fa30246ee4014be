"""`sliding-mode`: Compere 2001, chapters 2 and 3."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import (
    AdjustmentWarning,
    InconsistentStateError,
    InputError,
    ModelError,
    NoSolutionError,
    RangeError,
    RedundantConstraintWarning,
    ShapeError,
)
from nonsmooth.problems import compere_pendulum, rolling_spheres

DATA = json.loads((Path(__file__).parents[1] / "data" / "compere_examples.json").read_text())
PENDULUM, SPHERES, THROWN = compere_pendulum(), rolling_spheres(), rolling_spheres(consistent=False)


def energies(problem, result):
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    return np.array(
        [
            0.5 * u @ model.mass_matrix(0, q) @ u + model.potential_energy(0, q)
            for q, u in zip(result.q.T, result.u.T)
        ]
    )


def residuals(problem, result, sigma=10.0):
    """Largest |Phi_h| and |S| of a run."""
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    pairs = [model.joint_residuals(t, q, u) for t, q, u in zip(result.t, result.q.T, result.u.T)]
    Phi, S = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    S[:, : Phi.shape[1]] += sigma * Phi
    return np.abs(Phi).max(), np.abs(S).max()


def test_closed_form_of_the_pendulum_against_the_table():
    for sample in DATA["pendulum"]["samples"]:
        q, u = PENDULUM.reference.q(sample["t"]), PENDULUM.reference.u(sample["t"])
        assert abs(q[2] - sample["theta"]) < 1e-15 and abs(u[2] - sample["omega"]) < 1e-14


@pytest.mark.parametrize(
    ("integrator", "dt", "printed"),
    [("RK3", 0.05, 2.0e-1), ("RK3", 0.01, 1.8e-3), ("RKF45", 0.05, 2.8e-4), ("RKF45", 0.01, 8.9e-8), ("RKF78", 0.05, 4.4e-8)],
)  # fmt: skip
def test_table_3_2(integrator, dt, printed):
    result = PENDULUM.simulate(method=ns.SlidingMode(integrator=integrator, dt=dt), audit=False)
    assert np.ptp(energies(PENDULUM, result)) == pytest.approx(printed, rel=0.03)
    assert max(residuals(PENDULUM, result)) <= 1e-14


@pytest.mark.parametrize(
    ("integrator", "dt", "printed"),
    [("RK3", 0.05, 6.0e-7), ("RKF45", 0.05, 3.3e-10), ("RKF78", 0.05, 2.3e-14), ("RK3", 0.01, 4.6e-9)],
)
def test_table_3_3(integrator, dt, printed):
    """To 8 s by steps added up, which is one more (160 times 0.05 is a rounding less than 8)."""
    for positions, share in (("printed", 0.05), ("holonomic", 0.10)):
        scheme = ns.SlidingMode(integrator=integrator, dt=dt, positions=positions)
        result = SPHERES.simulate((0, 8 + dt), method=scheme, audit=False)
        assert np.ptp(energies(SPHERES, result)) == pytest.approx(printed, rel=share, abs=0)
        assert max(residuals(SPHERES, result)) <= 1e-14


@pytest.mark.parametrize(
    ("integrator", "steps", "slope"), [("RK3", (0.1, 0.05), 8), ("RKF45", (0.2, 0.1), 12)]
)
def test_one_pass_leaves_the_square(integrator, steps, slope):
    left = []
    for dt in steps:
        scheme = ns.SlidingMode(integrator=integrator, dt=dt, passes=1, bound=1e9)
        left.append(residuals(PENDULUM, PENDULUM.simulate((0, 2), method=scheme, audit=False))[0])
    assert np.log2(left[0] / left[1]) == pytest.approx(slope, abs=0.6)


@pytest.mark.parametrize(
    ("integrator", "steps"),
    [("RK3", (0.02, 0.01)), ("RKF45", (0.1, 0.05)), ("SDIRK4", (0.04, 0.02)), ("Radau", (0.05, 0.025))],
)
def test_order(integrator, steps):
    errors = []
    for dt in steps:
        result = PENDULUM.simulate(
            (0, 1), method=ns.SlidingMode(integrator=integrator, dt=dt, bound=1e9), audit=False
        )
        errors.append(np.abs(result.q[:, -1] - PENDULUM.reference.q(1.0)).max())
    order = ns.SlidingMode(integrator=integrator, dt=1.0).order
    assert order - 0.4 < np.log2(errors[0] / errors[1]) < order + 1.2


def test_equations_agree_with_the_ordinary_ones_to_rounding():
    result = PENDULUM.simulate(method=ns.SlidingMode(integrator="RKF78", dt=0.01))
    assert np.abs(result.q - PENDULUM.reference.q(result.t)).max() < 1e-13
    assert np.abs(result.u - PENDULUM.reference.u(result.t)).max() < 1e-13
    assert result.audit.ok


def test_both_forms_of_stabilisation_on_acceleration_level_are_one():
    forms = [
        PENDULUM.simulate(method=ns.SlidingMode(dt=0.01, acceleration=form), audit=False)
        for form in ("equivalent", "newton")
    ]
    assert np.abs(forms[0].y - forms[1].y).max() < 1e-14


def test_without_it_constraints_hold_and_the_motion_is_wrong():
    scheme = ns.SlidingMode(integrator="RKF78", dt=0.01, acceleration=None)
    with pytest.warns(AdjustmentWarning, match='acceleration="equivalent"'):
        result = PENDULUM.simulate((0, 10), method=scheme, audit=False)
    assert np.ptp(energies(PENDULUM, result)) == pytest.approx(13.6, abs=0.5)
    assert max(residuals(PENDULUM, result)) <= 1e-14


def test_spheres_against_their_reference():
    result = SPHERES.simulate(method=ns.SlidingMode(integrator="RKF78", dt=0.02))
    at, q, u = SPHERES.reference.states_at(result.t)
    assert np.abs(result.q[:, at] - q).max() < 1e-11 and np.abs(result.u[:, at] - u).max() < 1e-11
    assert np.ptp(energies(SPHERES, result)) < 1e-12
    samples = DATA["rolling_spheres"]["samples"]
    assert at.size == len(samples)


@pytest.mark.parametrize("options", [{"dt": 0.01}, {"rtol": 1e-12}])
def test_surfaces_of_an_inconsistent_start_are_reached_in_finite_time(options):
    eta = np.array([0.5, 0.05, 0.05])
    result = THROWN.simulate((0, 8), method=ns.SlidingMode(eta=eta, **options))
    model = THROWN.system.bind(0.0, THROWN.q0, THROWN.u0)
    Phi, s = model.joint_residuals(0.0, THROWN.q0, THROWN.u0)
    s[0] += 10.0 * Phi[0]
    found = {event.law: event.t for event in result.events}
    assert [event.kind for event in result.events] == ["reach"] * 3
    np.testing.assert_allclose([found[i] for i in range(3)], np.abs(s) / eta, atol=1e-8)
    late = result.t >= max(found.values()) + 3.0
    assert np.abs(result.q[0, late] - 0.6).max() <= 1e-13
    assert np.ptp(energies(THROWN, result)[late]) <= 1e-11
    assert result.audit.ok


def test_rates_from_a_wanted_reaching_time():
    result = THROWN.simulate((0, 2), method=ns.SlidingMode(dt=0.01, reach=[0.5, 0.25, 1.0]), audit=False)
    np.testing.assert_allclose(sorted(event.t for event in result.events), [0.25, 0.5, 1.0], atol=1e-8)


def rod(*joints, **more):
    return ns.MechanicalSystem(
        np.diag([1.0, 1.0]), lambda t, q, u: np.array([0.3, -1.0]), joints=joints, **more
    )


def test_rheonomic_constraint():
    system = rod(ns.Joint(lambda t, q: q[0] - np.sin(t), name="driven"))
    result = ns.simulate(system, (0, 2), [0.0, 0.0], [1.0, 0.0], ns.SlidingMode(dt=0.02), audit=False)
    np.testing.assert_allclose(result.q[0], np.sin(result.t), atol=1e-14)
    np.testing.assert_allclose(result.u[0], np.cos(result.t), atol=1e-13)
    np.testing.assert_allclose(result.q[1], -0.5 * result.t**2, atol=1e-13)


def test_redundant_rows_are_found_by_rank():
    line = ns.Joint(lambda t, q: np.array([q[0] + q[1], 2.0 * q[0] + 2.0 * q[1], q[0] + q[1]]), name="line")
    with pytest.warns(RedundantConstraintWarning):
        result = ns.simulate(rod(line), (0, 1), [0.5, -0.5], [0.0, 0.0], ns.SlidingMode(dt=0.1), audit=False)
    np.testing.assert_allclose(result.q[0, -1], 0.5 + 0.5 * 0.65, atol=1e-14)


def test_conflicting_constraints():
    first, second = (
        ns.Joint(lambda t, q: q[0] - t, name="a"),
        ns.Joint(lambda t, q: q[0] - np.sin(t), name="b"),
    )
    with (
        pytest.warns(RedundantConstraintWarning),
        pytest.raises(NoSolutionError, match=r"contradict.*'b' depend"),
    ):
        ns.simulate(rod(first, second), (0, 1), [0.0, 0.0], [1.0, 0.0], ns.SlidingMode(dt=0.1))
    apart = ns.Joint(lambda t, q: q[0] - 1.0, name="c")
    with pytest.raises(ModelError, match="contradict"):
        ns.simulate(rod(first, apart), (0, 1), [0.0, 0.0], [1.0, 0.0], ns.SlidingMode(dt=0.1), project=True)


def test_units_do_not_matter():
    small = compere_pendulum(m=36e-6, l=1e-6, gravity=9.81e-6)
    with np.errstate(all="raise"):
        result = small.simulate(
            method=ns.SlidingMode(integrator="RKF45", dt=0.01, weight="mass"), audit=False
        )
    usual = PENDULUM.simulate(method=ns.SlidingMode(integrator="RKF45", dt=0.01, weight="mass"), audit=False)
    np.testing.assert_allclose(result.q[2], usual.q[2], atol=1e-12)


def test_output_between_steps_is_on_the_constraints():
    t = np.linspace(0.0, 1.0, 17)
    for options in ({"dt": 0.03}, {"rtol": 1e-10}):
        result = PENDULUM.simulate(
            (0, 1), method=ns.SlidingMode(integrator="RKF78", **options), t_eval=t, audit=False
        )
        assert np.abs(result.q - PENDULUM.reference.q(t)).max() < 1e-8
        assert max(residuals(PENDULUM, result)) <= 1e-14


@pytest.mark.parametrize(
    ("options", "worst", "least"),
    [
        ({"stabilisation": None}, 1e-3, 1e-12),
        ({"stabilisation": "switching", "eta": 0.5}, 2e-2, 1e-6),
        ({"stabilisation": "boundary-layer", "eta": 0.5, "layer": 0.05}, 1e-4, 1e-12),
        ({"stabilisation": "baumgarte", "alpha": 5.0, "beta": 5.0}, 1e-4, 1e-12),
        ({"stabilisation": "springs", "stiffness": 2e4, "damping": 500.0}, 0.5, 1e-6),
    ],
)
def test_negative_controls_leave_constraint_dynamics(options, worst, least):
    result = PENDULUM.simulate(
        (0, 2), method=ns.SlidingMode(integrator="RK3", dt=0.01, **options), audit=False
    )
    assert least < max(residuals(PENDULUM, result)) < worst


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"dt": 0.1, "eta": 0.0}, RangeError, "eta"),
        ({"dt": 0.1, "eta": [1.0, -1.0]}, RangeError, "eta"),
        ({"dt": 0.1, "reach": -1.0}, RangeError, "reach"),
        ({"dt": 0.1, "sigma": -2.0}, RangeError, "sigma"),
        ({"dt": 0.1, "rtol": 1e-6}, InputError, "rtol"),
        ({}, InputError, "dt"),
        ({"dt": 0.1, "integrator": "RK9"}, InputError, "integrator"),
        ({"dt": 0.1, "passes": 3}, InputError, "passes"),
        ({"dt": 0.1, "stabilisation": "springs"}, InputError, "stiffness"),
        ({"dt": 0.1, "eta": 1.0, "reach": 1.0}, InputError, "reach"),
    ],
)
def test_bad_options(options, error, named):
    with pytest.raises(error, match=named):
        ns.SlidingMode(**options)


def test_bad_starts_and_systems():
    with pytest.raises(InconsistentStateError, match="distance"):
        THROWN.simulate(method=ns.SlidingMode(dt=0.01))
    with pytest.raises(ShapeError, match="sigma"):
        PENDULUM.simulate(method=ns.SlidingMode(dt=0.01, sigma=[1.0, 2.0, 3.0]))
    ball = ns.problems.falling_ball()
    with pytest.raises(InputError, match="event-driven"):
        ball.simulate(method=ns.SlidingMode(dt=0.01))
    massless = ns.MechanicalSystem(np.diag([1.0, 0.0]), np.zeros(2), joints=[ns.Joint(lambda t, q: q[0])])
    with pytest.raises(InputError, match="mass"):
        ns.simulate(massless, (0, 1), [0.0, 0.0], [0.0, 0.0], ns.SlidingMode(dt=0.1))


def cart(**more):
    """Two masses, coupled by a spring, forces on the first or on both."""
    return ns.MechanicalSystem(
        np.diag([2.0, 1.0]), lambda t, q, u: np.array([3.0 * (q[1] - q[0]), -3.0 * (q[1] - q[0])]), **more
    )


def test_servo_gives_the_input_of_inverse_dynamics():
    # q_1 + q_2 = sin(t) by a force on the first mass alone: 2 q_1'' = 3 (q_2 - q_1) + tau, q_2'' = -3 (q_2 - q_1)
    servo = ns.Servo(lambda t, q: q[0] + q[1], np.sin, input=lambda t, q: np.array([1.0, 0.0]), name="sum")
    result = ns.simulate(
        cart(joints=[servo]), (0, 2), [0.0, 0.0], [1.0, 0.0], ns.SlidingMode(integrator="RKF78", dt=0.01)
    )
    np.testing.assert_allclose(result.q[0] + result.q[1], np.sin(result.t), atol=1e-14)
    spring = 3.0 * (result.q[1] - result.q[0])
    tau = 2.0 * (-np.sin(result.t) + spring) - spring
    mean = np.cumsum(np.nan_to_num(result.forces()[0]) * result.dt)
    exact = np.concatenate([[0.0], np.cumsum(0.5 * (tau[1:] + tau[:-1]) * np.diff(result.t))])
    np.testing.assert_allclose(mean, exact, atol=1e-4)  # the trapezoidal rule is the coarse one of the two
    assert result.audit.ok
    with pytest.raises(InputError, match="sliding-mode"):
        ns.simulate(cart(joints=[servo]), (0, 2), [0.0, 0.0], [1.0, 0.0], dt=0.01)


def test_servo_without_inputs_is_a_rheonomic_joint_and_velocities_have_order_one():
    along = ns.Servo(lambda t, q: q[1], np.sin)
    result = ns.simulate(
        cart(joints=[along]), (0, 1), [0.0, 0.0], [0.0, 1.0], ns.SlidingMode(dt=0.02), audit=False
    )
    np.testing.assert_allclose(result.q[1], np.sin(result.t), atol=1e-14)
    speed = ns.Servo(lambda t, q, u: u[1], np.cos, order=1)
    same = ns.simulate(
        cart(nonholonomic=[speed]), (0, 1), [0.0, 0.0], [0.0, 1.0], ns.SlidingMode(dt=0.02), audit=False
    )
    np.testing.assert_allclose(same.u[1], np.cos(same.t), atol=1e-14)
    np.testing.assert_allclose(same.q, result.q, atol=1e-8)


def test_output_without_relative_order():
    servo = ns.Servo(lambda t, q: q[1], np.sin, input=lambda t, q: np.array([1.0, 0.0]), name="tip")
    with pytest.raises(ModelError, match="relative order of output 'tip'"):
        ns.simulate(cart(joints=[servo]), (0, 1), [0.0, 0.0], [0.0, 1.0], ns.SlidingMode(dt=0.02))
    with pytest.raises(RangeError, match="order"):
        ns.Servo(lambda t, q: q[1], np.sin, order=7)
    with pytest.raises(InputError, match="input"):
        ns.Servo(lambda t, q: q[1], np.sin, order=3)
    with pytest.raises(InputError, match="wanted"):
        ns.Servo(lambda t, q: q[1], 1.0)
    scheme = ns.SlidingMode(dt=0.02)
    two = ns.Servo(lambda t, q: q[1], lambda t: np.array([np.sin(t), 0.0]), name="tip")
    with pytest.raises(ShapeError, match="`wanted` of servo 'tip' has 2 values for an output of 1"):
        ns.simulate(cart(joints=[two]), (0, 1), [0.0, 0.0], [0.0, 1.0], scheme)
    speed = ns.Servo(lambda t, q: q[1], np.sin, order=1, name="speed")
    with pytest.raises(InputError, match="output of 'speed' takes 2 arguments"):
        ns.simulate(cart(nonholonomic=[speed]), (0, 1), [0.0, 0.0], [0.0, 1.0], scheme)


def slider_crank(damping):
    """Closed loop of nine coordinates and eight constraints; a drive pulls the crank to 10 rad/s with a stiff damper."""
    a, b = 0.15, 0.30  # lengths of crank and rod

    def force(t, q, u, p):
        h = np.array([0.0, -0.4, 0.0, 0.0, -0.6, 0.0, 0.0, -1.0, 0.0])
        h[2] -= p.c * (u[2] - 10.0)
        return h

    def loop(t, q):
        c1, s1, c2, s2 = np.cos(q[2]), np.sin(q[2]), np.cos(q[5]), np.sin(q[5])
        return np.array([
            q[0] - 0.5 * a * c1, q[1] - 0.5 * a * s1, q[3] - a * c1 - 0.5 * b * c2, q[4] - a * s1 - 0.5 * b * s2,
            q[6] - a * c1 - b * c2, q[7] - a * s1 - b * s2, q[7], q[8],
        ])  # fmt: skip

    masses = np.diag([0.04, 0.04, 1e-4, 0.06, 0.06, 6e-4, 0.1, 0.1, 1e-4])
    return ns.MechanicalSystem(masses, force, joints=[ns.Joint(loop, name="loop")], params={"c": damping})


def test_stiff_closed_loop_takes_a_thousand_times_fewer_steps_with_radau():
    system = slider_crank(1e3)  # rate of about 1e6 1/s beside 10 rad/s
    q0 = np.array([0.075, 0.0, 0.0, 0.30, 0.0, 0.0, 0.45, 0.0, 0.0])
    u0 = np.array([0.0, 0.75, 10.0, 0.0, 0.75, -5.0, 0.0, 0.0, 0.0])
    stiff = ns.simulate(system, (0, 1), q0, u0, ns.SlidingMode(integrator="Radau", rtol=1e-5), audit=False)
    model = system.bind(0.0, q0, u0)
    drift = [
        np.abs(model.joint_residuals(t, q, u)[0]).max() for t, q, u in zip(stiff.t, stiff.q.T, stiff.u.T)
    ]
    assert max(drift) <= 1e-14
    np.testing.assert_allclose(stiff.u[2], 10.0, rtol=1e-2)
    assert stiff.q[2, -1] == pytest.approx(10.0, rel=1e-3)
    short = ns.simulate(system, (0, 1e-3), q0, u0, ns.SlidingMode(integrator="RKF45", rtol=1e-5), audit=False)
    assert short.nsteps * 1e3 >= 1000 * stiff.nsteps


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_start_at_the_origin_has_a_size(unit):
    """All coordinates zero (or all velocities): steps were of denormal length, and their adjustment told of as a wrong motion."""
    servo = ns.Servo(
        lambda t, q: q[0], lambda t, p: p.L * np.sin(2 * t), input=lambda t, q: np.array([1.0, 0.0])
    )
    force = lambda t, q, u: np.array([3 * (q[1] - q[0]), 3 * (q[0] - q[1])])  # noqa: E731
    system = ns.MechanicalSystem(np.eye(2), force, joints=[servo], params={"L": unit})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ns.simulate(
            system, (0, 3), [0.0, 0.0], [2 * unit, 0.0], method=ns.SlidingMode(integrator="RKF78", rtol=1e-11)
        )
    w = np.sqrt(3.0)
    exact = -3.0 * np.sin(6.0) + 6.0 / w * np.sin(3.0 * w)  # x'' + 3 x = 3 sin(2 t)
    assert result.q[1, -1] / unit == pytest.approx(exact, abs=1e-9)
    assert result.audit.ok and np.min(np.diff(result.t)) > 1e-6
