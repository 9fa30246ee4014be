"""Stiff forces under `event-driven`: the implicit integrator."""

import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InputError

RADAU = {"integrator": "Radau"}


def suspension(damping, stiffness):
    """x'' + d x' + k (x + 0.2) = 0 over a stop at x = 0: eigenvalues -k/d and about -d."""
    return ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([-p.d * u[0] - p.k * (q[0] + 0.2)]),
        ns.Contact(lambda t, q: q[0], restitution=0.3, name="stop"),
        params={"d": damping, "k": stiffness},
    )


def test_overdamped_suspension_takes_a_thousand_times_fewer_steps():
    system = suspension(1e6 + 1.0, 1e6)  # eigenvalues -1 and -1e6
    stiff = ns.simulate(system, (0, 4.0), [1.0], [0.0], ns.EventDriven(**RADAU, rtol=1e-6), audit=False)
    # x + 0.2 = 1.2 (1e6 exp(-t) - exp(-1e6 t)) / (1e6 - 1): the stop is reached at
    closed = np.log(6.0 * 1e6 / (1e6 - 1.0))
    assert [event.kind for event in stiff.events] == ["close"]
    assert stiff.events[0].t == pytest.approx(closed, abs=1e-5)
    fine = ns.simulate(system, (0, 2.0), [1.0], [0.0], ns.EventDriven(**RADAU, rtol=1e-9), audit=False)
    assert fine.events[0].t == pytest.approx(closed, abs=1e-9)
    pair = ns.EventDriven(integrator="DOP853", rtol=1e-6)
    explicit = ns.simulate(system, (0, 1e-3), [1.0], [0.0], pair, audit=False)
    assert explicit.nsteps * 4e3 >= 1000 * stiff.nsteps


