"""The C binding's sparse.h: products by every way against NumPy, patterns, what is refused."""

import ctypes

import numpy as np
import pytest
from face import Failure, array, c
from hypothesis import given
from hypothesis import strategies as st

ref = ctypes.byref
AUTO, DIRECT, BLOCKED, DENSE = WAYS = range(4)
END = 2**63 - 1


class Thresholds(ctypes.Structure):
    _fields_ = [
        ("direct", ctypes.c_double),
        ("blocked", ctypes.c_double),
        ("inner", ctypes.c_double),
    ]


class Analysis(ctypes.Structure):
    _fields_ = [("density", ctypes.c_double), ("count", ctypes.c_int64), ("least_row", ctypes.c_int64),
                ("most_row", ctypes.c_int64), ("blocks", ctypes.c_int64), ("filled", ctypes.c_int64),
                ("dense", ctypes.c_int64), ("least_block", ctypes.c_double), ("most_block", ctypes.c_double),
                ("strategy", ctypes.c_int32), ("why", ctypes.c_char * 128)]  # fmt: skip


USUAL = Thresholds(0.1, 0.3, 0.15)


def given_or_none(thresholds):
    return None if thresholds is None else ref(thresholds)


def multiply(pattern, a, b, strategy=AUTO, thresholds=USUAL):
    return c.sparse_multiply(
        pattern, array(a), array(b), strategy, given_or_none(thresholds)
    ).numpy()


def analyze(pattern, thresholds=USUAL, room=100):
    found, occupancy = Analysis(), np.full(room, -1.0)
    c.sparse_pattern_analyze(
        pattern, given_or_none(thresholds), room, occupancy.ctypes.data, ref(found)
    )
    return found, occupancy


