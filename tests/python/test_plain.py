"""The short ways of small calls: each gives what NumPy gives, at the edges of what it takes too."""

import asnumpy as anp
import numpy as np
import pytest

A = [0.3, 1.2, 2.5, 0.1, 0.9]
M = [True, False, True, True, False]
LINES = {
    "floats": np.array(A),
    "tied": np.array([1.0, 0.0, 1.0, np.nan, 0.0]),
    "ints": np.array([3, 1, 3, -2, 0]),
    "small": np.array([3, 1, 3, -2, 0], dtype=np.int16),
    "bools": np.array(M),
    "complex": np.array(A) * (1 + 2j),
    "strided": np.arange(10.0)[::-2],
    "three": np.array([1.0, -2.0, 3.0]),
    "one": np.array([2.0]),
    "none": np.array([]),
    "square": np.arange(6.0).reshape(2, 3),
    "number": np.array(3.0),
}


def outcome(call, module):
    """What a call gives, or the kind of what it raises."""
    try:
        return call(module)
    except Exception as error:  # noqa: BLE001 - compared below
        return type(error)


def check(call):
    expected, got = outcome(call, np), outcome(call, anp)
    if isinstance(expected, type):
        assert isinstance(got, type) and issubclass(got, expected), (got, expected)
        return
    assert not isinstance(got, type), got
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for a, b in pairs:
        assert (type(a) is anp.ndarray) == isinstance(b, np.ndarray)
        if not isinstance(b, np.ndarray):
            assert type(a) is type(b)
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("second", LINES)
@pytest.mark.parametrize("first", LINES)
@pytest.mark.parametrize("name", ["correlate", "convolve", "vdot", "inner", "lexsort"])
def test_two_lines(name, first, second):
    def call(m):
        a, b = m.array(LINES[first]), m.array(LINES[second])
        if first == "strided":
            a = m.arange(10.0)[::-2]
        return m.lexsort((a, b)) if name == "lexsort" else getattr(m, name)(a, b)

    check(call)


@pytest.mark.parametrize("mode", ["valid", "same", "full", "no", 1, None])
@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_modes_of_sliding(name, mode):
    check(lambda m: getattr(m, name)(m.arange(7.0), m.array([1.0, 2, 5, -1]), mode))
    check(lambda m: getattr(m, name)(m.arange(3), m.array([1, 2, 5, -1]), mode=mode))


def test_lexsort_of_many_keys():
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 3, (4, 50))
    check(lambda m: m.lexsort(tuple(m.array(k) for k in keys)))
    check(lambda m: m.lexsort([m.array(k) for k in keys]))
    check(
        lambda m: m.lexsort(tuple(m.array(k.astype(t)) for k, t in zip(keys, "ifbd", strict=True)))
    )
    check(lambda m: m.lexsort(()))
    check(lambda m: m.lexsort((m.arange(3), m.arange(4))))


@pytest.mark.parametrize(
    "value", [1.0, 7, -1, 2**70, True, 1j, np.float32(2), [1, 2], None, [], "x"]
)
@pytest.mark.parametrize("dtype", ["f8", "i8", "f4", "u1", "c16", "?"])
@pytest.mark.parametrize("name", ["place", "putmask"])
def test_masked_numbers(name, dtype, value):
    def call(m):
        a = m.arange(6).astype(dtype)
        getattr(m, name)(a, m.array([True, False, True, False, False, True]), value)
        return a

    check(call)


@pytest.mark.parametrize(
    "value", [np.array([1.5, 2]), np.array([300]), np.array(5.0), np.array([1j]), [1.5, 2]]
)
@pytest.mark.parametrize("dtype", ["f8", "i8", "f4", "u1"])
@pytest.mark.parametrize("name", ["place", "putmask"])
def test_masked_arrays(name, dtype, value):
    def call(m):
        a = m.arange(6).astype(dtype)
        getattr(m, name)(a, m.array([True, False, True, False, False, True]),
                         m.array(value) if isinstance(value, np.ndarray) else value)  # fmt: skip
        return a

    check(call)


