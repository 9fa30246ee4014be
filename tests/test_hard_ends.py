"""What is left of a run that ends hard: killed, on a full disk, interrupted, by a function that raises; and forks meanwhile."""

import errno
import os
import signal
import threading
import time

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import StorageError

BALLS = ns.MechanicalSystem(
    1.0,
    lambda t, q, u: -30.0 * q - 9.81,
    ns.Contact(lambda t, q: q[0] + 0.05, restitution=0.99, name="floor"),
)


def test_events_survive_a_kill(tmp_path):
    """Events are written with the columns they belong to."""
    child = os.fork()
    if child == 0:
        try:
            ns.simulate(BALLS, (0, 1e4), [0.1], [0.0], dt=1e-4, output=tmp_path / "run", progress=False)
        finally:
            os._exit(0)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(tmp_path.glob("run/seg-*"))) < 2:
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    result = ns.Result.load(tmp_path / "run")
    assert result.unfinished and len(result) > 1000
    wanted = ns.simulate(BALLS, (0, float(result.t[-1])), [0.1], [0.0], dt=1e-4, every=1000)
    assert len(wanted.events) > 20
    found = [(e.t, e.kind) for e in result.events]
    n = len(wanted.events) - 1  # the last one may be an impact that is not over
    assert found[:n] == [(e.t, e.kind) for e in wanted.events[:n]]


def test_streamed_events_are_those_of_memory(tmp_path):
    options = {"dt": 1e-4, "progress": False}
    streamed = ns.simulate(BALLS, (0, 20), [0.1], [0.0], output=tmp_path / "run", **options)
    plain = ns.simulate(BALLS, (0, 20), [0.1], [0.0], **options)
    assert [(e.t, e.kind) for e in streamed.events] == [(e.t, e.kind) for e in plain.events]


def test_full_disk_keeps_what_was_computed(tmp_path, monkeypatch):
    real = os.write
    room = [3_000_000]

    def write(handle, data):
        room[0] -= len(data)
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError) as caught:
        ns.simulate(BALLS, (0, 200), [0.1], [0.0], dt=1e-4, output=tmp_path / "run", progress=False)
    monkeypatch.undo()
    partial = caught.value.partial
    assert partial is not None and len(partial) > 10_000 and not partial.success
    wanted = ns.simulate(BALLS, (0, float(partial.t[-1])), [0.1], [0.0], dt=1e-4)
    assert np.array_equal(partial.q[:, : len(partial) - 1], wanted.q[:, : len(partial) - 1])
    assert len(partial.events) >= len(wanted.events) - 1


class NotCompiled:
    """Something Numba knows nothing of."""

    def __init__(self, t_fail=np.inf, delay=0.0):
        self.t_fail, self.delay = t_fail, delay
        self.t_armed, self.timer = np.inf, None

    def interrupt_after(self, t, seconds):
        """Ctrl-C some time after the run, not its set-up, has come to t."""
        self.timer, self.t_armed = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)), t

    def __call__(self, t):
        if self.t_armed < t < self.t_armed + 1.0:
            self.t_armed = np.inf
            self.timer.start()
        if t > self.t_fail:
            raise KeyError("no such thing")
        if self.delay:
            time.sleep(self.delay)
        return 0.0


@pytest.mark.parametrize("name", ["gap", "force", "mass"])
@pytest.mark.filterwarnings("ignore::nonsmooth.errors.CallbackWarning")
def test_a_function_that_raises_keeps_the_partial_result(name):
    python = NotCompiled(t_fail=0.3)
    functions = {
        "gap": lambda t, q: q[0] + python(t),
        "force": lambda t, q, u: np.array([-9.81 + python(t)]),
        "mass": lambda t, q: np.array([[1.0 + python(t)]]),
    }
    plain = {
        "gap": lambda t, q: q[0],
        "force": lambda t, q, u: np.array([-9.81]),
        "mass": lambda t, q: np.eye(1),
    }
    chosen = plain | {name: functions[name]}
    system = ns.MechanicalSystem(chosen["mass"], chosen["force"], ns.Contact(chosen["gap"]))
    with pytest.raises(KeyError, match="no such thing") as caught:
        ns.simulate(system, (0, 1), [1.0], [0.0], dt=1e-3)
    partial = caught.value.partial
    assert 0.29 < partial.t[-1] <= 0.301 and partial.q[0, -1] == pytest.approx(
        1 - 9.81 * partial.t[-1] ** 2 / 2, abs=1e-3
    )


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.CallbackWarning")
@pytest.mark.parametrize("name", ["gap", "force"])
def test_interrupt_inside_a_python_function(name):
    """Ctrl-C at any place of a slow Python function is `KeyboardInterrupt` with the result so far."""
    python = NotCompiled(delay=2e-4)
    functions = {
        "gap": (lambda t, q: q[0] + python(t), lambda t, q, u: np.array([-9.81])),
        "force": (lambda t, q: q[0], lambda t, q, u: np.array([-9.81 + python(t)])),
    }
    gap, force = functions[name]
    system = ns.MechanicalSystem(np.eye(1), force, ns.Contact(gap))
    ns.simulate(system, (0, 0.01), [1.0], [0.0], dt=1e-3)
    for k in range(12):
        python.interrupt_after(1.0, 1e-3 + 0.37e-3 * k)
        with pytest.raises(KeyboardInterrupt) as caught:
            ns.simulate(system, (0, 1e6), [1.0], [0.0], dt=1e-3, every=100_000)
        assert caught.value.partial.status == -2


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.CallbackWarning")
def test_an_interrupt_that_is_swallowed_on_its_way_ends_the_run():
    """A finaliser, or the function itself, may catch what Ctrl-C raises: once, and the run would go on for ever."""
    swallowed = []

    def force(t, q, u):
        try:
            if t > 0.1 and not swallowed:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1.0)
        except KeyboardInterrupt:
            swallowed.append(t)
        return np.array([-9.81])

    system = ns.MechanicalSystem(np.eye(1), force)
    with pytest.raises(KeyboardInterrupt) as caught:
        ns.simulate(system, (0, 1e6), [1.0], [0.0], dt=1e-3, every=100_000)
    assert len(swallowed) == 1 and caught.value.partial.status == -2


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.CallbackWarning")
def test_interrupt_of_a_function_that_hangs():
    slept = []

    def force(t, q, u):
        if t > 0.1:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(60.0)
            slept.append(t)
        return np.array([-9.81])

    system = ns.MechanicalSystem(np.eye(1), force)
    with pytest.raises(KeyboardInterrupt) as caught:
        ns.simulate(system, (0, 1), [1.0], [0.0], dt=1e-3)
    assert not slept
    assert caught.value.partial.t[-1] == pytest.approx(0.1, abs=2e-3)


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.CallbackWarning", "ignore::DeprecationWarning")
def test_fork_while_another_thread_runs_the_system():
    python = NotCompiled(delay=1e-3)
    system = ns.MechanicalSystem(np.eye(1), lambda t, q, u: np.array([-9.81 + python(t)]))
    ns.simulate(system, (0, 0.01), [1.0], [0.0], dt=1e-2)
    thread = threading.Thread(target=lambda: ns.simulate(system, (0, 1), [1.0], [0.0], dt=1e-3))
    thread.start()
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        ns.simulate(system, (0, 0.1), [1.0], [0.0], dt=1e-2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
