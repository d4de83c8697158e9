"""The registry of operators: levels, priorities, who registered, threads."""

import math
import threading

import asnumpy
import numpy as np
import pytest

ops = asnumpy.ops


@pytest.fixture
def added():
    """Registers, and removes at the end."""
    keys = []

    def add(name, function, **key):
        ops.register(name, function, **key)
        keys.append((name, key))

    yield add
    for name, key in keys:
        ops.unregister(name, **key)


def test_most_specific_then_highest_priority(added):
    device = asnumpy.empty(0).device
    kind = device.partition(":")[0]
    other = "ascend" if kind == "cpu" else "cpu"
    single, double = asnumpy.ones(2, "float32"), asnumpy.ones(2)
    added("spam", lambda *a: "global")
    assert ops.spam(single) == ops.spam(double) == ops.spam() == "global"
    added("spam", lambda *a: "global 5", priority=5)
    assert ops.spam(single) == "global 5"
    added("spam", lambda *a: "device", device=kind, priority=-3)
    added("spam", lambda *a: "elsewhere", device=other, priority=9)
    assert ops.spam(single) == ops.spam(3) == "device"
    added("spam", lambda *a: "device with number", device=device)
    assert ops.spam(single) == "device with number"
    added("spam", lambda *a: "dtype", dtype="float32")
    assert ops.spam(single) == "dtype" and ops.spam(double) == "device with number"
    assert ops.spam(single, double) == "device with number"  # float64 together
    added("spam", lambda *a: "dtype on device", dtype="float32", device=kind, priority=-1)
    assert ops.spam(single) == "dtype on device"
    assert [e.level for e in ops.list("spam")] == [
        "dtype",
        "dtype",
        "device",
        "device",
        "device",
        "global",
        "global",
    ]
    assert ops.find("spam", dtype="float32", device=other).level == "dtype"
    assert ops.find("spam", device=other).priority == 9


def test_registering_twice(added):
    added("eggs", len)
    with pytest.raises(
        RuntimeError,
        match=r"operator 'eggs' is already registered for everything with priority 0 by test_ops at .*test_ops\.py:\d+",
    ):
        ops.register("eggs", len)
    added("eggs", len, dtype="int8", device="cpu")
    with pytest.raises(RuntimeError, match="for dtype int8 on device cpu with priority 0"):
        ops.register("eggs", max, dtype=np.int8, device="cpu")
    ops.register("eggs", max, priority=1)
    assert ops.unregister("eggs", priority=1) is max
    with pytest.raises(
        LookupError, match="'eggs' is not registered for everything with priority 1"
    ):
        ops.unregister("eggs", priority=1)


def test_built_in_operators(added):
    names = {e.name for e in ops.list()}
    rows = set(asnumpy._core._cann_rows())
    assert {n for n in rows if isinstance(getattr(asnumpy, n, None), asnumpy.ufunc)} <= names
    assert ops.add(asnumpy.ones(2), 1).tolist() == [2, 2]
    assert ops.find("add").function is asnumpy.add and "add" in dir(ops)
    with pytest.raises(
        RuntimeError, match=r"'add' is already registered .* by asnumpy \(built in\)"
    ):
        ops.register("add", max)
    with pytest.raises(ValueError, match="built in"):
        ops.unregister("add")
    added("add", lambda a, b: "mine", dtype="int16")
    assert ops.add(asnumpy.ones(2, "int16"), 1) == "mine" and ops.add(asnumpy.ones(1), 1)[0] == 2


def test_decorator_and_errors():
    @ops.register("toast")
    def toast(x):
        return x * 2

    try:
        assert ops.toast(asnumpy.arange(3)).tolist() == [0, 2, 4]
        assert ops.list("toast")[0].function is toast
    finally:
        ops.unregister("toast")
    with pytest.raises(AttributeError, match="no operator 'toast'"):
        ops.toast  # noqa: B018
    with pytest.raises(LookupError, match="no operator 'toast'"):
        ops.find("toast")
    ops.register("toast", max, dtype="int8")
    with pytest.raises(
        LookupError, match=r"no implementation for float64 on .* it has: for dtype int8"
    ):
        ops.toast(asnumpy.ones(2))
    ops.unregister("toast", dtype="int8")
    for name in ("find", "a b", "_x", 3):
        with pytest.raises(ValueError, match="no name for an operator"):
            ops.register(name, max)
    with pytest.raises(ValueError, match="device is 'gpu'"):
        ops.register("toast", max, device="gpu")
    with pytest.raises(TypeError, match="cannot be called"):
        ops.register("toast", 3)
    assert ops.list("toast") == []


