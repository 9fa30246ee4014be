"""Moreau runs of the benchmark problems: switching incidents, errors against the reference, orders."""

import sys
from pathlib import Path

import numpy as np
import pytest

from nonsmooth import ExtrapolatedMoreau, problems
from nonsmooth.problems.woodpecker import data

sys.path.insert(0, str(Path(__file__).parent))
import naive_woodpecker


def mean_velocity_error(problem, dt, t_end=None):
    """L1 distance of the velocity from the closed form, by the length of time."""
    span = (0.0, problem.t_span[1] if t_end is None else t_end)
    result = problem.simulate(span, dt=dt, audit=False)
    return problem.reference.deviation(result.t, result.q, result.u)["mean_u"]


def incidents(result, dt):
    """(t, kind, name) of the events; sticking for a single step inside a reversal counts as the reversal."""
    found = [(event.t, event.kind, event.name) for event in result.events]
    merged = []
    while found:
        head = found.pop(0)
        if (
            head[1] == "stick"
            and found
            and found[0][1:] == ("slip", head[2])
            and found[0][0] - head[0] < 1.5 * dt
        ):
            head = (found.pop(0)[0], "reversal", head[2])
        merged.append(head)
    return merged


def order(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.parametrize("name", ["falling_ball", "acary_ball"])
def test_order_one_through_the_accumulation_point(name):
    problem = problems.get(name)
    steps = 4e-3 * problem.t_span[1] / 2.0 ** np.arange(7)  # six halvings
    # the error depends on where in a step an impact falls: average over steps of nearly the same size
    errors = [np.mean([mean_velocity_error(problem, dt * f) for f in (0.9, 1.0, 1.1)]) for dt in steps]
    assert abs(order(steps, errors) - 1.0) < 0.15


def test_falling_ball_rests_without_drift():
    problem = problems.falling_ball(t_end=3.0)
    result = problem.simulate(dt=1e-3)
    rest = result.t > 0.75
    assert np.max(np.abs(result.u[0, rest])) < 1e-15  # gravity times dt is 1e-2: nothing but rounding
    assert np.ptp(result.q[0, rest]) < 1e-18
    assert abs(np.mean(result.q[0, -500:]) - result.q[0, rest][0]) < 1e-18  # and no creep
    assert abs(result.q[0, -1]) < 1.2e-3  # one step of the impact velocity
    kinds = [event.kind for event in result.events]
    assert kinds[-1] == "close" and set(kinds[:-1]) == {"impact"}


def test_impacts_of_the_oscillators():
    for problem in [problems.impact_oscillator(), *(problems.acary_oscillator(case=c) for c in (1, 2, 3))]:
        result = problem.simulate(dt=2e-4)
        found = [(event.kind, event.name) for event in result.events]
        assert found == [(event.kind, event.name) for event in problem.reference.events]
        times = np.array([event.t for event in result.events])
        np.testing.assert_allclose(times, problem.reference.event_times(), rtol=0, atol=4e-3)


def test_sliding_mass_sticks_in_time_and_stays():
    problem = problems.sliding_mass()
    t_stick = problem.reference.event_times("stick")[0]
    # within one step of t_C; the coarse step also has a visible error in the speed at t = 3
    for dt, within in ((4e-3, 1.5), (1e-3, 1.0), (2.5e-4, 1.0)):
        result = problem.simulate(dt=dt)
        stick = [event.t for event in result.events if event.kind == "stick"]
        assert len(stick) == 1 and abs(stick[0] - t_stick) <= within * dt
        after = result.t > stick[0] + dt
        assert np.all(result.u[:, after] == 0.0)
        assert np.all(np.ptp(result.q[:, after], axis=1) == 0.0)
        # on the disk's edge while it slips: |P| = a dt
        slips = (result.modes[0] == 2) & (result.t > 0)
        size = np.hypot(*result.P_T[:, slips])
        np.testing.assert_allclose(size, 2.0 * result.dt[slips], rtol=1e-12)
        assert np.any(np.isclose(result.t, 3.0, rtol=0, atol=0))


@pytest.mark.parametrize(
    ("problem", "dt"),
    [
        (problems.incline_block(friction=0.4), 1e-3),
        (problems.incline_block(friction=0.2), 1e-3),
        (problems.belt_oscillator(), 5e-4),
    ],
    ids=["sticks", "slides back", "belt"],
)
def test_stick_slip_and_reversal(problem, dt):
    result = problem.simulate(dt=dt)
    found, wanted = incidents(result, dt), problem.reference.events
    assert [row[1:] for row in found] == [(event.kind, event.name) for event in wanted]
    np.testing.assert_allclose([row[0] for row in found], [event.t for event in wanted], rtol=0, atol=10 * dt)
    # sticking means moving with the surface exactly
    surface = 0.5 if problem.name == "belt_oscillator" else 0.0
    sticks = result.modes[-1] == 1
    assert np.all(np.abs(result.u[0, sticks] - surface) <= 1e-15)


def test_orders_of_the_friction_problems():
    steps = 4e-3 / 2.0 ** np.arange(5)
    for name in ("sliding_mass", "belt_oscillator"):
        problem = problems.get(name)
        errors = [mean_velocity_error(problem, dt) for dt in steps]
        assert order(steps, errors) > 0.85


def test_woodpecker_equals_the_plain_loop():
    problem = problems.woodpecker()
    result = problem.simulate(dt=2e-5, audit=False)
    Q, U, P_N, P_T = naive_woodpecker.run(np.array(problem.q0), np.array(problem.u0), 2e-5, 20000)
    np.testing.assert_allclose(result.q, Q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.u, U, rtol=0, atol=1e-7)
    np.testing.assert_allclose(result.P_N, P_N, rtol=0, atol=1e-11)
    np.testing.assert_allclose(result.P_T, P_T, rtol=0, atol=1e-11)


@pytest.mark.parametrize("start", ["literal", "consistent"])
def test_woodpecker_incidents_of_table_vii(start):
    problem = problems.woodpecker(start=start)
    result = problem.simulate(dt=2e-5)
    wanted = [event for event in problem.reference.events if event.t < 0.4]
    assert [(e.kind, e.name) for e in result.events] == [(e.kind, e.name) for e in wanted]
    times = np.array([event.t for event in result.events])
    np.testing.assert_allclose(times, [event.t for event in wanted], rtol=0, atol=1e-3)
    assert result.audit.ok


def test_woodpecker_converges_to_the_reference():
    """Order 1 in L1 over six halvings, each coordinate and each velocity; instants dense enough to see shifted jumps."""
    problem = problems.woodpecker(start="consistent")
    t = np.linspace(0.0, 0.14, 70_001)[1:]
    exact = problem.simulate(
        (0.0, 0.14), t_eval=t, audit=False, method=ExtrapolatedMoreau(rtol=1e-10, dt_min=1e-9)
    )
    at = [np.argmin(np.abs(t - x)) for x in (0.05, 0.1)]
    assert problem.reference.deviation(t[at], exact.q[:, at], exact.u[:, at])["max_q"] < 1e-7

    steps = 8e-5 / 2.0 ** np.arange(7)
    errors = np.zeros((7, 6))
    for row, dt in zip(errors, steps):
        # the error jumps with the place of the impacts in a step: average over neighbouring steps
        for f in (1, 0.93, 0.87, 0.81):
            run = problem.simulate((0.0, 0.14), dt=dt * f, t_eval=t, audit=False)
            row += (
                np.concatenate([np.abs(run.q - exact.q).mean(axis=1), np.abs(run.u - exact.u).mean(axis=1)])
                / 4
            )
    for component in range(6):
        assert abs(order(steps, errors[:, component]) - 1.0) < 0.15


def test_woodpecker_settles_on_the_periodic_orbit():
    orbit = data()["periodic_orbit"]
    problem = problems.woodpecker(start="consistent")
    result = problem.simulate((0.0, 8.0), dt=5e-6, every=50, audit=False)
    sticks = np.array([e.t for e in result.events if (e.kind, e.name) == ("stick", "lower sleeve friction")])
    heights = np.interp(sticks, result.t, result.q[0])
    # mean over the last twenty cycles: the orbit attracts slowly and alternately (multiplier -0.84)
    assert (sticks[-1] - sticks[-21]) / 20 == pytest.approx(orbit["period"], abs=4e-5)
    assert (heights[-1] - heights[-21]) / 20 == pytest.approx(orbit["drop_per_period"], rel=1e-3)
