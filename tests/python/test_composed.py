"""Functions composed of device operations in Python, against NumPy: indices, trims, bin estimators, fits."""

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st


def outcome(call, module):
    try:
        return call(module)
    except Exception as error:  # noqa: BLE001 - compared below
        return error


def same(call):
    expected, got = outcome(call, np), outcome(call, anp)
    if isinstance(expected, Exception):
        assert type(got) is type(expected) and str(got) == str(expected)
        return
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for a, b in pairs:
        assert (type(a) is anp.ndarray) == isinstance(b, np.ndarray)
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F", "X"])
@pytest.mark.parametrize(
    "indices", [[22, 41, 37], 41, [[1, 2], [3, 4]], [], -1, [100], 1.5, [1.5]], ids=str
)
def test_unravel_index(indices, order):
    same(lambda m: m.unravel_index(indices, (7, 6), order))


def test_unravel_index_of_odd_shapes():
    same(lambda m: m.unravel_index(3, 5))
    same(lambda m: m.unravel_index([1], ()))
    assert anp.unravel_index(0, ()) == ()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dims", [(7, 6), (4, 6), (4, 4)])
@pytest.mark.parametrize(
    "mode", ["raise", "wrap", "clip", ("clip", "wrap"), "no", ("wrap",)], ids=str
)
def test_ravel_multi_index(dims, mode, order):
    same(lambda m: m.ravel_multi_index([[3, 6, 6], [4, 5, 1]], dims, mode, order))


def test_ravel_multi_index_of_numbers_and_errors():
    same(lambda m: m.ravel_multi_index((3, 1, 4, 1), (6, 7, 8, 9)))
    same(lambda m: m.ravel_multi_index(([1.5], [1]), (6, 7)))
    same(lambda m: m.ravel_multi_index(([[1], [2]], [3, 4]), (6, 7)))
    with pytest.raises(ValueError):
        anp.ravel_multi_index(([1],), (6, 7))


@given(
    data=st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=12),
    trim=st.sampled_from(["f", "b", "fb"]),
    columns=st.integers(1, 3),
)
def test_trim_zeros(data, trim, columns):
    same(lambda m: m.trim_zeros(m.array(data, dtype=float), trim))
    rows = np.array(data[: len(data) // columns * columns], dtype=float).reshape(-1, columns)
    for axis in (None, 0, 1, (0, 1)):
        same(lambda m, axis=axis: m.trim_zeros(m.array(rows), trim, axis=axis))


ESTIMATORS = ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]


@pytest.mark.parametrize("name", ESTIMATORS)
@given(
    seed=st.integers(0, 10_000),
    kind=st.integers(0, 3),
    n=st.integers(0, 300),
    limited=st.booleans(),
)
@example(seed=1304, kind=3, n=264, limited=False)  # 7 bins of float32, 8 in wider numbers
@example(seed=124, kind=1, n=18, limited=False)  # counts that Stone's rule cannot tell apart
def test_bin_estimators(name, seed, kind, n, limited):
    rng = np.random.default_rng(seed)
    n = n // 6 if name == "stone" else n
    a = [rng.random(n), rng.standard_normal(n) * 100, rng.integers(0, 50, n),
         rng.standard_normal(n).astype("f4")][kind]  # fmt: skip
    same(lambda m: m.histogram_bin_edges(m.array(a), name, (0.2, 0.7) if limited else None))


def test_no_such_estimator():
    same(lambda m: m.histogram_bin_edges([1.0, 2], "none"))


@pytest.mark.parametrize(
    "keywords",
    [{}, {"full": True}, {"w": True}, {"cov": True}, {"cov": "unscaled", "w": True}],
    ids=str,
)
def test_polyfit(keywords):
    rng = np.random.default_rng(1)
    x, y, z = rng.random(30), rng.random(30), rng.random(30)
    keywords = {k: z if k == "w" else v for k, v in keywords.items()}
    for values in (y, np.stack([y, z], axis=1)):
        expected, got = np.polyfit(x, values, 3, **keywords), anp.polyfit(x, values, 3, **keywords)
        many = isinstance(expected, tuple)
        for a, b in zip(got if many else [got], expected if many else [expected], strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    assert type(anp.polyfit(x, y, 2)) is anp.ndarray
    with pytest.warns(np.exceptions.RankWarning):
        anp.polyfit([1, 1], [1, 2], 1)
    for bad in (
        ([], [], 1),
        ([[1]], [1], 1),
        ([1], [[[1]]], 1),
        ([1, 2], [1], 1),
        ([1, 2], [1, 2], -1),
    ):
        with pytest.raises(Exception) as expected:  # noqa: B017 - NumPy says which
            np.polyfit(*bad)
        with pytest.raises(expected.type):
            anp.polyfit(*bad)
