"""ndarray against NumPy: attributes, views, conversions, operators, printing, pickling."""

import copy
import operator
import pickle

import asnumpy
import numpy as np
import pytest
from oracle import DTYPES, assert_same, outcome, same, sample, to_device, to_host


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes(dtype, rng):
    a = sample(dtype, 24, rng).reshape(2, 3, 4)

    def facts(np_, a):
        views = [a, a.T, a[1:, ::-1], a[..., 0], a.swapaxes(0, 2), a[:, :0]]
        return [
            (v.shape, v.strides, v.ndim, v.size, v.itemsize, v.nbytes, v.flags.num & ~4, len(v))
            for v in views
        ] + [(a.dtype, a.T.flags.owndata, a.flags.owndata)]

    same(facts, a)
    b = asnumpy.array(a)
    assert b.dtype is np.dtype(dtype) or b.dtype == np.dtype(dtype)
    assert b.device == "cpu" and b.__array_priority__ == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_share_memory_and_write_through(dtype, rng):
    a = sample(dtype, 24, rng).reshape(4, 6)

    def write(np_, a):
        one = a.dtype.type(1)
        a[1:3][0, 0] = one
        a.T[2] = one
        a.reshape(-1)[5] = one
        a.ravel()[7] = one
        a.flat[9] = one
        a.flat[10:12] = one
        a.swapaxes(0, 1)[4, 3] = one
        a[::-1, ::2][0, 0] = one
        a.squeeze()[3, 1] = one
        a.view()[0, 5] = one
        if a.dtype.kind == "c":
            a.real[2, 2] = 5
            a.imag[2, 3] = 6
        return a

    same(write, a)


def test_base_and_sharing():
    for m in (np, asnumpy):
        a = m.zeros((4, 6))
        assert a.base is None
        for view in (
            a[1:],
            a.T,
            a.reshape(-1),
            a[1:][1:],
            a.view(),
            a.ravel(),
            a[...],
            a.flat.base[1:],
        ):
            assert view.base is a
        assert a.copy().base is None and (a + a).base is None
        assert a.flatten().base is None
        assert m.may_share_memory(a, a[1:]) and not m.may_share_memory(a, a.copy())
        assert m.shares_memory(a[::2], a) and not m.shares_memory(a[::2], a[1::2])
        b = m.broadcast_to(m.ones(3), (2, 3))
        assert not b.flags.writeable and b.strides == (0, 8)
        with pytest.raises(ValueError):
            b[0, 0] = 1


def test_shape_dtype_setters():
    def run(np_):
        a = np_.arange(12.0)
        a.shape = (3, 4)
        b = a.T
        a.shape = -1
        c = np_.arange(4, dtype=np.int32)
        return a, b, a.shape, c.view(np.int16), c.view(np.float32), c.view("uint8").shape

    same(run)
    a = asnumpy.zeros((2, 3)).T
    with pytest.raises(AttributeError):
        a.shape = 6
    with pytest.raises(ValueError):
        a.shape = 7


@pytest.mark.parametrize("kind", "CFAK")
def test_orders(kind, rng):
    a = sample("float64", 24, rng).reshape(2, 3, 4)

    def run(np_, a):
        result = []
        for v in (a, a.T, a.transpose(1, 0, 2), a[:, ::-1], a[:, :, :1]):
            c = v.copy(order=kind)
            result.append((c, c.strides, v.ravel(order=kind), v.flatten(order=kind)))
            result.append(v.astype(np.float32, order=kind).strides)
            if kind != "K":
                r = v.reshape(4, 6, order=kind)
                result.append((r, r.strides))
            result.append(np_.empty_like(v, order=kind).strides)
            result.append((v + v).strides)
        return result

    same(run, a)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
             operator.mod, operator.pow, operator.and_, operator.or_, operator.xor,
             operator.lshift, operator.rshift, operator.lt, operator.le, operator.eq, operator.ne,
             operator.gt, operator.ge, divmod]  # fmt: skip
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
            operator.imod, operator.ipow, operator.iand, operator.ior, operator.ixor]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda o: o.__name__)
