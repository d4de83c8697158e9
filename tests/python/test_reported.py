"""Differences from NumPy that other libraries' test suites met: an expression a line, and what needs more than one."""

import warnings

import asnumpy
import numpy as np
import pytest
from oracle import assert_same, same, to_host

EXPRESSIONS = """
m.arange(0, 4, 1, "f4"), m.arange(0, 4, 1, m.int64)
m.pad(m.arange(4, dtype="f4"), 2, mode="reflect", reflect_type="odd")
m.pad(m.array([1.1, 2.3, 7.7], dtype="f4"), 7, mode="reflect", reflect_type="odd")
m.pad(m.array([1.1, 2.3, 7.7], dtype="f2"), (4, 9), mode="symmetric", reflect_type="odd")
m.pad(m.arange(4, dtype="i1"), 2, mode="symmetric", reflect_type="odd")
m.pad(m.arange(4, dtype="u1"), (0, 9), mode="reflect", reflect_type="odd")
m.pad(m.array([True, False, True]), 1, mode="reflect", reflect_type="odd")
m.pad(m.arange(6).reshape(2, 3), ((3, 1), (0, 4)), mode="symmetric", reflect_type="odd")
m.pad(m.arange(6).reshape(2, 3), ((3, 1), (0, 4)), mode="reflect", reflect_type="odd")
m.pad(m.array([5]), 3, mode="reflect", reflect_type="odd"), m.pad(m.array([5]), 3, mode="symmetric", reflect_type="odd")
m.broadcast(m.broadcast([1, 2], [[1], [2]]), [1]).shape, m.broadcast(m.broadcast([1, 2], [[1], [2]]), [1]).numiter
[tuple(t) for t in m.broadcast(m.broadcast([1, 2], [[1], [2]]), [5])]
m.broadcast(*[m.broadcast([1], [2])] * 33)
[m.zeros((2, 3))[k] for k in ([[]], [[], []], [], [[[]]])], m.zeros((2, 3))[[[]], []], m.zeros((2, 3))[:, [[]]]
m.zeros((2, 3))[np.zeros((1, 0))]
m.lib.stride_tricks.as_strided(m.arange(6), (2, 3)), m.lib.stride_tricks.as_strided(m.arange(6), (3,))
m.lib.stride_tricks.as_strided(m.arange(6).reshape(2, 3), (3, 2)), m.lib.stride_tricks.as_strided(m.arange(6), ())
m.lib.stride_tricks.as_strided(m.arange(6).reshape(2, 3), (1, 2, 0, 3))
m.lib.stride_tricks.as_strided(m.arange(12)[::2], (2, 3))
m.histogram2d(m.arange(4, dtype="f4"), m.arange(4, dtype="f4"), 3, range=((0, 3), (0, 3)))
m.histogramdd(m.ones((4, 2), dtype="f4"), range=[[0, 1], None])[1]
m.histogramdd(m.ones((4, 2), dtype="f2"), range=[[0.0, 1], [np.float32(0), np.float32(3)]])[1]
m.quantile(m.arange(9.0), m.ones((2, 2))), m.nanpercentile(m.arange(9.0), [[30, 40]])
m.quantile(m.arange(9.0), m.ones((1, 1, 1)))
m.percentile(m.arange(9), np.ones((1, 1, 1)))
m.nanpercentile(m.arange(9.0), np.ones((1, 1, 1)))
[m.percentile(m.arange(9, dtype=t), np.float32(30)) for t in ("i1", "u1", "i2", "i4", "i8", "f2", "f4")]
[m.nanquantile(m.arange(9, dtype=t), np.float16(0.3)) for t in ("i1", "u1", "i2", "i4", "i8", "f4", "f8")]
[m.digitize([0.5, 1.5, m.nan], b) for b in ([0, 1, m.nan], [m.nan, m.nan], [m.nan, 2, 1], [m.nan], [1, 1, m.nan])]
m.digitize([1.0], [m.nan, 0.0, 1.0])
m.digitize([1.0], [0.0, m.nan, 0.0, 1.0])
m.digitize([1.0], [1, 1, 2, 1])
[u.reduce(m.array([0, 2, 1]), dtype=bool) for u in (m.equal, m.not_equal, m.less, m.greater_equal)]
m.equal.reduce(m.array([[1.5, 0], [2, 0]]), axis=1, dtype="?"), m.equal.reduceat(m.array([1, 0, 1]), [0, 1], dtype=bool)
m.equal.accumulate(m.array([2, 0, 1]), dtype=bool), m.equal.reduce(m.array([3, 0]), dtype=bool, keepdims=True)
m.equal.reduce(m.array([0, 2, 1]))
m.equal.reduce(m.array([0, 2, 1]), dtype="i8")
m.random.RandomState(1).randint(-1.1, -0.9, size=3), m.random.default_rng(0).integers(-1.1, -0.9)
m.random.RandomState(1).randint(-0.5, 1.9, dtype="u1"), m.random.RandomState(1).randint(2.7, size=9)
m.random.RandomState(1).randint(-0.5, 0.9)
m.einsum("ij->ji", m.ones((2, 3), dtype="f4"), dtype="f8"), m.einsum("ii->i", m.eye(3), dtype="c16")
m.einsum("ij->ij", m.ones((2, 3)), dtype="i4"), m.einsum(m.ones((2, 3)), [0, 1], dtype="f2", order="F")
m.einsum("ij->i", m.ones((2, 3), dtype="f4"), dtype="f8"), m.einsum("ij->ij", m.ones((2, 3)), out=m.zeros((2, 3)), dtype="f8")
m.einsum("ij->j", m.ones((2, 3)), dtype="f4")
m.polynomial.polynomial.polyroots([4.930281494994427e-08, 16115931.384552032, -9.32220305371952e-08, 287.1567337813499])
m.polynomial.polynomial.polyroots([7.76e-12, 27355611.3, 0.01859, -0.00995, 9.11e-12])
m.arange(start=4, stop=6), m.arange(stop=4), m.arange(4, step=2), m.arange(4, None, 2), m.arange(start=1, stop=4, step=2)
m.arange(start=4)
m.arange(start=4, step=2)
m.arange(1, start=4)
m.arange(None, 4)
m.arange(start=None, stop=3)
m.arange(start="a", stop=3)
m.put(m.zeros(3), [0], 1, mode="xx")
m.zeros(3).put([0], 1, mode=[])
m.choose([0], [[1]], mode="xx")
m.choose([0], [[1]], mode=5)
m.take(m.zeros(3), [0], mode=3)
m.choose([2], [[1], [2]], mode="wrap"), m.choose([2], [[1], [2]], mode="clip"), m.choose([0], [[1]], mode="raise")
m.reshape(m.zeros(4), (2, 2), copy="x")
m.zeros(4).reshape((2, 2), copy="x")
m.reshape(m.zeros(4), (2, 2), copy=np._CopyMode.NEVER), m.zeros(4).reshape(2, 2, copy=1)
m.choose(m.zeros(2, dtype=int), [[1, 2]] * 64)
m.choose(m.zeros(2, dtype=int), m.ones((64, 2)))
m.choose(m.zeros(2, dtype=int), [[1, 2]] * 63)
m.bincount([1.0]), m.bincount([]), m.bincount([True, False]), m.bincount((1, 2))
m.bincount(["1"])
m.bincount(m.array([1.0]))
m.maximum(m.ones(2), 2, m.zeros(2)), m.minimum(1, 2, m.zeros(()))
m.maximum(m.ones(2), 2, out=m.zeros(2)), m.add(m.ones(2), 2, m.zeros(2)), m.fmax(m.ones(2), 2, m.zeros(2))
m.isin([None], [None]), m.isin(None, [None, 1]), m.isin(m.array([1, 2]), [None, 1], invert=True), m.isin([1], None)
m.random.RandomState(0).poisson(None)
m.random.default_rng(0).exponential(None)
m.random.RandomState(0).binomial(3, None)
m.random.default_rng(0).gamma(None, size=3)
""".strip().splitlines()


