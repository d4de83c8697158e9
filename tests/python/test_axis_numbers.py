"""What counts as the number of an axis: some functions of NumPy take whatever has __index__, a bool too, others refuse
a bool, some read a sequence. The same for extents and positions."""

import asnumpy
import numpy as np
import pytest
from oracle import assert_same, outcome, to_host

NUMBERS = [True, False, 1, -1, np.True_, np.int8(1), 1.0, np.array(1), np.array([1]), (True,), [1], [True], "x"]  # fmt: skip
ANYTHING = """
np.expand_dims(a, x) | np.expand_dims(a, (x, 0)) | np.squeeze(b, x) | np.sum(a, x) | np.max(a, axis=x) | np.argmax(a, x) | np.cumsum(a, x) | a.sum(x) | a.cumsum(x) | np.add.reduce(a, x)
np.concatenate([a, a], x) | np.stack([a, a], x) | np.take(a, [0], x) | a.take([0], x) | np.moveaxis(a, x, 0) | np.moveaxis(a, 0, x) | np.swapaxes(a, x, 0) | np.rollaxis(a, x)
np.sort(a, x) | np.argsort(a, x) | np.partition(a, 1, x) | np.median(a, x) | np.percentile(a, 50, x) | np.nanmedian(a, x) | np.average(a, x) | np.std(a, x) | np.repeat(a, 2, x) | np.roll(a, 1, x)
np.flip(a, x) | np.delete(a, 0, x) | np.append(a, a, x) | np.diff(a, axis=x) | np.gradient(a, axis=x) | np.gradient(a, axis=(x, 0)) | np.trapezoid(a, axis=x) | np.array_split(a, 2, x)
np.take_along_axis(a, i, x) | np.apply_along_axis(np.sum, x, h) | np.compress([1, 0], a, x) | np.unique(a, axis=x) | np.packbits(u, x) | np.unpackbits(u, x) | np.cross(c, c, axis=x) | np.cross(c, c, x)
np.linalg.norm(a, axis=x) | np.linalg.norm(a, 1, x) | np.linalg.vector_norm(a, axis=x) | np.fft.fft(a, axis=x) | np.count_nonzero(a, x) | np.linspace(a, a, 3, axis=x) | np.tensordot(a, a, axes=(x, x))
np.cumulative_sum(a, axis=x) | np.polynomial.polynomial.polyder(a, axis=x) | np.polynomial.chebyshev.chebint(a, axis=x) | np.random.default_rng(0).permuted(a, axis=x) * 0
np.eye(x) | np.identity(x) | np.zeros(x) | np.resize(a, x) | np.bincount([1, 2], minlength=x) | a.item(x) | np.partition(a, x) | v.reshape(2, x) | np.tile(a, 2 if type(x) is str else x) | np.broadcast_to(a, (x, 2, 3))
""".replace("\n", "|").split("|")
EXPRESSIONS = [t.strip() for t in ANYTHING if t.strip()]


def run(m, text, x):
    names = {
        "np": m, "x": x, "a": m.array([[4.5, 6, 1], [0, 7, 3]]), "b": m.arange(6.0).reshape(2, 1, 3), "v": m.arange(4.0),
        "u": m.arange(6, dtype="u1").reshape(2, 3), "c": m.arange(9.0).reshape(3, 3) ** 2, "i": m.array([[0, 1, 0], [1, 0, 0]]),
        "h": np.ones((2, 3)),
    }  # fmt: skip
    return to_host(eval(text, names))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_axis_numbers(text):
    for x in NUMBERS:
        expected, expected_error = outcome(run, np, text, x)
        got, error = outcome(run, asnumpy, text, x)
        assert type(error) is type(expected_error), (x, error, expected_error)
        if error is None:
            assert_same(got, expected, ulp=16, where=f"{text}, x={x!r}")


def test_sizes_along_axes():
    a = np.ones((2, 3, 4))
    for x in (None, True, False, 0, -1, (0, True), [1, 2], (), (1, 1), 3, 1.5):
        expected, expected_error = outcome(np.size, a, x)
        got, error = outcome(asnumpy.size, asnumpy.array(a), x)
        assert (got, type(error)) == (expected, type(expected_error)), x


