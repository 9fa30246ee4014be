"""A simulation under the driver: output, breakpoints, slices, failures, interruption. One small system serves all tests."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import PJOR, PSOR, Contact, MechanicalSystem, Moreau
from nonsmooth.errors import ConvergenceError, IntegrationError, NonFiniteStateError, StepLimitError


def mass(t, q, p, out):
    for i in range(2):
        for j in range(2):
            out[i, j] = p.M[i, j]


def force(t, q, u, p, out):
    push = p.a if t < p.t_off else 0.0
    out[0] = push - p.k * q[0]
    out[1] = -p.g
    if t > p.t_bad:
        out[0] = np.nan


def gap(t, q, p, out):
    out[0] = q[1]
    out[1] = q[1] + 0.5 * q[0] + 0.02


def jacobian(t, q, p, out):
    out[0, 0], out[0, 1], out[1, 0], out[1, 1] = 0.0, 1.0, 0.5, 1.0


def tangent(t, q, p, out):
    out[0, 0], out[0, 1], out[1, 0], out[1, 1] = 1.0, 1.0, 0.0, -0.5


PARAMS = {"M": [[1.0, 0.2], [0.2, 2.0]], "a": 3.0, "t_off": 0.7, "k": 40.0, "g": 5.0, "t_bad": 1e9}
SYSTEM = MechanicalSystem(
    mass,
    force,
    contacts=Contact(
        gap, restitution=0.3, friction=0.2, tangent=tangent, jacobian=jacobian, name=["flat", "ramp"]
    ),
    params=PARAMS,
)


def run(t_end=2.0, system=SYSTEM, **options):
    options = {"dt": 1e-3, "audit": False, "on_energy_gain": "ignore"} | options
    return ns.simulate(system, (0.0, t_end), [0.3, 0.4], [0.0, 0.0], **options)


@pytest.fixture(scope="module")
def full():
    return run()


def test_run_is_worth_testing(full):
    assert len(full.events) > 5 and np.all(full.modes.any(axis=1))
    assert full.t.size == 2001 and full.t[-1] == 2.0 and full.success


def same(a, b, columns=slice(None)):
    for name in ("t", "q", "u", "P_N", "P_T", "modes", "dt"):
        x, y = getattr(a, name), getattr(b, name)
        assert np.array_equal(x, y[..., columns]), name


def test_two_runs_are_bit_identical(full):
    same(run(), full)


@pytest.mark.parametrize("k", [7, 10])
def test_every_kth_step(full, k):
    thin = run(every=k)
    index = sorted({*range(0, 2001, k), 2000})
    same(thin, full, index)
    assert [e.t for e in thin.events] == [e.t for e in full.events]


def test_t_eval_gives_these_instants_and_right_limits(full):
    instants = np.array([0.0, 0.1, 0.5005, 1.0, 1.7])
    result = run(t_eval=instants)
    assert np.array_equal(result.t, instants)
    np.testing.assert_allclose(result.q[:, 1], full.q[:, 100], rtol=1e-12)
    np.testing.assert_allclose(result.q[:, 2], 0.5 * (full.q[:, 500] + full.q[:, 501]), rtol=1e-9)
    assert np.array_equal(result.q[:, 3], full.q[:, 1000]) and np.array_equal(result.u[:, 3], full.u[:, 1000])
    impact = full.events[0]
    k = round(impact.t / 1e-3)
    at_impact = run(t_eval=[(k + 0.5) * 1e-3])
    assert np.array_equal(at_impact.u[:, 0], full.u[:, k + 1])  # after the impact
    for few in ([], [0.0], [0.25]):
        assert run(t_eval=few).t.tolist() == few


def test_breakpoints_are_hit_exactly():
    t_off = 0.70013
    result = run(breakpoints=[t_off, 5.0, 0.0], system=SYSTEM.with_params(t_off=t_off))
    assert np.count_nonzero(result.t == t_off) == 1
    k = int(np.flatnonzero(result.t == t_off)[0])
    assert 0 < result.dt[k] < 1e-3 and result.t[-1] == 2.0
    np.testing.assert_allclose(np.diff(result.t), result.dt[1:], rtol=0, atol=1e-15)
    assert np.all(np.diff(result.t) > 0)


def test_last_step_is_shortened_or_left_alone():
    assert run(1.0005).t[-2:].tolist() == [1.0, 1.0005]
    third = run(1.0, dt=1.0 / 3.0)
    assert third.t.size == 4 and third.t[-1] == 1.0


def test_how_it_is_sliced_does_not_matter(full, monkeypatch):
    monkeypatch.setattr("nonsmooth.control.driver.SLICE_SECONDS", 1e-5)
    same(run(), full)


# -- failures -----------------------------------------------------------------------------------------------------


TIGHT = Moreau(dt=1e-3, solver=PSOR(max_iter=1))


def test_unconverged_steps_raise():
    with pytest.raises(
        ConvergenceError, match=r"step from t = .* residual .* 1 iterations.*on_failure"
    ) as info:
        run(dt=None, method=TIGHT)
    partial = info.value.partial
    assert not partial.success and 0 < partial.t[-1] < 2.0
    same(partial, run(dt=None, method=TIGHT, on_failure="accept"), slice(0, partial.t.size))


def test_unconverged_steps_are_marked_when_accepted():
    result = run(dt=None, method=TIGHT, on_failure="accept", audit=True)
    injected = int(np.count_nonzero(result.residual > 1e-10))
    assert injected > 0
    assert result.audit.unconverged == injected and not result.audit.ok
    assert f"{injected} steps with an unconverged contact problem" in result.message
    assert result.t[-1] == 2.0


def corners(t, q):
    return np.array([q[0], q[1]])


def repelled(t, q, u):
    return np.array([0.01 / np.sqrt(q[0]) ** 3])


def test_halving_takes_the_step_in_parts():
    """Two walls hit within one step need many sweeps; one after the other they need one."""
    system = MechanicalSystem(
        np.array([[1.0, 0.9], [0.9, 1.0]]),
        lambda t, q, u: 0.0 * q,
        contacts=Contact(corners, restitution=1.0, name=["a", "b"]),
    )
    start = ([4e-4, 1e-4], [-1.0, -1.0])
    method = Moreau(dt=1e-3, solver=PSOR(max_iter=5))
    with pytest.raises(ConvergenceError, match=r"from t = 0 to 0\.001"):
        ns.simulate(system, (0.0, 5e-3), *start, method)
    result = ns.simulate(system, (0.0, 5e-3), *start, method, on_failure="halve")
    assert result.nrejected >= 1 and result.nsteps == 5
    np.testing.assert_allclose(result.t, np.arange(6) * 1e-3, rtol=1e-12)  # output stays on the grid
    exact = ns.simulate(system, (0.0, 5e-3), *start, Moreau(dt=1e-3 / 2**result.nrejected))
    np.testing.assert_allclose(result.u[:, 1], exact.u[:, 2**result.nrejected], rtol=1e-9)
    energy = np.sum(result.u**2, axis=0) + 1.8 * result.u[0] * result.u[1]
    np.testing.assert_allclose(energy, 3.8, rtol=1e-9)


def test_a_step_out_of_the_domain_is_tried_smaller():
    """A midpoint beyond the singularity gives NaN; smaller steps turn around before it."""
    system = MechanicalSystem([[1.0]], repelled)
    result = ns.simulate(system, (0.0, 1.0), [0.45], [-1.0], dt=0.05)
    assert result.nrejected > 0 and result.success
    assert np.all(result.q > 0) and result.u[0, -1] > 0.5
    np.testing.assert_allclose(result.t, np.arange(21) * 0.05, rtol=1e-12)


@pytest.mark.parametrize("solver", [PSOR(tol=1e-12), PJOR(tol=1e-12, max_iter=100_000)], ids=["PSOR", "PJOR"])
def test_relaxation_gives_the_same_trajectory(full, solver):
    result = run(dt=None, method=Moreau(dt=1e-3, solver=solver))
    np.testing.assert_allclose(result.q, full.q, rtol=0, atol=1e-9)
    assert [(e.kind, e.name) for e in result.events] == [(e.kind, e.name) for e in full.events]


def test_nan_from_the_force_keeps_what_was_computed(full):
    with pytest.raises(
        NonFiniteStateError, match=r"force is nan in entry \(0,\) at t = 1.0.*last good instant t = 1"
    ) as info:
        run(system=SYSTEM.with_params(t_bad=1.0))
    partial = info.value.partial
    assert abs(partial.t[-1] - 1.0) < 1.1e-3
    same(partial, full, slice(0, partial.t.size))


def test_limits_on_steps_and_time(full):
    with pytest.raises(StepLimitError, match=r"max_steps = 100 reached at t = 0.1 of 2") as info:
        run(max_steps=100)
    same(info.value.partial, full, slice(0, 101))
    with pytest.raises(StepLimitError, match=r"time_limit = 0\.2 s"):
        run(1e6, time_limit=0.2, every=1000)


def test_mass_that_becomes_singular():
    def shrinking(t, q, p):
        return np.array([[1.0 - t]])

    system = MechanicalSystem(shrinking, lambda t, q, u: -0.0 * q)
    with pytest.raises(
        IntegrationError, match=r"mass matrix is not positive definite at t = 1\.\d+ \(condition number"
    ) as info:
        ns.simulate(system, (0.0, 2.0), [0.0], [1.0], dt=1e-2)
    assert 0.98 < info.value.partial.t[-1] < 1.01


# -- exceptions from user functions, re-entrance ----------------------------------------------------------------------

CALLS = {"action": None}


def python_force(t, q, u):
    if CALLS["action"] is not None and t > 0.3:
        CALLS["action"]()
    return -q


CALLBACK = MechanicalSystem([[1.0]], python_force)


def test_exceptions_pass_through_with_the_result_so_far():
    CALLS["action"] = None
    whole = ns.simulate(CALLBACK, (0.0, 1.0), [1.0], [0.0], dt=1e-2)
    np.testing.assert_allclose(whole.q[0, -1], np.cos(1.0), atol=1e-4)
    assert any("Python callbacks: force" in note for note in whole.audit.notes)
    for error in (KeyError("mine"), SystemExit(3), KeyboardInterrupt()):

        def fail(error=error):
            raise error

        CALLS["action"] = fail
        with pytest.raises(type(error)) as info:
            ns.simulate(CALLBACK, (0.0, 1.0), [1.0], [0.0], dt=1e-2)
        assert info.value is error
        assert any("raised in force" in note for note in error.__notes__)
        assert any("step 30" in note for note in error.__notes__)
        same(error.partial, whole, slice(0, 31))


def test_calling_back_into_the_running_simulation():
    def inner():
        ns.simulate(CALLBACK, (0.0, 1.0), [1.0], [0.0], dt=1e-2)

    CALLS["action"] = inner
    with pytest.raises(IntegrationError, match="re-entrant"):
        ns.simulate(CALLBACK, (0.0, 1.0), [1.0], [0.0], dt=1e-2)
    CALLS["action"] = None
    assert ns.simulate(CALLBACK, (0.0, 1.0), [1.0], [0.0], dt=1e-2).success  # and the system is free again


# -- interruption, streaming, memory -----------------------------------------------------------------------------------

CHILD = """
import signal
import sys
import numpy as np
from nonsmooth import problems, simulate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores Ctrl-C, and so do its children