def of(m, text):
    """The value, and the classes of the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = eval(text, {"m": m, "np": np, "a": m.arange(6).reshape(2, 3)})
    return value, sorted({w.category.__name__ for w in caught})


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    try:
        expected, warned = of(np, text)
    except Exception as error:
        with pytest.raises(TypeError if isinstance(error, TypeError) else type(error)):
            of(asnumpy, text)
        return
    got, got_warned = of(asnumpy, text)
    assert_same(to_host(got), expected, where=text)
    assert got_warned == warned


LAYOUTS = """
b.astype("f4"), b.copy("K"), m.zeros_like(b), m.sort(b, axis=0), m.array(b), b + 1, m.where(b > 1, b, b), b.sum(axis=0)
b.cumsum(axis=1), m.concatenate([b, b]), m.where(b > 1, f, 1), m.where(f > 1, b, f), b.max(axis=1, keepdims=True)
f[i], a[i], a[i % 2, i], f[i % 2, i], f[i % 2, 1], f[1, i], f[:, i], f[i % 2, i[:, :1]], a[i % 2, i.T[:2, :2].T[:1]]
c[[0, 1]], c[:, [0, 1]], c[..., [1, 0]], c[[0, 1], :, [1, 0]], c[m.array([True, False, True, False])], c[[0], None, :]
f[i].take([1, 0], axis=0), a.take(i), m.arange(9)[i], m.arange(9.0)[i % 2], c.transpose(1, 2, 0)[:, i % 2], m.compress([1, 0], c, axis=0)
a.flat[::2], a.T.flat[::-2], f.flat[1:4], a.flat[...], f.flat[...], a[:, ::2].flat[::2], m.array(5).flat[::2]
""".strip().splitlines()


@pytest.mark.parametrize("text", LAYOUTS)
def test_order_in_memory(text):
    def of(m):
        a = m.arange(6).reshape(2, 3)
        names = {
            "m": m, "a": a, "f": m.asfortranarray(a), "i": m.asfortranarray(m.array([[0, 1], [1, 1], [0, 0]])),
            "b": m.broadcast_to(m.arange(3), (2, 3)), "c": m.arange(24).reshape(2, 3, 4).T,
        }  # fmt: skip
        return eval(text, names)

    for k, (got, expected) in enumerate(zip(of(asnumpy), of(np), strict=True)):
        assert_same(to_host(got), expected, where=f"{text} {k}")
        strides = [s for s, n in zip(expected.strides, expected.shape, strict=True) if n > 1]
        assert [s for s, n in zip(got.strides, got.shape, strict=True) if n > 1] == strides, k


def test_flat_slices_are_copies():
    for m in (asnumpy, np):
        a = m.arange(6)
        for key in (slice(None, None, 2), slice(None), ..., slice(4, 1, -1)):
            part = a.flat[key]
            part[...] = 9
            assert a.tolist() == [0, 1, 2, 3, 4, 5] and part.flags.owndata


ASSIGNMENTS = """
m.array(1.0), (), [3.0]
m.array(1.0), (), [[3.0]]
m.array(1.0), ..., [3.0]
m.array(1.0), ..., m.ones(1)
m.array(1.0), (), m.ones(1)
m.array(1.0), (), m.ones((1, 1))
m.array(1.0), None, [3.0]
m.zeros(3), 0, [3.0]
m.zeros(3), 0, m.ones((1, 1))
m.zeros(3), m.array(0), [3.0]
m.zeros(3), (..., 0), [3.0]
m.zeros(3), ..., [[1, 2, 3]]
m.zeros(3), slice(None), [[1, 2, 3]]
m.zeros(3), slice(None), ((1,),)
m.zeros(3), slice(None), m.ones((1, 3))
m.zeros(3), slice(None), [m.ones(3)]
m.zeros(3), slice(1, 3), [7]
m.zeros((2, 3)), 0, [[1, 2, 3]]
m.zeros((2, 3)), (0, slice(1)), [5]
m.zeros((2, 3)), slice(None), [[1], [2]]
m.zeros(3), [0, 1], [[3.0]]
m.zeros(3), m.zeros(3) == 0, [3.0]
""".strip().splitlines()


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_assigned_lists_have_no_more_dimensions(text):
    def of(m):
        a, key, value = eval(text, {"m": m})
        a[key] = value
        return a

    same(of, where=text)


def test_flat_elements_take_no_lists():
    for m in (asnumpy, np):
        for value in ([3.0], [3.0, 4.0], ()):
            with pytest.raises(ValueError, match="Error setting single item of array"):
                m.zeros(3).flat[0] = value


@pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "u4", "i8"])
def test_at_wraps_numbers(dtype):
    def of(m, op, value):
        a = m.arange(4).astype(dtype)
        getattr(m, op).at(a, [0, 0, 2], value)
        return a

    for op in ("add", "subtract", "multiply", "maximum", "bitwise_or"):
        for value in (-7, 300, 2, 10**30):
            same(of, op, value, where=f"{op} {value}")


def test_at_warns_of_lost_imaginary_parts():
    for m in (asnumpy, np):
        with pytest.warns(np.exceptions.ComplexWarning):
            m.add.at(m.zeros(2), [0], 1 + 2j)


VALUES = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.1, 255.0, 256.0, 2.0**31, 2.0**63, 2.0**64, 1e39, -(2.0**63), np.inf, np.nan],
    "i": [0, 1, -1, 127, 128, -128, 255, 256, 2049, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)],
    "u": [0, 1, 127, 128, 255, 256, 2049, 2**24 + 1, 2**31, 2**53 + 1, 2**63, 2**64 - 1],
    "c": [0, 1, 1j, 0.1, -1, np.nan, 2.0**63],
    "b": [0, 1],
}  # fmt: skip


@pytest.mark.parametrize(
    "source", ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16"]
)
def test_astype_of_the_same_values(source):
    with np.errstate(all="ignore"):
        values = np.array(VALUES[np.dtype(source).kind]).astype(source)
    for target in ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16"]:
        for value in values:
            # 2**64 as uint64 is undefined; NumPy takes the half -0.0 for no integer.
            if (target == "u8" or (source == "f2" and value == 0)) and values.dtype.kind == "f":
                continue
            x = np.array([value, 1]).astype(source)
            same(
                lambda m, x, t=target: x.astype(t, casting="same_value"), x, where=f"{x!r} {target}"
            )
    same(lambda m, x: x[::-1].astype("i2", order="C", casting="same_value"), np.ones(3, source))


def test_same_value_is_for_astype_alone():
    for m in (asnumpy, np):
        a = m.arange(3)
        assert a.astype(a.dtype, casting="same_value", copy=False).dtype == a.dtype
        for call in (
            lambda m=m, a=a: m.copyto(a, a, casting="same_value"),
            lambda m=m, a=a: m.add(a, a, casting="same_value"),
            lambda a=a: a.astype("i4", casting="same"),
        ):
            with pytest.raises(ValueError, match="casting must be one of"):
                call()


@pytest.mark.parametrize("dtype", ["i2", "u4", "f8", "c8", "i1"])
def test_byteswap_in_place_of_any_strides(dtype):
    def swap(m, a):
        for x in (a[:, ::2], a.T, a[::-1], a[1], a[:, :1], a[..., None]):
            x.byteswap(inplace=True)
        return a

    same(swap, np.arange(24).reshape(4, 6).astype(dtype))


def test_what_the_guide_says_that_differs():
    assert asnumpy.zeros(2, np.longlong).dtype == np.dtype("q") == asnumpy.promote_types("q", "q")
    assert isinstance(asnumpy.add, asnumpy.ufunc) and not isinstance(asnumpy.add, np.ufunc)
    swapped = asnumpy.arange(3).astype(">f8")
    assert type(swapped) is np.ndarray and type(swapped + asnumpy.ones(3)) is asnumpy.ndarray
    a = asnumpy.arange(3.0)
    asnumpy.testing.assert_equal([a, {"x": a}], [a, {"x": a.copy()}])
    with pytest.raises(AssertionError):
        asnumpy.testing.assert_equal(a, a + 1)
    np.testing.assert_array_equal(a, a.copy())
    np.testing.assert_allclose(a, a.tolist())


NAN_CALLS = [
    "nansum", "nanprod", "nancumsum", "nancumprod", "nanmax", "nanmin", "nanargmax", "nanargmin", "nanmean", "nanvar",
    "nanstd", "nanmedian", "nanpercentile", "nanquantile",
]  # fmt: skip
SLICES = {
    "some": [[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]],
    "one of two": [[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]],
    "all": [[np.nan, np.nan], [np.nan, np.nan]],
    "none": [[1.0, 2.0], [3.0, 5.0]],
    "line": [np.nan, np.nan],
    "number": np.nan,
    "whole": [[1, 2], [3, 4]],
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0)),
    "nothing": np.zeros(0),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("name", NAN_CALLS)
def test_nan_functions_of_empty_slices(name, dtype):
    """Values, dtypes, warnings with their texts, and classes of errors of slices without numbers."""
    for slices, values in SLICES.items():
        values = np.array(values)
        if values.dtype.kind == "f":
            values = values.astype(dtype)
        for axis in (None, 0, 1, -1, (0, 1)):
            for options in ({}, {"keepdims": True}, {"ddof": 1}):
                if ("cum" in name and options) or (
                    "ddof" in options and name not in ("nanvar", "nanstd")
                ):
                    continue
                q = {"nanquantile": (0.5,), "nanpercentile": ([30, 60],)}.get(name, ())
                results = []
                for m in (np, asnumpy):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        try:
                            got = to_host(
                                getattr(m, name)(m.asarray(values), *q, axis=axis, **options)
                            )
                        except Exception as error:
                            got = type(error)
                    results.append(
                        (got, sorted({(w.category, str(w.message).rstrip(".")) for w in caught}))
                    )
                (expected, told), (got, ours) = results
                where = f"{name} {slices} {axis} {options}"
                if isinstance(expected, type) or isinstance(got, type):
                    assert got is expected, where
                    continue
                assert_same(got, expected, ulp=2, where=where, signed_zeros=False)
                assert ours == told or not asnumpy.lazy(), where


def test_array_wrap_of_old_signatures():
    class Wrapper:
        def __array__(self, dtype=None, copy=None):
            return np.arange(4)

    class WithContext(Wrapper):
        def __array_wrap__(self, arr, context=None):
            return "context", len(context)

    class Alone(Wrapper):
        def __array_wrap__(self, arr):
            return "alone"

    class Refusing(Wrapper):
        def __array_wrap__(self, arr, context, scalar):
            raise TypeError("mine")

    for m in (asnumpy, np):
        with pytest.warns(DeprecationWarning, match="__array_wrap__ must accept context"):
            assert m.negative(WithContext()) == ("context", 3)
        with pytest.warns(DeprecationWarning, match="__array_wrap__ must accept context"):
            assert m.negative(Alone()) == "alone"
        with pytest.raises(TypeError):
            m.negative(Refusing())


def test_flat_of_a_bool_is_its_first_element():
    for m in (asnumpy, np):
        a = m.arange(3)
        with pytest.warns(DeprecationWarning, match="0-dimensional boolean"):
            a.flat[True] = 10
        assert a.tolist() == [10, 1, 2]


@pytest.mark.parametrize(
    "name",
    ["std", "var", "mean", "sum", "max", "all", "median", "ptp", "nanmean", "nanstd", "nansum"],
)
def test_out_of_reductions_has_the_shape_of_the_result(name):
    for shape in ((0, 2), (1,), (1, 1), (3,), (), (2, 3)):
        for options in ({}, {"axis": 0}, {"axis": 0, "keepdims": True})[: 2 + (name != "median")]:
            for a in (np.arange(4.0), np.arange(12.0).reshape(4, 3)):
                same(lambda m, a, o, k=options: getattr(m, name)(a, out=o, **k), a, np.zeros(shape),
                     where=f"{name} {shape} {options}")  # fmt: skip


def test_arrays_are_no_dtypes():
    for m in (asnumpy, np):
        for dtype in (m.arange(2), np.arange(2), m.ones(())):
            for call in (m.zeros, m.asarray, m.zeros_like):
                with pytest.raises(TypeError, match="Cannot construct a dtype from an array"):
                    call(2, dtype)


def test_what_operators_give_way_to():
    for m in (asnumpy, np):

        class Refusing(m.ndarray):
            __array_ufunc__ = None

            def __radd__(self, other):
                return "refusing"

        class Low(m.ndarray):
            __array_priority__ = -1000

        class NoPriority:
            __array_priority__ = None

            def __radd__(self, other):
                return "right"

        a = m.arange(3)
        assert a.__add__(a.view(Refusing)) is NotImplemented and a + a.view(Refusing) == "refusing"
        assert (a.view(Low) + NoPriority()).tolist() == ["right"] * 3
