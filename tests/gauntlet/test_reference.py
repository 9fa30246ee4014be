"""The reference solver against closed forms and against references computed by others."""

from itertools import islice

import numpy as np
import pytest

from nonsmooth import problems

from .generate import Inadmissible, joined, reference
from .judge import load, state_error
from .reference import run
from .reference_models import MODELS
from .systems import (
    BELTS,
    BOX,
    CHAIN,
    COORDINATES,
    FAMILIES,
    PENDULUM,
    PLANAR,
    VERTICAL,
    candidates,
    in_units,
)


def solve(model, base, e, mu, q0, u0, T, samples=(), **params):
    found = run(MODELS[model]({**base, **params}, e, mu), (0.0, T), q0, u0, samples)
    found.events = joined(found.events)
    return found


def kinds(found):
    return [(event.kind, event.law) for event in found.events]


def test_accumulation_on_a_displaced_floor():
    found = solve("vertical", VERTICAL, [0.4], [0], [1.4], [0.0], 1.0, h=1.0)
    fall = np.sqrt(0.8 / 9.81)
    impacts = [event.t for event in found.events]
    exact = fall + 2 * fall * np.cumsum(np.concatenate([[0.0], 0.4 ** np.arange(1, 10)]))
    np.testing.assert_allclose(impacts[:10], exact, rtol=1e-14)
    assert found.events[-1].kind == "close"
    assert found.events[-1].t == pytest.approx(fall * (1 + 0.8 / 0.6), abs=1e-12)
    assert found.q[-1] == pytest.approx([1.0], abs=1e-12) and abs(found.u[-1][0]) < 1e-15


def test_rest_goes_on_and_a_row_passes_the_blow_on():
    resting = solve("vertical", VERTICAL, [0.4], [0], [3.0], [0.0], 1.0, h=3.0)
    assert not resting.events and resting.q[-1] == pytest.approx([3.0], abs=1e-14)
    # three equal masses in a row, e = 0: they move on together with a third of the velocity
    row = solve("chain", CHAIN, [0.0] * 3, [0] * 3, [0.5, 0.7, 1.1], [0, 0, -1.0], 0.3, g=0.0)
    np.testing.assert_allclose(row.u[-1], -np.ones(3) / 3, rtol=1e-13)


def test_incline_sticks_or_slides_back():
    problem = problems.incline_block(friction=0.2)
    slope = np.deg2rad(20.0)
    turned = {"gx": -9.81 * np.sin(slope), "g": 9.81 * np.cos(slope)}
    found = solve("planar", PLANAR, [0], [0.2], [0, 0], [2.0, 0], 1.0, **turned)
    np.testing.assert_allclose(found.u[-1], problem.reference.u(1.0), atol=1e-13)
    assert kinds(found) == [("reversal", "ground friction")]
    assert found.events[0].t == pytest.approx(problem.reference.events[0].t, abs=1e-14)
    held = solve("planar", PLANAR, [0], [0.4], [0, 0], [2.0, 0], 1.0, **turned)
    assert kinds(held) == [("stick", "ground friction")] and abs(held.u[-1][0]) < 1e-15


def test_belt_that_slows_down_lets_go():
    """Sticking to a belt of varying speed ends where spring and inertia exceed the limit (root of a sine)."""
    found = solve(
        "belts", BELTS, [], [], [0, 0], [0.2, 0.2], 0.55, kA=20.0, v0=0.2, v1=0.3, wv=5.0, L0=2.943, L1=2.943
    )
    t = found.events[0].t
    x = 0.2 * t + 0.06 * (1 - np.cos(5 * t))
    assert 20 * x + 1.5 * np.cos(5 * t) == pytest.approx(2.943, abs=1e-12)
    assert {event.kind for event in found.events} == {"slip"}


def test_rod_on_rough_ground():
    exact = problems.rod_rough_plane().reference
    p = {"d": 0.0, "l": 0.5, "J": 0.25 / 3}
    q0, u0 = problems.rod_rough_plane().q0, problems.rod_rough_plane().u0
    found = solve("box", BOX, [0, 0], [0.3, 0.3], q0, u0, 1.0, exact.t_samples[:-1], **p)
    np.testing.assert_allclose(np.array(found.q).T, exact.q_samples, atol=1e-13)
    np.testing.assert_allclose(np.array(found.u).T, exact.u_samples, atol=1e-12)
    np.testing.assert_allclose([e.t for e in found.events][:5], exact.event_times(), atol=1e-13)


