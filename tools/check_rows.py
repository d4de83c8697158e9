"""One row, one file: checks that what an operation needs follows from its row of src/ops/ops.def.

usage: check_rows.py names          no list of operations' names in tools/ or src/ (exits 1 and shows each)
       check_rows.py build FOLDER   a copy of the tree in FOLDER with one more row, built there, and what
                                    followed from it; FOLDER is kept, so that a second time is quicker

The row compares, lets NaN through and has loops of all dtypes from float16 to complex128 and of integers. It is
looked for in the ufuncs, the kernels of every instruction set, the JIT's pieces, fused programs, explain(), the
operators' symbols, the stub, the signature, the page of names, and the tests of test_ufuncs.py.
"""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

import optable

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "relu6"
OPERATOR_NAME = "InplaceHardswish"  # takes x alone, and no row has it
ROW = f"""op(name="{NAME}", args="x", loops={{"int uint": "a < 0 ? (T)0 : a > 6 ? (T)6 : a",
   "float": "a != a ? a : a < 0 ? (T)0 : a > 6 ? (T)6 : a",
   "complex": "((T){{a.re < 0 ? 0 : a.re > 6 ? 6 : a.re, a.im}})"}}, cann="{OPERATOR_NAME}",
   host="(lambda r: r if x.dtype.kind != 'c' else np.stack([r, x.imag], -1).view(x.dtype)[..., 0])"
        "(np.where(x.real < 0, 0, np.where(x.real > 6, 6, x.real)).astype(x.real.dtype))",
   doc="x limited to [0, 6]; NaN stays.")
"""
MOST = 2  # names of operations in one list, beyond which it is a list of operations


def strings(node):
    """The words of the strings of a list, set or tuple, or of the keys of a dictionary."""
    items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    values = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
    return [word for value in values for word in value.split()]


def compared(node):
    """The constants that a row's name is compared with."""
    if not isinstance(node, ast.Compare) or getattr(node.left, "attr", "") != "name":
        return []
    return [
        c.value
        for side in node.comparators
        for c in ast.walk(side)
        if isinstance(c, ast.Constant) and isinstance(c.value, str)
    ]


def name_lists(folder=ROOT / "tools"):
    """(file, line, names) of what names operations: lists of more than MOST of them and little else (a long
    string is a list as well), and comparisons of a row's name."""
    known = {r.name for r in optable.rows()}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            words = strings(node)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words = node.value.split()
            named = [w for w in words if w in known]
            if len(named) > MOST and 2 * len(named) > len(words):
                yield path.name, node.lineno, named
            elif asked := [w for w in compared(node) if w in known]:
                yield path.name, node.lineno, asked


ASKED = re.compile(r"(?:[!=]=|[<>]=?|\bcase) ASN_OP_(?!CAST|NONE|COUNT|ADDED)(\w+)")
# Functions of C that may ask for more rows than MOST, each with the reason.
ASKING = {
    "src/graph/plan/lower.c: reduce": "CANN's reductions differ in their arguments",
}


def asked_in_c(folder=ROOT / "src"):
    """(file, line, names) of functions that ask which of more than MOST rows they have before them: a fact of those
    rows, which belongs in the table (a flag of asn_op_info). What composes operations names them, and asks nothing."""
    for path in sorted([*folder.rglob("*.c"), *folder.rglob("*.h"), *folder.rglob("*.inc")]):
        begin = 0
        text = path.read_text()
        for end in re.finditer(r"^}", text, re.M):
            body, line = text[begin : end.end()], text.count("\n", 0, begin) + 1
            begin = end.end()
            names = sorted(set(ASKED.findall(body)))
            function = re.findall(r"^\w[^;{}()]*?(\w+)\(", body, re.M)
            file = str(path.relative_to(ROOT))
            if len(names) > MOST and ": ".join([file, *function[-1:]]) not in ASKING:
                yield file, line, [n.lower() for n in names]


def check_names():
    found = [(f"tools/{file}", *rest) for file, *rest in name_lists()] + list(asked_in_c())
    for file, line, names in found:
        print(f"{file}:{line}: {' '.join(names)}")
    print(f"{len(found)} lists of operations' names in tools/ and src/; {len(ASKING)} allowed")
    sys.exit(bool(found))


# ---- the throw-away row

