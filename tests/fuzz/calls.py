"""The fuzzer of calls: NumPy's functions with options drawn at random, against NumPy.

    python tests/fuzz/calls.py [--seconds N] [--seed N]

A call is a line of CALLS, in which {name} is one of CHOICES and [, what stands in brackets] is there or not, over
arrays of random dtypes, shapes and layouts. Results, dtypes, shapes, classes of errors and of warnings are compared;
each call that differs is printed with its seed, and `--replay SEED` shows it.
tests/python/test_fuzz_calls.py runs some for ever.
"""

import argparse
import operator
import pathlib
import random
import re
import sys
import time
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import asnumpy  # noqa: E402
from conftest import SINGLE_OPERATORS  # noqa: E402
from oracle import to_device, to_host  # noqa: E402

CALLS = """
m.{sum}(a[, axis={axes}][, dtype={dtype}][, keepdims={bool}][, initial={small number}][, where=w])
m.{max}(a[, axis={axes}][, keepdims={bool}], initial={number}[, where=w])
m.{max}(a[, axis={axes}][, keepdims={bool}])
m.mean(a[, axis={axes}][, dtype={float dtype}][, keepdims={bool}][, where=w])
m.{var}(a[, axis={axes}][, dtype={float dtype}][, ddof={ddof}][, keepdims={bool}][, where=w])
m.{var}(a, axis={axis}, keepdims=True, correction={ddof}, mean=m.mean(a, axis=0, keepdims=True))
m.{any}(a[, axis={axes}][, keepdims={bool}][, where=w])
m.{nan}{argmax}(a[, axis={axis}][, keepdims={bool}])
m.nan{nanmax}(a[, axis={axes}][, keepdims={bool}])
m.nan{var}(a[, axis={axes}][, ddof={ddof}][, keepdims={bool}][, where=w])
m.nan{sum}(a[, axis={axes}][, dtype={dtype}][, keepdims={bool}][, initial={small number}][, where=w])
m.{nan}{cumsum}(a[, axis={axis}][, dtype={dtype}])
m.cumulative_{sum}(a, axis={axis}[, dtype={dtype}][, include_initial={bool}])
m.count_nonzero(a[, axis={axes}][, keepdims={bool}])
m.{nan}{quantile}(r, {q}[, axis={some axes}][, method={method}][, keepdims={bool}])
m.{quantile}(r, {q}, axis={axis}, method='inverted_cdf', weights=m.abs(r) + 1[, keepdims={bool}])
m.{nan}median(a[, axis={some axes}][, keepdims={bool}])
m.average(a[, axis={axes}][, weights=m.abs(a) + 1][, returned={bool}][, keepdims={bool}])
m.ptp(a[, axis={axes}][, keepdims={bool}])
m.{binary}(a, b[, dtype={dtype}][, order={order}])
m.{binary}(a, b, where=w, out=m.zeros(a.shape, dtype={dtype}))
m.{binary}(a, {number}[, dtype={dtype}])
m.{binary}({number}, a[, dtype={dtype}])
m.{binary}(a, b, out=z[, casting={casting}][, where=w]), z
m.{unary}(a[, dtype={dtype}][, order={order}])
m.{unary}(a, where=w, out=m.zeros(a.shape, dtype={dtype}))
m.{unary}(a, out=z[, casting={casting}][, where=w]), z
m.{reducing}.reduce(a[, axis={axes}][, dtype={dtype}][, keepdims={bool}][, initial={small number}])
m.{reducing}.reduce(a[, axis={axes}][, dtype={dtype}][, keepdims={bool}], initial={small number}, where=w)
m.{reducing}.accumulate(a[, axis={axis}][, dtype={dtype}])
m.{reducing}.reduceat(a, {positions}[, axis={axis}][, dtype={dtype}])
m.{reducing}.reduce(a, axis=0, out=o), o
m.{reducing}.accumulate(a, axis=0, out=z), z
m.{binary}.outer(a, v[, dtype={dtype}])
m.{binary}.at(z, ({positions},), {small number}), z
m.{binary}.at(z, {positions}, a[:1]), z
m.sort(a[, axis={axis or all}][, kind={kind}])
m.argsort(a, axis={axis or all}, kind='stable')
m.unique(a[, return_index={bool}][, return_inverse={bool}][, return_counts={bool}][, equal_nan={bool}])
m.unique(r[, return_index={bool}][, return_inverse={bool}][, return_counts={bool}], axis={axis})
m.searchsorted(m.sort(v), r[, side={side}])
m.searchsorted(v, r[, side={side}], sorter=m.argsort(v, kind='stable'))
m.digitize(r, m.sort(v)[, right={bool}])
m.take(a, {positions}[, axis={axis or all}][, mode={mode}])
m.take(a, i[, axis={axis or all}][, mode={mode}])
m.choose(m.abs(i) % 3, (a, b, {small number})[, mode={mode}])
m.clip(a, {bound}, {bound})
m.clip(a[, min={bound}][, max={bound}])
m.repeat(a, [1, 0, 2][, axis={axis or all}])
m.repeat(a, m.arange(a.size)[::-1] * {count} % 7), m.repeat(a, m.arange(len(a)) * 3 % 7, axis=0)
m.pad(r, {widths}[, mode={pad mode}])
m.pad(a, {widths}, mode='constant', constant_values={small number})
m.pad(r, {widths}, mode={pad statistic}, stat_length={count})
m.pad(r, {widths}, mode={reflection}, reflect_type={reflect type})
m.roll(a, {shift}[, axis={roll axis}])
m.diff(a[, n={count}][, axis={axis}])
m.diff(r, axis={axis}, prepend={number}, append={number})
m.gradient(r[, {step}][, axis={axis}][, edge_order={edge order}])
m.trapezoid(a[, dx={step}][, axis={axis}])
m.interp(r, m.arange(5), m.sort(v)[:5][, left={number}][, right={number}]) if v.size > 4 else 0
m.histogram(r[, bins={bins}][, density={bool}][, range=(-3, 5)])
m.histogram_bin_edges(r, bins={bins}[, range=(-2, 2)])
m.bincount(m.abs(i).ravel()[, minlength={count}])
m.nan_to_num(a[, nan={number}][, posinf={number}][, neginf={number}][, copy={bool}])
m.{isclose}(a, b[, rtol={step}][, atol={step}][, equal_nan={bool}])
m.array_split(a, {count}[, axis={axis}])
m.cov(r[, bias={bool}][, ddof={count}][, rowvar={bool}])
m.insert(r, {count}, {number}[, axis={axis or all}])
m.insert(r, [0, 1], {number}[, axis={axis or all}])
m.delete(a, [0, -1][, axis={axis or all}])
m.append(a, b[, axis={axis or all}])
m.concatenate((a, b)[, axis={axis or all}][, dtype={dtype}][, casting={casting}])
m.stack((a, b)[, axis={axis}][, dtype={dtype}][, casting={casting}])
m.flip(a[, axis={axes}])
m.{tril}(a[, k={offset}])
m.{trace}(a[, offset={offset}][, axis1={axis}][, axis2={axis}])
m.full_like(a, {small number}[, dtype={dtype}][, order={order}][, shape=(2, 3)])
m.array(a[, dtype={dtype}][, order={order}][, ndmin={count}][, copy={bool}])
a.astype({dtype}[, order={order}][, copy={bool}])
a.reshape(a.shape[::-1][, order={C or F}])
a.ravel(order={order}), a.flatten(order={order}), a.copy(order={order})
m.linspace(v, {number}[, num={count}][, endpoint={bool}][, axis={end}])
m.linspace({number}, {number}[, num={count}][, endpoint={bool}][, retstep={bool}][, dtype={dtype}])
m.round(a[, decimals={offset}])
m.unwrap(r[, axis={axis}][, discont={step}][, period={step}])
m.linalg.norm(r[, ord={norm}][, axis={norm axes}][, keepdims={bool}])
m.fft.{fft}(f[, n={fft length}][, axis={axis}][, norm={fft norm}])
m.fft.{fftn}(f[, axes={fft axes}][, norm={fft norm}])
m.packbits(a != 0[, axis={axis}][, bitorder={bits}])
m.where(w, a, {number})
m.select([w, ~w & w], [a, b][, default={small number}])
m.compress([True, False, True], a[, axis={axis or all}])
m.{set}(r, v)
m.isin(r, v[, invert={bool}][, kind={isin kind}])
m.meshgrid(v, a.ravel()[:3][, indexing={indexing}][, sparse={bool}])
m.tensordot(f, f[, axes={tensordot axes}])
m.take_along_axis(a, m.argsort(a, axis=0, kind='stable'), axis=0)
m.ravel_multi_index((m.abs(i), m.abs(i)), (4, 4)[, mode={mode}][, order={C or F}])
m.einsum({einsum}, f, f[, dtype='f8'][, order={order}])
m.copyto(z, b[, where=w][, casting={casting}]), z
m.put(z, {positions}, {small number}[, mode={mode}]), z
m.putmask(z, m.broadcast_to(w, z.shape), b), z
m.fill_diagonal(z, {small number}[, wrap={bool}]), z
z.sort(axis={axis}), z
z.clip({bound}, {bound}, out=z), z
m.sum(a, axis=0, out=o), o
m.mean(a, axis=0, out=o), o
m.cumsum(a, axis=0, out=z), z
m.argmax(a, axis=0, out=m.zeros(a.shape[1:], dtype={index dtype})[, keepdims=False])
m.median(r, axis=0, overwrite_input={bool})
m.nan{nanmax}(r, axis=0, out=m.zeros(r.shape[1:], dtype={wide dtype}))
m.nan{var}(r, axis=0, out=m.zeros(r.shape[1:], dtype={wide dtype})[, ddof={ddof}])
m.{var}(r, axis=0, out=m.zeros(r.shape[1:], dtype={wide dtype})[, ddof={ddof}])
m.dot(f, f.T), f.dot(f.T)
a.{sum}(axis={axes}[, dtype={dtype}][, keepdims={bool}])
a.{var}(axis={axes}[, ddof={ddof}][, keepdims={bool}])
a.{max}(axis={axes}[, keepdims={bool}])
a.argmax(axis={axis}[, keepdims={bool}]), a.argmin()
a.{cumsum}(axis={axis}[, dtype={dtype}])
a.clip({bound}, {bound}), a.round({offset})
a.repeat(2[, axis={axis or all}]), a.take({positions}[, axis={axis or all}][, mode={mode}])
a.swapaxes({axis}, {axis}), a.squeeze(), a.T, a.transpose()
a.nonzero(), a.any(axis={axes}), a.all(axis={axes})
a.diagonal(offset={offset}), a.trace(offset={offset}[, dtype={dtype}])
a.tolist(), a.item(0) if a.size else 0
a.tobytes({order}), a.nbytes, a.itemsize
a.view('u1') if a.flags.c_contiguous and a.ndim else 0
a {op} b
a {op} {scalar}
{scalar} {op} a
v[0] {op} a
a.ravel()[:1].reshape(()) {op} {scalar}
a.ravel()[:1].reshape(()) {op} v
{scalar} {op} v[1]
a[0] {op} {scalar}
getattr(operator, {in place})(a, b)
getattr(operator, {in place})(z, {scalar})
-a, +a, ~i, abs(a)
divmod(a, {scalar}), divmod({scalar}, v + 9)
a ** {exponent}
v ** {exponent}
i ** {exponent}
{exponent} ** r
bool(a.ravel()[0]) if a.size else 0, float(v[0]), int(v[0]), complex(v[0]), round(float(v[0]), 1), hash(v[0]), v[0].__index__() if v.dtype.kind == 'i' else 0
m.{binary of numbers}({scalar}, {scalar})
m.{binary of numbers}(v[0], {scalar}), m.{binary of numbers}([1, 2], a) if a.shape[-1:] == (2,) else m.{binary of numbers}([[1]], a)
m.{unary of numbers}(a)
m.{unary of numbers}({scalar})
m.{unary of numbers}(v[0]), m.{unary of numbers}([1, 2.5]), m.{unary of numbers}([])
m.result_type(a, b), m.result_type(a, {scalar}), m.promote_types(a.dtype, b.dtype), m.can_cast(a.dtype, b.dtype[, casting={casting}])
m.histogram2d(r.ravel(), r.ravel()[::-1][, bins={few bins}][, density={bool}])
m.histogramdd(r.reshape(-1, 1)[, bins={few bins}][, density={bool}])
m.apply_over_axes(m.sum, r, [0, -1])
m.linalg.{solver}(q)
m.linalg.solve(q, r4), m.linalg.lstsq(q, r4[, rcond={rcond}])[0]
m.linalg.matrix_power(q, {power}), m.linalg.matrix_rank(q[, tol={step}]), m.linalg.cond(q[, p={cond norm}])
m.linalg.multi_dot([q, q, q]), m.linalg.tensorinv(q[, ind=1]), m.linalg.slogdet(q), m.linalg.det(q)
m.linalg.cross(c3, c3), m.linalg.outer(v, v), m.linalg.trace(q), m.linalg.diagonal(q), m.linalg.matrix_norm(q[, ord={matrix norm}][, keepdims={bool}])
m.polyval(v, r), m.polyder(v), m.polyint(v), m.polyadd(v, [1, 2]), m.polymul(v, v), m.roots(v), m.poly(v)
m.ix_([0, 1], [1]), m.indices((2, 3)[, sparse={bool}]), m.mgrid[0:3, 0:2], m.ogrid[0:3, 0:2], m.r_[v, 1, 2:4], m.c_[v, v], m.s_[1:3]
m.diag(v[, k={offset}]), m.diagflat(v[, k={offset}]), m.diag_indices(3), m.triu_indices(3[, k={offset}]), m.tril_indices_from(q)
m.broadcast_arrays(a, b), m.broadcast_shapes(a.shape, b.shape)
m.hsplit(r, 1), m.split(r, 1[, axis={axis}]), m.dsplit(r.reshape(r.shape[0], -1, 1), 1)
m.atleast_1d(a), m.atleast_2d(v), m.atleast_3d(r), m.rollaxis(r, {end}), m.moveaxis(r, 0, -1), m.resize(a, (2, 5)), m.squeeze(a[None])
m.nancumsum(r[, axis={axis or all}]), m.nanprod(r[, axis={axes}]), m.cumprod(v), m.ediff1d(r[, to_end={number}]), m.cross(c3, c3[, axis={end}])
m.maximum.reduce([a, a]), m.add.reduce([1, 2.5, 3]), m.logical_and.reduce([True, False]), m.add.accumulate([1, 2, 3]), m.multiply.outer([1, 2], [3, 4.5])
m.where(a), m.where([True, False], [1, 2], 3.5), m.select([v > 0], [v], default={scalar}), m.piecewise(r, [r > 0, r < 0], [1, lambda x: -x])
m.convolve([1, 2, 3], v[, mode={convolve mode}]), m.correlate(v, [1, 0.5][, mode={convolve mode}]), m.interp(1.5, [1, 2, 3], [3, 2, 0]), m.interp([0, 1.5], [1, 2], [3, 4][, left={number}])
m.trapezoid([1, 2, 3]), m.gradient(v), m.diff(v[, n={count}]), m.cumulative_sum(v[, include_initial={bool}]), m.unwrap([0, 3.0, 6.5]), m.i0(v), m.sinc(v), m.angle([1j, -1])
m.array([[1, 2], [3, 4]][, dtype={dtype}][, ndmin=3]), m.array((1, 2.5)), m.array([v[0], 1]), m.array([a, a]), m.asarray([True, 2]), m.full((2, 2), {scalar}), m.full(3, v[0]), m.arange({count}), m.ones_like(a[, dtype={dtype}]), m.empty((0, 2)), m.identity(2, dtype={dtype}), m.tri(2)
m.float32(2.5) {op} a
m.int8(5) {op} a
m.array(2.5) {op} a
m.array([2], dtype='i1') {op} a
m.array_equal(a, b), m.array_equiv(a, b), m.isclose(v, {scalar}), m.unique_counts(i), m.intersect1d(v, i)
m.sum([r, r], axis=0), m.mean([1, 2, 3]), m.max([[1, 2], [3, 4]], axis={end}), m.median([3, 1, 2]), m.sum(5), m.prod([])
""".strip().splitlines()
CHOICES = {
    "sum": "sum prod", "max": "max min", "var": "std var", "any": "any all", "nan": "nan| ", "argmax": "argmax argmin",
    "nanmax": "max min mean", "cumsum": "cumsum cumprod", "quantile": "quantile percentile",
    "binary": "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax copysign equal less "
              "greater_equal logical_and logical_xor bitwise_and bitwise_or hypot",
    "unary": "negative absolute sqrt exp log sin floor ceil rint sign square reciprocal isnan isfinite signbit "
             "logical_not invert conjugate log1p trunc positive deg2rad",
    "reducing": "add multiply maximum minimum fmax fmin logical_and logical_or bitwise_and bitwise_xor gcd subtract "
                "divide less right_shift",
    "isclose": "isclose allclose", "tril": "tril triu", "trace": "trace diagonal", "set": "union1d setdiff1d setxor1d",
    "fft": "fft ifft rfft hfft irfft ihfft", "fftn": "fft2 ifft2 fftn rfft2 rfftn",
    "axis": "0 1 -1 -2", "axis or all": "0 1 -1 None", "axes": "0 1 -1 None (0,1) (-1,) () (0,-1)",
    "some axes": "0 1 -1 None (0,1) (-1,)", "roll axis": "0 1 (0,1) None", "norm axes": "0 1 None (0,1) (1,0)",
    "fft axes": "(0,1) (1,0) (-1,) None", "end": "0 -1", "bool": "True False",
    "dtype": "'f8' 'f4' 'i4' 'i8' '?' 'u1' int float bool", "float dtype": "'f8' 'f4' 'f2' float",
    "number": "0 1 2.5 -1 True 3 1e3 -0.5", "small number": "0 1 2 True 3", "step": "0.5 1 2 3.0",
    "bound": "None 0 1 2", "ddof": "0 1 0.5", "q": "0.5 [0.1,0.7] 0 [0.9] 0.33",
    "method": "'linear' 'lower' 'higher' 'nearest' 'midpoint' 'hazen' 'weibull' 'median_unbiased' 'inverted_cdf'",
    "casting": "'safe' 'same_kind' 'unsafe'", "order": "'C' 'F' 'A' 'K'", "C or F": "'C' 'F'",
    "positions": "[0,1] [1,0,1] [0]", "kind": "'quicksort' 'stable' 'heapsort'", "side": "'left' 'right'",
    "mode": "'raise' 'wrap' 'clip'", "count": "1 2 3", "widths": "1 (1,2) ((1,0),(0,2)) 0",
    "pad mode": "'constant' 'edge' 'wrap' 'reflect' 'symmetric' 'maximum' 'minimum' 'mean' 'median' 'linear_ramp'",
    "pad statistic": "'maximum' 'minimum' 'mean' 'median'", "reflection": "'reflect' 'symmetric'",
    "reflect type": "'even' 'odd'", "shift": "1 -1 5 (1,2)", "offset": "0 1 -1 2", "edge order": "1 2",
    "bins": "3 10 [0,1,2] 'sturges' [-1.5,0,4]", "norm": "None 1 2 -1 -2 0 3 'fro' 'nuc' np.inf",
    "fft norm": "None 'ortho' 'forward' 'backward'", "fft length": "None 1 2 3 5", "bits": "'big' 'little'",
    "isin kind": "None 'sort'", "indexing": "'xy' 'ij'", "tensordot axes": "0 1 2 ([0],[0]) ([1],[1])",
    "einsum": "'ij,ij->ij' 'ij,ij' 'ij,kj->ik' 'ij,ij->j' '...,...' 'ij,ij->i'",
    "index dtype": "'i8' int", "wide dtype": "'f8'", "op": "+ - * / // % ** == < >= & ^",
    "scalar": "2 -1 2.5 True 1j 0 np.float32(1.5) np.int8(3) np.float64(2) np.int64(-2) np.uint8(200) np.bool_(True) "
              "300 1e10",
    "in place": "'iadd' 'isub' 'imul' 'itruediv' 'ifloordiv' 'imod' 'ipow' 'iand' 'ior' 'ilshift'",
    "exponent": "2 3 0.5 -1 -2 0 2.0 1 1.5 True 2j",
    "binary of numbers": "add subtract multiply divide power maximum equal less floor_divide remainder fmod hypot "
                         "logical_or arctan2 copysign",
    "unary of numbers": "sqrt exp negative absolute sign floor isnan square logical_not rint conj real imag iscomplex "
                        "isreal cos arcsin log2 expm1 tanh cbrt reciprocal ceil fabs",
    "few bins": "3 4 5", "solver": "inv eigvalsh det svdvals pinv cholesky", "rcond": "None 0.1", "power": "0 1 2 3 -1",
    "cond norm": "None 1 2 'fro'", "matrix norm": "'fro' 'nuc' 1 2 np.inf", "convolve mode": "'full' 'same' 'valid'",
}  # fmt: skip
CHOICES = {k: v.split("|") if "|" in v else v.split() for k, v in CHOICES.items()}
DTYPES = ["?", "i1", "u1", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "u4", "u8", "i2"]
SHAPES = [(3, 4), (4, 4), (2, 3, 4), (5,), (1, 4), (3, 1), (0, 3), (3, 0), (6, 7), (70, 90)]
LAYOUTS = ["C", "F", "reversed", "gaps"]
OPTION = re.compile(r"\[(, [^\[\]{}]*(?:\{[^{}]+\})?[^\[\]{}]*)\]")
TOLERANCE = {"e": 2e-2, "f": 5e-5, "F": 5e-5}
# What operations of other dtypes compute in: halves of bool and eight bits, float32 of sixteen.
COMPUTED_IN = {**TOLERANCE, "?": 2e-2, "b": 2e-2, "B": 2e-2, "h": 5e-5, "H": 5e-5}


