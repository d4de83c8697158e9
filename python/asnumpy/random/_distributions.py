"""The distributions that Generator and RandomState have in common, with their own algorithms each.

Every parameter may be an array; they broadcast with each other and with `size`. Without `size`, numbers
as parameters give a number. Parameters out of their range raise ValueError.
"""

import operator
import warnings

import numpy as np

_RATE_MAX = 2.0**63 - 2.0**31.5 * 10  # above it a Poisson variate may not fit int64


class Distributions:
    """Draws named distributions by `self._variate`, which takes `self._lock`; `_legacy`: RandomState's algorithms."""

    _legacy = False
    _poisson_lam_max = _RATE_MAX

    def _use(self, bit_generator):
        """Draws from that bit generator from now on."""
        self._bit_generator = bit_generator
        self._engine = engine = bit_generator._engine
        self._lock = bit_generator.lock
        engine.guard(self._lock)
        self._variate = engine.legacy_variate if self._legacy else engine.variate

    @property
    def capsule(self):
        """NumPy's handle on the stream: numpy.random.default_rng(rng) draws from the same one."""
        return self._bit_generator.capsule

    @property
    def lock(self):
        """The lock that whoever draws through the capsule holds meanwhile."""
        return self._lock

    def _normals(self, size):
        """Normal floats of mean 0 and deviation 1, as the class makes them."""
        raise NotImplementedError

    def beta(self, a, b, size=None):
        """Draws from the beta distribution over [0, 1].

        Parameters
        ----------
        a, b : float or array_like
            The two shapes, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            A shape is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.beta(2, 3, size=3).round(4)
        array([0.3224, 0.1646, 0.34  ])
        """
        return self._variate("beta", size, a, b)

    def binomial(self, n, p, size=None):
        """Draws the number of successes in independent trials.

        Parameters
        ----------
        n : int or array_like
            The number of trials, 0 or more.
        p : float or array_like
            The probability of each one's success.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int

        Raises
        ------
        ValueError
            n is negative, or p is outside [0, 1].

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.binomial(10, 0.5, size=5)
        array([6, 4, 2, 2, 6])
        """
        return self._variate("binomial", size, n, p)

    def chisquare(self, df, size=None):
        """Draws from the chi-square distribution: sums of squares of standard normal numbers.

        Parameters
        ----------
        df : float or array_like
            How many squares, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            df is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.chisquare(3, size=3).round(4)
        array([2.6156, 4.0082, 1.3569])
        """
        return self._variate("chisquare", size, df)

    def exponential(self, scale=1.0, size=None):
        """Draws from the exponential distribution: waiting times between independent events.

        Parameters
        ----------
        scale : float or array_like
            The mean, 0 or more.
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
        >>> rng.exponential(2.0, size=3).round(4)
        array([1.3599, 2.0392, 0.0396])
        """
        return self._variate("exponential", size, scale)

    def f(self, dfnum, dfden, size=None):
        """Draws from the F distribution: quotients of two chi-square numbers over their degrees.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            The degrees of freedom above and below, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            A number of degrees is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.f(3, 8, size=3).round(4)
        array([0.6927, 0.2671, 0.5745])
        """
        return self._variate("f", size, dfnum, dfden)

    def gamma(self, shape, scale=1.0, size=None):
        """Draws from the gamma distribution, of mean shape * scale.

        Parameters
        ----------
        shape : float or array_like
            The shape, 0 or more.
        scale : float or array_like
            The scale, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            shape or scale is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.gamma(2, 3, size=3).round(4)
        array([5.5029, 7.9131, 3.1991])
        """
        return self._variate("gamma", size, shape, scale)

    def geometric(self, p, size=None):
        """Draws the number of trials up to the first success.

        Parameters
        ----------
        p : float or array_like
            The probability of success, in (0, 1].
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int
            1 or more.

        Raises
        ------
        ValueError
            p is outside (0, 1].

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.geometric(0.3, size=5)
        array([2, 3, 1, 1, 2])
        """
        return self._variate("geometric", size, p)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        """Draws from the Gumbel distribution, of largest values.

        Parameters
        ----------
        loc : float or array_like
            The mode.
        scale : float or array_like
            The scale, 0 or more.
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
        >>> rng.gumbel(size=3).round(4)
        array([-0.0132,  1.157 ,  3.174 ])
        """
        return self._variate("gumbel", size, loc, scale)

    def hypergeometric(self, ngood, nbad, nsample, size=None):
        """Draws the number of good items in a sample without replacement.

        Parameters
        ----------
        ngood, nbad : int or array_like
            How many good and bad items there are; for a Generator below 10**9.
        nsample : int or array_like
            How many are drawn.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int

        Raises
        ------
        ValueError
            A number is negative, or nsample is greater than ngood + nbad.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.hypergeometric(5, 10, 6, size=5)
        array([1, 1, 2, 0, 3])
        """
        good, bad, sample = map(_whole, (ngood, nbad, nsample))
        if not self._legacy and (_any(good >= 10**9) or _any(bad >= 10**9)):
            raise ValueError("both ngood and nbad must be less than 1000000000")
        if _any(good + bad < sample):
            raise ValueError("ngood + nbad < nsample")
        return self._variate("hypergeometric", size, ngood, nbad, nsample)

    def laplace(self, loc=0.0, scale=1.0, size=None):
        """Draws from the Laplace distribution, exponential to both sides.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            The scale, 0 or more.
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
        >>> rng.laplace(size=3).round(4)
        array([ 0.3201, -0.617 , -2.5017])
        """
        return self._variate("laplace", size, loc, scale)

    def logistic(self, loc=0.0, scale=1.0, size=None):
        """Draws from the logistic distribution.

        Parameters
        ----------
        loc : float or array_like
            The mean.
        scale : float or array_like
            The scale, 0 or more.
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
        >>> rng.logistic(size=3).round(4)
        array([ 0.5622, -0.9957, -3.153 ])
        """
        return self._variate("logistic", size, loc, scale)

    def lognormal(self, mean=0.0, sigma=1.0, size=None):
        """Draws numbers whose logarithm is normal.

        Parameters
        ----------
        mean : float or array_like
            The mean of the logarithm.
        sigma : float or array_like
            The standard deviation of the logarithm, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            sigma is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.lognormal(size=3).round(4)
        array([1.134 , 0.8762, 1.8973])
        """
        return self._variate("lognormal", size, mean, sigma)

    def logseries(self, p, size=None):
        """Draws from the logarithmic series distribution.

        Parameters
        ----------
        p : float or array_like
            The shape, in [0, 1).
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int
            1 or more.

        Raises
        ------
        ValueError
            p is outside [0, 1).

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.logseries(0.6, size=5)
        array([1, 1, 7, 1, 1])
        """
        return self._variate("logseries", size, p)

    def negative_binomial(self, n, p, size=None):
        """Draws the number of failures before the n-th success.

        Parameters
        ----------
        n : float or array_like
            The number of successes, greater than 0; need not be whole.
        p : float or array_like
            The probability of success, in (0, 1].
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int

        Raises
        ------
        ValueError
            n is not greater than 0, or p is outside (0, 1].

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.negative_binomial(3, 0.5, size=5)
        array([0, 6, 1, 1, 6])
        """
        trials, chance = _operand(n), _operand(p)
        if not (self._legacy or _any(chance <= 0) or _any(trials <= 0)):
            rate = (1 - chance) / chance * (trials + 10 * trials**0.5)
            if _any(rate > _RATE_MAX):
                raise ValueError(
                    "n too large or p too small, see Generator.negative_binomial Notes"
                )
        return self._variate("negative_binomial", size, n, p)

    def noncentral_chisquare(self, df, nonc, size=None):
        """Draws from the noncentral chi-square distribution.

        Parameters
        ----------
        df : float or array_like
            The degrees of freedom, greater than 0.
        nonc : float or array_like
            The sum of the squared means, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            df is not greater than 0, or nonc is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.noncentral_chisquare(3, 2, size=3).round(4)
        array([3.0037, 2.3473, 4.2542])
        """
        return self._variate("noncentral_chisquare", size, df, nonc)

    def noncentral_f(self, dfnum, dfden, nonc, size=None):
        """Draws from the noncentral F distribution.

        Parameters
        ----------
        dfnum, dfden : float or array_like
            The degrees of freedom above and below, greater than 0.
        nonc : float or array_like
            The sum of the squared means above, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            A number of degrees is not greater than 0, or nonc is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.noncentral_f(3, 8, 2, size=3).round(4)
        array([0.7954, 0.8374, 2.9026])
        """
        return self._variate("noncentral_f", size, dfnum, dfden, nonc)

    def pareto(self, a, size=None):
        """Draws from the Pareto II (Lomax) distribution, which begins at 0.

        Parameters
        ----------
        a : float or array_like
            The shape, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float
            Add 1 for the classical distribution.

        Raises
        ------
        ValueError
            a is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.pareto(3, size=3).round(4)
        array([0.2544, 0.4048, 0.0066])
        """
        return self._variate("pareto", size, a)

    def poisson(self, lam=1.0, size=None):
        """Draws the number of events in an interval.

        Parameters
        ----------
        lam : float or array_like
            How many are expected, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int

        Raises
        ------
        ValueError
            lam is negative or too large for int64.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.poisson(4, size=5)
        array([2, 0, 7, 3, 4])
        """
        return self._variate("poisson", size, lam)

    def power(self, a, size=None):
        """Draws from the density a x^(a - 1) over [0, 1].

        Parameters
        ----------
        a : float or array_like
            The shape, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            a is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.power(3, size=3).round(4)
        array([0.7902, 0.8614, 0.2697])
        """
        return self._variate("power", size, a)

    def rayleigh(self, scale=1.0, size=None):
        """Draws from the Rayleigh distribution: lengths of vectors of two normal numbers.

        Parameters
        ----------
        scale : float or array_like
            The mode, 0 or more.
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
        >>> rng.rayleigh(2.0, size=3).round(4)
        array([2.3323, 2.856 , 0.3981])
        """
        return self._variate("rayleigh", size, scale)

    def standard_cauchy(self, size=None):
        """Draws from the Cauchy distribution around 0 with scale 1.

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
        >>> rng = np.random.default_rng(0)
        >>> rng.standard_cauchy(size=3).round(4)
        array([-0.9517,  6.1051, -1.4814])
        """
        return self._variate("standard_cauchy", size)

    def standard_t(self, df, size=None):
        """Draws from Student's t distribution.

        Parameters
        ----------
        df : float or array_like
            The degrees of freedom, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            df is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.standard_t(5, size=3).round(4)
        array([0.1414, 0.1368, 1.0466])
        """
        return self._variate("standard_t", size, df)

    def triangular(self, left, mode, right, size=None):
        """Draws from the triangular distribution.

        Parameters
        ----------
        left, mode, right : float or array_like
            Where the triangle begins, has its peak and ends.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            They do not ascend, or left equals right.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.triangular(0, 1, 4, size=3).round(4)
        array([1.9128, 1.0398, 0.4048])
        """
        a, b, c = map(_operand, (left, mode, right))
        if _any(a > b):
            raise ValueError("left > mode")
        if _any(b > c):
            raise ValueError("mode > right")
        if _any(a == c):
            raise ValueError("left == right")
        return self._variate("triangular", size, left, mode, right)

    def vonmises(self, mu, kappa, size=None):
        """Draws angles from the von Mises distribution, the circle's normal one.

        Parameters
        ----------
        mu : float or array_like
            The mode, in radians.
        kappa : float or array_like
            The concentration, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float
            In [-pi, pi].

        Raises
        ------
        ValueError
            kappa is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.vonmises(0.0, 4.0, size=3).round(4)
        array([-0.7421,  0.013 ,  0.6752])
        """
        return self._variate("vonmises", size, mu, kappa)

    def wald(self, mean, scale, size=None):
        """Draws from the Wald (inverse Gaussian) distribution.

        Parameters
        ----------
        mean : float or array_like
            The mean, greater than 0.
        scale : float or array_like
            The scale, greater than 0.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            mean or scale is not greater than 0.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.wald(2, 3, size=3).round(4)
        array([1.805 , 1.1925, 3.0867])
        """
        return self._variate("wald", size, mean, scale)

    def weibull(self, a, size=None):
        """Draws from the Weibull distribution of scale 1.

        Parameters
        ----------
        a : float or array_like
            The shape, 0 or more.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or float

        Raises
        ------
        ValueError
            a is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.weibull(2, size=3).round(4)
        array([0.8246, 1.0098, 0.1407])
        """
        return self._variate("weibull", size, a)

    def zipf(self, a, size=None):
        """Draws from the zeta distribution: probabilities proportional to k^-a.

        Parameters
        ----------
        a : float or array_like
            The exponent, greater than 1.
        size : int or tuple of ints, optional
            The shape of what is drawn; by default that to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or int
            1 or more.

        Raises
        ------
        ValueError
            a is not greater than 1.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.zipf(3.0, size=5)
        array([1, 1, 1, 1, 2])
        """
        return self._variate("zipf", size, a)

    def dirichlet(self, alpha, size=None):
        """Draws points of a simplex: positive numbers of sum 1.

        Parameters
        ----------
        alpha : array_like, shape (k,)
            The shapes, not negative (of RandomState greater than 0).
        size : int or tuple of ints, optional
            How many points.

        Returns
        -------
        ndarray of float64, shape (*size, k)

        Raises
        ------
        ValueError
            alpha has not one dimension, or a shape is out of its range.

        Examples
        --------
        >>> import asnumpy as np
        >>> rng = np.random.default_rng(0)
        >>> rng.dirichlet([1, 2, 3], size=2).round(4)
        array([[0.1354, 0.299 , 0.5657],
               [0.2237, 0.5464, 0.2299]])
        """
        alpha = np.ascontiguousarray(alpha, dtype=np.float64)
        if alpha.ndim != 1:
            raise ValueError(f"alpha must be one-dimensional, got {alpha.ndim} dimensions")
        if np.any(alpha <= 0 if self._legacy else alpha < 0):
            raise ValueError("alpha <= 0" if self._legacy else "alpha < 0")
        shape = (*rows_of(size), alpha.size)
        return self._engine.dirichlet(shape, alpha, self._legacy)

    def bytes(self, length):
        r"""Draws random bytes.

        Parameters
        ----------
        length : int
            How many.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import asnumpy as np
        >>> np.random.default_rng(0).bytes(4)
        b'_\x82\xc2\xd9'
        """
        from .. import uint32

        count = max((length + 3) // 4, 1)  # no byte costs a word too, as in NumPy
        words = self._engine.bounded(count, uint32, 0, 0xFFFFFFFF, self._legacy)
        return np.asarray(words).astype("<u4").tobytes()[:length]

    def _multivariate(self, mean, cov, size, check_valid, tol, factor):
        """mean + normals @ factor(cov); factor gives the matrix and whether cov was semidefinite."""
        from .. import asarray, dot

        mean, cov = asarray(mean), asarray(cov)
        if not self._legacy and "c" in mean.dtype.kind + cov.dtype.kind:
            raise TypeError("mean and cov must not be complex")
        if mean.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.shape[0] != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        shape = (*rows_of(size), mean.shape[0])
        x = self._normals(shape).reshape(-1, mean.shape[0])
        transform, valid = factor(cov.astype(np.double), tol)
        if check_valid != "ignore" and not valid():
            message = "covariance is not symmetric positive-semidefinite."
            if check_valid == "raise":
                raise ValueError(message)
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        return (mean + dot(x, transform)).reshape(shape)


def sum_message(dtype):
    """What to say of probabilities of that dtype whose sum is above 1."""
    if dtype.kind != "f" or dtype == np.float64:
        return "sum(pvals[:-1]) > 1.0"
    return (
        "sum(pvals[:-1].astype(np.float64)) > 1.0. The pvals array is cast to 64-bit floating point before "
        "its sum is checked, which may change it."
    )


def _operand(parameter):
    """A parameter to compare: Python's numbers as they are, all else as an array."""
    return parameter if parameter.__class__ in (float, int) else np.asarray(parameter)


def _any(found):
    """np.any, which a bool need not go through."""
    return found if found.__class__ is bool else np.any(found)


def _whole(parameter):
    """A parameter of whole numbers as an array; a single one by its own __int__."""
    if parameter.__class__ is int:
        return parameter
    array = np.asarray(parameter)
    return array if array.ndim or array.dtype.kind == "f" else np.asarray(int(parameter))


def rows_of(size):
    """`size` as a tuple; None is ()."""
    if size is None:
        return ()
    if size.__class__ is int:
        return (size,)
    extents = np.atleast_1d(size).tolist() if np.ndim(size) else (size,)
    return tuple(map(operator.index, extents))
