"""What help() shows: every public callable and attribute has a whole text of ours, whose examples run."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import pydoc
import re
import sys
import types

import asnumpy
import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gen_docs import sections  # noqa: E402

TEXTS = sections()
WIDTH = 100
# Modules whose examples need a library that the package itself does not.
LIBRARIES = {"asnumpy.monitor.": "prometheus_client", "asnumpy.sparse.linalg.": "scipy"}


# What is no callable of its own: NDArray, too, an alias of the class.
DATA = (types.ModuleType, types.GenericAlias, asnumpy.ndarray, str, list, tuple, dict)


def public_modules():
    """asnumpy and its modules without an underscore, NumPy's own apart."""
    found = [asnumpy]
    for info in pkgutil.walk_packages(asnumpy.__path__, "asnumpy."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            found.append(importlib.import_module(info.name))
    return found


def names_of(module):
    """What a module offers; the package itself also NumPy's names that are not in __all__."""
    names = {n for n in dir(module) if not n.startswith("_")}
    return sorted(names | set(module.__all__) if module is asnumpy else module.__all__)


def numpys(where):
    """NumPy's object of the name, or None."""
    found = numpy
    for part in where.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def is_numpys(module, name, found):
    """Whether NumPy has the very object under the name, or in the module that it names as its own."""
    return found is numpys(f"{module.__name__}.{name}")


def objects():
    """{where: object}: callables of the modules, and objects of ours that are called by brackets (r_).

    An object with several names is there once.
    """
    found, known = {}, set()
    for module in public_modules():
        offered = [(name, getattr(module, name)) for name in names_of(module)]
        for name, one in sorted(offered, key=lambda x: getattr(x[1], "__name__", x[0]) != x[0]):
            shown = callable(one) or hasattr(type(one), "__getitem__")
            data = isinstance(one, DATA)
            if shown and not data and not is_numpys(module, name, one) and id(one) not in known:
                known.add(id(one))
                found[f"{module.__name__}.{name}"] = one
    return found


def is_ours(cls):
    return cls.__module__.partition(".")[0] == "asnumpy"


def members():
    """{where: (class, member)}: public methods and attributes of those of the classes that are ours, as
    the class that defines them has them."""
    found, known = {}, set()
    for where, cls in objects().items():
        if not isinstance(cls, type):
            continue
        for name in (n for n in dir(cls) if not n.startswith("_")):
            owner = next(c for c in cls.__mro__ if name in vars(c))
            member = vars(owner)[name]
            if is_ours(owner) and id(member) not in known:
                known.add(id(member))
                found[f"{where}.{name}"] = (cls, member)
    return found


OBJECTS, MEMBERS = objects(), members()
ATTRIBUTES = (property, types.GetSetDescriptorType)


def is_method(member):
    return callable(member) or isinstance(member, (classmethod, staticmethod))


METHODS = {where: m for where, (_, m) in MEMBERS.items() if is_method(m)}
ATTRIBUTES_OF_ARRAYS = {
    where: m for where, (cls, m) in MEMBERS.items() if cls is asnumpy.ndarray and not is_method(m)
}
OTHER_ATTRIBUTES = {
    where: (cls, m)
    for where, (cls, m) in MEMBERS.items()
    if cls is not asnumpy.ndarray and not is_method(m)
}


def is_function(found):
    """Nothing that is a class, or is called by brackets."""
    return is_method(found) and not isinstance(found, type)


def text_of(found):
    """The text that help() shows, without the first line of a ufunc, which is its signature."""
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    text = inspect.cleandoc(found.__doc__ or "")
    return text.partition("\n\n")[2] if isinstance(found, asnumpy.ufunc) else text


def begins_well(text):
    first = text.partition("\n")[0]
    return first.endswith((".", ".)", ":")) and (first[0].isupper() or "(" in first.split()[0])


def parameters_of(found):
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    if isinstance(found, type) and issubclass(found, Exception):
        return []
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        return []
    names = [n for n in parameters if n not in ("args", "kwargs")]  # each is told by its own name
    if isinstance(found, asnumpy.ufunc):  # the keywords of all are told with the class
        names = [n for n in names if not re.search(rf"\b{n}\b", asnumpy.ufunc.__doc__)]
    return [n for n in names if n not in ("self", "cls", "_cls")]


def faults_of(found, callable_=True):
    """What a text lacks."""
    text = text_of(found)
    if not text:
        return ["no text"]
    faults = [f"line of {len(t)} columns: {t}" for t in text.splitlines() if len(t) > WIDTH]
    if not begins_well(text):
        faults.append("the first line is no sentence")
    for name in parameters_of(found) if callable_ else ():
        if not re.search(rf"(?<!\w){name}(?!\w)", text):
            faults.append(f"parameter {name} is not told")
    needed = ["Examples"]
    if callable_ and parameters_of(found):
        needed.append("Parameters")
    if callable_ and is_function(found):
        needed.append("Returns")
    for section in needed:
        if not re.search(rf"^{section}\n-{{{len(section)}}}$", text, re.M):
            faults.append(f"no section {section}")
    return faults


def run_examples(name, text):
    """The examples print what the text says, in a namespace of their own."""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    told = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(example, out=told.append)
    assert not told, "".join(told)


def numpys_text(where):
    return inspect.cleandoc(numpys(where).__doc__ or "") if numpys(where) is not None else ""


@pytest.mark.parametrize("where", [*OBJECTS, *METHODS, *ATTRIBUTES_OF_ARRAYS])
def test_text(where):
    """A sentence, the parameters, what is returned, and examples that print what they say."""
    found = {**OBJECTS, **METHODS, **ATTRIBUTES_OF_ARRAYS}[where]
    faults = faults_of(found, where not in ATTRIBUTES_OF_ARRAYS)
    assert not faults, "\n".join([where, *faults])
    text = text_of(found)
    assert text != numpys_text(where)
    assert ">>> " in text
    for module, library in LIBRARIES.items():
        if where.startswith(module):
            pytest.importorskip(library)
    run_examples(where, text)


def test_attributes_of_other_classes():
    """A sentence of their own, or, of the fields of a record, a line in the text of the class."""
    faults = []
    for where, (cls, member) in OTHER_ATTRIBUTES.items():
        name = where.rpartition(".")[2]
        if isinstance(member, ATTRIBUTES):
            text = inspect.cleandoc(member.__doc__ or "")
            if not text or not begins_well(text):
                faults.append(where)
        elif not re.search(rf"(?<!\w){name}(?!\w)", text_of(cls)):
            faults.append(f"{where} in the text of its class")
    assert not faults


def test_sections_are_used():
    """A section of src/python/docs is the text of something."""
    members = [member for _, member in MEMBERS.values()]
    whole = "\n\n".join(map(text_of, [*OBJECTS.values(), *members]))
    unused = [name for name, text in TEXTS.items() if text.strip() not in whole]
    assert not unused


def test_everything_is_looked_at():
    assert len(OBJECTS) > 700 and len(METHODS) > 180 and len(ATTRIBUTES_OF_ARRAYS) > 15
    assert {"asnumpy.sin", "asnumpy.median", "asnumpy.linalg.svd", "asnumpy.r_"} <= set(OBJECTS)


def test_a_ufuncs_text_is_its_own():
    assert asnumpy.ufunc.__doc__ == type(asnumpy.add).__doc__
    assert isinstance(asnumpy.ufunc.__doc__, str)
    assert asnumpy.add.__doc__.startswith("add(x1, x2, /, out=None")
    assert asnumpy.sin.__doc__ != asnumpy.add.__doc__


# ---- what help() and a prompt show besides


@pytest.mark.parametrize("where", [*OBJECTS, *METHODS])
def test_signature(where):
    """help() shows names of parameters, which NumPy's function has too where it has the name."""
    found = {**OBJECTS, **METHODS}[where]
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    is_exception = isinstance(found, type) and issubclass(found, Exception)
    if is_exception or found is asnumpy.ufunc or not callable(found):
        return
    signature = inspect.signature(found)
    hidden = [f"*{n}" for n in ("args", "kwargs") if n in signature.parameters]
    if not all(name in text_of(found) for name in hidden):  # NumPy hides them as well
        try:
            theirs = inspect.signature(numpys(where))
        except ValueError:  # of methods, before 2.4
            return
        assert str(signature) == str(theirs)
    if not isinstance(found, (type, asnumpy.ufunc)):
        page = pydoc.plain(pydoc.render_doc(found))
        assert f"{found.__name__}(" in "".join(page.splitlines()[:6])


@pytest.mark.parametrize("module", public_modules(), ids=lambda m: m.__name__)
def test_names_at_a_prompt(module):
    """dir() shows what a module offers, and no name of its own or of a library that it uses."""
    shown = set(dir(module))
    if isinstance(module, types.ModuleType):
        assert set(getattr(module, "__all__", ())) <= shown
    assert [n for n in shown if n.startswith("_") and not n.startswith("__")] == []
    leaked = [
        name
        for name in shown
        if isinstance(found := getattr(module, name), types.ModuleType)
        and not found.__name__.startswith(("asnumpy", "numpy"))
    ]
    assert leaked == []


def test_names_of_numpy_at_a_prompt():
    for theirs in (numpy, numpy.linalg, numpy.fft, numpy.polynomial, numpy.random, numpy.testing):
        ours = importlib.import_module("as" + theirs.__name__)
        assert set(theirs.__all__) & {n for n in dir(theirs) if hasattr(ours, n)} <= set(dir(ours))
