"""asnumpy.jit: a replay gives what the function gives, whatever the arrays; what cannot be replayed says so."""

import collections
import gc
import os
import re
import subprocess
import sys
import threading

import asnumpy
import numpy as np
import pytest
from conftest import NPU, SINGLE_OPERATORS

Pair = collections.namedtuple("Pair", "first second")


def arrays(rng, *shapes, dtype="float32"):
    return [(rng.random(shape) * 2 - 1).astype(dtype) for shape in shapes]


def flat(result):
    if isinstance(result, dict):
        return [leaf for value in result.values() for leaf in flat(value)]
    if isinstance(result, (tuple, list)):
        return [leaf for value in result for leaf in flat(value)]
    return [result]


def same(ours, numpys, rtol=2e-6):
    ours, numpys = flat(ours), flat(numpys)
    assert len(ours) == len(numpys)
    for a, b in zip(ours, numpys, strict=True):
        if b is None or isinstance(b, str):
            assert a == b
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def check(function, make, calls=3, rtol=2e-6):
    """The jitted function against NumPy, results and what it left in its arguments, call by call."""
    jitted = asnumpy.jit(lambda *args: function(asnumpy, *args))
    for k in range(calls):
        given = make(k)
        host = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
        device = [asnumpy.array(a) if isinstance(a, np.ndarray) else a for a in given]
        numpys = function(np, *host)
        same(jitted(*device), numpys, rtol)
        same(
            [a for a in device if hasattr(a, "dtype")],
            [a for a in host if hasattr(a, "dtype")],
            rtol,
        )
    assert jitted.cache_info()[:2] == (calls - 1, 1)
    return jitted


def slices(np, u):
    u[1:-1, 1:-1] += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] - 2 * u[1:-1, 1:-1])
    u[0] = 7
    return u[::2, 1]


def numbers(np, x):
    """An operator in place makes another number, as with NumPy's scalars."""
    first = total = x.sum()
    total *= 0.5
    element = same = x[3]
    element += 1
    element **= 2
    x[1] -= 7.25
    array = np.asarray(first)  # a copy, which is an array
    view = array[...]
    array += 3
    return first, total, same, element, x, array, view


def step(np, w, x, y):
    hidden = np.maximum(x @ w, 0)
    e = np.exp(hidden - hidden.max(1, keepdims=True))
    d = (e / e.sum(1, keepdims=True) - y) / len(x)
    w -= 0.1 * (x.T @ d)
    return (d * d).sum()