def test_the_default_goes_over_to_implicit_steps_where_stability_holds_explicit_ones():
    system = suspension(1e6 + 1.0, 1e6)
    closed = np.log(6.0 * 1e6 / (1e6 - 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ns.errors.DiscontinuityWarning)  # the fast begin is no jump
        warnings.simplefilter("ignore", ns.errors.ZenoWarning)
        for rtol, steps in ((1e-6, 150), (1e-9, 300)):
            run = ns.simulate(system, (0, 4.0), [1.0], [0.0], rtol=rtol)
            assert run.nsteps <= steps and run.events[0].t == pytest.approx(closed, abs=1e-6)
            assert "Radau instead of DOP853 from t = 0.000" in run.message
            assert any("Radau instead" in note for note in run.audit.notes)
            assert run.audit.ok and float(run.error_estimate) <= 10 * rtol
            again = ns.simulate(system, (0, 4.0), [1.0], [0.0], rtol=rtol)  # (in the records of the first)
            assert np.array_equal(again.y, run.y) and again.message == run.message
    tables = [
        ns.simulate(system, (0, 4.0), [1.0], [0.0], rtol=1e-8, **more)
        for more in ({"t_eval": np.linspace(0, 1, 7)}, {"dense_output": True})
    ]
    seen = np.array([tables[1].sol(t)[0] for t in tables[0].t])
    assert np.allclose(tables[0].q[0], 1.2 * np.exp(-tables[0].t) - 0.2, atol=3e-6)  # slow motion, to 1e-6
    assert np.allclose(tables[0].q[0], seen, atol=1e-7)


def test_user_events_stop_at_the_same_place_whichever_integrator_serves():
    system = suspension(1e6 + 1.0, 1e6)

    def half(t, q, u):
        return q[0] - 0.5

    half.terminal = True
    ends = [
        ns.simulate(system, (0, 4.0), [1.0], [0.0], ns.EventDriven(**more, rtol=1e-9), events=half).t[-1]
        for more in ({}, RADAU)
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_what_is_not_stiff_keeps_the_explicit_pair_bit_for_bit():
    for name in ("woodpecker", "impact_oscillator", "rod_rough_plane"):
        problem = ns.problems.get(name)
        runs = [
            problem.simulate(method=ns.EventDriven(**more, rtol=1e-8), audit=False)
            for more in ({}, {"integrator": "DOP853"})
        ]
        assert np.array_equal(runs[0].t, runs[1].t) and np.array_equal(runs[0].y, runs[1].y), name
        assert "Radau" not in runs[0].message


def test_fast_oscillations_that_are_meant_stay_with_the_explicit_pair():
    """Long runs whose steps follow the motion are not stiff, however many steps they take."""
    swing = ns.MechanicalSystem(1.0, lambda t, q, u: -1e6 * q)
    for rtol in (1e-3, 1e-6, 1e-10):
        run = ns.simulate(swing, (0, 30.0), [1.0], [0.0], rtol=rtol, audit=False, every=1000)
        assert "Radau" not in run.message and run.nsteps > 5000, rtol


def test_the_audit_repeats_steps_through_a_stiff_transient():
    """While the fast mode dies away the second integrator is sure of itself and wrong; it is asked again in more pieces."""
    for rtol in (1e-6, 1e-8, 1e-10):
        run = ns.simulate(
            suspension(1e6 + 1.0, 1e6), (0, 4.0), [1.0], [0.0], ns.EventDriven(**RADAU, rtol=rtol)
        )
        assert run.audit.ok, rtol


def test_order_of_the_implicit_steps():
    """With steps held at dt, errors of a smooth phase fall with the fifth power."""
    swing = ns.MechanicalSystem(1.0, lambda t, q, u: -100.0 * q)
    errors = []
    for n in (30, 60, 120):
        method = ns.EventDriven(**RADAU, rtol=0.1, dt_max=1.0 / n)
        run = ns.simulate(swing, (0, 1.0), [1.0], [0.0], method, audit=False)
        errors.append(abs(run.q[0, -1] - np.cos(10.0)))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(slopes > 4.5), errors


def test_woodpecker_agrees_with_the_explicit_integrator():
    toy = ns.problems.woodpecker(start="consistent", t_end=0.14)
    runs = [
        toy.simulate(method=ns.EventDriven(**more)) for more in ({**RADAU, "rtol": 1e-7}, {"rtol": 1e-10})
    ]
    kinds = [[(event.kind, event.name) for event in run.events] for run in runs]
    assert kinds[0] == kinds[1] and runs[0].audit.ok
    for a, b in zip(runs[0].events, runs[1].events):
        assert a.t == pytest.approx(b.t, abs=1e-9)


def slider_crank():
    """Crank, rod and slider as nine coordinates on eight constraints; a stop and friction on the slider, a stiff damper on the crank."""
    r, l = 0.15, 0.30

    def loop(t, q):
        c, s = np.cos(q[2]), np.sin(q[2])
        c_2, s_2 = np.cos(q[5]), np.sin(q[5])
        return np.array([
            q[0] - 0.5 * r * c, q[1] - 0.5 * r * s,
            q[3] - r * c - 0.5 * l * c_2, q[4] - r * s - 0.5 * l * s_2,
            q[6] - r * c - l * c_2, q[7] - r * s - l * s_2,
            q[7], q[8],
        ])  # fmt: skip

    def force(t, q, u, p):
        out = np.zeros(9)
        out[2] = -p.d * (u[2] - p.w)
        return out

    M = np.diag([0.04, 0.04, 7.4e-5, 0.04, 0.04, 5.9e-4, 0.08, 0.08, 1e-4])
    e_x = np.zeros(9)
    e_x[6] = 1.0
    return ns.MechanicalSystem(
        M, force, ns.Contact(lambda t, q: q[6] - 0.2, restitution=0.3, name="stop"), joints=[ns.Joint(loop, name="loop")],
        friction=[ns.FrictionElement(lambda t, q: e_x, limit=0.5, name="guide")], params={"d": 1e3, "w": 10.0},
    )  # fmt: skip


def test_stiff_loop_with_joints_stop_and_friction_in_one_call():
    """The slider slips until it hits the stop, against which the drive then holds it."""
    system = slider_crank()
    q0 = np.array([0.075, 0.0, 0.0, 0.30, 0.0, 0.0, 0.45, 0.0, 0.0])
    u0 = np.array([0.0, 0.75, 10.0, 0.0, 0.75, -5.0, 0.0, 0.0, 0.0])
    run = ns.simulate(system, (0, 0.25), q0, u0, ns.EventDriven(**RADAU, rtol=1e-5))
    model = system.bind(0.0, q0, u0)
    drift = [np.abs(model.joint_residuals(t, q, u)[0]).max() for t, q, u in zip(run.t, run.q.T, run.u.T)]
    assert max(drift) <= 1e-14 and np.min(run.q[6]) >= 0.2 - 1e-9
    # x(a) = r cos a + l sqrt(1 - (r sin a / l)^2) = 0.2 for the crank at 10 rad/s
    assert {(event.kind, event.name) for event in run.events} >= {("close", "stop"), ("stick", "guide")}
    for event in run.events:
        assert event.t == pytest.approx(ANGLE_OF_STOP / 10.0, rel=1e-3)
    assert run.audit.ok and np.all(run.u[6, -1] == pytest.approx(0.0, abs=1e-12))


ANGLE_OF_STOP = float(np.arccos((0.15**2 + 0.2**2 - 0.3**2) / (2 * 0.15 * 0.2)))


def test_bad_input():
    with pytest.raises(InputError, match="Radau"):
        ns.EventDriven(integrator="BDF")
    with pytest.raises(InputError, match="explicit integrator"):
        ns.simulate(suspension(1.0, 1.0), (0, 1), [1.0], [0.0], ns.EventDriven(**RADAU), sensitivities=["q0"])
