"""Every row of the operation table against NumPy: dtypes, layouts, special values, methods.

The rows come from the table itself, so that no row goes untested; a test counts.
"""

import functools

import asnumpy
import functions
import numpy as np
import optable
import pytest
from oracle import (
    DTYPES,
    LAYOUTS,
    HostUfunc,
    assert_same,
    lay_out,
    outcome,
    same,
    sample,
    to_device,
    to_host,
)

ROWS = {r.name: r for r in optable.rows()}
UFUNCS = [n for n, r in ROWS.items() if "kernel" not in r.flags]
PAIRS = [n for n, u in asnumpy._core.ufuncs.items() if u.nout == 2]


@functools.cache
def host(name):
    """NumPy's ufunc (not all are at top level), or one made of the row's `host`."""
    row = ROWS.get(name)
    return HostUfunc(row, device(name)) if row and row.host else getattr(np._core.umath, name)


def device(name):
    return asnumpy._core.ufuncs[name]


def picks(row):
    """NumPy's own vector loops pick either zero of max(0.0, -0.0), depending on position."""
    return bool(row) and bool(row.extreme or len(row.args) == 3)


EITHER_ZERO = {name for name, row in ROWS.items() if picks(row)}


def bound(name, dtype):
    """ULP allowed between the two: our bound and NumPy's 4; 0 where the row is exact. NumPy's vector loops of
    complex products fuse multiply and add; some of ours round each step."""
    row = ROWS.get(name)
    if row and str(dtype).startswith("complex") and functions.multiplying(row.loops.get(dtype, "")):
        return 4
    if row is None or not row.ulp:
        return 0
    result = {"float16": 1, "complex64": row.ulp.get("complex64", 4)}
    if dtype == "float16":
        return result["float16"]
    widest = max(row.ulp.values())
    return row.ulp.get(str(dtype), widest) + 4


def inputs(name, dtype, layout, rng, n):
    arrays = []
    for i in range(n):
        types = ROWS[name].types if name in ROWS else ["T"] * n
        d = dtype if types[i] == "T" else types[i]
        values = sample(d, 24, rng)
        if np.dtype(d).kind in "iu" and (
            drawn := ROWS[name].draw.get(i + 1) if name in ROWS else None
        ):
            values = rng.integers(*drawn, 24).astype(d)
        if i:
            values = rng.permutation(values)
        arrays.append(lay_out(values, layout))
    return arrays


def test_every_row_has_a_ufunc():
    missing = [n for n in UFUNCS if n not in asnumpy._core.ufuncs]
    assert not missing
    assert all(host(n) is not None for n in UFUNCS)
    assert len(UFUNCS) + len(PAIRS) >= 84


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UFUNCS + PAIRS)
def test_call(name, layout, rng):
    for dtype in DTYPES:
        args = inputs(name, dtype, layout, rng, host(name).nin)
        check_call(name, dtype, args)


def check_call(name, dtype, args):
    f = host(name)
    expected, error = outcome(f, *args)
    got, got_error = outcome(lambda: to_host(device(name)(*map(to_device, args))))
    where = f"{name} {dtype}"
    if error is not None:
        assert isinstance(got_error, TypeError if isinstance(error, TypeError) else type(error)), (
            f"{where}: NumPy raises {error!r}, got {got_error!r} {got!r}"
        )
        return
    assert got_error is None, f"{where}: {got_error!r}"
    results = expected if isinstance(expected, tuple) else (expected,)
    exact = results[0].dtype.kind not in "fc"
    ulp = 0 if exact else bound(name, str(results[0].dtype))
    assert_same(got, expected, ulp, where, name not in EITHER_ZERO)


