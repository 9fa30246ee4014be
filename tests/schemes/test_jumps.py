"""Discontinuities in time that nobody declared: found before the run, stepped on, said once."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import DiscontinuityWarning
from nonsmooth.schemes.jumps import all_jumps

T_J = 0.377
METHODS = [
    ns.EventDriven(rtol=1e-8),
    ns.EventDriven(rtol=1e-8, integrator="Radau"),
    ns.ExtrapolatedMoreau(rtol=1e-8),
    ns.EventCapturing(rtol=1e-8),
    ns.AdaptiveMoreau(tol=1e-6),
    ns.GeneralizedAlpha(rtol=1e-8),
]
by_name = pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: f"{method.name}-{getattr(method, 'integrator', '')}"
)


def mass(force, *contacts):
    return ns.MechanicalSystem(1.0, force, list(contacts))


def heard(call):
    """What `call` gives, and what was said of discontinuities."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        value = call()
    return value, [str(one.message) for one in said if issubclass(one.category, DiscontinuityWarning)]


def instants(system, span=(0.0, 1.0), q=(0.0,), u=(0.0,)):
    """Where functions are found to jump, and what is said of it."""
    model = system.bind(span[0], np.array(q), np.array(u))
    found = all_jumps(model, *map(float, span))
    return [one.t for one in found], {one.what for one in found}


def before(t, q, u):
    return np.array([1.0 if t < T_J else -2.0])


def at_last(t, q, u):
    return np.array([1.0 if t <= T_J else -2.0])


@by_name
@pytest.mark.parametrize("force", [before, at_last])
def test_a_force_that_jumps(method, force):
    """Parabolas, to rounding, wherever the function puts the instant itself."""
    run, said = heard(lambda: ns.simulate(mass(force), (0, 1), [0.0], [0.0], method=method))
    rest = 1.0 - T_J
    assert run.u[0, -1] == pytest.approx(T_J - 2.0 * rest, abs=1e-12)
    assert run.q[0, -1] == pytest.approx(0.5 * T_J**2 + T_J * rest - rest**2, abs=1e-12)
    assert (
        len(said) == 1 and "force jumps" in said[0] and "t = 0.377 " in said[0] and "breakpoints" in said[0]
    )
    assert run.audit.ok and any("force jumps" in note for note in run.audit.notes)
    assert [event.kind for event in run.events] == ["breakpoint"]
    declared, said = heard(
        lambda: ns.simulate(mass(force), (0, 1), [0.0], [0.0], method=method, breakpoints=[T_J])
    )
    assert not said and declared.u[0, -1] == pytest.approx(run.u[0, -1], abs=1e-14)


@by_name
def test_jumps_at_both_ends(method):
    """What a force is at the very start or end only is no part of the motion, and nothing to tell of."""
    for force in (
        lambda t, q, u: np.array([-2.0 if t > 0.0 else 5.0]),
        lambda t, q, u: np.array([-2.0 if t < 1.0 else 5.0]),
    ):
        run, said = heard(lambda: ns.simulate(mass(force), (0, 1), [0.0], [0.0], method=method))  # noqa: B023
        assert run.u[0, -1] == pytest.approx(-2.0, abs=1e-12) and not said and run.t[0] == 0.0


def test_pulses():
    """A pulse of 1e-4 of the span in an oscillation, and one of 1e-6 of it whose borders are written in the function."""
    hit = mass(lambda t, q, u: np.array([-q[0] + (1e4 if 0.5 < t < 0.5001 else 0.0)]))
    run, said = heard(lambda: ns.simulate(hit, (0, 1), [0.0], [0.0], rtol=1e-8))
    assert run.u[0, -1] == pytest.approx(1e4 * (np.sin(0.5) - np.sin(0.4999)), rel=1e-9) and len(said) == 1
    assert instants(mass(lambda t, q, u: np.array([1e6 if 0.5 < t < 0.500001 else 0.0])))[0] == pytest.approx(
        [0.5, 0.500001], abs=1e-15
    )


def test_what_jumps_at_other_states_than_the_start():
    system = mass(lambda t, q, u: np.array([-(1.0 if t < 0.4 else 3.0) * q[0]]))
    assert instants(system)[0] == [0.4]


def test_units_and_shifts_of_time():
    for start, unit in ((0.0, 1e-6), (1000.0, 1.0), (-500.0, 1e3)):
        t_j = start + T_J * unit
        system = mass(lambda t, q, u, p: np.array([1.0 if t < p.t_j else -2.0]))
        system = ns.MechanicalSystem(system.mass, system.force, params={"t_j": t_j})
        assert instants(system, (start, start + unit))[0] == [t_j]


def test_many_jumps():
    square = mass(lambda t, q, u: np.array([np.sign(np.sin(20.0 * t + 0.1))]))
    wanted = (np.arange(1, 637) * np.pi - 0.1) / 20.0
    np.testing.assert_allclose(instants(square, (0.0, 100.0))[0], wanted, rtol=1e-13)


