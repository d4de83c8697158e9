"""Exception classes and floating-point exceptions: what NumPy raises or warns about, we do too."""

import warnings

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from oracle import outcome, same

BAD = """
np.ones(3) + np.ones(4)
np.add.reduce(np.ones((2, 3)), 0, out=np.zeros((1, 3)))
np.add.reduce(np.ones((2, 3)), None, out=np.zeros(2))
np.ones((2, 3)).max(0, out=np.zeros(3), keepdims=True)
np.dot(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2), "f4"))
np.dot(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 3)))
np.matmul(np.ones((2, 2)), np.ones((2, 2)), out=np.ones((3, 2)))
np.matmul(np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 2), int))
np.matmul(np.ones((0, 1, 1)), np.ones((0, 1, 1)), out=np.ones((1, 1, 1)))
np.arange(3.0).take([1], out=np.zeros(1, "c16"))
np.arange(3).compress([0, 1], out=np.zeros(1, "f4"))
np.searchsorted([1, 2], 1, sorter=[1.0, 0.0])
np.searchsorted([1, 2], 1, sorter=["a", "b"])
np.searchsorted([1, 2], 1, sorter=[1])
np.searchsorted([5, 2, 1, 3, 4], 0, sorter=[-1, 0, 1, 2, 3])
np.array([5, 2, 1, 3, 4]).searchsorted([1, 0], sorter=np.array([4, 0, -1, 2, 3], "i1"))
np.fromstring(b"1234")
np.fromstring("1234", dtype="i1", count=2)
np.arange(5).searchsorted(1, sorter=2)
np.ones((2, 2)).sum(axis=True)
np.ones((2, 2)).max(axis=True)
np.ones((2, 2)).mean(axis=True)
np.ones((2, 2)).std(axis=True)
np.ones((2, 2)).all(axis=True)
np.ones((2, 2)).argmax(axis=True)
np.ones((2, 2)).cumsum(axis=True)
np.ones((2, 2)).argsort(axis=True)
np.ones((2, 2)).repeat(2, axis=False)
np.ones((2, 2)).min(axis=(0, True))
np.ones((2, 2)).take([0], axis=True)
np.ones((2, 2)).cumsum((0,))
np.concatenate((np.ones((2, 2)), np.ones((2, 2))), axis=True)
np.add.reduce(np.ones((2, 2)), False)
np.add.accumulate(np.ones((2, 2)), True)
np.add.accumulate(np.ones((2, 2)), None)
np.add.accumulate(np.ones((2, 2)), (0, 1))
np.add.reduceat(np.ones((2, 2)), [0], None)
np.add.reduceat(np.ones((2, 2)), [0], ())
np.flip(np.ones((2, 2)), True + 1.0)
np.ones(3).resize(2, refcheck="no")
np.array([1, 2], copy="always")
np.power(np.int64(0), 2**63)
np.ones((3,) * 5)[np.ix_(*[np.zeros(7132, int)] * 5)]
np.ones((3,) * 5).__setitem__(np.ix_(*[np.zeros(7132, int)] * 5), 0)
np.unravel_index(1, (2**32 - 1, 2**31 + 1))
np.ravel_multi_index((0, 1), (2**32, 2**32))
np.arange("a", "b")
np.arange(0, [])
np.arange([])
np.einsum("i,i->", np.ones(3), np.ones(3), out=np.array(0))
np.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((2, 2)), out=np.zeros((2, 2), "f4"))
np.einsum("a,a,a,a->", *[np.ones(2)] * 4, optimize=["einsum_path", (2, 3), (0, 1)])
np.full(2, 10**30, dtype="i8")
np.ones((2, 3)) @ np.ones((2, 3))
np.add(np.ones(3), 1, out=np.zeros(3, int))
np.add(np.ones(3), 1, dtype=int)
np.add(np.ones(3), 1, out=np.zeros(4))
np.add(np.ones(3), 1, out=3)
np.add(np.ones(3), 1, out=(np.zeros(3), np.zeros(3)))
np.add(np.ones(3), 1, casting="nope")
np.add(np.ones(3), 1, order="Z")
np.add(np.ones(3), 1, out=np.zeros(3), where=[1.5, 0, 1])
np.add(np.ones(3), 1, signature="xx")
np.sin(np.ones(3), dtype=int)
np.bitwise_and(np.ones(3), 1)
np.invert(1.5)
np.left_shift(1.0, 2)
np.subtract(np.array([True]), np.array([True]))
-np.array([True])
+np.array([True])
np.power(np.arange(3), -1)
np.arange(3) ** -2
np.uint8(3) + 300
np.zeros(2, np.uint8) + 300
np.zeros(2, np.int8) * -200
np.floor(1j)
np.fmod(1j, 2)
np.less("a", 1)
np.add(np.ones(2), "b")
np.add(np.ones(2), None)
np.ones(2) + object()
np.ones(2) < "x"
np.sin("x")
np.sin(None)
np.matmul(np.ones(3), 1)
np.matmul(np.ones(3), np.ones(4))
np.ones(3).reshape(2, 2)
np.ones(3).reshape("x")
np.ones((2, 3)).transpose(0, 0)
np.ones((2, 3)).transpose(0)
np.ones((2, 3)).swapaxes(0, 5)
np.ones((2, 3)).squeeze(0)
np.ones(3).astype("nope")
np.ones(3).astype(int, casting="safe")
np.ones(3).view("c16")
np.ones(3).item()
np.ones(3).item(5)
np.ones(3).take([5])
np.ones(3).repeat([1, 2])
np.ones(3).repeat(-1)
np.ones(3).sort(axis=2)
np.ones((2, 2)).diagonal(axis1=0, axis2=0)
np.ones(2).diagonal()
np.ones(2).trace()
np.ones(3).dot(np.ones(4))
np.ones(3).partition(5)
np.ones(3).choose([1, 2])
np.zeros((2, -3))
np.zeros("x")
np.zeros(2.5)
np.zeros(3, order="X")
np.zeros([1] * 65)
np.zeros(2**62)
np.array([1, 2], dtype="nope")
np.array([1, [2, 3]])
np.asarray([1.5], dtype=int, copy=False)
np.full((2, 2), [1, 2, 3])
np.broadcast_to(np.ones(3), (2, 2))
np.broadcast_to(np.ones(3), (-1, 3))
np.concatenate([np.ones(2), np.ones((2, 2))])
np.concatenate([np.ones((2, 3)), np.ones((2, 2))])
np.concatenate([np.ones(2)], axis=1)
np.concatenate(3)
np.stack([])
np.expand_dims(np.ones(2), (0, 0))
np.where([True], 1)
np.bincount([1.5])
np.searchsorted([[1]], 1)
np.clip(np.ones(2))
np.clip(np.ones(2), 0, 1, min=0)
np.add.reduce(np.ones(3), axis=1)
np.add.reduce(np.ones((2, 2)), axis=(0, 0))
np.sin.reduce(np.ones(3))
np.divmod.reduce(np.ones(3))
np.add.outer(np.ones(2))
np.add.at(np.ones(3), [5], 1)
np.add.at([1, 2], [0], 1)
np.add.at(np.ones(3), [0])
np.maximum.reduce([])
np.fmax.reduce(np.ones((0, 2)))
np.ones(3)[1, 2]
np.ones(3)["x"]
iter(np.array(1))
len(np.array(1))
hash(np.ones(1))
bool(np.ones(2))
float(np.ones(2))
int(np.ones(1))
range(np.ones(1))
np.ones(3).flags["nope"]
np.seterr(all="nope")
np.linspace(0, 1, 2.5)
np.require([1], requirements=["C", "F"])
np.eye(2.5)
np.tri(2, "x")
np.diag(np.ones((2, 2, 2)))
np.take_along_axis(np.ones((2, 2)), np.ones((2, 2)), 0)
np.unravel_index(99, (2, 3))
np.ix_([[1]])
np.select([1], [2])
np.average([1, 2], weights=[0, 0])
np.ones(2).resize("x")
""".strip().splitlines()


