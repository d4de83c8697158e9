"""NumPy's own test modules, read where NumPy is installed and turned to AsNumpy's names.

`import numpy as np` becomes AsNumpy; a name imported from any public or private module of NumPy is
AsNumpy's where AsNumpy has it under its public name, and NumPy's otherwise (internals that a test
inspects). Nothing of NumPy's is kept in this repository: modules are rewritten when they are run.
"""

import ast
import importlib
import pathlib
import types

import asnumpy
import asnumpy.lib.recfunctions
import numpy

ROOT = pathlib.Path(numpy.__file__).parent


def public_path(module):
    """numpy.lib._nanfunctions_impl -> (), numpy.linalg._linalg -> ("linalg",)."""
    parts = module.split(".")[1:]
    return tuple(p for p in parts if not p.startswith("_") and p != "core")


def own_module(module):
    """AsNumpy's module for one of NumPy's, or None."""
    found = asnumpy
    for part in public_path(module):
        if part in ("numeric", "umath", "multiarray", "fromnumeric", "shape_base", "function_base"):
            continue
        found = getattr(found, part, None)
        if not isinstance(found, types.ModuleType):
            return None
    return found


def resolve(module, name):
    """`from module import name` with AsNumpy's object where there is one."""
    theirs = importlib.import_module(module)
    own = own_module(module)
    if not hasattr(theirs, name):
        try:
            return Proxy(f"{module}.{name}")
        except ModuleNotFoundError:
            raise ImportError(f"cannot import name {name} from {module}") from None
    value = getattr(theirs, name)
    if module == "numpy.ma.testutils" and name.startswith("assert_"):
        return asnumpy.testing.on_host(value)
    if isinstance(value, types.ModuleType) and value.__name__.startswith("numpy"):
        return asnumpy if value is numpy else Proxy(value.__name__)
    for found in (own, own_module(getattr(value, "__module__", None) or "numpy")):
        if found is not None and not name.startswith("_") and hasattr(found, name):
            return getattr(found, name)
    return value


class Proxy(types.ModuleType):
    """A module of NumPy whose public names are AsNumpy's."""

    def __init__(self, module):
        super().__init__(module)
        theirs = importlib.import_module(module)
        for name, value in vars(theirs).items():
            if not name.startswith("__"):
                is_module = isinstance(value, types.ModuleType)
                self.__dict__[name] = value if is_module else resolve(module, name)


def imported(module):
    """What `import module as x` binds."""
    if module == "numpy":
        return asnumpy
    own = own_module(module)
    exact = own is not None and own.__name__.split(".")[1:] == module.split(".")[1:]
    return own if exact else Proxy(module)


def lend_internals():
    """`np._core.umath` and the like in a test are NumPy's internals, with AsNumpy's public names."""
    for name in dir(numpy._core):
        if not hasattr(asnumpy._core, name):
            value = getattr(numpy._core, name)
            known = isinstance(value, types.ModuleType)
            setattr(asnumpy._core, name, Proxy(value.__name__) if known else value)
    asnumpy.__config__ = numpy.__config__


class Imports(ast.NodeTransformer):
    """Turns imports of NumPy into calls of this module."""

    def _bind(self, name, function, *args):
        call = ast.Call(ast.Name(function, ast.Load()), [ast.Constant(a) for a in args], [])
        return ast.Assign([ast.Name(name, ast.Store())], call)

    def visit_Import(self, node):
        made = []
        for alias in node.names:
            if alias.name.split(".")[0] != "numpy":
                made.append(ast.Import([alias]))
            elif alias.asname:
                made.append(self._bind(alias.asname, "asnumpy_module", alias.name))
            else:
                made.append(self._bind("numpy", "asnumpy_module", "numpy"))
        return [ast.copy_location(m, node) for m in made]

    def visit_ImportFrom(self, node):
        if node.level or (node.module or "").split(".")[0] != "numpy":
            return node
        if any(a.name == "*" for a in node.names):
            return node
        made = [
            self._bind(a.asname or a.name, "asnumpy_resolve", node.module, a.name)
            for a in node.names
        ]
        return [ast.copy_location(m, node) for m in made]

    def visit_Expr(self, node):
        """A removal from a list of ufuncs that have loops for objects: ours have none."""
        call = node.value
        if not (
            isinstance(call, ast.Call)
            and ast.unparse(call.func).endswith("_UFUNCS.remove")
            and call.args
        ):
            return node
        if getattr(call.func.value, "id", "") == "os":
            return node
        present = ast.Compare(call.args[0], [ast.In()], [call.func.value])
        return ast.copy_location(ast.If(present, [node], []), node)


HEADER = "from rewrite import imported as asnumpy_module, resolve as asnumpy_resolve\n"


def _must_lead(statement):
    """Whether it is a docstring or an import from __future__."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def rewritten(path):
    """The source of a test module with its imports turned; line numbers are those of the original."""
    tree = Imports().visit(ast.parse(pathlib.Path(path).read_text()))
    first = next((i for i, s in enumerate(tree.body) if not _must_lead(s)), len(tree.body))
    tree.body[first:first] = ast.parse(HEADER).body
    return compile(ast.fix_missing_locations(tree), str(path), "exec")
