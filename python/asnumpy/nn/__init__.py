"""For language models: the cache of keys and values, and attention over it."""

from ._kv_cache import KVCache

__all__ = ["KVCache"]

KVCache.__module__ = "asnumpy.nn"


def __dir__():
    return __all__