@pytest.mark.parametrize("text", BAD)
def test_same_exception(text):
    same(lambda np_: eval(text, {"np": np_}), where=text)


CASTING_ERRORS = [
    lambda m: m.add(m.ones(3), 1, out=m.zeros(3, int)),
    lambda m: m.add(m.ones(3), 1, dtype=int),
    lambda m: m.zeros(3, int).__iadd__(1.5),
]


@pytest.mark.parametrize("i", range(len(CASTING_ERRORS)))
def test_exact_classes_and_messages(i):
    errors = []
    for m in (np, asnumpy):
        with pytest.raises(TypeError) as caught:
            CASTING_ERRORS[i](m)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]) and str(errors[0]) == str(errors[1])


MESSAGES = [
    lambda m: m.ones(3) + m.ones(4), lambda m: m.ones((2, 3))[5], lambda m: m.ones(3)[1, 2],
    lambda m: m.ones(3).sum(axis=2), lambda m: m.ones(6).reshape(4, 2), lambda m: m.ones(0).max(),
    lambda m: bool(m.ones(2)), lambda m: m.concatenate([m.ones((2, 3)), m.ones((2, 2))]),
    lambda m: m.ones(3).astype(int, casting="safe"), lambda m: m.zeros(2, "u1") + 300,
    lambda m: m.arange(3) ** -1, lambda m: m.ones(3)[1.5], lambda m: m.matmul(m.ones(3), m.ones(4)),
    lambda m: m.ones((2, 2)).transpose(0, 0), lambda m: m.sum(), lambda m: m.add(1),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(MESSAGES)))
