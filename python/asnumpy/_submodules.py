"""NumPy's modules for data on the host under this package's name: ``import asnumpy.ma``.

Their functions take our arrays as they are, so each is NumPy's own module, not a copy: one finder
gives `numpy.ma` for ``asnumpy.ma``, and `numpy.ma.extras` for ``asnumpy.ma.extras``, when it is
first imported. Fifteen files that put the module of NumPy in their own place would do for the first
name and load a second copy of `numpy.ma.extras` for the other one, whose classes are not those of
the first. For that reason the finder stands before those that look into folders; every other name
costs it one comparison.
"""

import importlib
import sys
from importlib.machinery import ModuleSpec

import numpy as _np

_PREFIX = "asnumpy."
# Names of modules, each with all that is in it, that are NumPy's.
NUMPYS = (
    "char core ctypeslib dtypes exceptions f2py lib.format lib.introspect lib.recfunctions "
    "lib.user_array ma matlib matrixlib rec strings testing.overrides typing.mypy_plugin"
)
NUMPYS = frozenset(NUMPYS.split())
# Second names of modules of this package.
_ALIASES = {"emath": "asnumpy.lib.scimath"}


def _named(name):
    """The module that a name under asnumpy means, or None where it is a file of ours."""
    top, _, rest = name.partition(".")
    within = f"{top}.{rest.partition('.')[0]}"
    if top in NUMPYS or within in NUMPYS:
        return f"{_np.__name__}.{name}"
    return _ALIASES.get(name)


class Finder:
    """A finder and loader of `sys.meta_path`."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of a name that stands for another module."""
        if not fullname.startswith(_PREFIX):
            return None
        named = _named(fullname[len(_PREFIX) :])
        return None if named is None else ModuleSpec(fullname, Finder, origin=named)

    @staticmethod
    def create_module(spec):
        """A module to be replaced: one that exists would get the spec for its own."""

    @staticmethod
    def exec_module(module):
        """Puts the module that is meant in the place of the new one."""
        spec = module.__spec__
        sys.modules[spec.name] = importlib.import_module(spec.origin)


if Finder not in sys.meta_path:
    sys.meta_path.insert(0, Finder)