def uneven(rng, rows, cols):
    """A mask whose blocks of 64 rows have every density."""
    share = np.repeat(rng.choice([0, 0.02, 0.2, 0.9], (rows + 63) // 64), 64)[:rows, None]
    return rng.random((rows, cols)) < share


def near(found, a, b):
    """Within the rounding of sums of a row's terms."""
    exact, terms = a.astype("float64") @ b.astype("float64"), abs(a) @ abs(b)
    eps = np.finfo(found.dtype).eps
    assert (abs(found - exact) <= eps * (4 + np.sqrt(a.shape[1])) * terms.astype("float64")).all()


@given(
    st.integers(0, 300), st.integers(0, 90), st.integers(0, 70), st.sampled_from(WAYS),
    st.sampled_from(["float32", "float64"]), st.floats(0, 1), st.integers(0, 2**31),
)  # fmt: skip
def test_products(rows, cols, width, strategy, dtype, inner, seed):
    rng = np.random.default_rng(seed)
    mask = uneven(rng, rows, cols)
    a = rng.standard_normal((rows, cols)).astype(dtype)
    b = rng.standard_normal((cols, width)).astype(dtype)
    thresholds = Thresholds(0, 1, inner)
    pattern = c.sparse_pattern_mask(array(mask))
    found = multiply(pattern, a, b, strategy, thresholds)
    assert found.dtype == dtype and found.shape == (rows, width)
    near(found, np.where(mask, a, 0), b)
    _, indptr, indices = c.sparse_pattern_parts(pattern)
    data = array(a[mask])
    again = c.sparse_matmul(indptr, indices, data, array(b), strategy, ref(thresholds)).numpy()
    near(again, np.where(mask, a, 0), b)


def test_patterns():
    i, j = np.ogrid[:130, :70]
    blocks = np.random.default_rng(1).random((3, 4)) < 0.5
    by_blocks = blocks.repeat(50, 0).repeat(20, 1)[:130, :70]
    for made, mask in [
        (c.sparse_pattern_causal(130, 70), j <= i),
        (c.sparse_pattern_banded(130, 70, 5, 2), (j - i <= 2) & (i - j <= 5)),
        (c.sparse_pattern_banded(130, 70, -3, END), j - i >= 3),
        (c.sparse_pattern_banded(130, 70, -END, END), np.zeros((130, 70), bool)),
        (c.sparse_pattern_blocks(array(blocks), 50, 20, 130, 70), by_blocks),
        (c.sparse_pattern_mask(array(by_blocks.T)), by_blocks.T),
        (c.sparse_pattern_causal(0, 5), np.zeros((0, 5), bool)),
        (c.sparse_pattern_causal(5, 0), np.zeros((5, 0), bool)),
    ]:
        got, indptr, indices = (x.numpy() for x in c.sparse_pattern_parts(made))
        assert np.array_equal(got, mask)
        assert indptr.tolist() == [0, *np.cumsum(mask.sum(1))] and indptr.dtype == np.int32
        assert np.array_equal(indices, np.nonzero(mask)[1])
    assert c.sparse_pattern_parts(made, want=[False, True, False])[1].shape == (6,)


def test_analysis():
    mask = np.zeros((150, 40), bool)
    mask[:64, :30], mask[64:128, :2] = True, True
    found, occupancy = analyze(c.sparse_pattern_mask(array(mask)))
    assert occupancy[:4].tolist() == [0.75, 0.05, 0, -1]
    assert (found.count, found.least_row, found.most_row) == (mask.sum(), 0, 30)
    assert (found.blocks, found.filled, found.dense) == (3, 2, 1)
    assert (found.least_block, found.most_block) == (0, 0.75) and found.density == mask.mean()
    assert found.strategy == DENSE and found.why == b"dense: density 0.3413 is not below 0.3"
    for share, strategy, why in [
        (0.05, DIRECT, b"below 0.1"),
        (0.2, BLOCKED, b"3 of 3 blocks have 0.15"),
    ]:
        mask[:] = np.arange(40) < 40 * share
        found, occupancy = analyze(c.sparse_pattern_mask(array(mask)), room=1)
        assert found.strategy == strategy and why in found.why and occupancy[0] == share


def test_measured():
    one, other = Thresholds(), Thresholds()
    c.sparse_measured(ref(one))
    c.sparse_measured(ref(other))
    assert bytes(one) == bytes(other)
    assert 0 <= one.direct <= one.blocked <= 1 and 0 <= one.inner <= 1
    pattern, eye = c.sparse_pattern_causal(9, 9), np.eye(9, dtype="float32")
    assert analyze(pattern, None)[0].strategy in (DIRECT, BLOCKED, DENSE)
    for strategy in WAYS:
        assert multiply(pattern, eye, eye, strategy, None).tolist() == eye.tolist()


@pytest.mark.parametrize("strategy", WAYS)
def test_what_does_not_count_takes_no_part(strategy):
    mask = np.random.default_rng(2).random((100, 30)) < 0.5
    a, b = np.where(mask, 1, np.nan), np.ones((30, 3))
    b[4] = np.inf
    with np.errstate(invalid="ignore"):
        want = np.where(mask[:, 4:5], np.inf, mask.sum(1)[:, None] + b[:1] * 0)
    found = multiply(c.sparse_pattern_mask(array(mask)), a, b, strategy)
    assert np.array_equal(found, want)


def test_dtypes():
    rng = np.random.default_rng(3)
    mask = rng.random((70, 20)) < 0.3
    for one, other, kind in [("int16", "uint8", "int16"), ("float16", "float16", "float16"), ("bool", "bool", "bool"),
                             ("complex64", "float64", "complex128"), ("int32", "float32", "float64")]:  # fmt: skip
        a, b = rng.integers(0, 3, (70, 20)).astype(one), rng.integers(0, 3, (20, 6)).astype(other)
        want = (np.where(mask, a, np.zeros((), one)) @ b).astype(kind)
        for strategy in WAYS:
            found = multiply(c.sparse_pattern_mask(array(mask)), a, b, strategy)
            assert found.dtype == kind and np.array_equal(found, want)


def refused(kind, text, function, *arguments):
    with pytest.raises(Failure, match=text) as told:
        function(*arguments)
    assert told.value.kind == kind


def test_refusals():
    a, pattern = np.ones((4, 3), "float32"), c.sparse_pattern_causal(4, 3)
    b, wide = array(np.ones((3, 2), "float32")), array(np.ones((4, 2), "float32"))
    refused("TypeError", "mask is float32", c.sparse_pattern_mask, array(a))
    refused("ValueError", "1 dimensions", c.sparse_pattern_mask, array(np.ones(3, bool)))
    refused("ValueError", r"shape is \(-1, 2\)", c.sparse_pattern_causal, -1, 2)
    blocks = array(np.ones((2, 2), bool))
    for sizes in [(0, 1, 2, 2), (2, 2, 2, 4), (2, 2, 5, 4), (2, 2, -1, 4)]:
        refused("ValueError", "2 by 2 blocks", c.sparse_pattern_blocks, blocks, *sizes)
    x = array(a)
    refused("ValueError", r"pattern's is \(4, 3\)", c.sparse_multiply, pattern, b, b, 0, None)
    refused("ValueError", "dimension mismatch", c.sparse_multiply, pattern, x, wide, 0, None)
    refused("ValueError", "strategy is 4", c.sparse_multiply, pattern, x, b, 4, None)
    refused("ValueError", "strategy is -1", c.sparse_multiply, pattern, x, b, -1, None)
    for wrong in [(0.3, 0.2, 0), (-1, 1, 0), (0, 2, 0), (0, 1, 1.5), (0, float("nan"), 0)]:
        t = ref(Thresholds(*wrong))
        refused("ValueError", "thresholds are direct", c.sparse_multiply, pattern, x, b, 1, t)
        refused(
            "ValueError",
            "thresholds are direct",
            c.sparse_pattern_analyze,
            pattern,
            t,
            0,
            None,
            ref(Analysis()),
        )
    refused(
        "ValueError",
        "room is -1",
        c.sparse_pattern_analyze,
        pattern,
        None,
        -1,
        None,
        ref(Analysis()),
    )
    refused(
        "ValueError", "occupancy", c.sparse_pattern_analyze, pattern, None, 1, None, ref(Analysis())
    )
    refused("ValueError", "pattern", c.sparse_multiply, None, x, b, 0, None)
    c.sparse_pattern_release(None)


def test_refused_structures():
    b, t = array(np.ones((3, 2))), ref(USUAL)
    indptr, indices, data = (array(np.array(x)) for x in ([0, 1, 2], [0, 2], [1.0, 2.0]))
    narrow = array(np.array([0, 1, 2], "int32"))
    refused(
        "TypeError",
        "indptr is int32, indices are int64",
        c.sparse_matmul,
        narrow,
        indices,
        data,
        b,
        0,
        t,
    )
    refused(
        "ValueError",
        "indices 3, data 2",
        c.sparse_matmul,
        indptr,
        array(np.arange(3)),
        data,
        b,
        0,
        t,
    )
    for heads in ([0, 2, 1], [0, 1, 3], [-1, 1, 2]):
        refused(
            "ValueError",
            "must ascend",
            c.sparse_matmul,
            array(np.array(heads)),
            indices,
            data,
            b,
            BLOCKED,
            t,
        )
