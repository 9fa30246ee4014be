"""Event-driven integration: closed forms, references of the literature, everything that used to stall or mislead."""

import functools
import math
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import problems
from nonsmooth.errors import (
    EventError,
    GrazingWarning,
    InputError,
    NonFiniteStateError,
    NoSolutionError,
    PenetrationWarning,
    RangeError,
    ZenoWarning,
)
from nonsmooth.problems.impact_oscillator import flights


def run(system, span, q0, u0, rtol, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        return ns.simulate(system, span, q0, u0, method="event-driven", rtol=rtol, max_steps=5000, **options)


def kinds(result):
    return [event.kind for event in result.events]


BALL = ns.MechanicalSystem(
    1.0, -9.81, ns.Contact(lambda t, q, p: q[0] - p.height, restitution=0.4), params=dict(height=0.0)
)


@pytest.mark.parametrize("height", [0.0, 1.0, -3.3, 1e5])
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_accumulation_of_impacts(height, rtol):
    """Impacts and their accumulation point to rounding, wherever the floor is."""
    fall = math.sqrt(0.8 / 9.81)
    t_star = fall * (1 + 2 * 0.4 / 0.6)
    result = run(BALL.with_params(height=height), (0, 2), [height + 0.4], [0.0], rtol)
    assert abs(result.q[0, -1] - height) <= 1e-15 * abs(height) + 1e-15 and abs(result.u[0, -1]) < 1e-15
    impacts = [event.t for event in result.events if event.kind == "impact"]
    resolution = 1e-10 * max(1.0, abs(height))  # of the instant, from the spacing of q
    exact = fall + np.concatenate([[0.0], np.cumsum(2 * fall * 0.4 ** np.arange(1, len(impacts)))])
    assert len(impacts) >= 5 and np.max(np.abs(np.array(impacts) - exact)) < resolution
    closed = [event.t for event in result.events if event.kind == "close"]
    assert len(closed) == 1 and abs(closed[0] - t_star) < 1e-4 * rtol + 100 * resolution
    assert result.audit.ok


def test_stick_and_slip_on_a_belt_of_varying_speed():
    """Two events and no chatter; while the mass sticks it moves with the belt, to rounding."""
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([-20.0 * q[0]]),
        friction=ns.FrictionElement(
            lambda t, q: np.array([1.0]), 2.943, surface_velocity=lambda t, q: -(0.2 + 0.3 * np.sin(5 * t))
        ),
    )
    ends = [run(system, (0, 2), [0.0], [0.2], rtol) for rtol in (1e-6, 1e-9, 1e-12)]
    for result in ends:
        assert kinds(result) == ["slip", "stick"]
        assert np.max(np.abs(result.y[:, -1] - ends[-1].y[:, -1])) < 1e-9
    # sticking ends where u' + 20 q reaches the limit: 1.5 cos 5t + 20 (0.2 t + 0.06 (1 - cos 5t)) = 2.943
    t = ends[-1].events[0].t
    assert abs(1.5 * math.cos(5 * t) + 20 * (0.2 * t + 0.06 * (1 - math.cos(5 * t))) - 2.943) < 1e-9


def test_box_on_two_corners():
    """Redundant forces at rest cost nothing; dropped flat, both corners are struck together and the box does not turn."""

    def gap(t, q):
        c, s = 0.5 * np.cos(q[2]), 0.5 * np.sin(q[2])
        return np.array([q[1] - c - s, q[1] - c + s])

    def tangent(t, q):
        c, s = 0.5 * np.cos(q[2]), 0.5 * np.sin(q[2])
        return np.array([[1.0, 1.0], [0.0, 0.0], [c + s, c - s]])

    box = ns.MechanicalSystem(
        np.diag([1, 1, 1 / 6]),
        [0.0, -9.81, 0.0],
        ns.Contact(gap, restitution=0.3, friction=0.4, tangent=tangent, name=["left", "right"]),
    )
    for rtol in (1e-4, 1e-8):
        rest = run(box, (0, 1), [0, 0.5, 0], [0, 0, 0], rtol)
        assert rest.nsteps < 70 and not len(rest.events) and np.max(np.abs(rest.u)) < 1e-12
        dropped = run(box, (0, 1.5), [0, 0.8, 0], [0.5, 0, 0], rtol)
        assert np.max(np.abs(dropped.q[2])) < 1e-12 and np.max(np.abs(dropped.u[:, -1])) < 1e-12
        left = [event.t for event in dropped.events if event.name == "left"]
        right = [event.t for event in dropped.events if event.name == "right"]
        assert left == right


