"""RandomState and the functions of its one instance, under the name that NumPy's module has."""

from . import *  # noqa: F403
from . import __all__, _rand  # noqa: F401


def __dir__():
    return __all__