def test_threads():
    """Of 16 threads that register one key, one succeeds; calls in between see one implementation or the other."""
    wins, failures = [], []
    barrier = threading.Barrier(16)

    def work(k):
        barrier.wait()
        for turn in range(50):
            try:
                ops.register(f"race{turn}", lambda: k)
                wins.append(turn)
            except RuntimeError:
                failures.append(turn)
            assert 0 <= getattr(ops, f"race{turn}")() < 16

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(wins) == list(range(50)) and len(failures) == 15 * 50
    for turn in range(50):
        ops.unregister(f"race{turn}")


def test_namespaces(added):
    added("npu::custom_matmul_v2", lambda a, b: "any")
    added("npu::custom_matmul_v2", lambda a, b: "single", dtype="float32")
    single, double = asnumpy.ones((2, 2), "float32"), asnumpy.ones((2, 2))
    call = getattr(ops, "npu::custom_matmul_v2")
    assert (call(single, single), call(double, single)) == ("single", "any")
    assert call.__name__ == "npu::custom_matmul_v2" and "npu::custom_matmul_v2" in repr(call)
    assert ops.dispatch_operator("npu::custom_matmul_v2", [single, 2]) == "single"
    assert "npu::custom_matmul_v2" not in dir(ops)
    assert {e.name for e in ops.list()} >= {"npu::custom_matmul_v2", "add"}
    for name in ("npu::", "::mm", "npu:mm", "npu::a b", "npu::mm.", "npu::mm.a.b", "a.b", "_x::y"):
        with pytest.raises(ValueError, match="no name for an operator"):
            ops.register(name, max)
    for name in ("npu::nothing", "nothing"):
        with pytest.raises(LookupError, match=f"no operator '{name}' is registered"):
            ops.dispatch_operator(name, ())


def test_context_of_a_dispatch(added):
    added("spam", lambda *a, **k: ("any", k))
    added("spam", lambda *a, **k: ("int8", k), dtype="int8")
    added("spam", lambda *a, **k: ("there", k), device="ascend:7")
    x = asnumpy.ones(2)
    assert ops.dispatch_operator("spam", (x,), {}) == ("any", {})
    assert ops.dispatch_operator("spam", (x,), {"dtype": "int8"}) == ("int8", {})
    assert ops.dispatch_operator("spam", (x,), {"device": "npu:7"}) == ("there", {})
    assert ops.dispatch_operator("spam", (x,), {"kwargs": {"k": 1}}) == ("any", {"k": 1})
    stream = asnumpy.Stream(name="of the dispatch")
    added("where_am_i", lambda: asnumpy.current_stream().name)
    assert ops.dispatch_operator("where_am_i", (), {"stream": stream}) == "of the dispatch"
    assert ops.dispatch_operator("where_am_i") != "of the dispatch"
    with pytest.raises(ValueError, match=r"the context has \['dtpye'\]; it may have"):
        ops.dispatch_operator("spam", (x,), {"dtpye": "int8"})
    with pytest.raises(TypeError, match="args is a ndarray; it must be a tuple or a list"):
        ops.dispatch_operator("spam", x)
    with pytest.raises(LookupError, match="no operator 'nothing' is registered"):
        ops.dispatch_operator("nothing", (x,), {"dtype": "int8"})


ATEN = {
    "sub": np.subtract, "mul": np.multiply, "div": np.divide, "eq.Tensor": np.equal, "pow.Tensor_Tensor": np.power,
    "atan2": np.arctan2, "maximum": np.maximum, "mm": np.matmul, "sum": np.sum, "neg": np.negative, "abs": np.abs,
    "bitwise_and": np.bitwise_and, "isinf": np.isinf, "relu": lambda x: np.maximum(x, 0), "asin": np.arcsin,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x), "where": np.where, "round": np.rint,
    "matmul": np.matmul, "amax": np.max, "mean": np.mean, "clamp": np.clip, "floor_divide": np.floor_divide,
}  # fmt: skip


