"""Shared set-up of the differential tests: NumPy is the oracle for everything."""

import os
import pathlib
import sys

import hypothesis
import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

hypothesis.settings.register_profile(
    "quick", max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
hypothesis.settings.register_profile(
    "full", max_examples=2000, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def rng(request):
    """Random numbers that are the same in every run of one test."""
    return numpy.random.default_rng(sum(map(ord, request.node.name)))
