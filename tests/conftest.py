"""Profiles of the property tests: ``HYPOTHESIS_PROFILE=soak`` asks for many random examples instead of a few fixed ones.

Kernels in the cache of whoever runs the tests are not seen by them: tests of what is kept where begin with nothing.
"""

import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="nonsmooth-tests-")

settings.register_profile(
    "quick", max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile(
    "soak", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """Ctrl-C raises, also where tests run in the background of a shell, which lets its children ignore it."""
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)
