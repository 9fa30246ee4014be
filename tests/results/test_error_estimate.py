"""The global error told by a second pass, and by a second scheme."""

import numpy as np
import pytest

import nonsmooth as ns

G = 9.81
BALL = ns.MechanicalSystem(1.0, -G, ns.Contact(lambda t, q: q[0], restitution=0.8, name="floor"))
OSCILLATOR = ns.MechanicalSystem(1.0, lambda t, q, u: -q)


def test_error_of_an_oscillator():
    for rtol in (1e-4, 1e-7, 1e-10):
        result = ns.simulate(OSCILLATOR, (0, 50), [1.0], [0.0], rtol=rtol)
        true = np.abs(result.y[:, -1] - [np.cos(50), -np.sin(50)])
        estimate = result.error_estimate
        assert 0.3 * true.max() < float(estimate) < 3 * true.max()
        assert estimate.y == pytest.approx(true, rel=2, abs=0.1 * true.max())
        assert np.max(estimate) == float(estimate)
    assert f"{float(estimate):.2g} of the running scale" in result.summary()
    assert result.error_estimate is estimate  # made once


def test_instants_of_events():
    result = ns.simulate(BALL, (0, 2), [1.0], [0.0], rtol=1e-6)
    estimate, first = result.error_estimate, np.sqrt(2 / G)
    true = np.abs(
        [e.t for e in result.events.of("impact")] - (first + 2 * 0.8 * first * np.array([0, 1, 1.8]))
    )
    assert estimate.events.size == len(result.events)
    worst = estimate.worst_event
    assert 0.1 * np.max(true) <= worst <= 30 * np.max(true) or max(worst, np.max(true)) <= 0.1 * 1e-6


def test_adaptive_moreau_has_one_by_its_own_tolerance():
    for tol in (1e-3, 1e-4):
        result = ns.simulate(OSCILLATOR, (0, 5), [1.0], [0.0], method=ns.AdaptiveMoreau(tol=tol))
        true = np.max(np.abs(result.y[:, -1] - [np.cos(5), -np.sin(5)]))
        assert 0.5 * true < float(result.error_estimate) < 2 * true
        assert f"tol = {0.1 * tol:.3g}" in result.error_estimate.against


def test_constant_steps_have_none():
    assert ns.simulate(OSCILLATOR, (0, 1), [1.0], [0.0], dt=0.01).error_estimate is None


def test_verify_runs_a_second_scheme():
    result = ns.simulate(OSCILLATOR, (0, 10), [1.0], [0.0], dt=0.01, verify=True)
    true = np.max(np.abs(result.y[:, -1] - [np.cos(10), -np.sin(10)]))
    assert float(result.verification) == pytest.approx(true, rel=0.2)
    assert "event-driven" in result.verification.against and "deviation" in result.summary()


def test_survives_a_file(tmp_path):
    result = ns.simulate(OSCILLATOR, (0, 5), [1.0], [0.0], rtol=1e-6)
    result.save(tmp_path / "a.h5")
    assert (
        ns.Result.load(tmp_path / "a.h5").error_estimate is None
    )  # never looked at, and the model is not in the file
    wanted = float(result.error_estimate)
    result.save(tmp_path / "b.h5")
    assert float(ns.Result.load(tmp_path / "b.h5").error_estimate) == wanted


def test_solve_ivp():
    for rtol in (1e-4, 1e-8):
        result = ns.solve_ivp(
            lambda t, y: [y[1], -y[0]], (0, 30), [1.0, 0.0], rtol=rtol, atol=rtol, verify=True
        )
        true = np.max(np.abs(result.y[:, -1] - [np.cos(30), -np.sin(30)]))
        assert 0.3 * true < float(result.error_estimate) < 3 * true
        assert 0.3 * true < float(result.verification) < 3 * true
        assert "error_estimate" not in result.keys()  # SciPy's fields stay SciPy's


def test_solve_ivp_with_a_terminal_event():
    def down(t, y):
        return y[0]

    down.terminal = True
    result = ns.solve_ivp(lambda t, y: [y[1], -G], (0, 3), [1.0, 0.0], events=down, rtol=1e-6)
    assert result.error_estimate.t_end < 1e-6 and float(result.error_estimate) < 1e-6


def test_switches_and_filippov():
    relay = ns.Switch(lambda t, y: y[0], name="relay")
    result = ns.solve_ivp(
        lambda t, y, mode: [y[1], -3.0 * mode[0]], (0, 9.3), [1.0, 0.0], switches=[relay], rtol=1e-5
    )
    assert float(result.error_estimate) < 1e-3 and np.isfinite(result.error_estimate.events).all()
    friction = ns.sign_term(-1.0, [1.0], [1.0])
    system = ns.FilippovSystem(lambda t, x: np.array([1.5 * np.cos(t)]), [friction])
    for rtol in (1e-4, 1e-7):
        result = ns.solve_filippov(system, (0, 20), [0.3], rtol=rtol)
        exact = ns.solve_filippov(system, (0, 20), [0.3], rtol=1e-12)
        true = np.max(np.abs(result.y[:, -1] - exact.y[:, -1])) / np.max(np.abs(result.y))
        estimate = float(result.error_estimate)
        assert 0.1 * true <= estimate <= 30 * true or max(true, estimate) <= 0.1 * rtol


def test_what_rests_has_no_error():
    """Velocities of rounding size are not measured against themselves."""
    feet = ns.Contact(
        lambda t, q: np.array([q[1] - 0.5 * np.sin(q[2]), q[1] + 0.5 * np.sin(q[2])]), name=("left", "right")
    )
    box = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.1]), np.array([0.0, -9.81, 0.0]), feet)
    run = ns.simulate(box, (0, 1), [0.3, 0.0, 0.0], [0.0, 0.0, 0.0], rtol=1e-8)
    assert float(run.error_estimate) <= 1e-9
