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
    """Draws uniform numbers from [0, 1); another name of random_sample.

    Parameters
    ----------
    *args, **kwargs
        As random_sample has them: size, the shape of what is drawn.

    Returns
    -------
    ndarray of float64, or float

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.seed(0)
    >>> np.random.ranf(3).round(4)
    array([0.5488, 0.7152, 0.6028])
    """
    return _rand.random_sample(*args, **kwargs)


def sample(*args, **kwargs):
    """Draws uniform numbers from [0, 1); another name of random_sample.

    Parameters
    ----------
    *args, **kwargs
        As random_sample has them: size, the shape of what is drawn.

    Returns
    -------
    ndarray of float64, or float

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.seed(0)
    >>> np.random.sample(3).round(4)
    array([0.5488, 0.7152, 0.6028])
    """
    return _rand.random_sample(*args, **kwargs)


def seed(seed=None):
    """Starts the stream of the module's functions over.

    Parameters
    ----------
    seed : None, int or array_like of ints
        32-bit numbers; None: from the system.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        A number outside 32 bits.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.seed(0)
    >>> np.random.rand(2).round(4)
    array([0.5488, 0.7152])
    """
    if isinstance(_rand._bit_generator, MT19937):
        _rand.seed(seed)
    else:
        _rand._bit_generator.state = type(_rand._bit_generator)(seed).state


def get_bit_generator():
    """The bit generator behind the module's functions.

    Returns
    -------
    BitGenerator

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.random.get_bit_generator(), np.random.BitGenerator)
    True
    """
    return _rand._bit_generator


def set_bit_generator(bitgen):
    """Lets the module's functions draw from another bit generator.

    Parameters
    ----------
    bitgen : BitGenerator
        Which.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        It is no BitGenerator.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.random.get_bit_generator()
    >>> np.random.set_bit_generator(np.random.PCG64(0))
    >>> _ = np.random.rand()
    >>> np.random.set_bit_generator(before)
    """
    if not isinstance(bitgen, BitGenerator):
        raise TypeError(f"bitgen must be a BitGenerator, got {type(bitgen).__name__}")
    _rand._use(bitgen)


__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "Philox4x32",
    "RandomState", "SeedSequence", *_FUNCTIONS, "default_rng", "get_bit_generator", "ranf", "sample", "seed", "set_bit_generator",
]  # fmt: skip
del _name

from . import bit_generator, mtrand  # noqa: E402, F401


def __dir__():
    return [*__all__, "bit_generator", "mtrand"]
