"""Basic and advanced indexing against NumPy: get, set, errors; random keys by hypothesis."""

import warnings

import asnumpy
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from oracle import DTYPES, outcome, same, sample

SHAPE = (4, 3, 5)


def array():
    return np.arange(60).reshape(SHAPE)


KEYS = [
    0, -1, (1, 2), (1, 2, 3), (-1, -1, -1), slice(None), slice(1, 3), slice(None, None, -1),
    slice(3, 0, -2), (slice(None), 1), (..., 0), (0, ...), (..., slice(1, 2)), None,
    (None, 0), (0, None, slice(None)), (slice(None), None, 1), ..., (), (0, ..., None),
    [0, 2], [[0, 1], [1, 2]], np.array([3, 0]), np.array([], int), [], ([0, 1], [1, 2]),
    ([0, 1], slice(None), [2, 3]), (slice(None), [0, 1], [2, 3]), ([0, 1], 1), (1, [0, 2]),
    (1, slice(None), [0, 2]), ([[0], [1]], [0, 2]), (np.array(1), 2), np.array(2),
    np.ones(SHAPE, bool), np.zeros(SHAPE, bool), np.arange(60).reshape(SHAPE) % 3 == 0,
    np.array([True, False, True, False]), (slice(None), np.array([True, False, True])),
    (np.array([True, False, True, False]), [0, 1]), np.ones((4, 3), bool), True, False,
    np.True_, (True, 0), (0, np.array([True, True, False]), [1, 2]), np.int8(2), np.uint64(1),
    (np.intp(1), slice(0, 2)), [True, False, True, True], ([-1, -2], [-1, 0], [0, -5]),
    (..., [0, 1]), (None, [0, 1]), ([0, 1], None, [0, 1]), (np.array([[True] * 3] * 4), 0),
    slice(5, 10), (slice(2, 2), 0), (0, slice(None, None, 2), slice(None, None, -1)),
]  # fmt: skip
BAD = [
    4, -5, (0, 3), (0, 0, 0, 0), 1.0, "x", (..., ...), [4], [0.5], np.array([1.0]),
    np.ones((3, 3), bool), ([0, 1], [0, 1, 2]), (0, [5]), np.ones(5, bool), Ellipsis.__class__,
    slice("a", None), (0, 1.5), [[0, 1], [2]],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_get(key):
    same(lambda np_, a: a[to(np_, key)], array(), where=str(key))
    same(lambda np_, a: a.T[to(np_, key)], np.ascontiguousarray(array().T), where=str(key))


def to(np_, key):
    """NumPy arrays inside a key become the library's own."""
    if np_ is np:
        return key
    if isinstance(key, np.ndarray):
        return asnumpy.array(key)
    if isinstance(key, tuple):
        return tuple(to(np_, k) for k in key)
    return key


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_set(key):
    for value in (7, 2.9, "row"):

        def run(np_, a, value=value):
            k = to(np_, key)
            v = np_.asarray(a[k]) * 2 + 1 if value == "row" else value
            a[k] = v
            return a

        same(run, array(), where=f"{key} = {value}")

        def update(np_, a):
            a[to(np_, key)] += 1
            return a

        same(update, array(), where=f"{key} += 1")


@pytest.mark.parametrize("key", BAD, ids=str)
def test_errors(key):
    same(lambda np_, a: a[to(np_, key)], array(), where=str(key))

    def put(np_, a):
        a[to(np_, key)] = 1

    same(put, array(), where=str(key))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype, rng):
    a = sample(dtype, 60, rng).reshape(SHAPE)
    mask = rng.random(SHAPE) < 0.4
    idx = rng.integers(-4, 4, 7)

    def run(np_, a, mask, idx):
        b = a.copy()
        b[mask] = a[mask][::-1]
        b[idx] = a[idx[::-1]]
        b[0, 1:, ::2] = a[1, :2, ::2]
        b[..., 2] = 1
        return [a[0, 0, 0], a[mask], a[idx], a[:, idx % 3, 2], b, a[1], a[:, 1, -1]]

    same(run, a, mask, idx)


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_packing(dtype):
    """a[0] = x for Python and NumPy scalars: ranges, truncation, errors."""
    values = [0, 1, -1, 255, 256, 300, -129, 2**31, 2**63, 2**64, 2**70, 1.5, -0.9, 1e300, np.nan,
              np.inf, 1 + 2j, True, np.int64(300), np.float64(2.7), np.uint8(200), np.bool_(True),
              np.complex64(1j), "x", None, [1], [1, 2], np.array([5]), b"1"]  # fmt: skip
    for value in values:

        def one(np_, value=value):
            a = np_.zeros(3, dtype)
            a[1] = value
            return a

        def many(np_, value=value):
            a = np_.zeros(3, dtype)
            a[:] = value
            return a

        for f in (one, many):
            if np.dtype(dtype).kind in "iu" and isinstance(value, complex | np.complexfloating):
                continue
            if isinstance(value, str | bytes) or value is None:
                continue
            same(f, where=f"{dtype} {value!r}")


