"""A pytest plugin that loads NumPy's test modules rewritten (rewrite.py) and leaves out what does not apply."""

import importlib.util
import os
import pathlib
import sys

import pytest
import rewrite
from excluded import matches

rewrite.lend_internals()


class Loader:
    def __init__(self, path):
        self.path = path

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(rewrite.rewritten(self.path), module.__dict__)


class Module(pytest.Module):
    """A test module of NumPy with AsNumpy's names."""

    def _getobj(self):
        name = "numpy_suite_" + "_".join(self.path.relative_to(rewrite.ROOT).with_suffix("").parts)
        spec = importlib.util.spec_from_loader(name, Loader(self.path), origin=str(self.path))
        module = importlib.util.module_from_spec(spec)
        module.__file__ = str(self.path)
        module.__package__ = ".".join(("numpy", *self.path.relative_to(rewrite.ROOT).parts[:-1]))
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module


def pytest_pycollect_makemodule(module_path, parent):
    return Module.from_parent(parent, path=pathlib.Path(module_path))


def pytest_collection_modifyitems(config, items):
    """Leaves out what run.py found in excluded.txt: patterns file::Class::test[parameters]. With
    NUMPY_SUITE_ONLY_EXCLUDED set it leaves out everything else."""
    patterns = [p for p in os.environ.get("NUMPY_SUITE_EXCLUDED", "").split("\n") if p]
    excluded, others = [], []
    for item in items:
        name = item.nodeid.partition("::")[2]
        (excluded if any(matches(name, p) for p in patterns) else others).append(item)
    only = "NUMPY_SUITE_ONLY_EXCLUDED" in os.environ
    items[:] = excluded if only else others
    config.hook.pytest_deselected(items=others if only else excluded)