def test_woodpecker_has_its_25_incidents():
    problem = problems.woodpecker(start="consistent")
    result = problem.simulate((0.0, 0.4), method="event-driven", rtol=1e-9)
    assert len(result.events) == 25
    finer = problem.simulate((0.0, 0.4), method="event-driven", rtol=1e-12, audit=False)
    assert np.max(np.abs(result.q[:, -1] - finer.q[:, -1])) < 1e-10
    assert np.max(np.abs([a.t - b.t for a, b in zip(result.events, finer.events)])) < 1e-9


def test_two_contacts_with_friction_accumulate():
    system = ns.MechanicalSystem(
        np.eye(3),
        [-9.81, -9.81, 0.0],
        [
            ns.Contact(
                lambda t, q: q[1],
                restitution=0.5,
                friction=0.3,
                tangent=lambda t, q: np.array([1.0, 0.0, 0.1]),
                name="a",
            ),
            ns.Contact(
                lambda t, q: q[0],
                restitution=0.5,
                friction=0.3,
                tangent=lambda t, q: np.array([0.0, 1.0, -0.1]),
                name="b",
            ),
        ],
    )
    ends = {rtol: run(system, (0, 3), [0.5, 0.5, 0], [0, 0, 3.0], rtol) for rtol in (1e-4, 1e-7, 1e-10)}
    for rtol, result in ends.items():
        assert result.nsteps < 200
        assert abs(result.q[2, -1] - ends[1e-10].q[2, -1]) < 100 * rtol * abs(ends[1e-10].q[2, -1])


@pytest.mark.parametrize(("wall", "impacts"), [(1 - 1e-6, 1), (1 - 1e-10, 1)])
def test_near_grazing_is_found_and_named(wall, impacts):
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: -q,
        ns.Contact(lambda t, q, p: p.wall - q[0], restitution=0.8),
        params=dict(wall=wall),
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result = ns.simulate(system, (0, 3), [0.0], [1.0], method="event-driven", rtol=1e-8)
    assert kinds(result).count("impact") == impacts
    assert any(w.category is GrazingWarning for w in heard) == (wall > 1 - 1e-7)


def test_undeclared_jump_is_passed_to_the_tolerance_and_a_pole_is_an_error():
    jump = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([1.0 if t < 0.7351 else -2.0]))
    t = 2 - 0.7351
    exact = 0.7351**2 / 2 + 0.7351 * t - t**2
    assert abs(run(jump, (0, 2), [0.0], [0.0], 1e-8).q[0, -1] - exact) < 1e-6
    pole = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([1 / (0.25 - t) ** 3]))
    with pytest.raises(NonFiniteStateError, match="pole"):
        run(pole, (0, 1), [0.0], [0.0], 1e-6)


def test_pendulum_with_a_joint_keeps_its_length():
    """A joint in space held on position and velocity level."""
    system = ns.MechanicalSystem(
        np.eye(2), [0.0, -9.81], joints=ns.Joint(lambda t, q: np.array([q[0] ** 2 + q[1] ** 2 - 1.0]))
    )
    result = run(system, (0, 10), [1.0, 0.0], [0.0, 0.0], 1e-9)
    length = result.q[0] ** 2 + result.q[1] ** 2 - 1
    energy = 0.5 * np.sum(result.u**2, axis=0) + 9.81 * result.q[1]
    assert np.max(np.abs(length)) < 1e-13 and np.max(np.abs(np.sum(result.q * result.u, axis=0))) < 1e-12
    assert np.max(np.abs(energy)) < 1e-6


@pytest.mark.parametrize("integrator", ["RK23", "RK45", "RKF78", "DOP853"])
def test_error_follows_the_tolerance(integrator):
    """An oscillator against a wall; every impact shortens the story by the same map, so the end is known from a finer run."""
    problem = problems.impact_oscillator()
    ends = [
        problem.simulate((0, 1.5), method=ns.EventDriven(integrator=integrator, rtol=rtol), audit=False).y[
            :, -1
        ]
        for rtol in (1e-5, 1e-7, 1e-12)
    ]
    errors = [np.max(np.abs(end - ends[-1])) for end in ends[:2]]
    assert errors[0] < 3e-3 and errors[1] < 3e-5


