"""Writes the documentation of src/python/docs as a C table (src/python/docs.c).

usage: gen_docs.py OUTPUT

A file there has sections that begin with a line "== NAME": a function ("concatenate", "linalg.norm"), a
ufunc ("sin"), a method or attribute ("ndarray.sum"). Its text is what help() shows under the signature:
a sentence, then numpydoc's sections. tests/python/test_docs.py runs the examples. Standard library only.
"""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "src" / "python" / "docs"


def sections(folder=FOLDER):
    """{name: text}; a name that is there twice is an error."""
    found = {}
    for path in sorted(folder.glob("*.txt")):
        parts = re.split(r"^== (\S+)$", path.read_text(), flags=re.M)
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                sys.exit(f"{path.name}: {name} has a text already")
            found[name] = text.strip() + "\n"
    return found


def quoted(text):
    """Lines as adjacent C literals."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').splitlines()
    return "\n     ".join(f'"{line}\\n"' for line in escaped)


def main(output):
    rows = [f'    {{"{name}",\n     {quoted(text)}}},' for name, text in sorted(sections().items())]
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(output).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
