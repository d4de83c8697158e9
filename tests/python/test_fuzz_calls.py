"""Calls with options drawn at random (tests/fuzz/calls.py): the same ones every time; make fuzz draws others."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
import calls


@pytest.mark.parametrize("part", range(8))
def test_calls_with_options(part):
    found = {seed: calls.compare(seed) for seed in range(500 * part, 500 * (part + 1))}
    differ = [f"seed {seed}: {' | '.join(said)}" for seed, said in found.items() if said]
    assert not differ, "\n".join(differ)