def test_duplicate_indices_last_wins(rng):
    idx = rng.integers(0, 5, 200)
    values = rng.integers(0, 1000, 200)

    def run(np_, idx, values):
        a = np_.zeros(5, int)
        a[idx] = values
        return a

    same(run, idx, values)


def test_overlapping_assignment():
    def run(np_):
        a = np_.arange(10)
        a[1:] = a[:-1]
        b = np_.arange(10)
        b[::-1] = b
        c = np_.arange(12).reshape(3, 4)
        c[:, 1:] = c[:, :-1]
        d = np_.arange(9).reshape(3, 3)
        d[...] = d.T
        e = np_.arange(10)
        e[e % 2 == 0] = e[::2] * 10
        return a, b, c, d, e

    same(run)


# ---- random keys

ints = st.integers(-6, 6)
slices = st.builds(
    slice, st.none() | ints, st.none() | ints, st.none() | ints.filter(lambda i: i != 0)
)


@st.composite
def index_arrays(draw):
    shape = draw(st.sampled_from([(2,), (3,), (2, 2), (1,), (0,), (2, 1)]))
    n = int(np.prod(shape))
    values = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    return np.array(values, dtype=draw(st.sampled_from([np.int64, np.int32, np.int8]))).reshape(
        shape
    )


@st.composite
def masks(draw, shape):
    n = int(np.prod(shape))
    return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool).reshape(shape)


@st.composite
def cases(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=0, max_size=4)))
    items, d = [], 0
    for _ in range(draw(st.integers(0, len(shape) + 1))):
        kinds = [ints, slices, slices, st.none(), index_arrays(), st.just(Ellipsis)]
        if d < len(shape):
            width = draw(st.integers(1, min(2, len(shape) - d)))
            kinds.append(masks(shape[d : d + width]))
        item = draw(st.one_of(kinds))
        if item is Ellipsis and any(i is Ellipsis for i in items):
            continue
        if item is not None and item is not Ellipsis:
            d += item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
        items.append(item)
    return shape, tuple(items) if len(items) != 1 or draw(st.booleans()) else items[0]


@hypothesis.given(cases())
@hypothesis.settings(max_examples=max(400, hypothesis.settings().max_examples))
def test_random_get_and_set(case):
    shape, key = case
    a = np.arange(int(np.prod(shape))).reshape(shape)

    def get(np_, a):
        return a[to(np_, key)]

    def set_(np_, a):
        a[to(np_, key)] = -1
        return a

    def assign(np_, a):
        k = to(np_, key)
        picked = np_.asarray(a[k])
        a[k] = picked[::-1] if picked.ndim else picked
        return a

    for f in (get, set_, assign):
        expected, error = outcome(f, np, a.copy())
        if error is not None and "shape mismatch" in str(error) and f is not get:
            continue
        same(f, a.copy(), where=f"{f.__name__} {shape} {key}")


FLAT_KEYS = [
    True, False, [True, True], [True, 1], None, (1, 2), (), "a", b"", 1.5, [1.0, 2.0], [], [9],
    np.array([True] * 10), np.array([True] * 9), np.array(True), np.array([1.0]), np.array([3, 1]),
    np.zeros((3, 3), bool), np.array(["a"]), [[1, 2], [3, 4]], slice(1, 7, 2), ..., -10, np.int64(3),
]  # fmt: skip


