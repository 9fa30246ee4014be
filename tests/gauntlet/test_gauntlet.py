"""The library runs the gauntlet: a part of it in every test run, all of it in the soak run."""

import pytest

from .judge import attempt, judge, load

#: Families in which the default scheme gets everything right; `benchmarks/gauntlet.py` shows all of them.
SOUND = ("walls", "oscillator", "incline", "cone_edge", "valley", "lift_off")
SOUND_FOR_LONG = ("hill", "slot", "chain4", "joints", "pendulum", "corner")
RTOL = (1e-4, 1e-6, 1e-8)


def within(family, tolerances):
    for record in load(family):
        for rtol in tolerances:
            verdict = judge(record, rtol, *attempt(record, rtol))
            assert verdict.kind == "within", verdict


@pytest.mark.parametrize("family", SOUND)
def test_default_scheme(family):
    within(family, RTOL)


@pytest.mark.soak
@pytest.mark.parametrize("family", SOUND_FOR_LONG)
def test_more_families(family):
    within(family, RTOL)


def test_plain_moreau_approaches_the_references():
    """Two descriptions of one mechanics: the library's functions and the reference's agree, model by model."""
    plain = [record for record in load() if "units" not in record]
    for record in {record["model"]: record for record in plain}.values():
        errors = []
        for steps in (2_000, 20_000):
            found, _ = attempt(record, 1e-2, dt=record["T"] / steps, method="moreau", audit=False)
            errors.append(judge(record, 1e-2, found).error)
        assert errors[1] < 0.3 * errors[0] or errors[1] < 1e-3, (record["name"], errors)
