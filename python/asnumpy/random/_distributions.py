"""What Generator and RandomState have in common: the named distributions, with their own algorithms each,
the stream that they draw from, and vectors that are drawn as a whole.
"""

import warnings

import numpy as np

from ._continuous import Continuous
from ._discrete import RATE_MAX, Discrete
from ._parameters import rows_of


class Distributions(Continuous, Discrete):
    """Draws named distributions by `self._variate`, which takes `self._lock`; `_legacy`: RandomState's algorithms."""

    _legacy = False
    _poisson_lam_max = RATE_MAX

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