def call(rng):
    text = OPTION.sub(lambda m: m[1] if rng.random() < 0.5 else "", rng.choice(CALLS))
    return re.sub(r"\{([^{}]+)\}", lambda m: rng.choice(CHOICES.get(m[1], [m[0]])).strip(), text)


def laid(x, layout):
    """A copy in a layout."""
    if not x.ndim or layout == "C":
        return x.copy("C")
    if layout == "F":
        return x.copy("F")
    if layout == "reversed":
        return x[::-1].copy("C")[::-1]
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def drawn(numbers, shape, dtype):
    """Small numbers, of which reductions hold in every dtype; among reals one special value."""
    kind = dtype[0]
    if kind == "?":
        return numbers.random(shape) < 0.5
    if kind in "iu":
        return numbers.integers(0 if kind == "u" else -4, 5, shape).astype(dtype)
    x = np.round(numbers.normal(0, 2, shape) * 4) / 4
    if kind == "f" and x.size and numbers.random() < 0.3:
        x.reshape(-1)[numbers.integers(0, x.size)] = numbers.choice([np.nan, np.inf, -np.inf, -0.0])
    return (x + 1j * np.round(numbers.normal(0, 2, shape)) if kind == "c" else x).astype(dtype)


def arrays(seed):
    """{name: (array, layout)}: a and b of any dtypes, r of reals, f finite, q a positive definite matrix."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
    if dtype == "f2" and shape == (70, 90):
        shape = (6, 7)  # (NumPy rounds, and overflows, after each step)
    other = rng.choice([dtype, rng.choice(DTYPES)])
    # NumPy keeps steps of reductions in out=, as its dtype: one that holds them.
    wide = {"?": ["?", "i8", "f8"], "i": [dtype, "i8", "f8"], "u": [dtype, "u8", "f8"]}
    wide = rng.choice({**wide, "f": [dtype, "f8"], "c": [dtype, "c16"]}[dtype[0]])
    narrow = rng.choice([shape, shape, shape, shape[-1:], (*shape[:-1], 1), ()])
    made = {
        "a": drawn(numbers, shape, dtype),
        "b": drawn(numbers, narrow, other),
        "w": numbers.random(rng.choice([shape, shape[-1:]])) < 0.5,
        "v": numbers.integers(-3, 4, rng.choice([3, 4, 5])).astype(rng.choice(["f8", "f4", "i4"])),
        "i": numbers.integers(-3, 4, shape),
        "z": drawn(numbers, shape, wide),
        "o": np.zeros(shape[1:], wide),
        "r": numbers.integers(-4, 5, shape).astype(rng.choice(["f8", "f4", "i8", "i2"])),
        "f": numbers.normal(0, 2, shape).astype(rng.choice(["f8", "f4"])),
        "q": (lambda q: (q @ q.T + 4 * np.eye(4)).astype(rng.choice(["f8", "f4", "c16"])))(
            numbers.normal(0, 1, (4, 4))
        ),
        "r4": numbers.normal(0, 1, (4, 2)).astype(rng.choice(["f8", "f4"])),
        "c3": numbers.integers(-3, 4, (3, 3)).astype(rng.choice(["f8", "i4"])),
    }
    return {name: (x, rng.choice(LAYOUTS)) for name, x in made.items()}


def outcome(m, text, given):
    """(result, error, classes of warnings); the arrays are copies."""
    names = {k: laid(*x) for k, x in given.items()}
    if m is asnumpy:
        names = {k: to_device(x) for k, x in names.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return (
                to_host(eval(text, {"m": m, "np": np, "operator": operator, **names})),
                None,
                warned(caught),
            )
        except Exception as e:
            return None, e, warned(caught)


def warned(caught):
    """But for NumPy's about complex numbers that lose a part, which comes at casts of its buffers, too."""
    return {w.category.__name__ for w in caught} - {"ComplexWarning"}


