"""The base classes of bit generators and seed sequences, under the name that NumPy's module has."""

from ._bit_generators import BitGenerator
from ._seed_sequence import ISeedSequence, ISpawnableSeedSequence, SeedSequence

__all__ = ["BitGenerator", "ISeedSequence", "ISpawnableSeedSequence", "SeedSequence"]


def __dir__():
    return __all__
