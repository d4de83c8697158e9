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