@pytest.mark.parametrize("name", [n for n in UFUNCS if host(n).nin == 2])
def test_mixed_dtypes_and_python_scalars(name, rng):
    """The dtype matrix of two inputs, and weak Python scalars on either side."""
    for a in DTYPES:
        x = (
            np.abs(sample(a, 4, rng, special=False))
            if np.dtype(a).kind != "b"
            else sample(a, 4, rng)
        )
        x = np.where(x == 0, 1, x).astype(a)
        others = [np.ones(4, b) for b in DTYPES] + [True, 2, 2.5, 2.5j]
        for other in others:
            for args in ((x, other), (other, x)):
                label = other.dtype if isinstance(other, np.ndarray) else repr(other)
                check_call(name, f"{a} with {label}", list(args))


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_out_where_casting_dtype(name, rng):
    f, n = host(name), host(name).nin
    for dtype in ("int32", "float32", "float64"):
        args = inputs(name, dtype, "transposed", rng, n)
        plain, error = outcome(f, *args)
        if error is not None:
            continue
        mask = rng.random((4, 6)) < 0.5
        tolerance = bound(name, str(plain.dtype)) if plain.dtype.kind in "fc" else 0

        def with_out(np_, ufunc, args, mask, template):
            out = np_.zeros((4, 6), template)
            result = ufunc(*args, out=out)
            assert result is out
            filled = np_.full((4, 6), 7, dtype=template)
            ufunc(*args, out=(filled,), where=mask)
            positional = np_.zeros((4, 6), template)
            assert ufunc(*args, positional) is positional
            return out, filled, positional

        expected, error = outcome(with_out, np, f, args, mask, plain.dtype)
        got = to_host(
            with_out(asnumpy, device(name), [to_device(a) for a in args], asnumpy.array(mask),
                     plain.dtype)
        )  # fmt: skip
        assert error is None
        assert_same(got, expected, tolerance, f"{name} {dtype} out", name not in EITHER_ZERO)
        for casting in ("no", "safe", "same_kind", "unsafe"):
            expected, error = outcome(lambda c=casting, a=args: f(*a, casting=c, dtype="float64"))
            got, got_error = outcome(
                lambda c=casting, a=args: to_host(
                    device(name)(*map(to_device, a), casting=c, dtype="float64")
                )
            )
            where = f"{name} {dtype} casting={casting}"
            assert (error is None) == (got_error is None), f"{where}: {error!r} {got_error!r}"
            if error is None:
                assert_same(got, expected, bound(name, "float64"), where)
            else:
                assert isinstance(got_error, TypeError), f"{where}: {error!r} {got_error!r}"


@pytest.mark.parametrize("n", [3, 40000])
def test_inputs_stretch_to_the_output(n):
    a, mask = np.arange(n) * 0.5, np.arange(n) % 2 == 0

    def run(np_, a, mask):
        outs = [np_.full(shape, 9.0) for shape in ((2, n), (2, 1, n), (1, n))]
        np_.add(a, 1, out=outs[0])
        np_.multiply(a, np_.float32(3), out=outs[1])
        np_.add(a, a, out=outs[2], where=mask)
        return outs

    for got, expected in zip(
        run(asnumpy, asnumpy.array(a), asnumpy.array(mask)), run(np, a, mask), strict=True
    ):
        np.testing.assert_array_equal(got.to_numpy(), expected)


@pytest.mark.parametrize("name", [n for n in UFUNCS if host(n).nin == 2])
def test_in_place_overlap(name, rng):
    """Outputs that alias an input, exactly and shifted."""
    for dtype in ("int16", "float64"):
        args = inputs(name, dtype, "contiguous", rng, 2)

        def run(f, a, b):
            f(a[:-1], b[:-1], out=a[1:], casting="unsafe")
            f(a, a, out=a, casting="unsafe")
            f(a[::-1], b, out=a, casting="unsafe")
            return a

        a, b = (x.copy() for x in args)
        expected, error = outcome(run, host(name), a, b)
        got, got_error = outcome(
            lambda x=args: to_host(run(device(name), asnumpy.array(x[0]), asnumpy.array(x[1])))
        )
        if error is not None:
            assert got_error is not None, f"{name} {dtype}: {error!r}"
            continue
        assert got_error is None, f"{name} {dtype}: {got_error!r}"
        # Errors of the last place may grow through three applications.
        ulp = bound(name, dtype) * 64
        if expected.dtype.kind in "iub" and ROWS[name].ulp:
            continue
        assert_same(got, expected, ulp, f"{name} {dtype} overlap")


def reduces(row):
    """(T, T) to T, or a condition that has an identity; a chain of others' floats means nothing."""
    whole = row.types == ["T", "T"] and (row.out == "same" or row.identity is not None)
    return whole and ("commutative" in row.flags or "int64" in row.loops)


REDUCIBLE = [n for n in UFUNCS if reduces(ROWS[n])]
SPLITTING = [n for n in REDUCIBLE if ROWS[n].flags & {"associative", "reorderable"}]