@pytest.mark.parametrize("name", ["place", "putmask"])
def test_masks_of_every_shape(name):
    def call(array, mask):
        def run(m):
            a = array(m)
            getattr(m, name)(a, mask(m), 5.0)
            return a

        return run

    def read_only(m):
        a = m.zeros(4)
        a.flags.writeable = False
        return a

    four = lambda m: m.array([True, False, False, True])  # noqa: E731
    check(call(lambda m: m.zeros((2, 2)), lambda m: four(m).reshape(2, 2)))
    check(call(lambda m: m.zeros((2, 2)), four))
    check(call(lambda m: m.zeros((2, 2)).T, lambda m: four(m).reshape(2, 2)))
    check(call(lambda m: m.zeros(8)[::2], four))
    check(call(lambda m: m.zeros(4), lambda m: four(m).astype(int)))
    check(call(lambda m: m.zeros(5), four))
    check(call(read_only, four))
    check(call(lambda m: m.zeros(0), lambda m: m.zeros(0, bool)))


@pytest.mark.parametrize("x", ["floats", "square", "number", "ints", "strided", "none"])
@pytest.mark.parametrize("fp", ["floats", "ints", "complex", "three", "strided"])
def test_interp(x, fp):
    check(lambda m: m.interp(m.array(LINES[x]), m.arange(5.0), m.array(LINES[fp])))
    check(lambda m: m.interp(m.array(LINES[x]), m.arange(5.0), m.array(LINES[fp]), -1, 9.0))
    check(lambda m: m.interp(m.array(LINES[x]), m.arange(3.0), m.array(LINES[fp]), period=2.5))


def test_interp_of_one_point_and_numbers():
    check(lambda m: m.interp(m.array([0.0, 1, 2, np.nan]), m.array([1.0]), m.array([4.0])))
    check(lambda m: m.interp(1.5, m.arange(3.0), m.arange(3.0) * 2))
    check(lambda m: m.interp(m.arange(3.0), m.array([]), m.array([])))
    check(lambda m: m.interp(m.arange(3.0), m.ones((2, 2)), m.ones((2, 2))))


def test_coordinates():
    for index in (0, 5, 41, 42, -1, True, 2**70, 1.0, np.int64(3), None):
        check(lambda m, index=index: m.unravel_index(index, (7, 6)))
        check(lambda m, index=index: m.unravel_index(index, (7, 0)))
        check(lambda m, index=index: m.ravel_multi_index((index, 2), (7, 6)))
        check(lambda m, index=index: m.ravel_multi_index((2, index), (7, 6)))
    check(lambda m: m.unravel_index(3, ()))
    check(lambda m: m.unravel_index(3, (2**40, 2**40)))
    check(lambda m: m.ravel_multi_index((1, 2), (3,)))
    check(lambda m: m.ravel_multi_index((1, 1, 1), (2**31, 2**31, 2**31)))


def test_isscalar_and_isreal():
    for x in (1, 1.0, True, 1j, "a", b"a", None, [1], (), np.float32(1), np.array(1.0), object()):
        assert anp.isscalar(x) == np.isscalar(x)
    assert not anp.isscalar(anp.array(1.0))
    for line in LINES.values():
        check(lambda m, line=line: m.isreal(m.array(line)))
    assert anp.isscalar(element=3)


@pytest.mark.parametrize("to", [0, 1, 2, -1, -3, 3, -4, 1.0, (0, 1)])
@pytest.mark.parametrize("of", [0, 1, 2, -1, -3, 3, -4, (2, 0)])
def test_moveaxis(of, to):
    check(lambda m: m.moveaxis(m.arange(24.0).reshape(2, 3, 4), of, to))
    check(lambda m: m.moveaxis(m.array(1.0), of, to))


def test_a_moved_axis_is_a_view():
    a = anp.zeros((2, 3))
    anp.moveaxis(a, 0, 1)[2, 1] = 7
    assert a[1, 2] == 7


