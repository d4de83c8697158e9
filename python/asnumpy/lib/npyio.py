"""The file object of .npz archives."""

from .._io import DataSource, NpzFile

__all__ = ["DataSource", "NpzFile"]


def __dir__():
    return __all__
