"""Generator: the distributions drawn from a bit generator, NumPy's streams bit for bit."""

import operator

import numpy as np

from .. import _core
from ._bit_generators import PCG64, BitGenerator
from ._bounded import draw_integers
from ._distributions import Distributions, sum_message
from ._ordering import checked_axis, choose, distinct, reorder, shuffled
from ._parameters import rows_of
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
    """Random numbers of many distributions, from a bit generator: NumPy's streams, bit for bit.

    default_rng makes one. A Generator may be used by several threads, of which one draws at a time.

    Parameters
    ----------
    bit_generator : BitGenerator
        Gives the random bits.

    Raises
    ------
    ValueError
        It is no BitGenerator.

    Notes
    -----
    Without size, numbers as parameters give a number; arrays of parameters broadcast. Parameters out of
    their range are a ValueError. isinstance(rng, numpy.random.Generator) is true.

    Examples
    --------
    >>> import asnumpy as np
    >>> rng = np.random.Generator(np.random.PCG64(0))
    >>> rng.random(3).round(4)
    array([0.637 , 0.2698, 0.041 ])
    >>> rng.integers(1, 7, size=5)
    array([1, 1, 2, 5, 4])
    """

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
        """Draws uniform numbers from [0, 1).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.
        dtype : {float64, float32}
            Of the numbers.
        out : ndarray of dtype, optional
            Receives the numbers; contiguous, of the shape and the dtype that is drawn.

        Returns
        -------
        ndarray, or float
            Multiples of 2**-53 (float64) or 2**-24 (float32).

        Raises
        ------
        TypeError
            dtype is another, or out is of another.
        ValueError
            out has another shape than size, or is not contiguous.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.random(3).round(4)
        array([0.637 , 0.2698, 0.041 ])
        """
        if out is not None:
            return _deliver(self.random(_out_size(out, size, dtype), dtype), out)
        return self._engine.uniform(size, dtype)

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """Draws normal numbers of mean 0 and standard deviation 1, by a ziggurat.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.
        dtype : {float64, float32}
            Of the numbers.
        out : ndarray of dtype, optional
            Receives the numbers; contiguous, of the shape and the dtype that is drawn.

        Returns
        -------
        ndarray, or float

        Raises
        ------
        TypeError
            dtype is another, or out is of another.
        ValueError
            out has another shape than size, or is not contiguous.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.standard_normal(3).round(4)
        array([ 0.1257, -0.1321,  0.6404])
        """
        if out is not None:
            return _deliver(self.standard_normal(_out_size(out, size, dtype), dtype), out)
        return self._engine.normal(size, dtype)

    def _normals(self, size):
        return self.standard_normal(size)

    def standard_exponential(self, size=None, dtype=np.float64, method="zig", out=None):
        """Draws exponential numbers of mean 1.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.
        dtype : {float64, float32}
            Of the numbers.
        method : {'zig', 'inv'}
            By a ziggurat, or as -log(1 - u) of a uniform u.
        out : ndarray of dtype, optional
            Receives the numbers; contiguous, of the shape and the dtype that is drawn.

        Returns
        -------
        ndarray, or float

        Raises
        ------
        TypeError
            dtype is another, or out is of another.
        ValueError
            out has another shape than size, or is not contiguous.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.standard_exponential(3).round(4)
        array([0.6799, 1.0196, 0.0198])
        """
        if out is None and dtype is np.float64 and method == "zig":
            return self._variate("standard_exponential", size)
        single = _single(dtype, "standard_exponential")
        if method not in ("zig", "inv"):
            raise ValueError(f"method is {method!r}; allowed are 'zig' and 'inv'")
        size = _out_size(out, size, dtype)
        result = self._engine.exponential(size, single, method == "inv")
        return float(result) if size is None else _deliver(result, out)

    def standard_gamma(self, shape, size=None, dtype=np.float64, out=None):
        """Draws from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array_like
            The shape, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.
        dtype : {float64, float32}
            Of the numbers.
        out : ndarray of dtype, optional
            Receives the numbers; contiguous, of the shape and the dtype that is drawn.

        Returns
        -------
        ndarray, or float

        Raises
        ------
        TypeError
            dtype is another, or out is of another.
        ValueError
            shape is negative, out has another shape than size, or is not contiguous.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.standard_gamma(2.0, size=3).round(4)
        array([1.8343, 2.6377, 1.0664])
        """
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
        """Draws integers from a range, each with the same probability.

        Parameters
        ----------
        low : int or array_like
            The least, or with high left out the end of a range that begins at 0.
        high : int or array_like, optional
            The end, which is not drawn.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.
        dtype : integer or bool dtype
            Of the integers; int64 by default.
        endpoint : bool
            Whether high is drawn as well.

        Returns
        -------
        ndarray, or int
            By Lemire's method (2019).

        Raises
        ------
        ValueError
            low is not below high, or they do not fit dtype.
        TypeError
            dtype is no integer.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.integers(10, size=5)
        array([8, 6, 5, 2, 3])
        >>> rng.integers(1, 6, size=(2, 3), endpoint=True)
        array([[1, 1, 1],
               [2, 5, 4]])
        """
        drawn = self._engine.integers(size, low, high, dtype, endpoint, False)
        if drawn is not NotImplemented:
            return drawn
        return draw_integers(self._engine, low, high, size, dtype, endpoint, False)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Draws uniform numbers from [low, high).

        Parameters
        ----------
        low, high : float or array_like
            The ends of the range.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        OverflowError
            high - low is not finite.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.uniform(-1, 1, size=3).round(4)
        array([ 0.2739, -0.4604, -0.9181])
        """
        drawn = self._engine.scaled_uniform(size, low, high)
        if drawn is not NotImplemented:
            return drawn
        return scaled_uniform(self.random, low, high, size, "high - low range exceeds valid bounds")

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Draws normal numbers.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            The standard deviation, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            scale is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.normal(10, 2, size=3).round(4)
        array([10.2515,  9.7358, 11.2808])
        """
        drawn = self._engine.scaled_normal(size, loc, scale)
        if drawn is not NotImplemented:
            return drawn
        return scaled_normal(self.standard_normal, loc, scale, size)

    def multinomial(self, n, pvals, size=None):
        """Draws how often each of several outcomes comes in independent trials.

        Parameters
        ----------
        n : int or array_like of ints
            The number of trials, 0 or more.
        pvals : array_like, shape (..., k)
            The probabilities, of sum 1; the last one is what the others leave.
        size : int or tuple of ints, optional
            The shape of the results; by default that to which n and pvals broadcast.

        Returns
        -------
        ndarray of int64, shape (*size, k)

        Raises
        ------
        ValueError
            n is negative, a probability is outside [0, 1], or their sum is above 1.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.multinomial(10, [0.2, 0.3, 0.5], size=2)
        array([[2, 2, 6],
               [0, 1, 9]])
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
        """Draws how many items of each colour a sample without replacement has.

        Parameters
        ----------
        colors : array_like of ints, shape (k,)
            How many items there are of each.
        nsample : int
            How many are drawn.
        size : int or tuple of ints, optional
            How many samples.
        method : {'marginals', 'count'}
            One hypergeometric number for each colour, or a shuffle of all items, which takes
            memory of sum(colors).

        Returns
        -------
        ndarray of int64, shape (*size, k)

        Raises
        ------
        ValueError
            A number is negative or too large, nsample is above sum(colors), or method is another text.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.multivariate_hypergeometric([5, 3, 2], 4, size=2)
        array([[3, 0, 1],
               [1, 2, 1]])
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
        """Draws normal vectors.

        Parameters
        ----------
        mean : array_like, shape (n,)
            The mean.
        cov : array_like, shape (n, n)
            The covariance, symmetric and positive semidefinite.
        size : int or tuple of ints, optional
            How many vectors.
        check_valid : {'warn', 'raise', 'ignore'}
            What happens where cov is not semidefinite: a RuntimeWarning, a ValueError, nothing.
        tol : float
            Within which that is found out.
        method : {'svd', 'eigh', 'cholesky'}
            How cov is factorised; cholesky is quickest and takes definite ones alone.

        Returns
        -------
        ndarray of float64, shape (*size, n)

        Raises
        ------
        ValueError
            The shapes do not fit, or an option is unknown.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.multivariate_normal([0, 10], [[1, 0], [0, 4]], size=2).shape
        (2, 2)
        """
        if method not in ("eigh", "svd", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        return self._multivariate(mean, cov, size, check_valid, tol, _FACTORS[method])

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Draws a sample of an array, or of the numbers below an int.

        Parameters
        ----------
        a : int or array_like
            What is drawn from.
        size : int or tuple of ints, optional
            The shape of the sample; by default one.
        replace : bool
            Whether an item may be drawn again.
        p : array_like, shape (n,), optional
            The probability of each item; by default all the same.
        axis : int
            The axis of a along which items lie.
        shuffle : bool
            Without replacement: whether the sample is in random order; False is quicker.

        Returns
        -------
        ndarray or scalar
            The items.

        Raises
        ------
        ValueError
            A sample without replacement larger than a, probabilities that do not fit, or nothing to draw.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.choice(10, size=3, replace=False)
        array([5, 9, 6])
        >>> rng.choice(np.array([1.5, 2.5]), size=4)
        array([1.5, 1.5, 1.5, 1.5])
        """
        return choose(
            self, a, size, replace, p, axis,
            whole=lambda n, count: self.integers(0, n, size=count),
            distinct=lambda n, count: distinct(self, n, count, shuffle),
        )  # fmt: skip

    def shuffle(self, x, axis=0):
        """Puts the items of an array or a list in random order, in place.

        Parameters
        ----------
        x : ndarray or mutable sequence
            Is changed.
        axis : int
            The axis along which items lie; of arrays alone.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            x has no dimension.
        NotImplementedError
            An axis for a list.

        Notes
        -----
        By Fisher and Yates.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> a = np.arange(5)
        >>> rng.shuffle(a)
        >>> a
        array([2, 4, 3, 0, 1])
        """
        reorder(self, x, axis)

    def permutation(self, x, axis=0):
        """The items of an array in random order, as a copy.

        Parameters
        ----------
        x : int or array_like
            The array; an int n means arange(n).
        axis : int
            The axis along which items lie.

        Returns
        -------
        ndarray

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.permutation(5)
        array([2, 4, 3, 0, 1])
        """
        from .. import asarray

        if isinstance(x, (int, np.integer)):
            return shuffled(self, x)
        x = asarray(x)
        axis = checked_axis(axis, x.ndim)
        return x[(slice(None),) * axis + (asarray(shuffled(self, x.shape[axis])),)]

    def permuted(self, x, *, axis=None, out=None):
        """An array whose slices along an axis are each in a random order of their own.

        Parameters
        ----------
        x : array_like
            The array.
        axis : int, optional
            The axis; by default all elements are exchanged.
        out : ndarray, optional
            Receives the result; x itself shuffles in place.

        Returns
        -------
        ndarray, of x's shape

        Raises
        ------
        ValueError
            out has another shape.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.permuted([[1, 2, 3], [4, 5, 6]], axis=1)
        array([[3, 1, 2],
               [6, 5, 4]])
        """
        from .. import asarray, copyto, empty_like, moveaxis, take_along_axis

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
            out = empty_like(x)
            if out.strides == result.strides:
                return result
        (copyto if _core._is_array(out) else np.copyto)(out, result, casting="safe")
        return out

    def spawn(self, n_children):
        """Makes generators whose streams are independent of this one's and of each other's.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of Generators

        Raises
        ------
        TypeError
            The seed sequence cannot spawn.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> len(rng.spawn(2))
        2
        """
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
    """Makes a Generator over PCG64.

    Parameters
    ----------
    seed : None, int, array_like of ints, SeedSequence, BitGenerator, Generator or RandomState
        Where the stream begins; None: somewhere else each time. A BitGenerator (or a RandomState's) is
        drawn from itself; a Generator is returned as it is.

    Returns
    -------
    Generator

    Raises
    ------
    ValueError
        A negative int.
    TypeError
        A seed of another type.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.default_rng(42).random(2).round(4)
    array([0.774 , 0.4389])
    >>> np.random.default_rng(42).random(2).round(4)
    array([0.774 , 0.4389])
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if isinstance(seed, RandomStateLike):
        return Generator(seed._bit_generator)
    return Generator(PCG64(seed))


class RandomStateLike:
    """The base of RandomState, so that default_rng can take one without importing it."""
