"""The distributions over real numbers that Generator and RandomState have in common.

Every parameter may be an array; they broadcast with each other and with `size`. Without `size`, numbers
as parameters give a number. Parameters out of their range raise ValueError.
"""

from ._parameters import any_of, operand


class Continuous:
    """Draws by `self._variate`, which takes the lock and knows whose algorithms are meant."""

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
        a, b, c = map(operand, (left, mode, right))
        if any_of(a > b):
            raise ValueError("left > mode")
        if any_of(b > c):
            raise ValueError("mode > right")
        if any_of(a == c):
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
