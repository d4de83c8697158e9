"""Programs that go between AsNumpy's arrays and what stays NumPy's: dates, text, records, memory maps,
names that NumPy lost; and results written where NumPy lets them be written."""

import datetime
import operator
import os
import pickle
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import asnumpy
import numpy as np
import pytest
from conftest import NPU
from oracle import same, to_host

SAME = """
np.arange("2017-01", "2017-04", dtype="M8[M]")
np.arange(np.datetime64("2017-01-01"), np.datetime64("2017-01-09"), np.timedelta64(2, "D"))
np.arange(np.datetime64("2017-01-01"), 5)
np.arange(np.timedelta64(3, "s"))
np.arange(np.array("2017-01-01", "M8[D]"), np.array("2017-01-04", "M8[D]"))
np.busday_offset("2012-01-01", np.arange(3), roll="forward")
np.busday_count("2011-01", np.array(["2011-02", "2011-03"], "M8[M]"))
np.is_busday(np.arange("2017-01-01", "2017-01-08", dtype="M8[D]"))
np.strings.mod(np.array(["%d", "%x"]), np.arange(2))
np.strings.multiply(np.array(["a", "b"]), np.arange(2))
np.ndarray((2,), "U3").dtype
np.ndarray((2,), "M8[s]", buffer=np.zeros(2, "i8"))
np.ndarray((1, 2), object)
np.array(10**40) + 1
np.einsum("i,i->", np.ones(3), np.ones(3), out=np.array(0), optimize=True)
np.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((2, 2)), out=np.zeros((2, 2), int), optimize=True)
np.einsum("...ft,mf->...mt", np.ones((2, 3, 5), order="F"), np.ones((4, 3), order="F"), order="a").strides
np.arange(4.0).take([1, 2], out=np.zeros(2, "i4"))
np.arange(4.0).compress([0, 1, 1], out=np.zeros(2, "i4"))
np.full_like(np.ones(2, "i1"), np.int64(1000))
np.full_like(np.ones(2, "u1"), np.float64(300.5))
[np.copyto(a := np.zeros(2, t), 10**100) or a for t in ("f4", "f8", "c8")][0]
np.array([2.0]) * 10**30
np.promote_types(*[np.dtype({"names": ["a", "b"], "formats": ["i1", "i8"], "offsets": [3, 17], "itemsize": 40})] * 2)
np.zeros_like(np.zeros((2, 3), ">i4"))
np.full_like(np.zeros(3, ">f8"), 2, dtype="f4")
np.float64(1) + np.broadcast_arrays(0, np.arange(3))[0]
"""


@pytest.mark.parametrize("text", SAME.strip().splitlines())
def test_same_as_numpy(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (eval(text, {"np": module}) for module in (asnumpy, np))
    ours = to_host(ours)
    assert type(ours) is type(theirs)
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert ours.tolist() == theirs.tolist()
    else:
        assert ours == theirs


def test_memory_maps_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "data", dtype="f8", mode="w+", shape=(3, 4))
    mapped[:] = 2
    for f in (asnumpy.add, asnumpy.multiply):
        for x, y in ((mapped, 1.0), (asnumpy.ones(4), mapped), (mapped, mapped)):
            result = f(x, y)
            assert type(result) is asnumpy.ndarray
            assert (
                to_host(result).tolist() == getattr(np, f.__name__)(to_host(x), to_host(y)).tolist()
            )
    assert asnumpy.add(mapped, 1, out=mapped) is mapped
    assert (np.array(mapped) == 3).all()


def test_a_file_that_is_mapped_can_be_flushed(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4.0))
    mapped = asnumpy.load(tmp_path / "x.npy", mmap_mode="r+")
    assert type(mapped) is np.memmap
    mapped[1:] = asnumpy.ones(3) * 7
    mapped.flush()
    assert np.load(tmp_path / "x.npy").tolist() == [0, 7, 7, 7]
    assert (
        type(asnumpy.sum(mapped)) is np.float64
        and type(asnumpy.load(tmp_path / "x.npy")) is asnumpy.ndarray
    )


