"""Products of float32 in bfloat16, float16 or int8: `asnumpy.autocast`, and the choice among them.

What is narrowed, what an error and a gain are, and the rule: docs/guide/mixed-precision.md.
"""

from ._autocast import (
    autocast,
    counts,
    get_autocast_dtype,
    is_autocast_enabled,
    reset_counts,
)
from ._decision import Decision, Scheduler, decide
from ._gains import Gain, gains
from ._quantized import QuantizedArray, linear, quantize_per_channel

__all__ = [
    "Decision",
    "Gain",
    "QuantizedArray",
    "Scheduler",
    "autocast",
    "counts",
    "decide",
    "gains",
    "get_autocast_dtype",
    "is_autocast_enabled",
    "linear",
    "quantize_per_channel",
    "reset_counts",
]

for _name in __all__:
    globals()[_name].__module__ = "asnumpy.precision"
autocast.__module__ = "asnumpy"
del _name


def __dir__():
    return __all__
