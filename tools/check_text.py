"""Checks the Markdown files, and what else users read.

Lines of prose have at most 100 columns; code, tables and what cannot be cut may be longer. A
design note is one page, of at most 60 lines, and what follows `## Appendix`. The files, links and
C names that README, CONTRIBUTING and docs mention exist. No page, message or recipe installs the
package by a name from PyPI, where `asnumpy` is another project's. In the pages that lead through the source
a function, written `name()`, is defined in one of the files that its paragraph or item names.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 100
PAGE = 60  # lines of a design note before its appendix
WHOLE = re.compile(r"\s*(\||#|<|!\[|\[[^\]]+\]:)|^\s*(?:[-*+] +)?\S+$")  # or a single word
NOTE = re.compile(r"docs/design/\d{4}-.*\.md")
NAMES_FILES = re.compile(r"(README|CONTRIBUTING)\.md|docs/.*")
LEADS_THROUGH = {"docs/guide/walks.md", "docs/glossary.md"}
# `src/graph/plan/plan.c`, `plan.c`, `src/graph`, `vmath_*.inc`, without what may follow (`:51`)
FOLDER = r"(?:src|tests|tools|docs|include|examples|benchmarks|cmake)/[\w./*-]*"
FILE = re.compile(rf"{FOLDER}|(?<![\w./<-])[\w*][\w./*-]*\.(?:c|h|inc|def|py|sh)(?![\w/])")
SYMBOL = re.compile(r"\b(?:asnd?_|asnop_|asnrt[A-Z]|aclnnx[A-Z])\w*")
# Of C, of CPython, a reader's own, and what a build or the bench makes.
FOREIGN = {
    "fenv.h",
    "tgmath.h",
    "zlib.h",
    "Python.h",
    "internal/pycore_frame.h",
    "program.py",
    "acl/acl.h",
}
FOREIGN |= {"aclnn/acl_meta.h", "aclnnop/*.h", "benchmarks/results/latest.html"}
# What users read or copy: pages, the package's messages, recipes.
READ = re.compile(r".*\.(md|ya?ml|rst|ipynb)|(python|examples|src|include|benchmarks)/.*|Makefile")
# The package by its name; a folder or a wheel (./asnumpy, asnumpy_ascend-*.whl) is no name.
BY_NAME = re.compile(
    r"\b(?:pip3?|uv|pipx) (?:install|add|download)\b[^\n`]*?[ \"'=]asnumpy(-ascend)?(?![\w./-])"
)


def prose_of(text):
    """(number, line, fenced) of each line."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*(```|~~~)", line)
        code ^= bool(fence)
        yield number, line, code or bool(fence)


def long_lines(text):
    """(number, what is wrong) of lines that are too long."""
    for number, line, fenced in prose_of(text):
        if not (fenced or WHOLE.match(line)) and len(line) > WIDTH:
            yield number, f"{len(line)} columns: {line[:60]}..."


def long_page(text):
    """Likewise of a design note."""
    page, appendix, _ = text.partition("\n## Appendix\n")
    lines = len(page.rstrip().splitlines())
    if lines > PAGE:
        yield (
            lines,
            f"{lines} lines {'before' if appendix else 'without'} an appendix; at most {PAGE}",
        )


class Tree:
    """What is in the repository: files and folders by every end of their paths, and C's names."""

    def __init__(self, files):
        self.ends, self.paths = set(), set()
        for file in files:
            parts = file.split("/")
            for i in range(len(parts)):
                self.ends.add("/".join(parts[i:]))
                self.paths.add("/".join(parts[: i + 1]))
        sources = [f for f in files if re.match(r"(src|include|tools|tests/(c|abi|capi|fuzz))/", f)]
        self.text = {f: (ROOT / f).read_text(errors="replace") for f in sources}
        self.words = set(re.findall(r"\w+", "\n".join(self.text.values())))

    def has_file(self, name):
        name = name.rstrip("/.")
        if name in FOREIGN:
            return True
        known = self.paths | self.ends
        if "*" in name:
            pattern = re.escape(name).replace(r"\*", "[^/]*")
            return any(re.fullmatch(pattern, k) for k in known)
        return name in known

    def has_symbol(self, name):
        return name in self.words or (
            name.endswith("_") and any(w.startswith(name) for w in self.words)
        )

    def defines(self, name, files):
        """Whether one of the files defines the function, in a line that is not indented."""
        line = re.compile(rf"^[A-Za-z_][\w *()]*?[ *]{name}\(|^static .*\b{name}\(", re.M)
        inline = re.compile(rf"^[\w ]*static inline [^;\n]*\b{name}\(", re.M)
        return any(
            (inline if f.endswith(".h") else line).search(t)
            for f, t in self.text.items()
            if any(f == n or f.endswith(f"/{n}") for n in files)
        )


def spans_of(text):
    """(number, what it says) of each code span."""
    prose = "\n".join("" if fenced else line for _, line, fenced in prose_of(text))
    for span in re.finditer(r"`([^`]+)`", prose):
        yield 1 + prose.count("\n", 0, span.start()), span[1]


def missing_names(text, tree):
    """Likewise of files and C names, in code spans, that the repository lacks."""
    for number, span in spans_of(text):
        for name in FILE.findall(span):
            if not tree.has_file(name):
                yield number, f"there is no file {name}"
        for name in SYMBOL.findall(span):
            if not tree.has_symbol(name):
                yield number, f"no C source has {name}"


def missing_links(file, text):
    """Likewise of relative links to files that are not there."""
    for number, line, fenced in prose_of(text):
        for target in [] if fenced else re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not ((ROOT / file).parent / target).exists():
                yield number, f"the link to {target} leads nowhere"


def lost_functions(text, tree):
    """Likewise of functions, written `name()`, that none of the files of their item defines."""
    number = 1
    for item in re.split(r"\n(?=\n|\d+\. |- |\| )", text):
        spans = re.findall(r"`([^`]+)`", item)
        files = [name for s in spans for name in FILE.findall(s)]
        for name in (re.fullmatch(r"(\w+)\(\)", s) for s in spans):
            if name and not tree.defines(name[1], files):
                yield number, f"{name[1]}() is defined in none of {', '.join(files) or 'its files'}"
        number += item.count("\n") + 1


def installed_by_name(text):
    """(number, what is wrong) of lines that would fetch another project's package."""
    for number, line in enumerate(text.splitlines(), 1):
        if BY_NAME.search(line):
            yield (
                number,
                "AsNumpy is not on PyPI, where asnumpy is another project's: pip install .",
            )


def faults(file, tree):
    text = (ROOT / file).read_text(errors="replace")
    yield from installed_by_name(text)
    if not file.endswith(".md"):
        return
    yield from long_lines(text)
    yield from missing_links(file, text)
    if NOTE.fullmatch(file):
        yield from long_page(text)
    if NAMES_FILES.fullmatch(file):
        yield from missing_names(text, tree)
    if file in LEADS_THROUGH:
        yield from lost_functions(text, tree)


def main():
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    out = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [f for f in out.split("\n") if f and (ROOT / f).exists()]
    tree = Tree(files)
    pages = [f for f in files if READ.fullmatch(f)]
    found = [(f, *fault) for f in pages for fault in faults(f, tree)]
    for file, number, what in found:
        print(f"{file}:{number}: {what}")
    print(f"{len(pages)} files, {len(found)} faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
