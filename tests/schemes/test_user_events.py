"""Events of the user in `simulate`: found, ending, resetting; and the state between steps."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import EventError, InputError, RangeError

G = 9.81
METHODS = [
    ("moreau", {"dt": 1e-3}, 2e-3),
    ("extrapolated-moreau", {"rtol": 1e-8}, 1e-8),
    ("event-driven", {"rtol": 1e-8}, 1e-8),
]
each_method = pytest.mark.parametrize("method, options, tol", METHODS, ids=[name for name, *_ in METHODS])

BALL = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0], restitution=0.5, name="floor"))
FREE = ns.MechanicalSystem(1.0, -G)
FIRST = np.sqrt(2 / G)  # a fall of 1
SPEED = 0.5 * G * FIRST  # after the first impact


def top(t, q, u):
    return u[0]


def half(t, q, u):
    return q[0] - 0.5


def event(g, **attributes):
    def function(t, q, u):
        return g(t, q, u)

    for name, value in attributes.items():
        setattr(function, name, value)
    return function


@each_method
def test_found_and_terminal(method, options, tol):
    third = event(half, terminal=2, name="half")
    peak = event(top, direction=-1, name="top")
    quicker = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0], restitution=0.9, name="floor"))
    result = ns.simulate(quicker, (0, 3), [1.0], [0.0], method=method, events=[peak, third], **options)
    down = np.sqrt(1 / G)
    v = 0.9 * G * FIRST
    up = FIRST + (v - np.sqrt(v * v - G)) / G
    assert result.status == 1 and result.success
    assert result.t[-1] == pytest.approx(up, abs=5 * tol)
    assert [e.t for e in result.events.of("event", name="half")] == pytest.approx([down, up], abs=5 * tol)
    assert result.t_events[0].size == 0 and result.t_events[1].size == 2
    assert result.y_events[1][:, 0] == pytest.approx([0.5, 0.5], abs=20 * tol)
    assert result.events.of("impact")[0].t == pytest.approx(FIRST, abs=5 * tol)
    assert result.audit.ok, result.audit


@each_method
def test_reset_bounces_like_a_contact(method, options, tol):
    hit = ns.Switch(lambda t, q, u: q[0], direction=-1, reset=lambda t, q, u: (q, -0.5 * u), name="hit")
    result = ns.simulate(FREE, (0, 1.2), [1.0], [0.0], method=method, events=hit, **options)
    wanted = [FIRST, FIRST + 2 * SPEED / G, FIRST + 2 * SPEED / G + SPEED / G]
    assert [e.t for e in result.events] == pytest.approx(wanted, abs=5 * tol)
    assert all(e.kind == "event" and e.name == "hit" for e in result.events)
    t = result.t
    assert all(np.count_nonzero(t == e.t) >= 2 for e in result.events)  # left and right limits
    assert result.audit.ok, result.audit


@each_method
def test_state_between_steps(method, options, tol):
    result = ns.simulate(BALL, (0, 0.8), [1.0], [0.0], method=method, dense_output=True, **options)
    t = np.linspace(0, 0.8, 173)
    after = np.maximum(t - FIRST, 0.0)
    exact = np.where(t < FIRST, 1 - G * t**2 / 2, SPEED * after - G * after**2 / 2)
    assert np.max(np.abs(result.sol(t)[0] - exact)) < 10 * tol
    assert result.sol(0.0) == pytest.approx([1.0, 0.0])
    assert result.sol(0.8) == pytest.approx(result.y[:, -1])


def test_velocities_between_steps_of_an_oscillator():
    system = ns.MechanicalSystem(1.0, lambda t, q, u: -q)
    result = ns.simulate(system, (0, 20), [1.0], [0.0], method="event-driven", rtol=1e-10, dense_output=True)
    t = np.linspace(0, 20, 777)
    assert np.max(np.abs(result.sol(t) - [np.cos(t), -np.sin(t)])) < 3e-9
    assert result.nsteps < 200


def test_events_do_not_change_the_run():
    options = {"method": "event-driven", "rtol": 1e-8}
    plain = ns.simulate(BALL, (0, 3), [1.0], [0.0], **options)
    watched = ns.simulate(BALL, (0, 3), [1.0], [0.0], events=[top, half], **options)
    assert np.array_equal(plain.t, watched.t) and np.array_equal(plain.y, watched.y)
    assert len(watched.events) == len(plain.events) + sum(t.size for t in watched.t_events)


def test_survives_a_file(tmp_path):
    result = ns.simulate(BALL, (0, 1), [1.0], [0.0], dt=1e-3, events=event(half, name="half"))
    result.save(tmp_path / "run.h5")
    again = ns.Result.load(tmp_path / "run.h5")
    assert [e.t for e in again.events.of("event")] == [e.t for e in result.events.of("event")]
    assert again.events.of("event")[0].name == "half"


@pytest.mark.parametrize(
    "events, error, text",
    [
        (3, InputError, "events"),
        ([3], InputError, r"events\[0\]"),
        ([event(half, terminal=-1)], RangeError, "terminal"),
        ([event(half, direction="up")], RangeError, "direction"),
        ([event(half, reset=3)], InputError, "reset"),
        ([event(half, name="a"), event(top, name="a")], InputError, "distinct names"),
        ([event(half, reset=lambda t, q, u: q)], EventError, r"a pair \(q, u\)"),
    ],
)
def test_refused(events, error, text):
    with pytest.raises(error, match=text):
        ns.simulate(BALL, (0, 1), [1.0], [0.0], dt=1e-2, events=events)


def test_resets_that_accumulate_are_told():
    hit = event(lambda t, q, u: q[0], direction=-1, reset=lambda t, q, u: (q, -0.5 * u), name="hit")
    with pytest.raises(EventError, match=r"'hit' stops the run again and again at t = 1\.35"):
        ns.simulate(FREE, (0, 3), [1.0], [0.0], method="event-driven", rtol=1e-8, events=hit)


def test_dense_output_needs_all_steps():
    with pytest.raises(InputError, match="dense_output"):
        ns.simulate(BALL, (0, 1), [1.0], [0.0], dt=1e-2, dense_output=True, every=2)


STRIKES = {
    "gap": (1.0, 0.0),
    "twice": (2.0, 0.0),
    "below": (-1.0, 0.0),
    "third": (1 / 3, 0.0),
    "displaced": (1.0, 7.7),
}


@pytest.mark.parametrize("factor, height", STRIKES.values(), ids=STRIKES)
@pytest.mark.parametrize(
    "method, options, tol",
    [*METHODS, ("event-capturing", {"rtol": 1e-8}, 1e-6)],
    ids=[*(name for name, *_ in METHODS), "event-capturing"],
)
def test_what_vanishes_where_a_body_strikes_does_so_at_every_impact(method, options, tol, factor, height):
    """It arrives from one side, once, whatever sign its last digit has; a run that ends there has not been through the impact."""
    ball = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0] - height, restitution=0.7, name="floor"))
    arrival = -1 if factor > 0 else 1
    both, found, never = (
        event(lambda t, q, u: factor * (q[0] - height), direction=direction, name=name)
        for direction, name in ((0, "both"), (arrival, "found"), (-arrival, "never"))
    )
    upwards = event(top, direction=1, name="upwards")  # jumps through zero
    events = [both, found, never, upwards]
    result = ns.simulate(ball, (-5, -3), [1 + height], [0.0], method=method, events=events, **options)
    flights = 2 * FIRST * np.cumprod([0.7, 0.7, 0.7])
    wanted = -5 + FIRST + np.array([0.0, *np.cumsum(flights)])
    for k in (0, 1, 3):
        assert result.t_events[k] == pytest.approx(wanted, abs=5 * tol)
    assert result.t_events[2].size == 0
    assert np.all(result.y_events[0][:, 1] < 0)
    both.terminal = 2
    ended = ns.simulate(ball, (-5, -3), [1 + height], [0.0], method=method, events=both, **options)
    assert ended.t[-1] == pytest.approx(wanted[1], abs=5 * tol)
    assert ended.u[0, -1] == pytest.approx(-0.7 * G * FIRST, rel=max(3e-3, tol))
    assert ended.audit.ok, ended.audit


def test_what_rests_at_zero_is_no_event():
    """One body rests while another bounces beside it; slip that stops is found once; accumulations to the last impact."""
    contacts = [
        ns.Contact(lambda t, q: q[0], restitution=0.5, name="a"),
        ns.Contact(lambda t, q: q[1] - 0.1, restitution=0.5, name="b"),
    ]
    pair = ns.MechanicalSystem(np.eye(2), np.array([-G, -G]), contacts)
    events = [event(lambda t, q, u, k=k: [q[0], u[0], q[1] - 0.1][k], name=str(k)) for k in range(3)]
    result = ns.simulate(pair, (0, 2), [0.0, 1.1], [0.0, 0.0], rtol=1e-8, events=events)
    struck = [e.t for e in result.events if e.kind in ("impact", "close", "zeno") and e.name == "b"]
    assert [len(t) for t in result.t_events[:2]] == [0, 0]
    assert abs(len(result.t_events[2]) - len(struck)) <= 1 and len(struck) > 10
    slider = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([3 * np.sin(2 * t)]),
        friction=ns.FrictionElement(lambda t, q: 1.0, limit=2.0),
    )
    result = ns.simulate(slider, (0, 8), [0.0], [1.0], rtol=1e-8, events=top)
    assert result.t_events[0] == pytest.approx([e.t for e in result.events.of("stick")], abs=1e-12)


@each_method
def test_events_of_one_step_and_of_one_instant(method, options, tol):
    """Zeros before one that ends the run in the same step are kept; resets at one instant act one after the other."""
    last = event(lambda t, q, u: q[0] - 0.4, terminal=True, name="last")
    result = ns.simulate(FREE, (-3, 0), [1.0], [0.0], method=method, events=[half, last], **options)
    assert result.t_events[0] == pytest.approx([-3 + np.sqrt(1 / G)], abs=tol)

    def hit(k):
        def reset(t, q, u):
            u[k] *= -0.5
            return q, u

        return ns.Switch(lambda t, q, u: q[k], direction=-1, reset=reset, name=f"hit {k}")

    pair = ns.MechanicalSystem(np.eye(2), np.array([-G, -G]))
    result = ns.simulate(
        pair, (0, 1.2), [1.0, 1.0], [0.0, 0.0], method=method, events=[hit(0), hit(1)], **options
    )
    assert [t.size for t in result.t_events] == [3, 3]
    assert result.q[0, -1] == pytest.approx(result.q[1, -1], abs=1e-12)
