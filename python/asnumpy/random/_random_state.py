"""RandomState: NumPy's older interface, over MT19937 with its frozen algorithms."""

import numpy as np

from ._bit_generators import MT19937
from ._bounded import draw_integers
from ._generator import RandomStateLike
from ._scaled import scaled_normal, scaled_uniform


def _size(args):
    return args if args else None


class RandomState(RandomStateLike):
    """Random numbers from MT19937 (or another bit generator) with RandomState's streams."""

    def __init__(self, seed=None):
        if hasattr(seed, "_engine"):
            self._bit_generator = seed
        else:
            self._bit_generator = MT19937()
            self._bit_generator._legacy_seeding(seed)

    @property
    def _engine(self):
        return self._bit_generator._engine

    def seed(self, seed=None):
        """Starts over from an int in [0, 2**32) or an array of them."""
        with self._bit_generator.lock:
            self._bit_generator._legacy_seeding(seed)

    def get_state(self, legacy=True):
        """The state: ('MT19937', key, pos, has_gauss, cached_gaussian), or a dictionary."""
        key, pos, has_gauss, gauss = self._engine.get_mt19937()
        key = np.frombuffer(key, np.uint32).copy()
        if legacy:
            return "MT19937", key, pos, has_gauss, gauss
        return {
            "bit_generator": "MT19937",
            "state": {"key": key, "pos": pos},
            "has_gauss": has_gauss,
            "gauss": gauss,
        }

    def set_state(self, state):
        """Sets what get_state gives, in either form."""
        if isinstance(state, dict):
            inner = state["state"]
            state = (state["bit_generator"], inner["key"], inner["pos"],
                     state.get("has_gauss", 0), state.get("gauss", 0.0))  # fmt: skip
        if not isinstance(state, (tuple, list)):
            raise TypeError("state must be a dict or a tuple.")
        if len(state) not in (3, 5) or state[0] != "MT19937":
            raise ValueError("set_state can only be used with legacy MT19937 state instances.")
        _, key, pos, has_gauss, gauss = (*state, 0, 0.0)[:5]
        key = np.asarray(key, dtype=np.uint32)
        with self._bit_generator.lock:
            self._engine.set_mt19937(key.tobytes(), int(pos), int(has_gauss), float(gauss))

    def random_sample(self, size=None):
        """Uniform floats in [0, 1), 53 random bits."""
        with self._bit_generator.lock:
            result = self._engine.uniform(size)
        return float(result) if size is None else result

    def random(self, size=None):
        """Uniform floats in [0, 1); the same as random_sample."""
        return self.random_sample(size=size)

    def rand(self, *args):
        """Uniform floats in [0, 1) of shape args."""
        return self.random_sample(size=_size(args))

    def standard_normal(self, size=None):
        """Normal floats of mean 0 and deviation 1 (polar method)."""
        with self._bit_generator.lock:
            result = self._engine.gauss(size)
        return float(result) if size is None else result

    def randn(self, *args):
        """Normal floats of mean 0 and deviation 1 of shape args."""
        return self.standard_normal(size=_size(args))

    def randint(self, low, high=None, size=None, dtype=int):
        """Integers in [low, high), or [0, low) (masked rejection)."""
        with self._bit_generator.lock:
            return draw_integers(self._engine, low, high, size, dtype, False, True)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform floats in [low, high); the bounds broadcast."""
        return scaled_uniform(self.random_sample, low, high, size, "Range exceeds valid bounds")

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal floats of mean loc and deviation scale; the parameters broadcast."""
        return scaled_normal(self.standard_normal, loc, scale, size)

    def shuffle(self, x):
        """Shuffles x in place along its first axis (Fisher and Yates)."""
        n = len(x)
        with self._bit_generator.lock:
            order = list(range(n))
            for i in range(n - 1, 0, -1):
                j = self._engine.interval(i)
                order[i], order[j] = order[j], order[i]
        if isinstance(x, list):
            x[:] = [x[i] for i in order]
        else:
            x[...] = x[order]

    def permutation(self, x):
        """A shuffled copy of x, or of arange(x)."""
        from .. import arange, array

        made = arange(x) if isinstance(x, (int, np.integer)) else array(x)
        self.shuffle(made)
        return made

    def choice(self, a, size=None, replace=True, p=None):
        """A random sample of a (or of arange(a)), with or without replacement, weighted by p."""
        from .. import asarray

        pool = None if np.ndim(a) == 0 else asarray(a)
        n = int(a) if pool is None else len(pool)
        if n <= 0 and np.prod(size or 1) != 0:
            raise ValueError("a must be greater than 0 unless no samples are taken")
        count = 1 if size is None else int(np.prod(size))
        if p is not None:
            index = self._weighted(np.asarray(p, dtype=float), n, count, replace)
        elif replace:
            index = np.asarray(self.randint(0, n, size=count))
        else:
            if count > n:
                raise ValueError(
                    "Cannot take a larger sample than population when replace is False"
                )
            index = np.asarray(self.permutation(n))[:count]
        index = int(index[0]) if size is None else index.reshape(size)
        if pool is None:
            return index if size is None else asarray(index)
        return pool[index]

    def _weighted(self, p, n, count, replace):
        if p.shape != (n,):
            raise ValueError("'a' and 'p' must have same size")
        if np.isnan(p).any() or (p < 0).any():
            raise ValueError("probabilities are not non-negative")
        if abs(p.sum() - 1) > np.sqrt(np.finfo(float).eps):
            raise ValueError("probabilities do not sum to 1")
        if replace:
            cdf = p.cumsum()
            cdf /= cdf[-1]
            return cdf.searchsorted(np.asarray(self.random_sample(count)), side="right")
        if np.count_nonzero(p > 0) < count:
            raise ValueError("Fewer non-zero entries in p than size")
        p, found, chosen = p.copy(), 0, np.zeros(count, dtype=np.int64)
        while found < count:
            x = np.asarray(self.random_sample(count - found))
            if found:
                p[chosen[:found]] = 0
            cdf = np.cumsum(p)
            cdf /= cdf[-1]
            fresh = cdf.searchsorted(x, side="right")
            _, first = np.unique(fresh, return_index=True)
            fresh = fresh[np.sort(first)]
            chosen[found : found + fresh.size] = fresh
            found += fresh.size
        return chosen

    def __repr__(self):
        return f"{self} at 0x{id(self):X}"

    def __str__(self):
        return f"RandomState({type(self._bit_generator).__name__})"

    def __getstate__(self):
        return self.get_state(legacy=False)

    def __setstate__(self, state):
        self.set_state(state)

    def __reduce__(self):
        return type(self), (), self.get_state(legacy=False)