@pytest.mark.parametrize(
    "force",
    [
        lambda t, q, u: np.array([np.tanh(1e3 * (t - 0.3))]),
        lambda t, q, u: np.array([np.sin(200.0 * t)]),
        lambda t, q, u: np.array([np.sin(1e5 * t)]),
        lambda t, q, u: np.array([abs(np.sin(20.0 * t))]),
        lambda t, q, u: np.array([t**3 - 10.0 * np.exp(-1e4 * (t - 0.4) ** 2)]),
        lambda t, q, u: np.array([1.0 / (0.25 - t)]),
        lambda t, q, u: np.array([1e6 * np.cos(3.0 * t) + np.sqrt(t)]),
        lambda t, q, u: np.array([(1e9 + np.cos(t)) - 1e9]),
        lambda t, q, u: np.array([np.interp(t, np.array([0.0, 0.3, 1.0]), np.array([0.0, 1.0, -1.0]))]),
    ],
)
def test_steep_functions_and_kinks_are_no_jumps(force):
    assert instants(mass(force)) == ([], set())


def test_kinks_of_positions():
    """A floor whose velocity jumps strikes what rests on it: its kinks are found, those of smooth motions are none."""
    g = -9.81

    def floor(height):
        return mass(g, ns.Contact(lambda t, q: q[0] - height(t), restitution=0.0, name="floor"))

    table_t, table_h = np.array([0.0, 0.2, 0.5, 3.0]), np.array([0.0, 0.0, 0.3, 0.1])
    found = instants(floor(lambda t: np.interp(t, table_t, table_h)), (0.0, 3.0))
    assert found == ([0.2, 0.5], {"gap of contact 'floor' has a kink"})
    assert instants(floor(lambda t: abs(np.sin(3.0 * t))), (0.1, 3.0))[0] == pytest.approx(
        [np.pi / 3, 2 * np.pi / 3], abs=1e-13
    )
    for smooth in (
        lambda t: 0.1 * abs(t) ** 1.5,
        lambda t: np.tanh(1e3 * (t - 1.0)),
        lambda t: 0.1 * np.sin(200.0 * t),
    ):
        assert instants(floor(smooth), (0.0, 3.0))[0] == []
    run, said = heard(
        lambda: ns.simulate(
            floor(lambda t: 0.0 if t < 0.6 else 2.0 * (t - 0.6)), (0, 1), [0.0], [0.0], rtol=1e-8
        )
    )
    assert run.q[0, -1] == pytest.approx(0.8, abs=1e-10) and len(said) == 1 and run.audit.ok


def test_belts_and_limits():
    """The belt of `test_breakpoints`, undeclared; a limit of friction that falls lets a mass go."""
    belt = ns.Contact(
        lambda t, q: q[1],
        friction=0.3,
        tangent=[1.0, 0.0],
        surface_velocity=lambda t, q: -1.0 if t < 1.0 else -2.0,
    )
    run, said = heard(
        lambda: ns.simulate(
            ns.MechanicalSystem(np.eye(2), [0.0, -9.81], belt), (0, 2), [0.0, 0.0], [1.0, 0.0], rtol=1e-8
        )
    )
    assert run.events.of("stick").t == pytest.approx([1.0 + 1.0 / (0.3 * 9.81)], abs=1e-9) and len(said) == 1
    brake = ns.FrictionElement([1.0], lambda t, q, u: 2.0 if t < 0.6 else 0.5)
    pulled = ns.MechanicalSystem(1.0, [1.0], friction=brake)
    run, said = heard(lambda: ns.simulate(pulled, (0, 1), [0.0], [0.0], rtol=1e-8))
    assert run.u[0, -1] == pytest.approx(0.2, abs=1e-10) and len(said) == 1


def test_worlds():
    """A load and a driven joint of bodies."""
    world = ns.World(gravity=(0, 0))
    body = ns.Body(ns.Disk(0.1), mass=2.0, position=(0, 1))
    world.add(body, ns.Load(body, force=lambda t, q, u: np.array([4.0 if t < T_J else 0.0, 0.0])))
    run, said = heard(lambda: ns.simulate(world, (0, 1), rtol=1e-8))
    assert run.u[0, -1] == pytest.approx(2.0 * T_J, abs=1e-12) and len(said) == 1


def test_functions_in_python_are_asked_less_often():
    calls = []

    def force(t, q, u):
        calls.append(t)
        return np.array([1.0 if str(t) < "0.3771" else -2.0])

    with pytest.warns(ns.errors.CallbackWarning):
        found = instants(mass(force))[0]
    assert found == [0.3771] and len(calls) < 600


def test_functions_that_raise_where_the_run_does_not_go():
    def force(t, q, u):
        if t > 0.5 and q[0] < 0.2:
            raise ValueError("not here")
        return np.array([1.0 if t < 0.4 else 2.0])

    run, said = heard(lambda: ns.simulate(mass(force), (0, 1), [0.0], [1.0], rtol=1e-8))
    assert run.u[0, -1] == pytest.approx(2.6, abs=1e-12) and len(said) == 1


def test_constant_steps_and_autonomous_functions_are_left_alone(monkeypatch):
    asked = []
    monkeypatch.setattr("nonsmooth.schemes.jumps._jumps_of", lambda *given: asked.append(given) or ())
    ns.simulate(mass(before), (0, 1), [0.0], [0.0], dt=0.01)
    ns.simulate(mass(lambda t, q, u: -q), (0, 1), [1.0], [0.0], rtol=1e-8)
    assert not asked
    ns.simulate(mass(before), (0, 1), [0.0], [0.0], rtol=1e-6)
    assert len(asked) == 1


def test_steps_after_the_first_pass_say_nothing_again():
    run = heard(lambda: ns.simulate(mass(before), (0, 1), [0.0], [0.0], rtol=1e-6))[0]
    estimate, said = heard(lambda: run.error_estimate)
    assert not said and estimate is not None
