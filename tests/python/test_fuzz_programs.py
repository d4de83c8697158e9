"""Programs that the fuzzer of statements found, and some of its first, in the mode that the suite runs in."""

import pathlib
import sys

import asnumpy
import pytest

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import fuzz_compare as comparing  # noqa: E402
import fuzz_programs as programs  # noqa: E402
import statements  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("path", sorted(FUZZ.glob("cases/*.program")), ids=lambda p: p.stem)
def test_found(path):
    comparing.check(asnumpy, *statements.read(path))


@pytest.mark.parametrize("seed", range(60))
def test_random(seed):
    traceable = seed % 3 == 0
    comparing.check(asnumpy, programs.generate(seed, traceable), traceable)


def test_a_difference_is_seen():
    """The comparison fails where a result is another one: by a last bit, a sign, a dtype."""
    program = programs.Program(
        ["v0 = make(np, 'f8', (5,), 'plain', 'rows', 1)"], ["v1 = v0 * 2"], ["v0", "v1"],
        {"v0": False, "v1": False},
    )  # fmt: skip
    right = comparing.as_it_is(asnumpy, program)
    comparing.agree(right, dict(right), program, "itself")
    for wrong in (right["v1"] * (1 + 2**-52), -right["v1"], right["v1"].astype("f4")):
        with pytest.raises(comparing.Mismatch, match="v1"):
            comparing.agree(right | {"v1": wrong}, right, program, "another")
