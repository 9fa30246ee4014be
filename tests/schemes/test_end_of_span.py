"""Impacts at the very end of a span: processed there, and a span split at one has the events of the whole."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns

T_FALL = np.sqrt(2 / 9.81)
V = 9.81 * T_FALL


def ball(restitution=0.8):
    return ns.MechanicalSystem(
        np.eye(1),
        lambda t, q, u: np.array([-9.81]),
        contacts=[ns.Contact(lambda t, q: q[0], restitution=restitution, name="floor")],
    )


BALL = ball()


@pytest.mark.parametrize("locate", [True, False])
@pytest.mark.parametrize("shift", [-1e-12, -1e-15, 0.0, 1e-15, 1e-13])
def test_impact_at_the_end(locate, shift):
    t_end = T_FALL + shift
    result = ns.simulate(BALL, (0, t_end), [1.0], [0.0], locate=locate)
    (event,) = result.events
    assert event.kind == "impact" and abs(event.t - T_FALL) < 2e-12 and event.t <= t_end
    assert result.t[-1] == t_end and result.t[-2] == t_end
    np.testing.assert_allclose(result.u[0, -2:], [-V, 0.8 * V], rtol=1e-6)
    assert 0.0 <= result.q[0, -1] < 1e-11
    assert result.audit.worst_gap > -1e-11


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-9, 1e-10])
@pytest.mark.parametrize("shift", [-1e-15, 0.0, 3e-13])
def test_impact_at_the_end_at_every_tolerance(rtol, shift):
    for height in (1.0, 0.7, 2.3):
        t_fall = np.sqrt(2 * height / 9.81)
        result = ns.simulate(BALL, (0, t_fall + shift), [height], [0.0], rtol=rtol)
        assert [event.kind for event in result.events] == ["impact"]
        np.testing.assert_allclose(result.u[0, -1], 0.8 * 9.81 * t_fall, rtol=1e-6)


def test_last_column_is_a_right_limit():
    result = ns.simulate(BALL, (0, T_FALL), [1.0], [0.0], t_eval=[0.0, 0.2, T_FALL])
    assert result.t.tolist() == [0.0, 0.2, T_FALL]
    np.testing.assert_allclose(result.u[0], [0, -0.2 * 9.81, 0.8 * V], rtol=1e-6)
    assert len(result.events) == 1


def test_plastic_impact_at_the_end():
    system = ball(0.0)
    result = ns.simulate(system, (0, T_FALL), [1.0], [0.0])
    assert [event.kind for event in result.events] == ["close"]
    assert abs(result.u[0, -1]) < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rest = ns.simulate(system, (T_FALL, 1), result.q[:, -1], result.u[:, -1])
    assert len(rest.events) == 0 and abs(rest.q[0, -1]) < 1e-9


def test_streamed_and_thinned(tmp_path):
    result = ns.simulate(BALL, (0, T_FALL), [1.0], [0.0], output=tmp_path / "run", every=7)
    assert len(result.events) == 1
    np.testing.assert_allclose(result.u[0, -1], 0.8 * V, rtol=1e-6)


def test_no_impact_where_none_is():
    result = ns.simulate(BALL, (0, T_FALL - 1e-6), [1.0], [0.0])
    assert len(result.events) == 0 and result.u[0, -1] < 0 and np.all(np.diff(result.t[1:]) > 0)
    parting = ns.simulate(BALL, (0, 0.0), [0.0], [1.0])
    assert len(parting.events) == 0


SHIFTS = [0.0, 1e-15, -1e-15, 1e-13, -1e-13, -1e-12, -1e-11, -1e-10, -1e-9]


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.PenetrationWarning")
@pytest.mark.parametrize("locate", [True, False])
def test_a_span_split_near_an_impact_has_the_same_events(locate):
    whole = ns.simulate(BALL, (0, 2), [1.0], [0.0], locate=locate)
    assert [event.kind for event in whole.events] == ["impact"] * 3
    for event in whole.events:
        for shift in SHIFTS:
            t = event.t + shift
            first = ns.simulate(BALL, (0, t), [1.0], [0.0], locate=locate)
            second = ns.simulate(BALL, (t, 2), first.q[:, -1], first.u[:, -1], locate=locate)
            assert [e.kind for e in [*first.events, *second.events]] == ["impact"] * 3
            np.testing.assert_allclose(second.q[0, -1], whole.q[0, -1], atol=1e-6)


@pytest.mark.parametrize(
    "method",
    [
        ns.Moreau(dt=0.05),
        ns.Theta(dt=0.05, theta=0.5),
        ns.Theta(dt=0.05, theta=1.0),
        ns.GeneralizedAlpha(dt=0.05),
        ns.EventCapturing(tableau="radau3", dt=0.05),
        ns.EventCapturing(tableau="lobatto2", dt=0.05),
        ns.ExtrapolatedMoreau(rtol=1e-6),
        ns.EventDriven(rtol=1e-4),
        ns.EventDriven(rtol=1e-4, integrator="Radau"),
        ns.SlidingMode(dt=0.05),
        ns.SlidingMode(rtol=1e-4),
        ns.SlidingMode(rtol=1e-4, integrator="Radau"),
    ],
    ids=lambda method: f"{method.name}-{getattr(method, 'theta', getattr(method, 'tableau', ''))}",
)
def test_a_force_that_jumps_at_a_breakpoint_is_asked_before_it(method):
    """A step that ends on the breakpoint belongs to what was before, whatever the function says of that very instant."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([1.0 if t < 3.3 else -3.0]))
    result = ns.simulate(system, (2.3, 3.8), [0.0], [0.0], method=method, breakpoints=[3.3])
    assert abs(result.u[0, -1] + 0.5) < 1e-12
    assert 3.3 in result.t


