"""Profiles of the property tests: ``HYPOTHESIS_PROFILE=soak`` asks for many random examples instead of a few fixed ones."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick", max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile(
    "soak", max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
