"""The operators of CANN's interface: which compute here, and the dtypes that CANN documents.

usage: operators_table.py count        one line: computing / listed
       operators_table.py write        docs/guide/operators.md
       operators_table.py check        exits 1 when that page is not up to date

Standard library only.
"""

import sys

import gen_opapi

PAGE = gen_opapi.ROOT / "docs" / "guide" / "operators.md"
SHORT = {
    "FLOAT": "f32", "FLOAT16": "f16", "BFLOAT16": "bf16", "DOUBLE": "f64", "INT8": "i8", "INT16": "i16",
    "INT32": "i32", "INT64": "i64", "UINT8": "u8", "UINT16": "u16", "UINT32": "u32", "UINT64": "u64",
    "BOOL": "bool", "COMPLEX64": "c64", "COMPLEX128": "c128", "COMPLEX32": "c32", "INT4": "i4",
}  # fmt: skip
HEAD = """# Operators

The two-phase operators of CANN's interface, {computing} of {listed} of which compute on the CPU device;
the others have no header and no symbol. Dtypes are those that CANN documents (none where its
documentation gives none); the CPU device takes these and, elementwise, NumPy's others. Written by
`python tools/operators_table.py write`.

| operator | computes | dtypes |
| --- | --- | --- |
"""


def dtypes(facts):
    """`self, other: f32 f16; out: f32`: parameters of the same dtypes together; tensors only."""
    groups = {}
    tensors = {p.split()[-1] for p in facts["params"] if "Tensor" in p}
    for name, text in facts.get("dtypes", {}).items():
        if name in tensors:
            groups.setdefault(" ".join(SHORT.get(t, t) for t in text.split()), []).append(name)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in groups.items())


def page(computing):
    rows = [
        f"| `{name}` | {'yes' if name in computing else ''} | {dtypes(facts)} |"
        for name, facts in sorted(gen_opapi.DATA.items())
    ]
    return HEAD.format(computing=len(computing), listed=len(rows)) + "\n".join(rows) + "\n"


def main(what):
    computing = gen_opapi.operators().keys() & gen_opapi.DATA.keys()
    if what == "count":
        print(f"operators: {len(computing)} computing / {len(gen_opapi.DATA)} listed")
    elif what == "write":
        PAGE.write_text(page(computing))
    elif what == "check":
        if not PAGE.exists() or PAGE.read_text() != page(computing):
            raise SystemExit(f"{PAGE} is not up to date: python tools/operators_table.py write")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