def test_output_between_steps_is_as_accurate_as_the_steps():
    result = run(BALL, (0, 0.7), [0.4], [0.0], 1e-8, t_eval=[0.1, 0.2, 0.3])
    flight = 0.3 - math.sqrt(0.8 / 9.81)
    rebound = 0.4 * math.sqrt(0.8 * 9.81)
    exact = [0.4 - 4.905 * 0.01, 0.4 - 4.905 * 0.04, rebound * flight - 4.905 * flight**2]
    assert np.max(np.abs(result.q[0] - exact)) < 1e-14


def test_bad_input():
    with pytest.raises(InputError, match=r"integrator.*'Euler'"):
        ns.EventDriven(integrator="Euler")
    with pytest.raises(RangeError, match="rtol"):
        ns.EventDriven(rtol=0.0)
    with pytest.raises(RangeError, match="dt_max"):
        ns.EventDriven(dt_max=-1.0)


def wedge_gaps(t, q):
    return np.array([q[1], q[0]])


def wedge_tangents(t, q):
    return np.array([[1.0, 0.0], [0.0, 1.0], [0.1, -0.1]])


def wedge_force(t, q, u):
    return np.array([-2.0 - q[0], -9.81, 0.0])


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_wedged_in_a_corner_with_more_friction_than_motions(rtol):
    """Both contacts stick at one instant; of the forces that hold the body the smallest ones leave their cones."""
    ground = ns.Contact(
        wedge_gaps,
        restitution=[0.5, 0.3],
        friction=[0.3, 0.2],
        tangent=wedge_tangents,
        name=("floor", "wall"),
    )
    body = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.1]), wedge_force, ground)
    run = ns.simulate(body, (0, 4), [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], method="event-driven", rtol=rtol)
    wall = (2.0 + 0.3 * 9.81) / 1.06  # friction of each contact loads the other
    floor = 9.81 - 0.2 * wall
    stop = 1.0 / (0.3 * floor + 0.2 * wall)
    sticks = [event.t for event in run.events if event.kind == "stick"]
    assert sticks == pytest.approx([stop, stop], rel=1e-9)
    assert run.q[2, -1] == pytest.approx(0.5 * stop, rel=1e-9) and run.audit.ok
    assert run.u[:, -1] == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
def test_a_floor_that_ends_is_not_followed(rtol):
    """A step of 3 mm that the directions of the contact know nothing of: said, not glued over."""

    def ledge(t, q):
        return q[1] - (0.0 if q[0] < 1.0 else -0.003)

    floor = ns.Contact(ledge, restitution=0.3, jacobian=lambda t, q: np.array([[0.0, 1.0]]), name="floor")
    box = ns.MechanicalSystem(np.eye(2), np.array([0.0, -9.81]), floor)
    with pytest.raises(EventError, match=r"'floor'.*jumps between"):
        ns.simulate(box, (0, 2), [0.0, 0.0], [1.0, 0.0], method="event-driven", rtol=rtol)


def test_contact_opens_out_of_the_overlap_it_started_with():
    """The published start of the woodpecker lies 8.8e-7 m inside a contact."""
    toy = ns.problems.woodpecker(start="literal", t_end=0.14)
    with pytest.warns(ns.errors.PenetrationWarning, match="lower sleeve"):
        run = toy.simulate(method=ns.EventDriven(rtol=1e-10))
    wanted = [event.t for event in toy.reference.events if event.t <= 0.14]
    np.testing.assert_allclose([event.t for event in run.events], wanted, atol=1e-9)


def test_slip_in_a_direction_that_turns_is_named():
    """The direction of slip in two dimensions is stiff without bound where slip begins: said, with what passes it."""
    plate = ns.FrictionElement(lambda t, q: np.eye(2), limit=0.5, name="plate")
    system = ns.MechanicalSystem(
        np.eye(2), lambda t, q, u: np.array([np.sin(t), 0.7 * t * t]), friction=[plate]
    )
    with pytest.raises(ns.errors.StepLimitError, match="'plate' begins to slip in a direction that turns"):
        ns.simulate(system, (0, 2), [1.0, 0.4], [0.0, 0.0], rtol=1e-6)


