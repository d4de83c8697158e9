"""Generator: the distributions drawn from a bit generator, NumPy's streams bit for bit."""

import operator

import numpy as np

from .. import _core
from ._bit_generators import PCG64, BitGenerator
from ._bounded import draw_integers
from ._distributions import Distributions, rows_of, sum_message
from ._ordering import checked_axis, choose, distinct, reorder, shuffled
from ._scaled import scaled_normal, scaled_uniform

_FEW = 64  # probabilities


def _single(dtype, name):
    """Whether dtype is float32; float64 is the other one allowed."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64) or not dtype.isnative:
        raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
    return dtype == np.float32


def _out_size(out, size, dtype, any_order=True):
    """The size to draw for `out`, which must have the drawn shape and dtype and be contiguous.

    any_order: the elements do not depend on parameters, so Fortran order will do.
    """
    if out is None:
        return size
    dtype = np.dtype(dtype)
    if out.dtype != dtype:
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype}"
        )
    contiguous = out.flags.c_contiguous or (any_order and out.flags.f_contiguous)
    if not contiguous or not out.flags.writeable:
        raise ValueError(
            "Supplied output array must be contiguous, writable, aligned, and in machine byte-order."
        )
    if size is not None and rows_of(size) != out.shape:
        raise ValueError("size must match out.shape when used together")
    return out.shape


def _deliver(result, out):
    if out is None:
        return result
    if out.flags.c_contiguous:
        out[...] = result
    else:  # the elements are drawn in the order of the memory
        out.T[...] = result.reshape(out.shape[::-1])
    return out


def _checked_trials(n, pvals):
    """multinomial's probabilities, float64 rows of C order, and numbers of trials as arrays."""
    given = np.asarray(pvals)
    p = np.asarray(given, dtype=np.float64, order="C")
    trials = np.asarray(n)
    if p.ndim == 1 and n.__class__ is int and 0 <= n < 2**63 and 0 < p.size <= _FEW:
        row = p.tolist()  # Python's arithmetic on so few is ten times as fast
        if all(0.0 <= x <= 1.0 for x in row) and sum(row[:-1]) <= 1.0:
            return p, trials
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(
            "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0."
        )
    if not np.can_cast(trials.dtype, np.int64, "same_kind"):
        raise TypeError(
            f"Cannot cast n from {trials.dtype} to int64 according to the rule 'same_kind'"
        )
    if np.any(trials < 0):
        raise ValueError("n < 0")
    if np.any((p < 0) | (p > 1) | np.isnan(p)):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if np.any(p[..., :-1].sum(axis=-1) > 1.0 + 1e-12):
        raise ValueError(sum_message(given.dtype))
    return p, trials


