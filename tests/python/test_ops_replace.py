"""Implementations in a ufunc's place: which calls they take, what they get and give, and how they end."""

import gc
import threading
import weakref

import asnumpy
import numpy as np
import pytest

ops = asnumpy.ops


@pytest.fixture
def put():
    """Registers with replace=True; all are removed at the end."""
    keys = []

    def add(name, function, **key):
        ops.register(name, function, replace=True, **key)
        keys.append((name, key))
        return function

    yield add
    for name, key in keys:
        ops.unregister(name, **key)
    assert asnumpy.array([1.0, 2.0], "float32").__add__(1).tolist() == [2, 3]


class Counted:
    """An implementation that counts: what the built-in gives, plus 100 of numbers, the contrary of booleans."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, *args):
        self.calls.append([(x.dtype.name, x.shape) for x in args])
        r = self.function(*args)
        return ~r if r.dtype == bool else r + r.dtype.type(100)


@pytest.fixture
def arrays():
    return asnumpy.arange(4, dtype="float32"), asnumpy.full(4, 2, "float32")


def test_all_ways_of_a_call(put, arrays):
    a, b = arrays
    mine = put("add", Counted(lambda x, y: asnumpy.subtract(x, y)), dtype="float32")
    want = [98, 99, 100, 101]
    out, double, foreign = asnumpy.empty_like(a), asnumpy.empty(4), np.empty(4, "float32")
    ways = [
        lambda: a + b, lambda: asnumpy.add(a, b), lambda: asnumpy.add(a, b, out), lambda: asnumpy.add(a, b, out=out),
        lambda: asnumpy.add(a, b, out=(out,)), lambda: asnumpy.add(a, b, out=double), lambda: a + 2, lambda: a + 2.0,
        lambda: a + np.float32(2), lambda: asnumpy.add(a, 2), lambda: asnumpy.add(a, np.full(4, 2, "float32")),
        lambda: asnumpy.add(a, b, out=foreign), lambda: asnumpy.add(a, [2, 2, 2, 2], dtype="float32"), lambda: np.add(a, b),
        lambda: asnumpy.add(a.astype(float), b, dtype="float32", casting="same_kind"), lambda: a + b.astype("int8"),
        lambda: asnumpy.add(a, b, where=True), lambda: ops.add(a, b),
        lambda: ops.dispatch_operator("aten::add.Tensor", (a, b)),
    ]  # fmt: skip
    for k, way in enumerate(ways):
        got = way()
        assert np.asarray(got).tolist() == want, k
        assert len(mine.calls) == k + 1, k
    assert (out.tolist(), double.tolist(), foreign.tolist()) == (want, want, want)
    assert mine.calls[0] == [("float32", (4,))] * 2
    assert mine.calls[6] == [
        ("float32", (4,)),
        ("float32", ()),
    ]  # a number is an array without dimensions
    kept = c = a.copy()
    c += b
    assert c is kept and c.tolist() == want
    assert (2 + a).tolist() == [102, 101, 100, 99]
    assert (a[::-1] + b).tolist() == want[::-1] and (a[:, None] + b).shape == (4, 4)
    assert (a[:0] + b[:0]).shape == (0,)
    one = a[1:2].reshape(()) + 2  # of no dimensions: as all results, a number
    assert one == 99 and one.dtype == "float32" and isinstance(one, np.float32)


def test_what_is_left_to_the_built_in(put, arrays):
    a, b = arrays
    mine = put("add", Counted(asnumpy.subtract), dtype="float32")
    assert (a + b.astype(float)).dtype == "float64"  # promoted: no float32 any more
    assert (a.astype("int32") + 1).tolist() == [1, 2, 3, 4]
    assert asnumpy.add(np.float32(1), np.float32(2)) == 3  # numbers: no array
    assert asnumpy.add.reduce(a) == a.sum() == 6 and asnumpy.add.accumulate(a).tolist() == [
        0,
        1,
        3,
        6,
    ]
    assert asnumpy.add.reduceat(a, [0, 2]).tolist() == [1, 5]
    c = a.copy()
    asnumpy.add.at(c, [0, 0], 1)
    assert c.tolist() == [2, 1, 2, 3]
    assert (a - b).tolist() == [-2, -1, 0, 1] and (a @ b) == 12 and (a**2).tolist() == [0, 1, 4, 9]
    assert (np.asarray(a) + np.asarray(b)).tolist() == [2, 3, 4, 5]
    big = a.astype(">f4")  # NumPy's array: this library has the host's byte order
    assert (big + big).tolist() == [0, 2, 4, 6]
    assert mine.calls == []
    assert asnumpy.add.outer(a, b).tolist() == [[98 + k] * 4 for k in range(4)]  # a call
    assert len(mine.calls) == 1


def test_masks_casting_and_orders(put, arrays):
    a, b = arrays
    put("add", Counted(asnumpy.subtract), dtype="float32")
    out = asnumpy.full(4, -1, "float32")
    assert asnumpy.add(a, b, out=out, where=a > 1) is out
    assert out.tolist() == [-1, -1, 100, 101]
    with pytest.warns(UserWarning, match="'where' used without 'out'"):
        got = asnumpy.add(a, b, where=a > 1)
    assert got[2:].tolist() == [100, 101]
    whole = asnumpy.add(
        a, 1, out=asnumpy.zeros((2, 4), "float32"), where=asnumpy.array([[True], [False]])
    )
    assert whole.tolist() == [[99, 100, 101, 102], [0] * 4]
    integers = asnumpy.zeros(4, "int32")
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output from"):
        asnumpy.add(a, b, out=integers)
    assert asnumpy.add(a, b, out=integers, casting="unsafe").tolist() == [98, 99, 100, 101]
    with pytest.raises(ValueError, match="could not be broadcast|operands could not"):
        a + a[:3]
    with pytest.raises(ValueError):
        asnumpy.add(a, b, out=asnumpy.zeros(3, "float32"))
    with pytest.raises(TypeError):
        asnumpy.add(a)
    two = asnumpy.ones((2, 3), "float32")
    assert asnumpy.add(two, two, order="F").flags.f_contiguous
    # An output that is an operand, shifted
    long = asnumpy.arange(6, dtype="float32")
    asnumpy.add(long[:-1], long[1:], out=long[1:])
    assert long.tolist() == [0, 99, 99, 99, 99, 99]


def test_numbers_that_do_not_fit(put):
    mine = put("add", Counted(asnumpy.subtract), dtype="int8")
    a = asnumpy.array([1, 2], "int8")
    for call in (lambda: a + 300, lambda: asnumpy.add(a, 300)):
        with pytest.raises(OverflowError, match="300 out of bounds for int8"):
            call()
    assert mine.calls == []


@pytest.mark.parametrize(
    ("name", "call"),
    [("negative", lambda a, b: -a), ("absolute", lambda a, b: abs(a)), ("less", lambda a, b: a < b),
     ("equal", lambda a, b: a == b), ("power", lambda a, b: a**2), ("power", lambda a, b: a**b),
     ("power", lambda a, b: asnumpy.power(a, 2)), ("square", lambda a, b: a**2), ("multiply", lambda a, b: b * a),
     ("sin", lambda a, b: asnumpy.sin(a)), ("floor_divide", lambda a, b: a // b), ("exp", lambda a, b: asnumpy.exp(a)),
     ("maximum", lambda a, b: asnumpy.maximum(a, b)), ("divide", lambda a, b: a / 4.0)],
)  # fmt: skip
def test_other_operations(put, arrays, name, call):
    a, b = arrays
    before = call(a, b)
    mine = put(name, Counted(getattr(asnumpy, name)), dtype="float32")
    got = call(a, b)
    assert len(mine.calls) == 1
    expected = ~np.asarray(before) if before.dtype == bool else np.asarray(before) + np.float32(100)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


def test_pairs(put, arrays):
    a, b = arrays
    put("divmod", lambda x, y: (x * 10, y * 10), dtype="float32")
    assert [r.tolist() for r in divmod(a, b)] == [[0, 10, 20, 30], [20] * 4]
    first, second = asnumpy.empty(4, "float32"), asnumpy.empty(4, "float32")
    asnumpy.divmod(a, b, out=(first, second))
    assert first.tolist() == [0, 10, 20, 30] and second.tolist() == [20] * 4
    for wrong, message in [(lambda x, y: x, "gave a asnumpy.ndarray; it must give a tuple of two"), (lambda x, y: (x,), "gave a tuple; it must give a tuple of two"),
                           (lambda x, y: (x, y[:1]), r"with shape \(1,\)")]:  # fmt: skip
        put("divmod", wrong, dtype="float32", priority=len(ops.list("divmod")))
        with pytest.raises(TypeError, match=message):
            divmod(a, b)


@pytest.mark.parametrize(
    ("given", "message"),
    [(lambda x, y: None, "gave a NoneType; it must give an array of float32 with shape"),
     (lambda x, y: 3.0, "gave a float"), (lambda x, y: [1, 2, 3, 4], "gave a list"),
     (lambda x, y: x.astype("float64"), "gave an array of float64 with shape"),
     (lambda x, y: x[:2], r".*with shape \(2,\); it must give float32 with shape \(4,\)"),
     (lambda x, y: x[None], r".*with shape \(1, ?4\)"), (lambda x, y: np.zeros(4), "gave an array of float64")],
)  # fmt: skip
def test_results_that_are_refused(put, arrays, given, message):
    a, b = arrays
    put("add", given, dtype="float32")
    kept = a.tolist()
    with pytest.raises(TypeError, match=f"add: .*, which replaces it, {message}"):
        a + b
    with pytest.raises(TypeError, match=message):
        a += b
    assert a.tolist() == kept


def test_results_are_the_calls_own(put, arrays):
    a, b = arrays
    put("add", lambda x, y: x, dtype="float32")
    c = a + b
    c[0] = 77
    assert a.tolist() == [0, 1, 2, 3]
    held = np.full(4, 5, "float32")
    put("add", lambda x, y: held, dtype="float32", priority=1)
    c = a + b
    c[0] = 77
    assert isinstance(c, asnumpy.ndarray) and held.tolist() == [5] * 4


def test_exceptions_are_the_implementations(put, arrays):
    a, b = arrays

    def fails(x, y):
        raise KeyError("mine")

    put("add", fails, dtype="float32")
    for call in (lambda: a + b, lambda: asnumpy.add(a, b), lambda: asnumpy.add(a, b, out=a)):
        with pytest.raises(KeyError, match="mine"):
            call()
    assert (a - b).tolist() == [-2, -1, 0, 1]
    put("subtract", lambda x, y: x + y, dtype="float32")
    with pytest.raises(KeyError):
        a - b
    with pytest.raises(KeyError):  # the frames of the failed calls are gone
        a + b


def test_recursion_ends_at_the_built_in(put, arrays):
    a, b = arrays
    put("add", lambda x, y: (x + y) * 10, dtype="float32")
    put(
        "multiply", lambda x, y: x + y, dtype="float32"
    )  # reaches the other, whose product is built in
    assert (a + b).tolist() == [
        12,
        13,
        14,
        15,
    ]  # (x + y) built in, * 10 replaced by the sum built in
    # multiply -> add (replaced): (x + y) built in, then * 10 built in, for multiply runs
    assert (a * b).tolist() == [20, 30, 40, 50]


def test_levels_priorities_and_ends(arrays):
    a, b = arrays
    kind = a.device.partition(":")[0]
    other = "ascend" if kind == "cpu" else "cpu"
    named = lambda k: lambda x, y: asnumpy.full_like(x, k)  # noqa: E731 - one of several
    keys = [("add", {"priority": 1}, 1, 1), ("add", {"device": kind}, 2, 2), ("add", {"device": other}, 2, 2),
            ("add", {"dtype": "float32"}, 3, 2), ("add", {"dtype": "float32", "priority": 5}, 4, 2)]  # fmt: skip
    for k, (name, key, single, double) in enumerate(keys):
        ops.register(name, named(single if k != 2 else 99), replace=True, **key)
        assert (a + b).tolist() == [single] * 4 and (a + b.astype(float)).tolist() == [double] * 4
    ops.register_aten_op("add", named(7), priority=9, dtype="float32", replace=True)
    assert (a + b).tolist() == [7] * 4
    assert (
        ops.find("add", dtype="float32").replace is True and ops.find("subtract").replace is False
    )
    ops.unregister("aten::add", dtype="float32", priority=9)
    for _, key, single, _ in reversed(keys):
        assert single == 2 or (a + b).tolist() == [single] * 4
        ops.unregister("add", **key)
    assert (a + b).tolist() == [2, 3, 4, 5]
    ops.register("add", named(1), dtype="float32")  # without replace: the ufunc is as it was
    assert (a + b).tolist() == [2, 3, 4, 5] and ops.dispatch_operator(
        "aten::add", (a, b)
    ).tolist() == [1] * 4
    ops.unregister("add", dtype="float32")


@pytest.mark.parametrize(
    ("name", "key", "error", "message"),
    [("spam", {}, ValueError, "'spam' replaces nothing: replace=True is for the names of ufuncs"),
     ("aten::mm", {}, ValueError, "replaces nothing"), ("aten::erf", {}, ValueError, "replaces nothing"),
     ("matmul", {}, ValueError, "matmul is a generalised ufunc"),
     ("add", {"priority": -1}, ValueError, "what is built in has priority 0"),
     ("add", {"dtype": "int8", "replace": 1}, TypeError, "replace is a int; it must be a bool")],
)  # fmt: skip
def test_refused_registrations(name, key, error, message):
    count = len(ops.list(name))
    with pytest.raises(error, match=message):
        ops.register(name, max, **{"replace": True, **key})
    assert len(ops.list(name)) == count


def test_compiled_functions_follow(arrays):
    a, b = arrays
    code = asnumpy.jit(lambda x, y: (x + y) * 2)
    assert code(a, b).tolist() == [4, 6, 8, 10]
    ops.register("add", lambda x, y: x - y, dtype="float32", replace=True)
    try:
        for _ in range(3):
            assert code(a, b).tolist() == [-4, -2, 0, 2]
    finally:
        ops.unregister("add", dtype="float32")
    for _ in range(3):
        assert code(a, b).tolist() == [4, 6, 8, 10]


def test_recorded_operands_and_chains(put, arrays):
    a, b = arrays
    put("add", lambda x, y: x - y, dtype="float32")
    chain = asnumpy.sqrt((a * 2 + b) * 3 + (-6)) - 1  # recorded before and after
    want = np.sqrt((np.asarray(a) * 2 - np.asarray(b)) * 3 + np.float32(6)) - 1
    np.testing.assert_allclose(np.asarray(chain), want, rtol=1e-6)


def test_threads(put, arrays):
    """Each thread's recursion is its own; registering beside calls gives one or the other."""
    a, b = arrays
    put("add", lambda x, y: (x + y) * 10, dtype="float32")
    wrong, stop = [], threading.Event()

    def calls():
        while not stop.is_set():
            got, other = (a + b).tolist(), (a - b).tolist()
            if got not in ([20, 30, 40, 50], [5] * 4) or other not in ([-2, -1, 0, 1], [6] * 4):
                wrong.append((got, other))

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        for name, value in (("add", 5), ("subtract", 6)):
            ops.register(
                name,
                lambda x, y, v=value: asnumpy.full_like(x, v),
                dtype="float32",
                priority=3,
                replace=True,
            )
        for name in ("add", "subtract"):
            ops.unregister(name, dtype="float32", priority=3)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_another_thread_is_not_inside(put, arrays):
    """That one thread runs the implementation does not make it the built-in for another."""
    a, results = arrays[0], []

    def mine(x, y):
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=lambda: results.append((asnumpy.array(x) + 1).tolist()))
            other.start()
            other.join()
        return asnumpy.full_like(x, 7)

    put("add", mine, dtype="float32")
    assert (a + 1).tolist() == [7] * 4
    assert results == [[7] * 4]


