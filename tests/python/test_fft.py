"""asnumpy.fft against NumPy: every length up to 300, primes, long lines, batches in any layout, n-d, norms, out=, errors; and
accuracy against a transform in long double."""

import inspect

import asnumpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import same, to_device

NAMES = asnumpy.fft.__all__
LENGTHS = [*range(1, 300), 512, 1000, 1009, 1024, 1088, 2048, 3599, 4096, 5000, 10007, 16384, 19683, 65536, 99991]  # fmt: skip


def close(got, expected, where="", bound=12):
    """Type, dtype, shape; and every element within `bound` roundings of the largest."""
    got = np.asarray(got)
    assert got.dtype == expected.dtype and got.shape == expected.shape, where
    if not expected.size:
        return
    far = np.abs(got - expected).max() / (np.abs(expected).max() or 1)
    assert far <= bound * np.finfo(expected.dtype).eps, (where, far)


def values(rng, shape, dtype):
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


@pytest.mark.parametrize("real, complex_", [("f4", "c8"), ("f8", "c16")])
@pytest.mark.parametrize("part", range(8))
def test_every_length(part, real, complex_):
    rng = np.random.default_rng(part)
    for n in LENGTHS[part::8]:
        x, z = values(rng, n, real), values(rng, n, complex_)
        for name, v, args in (
            ("fft", z, ()),
            ("ifft", z, ()),
            ("rfft", x, ()),
            ("irfft", z[: n // 2 + 1], (n,)),
            ("fft", x, ()),
        ):
            got = getattr(asnumpy.fft, name)(asnumpy.array(v), *args)
            close(got, getattr(np.fft, name)(v, *args), (name, n, real))


def exact(z):
    """The transform in long double, by its definition."""
    n = len(z)
    k = np.arange(n)
    angle = (np.outer(k, k) % n).astype(np.longdouble)
    angle *= -2 * np.longdouble("3.14159265358979323846264338327950288") / n
    re, im = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
    c, s = np.cos(angle), np.sin(angle)
    return c @ re - s @ im, c @ im + s @ re


@pytest.mark.parametrize("n", [64, 100, 101, 128, 243, 256, 360, 509, 512, 720, 1000, 1024])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_no_less_accurate_than_numpy(n, dtype):
    rng = np.random.default_rng(n)
    ours = theirs = 0
    for _ in range(3):
        z = values(rng, n, dtype)
        re, im = exact(z)

        def error(y, re=re, im=im):
            return float(np.sqrt(np.mean((y.real - re) ** 2 + (y.imag - im) ** 2)))

        # Scaled: NumPy computes an unscaled single-precision transform in double.
        scale = {"norm": "ortho"}
        unit = np.sqrt(n)
        ours += error(unit * np.asarray(asnumpy.fft.fft(asnumpy.array(z), **scale), "c16"))
        theirs += error(unit * np.fft.fft(z, **scale).astype("c16"))
    assert ours <= 1.15 * theirs


SHAPES = st.lists(st.integers(1, 40), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_layouts(data):
    shape = tuple(data.draw(SHAPES))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(st.sampled_from(["c16", "c8", "f8", "f4", "f2", "i4", "u1", "?"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    wide = tuple(2 * s for s in shape)
    v = values(rng, wide, "c16" if dtype in ("c16", "c8") else "f8")
    v = (v * 10).astype(dtype)
    steps = data.draw(
        st.lists(st.sampled_from([1, 2, -1, -2]), min_size=len(shape), max_size=len(shape))
    )
    v = v[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, s) for s in shape)]
    v = v.transpose(data.draw(st.permutations(range(len(shape)))))
    n = data.draw(st.one_of(st.none(), st.integers(1, 60)))
    norm = data.draw(st.sampled_from([None, "backward", "ortho", "forward"]))
    name = data.draw(st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]))
    where = (name, v.shape, v.strides, dtype, n, axis, norm)
    try:
        expected = getattr(np.fft, name)(v, n, axis, norm)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        with pytest.raises(kind):
            getattr(asnumpy.fft, name)(to_device(v), n, axis, norm)
        return
    # NumPy scales half precision by a factor of half precision.
    bound = 12 << 13 if dtype == "f2" else 12
    close(getattr(asnumpy.fft, name)(to_device(v), n, axis, norm), expected, where, bound)


@pytest.mark.parametrize("shape", [(4, 6), (33, 20), (5, 8, 9), (1, 7), (64, 64), (3, 300)])
@pytest.mark.parametrize("dtype", ["c16", "f8", "f4"])
def test_several_axes(shape, dtype):
    v = values(np.random.default_rng(1), shape, dtype)
    w = asnumpy.array(v)
    for name in ("fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "irfftn", "irfft2"):
        if name.startswith("rfft") and dtype == "c16":
            continue
        for args in (
            (),
            ((4, 5), (0, 1)),
            (None, (1, 0)),
            (None, (-1,)),
            ((-1, 3), (-1, 0)),
            (None, (0, 0)),
        ):
            for norm in (None, "ortho"):
                try:
                    expected = getattr(np.fft, name)(v, *args, norm=norm)
                except ValueError:
                    continue
                close(getattr(asnumpy.fft, name)(w, *args, norm=norm), expected, (name, args))
    assert (np.asarray(w) == v).all()


def test_out():
    rng = np.random.default_rng(3)
    z = values(rng, (6, 8), "c16")
    for name in ("fft", "ifft", "fftn", "ifft2"):
        out, expected = asnumpy.empty((6, 8), "c16"), getattr(np.fft, name)(z)
        assert getattr(asnumpy.fft, name)(asnumpy.array(z), out=out) is out
        close(out, expected, name)
        w = asnumpy.array(z)
        assert getattr(asnumpy.fft, name)(w, out=w) is w
        close(w, expected, name)
        host = np.empty((6, 8), "c16")
        getattr(asnumpy.fft, name)(asnumpy.array(z), out=host)
        close(host, expected, name)
    x = z.real.copy()
    out = asnumpy.empty((6, 5), "c16")
    assert asnumpy.fft.rfft(asnumpy.array(x), out=out) is out
    close(out, np.fft.rfft(x))
    for name in ("ihfft", "rfft2"):
        assert getattr(asnumpy.fft, name)(asnumpy.array(x), out=out) is out
        close(out, getattr(np.fft, name)(x))
    out = asnumpy.empty((6, 14))
    for name in ("irfft", "hfft", "irfft2"):
        assert getattr(asnumpy.fft, name)(asnumpy.array(z), out=out) is out
        close(out, getattr(np.fft, name)(z))
    shared = asnumpy.array(np.concatenate([z, z]))  # out overlaps in without being it
    asnumpy.fft.fft(shared[:6], out=shared[1:7])
    close(shared[1:7], np.fft.fft(z))
    asnumpy.fft.fft(shared.T[:, 6:], axis=0, out=shared.T[:, 6:])
    narrow = asnumpy.empty((6, 8), "c8")
    asnumpy.fft.fft(asnumpy.array(z), out=narrow)
    close(narrow, np.fft.fft(z).astype("c8"))


ERRORS = """
fft(v, 0)
fft(v, -2)
fft(v, axis=1)
fft(v[0])
fft(v, norm="no")
hfft(v, norm="no")
ifft(v, norm=3)
rfft(v * 1j)
irfft(v[:1])
fft(v[:0])
fft(v, out=[1])
fft(v, out=np.empty(5, complex))
fft(v, out=np.empty((5, 2), complex))
fft(v, out=np.empty(6))
fft(v, "a")
fft(v, 2.5)
fftn(m, (2,), (0, 1))
fftn(m, axes=(0, 5))
fft2(v)
fftfreq(2.5)
rfftfreq("a")
fftshift(v, 3)
""".strip().splitlines()
EXACT = """
fftfreq(8)
fftfreq(9, 0.25)
fftfreq(1)
rfftfreq(8)
rfftfreq(9, d=2.0)
fftshift(v)
ifftshift(v)
fftshift(m)
ifftshift(m, 1)
fftshift(m, axes=(0,))
ifftshift(m, [0, 1])
fftshift(m, (1, 1))
ifftshift(m, ())
fftshift(m[:0])
fftshift(m[:, ::-2], -1)
fft(v.astype("f2")).dtype
irfft(v.astype("f2")).dtype
fftn(m, (3, 4)).shape
fft(m[:0]).shape
fft(np.zeros((0, 4))).shape
rfft(np.zeros((3, 0, 4))).shape
""".strip().splitlines()


@pytest.mark.parametrize("text", ERRORS + EXACT)
def test_expression(text):
    def run(np_, v, m):
        return eval("fft." + text, {"np": np_, "fft": np_.fft, "v": v, "m": m})

    expected = same(run, np.arange(6.0), np.arange(20.0).reshape(4, 5), where=text)
    assert (expected is None) == (text in ERRORS)


@pytest.mark.parametrize("name", NAMES)
def test_signature(name):
    ours, theirs = getattr(asnumpy.fft, name), getattr(np.fft, name)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__doc__ and ours.__name__ == name


def test_all_of_numpy():
    assert set(np.fft.__all__) == set(NAMES)


def test_special_values():
    for bad in (np.inf, np.nan):
        z = np.ones(64, complex)
        z[3] = bad
        with np.errstate(all="ignore"):
            expected = np.fft.fft(z)
        assert not np.isfinite(np.asarray(asnumpy.fft.fft(asnumpy.array(z)))).any()
        assert not np.isfinite(expected).any()
    rows = np.ones((20, 64), complex)
    rows[4, 5] = np.nan  # stays in its row
    got = np.asarray(asnumpy.fft.fft(asnumpy.array(rows)))
    assert np.isnan(got[4]).all() and np.isfinite(np.delete(got, 4, 0)).all()


def test_reads_what_is_recorded():
    a = asnumpy.ones(64) * 2 + 1
    close(asnumpy.fft.fft(a + a) * 2, np.fft.fft(np.full(64, 6.0)) * 2)
    b = asnumpy.fft.rfft(a)
    a += 5
    close(b, np.fft.rfft(np.full(64, 3.0)))
