"""A front-end call must not grow by more than 5 %, in instructions (instructions.py says how they are counted)."""

import os
import shutil

import instructions
import pytest


@pytest.fixture(scope="module")
def held():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed (tools/bootstrap.sh installs it)")
    if os.environ.get("ASNUMPY_FUSE") == "0":
        pytest.skip("the counts are of the default path, not of ASNUMPY_FUSE=0")
    machine = instructions.machine_class()
    counts = instructions.stored().get(machine)
    if counts is None:
        pytest.skip(f"no counts stored for {machine}; python tests/python/instructions.py --write")
    return counts


def test_front_end_instructions(held):
    now = instructions.count()
    assert held.keys() == now.keys(), "calls were added or removed: instructions.py --write"
    grown = {
        name: f"{held[name]} -> {now[name]}"
        for name in now
        if now[name] > instructions.SLACK * held[name]
    }
    assert not grown, f"more than 5 % above the stored counts: {grown}"
