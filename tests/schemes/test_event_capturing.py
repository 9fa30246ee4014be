"""Event capturing: orders on closed forms, curved constraints, friction, joints; what it refuses."""

import math
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import EventCapturing
from nonsmooth.errors import (
    InconsistentStateError,
    InputError,
    NonFiniteError,
    PenetrationWarning,
    RangeError,
    ZenoWarning,
)
from nonsmooth.integrators.stage_tables import TABLES, stage_table


def run(system, span, q0, u0, method, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        return ns.simulate(system, span, q0, u0, method=method, max_steps=20000, **options)


def order(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def test_order_with_forces_far_from_linear():
    """The tangent of one step and the slopes of the one before serve the next only where the result shows that they do."""
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([-5.0 * np.sinh(3.0 * q[0]) - 0.3 * u[0] ** 3]),
        ns.Contact(lambda t, q: q[0] + 0.6, restitution=0.8),
    )

    def end(tableau, steps):
        method = EventCapturing(tableau, dt=4.0 / steps)
        return run(system, (0, 4), [1.0], [0.0], method, audit=False).q[0, -1]

    exact, steps = end("lobatto6", 4000), (200, 400, 800)
    errors = [abs(end("radau5", n) - exact) for n in steps]
    assert errors[-1] < 1e-10
    assert order([1.0 / n for n in steps], errors) > 4.7


# -- Acary's examples ----------------------------------------------------------------------------------------------------

OSCILLATOR = ns.MechanicalSystem(
    1.0, lambda t, q, u: np.array([-0.2 * u[0] - 4.0 * q[0]]), ns.Contact(lambda t, q: q[0], restitution=0.7)
)
HALF_PERIOD = math.pi / math.sqrt(4.0 - 0.01)


def oscillator_after(t):
    """Position of the oscillator that starts on the wall with speed 1."""
    k = int(t / HALF_PERIOD)
    s = t - k * HALF_PERIOD
    speed = (0.7 * math.exp(-0.1 * HALF_PERIOD)) ** k
    omega = math.pi / HALF_PERIOD
    return speed * math.exp(-0.1 * s) * math.sin(omega * s) / omega


CASES = {
    "lobatto2": (40, 80), "radau3": (40, 80), "lobatto4": (25, 50), "radau5": (20, 40), "lobatto6": (32, 64),
    "midpoint2": (40, 80), "kutta3": (40, 80), "rk4": (30, 60), "RK45": (60, 120),
}  # fmt: skip


@pytest.mark.parametrize("critical_order", [0, 1, 2, 3])
@pytest.mark.parametrize("tableau", CASES)
def test_order_across_impacts(tableau, critical_order):
    end, errors = 5.0, []
    for n in CASES[tableau]:
        method = EventCapturing(tableau, dt=end / n, critical_order=critical_order)
        result = run(OSCILLATOR, (0, end), [0.0], [1.0], method, audit=False)
        assert [event.kind for event in result.events] == ["impact"] * 3
        errors.append(abs(result.q[0, -1] - oscillator_after(end)))
    p = stage_table(tableau).order
    assert p - 0.3 < order(1 / np.array(CASES[tableau]), errors) < p + 0.7


BALL = ns.MechanicalSystem(1.0, -2.0, ns.Contact(lambda t, q: q[0], restitution=0.5))


@pytest.mark.parametrize("tableau", ["lobatto2", "radau3", "lobatto4", "radau5", "lobatto6"])
def test_order_of_the_critical_steps_through_an_accumulation(tableau):
    """Flights of the ball are exact: what is left is Moreau's step over C T (h/T)^(p+1), in the first instants of the last flights."""
    p, steps, errors = stage_table(tableau).order, np.array([5, 7, 9, 11]), []
    for n in steps:  # (odd: no instant of the grid is one of an impact)
        result = run(
            BALL, (0, 4), [1.0], [0.0], EventCapturing(tableau, dt=4 / n, critical=1e-3), audit=False
        )
        kinds = [event.kind for event in result.events if event.kind != "zeno"]
        assert kinds == ["impact"] * (len(kinds) - 1) + ["close"]
        errors.append(abs(result.events[4].t - (3 - 2.0**-3)))
    assert abs(order(1 / steps, errors) - (p + 1)) < 0.3


def test_a_critical_method_of_higher_order_needs_no_short_critical_steps():
    """The instants of impacts with brackets of (h/T)^((p+1)/(q+1)): order p for every q, although those of q = 3 are 1e4 times longer."""
    for q in range(4):
        errors = []
        for n in (32, 64):
            method = EventCapturing("lobatto4", dt=5.0 / n, critical_order=q, critical=1.0)
            result = run(OSCILLATOR, (0, 5), [0.0], [1.0], method, audit=False)
            errors.append(abs(result.events[2].t - 3 * HALF_PERIOD))
        assert order([2, 1], errors) > 3.7


@pytest.mark.parametrize("critical_order", [0, 1, 2, 3])
@pytest.mark.parametrize("tableau", ["radau3", "lobatto6", "rk4"])
def test_ball_through_its_accumulation(tableau, critical_order):
    """Acary's example 1: at rest from t = 3 on; every rebound that is worth it is there, and the forecast is right."""
    method = EventCapturing(tableau, dt=0.07, critical_order=critical_order)
    result = run(BALL, (0, 4), [1.0], [0.0], method)
    assert abs(result.q[0, -1]) < 1e-14 and abs(result.u[0, -1]) < 1e-14
    impacts = [event.t for event in result.events if event.kind == "impact"]
    assert len(impacts) > 8
    assert np.max(np.abs(np.array(impacts) - (3 - 2.0 ** (1.0 - np.arange(len(impacts)))))) < 1e-7
    closed = [event.t for event in result.events if event.kind == "close"]
    assert len(closed) == 1 and abs(closed[0] - 3.0) < 1e-7
    assert result.audit.ok, str(result.audit)
    assert any("forecast of impacts" in note for note in result.audit.notes)


# -- curved constraints and friction ---------------------------------------------------------------------------------------


def pendulum_mass(t, q):
    c = np.cos(q[0] - q[1])
    return np.array([[2.0, c], [c, 1.0]])


def pendulum_force(t, q, u):
    s = np.sin(q[0] - q[1])
    return np.array([-s * u[1] ** 2 - 2 * 9.81 * np.sin(q[0]), s * u[0] ** 2 - 9.81 * np.sin(q[1])])


PENDULUM = ns.MechanicalSystem(
    pendulum_mass, pendulum_force, ns.Contact(lambda t, q: np.sin(q[0]) + np.sin(q[1]) + 0.2)
)
INSTANTS = np.array([0.7313989188762, 1.2020129489193, 1.2568919737577])


def pendulum(method, **options):
    return run(PENDULUM, (0, 1.5), [0.6, 0.9], [0.0, 0.0], method, **options)


@pytest.mark.parametrize(
    "tableau",
    ["lobatto2", "radau3", "lobatto4", "radau5", "lobatto6", "midpoint2", "kutta3", "rk4", "RK45"],
)
def test_order_with_sustained_contact_on_a_curved_constraint(tableau):
    """Impact, closing and release of the double pendulum at the wall, to the order of the method."""
    p = stage_table(tableau).order
    steps, errors = (160, 320) if p < 5 else (80, 160), []
    for n in steps:
        result = pendulum(EventCapturing(tableau, dt=1.5 / n), audit=False)
        assert [event.kind for event in result.events] == ["impact", "close", "open"]
        errors.append(np.max(np.abs(np.array([event.t for event in result.events]) - INSTANTS)))
    assert order(1 / np.array(steps), errors) > p - 0.3
    assert p < 5 or errors[-1] < 1e-9


def test_forms_and_stages_agree():
    """The forms hold the wall each in their way and converge to one motion; complementarity finds the release, too."""
    options = [{}, {"form": "index-1"}, {"form": "index-2"}, {"stages": "complementarity"}]
    for tableau in ("radau5", "RK45"):
        ends = [pendulum(EventCapturing(tableau, dt=0.01, **chosen)) for chosen in options]
        for result, chosen in zip(ends, options):
            assert [event.kind for event in result.events] == ["impact", "close", "open"], chosen
            assert np.max(np.abs(result.y[:, -1] - ends[0].y[:, -1])) < 1e-7
        assert ends[0].audit.ok, str(ends[0].audit)


def test_without_the_acceleration_term_nothing_converges():
    exact = pendulum(EventCapturing("lobatto6", dt=0.01), audit=False).q[:, -1]
    errors = [
        np.max(np.abs(pendulum(EventCapturing("radau5", dt=dt, form="index-1", acceleration_term=False), audit=False).q[:, -1] - exact))
        for dt in (0.02, 0.01, 0.005)
    ]  # fmt: skip
    assert errors[-1] > 1e-4 and abs(order([4, 2, 1], errors)) < 0.1


BELT = ns.MechanicalSystem(
    1.0,
    lambda t, q, u: np.array([-4.0 * q[0] - 0.1 * u[0]]),
    friction=ns.FrictionElement(lambda t, q: np.array([1.0]), 1.5, surface_velocity=lambda t, q: -0.4),
)


STICKS_SLIPS = np.array([1.7496733355439, 3.0786944187313])


@pytest.mark.parametrize(
    "tableau", ["lobatto2", "radau3", "lobatto4", "radau5", "lobatto6", "kutta3", "rk4", "RK45"]
)
def test_order_of_stick_and_slip_on_a_belt(tableau):
    p, errors = stage_table(tableau).order, []
    steps = np.array([320, 640] if p < 5 else [160, 240])
    for n in steps:
        result = run(BELT, (0, 8), [1.0], [0.0], EventCapturing(tableau, dt=8 / n), audit=False)
        assert [event.kind for event in result.events] == ["stick", "slip"]
        errors.append(np.max(np.abs([event.t for event in result.events] - STICKS_SLIPS)))
    assert p - 0.3 < order(1 / steps, errors) < p + 0.5
    assert p < 5 or errors[-1] < 2e-9


@pytest.mark.parametrize("tableau", TABLES)
def test_stick_and_slip_on_a_belt(tableau):
    """Two events, decided by accelerations, whatever the method."""
    dt = 1e-3 if stage_table(tableau).order < 3 else 0.02
    result = run(BELT, (0, 8), [1.0], [0.0], EventCapturing(tableau, dt=dt), audit=False)
    assert [event.kind for event in result.events] == ["stick", "slip"]
    tolerance = 5e-2 if tableau == "radau1" else 1e-4
    assert np.max(np.abs([event.t for event in result.events] - STICKS_SLIPS)) < tolerance


def test_tolerance_instead_of_a_step():
    errors = []
    for rtol in (1e-5, 1e-8, 1e-11):
        for tableau in ("radau5", "RK45"):
            result = pendulum(EventCapturing(tableau, rtol=rtol))
            assert result.audit.ok, str(result.audit)
            errors.append(np.max(np.abs(np.array([event.t for event in result.events]) - INSTANTS)))
            assert errors[-1] < 300 * rtol + 1e-12
    assert len(result.events) == 3


def test_stiff_forces_do_not_hold_steps_down():
    """A light, stiffly damped mass that follows sin t beside the one that impacts: the filtered error lets steps grow."""
    system = ns.MechanicalSystem(
        np.eye(2),
        lambda t, q, u: np.array([-1e6 * (q[0] - np.sin(t)) - 4e3 * u[0], 10.0 * (q[0] - q[1]) - 4.0 * q[1] - 0.2 * u[1]]),
        ns.Contact(lambda t, q: q[1] + 0.2, restitution=0.6),
    )  # fmt: skip
    results = [
        run(system, (0, 3), [0.0, 1.0], [1.0, 0.0], EventCapturing(tableau, rtol=1e-6), audit=False)
        for tableau in ("radau5", "lobatto6")
    ]
    for result in results:
        assert result.nsteps < 250  # an explicit method takes more than 5000
        assert [event.kind for event in result.events] == ["impact"]
        assert np.max(np.abs(result.q[:, -1] - results[1].q[:, -1])) < 1e-5


# -- units, joints, moving walls, bad input ---------------------------------------------------------------------------------


def in_units(L, T, M):
    """A ball on a spring above a floor, thrown up, that comes to rest there; in other units."""
    system = ns.MechanicalSystem(
        M,
        lambda t, q, u, p: np.array([-p.k * q[0] - p.w]),
        ns.Contact(lambda t, q: q[0], restitution=0.5),
        params=dict(k=M * 3.0 / T**2, w=M * L / T**2),
    )
    return run(
        system, (0, 6 * T), [0.7 * L], [0.3 * L / T], EventCapturing("radau3", dt=0.05 * T), audit=False
    )


def test_units_do_not_matter():
    here = in_units(1.0, 1.0, 1.0)
    assert {event.kind for event in here.events[-2:]} == {"zeno", "close"}
    for unit in (1e-6, 1e6):
        for units in ((unit, 1.0, 1.0), (1.0, unit, 1.0), (1.0, 1.0, unit)):
            there = in_units(*units)
            assert [event.kind for event in there.events] == [event.kind for event in here.events]
            assert there.nsteps == here.nsteps
            assert np.max(np.abs([a.t / units[1] - b.t for a, b in zip(there.events, here.events)])) < 1e-9


def test_opens_out_of_an_overlap():
    """A contact that started in overlap keeps its surface when it opens: stages of the flight lie above that, not below zero."""
    system = ns.MechanicalSystem(
        1.0, lambda t, q, u: np.array([50.0 * (t - 0.1)]), ns.Contact(lambda t, q: q[0], restitution=0.5)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenetrationWarning)
        result = run(system, (0, 0.3), [-1e-4], [0.0], EventCapturing("radau5", dt=0.01))
    assert abs(result.events[0].t - 0.1) < 1e-9
    assert abs(result.q[0, -1] - (-1e-4 + 50.0 * 0.2**3 / 6.0)) < 1e-9


def test_accumulation_on_a_floor_that_moves():
    """Moreau's step looks at gaps and floor at one instant: how fast both move does not shift the surface."""
    e, g, v, speed = 0.6, 9.81, 1.0, 40.0
    system = ns.MechanicalSystem(1.0, -g, ns.Contact(lambda t, q: q[0] - 40.0 * t, restitution=e))
    result = run(system, (0, 1), [0.0], [speed + v], EventCapturing("radau5", rtol=1e-9))
    closed = next(event.t for event in result.events if event.kind == "close")
    assert abs(closed - 2.0 * v / g / (1.0 - e)) < 3e-9


def test_accumulation_below_a_body_that_falls():
    """A gap that has just opened and one that is far are both watched: their least is no line, but the instants are those of the ball."""
    e, g, h = 0.5, 9.81, 0.2
    system = ns.MechanicalSystem(
        np.eye(2),
        [-g, -g],
        [
            ns.Contact(lambda t, q: q[0], restitution=e, name="floor"),
            ns.Contact(lambda t, q: q[1] - q[0] - 0.5, restitution=e, name="upper"),
        ],
    )
    first = math.sqrt(2.0 * h / g)
    for rtol in (1e-8, 1e-10):
        result = run(system, (0, 0.62), [h, 2.4], [0.0, 0.0], EventCapturing(rtol=rtol))
        impacts = [event.t for event in result.events if event.kind == "impact"]
        exact = [first * (1.0 + 2.0 * sum(e**j for j in range(1, k + 1))) for k in range(len(impacts))]
        assert np.max(np.abs(np.subtract(impacts, exact))) < max(10.0 * rtol, 1e-9)
        closed = next(event.t for event in result.events if event.kind == "close")
        assert abs(closed - first * (1.0 + e) / (1.0 - e)) < max(10.0 * rtol, 2e-9)
        assert result.audit.ok


def test_joint_and_moving_wall():
    """A pendulum in Cartesian coordinates (a bilateral joint) against a wall that moves sinusoidally."""
    system = ns.MechanicalSystem(
        np.eye(2),
        [0.0, -9.81],
        ns.Contact(lambda t, q: q[0] + 0.3 + 0.05 * np.sin(3.0 * t), restitution=0.6),
        joints=[ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)],
    )
    start = [math.sin(0.8), -math.cos(0.8)], [0.0, 0.0]
    fine = run(system, (0, 2), *start, "event-driven", rtol=1e-12, audit=False)
    result = run(system, (0, 2), *start, EventCapturing("radau5", dt=0.01))
    assert len(result.events) == len(fine.events) > 0
    assert np.max(np.abs([a.t - b.t for a, b in zip(result.events, fine.events)])) < 1e-7
    assert result.audit.ok, str(result.audit)
    with pytest.raises(InconsistentStateError, match="project=True"):
        run(system, (0, 0.1), [0.9, 0.0], [0.0, 0.0], EventCapturing(dt=0.01))
    repaired = run(system, (0, 0.1), [0.9, 0.0], [0.0, 0.0], EventCapturing(dt=0.01), project=True)
    assert abs(np.hypot(*repaired.q[:, -1]) - 1.0) < 1e-12


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (dict(tableau="radau7", dt=0.1), InputError, "radau5"),
        (dict(tableau=5, dt=0.1), InputError, "tableau"),
        (dict(tableau="lobatto4", dt=0.1, form="index-2"), InputError, "cannot carry"),
        (dict(tableau="RKF78", dt=0.1, form="index-2"), InputError, "cannot carry"),
        (dict(dt=0.1, rtol=1e-6), InputError, "both"),
        (dict(dt=-1.0), RangeError, "dt"),
        (dict(dt=math.nan), NonFiniteError, "dt"),
        (dict(rtol=2.0), RangeError, "rtol"),
        (dict(dt=0.1, critical=0.0), RangeError, "critical"),
        (dict(dt=0.1, critical_order=4), InputError, "critical_order"),
        (dict(dt=0.1, form="index-3"), InputError, "form"),
        (dict(dt=0.1, stages="both"), InputError, "stages"),
        (dict(dt=0.1, stages="complementarity", form="index-2"), InputError, "accelerations"),
    ],
)
def test_bad_options_are_named(options, error, text):
    with pytest.raises(error, match=text):
        EventCapturing(**options)
