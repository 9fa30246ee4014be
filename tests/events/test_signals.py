"""Ctrl-C and SIGTERM during a run: they get through, the result so far is kept, and nothing is left behind."""

import signal
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, signal, sys, threading, time
import numpy as np
from nonsmooth._core.calls import callbacks
from nonsmooth._core.jit import user_kernel
from nonsmooth.ivp import Switch, solve_ivp

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores Ctrl-C, and so do its children

def field(t, y):
    return [y[1], -y[0]]

def level(t, y):
    return y[0]

compiled, compiled_level = user_kernel(lambda t, y: (y[1], -y[0])), user_kernel(level)

def run(fun, g, t_end, **options):
    return solve_ivp(fun, (0, t_end), [1.0, 0.0], switches=[Switch(g, name="zero")], rtol=1e-9, atol=1e-9, **options)

def undamaged(before, fun, g):
    again = run(fun, g, 20.0)
    assert np.array_equal(before.y, again.y) and [e.t for e in before.events] == [e.t for e in again.events]
    assert not callbacks._table and sys.unraisablehook is sys.__unraisablehook__
"""

# A signal to this very process while the compiled loop runs. A machine so busy that the signal comes before the loop has
# begun gets another try.
IN_LOOP = """
def interrupted(signum, kind):
    for delay in (0.2, 1.0, 5.0):
        sender = threading.Timer(delay, os.kill, (os.getpid(), signum))
        sender.start()
        try:
            run(compiled, compiled_level, 1e9, max_events=10**9, max_steps=10**7)
        except kind as exc:
            caught = exc
        sender.join()
        if getattr(caught, "partial", None) is not None and caught.partial.t.size > 1:
            return caught
    raise AssertionError("the run ended before it began")

def check(partial):
    assert partial.status == -1 and not partial.success
    assert np.all(np.diff(partial.t) >= 0.0) and np.isfinite(partial.y).all()
    assert len(partial.events) > 0 and partial.events[-1].t <= partial.t[-1]
    assert abs(partial.y[0, -1] - np.cos(partial.t[-1])) < 1e-6 * partial.t[-1]
"""


def child(body, *parts):
    """Run a program; what it printed and how it ended."""
    program = "\n".join([HEAD, *parts, textwrap.dedent(body)])
    return subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )


def test_interrupt_in_the_compiled_loop_keeps_the_result_and_leaves_no_damage():
    done = child(
        """
        before = run(compiled, compiled_level, 20.0)
        check(interrupted(signal.SIGINT, KeyboardInterrupt).partial)
        undamaged(before, compiled, compiled_level)
        print("kept")
        """,
        IN_LOOP,
    )
    assert done.stdout.strip() == "kept", done.stderr


def test_interrupt_that_nobody_catches_ends_the_process_as_ctrl_c_does():
    done = child(
        """
        run(compiled, compiled_level, 20.0)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        run(compiled, compiled_level, 1e9, max_events=10**9, max_steps=10**7)
        print("not reached")
        """
    )
    assert done.returncode == -signal.SIGINT and done.stdout == ""  # a shell shows 130
    assert "KeyboardInterrupt" in done.stderr


def test_sigterm_turned_into_exit_keeps_the_result():
    done = child(
        """
        def stop(signum, frame):
            sys.exit(128 + signum)

        before = run(compiled, compiled_level, 20.0)
        signal.signal(signal.SIGTERM, stop)
        exit = interrupted(signal.SIGTERM, SystemExit)
        check(exit.partial)
        undamaged(before, compiled, compiled_level)
        print("kept", flush=True)
        raise exit
        """,
        IN_LOOP,
    )
    assert done.stdout.strip() == "kept" and done.returncode == 143, done.stderr


@pytest.mark.parametrize("where", ["fun", "g"])
def test_interrupt_inside_a_python_function(where):
    # The signal comes in the middle of a call, at a known point: no clock is involved.
    done = child(
        f"""
        calls = 0

        def sending(call):
            def function(t, y):
                global calls
                calls += 1
                if calls == 500:
                    os.kill(os.getpid(), signal.SIGINT)
                return call(t, y)
            return function

        functions = {{"fun": field, "g": level}}
        before = run(field, level, 20.0)
        functions["{where}"] = sending(functions["{where}"])
        try:
            run(functions["fun"], functions["g"], 1e6)
        except KeyboardInterrupt as exc:
            partial = exc.partial
        assert partial.t.size > 1 and np.isfinite(partial.y).all() and len(partial.events) > 0
        assert abs(partial.y[0, -1] - np.cos(partial.t[-1])) < 1e-6
        undamaged(before, field, level)
        print("kept")
        """
    )
    assert done.stdout.strip() == "kept", done.stderr


def test_interrupt_at_the_very_entry_of_a_callback_is_not_lost():
    # A handler that raises before the callback has begun: nothing of it may be taken for a value.
    done = child(
        """
        before = run(field, level, 20.0)
        count = 0

        def profile(frame, event, arg):
            global count
            if event == "call" and frame.f_code is callbacks._call_f.__code__:
                count += 1
                if count == 200:
                    sys.setprofile(None)
                    raise KeyboardInterrupt("at the entry")

        sys.setprofile(profile)
        try:
            run(field, level, 1e6)
        except KeyboardInterrupt as exc:
            partial = exc.partial
            assert str(exc) == "at the entry"
        assert partial.t.size > 1 and np.isfinite(partial.y).all()
        assert abs(partial.y[0, -1] - np.cos(partial.t[-1])) < 1e-6
        undamaged(before, field, level)
        print("kept")
        """
    )
    assert done.stdout.strip() == "kept", done.stderr
    assert "ignored" not in done.stderr
