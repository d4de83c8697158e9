"""Our generators in scipy.stats.qmc, which spawns others by the names that NumPy's keep private.

numpy.random.default_rng(ours) is a generator of NumPy's that draws from ours, as from a BitGenerator.
"""

import sys

import numpy
from scipy._lib import _util

_theirs = _util._rng_spawn


def _spawn(rng, n_children):
    bits = rng.bit_generator
    bits = getattr(bits, "bit_generator", bits)  # of a generator of ours
    return [numpy.random.Generator(child) for child in bits.spawn(n_children)]


for _module in list(sys.modules.values()):  # SciPy's modules took it by name
    if (
        getattr(_module, "__name__", "").startswith("scipy.")
        and vars(_module).get("_rng_spawn") is _theirs
    ):
        _module._rng_spawn = _spawn
