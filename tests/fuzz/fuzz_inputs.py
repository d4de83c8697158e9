"""Arrays that the statement fuzzer's programs begin with, each told by a few words, so that a
program is text and means the same in every process and under both libraries."""

import numpy

CORNERS = (0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 1e300, -800.0, 1000.0, 1e-310,
           -1e-40, 65504.0, 3.5e38, 1e6, 710.0)  # fmt: skip
FILLS = ("plain", "positive", "corners", "rare", "one")
LAYOUTS = ("rows", "columns", "gaps", "backwards", "shifted", "foreign", "odd", "part")


def values(dtype, shape, fill, seed):
    """NumPy's array of a shape: numbers of every function's fast path, and some off it."""
    rng = numpy.random.default_rng(seed)
    n = int(numpy.prod(shape))
    if dtype == "?":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        low = 0 if dtype[0] == "u" else -3
        x = rng.integers(low, 7, n)
        if fill == "corners":
            x[rng.random(n) < 0.03] = numpy.iinfo(dtype).max % 2**31
        return x.astype(dtype).reshape(shape)
    x = rng.random(n) * 2 + 0.1 if fill in ("positive", "one") else rng.normal(size=n)
    if dtype[0] == "c":
        x = x + 1j * rng.normal(size=n)
    if fill in ("corners", "rare"):
        at = rng.random(n) < (0.03 if fill == "corners" else 0.001)
        x[at] = rng.choice(CORNERS, at.sum())
    if fill == "one" and n:
        x[rng.integers(n)] = rng.choice(CORNERS)
    with numpy.errstate(all="ignore"):
        return x.astype(dtype).reshape(shape)


def make(np, dtype, shape, fill, layout, seed):
    """The array under library `np` (numpy or asnumpy). `foreign`: memory of NumPy's, which begins
    anywhere, `odd`: between two aligned places; the others are the library's own, some of them
    views of larger arrays."""
    x = values(dtype, shape, fill, seed)
    if layout == "columns":
        return np.array(x.T.copy()).T
    if layout == "gaps" and shape:
        wide = numpy.repeat(x, 2, axis=-1)
        return np.array(wide)[..., ::2]
    if layout == "backwards" and shape:
        return np.array(x[::-1].copy())[::-1]
    if layout == "shifted":
        flat = np.array(numpy.concatenate([numpy.zeros(3, x.dtype), x.ravel()]))
        return flat[3:].reshape(shape)
    if layout == "foreign":
        memory = numpy.empty(x.size + 5, x.dtype)
        view = memory[seed % 5 :][: x.size].reshape(shape)
        view[...] = x
        return np.asarray(view)
    if layout == "odd":
        memory = numpy.empty(x.nbytes + 4, "u1")
        view = memory[1 + 2 * (seed % 2) :][: x.nbytes].view(x.dtype).reshape(shape)
        view[...] = x
        return np.asarray(view)
    if layout == "part" and shape:
        wide = numpy.concatenate([x[:1], x, x[:1]], axis=0)
        return np.array(wide)[1:-1]
    return np.array(x)
