"""Products drawn at random (tests/fuzz/products.py): the same ones every time; make fuzz draws others."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
import products


@pytest.mark.parametrize("part", range(4))
def test_products(part):
    found = {seed: products.compare(seed) for seed in range(100 * part, 100 * (part + 1))}
    differ = [f"seed {seed}: {' | '.join(said)}" for seed, said in found.items() if said]
    assert not differ, "\n".join(differ)
