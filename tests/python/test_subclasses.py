"""Subclasses of ndarray: results are instances of the subclass exactly where NumPy's are, and were made from the same array.

Each expression runs with a plain subclass under both libraries. What is compared: of every array in the result whether it is of the
subclass, and the label that __array_finalize__ handed on, which tells from which operand it came. Not here: what NumPy itself makes on the host
(arrays of objects, nditer's operands, __array__).
"""

import warnings

import asnumpy
import numpy as np
import pytest
from oracle import outcome

METHODS = """
abs(a) | +a | -a | ~i | a + 1 | 1 + a | a + a | a @ s | s @ a.T | a @ v | v @ v | a // 2 | divmod(a, 2) | a ** 2 | i << 1 | i & 3
a > 1 | a == a | a != 0 | a < s[:2] | a[0] | a[0, 1] | a[:] | a[..., 0] | a[...] | a[[0, 1]] | a[[0], [1]] | a[a > 1] | a[None]
a[()] | z[()] | z[...] | a[0:0] | a.T | a.mT | a.real | a.imag | c.real | c.imag | a.flat[1:3] | a.flat[0] | a.flat.copy() | a.base
a.all() | a.any() | a.all(0) | a.any(axis=1) | a.all(keepdims=True) | a.argmax() | a.argmin() | a.argmax(0) | a.argmin(axis=1)
a.argmax(keepdims=True) | a.argpartition(1) | a.argpartition(1, axis=0) | a.argsort() | a.argsort(0) | a.argsort(axis=None) | v.argsort()
a.astype("f4") | a.astype("f4", subok=False) | a.astype("f8", copy=False) | a.byteswap() | a.choose([1, 2, 3]) if 0 else i.choose([10 * v[:1]] * 9, mode="clip")
a.clip(1, 2) | a.clip(1) | a.clip(max=2) | a.compress([True, False], axis=0) | a.compress([1, 0, 1]) | a.conj() | c.conj() | a.conjugate() | a.copy()
a.cumprod() | a.cumprod(0) | a.cumsum() | a.cumsum(axis=1) | z.cumsum() | a.diagonal() | a.diagonal(1) | a.dot(s) | a.dot(v) | v.dot(v) | a.dot(2) | a.dot(b.T)
b.dot(a.T) | a.flatten() | a.flatten("F") | a.max() | a.max(0) | a.min(axis=1) | a.max(keepdims=True) | a.mean() | a.mean(0) | a.mean(keepdims=True)
a.mean(axis=(0, 1)) | a.nonzero() | a.prod() | a.prod(0) | a.prod(keepdims=True) | a.ravel() | a.ravel("F") | a.T.ravel() | a.repeat(2) | a.repeat(2, axis=0) | a.repeat([1, 2], axis=0)
a.reshape(-1) | a.reshape(3, 2) | a.T.reshape(-1) | a.round() | a.round(1) | i.round() | a.searchsorted(1.5) if 0 else v.searchsorted(1.5) | v.searchsorted([1, 2]) | v.searchsorted(v)
b[0].searchsorted(v) | a.squeeze() | a[None].squeeze() | a[None].squeeze(0) | a.std() | a.std(0) | a.std(keepdims=True) | a.sum() | a.sum(0) | a.sum(axis=1) | a.sum((0, 1))
a.sum(keepdims=True) | v.sum() | v.sum(0) | z.sum() | z.sum(axis=()) | a.sum(0, dtype="f4") | i.sum(0) | a.sum(0, out=o) | a.sum(0, out=v[:3]) | b.sum(0, out=v[:3])
a.swapaxes(0, 1) | a.take([0, 1]) | a.take(1) | a.take([0, 1], axis=1) | a.take([[0]], axis=0) | a.take(v[:2].astype(int)) | b.take(i) | a.trace() | a.trace(1) | d.trace() | d.trace(axis1=0, axis2=2)
a.transpose() | a.transpose(1, 0) | a.var() | a.var(0) | a.var(keepdims=True) | a.view() | a.view("i8") | a.view(np.ndarray) | a.tolist() | a.item(0)
a.__copy__() | a.__deepcopy__({}) | a.__array_wrap__(b) | a.__array_wrap__(z.view(np.ndarray)) | a.__array_wrap__(b, None, True) | z.copy() | z + 1 | z * z | -z
float(z) | z.max() | z.mean() | z.argmax() | z.argsort() | z.take(0) | z.ravel() | z.reshape(1) | z.round() | z.squeeze() | z.clip(0, 1) | z.astype(int) | z.repeat(2)
list(a) | [x for x in v] | a.to_device("cpu") | a.setfield(1, "f8") | a.getfield("f4") if 0 else a.getfield("f8") | a.sort() | a.partition(1) | a.fill(1)
""".replace("\n", "|").split("|")