# Of three arrays x and axes d: an array without dimensions has no axis, so nothing of it is to be read as one.
ALONG = """
np.add.reduceat(x, [0, 1], d) | np.maximum.reduceat(x, [0], axis=d) | np.logical_and.reduceat(x, [], d) | np.add.reduceat(x, 0, d) | np.add.reduceat(x, [[0, 1]], d) | np.divide.accumulate(x, d) | np.add.accumulate(x, axis=d)
np.add.reduce(x, d) | np.add.at(x, d, 1) | np.sum(x, d) | np.mean(x, d) | np.argmax(x, d) | x.sort(d) | np.sort(x, d) | np.argsort(x, d) | x.argsort(d) | np.cumsum(x, d) | x.cumprod(d) | x.partition(0, d) | np.partition(x, 0, d)
np.argpartition(x, 0, d) | x.argpartition(0, d) | np.take(x, 0, d) | x.take([0], d) | np.repeat(x, 2, d) | x.repeat([2], d) | np.compress([True], x, d) | np.swapaxes(x, 0, d) | x.swapaxes(d, 0) | np.squeeze(x, d) | np.flip(x, d)
np.diagonal(x, 0, 0, d) | x.trace(0, d, 0) | np.median(x, d) | np.percentile(x, 50, d) | np.nansum(x, d) | np.nanargmax(x, d) | np.unique(x, axis=d) | np.roll(x, 1, d) | np.rollaxis(x, d) | np.moveaxis(x, 0, d) | np.expand_dims(x, d)
np.concatenate([x, x], d) | np.stack([x, x], d) | np.append(x, x, d) | np.insert(x, 0, 1, d) | np.delete(x, 0, d) | np.split(x, 1, d) | np.array_split(x, 2, d) | np.diff(x, axis=d) | np.gradient(x, axis=d) | np.unwrap(x, axis=d)
np.take_along_axis(x, np.array([0]), d) | np.put_along_axis(x, np.array([0]), 1, d) | np.apply_along_axis(np.sum, d, x) | np.packbits(x, d) | np.unpackbits(x, d) | np.cross(x, x, axis=d)
np.linalg.norm(x, axis=d) | np.vecdot(x, x, axis=d) | np.transpose(x, d) | np.lexsort((x,), d) | np.count_nonzero(x, d) | np.cumulative_sum(x, axis=d) | np.unstack(x, axis=d) | np.trapezoid(x, axis=d) | np.average(x, d)
np.fft.fft(x, axis=d) | np.fft.irfft(x, axis=d) | np.frompyfunc(max, 2, 1).reduceat(x, [0], d) | np.random.default_rng(0).choice(x, axis=d)
np.random.default_rng(0).shuffle(x, axis=d) | np.digitize(1, x) | np.interp(1, x, x) | np.searchsorted(x, 1)
"""  # fmt: skip
SCALARS = ["np.array(5, 'i2')", "np.array(5.0)", "np.zeros((0, 3))"]


@pytest.mark.parametrize(
    "text", [t.strip() for t in ALONG.replace("\n", "|").split("|") if t.strip()]
)
def test_arrays_without_dimensions(text):
    def run(np, x, d):
        return to_host(eval(text, {"np": np, "x": eval(x, {"np": np}), "d": d}))

    for x in SCALARS:
        for d in (0, -1, 1, 5, -3, None):
            expected, expected_error = outcome(run, np, x, d)
            got, error = outcome(run, asnumpy, x, d)
            if isinstance(error, np.exceptions.AxisError):  # both a ValueError and an IndexError
                assert isinstance(expected_error, ValueError | IndexError), (x, d, expected_error)
                continue
            assert type(error) is type(expected_error), (x, d, error, expected_error)
            if error is None:
                assert_same(got, expected, ulp=16, where=f"{text}, x={x}, d={d}")


def test_reduceat_of_a_scalar_reads_no_axis():
    for _ in range(200):
        for indices in ([0, 1], [0], []):
            with pytest.raises(TypeError, match="cannot reduceat on a scalar"):
                asnumpy.add.reduceat(asnumpy.array(5, "i2"), indices)


# Functions that ask the shape for an axis that is not there say IndexError, others AxisError.
NOT_THERE = """
np.fft.fftshift(a, x) | np.fft.ifftshift(a, (0, x)) | np.fft.ifftshift(a, [x]) | np.fft.fftshift(a, np.array([x])) | np.fft.fft(a, axis=x) | np.fft.rfft(a, axis=x) | np.fft.ihfft(a, axis=x) | np.fft.fft(a, 2, x)
np.tensordot(a, a, x) | np.tensordot(a, a, (x, x)) | np.tensordot(a, a, ([0, x], [0, x])) | np.tensordot(a, a, (0, x)) | np.trapezoid(a, axis=x) | np.roll(a, (1, 2), (0, 1, x)) | np.roll(a, 1, x) | np.fft.fftn(a, axes=(x,))
np.vecdot(a, a, axis=x) | np.vecdot(a, a, axis=(x,)) | np.vecdot(a, a, axis=(0, 1)) | np.lib.stride_tricks.sliding_window_view(a, (1, 1), axis=[0, x]) | np.lib.stride_tricks.sliding_window_view(a, 1, axis=x)
np.reshape(a, x) | np.reshape(a, (2, x)) | np.reshape(a, (x, x)) | np.histogram(a, np.array(x)) | np.histogram(a, np.int8(x)) | np.transpose(a, (0, x))
""".replace("\n", "|").split("|")


@pytest.mark.parametrize("text", [t.strip() for t in NOT_THERE if t.strip()])
def test_axes_that_are_not_there(text):
    for x in (1, 5, -3, -9):
        expected, expected_error = outcome(run, np, text, x)
        got, error = outcome(run, asnumpy, text, x)
        assert type(error) is type(expected_error), (x, error, expected_error)
        if error is None:
            assert_same(got, expected, ulp=16, where=f"{text}, x={x!r}")
