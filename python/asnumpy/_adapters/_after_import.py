"""A function that is called when a module has been imported: now, or at the end of its import."""

import sys
from _thread import get_ident


class _Loader:
    """A module's own loader, and the call after it."""

    def __init__(self, loader, called):
        self._loader, self._called = loader, called

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader  # what others will look at
        self._loader.exec_module(module)
        self._called(module.__name__)

    def __getattr__(self, name):  # get_data, get_source, is_package, ...
        return getattr(self._loader, name)


class _Finder:
    """Finds the modules that are waited for where they would be found without it.

    It may be asked for a module that is then not imported: many look whether there is one.
    """

    def __init__(self, names, called):
        self._names, self._called = frozenset(names), called
        self._asking = set()  # threads that ask the other finders

    def find_spec(self, name, path=None, target=None):
        if name not in self._names or get_ident() in self._asking:
            return None
        from importlib.util import find_spec

        self._asking.add(get_ident())
        try:
            spec = find_spec(name)
        finally:
            self._asking.discard(get_ident())
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self._called)
        return spec


def after_import(names, called):
    """Calls called(name) for each of these modules, once it is imported; returns the finder that waits,
    which sys.meta_path has."""
    waiting = []
    for name in names:
        module = sys.modules.get(name)
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            waiting.append(name)
        else:
            called(name)
    finder = _Finder(waiting, called)
    sys.meta_path.insert(0, finder)
    return finder