@pytest.mark.parametrize("name", ["float", "int", "cast", "alltrue", "NaN", "no_such_name"])
def test_removed_names(name):
    with pytest.raises(AttributeError) as theirs:
        getattr(np, name)
    with pytest.raises(AttributeError) as ours:
        getattr(asnumpy, name)
    assert str(ours.value) == str(theirs.value).replace("module 'numpy' has no attribute 'no", "module 'asnumpy' has no attribute 'no")  # fmt: skip


def test_functions_of_records():
    from asnumpy.lib import recfunctions

    record = asnumpy.array([(1, 2.0)], dtype="i4,f8")
    assert recfunctions.structured_to_unstructured(record).tolist() == [[1.0, 2.0]]


def test_resize_without_new_memory():
    for module in (asnumpy, np):
        owner = module.arange(6)
        view = owner[...]
        view.resize((3, 2))
        empty = module.zeros((4, 0))[...]
        empty.resize((0, 7))
        assert view.shape == (3, 2) and view.base is owner and empty.shape == (0, 7)
        with pytest.raises(ValueError, match="does not own its data"):
            view.resize((4, 2))


def test_items_by_the_sequence_protocol():
    """PySequence_GetItem adds the length to a negative index once."""
    a = asnumpy.arange(10.0)
    assert [operator.getitem(a, -1), a.__getitem__(-10)] == [9.0, 0.0]
    assert list(reversed(a)) == list(range(9, -1, -1))
    for index in (-11, 10, -20):
        for f in (lambda i: a[i], a.__getitem__, lambda i: a.__setitem__(i, 0)):
            with pytest.raises(IndexError):
                f(index)


def test_base_of_a_buffer():
    for module in (asnumpy, np):
        a, text = module.arange(10), b"12345678"
        assert module.frombuffer(a, dtype="i8").base is a
        assert module.frombuffer(text).base is text