def test_the_start_is_stored_once():
    ball = ns.MechanicalSystem(1.0, -9.81, ns.Contact(lambda t, q: q[0] - 1.0, restitution=0.4))
    run = ns.simulate(ball, (0, 1), [1.4], [0.0], rtol=1e-6)
    assert run.t[1] > 0.0
    closing = [event.t for event in run.events if event.kind in ("zeno", "close")]
    assert closing[0] == closing[1]
    struck = ns.simulate(
        ball, (0, 0.01), [1.0], [-1.0], rtol=1e-6
    )  # both sides of an impact at the start are
    assert struck.t[1] == 0.0 and struck.u[0, :2] == pytest.approx([-1.0, 0.4])


def test_a_contact_that_opens_from_an_overlap():
    """Overlap of the start that is accepted: it opens, comes back and strikes without changing modes for ever."""

    def lift(t, q, u):
        return np.array([10.0 * t - 1.0])

    floor = ns.Contact(lambda t, q: q[0], restitution=0.5, name="floor")
    body = ns.MechanicalSystem(1.0, lift, floor)
    with pytest.warns(PenetrationWarning):
        run = ns.simulate(body, (0, 1), [-1e-9], [0.0], rtol=1e-11)
    assert [(event.kind, event.t) for event in run.events] == [("open", pytest.approx(0.1, abs=1e-9))]
    assert run.q[0, -1] == pytest.approx(10.0 * 0.9**3 / 6, rel=1e-7) and run.audit.ok


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-9])
def test_masses_that_go_on_together_without_forces(rtol):
    """After a plastic impact nothing presses the contact and nothing opens it: rounding must not make events of that."""
    masses = np.diag([1.165, 1.093, 1.0])
    pairs = ns.Contact(lambda t, q: np.array([q[1] - q[0] - 0.2, q[2] - q[1] - 0.2]), restitution=[0.0, 0.0])
    chain = ns.MechanicalSystem(masses, np.zeros(3), pairs)
    run = ns.simulate(chain, (0, 40), [1.868, 2.068, 2.4754], [0.0, 0.0, -2.409], rtol=rtol)
    together = -2.409 / (1.165 + 1.093 + 1.0)
    assert run.u[:, -1] == pytest.approx([together] * 3, rel=1e-9)
    assert len({round(event.t, 9) for event in run.events}) == 1


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_a_surface_that_ends_under_a_jointed_body(rtol):
    """Also where joints hold the body: a pendulum whose weight slides along a floor with a step."""

    def ledge(t, q):
        return q[1] - (0.0 if q[0] < 0.2 else -0.05)

    floor = ns.Contact(ledge, jacobian=lambda t, q: np.array([[0.0, 1.0, 0.0, 0.0]]), name="floor")
    link = ns.Joint(lambda t, q: np.array([q[2] - q[0] - 1.0, q[3] - q[1]]), name="link")
    pair = ns.MechanicalSystem(np.eye(4), np.array([0.0, -9.81, 0.0, 0.0]), floor, joints=[link])
    with pytest.raises(EventError, match=r"'floor'.*jumps between"):
        ns.simulate(pair, (0, 1), [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0], rtol=rtol)


@pytest.mark.parametrize("rtol", [1e-8, 1e-10, 1e-12])
def test_weak_impacts_of_an_oscillator_are_found_until_they_graze(rtol):
    """Speeds fall by e from impact to impact, to where a gap would be missed by less than a cubic between two steps: those that come
    are right, and the first that is left out is told of."""
    problem = ns.problems.impact_oscillator()
    with pytest.warns(GrazingWarning):
        result = ns.simulate(problem.system, (0, 20), problem.q0, problem.u0, rtol=rtol, audit=False)
    times, speeds = flights(np.sqrt(200.0), 0.15, 0.6, -0.5, 0.2, 20.0)
    found = np.array([event.t for event in result.events.of("impact")])
    assert np.abs(found - times[: found.size]).max() < 1e-3 and found.size < times.size
    depth = speeds[found.size] ** 2 / (2.0 * 30.0)  # how far it would have come, at an acceleration of 30
    assert depth < 100 * rtol * np.max(np.abs(result.q))