UFUNCS = """
np.add(a, 1) | np.add(b, a) | np.add(a, b, subok=False) | np.sin(a) | np.sin(z) | np.isfinite(a) | np.modf(a) | np.frexp(a) | np.divmod(a, 2) | np.add(a, 1, out=o2) | np.add(b, 1, out=a)
np.add(b, 1, a) | np.add(a, 1, where=a > 1, out=a) | np.maximum(a, z) | np.maximum(b, z) | np.logaddexp(z, z) | np.matmul(a, s) | np.matmul(b, s) | np.matmul(a, b.T) | np.matmul(v, v) | np.vecdot(a, a) | np.vecmat(v, s)
np.matvec(s, v) | np.matvec(a, v.view(np.ndarray)) | np.add.reduce(a) | np.add.reduce(a, axis=None) | np.add.reduce(v) | np.add.reduce(a, keepdims=True) | np.add.reduce(a, out=o) | np.maximum.reduce(a, 1)
np.logical_or.reduce(a) | np.add.accumulate(a) | np.multiply.accumulate(a, 1) | np.add.reduceat(a, [0, 1]) | np.add.reduceat(v, [0, 2]) | np.add.outer(v, v) | np.add.outer(v, [1, 2]) | np.add.outer([1, 2], v) | np.multiply.outer(b, v)
np.hypot.reduce(a) | np.add.at(a, 0, 1) | np.bitwise_and.reduce(i) | np.subtract.reduce(a, 1) | np.add(t, a) | np.add(a, t) | a + t | t + a | t @ s | s @ t.T | np.multiply.outer(a, t) | np.clip(a, t, 3) | np.where(t, a, a)
np.dot(a, t.T) | np.concatenate([a, t]) | np.concatenate([t, a]) | np.add(h, a) | np.add(a, h) | a + h | h + a | np.dot(a, h.T) | np.dot(h, a.T) | np.vecdot(a, h) | np.matmul(h, a.T) | np.inner(a, h) | np.concatenate([a, h]) | np.concatenate([h, a])
np.stack([a, h]) | np.where(a > 1, h, a) | np.tensordot(a, h, 2) | np.kron(a, h) | np.outer(v, h) | np.cross(s, h) | np.einsum("ij,kj", a, h)
""".replace("\n", "|").split("|")

