"""Random numbers: NumPy's generators, bit for bit the same streams for the same seeds.

`default_rng(seed)` makes a `Generator` over PCG64; `RandomState(seed)` and the module's own functions
(`seed`, `rand`, `randn`, `randint`, ...) are the older interface over MT19937. Results are AsNumpy
arrays; a call without `size` gives a number. `Generator(Philox4x32(seed))` draws AsNumpy's own stream,
which the device makes in parallel.
"""

from ._bit_generators import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Philox, Philox4x32
from ._generator import Generator, default_rng
from ._random_state import RandomState
from ._seed_sequence import SeedSequence

_rand = RandomState()
# The module's functions are the methods of one RandomState.
_FUNCTIONS = [
    "beta", "binomial", "bytes", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma",
    "geometric", "get_state", "gumbel", "hypergeometric", "laplace", "logistic", "lognormal", "logseries",
    "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f",
    "normal", "pareto", "permutation", "poisson", "power", "rand", "randint", "randn", "random",
    "random_integers", "random_sample", "rayleigh", "set_state", "shuffle", "standard_cauchy",
    "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform",
    "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip
for _name in _FUNCTIONS:
    globals()[_name] = getattr(_rand, _name)


def ranf(*args, **kwargs):
    """Another name of random_sample."""
    return _rand.random_sample(*args, **kwargs)


def sample(*args, **kwargs):
    """Another name of random_sample."""
    return _rand.random_sample(*args, **kwargs)


def seed(seed=None):
    """Starts the module's functions over, from an int or an array of them."""
    if isinstance(_rand._bit_generator, MT19937):
        _rand.seed(seed)
    else:
        _rand._bit_generator.state = type(_rand._bit_generator)(seed).state


def get_bit_generator():
    """The bit generator behind the module's functions."""
    return _rand._bit_generator


def set_bit_generator(bitgen):
    """Lets the module's functions draw from `bitgen`."""
    if not isinstance(bitgen, BitGenerator):
        raise TypeError(f"bitgen must be a BitGenerator, got {type(bitgen).__name__}")
    _rand._use(bitgen)


__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "Philox4x32",
    "RandomState", "SeedSequence", *_FUNCTIONS, "default_rng", "get_bit_generator", "ranf", "sample", "seed", "set_bit_generator",
]  # fmt: skip
del _name

from . import bit_generator, mtrand  # noqa: E402, F401
