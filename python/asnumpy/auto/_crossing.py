"""Calls of covered code into libraries, and what they return.

The source of a covered module that imports a library is compiled with its calls staged
(`_transformer`): `f(a, b)` as `back(stage(f, a, b)())`. `stage` sees whether `f` is a library's, and then
gives it NumPy's arrays over the memory of ours; the call itself is made by a `functools.partial`, which has
no frame of its own, so that warnings and tracebacks name the user's line; `back` makes AsNumpy's arrays of
NumPy's, and `each` of what a library's iterator gives; `key` and `result` give a library's object, and a
library that calls the user's function, NumPy's. A module without libraries is compiled as it stands. What
these do not carry (most operators, what a library gives to a function of the user's) takes the arrays' own
protocols.

The standard library, and what merely hands objects on (`CARRIERS`), get them as they are, but for
what they hand to a library's function that they get beside it (`submit(f, a)`, `assert_raises(E, f, a)`).
"""

import ast
import builtins
import functools
import importlib.machinery
import importlib.util
import re
import sys
import types

from ._arrays import adopt, to_library
from ._cover import root_of
from ._transformer import NUMPYS_OWN, STANDARD, Transformer

__all__ = ["Cells", "Crossing", "Finder"]

CARRIERS = frozenset(["pytest", "_pytest", "hypothesis", "IPython", "ipykernel", "cloudpickle"])
USERS, LIBRARY, CARRIER = range(3)
_OURS = frozenset(["numpy", "asnumpy", "builtins", "__main__"])
_BUILTIN = frozenset(
    cls for cls in (*vars(types).values(), *vars(builtins).values()) if isinstance(cls, type)
)
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][^#\n;(]*)", re.M)


class Crossing:
    """The stage of one run; `cover` says what is the user's."""

    def __init__(self, cover):
        self._cover = cover
        self._kinds = {}  # a module's name -> whose it is
        self._classes = {}  # a class -> whether it, or a base, is

    def given(self, function, args, kwargs):
        """The arguments of a call as the function is to get them."""
        kind = self.kind_of(function)
        if kind == LIBRARY or (kind == CARRIER and any(map(self._calls_library, args))):
            args = [to_library(x) for x in args]
            if kwargs:
                kwargs = {k: to_library(v) for k, v in kwargs.items()}
        return args, kwargs

    def key(self, owner, x):
        """x as a key or value of an object: NumPy's, where the object's class is a library's, or `owner` is
        the ellipsis, for an object that is not known."""
        return to_library(x) if owner is ... or self.is_librarys(owner) else x

    def in_library(self, frame):
        """Whether the code of a frame is a library's."""
        return self._named(frame.f_globals.get("__name__")) == LIBRARY

    def is_librarys(self, x):
        """Whether the class of an object, or one that it derives from, is a library's."""
        cls = type(x)
        known = self._classes.get(cls)
        if known is None:
            known = any(self._kind_of_class(base) == LIBRARY for base in cls.__mro__)
            self._classes[cls] = known
        return known

    def each(self, x):
        """x to be looped over; where it is a library's, its arrays become AsNumpy's."""
        if type(x) is types.GeneratorType:
            librarys = x.gi_frame is not None and self.in_library(x.gi_frame)
        else:
            librarys = self._kind_of_class(type(x)) == LIBRARY
        return map(adopt, x) if librarys else x

    def result(self, x, caller):
        """What a function of the user's gives to the code of a frame."""
        return to_library(x) if caller is not None and self.in_library(caller) else x

    def override(self, method, args, kwargs):
        """method(*args, **kwargs): an __array_ufunc__ or __array_function__ that answers for a function
        of ours. A library's class is given NumPy's function and arrays."""
        if self._kind_of_class(type(args[0])) != LIBRARY:
            return method(*args, **kwargs)
        owner, *given = args
        return adopt(
            method(owner, *map(to_library, given), **{k: to_library(v) for k, v in kwargs.items()})
        )

    def _calls_library(self, x):
        """Whether an argument is a library's function, which who gets it will call with the others."""
        return callable(x) and not isinstance(x, type) and self.kind_of(x) == LIBRARY

    def kind_of(self, function):
        """Whose a callable is: USERS, LIBRARY or CARRIER."""
        while isinstance(function, (types.MethodType, functools.partial)):
            method = isinstance(function, types.MethodType)
            function = function.__func__ if method else function.func
        cls = type(function)
        if isinstance(function, types.FunctionType):
            return self._named(function.__globals__.get("__name__"))
        if isinstance(function, type):
            return self._kind_of_class(function)
        if cls in (types.BuiltinFunctionType, types.MethodWrapperType):
            owner = function.__self__
            if owner is None or type(owner) is types.ModuleType:
                return self._named(function.__module__ or getattr(owner, "__name__", None))
            return self._kind_of_class(owner if isinstance(owner, type) else type(owner))
        root = root_of(cls.__module__)
        if cls in _BUILTIN or (root in _OURS and root != "builtins") or "cython" in root:
            return self._named(getattr(function, "__module__", None))
        return self._kind_of_class(cls)

    def _kind_of_class(self, cls):
        # An extension that names no module for its class: f2py's functions, SuperLU.
        if cls.__module__ == "builtins" and cls not in _BUILTIN:
            return LIBRARY
        return self._named(cls.__module__)

    def _named(self, name):
        """Whose a module of that name is."""
        known = self._kinds.get(name)
        if known is None:
            known = self._kinds[name] = self._decide(name)
        return known

    def _decide(self, name):
        root = root_of(name) if isinstance(name, str) else "builtins"
        if root == "numpy" and name.startswith(NUMPYS_OWN):
            return LIBRARY
        if root in _OURS or root in STANDARD or root in CARRIERS:
            return USERS if name == "__main__" else CARRIER
        file = getattr(sys.modules.get(name), "__file__", None)
        users = self._cover.named(name, file) if file or name not in sys.modules else False
        return USERS if users else LIBRARY

    # ---- sources

    def covers(self, name, file):
        """Whether the module of that name and file is the user's."""
        return self._cover.named(name, file)

    def imports_library(self, source):
        """Whether a source names, in an import statement, a package that is a library."""
        for found in _IMPORTS.finditer(source):
            text = found[1].decode("latin-1")
            names = text.partition(" import ")[0].split(",") if found[0].strip().startswith(
                b"import") else [text]  # fmt: skip
            for name in names:
                if self._names_library(name.split()[0] if name.split() else ""):
                    return True
        return False

    def _names_library(self, name):
        root = root_of(name)
        if not root or root in _OURS or root in STANDARD or root in CARRIERS:
            return False
        try:
            spec = importlib.util.find_spec(root)
        except (ImportError, ValueError):
            return False
        return spec is not None and not self._cover.named(root, spec.origin)

    def compile(self, source, file, dont_inherit=True, flags=0, optimize=-1):
        """The code of a module's source (bytes)."""
        if not self.imports_library(source):
            return compile(
                source, file, "exec", flags, dont_inherit=dont_inherit, optimize=optimize
            )
        tree = ast.parse(source, file)
        return compile(
            self.transformed(tree),
            file,
            "exec",
            flags,
            dont_inherit=dont_inherit,
            optimize=optimize,
        )

    def transformed(self, tree):
        """A module's tree with its calls staged."""
        return Transformer().visit(tree)


class Cells:
    """IPython's transformer of cells: stages their calls once its names hold a library."""

    def __init__(self, crossing, names):
        self._crossing, self._names = crossing, names

    def visit(self, tree):
        text = ast.unparse(tree).encode()
        modules = [v.__name__ for v in self._names.values() if type(v) is types.ModuleType]
        staged = self._crossing.imports_library(text) or any(
            map(self._crossing._names_library, modules)
        )
        return self._crossing.transformed(tree) if staged else tree


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a covered module, whose code is not cached where its calls are staged."""

    crossing = None

    def get_code(self, fullname):
        source = self.get_data(self.path)
        if not self.crossing.imports_library(source):
            return super().get_code(fullname)
        return self.crossing.compile(source, self.path)


class Finder:
    """PathFinder in front of PathFinder: gives covered modules that loader."""

    def __init__(self, cover, crossing):
        self._cover = cover
        self._loader = type("Loader", (Loader,), {"crossing": crossing})

    def find_spec(self, name, path=None, target=None):
        # What is not covered is given as it was found, so that nobody looks for it twice.
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if (
            spec is not None
            and type(spec.loader) is importlib.machinery.SourceFileLoader
            and self._cover.named(name, spec.origin)
        ):
            spec.loader = self._loader(name, spec.origin)
        return spec

    def invalidate_caches(self):
        """PathFinder has its own entry in sys.meta_path, where it is told."""