FUNCTIONS = """
abs(a) | all(a) | all(a, axis=0) | amax(a, 0) | amin(a) | any(a, 1) | append(a, 1) | append(a, a, axis=0) | apply_along_axis(np.sum, 0, a) | apply_over_axes(np.sum, a, [0]) | angle(c) | argmax(a, 0) | argmin(a)
argpartition(a, 1) | argsort(a) | argsort(a, axis=None) | argwhere(a) | around(a) | array(a) | array(a, subok=True) | array(a, copy=None) | array([a, a]) | array([a, a], subok=True) | array_split(a, 2) | asanyarray(a) | asarray(a) | ascontiguousarray(a)
ascontiguousarray(a.T) | asfortranarray(a) | atleast_1d(a) | atleast_1d(z) | atleast_2d(a) | atleast_2d(v) | atleast_3d(a) | average(a) | average(a, 0) | average(a, 0, weights=[1, 2]) | bincount(i.ravel()) | block([a, a]) | broadcast_to(a, (2, 2, 3)) | broadcast_to(a, (2, 2, 3), subok=True)
broadcast_arrays(a, 1) | broadcast_arrays(a, 1, subok=True) | choose(i, [1, 2, 3, 4, 5, 6, 7, 8, 9]) | clip(a, 1, 2) | clip(a, a, 2) | column_stack([a, a]) | compress([1, 0], a, 0) | concatenate([a, a]) | concatenate([a, b]) | concatenate([b, a], axis=1) | conj(a) | convolve(v, v)
copy(a) | copy(a, subok=True) | copyto(a, 1) | corrcoef(a) | correlate(v, v) | count_nonzero(a) | count_nonzero(a, axis=0) | cov(a) | cross(s, s) | cumprod(a) | cumsum(a, 0) | cumulative_sum(v) | cumulative_prod(a, axis=0) | delete(a, 0) | delete(a, 0, axis=1) | diag(a) | diag(v) | diagflat(v)
diagonal(a) | diff(a) | diff(a, axis=0) | digitize(a, v.view(np.ndarray)) | dot(a, s) | dot(s, b.T) | dot(b, s) | dot(v, v) | dsplit(d, 2) | dstack([a, a]) | ediff1d(a) | einsum("ij->i", a) | einsum("ij->ji", a) | einsum("ij,ij", a, a) | einsum("ij,jk", a, s) | empty_like(a) | empty_like(a, subok=False)
expand_dims(a, 0) | expand_dims(a, (0, 1)) | extract(a > 1, a) | fix(a) | flatnonzero(a) | flip(a) | flip(a, 0) | fliplr(a) | flipud(a) | full_like(a, 2) | full_like(z, 2) | gradient(a) | gradient(v) | gradient(a, axis=0) | heaviside(a, 1) | histogram(a) | histogram_bin_edges(a) | hsplit(a, [1]) | hstack([a, a])
i0(a) | imag(a) | imag(c) | real(a) | real(c) | inner(a, a) | inner(v, v) | insert(a, 0, 1) | insert(a, 0, 1, axis=0) | interp(v, [0, 5], [0, 1]) | intersect1d(v, v) | isclose(a, a) | isin(a, [1]) | isreal(a) | iscomplex(c) | isneginf(a) | isposinf(a) | ix_(v > 0) | kron(a, a) | kron(a, b) | kron(b, a)
lexsort((v, v)) | linspace(v, 5, 3) | linspace(z, z, 3) | logspace(v, 2, 3) | geomspace(v + 1, 9, 3) | matrix_transpose(a) | max(a) | mean(a) | mean(a, 0) | median(a) | median(a, 0) | median(a, keepdims=True) | meshgrid(v, v) | meshgrid(v, v, sparse=True) | meshgrid(v, v, copy=False) | min(a, 0) | moveaxis(a, 0, 1) | nan_to_num(a) | nan_to_num(a, copy=False)
nanargmax(a) | nanargmax(a, 0) | nanargmin(a, 0) | nancumprod(a) | nancumsum(a, 0) | nanmax(a) | nanmax(a, 0) | nanmin(a, 0) | nanmean(a) | nanmean(a, 0) | nanmean(n, 0) | nanmax(n, 0) | nanmedian(a) | nanmedian(a, 0) | nanmedian(n, 0) | nanpercentile(a, 50) | nanpercentile(a, 50, 0) | nanpercentile(n, 50, 0) | nanprod(a, 0) | nanprod(n, 0)
nanquantile(a, 0.5, 0) | nanstd(a) | nanstd(a, 0) | nanstd(n, 0) | nansum(a, 0) | nansum(n, 0) | nansum(n) | nanvar(a, 0) | nanvar(n, 0) | ndim(a) | nonzero(a) | ones_like(a) | ones_like(a, subok=False) | ones_like(a, shape=(2,)) | outer(v, v) | outer(v, [1]) | packbits(i.astype(bool)) | pad(a, 1) | pad(a, 1, mode="edge") | partition(a, 1) | percentile(a, 50)
percentile(a, 50, 0) | percentile(a, [5, 50], 0) | piecewise(v, [v > 1], [1, 0]) | poly(v) | polyfit(v, v, 1) | polyval(v, 2) | polyval([1, 2], v) | polyadd(v, v) | polymul(v, v) | polyder(v) | polyint(v) | roots(v) | prod(a) | prod(a, 0) | ptp(a) | ptp(a, 0) | quantile(a, 0.5) | quantile(a, 0.5, axis=0) | ravel(a) | real_if_close(c) | repeat(a, 2) | require(a)
require(a, requirements="E") | reshape(a, -1) | resize(a, 5) | roll(a, 1) | roll(a, 1, 0) | rollaxis(a, 1) | rot90(a) | round(a) | searchsorted(v, v) | searchsorted(v, 1) | select([a > 1], [a]) | select([a > 1], [a], a) | setdiff1d(v, [1]) | setxor1d(v, [1]) | sinc(a) | sort(a) | sort(a, axis=None) | sort_complex(v) | split(a, 2) | squeeze(a) | stack([a, a]) | std(a)
std(a, 0) | sum(a) | sum(a, 0) | sum(a, keepdims=True) | swapaxes(a, 0, 1) | take(a, [0]) | take(a, 0) | take(b, i) | take_along_axis(a, np.argsort(a), -1) | tensordot(a, a, 2) | tensordot(a, s, 1) | tile(a, 2) | tile(a, (1, 1)) | trace(a) | trace(d) | transpose(a) | trapezoid(v) | trapezoid(a, axis=0) | tri(2) | tril(a) | triu(a) | trim_zeros(v) | union1d(v, [1])
unique(a) | unique(v, return_counts=True) | unique(a, axis=0) | unique_values(a) | unique_all(v) | unpackbits(u) | unravel_index(i, (9, 9)) | unstack(a) | unwrap(v) | vander(v) | var(a) | var(a, 0) | vdot(v, v) | vsplit(a, 2) | vstack([a, a]) | where(a > 1) | where(a > 1, a, 0) | where(a > 1, b, b) | zeros_like(a) | zeros_like(a, subok=False) | zeros_like(v, dtype=int)
put_along_axis(a, np.argsort(a), 1, -1) | place(a, a > 1, 0) | putmask(a, a > 1, 0) | fill_diagonal(s, 1) | nanmean(z) | nansum(z) | mean(z) | sum(z) | sort(z) if 0 else sort(v) | emath.sqrt(a) | emath.log(a) | emath.power(a, 2) | lib.stride_tricks.sliding_window_view(a, 2, axis=0) | lib.stride_tricks.as_strided(a) | lib.stride_tricks.as_strided(a, subok=True)
lib.stride_tricks.sliding_window_view(a, 2, axis=0, subok=True) | astype(a, "f4") | permute_dims(a) | concat([a, a]) | vectorize(float)(a) | array2string(a) | fromfunction(lambda x, y: x, (2, 2)) | asarray_chkfinite(a) | may_share_memory(a, a) | shape(a) | size(a) | shares_memory(a, a) | allclose(a, a) | iscomplexobj(a) | diag_indices_from(s) | tril_indices_from(s)
histogram2d(v, v) | histogramdd(a) | apply_along_axis(lambda x: x, 0, a) | apply_along_axis(lambda x: 1, 0, a) | mask_indices(3, np.triu) | ravel_multi_index((i,), (9,)) | min_scalar_type(a) | result_type(a) | frombuffer(a) | savetxt if 0 else abs(z) | broadcast_shapes((1,)) | sign(a) | bitwise_count(i) | float_power(a, 2) | clip(z, 0, 1)
""".replace("\n", "|").split("|")

