"""The function check: what src shows in its headers, another file calls.

usage: check_functions.py        exits 1 and lists each offence

A function of src without `static` is an offence where no other file of src names it: it is dead, or is its
file's own and should say so. Tests and generators may be the ones that name it (counts, switches, faults). What
the libraries export is everybody's: names of the interfaces (acl..., aclnn..., asnp_..., asnop_..., td::mm) and of
operators' planners, which the generated table calls. Standard library only.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINED = re.compile(r"^(?!static|typedef)[A-Za-z_][\w *]*?\b(asnd?_\w+)\(([^;{]*)\) \{$", re.M)
PLANNERS = "asn_planner_"
NAME = re.compile(r"\basnd?_\w+")


def names_of(folder, *kinds):
    """{path: the names in its code, comments left out} of the files of these kinds."""
    return {
        path: collections.Counter(NAME.findall(COMMENTS.sub("", path.read_text())))
        for kind in kinds
        for path in sorted((ROOT / folder).rglob(f"*.{kind}"))
    }


def offences():
    source = names_of("src", "c", "inc", "cpp", "def")
    headers = names_of("src", "h")
    others = names_of("tests", "c", "h") | names_of("tools", "py")
    users = collections.Counter(name for names in source.values() for name in names)
    in_headers = collections.Counter()
    for names in headers.values():
        in_headers.update(names)
    elsewhere = {name for names in others.values() for name in names}
    for path in source:
        for name, _ in DEFINED.findall(COMMENTS.sub("", path.read_text())):
            # A header declares it once; more are calls of inline functions and macros.
            if name.startswith(PLANNERS) or users[name] > 1 or in_headers[name] > 1:
                continue
            if name not in elsewhere:
                what = "is static" if source[path][name] > 1 else "is dead"
                yield f"{path.relative_to(ROOT)}: {name}: no other file names it: it {what}"


def main():
    found = list(offences())
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
