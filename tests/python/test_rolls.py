"""Temporaries put together from pieces (roll, concatenate) and read by elementwise programs, which leave the copies
out. NumPy is the oracle."""

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st


def same(got, want):
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def both(program, *inputs):
    got = program(np, *(np.array(x) for x in inputs))
    want = program(numpy, *(x.copy() for x in inputs))
    for g, w in zip(got, want, strict=True):
        same(g, w)


SHAPES = st.sampled_from(
    [(300, 200), (6000, 5), (9000, 30), (40, 1500), (60000,), (30, 40, 50), (1, 70000), (130, 130)]
)


@settings(max_examples=60, deadline=None)
@given(SHAPES, st.integers(0, 10**6))
def test_rolls(shape, seed):
    """Random recordings of rolls, concatenations, arithmetic, reductions and in-place writes."""
    rng = numpy.random.default_rng(seed)
    steps = rng.integers(0, 8, 10)
    numbers = [
        (int(rng.integers(-5, 6)), int(rng.integers(0, len(shape))), int(rng.integers(0, 10**6)))
        for _ in steps
    ]

    def program(xp, x, y):
        kept = []
        t = x + 1
        for step, (shift, axis, cut) in zip(steps, numbers, strict=True):
            if step <= 2:
                t = t * 0.5 + xp.roll(y, shift, axis) - xp.roll(x, cut, axis)
            elif step == 3:
                y = xp.roll(t, shift, axis) * xp.roll(t, -shift, axis) * 0.125
            elif step == 4:
                x += xp.roll(x, shift, axis) * 0.25
            elif step == 5:
                n = x.shape[axis]
                at = [slice(None)] * x.ndim
                low, high = list(at), list(at)
                low[axis], high[axis] = slice(0, cut % n), slice(cut % n, None)
                t = xp.where(xp.concatenate((y[tuple(high)], x[tuple(low)]), axis) > 0.5, t, y)
            elif step == 6:
                kept.append(xp.roll(t, shift, axis).max(axis))
            else:
                r = xp.roll(t, shift, axis)
                t = r + t
                x[...] = x * 0.5
                kept.append(r)
        return [*kept, x, y, t]

    both(program, rng.random(shape), rng.random(shape))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_neighbours(dtype):
    h = numpy.random.default_rng(0).integers(0, 2, (256, 256)).astype(dtype)

    def program(xp, g):
        around = sum(xp.roll(xp.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - g
        laplace = (
            xp.roll(g, 1, 0) + xp.roll(g, -1, 0) + xp.roll(g, 1, 1) + xp.roll(g, -1, 1) - 4 * g
        )
        return around, laplace

    both(program, h)


def test_a_source_that_changes():
    def program(xp, x):
        r = xp.roll(x, 1, 0)
        x[5] = 7  # the roll has the old row
        t = r * 2
        r2 = xp.roll(x, 1, 1)
        x += r2 * 0.5  # in place over what the roll reads
        return t, x

    both(program, numpy.random.default_rng(0).random((256, 256)))


def test_pieces_that_nobody_wrote():
    """Memory of np.empty has whatever it has; it is there to be read."""
    x = numpy.arange(400 * 500).reshape(400, 500)
    a = np.array(x)
    np.synchronize()
    none = np.empty((400, 500), int)
    same((np.roll(none, 1, 0) & 0) + a, x)
    none = np.empty((300, 500), int)
    same((np.concatenate((none, a)) * 2)[300:], x * 2)


def test_many_different_cuts():
    def program(xp, x):
        return [sum(xp.roll(x, i, i % 2) * i for i in range(1, 20))]

    both(program, numpy.random.default_rng(0).random((256, 256)))


def slopes(xp, x, y):
    """Differences along two axes of products, as in a flux."""
    z = x * y
    along = xp.roll(z, -1, 1) - xp.roll(z, 1, 1) + xp.roll(x, -1, 1) - xp.roll(x, 1, 1)
    across = xp.roll(z, -1, 0) - xp.roll(z, 1, 0) + xp.roll(y, -1, 0) - xp.roll(y, 1, 0)
    return along, across + x


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators form no programs")
def test_rolls_along_two_axes_keep_nothing_apart():
    """The copies do not run, so what they stood between is one program: the product, and both differences."""
    rng = numpy.random.default_rng(0)
    x, y = np.array(rng.random((256, 256))), np.array(rng.random((256, 256)))
    np.synchronize()
    along, across = slopes(np, x, y)
    plan = np.explain(across).split("program ")[1:]
    assert sum("does not run" not in program for program in plan) == 2


@pytest.mark.parametrize("when", range(4))
def test_a_source_that_changes_between_rolls_along_two_axes(when):
    def program(xp, x, y):
        r = xp.roll(x, 1, 0) * 2 - xp.roll(y, 1, 1)
        if when == 0:
            x += y
        s = xp.roll(x, -1, 1) + y * 0.5
        if when == 1:
            y[3:] = x[3:]
        t = xp.roll(y, -1, 0) - s + r
        if when == 2:
            x *= t
        u = t + xp.roll(x, 1, 1) - xp.roll(t, 1, 0)
        if when == 3:
            t += u
        return r, s, t, u, x, y

    rng = numpy.random.default_rng(0)
    both(program, rng.random((256, 256)), rng.random((256, 256)))


SHIFTS = [
    3,
    -1,
    0,
    10**6,
    2.7,
    numpy.int32(2),
    (1, 2),
    (0, 0),
    (5, 0),
    [1, 2],
    (1, 2.5),
    (-7, 10**6),
    True,
]


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (1, 1), [0, 1], (-1, 0)])
@pytest.mark.parametrize("shape", [(7, 5), (400, 301), (3, 4, 5), (2, 0, 3)])
def test_roll_along_axes(shift, axis, shape):
    x = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    for order in (x, x[::-1], x.T):
        try:
            want = numpy.roll(order, shift, axis)
        except Exception as error:
            with pytest.raises(type(error)):
                np.roll(np.array(order), shift, axis)
            continue
        same(np.roll(np.array(order), shift, axis), want)