def difference(got, want, least=0.0):
    """Words, or None. least: the share of the dtypes that were computed in, where results are of wider ones."""
    if isinstance(want, tuple | list):
        if type(got) is not type(want) and not hasattr(want, "_fields") or len(got) != len(want):
            return f"got {type(got)} of {len(got)}, want {type(want)} of {len(want)}"
        found = (difference(g, w, least) for g, w in zip(got, want, strict=True))
        return next(filter(None, found), None)
    if want is None:
        return None if got is None else f"got {got!r}, want None"
    if isinstance(want, np.ndarray) != isinstance(got, np.ndarray):
        return f"got {type(got)}, want {type(want)}"
    x, y = np.asarray(got), np.asarray(want)
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"got {x.dtype} {x.shape}, want {y.dtype} {y.shape}"
    right = x == y
    if y.dtype.kind in "fc":
        share = max(least, TOLERANCE.get(y.dtype.char, 1e-10))
        with np.errstate(all="ignore"):
            size = np.abs(np.where(np.isfinite(y), y, 0)).max(initial=1e-3)
            right = np.isclose(x, y, rtol=share, atol=share * size, equal_nan=True)
    if np.all(right):
        return None
    at = ~np.atleast_1d(right).reshape(-1)
    return f"got {x.reshape(-1)[at][:4]}, want {y.reshape(-1)[at][:4]}"


