"""No change to the source (asnumpy.auto): whose imports give AsNumpy, what crosses to libraries, and how a program
begins and ends."""

import ast
import importlib.util
import os
import zipfile

import numpy
import pytest
from asnumpy.auto._cover import Cover
from asnumpy.auto._transformer import Transformer
from auto_programs import checked, make_place, run, script

OURS = "type({}(1)) is __import__('asnumpy').ndarray"
place = pytest.fixture(scope="module")(make_place)


# ---- whose imports


def test_who_is_covered():
    cover = Cover()
    site = os.path.dirname(os.path.dirname(numpy.__file__))
    assert cover.named("__main__", None) and cover.named("__main__", "/home/me/x.py")
    assert cover.named("mine.part", "/home/me/mine/part.py")
    assert not cover.named("json", importlib.util.find_spec("json").origin)
    assert not cover.named("lib", os.path.join(site, "lib.py"))
    assert not cover.named("lib", "/opt/x/lib/python3/dist-packages/lib.py")
    assert not cover.named("numpy.linalg", "/home/me/numpy/linalg.py")
    wide = Cover(include=["lib.*.tests*", "other"], exclude=["mine.*", "other.sub"])
    assert wide.named("lib.a.tests.test_x", os.path.join(site, "lib/a/tests/test_x.py"))
    assert not wide.named("lib.a", os.path.join(site, "lib/a.py"))
    assert wide.named("other.x", os.path.join(site, "other/x.py"))
    assert not wide.named("other.sub.x", os.path.join(site, "other/sub/x.py"))
    assert not wide.named("mine.part", "/home/me/mine/part.py")
    for wrong in ({"include": "lib"}, {"exclude": [1]}, {"include": [""]}):
        with pytest.raises(ValueError, match="sequence of patterns"):
            Cover(**wrong)


def test_libraries_keep_numpy(place):
    text = f"""
import numpy as np, helper, somelib, sys, types
print({OURS.format("np.zeros")}, helper.np is np, somelib.mine(), somelib.np is np)
print(type(np) is types.ModuleType, sys.modules["numpy"] is somelib.np)
names = {{}}
exec("import numpy", {{"__name__": "somewhere"}}, names)
print(names["numpy"] is np)
"""
    name = script(place, "who.py", text)
    assert checked(run(place, name)) == "True True False False\nTrue True\nTrue\n"
    found = checked(run(place, "--include", "somelib", "--exclude=helper", name))
    assert found == "True False True True\nTrue False\nTrue\n"


@pytest.mark.parametrize(
    "text",
    [
        "import numpy.nothing",
        "from numpy import nothing",
        "import numpy; numpy.nothing",
        "import no_such_module",
        "import importlib; importlib.import_module('numpy.nothing')",
        "import broken",
    ],
)
def test_failing_imports_look_the_same(place, text):
    (place / "broken.py").write_text(
        "import numpy as np\n\n\ndef f(x):\n    return x / 0\n\n\nf(1)\n"
    )
    name = script(place, "importing.py", text)
    ours, plain = run(place, name), run(place, name, plain=True)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 1)


# ---- how a program begins and ends


BEGINS = """
import sys
print(sys.argv, __name__, __package__, __spec__ and __spec__.name, __doc__)
print(__file__ if "__file__" in globals() else None, sys.path[0], type(__loader__).__name__)
print(sys.modules["__main__"].__dict__ is globals(), sorted(k for k in globals() if k != "__cached__"))
"""


