"""Records of a finished run serve the next one: no number of a run may depend on the runs before it."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.schemes import spare

FIELDS = ("t", "q", "u", "P_N", "P_T", "modes", "dt", "order", "residual", "iterations")


def same(a, b):
    """Bit for bit."""
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FIELDS) and list(
        a.events
    ) == list(b.events)


def fresh(problem, **options):
    """A run of a system that has not run before."""
    return ns.simulate(problem().system, **options)


@pytest.fixture
def kept(monkeypatch):
    """Counts the runs that took records over."""
    count = []
    monkeypatch.setattr(
        spare, "taken", lambda *args, taken=spare.taken: count.append(found := taken(*args)) or found
    )
    for scheme in ("event_driven", "event_capturing"):
        monkeypatch.setattr(f"nonsmooth.schemes.{scheme}.taken", spare.taken)
    return lambda: sum(run is not None for run in count)


@pytest.mark.filterwarnings("ignore::nonsmooth.errors.PenetrationWarning")
@pytest.mark.parametrize(
    "name, method",
    [
        ("woodpecker", ns.EventDriven(rtol=1e-8)),
        ("impact_oscillator", ns.EventDriven(rtol=1e-8)),
        ("impact_oscillator", ns.EventCapturing(dt=2e-3)),
        ("impact_oscillator", ns.EventCapturing("RK45", rtol=1e-6)),
    ],
)
def test_runs_do_not_depend_on_those_before(name, method, kept):
    make = getattr(ns.problems, name)
    problem = make()
    starts = [(problem.q0, problem.u0), (problem.q0, 0.5 * np.asarray(problem.u0)), (problem.q0, problem.u0)]
    results = [
        ns.simulate(problem.system, (0.0, 0.3), q0, u0, method=method, audit=False) for q0, u0 in starts
    ]
    assert kept() == 2
    for result, (q0, u0) in zip(
        results, starts
    ):  # the first ones are looked at after the last: nothing is shared with it
        again = fresh(make, t_span=(0.0, 0.3), q0=q0, u0=u0, method=method, audit=False)
        assert same(result, again)


def test_what_differs_between_runs_is_not_taken_over(kept):
    make = ns.problems.impact_oscillator
    problem = make()
    method = ns.EventDriven(rtol=1e-8)
    calls = [
        dict(method=method),
        dict(method=method, t_eval=[0.1, 0.2, 0.3]),
        dict(method=ns.EventDriven(rtol=1e-6)),
        dict(method=method, dense_output=True),
        dict(method=method, events=lambda t, q, u: q[0] + 0.2),
        dict(method=method, breakpoints=[0.15]),
        dict(method=method, every=3),
        dict(method=method, sensitivities=["q0"]),
        dict(method=ns.EventDriven("Radau", rtol=1e-6)),
        dict(method=method),
    ]
    for options in calls:
        options = dict(t_span=(0.0, 0.4), q0=problem.q0, u0=problem.u0, audit=False) | options
        assert same(ns.simulate(problem.system, **options), fresh(make, **options))
    before = kept()
    other = problem.system.with_params(c=30.0)
    result = ns.simulate(other, (0.0, 0.4), problem.q0, problem.u0, method=method, audit=False)
    assert kept() == before  # other parameters
    assert not same(
        result, ns.simulate(problem.system, (0.0, 0.4), problem.q0, problem.u0, method=method, audit=False)
    )


def test_nothing_is_kept_of_a_run_that_failed(kept):
    def force(t, q, u):
        return np.array([-9.81 if t < 0.2 else np.nan])

    system = ns.MechanicalSystem(np.eye(1), force, contacts=[ns.Contact(lambda t, q: q[0], restitution=0.5)])
    for _ in range(2):
        with pytest.raises(ns.errors.NonsmoothError) as caught:
            ns.simulate(system, (0.0, 1.0), [1.0], [0.0], method="event-driven")
        assert caught.value.partial.t[-1] <= 0.2
    assert kept() == 0
