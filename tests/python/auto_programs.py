"""A folder of programs, a library that they import, and runs of them by `python -m asnumpy` (test_auto*.py)."""

import os
import subprocess
import sys

ENVIRONMENT = {**os.environ, "ASNUMPY_FALLBACK": "silent", "PYTHONDONTWRITEBYTECODE": "1"}

# A library, in a folder of installed packages, and a module of the user's.
LIBRARY = """
import warnings
import numpy
import numpy as np

def kind():
    return "asnumpy" if np.zeros is not numpy.zeros or "asnumpy" in type(np.zeros(1)).__module__ else "numpy"

def mine():
    import asnumpy
    return type(numpy.zeros(1)) is asnumpy.ndarray

def given(*args, **kwargs):
    return [type(x) is __import__("sys").modules["numpy"].ndarray for x in (*args, *kwargs.values())]

def double(a, out=None):
    a *= 2
    return a

def pair(n):
    return np.arange(n), [np.arange(n)]

def same(x, y):
    return x is y

def warn(a):
    warnings.warn("from the library", stacklevel=2)

def call(f, *args):
    return f(*args)

def gets(f, *args):
    return type(f(*args)) is np.ndarray

class Unit:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc is numpy.add, type(inputs[0]) is numpy.ndarray
    def __array_function__(self, function, types, args, kwargs):
        return function is numpy.sum

def fail(a):
    raise ValueError("in the library")

def drawn_from(*states):
    return [type(s.normal(size=2)) is np.ndarray and type(s.permutation(3)) is np.ndarray for s in states]

class Number:
    __array_priority__ = 100
    def __matmul__(self, x):
        return "times" if type(x) is np.ndarray else None
    __pow__ = __matmul__
    def __mul__(self, x):
        return "times" if type(x) is np.ndarray else NotImplemented
    __rmul__ = __rmatmul__ = __mul__
    def __add__(self, x):
        return np.ones(2) if type(x) is np.ndarray else NotImplemented
    __radd__ = __gt__ = __add__

class builtin:  # as f2py has its functions: their class names no module
    def __call__(self, x):
        return type(x) is np.ndarray
builtin.__module__ = "builtins"
compiled = builtin()

class Table:
    def __init__(self, a=None):
        self.a, self.seen = a, []
    def __getitem__(self, key):
        self.seen.append(type(key).__name__)
        return type(key) is np.ndarray
    def __setitem__(self, key, value):
        self.a = value
    def draw(self):
        return np.random.rand()
    def holds_numpys(self):
        return all(type(x) is np.ndarray for k, x in vars(self).items() if k != "seen")

def folds(n):
    for i in range(n):
        yield np.arange(i), [i]

class Folds:
    def __iter__(self):
        return folds(2)

made = {"a": np.arange(3)}
"""


def make_place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("auto")
    installed = folder / "site-packages"
    installed.mkdir()
    (installed / "somelib.py").write_text(LIBRARY)
    (folder / "helper.py").write_text(
        "import numpy as np\n\ndef zeros(n):\n    return np.zeros(n)\n"
    )
    return folder


def run(place, *command, plain=False, **more):
    path = os.pathsep.join(
        [str(place / "site-packages"), *filter(None, [ENVIRONMENT.get("PYTHONPATH")])]
    )
    before = () if plain else ("-m", "asnumpy")
    return subprocess.run(
        [sys.executable, *before, *command], cwd=place, capture_output=True, text=True, timeout=100,
        env={**ENVIRONMENT, "PYTHONPATH": path, **more},
    )  # fmt: skip


def script(place, name, text):
    (place / name).write_text(text)
    return name


def checked(done):
    assert done.returncode == 0, done.stderr
    return done.stdout
