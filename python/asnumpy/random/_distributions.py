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
        """Its bit generator's: numpy.random.default_rng(rng) draws from the same stream."""
        return self._bit_generator.capsule

    @property
    def lock(self):
        """What whoever draws through the capsule takes."""
        return self._lock

    def _normals(self, size):
        """Normal floats of mean 0 and deviation 1, as the class makes them."""
        raise NotImplementedError

    def beta(self, a, b, size=None):
        """Beta distribution over [0, 1] with shapes a > 0 and b > 0."""
        return self._variate("beta", size, a, b)

    def binomial(self, n, p, size=None):
        """Successes in n >= 0 trials that each succeed with probability p; int64."""
        return self._variate("binomial", size, n, p)

    def chisquare(self, df, size=None):
        """Sum of the squares of df > 0 standard normal variates."""
        return self._variate("chisquare", size, df)

    def exponential(self, scale=1.0, size=None):
        """Exponential distribution of mean scale >= 0."""
        return self._variate("exponential", size, scale)

    def f(self, dfnum, dfden, size=None):
        """F distribution with dfnum > 0 and dfden > 0 degrees of freedom."""
        return self._variate("f", size, dfnum, dfden)

    def gamma(self, shape, scale=1.0, size=None):
        """Gamma distribution of shape >= 0 and scale >= 0."""
        return self._variate("gamma", size, shape, scale)

    def geometric(self, p, size=None):
        """Trials up to the first success of probability 0 < p <= 1; int64 >= 1."""
        return self._variate("geometric", size, p)

    def gumbel(self, loc=0.0, scale=1.0, size=None):
        """Gumbel distribution (extreme values) at loc with scale >= 0."""
        return self._variate("gumbel", size, loc, scale)

    def hypergeometric(self, ngood, nbad, nsample, size=None):
        """Good items among nsample drawn without replacement from ngood and nbad; int64."""
        good, bad, sample = map(_whole, (ngood, nbad, nsample))
        if not self._legacy and (_any(good >= 10**9) or _any(bad >= 10**9)):
            raise ValueError("both ngood and nbad must be less than 1000000000")
        if _any(good + bad < sample):
            raise ValueError("ngood + nbad < nsample")
        return self._variate("hypergeometric", size, ngood, nbad, nsample)

    def laplace(self, loc=0.0, scale=1.0, size=None):
        """Laplace (double exponential) distribution at loc with scale >= 0."""
        return self._variate("laplace", size, loc, scale)

    def logistic(self, loc=0.0, scale=1.0, size=None):
        """Logistic distribution at loc with scale >= 0."""
        return self._variate("logistic", size, loc, scale)

    def lognormal(self, mean=0.0, sigma=1.0, size=None):
        """exp of a normal variate of that mean and deviation sigma >= 0."""
        return self._variate("lognormal", size, mean, sigma)

    def logseries(self, p, size=None):
        """Logarithmic series distribution, 0 <= p < 1; int64 >= 1."""
        return self._variate("logseries", size, p)

    def negative_binomial(self, n, p, size=None):
        """Failures before the n-th success (n > 0) of probability 0 < p <= 1; int64."""
        trials, chance = _operand(n), _operand(p)
        if not (self._legacy or _any(chance <= 0) or _any(trials <= 0)):
            rate = (1 - chance) / chance * (trials + 10 * trials**0.5)
            if _any(rate > _RATE_MAX):
                raise ValueError(
                    "n too large or p too small, see Generator.negative_binomial Notes"
                )
        return self._variate("negative_binomial", size, n, p)

    def noncentral_chisquare(self, df, nonc, size=None):
        """Chi-square with df > 0 degrees of freedom and non-centrality nonc >= 0."""
        return self._variate("noncentral_chisquare", size, df, nonc)

    def noncentral_f(self, dfnum, dfden, nonc, size=None):
        """F distribution whose numerator has non-centrality nonc >= 0."""
        return self._variate("noncentral_f", size, dfnum, dfden, nonc)

    def pareto(self, a, size=None):
        """Pareto II (Lomax) distribution of shape a > 0."""
        return self._variate("pareto", size, a)

    def poisson(self, lam=1.0, size=None):
        """Events in an interval where lam >= 0 are expected; int64."""
        return self._variate("poisson", size, lam)

    def power(self, a, size=None):
        """Density a x^(a-1) over [0, 1], a > 0."""
        return self._variate("power", size, a)

    def rayleigh(self, scale=1.0, size=None):
        """Rayleigh distribution of scale >= 0."""
        return self._variate("rayleigh", size, scale)

    def standard_cauchy(self, size=None):
        """Cauchy distribution at 0 with scale 1."""
        return self._variate("standard_cauchy", size)

    def standard_t(self, df, size=None):
        """Student's t with df > 0 degrees of freedom."""
        return self._variate("standard_t", size, df)

    def triangular(self, left, mode, right, size=None):
        """Triangular density over [left, right] with its peak at mode."""
        a, b, c = map(_operand, (left, mode, right))
        if _any(a > b):
            raise ValueError("left > mode")
        if _any(b > c):
            raise ValueError("mode > right")
        if _any(a == c):
            raise ValueError("left == right")
        return self._variate("triangular", size, left, mode, right)

    def vonmises(self, mu, kappa, size=None):
        """Angles in [-pi, pi] around mu with concentration kappa >= 0."""
        return self._variate("vonmises", size, mu, kappa)

    def wald(self, mean, scale, size=None):
        """Wald (inverse Gaussian) distribution of mean > 0 and scale > 0."""
        return self._variate("wald", size, mean, scale)

    def weibull(self, a, size=None):
        """Weibull distribution of shape a >= 0 and scale 1."""
        return self._variate("weibull", size, a)

    def zipf(self, a, size=None):
        """Zipf distribution with exponent a > 1; int64 >= 1."""
        return self._variate("zipf", size, a)

    def dirichlet(self, alpha, size=None):
        """Points of a simplex: len(alpha) positive numbers of sum 1, one row for each of `size`."""
        alpha = np.ascontiguousarray(alpha, dtype=np.float64)
        if alpha.ndim != 1:
            raise ValueError(f"alpha must be one-dimensional, got {alpha.ndim} dimensions")
        if np.any(alpha <= 0 if self._legacy else alpha < 0):
            raise ValueError("alpha <= 0" if self._legacy else "alpha < 0")
        shape = (*rows_of(size), alpha.size)
        return self._engine.dirichlet(shape, alpha, self._legacy)

    def bytes(self, length):
        """`length` random bytes."""
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
