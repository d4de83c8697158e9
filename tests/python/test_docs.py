"""What help() shows: the examples run as they are printed, and who has a whole text."""

import doctest
import inspect
import pathlib
import sys

import asnumpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gen_docs import sections  # noqa: E402

TEXTS = sections()


def owner_of(name):
    """The object that a section is of."""
    found = asnumpy
    for part in name.split("."):
        found = (
            inspect.getattr_static(found, part)
            if found is asnumpy.ndarray
            else getattr(found, part)
        )
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_shown(name):
    """The text is that of the object, and its examples print what they say."""
    shown = owner_of(name).__doc__
    assert TEXTS[name].strip() in shown
    assert "Examples\n--------\n" in TEXTS[name] and ">>> " in TEXTS[name]
    example = doctest.DocTestParser().get_doctest(TEXTS[name], {"np": asnumpy}, name, None, 0)
    told = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(example, out=told.append)
    assert not told, "".join(told)


def test_lines_fit():
    for name, text in TEXTS.items():
        assert all(len(line) <= 100 for line in text.splitlines()), name
        first = text.partition("\n")[0]
        assert first.endswith(".") and first[0].isupper(), name
