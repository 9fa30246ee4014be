"""Closed forms of the benchmark problems against tabulated values and against their own equations of motion.

The tables in tests/data/problems were computed in 30 to 40 digits and checked by event-driven runs (each
file says how).
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nonsmooth import problems
from nonsmooth.errors import InputError, RangeError
from nonsmooth.problems import acary_ball, belt_oscillator, falling_ball, incline_block, sliding_mass
from nonsmooth.problems.belt_oscillator import Belt
from nonsmooth.problems.sliding_mass import Turn

DATA = Path(__file__).parents[1] / "data" / "problems"
STUDER = json.loads((DATA / "studer_examples.json").read_text())
ACARY = json.loads((DATA / "acary_examples.json").read_text())


def against_samples(reference, samples, position, velocity, tol):
    """Largest difference of the closed form from a table."""
    for row in samples:
        np.testing.assert_allclose(reference.q(row["t"]), np.atleast_1d(row[position]), rtol=0, atol=tol)
        np.testing.assert_allclose(reference.u(row["t"]), np.atleast_1d(row[velocity]), rtol=0, atol=tol)


def smooth_residual(problem, acceleration, times, h=1e-4):
    """Largest residual of the motion, by differences of order 4, away from switching instants."""
    r = problem.reference
    away = np.min(np.abs(np.subtract.outer(times, np.append(r.event_times(), np.inf))), axis=1) > 3 * h
    t = np.asarray(times)[away]
    q, u = [r.q(t + k * h) for k in range(-2, 3)], [r.u(t + k * h) for k in range(-2, 3)]
    dq = (q[0] - 8 * q[1] + 8 * q[3] - q[4]) / (12 * h)
    du = (u[0] - 8 * u[1] + 8 * u[3] - u[4]) / (12 * h)
    wanted = np.column_stack([acceleration(*row) for row in zip(t, q[2].T, u[2].T)])
    return max(np.max(np.abs(dq - u[2])), np.max(np.abs(du - wanted)))


def test_falling_ball_table():
    table, problem = STUDER["ball_10_1"], problems.falling_ball()
    times = problem.reference.event_times("impact")
    np.testing.assert_allclose(times[:30], table["impact_times"], rtol=0, atol=4.5e-16)
    against_samples(problem.reference, table["samples"], "z", "zdot", 2e-15)
    assert problem.reference.events[0].u_before[0] == pytest.approx(table["first_impact_velocity"], rel=1e-15)
    assert falling_ball.__name__ == "falling_ball"


def test_falling_ball_rests_after_accumulation():
    r = problems.falling_ball().reference
    t_star = STUDER["ball_10_1"]["accumulation_time"]
    assert np.all(r.q(np.array([t_star + 1e-15, 0.7, 1.0, 5.0])) == 0.0)
    assert np.all(r.u(np.array([t_star + 1e-15, 0.7, 1.0, 5.0])) == 0.0)
    assert r.q(t_star - 1e-6)[0] > 0.0


@pytest.mark.parametrize("e", [0.0, 0.3, 0.7, 0.99, 1.0])
def test_falling_ball_satisfies_motion_and_newton(e):
    problem = problems.falling_ball(restitution=e, height=0.3, t_end=2.0)
    r = problem.reference
    assert smooth_residual(problem, lambda t, q, u: -9.81 * (q > 0), np.linspace(0.01, 1.9, 40)) < 1e-9
    for event in r.events[:20]:
        # right limit at the instant, left limit just before, and the wall is where the impact is
        assert r.u(event.t)[0] == pytest.approx(event.u_after[0], rel=1e-9, abs=1e-9)
        assert r.u(np.nextafter(event.t, 0.0))[0] == pytest.approx(event.u_before[0], rel=1e-9, abs=1e-9)
        assert r.q(event.t)[0] == 0.0
    assert np.all(r.q(np.linspace(0, 2, 2001)) >= 0.0)


def test_falling_ball_agrees_with_the_formula_of_acary():
    # the same ball by two formulas: flights by recursion and eq. (10)
    one = problems.falling_ball(height=1.0, restitution=0.5, gravity=2.0, t_end=4.0).reference
    two = problems.acary_ball().reference
    t = np.linspace(0.0, 4.0, 4001)
    np.testing.assert_allclose(one.q(t), two.q(t), rtol=0, atol=4e-15)
    # near the accumulation point a rounding error of t moves an impact: compare away from the impacts
    far = np.min(np.abs(t[:, None] - two.event_times()[None, :]), axis=1) > 1e-12
    np.testing.assert_allclose(one.u(t)[:, far], two.u(t)[:, far], rtol=0, atol=4e-15)


def test_acary_ball_table_and_printed_formula():
    table, r = ACARY["bouncing_ball"], problems.acary_ball().reference
    np.testing.assert_allclose(r.event_times()[:21], table["impact_times"], rtol=0, atol=0)
    against_samples(r, table["samples"], "q", "v", 2e-15)
    for n in range(6):
        # eq. (10) as printed, at the ends and inside of its interval
        for t in (3 - 2.0 ** (1 - n), 3 - 1.6 * 2.0**-n, 3 - 1.01 * 2.0**-n):
            q = -((t - 3) ** 2) - 3 * 2.0**-n * (t - 1) + 2.0 ** (1 - n) * (3 - 2.0**-n)
            assert r.q(t)[0] == pytest.approx(q, abs=1e-15)
            assert r.u(t)[0] == pytest.approx(-2 * (t - 3) - 3 * 2.0**-n, abs=1e-15)
    assert acary_ball.__name__ == "acary_ball"


def test_impact_oscillator_table():
    table = STUDER["oscillator_10_3"]
    problem = problems.impact_oscillator(t_end=8.5)
    r = problem.reference
    np.testing.assert_allclose(r.event_times("impact"), table["impact_times"], rtol=0, atol=1e-14)
    before = np.array([e.u_before[0] for e in r.events])
    np.testing.assert_allclose(before, table["pre_impact_velocities"], rtol=1e-13)
    impulses = 0.1 * (before - np.array([e.u_after[0] for e in r.events]))
    np.testing.assert_allclose(impulses, table["impulses"], rtol=1e-13)
    against_samples(r, table["samples"], "x", "v", 1e-13)


def test_impact_oscillator_motion():
    problem = problems.impact_oscillator()
    residual = smooth_residual(problem, lambda t, q, u: -200 * (q + 0.15), np.linspace(0.01, 4.9, 60), h=2e-4)
    assert residual < 1e-7
    assert np.max(problem.reference.q(np.linspace(0, 5, 5001))) <= 0.0
    # a spring that never reaches the wall
    assert problems.impact_oscillator(x0=-0.2, v0=0.0).reference.events == ()


@pytest.mark.parametrize("case", [1, 2, 3])
def test_acary_oscillator_table(case):
    table = ACARY["oscillator"][case - 1]
    p = table["parameters"]
    problem = problems.acary_oscillator(case=case)
    r = problem.reference
    np.testing.assert_allclose(r.event_times("impact"), table["impact_times"], rtol=0, atol=4e-15)
    before = [e.u_before[0] for e in r.events]
    np.testing.assert_allclose(before, table["pre_impact_velocities"], rtol=1e-13)
    against_samples(r, table["samples"], "q", "v", 4e-15)

    def acceleration(t, q, u):
        return -(p["c"] * u + p["k"] * q) / p["m"]

    assert smooth_residual(problem, acceleration, np.linspace(0.01, 9.9, 60), h=1e-3) < 1e-9


def test_sliding_mass_table():
    table, r = STUDER["sliding_10_2"], problems.sliding_mass().reference
    rows = [{"t": s["t"], "x": s["x"], "u": s["u"]} for s in table["samples"]]
    against_samples(r, rows, "x", "u", 1e-13)
    at_3 = table["state_at_3"]
    np.testing.assert_allclose(r.q(3.0), at_3["x"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(r.u(3.0), at_3["u"], rtol=0, atol=1e-13)
    assert r.event_times("stick")[0] == pytest.approx(table["t_C_stick"], abs=1e-13)
    np.testing.assert_allclose(r.q(4.5), table["x_final"], rtol=0, atol=1e-13)
    assert np.all(r.u(np.array([table["t_C_stick"] + 1e-12, 4.5])) == 0.0)
    # smallest speed on the turn
    t = np.linspace(0.4, 0.55, 20001)
    speed = np.hypot(*r.u(t))
    assert speed.min() == pytest.approx(table["min_speed"], abs=1e-9)
    assert t[speed.argmin()] == pytest.approx(table["t_A_min_speed"], abs=2e-5)


@pytest.mark.parametrize("friction", [0.5, 1.0, 1.25624689, 2.0, 2.5124689052802225, 4.0])
def test_sliding_mass_motion(friction):
    # kappa below 1/2, near 1/2 and 1 (integrals degenerate), above 1 (the mass stops while the force acts)
    problem = problems.sliding_mass(friction=friction)
    F = np.array([-2.5, -0.25])

    def acceleration(t, q, u):
        speed = np.hypot(*u)
        drive = F if t < 3.0 else np.zeros(2)
        return np.zeros(2) if speed == 0.0 else drive - friction * u / speed

    times = np.concatenate((np.linspace(0.02, 0.4, 12), np.linspace(0.6, 4.4, 20)))
    times = times[np.abs(times - 3.0) > 1e-2]
    assert smooth_residual(problem, acceleration, times) < 1e-8
    assert sliding_mass.__name__ == "sliding_mass"


def test_sliding_mass_stops_under_weak_force():
    turn = Turn((-2.5, -0.25), (2.0, -0.2), 4.0)
    r = problems.sliding_mass(friction=4.0).reference
    assert r.events[0].kind == "stick" and r.events[0].t == pytest.approx(turn.t_stop)
    assert np.hypot(*r.u(turn.t_stop * (1 - 1e-9))) < 1e-7
    assert problems.sliding_mass(ux0=2.5, uy0=0.25).reference is None


@pytest.mark.parametrize(("friction", "kind"), [(0.4, "stick"), (0.2, "reversal"), (0.0, "reversal")])
def test_incline_block(friction, kind):
    problem = problems.incline_block(friction=friction)
    a = np.deg2rad(20.0)
    r = problem.reference
    assert [e.kind for e in r.events] == [kind]

    def acceleration(t, q, u):
        if u[0] == 0.0:
            return np.zeros(2)
        return np.array([-9.81 * (np.sin(a) + np.sign(u[0]) * friction * np.cos(a)), 0.0])

    assert smooth_residual(problem, acceleration, np.linspace(0.01, 0.98, 30)) < 1e-9
    t_stop = 2.0 / (9.81 * (np.sin(a) + friction * np.cos(a)))
    assert r.events[0].t == pytest.approx(t_stop, rel=1e-15)
    # energy: the work of friction on the way up
    rise = r.q(t_stop)[0]
    assert 0.5 * 2.0**2 == pytest.approx(9.81 * rise * (np.sin(a) + friction * np.cos(a)), rel=1e-14)
    assert incline_block.__name__ == "incline_block"


@pytest.mark.parametrize("falling", [0.0, 0.1, 0.4])
def test_belt_oscillator_motion(falling):
    problem = problems.belt_oscillator(falling=falling)
    r = problem.reference

    def acceleration(t, q, u):
        gamma = u[0] - 0.5
        if gamma == 0.0:
            assert abs(4.0 * q[0]) <= 1.0 + 1e-12
            return np.zeros(1)
        return np.array([-4.0 * q[0] - np.sign(gamma) * (1.0 - falling * abs(gamma))])

    assert smooth_residual(problem, acceleration, np.linspace(0.01, 19.9, 200), h=1e-3) < 1e-8
    kinds = [e.kind for e in r.events]
    assert kinds.count("reversal") >= 1 and "stick" in kinds
    for event in r.events:
        # position and velocity are continuous; the slip velocity vanishes there
        assert r.u(event.t)[0] == pytest.approx(0.5, abs=1e-13)
        np.testing.assert_allclose(r.q(event.t), r.q(event.t - 1e-9) + 0.5e-9, rtol=0, atol=1e-15)
    assert belt_oscillator.__name__ == "belt_oscillator"


def test_belt_oscillator_limit_cycle():
    r = problems.belt_oscillator(t_end=60.0).reference
    sticks = r.event_times("stick")[1:]
    periods = np.diff(sticks)
    np.testing.assert_allclose(periods, periods[0], rtol=1e-13)
    # the friction force would become negative: no reference
    assert problems.belt_oscillator(falling=1.5).reference is None
    # Coulomb friction: sticks once, then slips for ever and only touches the velocity of the belt
    coulomb = Belt(1.0, 4.0, 1.0, 0.0, 0.5).phases(0.0, 0.5, 100.0)
    assert [p.side for p in coulomb] == [0, 1]


def test_reference_shapes_and_deviation():
    for name in problems.names():
        problem = problems.get(name)
        r = problem.reference
        if r is None or r.q is None:
            continue
        t = np.linspace(*problem.t_span, 7)
        assert r.q(t).shape == (problem.q0.size, 7) and r.u(t).shape == (problem.u0.size, 7)
        assert r.q(0.0).shape == (problem.q0.size,)
        np.testing.assert_array_equal(r.q(0.0), problem.q0)
        np.testing.assert_allclose(r.u(0.0), problem.u0, rtol=0, atol=1e-15)
        assert r.deviation(t, r.q(t), r.u(t)) == {"max_q": 0.0, "mean_u": 0.0, "points": 7}
        shifted = r.deviation(t, r.q(t) + 0.5, r.u(t) - 0.25)
        assert shifted["max_q"] == pytest.approx(0.5) and shifted["mean_u"] == pytest.approx(0.25)


def test_bad_parameters_are_named():
    with pytest.raises(RangeError, match=r"`restitution`.*1\.5.*\[0, 1\]"):
        problems.falling_ball(restitution=1.5)
    with pytest.raises(RangeError, match="`case`"):
        problems.acary_oscillator(case=4)
    with pytest.raises(RangeError, match="`start`"):
        problems.woodpecker(start="exact")
    with pytest.raises(RangeError, match="m_M"):
        problems.woodpecker(m_M=-1.0)
    with pytest.raises(InputError, match="Did you mean 'woodpecker'"):
        problems.get("woodpeker")