def test_a_body_wedged_where_it_strikes():
    """Two rough walls stop a body in the origin of its coordinates: nothing but rounding moves it from there."""
    one = np.array([1.0, 0.0, 0.0])
    walls = [
        ns.Contact(lambda t, q, p: p.n_a @ q, friction=3.0, tangent=lambda t, q, p: p.t_a, name="a"),
        ns.Contact(lambda t, q, p: p.n_b @ q, friction=3.0, tangent=lambda t, q, p: p.t_b, name="b"),
    ]
    body = ns.MechanicalSystem(
        np.diag([1.0, 1.0, 0.1]),
        np.array([0.0, -9.81, 0.0]),
        walls,
        params=dict(n_a=one, n_b=one, t_a=one, t_b=one),
    )
    rng = np.random.default_rng(1)
    for _ in range(30):
        rows = {}
        for wall, angle, (x, y) in zip("ab", rng.uniform(0.0, 3.1, 2), rng.normal(size=(2, 2))):
            c, s = np.cos(angle), np.sin(angle)
            rows |= {
                f"n_{wall}": np.array([c, s, x * s - y * c]),
                f"t_{wall}": np.array([-s, c, x * c + y * s]),
            }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = ns.simulate(
                body.with_params(**rows), (0, 0.1), np.zeros(3), 2.0 * rng.normal(size=3), rtol=1e-8
            )
        assert run.audit.ok


def pile(seed):
    """Two to four blocks on top of each other with dry friction, some of them pulled by a sin(w t) or a sin(w t)^2, in any units."""
    rng = np.random.default_rng(seed)
    n, mass, time = int(rng.integers(2, 5)), 10.0 ** rng.uniform(-3, 3), 10.0 ** rng.uniform(-2, 2)
    m, limit = rng.uniform(0.5, 2, n) * mass, rng.uniform(0.3, 2, n) * mass / time**2
    a, w = rng.uniform(1, 5, n) * mass / time**2, rng.uniform(0.5, 3, n) / time
    a[1:][rng.random(n - 1) < 0.6] = 0.0
    power = 1 + seed % 2
    below = np.eye(n) - np.eye(n, k=-1)
    blocks = ns.MechanicalSystem(
        np.diag(m), lambda t, q, u: a * np.sin(w * t) ** power, friction=[ns.FrictionElement(below[i], limit[i]) for i in range(n)]
    )  # fmt: skip
    return blocks, n, 10 * time, np.max(a / m) * time


@pytest.mark.parametrize("seed", range(8))
def test_blocks_held_by_friction_start_under_forces_that_begin_at_zero(seed):
    """Velocities of nothing but rounding were measured against themselves: steps of 1e-72 to no end, or a jump of the force was seen."""
    blocks, n, end, speed = pile(seed)
    result = ns.simulate(blocks, (0, end), np.zeros(n), np.zeros(n), method="event-driven", rtol=1e-6)
    assert result.audit.ok and result.nsteps < 200
    slips = result.events.of("slip")
    begins = slips[0].t if slips else end
    assert np.max(np.abs(result.u[:, result.t < 0.999 * begins])) < 1e-12 * speed


def test_friction_that_becomes_negative_ends_the_run():
    contact = ns.Contact(
        lambda t, q: q[1], friction=lambda t, q, u: 0.3 - t, tangent=lambda t, q: np.array([1.0, 0.0])
    )
    system = ns.MechanicalSystem(
        lambda t, q: np.eye(2), lambda t, q, u: np.array([0.0, -9.81]), contacts=[contact]
    )
    with pytest.raises(ns.errors.IntegrationError, match="Friction must not be negative") as caught:
        ns.simulate(system, (0, 1), [0.0, 0.0], [5.0, 0.0], rtol=1e-8, progress=False)
    # as far as friction is friction: u = 5 - g (0.3 t - t^2/2)
    partial = caught.value.partial
    t = partial.t[-1]
    assert t == pytest.approx(0.3, abs=1e-3)
    assert partial.u[0, -1] == pytest.approx(5.0 - 9.81 * (0.3 * t - 0.5 * t**2), abs=1e-7)


