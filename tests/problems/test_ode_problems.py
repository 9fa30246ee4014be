"""The problems for `solve_ivp` against what is known of them."""

import numpy as np
import pytest

from nonsmooth._core.jit import user_kernel
from nonsmooth.errors import RangeError
from nonsmooth.ivp import Switch, solve_ivp
from nonsmooth.problems.bouncing_balls import bouncing_balls
from nonsmooth.problems.diode_circuit import diode_circuit
from nonsmooth.problems.marble_jar import marble_jar, smooth_right_hand_side
from nonsmooth.problems.relay_hysteresis import buck_converter, relay_hysteresis
from nonsmooth.problems.square_wave import closing_events, square_wave, tangential


def run(problem, compile=False, **extra):
    return solve_ivp(
        problem.fun,
        problem.t_span,
        problem.y0,
        switches=problem.switches,
        compile=compile,
        **{**problem.options, **extra},
    )


@pytest.mark.parametrize(
    "problem",
    [
        square_wave(),
        tangential(0.35),
        tangential(0.40),
        tangential(0.41),
        tangential(0.45),
        closing_events(),
        relay_hysteresis(),
    ],
    ids=lambda p: p.name,
)
def test_event_times(problem):
    result = run(problem, rtol=1e-10, atol=1e-12)
    times = [event.t for event in result.events if not event.extra.get("start")]
    np.testing.assert_allclose(times, problem.reference["t_events"], rtol=1e-8, atol=1e-12)


def test_balls_with_and_without_region_of_concurrency():
    problem = bouncing_balls()
    alone = run(problem, compile=True)
    together = run(problem, compile=True, concurrency=(1e-7, 1e-6))
    assert len(alone.events) == len(together.events) == 1200

    def right_hand_sides(result):  # as Compere 2001 counts them
        instants = len({event.t for event in result.events})
        return 6 * (result.nsteps + result.nrejected + result.niterations) + 2 * instants + 1

    assert right_hand_sides(together) <= 650
    assert 20_000 <= right_hand_sides(alone) <= 31_500
    np.testing.assert_allclose(alone.y[:, -1], together.y[:, -1], atol=1e-3)
    first = sorted(event.t for event in alone.events)[:2]
    assert first[0] == pytest.approx(problem.reference["t_first"], abs=1e-9)
    assert first[1] - first[0] == pytest.approx(problem.reference["spacing"], rel=1e-3)


def test_balls_with_restitution_stay_above_the_floor():
    problem = bouncing_balls(4, "restitution", offset=1e-3, t_end=2.0)
    result = run(problem)
    assert result.y[:4].min() >= 0.0 and len(result.events) >= 12


@pytest.mark.parametrize("contact", ["spring", "restitution"])
@pytest.mark.parametrize("compile", [False, True])
def test_one_ball(contact, compile):
    problem = bouncing_balls(1, contact, t_end=1.2)
    result = run(problem, compile)
    assert result.success and result.events[0].t == pytest.approx(problem.reference["t_first"], abs=1e-9)
    assert [event.name for event in result.events] == ["ball"] * len(result.events)
    if contact == "restitution":  # flights of 2 e v/g
        assert len(result.events) == 2
        assert result.events[1].t == pytest.approx(2.6 * problem.reference["t_first"], abs=1e-6)
    with pytest.raises(RangeError, match="`n`"):
        bouncing_balls(0)


def test_marble_jar_against_a_smooth_solver():
    # Compere 2001, Table 5.6 and Fig. 5.12, counted as there: about 4.6 times fewer right-hand sides for two
    # marbles, and an energy that varies by an order less.
    problem = marble_jar(2, t_end=4.0)
    result = run(problem, compile=True)
    never = Switch(user_kernel(lambda t, y: 1.0), name="never")
    plain = solve_ivp(
        smooth_right_hand_side(problem),
        problem.t_span,
        problem.y0,
        switches=[never],
        compile=True,
        **problem.options,
    )
    instants = len({event.t for event in result.events})
    here = 6 * (result.nsteps + result.nrejected + result.niterations) + 2 * instants + 1
    smooth = 6 * (plain.nsteps + plain.nrejected) + 1
    spread = [np.ptp([problem.energy(y) for y in run.y.T]) for run in (plain, result)]
    assert smooth >= 4.5 * here and spread[0] >= 10.0 * spread[1]


def test_marble_jar_conserves_energy():
    problem = marble_jar(2, t_end=1.5)
    result = run(problem, compile=True)
    energies = [problem.energy(y) for y in result.y.T]
    assert result.success and np.ptp(energies) < 1e-3 * abs(energies[0])
    assert problem.reference["n_g"] == 5 and marble_jar(16).reference["n_g"] == 152


def test_circuits():
    result = run(diode_circuit(1.0), rtol=1e-6, atol=1e-8)
    assert result.success and len(result.events) >= 4
    result = run(buck_converter(), rtol=1e-6, atol=1e-8)
    assert result.success and len([event for event in result.events if event.name == "ramp"]) == 10
