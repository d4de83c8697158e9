"""The mode in processes that a covered program starts: children of multiprocessing, pytest's workers.

A forked child has it. A child that starts afresh (spawn, forkserver) reads what its parent sends it
before it imports the parent's main module; a part of that is an object whose reading installs the
mode. pytest gets a plugin by PYTEST_PLUGINS, which its workers inherit, with the options in
ASNUMPY_AUTO; the plugin also lets pytest's own compiler of test modules stage their calls. Where the first
process makes a report, ASNUMPY_AUTO_REPORT names the folder where each leaves what it counts.
"""

import ast
import json
import multiprocessing.spawn
import os
import sys

__all__ = ["REPORT", "options_of_environment", "pass_on", "pass_on_no_more", "record", "stage_tests",
           "to_pytest"]  # fmt: skip

VARIABLE = "ASNUMPY_AUTO"
REPORT = "ASNUMPY_AUTO_REPORT"
_KEY = "asnumpy_auto"  # of what multiprocessing sends, which ignores keys that it does not know
_PLUGIN = "asnumpy.auto._pytest"


class _Install:
    """Read in a child, installs the mode there."""

    def __init__(self, options):
        self._options = options

    def __reduce__(self):
        return _install, (self._options,)


def _install(options):
    from . import install

    install(**options)
    recorder = record()
    if recorder is not None:
        recorder.leave_at_end()


def record():
    """Lets this process count, if the first one makes a report; what ends that, or None."""
    if REPORT not in os.environ:
        return None
    from ._recorder import begin

    return begin()


def _asked_by_fork_server():
    """Whether multiprocessing's nearest caller is the fork server's module, which starts the server.

    Other tools (coverage.py) put functions of their own around get_preparation_data, and a program
    may call it, too."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("multiprocessing."):
            return name == "multiprocessing.forkserver"
        frame = frame.f_back
    return False


def pass_on(options):
    """Lets processes that multiprocessing starts have the mode, with these arguments of install()."""
    plain = multiprocessing.spawn.get_preparation_data
    plain = getattr(plain, "_plain", plain)

    def get_preparation_data(name):
        data = {**plain(name), _KEY: _Install(options)}
        # A fork server reads no objects: it would import the program's main module without the mode, and its
        # children have it from there. Without the path they import it themselves.
        if _asked_by_fork_server():
            data.pop("init_main_from_path", None)
        return data

    get_preparation_data._plain = plain
    multiprocessing.spawn.get_preparation_data = get_preparation_data


def pass_on_no_more():
    plain = multiprocessing.spawn.get_preparation_data
    multiprocessing.spawn.get_preparation_data = getattr(plain, "_plain", plain)


def to_pytest(options):
    """Lets a pytest that starts from here, and its workers, have the mode."""
    os.environ[VARIABLE] = json.dumps(options)
    plugins = os.environ.get("PYTEST_PLUGINS", "")
    if _PLUGIN not in plugins.split(","):
        os.environ["PYTEST_PLUGINS"] = f"{plugins},{_PLUGIN}" if plugins else _PLUGIN


def options_of_environment():
    return json.loads(os.environ[VARIABLE])


def stage_tests(rewrite, crossing):
    """Lets pytest's rewriting of assertions (the module of that name) stage the calls of covered test
    modules, and keep what it compiled under a name of its own."""
    hook = rewrite.AssertionRewritingHook
    plain, names = hook.exec_module, []

    def exec_module(self, module):
        names.append(module.__name__)
        try:
            plain(self, module)
        finally:
            names.pop()

    def compile_staged(tree, file, *args, **kwargs):
        if names and isinstance(tree, ast.Module) and crossing.covers(names[-1], file):
            with open(file, "rb") as source:
                if crossing.imports_library(source.read()):
                    tree = crossing.transformed(tree)
        return compile(tree, file, *args, **kwargs)

    hook.exec_module, rewrite.compile = exec_module, compile_staged
    rewrite.PYC_EXT = ".asnumpy" + rewrite.PYC_EXT
    rewrite.PYC_TAIL = "." + rewrite.PYTEST_TAG + rewrite.PYC_EXT
