"""The judge on data that are right, perturbed, incomplete, declared and stopped."""

from types import SimpleNamespace

import numpy as np
import pytest

from nonsmooth.errors import GrazingWarning, NonFiniteStateError, StepLimitError
from nonsmooth.results.events import Event

from .judge import judge, load

RTOL = 1e-6


@pytest.fixture(scope="module")
def record():
    return next(r for r in load("belt") if len(r["reference"]["events"]) >= 2)


def result(record, ok=True, **changes):
    """The reference as a run of the library would return it."""
    reference = record["reference"]
    fields = {
        "q": np.array(reference["q"]).T, "u": np.array(reference["u"]).T, "nsteps": 50, "audit": SimpleNamespace(ok=ok),
        "events": [Event(t, kind, law) for t, kind, law, _ in reference["events"]],
    }  # fmt: skip
    return SimpleNamespace(**{**fields, **changes})


def test_the_reference_itself_is_within(record):
    verdict = judge(record, RTOL, result(record))
    assert verdict.kind == "within" and verdict.error == 0.0 and verdict.event_error == 0.0


@pytest.mark.parametrize(("size", "kind"), [(50, "within"), (200, "wrong"), (np.nan, "wrong")])
def test_states_off_by_some_rtol(record, size, kind):
    for key in "qu":
        values = np.array(record["reference"][key]).T
        values[0, -1] += size * RTOL * np.abs(values[0]).max()
        assert judge(record, RTOL, result(record, **{key: values})).kind == kind


def test_events_missing_late_or_invented(record):
    events = result(record).events
    T, first = record["T"], events[0]
    assert "no " in judge(record, RTOL, result(record, events=events[1:])).why
    for shift, kind in ((50 * RTOL * T, "within"), (200 * RTOL * T, "wrong")):
        moved = Event(first.t + shift, first.kind, first.name)
        assert judge(record, RTOL, result(record, events=[moved, *events[1:]])).kind == kind
    invented = Event(record["reference"]["t"][10], "slip", first.name)
    verdict = judge(record, RTOL, result(record, events=[*events, invented]))
    assert verdict.kind == "wrong" and "that is none" in verdict.why


def test_wrong_but_declared(record):
    off = 1.1 * np.array(record["reference"]["q"]).T
    assert judge(record, RTOL, result(record, q=off)).kind == "wrong"
    assert judge(record, RTOL, result(record, q=off, ok=False)).kind == "declared"
    assert judge(record, RTOL, result(record, q=off), [GrazingWarning]).kind == "declared"
    assert judge(record, RTOL, NonFiniteStateError("the force is NaN at t = 0.2")).kind == "declared"


def test_stopped_by_the_budget(record):
    assert judge(record, RTOL, StepLimitError("max_steps = 100 reached at t = 0.1")).kind == "stalled"
    assert judge(record, RTOL, StepLimitError("stopped by time_limit = 20 s")).kind == "stalled"