# ---- counts and positions


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (2, 1, 3, 2, 2), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", ["?", "i8", "f8", "c16", "f2"])
def test_nonzero(shape, dtype):
    host = (np.arange(np.prod(shape)) % 3).reshape(shape).astype(dtype)
    check(lambda m: m.nonzero(m.array(host)))
    check(lambda m: m.nonzero(m.array(host).T))
    check(lambda m: m.nonzero(m.array(host) * 0))
    check(lambda m: m.argwhere(m.array(host)))
    check(lambda m: m.flatnonzero(m.array(host) + m.array(host)))


@pytest.mark.parametrize("x", [[0, 1, 1, 5], [], [3], [-1, 2], [2047], [2048], [5000, 0], [True]])
@pytest.mark.parametrize("dtype", ["i8", "u1", "i4", "u8"])
def test_bincount(x, dtype):
    host = np.array(x).astype(dtype)
    for least in (0, 3, 3000):
        check(lambda m, least=least: m.bincount(m.array(host), minlength=least))
    weights = np.linspace(0, 1, len(x))
    check(lambda m: m.bincount(m.array(host), m.array(weights)))
    check(lambda m: m.bincount(m.array(host), m.array(weights, dtype="f4"), 4))
    check(lambda m: m.bincount(m.array(host) + m.array(host)))


@pytest.mark.parametrize("choices", [2, 3, 40])
def test_choose(choices):
    which = np.array([[0, 1, 1], [1, 0, 1]])

    def call(m, **options):
        return m.array(which).choose([m.full((2, 3), float(k)) for k in range(choices)], **options)

    check(call)
    check(lambda m: call(m, mode="wrap"))
    check(lambda m: m.choose(m.array([0, 3]), (m.arange(2), m.arange(2))))
    check(lambda m: m.choose(m.array([0, -1]), (m.arange(2), m.arange(2)), mode="clip"))
    check(lambda m: m.choose(m.array([0, 1]), (m.arange(2), m.arange(2.0))))
    check(lambda m: m.choose(m.array([0, 1]), (m.arange(2), 5)))
    check(lambda m: m.choose(m.array([0, 1]), m.array([[1, 2], [3, 4]])))


# ---- in their own memory


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?", "c16"])
@pytest.mark.parametrize("shape", [(9,), (4, 5), (3, 2, 30), (2, 3000)])
def test_sort_in_place(shape, dtype):
    host = np.random.default_rng(2).integers(0, 50, shape).astype(dtype)

    def sorted_along(m, axis, turned):
        a = m.array(host)
        view = a.T if turned else a
        before = view + view if dtype == "f8" else view.copy()  # reads what is about to change
        view.sort(axis=axis)
        return a, before

    for axis in range(-len(shape), len(shape)):
        check(lambda m, axis=axis: sorted_along(m, axis, False))
        check(lambda m, axis=axis: sorted_along(m, axis, True))


def test_partition_in_place():
    host = np.random.default_rng(3).permutation(200) * 1.0
    a = anp.array(host)
    a.partition((3, 150))
    got, whole = np.asarray(a), np.sort(host)
    assert got[3] == whole[3] and got[150] == whole[150]
    assert np.array_equal(np.sort(got), whole)
    assert (got[:3] <= got[3]).all() and (got[151:] >= got[150]).all()


def test_sort_in_place_of_parts():
    def call(m):
        a = m.array(np.random.default_rng(4).permutation(40) * 1.0)
        a[5:25].sort()
        a[1::3].sort()
        return a

    check(call)


@pytest.mark.parametrize("method", ["sort", "partition"])
def test_in_place_of_what_cannot_be(method):
    arguments = (1,) if method == "partition" else ()

    def read_only(m):
        a = m.arange(3.0)
        a.flags.writeable = False
        getattr(a, method)(*arguments)

    check(read_only)
    check(lambda m: getattr(m.array(1.0), method)(*arguments))
    check(lambda m: getattr(m.arange(3.0), method)(*arguments, axis=None))
    check(lambda m: getattr(m.arange(3.0), method)(*arguments, axis=1))
    check(lambda m: getattr(m.arange(3.0), method)(*arguments, kind="no"))


# ---- arrays from numbers


