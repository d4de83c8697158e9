"""RandomState: NumPy's older interface, over MT19937 with its frozen algorithms."""

import math
import warnings

import numpy as np

from .._core import _NUMPY_2_5, _is_tracing
from ._bit_generators import MT19937, BitGenerator
from ._bounded import draw_integers
from ._distributions import Distributions, rows_of, sum_message
from ._generator import RandomStateLike
from ._ordering import choose, reorder, shuffled
from ._scaled import scaled_normal, scaled_uniform


class RandomState(RandomStateLike, Distributions):
    """Random numbers from MT19937 (or another bit generator) with RandomState's streams."""

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
        """Starts over from an int in [0, 2**32) or an array of them."""
        with self._lock:
            if not isinstance(self._bit_generator, MT19937):
                raise TypeError("can only re-seed a MT19937 BitGenerator")
            self._bit_generator._legacy_seeding(seed)

    def get_state(self, legacy=True):
        """The state: ('MT19937', key, pos, has_gauss, cached_gaussian), or a dictionary."""
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
        """Sets what get_state gives, in either form."""
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
        """Uniform floats in [0, 1), 53 random bits."""
        return self._engine.uniform(size)

    def random(self, size=None):
        """Uniform floats in [0, 1); the same as random_sample."""
        return self._engine.uniform(size)

    def rand(self, *args):
        """Uniform floats in [0, 1) of shape args."""
        return self._engine.uniform(args or None)

    def standard_normal(self, size=None):
        """Normal floats of mean 0 and deviation 1 (polar method)."""
        return self._engine.gauss(size)

    def randn(self, *args):
        """Normal floats of mean 0 and deviation 1 of shape args."""
        return self._engine.gauss(args or None)

    def randint(self, low, high=None, size=None, dtype=int):
        """Integers in [low, high), or [0, low) (masked rejection)."""
        drawn = self._engine.integers(size, low, high, dtype, False, True)
        if drawn is not NotImplemented:
            return drawn
        return draw_integers(self._engine, low, high, size, dtype, False, True)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform floats in [low, high); the bounds broadcast."""
        drawn = self._engine.legacy_uniform(size, low, high)
        if drawn is not NotImplemented:
            return drawn
        return scaled_uniform(
            self.random_sample, low, high, size, "Range exceeds valid bounds", True
        )

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal floats of mean loc and deviation scale; the parameters broadcast."""
        drawn = self._engine.scaled_gauss(size, loc, scale)
        if drawn is not NotImplemented:
            return drawn
        return scaled_normal(self.standard_normal, loc, scale, size)

    def _normals(self, size):
        return self.standard_normal(size)

    def standard_exponential(self, size=None):
        """Exponential floats of mean 1: -log(1 - u)."""
        return self._variate("standard_exponential", size)

    def standard_gamma(self, shape, size=None):
        """Gamma distribution of shape >= 0 and scale 1."""
        return self._variate("standard_gamma", size, shape)

    def multinomial(self, n, pvals, size=None):
        """How often each of the outcomes with probabilities pvals, 1-d, comes in n >= 0 trials; int64."""
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
        """Normal vectors of that mean (n,) and covariance (n, n), of shape (*size, n).

        check_valid: what to do about a cov that is not positive semidefinite within tol: "warn", "raise"
        or "ignore".
        """
        return self._multivariate(mean, cov, size, check_valid, tol, _svd)

    def tomaxint(self, size=None):
        """Integers in [0, 2**63)."""
        words = self.randint(0, 2**64, size=size, dtype=np.uint64)
        return int(words) >> 1 if size is None else (words >> np.uint64(1)).astype(np.int64)

    def random_integers(self, low, high=None, size=None):
        """Integers in [low, high], or [1, low]. Deprecated: use randint."""
        low, high = (1, low) if high is None else (low, high)
        warnings.warn(
            "This function is deprecated. Please call randint("
            f"{low}, {high} + 1) instead", DeprecationWarning, stacklevel=2,
        )  # fmt: skip
        return self.randint(low, int(high) + 1, size=size, dtype=int)

    def shuffle(self, x):
        """Shuffles x in place along its first axis (Fisher and Yates)."""
        reorder(self, x)

    def permutation(self, x):
        """A copy of x shuffled along its first axis, or arange(x) shuffled."""
        from .. import asarray

        if isinstance(x, (int, np.integer)):
            return shuffled(self, x)
        made = asarray(x).copy()  # what an __array__ gives may be x's own memory
        if made.ndim == 0:
            raise IndexError("x must be an integer or at least 1-dimensional")
        self.shuffle(made)
        return made

    def choice(self, a, size=None, replace=True, p=None):
        """A random sample of a (or of arange(a)), with or without replacement, weighted by p."""
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