def test_operators(op, rng):
    for dtype in ("bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex128"):
        a = np.abs(sample(dtype, 6, rng, special=False)).astype(dtype)
        if np.dtype(dtype).kind in "iu":
            a = a % 5 + 1
        others = [a[::-1].copy(), 3, 2.5, 1j, True, np.float32(2), np.int16(3), np.uint8(1),
                  [1, 2, 3, 4, 5, 6], np.ones(6, np.int32)]  # fmt: skip
        for other in others:
            where = f"{op.__name__} {dtype} {other!r}"
            same(lambda np_, a, o=other: op(a, to_device(o) if np_ is asnumpy else o), a, ulp=8,
                 where=where)  # fmt: skip
            same(lambda np_, a, o=other: op(to_device(o) if np_ is asnumpy else o, a), a, ulp=8,
                 where="r" + where)  # fmt: skip


@pytest.mark.parametrize("op", IN_PLACE, ids=lambda o: o.__name__)
def test_in_place_operators(op, rng):
    for dtype in ("bool", "int8", "uint8", "int64", "float32", "float64", "complex64"):
        a = np.abs(sample(dtype, 6, rng, special=False)).astype(dtype)
        if np.dtype(dtype).kind in "iu":
            a = a % 5 + 1
        for other in (a[::-1].copy(), 3, 2.5, 1j, np.float64(2), np.ones(6, np.int8)):

            def run(np_, a, o):
                b = a
                a = op(a, o)
                assert a is b
                return a

            same(run, a.copy(), other, ulp=8, where=f"{op.__name__} {dtype} {other!r}")


@pytest.mark.parametrize(
    "exponent", [0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.5, -1.5, 2.0, 1.0, 2.5, 1j, True]
)
def test_power_shortcuts(exponent, rng):
    for dtype in DTYPES:
        a = sample(dtype, 24, rng)
        # The shortcuts are exact; the general power has the row's bound.
        same(lambda np_, a: a**exponent, a, ulp=8, where=f"{dtype}")


def test_mixed_with_numpy_gives_asnumpy():
    a, b = asnumpy.ones(3), np.ones(3)
    for r in (
        a + b, b + a, np.float64(2) * a, a * np.float64(2), np.add(a, b), np.sin(a), b < a,
        np.add.outer(a, b), np.concatenate([a, b]), np.sum(a, axis=0, keepdims=True),
    ):  # fmt: skip
        assert type(r) is asnumpy.ndarray
    b += a
    assert type(b) is np.ndarray and b.tolist() == [2, 2, 2]
    c = np.zeros(3)
    assert asnumpy.add(a, a, out=c) is c and c.tolist() == [2, 2, 2]
    assert type(np.sum(a)) is np.float64


def test_deferral():
    class NoUfunc:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "radd"

        def __add__(self, other):
            return "add"

    class Priority:
        __array_priority__ = 10

        def __radd__(self, other):
            return "radd"

    class Container:
        """Refuses arrays of others, but ufuncs convert it, and it wraps what they give."""

        __array_priority__ = 1000

        def __init__(self, value=(2, 2, 2)):
            self.value = list(value)

        def __array__(self, dtype=None, copy=None):
            return np.array(self.value)

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return Container(np.asarray(array).tolist())

        def __add__(self, other):
            return NotImplemented

    class Override:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method, len(inputs), sorted(kwargs)

    a = asnumpy.ones(3)
    assert a + NoUfunc() == "radd" and NoUfunc() + a == "add"
    assert a + Priority() == "radd"
    assert a + Override() == ("add", "__call__", 2, [])
    assert asnumpy.multiply(Override(), a, out=a) == ("multiply", "__call__", 2, ["out"])
    assert asnumpy.add.reduce(Override()) == ("add", "reduce", 1, [])
    with pytest.raises(TypeError):
        asnumpy.add(a, NoUfunc())
    for left in (a, np.ones(3)):  # as a second operand it is the last to be asked
        assert type(Container() + left) is Container and (Container() + left).value == [3, 3, 3]
    with pytest.raises(TypeError):
        a + object()


