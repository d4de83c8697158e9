"""The type check: every type of src/ has one meaning, and the device's names begin with asnd_.

usage: check_types.py        exits 1 and lists each offence

A type is a typedef or a struct, union or enum with a tag and a body. Names in a .c file count, too: who looks
for a type finds one. What only the runtime of the device exports (asnrt...) keeps its prefix. Standard library only.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOISE = re.compile(r"/\*(?s:.*?)\*/|\"(?:\\.|[^\"\\])*\"|^[ \t]*#(?:.*\\\n)*.*$", re.M)
TAGGED = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")
POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
FUNCTION = re.compile(r"(\w+)\s*\(")
LAST = re.compile(r"(\w+)\s*(?:\[[^\]]*\])*\s*$")


def declarations(text):
    """The typedefs of a file without comments, each up to its semicolon."""
    for match in re.finditer(r"\btypedef\b", text):
        depth, at = 0, match.end()
        while at < len(text) and (depth or text[at] != ";"):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield re.sub(r"\{.*\}", "{}", text[match.end() : at], flags=re.S)


def types_of(text):
    """The names of types that a file makes: of typedefs, and of tags that no typedef has."""
    text = NOISE.sub("", text)
    named = set()
    for one in declarations(text):
        found = POINTER.search(one) or (FUNCTION.search(one) if "(" in one else LAST.search(one))
        if found:
            named.add(found.group(1))
    return named, set(TAGGED.findall(text)) - named


def main():
    typedefs, tags = collections.defaultdict(set), collections.defaultdict(set)
    for path in sorted((ROOT / "src").rglob("*.[chi]*")):
        if path.suffix not in (".c", ".h", ".inc"):
            continue
        file = str(path.relative_to(ROOT / "src"))
        named, tagged = types_of(path.read_text())
        for name in named:
            typedefs[name].add(file)
        for name in tagged:
            tags[name].add(file)
    for name in set(tags) - set(typedefs):
        typedefs[name] = tags[name]
    wrong = []
    for name, files in sorted(typedefs.items()):
        if not name.startswith("asn"):
            continue  # a file's own
        if len(files) > 1:
            wrong.append(f"{name} is a type in {', '.join(sorted(files))}")
        device = all(file.startswith("device/") for file in files)
        if name.startswith("asn_") and device or name.startswith("asnd_") and not device:
            wrong.append(
                f"{name} ({', '.join(sorted(files))}): types begin with asnd_ in device/, and only there"
            )
    print("\n".join(wrong) if wrong else f"types: {len(typedefs)} names, each of one meaning")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
