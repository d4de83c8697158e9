"""RandomState: NumPy's older interface, over MT19937 with its frozen algorithms."""

import math
import warnings

import numpy as np

from .._core import _NUMPY_2_5, _is_tracing
from ._bit_generators import MT19937, BitGenerator
from ._bounded import draw_integers
from ._distributions import Distributions, sum_message
from ._generator import RandomStateLike
from ._ordering import choose, reorder, shuffled
from ._parameters import rows_of
from ._scaled import scaled_normal, scaled_uniform


class RandomState(RandomStateLike, Distributions):
    """NumPy's older interface to random numbers, with its frozen streams; new programs take default_rng.

    Parameters
    ----------
    seed : None, int, array_like of ints, or BitGenerator
        Of the Mersenne Twister, 32-bit numbers; None: from the system. A BitGenerator is drawn from.

    Raises
    ------
    ValueError
        A number outside 32 bits, or a class in the place of a BitGenerator.

    Notes
    -----
    The functions of the module (np.random.rand, ...) are the methods of one RandomState.

    Examples
    --------
    >>> import asnumpy as np
    >>> rs = np.random.RandomState(0)
    >>> rs.rand(3).round(4)
    array([0.5488, 0.7152, 0.6028])
    """

    _legacy = True

    def __init__(self, seed=None):
        if isinstance(seed, type):
            raise ValueError(
                f"the bit generator must be an instance, got the class {seed.__name__}"
            )
        if isinstance(seed, BitGenerator):
            made = seed
        else:
            made = MT19937(0 if _is_tracing() and seed is not None else None)
            made._legacy_seeding(seed)
        self._use(made)

    @property
    def __class__(self):
        """NumPy's class, so that a library's isinstance(rng, numpy.random.RandomState) is true."""
        return np.random.RandomState

    def seed(self, seed=None):
        """Starts the stream over.

        Parameters
        ----------
        seed : None, int or array_like of ints
            32-bit numbers; None: from the system.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            The bit generator is no MT19937.
        ValueError
            A number outside 32 bits.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.seed(1)
        >>> rs.rand(2).round(4)
        array([0.417 , 0.7203])
        """
        with self._lock:
            if not isinstance(self._bit_generator, MT19937):
                raise TypeError("can only re-seed a MT19937 BitGenerator")
            self._bit_generator._legacy_seeding(seed)

    def get_state(self, legacy=True):
        """The state of the stream, for set_state.

        Parameters
        ----------
        legacy : bool
            A tuple in place of a dict; of MT19937 alone.

        Returns
        -------
        tuple ('MT19937', key, pos, has_gauss, cached_gaussian), or dict

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.get_state()[0]
        'MT19937'
        """
        state = self._bit_generator.state
        has_gauss, gauss = self._engine.get_gauss()
        state.update(has_gauss=has_gauss, gauss=gauss)
        if not legacy:
            return state
        if state["bit_generator"] != "MT19937":
            warnings.warn(
                "get_state and legacy can only be used with the MT19937 BitGenerator. "
                "To silence this warning, set `legacy` to False.",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            return state
        inner = state["state"]
        return "MT19937", inner["key"], inner["pos"], has_gauss, gauss

    def set_state(self, state):
        """Goes on from a state that get_state gave.

        Parameters
        ----------
        state : tuple or dict
            The state.

        Returns
        -------
        None

        Raises
        ------
        ValueError
            The state of another bit generator.
        TypeError
            Neither tuple nor dict.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> before = rs.get_state()
        >>> first = rs.rand()
        >>> rs.set_state(before)
        >>> rs.rand() == first
        True
        """
        if not isinstance(state, (dict, tuple, list)):
            raise TypeError("state must be a dict or a tuple.")
        if not isinstance(state, dict):
            if state[0] != "MT19937" or len(state) not in (3, 5):
                raise ValueError("set_state can only be used with legacy MT19937 state instances.")
            name, key, pos, has_gauss, gauss = (*state, 0, 0.0)[:5]
            state = {"bit_generator": name, "state": {"key": key, "pos": pos},
                     "has_gauss": has_gauss, "gauss": gauss}  # fmt: skip
        with self._lock:
            self._bit_generator.state = state
            self._engine.set_gauss(int(state.get("has_gauss", 0)), float(state.get("gauss", 0.0)))

    def random_sample(self, size=None):
        """Draws uniform numbers from [0, 1).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.random_sample(3).round(4)
        array([0.5488, 0.7152, 0.6028])
        """
        return self._engine.uniform(size)

    def random(self, size=None):
        """Draws uniform numbers from [0, 1); another name of random_sample.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.random(3).round(4)
        array([0.5488, 0.7152, 0.6028])
        """
        return self._engine.uniform(size)

    def rand(self, *args):
        """Draws uniform numbers from [0, 1), the shape given as separate numbers.

        Parameters
        ----------
        *args : int
            The shape; none: one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.rand(2, 2).round(4)
        array([[0.5488, 0.7152],
               [0.6028, 0.5449]])
        """
        return self._engine.uniform(args or None)

    def standard_normal(self, size=None):
        """Draws normal numbers of mean 0 and standard deviation 1, by the polar method.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.standard_normal(3).round(4)
        array([1.7641, 0.4002, 0.9787])
        """
        return self._engine.gauss(size)

    def randn(self, *args):
        """Draws standard normal numbers, the shape given as separate numbers.

        Parameters
        ----------
        *args : int
            The shape; none: one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.randn(2, 2).round(4)
        array([[1.7641, 0.4002],
               [0.9787, 2.2409]])
        """
        return self._engine.gauss(args or None)

    def randint(self, low, high=None, size=None, dtype=int):
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

        Returns
        -------
        ndarray, or int

        Raises
        ------
        ValueError
            low is not below high, or they do not fit dtype.
        TypeError
            dtype is no integer.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.randint(10, size=5)
        array([5, 0, 3, 3, 7])
        """
        drawn = self._engine.integers(size, low, high, dtype, False, True)
        if drawn is not NotImplemented:
            return drawn
        return draw_integers(self._engine, low, high, size, dtype, False, True)

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
        >>> rs = np.random.RandomState(0)
        >>> rs.uniform(-1, 1, size=3).round(4)
        array([0.0976, 0.4304, 0.2055])
        """
        drawn = self._engine.legacy_uniform(size, low, high)
        if drawn is not NotImplemented:
            return drawn
        return scaled_uniform(
            self.random_sample, low, high, size, "Range exceeds valid bounds", True
        )

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
        >>> rs = np.random.RandomState(0)
        >>> rs.normal(10, 2, size=3).round(4)
        array([13.5281, 10.8003, 11.9575])
        """
        drawn = self._engine.scaled_gauss(size, loc, scale)
        if drawn is not NotImplemented:
            return drawn
        return scaled_normal(self.standard_normal, loc, scale, size)

    def _normals(self, size):
        return self.standard_normal(size)

    def standard_exponential(self, size=None):
        """Draws exponential numbers of mean 1, as -log(1 - u).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of float64, or float

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.standard_exponential(3).round(4)
        array([0.7959, 1.2559, 0.9232])
        """
        return self._variate("standard_exponential", size)

    def standard_gamma(self, shape, size=None):
        """Draws from the gamma distribution of scale 1.

        Parameters
        ----------
        shape : float or array_like
            The shape, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            shape is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.standard_gamma(2.0, size=3).round(4)
        array([5.1388, 2.2385, 5.4271])
        """
        return self._variate("standard_gamma", size, shape)

    def multinomial(self, n, pvals, size=None):
        """Draws how often each of several outcomes comes in independent trials.

        Parameters
        ----------
        n : int
            The number of trials, 0 or more.
        pvals : array_like, shape (k,)
            The probabilities, of sum 1; the last one is what the others leave.
        size : int or tuple of ints, optional
            How many results.

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
        >>> rs = np.random.RandomState(0)
        >>> rs.multinomial(10, [0.2, 0.3, 0.5], size=2)
        array([[2, 4, 4],
               [2, 3, 5]])
        """
        given = np.asarray(pvals)
        p = np.asarray(given, dtype=np.float64, order="C")
        if p.ndim != 1:
            kind = ValueError if p.ndim else TypeError
            raise kind(f"pvals must be a 1-d sequence, got shape {p.shape}")
        if n < 0:
            raise ValueError("n < 0")
        if np.any((p < 0) | (p > 1) | np.isnan(p)):
            raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
        if math.fsum(p[:-1]) > 1.0 + 1e-12:
            raise ValueError(sum_message(given.dtype))
        rows = rows_of(size)
        trials = np.full(rows, n, np.int64)
        # NumPy before 2.5 draws Generator's binomials here.
        return self._engine.multinomial((*rows, p.size), trials, p, _NUMPY_2_5)

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8):
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
        >>> rs = np.random.RandomState(0)
        >>> rs.multivariate_normal([0, 10], [[1, 0], [0, 4]], size=2).shape
        (2, 2)
        """
        return self._multivariate(mean, cov, size, check_valid, tol, _svd)

    def tomaxint(self, size=None):
        """Draws integers from [0, 2**63).

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of int64, or int

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.tomaxint(2).dtype
        dtype('int64')
        """
        words = self.randint(0, 2**64, size=size, dtype=np.uint64)
        return int(words) >> 1 if size is None else (words >> np.uint64(1)).astype(np.int64)

    def random_integers(self, low, high=None, size=None):
        """Draws integers from a range with both ends; deprecated: use randint.

        Parameters
        ----------
        low : int
            The least, or with high left out the end of a range that begins at 1.
        high : int, optional
            The largest.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.

        Returns
        -------
        ndarray of int64, or int

        Examples
        --------
        >>> import asnumpy as np
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     np.random.RandomState(0).random_integers(6, size=5)
        array([5, 6, 1, 4, 4])
        """
        low, high = (1, low) if high is None else (low, high)
        warnings.warn(
            "This function is deprecated. Please call randint("
            f"{low}, {high} + 1) instead", DeprecationWarning, stacklevel=2,
        )  # fmt: skip
        return self.randint(low, int(high) + 1, size=size, dtype=int)

    def shuffle(self, x):
        """Puts the items of an array or a list in random order, in place, along the first axis.

        Parameters
        ----------
        x : ndarray or mutable sequence
            Is changed.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            x has no dimension.

        Notes
        -----
        By Fisher and Yates.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> a = np.arange(5)
        >>> rs.shuffle(a)
        >>> a
        array([2, 0, 1, 3, 4])
        """
        reorder(self, x)

    def permutation(self, x):
        """The items of an array along its first axis in random order, as a copy.

        Parameters
        ----------
        x : int or array_like
            The array; an int n means arange(n).

        Returns
        -------
        ndarray

        Raises
        ------
        IndexError
            x has no dimension and is no integer.

        Examples
        --------
        >>> import asnumpy as np
        >>> rs = np.random.RandomState(0)
        >>> rs.permutation(5)
        array([2, 0, 1, 3, 4])
        """
        from .. import asarray

        if isinstance(x, (int, np.integer)):
            return shuffled(self, x)
        made = asarray(x).copy()  # what an __array__ gives may be x's own memory
        if made.ndim == 0:
            raise IndexError("x must be an integer or at least 1-dimensional")
        self.shuffle(made)
        return made

    def choice(self, a, size=None, replace=True, p=None):
        """Draws a sample of a vector, or of the numbers below an int.

        Parameters
        ----------
        a : int or array_like, shape (n,)
            What is drawn from.
        size : int or tuple of ints, optional
            The shape of the sample; by default one.
        replace : bool
            Whether an item may be drawn again.
        p : array_like, shape (n,), optional
            The probability of each item; by default all the same.

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
        >>> rs = np.random.RandomState(0)
        >>> rs.choice(10, size=3, replace=False)
        array([2, 8, 4])
        """
        return choose(
            self, a, size, replace, p, 0,
            whole=lambda n, count: self.randint(0, n, size=count),
            distinct=lambda n, count: self.permutation(n)[:count],
        )  # fmt: skip

    def __repr__(self, /):
        return f"{self} at 0x{id(self):X}"

    def __str__(self, /):
        return f"RandomState({type(self._bit_generator).__name__})"

    def __getstate__(self):
        return self.get_state(legacy=False)

    def __setstate__(self, state):
        self.set_state(state)

    def __reduce__(self):
        return type(self), (self._bit_generator,), self.get_state(legacy=False)


def _svd(cov, tol):
    from .. import allclose, dot, linalg, sqrt

    _, s, vh = linalg.svd(cov)
    return sqrt(s)[:, None] * vh, lambda: allclose(dot(vh.T * s, vh), cov, rtol=tol, atol=tol)