LINALG = """
inv(s) | inv(np.stack([s, s])) | solve(s, v) | solve(s.view(np.ndarray), v) | solve(s, v.view(np.ndarray)) | det(s) | det(d[:, :2, :2] + np.eye(2)) | slogdet(s) | slogdet(np.stack([s, s])) | slogdet(k) | det(k) | eig(s) | eigvals(s) | eigh(s) | eigvalsh(s) | eigvalsh(k) | eig(k) | eigh(k) | svd(a) | svd(a, compute_uv=False)
svd(s, hermitian=True) | svd(s, compute_uv=False, hermitian=True) | svdvals(a) | qr(a) | qr(a, "r") | qr(a, "raw") | qr(k) | cholesky(s) | cholesky(k) | lstsq(s, v) | lstsq(a.T, v) | lstsq(a.T, b.T) | lstsq(b.T, a.T) | pinv(a) | pinv(s, hermitian=True) | matrix_rank(s) | matrix_rank(k) | cond(s) | cond(s, 1) | cond(k) | cond(k, 1) | norm(a) | norm(a, axis=0) | norm(a, 1) | norm(a, 1, axis=0) | norm(a, 2) | norm(a, keepdims=True) | norm(v, 3)
norm(a, "nuc") | norm(k, axis=(1, 2)) | norm(k, 1, axis=(1, 2)) | norm(a, 2, axis=(0, 1), keepdims=True) | vector_norm(a) | vector_norm(a, axis=0) | vector_norm(a, keepdims=True) | vector_norm(a, axis=(0, 1)) | matrix_norm(a) | matrix_norm(k) | matrix_norm(k, ord=2) | matrix_power(s, 2) | matrix_power(s, 0) | matrix_power(s, -1) | matrix_power(s, 1) | multi_dot([a, s]) | multi_dot([a, s, s]) | multi_dot([v, s, v]) | multi_dot([a, s, v]) | outer(v, v) | cross(s, s)
matmul(a, s) | vecdot(a, a) | tensordot(a, s, axes=1) | diagonal(a) | trace(a) | trace(k) | matrix_transpose(a) | tensorsolve(s, v) | tensorinv(s, ind=1)
""".replace("\n", "|").split("|")

