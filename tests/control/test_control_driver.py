"""The driver with a run that only counts: slices, limits, signals, partial results."""

import os
import signal
import threading

import pytest

from nonsmooth._core.calls.interrupts import interruptible
from nonsmooth.control.driver import FAILED, INTERRUPTED, Driver
from nonsmooth.control.signals import HeldSignals
from nonsmooth.errors import StepLimitError


@pytest.fixture(autouse=True)
def default_handler():
    """A job in the background ignores Ctrl-C, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Counting:
    """A run of `total` steps; `act(step)` is called before each."""

    def __init__(self, total, act=lambda step: None, refuses=True):
        self.total, self.act, self.refuses = total, act, refuses
        self.steps, self.done, self.budgets, self.kept, self.fresh = 0, total == 0, [], [], []

    @property
    def t(self):
        return float(self.steps)

    def advance(self, budget):
        self.budgets.append(budget)
        for _ in range(min(budget, self.total - self.steps)):
            self.act(self.steps)
            self.steps += 1
            self.fresh.append(self.steps)
        self.done = self.steps == self.total

    def collect(self):
        self.kept += self.fresh
        self.fresh = []

    def refuse(self, error):
        self.error = error
        self.done = True
        if self.refuses:
            raise error


def drive(run, **options):
    return Driver(
        run, lambda status, message: (status, list(run.kept)), (0.0, float(run.total)), "count", **options
    ).drive()


def test_all_steps_are_made_and_kept_in_growing_slices():
    run = Counting(10_000)
    assert drive(run) == (0, list(range(1, 10_001)))
    assert run.budgets[0] == 256 and run.budgets[1] > 256
    assert drive(Counting(0)) == (0, [])


def test_step_limit_is_exact_and_a_door_may_end_with_it():
    with pytest.raises(
        StepLimitError, match=r"count: max_steps = 300 reached at t = 300 of 1e\+04|of 10000"
    ) as info:
        drive(Counting(10_000), max_steps=300)
    assert info.value.partial == (FAILED, list(range(1, 301)))
    run = Counting(10_000, refuses=False)
    assert drive(run, max_steps=300)[1][-1] == 300 and isinstance(run.error, StepLimitError)
    assert drive(Counting(300), max_steps=300)[0] == 0


def test_time_limit():
    with pytest.raises(StepLimitError, match="time_limit = 1e-09 s"):
        drive(Counting(10**6), time_limit=1e-9)


def test_an_exception_carries_what_there_is():
    def act(step):
        if step == 300:
            raise KeyError("mine")

    with pytest.raises(KeyError) as info:
        drive(Counting(1000, act))
    assert info.value.partial == (FAILED, list(range(1, 301)))
    assert any("step 300" in note for note in info.value.__notes__)


def test_a_second_error_does_not_hide_the_first():
    run = Counting(10, lambda step: 1 / 0)
    with pytest.raises(ZeroDivisionError) as info:
        Driver(run, lambda status, message: [][0], (0, 1), "count").drive()
    assert any("could not be kept: IndexError" in note for note in info.value.__notes__)


def send_at(step_wanted, call=lambda act: act()):
    def act(step):
        if step == step_wanted:
            call(lambda: os.kill(os.getpid(), signal.SIGINT))

    return act


def test_ctrl_c_waits_for_the_end_of_the_slice():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as info:
        drive(Counting(10_000, send_at(10)))
    assert info.value.partial == (INTERRUPTED, list(range(1, 257)))
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_acts_at_once_in_user_code_and_the_second_time():
    @interruptible
    def user_function(act):
        act()

    with pytest.raises(KeyboardInterrupt) as info:
        drive(Counting(10_000, send_at(10, user_function)))
    assert info.value.partial == (INTERRUPTED, list(range(1, 11)))

    def twice(act):
        act()
        act()

    with pytest.raises(KeyboardInterrupt) as info:
        drive(Counting(10_000, send_at(10, twice)))
    assert info.value.partial == (INTERRUPTED, list(range(1, 11)))


def test_ctrl_c_in_a_run_inside_a_user_function_ends_both():
    @interruptible
    def inner():
        drive(Counting(10_000, send_at(5)))

    with pytest.raises(KeyboardInterrupt) as info:
        drive(Counting(10_000, lambda step: inner() if step == 3 else None))
    assert info.value.partial == (INTERRUPTED, [1, 2, 3])


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with HeldSignals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
