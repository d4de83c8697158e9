"""Whatever writes to an array that is given may be given NumPy's: the caller sees what was written.

On a device whose memory the host does not reach the array is copied there, and back.
"""

import asnumpy
import numpy
import pytest

M = numpy.arange(12.0).reshape(3, 4) % 5

# Each takes the module and an array to write to: its shape, and the call.
WRITES = {
    "ufunc": ((3, 4), lambda np, o: np.exp(M, out=o)),
    "ufunc of tuples": ((3, 4), lambda np, o: np.exp(M, out=(o,))),
    "positional": ((3, 4), lambda np, o: np.add(M, M, o)),
    "where": ((3, 4), lambda np, o: np.add(M, 1, out=o, where=M > 2)),
    "two outputs": ((3, 4), lambda np, o: np.divmod(M, 3, out=(o, numpy.zeros((3, 4))))),
    "second output": ((3, 4), lambda np, o: np.modf(M + 0.5, out=(numpy.zeros((3, 4)), o))),
    "reduce": ((4,), lambda np, o: np.add.reduce(M, out=o)),
    "accumulate": ((3, 4), lambda np, o: np.add.accumulate(M, out=o)),
    "reduceat": ((2, 4), lambda np, o: np.add.reduceat(M, [0, 2], out=o)),
    "at": ((4,), lambda np, o: np.add.at(o, [1, 1, 3], 2.0)),
    "outer": ((3, 4), lambda np, o: np.outer(numpy.arange(3.0), numpy.arange(4.0), out=o)),
    "matmul": ((3, 3), lambda np, o: np.matmul(M, M.T, out=o)),
    "dot": ((3, 3), lambda np, o: np.dot(M, M.T, out=o)),
    "sum": ((3,), lambda np, o: np.sum(M, axis=1, out=o)),
    "mean": ((3,), lambda np, o: np.mean(M, axis=1, out=o)),
    "std": ((3,), lambda np, o: np.std(M, axis=1, out=o)),
    "max": ((3,), lambda np, o: np.max(M, axis=1, out=o)),
    "cumsum": ((12,), lambda np, o: np.cumsum(M, out=o)),
    "cumprod": ((3, 4), lambda np, o: np.cumprod(M, axis=0, out=o)),
    "median": ((3,), lambda np, o: np.median(M, axis=1, out=o)),
    "percentile": ((3,), lambda np, o: np.percentile(M, 30, axis=1, out=o)),
    "nansum": ((3,), lambda np, o: np.nansum(M, axis=1, out=o)),
    "clip": ((3, 4), lambda np, o: np.clip(M, 1, 3, out=o)),
    "round": ((3, 4), lambda np, o: np.round(M / 3, 1, out=o)),
    "concatenate": ((6, 4), lambda np, o: np.concatenate([M, M], out=o)),
    "stack": ((2, 3, 4), lambda np, o: np.stack([M, M], out=o)),
    "take": ((2, 4), lambda np, o: np.take(M, [0, 2], axis=0, out=o, mode="clip")),
    "choose": ((4,), lambda np, o: np.choose([0, 1, 2, 0], M, out=o)),
    "compress": ((2, 4), lambda np, o: np.compress([True, False, True], M, axis=0, out=o)),
    "einsum": ((3,), lambda np, o: np.einsum("ij->i", M, out=o)),
    "trace": ((), lambda np, o: np.trace(M, out=o)),
    "fft": ((3, 4), lambda np, o: np.fft.fft(M, out=o)),
    "copyto": ((3, 4), lambda np, o: np.copyto(o, M, where=M > 1)),
    "put": ((3, 4), lambda np, o: np.put(o, [1, 5], [7.0, 8.0])),
    "place": ((3, 4), lambda np, o: np.place(o, M > 2, [1.0, 2.0])),
    "putmask": ((3, 4), lambda np, o: np.putmask(o, M > 2, M * 2)),
    "put_along_axis": (
        (3, 4),
        lambda np, o: np.put_along_axis(o, numpy.array([[1], [2], [0]]), 9, 1),
    ),
    "fill_diagonal": ((3, 4), lambda np, o: np.fill_diagonal(o, 5)),
    "nan_to_num": ((3, 4), lambda np, o: np.nan_to_num(o, copy=False, nan=1)),
    "random": ((3, 4), lambda np, o: np.random.default_rng(1).random(out=o)),
    "shuffle": (
        (12,),
        lambda np, o: (o.__iadd__(numpy.arange(12)), np.random.default_rng(1).shuffle(o)),
    ),
    "RandomState.shuffle": (
        (12,),
        lambda np, o: (o.__iadd__(numpy.arange(12)), np.random.RandomState(1).shuffle(o)),
    ),
}


def made(np, name, order, step):
    """The array after the call: in C or Fortran order, or every other element of one."""
    shape, write = WRITES[name]
    dtype = complex if name == "fft" else float
    whole = numpy.full([step * n for n in shape], 0.25, dtype=dtype, order=order)
    out = whole[tuple(slice(None, None, step) for _ in shape)] if shape else whole
    write(np, out)
    return whole


@pytest.mark.parametrize("order, step", [("C", 1), ("F", 1), ("C", 2)])
@pytest.mark.parametrize("name", WRITES)
def test_written(name, order, step):
    if (name == "dot" and (order, step) != ("C", 1)) or (name == "random" and step == 2):
        pytest.skip("NumPy wants its memory contiguous here")
    expected = made(numpy, name, order, step)
    numpy.testing.assert_allclose(made(asnumpy, name, order, step), expected, rtol=1e-12)