FFT = """
fft(a) | ifft(a) | rfft(a) | irfft(a) | fft2(a) | ifft2(a) | rfft2(a) | irfft2(a) | fftn(a) | ifftn(a) | rfftn(a) | irfftn(a) | hfft(a) | ihfft(a) | fftshift(a) | ifftshift(a) | fft(a, 8) | fft(a, axis=0) | fftfreq(4)
""".replace("\n", "|").split("|")

ALL = [
    prefix + text.strip()
    for prefix, group in (("", METHODS), ("", UFUNCS), ("np.", FUNCTIONS), ("np.linalg.", LINALG), ("np.fft.", FFT))
    for text in group
    if text.strip()
]  # fmt: skip


def classes(np_):
    """Two subclasses, the second of higher priority, the third unrelated; each hands on a label."""

    class Plain(np_.ndarray):
        def __array_finalize__(self, obj):
            self.label = getattr(obj, "label", None)

    class High(np_.ndarray):
        __array_priority__ = 10.0

        def __array_finalize__(self, obj):
            self.label = getattr(obj, "label", None)

    class Child(Plain):
        pass

    return Plain, High, Child


def scope(np_):
    plain, high, child = classes(np_)
    rows = np.arange(1.0, 7.0).reshape(2, 3)
    square = np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]])
    host = {
        "a": rows, "v": rows[0], "s": square, "i": np.arange(6).reshape(2, 3), "z": np.array(2.0), "c": rows + 1j,
        "d": np.arange(8.0).reshape(2, 2, 2), "k": np.stack([square, square * 2]), "u": np.arange(4, dtype="u1"),
        "n": np.array([[1, np.nan, 3], [4, 5, 6]]), "o": np.zeros(3), "o2": np.zeros((2, 3)),
    }  # fmt: skip
    result = {"np": np_, "b": np_.array(rows)}
    for cls, names in ((plain, host), (high, {"h": rows}), (child, {"t": rows})):
        for name, value in names.items():
            result[name] = np_.array(value).view(cls)
            result[name].label = name
    return result


