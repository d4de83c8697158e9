"""What excluded.txt says: the files and tests of NumPy's that do not apply, and why.

A line of the list is the path of a test file, or file::Class::test[parameters] with `*` for any text;
lines that begin with "# " give the reason of those that follow. `run.py --excluded` runs what the list
leaves out, to keep it as short as the truth.
"""

import fnmatch
import pathlib


def exclusions():
    """(file patterns, test patterns), each with its reason."""
    files, tests, reason = {}, {}, None
    for line in pathlib.Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            (tests if "::" in line else files)[line.strip()] = reason
    return files, tests


def matches(name, pattern):
    """Whether a test, as Class::test[parameters], is one that a pattern means."""
    return fnmatch.fnmatch(name, pattern.partition("::")[2].replace("[", "[[]"))
