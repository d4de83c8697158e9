"""The API reference of the documentation has every public name (docs/site/reference.py)."""

import importlib
import inspect
import pathlib
import re
import sys

import asnumpy
import pytest

SITE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"
sys.path.insert(0, str(SITE))
import reference  # noqa: E402


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """{file: text} of all generated pages."""
    folder = tmp_path_factory.mktemp("reference")
    reference.write(folder)
    return {p.name: p.read_text() for p in folder.iterdir()}


def test_every_name_has_its_place():
    lost, unknown = reference.missing()
    assert not lost, f"put into docs/site/topics.txt, or MODULES of reference.py: {lost}"
    assert not unknown, (
        f"in docs/site/topics.txt, but no name of asnumpy, or there twice: {unknown}"
    )


def public():
    """Names of the package and its modules, asked in another way than reference.py does."""
    for module in ["", *reference.MODULES]:
        there = importlib.import_module(f"asnumpy.{module}".rstrip("."))
        for name in there.__all__:
            if not inspect.ismodule(getattr(there, name)):
                yield ".".join(filter(None, ["asnumpy", module, name]))


def test_every_name_has_a_page_or_a_line(pages):
    text = "\n".join(pages.values())
    for full in public():
        module, name = full.rpartition(".")[::2]
        topic = pages.get(f"{module.removeprefix('asnumpy').lstrip('.')}.md", text)
        assert f"{full}.rst" in pages or f"| `{name}` | " in topic, full


def test_the_packages_own_list_is_covered():
    grouped = {n for *_, tables in reference.topics() for _, names in tables for n in names}
    modules = {n for n in asnumpy.__all__ if inspect.ismodule(getattr(asnumpy, n))}
    assert set(asnumpy.__all__) - modules <= grouped


def test_members_of_classes_are_described(pages):
    for name, cls in (("ndarray", asnumpy.ndarray), ("random.Generator", asnumpy.random.Generator)):
        page = pages[f"asnumpy.{name}.rst"]
        for member in (m for m in dir(cls) if not m.startswith("_")):
            assert re.search(
                rf"^\.\. py:(method|attribute):: asnumpy\.{name}\.{member}\b", page, re.M
            )


def test_signatures_are_those_of_help(pages):
    for name in ("zeros", "linspace", "sin", "concatenate", "linalg.norm", "random.default_rng"):
        found = asnumpy
        for part in name.split("."):
            found = getattr(found, part)
        assert f"asnumpy.{name}{inspect.signature(found)}\n" in pages[f"asnumpy.{name}.rst"]


def test_numpys_own_objects_are_said_to_be_so(pages):
    line = next(x for x in pages["ndarray.md"].splitlines() if x.startswith("| `float32` |"))
    assert "NumPy's own" in line and "https://numpy.org/doc/" in line
    assert "asnumpy.float32.rst" not in pages
    assert (
        "| `mod` | the same as [`asnumpy.remainder`](asnumpy.remainder.rst) |" in pages["math.md"]
    )


def test_numpys_texts_are_not_copied(pages):
    import numpy

    for name in ("savetxt", "loadtxt", "genfromtxt"):
        theirs = inspect.getdoc(getattr(numpy, name))
        ours = inspect.getdoc(getattr(asnumpy, name))
        assert theirs != ours or theirs.splitlines()[-1] not in pages[f"asnumpy.{name}.rst"]


def test_a_missing_name_is_named(monkeypatch):
    topics = (SITE / "topics.txt").read_text()
    monkeypatch.setattr(
        reference,
        "topics",
        lambda parse=reference.topics: parse(topics.replace(" linspace ", " linspaec ")),
    )
    assert reference.missing() == (["linspace"], ["linspaec"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain *args and name_", "plain \\*args and name\\_\n"),
        ("a `x * y` b", "a ``x * y`` b\n"),
        ("`with` s", "``with`` s\n"),
        ("one:\n\n    x = 1\n", "one:\n\n.. code-block:: python\n\n   x = 1\n"),
        (">>> 1 + 1\n2", ".. code-block:: pycon\n\n   >>> 1 + 1\n   2\n"),
        ("- a_\n- b\n  c", "- a\\_\n- b\n  c\n"),
    ],
)
def test_plain_text_becomes_markup(text, expected):
    assert reference.prose(text) == expected
