"""Programs that run together by bands of rows: the same bits as one operation after the other, and NumPy's values."""

import asnumpy as np
import numpy
import pytest


def softmax(np, x, out):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    out.append(e / e.sum(axis=-1, keepdims=True))


def standardise(np, x, out):
    d = x - x.mean(axis=-1, keepdims=True)
    out += [d / np.sqrt((d * d).sum(axis=-1, keepdims=True)), d]


def in_place(np, x, out):
    y = x * 2
    y -= y.sum(axis=-1, keepdims=True)
    y *= y.max(axis=-1, keepdims=True)
    out += [y, x.min(axis=-1)]


def shifted(np, x, out):
    """Rows of the second program are not those of the first."""
    y = x + 1
    s = y.sum(axis=-1, keepdims=True)
    z = np.zeros_like(y)
    z[1:] = y[:-1] / s[1:]
    y[:-1] = z[1:] * s[:-1]
    out += [y, z, s]


def reversed_rows(np, x, out):
    y = np.exp(-x)
    s = y.sum(axis=-1, keepdims=True)
    out += [y[::-1] / s, y / s[::-1], s]


def over_rows(np, x, out):
    """The first axis is reduced in between."""
    y = x - x.max(axis=0, keepdims=True)
    s = y.sum(axis=-1, keepdims=True)
    out += [y / s, (y * s).sum(axis=0)]


def columns(np, x, out):
    y = x * x
    s = y.sum(axis=0, keepdims=True)
    out += [y / s, y.T / y.T.sum(axis=-1, keepdims=True)]


ROW_WISE = [softmax, standardise, in_place]
OTHERS = [shifted, reversed_rows, over_rows, columns]
SHAPES = [(600, 700), (3, 200_000), (70_000, 5), (40, 50, 300), (1031, 257)]


def results(program, values, library=np):
    out = []
    program(library, library.array(values), out)
    return [numpy.array(r) for r in out]


def draw(shape, dtype):
    return numpy.random.default_rng(5).random(shape).astype(dtype) + numpy.dtype(dtype).type(0.5)


@pytest.mark.parametrize("program", ROW_WISE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits(program, shape, dtype):
    """A few rows alone are no bands, and have the bits of the same rows among all."""
    values = draw(shape, dtype)
    step = max(2, 20_000 // (values.size // shape[0]))
    for _ in range(2):  # the second time with the plan of the first
        whole = results(program, values)
        for start in {0, step, shape[0] // 2, max(0, shape[0] - step)}:
            for all_rows, rows in zip(
                whole, results(program, values[start : start + step]), strict=True
            ):
                numpy.testing.assert_array_equal(all_rows[start : start + step], rows)


@pytest.mark.parametrize("program", ROW_WISE + OTHERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(program, shape):
    values = draw(shape, "float64")
    for ours, theirs in zip(results(program, values), results(program, values, numpy), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_row_sums_that_start_from_a_number():
    """So many rows that the sums alone are a large array."""
    values = draw((600_000, 2), "float64")
    for start in (0.0, 3.0):
        got, expected = [], []
        for x, out in ((np.array(values), got), (values, expected)):
            y = x * 2
            s = y.sum(axis=-1, keepdims=True, initial=start)
            out += [y / s, s]
        for ours, theirs in zip(got, expected, strict=True):
            numpy.testing.assert_allclose(ours.to_numpy(), theirs, rtol=1e-15)


def test_runs_by_bands():
    x = np.array(numpy.random.default_rng(7).random((2000, 500)))
    np.synchronize()
    before = np.engine_stats()["programs"]
    out = []
    softmax(np, x, out)
    np.synchronize()
    if np.engine_stats()["single_ops"] == 0:  # fusion is on
        assert np.engine_stats()["programs"] - before > 9


def heat(np, u, v):
    for _ in range(5):
        u[1:-1, 1:-1] += 0.2 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        )
    return u, v


def two_fields(np, u, v):
    for _ in range(3):
        u[2:-2] -= 0.25 * (v[4:] - v[:-4])
        v[2:-2] += 0.125 * (u[1:-3] - 2 * u[2:-2] + u[3:-1])
    return u, v


def upwind(np, u, v):
    """The rows above only: nothing lags; then the rows below, and a temporary that is kept."""
    u[1:] -= 0.5 * (u[1:] - u[:-1]) * v[1:]
    u[:-1] += 0.5 * (u[1:] - u[:-1]) * v[:-1]
    t = u[1:-1] * 2
    v[1:-1] = t + v[:-2]
    v[1:-1] -= t * u[2:]
    return u, v, t


def far_rows(np, u, v):
    """A lag longer than a band: one after the other."""
    n = len(u) // 2
    u[:n] += 0.5 * u[n : 2 * n]
    u[n : 2 * n] -= v[:n] * u[:n]
    return u, v


def turned(np, u, v):
    u[1:-1] += 0.25 * u[::-1][1:-1]
    u[1:-1] -= 0.25 * (v[2:][::-1] + u[:-2])
    return u, v


def through_a_temporary(np, u, v):
    """Nobody else knows it; rows that are not its writer's are read."""
    t = u * 3
    getattr(np, "synchronize", int)()
    t[1:-1] = u[1:-1] * 2
    v[1:-1] -= (t[2:] - t[:-2]) * u[1:-1]
    return u, v


@pytest.mark.parametrize(
    "program", [heat, two_fields, upwind, far_rows, turned, through_a_temporary]
)
@pytest.mark.parametrize(
    "shape", [(1500, 1100), (300, 20, 300), (60, 30_000), (200_000, 9)], ids=str
)
def test_stencils(program, shape):
    """Programs that read rows nearby lag behind those that they follow, or run one after the other."""
    x, y = draw(shape, "float64"), draw(shape, "float64") - 0.75
    got = program(np, np.array(x), np.array(y))
    for ours, theirs in zip(got, program(numpy, x, y), strict=True):
        numpy.testing.assert_array_equal(ours.to_numpy(), theirs)