class Generator(Distributions):
    """Random numbers from a `BitGenerator`; see `default_rng`."""

    def __init__(self, bit_generator):
        if not isinstance(bit_generator, BitGenerator):
            raise ValueError(f"Bit generator must be a BitGenerator, got {type(bit_generator)!r}")
        self._use(bit_generator)

    @property
    def __class__(self):
        """NumPy's class, so that a library's isinstance(rng, numpy.random.Generator) is true."""
        return np.random.Generator

    @property
    def bit_generator(self):
        """The BitGenerator that gives the random bits."""
        return self._bit_generator

    def random(self, size=None, dtype=np.float64, out=None):
        """Uniform floats in [0, 1): float64 with 53 random bits or float32 with 24."""
        if out is not None:
            return _deliver(self.random(_out_size(out, size, dtype), dtype), out)
        return self._engine.uniform(size, dtype)

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """Normal floats of mean 0 and deviation 1 (ziggurat; float64 or float32)."""
        if out is not None:
            return _deliver(self.standard_normal(_out_size(out, size, dtype), dtype), out)
        return self._engine.normal(size, dtype)

    def _normals(self, size):
        return self.standard_normal(size)

    def standard_exponential(self, size=None, dtype=np.float64, method="zig", out=None):
        """Exponential floats of mean 1: by ziggurat ("zig") or -log(1 - u) ("inv"); float64 or float32."""
        if out is None and dtype is np.float64 and method == "zig":
            return self._variate("standard_exponential", size)
        single = _single(dtype, "standard_exponential")
        if method not in ("zig", "inv"):
            raise ValueError(f"method is {method!r}; allowed are 'zig' and 'inv'")
        size = _out_size(out, size, dtype)
        result = self._engine.exponential(size, single, method == "inv")
        return float(result) if size is None else _deliver(result, out)

    def standard_gamma(self, shape, size=None, dtype=np.float64, out=None):
        """Gamma distribution of shape >= 0 and scale 1; float64 or float32."""
        if out is None and dtype is np.float64:
            return self._variate("standard_gamma", size, shape)
        size = _out_size(out, size, dtype, any_order=False)
        if not _single(dtype, "standard_gamma"):
            return _deliver(self.standard_gamma(shape, size), out)
        shapes = np.asarray(shape, dtype=np.float64)
        if np.any(np.signbit(shapes) & ~np.isnan(shapes)):
            raise ValueError("shape < 0")
        drawn = shapes.shape if size is None else rows_of(size)
        if shapes.ndim:
            shapes = np.broadcast_to(shapes, drawn)
        result = self._engine.gamma_float(drawn, np.array(shapes, dtype=np.float32, order="C"))
        return float(result) if size is None and not shapes.ndim else _deliver(result, out)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Integers in [low, high), or [low, high] with endpoint (Lemire's method)."""
        drawn = self._engine.integers(size, low, high, dtype, endpoint, False)
        if drawn is not NotImplemented:
            return drawn
        return draw_integers(self._engine, low, high, size, dtype, endpoint, False)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform floats in [low, high); the bounds broadcast."""
        drawn = self._engine.scaled_uniform(size, low, high)
        if drawn is not NotImplemented:
            return drawn
        return scaled_uniform(self.random, low, high, size, "high - low range exceeds valid bounds")

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal floats of mean loc and deviation scale; the parameters broadcast."""
        drawn = self._engine.scaled_normal(size, loc, scale)
        if drawn is not NotImplemented:
            return drawn
        return scaled_normal(self.standard_normal, loc, scale, size)

    def multinomial(self, n, pvals, size=None):
        """How often each of the outcomes with probabilities pvals comes in n trials; int64.

        pvals: (..., k), of sum 1 along its last axis; n broadcasts against pvals[..., 0]. The result has
        shape (..., k).
        """
        p, trials = _checked_trials(n, pvals)
        if trials.ndim == 0 and p.ndim == 1:
            batch = rows_of(size)
            return self._engine.multinomial((*batch, p.size), np.full(batch, n, np.int64), p, False)
        batch = np.broadcast_shapes(trials.shape, p.shape[:-1])
        if size is not None:
            rows = rows_of(size)
            if np.broadcast_shapes(rows, batch) != rows:
                raise ValueError(
                    f"Output size {rows} is not compatible with broadcast dimensions of inputs {batch}."
                )
            batch = rows
        trials = np.array(np.broadcast_to(trials, batch), dtype=np.int64, order="C")
        if p.ndim > 1:
            p = np.array(np.broadcast_to(p, (*batch, p.shape[-1])), order="C")
        return self._engine.multinomial((*batch, p.shape[-1]), trials, p, False)

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals"):
        """How many of each color are among nsample items drawn without replacement; int64.

        colors: the numbers of items, 1-d. method: "marginals" or "count" (faster for few items, memory of
        sum(colors)). The result has shape (*size, len(colors)).
        """
        if method not in ("count", "marginals"):
            raise ValueError('method must be "count" or "marginals".')
        nsample = operator.index(nsample)
        if nsample < 0:
            raise ValueError("nsample must be nonnegative.")
        counts = np.array(colors)
        if (
            counts.ndim != 1
            or (counts.size and not np.issubdtype(counts.dtype, np.integer))
            or np.any(counts < 0)
        ):
            raise ValueError("colors must be a one-dimensional sequence of nonnegative integers.")
        counts = np.ascontiguousarray(counts, dtype=np.int64)
        total = sum(counts.tolist())
        limit = 10**9 if method == "marginals" else (2**63 - 1) // 8
        if total >= limit and method == "marginals":
            raise ValueError(
                'When method is "marginals", sum(colors) must be less than 1000000000.'
            )
        if total > limit:
            raise ValueError('When method is "count", sum(colors) is too large.')
        if nsample > total:
            raise ValueError("nsample > sum(colors)")
        shape = (*rows_of(size), counts.size)
        return self._engine.multivariate_hypergeometric(shape, counts, nsample, method == "count")

    def multivariate_normal(
        self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"
    ):
        """Normal vectors of that mean (n,) and covariance (n, n), of shape (*size, n).

        method: the factorisation of cov, "svd", "eigh" or "cholesky". check_valid: what to do about a cov
        that is not positive semidefinite within tol: "warn", "raise" or "ignore".
        """
        if method not in ("eigh", "svd", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        return self._multivariate(mean, cov, size, check_valid, tol, _FACTORS[method])

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """A random sample along an axis of a (or of arange(a)), with or without replacement, weighted by p."""
        return choose(
            self, a, size, replace, p, axis,
            whole=lambda n, count: self.integers(0, n, size=count),
            distinct=lambda n, count: distinct(self, n, count, shuffle),
        )  # fmt: skip

    def shuffle(self, x, axis=0):
        """Shuffles x in place along an axis (Fisher and Yates)."""
        reorder(self, x, axis)

    def permutation(self, x, axis=0):
        """A copy of x shuffled along an axis, or arange(x) shuffled."""
        from .. import asarray, take

        if isinstance(x, (int, np.integer)):
            return shuffled(self, x)
        x = asarray(x)
        axis = checked_axis(axis, x.ndim)
        return take(x, shuffled(self, x.shape[axis]), axis=axis)

    def permuted(self, x, *, axis=None, out=None):
        """x with each slice along an axis shuffled on its own; axis None: all elements."""
        from .. import asarray, copyto, moveaxis, take_along_axis

        x = asarray(x)
        if out is not None and (out.shape != x.shape):
            raise ValueError("out must have the same shape as x")
        if axis is None:
            result = x.reshape(-1)[shuffled(self, x.size)].reshape(x.shape)
        else:
            axis = checked_axis(axis, x.ndim)
            last = moveaxis(x, axis, -1)
            order = shuffled(self, *last.shape)
            result = moveaxis(take_along_axis(last, order, axis=-1), -1, axis)
        if out is None:
            return result
        (copyto if _core._is_array(out) else np.copyto)(out, result, casting="safe")
        return out

    def spawn(self, n_children):
        """n_children independent generators."""
        return [type(self)(b) for b in self.bit_generator.spawn(n_children)]

    def __repr__(self, /):
        return f"Generator({type(self.bit_generator).__name__}) at 0x{id(self):X}"

    def __str__(self, /):
        return f"Generator({type(self.bit_generator).__name__})"

    def __reduce__(self):
        return type(self), (self.bit_generator,)


def _svd(cov, tol):
    from .. import allclose, dot, linalg, sqrt

    u, s, vh = linalg.svd(cov)
    return (u * sqrt(abs(s))).T, lambda: allclose(dot(vh.T * s, vh), cov, rtol=tol, atol=tol)


def _eigh(cov, tol):
    from .. import linalg, sqrt

    s, u = linalg.eigh(cov)
    return (u * sqrt(abs(s))).T, lambda: not (s < -tol).any()


def _cholesky(cov, tol):
    from .. import linalg

    return linalg.cholesky(cov).T, lambda: True


_FACTORS = {"svd": _svd, "eigh": _eigh, "cholesky": _cholesky}


def default_rng(seed=None):
    """A Generator over PCG64. seed: None, int, ints, SeedSequence, BitGenerator, Generator or RandomState."""
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if isinstance(seed, RandomStateLike):
        return Generator(seed._bit_generator)
    return Generator(PCG64(seed))


class RandomStateLike:
    """The base of RandomState, so that default_rng can take one without importing it."""