def test_double_pendulum_in_angles_and_with_joints():
    instants = [0.7313989188762, 1.2020129489193, 1.2568919737577]
    angles = solve("pendulum", PENDULUM, [0], [0], [0.6, 0.9], [0, 0], 1.5)
    a, b = 0.6, 0.9
    q0 = [np.sin(a), -np.cos(a), np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)]
    joints = solve("joints", PENDULUM, [0], [0], q0, np.zeros(4), 1.5)
    for found in (angles, joints):
        assert [kind for kind, _ in kinds(found)] == ["impact", "close", "open"]
        np.testing.assert_allclose([event.t for event in found.events], instants, atol=1e-12)


def test_what_is_not_unique_or_not_defined_is_refused():
    steep = {"d": 0.0, "l": 0.5, "J": 0.25 / 3}
    theta = 1.0
    start = [0, 0.5 * np.sin(theta), theta], [-3.0, 0.0, 0.0]
    with pytest.raises(Inadmissible, match="acceleration"):  # Painleve
        solve("box", BOX, [0, 0], [2.0, 2.0], *start, 0.1, **steep)


@pytest.mark.parametrize("model", MODELS)
def test_directions_are_gradients(model):
    """W^T u + zeta is the rate of the gap, kappa the rate of W^T u + zeta: both by differences."""
    drawn = (d for family in FAMILIES for d in islice(candidates(family), 10) if d["model"] == model)
    description = next(drawn)
    reference_model = MODELS[model](description["params"], description["e"], description["mu"])
    rng = np.random.default_rng(1)
    n = len(COORDINATES[model])
    t, q, u, h = 0.3, rng.normal(size=n), rng.normal(size=n), 1e-5
    terms = reference_model.terms(t, q, u)
    before, after = (reference_model.terms(t + s, q + s * u, u) for s in (-h, h))
    for gaps, gamma in ((reference_model.gap, terms.gamma_N), (reference_model.joint, terms.gamma_J)):
        rate = (np.array(gaps(t + h, q + h * u)) - np.array(gaps(t - h, q - h * u))) / (2 * h)
        np.testing.assert_allclose(gamma, rate, rtol=1e-7, atol=1e-9)
    for name in ("N", "T", "J"):
        kappa = getattr(terms, f"kappa_{name}")
        rate = (getattr(after, f"gamma_{name}") - getattr(before, f"gamma_{name}")) / (2 * h)
        np.testing.assert_allclose(kappa, rate, rtol=1e-7, atol=1e-9)


def test_stored_systems_are_those_that_are_drawn():
    """One system of each family is drawn again; one reference is computed again."""
    for family in FAMILIES:
        record = load(family)[-1]
        index = int(record["name"].rsplit("-", 1)[1])
        drawn = in_units(next(d for i, d in enumerate(candidates(family)) if i == index))
        assert {key: drawn[key] for key in ("model", "params", "e", "mu", "T")} == {
            key: record[key] for key in ("model", "params", "e", "mu", "T")
        }
    record = load("walls")[0]
    again = reference(next(d for d in candidates("walls") if d["name"] == record["name"]))
    assert [e[1:] for e in again["reference"]["events"]] == [e[1:] for e in record["reference"]["events"]]
    assert state_error(record, *(np.array(again["reference"][key]).T for key in "qu")).max() < 1e-12


def test_the_gauntlet_is_large_admissible_and_accurate():
    records = load()
    assert len(records) >= 300
    assert len({record["name"] for record in records}) == len(records)
    for record in records:
        t = np.array(record["reference"]["t"])
        assert t.size == 21 and record["reference"]["growth"] <= 100 and record["reference"]["error"] <= 1e-10
        for event in record["reference"]["events"]:
            assert np.abs(t[:-1] - event[0]).min() >= 1e-3 * record["T"]
