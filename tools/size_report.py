"""The size report: files and functions that are probably two concepts, folders without comments.

usage: size_report.py [--limit-file N] [--limit-function N] [--folders]

Prints C files past 800 lines, functions past 60 lines and folders with comments in fewer than 15 of a
hundred lines (the house's limits); exits 1 when a file is past twice its limit, or for such a folder.
`--folders` adds a table: each folder's files, lines, and how many lines in a hundred hold a comment. Functions are found by clang-format's layout: a line that starts in column 0
and ends in `{`, up to `}` in column 0. Standard library only.
"""

import argparse
import pathlib
import sys

LEAST_TOLD = 15  # lines of a hundred with comments, in each folder
ROOT = pathlib.Path(__file__).resolve().parent.parent


def functions(lines):
    """(name line, first, length) of each function body."""
    start = None
    for i, line in enumerate(lines):
        if (
            line.endswith("{\n")
            and line[0] not in " \t}#/"
            and "(" in "".join(lines[max(0, i - 6) : i + 1])
        ):
            start = i
        elif line.startswith("}") and start is not None:
            yield lines[start].strip(), start + 1, i - start + 1
            start = None


def comment_lines(lines):
    """How many lines hold a comment or a part of one. (A string with a slash and a star in it
    would count; there is none.)"""
    count, inside = 0, False
    for line in lines:
        count += inside or "/*" in line or line.lstrip().startswith("//")
        inside = (
            line.rfind("*/") < line.rfind("/*") if "/*" in line else inside and "*/" not in line
        )
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit-file", type=int, default=800)
    parser.add_argument("--limit-function", type=int, default=60)
    parser.add_argument("--folders", action="store_true")
    limits = parser.parse_args()
    total = files = comments = 0
    folders = {}
    long_functions, long_files = [], []
    for path in sorted(p for s in ("*.c", "*.h", "*.inc") for p in (ROOT / "src").rglob(s)):
        lines = path.read_text().splitlines(keepends=True)
        name = path.relative_to(ROOT)
        total += len(lines)
        files += 1
        comments += comment_lines(lines)
        in_folder = folders.setdefault(name.parent, [0, 0, 0])
        for i, n in enumerate((1, len(lines), comment_lines(lines))):
            in_folder[i] += n
        if len(lines) > limits.limit_file:
            long_files.append((len(lines), name))
        for head, at, length in functions(lines):
            if length > limits.limit_function:
                long_functions.append(f"{name}:{at}: {length} lines: {head[:70]}")
    print(f"size: {files} C files, {total} lines, {comments} of them with comments")
    if limits.folders:
        for folder, (number, count, told) in sorted(folders.items()):
            print(
                f"  {str(folder):28} {number:3} files {count:6} lines {100 * told / count:5.1f} %"
            )
    for length, name in long_files:
        print(f"  long file: {name}: {length} lines")
    for text in long_functions:
        print(f"  long function: {text}")
    bare = [f for f, (_, count, told) in sorted(folders.items()) if 100 * told < LEAST_TOLD * count]
    for folder in bare:
        print(f"  few comments: {folder}: less than {LEAST_TOLD} lines of a hundred")
    sys.exit(bool(bare) or any(length > 2 * limits.limit_file for length, _ in long_files))


if __name__ == "__main__":
    main()