def test_truth_and_numbers():
    cases = [[], [1.0], [0.0], [[2]], [1, 2], 3, 2.5, 1 + 2j, True, np.nan]
    for case in cases:
        for f in (bool, int, float, complex, operator.index, len, hash, iter):
            expected, error = outcome(f, np.array(case))
            got, got_error = outcome(f, asnumpy.array(case))
            assert (error is None) == (got_error is None), (f, case, error, got_error)
            if error is not None:
                assert type(got_error) is type(error), (f, case, error, got_error)
            elif f is not iter:
                assert type(got) is type(expected)
                assert got == expected or expected != expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_python(dtype, rng):
    a = sample(dtype, 12, rng).reshape(3, 4)

    def run(np_, a):
        return [repr(a.tolist()), repr(a[0].tolist()), repr(a.item(5)), repr(a.item(1, 2)),
                repr(a[1, 1].item()), a.tobytes(), a.T.tobytes(), a.T.tobytes("F"),
                repr(list(a.flat)), [repr(x) for x in a[0]]]  # fmt: skip

    same(run, a)


PRINTED = [
    np.arange(5.0), np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(3.5), np.array([]),
    np.arange(2000), np.linspace(0, 1, 1500).reshape(30, 50), np.array([1e-20, 1e20, np.nan]),
    np.array([1 + 2j, -0.5j]), np.array([True, False]), np.arange(3, dtype=np.int8),
    np.float32([1.1, 2.2]), np.float16([1.1, np.inf]), np.zeros((2, 0)), np.array([[[1]]]),
]  # fmt: skip


@pytest.mark.parametrize("a", PRINTED, ids=lambda a: f"{a.dtype}{a.shape}")
def test_printing(a):
    b = asnumpy.array(a)
    assert repr(b) == repr(a) and str(b) == str(a) and f"{b}" == f"{a}"
    assert asnumpy.array2string(b, precision=2) == np.array2string(a, precision=2)
    if a.ndim == 0:
        assert f"{b:.3f}" == f"{a:.3f}"
    with asnumpy.printoptions(precision=3), np.printoptions(precision=3):
        assert repr(b) == repr(a)
    with pytest.raises(TypeError):
        format(asnumpy.ones(3), ".2f")


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_and_copy(dtype, rng):
    a = asnumpy.array(sample(dtype, 12, rng).reshape(3, 4))
    for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a), a.__copy__()):
        assert type(b) is asnumpy.ndarray and b is not a
        assert_same(to_host(b), to_host(a))
        assert not asnumpy.may_share_memory(a, b)
    assert_same(to_host(pickle.loads(a.dumps())), to_host(a))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_astype(casting, rng):
    for a in DTYPES:
        x = sample(a, 24, rng, special=np.dtype(a).kind not in "fc")
        for b in DTYPES:
            if np.dtype(a).kind in "fc" and np.dtype(b).kind in "iu":
                x = np.clip(x.real, 0, 100).astype(a)
            same(lambda np_, x, b=b: x.astype(b, casting=casting), x, where=f"{a} to {b}")
    a = asnumpy.ones(3)
    assert a.astype(float, copy=False) is a and a.astype(float) is not a


def test_float_to_int_corners():
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 300.7, -1.5, 0.9])
    for dtype in ("int32", "int64", "bool", "float16", "float32"):
        for source in ("float64", "float32"):
            same(lambda np_, x, d=dtype: x.astype(d), x.astype(source), where=dtype)


def test_complex_warning():
    with pytest.warns(np.exceptions.ComplexWarning):
        asnumpy.ones(3, complex).astype(float)


