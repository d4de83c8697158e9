"""Comparing AsNumpy with NumPy: the same call on both, results or exception classes equal.

`same(f)` calls f(module, ...) for both libraries; bits are compared, with a tolerance in ULP only
where rounding may differ.
"""

import warnings

import asnumpy
import numpy as np

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def to_host(x):
    """AsNumpy results as NumPy ones; containers are walked."""
    if asnumpy._core._is_array(x):
        return x.to_numpy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return tuple(map(to_host, x))
    if isinstance(x, list | tuple):
        return type(x)(map(to_host, x))
    if isinstance(x, dict):
        return {k: to_host(v) for k, v in x.items()}
    return x


def to_device(x):
    """NumPy arrays as AsNumpy ones, with the same strides."""
    if isinstance(x, list | tuple):
        return type(x)(map(to_device, x))
    if not isinstance(x, np.ndarray):
        return x
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    if base is x or x.size == 0 or base.dtype != x.dtype or not base.flags.c_contiguous:
        return asnumpy.array(x)
    # Move every axis of negative stride to its positive form, show that by strides, flip back.
    flips = tuple(slice(None, None, -1 if s < 0 else None) for s in x.strides)
    forward = x[flips]
    address = forward.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    flat = asnumpy.array(base.reshape(-1))
    start = flat[address // x.itemsize :]
    view = asnumpy.lib.stride_tricks.as_strided(start, forward.shape, forward.strides)[flips]
    if not x.flags.writeable:
        view.flags.writeable = False
    assert view.strides == x.strides or 1 in x.shape
    return view


def ulp_distance(a, b):
    """Units in the last place of b between two float arrays of one dtype; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        # Errors of a complex result are measured against its magnitude.
        # A part that is NaN or infinite on both sides does not count.
        with np.errstate(all="ignore"):
            finite = [np.where(np.isfinite(x), np.abs(x), 0) for x in (b.real, b.imag)]
            unit = np.spacing(np.maximum(*finite))
            parts = [
                np.where(_identical(x, y), 0, np.abs(x - y) / unit)
                for x, y in ((a.real, b.real), (a.imag, b.imag))
            ]
        return np.maximum(*parts)
    with np.errstate(all="ignore"):
        far = np.abs(a.astype(np.float64) - b.astype(np.float64)) / np.spacing(np.abs(b)).astype(
            np.float64
        )
    return np.where(_identical(a, b), 0, far)


def _identical(a, b):
    return (a == b) | ((a != a) & (b != b))


def assert_same(got, expected, ulp=0, where="", signed_zeros=True):
    """Type, dtype, shape and elements are equal (within ulp for inexact dtypes)."""
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected), where
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_same(g, e, ulp, f"{where}[{i}]", signed_zeros)
        return
    if isinstance(expected, dict):
        assert set(got) == set(expected), where
        for k in expected:
            assert_same(got[k], expected[k], ulp, f"{where}[{k!r}]", signed_zeros)
        return
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray), f"{where}: array expected, got {type(got)}"
    elif isinstance(expected, np.generic):
        assert isinstance(got, np.generic), f"{where}: scalar expected, got {type(got)}: {got!r}"
    elif not isinstance(expected, float | complex):
        assert type(got) is type(expected) and got == expected, f"{where}: {got!r} != {expected!r}"
        return
    g, e = np.asarray(got), np.asarray(expected)
    assert g.dtype == e.dtype, f"{where}: dtype {g.dtype} != {e.dtype}"
    assert g.shape == e.shape, f"{where}: shape {g.shape} != {e.shape}"
    if e.dtype.kind in "fc":
        far = ulp_distance(g, e)
        bad = ~(far <= ulp)
        if signed_zeros and ulp == 0 and not bad.any() and e.dtype.kind == "f":
            bad = (np.signbit(g) != np.signbit(e)) & (e == e)
    else:
        bad = g != e
    if bad.any():
        i = tuple(k[0] for k in np.nonzero(np.atleast_1d(bad)))
        raise AssertionError(
            f"{where}: {int(np.sum(bad))} of {e.size} differ, first at {i}: "
            f"{np.atleast_1d(g)[i]!r} != {np.atleast_1d(e)[i]!r}"
        )


def outcome(f, *args):
    """(result, None) or (None, exception), warnings silenced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args), None
        except Exception as error:
            return None, error


