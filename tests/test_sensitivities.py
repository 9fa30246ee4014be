"""Derivatives of runs by start and parameters, beside extrapolated differences of runs."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import GrazingWarning, InputError, SensitivityWarning, ZenoWarning

RUN = {"method": "event-driven", "rtol": 1e-12, "audit": False}

# a pendulum that bounces against a wall (Bruls et al. 2018, sec. 6.1, reduced to its angle, gravity along +y, e = 0.8)
WALL = ns.Contact(lambda t, q, p: p.L * np.cos(q[0]) - p.w, restitution=lambda p: p.e, name="wall", size=1)
PENDULUM = ns.MechanicalSystem(
    lambda t, q, p: np.array([[p.m * p.L**2 + p.J]]),
    lambda t, q, u, p: np.array([p.m * p.g * p.L * np.cos(q[0])]),
    WALL,
    params={"m": 1.0, "L": 1.0, "J": 0.1, "g": 10.0, "e": 0.8, "w": np.sqrt(0.5)},
)
BALL = ns.MechanicalSystem(
    1.0, -10.0, ns.Contact(lambda t, q: q[0], restitution=lambda p: p.e, name="floor"), params={"e": 0.5}
)


def varied(system, t_end, q0, u0, name, by):
    """Final state and event times with one number changed."""
    q, u, params = np.array(q0, float), np.array(u0, float), {}
    if name[:3] in ("q0[", "u0["):
        (q if name[0] == "q" else u)[int(name[3:-1])] += by
    else:
        params = {name: system.params[name] + by}
    run = ns.simulate(system.with_params(**params) if params else system, (0, t_end), q, u, **RUN)
    return np.append(run.y[:, -1], [event.t for event in run.events])


def differences(system, t_end, q0, u0, name, h):
    """Derivatives of final state and event times by differences extrapolated to sixth order."""
    D = []
    for k in range(3):
        ends = [varied(system, t_end, q0, u0, name, c * h / 2**k) for c in (1, -1)]
        D.append((ends[0] - ends[1]) / (2 * h / 2**k))
    fourth = [(4 * D[k + 1] - D[k]) / 3 for k in range(2)]
    return (16 * fourth[1] - fourth[0]) / 15


def compare(system, t_end, q0, u0, steps, tol, tol_events):
    """Every column of a run with derivatives against differences; relative to the largest of its kind."""
    run = ns.simulate(system, (0, t_end), q0, u0, sensitivities=list(steps), **RUN)
    found = run.sensitivity
    assert (
        found.exists and found.names == tuple(steps) and found.events.shape == (len(run.events), len(steps))
    )
    n, size = run.y.shape[0], np.max(np.abs(run.y), axis=1)
    for k, (name, h) in enumerate(steps.items()):
        wanted = differences(system, t_end, q0, u0, name, h)
        state, instants = wanted[:n] / size, wanted[n:]
        error = np.max(np.abs(found.final[:, k] / size - state))
        assert error <= tol * np.max(np.abs(state)), (name, error)
        error = np.max(np.abs(found.events[:, k] - instants), initial=0.0)
        assert error <= tol_events * max(np.max(np.abs(instants), initial=0.0), 1e-6), (name, error)
    return run


def test_bouncing_pendulum_over_fifteen_impacts():
    steps = {"q0[0]": 5e-5, "L": 1e-4, "g": 2e-3, "e": 1e-4, "w": 1e-4}
    run = compare(PENDULUM, 3.495, [np.pi / 12], [0.0], steps, 1e-8, 1e-8)
    assert len(run.events.of("impact")) == 15


def test_woodpecker_through_stick_slip_and_impacts():
    toy = ns.problems.woodpecker(start="consistent")
    steps = {"u0[2]": 5e-4, "q0[2]": 2e-5, "c": 5e-7, "g": 1e-3, "h_S": 1e-6}
    run = compare(toy.system, 0.14, toy.q0, toy.u0, steps, 1e-7, 1e-8)
    assert {event.kind for event in run.events} == {"stick", "slip", "open", "close", "impact"}


def test_disk_of_friction_and_joints():
    """Friction on a disk; a rod on a joint, whose constraints are kept by the derivatives, too."""
    element = ns.FrictionElement(lambda t, q: np.eye(2), limit=lambda t, q, u, p: p.F, name="table")
    puck = ns.MechanicalSystem(
        lambda t, q, p: np.eye(2) * p.m,
        lambda t, q, u, p: np.array([-p.k * q[0] - 0.3 * q[1], -0.5 * p.k * q[1]]),
        friction=[element],
        params={"k": 4.0, "F": 1.8, "m": 1.0},
    )
    compare(puck, 0.7, [1.0, 0.4], [0.3, 0.7], {"q0[1]": 1e-3, "k": 1e-3, "F": 1e-4, "m": 1e-3}, 1e-8, 1e-8)
    with pytest.warns(
        SensitivityWarning, match="neighbouring runs part"
    ):  # where it stops slip has no direction
        assert not ns.simulate(
            puck, (0, 2), [1.0, 0.4], [0.3, 0.7], sensitivities="F", **RUN
        ).sensitivity.exists
    rod = ns.Joint(lambda t, q, p: np.array([q[0] - p.L * np.cos(q[2]), q[1] - p.L * np.sin(q[2])]))
    system = ns.MechanicalSystem(
        np.diag([1.0, 1.0, 0.1]),
        np.array([0.0, 10.0, 0.0]),
        ns.Contact(lambda t, q, p: q[0] - p.w, restitution=0.8),
        joints=[rod],
        params={"L": 1.0, "w": np.sqrt(0.5)},
    )
    start = [np.cos(0.25), np.sin(0.25), 0.25]
    run = ns.simulate(system, (0, 1.0), start, np.zeros(3), sensitivities=["w", "L"], **RUN)
    reduced = ns.simulate(
        PENDULUM.with_params(J=0.1), (0, 1.0), [0.25], [0.0], sensitivities=["w", "L"], **RUN
    )
    np.testing.assert_allclose(run.sensitivity.final[[2, 5], 0], reduced.sensitivity.by("w"), rtol=1e-8)
    np.testing.assert_allclose(run.sensitivity.final[[2, 5], 1], reduced.sensitivity.by("L"), rtol=1e-8)
    angle, (x, y) = run.q[2, -1], run.sensitivity.final[:2, 1]
    np.testing.assert_allclose(x, np.cos(angle) - np.sin(angle) * run.sensitivity.final[2, 1], rtol=1e-9)
    np.testing.assert_allclose(y, np.sin(angle) + np.cos(angle) * run.sensitivity.final[2, 1], rtol=1e-9)


def test_closed_form_of_a_ball_and_any_units():
    """t_1 = sqrt(2 q/g), v = -g t_1; by q0: dt_1 = 1/(g t_1); behind the impact u = -e v - g (t - t_1)."""
    for length in (1e-6, 1.0, 1e6):
        g, e, q0 = 10.0 * length, 0.5, 0.8 * length
        ball = ns.MechanicalSystem(1.0, -g, ns.Contact(lambda t, q: q[0], restitution=e, name="floor"))
        run = ns.simulate(ball, (0, 0.6), [q0], [0.0], rtol=1e-10, sensitivities="q0")
        found, t_1 = run.sensitivity, 0.4
        np.testing.assert_allclose(found.events[0, 0], 1 / (g * t_1), rtol=1e-9)
        np.testing.assert_allclose(found.u[0, 0, -1], (1 + e) / t_1, rtol=1e-9)
        np.testing.assert_allclose(found.q[0, 0, -1], -e + (1 + e) * 0.2 / t_1, rtol=1e-9)


def test_forces_that_depend_on_time():
    """A shaken oscillator between impacts: amplitude and frequency of the excitation."""
    shaken = ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([-4.0 * q[0] - p.c * u[0] + p.A * np.cos(p.w * t)]),
        ns.Contact(
            lambda t, q, p: q[0] + 0.1 + p.h * np.sin(2.0 * t), restitution=lambda p: p.e, name="table"
        ),
        params={"c": 0.2, "A": 1.5, "w": 3.0, "e": 0.7, "h": 0.1},
    )
    steps = {"q0[0]": 1e-3, "u0[0]": 1e-3, "c": 1e-3, "A": 1e-3, "w": 1e-3, "e": 1e-3, "h": 1e-3}
    run = compare(shaken, 6.0, [0.2], [0.7], steps, 1e-8, 1e-8)
    assert len(run.events) >= 2


def test_outputs_and_instants_between_steps():
    instants = np.linspace(0.0, 1.0, 5)
    run = ns.simulate(BALL, (0, 1.0), [0.8], [0.3], rtol=1e-10, t_eval=instants, sensitivities=["u0", "e"])
    assert run.sensitivity.q.shape == (1, 2, 5)
    for k in range(1, 5):
        alone = ns.simulate(BALL, (0, instants[k]), [0.8], [0.3], rtol=1e-10, sensitivities=["u0", "e"])
        both = np.concatenate([run.sensitivity.q[..., k], run.sensitivity.u[..., k]])
        np.testing.assert_allclose(both, alone.sensitivity.final, rtol=1e-8, atol=1e-10)
    energy = run.sensitivity.of(lambda q, u: 0.5 * u[0] ** 2 + 10.0 * q[0], run)
    S, u = run.sensitivity.final, run.u[0, -1]
    np.testing.assert_allclose(energy, (u * S[1] + 10.0 * S[0])[None], rtol=1e-9)
    with pytest.raises(InputError, match="not among the names"):
        run.sensitivity.by("m")


def test_world_and_its_start():
    world = ns.World(gravity=(0, -10.0))
    ball = world.add(ns.Body(shape=ns.Disk(0.1), density=1000, position=(0, 0.9), velocity=(1.0, 0.0)))
    world.contact(ball, ns.HalfPlane(), restitution=0.5)
    run = ns.simulate(world, (0, 0.6), rtol=1e-10, sensitivities=["q0[1]", "u0[0]"])
    np.testing.assert_allclose(run.sensitivity.events, [[0.25, 0.0]], atol=1e-9)
    np.testing.assert_allclose(run.sensitivity.u[1, :, -1], [3.75, 0.0], atol=1e-8)
    np.testing.assert_allclose(run.sensitivity.q[0, :, -1], [0.0, 0.6], atol=1e-9)


def test_where_derivatives_end():
    """At independent impacts at one instant, behind accumulation, at grazing; told by a warning and a field."""
    two = ns.MechanicalSystem(
        np.eye(2), np.full(2, -10.0), ns.Contact(lambda t, q: q, restitution=0.5, name="two")
    )
    with pytest.warns(SensitivityWarning, match="fall together"):
        run = ns.simulate(two, (0, 0.6), [0.8, 0.8], [0.0, 0.0], rtol=1e-10, sensitivities="q0")
    found = run.sensitivity
    assert not found.exists and found.t_end == pytest.approx(0.4) and "fall together" in found.reason
    assert np.all(np.isnan(found.final)) and np.all(np.isfinite(found.q[..., run.t < 0.4]))
    with pytest.warns(SensitivityWarning, match="accumulate"), pytest.warns(ZenoWarning):
        run = ns.simulate(BALL, (0, 2.0), [0.8], [0.0], rtol=1e-10, sensitivities="q0")
    assert run.sensitivity.reason == "impacts accumulate" and np.all(np.isfinite(run.sensitivity.events[:10]))
    touch = ns.MechanicalSystem(
        1.0, lambda t, q, u: 1.0 - q, ns.Contact(lambda t, q: 2.0 - q[0], restitution=0.5)
    )
    with pytest.warns(SensitivityWarning, match="without speed"), pytest.warns(GrazingWarning):
        run = ns.simulate(touch, (0, 5), [0.0], [0.0], rtol=1e-10, sensitivities="q0")
    assert not run.sensitivity.exists


def test_files_keep_them(tmp_path):
    run = ns.simulate(BALL, (0, 0.6), [0.8], [0.0], rtol=1e-8, sensitivities=["e"])
    run.save(tmp_path / "run.hdf5")
    kept = ns.Result.load(tmp_path / "run.hdf5")
    np.testing.assert_array_equal(kept.sensitivity["q"], run.sensitivity.q)


def test_bad_input():
    for names, match in (
        (["mass"], "names 'mass'"), (["q0[3]"], "q0\\[3\\]"), (3.0, "a list of names"), ([1], "names 1"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=match):
            ns.simulate(BALL, (0, 1), [1.0], [0.0], sensitivities=names)
    with pytest.raises(InputError, match="event-driven"):
        ns.simulate(BALL, (0, 1), [1.0], [0.0], dt=1e-3, sensitivities=["e"])
    with pytest.raises(InputError, match="output"):
        ns.simulate(BALL, (0, 1), [1.0], [0.0], output="x", sensitivities=["e"])
