"""The distributions over whole numbers that Generator and RandomState have in common.

Every parameter may be an array; they broadcast with each other and with `size`. Without `size`, numbers
as parameters give a number. Parameters out of their range raise ValueError.
"""

from ._parameters import any_of, operand, whole

RATE_MAX = 2.0**63 - 2.0**31.5 * 10  # above it a Poisson variate may not fit int64


class Discrete:
    """Draws by `self._variate`, which takes the lock; `self._legacy`: by RandomState's algorithms."""

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
        good, bad, sample = map(whole, (ngood, nbad, nsample))
        if not self._legacy and (any_of(good >= 10**9) or any_of(bad >= 10**9)):
            raise ValueError("both ngood and nbad must be less than 1000000000")
        if any_of(good + bad < sample):
            raise ValueError("ngood + nbad < nsample")
        return self._variate("hypergeometric", size, ngood, nbad, nsample)

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
        trials, chance = operand(n), operand(p)
        if not (self._legacy or any_of(chance <= 0) or any_of(trials <= 0)):
            rate = (1 - chance) / chance * (trials + 10 * trials**0.5)
            if any_of(rate > RATE_MAX):
                raise ValueError(
                    "n too large or p too small, see Generator.negative_binomial Notes"
                )
        return self._variate("negative_binomial", size, n, p)

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
