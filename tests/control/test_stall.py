"""The watch on progress: runs that no longer get on are ended, others are left alone."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.control.driver import Driver
from nonsmooth.control.stall import STEPS
from nonsmooth.errors import StepLimitError


class Stuck:
    """A run that halves what is left of the way to 1/2 with every step, or walks on."""

    def __init__(self, dt=None, changes=0):
        self.t, self.steps, self.done, self.dt, self.changes = 0.0, 0, False, dt, changes

    def advance(self, budget):
        for _ in range(budget):
            self.steps += 1
            self.t += (0.5 - self.t) / 2 if self.dt is None else self.dt
            if self.t >= 1.0:
                self.done = True
                break

    def collect(self):
        pass

    def refuse(self, error):
        raise error

    def busiest(self):
        return "floor", self.changes, "alternating: open, closed"


def drive(run, **options):
    return Driver(
        run, lambda status, message: (status, run.steps), (0.0, 1.0), "simulate", progress=False, **options
    ).drive()


def test_steps_without_progress():
    run = Stuck()
    with pytest.raises(StepLimitError, match=r"stalled at t = 0\.5: 20000 steps .* no law changed") as caught:
        drive(run)
    assert run.steps == 2 * STEPS  # whatever the slices were
    assert caught.value.partial[0] == -1


def test_steps_that_are_always_rejected_count():
    class Rejecting(Stuck):
        trials = 0

        def advance(self, budget):
            self.trials += budget

    run = Rejecting()
    with pytest.raises(StepLimitError, match=r"stalled at t = 0: "):
        drive(run)
    assert run.trials == STEPS and run.steps == 0


def test_endless_changes_of_a_law_are_named():
    with pytest.raises(
        StepLimitError, match=r"law 'floor' changed its mode 9000 times there \(alternating: open, closed\)"
    ):
        drive(Stuck(dt=1e-9, changes=9000))


def test_slow_runs_are_left_alone():
    assert drive(Stuck(dt=1e-5))[0] == 0
    assert drive(Stuck(dt=1e-5, changes=9000))[0] == 0


def test_watch_can_be_turned_off():
    with pytest.raises(StepLimitError, match="max_steps"):
        drive(Stuck(), watch=False, max_steps=50_000)


def test_limits_say_how_to_raise_them():
    system = ns.MechanicalSystem(1.0, lambda t, q, u: -q)
    with pytest.raises(ns.errors.InputError, match="memory_limit"):
        ns.simulate(system, (0, 1), [1.0], [0.0], dt=1e-5, memory_limit=1e5)
    result = ns.simulate(system, (0, 1), [1.0], [0.0], dt=1e-2, memory_limit=1e5)
    assert np.isfinite(result.q).all()