def shape_of(x, np_):
    """What a result is made of."""
    if isinstance(x, tuple | list):
        return [shape_of(y, np_) for y in x]
    if np_.ndarray in type(x).__mro__:
        return type(x).__name__, getattr(x, "label", None), x.shape
    if isinstance(x, np.ndarray):
        return "host", x.shape
    return "scalar" if isinstance(x, np.generic) else type(x).__name__


def made(np_, text):
    names = scope(np_)
    result, error = outcome(lambda: eval(text, names))
    return type(error).__name__ if error is not None else shape_of(result, np_)


@pytest.mark.parametrize("text", ALL)
def test_same_class(text):
    assert made(asnumpy, text) == made(np, text)


def wrapping(np_):
    """A subclass that counts what its __array_wrap__ sees."""

    class Wrapping(np_.ndarray):
        def __array_wrap__(self, array, context=None, return_scalar=False):
            seen.append((array.shape, context[0].__name__ if context else None, return_scalar))
            return "wrapped"

    seen = []
    return Wrapping, seen


@pytest.mark.parametrize(
    "text",
    """a.sum() | a.sum(0) | a.max(keepdims=True) | np.add(a, 1) | np.add.accumulate(a) | np.add.reduce(a, None) | a.cumsum() | a.any()
    np.add.reduceat(a, [0]) | np.sin(a[0, 0]) | a[0].sum() | a.take([0]) | a.argsort() | a.repeat(2) | np.linalg.inv(a) | np.linalg.svd(a) | np.tile(a, 2)
    np.linalg.solve(a, a) | a.copy() | a.astype(int) | a[[0]] | a.clip(1, 2) | a.round() | np.sort(a) | np.dot(a, a) | np.zeros_like(a) | a @ a
    np.sum(a, 0, out=np.zeros(2)) | np.add(a, 1, out=np.zeros((2, 2))) | np.add(1, 2, out=a)""".replace("\n", "|").split("|"),
)  # fmt: skip
def test_wraps_called(text):
    results = []
    for np_ in (np, asnumpy):
        cls, seen = wrapping(np_)
        a = np_.array([[4.0, 1], [2, 3]]).view(cls)
        result = eval(text, {"np": np_, "a": a})
        results.append(
            (
                seen,
                [x == "wrapped" for x in result] if type(result) is tuple else type(result) is str,
            )
        )
    assert results[1] == results[0]


def test_scalar_type_of_arrays():
    for np_ in (np, asnumpy):
        assert np_.min_scalar_type(np_.array(3)) == np.uint8
        assert (
            np_.min_scalar_type(np_.ones(3)) == np.float64 and np_.min_scalar_type(-300) == np.int16
        )


def test_functions_call_methods_of_subclasses():
    """np.sum(a) is a.sum() where a's class brings its own."""
    results = []
    for np_ in (np, asnumpy):

        class Own(np_.ndarray):
            def sum(self, *args, **kwargs):
                return "sum"

            def take(self, indices, axis=None, out=None, mode="raise"):
                return "take", axis

            def squeeze(self, axis=None):
                return "squeeze"

        a = np_.arange(4.0).view(Own)
        results.append(
            [
                np_.sum(a),
                np_.sum(a, axis=0),
                np_.take(a, [0], axis=0),
                np_.squeeze(a),
                float(np_.prod(a)),
            ]
        )
    assert results[0] == results[1]