@pytest.mark.parametrize(
    "x",
    [
        [[1, 2], [3, 4]], [[1, 2.5], [3, 4]], ((1, 2), [3, 4]), [[[1], [2]], [[3], [4]]], [[1, 2], [3]],
        [[1, 2], 3], [1, [2]], [[]], [[], []], [[1, None]], [[True, 1]], [[1, 2**63]], [[1.0, 2**63]],
        [1.0, 2**64], [1.0, -(2**63) - 1], [1, 2**64], [[1, "a"]], [[[[[1, 2]]]]], [[1, 2j]],
        [[np.float64(1), 2.0]], [list(range(40))] * 3, [[-1.0, -1]],
    ],
    ids=str,
)  # fmt: skip
def test_nested_lists(x):
    for dtype in (None, float, int, "f4"):
        expected, got = (outcome(lambda m, d=dtype: m.array(x, dtype=d), m) for m in (np, anp))
        if isinstance(expected, type):
            assert isinstance(got, type) and issubclass(got, expected)
        else:
            got = np.asarray(got)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)


def test_a_list_that_holds_itself():
    loop = [1]
    loop.append(loop)
    check(lambda m: m.array(loop))


@pytest.mark.parametrize(
    "arguments",
    [
        (10.0,), (0, 1, 0.1), (1, 0, -0.3), (0.0, 1e-320, 1e-321), (5, 2.0), (2**53 + 1, 2.0**53 + 9, 1.0),
        (0.0, 1.0, 0.0), (0, 1, 0), (np.inf,), (np.nan,), (0, np.inf), (1.0, 3.0, 5), (0, 2.5), (True, 3.5),
        (np.float32(0), np.float32(1), np.float32(0.1)),
    ],
    ids=str,
)  # fmt: skip
def test_arange_of_floats(arguments):
    check(lambda m: m.arange(*arguments))
    check(lambda m: m.arange(*arguments, dtype="f4"))


# ---- moves


def test_stretched_assignment():
    def call(m):
        a, row, column = m.zeros((3, 4)), m.arange(4.0), m.arange(3.0)[:, None]
        a[...] = row
        b = a.copy()
        b[:] = column
        c = m.zeros((2, 3, 4))
        c[...] = column
        c[1] = a.T[:, ::-1].T
        d = m.arange(9.0).reshape(3, 3)
        d[...] = d.T
        e = m.zeros(4)
        e[:] = m.array(2.0)
        f = m.zeros((2, 2), dtype="i4")
        f[...] = m.arange(2)
        return a, b, c, d, e, f

    check(call)
    check(lambda m: m.zeros((2, 3)).__setitem__(..., m.arange(4.0)))
    check(lambda m: m.indices((2, 3)))
    check(lambda m: m.dstack((m.arange(3), m.arange(3))))
    check(lambda m: m.atleast_3d(3.0, m.arange(2), m.ones((2, 2)), m.ones((1, 2, 3))))


def test_item():
    for arguments in (
        (),
        (0,),
        (-1,),
        (5,),
        (6,),
        (1, 2),
        ((1, 2),),
        ((5,),),
        (2, 0),
        (1.0,),
        ((),),
    ):
        for shape in ((2, 3), (6,), ()):
            host = np.arange(np.prod(shape, dtype=int)).reshape(shape) * 1.5
            check(lambda m, host=host, arguments=arguments: m.array(host).item(*arguments))
    check(lambda m: m.arange(3).item(index=1))


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("shape", [(1,), (8,), (13,), (3, 5), (2, 16), (2, 3, 9)])
def test_bits(shape, order):
    host = np.random.default_rng(5).integers(0, 256, shape).astype(np.uint8)
    for axis in (None, *range(-len(shape), len(shape))):
        check(lambda m, axis=axis: m.unpackbits(m.array(host), axis=axis, bitorder=order))
        check(
            lambda m, axis=axis: m.unpackbits(m.array(host).T, axis=axis, bitorder=order, count=-3)
        )
        for dtype in ("u1", "?", "i8"):
            check(
                lambda m, axis=axis, dtype=dtype: m.packbits(
                    m.array(host % 3).astype(dtype), axis=axis, bitorder=order
                )
            )
    check(lambda m: m.unpackbits(m.array(host)))
    for dtype in ("u1", "?", "i1"):
        check(lambda m, dtype=dtype: m.packbits(m.array(host % 3).astype(dtype)))
        check(lambda m, dtype=dtype: m.packbits(m.array(host % 3).astype(dtype).T))
    check(lambda m: m.unpackbits(m.array(host).astype("?")))
    check(lambda m: m.packbits(m.array(5, dtype="u1")))
    raw = anp.array([0, 2, 0, 255, 1, 0, 0, 4], dtype="u1").view(bool)
    assert np.asarray(anp.packbits(raw)).tolist() == [0b01011001]