ball = problems.falling_ball()
simulate(ball.system, (0.0, 0.1), ball.q0, ball.u0, dt=1e-3)
print("ready", flush=True)
try:
    simulate(ball.system, (0.0, 1e6), ball.q0, ball.u0, dt=1e-3, every=1000, output=sys.argv[1])
except KeyboardInterrupt as exc:
    print("partial", exc.partial.t.size, exc.partial.t[-1], exc.partial.status, flush=True)
"""


def test_ctrl_c_stops_at_once_and_keeps_the_partial_result(tmp_path):
    target = tmp_path / "run"
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", CHILD, str(target)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        assert child.stdout.readline().strip() == "ready"
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        words = child.stdout.readline().split()
    finally:
        child.kill()
        child.wait()
    assert words and words[0] == "partial"
    assert int(words[1]) > 10 and words[3] == "-2"
    kept = ns.Result.load(target)
    assert kept.t.size == int(words[1]) and kept.t[-1] == float(words[2])


def test_streamed_run_equals_the_one_in_memory(full, tmp_path):
    streamed = run(output=tmp_path / "a")
    same(streamed, full)
    same(ns.Result.load(tmp_path / "a"), full)
    assert [(e.t, e.kind) for e in streamed.events] == [(e.t, e.kind) for e in full.events]
    few = run(output=tmp_path / "b", t_eval=[0.5, 1.5])
    assert few.t.tolist() == [0.5, 1.5]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.fixture
def allocations():
    """Number of arrays allocated by compiled code so far."""
    from numba.core.runtime import _nrt_python, rtsys

    _nrt_python.memsys_enable_stats()
    yield lambda: rtsys.get_allocation_stats().alloc
    _nrt_python.memsys_disable_stats()


def test_memory_and_allocations_of_a_million_steps(allocations):
    """No array per step from library code; nothing grows."""
    ball = ns.problems.falling_ball()
    options = {"dt": 1e-3, "every": 10, "audit": False}
    ns.simulate(ball.system, (0.0, 100.0), ball.q0, ball.u0, **options)
    before = resident()
    counts = []
    for t_end in (10.0, 1000.0):
        start = allocations()
        result = ns.simulate(ball.system, (0.0, t_end), ball.q0, ball.u0, **options)
        counts.append(allocations() - start)
    assert counts[0] == counts[1]  # 1e4 or 1e6 steps: the same
    stored = sum(
        getattr(result, name).nbytes
        for name in ("t", "q", "u", "P_N", "modes", "dt", "order", "residual", "iterations", "y")
    )
    assert resident() - before <= 5.0 + 2.5 * stored / 2**20


def test_memory_of_a_streamed_run_is_bounded(tmp_path, monkeypatch):
    """1e6 steps, every 10th to a file: resident memory from the first full buffer (1.6e5 steps) to the last."""
    from nonsmooth.schemes.simulation import Simulation

    seen, flush = [], Simulation._flush

    def watched(self):
        flush(self)
        seen.append((self.run.steps, resident()))

    monkeypatch.setattr(Simulation, "_flush", watched)
    ball = ns.problems.falling_ball()
    result = ns.simulate(
        ball.system, (0.0, 1000.0), ball.q0, ball.u0, dt=1e-3, every=10, output=tmp_path / "run", audit=False
    )
    assert result.t.size == 100_001 and result.nsteps == 1_000_000
    assert len(seen) >= 5 and seen[0][0] < 2e5 and seen[-1][0] > 9e5
    assert seen[-1][1] - seen[0][1] <= 5.0


def pendulum_gap(t, q, p, out):
    out[0] = np.cos(q[0]) + p.c * np.sin(t) - q[1]


def test_automatic_derivatives_allocate_nothing(allocations):
    def unit(t, q, p, out):
        out[0, 0], out[0, 1], out[1, 0], out[1, 1] = 1.0, 0.0, 0.0, 1.0

    def pull(t, q, u, p, out):
        out[0] = -q[0]
        out[1] = 3.0

    system = MechanicalSystem(unit, pull, contacts=Contact(pendulum_gap, name="cap"), params={"c": 0.1})
    counts = []
    for t_end in (1.0, 1.0, 20.0):
        start = allocations()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ns.simulate(system, (0.0, t_end), [0.3, 0.0], [0.0, 0.0], dt=1e-3, audit=False)
        counts.append(allocations() - start)
    assert np.count_nonzero(result.P_N[0]) > 1000
    assert counts[1] == counts[2]
    # the counter sees what a model allocates: a function that returns an array
    system = MechanicalSystem(unit, lambda t, q, u: np.array([-q[0], 0.0]))
    ns.simulate(system, (0.0, 0.1), [0.3, 0.0], [0.0, 0.0], dt=1e-3)
    start = allocations()
    ns.simulate(system, (0.0, 1.0), [0.3, 0.0], [0.0, 0.0], dt=1e-3, audit=False)
    assert allocations() - start >= 1000
