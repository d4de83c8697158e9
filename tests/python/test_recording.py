"""Large row-major operands are recorded the short way (trace_fast.c): values, dtypes, strides and conditions are NumPy's,
whatever was recorded before, and nothing may depend on which way an operation took."""

import threading

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = [
    (2500,),
    (2501,),
    (50, 51),
    (2550,),
    (1, 2600),
    (2600, 1),
    (10, 1, 260),
    (5, 5, 10, 11),
    (2, 5, 5, 5, 11),
]
DTYPES = ["f8", "f4", "i8", "i4", "u1", "f2", "?"]
NUMBERS = [
    2,
    2.0,
    0.5,
    0.1,
    -3,
    0,
    True,
    1e-45,
    1e-300,
    3e38,
    1e300,
    2**24 + 1,
    2**53 + 1,
    float("nan"),
    -0.0,
    2.5 + 1j,
    200,
    -1,
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "less",
    "equal",
    "logical_and",
    "floor_divide",
]
UNARY = ["negative", "sqrt", "isnan", "absolute", "square", "sign", "logical_not"]


def values(rng, shape, dtype):
    if dtype == "?":
        return rng.random(shape) < 0.5
    return (
        (rng.normal(size=shape) * 9).astype(dtype)
        if dtype[0] == "f"
        else rng.integers(1, 9, shape).astype(dtype)
    )


def outcome(call):
    """A result, or what was raised."""
    try:
        return call()
    except TypeError:
        return TypeError
    except (OverflowError, ValueError) as error:
        return type(error)


def agree(ours, theirs, rough=False):
    """rough: of what a modulus or complex arithmetic rounds in its own way, by units of a last place that differences magnify."""
    if isinstance(theirs, type):
        assert ours is theirs
        return
    got = ours.to_numpy() if hasattr(ours, "to_numpy") else np.asarray(ours)
    assert got.dtype == theirs.dtype and got.shape == theirs.shape
    assert ours.strides == theirs.strides
    assert ours.flags.c_contiguous == theirs.flags.c_contiguous
    assert ours.flags.f_contiguous == theirs.flags.f_contiguous and ours.flags.writeable
    if theirs.dtype.kind in "fc":
        bound = 4e-3 if theirs.dtype == "f2" else 1e-6
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=0) if rough else 0
        np.testing.assert_allclose(got, theirs, rtol=bound, atol=bound * size)
    else:
        np.testing.assert_array_equal(got, theirs)


@given(data=st.data())
@settings(max_examples=60)
def test_calls_in_any_order(data):
    """Operations over a few shapes and dtypes, with each other's results, numbers and out=, looked at only at the end."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = SHAPES[rng.integers(len(SHAPES))]
    other = SHAPES[rng.integers(len(SHAPES))]
    theirs = [values(rng, s, d) for s in (shape, shape, other) for d in rng.choice(DTYPES, 2)]
    ours = [asnumpy.array(x) for x in theirs]
    rough = [x.dtype.kind == "c" for x in theirs]
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for _ in range(25):
            i, j, kind = rng.integers(len(theirs)), rng.integers(len(theirs)), rng.integers(5)
            if theirs[i].shape != theirs[j].shape:
                j = i
            if kind == 0:
                name = str(rng.choice(UNARY))
                pair = [
                    outcome(lambda v=v, m=m, name=name, i=i: getattr(m, name)(v[i]))
                    for m, v in ((asnumpy, ours), (np, theirs))
                ]
            elif kind == 1:
                name, number = str(rng.choice(BINARY)), NUMBERS[rng.integers(len(NUMBERS))]
                left = bool(rng.integers(2))
                pair = [outcome(lambda v=v, m=m, name=name, i=i, number=number, left=left:
                                getattr(m, name)(*((v[i], number) if left else (number, v[i]))))
                        for m, v in ((asnumpy, ours), (np, theirs))]  # fmt: skip
            elif kind == 2:
                name = str(rng.choice(["add", "subtract", "maximum"]))
                pair = [outcome(lambda v=v, m=m, name=name, i=i, j=j: getattr(m, name)(v[i], v[j], out=v[i]))
                        for m, v in ((asnumpy, ours), (np, theirs))]  # fmt: skip
                agree_type = isinstance(pair[1], type)
                assert isinstance(pair[0], type) == agree_type
                rough[i] |= rough[j]
                continue
            else:
                name = str(rng.choice(BINARY))
                pair = [outcome(lambda v=v, m=m, name=name, i=i, j=j: getattr(m, name)(v[i], v[j]))
                        for m, v in ((asnumpy, ours), (np, theirs))]  # fmt: skip
            if isinstance(pair[1], type):
                assert pair[0] is pair[1]
            else:
                ours.append(pair[0])
                theirs.append(pair[1])
                rough.append(rough[i] or kind > 2 and rough[j] or pair[1].dtype.kind == "c")
    for a, b, r in zip(ours, theirs, rough, strict=True):
        agree(a, b, r)


@pytest.mark.parametrize("shape", SHAPES)
def test_fresh_results_are_laid_out_as_numpys(shape):
    a = asnumpy.ones(shape)
    x = np.ones(shape)
    for ours, theirs in (
        (a + a, x + x),
        (a > 0, x > 0),
        (a * 2, x * 2),
        (-a, -x),
        (np.float32(1) * a, np.float32(1) * x),
    ):
        agree(ours, theirs)
        agree(ours + ours, theirs + theirs)


def test_an_operand_shifted_by_one_is_no_place_of_the_result():
    x = np.arange(6000.0)
    a = asnumpy.array(x)
    np.add(x[1:], x[:-1], out=x[1:])
    asnumpy.add(a[1:], a[:-1], out=a[1:])
    agree(a, x)
    np.multiply(x, x, out=x)
    asnumpy.multiply(a, a, out=a)
    agree(a, x)


def test_read_only_and_host_memory_take_the_long_way():
    x = np.arange(3000.0)
    shared = asnumpy.asarray(x)
    doubled = shared + shared
    x[:] = 0  # the sum was not put off
    assert doubled.sum() == 2999 * 3000
    a = asnumpy.arange(3000.0)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a += 1


def test_numbers_that_do_not_fit_are_refused():
    a = asnumpy.ones(3000, "u1")
    with pytest.raises(OverflowError):
        a + 300
    assert (a + 2).dtype == "u1"


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators report no exceptions")
def test_conditions_of_recorded_operations():
    a = asnumpy.zeros(3000)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        float((1.0 / a)[0])
    with asnumpy.errstate(all="raise"), pytest.raises(FloatingPointError):
        a / a
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        asnumpy.ones(3000, "i8") // asnumpy.zeros(3000, "i8")
    with pytest.warns(RuntimeWarning, match="overflow"):
        asnumpy.ones(3000, "f4") * 1e300


def test_eager_between_recorded():
    a, b = asnumpy.ones(3000), asnumpy.ones(3000)
    c = a + b
    before = asnumpy.lazy(False)
    d = c + a
    asnumpy.lazy(before)
    e = d + c
    assert float(e[7]) == 5


def test_threads_share_what_is_spare():
    """Arrays made on one thread end on another; all threads take structs and blocks from one stock."""
    made, failures = [], []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(150):
                n = int(rng.choice([10, 3000]))
                a = asnumpy.ones(n)
                made.append(a + a)
                if len(made) > 20:
                    assert float(made.pop(0)[-1]) == 2
        except Exception as error:  # noqa: BLE001 -- whatever it is, the test says it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