@pytest.mark.parametrize(
    "text",
    ["i,i", "ij,j", "i,ij", "ij,jk", "ij,kj", "ij,jk->ki", "ji,jk", "i,j", "ij,ij", "ij,ij->j"],
)
@pytest.mark.parametrize("dtype", ["f8", "i8", "?", "c16"])
def test_einsum_of_pairs(text, dtype):
    first, second = text.split("->")[0].split(",")

    def call(m):
        a, b = (m.arange(3 ** len(s)).reshape((3,) * len(s)).astype(dtype) for s in (first, second))
        return m.einsum(text, a, b)

    check(call)
    check(lambda m: m.einsum(text, m.ones((2,) * len(first)), m.ones((3,) * len(second))))


def test_codes_of_dtypes():
    for kind in "biufcSUVmMO?x":
        for size in ("", "1", "2", "3", "4", "8", "9", "x", "\u0664"):
            code = kind + size
            expected = outcome(lambda m, code=code: m.promote_types(code, "i2"), np)
            got = outcome(lambda m, code=code: m.promote_types(code, "i2"), anp)
            assert got == expected or issubclass(got, expected), (code, got, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [0, -1, 1, -2, 2**70, (0,), None])
def test_an_axis_of_a_line_is_all_of_it(axis):
    for host in LINES.values():
        for name in ("sum", "prod", "max", "min", "any", "all", "mean", "std", "var"):
            with np.errstate(all="ignore"), anp.errstate(all="ignore"):
                check(lambda m, a=host, f=name: getattr(m.array(a), f)(axis=axis))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 4), (0, 2), (-1,), (2.0,), (2, -1), 3])
