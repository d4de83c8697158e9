"""Runs the code of a page of the documentation and tells what it prints, block by block.

A block of ```text that follows a block of code without a word between them is what that code
prints, and `differences` compares them: `...` stands for anything, and where a line of the code has
"# the figures vary" every number is equal to every other. Python's blocks are one program; one
whose first line is a comment with a file's name, as C's are, is written to that file instead, and
from one on that begins with "# needs: LIBRARY" they are left out where there is none. Commands of
```sh run in the same folder, where the page says what they print.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(python|c|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"(?:/\*|#) (\w+\.(?:c|py))(?: \*/)?\n")
NEEDS = re.compile(r"# needs: (.*)\n")
MARK = "\x1e"


def blocks_of(page):
    """[(language, code, what it prints or None)]"""
    return [m.groups() for m in BLOCK.finditer((DOCS / page).read_text())]


def lacks(code):
    """The libraries that a block says it needs and that are not here."""
    needs = NEEDS.match(code)
    return [n for n in needs[1].split() if importlib.util.find_spec(n) is None] if needs else []


def environment():
    """That of a reader, who has set nothing and whose python is this one."""
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith(("ASNUMPY_", "ASCEND_"))},
        "MPLBACKEND": "Agg",
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    }


def run(page, folder):
    """[(code, what the page says it prints or None, what it printed)]"""
    found, program, left_out = [], [], False
    for language, code, said in blocks_of(page):
        name = FILE.match(code)
        if name:
            (folder / name[1]).write_text(code)
        elif language == "sh" and said is not None:
            code_here = re.sub(r"\bpython\b", shlex.quote(sys.executable), code)
            found.append((code, said, command(["sh", "-e", "-c", code_here], folder)))
        elif language == "python":
            left_out = left_out or bool(lacks(code))
            program += [] if left_out else [(code, said)]
    (folder / "page.py").write_text(f"\nprint({MARK!r}, flush=True)\n".join(c for c, _ in program))
    if program:
        printed = command([sys.executable, "page.py"], folder).split(MARK + "\n")
        found += [(*block, out) for block, out in zip(program, printed, strict=True)]
    return found


def command(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def matches(said, printed):
    """`...` within a line stands for anything there, as a line for any number of lines, and spaces for any number."""
    parts = []
    for line in said.strip().splitlines():
        words = [re.escape(x) for x in " ".join(line.split()).split("...")]
        parts.append("(?:.*\n)*" if line.strip() == "..." else ".*".join(words) + "\n")
    lines = "".join(" ".join(line.split()) + "\n" for line in printed.strip().splitlines())
    return re.fullmatch("".join(parts), lines) is not None


def differences(code, said, printed):
    """What is not as the page says, or ""."""
    if said is None:
        return ""
    if "# the figures vary" in code:
        said, printed = (re.sub(r"\d[\d.,]*", "0", text) for text in (said, printed))
    return "" if matches(said, printed) else f"{code}\nthe page says\n{said}\nit printed\n{printed}"
