"""For Numba the modules that covered code gets are NumPy's: its functions are those that Numba compiles."""

import functools
import sys

from asnumpy._adapters._after_import import after_import

from ._staged import back, each, result

__all__ = ["register", "register_all_with"]


def register(ours, theirs):
    """Tells Numba, where it is imported, that a module of ours is NumPy's."""
    if "numba" in sys.modules:
        from numba.core.types import Module
        from numba.core.typing.templates import builtin_registry

        builtin_registry.register_global(ours, Module(theirs))


def register_all_with(modules):
    """Tells it of these (ours, theirs), which a function gives, once it is imported; returns the finder
    that waits for that."""

    def imported(_):
        for pair in modules():
            register(*pair)
        _let_staging_be_nothing()

    return after_import(("numba",), imported)


@functools.cache  # what Numba was told once stays
def _let_staging_be_nothing():
    """In a function that Numba compiles all arrays are NumPy's: what converts them does nothing."""
    from numba.extending import overload

    def itself(x):
        def same(x):
            return x

        return same

    for staged in (back, each, result):
        overload(staged)(itself)
