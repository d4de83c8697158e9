"""docs/guide/behaviours.md names tests that exist, for each of the behaviours."""

import ast
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "guide" / "behaviours.md"
ROWS = re.findall(r"^\| (\d+) \|(.*)\|(.*)\|$", PAGE.read_text(), re.MULTILINE)


def defined_in(path):
    return {
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    }


def test_every_behaviour_has_a_row():
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 26))


@pytest.mark.parametrize(("number", "text", "tests"), ROWS, ids=[r[0] for r in ROWS])
def test_named_tests_exist(number, text, tests):
    names = re.findall(r"`([^`]+)`", tests)
    assert names and text.strip()
    for name in names:
        file, _, test = name.partition("::")
        assert (HERE / file).is_file(), name
        assert not test or test in defined_in(HERE / file), name