def same(f, *inputs, ulp=0, where="", signed_zeros=True):
    """f(np, *inputs) and f(asnumpy, *inputs on the device) agree; returns NumPy's result."""
    on_device = [to_device(x) for x in inputs]  # before NumPy may change them
    expected, error = outcome(f, np, *inputs)
    got, got_error = outcome(lambda: to_host(f(asnumpy, *on_device)))
    if error is not None:
        assert got_error is not None, f"{where}: NumPy raises {error!r}, got {got!r}"
        assert isinstance(got_error, _comparable(type(error))), (
            f"{where}: NumPy raises {error!r}, got {got_error!r}"
        )
        return None
    if got_error is not None:
        raise AssertionError(f"{where}: {got_error!r}, NumPy gives {expected!r}") from got_error
    assert_same(got, expected, ulp, where, signed_zeros)
    return expected


def _comparable(cls):
    """NumPy's private subclasses of TypeError count as TypeError."""
    if issubclass(cls, TypeError):
        return TypeError
    return cls


class HostUfunc:
    """A row's `host` expression with what NumPy's ufuncs have: the loop of the first dtype that holds the
    arguments, out, where, casting and dtype."""

    nout, signature = 1, None

    def __init__(self, row, ufunc):
        self.__name__, self.nin, self.nargs = row.name, len(row.args), len(row.args) + 1
        self.types = [t for t in ufunc.types if "V" not in t and "E" not in t]
        self.function = eval(f"lambda {', '.join(row.args)}: {row.host}", {"np": np})  # noqa: S307

    def __call__(self, *args, out=None, where=True, casting="same_kind", dtype=None):
        if len(args) > self.nin:
            *args, out = args
        out = out[0] if isinstance(out, tuple) else out
        common = np.dtype(dtype) if dtype else np.result_type(*args)
        loops = [t.split("->") for t in self.types]
        fits = [t for t in loops if np.can_cast(common, t[0][0], "safe")]
        if not fits:
            raise TypeError(f"{self.__name__}: no loop for {common}")
        ins = [np.asarray(a) if hasattr(a, "dtype") else np.asarray(a, t)
               for a, t in zip(args, fits[0][0], strict=True)]  # fmt: skip
        if not all(np.can_cast(a.dtype, t, casting) for a, t in zip(ins, fits[0][0], strict=True)):
            raise TypeError(f"{self.__name__}: cannot cast the inputs with {casting}")
        result = self.function(*[a.astype(t) for a, t in zip(ins, fits[0][0], strict=True)])
        result = np.asarray(result).astype(fits[0][1])
        if out is None:
            return result[()]
        np.copyto(out, result, casting=casting, where=where)
        return out


LAYOUTS = [
    "contiguous", "strided", "negative", "transposed", "broadcast", "zero_d", "empty", "one",
]  # fmt: skip


def lay_out(values, layout):
    """NumPy values (1-d, 24 of them or more) in a memory layout."""
    v = np.ascontiguousarray(values[:24])
    if layout == "contiguous":
        return v
    if layout == "strided":
        wide = np.zeros(48, v.dtype)
        wide[::2] = v
        return wide[::2]
    if layout == "negative":
        return np.ascontiguousarray(v[::-1])[::-1]
    if layout == "transposed":
        return np.ascontiguousarray(v.reshape(4, 6).T).T
    if layout == "broadcast":
        return np.broadcast_to(v[:6], (4, 6))
    if layout == "zero_d":
        return np.array(v[0])
    if layout == "empty":
        return v[:0].reshape(0, 3)
    return v[:1]


def sample(dtype, n, rng, special=True):
    """Values of a dtype that reach its corners."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        v = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        small = rng.integers(max(info.min, -9), 10, n).astype(dtype)
        v = np.where(rng.random(n) < 0.6, small, v).astype(dtype)
        if special:
            corners = np.array([0, 1, info.min, info.max, info.max - 1], dtype)
            v[: min(n, 5)] = corners[: min(n, 5)]
        return v
    if dtype.kind == "c":
        part = np.float32 if dtype == np.complex64 else np.float64
        re, im = sample(part, n, rng, special), sample(part, n, rng, False)
        return (re + 1j * im).astype(dtype)
    v = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3, n)).astype(dtype)
    if special and n >= 12:
        tiny, big = np.finfo(dtype).tiny, np.finfo(dtype).max
        v[:12] = np.array(
            [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, tiny, big, 0.5, -2.5, 3.0], dtype
        )
    return v