PROGRAM = f"""
import inspect, os, pathlib, sys, warnings
sys.path.insert(0, {str(ROOT / "tests" / "python")!r})
import numpy as np, asnumpy
warnings.simplefilter("error")
f = asnumpy.{NAME}
assert str(inspect.signature(f)) == str(inspect.signature(np.exp)), inspect.signature(f)
assert "x limited to" in f.__doc__, f.__doc__
stub = pathlib.Path(asnumpy.__file__).with_suffix(".pyi").read_text()
assert "\\n{NAME}: _np.ufunc" in stub
for dtype in ("f2", "f4", "f8", "c8", "c16", "i1", "i8", "u2"):
    x = np.array([-3, 0, 2, 7, np.nan, np.inf, 6, 1] if dtype[0] in "fc" else [0, 2, 7, 6] * 2).astype(dtype)
    expected = np.where(x.real < 0, 0, np.where(x.real > 6, 6, x.real)) + (1j * x.imag if dtype[0] == "c" else 0)
    for n in (1, 1000):
        got = f(asnumpy.array(np.tile(x, n)))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.to_numpy(), np.tile(expected, n).astype(dtype))
        if dtype in ("f4", "f8"):
            y = asnumpy.array(np.tile(x, n))
            np.testing.assert_array_equal((f(y + 1) * 2).to_numpy(), np.tile(f(asnumpy.array(x + 1)).to_numpy() * 2, n))
a = asnumpy.ones(100_000, "f4")
b = f(a * 2) + 1
text = str(asnumpy.explain(b))
assert "{NAME}" in text, text
print("values, NaN without warnings, signature, doc, stub, fusion, explain: as the row says")
"""

OPERATOR = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "abi")!r})
import numpy as np, aclnn
x = np.array([-1, 3, 9, np.nan], "f4")
aclnn.run("{OPERATOR_NAME}", x)
np.testing.assert_array_equal(x, np.array([0, 3, 6, np.nan], "f4"))
print("the operator: called")
"""


def copy_tree(folder):
    """The tree's files as they are, one row added; what is equal keeps its time."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    for name in filter(None, listed):
        source, target = ROOT / name, folder / name
        if not source.is_file():
            continue
        data = source.read_bytes() + (ROW.encode() if name == "src/ops/ops.def" else b"")
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            shutil.copymode(source, target)


def command(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))[:200]}\n{(done.stdout + done.stderr)[-6000:]}"
        )
    return done.stdout


def generated_checks(generated):
    """The kernels of every instruction set, the pieces, their dtypes."""
    for isa in ("baseline", "avx2", "avx512"):
        text = "".join(p.read_text() for p in generated.glob(f"kernels_*_{isa}.c"))
        slots = set(re.findall(rf"k->ew\[ASN_OP_{NAME.upper()}\]\[ASN_(\w+)\]", text))
        assert {"F32", "F64", "C64", "C128", "I8", "U64"} <= slots, (isa, slots)
        assert f"k->half[ASN_OP_{NAME.upper()}]" in text or isa != "baseline"
    quiet = re.findall(
        rf"k->quiet\[ASN_OP_{NAME.upper()}\]\[ASN_(\w+)\]",
        (generated / "kernels_init.c").read_text(),
    )
    assert {"F16", "F32", "F64", "C64", "C128"} <= set(quiet), quiet
    for isa in ("avx2", "avx512"):
        text = (generated / f"pieces_{isa}.c").read_text()
        lanes = set(re.findall(rf"\.ew\[ASN_OP_{NAME.upper()}\]\[ASN_LANE_(\w+)\]", text))
        assert {"F32", "F64", "I32"} <= lanes, (isa, lanes)
    print("kernels of every instruction set, quiet ones, and the JIT's pieces: as the row says")


def check_build(folder):
    folder.mkdir(parents=True, exist_ok=True)
    copy_tree(folder)
    tools = pathlib.Path(sys.executable).parent
    build, site = folder / "build" / "rows", folder / "build" / "site"
    if not (build / "build.ninja").exists():
        command(
            tools / "cmake", "-S", folder, "-B", build, "-G", "Ninja", "-DASNUMPY_PYTHON=ON",
            f"-DPython3_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
        )  # fmt: skip
    command(tools / "ninja", "-C", build, "--quiet")
    generated_checks(build / "generated" / "cpu")
    command(tools / "cmake", "--install", build, "--prefix", site, "--component", "python")
    package = site / "asnumpy"
    shutil.copytree(folder / "python" / "asnumpy", package, dirs_exist_ok=True)
    library = next(package.rglob("libopapi.so"))
    symbols = command("nm", "-D", "--defined-only", library)
    assert f"aclnn{OPERATOR_NAME}\n" in symbols
    print(
        command(
            sys.executable, "-c", OPERATOR, env={**os.environ, "ASNUMPY_LIB": str(library.parent)}
        ).strip()
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    for isa, jit in (("baseline", "0"), ("avx2", "always"), ("avx512", "always")):
        command(sys.executable, "-c", PROGRAM, cwd=site,
                env={**environment, "ASNUMPY_ISA": isa, "ASNUMPY_JIT": jit})  # fmt: skip
    page = command(sys.executable, folder / "tools" / "names_table.py", cwd=site, env=environment)
    assert f"| `{NAME}` | compiled |" in page
    print(command(
        sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", folder / "tests" / "python" / "test_ufuncs.py",
        "-k", f"[{NAME}] or [{NAME}- or -{NAME}]", cwd=folder, env=environment,
    ).splitlines()[-1])  # fmt: skip
    print(
        f"row {NAME}: the ufunc, its kernels, pieces, operator, stub, signature and tests followed"
    )


def main():
    if sys.argv[1:] == ["names"]:
        check_names()
    elif len(sys.argv) == 3 and sys.argv[1] == "build":
        check_build(pathlib.Path(sys.argv[2]).resolve())
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
