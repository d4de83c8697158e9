"""Generator: the distributions drawn from a bit generator, NumPy's streams bit for bit."""

import numpy as np

from ._bit_generators import PCG64, BitGenerator, SeedSequence
from ._bounded import draw_integers
from ._scaled import scaled_normal, scaled_uniform


def _deliver(result, out, size, dtype):
    """`result`, or `out` holding it; out must have the drawn shape and dtype."""
    if out is None:
        return result
    if out.dtype != np.dtype(dtype):
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {np.dtype(dtype)}, got {out.dtype}"
        )
    if size is not None and tuple(np.atleast_1d(size)) != out.shape:
        raise ValueError("size must match out.shape when used together")
    out[...] = result
    return out


class Generator:
    """Random numbers from a `BitGenerator`; see `default_rng`."""

    def __init__(self, bit_generator):
        if not isinstance(bit_generator, BitGenerator):
            raise ValueError(f"Bit generator must be a BitGenerator, got {type(bit_generator)!r}")
        self.bit_generator = bit_generator

    @property
    def _engine(self):
        return self.bit_generator._engine

    def random(self, size=None, dtype=np.float64, out=None):
        """Uniform floats in [0, 1): float64 with 53 random bits or float32 with 24."""
        if size is None and out is not None:
            size = out.shape
        with self.bit_generator.lock:
            return _deliver(self._engine.uniform(size, dtype), out, size, dtype)

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """Normal floats of mean 0 and deviation 1 (ziggurat; float64 or float32)."""
        if size is None and out is not None:
            size = out.shape
        with self.bit_generator.lock:
            return _deliver(self._engine.normal(size, dtype), out, size, dtype)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Integers in [low, high), or [low, high] with endpoint (Lemire's method)."""
        with self.bit_generator.lock:
            return draw_integers(self._engine, low, high, size, dtype, endpoint, False)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform floats in [low, high); the bounds broadcast."""
        return scaled_uniform(self.random, low, high, size, "high - low range exceeds valid bounds")

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal floats of mean loc and deviation scale; the parameters broadcast."""
        return scaled_normal(self.standard_normal, loc, scale, size)

    def spawn(self, n_children):
        """n_children independent generators."""
        return [type(self)(b) for b in self.bit_generator.spawn(n_children)]

    def __repr__(self):
        return f"Generator({type(self.bit_generator).__name__}) at 0x{id(self):X}"

    def __str__(self):
        return f"Generator({type(self.bit_generator).__name__})"

    def __reduce__(self):
        return type(self), (self.bit_generator,)


def default_rng(seed=None):
    """A Generator over PCG64. seed: None, int, ints, SeedSequence, BitGenerator or Generator."""
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if isinstance(seed, RandomStateLike):
        return Generator(seed._bit_generator)
    return Generator(PCG64(seed if isinstance(seed, SeedSequence) else SeedSequence(seed)))


class RandomStateLike:
    """The base of RandomState, so that default_rng can take one without importing it."""
