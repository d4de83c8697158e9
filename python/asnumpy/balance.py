"""Rows of known costs dealt out to cores, and how evenly the CPU device's threads share their work.

`partition` cuts rows into blocks and gives each block a core, `simulate` replays costs on more
cores than a machine has, `pool_statistics` measures the threads of this one.
(`asnumpy.partition` is NumPy's function, a sort.)
"""

from ._balance_partition import Partition, partition
from ._balance_pool import PoolStatistics, pool_statistics
from ._balance_simulation import Simulation, simulate

__all__ = ["Partition", "PoolStatistics", "Simulation", "partition", "pool_statistics", "simulate"]


def __dir__():
    return __all__