@pytest.mark.parametrize("name", ATEN)
def test_aten_names(name):
    function = ATEN[name]
    count = {"where": 3, "clamp": 3}.get(name, getattr(function, "nin", 1))
    a, b = np.array([[0.25, 1.0], [0.5, 0.75]]), np.array([[2.0, 1.0], [3.0, 0.5]])
    given = [a, b, b][:count] if name != "where" else [a > 0.4, a, b]
    given = [x.astype(int) for x in given] if name.startswith("bitwise") else given
    got = ops.dispatch_operator(f"aten::{name}", tuple(map(asnumpy.asarray, given)))
    np.testing.assert_allclose(asnumpy.to_numpy(got), function(*given), rtol=1e-12)


def test_aten_names_are_those_of_the_c_binding():
    """Both faces answer each row's own name and its CANN operator's."""
    words = {
        *asnumpy._core._cann_rows(),
        "mm",
        "bmm",
        "mv",
        "dot",
        "outer",
        "prod",
        "amin",
        "erf",
        "erfc",
        "frac",
    }
    assert all(ops.find(f"aten::{word}").file == "built in" for word in words)
    assert asnumpy._core._aten_row("BitwiseNot") == asnumpy._core._aten_row("bitwise_not")
    for name in ("aten::add_", "aten::nothing", "aten::erf_", "at::add", "npu::add"):
        with pytest.raises(LookupError):
            ops.find(name)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int64", "bool", ">f8", ">i4"]
)
@pytest.mark.parametrize("name", ["erf", "erfc", "frac"])
def test_aten_rows_that_are_no_ufuncs(name, dtype):
    """What NumPy lacks has the dtypes of NumPy's functions of floating point, and Python's own values."""
    of_one = {"erf": math.erf, "erfc": math.erfc, "frac": lambda x: math.fmod(x, 1)}[name]
    values = np.array([[-2.5, -1, 0], [0.25, 1, 3]]).astype(dtype)
    want = np.vectorize(of_one, otypes=[float])(values.astype(float))
    kind = np.sqrt(np.ones(1, dtype)).dtype
    call = getattr(ops, f"aten::{name}")
    arrays = (
        asnumpy.asarray(values),
        asnumpy.asarray(values)[:, ::-1],
        asnumpy.asarray(values)[0, 0],
    )
    for given, wanted in zip(arrays, (want, want[:, ::-1], want[0, 0]), strict=True):
        got = call(given)
        assert got.dtype == kind and got.shape == wanted.shape
        np.testing.assert_allclose(
            asnumpy.to_numpy(got),
            wanted,
            rtol=8 * float(np.finfo(kind).eps),
            atol=float(np.finfo(kind).tiny),
        )
    assert call(asnumpy.zeros((0, 3), dtype)).shape == (0, 3)
    two = asnumpy.asarray(values) + asnumpy.asarray(values)  # recorded, with what follows
    np.testing.assert_allclose(
        asnumpy.to_numpy(call(two) * 2), 2 * np.vectorize(of_one, otypes=[float])(asnumpy.to_numpy(two).astype(float)),
        rtol=16 * float(np.finfo(kind).eps), atol=float(np.finfo(kind).tiny),
    )  # fmt: skip


def test_aten_rows_that_are_no_ufuncs_of_other_arguments():
    assert ops.dispatch_operator("aten::erf", (0.5,)) == pytest.approx(math.erf(0.5), rel=1e-15)
    assert ops.dispatch_operator("aten::erfc", ([0.5, 27.0],)).tolist()[0] == pytest.approx(
        math.erfc(0.5)
    )
    assert isinstance(ops.dispatch_operator("aten::erf", (np.ones(3),)), asnumpy.ndarray)
    for name in ("erf", "erfc", "frac"):
        with pytest.raises(TypeError, match=f"ufunc '{name}' not supported for the input types"):
            ops.dispatch_operator(f"aten::{name}", (asnumpy.ones(2, "complex64"),))
    with pytest.raises(TypeError, match="takes an asnumpy array, got list"):
        asnumpy._core._unary_row("erf", [1])
    for name in ("add", "erf_", ""):
        with pytest.raises(LookupError, match=f"'{name}' is no row of one operand"):
            asnumpy._core._unary_row(name, asnumpy.ones(2))