def test_broadcast_arrays_may_be_written():
    results = []
    for module in (asnumpy, np):
        a, b = module.broadcast_arrays(module.arange(3.0)[:, None], module.ones((3, 4)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a += b
        results.append(np.asarray(a).tolist())
        assert memoryview(module.broadcast_arrays(0, module.arange(3))[0]).readonly
        fixed = module.ones(3)
        fixed.flags.writeable = False
        assert not module.broadcast_arrays(fixed, module.ones((2, 3)))[0].flags.writeable
    assert results[0] == results[1]


def test_where_reports_what_its_numbers_meet():
    for module in (asnumpy, np):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert module.where(True, module.ones(2, "f4"), 1e150).dtype == "f4"


def test_pickled_functions_of_numpy():
    f = pickle.loads(pickle.dumps(asnumpy.busday_count))
    assert f("2011-01", "2011-02") == np.busday_count("2011-01", "2011-02")


def test_overridden_calls_are_checked():
    """A ufunc refuses what no operand could mean before it asks __array_ufunc__."""

    class Taker:
        def __array_ufunc__(self, *args, **kwargs):
            return kwargs

    taker = Taker()
    for call in (
        lambda np: np.multiply(1, taker, nonsense=1),
        lambda np: np.multiply(taker),
        lambda np: np.multiply(taker, 1, sig="d", signature="d"),
        lambda np: np.modf(taker, out=taker),
        lambda np: np.modf(taker, out=None),
        lambda np: np.multiply(1, taker, where=3),
        lambda np: np.modf(taker, out=(None, taker)) == {"out": (None, taker)},
        lambda np: np.add.reduce(taker, 0, "f4", None, True),
        lambda np: np.add.reduce(taker, 0, out=()),
        lambda np: np.add(taker, 1, taker, out=taker),
        lambda np: np.add(taker, 1, out=(1, 2)),
        lambda np: np.add.outer(taker),
        lambda np: np.add.outer(taker, 1, 2),
        lambda np: np.add.reduce(taker, 0, axis=1),
        lambda np: np.add.accumulate(taker, 0, None, "out"),
        lambda np: np.add.accumulate(taker, 0, None, "out", 1),
        lambda np: np.add.reduceat(taker, [0, 1], 1, dtype="i8"),
        lambda np: np.add.outer(taker, 1),
        lambda np: np.add.at(taker, [0], 1),
    ):
        same(call)


def test_own_methods_take_over():
    """sum(x) is x.sum() where x's class brings that method."""

    class Frame:
        def sum(self, axis=None, out=None, **rest):
            return "sum", axis, out, rest

        def mean(self, axis=None, dtype=None, out=None):
            return "mean", axis, dtype, out

        max = argmax = cumsum = argsort = round = lambda self, **given: given
        clip = take = repeat = transpose = swapaxes = lambda self, *places, **given: (places, given)

        def squeeze(self):
            return "squeezed"

        def nonzero(self, one):  # NumPy makes the call itself where a method refuses it
            return "never"

        def __array__(self, dtype=None, copy=None):
            return np.array([0, 2])

    frame = Frame()
    calls = (
        lambda np: np.sum(frame),
        lambda np: np.sum(frame, 1),
        lambda np: np.sum(frame, axis=0, dtype="f4", keepdims=True),
        lambda np: np.mean(frame, 1),
        lambda np: np.max(frame, 0, initial=3),
        lambda np: np.argmax(frame),
        lambda np: np.cumsum(frame, 2),
        lambda np: (np.argsort(frame), np.argsort(frame, kind="stable")),
        lambda np: (np.round(frame), np.around(frame, 2)),
        lambda np: (
            np.clip(frame, 1, 2),
            np.clip(frame, min=1),
            np.clip(frame, 1, None, where=True),
        ),
        lambda np: np.clip(frame),
        lambda np: np.clip(frame, 1, 2, min=3),
        lambda np: (np.take(frame, [1]), np.take(frame, [1], 0, mode="clip")),
        lambda np: (
            np.repeat(frame, 2),
            np.repeat(frame, repeats=2, axis=0),
            np.swapaxes(frame, 0, 1),
        ),
        lambda np: (np.transpose(frame), np.transpose(frame, (1, 0)), np.squeeze(frame)),
        lambda np: np.nonzero(frame)[0].tolist(),
    )
    for call in calls:
        same(call)

    for module in (asnumpy, np):

        class Loud(module.ndarray):
            def sum(self, axis=None, dtype=None, out=None):
                return "loud"

        loud = module.ones(3).view(Loud)
        assert module.sum(loud) == "loud" and module.max(loud) == 1


def test_plain_arrays_beside_subclasses_that_refuse():
    for module in (asnumpy, np):

        class Quiet(module.ndarray):
            def __array_function__(self, *args):
                return NotImplemented

        a, quiet = module.arange(2), module.arange(2).view(Quiet)
        assert np.asarray(module.concatenate((a, quiet))).tolist() == [0, 1, 0, 1]
        with pytest.raises(TypeError, match="no implementation found"):
            module.concatenate((quiet, quiet))


def test_buffers_of_contiguous_arrays_have_plain_strides():
    for module in (asnumpy, np):
        a = module.lib.stride_tricks.as_strided(module.ones((1, 3, 4)), strides=(8, 32, 8))
        assert memoryview(a).strides == (96, 32, 8)
        fortran = module.asarray(module.ones((3, 1, 4)), order="F")
        assert memoryview(fortran).strides == (8, 24, 24)


def test_buffers_of_empty_arrays_are_writeable():
    """NumPy gives an array without elements strides of 0, which stretch nothing."""
    for a in (np.zeros((0, 3)), np.zeros((3, 0)), np.broadcast_to(np.zeros(()), (0, 3))):
        view = np.asarray(asnumpy.asarray(a))
        assert view.flags.writeable == a.flags.writeable and view.shape == a.shape


def test_inplace_matmul_asks_its_operand():
    class Taker:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method, len(inputs), kwargs["out"][0] is inputs[0]

    for module in (asnumpy, np):
        assert module.ones((2, 2)).__imatmul__(Taker()) == ("matmul", "__call__", 2, True)


def test_permutation_leaves_its_argument():
    class Holder:
        def __init__(self, module):
            self.held = module.arange(5)

        def __array__(self, dtype=None, copy=None):
            return self.held

    results = []
    for module in (asnumpy, np):
        for state in (module.random.RandomState(1), module.random.default_rng(1)):
            holder = Holder(module)
            results.append([np.asarray(state.permutation(holder)).tolist(), holder.held.tolist()])
    assert results[:2] == results[2:]


ODD = [
    "Fraction(1, 2)", "Decimal(2)", "datetime.date(2020, 1, 1)", "datetime.timedelta(1)", "{}", "b''", "b'a'", "'a'",
    "None", "object()", "...", "slice(1)", "{1}", "type", "[None]", "[1, None, 2]", "range(3)", "10**30", "-(10**30)",
    "np.datetime64('2020')", "np.timedelta64(1)", "10**30 * 1j",
]  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod,
    operator.matmul, operator.and_, operator.lshift, operator.eq, operator.ne, operator.lt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("dtype", ["f8", "i8", "?", "i1", "c8"])
def test_operators_beside_any_object(text, dtype):
    other = eval(text, {"np": np, "datetime": datetime, "Fraction": Fraction, "Decimal": Decimal})
    host = np.array([1, 2, 3]).astype(dtype)
    mine = asnumpy.array(host)
    for act in OPERATORS:
        for swapped in (False, True):
            same_call(lambda a: act(other, a) if swapped else act(a, other), host, mine)  # noqa: B023
    same_call(lambda a: operator.iadd(a.copy(), other), host, mine)


@pytest.mark.parametrize("dtype", ["f8", "i8", "?", "i1"])
def test_operators_beside_numbers_past_the_floats(dtype):
    test_operators_beside_any_object("10**400", dtype)


def same_call(call, host, mine):
    """The same result of a call with NumPy's array and ours, or the same class of exception."""
    results = []
    for a in (host, mine):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(np.asarray(call(a)))
            except Exception as error:
                # What NumPy cannot cast back into an array of numbers, ours cannot hold.
                refused = isinstance(
                    error, (asnumpy.HostDtypeError, np._core._exceptions.UFuncTypeError)
                )
                results.append(TypeError if refused else type(error))
    expected, got = results
    if isinstance(expected, type) or isinstance(got, type):
        assert got is expected
    else:
        assert got.dtype == expected.dtype and got.shape == expected.shape
        if got.dtype.kind in "biufc":
            assert np.allclose(got, expected, rtol=1e-6, equal_nan=True)
        else:
            assert got.tolist() == expected.tolist()


AFTER_THE_END = """m.sort(x) x[x>1.5] x[m.array([1,2])] m.repeat(x,2) m.repeat(i,i) m.argmax(y,0) m.nonzero(x>1)[0] y@y
m.searchsorted(i,x) m.std(x) m.cumsum(x) x+x x+1 i*2 m.bincount(i) m.fft.fft(x) m.linalg.inv(y+9*m.eye(100)) m.interp(x,i,i) x.sum() i.sum()
m.choose(i%2,(i,i)) x.tolist()[:3] i.tolist() i[1] i.copy() y.T.copy() m.median(x) m.unique(i) m.concatenate([x,x]) x.astype('f4') m.where(x>1,x,0)"""


@pytest.mark.skipif(NPU, reason="an NPU has no arrays over the host's memory")
def test_arrays_over_host_memory_outlive_the_device():
    """finalize() closes it, and whatever comes next opens it again."""
    program = """
import numpy, asnumpy
def arrays():
    return {"x": numpy.array([3.0, 1, 2] * 30000), "i": numpy.array([1, 2, 5]),
            "y": numpy.random.default_rng(1).random((100, 100))}
ours = {name: asnumpy.asarray(a) for name, a in arrays().items()}
for text in sys.argv[1].split():
    asnumpy.finalize()
    got = eval(text, {"m": asnumpy, **ours})
    numpy.testing.assert_allclose(numpy.asarray(got), eval(text, {"m": numpy, **arrays()}), atol=1e-9, err_msg=text)
    del got
print("same")
"""
    command = [sys.executable, "-c", "import sys" + program, AFTER_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("same\n", 0), done.stderr


def test_operators_leave_other_classes_their_turn():
    class Right:
        def __radd__(self, other):
            return f"right of {other}"

        def __eq__(self, other):
            return "equal"

    class Priority(Right):
        __array_priority__ = 10

    for module in (asnumpy, np):
        assert (module.arange(2) + Right()).tolist() == ["right of 0", "right of 1"]
        assert (module.arange(2) == Right()).tolist() == [True, True]
        assert (module.arange(2) == Priority()) == "equal"
        assert (module.arange(2) + Priority()) == "right of [0 1]"


TORCH = """
import io, hashlib, warnings, sys
import numpy as np, torch
import asnumpy as anp

warnings.simplefilter("error")
flat, wide = anp.arange(4, dtype="f4"), anp.arange(6.0).reshape(2, 3)
assert torch.equal(torch.asarray(flat), torch.arange(4.0))
for a in (wide, anp.arange(4), anp.ones((2, 2), "f4"), anp.ones(3, bool), anp.ones(())):
    for call in (torch.asarray, lambda a: torch.frombuffer(a, dtype=torch.uint8)):
        warnings.simplefilter("error")
        try:
            call(a)
        except (RuntimeError, RuntimeWarning, BufferError, ValueError):
            pass
        else:
            raise SystemExit(f"{a.dtype} of shape {a.shape} was read")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                call(a)
            except (RuntimeError, BufferError, ValueError):
                pass
        assert any("torch.from_dlpack" in str(w.message) for w in caught), caught
warnings.simplefilter("error")
for read in (torch.as_tensor, torch.tensor, torch.from_dlpack):
    assert torch.equal(read(wide), torch.arange(6.0, dtype=torch.float64).reshape(2, 3))
assert torch.frombuffer(memoryview(wide), dtype=torch.float64).tolist() == wide.ravel().tolist()
# Everyone else asks as before.
f = io.BytesIO()
f.write(wide)
assert f.getvalue() == wide.tobytes()
f.seek(0)
f.readinto(wide)
assert hashlib.sha256(wide).digest() == hashlib.sha256(wide.tobytes()).digest()
assert bytes(wide) == memoryview(wide).tobytes() == wide.tobytes()
"""


@pytest.mark.skipif(NPU, reason="the host does not reach this device's memory: no buffers")
def test_torch_does_not_take_other_numbers_for_float32():
    pytest.importorskip("torch.nn", reason="PyTorch is not installed")
    import subprocess
    import sys

    environment = {**os.environ, "ASNUMPY_ADAPT": "0"}  # PyTorch's functions as they are
    subprocess.run([sys.executable, "-c", TORCH], check=True, env=environment)


WRITES = {
    "put": lambda np_, a, v: np_.put(a, [0, 2], v),
    "put method": lambda np_, a, v: a.put([0, 2], v),
    "place": lambda np_, a, v: np_.place(a, a == 0, v),
    "putmask": lambda np_, a, v: np_.putmask(a, a == 0, v),
    "copyto": lambda np_, a, v: np_.copyto(dst=a[:2], src=v, casting="unsafe"),
    "copyto where": lambda np_, a, v: np_.copyto(a[:2], v, where=a[:2] == 0, casting="unsafe"),
    "fill_diagonal": lambda np_, a, v: np_.fill_diagonal(a.reshape(2, 2), v),
    "put_along_axis": lambda np_, a, v: np_.put_along_axis(a, np_.array([0, 2]), v, 0),
    "items": lambda np_, a, v: a.__setitem__([0, 2], v),
    "mask": lambda np_, a, v: a.__setitem__(a == 0, v),
    "flat": lambda np_, a, v: a.flat.__setitem__([0, 2], v),
    "at": lambda np_, a, v: np_.add.at(a, [0, 2], v),
    "out": lambda np_, a, v: np_.add(a[:2], v, out=a[:2], casting="unsafe"),
    "out by position": lambda np_, a, v: np_.add(a[:2], v, a[:2], casting="unsafe"),
    "in place": lambda np_, a, v: operator.iadd(a[:2], v),
}
OF_THE_HOST = [
    np.str_("7"), "7", ["7", "8"], np.array(["7", "8"]), np.array([7, 8], object), Fraction(7),
    np.longdouble(7), np.array([7, 8], np.longdouble), [7, Fraction(8)],
]  # fmt: skip


@pytest.mark.parametrize("value", OF_THE_HOST, ids=repr)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
def test_numbers_of_the_host_are_written(name, dtype, value):
    """Nothing is lost, also on a device of whose memory NumPy gets a copy."""
    outcomes = []
    for np_ in (np, asnumpy):
        a, raised = np_.zeros(4, dtype), False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                WRITES[name](np_, a, value)
            except (TypeError, ValueError):
                raised = True
        outcomes.append((raised, np.asarray(a).tolist()))
    assert outcomes[0] == outcomes[1]
