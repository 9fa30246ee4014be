"""No user function reaches memory that is not its own: see `fuzz_functions` (``make soak`` makes 2,000 tries)."""

import pytest
from fuzz_functions import main

from nonsmooth._core.jit import JIT_ENABLED

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="about compiled code")


def failures(counts):
    return [outcome for outcome in counts if "silent" in outcome or "ended with" in outcome]


def test_some_tries():
    counts = main(60)
    assert not failures(counts)
    assert sum(counts.values()) == 60


@pytest.mark.soak
def test_many_tries():
    counts = main(2000)
    print(counts)
    assert not failures(counts)
    assert sum(counts.values()) == 2000
