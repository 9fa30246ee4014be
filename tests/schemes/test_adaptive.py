"""Adaptive steps around any scheme: tolerances, orders, chains of base steps, scales, bad input."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError, NonFiniteError, RangeError
from nonsmooth.results.norms import grid_error

BASES = ["theta", "moreau", ns.Theta(dt=1e-3, theta=1.0), ns.SchatzmanPaoli(dt=1e-3)]
OSCILLATOR = ns.problems.acary_oscillator(case=1, t_end=5.0)


def run(tol, base="theta", **more):
    return OSCILLATOR.simulate(method=ns.AdaptiveMoreau(tol, base=base, **more))


def error(result):
    return grid_error(result.t, result.q, OSCILLATOR.reference.q)


@pytest.mark.parametrize("base", BASES, ids=lambda b: b if isinstance(b, str) else b.name)
def test_tolerance_is_followed_through_impacts(base):
    """Sec. 4 of Acary 2012: a smaller tolerance costs more and gives less error; the audit is that of the base scheme."""
    coarse, fine = run(1e-2, base), run(1e-4, base)
    assert error(fine) < 0.3 * error(coarse)
    assert fine.nbase > coarse.nbase > 3
    for result in (coarse, fine):
        assert result.audit.ok, result.audit.failures()
        assert result.audit.steps_checked > 0


def test_steps_are_halves_of_accepted_ones():
    """(57): three base steps per trial, two of them handed out; steps grow by alpha_max at most."""
    result = run(1e-3)
    dt = result.dt[1:].reshape(-1, 2)
    assert np.allclose(dt[:, 0], dt[:, 1], rtol=1e-9)
    assert result.nbase == 3 * (dt.shape[0] + result.nrejected)
    assert np.max(dt[1:, 0] / dt[:-1, 0]) <= 5.0 * (1 + 1e-9)


def test_order_of_smooth_motion_is_used_by_the_event_aware_variant():
    """Without events the local error of theta = 1/2 is O(h^3): steps follow the cube root of the tolerance; with (61) they follow it, too,
    but by steps that are rejected."""
    swing = ns.MechanicalSystem(1.0, lambda t, q, u: -q)
    steps = {}
    for tol in (1e-4, 1e-7):
        method = ns.AdaptiveMoreau(tol, event_aware=True)
        steps[tol] = ns.simulate(swing, (0, 20), [1.0], [0.0], method=method)
    assert steps[1e-7].nsteps / steps[1e-4].nsteps == pytest.approx(10.0, rel=0.25)
    plain = ns.simulate(swing, (0, 20), [1.0], [0.0], method=ns.AdaptiveMoreau(1e-7))
    assert plain.nrejected > 3 * steps[1e-7].nrejected + 3


def test_scales_of_length_and_time_do_not_matter():
    """The same motion in other units takes the same steps."""
    taken = []
    for length, time in ((1.0, 1.0), (1e-6, 1e6), (1e6, 1e-6)):
        ball = ns.MechanicalSystem(
            1.0,
            lambda t, q, u, p: np.array([-p.g]),
            ns.Contact(lambda t, q: q[0], restitution=0.5),
            params={"g": 2.0 * length / time**2},
        )
        taken.append(
            ns.simulate(ball, (0, 2.5 * time), [length], [0.0], method=ns.AdaptiveMoreau(1e-3)).nbase
        )
    assert taken[0] == taken[1] == taken[2]


def test_projection_inside_adaptive_steps():
    """A wrapper does not know what it wraps: positions are on the contact at every step."""
    result = run(1e-3, ns.Theta(dt=1e-3, projection="direct"))
    assert result.q.min() >= 0.0
    assert result.audit.ok, result.audit.failures()


def test_shortest_step_is_taken_if_it_was_asked_for():
    result = run(1e-8, dt_min=1e-3, dt_max=1e-2)
    assert np.min(result.dt[1:-2]) >= 0.5e-3 * (1 - 1e-9)


def test_slips_that_reverse_are_seen():
    """Dry friction on a spring: whole and half steps take a reversal alike, but the error falls with the tolerance."""
    system = ns.MechanicalSystem(
        1.0, lambda t, q, u: -q, friction=ns.FrictionElement(lambda t, q: np.ones(1), 0.3)
    )
    t_end, exact = (
        10.0,
        2.9 * np.cos(10.0) - 0.3,
    )  # turns at multiples of pi, by 0.6 less far from one to the next
    error = []
    for tol in (1e-3, 1e-4, 1e-5):
        run = ns.simulate(system, (0, t_end), [5.0], [0.0], method=ns.AdaptiveMoreau(tol=tol))
        error.append(abs(run.q[0, -1] - exact))
        assert run.audit.ok, run.audit.failures()
    assert error[2] < 2e-3 and error[2] < 0.1 * error[0]


@pytest.mark.parametrize("begin", [0.0, 1e3])
def test_impacts_that_stop_a_slip_take_no_endless_trials(begin):
    """A ball falls on a block that slides: the friction of the impulse stops it, whenever in the step that is."""
    system = ns.MechanicalSystem(
        np.eye(3),
        np.array([0.0, -10.0, -10.0]),
        [
            ns.Contact(
                lambda t, q: q[1], friction=0.3, tangent=lambda t, q: np.array([1.0, 0.0, 0.0]), name="floor"
            ),
            ns.Contact(lambda t, q: q[2] - q[1], restitution=0.5, name="ball"),
        ],
    )
    method = ns.AdaptiveMoreau(1e-5)
    result = ns.simulate(system, (begin, begin + 0.5), [0.0, 0.0, 0.5], [1.2, 0.0, 0.0], method=method)
    t = np.sqrt(0.1)
    assert result.u[0, -1] == 0.0 and result.audit.ok
    assert result.q[0, -1] == pytest.approx(1.2 * t - 1.5 * t**2, rel=1e-4)
    assert result.nsteps + result.nrejected < 1000


def test_events_and_breakpoints():
    """Steps end on breakpoints; impacts are found in the steps they happen in."""
    result = OSCILLATOR.simulate(method=ns.AdaptiveMoreau(1e-4), breakpoints=[2.0])
    assert 2.0 in result.t
    impacts = [event.t for event in result.events if event.kind == "impact"]
    assert impacts == pytest.approx(OSCILLATOR.reference.event_times(), abs=2e-3)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"tol": 0.0}, RangeError),
        ({"tol": float("nan")}, NonFiniteError),
        ({"tol": "fine"}, InputError),
        ({"base": "euler"}, InputError),
        ({"base": ns.ExtrapolatedMoreau()}, InputError),
        ({"alpha_min": 1.5}, RangeError),
        ({"alpha_max": 0.5}, RangeError),
        ({"dt_min": 1.0, "dt_max": 0.1}, RangeError),
        ({"atol": -1.0}, RangeError),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error, match=next(iter(options))):
        ns.AdaptiveMoreau(**{"tol": 1e-3, **options})