def test_messages(i):
    texts = []
    for m in (np, asnumpy):
        with pytest.raises(Exception) as caught:
            MESSAGES[i](m)
        texts.append(str(caught.value).strip())
    assert texts[0] == texts[1]


needs_conditions = pytest.mark.skipif(
    SINGLE_OPERATORS,
    reason="single operators report no floating-point exceptions, only the fused one does",
)
CONDITIONS = {
    "divide by zero encountered in divide": lambda m: m.ones(3) / m.zeros(3),
    "divide by zero encountered in log": lambda m: m.log(m.zeros(3)),
    "invalid value encountered in divide": lambda m: m.zeros(3) / m.zeros(3),
    "invalid value encountered in sqrt": lambda m: m.sqrt(-m.ones(3)),
    "overflow encountered in exp": lambda m: m.exp(m.full(3, 1e4)),
    "overflow encountered in multiply": lambda m: m.full(3, 1e300) * 1e300,
    "divide by zero encountered in floor_divide": lambda m: m.arange(3) // m.zeros(3, int),
    "divide by zero encountered in remainder": lambda m: m.arange(3) % m.zeros(3, int),
    "invalid value encountered in cast": lambda m: m.array([np.nan]).astype(int),
    "divide by zero encountered in divmod": lambda m: divmod(m.arange(3), m.zeros(3, int)),
    "invalid value encountered in divmod": lambda m: m.divmod(m.zeros(3), m.zeros(3)),
    "overflow encountered in divmod": lambda m: divmod(m.array([-128], "i1"), m.array([-1], "i1")),
}


@needs_conditions
@pytest.mark.parametrize("message", CONDITIONS)
def test_floating_point_conditions(message):
    f = CONDITIONS[message]
    for m in (np, asnumpy):
        with pytest.warns(RuntimeWarning, match=message):
            f(m)
        with m.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
            f(m)
        with m.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            f(m)
            asnumpy.synchronize()


@needs_conditions
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_recorded_divmod_is_named(dtype):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quotient, rest = divmod(asnumpy.ones(100_000, dtype), 0)
        float(quotient[0]), float(rest[0])
    assert caught and all(str(w.message).endswith("encountered in divmod") for w in caught)