@pytest.mark.parametrize("dtype", [int, float, "u1", bool, complex])
def test_indices(shape, dtype):
    check(lambda m: m.indices(shape, dtype))
    check(lambda m: m.indices(shape, dtype, sparse=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_medians_of_lines_with_nan():
    inf, nan = np.inf, np.nan
    lines = [[2.0], [nan], [1.0, nan], [inf, -inf], [inf, inf, 1.0], [nan, nan], [3.0, nan, 1.0, inf],
             [-inf, 2.0, nan, -inf], [1 + 2j, nan, 0j], [complex(inf, 1), 1j]]  # fmt: skip
    for line in lines:
        for axis in (None, 0, -1):
            for function in ("median", "nanmedian"):
                for keepdims in (False, True):
                    check(
                        lambda m, x=line, axis=axis, f=function, k=keepdims: getattr(m, f)(
                            m.array(x), axis=axis, keepdims=k
                        )
                    )
        check(lambda m, x=line: m.nanquantile(m.array(x).real, 0.3))
        check(lambda m, x=line: m.nanquantile(m.array(x).real, m.array([0.3, 0.9]), axis=0))


@pytest.mark.parametrize("name", ["flip", "roll", "unique"])
def test_an_integer_array_without_axes_is_an_axis(name):
    rows = np.array([[3.0, 1.0], [2.0, 4.0]])
    shift = (1,) if name == "roll" else ()
    for axis in (0, 1):
        expected = getattr(np, name)(rows, *shift, axis=np.array(axis))
        found = getattr(anp, name)(anp.array(rows), *shift, axis=anp.array(axis))
        np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize(
    "arguments",
    [
        (4,), (0,), (1,), (3, 5), (5, 3), (3, None), (3, 4, 1), (4, 3, -2), (3, 3, 3), (3, 3, -7),
        (0, 4), (4, 0), (3, 0, 1), (3, None, 2), (60,), (1000,), (2.5,), (-1,), (3, -1), ("3",), (3, 4, 1.0),
        (3, 4, 2**70), (2**70,), (np.int64(3),), (3, 4, 1, "int32"), (3, 4, 1, np.complex64, "F"), (),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["eye", "identity"])
def test_identities(name, arguments):
    check(lambda module: getattr(module, name)(*arguments))


def test_identities_can_be_written():
    a = anp.eye(3)
    a[1] = 7
    np.testing.assert_array_equal(a.to_numpy(), [[1, 0, 0], [7, 7, 7], [0, 0, 1]])
    assert a.flags.writeable and a.flags.c_contiguous and a.base is None


PARTS = {
    "lines": [A, A, A],
    "one": [A],
    "none": [],
    "squares": [np.arange(6.0).reshape(2, 3), -np.ones((2, 3))],
    "strided": [np.arange(12.0).reshape(3, 4)[:, ::2].T, np.arange(6.0).reshape(2, 3)],
    "numbers": [np.array(1.0), np.array(2.0)],
    "rows": [np.ones((2, 3)), np.zeros((4, 3))],
    "columns": [np.ones((2, 3)), np.zeros((2, 1))],
    "mixed": [np.arange(3), np.arange(3.0)],
    "axes": [np.arange(3.0), np.ones((1, 3))],
    "many": [np.arange(3) + i for i in range(40)],
    "deep": [np.arange(24).reshape(2, 3, 4)] * 3,
    "hollow": [np.zeros((0, 3)), np.zeros((2, 3))],
    "bools": [np.array(M), ~np.array(M)],
    "large": [np.arange(5000.0), np.ones(5000)],
}


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("kind", [list, tuple])
def test_joins(parts, kind):
    for name in ("stack", "hstack", "vstack", "concatenate"):
        check(lambda m, name=name: getattr(m, name)(kind(m.array(p) for p in PARTS[parts])))
    for axis in range(-4, 4):
        check(lambda m, axis=axis: m.stack(kind(m.array(p) for p in PARTS[parts]), axis))
        check(lambda m, axis=axis: m.stack(kind(m.array(p) for p in PARTS[parts]), axis=axis))
    check(lambda m: m.stack(kind(m.array(p) for p in PARTS[parts]), axis=0.5))
    check(lambda m: m.stack(kind(m.array(p) for p in PARTS[parts]), dtype="float32"))


@pytest.mark.parametrize("call", [
    lambda np_: np_.interp(np_.asarray([1j, 2]), [0, 1], [0, 1]),
    lambda np_: np_.interp(0.5, np_.asarray([0, 1j]), [0, 1]),
    lambda np_: np_.interp(1j, [0, 1], [0, 1]),
    lambda np_: np_.gradient(np_.asarray([True, False, True])),
])  # fmt: skip
def test_nothing_is_dropped_silently(call):
    for np_ in (np, anp):
        with pytest.raises(TypeError):
            call(np_)


@pytest.mark.parametrize(
    "text",
    [
        "np.sum(a, where=None)",
        "a.sum(axis=0, where=None)",
        "np.add.reduce(a, where=None)",
        "np.any(a, where=None)",
        "np.all(a == 9, where=None)",
        "np.prod(a, where=None)",
        "np.max(a, where=None)",
        "a.min(where=None, initial=3)",
        "np.mean(a, where=None)",
        "a.var(where=None)",
        "np.std(a, axis=0, where=None)",
        "np.nansum(a, where=None)",
    ],
)
def test_a_mask_that_is_none_is_nowhere(text):
    """None is false, as any object's truth; where elements are counted it is refused."""
    results = []
    for library in (np, anp):
        try:
            results.append(
                np.asarray(eval(text, {"np": library, "a": library.ones((2, 3))})).tolist()
            )
        except (TypeError, ValueError) as error:
            results.append(type(error))
    assert results[0] == results[1]
