"""Creation, facts, views, joining, elements, assignment."""

import ctypes
import gc
import warnings

import face
import numpy as np
import pytest
from face import (
    DTYPES,
    END,
    FLATTENED,
    NONE,
    Failure,
    Number,
    adopt,
    array,
    axes,
    c,
    extents,
    handles,
    number,
    operand,
    python,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st
from strategies import INTEGERS, numpy_arrays, pairs, same

shapes = st.lists(st.integers(0, 4), max_size=4)


@given(shapes, st.sampled_from(sorted(DTYPES)))
def test_by_shape(shape, dtype):
    args = (DTYPES[dtype], len(shape), extents(*shape))
    same(c.zeros(*args), np.zeros(shape, dtype))
    same(c.ones(*args), np.ones(shape, dtype))
    same(c.full(*args, number(3)), np.full(shape, 3, dtype))
    assert c.empty(*args).numpy().shape == tuple(shape)


@given(pairs())
def test_facts_and_copies(pair):
    x, a = pair
    same(a, x, 0)
    same(c.copy(a), x, 0)
    assert c.ndim(a) == x.ndim and a.shape == x.shape and c.size(a) == x.size
    assert c.nbytes(a) == x.nbytes and c.dtype_of(a) == DTYPES[x.dtype.name]
    assert c.is_writeable(a) == 1
    assert c.is_contiguous(c.copy(a)) == 1
    like = c.empty_like(a, NONE)
    assert like.shape == x.shape and like.dtype == x.dtype
    assert c.empty_like(a, DTYPES["int8"]).dtype == np.int8
    shared = c.share(a)
    assert c.may_share_memory(a, shared) == (x.size > 0)
    assert c.may_share_memory(a, c.copy(a)) == 0


@given(numpy_arrays(empty=False))
def test_adopted_memory(x):
    """No copy: both see what either writes; the release comes with the last handle."""
    face.released.clear()
    a = adopt(x, context=ctypes.c_void_p(77))
    strides = ctypes.cast(c.strides(a), ctypes.POINTER(ctypes.c_int64))
    assert tuple(strides[d] for d in range(x.ndim)) == x.strides
    x[...] = 1
    same(a, x, 0)
    c.assign(a, operand(0))
    c.synchronize()
    assert not x.any()
    view = c.ravel(a)
    del a
    gc.collect()
    if c.may_share_memory(view, view) and c.is_contiguous(view) and x.flags.c_contiguous:
        assert face.released == []
    del view
    gc.collect()
    assert face.released == [77]


def test_nothing_to_adopt():
    face.released.clear()
    a = adopt(np.zeros((3, 0)), context=ctypes.c_void_p(5))
    assert a.shape == (3, 0) and face.released == [5]
    same(c.sum(a, 1, axes(1), 0), np.zeros(3))


@given(pairs(empty=False))
def test_data(pair):
    x, a = pair
    address = ctypes.c_void_p()
    b = c.copy(a)
    c.data(b, ctypes.byref(address))
    ctypes.memset(address, 0, c.nbytes(b))
    assert not b.numpy().any()


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool),
       st.sampled_from(["int8", "int32", "int64", "float32", "float64", None]))  # fmt: skip
def test_arange_of_integers(start, stop, step, dtype):
    got = c.arange(
        number(start), number(stop), number(step), NONE if dtype is None else DTYPES[dtype]
    )
    same(got, np.arange(start, stop, step, dtype=dtype), 0)


@given(st.floats(-5, 5), st.floats(-5, 5), st.sampled_from([0.1, -0.25, 0.7, 3.0]))
def test_arange_of_floats(start, stop, step):
    same(c.arange(number(start), number(stop), number(step), NONE), np.arange(start, stop, step), 0)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 40))
def test_linspace(start, stop, n):
    same(c.linspace(start, stop, n), np.linspace(start, stop, n), 0)


@given(st.integers(0, 5), st.integers(0, 5), st.integers(-7, 7), st.sampled_from(sorted(DTYPES)))
def test_eye(n, m, k, dtype):
    same(c.eye(DTYPES[dtype], n, m, k), np.eye(n, m, k, dtype), 0)


@given(pairs(), st.sampled_from(sorted(DTYPES)))
def test_astype(pair, dtype):
    x, a = pair
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        unsigned = (
            np.dtype(dtype).kind == "u" and x.dtype.kind in "fc"
        )  # negative ones have no value there
        expected = np.abs(x).astype(dtype) if unsigned else x.astype(dtype)
        same(c.astype(c.unary("absolute", a) if unsigned else a, DTYPES[dtype]), expected, 0)


bounds = st.one_of(st.integers(-7, 7), st.just(None))


@given(pairs(least=1), st.data())
def test_slices(pair, data):
    x, a = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    start, stop = data.draw(bounds), data.draw(bounds)
    at = [slice(None)] * x.ndim
    at[axis] = slice(start, stop, step)
    first = start if start is not None else 0 if step > 0 else END
    view = c.slice(a, axis, first, END if stop is None else stop, step)
    same(view, x[tuple(at)], 0)
    assert not view.numpy().size or c.may_share_memory(view, a)
    if x.shape[axis]:
        i = data.draw(st.integers(-x.shape[axis], x.shape[axis] - 1))
        at[axis] = i
        same(c.pick(a, axis, i), x[tuple(at)], 0)


