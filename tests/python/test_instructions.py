"""A front-end call must not grow by more than 5 %, in instructions (instructions.py says how they are counted)."""

import os
import shutil

import instructions
import pytest


@pytest.fixture(scope="module")
def held():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed (tools/bootstrap.sh installs it)")
    for name in ("ASNUMPY_FUSE", "ASNUMPY_JIT", "ASNUMPY_ISA", "ASNUMPY_DEVICE"):
        if name in os.environ:
            pytest.skip(f"the counts are of the default path, not of {name}={os.environ[name]}")
    machine = instructions.machine_class()
    counts = instructions.stored().get(machine)
    if counts is None:
        pytest.skip(f"no counts stored for {machine}; python tests/python/instructions.py --write")
    return counts


def test_front_end_instructions(held):
    now = instructions.count()
    assert held.keys() == now.keys(), "calls were added or removed: instructions.py --write"
    grown = instructions.grown(held, now)
    assert not grown, f"more than 5 % above the stored counts: {grown}"


def test_growth_is_noticed():
    held = {"a[5]": 500, "np.std(a)": 20000}
    assert not instructions.grown(held, {"a[5]": 530, "np.std(a)": 20900})
    assert instructions.grown(held, {"a[5]": 545, "np.std(a)": 1}) == {"a[5]": "500 -> 545"}
    assert list(instructions.grown(held, {"a[5]": 1, "np.std(a)": 21001})) == ["np.std(a)"]
