"""The library runs the gauntlet: two systems of every family in every test run, all of it in the soak run."""

from collections import Counter

import pytest

from .judge import attempt, judge, load

FAMILIES = sorted({record["name"].rsplit("-", 1)[0] for record in load()})
RTOL = (1e-4, 1e-6, 1e-8, 1e-10)


@pytest.mark.parametrize("k", range(len(FAMILIES)), ids=FAMILIES)
def test_event_driven(k):
    """`event-driven` on the first and the last of each family, at tolerances that take turns."""
    records = load(FAMILIES[k])
    for record, rtol in zip((records[0], records[-1]), (RTOL[k % 4], RTOL[(k + 2) % 4])):
        verdict = judge(record, rtol, *attempt(record, rtol, method="event-driven"))
        assert verdict.kind == "within", verdict


#: Accumulations that alternate, or go on beside other gaps, and a rod that comes to lie on both ends at once.
HARD = [("twin", -2, 1e-10), ("chain_accumulation", -3, 1e-8), ("rod", 2, 1e-8), ("chain", 0, 1e-10)]


@pytest.mark.parametrize("family, k, rtol", HARD)
def test_event_capturing(family, k, rtol):
    record = load(family)[k]
    verdict = judge(record, rtol, *attempt(record, rtol, method="event-capturing"))
    assert verdict.kind == "within", verdict


@pytest.mark.soak
@pytest.mark.parametrize("method", ["event-driven", "event-capturing"])
@pytest.mark.parametrize("rtol", RTOL)
def test_all_of_it(rtol, method):
    verdicts = [judge(record, rtol, *attempt(record, rtol, method=method)) for record in load()]
    count = Counter(verdict.kind for verdict in verdicts)
    bad = [verdict for verdict in verdicts if verdict.kind in ("stalled", "wrong")]
    assert not bad, bad
    assert count["within"] >= 0.97 * len(verdicts), count


def test_plain_moreau_approaches_the_references():
    """Two descriptions of one mechanics: the library's functions and the reference's agree, model by model."""
    plain = [record for record in load() if "units" not in record]
    for record in {record["model"]: record for record in plain}.values():
        errors = []
        for steps in (2_000, 20_000):
            found, _ = attempt(record, 1e-2, dt=record["T"] / steps, method="moreau", audit=False)
            errors.append(judge(record, 1e-2, found).error)
        assert errors[1] < 0.3 * errors[0] or errors[1] < 1e-3, (record["name"], errors)