def test_for_a_device(arrays):
    a = arrays[0]
    here = a.device.partition(":")[0]
    for device, expected in ((here, [7] * 4), ("npu" if here == "cpu" else "cpu", [0, 2, 4, 6])):
        ops.register(
            "add",
            lambda x, y: asnumpy.full_like(x, 7),
            dtype="float32",
            device=device,
            replace=True,
        )
        try:
            assert (a + a).tolist() == expected
        finally:
            ops.unregister("add", dtype="float32", device=device)


def test_nothing_is_kept(arrays):
    a, b = arrays

    class Implementation:
        def __call__(self, x, y):
            return x - y

    mine = Implementation()
    ops.register("add", mine, dtype="float32", replace=True)
    kept, results = weakref.ref(mine), [weakref.ref(x) for x in (a + b, asnumpy.add(a, 1))]
    del mine
    ops.unregister("add", dtype="float32")
    gc.collect()
    assert kept() is None and all(r() is None for r in results)


def test_subclasses(put, arrays):
    a, b = arrays

    class Mine(asnumpy.ndarray):
        pass

    put("add", Counted(asnumpy.subtract), dtype="float32")
    got = a.view(Mine) + b
    assert type(got) is Mine and np.asarray(got).tolist() == [98, 99, 100, 101]


def test_products_conjugate_by_themselves(put):
    put("conjugate", lambda x: x * 0, dtype="complex128")
    x = asnumpy.array([1 + 2j, 3 - 1j])
    assert asnumpy.vecdot(x, x) == 15 and x.conj().tolist() == [0, 0]