METHODS = [
    ("sum", {}), ("sum", {"axis": 1}), ("prod", {"axis": 0}), ("mean", {}), ("mean", {"axis": -1}),
    ("std", {}), ("var", {"axis": 0, "ddof": 1}), ("min", {}), ("max", {"axis": 1}),
    ("argmin", {}), ("argmax", {"axis": 1}), ("all", {}), ("any", {"axis": 0}),
    ("cumsum", {}), ("cumsum", {"axis": 1}), ("cumprod", {"axis": 0}), ("conj", {}),
    ("conjugate", {}), ("diagonal", {}), ("diagonal", {"offset": 1}), ("trace", {}),
    ("flatten", {}), ("ravel", {}), ("nonzero", {}), ("squeeze", {}), ("transpose", {}),
    ("round", {}), ("round", {"decimals": 1}), ("round", {"decimals": -1}), ("clip", {"min": 0}),
    ("clip", {"min": -1, "max": 1}), ("clip", {"max": 1}), ("argsort", {"kind": "stable"}),
    ("repeat", {"repeats": 2}), ("repeat", {"repeats": [1, 2, 0], "axis": 0}),
    ("take", {"indices": [0, 2, -1]}), ("take", {"indices": [[0, 1]], "axis": 1}),
    ("swapaxes", {"axis1": 0, "axis2": 1}), ("byteswap", {}),
    ("compress", {"condition": [True, False, True], "axis": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kwargs"), METHODS, ids=lambda x: str(x))
def test_methods(name, kwargs, rng):
    for dtype in DTYPES:
        a = sample(dtype, 12, rng, special=False).reshape(3, 4)
        positional = {"repeat": ["repeats"], "take": ["indices"], "swapaxes": ["axis1", "axis2"]}
        args = [kwargs[k] for k in positional.get(name, [])]
        rest = {k: v for k, v in kwargs.items() if k not in positional.get(name, [])}
        for view in ("a", "T"):

            def run(np_, a, view=view, args=args, rest=rest):
                return getattr(a if view == "a" else a.T, name)(*args, **rest)

            same(run, a, ulp=64, where=f"{name} {dtype} {kwargs} {view}")


def test_sort_partition_fill_put(rng):
    for dtype in DTYPES:
        a = sample(dtype, 24, rng).reshape(4, 6)

        def run(np_, a):
            b = a.copy()
            b.sort()
            c = a.copy()
            c.sort(axis=0)
            d = a.copy()
            d.partition(2)
            e = a.copy()
            e.fill(1)
            f = a.copy()
            f.put([0, -1, 3], [1, 0])
            return b, c, np_.sort(d[:, :3], axis=1)[:, 2], e, f, np_.sort(a, axis=None)

        same(run, a, where=dtype, signed_zeros=False)  # equal zeros sort in any order


def test_constructor():
    for m in (np, asnumpy):
        assert m.ndarray((2, 3)).shape == (2, 3)
        assert m.ndarray(3, np.int8, order="F").dtype == np.int8
        a = m.ndarray((2, 2), np.int16, buffer=bytes(range(16)), offset=2, strides=(4, 2))
        assert a.tolist() == [[0x0302, 0x0504], [0x0706, 0x0908]]
        assert not a.flags.writeable
        with pytest.raises(TypeError):
            m.ndarray()
    assert asnumpy.NPArray is asnumpy.ndarray is asnumpy.NPUArray


def test_subclass():
    class Sub(asnumpy.ndarray):
        def __array_finalize__(self, obj):
            self.info = getattr(obj, "info", "none")

    a = asnumpy.arange(4.0).view(Sub)
    a.info = "mine"
    assert type(a[1:]) is Sub and a[1:].info == "mine"
    assert type(a + 1) is Sub
    assert type(asnumpy.asarray(a)) is asnumpy.ndarray and asnumpy.asanyarray(a) is a
    b = pickle.loads(pickle.dumps(asnumpy.ones(2)))
    assert b.tolist() == [1, 1]


def test_weak_references_and_memory():
    import gc
    import weakref

    a = asnumpy.ones(1000)
    r = weakref.ref(a)
    view = a[1:]
    del a
    assert r() is view.base
    del view
    gc.collect()
    assert r() is None


def test_flags():
    a = asnumpy.zeros((2, 3))
    assert repr(a.flags) == repr(np.zeros((2, 3)).flags)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        a += 1
    a.setflags(write=True)
    a[0, 0] = 1
    assert a.flags["C_CONTIGUOUS"] and not a.T.flags.c_contiguous and a.T.flags.fnc
    view = asnumpy.broadcast_to(a, (2, 2, 3))
    assert not view.flags.writeable


def test_flatiter(rng):
    a = sample("int32", 24, rng).reshape(2, 3, 4)

    def run(np_, a):
        f = a.T.flat
        first = [next(f), next(f)]
        state = (f.index, f.coords)
        a.flat[[1, 2]] = [7, 8]
        a.flat = a.flat.copy()[::-1]
        return first, state, f[3], f[2:6], f.copy(), len(f), list(a.flat), a

    same(run, a)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_ravel_in_memory_order_is_a_view(axes):
    for m in (np, asnumpy):
        a = m.arange(24).reshape(2, 3, 4).transpose(axes)
        assert m.shares_memory(a.ravel("K"), a)
        assert a.ravel("K").tolist() == list(range(24))
        gaps = a[1:, :, ::2]
        assert not m.shares_memory(gaps.ravel("K"), gaps)


def test_partition_arguments():
    for m in (np, asnumpy):
        assert m.partition(m.ones((3, 0, 2)), 5).shape == (3, 0, 2)
        for call in (m.partition, m.argpartition):
            with pytest.raises(ValueError, match="select kind must be"):
                call(m.arange(4), 1, kind="nonsense")
            with pytest.raises(TypeError, match="select kind must be"):
                call(m.arange(4), 1, kind=1)
        for method in ("partition", "sort"):
            with pytest.raises(TypeError):
                getattr(m.arange(4), method)(*([1] if method == "partition" else []), axis=None)


def test_may_share_memory_as_far_as_asked():
    for m in (np, asnumpy):
        a = m.arange(10)
        assert m.may_share_memory(a[::2], a[1::2])
        assert not m.may_share_memory(a[::2], a[1::2], max_work=-1)
        with pytest.raises(OverflowError):
            m.may_share_memory(a, a, max_work=10**100)


def test_bools_are_no_extents():
    for m in (np, asnumpy):
        for call in (lambda m: m.zeros((True, 2)), lambda m: m.ones(4).reshape((True, -1))):
            with pytest.raises(TypeError):
                call(m)


def test_ndmax():
    for m in (np, asnumpy):
        for limits in ({"ndmax": -1}, {"ndmax": 65}, {"ndmax": 1, "ndmin": 2}):
            with pytest.raises(ValueError, match="ndmax"):
                m.array([1, 2], **limits)


def test_results_own_their_memory():
    a, s = asnumpy.array(np.random.default_rng(0).random((5, 3))), asnumpy.zeros((5, 3), int)
    made = [
        a + 1, s.choose((a, 0.5)), a.clip(0, 1), asnumpy.where(s, a, 1), a.round(1), a.sum(0), a.T.copy(),
        asnumpy.quantile(a, 0.3, axis=0), asnumpy.sinc(a),
        asnumpy.interp(a, [0, 1], [2, 3]), asnumpy.average(a, axis=1),
        asnumpy.iscomplex(a), asnumpy.convolve(a[0], a[1]), asnumpy.nanvar(a, axis=0),
    ]  # fmt: skip
    assert [x.flags.owndata and x.base is None for x in made] == [True] * len(made)
