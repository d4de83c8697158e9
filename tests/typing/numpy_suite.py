"""NumPy's own typing tests with our namespace: which share of them a type checker takes as NumPy's.

usage: numpy_suite.py [--checker mypy|pyright|basedpyright] [--list] [--misses FILE] [FILE ...]
FILE: names under numpy/typing/tests/data ("reveal/fft.pyi"), all of them by default. --list prints every miss, --misses
writes them.

The files are in NumPy's wheel (numpy/typing/tests/data): `pass` has programs that are right, `fail` lines of which each
has the error that it names (``# type: ignore[...]``, and one too many is an error as well), `reveal` types to be exact
(``assert_type``), `misc` what depends on the platform. They are copied to a temporary folder and rewritten there: in every
import statement the module ``numpy`` becomes ``asnumpy`` (``import numpy as np`` is ``import asnumpy as np``, ``from
numpy.lib import`` is ``from asnumpy.lib import``), except modules that are private to NumPy (``numpy._typing``,
``numpy.linalg._linalg``), which stay. Nothing else is changed. The checker runs over the files as they are and over the rewritten ones, with NumPy's own
configuration of it (strict).

What is counted: in `reveal` the assert_type calls, in `fail` the ignored errors, in `pass` and `misc` the statements that
are no compound ones. One is a miss where the checker finds an error on its lines in one of the two files and not in the
other. An error elsewhere (an import, a declaration) is a miss of its own and counts beside them. With mypy the exit status
is 1 where a file has more misses than `misses.txt` beside this file knows of.
"""

import argparse
import ast
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

DATA = pathlib.Path(numpy.__file__).parent / "typing" / "tests" / "data"
IMPORT = re.compile(r"^(\s*(?:import|from)\s+)numpy(?=[.\s])(?![\w.]*\._)", re.MULTILINE)
KNOWN = pathlib.Path(__file__).with_name("misses.txt")
MYPY_LINE = re.compile(r"^(.*?\.pyi?):(\d+)(?::\d+)*: error: (.*)$")


def rewritten(text):
    """The text with our package imported for NumPy."""
    return IMPORT.sub(r"\1asnumpy", text)


def spans(path):
    """(first, last) line of each thing that counts."""
    text = path.read_text()
    lines = text.splitlines()
    statements = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
    simple = [n for n in statements if not hasattr(n, "body")]
    if path.parent.name == "fail":
        return [(n, n) for n, line in enumerate(lines, 1) if "# type: ignore[" in line]
    if path.parent.name == "reveal":
        simple = [
            n for n in simple if isinstance(n, ast.Expr) and "assert_type" in lines[n.lineno - 1]
        ]
    return [(n.lineno, n.end_lineno) for n in simple]


def mypy_errors(folder):
    """{file: {line: [message]}}."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(DATA / "mypy.ini"), "--no-pretty",
               "--no-error-summary", "--hide-error-context", "--no-incremental", "."]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in done.stdout.splitlines():
        match = MYPY_LINE.match(line)
        if match:
            found[named(match[1])][int(match[2])].append(match[3])
    return found


def pyright_errors(folder, checker):
    """Likewise; NumPy's comments for mypy are not read, so that the lines of `fail` have their errors."""
    folder.joinpath("pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "standard", "enableTypeIgnoreComments": False,
                    "pythonPath": sys.executable, "reportPrivateUsage": False}))  # fmt: skip
    done = subprocess.run(
        [checker, "--outputjson", "--pythonpath", sys.executable, "--project", str(folder)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for d in json.loads(done.stdout)["generalDiagnostics"]:
        if d["severity"] == "error":
            line = d["range"]["start"]["line"] + 1
            found[named(d["file"])][line].append(d["message"].splitlines()[0])
    return found


def laid_out(folder, names, change):
    """The files in a folder, changed. `reveal/random.pyi` is `reveal_random.pyi`: a module of a name of its own."""
    folder.mkdir()
    for name in names:
        folder.joinpath(name.replace("/", "_")).write_text(change((DATA / name).read_text()))
    return folder


def named(file):
    """The name under NumPy's data of a file that was laid out."""
    return pathlib.Path(file).name.replace("_", "/", 1)


def misses_of(name, theirs, ours):
    """(how many things count, [(line, message)] of those that are not as NumPy's)."""
    places = spans(DATA / name)
    missed, within = [], set()
    for first, last in places:
        place = range(first, last + 1)
        within.update(place)
        own, other = ([n for n in place if n in side] for side in (ours, theirs))
        if bool(own) != bool(other):
            missed.append((first, ours[own[0]][0] if own else "no error"))
    outside = [(n, text[0]) for n, text in ours.items() if n not in within and n not in theirs]
    return len(places) + len(outside), sorted(missed + outside)


def known_misses():
    """{file: how many things of it mypy does not take as NumPy's}, as `misses.txt` says."""
    lines = KNOWN.read_text().splitlines()
    rows = [line.partition("#")[0].split() for line in lines]
    return {row[0]: int(row[1]) for row in rows if row}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checker", default="mypy")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--misses")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    names = options.files or sorted(
        str(p.relative_to(DATA)) for p in DATA.rglob("*.py*") if p.suffix in (".py", ".pyi")
    )
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place).resolve()
        sides = [
            laid_out(place / "numpy_side", names, str),
            laid_out(place / "our_side", names, rewritten),
        ]
        if options.checker == "mypy":
            theirs, ours = map(mypy_errors, sides)
        else:
            checker = shutil.which(options.checker) or options.checker
            theirs, ours = (pyright_errors(side, checker) for side in sides)
    counts = report(names, theirs, ours, options)
    if options.checker == "mypy":
        known = known_misses()
        more = {n: (c, known.get(n, 0)) for n, c in counts.items() if c > known.get(n, 0)}
        for name, (count, before) in more.items():
            print(f"{name}: {count} misses, {before} are known (tests/typing/misses.txt)")
        sys.exit(bool(more))


def report(names, theirs, ours, options):
    """Prints the shares; {file: its misses}."""
    totals = collections.defaultdict(lambda: [0, 0, 0, 0])  # files, whole files, things, misses
    told, counts = [], {}
    for name in names:
        count, missed = misses_of(name, theirs[name], ours[name])
        counts[name] = len(missed)
        for key in (name.partition("/")[0], "all"):
            row = totals[key]
            row[0] += 1
            row[1] += not missed
            row[2] += count
            row[3] += len(missed)
        told += [f"{name}:{line}  {text}" for line, text in missed]
        if options.list:
            print(f"{name}: {count - len(missed)} of {count}")
    if options.list:
        print("\n".join(told))
    if options.misses:
        pathlib.Path(options.misses).write_text("\n".join(told) + "\n")
    for key, (files, whole, count, missed) in totals.items():
        print(
            f"{key:8s} {whole} of {files} files, {count - missed} of {count} as NumPy's: {1 - missed / max(count, 1):.1%}"
        )
    return counts


if __name__ == "__main__":
    main()