@pytest.mark.parametrize("name", REDUCIBLE)
def test_reduce_accumulate(name, rng):
    for dtype in DTYPES:
        x = sample(dtype, 24, rng, special=False)
        inexact = np.dtype(dtype).kind in "fc"
        if "commutative" not in ROWS[name].flags and name != "subtract":
            # Chains of these amplify one rounding without bound: integers only.
            if inexact:
                continue
            x = rng.integers(1, 3, 24).astype(dtype)
        m = x.reshape(2, 3, 4)
        loose = 256 if inexact or ROWS[name].ulp else 0

        def reduce(np_, a, name=name, m=None):
            u = getattr(np_, name)
            return [u.reduce(a, axis=axis, keepdims=k) for axis in (0, 1, -1) for k in (0, 1)]

        same(reduce, m, ulp=loose, where=f"{name}.reduce {dtype}")
        same(lambda np_, a: getattr(np_, name).reduce(a, axis=None), m, ulp=loose,
             where=f"{name}.reduce {dtype} all")  # fmt: skip
        same(lambda np_, a: getattr(np_, name).reduce(a, axis=(0, 2)), m, ulp=loose,
             where=f"{name}.reduce {dtype} two axes")  # fmt: skip
        same(lambda np_, a: getattr(np_, name).accumulate(a, axis=1), m, ulp=loose,
             where=f"{name}.accumulate {dtype}")  # fmt: skip
        same(lambda np_, a: getattr(np_, name).reduce(a[:0], axis=0), m, ulp=loose,
             where=f"{name}.reduce {dtype} empty")  # fmt: skip
        same(lambda np_, a: getattr(np_, name).outer(a[0, 0], a[1, 1]), m, ulp=8,
             where=f"{name}.outer {dtype}")  # fmt: skip


@pytest.mark.parametrize("name", SPLITTING)
def test_reduceat(name, rng):
    for dtype in DTYPES:
        x = sample(dtype, 24, rng, special=False).reshape(4, 6)
        for indices, axis in (([0, 4, 1, 5], 1), ([0, 2], 0), ([3], 0), ([5, 0, 5], -1)):
            same(
                lambda np_, a, i=indices, d=axis: getattr(np_, name).reduceat(a, i, axis=d), x,
                ulp=64, where=f"{name}.reduceat {dtype} {indices}",
            )  # fmt: skip


@pytest.mark.parametrize(
    "name", [n for n in REDUCIBLE if "float64" in ROWS[n].loops and not ROWS[n].vector]
)
def test_at(name, rng):
    for dtype in ("int8", "uint32", "int64", "float32", "float64", "complex128"):
        x = sample(dtype, 12, rng, special=False)
        indices = rng.integers(-12, 12, 40)
        values = sample(dtype, 40, rng, special=False)

        def run(np_, a, i, v):
            getattr(np_, name).at(a, i, v)
            getattr(np_, name).at(a, [1, 1, 2], 1)
            return a

        same(run, x, indices, values, ulp=64, where=f"{name}.at {dtype}")


VALUES = {
    "python": (2, -3, 0.1, True, 2**31 + 1, 1 + 2j),
    "numpy": (np.float64(0.1), np.int64(7), np.float32(0.1), np.uint8(200), np.float16(0.1)),
}


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract"])
@pytest.mark.parametrize("values", VALUES)
def test_at_of_another_dtype(name, values, rng):
    """Each step is computed in the dtype of both, an array of a Python number being an int64 or a
    float64, and its result cast back: bit for bit."""
    indices = rng.integers(-12, 12, 40)
    for dtype in ("int8", "int32", "uint8", "int64", "float16", "float32", "float64", "complex64"):
        x = sample(dtype, 24, rng, special=False).reshape(12, 2)
        for value in VALUES[values]:
            if np.iscomplexobj(value) and not np.iscomplexobj(x):
                continue  # NumPy warns and drops the imaginary part

            def run(np_, a, i, v=value):
                getattr(np_, name).at(a, i, v)
                getattr(np_, name).at(a, (i, 1), np_.asarray([v])[:1])
                return a

            same(run, x, indices, where=f"{name}.at {dtype} {value!r}")