@needs_conditions
def test_errstate_covers_recorded_operations():
    big = asnumpy.zeros(100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with asnumpy.errstate(all="ignore"):
            a = (1 / big) * 0 + asnumpy.log(-1 - big)
        assert not bool((a == a).any())
    with pytest.warns(RuntimeWarning):
        float((1 / big)[0])


@needs_conditions
def test_error_modes():
    seen = []
    assert asnumpy.geterr() == np.geterr()
    with asnumpy.errstate(divide="call", call=lambda text, flag: seen.append((text, flag))):
        asnumpy.ones(2) / 0
        assert asnumpy.geterr()["divide"] == "call" and asnumpy.geterrcall() is not None
    assert seen == [("divide by zero", 1)]
    assert asnumpy.geterrcall() is None

    class Log:
        text = ""

        def write(self, message):
            self.text += message

    log = Log()
    with asnumpy.errstate(invalid="log", call=log):
        asnumpy.sqrt(asnumpy.array([-1.0]))
    assert log.text == "Warning: invalid value encountered in sqrt\n"
    old = asnumpy.seterr(over="raise")
    assert asnumpy.seterr(**old)["over"] == "raise"
    assert asnumpy.geterr() == old

    @asnumpy.errstate(divide="ignore")
    def quiet():
        return asnumpy.ones(2) / 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quiet().tolist() == [np.inf, np.inf]


def test_threads():
    """Calls from many threads: results are right and nothing deadlocks."""
    import threading

    failures = []

    def work(seed):
        try:
            a = asnumpy.array(np.random.default_rng(seed).random(20_000))
            for _ in range(30):
                b = (a * 2 + 1).sum() - (a + a).sum()
                if abs(float(b) - 20_000) > 1e-6:
                    failures.append(b)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failures and not any(t.is_alive() for t in threads)


@pytest.mark.skipif(not SINGLE_OPERATORS, reason="programs take any strides")
@pytest.mark.parametrize("convert", ["asarray", "array", "add", "tolist"])
def test_errors_of_recorded_operations_reach_the_host(convert):
    """NumPy drops what the buffer protocol raises, and goes on with the next one."""
    numbers = asnumpy.arange(9000.0, dtype="f4").reshape(3000, 3)
    # Strides of one and a half numbers, in as many dimensions as there may be: for operators
    # such an array is copied as smaller items, along one more.
    odd = numbers[:, :2].view("c8").reshape(3000, *[1] * 63)
    asnumpy.synchronize()
    ways = {
        "asarray": np.asarray,
        "array": np.array,
        "add": lambda a: np.asarray([1.0, 2.0]) + np.asarray(a[:2]),
        "tolist": lambda a: a.tolist(),
    }
    with pytest.raises(NotImplementedError, match="64 dimensions"):
        ways[convert](odd + 1)
    np.testing.assert_array_equal(np.asarray(numbers), np.arange(9000.0).reshape(3000, 3))


@pytest.mark.parametrize("name", ["modf", "frexp", "divmod"])
def test_ufuncs_of_two_results_are_named(name):
    """Not by the operation of one of their results."""
    operands = ["c8", "f4"][: getattr(np, name).nin]
    told = [
        pytest.raises(TypeError, getattr(m, name), *(m.ones(3, d) for d in operands)).value
        for m in (np, asnumpy)
    ]
    assert str(told[0]) == str(told[1])


@pytest.mark.parametrize("bounds", [
    "2, min=2", "2, max=4", "a_min=2, min=2", "a_max=2, min=2", "None, min=3", "2, 3, min=1", "2",
    "2, None, max=3", "min=2", "None, None, min=2", "",
])  # fmt: skip
def test_bounds_of_clip(bounds):
    found = [outcome(eval, f"m.clip(m.arange(5), {bounds})", {"m": m}) for m in (np, asnumpy)]
    assert type(found[0][1]) is type(found[1][1])
    assert found[0][1] is not None or found[0][0].tolist() == found[1][0].tolist()


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8"])
@pytest.mark.parametrize("value", [-1, -200, 300, 2**40, -(2**63)])
def test_integers_out_of_bounds(dtype, value):
    """NumPy's words, with the number as it was given."""

    def said(m):
        try:
            m.ones(3, dtype) + value
        except OverflowError as e:
            return str(e)
        return None

    assert said(asnumpy) == said(np)
