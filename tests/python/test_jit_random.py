"""asnumpy.jit on random programs: views, writes through them, broadcasting, shared arguments, control flow on shapes."""

import asnumpy
import numpy
import numpy as np
from conftest import NPU
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = ["float32", "int32"] if NPU else ["float64", "float32", "int32", "bool"]
SHAPES = [(), (1,), (5,), (4, 1), (4, 5), (3, 4, 5), (0, 5), (40, 50), (50,)]

UNARY = [
    lambda np, x: -x if x.dtype != bool else ~x,
    lambda np, x: np.abs(x),
    lambda np, x: x * x,
    lambda np, x: x.astype("float32"),
    lambda np, x: np.where(x > 0, x, np.zeros_like(x)),
    lambda np, x: x.T,
    lambda np, x: x[::2] if x.ndim else x,
    lambda np, x: x[..., ::-1] if x.ndim else x,
    lambda np, x: x[1:] if x.ndim and len(x) > 2 else x,
    lambda np, x: x.reshape(-1),
    lambda np, x: x.copy(),
    lambda np, x: x.sum(axis=0) if x.ndim else x,
    lambda np, x: x.max(axis=-1, keepdims=True) if x.ndim and x.size else x,
    # An NPU's host computes means of whole numbers, and of one.
    lambda np, x: x.mean() if x.size and x.ndim and not (NPU and x.dtype != np.float32) else x,
    lambda np, x: np.concatenate([x, x]) if x.ndim else x,
    lambda np, x: np.stack([x, x]).sum(axis=0),
]
BINARY = [
    lambda np, x, y: x + y,
    lambda np, x, y: x * y,
    lambda np, x, y: np.maximum(x, y),
    lambda np, x, y: (x > y) | (x == y),
    lambda np, x, y: np.where(x > y, x, y),
]


def writes(x, y):
    """In place where NumPy would take it: y's shape goes into x's, its dtype too."""
    if not x.flags.writeable or not np.can_cast(y.dtype, x.dtype, "same_kind"):
        return False
    try:
        return np.broadcast_shapes(x.shape, y.shape) == x.shape
    except ValueError:
        return False


def run(np, program, arrays):
    """A program in straight line: each operation reads what was made before; some write."""
    made = list(arrays)
    for kind, which, first, second in program:
        x, y = made[first % len(made)], made[second % len(made)]
        if kind == "unary":
            made.append(UNARY[which % len(UNARY)](np, x))
        elif kind == "write":
            if writes(x, y):
                x[...] = y if which % 2 else y + y
        elif kind == "number":
            made.append(x * (which % 5 - 2) if which % 2 else x + which / 4)
        elif kind == "element":
            made.append(x[(which % 2,) * x.ndim] if x.ndim and min(x.shape) > 1 else x)
        else:
            try:
                np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                continue
            made.append(BINARY[which % len(BINARY)](np, x, y))
        if isinstance(made[-1], numpy.generic):  # what jit has as a 0-d array
            made[-1] = np.asarray(made[-1])
    return made[-6:]


operations = st.lists(
    st.tuples(
        st.sampled_from(["unary", "binary", "binary", "write", "number", "element"]),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=14,
)
arguments = st.lists(
    st.tuples(st.sampled_from(SHAPES), st.sampled_from(DTYPES), st.sampled_from("CFVR")),
    min_size=1,
    max_size=3,
)


def make(rng, shape, dtype, layout):
    """An array of small whole numbers, so that sums are exact in any order: row-major, column-major, every second
    element of another, or reversed."""
    wide = tuple(2 * n for n in shape) if layout == "V" else shape
    a = rng.integers(-2, 3, wide).astype(dtype)
    if layout in "VR" and not shape:
        return a
    if layout == "V":
        return a[(slice(None, None, 2),) * len(shape)]
    if layout == "R":
        return a[(slice(None, None, -1),) * len(shape)]
    return np.asfortranarray(a) if layout == "F" else a


def twin(a):
    """The same elements for asnumpy with the same strides over memory of its own."""
    if not a.size or not a.ndim or a.base is None or a.flags.forc:
        return asnumpy.array(a, order="K")
    base = asnumpy.array(a.base, order="K")
    step = -1 if a.strides[0] < 0 else 2
    return base[(slice(None, None, step),) * a.ndim]


def agree(ours, numpys):
    assert len(ours) == len(numpys)
    for a, b in zip(ours, numpys, strict=True):
        a = np.asarray(a)
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5)


@settings(max_examples=150)
@given(operations, arguments, st.booleans(), st.integers(0, 2**32 - 1))
def test_random_programs(program, kinds, shared, seed):
    rng = np.random.default_rng(seed)
    jitted = asnumpy.jit(lambda *arrays: run(asnumpy, program, arrays))
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for _ in range(3):
            host = [make(rng, *kind) for kind in kinds]
            device = [twin(a) for a in host]
            if shared:  # the last argument once more, whole and without its first row
                host.append(host[-1][1:] if host[-1].ndim else host[-1])
                device.append(device[-1][1:] if device[-1].ndim else device[-1])
            agree(jitted(*device), run(np, program, host))
            agree(device, host)
    assert jitted.cache_info().misses <= 2
