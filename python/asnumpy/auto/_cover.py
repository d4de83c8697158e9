"""Which modules are covered: whose `import numpy` gives AsNumpy.

Covered is the user's own code: `__main__`, cells, and modules whose file lies neither in the standard
library nor in a folder of installed packages (an editable install lies elsewhere, and is covered).
Patterns of module names (`fnmatch`) widen and narrow that; a pattern holds for the submodules, too,
and the narrower wish wins: what is excluded is not covered, whatever includes it. AsNumpy and NumPy
themselves never are.

Code without a file and without a module's name (`exec` with a namespace of its own) is covered where
the code that runs it is.
"""

import fnmatch
import os
import site
import sys
import sysconfig

__all__ = ["Cover", "root_of"]

NEVER = frozenset(["asnumpy", "numpy"])
_INSTALLED = ("site-packages", "dist-packages")


def root_of(name):
    """The name of the top package of a module."""
    return name.partition(".")[0]


def _folders():
    """Folders of the standard library and of installed packages, each ending with a separator."""
    paths = sysconfig.get_paths()
    found = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    found.update(site.getsitepackages())
    found.add(site.getusersitepackages())
    found.add(os.path.dirname(os.__file__))
    return tuple({os.path.join(f, "") for p in found for f in (p, os.path.realpath(p))})


class Cover:
    """The rule of one run. `include`, `exclude`: patterns of module names such as "sklearn" or
    "scipy.*.tests*"."""

    def __init__(self, include=(), exclude=()):
        for name, patterns in (("include", include), ("exclude", exclude)):
            if isinstance(patterns, str) or not all(isinstance(p, str) and p for p in patterns):
                raise ValueError(
                    f"auto: {name} is {patterns!r}; it is a sequence of patterns of module names"
                )
        self.include, self.exclude = tuple(include), tuple(exclude)
        self._folders = _folders()
        self._known = {}

    def named(self, name, file):
        """Whether a module of that name is covered; its file, or None."""
        key = name, file
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decide(name, file)
        return known

    def _decide(self, name, file):
        if root_of(name) in NEVER or _matches(name, self.exclude):
            return False
        if _matches(name, self.include):
            return True
        return self._users(file) if file else name in ("__main__", "__mp_main__")

    def _users(self, file):
        path = os.path.abspath(file)
        if path.startswith(self._folders) or os.path.realpath(path).startswith(self._folders):
            return False
        return not any(part in _INSTALLED for part in path.split(os.sep))

    def namespace(self, names, frame):
        """Whether code is covered whose globals these are; `frame` runs it."""
        while True:
            name, file = names.get("__name__"), names.get("__file__")
            if isinstance(name, str) and (isinstance(file, str) or name == "__main__"):
                return self.named(name, file if isinstance(file, str) else None)
            if isinstance(name, str) and name in sys.builtin_module_names:
                return False
            # Text that someone runs, under a name of its own or none: as that someone is.
            frame = frame.f_back if frame is not None else None
            while frame is not None and frame.f_globals is names:
                frame = frame.f_back
            if frame is None:
                return False
            names = frame.f_globals


def _matches(name, patterns):
    return any(
        fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(name, p + ".*") for p in patterns
    )
