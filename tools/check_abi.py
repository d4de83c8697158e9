"""The seam check: what the array library calls of a device is CANN's interface, exactly.

usage: check_abi.py        exits 1 and lists each offence

- every function of src/runtime/acl_api.def is one of tools/cann/runtime.json's, or of the few documented
  ones that gen_headers.py adds; its types come from the headers made of the same data, so that a wrong
  call does not compile;
- every ASN_OPERATOR(status, Name, what, ...) names an operator of tools/cann/operators.json and passes as
  many arguments as it has parameters; the compiler checks their types against the generated header;
- every operator that a row of ops.def names first takes what src/graph/plan/lower.c passes: the row's tensors,
  alpha for Add and Sub, the result;
- no file of the array library declares, looks up or calls a device's function in another way.

Standard library only.
"""

import json
import pathlib
import re
import sys

import gen_headers
import optable

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
OPERATORS = json.loads((ROOT / "tools" / "cann" / "operators.json").read_text())
RUNTIME = gen_headers.DATA["functions"].keys() | gen_headers.EXTRA_FUNCTIONS.keys()
ABOVE = ("array", "graph", "runtime", "capi", "python", "random")
LOADER = SRC / "runtime" / "acl_api.c"


def table_offences():
    text = (SRC / "runtime" / "acl_api.def").read_text()
    for name in re.findall(r"^ASN_ACL_FN\(\d, (\w+)\)", text, re.M):
        if name not in RUNTIME:
            yield f"acl_api.def: {name} is not in runtime.json"


def arguments(text, start):
    """The arguments of the call whose opening parenthesis is at `start`."""
    depth, found, begin = 0, [], start + 1
    for i in range(start, len(text)):
        c = text[i]
        depth += (c in "([{") - (c in ")]}")
        if (c == "," and depth == 1) or depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            return found
    raise SystemExit(f"unbalanced call: {text[start : start + 60]}")


def call_offences(path):
    text = path.read_text()
    for match in re.finditer(r"\bASN_OPERATOR\(", text):
        args = arguments(text, match.end() - 1)
        if args[1:2] == ["Name"]:  # the macro's own definition
            continue
        params = OPERATORS.get("aclnn" + args[1], {}).get("params")
        if params is None:
            yield f"{path.name}: aclnn{args[1]} is not in operators.json"
        elif len(args) - 3 != len(params):
            yield f"{path.name}: aclnn{args[1]} has {len(params)} parameters, the call {len(args) - 3}"


def row_offences():
    for row in optable.rows():
        if not row.cann:
            continue
        name = "aclnn" + row.cann[0]
        if name not in OPERATORS:
            continue
        kinds = [
            re.sub(r"const |\s*\w+$", "", p).replace(" ", "") for p in OPERATORS[name]["params"]
        ]
        passed = ["aclTensor*"] * len(row.args)
        passed += ["aclScalar*"] if row.cann[0] in ("Add", "Sub") else []
        if kinds != [*passed, "aclTensor*"]:
            yield f"ops.def: {row.name} calls {name} with {passed} and a result; it takes {kinds}"


def other_offences(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    for name in set(re.findall(r"(?<![\w.>])(acl(?!nnStatus)[A-Za-z]\w*)\s*\(", text)):
        if name in RUNTIME or name.startswith("aclnn"):
            yield f"{path.relative_to(SRC)}: calls {name} itself, not through asn_acl"
    if path != LOADER and re.search(r"\bdlsym\(", text):
        yield f"{path.relative_to(SRC)}: looks symbols up itself"


def main():
    found = [*table_offences(), *row_offences()]
    files = [p for layer in ABOVE for p in sorted((SRC / layer).rglob("*.[ch]"))]
    for path in files:
        found += [*call_offences(path), *other_offences(path)]
    print("\n".join(found) or f"seam: {len(files)} files, nothing but CANN's interface")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
