"""Random numbers: NumPy's generators, bit for bit the same streams for the same seeds.

`default_rng(seed)` makes a `Generator` over PCG64; `RandomState(seed)` and the module's own functions
(`seed`, `rand`, `randn`, `randint`, ...) are the older interface over MT19937. Results are AsNumpy
arrays; a call without `size` gives a number. `Generator(Philox4x32(seed))` draws AsNumpy's own stream,
which the device makes in parallel.
"""

from ._bit_generators import MT19937, PCG64, BitGenerator, Philox4x32, SeedSequence
from ._generator import Generator, default_rng
from ._random_state import RandomState

_state = RandomState()

choice = _state.choice
get_state = _state.get_state
normal = _state.normal
permutation = _state.permutation
rand = _state.rand
randint = _state.randint
randn = _state.randn
random = _state.random
random_sample = _state.random_sample
ranf = sample = random_sample
seed = _state.seed
set_state = _state.set_state
shuffle = _state.shuffle
standard_normal = _state.standard_normal
uniform = _state.uniform

__all__ = [
    "MT19937", "PCG64", "BitGenerator", "Generator", "Philox4x32", "RandomState", "SeedSequence", "choice",
    "default_rng", "get_state", "normal", "permutation", "rand", "randint", "randn", "random",
    "random_sample", "ranf", "sample", "seed", "set_state", "shuffle", "standard_normal", "uniform",
]  # fmt: skip
