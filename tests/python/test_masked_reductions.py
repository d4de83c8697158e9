"""Reductions under where=: an element that is not chosen changes nothing, whatever the operation is.

Held against Python's loop over NumPy's operation, not against NumPy's reduction, whose vector loops of arctan2 and
power leave out elements of a run (NumPy 2.4 on AVX-512).
"""

import asnumpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import outcome

NAMES = [
    n
    for n in dir(np)
    if isinstance(getattr(np, n), np.ufunc) and getattr(np, n).nin == 2 and getattr(np, n).nout == 1
    and getattr(np, n).signature is None
]  # fmt: skip


def reduced(f, x, where, axis, keepdims, initial):
    """f.reduce in NumPy's order: a step of a line, where it is chosen."""
    dtype = f.reduce(x, axis=axis, keepdims=keepdims, initial=initial).dtype
    lines = np.moveaxis(x.astype(dtype), axis, 0)
    chosen = np.moveaxis(np.broadcast_to(where, x.shape), axis, 0)
    result = np.full(lines.shape[1:], initial, dtype)
    for line, these in zip(lines, chosen, strict=True):
        if f is np.ldexp:
            line = line.astype("i4")
        result = np.where(these, f(result, line).astype(dtype), result)
    return np.expand_dims(result, axis) if keepdims else result


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_masked_reductions(name, data):
    f = getattr(np, name)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    shape = data.draw(st.sampled_from([(5,), (3, 4), (4, 3), (2, 3, 4), (1, 6), (40, 3), (2, 0)]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    dtype = data.draw(st.sampled_from(["?", "i1", "u1", "i4", "i8", "f4", "f8"]))
    keepdims, initial = data.draw(st.booleans()), data.draw(st.sampled_from([1, 2, 0]))
    x = rng.integers(0, 4, shape).astype(dtype)
    where = rng.random(data.draw(st.sampled_from([shape, shape[-1:]]))) < 0.5
    options = {"axis": axis, "keepdims": keepdims, "initial": initial}
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        _, refused = outcome(lambda: f.reduce(x, where=where, **options))
        ours, mask = asnumpy.array(x), asnumpy.array(where)
        got, error = outcome(lambda: getattr(asnumpy, name).reduce(ours, where=mask, **options))
        if refused is not None:
            classes = (ValueError, TypeError)  # (NumPy's own are subclasses)
            assert any(isinstance(error, c) and isinstance(refused, c) for c in classes), error
            return
        assert error is None, error
        want = reduced(f, x, where, axis, keepdims, initial)
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-3 if got.dtype == "f2" else 1e-4, atol=1e-6)


def test_a_mask_does_not_stretch_its_array():
    x = np.arange(4.0)
    for m in (np, asnumpy):
        with pytest.raises(ValueError):
            m.subtract.reduce(m.array(x), where=m.ones((3, 4), dtype=bool), initial=0)


def test_masks_of_traces():
    """Replayed with other masks, and a second time with the first."""
    f = asnumpy.jit(lambda x, w: asnumpy.subtract.reduce(x, axis=0, where=w, initial=9))
    x = np.arange(12.0).reshape(3, 4)
    for seed in (0, 1, 2, 0):
        w = np.random.default_rng(seed).random(x.shape) < 0.5
        want = np.subtract.reduce(x, axis=0, where=w, initial=9)
        np.testing.assert_array_equal(f(asnumpy.array(x), asnumpy.array(w)).to_numpy(), want)
