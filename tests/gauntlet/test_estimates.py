"""The estimate of the error against the true one."""

import numpy as np
import pytest

from .judge import attempt, estimate_holds, judge, load

FAMILIES = ("walls", "oscillator", "incline")


def shares(families, tolerances, **options):
    holds = []
    for record in load(*families):
        for rtol in tolerances:
            verdict = judge(record, rtol, *attempt(record, rtol, **options), estimated=True)
            if verdict.kind == "within":
                holds.append(estimate_holds(verdict))
    return np.mean(holds, axis=0)


def test_estimates():
    good, too_small = shares(FAMILIES, (1e-4, 1e-6, 1e-8))
    assert good >= 0.9 and too_small <= 0.02


@pytest.mark.soak
@pytest.mark.parametrize("rtol", (1e-4, 1e-6, 1e-8, 1e-10))
def test_estimates_of_all(rtol):
    good, too_small = shares((), (rtol,))
    assert good >= 0.9 and too_small <= 0.02
