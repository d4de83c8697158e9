"""Writes a C file that defines the functions of a shared library, empty, for a library of another name that stands for it.

usage: gen_filter.py NM LIBRARY.so OUTPUT.c

Linked with --filter=LIBRARY.so, none of them is ever called: the loader looks each name up in that library first. With them a
linker and dlsym find the names, which a library that only needs the other would not give to a linker.

Standard library only.
"""

import pathlib
import subprocess
import sys


def main(nm, library, output):
    listed = subprocess.run(
        [nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    names = sorted(
        row[-1]
        for row in rows
        if row[-2] == "T"
        and row[-1].startswith(("acl", "Acl", "Msprof", "rt", "mstx", "mspti", "hal", "asnp_"))
    )
    if not names:
        raise SystemExit(f"{library} defines no function")
    text = "".join(f"void {name}(void);\nvoid {name}(void) {{}}\n" for name in names)
    pathlib.Path(output).write_text(
        f"/* {pathlib.Path(library).name} under another name. */\n{text}"
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