def test_registering_aten_operators(added):
    a, m = asnumpy.ones(3), asnumpy.ones((2, 2))
    assert ops.dispatch_operator("aten::mm", (m, m)).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(ValueError, match="aten::mm: argument 1 has 1 dimensions; it must have 2"):
        ops.dispatch_operator("aten::mm", (a, m))
    mine = ops.register_aten_op("mm", lambda a, b: "mine", 10)
    try:
        assert ops.dispatch_operator("aten::mm", (m, m)) == "mine"
        assert ops.dispatch_operator("aten::mm.out", (m, m)) == "mine"
        assert ops.list("aten::mm")[0].function is mine and len(ops.list("aten::mm")) == 2
    finally:
        assert ops.unregister("aten::mm", priority=10) is mine

    @ops.register_aten_op("aten::sub")
    def sub(a, b):
        return "decorated"

    assert ops.dispatch_operator("aten::sub", (a, a)) == "decorated"
    assert ops.list("aten::sub")[0].place.startswith("test_ops at ")
    ops.unregister("aten::sub", priority=1)
    added("add", lambda a, b: "of the ufunc", dtype="float64")
    assert ops.dispatch_operator("aten::add.Tensor", (a, a)) == "of the ufunc"
    for name in ("mm", "add", "aten::add.Tensor"):
        with pytest.raises(RuntimeError, match=r"priority 0 by asnumpy \(built in\)"):
            ops.register_aten_op(name, max, 0)
        with pytest.raises(ValueError, match="is built in"):
            ops.unregister(name if "::" in name else f"aten::{name}")
    with pytest.raises(ValueError, match="3 is no name"):
        ops.register_aten_op(3, max)


def test_what_was_found_is_found_anew(added):
    """A call keeps what it found, until something is registered or removed: also one that a program holds."""
    single, double = asnumpy.ones(2, "float32"), asnumpy.ones(2)
    added("toast", lambda *a: 1)
    call = ops.toast
    assert call(single) == call(single, single) == call(double, 3) == call() == 1
    ops.register("toast", lambda *a: 2, dtype="float32")
    assert [call(single), call(single, single), call(single, 1.5), call(double), call()] == [
        2,
        2,
        2,
        1,
        1,
    ]
    assert call(single, double) == call(double, single) == 1
    assert (
        call([single])
        == call((single, single))
        == call(np.ones(1, "f4"))
        == call(np.float32(1))
        == 2
    )
    ops.unregister("toast", dtype="float32")
    assert call(single) == call(single, single) == call([single]) == 1
    ops.register("eggs", lambda x: 1)
    held = ops.eggs
    assert held(single) == 1
    ops.unregister("eggs")
    with pytest.raises(LookupError, match="no operator 'eggs'"):
        held(single)
    with pytest.raises(AttributeError, match="no operator 'eggs'"):
        ops.eggs  # noqa: B018
    ops.register("eggs", lambda x: 2)
    assert held(single) == 2 and ops.eggs is held
    ops.unregister("eggs")


def test_names_of_builtins_leave_the_module_alone(added):
    for name in ("sorted", "isinstance", "LookupError"):
        added(name, lambda *a: "mine")
        assert getattr(ops, name)(1) == getattr(ops, name)(1) == "mine"
        assert name not in vars(ops)
    assert "sorted" in dir(ops) and ops.list("add")
    with pytest.raises(LookupError):
        ops.dispatch_operator("nothing")


def test_calls_while_others_register():
    """A call sees what was registered before it began: never what was removed before it."""
    x, stop, wrong = asnumpy.ones(2, "float32"), threading.Event(), []
    ops.register("flips", lambda a: 0)

    def watch():
        while not stop.is_set():
            if ops.flips(x) not in (0, 1):
                wrong.append(1)

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(300):
            ops.register("flips", lambda a: 1, dtype="float32")
            if ops.flips(x) != 1:
                wrong.append(2)
            ops.unregister("flips", dtype="float32")
            if ops.flips(x) != 0:
                wrong.append(3)
    finally:
        stop.set()
        for t in threads:
            t.join()
        ops.unregister("flips")
    assert wrong == []
