"""The name check: a NumPy function has one definition.

usage: check_names.py        exits 1 and lists each offence

Definitions are: a def at module level of a public module (the names that asnumpy/__init__.py loads, and the
__all__ of linalg and fft), a row ASN_FUNCTION of src/python, and a function of src/capi whose body, or the
static functions that it calls, put other functions of the C interface together. What both bindings need stands
in src/numpy, and a row and a function of src/capi that call it are no definitions. A Python function that is
also a row is an offence; so is one, or a row, that src/capi composes again. Standard library only.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/asnumpy"
MODULES = ("linalg", "fft")  # beside the package itself
FILES = {"load"}  # read by each binding itself
ROW = re.compile(r'ASN_FUNCTION(_OF)?(?:_SHOWN)?\(\s*(?:"(\w+)",\s*)?"(\w+)"')
FUNCTION = re.compile(r"^(static )?[\w ]*?\*?(\w+)\([^;{]*\) \{\n(.*?)^\}", re.M | re.S)
CALL = re.compile(r"\b(\w+)\(")
# Of the C interface, but no NumPy function: handles, numbers, facts.
PLUMBING = re.compile(
    "asnp_(release|share|int|float|uint|of|of_number|by|ndim|shape|size|nbytes|get_int64|synchronize|message)$"
)


def python_names():
    """The NumPy names that Python defines: "name", "linalg.name"."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    lazy = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_LAZY"
    )
    for module, names in lazy.items():
        path = PACKAGE / f"{module}.py"
        if path.exists():
            yield from sorted(set(names.split()) & defs(path))
    for module in MODULES:
        for path in sorted((PACKAGE / module).glob("*.py")):
            yield from (f"{module}.{n}" for n in sorted(defs(path)) if not n.startswith("_"))


def defs(path):
    """What a file defines at its top level."""
    return {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}


def row_names():
    """The NumPy names that rows of the extension define."""
    for path in sorted((ROOT / "src/python").rglob("*.c")):
        for of, first, second in ROW.findall(path.read_text()):
            yield f"{first}.{second}" if of else first or second


def composed_names():
    """The names that src/capi puts together of other functions of its own."""
    for path in sorted((ROOT / "src/capi").glob("*.c")):
        bodies = {name: (static, body) for static, name, body in FUNCTION.findall(path.read_text())}
        for name, (static, _) in bodies.items():
            if not static and name.startswith("asnp_") and composes(name, bodies):
                yield name.removeprefix("asnp_")


def composes(name, bodies):
    """Whether a function, with the static ones that it calls, calls several others of the interface."""
    seen, left, used = set(), [name], set()
    while left:
        one = left.pop()
        seen.add(one)
        for called in CALL.findall(bodies[one][1]):
            if called.startswith("asnp_") and not PLUMBING.match(called) and called != name:
                used.add(called)
            elif called in bodies and bodies[called][0] and called not in seen:
                left.append(called)
    return len(used) > 1


def main():
    python, rows = set(python_names()), set(row_names())
    known = python | rows
    twice = [
        f"{name}: defined in Python and as a function of the extension"
        for name in sorted(python & rows)
    ]
    again = set()
    for name in composed_names():
        again |= {full for full in (name, *(f"{m}.{name}" for m in MODULES)) if full in known}
    again = {name.removeprefix("fft.") for name in again} - FILES
    wrong = twice + [
        f"{name}: src/capi composes it again; it belongs in src/numpy" for name in sorted(again)
    ]
    print("\n".join(wrong) if wrong else f"names: {len(known)} functions, each defined once")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