@given(pairs(), st.data())
def test_axes(pair, data):
    x, a = pair
    perm = data.draw(st.permutations(range(x.ndim)))
    same(c.transpose(a, axes(*perm)), x.transpose(perm), 0)
    same(c.transpose(a, None), x.T, 0)
    some = data.draw(st.sets(st.integers(0, x.ndim - 1))) if x.ndim else set()
    same(c.flip(a, len(some), axes(*some)), np.flip(x, tuple(some)), 0)
    same(c.flip(a, 0, None), np.flip(x), 0)
    at = data.draw(st.integers(-x.ndim - 1, x.ndim))
    same(c.expand_dims(a, at), np.expand_dims(x, at), 0)
    ones = c.expand_dims(c.expand_dims(a, 0), -1)
    same(c.squeeze(ones, 2, axes(0, -1)), x, 0)
    same(c.squeeze(ones, 0, None), x.squeeze(), 0)
    if x.ndim:
        i, j = (data.draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2))
        same(c.swapaxes(a, i, j), np.swapaxes(x, i, j), 0)
        same(c.moveaxis(a, i, j), np.moveaxis(x, i, j), 0)
    if x.ndim > 1:
        k = data.draw(st.integers(-4, 4))
        same(c.diagonal(a, k, 0, -1), np.diagonal(x, k, 0, x.ndim - 1), 0)


@given(pairs(), st.data())
def test_shapes(pair, data):
    x, a = pair
    same(c.ravel(a), x.ravel(), 0)
    if x.size:
        cut = data.draw(st.integers(0, x.ndim))
        shape = (int(np.prod(x.shape[:cut])), -1)
        same(c.reshape(a, 2, extents(*shape)), x.reshape(shape), 0)
    wide = (3, *x.shape)
    view = c.broadcast_to(a, len(wide), extents(*wide))
    same(view, np.broadcast_to(x, wide), 0)
    assert c.is_writeable(view) == 0


@given(pairs(dtypes=["complex64", "complex128"]))
def test_parts(pair):
    x, a = pair
    same(c.real(a), x.real, 0)
    same(c.imag(a), x.imag, 0)
    c.assign(c.imag(a), operand(0))
    same(a, x.real.astype(x.dtype), 0)


@given(numpy_arrays(least=1), st.data())
def test_joins(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    others = [
        x,
        x.astype(data.draw(st.sampled_from(sorted(DTYPES)))) if x.dtype.kind not in "fc" else x,
    ]
    arrays = [array(y) for y in others]
    same(c.concatenate(2, handles(arrays), axis), np.concatenate(others, axis), 0)
    same(c.stack(2, handles(arrays), axis), np.stack(others, axis), 0)
    same(c.repeat(arrays[0], 3, axis), np.repeat(x, 3, axis), 0)
    same(c.repeat(arrays[0], 2, FLATTENED), np.repeat(x, 2), 0)


@given(pairs(empty=False), st.data())
def test_elements(pair, data):
    x, a = pair
    at = [data.draw(st.integers(-n, n - 1)) for n in x.shape]
    index = extents(*at) if at else None
    n = Number()
    c.get(a, index, ctypes.byref(n))
    assert python(n) == x[tuple(at)].item()
    if x.dtype.kind != "c":
        d = ctypes.c_double()
        c.get_double(a, index, ctypes.byref(d))
        assert d.value == float(x[tuple(at)])
    if x.dtype.kind in "biu":
        i = ctypes.c_int64()
        c.get_int64(a, index, ctypes.byref(i))
        assert i.value == int(x[tuple(at)])
    copy = x.copy()
    copy[tuple(at)] = 1
    b = c.copy(a)
    c.set(b, index, number(1))
    same(b, copy, 0)


def test_wide_integers():
    a = array(np.array([2**64 - 1, 2**63], np.uint64))
    n = Number()
    c.get(a, extents(0), ctypes.byref(n))
    assert python(n) == 2**64 - 1
    c.set(a, extents(1), number(2**64 - 2))
    assert a.numpy()[1] == 2**64 - 2
    with pytest.raises(Failure, match="does not fit int64"):
        c.get_int64(a, extents(0), ctypes.byref(ctypes.c_int64()))


@given(pairs(), st.data())
def test_assignment(pair, data):
    """Into views of every kind, from numbers, arrays and views that overlap."""
    x, a = pair
    x, a = x.copy(), c.copy(a)
    if x.ndim:
        x[::2] = 5
        c.assign(c.slice(a, 0, 0, END, 2), operand(5))
        same(a, x, 0)
        x[...] = x[::-1].copy()
        c.assign(a, operand(c.slice(a, 0, END, END, -1)))
        same(a, x, 0)
    mask = np.random.default_rng(x.size).random(x.shape) < 0.5
    x[mask] = 7
    c.assign_where(a, operand(7), array(mask))
    same(a, x, 0)


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS))
def test_dtypes(left, right):
    out = ctypes.c_int32()
    c.promote_types(DTYPES[left], DTYPES[right], ctypes.byref(out))
    assert face.NAMES[out.value] == np.promote_types(left, right).name
    c.dtype_from_name(left, ctypes.byref(out))
    assert out.value == DTYPES[left]
    assert c.dtype_name(DTYPES[left]).decode() == left
    assert c.dtype_size(DTYPES[left]) == np.dtype(left).itemsize