@pytest.mark.parametrize("key", FLAT_KEYS, ids=repr)
def test_flat_keys(key):
    def said(m, write):
        a = m.arange(9).reshape(3, 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if write:
                    a.flat[key] = 7
                got = np.asarray(a if write else a.flat[key]).tolist()
            except Exception as error:
                got = type(error).__name__, str(error).replace("axis 0 with ", "")
        return got, [(w.category, str(w.message)) for w in caught]

    for write in (False, True):
        want, got = said(np, write), said(asnumpy, write)
        want = eval(repr(want[0]).replace("axis 0 with ", "")), want[1]
        assert got == want


def test_flat_element_refuses_what_is_no_element():
    for value in ([], [[1, 2]], "a", None):
        for m in (np, asnumpy):
            with pytest.raises(ValueError, match="Error setting single item of array"):
                m.arange(9).flat[2] = value


@pytest.mark.parametrize("key", [["1"], np.array(["a"]), np.array(["a"] * 3)], ids=repr)
def test_text_indexes_nothing(key):
    for m in (np, asnumpy):
        with pytest.raises(IndexError, match="integer"):
            m.arange(3)[key]
        with pytest.raises(IndexError, match="integer"):
            m.arange(3)[key] = 1


def test_too_many_bools():
    for m in (np, asnumpy):
        with pytest.raises(IndexError, match="ind"):
            m.ones((1,))[(True,) * 64]


def test_indices_are_checked_where_no_element_moves():
    """Of shape (3, 0) every row is empty, and an index out of bounds is an error even so."""
    calls = {
        "get": lambda lib, a: a[[7]],
        "set": lambda lib, a: a.__setitem__([7], 1),
        "take": lambda lib, a: lib.take(a, [7], axis=0),
        "take, empty axis": lambda lib, a: lib.take(a[:0], [0], axis=0),
        "add.at": lambda lib, a: lib.add.at(a, [7], 1.0),
        "maximum.at": lambda lib, a: lib.maximum.at(a, lib.array([-4]), 1.0),
        "add.at, empty axis": lambda lib, a: lib.add.at(a[:0], [0], 1.0),
        "add.at, two": lambda lib, a: lib.add.at(lib.zeros((2, 3, 0)), ([0, 1], [2, 3]), 1.0),
        "add.at, another shape": lambda lib, a: lib.add.at(
            lib.zeros((0, 3)), [0], lib.ones((0, 3))
        ),
        "add.at in bounds": lambda lib, a: lib.add.at(a, [2], 1.0),
        "add.at of nothing": lambda lib, a: lib.add.at(a, lib.array([], dtype=int), 1.0),
    }
    for name, call in calls.items():
        outcomes = []
        for library in (np, asnumpy):
            try:
                call(library, library.zeros((3, 0)))
                outcomes.append(None)
            except IndexError as e:
                outcomes.append(str(e))
        assert outcomes[0] == outcomes[1], name


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["f8", "f4", "i4", "u1", "?", "c16", "i2"]),
    st.lists(st.integers(1, 70), min_size=1, max_size=2),
    st.sampled_from([1, 3, 40, 900, 5000]),
    st.sampled_from(["rows", "columns", "gaps", "column", "backwards"]),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_masks_of_short_lines(dtype, inner, n, layout, across, seed):
    """Lines too short for blocks of their own; the mask lies as the array does, or not."""
    rng = np.random.default_rng(seed)
    shape = (max(1, n // inner[-1]), *inner)
    h = rng.integers(0, 3, shape).astype(dtype)

    def lay(p):
        a = p.array(h)
        if layout == "columns":
            return p.array(p.ascontiguousarray(a.T)).T
        if layout == "gaps":
            wide = p.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            wide[..., ::2] = a
            return wide[..., ::2]
        if layout == "column":
            return p.broadcast_to(a[..., :1], shape)
        return a[..., ::-1] if layout == "backwards" else a

    ours, theirs = lay(asnumpy), lay(np)
    m = np.asfortranarray(theirs > 0) if across else theirs > 0
    mask = asnumpy.array(m.T.copy()).T if across else ours > 0
    np.testing.assert_array_equal(ours[mask].to_numpy(), theirs[m])
    for x, y in zip(asnumpy.nonzero(ours), np.nonzero(theirs), strict=True):
        np.testing.assert_array_equal(x.to_numpy(), y)
    assert int(asnumpy.count_nonzero(mask)) == np.count_nonzero(m)
    if layout != "column":
        values = np.arange(np.count_nonzero(m)).astype(dtype)
        ours[mask] = asnumpy.array(values)
        theirs[m] = values
        np.testing.assert_array_equal(ours.to_numpy(), theirs)


@settings(deadline=None, max_examples=150)
@given(
    name=st.sampled_from(
        [
            "add",
            "subtract",
            "multiply",
            "maximum",
            "fmin",
            "logaddexp",
            "arctan2",
            "divide",
            "bitwise_xor",
            "left_shift",
            "logical_or",
        ]
    ),
    dtype=st.sampled_from([d for d in DTYPES if np.dtype(d).kind != "c"] + ["c8", "c16"]),
    rows=st.integers(1, 6),
    width=st.sampled_from((1, 2, 7, 16, 64, 130, 512, 1024, 4096)),
    count=st.integers(1, 40),
    form=st.sampled_from(("rows", "one row", "strided", "other dtype", "inside")),
    seed=st.integers(0, 2**32 - 1),
)
def test_at_of_rows(name, dtype, rows, width, count, form, seed):
    """Rows go through loops over elements and are shared out among threads: index by index all the same."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 5, (n, width)).astype(dtype) for n in (rows, count))
    if np.dtype(dtype).kind in "fc" and rng.random() < 0.3:
        b[rng.random(b.shape) < 0.1] = np.nan
    index = rng.integers(-rows, rows, count)
    if form == "other dtype":
        b = rng.integers(0, 5, b.shape).astype("i1")
    b = {"one row": b[:1], "strided": np.repeat(b, 2, 1)[:, ::2]}.get(form, b)

    def at(lib, a, index, b):
        if form == "inside":  # the rows lie behind another dimension
            whole = lib.stack([a, a])
            getattr(lib, name).at(whole.transpose(1, 0, 2), index, lib.stack([b, b], 1))
            return whole
        getattr(lib, name).at(a, index, b)
        return a

    rounds = 4 * count if name in ("logaddexp", "arctan2") else 0
    same(at, a, index, b, ulp=rounds, where=f"{name} {dtype} {form}")