def exactly(text, given):
    """NumPy's result in float64, rounded once: in float16 it rounds after each step, and may be far from that."""
    exact = outcome(np, text.replace("'f2'", "'f8'"), given)[0]
    return exact.astype("f2") if isinstance(exact, np.ndarray | np.float64) else exact


def casts_invalid(text, given):
    """Whether NumPy says that it cast NaN or a number out of range to the integers of out=."""
    if "out=z" not in text or given["z"][0].dtype.kind not in "iu":
        return False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(
            text,
            {"m": np, "np": np, "operator": operator} | {k: laid(*x) for k, x in given.items()},
        )
    return any("encountered in cast" in str(w.message) for w in caught)


def compare(seed):
    """None, or (call, dtypes and shapes, what differs)."""
    text, given = call(random.Random(seed * 7 + 1)), arrays(seed)
    want, refused, warns = outcome(np, text, given)
    got, error, warns_too = outcome(asnumpy, text, given)
    said = None
    if refused is not None or error is not None:
        # Of a place out of bounds and a dtype without a loop either may be named; a loop that NumPy does not have
        # for dtype=, or once in a while does not find, may be found here.
        classes = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError)
        if any(isinstance(refused, c) and isinstance(error, c) for c in classes):
            return None
        if error is not None and refused is not None and re.search("reduceat|dtype=|ipow", text):
            return None
        if error is None and isinstance(refused, TypeError) and "dtype=" in text:
            return None
        said = f"got {error!r}, want {refused!r}"
    elif "RuntimeWarning" in warns and ("unsafe" in text or casts_invalid(text, given)):
        pass  # what a cast of numbers out of an integer's range gives is the compiler's choice
    else:
        kinds = [x.dtype.char for k, (x, _) in given.items() if re.search(rf"\b{k}\b", text)]
        least = max(COMPUTED_IN.get(c, 0.0) for c in [*kinds, "d"]) if "out=" in text else 0.0
        said = difference(got, want, least)
        if said is not None and "'f2'" in text and difference(got, exactly(text, given)) is None:
            said = None
        # (NumPy casts what out= has where nothing is written, too, and warns of it. Single operators tell nothing.)
        alike = warns == warns_too or "out=z" in text or SINGLE_OPERATORS
        if said is None and not alike:
            said = f"warns of {sorted(warns_too)}, want {sorted(warns)}"
    if said is None:
        return None
    used = ", ".join(f"{k} {x.dtype} {x.shape} {how}" for k, (x, how) in given.items()
                     if re.search(rf"\b{k}\b", text))  # fmt: skip
    return text, used, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int)
    options = parser.parse_args()
    if options.replay is not None:
        print(compare(options.replay))
        for name, (x, how) in arrays(options.replay).items():
            print(name, how, repr(x))
        return 0
    end, seed, failed = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        found = compare(seed)
        if found:
            failed += 1
            print(f"seed {seed}: {found[0]}  |  {found[1]}  |  {found[2]}"[:600])
        seed += 1
    print(f"calls: {seed - options.seed - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
