"""Checks that prose in Markdown files has lines of at most 100 columns; code, tables and what cannot be cut may be longer."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 100
WHOLE = re.compile(r"\s*(\||#|<|!\[|\[[^\]]+\]:)|^\s*(?:[-*+] +)?\S+$")  # or a single word


def long_lines(text):
    """(number, line) of those too long."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*(```|~~~)", line)
        code ^= bool(fence)
        if not (code or fence or WHOLE.match(line)) and len(line) > WIDTH:
            yield number, line


def main():
    files = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    found = [(f, *at) for f in files for at in long_lines((ROOT / f).read_text())]
    for file, number, line in found:
        print(f"{file}:{number}: {len(line)} columns: {line[:60]}...")
    print(f"{len(files)} Markdown files, {len(found)} lines of prose longer than {WIDTH} columns")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