@pytest.mark.parametrize(
    "command",
    [
        ("begins.py", "a", "-b"),
        ("./begins.py",),
        ("-m", "begins", "--x"),
        ("-m", "package"),
        ("-m", "package.part"),
        ("folder",),
        ("packed.zip", "a"),
        ("missing.py",),
        ("-m", "no_such_module"),
        ("-m", "json.no_such"),
        ("-c", "raise KeyboardInterrupt"),
        ("-c", "import sys; sys.exit('text')"),
        ("-c", "import sys; sys.excepthook = lambda t, v, b: print('hook', v); 1 / 0"),
        ("-c", "def f():\n  raise ValueError from KeyError(1)\nf()"),
        ("-c", "f(", "x"),
        ("-c", "\n  import numpy\n  print(numpy.pi)"),
        ("-c", "import numpy\nclass C:\n  def f(self, a): return a[3]\nC().f(numpy.ones(2))"),
        ("wrong.py",),
    ],
    ids=" ".join,
)
def test_begins_and_ends_the_same(place, command):
    script(place, "begins.py", '"""Doc."""' + BEGINS)
    script(place, "wrong.py", "import numpy\nx = (1,\n")
    for folder in ("package", "folder"):
        (place / folder).mkdir(exist_ok=True)
        (place / folder / "__main__.py").write_text(BEGINS)
    (place / "package" / "__init__.py").write_text("")
    (place / "package" / "part.py").write_text(BEGINS)
    with zipfile.ZipFile(place / "packed.zip", "w") as packed:
        packed.writestr("__main__.py", BEGINS)
    ours, plain = run(place, *command), run(place, *command, plain=True)
    loader = ("_Loader", "SourceFileLoader"), ("Loader", "SourceFileLoader")
    out = ours.stdout
    for a, b in loader:
        out = out.replace(f" {a}\n", f" {b}\n")
    assert (out, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


@pytest.mark.parametrize("command", [(), ("-m",), ("--wrong", "x.py"), ("--include",)])
def test_wrong_options(place, command):
    done = run(place, *command)
    assert done.returncode == 2 and "usage: python -m asnumpy" in done.stderr
    assert "Traceback" not in done.stderr


def test_help(place):
    assert "--report[=FILE]" in checked(run(place, "--help"))


# ---- what crosses


CROSSES = """
import asnumpy, numpy as np, somelib, sys, warnings
from somelib import Table, given
numpy = sys.modules["numpy"]
a = np.arange(4.0)
def ours(x): return type(x) is asnumpy.ndarray

assert all(given(a, np.ones(2), x=a)) and given([1], (a,)) == [False, False]
b = somelib.double(a)
assert b is a and somelib.same(a, a) and somelib.call(lambda x: x, a) is a
kept = Table(a)
assert Table(a).a is kept.a
b = somelib.call(lambda x: x[:], a)
assert ours(b) and a[1] == 2 and np.shares_memory(a, b)
first, rest = somelib.pair(3)
assert ours(first) and type(rest[0]) is numpy.ndarray
for x, y in ((np.sum, numpy.sum), (np.add, numpy.add), (np, numpy), (np.linalg, numpy.linalg),
             (np.ndarray, numpy.ndarray), (np.median, numpy.median), (np.float32, numpy.float32)):
    assert somelib.same(x, y), x
listed = [1, 2]
assert somelib.same(listed, listed)          # what holds no array stays itself
pair = ("a", ("b", 1))
assert somelib.call(lambda x: x, pair) is pair
assert somelib.call(ours, a) is False        # a library gives the user's functions NumPy's arrays
def back_again(x): return a
class Model:
    def predict(self, x): return self.inner(x)
    def inner(self, x): return np.asarray(x) + 1
assert somelib.gets(back_again, 1) and somelib.gets(lambda x: np.asarray(x) * 2, a)
assert somelib.gets(Model().predict, a) and ours(Model().predict(a)) and ours(back_again(1))
table = Table(a)
assert table.holds_numpys() and ours(table.a) and table.a is a and table.a is table.a
i = 1
assert table[a > 2] and table[a] and table[{a.size: 0} and a] and not table[i]
table["x"] = a
table.b = a
assert table.holds_numpys()
kept.held = somelib.pair(2)[0]                # a library's array, by way of the user and back
held = kept.held
assert ours(held) and kept.held is held and somelib.same(held, kept.held) and kept.holds_numpys()
held += 1
assert kept.held.tolist() == [1, 2]
assert ours(somelib.made["a"]) and somelib.made["a"] is somelib.made["a"]
for n, (x, y) in enumerate(somelib.folds(2)):
    assert ours(x) and x.size == n
assert all(ours(x) for x, _ in somelib.folds(2)) and [ours(x) for x, _ in somelib.Folds()] == [True, True]
class Inside:
    def __init__(self): self.table = Table(a)
    def values(self): return self.table.a
assert ours(Inside().values())
a.flags.writeable = False
assert not somelib.call(lambda x: x.flags.writeable, a)
a.flags.writeable = True

class Mine(Table):
    def inner(self):
        return super().__getitem__(a), self[a]
    @property
    def last(self):
        return [given(x) for x in (a, a)]
assert Mine(a).inner() == (True, True) and Mine().last == [[True], [True]]

number = somelib.Number()                     # operators: NumPy's array has its turn
assert a * number == number * a == a @ number == "times"
assert number @ a == number ** a == "times" and a @ a == 56 and (a ** a)[0] == 1
assert somelib.compiled(a)
assert ours(a + number) and ours(number + a) and ours(a < number)

class Own:
    __array_priority__ = 100
    def __rmul__(self, x): return ours(x)
    def __getitem__(self, key): return ours(key)
    def take(self, x): return ours(x)
numpy.testing.assert_equal(a, a + 0)
from numpy.ma.testutils import assert_almost_equal
assert_almost_equal(np.asarray(1.5), np.asarray(1.5))
import numpy.ma as ma
assert ours(ma.getmaskarray(ma.array(a, mask=a > 1))) and ma.array(a).shape == (4,)
assert np.random.mtrand._rand is numpy.random.mtrand._rand

class Unit:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs): return ufunc is np.add
    def __array_function__(self, function, types, args, kwargs): return function is np.concatenate
assert np.add(Unit(), a) and np.concatenate([Unit()])
unit = somelib.Unit()
assert np.add(a, unit) == (True, True) and np.sum(unit) == True
class Like:
    def __array__(self, dtype=None, copy=None): return a
assert numpy.asarray(Like()).shape == (4,) and ours(np.asarray(Like()))
own = Own()
assert own[a] and own.take(a) and Table()[a] and a * own
assert list(map(ours, [a, a])) == [True, True]
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numpy.testing import assert_raises
with ThreadPoolExecutor(1) as pool:
    assert pool.submit(given, a).result() == [True] and pool.submit(ours, a).result()
assert partial(given, a)() == [True] and partial(ours, a)()
assert_raises(ValueError, somelib.fail, a)

with warnings.catch_warnings(record=True) as met:
    warnings.simplefilter("always")
    somelib.warn(a)  # the line
assert met[0].filename == __file__ and "the line" in open(__file__).readlines()[met[0].lineno - 1]

np.random.seed(4)
drawn = [np.random.rand(), table.draw(), np.random.rand()]
numpy.random.seed(4)
assert drawn == numpy.random.rand(3).tolist()
rng = np.random.default_rng(1)
assert isinstance(rng, numpy.random.Generator) and ours(rng.normal(size=3)) and ours(np.random.rand(2))
out = np.zeros(3)
assert rng.random(out=out) is out and (out > 0).all() and rng.random() < 1
state = np.random.RandomState(1)
assert somelib.drawn_from(rng, state) == [True, True] and somelib.same(rng, rng)
assert ours(rng.normal(size=2)) and ours(state.normal(size=2)) and list(map(ours, map(rng.random, [1])))
class OwnState(np.random.RandomState): pass
for kind in ("Generator", "RandomState"):      # a library's generators are instances, too
    cls, theirs = getattr(np.random, kind), getattr(numpy.random, kind)
    assert isinstance({"Generator": rng, "RandomState": state}[kind], cls) and issubclass(cls, theirs)
    assert not isinstance(1, cls)
assert isinstance(numpy.random.default_rng(), np.random.Generator) and not isinstance(state, np.random.Generator)
assert not isinstance(numpy.random.RandomState(1), OwnState) and isinstance(OwnState(1), OwnState)
import copy, pickle
f, g = pickle.loads(pickle.dumps((np.sin, rng)))
assert ours(f(np.zeros(2))) and g.random() == rng.random() and copy.deepcopy([np.add])[0] is np.add
rng.shuffle(a); assert sorted(a.tolist()) == [0, 2, 4, 6]
assert isinstance(rng.spawn(1)[0], np.random.Generator)
assert isinstance(np.random.RandomState(1), numpy.random.RandomState)
match (1, a):
    case (int(), np.ndarray()): pass
    case _: raise AssertionError
f"{somelib.same(1, 1)!r:>5}"
print("fine")
"""


def test_crossing(place):
    assert checked(run(place, script(place, "crosses.py", CROSSES))) == "fine\n"


def test_tracebacks_through_a_library(place):
    text = "import numpy as np\nimport somelib\n\n\ndef f(a):\n    return somelib.fail(\n        a + 1)\n\n\nf(np.ones(2))\n"
    name = script(place, "through.py", text)
    ours, plain = run(place, name), run(place, name, plain=True)
    assert (ours.stderr, ours.returncode) == (plain.stderr, 1)


@pytest.mark.parametrize(
    "source",
    [
        "f(x)", "f(*x, **y)", "f()", "x[k]", "x.y[k, 1:2] = z", "x[k] += z", "del x[k]", "x = y[k] = z",
        "class A(f(B)): pass", "@f(x)\ndef g(a: f(1) = h(2)) -> f(3): yield f(a)", "[f(i) for i in g(x)]",
        "async def g():\n    await f(x)", "f(i for i in x)", "lambda: f(x)", "f'{g(x)}'", "x: f(1) = g(2)",
        "a.b.c = d.e", "del a.b", "a.b += c.d", "f'{a.b!r:>{c.d}}'", "match x:\n    case A.B: pass",
        "[i for i in a.b if c.d]", "for i in zip(f(x), y.z): pass", "x['a'], x.y['a']",
        "with f(x) as y: pass", "for i in f(x): x[i]", "f(x)(y)(z)", "global q; q = f(x)", "print(f(x))",
    ],
)  # fmt: skip
def test_staged_sources_compile(source):
    tree = Transformer().visit(ast.parse(source))
    compile(tree, "staged", "exec")


def test_what_is_no_librarys_is_not_staged():
    text = """
import numpy as np, os.path, lib
from numpy import sin as sine
from lib import f
def own(x): pass
@lib.fast
def fast(x): pass
np.linalg.norm(x), os.path.join(x), sine(x), own(x), len(x)
lib.f(x), f(x), fast(x), x.own(x), y(x)
"""
    *_, plain, staged = ast.unparse(Transformer().visit(ast.parse(text))).splitlines()
    assert "__asnumpy" not in plain and staged.count("__asnumpy_stage__") == 5
    decorated = "import lib\n@lib.mark(lib.f(x), y=[lib.f(x)])\ndef g(): pass"
    text = ast.unparse(Transformer().visit(ast.parse(decorated)))
    assert text.count("__asnumpy_stage__(") == 2 and "@lib.mark(" in text
    shadowed = "import numpy as np\ndef g(np): return np(x)"
    assert "__asnumpy_stage__(" in ast.unparse(Transformer().visit(ast.parse(shadowed)))


def test_attributes_and_loops():
    def staged(text):
        text = ast.unparse(Transformer().visit(ast.parse("import lib, numpy as np\n" + text)))
        assert "__asnumpy_result__(None" not in text
        return text.splitlines()[-1].replace("__asnumpy_", "").replace("__(", "(")

    assert staged("r.x, lib.sub.C, np.pi, self.h, r.shape, r.y.x") == (
        "(back(r.x), lib.sub.C, np.pi, self.h, r.shape, back(r.y.x))"
    )
    assert staged("r.x[1] = o.y") == "r.x[1] = key(r.x, back(o.y))"
    assert staged("a.b.c(r['x'], r[1])") == "back(stage(a.b.c, back(r['x']), r[1])())"
    assert staged("a @ b, c.d ** e, f(x) @ b, a * b, a ** 2") == (
        "(back(a @ key(a, b)), back(back(c.d) ** key(c.d, e)), back(back(stage(f, x)()) @ b), a * b, "
        "a ** 2)"
    )
    assert staged("lambda: x") == "lambda: result(x)"
    assert (
        staged("def f():\n    if x: return\n    if y: return 1\n    return z").strip()
        == "return result(z)"
    )
    assert staged("[i for i in range(3)]") == "[i for i in range(3)]"
    assert staged("[i for i in enumerate(f)]") == "[i for i in enumerate(each(f))]"


def test_counters_are_no_keys():
    text = "for i in range(3):\n    x[i], x[i + 1, 2], x[-1], x[1:]"
    assert "__asnumpy_key__(" not in ast.unparse(Transformer().visit(ast.parse(text)))


INSTALLED = """
import builtins, importlib, sys, pickle, multiprocessing.spawn, numpy, asnumpy
from asnumpy import _support, auto

def state():
    return (list(map(id, sys.meta_path)), builtins.__import__, importlib.import_module,
            multiprocessing.spawn.get_preparation_data, _support.on_override, _support.is_librarys,
            asnumpy.ndarray.__module__, len(vars(asnumpy.ndarray)))

before = state()
for _ in range(3):
    auto.install()
    assert state() != before
    auto.uninstall()
    assert state() == before

first, inside = auto.install(exclude=["a"]), None
once = state()
assert auto.install(exclude=["a"]) is first and state() == once
try:
    auto.install(exclude=["b"])
except RuntimeError as error:
    assert "'exclude': ['a']" in str(error) and "'exclude': ['b']" in str(error), error
assert state() == once
auto.uninstall()
assert state() == once                # installed twice
import helper, usual
assert helper.np is not numpy
text = usual.f.__code__.co_names
for _ in range(2):
    importlib.reload(usual)
    assert usual.f.__code__.co_names == text and text.count("__asnumpy_stage__") == 1
    assert usual.f(usual.np.arange(3)) == [True] and usual.np is helper.np
auto.uninstall()
assert state() == before
importlib.reload(helper)
assert helper.np is numpy
importlib.reload(usual)
assert usual.np is numpy and usual.f(numpy.arange(3)) == [True] and "__asnumpy_stage__" not in usual.f.__code__.co_names

# Another tool's import over the mode's own stays.
auto.install()
mine = builtins.__import__
def others(*args, **kwargs):
    return mine(*args, **kwargs)
builtins.__import__ = others
auto.uninstall()
assert builtins.__import__ is others
import numpy as np
assert np is numpy
auto.install()
exec("import numpy as np", names := {"__name__": "__main__"})
assert names["np"] is not numpy
auto.uninstall()
assert builtins.__import__ is others
print("fine")
"""


def test_install_and_uninstall(place):
    script(
        place,
        "usual.py",
        "import numpy as np\nimport somelib\n\n\ndef f(x):\n    return somelib.given(x)\n",
    )
    name = script(place, "installed.py", INSTALLED)
    assert checked(run(place, name, plain=True)) == "fine\n"


# ---- notebooks


def test_extension_of_ipython(place):
    text = f"""
import sys, types, numpy
shell = types.SimpleNamespace(ast_transformers=[], user_ns={{"np": numpy, "fft": numpy.fft, "x": 1}})
import asnumpy.auto
asnumpy.auto.load_ipython_extension(shell)
assert {OURS.format("shell.user_ns['np'].ones")} and shell.user_ns["fft"] is not numpy.fft
import ast
def cell(text):
    tree = ast.parse(text)
    for t in shell.ast_transformers:
        tree = t.visit(tree)
    exec(compile(tree, "<cell>", "exec"), {{"__name__": "__main__"}} | shell.user_ns, shell.user_ns)
cell("import numpy as n; a = n.arange(3)")
cell("import somelib")
cell("r = somelib.given(a); b = somelib.double(a)")
assert type(shell.user_ns["a"]) is type(shell.user_ns["b"]) is asnumpy.ndarray and shell.user_ns["r"] == [True]
asnumpy.auto.unload_ipython_extension(shell)
assert not shell.ast_transformers
import numpy as again
assert again is numpy and asnumpy.ndarray.__module__ == "asnumpy"
try:
    asnumpy.auto.uninstall()
except RuntimeError as error:
    print(error)
"""
    name = script(place, "shell.py", text)
    assert "not installed" in checked(run(place, name, plain=True))


IPYTHON = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_length=0)
shell.history_manager.enabled = False

