"""The version of this package, under the names that NumPy has for its own."""

from . import __version__ as version

__all__ = ["full_version", "release", "short_version", "version"]


def __dir__():
    return __all__


short_version = full_version = version
release = "dev" not in version and "+" not in version