@pytest.mark.parametrize("ndim", [63, 64])
def test_at_by_indices_of_the_most_dimensions(ndim):
    """(NumPy itself may not survive 64.)"""
    got, want, indices = asnumpy.arange(7.0), np.arange(7.0), np.array([1, 0, 3, 3])
    shaped = asnumpy.array(indices).reshape((2, *(1,) * (ndim - 2), 2))
    for f, f_np in ((asnumpy.negative, np.negative), (asnumpy.exp, np.exp)):
        f.at(got, shaped)
        f_np.at(want, indices)
    asnumpy.add.at(got, shaped, 2)
    np.add.at(want, indices, 2)
    assert np.allclose(got.to_numpy(), want, rtol=1e-14)


@pytest.mark.parametrize("name", UFUNCS + PAIRS + ["matmul", "vecdot", "matvec", "vecmat"])
def test_attributes(name):
    a, b = device(name), host(name)
    for attribute in ("nin", "nout", "nargs", "signature", "__name__"):
        assert getattr(a, attribute) == getattr(b, attribute), attribute
    if name in ROWS and ROWS[name].host:
        assert a.identity == ROWS[name].identity
    else:
        assert a.identity == b.identity and type(a.identity) is type(b.identity)
    assert isinstance(a, asnumpy.ufunc)
    ours = [t for t in b.types if not set(t) & set("gGOMmqQ")]
    own = name in ROWS and set(ROWS[name].types) != {"T"}
    assert set(ours) <= set(a.types) or own, (ours, a.types)
    assert a.ntypes == len(a.types)
    assert a.__doc__


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_absolute_raises_nothing(dtype):
    """A part that is far below the other one underflows nowhere."""
    big = np.finfo(dtype).max.real / 4
    parts = [0.0, -0.0, 0.3, 1e-30, big, np.inf, np.nan, -7.0, np.finfo(dtype).tiny]
    z = np.array([complex(x, y) for x in parts for y in parts], dtype)
    with np.errstate(all="raise"), asnumpy.errstate(all="raise"):
        ours, theirs = np.asarray(asnumpy.abs(asnumpy.array(z))), np.abs(z)
    np.testing.assert_allclose(ours, theirs, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["int64", "uint32", "int32", "int8"])
@pytest.mark.parametrize("size", [1, 7, 5000])
def test_ldexp_of_exponents_past_int32(dtype, size):
    """Exponents of 64 bits are bounded, not cut to 32."""
    info = np.iinfo(dtype)
    edges = [
        info.min,
        info.max,
        info.max // 2,
        3,
        0,
        2**31,
        2**31 - 1,
        2**32 + 1,
        2**40,
        -(2**40),
        -(2**31),
        -5,
    ]
    e = np.resize(np.array([x for x in edges if info.min <= x <= info.max], dtype=dtype), size)
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for value in (1.5, np.float32(-1.5)):
            x = np.full(size, value)
            expected = np.ldexp(x, e)
            got = asnumpy.ldexp(asnumpy.array(x), asnumpy.array(e))
            assert to_host(got).dtype == expected.dtype
            np.testing.assert_array_equal(to_host(got), expected)
            np.testing.assert_array_equal(
                to_host(asnumpy.ldexp(asnumpy.array(x), e[0])), np.ldexp(x, e[0])
            )
            assert asnumpy.ldexp(value, e[0]) == np.ldexp(value, e[0])
            out = asnumpy.zeros(size, x.dtype)
            asnumpy.ldexp(asnumpy.array(x), asnumpy.array(e), out=out)
            np.testing.assert_array_equal(to_host(out), expected)


@pytest.mark.parametrize(
    "exponent", [3, 2**31, 2**40, -(2**40), np.int64(2**40), 2**62, np.uint64(3)], ids=str
)
@pytest.mark.parametrize("value", [1.5, np.float32(1.5), np.array([1.5])], ids=str)
def test_ldexp_of_numbers(value, exponent):
    same(lambda m, x: m.ldexp(x, exponent), value)


@pytest.mark.parametrize("n", [7, 1000, 5000])
@pytest.mark.parametrize("step", [1, -1])
def test_two_arrays_over_one_memory(n, step):
    """Arrays made of one NumPy array are buffers of their own that overlap in memory."""
    results = []
    for module in (asnumpy, np):
        host = np.arange(n + 3)
        x, y = module.asarray(host)[:n][::step], module.asarray(host[3:])
        module.negative(x, out=y)
        y[...] = x
        bits = np.arange(n) % 3 == 0
        mask, shifted = module.asarray(bits)[:-1], module.asarray(bits[1:])
        module.logical_not(mask, out=shifted)
        y[module.asarray(host).view(np.uint8)[::8][:n].view(bool) != 0] = -1  # over its own mask
        module.add(x, 1, out=y, where=module.asarray(host.view(np.uint8)[24::8]).view(bool) != 0)
        results += [bits, host]
    assert (results[0] == results[2]).all()
    assert (results[1] == results[3]).all()


