"""Where steps went and why."""

import numpy as np

from nonsmooth.results.events import Event
from nonsmooth.results.result import Result


def run(dt, events=()):
    t = np.concatenate([[0.0], np.cumsum(dt)])
    return Result(
        t,
        q=np.zeros((1, t.size)),
        u=np.zeros((1, t.size)),
        dt=np.concatenate([[0.0], dt]),
        events=events,
        nsteps=len(dt),
    )


def test_smooth_runs_have_no_places():
    profile = run(np.full(100, 0.1)).profile()
    assert profile.places == [] and profile.typical == 0.1 and profile.steps == 100
    assert "typical step 0.1" in str(profile)


def test_small_steps_are_explained():
    dt = np.concatenate(
        [np.full(50, 0.1), np.full(30, 1e-4), np.full(50, 0.1), np.full(20, 1e-5), np.full(50, 0.1)]
    )
    events = [Event(5.0 + 1e-4 * k, "impact", "floor") for k in range(20)]
    events += [Event(5.003, "zeno", "floor"), Event(5.003, "close", "floor")]
    profile = run(dt, events).profile()
    first, second = profile.places
    assert (
        first.steps == 30
        and first.why == "accumulation of impacts of 'floor' (20)"
        and first.share == 30 / 200
    )
    assert second.steps == 20 and second.why.startswith("error control") and second.smallest == 1e-5
    assert profile.accumulations == [(5.0, 5.003, "floor")]
    assert profile.laws["floor"] == {"impact": 20, "zeno": 1, "close": 1}


def test_chatter_is_named():
    dt = np.concatenate([np.full(50, 0.1), np.full(60, 1e-4), np.full(50, 0.1)])
    events = [Event(5.0 + 1e-4 * k, "stick" if k % 2 else "slip", "belt") for k in range(50)]
    (place,) = run(dt, events).profile().chatter
    assert place.why == "chatter of 'belt' (50 changes)"


def test_results_of_other_doors():
    result = Result(np.array([0.0, 1.0, 2.0]), y=np.zeros((1, 3)))
    assert result.profile().typical == 1.0
