"""The single cases: their exact motions, and the library on those it is sound on."""

from dataclasses import replace

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import NonFiniteStateError

from .cases import (
    cancelling,
    cases,
    four_pendula,
    grazing,
    judge_case,
    pole,
    record,
    resting_box,
    rod,
    slider_crank,
    twin,
    undeclared_jump,
    varying_belt,
)

RTOL = (1e-4, 1e-6, 1e-8, 1e-10)


def test_exact_motions_obey_their_equations():
    """Between events the velocity is the rate of the position; known instants are met."""
    assert next(e.t for e in varying_belt().events if e.kind == "slip") == pytest.approx(0.57965, abs=5e-6)
    for case in cases():
        if case.exact is None:
            continue
        reference = record(case)["reference"]
        t, h = np.asarray(reference["t"])[:-1], 1e-4 * case.T
        (before, _), (after, _) = case.exact(t - h), case.exact(t + h)
        rate, u = (after - before)[: t.size] / (2 * h), np.asarray(reference["u"])[:-1]
        np.testing.assert_allclose(rate, u, atol=3e-6 * (1 + np.abs(u).max()))


def test_grazing_meets_the_wall_or_not():
    t = np.linspace(0.0, 3.0, 3001)
    for depth in (1e-2, 1e-4, 0.0, -1e-3):
        assert grazing(depth).exact(t)[0].max() <= 1.0 - max(depth, 0.0) + 1e-12


@pytest.mark.parametrize(
    "make",
    [varying_belt, rod, cancelling, four_pendula, resting_box, twin, undeclared_jump],
    ids=lambda make: make.__name__,
)
def test_ordinary_systems(make):
    """Each of them stalled or misled an adaptive scheme of this library."""
    case = make()
    system = case.system()
    for rtol in RTOL:
        verdict = judge_case(replace(case, system=lambda: system), rtol, method="event-driven")
        assert verdict.kind == "within", verdict


def test_two_corners_hit_at_one_instant():
    """Wherever the span ends and whatever the tolerance, the slider does not turn."""
    for T in np.linspace(0.0076, 0.0084, 33):
        for rtol in (1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
            verdict = judge_case(slider_crank(float(T)), rtol, method="event-driven", audit=False)
            assert verdict.kind == "within", verdict


def test_near_grazing_is_right_or_named():
    for depth in (1e-4, 1e-8, 1e-10, 1e-12, 0.0, -1e-10):
        case = grazing(depth)
        system = case.system()
        for rtol in RTOL:
            verdict = judge_case(
                replace(case, system=lambda system=system: system), rtol, method="event-driven", audit=False
            )
            assert verdict.kind in ("within", "declared") and verdict.steps < 500, verdict


def test_a_pole_ends_the_run():
    case = pole()
    with pytest.raises(NonFiniteStateError, match="pole"):
        ns.simulate(case.system(), (0.0, case.T), case.q0, case.u0, method="event-driven", rtol=1e-6)
