"""einsum of random subscripts, with its plans and the general way. NumPy is the oracle."""

import asnumpy
import numpy as np
import pytest
from conftest import NPU
from hypothesis import given, settings
from hypothesis import strategies as st

LETTERS = "abcde"


def random_call(rng):
    """(subscripts, operands): one to four operands, repeated letters, axes of one element, ellipses."""
    extents = {c: int(rng.integers(1, 5)) for c in LETTERS}
    dots = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))]
    dtype = str(rng.choice(["f8", "f8", "f4", "i4", "c16", "?", "f2", "i8"]))
    texts, operands = [], []
    for _ in range(int(rng.choice([1, 2, 2, 2, 3, 4]))):
        repeats = rng.random() < 0.25
        subs = "".join(rng.choice(list(LETTERS), int(rng.integers(0, 4)), replace=bool(repeats)))
        shape = [1 if rng.random() < 0.05 else extents[c] for c in subs]
        if dots and rng.random() < 0.8:
            at = int(rng.integers(0, len(subs) + 1))
            cut = 0 if rng.random() < 0.8 else int(rng.integers(0, len(dots) + 1))
            subs, shape = subs[:at] + "..." + subs[at:], shape[:at] + dots[cut:] + shape[at:]
        texts.append(subs)
        values = rng.integers(-4, 5, shape)
        operands.append(
            (values if dtype != "?" else values > 0).astype(dtype)
            * (1 + 1j if dtype == "c16" else 1)
        )
    text = ",".join(texts)
    used = sorted(set(text) & set(LETTERS))
    if rng.random() < 0.7:
        out = list(rng.permutation(used))[: int(rng.integers(0, len(used) + 1))]
        if "." in text and rng.random() < 0.9:
            out.insert(int(rng.integers(0, len(out) + 1)), "...")
        text += "->" + "".join(out)
    return text, [x.astype(dtype) for x in operands]


def outcome(library, text, operands):
    try:
        return library.einsum(text, *operands)
    except (ValueError, TypeError) as error:
        return type(error)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_subscripts(seed):
    text, hosts = random_call(np.random.default_rng(seed))
    ours = [asnumpy.array(x) for x in hosts]
    for _ in range(2):  # the plan is made, and found
        got, want = outcome(asnumpy, text, ours), outcome(np, text, hosts)
        if isinstance(want, type):
            assert got is want, text
            return
        view = np.asarray(got)
        assert (view.dtype, view.shape) == (want.dtype, np.shape(want)), text
        np.testing.assert_allclose(
            view, want, rtol=1e-3 if want.dtype == "f2" else 1e-6, err_msg=text
        )
        if len(hosts) == 1 and np.ndim(want) and not NPU:  # whose memory the host does not share
            shares = np.shares_memory(want, hosts[0])
            assert asnumpy.shares_memory(got, ours[0]) == shares, text
            if shares and got.size:
                assert got.flags.writeable == want.flags.writeable, text


@pytest.mark.parametrize(
    "text", ["ij,ij->i", "ij,ij->j", "ij,ji->", "ijk,ik->i", "ij,ij->", "ijk,kji->j"]
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_sums_of_products_of_large_arrays(text, dtype):
    rng = np.random.default_rng(1)
    first, second = text.partition("->")[0].split(",")
    extents = {"i": 90, "j": 70, "k": 40}
    a, b = (
        (rng.standard_normal([extents[c] for c in s]) * 9).astype(dtype) for s in (first, second)
    )
    got = np.asarray(asnumpy.einsum(text, asnumpy.array(a), asnumpy.array(b)))
    want = np.einsum(text, a, b)
    size = np.einsum(text, np.abs(a), np.abs(b))
    assert got.dtype == want.dtype and got.shape == want.shape
    bound = 0 if want.dtype.kind == "i" else 100 * float(np.finfo(want.dtype).eps)
    assert np.all(np.abs(got - want) <= bound * size)


@pytest.mark.parametrize("text", ["i,i->", "i,j->", "ij,j->i", "ij,jk->ik", "...i,...i->...", "i->",
                                  "i,j->j", "ij,k->ik", "i,j,j->"])  # fmt: skip
def test_sums_of_nothing(text):
    """Zeros, whatever the factors of other axes are."""
    given = text.split("->")[0].split(",")
    for empty in (c for c in sorted(set(text)) if c.isalpha()):
        for one in (False, True):  # an axis of one that stands for none
            operands = []
            for k, subs in enumerate(given):
                shape = [3 if c != empty else int(one and k == 0) for c in subs.replace("...", "")]
                operands.append(np.full(shape, np.nan))
            want = np.einsum(text, *operands)
            got = asnumpy.einsum(text, *map(asnumpy.array, operands))
            assert np.array_equal(got, want, equal_nan=True), (empty, one, got, want)
            assert got.dtype == want.dtype and np.shape(got) == np.shape(want)