def cell(text):
    done = shell.run_cell(text)
    assert done.success, done.error_in_exec or done.error_before_exec
    return done.result

import numpy
cell("import numpy as before")
cell("%load_ext asnumpy.auto")
cell("import numpy as np, numpy.linalg as la\\nfrom numpy import arange\\na = arange(3)")
import asnumpy
names = shell.user_ns
assert names["np"] is names["before"] is not numpy and type(names["a"]) is asnumpy.ndarray
assert names["la"] is not numpy.linalg and cell("la.norm(a) ** 2 + a.sum()") == 8
assert cell("import somelib\\nsomelib.given(a)") == [True]
assert cell("somelib.given(a, x=a)") == [True, True]
assert type(cell("somelib.double(a)")) is asnumpy.ndarray and cell("a.tolist()") == [0, 2, 4]
assert type(cell("[x for x, _ in somelib.folds(2)][1]")) is asnumpy.ndarray
assert cell("t = somelib.Table(a)\\nt.holds_numpys()") and type(cell("t.a")) is asnumpy.ndarray
cell("%time r = somelib.given(a)")
assert names["r"] == [True]
cell("%%timeit -n1 -r1 n = 2\\nassert somelib.given(a) == [True]")
cell("def f(x):\\n    import numpy\\n    return numpy.zeros(x)\\ng = f(2)")
assert type(names["g"]) is asnumpy.ndarray
failed = shell.run_cell("somelib.fail(\\n  a)", store_history=False)
assert "in the library" in str(failed.error_in_exec)
cell("x = 1\\nawait __import__('asyncio').sleep(0)")
cell("%reload_ext asnumpy.auto")
assert len(shell.ast_transformers) == 1 and cell("somelib.given(a)") == [True]
cell("%unload_ext asnumpy.auto")
assert not shell.ast_transformers
cell("import numpy as after")
assert names["after"] is numpy
print("fine", flush=True)
"""


def test_in_ipython(place):
    pytest.importorskip("IPython")
    name = script(place, "cells.py", IPYTHON)
    assert checked(run(place, name, plain=True, IPYTHONDIR=str(place))).endswith("fine\n")


# ---- errors found on the way


def test_errors_name_the_shape_of_out():
    import asnumpy

    for shapes in [
        (3, 3, 2),
        (3, 2, 3),
        (3, 3, 1),
        ((2, 3), 3, 3),
        ((2, 3), (2, 1), (4, 3)),
        (3, 3, ()),
    ]:
        x, y, out = shapes
        with pytest.raises(ValueError) as theirs:
            numpy.add(numpy.zeros(x), numpy.zeros(y), out=numpy.zeros(out))
        with pytest.raises(ValueError) as ours:
            asnumpy.add(asnumpy.zeros(x), asnumpy.zeros(y), out=asnumpy.zeros(out))
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(ValueError, match=r"shapes \(3,\) \(\) \(2,\)"):
        asnumpy.add(asnumpy.zeros(3), 1, out=asnumpy.zeros(2))
    with pytest.raises(ValueError, match=r"shapes \(3,\) \(2,\) \(3,\)"):
        a = asnumpy.zeros(3)
        a += [1, 2]