@pytest.mark.parametrize("t_0", [0.0, 0.1, -1000.0, 1e5])
@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
@pytest.mark.parametrize("height", [0.0, 1.0])
def test_what_rests_moves_under_a_force_that_begins_at_zero_whatever_the_time(t_0, rtol, height):
    """Its first velocities are next to nothing, and in short steps not more than what rounding of the time leaves of the force."""
    system, w = rising(), 3.0
    span = (t_0, t_0 + 1.0)
    result = ns.simulate(system.with_params(t_0=t_0), span, [height], [0.0], method="event-driven", rtol=rtol)
    assert result.q[0, -1] == pytest.approx(
        height + 1.0 / w - np.sin(w) / w**2, abs=1e-11 + 1e-15 * abs(t_0) * 10
    )
    assert result.nsteps < 80 and result.audit.ok


@functools.cache
def rising():
    def force(t, q, u, p):
        return np.array([np.sin(3.0 * (t - p.t_0))])

    return ns.MechanicalSystem(1.0, force, ns.Contact(lambda t, q: q[0]), params={"t_0": 0.0})


@pytest.mark.parametrize("method", ["event-driven", "event-capturing"])
def test_a_contact_that_an_impact_at_another_closes_is_struck_next(method):
    """Newton's law bounds only the velocity behind an impact of what parted before it, by -e times that from below: here -0.25."""
    system = ns.MechanicalSystem(
        np.eye(2),
        lambda t, q, u: np.zeros(2),
        ns.Contact(lambda t, q: np.array([q[0], q[1] - q[0]]), restitution=[0.7, 0.0], size=2),
    )
    result = ns.simulate(system, (0.0, 1.0), [0.0, 0.0], [1.0, -1.5], method=method, rtol=1e-6)
    # both together at (1 - 1.5)/2, then back from the floor at 0.7 times that
    assert result.u[:, -1] == pytest.approx([0.175, 0.175], rel=1e-12)
    assert result.q[:, -1] == pytest.approx([0.175, 0.175], rel=1e-9)
    assert result.audit.ok


@pytest.mark.parametrize("method", ["event-driven", "event-capturing"])
def test_bodies_without_room_between_walls_that_come_together_have_no_motion(method):
    """Impulses without bound fit the laws but for rounding: they are no solution."""
    d, x = 45.912743649, -1138.403227519

    def gaps(t, q):
        return np.array(
            [q[0] - x - 0.75 * t, q[1] - q[0] - d, q[2] - q[1] - d, q[3] - q[2] - d, x + 3 * d - q[3]]
        )

    system = ns.MechanicalSystem(
        np.diag([0.002898075, 0.007308796, 0.003239108, 0.007369329]),
        lambda t, q, u: np.zeros(4),
        ns.Contact(gaps, restitution=[0.7, 0.3, 0.3, 0.0, 0.0], size=5),
    )
    with pytest.raises(NoSolutionError):
        ns.simulate(system, (0.0, 1.0), x + d * np.arange(4), np.zeros(4), method=method, rtol=1e-6)


@pytest.mark.parametrize("method", ["event-driven", "event-capturing"])
@pytest.mark.parametrize("rtol", [1e-8, 1e-9])
def test_contacts_open_under_forces_that_begin_as_a_square(method, rtol):
    """Steps too short for error control to judge forces at all still tell which contacts open."""
    x, d, t_0 = np.array([5.03993452, 5.25991656, 5.42934492, 5.63967047]), 0.16942836, 0.80301426

    def force(t, q, u):
        F, w = np.array([-114.4, -74.05, 88.56, -17.09]), np.array([63.78, 50.38, 23.96, 70.29])
        return F * np.sin(w * (t - t_0)) ** 2 - np.array([635.1, 6.645, 731.1, 617.7]) * (q - x)

    def gaps(t, q):
        return np.array(
            [q[0] - 4.95522034, q[1] - q[0] - d, q[2] - q[1] - d, q[3] - q[2] - d, 5.63967047 - q[3]]
        )

    mass = np.diag([0.1109, 0.2436, 0.3087, 0.1903])
    system = ns.MechanicalSystem(mass, force, ns.Contact(gaps, restitution=[0.0, 0.3, 0.7, 0.3, 0.3], size=5))
    result = ns.simulate(system, (t_0, t_0 + 0.005), x, np.zeros(4), method=method, rtol=rtol, audit=False)
    # (forces a (w t)^2 give a w^2 t^3/3, springs next to nothing)
    assert result.t[-1] == t_0 + 0.005
    assert result.u[2, -1] > 0.0 > result.u[0, -1]