@pytest.mark.parametrize("method", [ns.SlidingMode(dt=0.05), ns.SlidingMode(rtol=1e-4), ns.Theta(dt=0.05)])
def test_a_force_that_jumps_behind_a_breakpoint_is_asked_behind_it(method):
    """The same with ``<=``: of the piece that begins there the very instant says nothing."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([1.0 if t <= 3.3 else -3.0]))
    result = ns.simulate(system, (2.3, 3.8), [0.0], [0.0], method=method, breakpoints=[3.3])
    assert abs(result.u[0, -1] + 0.5) < 1e-12


@pytest.mark.parametrize("speed", [2.0, -1.0, 1.00001])
@pytest.mark.parametrize("integrator", ["DOP853", "Radau"])
def test_a_drive_whose_velocity_jumps_at_a_breakpoint_takes_an_impulse(speed, integrator):
    """Two masses with a common inertia, the first one driven: 0.5 dv_0 + dv_1 = 0, a spring between them. (6e-4 off, without it.)"""
    drive = ns.Joint(lambda t, q, p: q[0] - (t if t < 0.5 else 0.5 + p.v * (t - 0.5)), name="drive")
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    system = ns.MechanicalSystem(
        M, lambda t, q, u: np.array([0.0, 5.0 * (q[0] - q[1])]), joints=drive, params={"v": speed}
    )
    scheme = ns.EventDriven(rtol=1e-8, integrator=integrator)
    result = ns.simulate(system, (0, 1), [0.0, 0.0], [1.0, 0.0], method=scheme, breakpoints=[0.5])
    w, v = np.sqrt(5.0), np.array([0.0, -1.0])  # of the second mass against the drive

    def free(x, t):
        return np.array([
            x[0] * np.cos(w * t) + x[1] / w * np.sin(w * t), x[1] * np.cos(w * t) - w * x[0] * np.sin(w * t)
        ])  # fmt: skip

    x = free(free(v, 0.5) - [0.0, 1.5 * (speed - 1.0)], 0.5)
    np.testing.assert_allclose(result.y[[1, 3], -1], x + [0.5 + 0.5 * speed, speed], atol=1e-9)
    assert result.audit.ok


@pytest.mark.parametrize("integrator", ["RKF45", "DOP853", "Radau"])
def test_from_rest_to_rest_under_sliding_mode(integrator):
    """Exact in a few steps (41, and 5 tolerances off, when asked on the breakpoint); no energy at both ends is no alarm."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([1.0 if t < 0.5 else -1.0]))
    scheme = ns.SlidingMode(integrator=integrator, rtol=1e-8)
    result = ns.simulate(system, (0, 1), [1.0], [0.0], method=scheme, breakpoints=[0.5])
    np.testing.assert_allclose(result.y[:, -1], [1.25, 0.0], atol=1e-14)
    assert result.nsteps < 10 and result.audit.ok