def test_methods_ask_array_ufunc():
    """a.sum() is np.add.reduce(a), which asks the __array_ufunc__ of a's class."""
    results, named = [], []
    for np_ in (np, asnumpy):

        class Own(np_.ndarray):
            def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                return ufunc.__name__, method, len(inputs), "out" in kwargs, kwargs.get("axis")

        a = np_.arange(4.0).view(Own)
        calls = [
            a.sum(),
            a.max(0),
            a.any(),
            np_.sum(a),
            a.cumsum(),
            a + 1,
            np_.add.reduce(a),
            a.clip(1, 2),
        ]
        results.append([x[:3] for x in calls] + [a.conj() is a])
        b = np_.zeros(1)
        named.append(
            [
                np_.add.reduce(a, 0, None, b),
                np_.add.accumulate(a, 0),
                np_.add.reduceat(a, [0], 0, None, b),
            ]
        )
    assert results[0] == results[1] and named[0] == named[1]


MOMENTS = [
    {}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}, {"axis": 0, "dtype": "f8"},
    {"axis": 0, "where": [True, False, True]}, {"axis": 0, "out": 3}, {"axis": 0, "out": 3, "where": [[True], [False]]},
]  # fmt: skip


@pytest.mark.parametrize("returns", ["plain", "own"])
@pytest.mark.parametrize("dtype", ["f8", "i8", "f2", "c16", "?"])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_ask_array_ufunc(name, dtype, returns):
    """Each step of mean, var and std is a ufunc that the class is asked about, with the same arguments."""

    def run(np_):
        steps = []

        class Own(np_.ndarray):
            def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                steps.append((ufunc.__name__, method, [np.shape(x) for x in inputs], kwargs.get("axis"),
                              kwargs.get("keepdims"), str(kwargs.get("dtype")), "out" in kwargs))  # fmt: skip
                inputs = [x.view(np_.ndarray) if isinstance(x, Own) else x for x in inputs]
                if "out" in kwargs:
                    kwargs["out"] = tuple(
                        x.view(np_.ndarray) if isinstance(x, Own) else x for x in kwargs["out"]
                    )
                result = getattr(ufunc, method)(*inputs, **kwargs)
                return result.view(Own) if returns == "own" and np.ndim(result) else result

        a = np_.arange(6).reshape(2, 3).astype(dtype).view(Own)
        results = []
        for kwargs in MOMENTS:
            if "out" in kwargs:
                kwargs = {**kwargs, "out": np_.zeros(3, "c16" if dtype == "c16" else "f8")}
            if "where" in kwargs:
                kwargs = {**kwargs, "where": np_.array(kwargs["where"])}
            for call in (getattr(a, name), lambda **k: getattr(np_, name)(a, **k)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(call(**kwargs))
        return steps, [
            (type(r).__name__, str(np.asarray(r).dtype), np.asarray(r).tolist()) for r in results
        ]

    ours, theirs = run(asnumpy), run(np)
    assert ours[0] == theirs[0]
    assert [r[:2] for r in ours[1]] == [r[:2] for r in theirs[1]]
    for x, y in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(x[2], y[2], rtol=2e-3 if dtype == "f2" else 1e-12)


def test_bases_of_results():
    for np_ in (np, asnumpy):
        a = np_.arange(5).view(classes(np_)[0])
        for made in (a[[0, 1]], a[a > 1], a + 1):
            assert type(made.base) is np_.ndarray and made.base is not a
        assert a[1:].base is a and a.copy().base is None


def test_wrapping_without_being_an_array():
    for np_ in (np, asnumpy):

        class Wrapper:
            def __array__(self, dtype=None, copy=None):
                return np.zeros(2)

            def __array_wrap__(self, array, context=None, return_scalar=False):
                return "wrapped"

        assert np_.add(np_.ones(2), Wrapper()) == "wrapped" == np_.maximum(Wrapper(), Wrapper())


def test_resize_to_as_many_elements():
    for np_ in (np, asnumpy):
        a = np_.arange(8).reshape(2, 4)  # a view: it may change its shape alone
        a.resize((4, 2))
        assert a.shape == (4, 2)
        with pytest.raises(ValueError, match="does not own its data"):
            a.resize((9,))