@pytest.mark.parametrize("n", [7, 1000, 5000])
def test_an_operand_twice_as_long_as_the_result_that_it_overlaps(n):
    """The last elements of x are the first of y, whichever of the two buffers is asked about."""
    results = []
    for module in (asnumpy, np):
        host = np.arange(3 * n)
        x, y = module.asarray(host[: 2 * n : 2]), module.asarray(host[2 * n - 4 : 3 * n - 4])
        module.add(x, 1, out=y)
        results.append(host)
    assert (results[0] == results[1]).all()


@pytest.mark.parametrize("name", ["add", "maximum", "logaddexp", "arctan2"])
@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (4,), ()])
def test_out_of_a_scan_has_its_shape(name, shape):
    """Also one that the result would broadcast to. (NumPy 2.4 crashes where out has no dimensions.)"""
    x, out = asnumpy.ones(3), asnumpy.full(shape, 7.0)
    if shape:
        with pytest.raises(ValueError, match="out"):
            getattr(np, name).accumulate(np.ones(3), out=np.ones(shape))
    with pytest.raises(ValueError, match="output operand"):
        getattr(asnumpy, name).accumulate(x, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(3000,), (50, 60), (4000, 1), (7, 11, 53)])
def test_exponents_beside_large_arrays(dtype, shape):
    r = np.random.default_rng(1)
    a, k = (r.random(shape) * 100 - 50).astype(dtype), r.integers(-5, 5, shape).astype("i4")
    x, y = asnumpy.array(a), asnumpy.array(k)
    once = np.ldexp(a, k)
    many = np.ldexp(once + a, k) * np.ldexp(a, -k) + once
    z = asnumpy.ldexp(x, y)
    composed = asnumpy.ldexp(z + x, y) * asnumpy.ldexp(x, -y) + z
    number, turned = asnumpy.ldexp(x, 3), asnumpy.ldexp(x.T, y.T)
    asnumpy.ldexp(x, y, out=x)
    for got, expected in (
        (composed, many),
        (z, once),
        (number, np.ldexp(a, 3)),
        (turned, once.T),
        (x, once),
    ):
        np.testing.assert_array_equal(to_host(got), expected)


INTEGERS = ["i1", "u1", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("right", INTEGERS)
@pytest.mark.parametrize("left", INTEGERS)
def test_integers_of_two_dtypes_compare_exactly(left, right):
    """... where no dtype holds both: the ends of int64 and uint64 beside their neighbours, 0-d and long."""

    def ends(dtype):
        info = np.iinfo(dtype)
        near = [
            info.min,
            info.min + 1,
            -1,
            0,
            1,
            info.max - 1,
            info.max,
            2**63 - 1,
            2**63,
            2**53 + 1,
        ]
        return np.array([v for v in near if info.min <= v <= info.max], dtype)

    x, y = ends(left)[:, None], ends(right)
    for repeats in (1, 700):
        u, v = np.repeat(x, repeats, 0), np.repeat(y, 1)
        a, b = asnumpy.array(u), asnumpy.array(v)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            got = getattr(asnumpy, name)(a, b)
            np.testing.assert_array_equal(got.to_numpy(), getattr(np, name)(u, v), err_msg=name)
    for p in x.ravel():
        for q in y:
            one, other = asnumpy.array(p), asnumpy.array(q)
            assert bool(one < other) == (int(p) < int(q)) and bool(one == other) == (
                int(p) == int(q)
            )
            for swapped in (False, True):  # a number of NumPy's beside an array, small or long
                for many in (1, 3000):
                    line = asnumpy.full(many, p)
                    for name in (
                        "equal",
                        "not_equal",
                        "less",
                        "less_equal",
                        "greater",
                        "greater_equal",
                    ):
                        pair = (q, line) if swapped else (line, q)
                        want = getattr(np, name)(*((q, p) if swapped else (p, q)))
                        got = getattr(asnumpy, name)(*pair)
                        assert got.tolist() == [bool(want)] * many, (name, swapped)