@pytest.mark.parametrize("shape", [(6,), (6, 5), (300, 301), (3, 4, 5), (0, 4)])
@pytest.mark.parametrize("axes", [None, 0, (0,), (-1, 0), (0, 0)])
def test_shifts_of_frequencies(shape, axes):
    x = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) * (1 + 1j)
    for name in ("fftshift", "ifftshift"):
        try:
            want = getattr(numpy.fft, name)(x, axes)
        except Exception as error:
            with pytest.raises(type(error)):
                getattr(np.fft, name)(np.array(x), axes)
            continue
        same(getattr(np.fft, name)(np.array(x), axes), want)


@pytest.mark.parametrize("shape", [(64, 300), (2047, 5), (1100, 700)])
def test_pieces_of_what_dies(shape):
    """A copy that does not run reads its source when its readers do: until then nothing takes
    that memory, though the program that holds the copy is the last to read it otherwise."""
    values = numpy.random.default_rng(1).normal(size=shape)

    def joined(xp):
        y = xp.array(values)
        t = xp.concatenate((y, y), 0) * 2.5 + 1
        wave = xp.negative(y)
        del y
        return t, wave

    def joined_twice(xp):
        y = xp.array(values)
        t = xp.concatenate((y, y), 0) * 7.25 + xp.concatenate((y, y), 0)
        wave = xp.square(y)
        turned = xp.roll(t, 3, 0) - xp.roll(t, -3, 1) * 2
        del y
        return turned, t, wave

    def scaled(xp):
        y = xp.array(values)
        e = xp.exp2(y - y.max(axis=1, keepdims=True))
        joined = xp.concatenate((e, e), 0) * 2.5 + 1
        parts = e / e.max(axis=1, keepdims=True)
        del e, y
        return parts, joined

    for _ in range(3):
        both(joined)
        both(joined_twice)
        for got, want in zip(scaled(np), scaled(numpy), strict=True):
            numpy.testing.assert_allclose(numpy.asarray(got), want, rtol=1e-12)


def test_layout_is_the_arrays():
    """As NumPy's, whose roll fills an empty_like: whether reshape is a view depends on it."""
    models = (
        lambda xp: xp.broadcast_to(xp.arange(12.0).reshape(12, 1), (2, 12, 1)),
        lambda xp: xp.broadcast_to(xp.arange(3.0)[:, None], (2, 3, 4)),
        lambda xp: xp.arange(24.0).reshape(2, 3, 4).T,
        lambda xp: xp.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)[::-1],
        lambda xp: xp.arange(48.0).reshape(2, 6, 4)[:, ::2],
    )
    for model in models:
        for axis in range(3):
            for shift in (0, 1, -1, 7):
                got = np.roll(model(np), shift, axis)
                want = numpy.roll(model(numpy), shift, axis)
                assert numpy.array_equal(got, want)
                steps = [
                    (s, t)
                    for s, t, n in zip(got.strides, want.strides, want.shape, strict=True)
                    if n > 1
                ]
                assert all(s == t for s, t in steps), (axis, shift, got.strides, want.strides)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="every operation is a program of its own")
def test_short_rows_are_copied():
    """Regions within rows of a few bytes would take longer than the copies of a roll."""
    v = np.ones((8333, 12), "u1")
    np.synchronize()
    assert np.explain(v + np.roll(v, 2, 1)).count("program ") == 3
    same(v + np.roll(v, 2, 1), numpy.full((8333, 12), 2, "u1"))