FUNCTIONS = {
    "chain": (lambda np, x, y: np.exp(-x * x) + 2 * y - x / 4, (50,), (50,)),
    "several": (lambda np, x, y: (x + y, x - y, {"product": x * y}, [x, None, 3]), (50,), (50,)),
    "rows": (lambda np, x, y: x * y[:, None] + y.mean(), (7, 9), (7,)),
    "reductions": (lambda np, x: (x.sum(), x.mean(0), x.max(), x.std(1), np.ptp(x)), (7, 9)),
    "elements": (lambda np, x: (x[0] * x[-1], x * x[3], sum(v * 2 for v in x[:4])), (9,)),
    "an element stays": (lambda np, x: (x[0], x.__setitem__(0, 5), x[0])[::2], (9,)),
    "numbers are no views": (numbers, (9,)),
    "where": (lambda np, x: np.where(x > 0, x, 0.1 * x), (40,)),
    "slices": (slices, (8, 8)),
    "views": (lambda np, x: (x.T, x[1:, ::-1], x.reshape(-1)[:3]), (4, 5)),
    "made": (lambda np, x: x + np.arange(9) * 0.5 + np.ones(9, "f4") + np.array([1] * 9), (9,)),
    "constants": (lambda np, x: (np.zeros(3), np.full((2, 2), 1.5), x), (9,)),
    "gather": (lambda np, x: x[np.array([3, 0, -1])] + x.take([1, 1, 2]), (9,)),
    "scatter": (lambda np, x: x.__setitem__(np.array([3, 0]), 1.0), (9,)),
    "masks": (lambda np, x: x.__setitem__(x > 0, 0.0), (9,)),
    "join": (lambda np, x, y: (np.concatenate([x, y, x]), np.stack([x, y])), (9,), (9,)),
    "rolls": (lambda np, x: np.roll(x, 1) + np.roll(x, -1) - 2 * x, (9,)),
    "casts": (lambda np, x: ((x * 8).astype("i4") // 3, x > 0.5), (40,)),
    "copy and write": (lambda np, x: [c := x.copy(), c.__imul__(3), x + c][2], (9,)),
    "quantiles": (
        lambda np, x: [np.median(x), np.percentile(x, [10, 90]), np.quantile(x, 0.3)],
        (2000,),
    ),
    "loop": (lambda np, x: [x := x * 0.9 + np.abs(x) for _ in range(300)][-1], (9,)),
    "large": (lambda np, x, y: ((x * y + x).sum(0), np.abs(x) * y), (64, 100), (100,)),
    "nothing": (lambda np, x: None, (9,)),
    "no elements": (lambda np, x: (x * 2, x.sum()), (0, 4)),
}
LONGER = {  # operators that an NPU's documentation does not promise for these dtypes
    "products": (lambda np, x, y: (x @ y, y.T @ y), (6, 7), (7, 5)),
    "stacks of products": (lambda np, x, y: (x @ y, x @ y[0], x[1] @ y), (2, 3, 4), (2, 4, 5)),
    "training step": (step, (12, 4), (6, 12), (6, 4)),
    "solve": (
        lambda np, x, y: np.linalg.solve(x @ x.T + 5 * np.eye(4, dtype="f4"), y),
        (4, 6),
        (4,),
    ),
    "inverse": (lambda np, x: np.linalg.inv(x + 5 * np.eye(4, dtype="f4")), (4, 4)),
    "sort": (lambda np, x: (np.sort(x), np.argsort(x), np.median(x)), (31,)),
    "sums along": (lambda np, x: (np.cumsum(x), np.maximum.accumulate(x)), (31,)),
    "quantile": (lambda np, x: np.percentile(x, 30), (31,)),
    "einsum": (lambda np, x, y: np.einsum("ij,jk->ik", x, y), (6, 7), (7, 5)),
    "linspace": (lambda np, x: x * np.linspace(0, 1, 31, dtype="f4"), (31,)),
    "average": (lambda np, x: np.average(x, weights=np.abs(x) + 1), (31,)),
    "nan": (lambda np, x: (np.nanmean(x), np.nan_to_num(x)), (31,)),
    "pad": (lambda np, x: np.pad(x, 2), (5, 6)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_as_numpy(name, rng):
    function, *shapes = FUNCTIONS[name]
    check(function, lambda k: arrays(rng, *shapes))


@pytest.mark.parametrize("name", LONGER)
def test_operators_same_as_numpy(name, rng):
    function, *shapes = LONGER[name]
    check(function, lambda k: arrays(rng, *shapes), rtol=2e-4)


@pytest.mark.skipif(
    SINGLE_OPERATORS, reason="transforms and updates need the fused operator's relatives"
)
def test_relatives_same_as_numpy(rng):
    check(
        lambda np, x: (np.fft.ifft(np.fft.fft(x)).real, np.convolve(x, x[:5])),
        lambda k: arrays(rng, 31, dtype="float64"),
        rtol=1e-12,
    )
    at = np.array([3, 0, 3, 3])
    for name in ("add", "multiply", "maximum", "subtract"):
        check(lambda np, x, name=name: getattr(np, name).at(x, at, 0.5), lambda k: arrays(rng, 5))


def test_bits_are_those_of_the_function(rng):
    """Element by element; a sum's order is that of its program, with and without jit."""

    def function(x, y):
        z = asnumpy.sin(x) * asnumpy.sqrt(asnumpy.abs(y))
        x -= z * 0.5
        return z, z > x, asnumpy.exp(z) / (1 + y * y) - (x.astype("f8") * y).astype("f4")

    jitted = asnumpy.jit(function)
    for n in (1, 10, 1000, 5000):
        for _ in range(3):
            x, y = (asnumpy.array(a) for a in arrays(rng, n, n))
            twin = x.copy()
            results = [*jitted(x, y), x], [*function(twin, y), twin]
            for ours, written in zip(*results, strict=True):
                assert np.asarray(ours).tobytes() == np.asarray(written).tobytes(), n


# ---- what a trace is for


def test_traced_once_for_a_kind():
    ran = []

    @asnumpy.jit
    def f(x, scale=1):
        ran.append(x.shape)
        return x * scale

    x = asnumpy.ones((4, 6), "f4")
    f(x), f(x + 1), f(x, 1)  # the default is no argument of the call
    f(x[:2]), f(x.T), f(x.astype("i4")), f(x, 2), f(x, 2.0), f(x, np.float32(2)), f(x, scale=2)
    assert len(ran) == 9
    f(x[2:]), f(x * 3, 2.0), f(x.T)
    assert len(ran) == 9 and f.cache_info().hits == 4


def test_offsets_do_not_matter_sharing_does():
    @asnumpy.jit
    def f(x, y):
        x += 1
        return x * 10 + y

    base = asnumpy.arange(20.0, dtype="f4")
    for at in (0, 3, 7):  # apart: one kind, wherever they lie
        x, y = base[at : at + 4], base[12:16]
        before = np.array(x) + 1
        same(f(x, y), before * 10 + np.array(y))
        same(x, before)
    assert f.cache_info()[:2] == (2, 1)
    for at in (0, 8):
        x = base[at : at + 4]
        before = np.array(x) + 1
        same(f(x, x), before * 11)
        x, y = base[at : at + 4], base[at + 1 : at + 5]
        want_x = np.array(x) + 1
        want_y = np.concatenate([want_x[1:], np.array(y)[3:]])
        same(f(x, y), want_x * 10 + want_y)
        x, y = base[at : at + 8 : 2], base[at + 1 : at + 8 : 2]  # between each other
        before = np.array(x) + 1
        same(f(x, y), before * 10 + np.array(y))
    assert f.cache_info()[:2] == (5, 4)


def test_arguments_beside_what_is_closed_over():
    """A slice of an array that the function knows by name, too: the name stays what it is."""
    base = asnumpy.arange(12.0, dtype="f4")

    @asnumpy.jit
    def f(x):
        x += 1
        base[0] += 100
        return x + base[:4], x[1:]

    def expected(x):
        x += 1
        want[0] += 100
        return x + want[:4], x[1:]

    want = np.arange(12.0, dtype="f4")
    other, others = asnumpy.arange(4, dtype="f4"), np.arange(4, dtype="f4")
    for ours, numpys in [
        (base[4:8], want[4:8]), (base[:4], want[:4]), (other, others), (base[1:5], want[1:5]), (other, others),
        (base[8:], want[8:]),
    ]:  # fmt: skip
        got, expect = f(ours), expected(numpys)
        same(got, expect)
        got[1][...] += 5  # a view of the argument
        expect[1][...] += 5
        same([ours, base], [numpys, want])
    assert f.cache_info().currsize == 1


def test_a_result_read_before_what_is_closed_over_changes():
    """The function's own name of the memory reaches a little further than the argument: nothing waits."""
    n = 30_000
    base, want = asnumpy.arange(n + 1.0), np.arange(n + 1.0)

    def function(x, known):
        before = x * 3  # of what the argument has now
        known *= 2
        after = x + 1
        known -= 1
        return before, after

    f = asnumpy.jit(lambda x: function(x, base[1:]))
    for _ in range(3):
        same(f(base[:-1]), function(want[:-1], want[1:]))
        same(base, want)


def test_numbers_are_part_of_the_kind():
    f = asnumpy.jit(lambda x, c: x * c)
    x = asnumpy.ones(3, "f4")
    for c, dtype in [(0.5, "f4"), (2, "f4"), (True, "f4"), (np.float64(0.5), "f8"), (1j, "c8")]:
        assert f(x, c).dtype == dtype and f(x, c).dtype == dtype
    assert f.cache_info()[:2] == (5, 5)
    assert np.signbit(np.asarray(f(x, -0.0))).all() and not np.signbit(np.asarray(f(x, 0.0))).any()


NUMBERS = {
    "count_nonzero": lambda x: asnumpy.count_nonzero(x),
    "trace": lambda x: asnumpy.trace(x[:9].reshape(3, 3)),
    "norm": lambda x: asnumpy.linalg.norm(x, 3),
    "vector_norm": lambda x: asnumpy.linalg.vector_norm(x, ord=1),
    "sum": lambda x: x.sum(),
    "argmax": lambda x: x.argmax(),
    "all": lambda x: (x > -1e9).all(),
    "element": lambda x: x[3],
}


@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_returned_are_of_the_call(name, n):
    """Alone, a NumPy scalar; of a trace, an array of no dimensions, computed anew for each call."""
    function = NUMBERS[name]
    jitted = asnumpy.jit(function)
    for shift in (0.0, 3.0, 7.0):
        x = (asnumpy.arange(float(n)) - shift) * (1 + shift)
        made, expected = jitted(x), function(x)
        assert type(made) is asnumpy.ndarray and made.ndim == 0
        assert isinstance(expected, np.generic)
        np.testing.assert_allclose(float(made), float(expected), rtol=1e-12)
    assert isinstance(asnumpy.ones(3).sum(), np.generic)  # the trace has ended


def test_static_arguments(rng):
    def function(x, axis, mode="sum", *, flip=False):
        made = getattr(asnumpy, mode)(x, axis=axis)
        return made[::-1] if flip else made

    x = asnumpy.array(arrays(rng, (3, 4))[0])
    for f in (
        asnumpy.jit(function, static_argnums=(1, 2), static_argnames="flip"),
        asnumpy.jit(static_argnames=("axis", "mode", "flip"))(function),
        asnumpy.jit(static_argnums=-1)(function),
    ):
        same(f(x, 0), np.asarray(x).sum(0))
        same(f(x, axis=1, mode="max", flip=True), np.asarray(x).max(1)[::-1])
        same(f(x, (0, 1)), np.asarray(x).sum())
    f = asnumpy.jit(lambda x, how: how(x), static_argnums=1)
    same(f(x, asnumpy.abs), np.abs(np.asarray(x)))
    assert f.cache_info().misses == 1 and f(x, asnumpy.negative) is not None
    assert f.cache_info().misses == 2


def test_trees():
    @asnumpy.jit
    def f(state, options):
        new = {"w": state["w"] * options.first, "b": [state["b"][0] + 1]}
        return Pair(new, (options.second, state["w"].shape, "text", None))

    state = {"w": asnumpy.ones(3, "f4"), "b": [asnumpy.zeros(2, "f4")]}
    for k in range(3):
        got = f(state, Pair(2.0, "kind"))
        assert type(got) is Pair and got.second == ("kind", (3,), "text", None)
        same(got.first["w"], np.full(3, 2.0 ** (k + 1), "f4"))
        state = got.first
    same(state["b"][0], np.full(2, 3, "f4"))


def test_large_trees():
    f = asnumpy.jit(lambda tree: {key: value + 1 for key, value in tree.items()})
    tree = {f"layer {k}": asnumpy.full(2, k, "f4") for k in range(200)}
    for _ in range(2):
        got = f(tree)
        assert list(got) == list(tree)
        same(list(got.values()), [np.full(2, k + 1, "f4") for k in range(200)])
    with pytest.raises(TypeError, match="the call has more than 256 arrays"):
        f({**tree, "more": [asnumpy.zeros(1) for _ in range(100)]})
    with pytest.raises(TypeError, match="more than 512 strings"):
        f({str(k): None for k in range(600)})


def test_identities():
    @asnumpy.jit
    def f(x, y):
        z = x + y
        return x, y[1:], z, z, z[::2]

    for _ in range(2):
        x, y = asnumpy.ones(4, "f4"), asnumpy.ones(4, "f4")
        a, b, c, d, e = f(x, y)
        assert a is x and b.base is y and c is d
        b += 5
        c += 1
        same([y, e], [np.array([1, 6, 6, 6], "f4"), np.array([3, 3], "f4")])


def test_results_outlive_calls():
    f = asnumpy.jit(lambda x: (x * 2, x * 3))
    kept = [f(asnumpy.full(5, k, "f4")) for k in range(6)]
    for k, (two, three) in enumerate(kept):
        same([two, three], [np.full(5, 2 * k, "f4"), np.full(5, 3 * k, "f4")])


def test_arrays_from_outside_are_memory():
    weights = asnumpy.ones(3, "f4")
    count = asnumpy.zeros(1, "f4")

    @asnumpy.jit
    def f(x):
        count[...] += 1
        return x * weights

    x = asnumpy.ones(3, "f4")
    same(f(x), np.ones(3, "f4"))
    weights[1] = 5
    same(f(x), np.array([1, 5, 1], "f4"))
    weights *= 2
    same(f(x), np.array([2, 10, 2], "f4"))
    same(count, np.array([3], "f4"))


def test_pending_operations_come_first(rng):
    host = arrays(rng, 5000)[0]
    f = asnumpy.jit(lambda x, y: x.__iadd__(y))
    x, y = asnumpy.array(host), asnumpy.array(host)
    for _ in range(3):
        before = x * 1  # recorded, reads x
        f(x, y * 2)
        same([before, x], [host, host + host * 2])
        host = host + host * 2
        y = x * 1


@pytest.mark.skipif(NPU, reason="the host does not reach an NPU's memory")
def test_memory_of_the_host():
    @asnumpy.jit
    def f(x, y):
        x *= 2
        return x + y

    host = np.ones(6, "f4")
    for k in range(3):  # NumPy's arrays are adopted, so writes arrive
        same(f(host[:3], host[3:]), np.full(3, 2.0 ** (k + 1) + 1, "f4"))
    assert host.tolist() == [8, 8, 8, 1, 1, 1]
    x = asnumpy.ones(4, "f4")
    shown = np.asarray(x)
    same(f(x, x[:1]), np.array([4, 4, 4, 4], "f4"))
    assert shown.tolist() == [2, 2, 2, 2]


@pytest.mark.skipif(NPU, reason="the host does not reach an NPU's memory")
def test_two_names_of_one_memory():
    host = np.zeros(8)
    constant = asnumpy.asarray(host)

    @asnumpy.jit
    def f(x):
        x += 1
        return constant * 2

    same(f(asnumpy.zeros(8)), np.zeros(8))
    same(f(host), np.full(8, 2.0))  # this x lies over the constant
    same(f(host), np.full(8, 4.0))


def test_control_flow_on_shapes():
    @asnumpy.jit
    def f(x):
        while len(x) > 1:
            half = len(x) // 2
            x = (
                x[:half] + x[half : 2 * half]
                if len(x) % 2 == 0
                else asnumpy.append(x[:half] + x[half:-1], x[-1])
            )
        return x[0]

    for n in (1, 2, 7, 16):
        assert float(f(asnumpy.ones(n, "f4"))) == n == float(f(asnumpy.ones(n, "f4")))


def test_nested_jits_are_inlined():
    inner = asnumpy.jit(lambda x: x * 2 + 1)
    outer = asnumpy.jit(lambda x: inner(inner(x)) - x)
    x = asnumpy.arange(4, dtype="f4")
    same(
        [outer(x), outer(x + 1)],
        [3 * np.arange(4, dtype="f4") + 3, 3 * np.arange(4, dtype="f4") + 6],
    )
    assert inner.cache_info() == (0, 0, 64, 0)


def test_methods():
    class Layer:
        def __init__(self, scale):
            self.scale = asnumpy.full(3, scale, "f4")

        @asnumpy.jit(static_argnums=0)
        def __call__(self, x):
            return x * self.scale

    one, two = Layer(2), Layer(3)
    for _ in range(2):
        same(
            [one(asnumpy.ones(3, "f4")), two(asnumpy.ones(3, "f4"))],
            [np.full(3, 2, "f4"), np.full(3, 3, "f4")],
        )
    assert Layer.__call__.cache_info().misses == 2


# ---- the cache, compile, explain, switches


def test_least_recently_called_goes():
    f = asnumpy.jit(lambda x: x + 1, maxsize=3)
    make = lambda n: asnumpy.zeros(n, "f4")  # noqa: E731
    for n in (1, 2, 3, 1, 4, 1, 3):
        f(make(n))
    assert f.cache_info() == (3, 4, 3, 3)  # 2 was the oldest when 4 came
    f(make(2))
    assert f.cache_info().misses == 5
    f.cache_clear()
    assert f.cache_info() == (0, 0, 3, 0) and f.explain() == "<lambda>: nothing is traced yet"


def test_compile_ahead(rng):
    ran = []

    @asnumpy.jit(static_argnames="power")
    def f(x, y, power=2):
        ran.append(1)
        x += 1
        return x @ y + asnumpy.log(x).sum() if NPU is False else x * y.sum()

    assert f.compile((3, 4), (4,), dtype="float32") is f and len(ran) == 1
    x, y = (asnumpy.array(a) for a in arrays(rng, (3, 4), 4))
    f(abs(x) + 1, y)
    f.compile(x, y, power=3).compile(np.empty((2, 4), "f4"), np.empty(4, "f4"))
    assert len(ran) == 3 and f.cache_info() == (1, 3, 64, 3)
    f(asnumpy.ones((2, 4), "f4"), y)
    assert len(ran) == 3
    g = asnumpy.jit(lambda tree, n: {"sum": tree["a"] + tree["b"][0] * n})
    g.compile({"a": (3,), "b": [(3,)]}, 2)
    same(g({"a": asnumpy.ones(3), "b": [asnumpy.ones(3)]}, 2)["sum"], np.full(3, 3.0))
    assert g.cache_info().misses == 1


def test_explain_names_steps_and_memory():
    f = asnumpy.jit(lambda x, n: (x * 2 + 1).reshape(-1, n).sum(0))
    f(asnumpy.ones(12, "f4"), 4)
    text = f.explain()
    assert "<lambda>(float32 (12,))" in text
    for word in ("step", "temporar", "argument 0", "result 0", "bytes"):
        assert word in text
    (entry,) = f._entries()
    assert entry["arena_bytes"] >= 0 and entry["result_bytes"] == 16 and entry["steps"] >= 1
    # A view is named by where it begins in its array.
    f = asnumpy.jit(lambda x: x[2:] * x[:-2])
    for at in (0, 1):
        f(asnumpy.ones(8, "f4")[at : at + 6])
    assert re.findall(r"argument 0\S*", f.explain()) == ["argument 0[+8", "argument 0"]


def test_temporaries_share_memory(rng):
    def function(x):
        for _ in range(20):
            x = asnumpy.roll(asnumpy.exp(-x * x), 1).reshape(50, 100) @ eye
            x = x.reshape(-1)
        return x

    eye = asnumpy.eye(100, dtype="f4")
    f = asnumpy.jit(function)
    f(asnumpy.array(arrays(rng, 5000)[0]))
    (entry,) = f._entries()
    assert entry["temporary_bytes"] > 4 * entry["arena_bytes"] > 0


def test_memory_goes_back():
    held_by_trace = {"constant": asnumpy.ones(1 << 20, "f4")}
    f = asnumpy.jit(lambda x: (x * 2).sum(0) + held_by_trace["constant"].sum())
    f(asnumpy.ones((64, 64), "f4"))
    gc.collect()
    asnumpy.synchronize()
    held = asnumpy.memory_stats()["bytes_in_use"]
    for _ in range(20):
        f(asnumpy.ones((64, 64), "f4"))
    asnumpy.synchronize()
    assert asnumpy.memory_stats()["bytes_in_use"] <= held + 4096
    held_by_trace.clear()
    f.cache_clear()
    del f
    gc.collect()
    assert asnumpy.memory_stats()["bytes_in_use"] <= held - (4 << 20) + 4096


def test_switched_off():
    ran = []
    f = asnumpy.jit(lambda x: (ran.append(1), x + 1)[1])
    x = asnumpy.ones(3, "f4")
    f(x), f(x)
    with asnumpy.disable_jit():
        f(x), f(x)
        with asnumpy.disable_jit(False):
            f(x)
    f(x)
    assert len(ran) == 3
    code = "import asnumpy as np; n=[]; f=np.jit(lambda x: (n.append(1), x+1)[1]); f(np.ones(3)); f(np.ones(3)); print(len(n))"
    for value, count in (("0", "2"), ("1", "1")):
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ASNUMPY_REPLAY": value},
            capture_output=True,
            text=True,
        )
        assert out.stdout.strip() == count, out.stderr


def test_wrapping():
    def named(x):
        """Says so."""
        return x

    f = asnumpy.jit(named)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("named", "Says so.", named)
    assert asnumpy.jit(f).__wrapped__ is named and "jitted" in repr(f)


def test_threads(rng):
    """Traces and replays on several threads, beside work that is not jitted."""
    f = asnumpy.jit(lambda x, y: (x * y + 1).sum(), maxsize=3)
    wrong = []

    def work(seed):
        mine = np.random.default_rng(seed)
        for k in range(60):
            n = int(mine.integers(1, 7))
            x, y = (mine.random(n).astype("f4") for _ in range(2))
            got = float(f(asnumpy.array(x), asnumpy.array(y)))
            free = float((asnumpy.array(x) * 2).sum())
            if abs(got - (x * y + 1).sum()) > 1e-4 or abs(free - (x * 2).sum()) > 1e-4:
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_threads_are_not_captured():
    inside, go = threading.Event(), threading.Event()

    def function(x):
        inside.set()
        go.wait(0.2)
        return x + 1

    got = []

    def beside():
        inside.wait()
        go.set()
        got.append(float((asnumpy.ones(3, "f4") * 5).sum()))

    busy, alone = asnumpy.jit(function), asnumpy.jit(function)
    thread = threading.Thread(target=beside)
    thread.start()
    busy(asnumpy.ones(3, "f4"))
    thread.join()
    alone(asnumpy.ones(3, "f4"))
    assert got == [15] and busy._entries()[0]["steps"] == alone._entries()[0]["steps"]


def test_operators_by_their_names(rng):
    """CANN's operators of asnumpy.ops.aclnn: tensors, lists, numbers and integers, views, memory written in place."""
    call, shift = asnumpy.ops.aclnn, asnumpy.array(np.arange(3, dtype="f4"))

    def function(x, y):
        leaky = call("LeakyRelu", x * 2, np.float32(0.5), outputs=asnumpy.empty(x.shape, x.dtype))
        turned = call("Permute", leaky, (1, 0), outputs=asnumpy.empty((3, 4), x.dtype))
        both = call("Cat", (turned.T, y, x), 0, outputs=asnumpy.empty((12, 3), x.dtype))
        return both + shift, call("InplaceSigmoid", outputs=y), turned[1:]

    def expected(x, y, shift):
        leaky = np.where(x > 0, 2 * x, x)
        return np.concatenate([leaky, y, x]) + shift, 1 / (1 + np.exp(-y)), leaky.T[1:]

    jitted = asnumpy.jit(function)
    for k in range(4):
        x, y = arrays(rng, (8, 3), (4, 3))
        shift[1] = k  # read by each call
        given = asnumpy.array(x)[::2], asnumpy.array(y)
        wanted = expected(x[::2], y, np.array([0, k, 2], "f4"))
        same(jitted(*given), wanted)
        same(given, (x[::2], wanted[1]))
    assert jitted.cache_info()[:2] == (3, 1)
    with pytest.raises(RuntimeError, match="aclnnRelu: .*161002"):
        asnumpy.jit(lambda x: call("Relu", x, outputs=asnumpy.empty(5)))(asnumpy.ones(4, "f4"))
