"""Integers to negative integer powers: refused by every way of calling power, where an exponent counts."""

import asnumpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import same

MESSAGE = "Integers to negative integer powers are not allowed."
WAYS = """
m.power(x, e) | m.power(x, e, out=x) | x ** e | m.power(x, e, where=w) | m.power(x, e, where=w, out=x) | m.power(x, e[:1], where=w, out=x)
m.power.reduce(e) | m.power.reduce(x, initial=2) | m.power.reduce(m.stack([x, e]), axis=0) | m.power.reduce(e[:1]) | m.power.reduce(e, initial=2)
m.power.reduce(e, initial=2, where=w) | m.power.reduce(m.stack([x, e]), axis=0, initial=2, where=w) | m.power.reduce(e[:0], initial=1)
m.power.accumulate(e) | m.power.accumulate(m.stack([x, e])) | m.power.accumulate(e[:1]) | m.power.outer(x, e) | m.power.outer(x[:0], e)
m.power.reduceat(e, [0, 2]) | m.power.reduceat(e, [1, 1, 0]) | m.power.reduceat(m.stack([x, e]), [0], axis=0)
m.power.at(x, i, e) | m.power.at(x, i, -1) | m.power.at(x, [], -1) | m.power.at(x, 1, -1) | m.power.at(x, m.array([], dtype=int), e[:0])
m.power(x, -1, where=w, out=x) | m.power(x, -1, where=m.zeros(5, dtype=bool), out=x) | x.__ipow__(e) | m.power(2, e) | m.power(x[:0], -1)
"""


@pytest.mark.parametrize(
    "way", [w.strip() for line in WAYS.strip().splitlines() for w in line.split("|")]
)
@given(seed=st.integers(0, 2**20), small=st.booleans())
def test_negative_exponents(way, seed, small):
    rng = np.random.default_rng(seed)
    least, dtypes = rng.choice([-1, 0, 0]), rng.choice(["i1", "i4", "i8", "u1"], 2)
    if "out=x" in way or "ipow" in way:  # (that it cannot be cast, NumPy says first)
        dtypes[0] = dtypes[1]
    x = rng.integers(0, 3, 5).astype(dtypes[0])
    e = np.maximum(rng.integers(-1, 3, 5), least).astype(dtypes[1])
    if not small:  # (elements enough to be recorded)
        x, e = np.resize(x, 5000), np.resize(e, 5000)
    w = np.resize(rng.random(5) < 0.5, x.shape)
    i = np.arange(len(x))[::-1].copy()
    if "where=m.zeros" in way:
        x, w = x[:5], w[:5]

    def run(m, x, e, w, i):
        with m.errstate(all="ignore"):
            code = compile(way, way, "eval")
            result = eval(code, {"m": m, "x": x, "e": e, "w": w, "i": i})
        undefined = "where=w)" in way and "initial" not in way
        return x, m.where(w, result, 0) if undefined else result

    same(run, x, e, w, i, ulp=8, where=way)


def test_the_message_and_what_is_left():
    x = asnumpy.array([2, 3, 4])
    for call in (
        lambda: asnumpy.power.at(x, [0, 2], [1, -1]),
        lambda: asnumpy.power.reduce(asnumpy.array([2, -1])),
        lambda: asnumpy.power.accumulate(asnumpy.array([2, -1])),
    ):
        with pytest.raises(ValueError, match=MESSAGE):
            call()
    assert x.tolist() == [2, 3, 4]


def test_replays_look_at_the_exponents_of_their_arguments():
    """Of those that a mask chooses, too."""
    f = asnumpy.jit(lambda x, e, w: asnumpy.power(x, e, where=w, out=asnumpy.zeros(3, dtype=int)))
    x, e, w = (
        asnumpy.array([2, 3, 4]),
        asnumpy.array([2, -1, 1]),
        asnumpy.array([True, False, True]),
    )
    for _ in range(3):
        assert f(x, e, w).tolist() == [4, 0, 4]
    with pytest.raises(ValueError, match=MESSAGE):
        f(x, e, ~w)
    assert f(x, abs(e), ~w).tolist() == [0, 3, 0]
