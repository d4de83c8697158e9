"""Every elementwise operator against the value of its own expression in NumPy, in place or not; and the
exported symbols against the tables: nothing missing, nothing undeclared.
"""

import ast
import ctypes
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from aclnn import DATA, LIB, ROOT, lib, run

sys.path.insert(0, str(ROOT / "tools"))
import gen_opapi  # noqa: E402
import gen_refused  # noqa: E402

RUNTIME = json.loads((ROOT / "tools" / "cann" / "runtime.json").read_text())["functions"]
OPERATORS = gen_opapi.operators()
EXPRESSIONS = [
    op for op in OPERATORS.values() if op.exprs and op.plan in ("elementwise", "div_mode")
]
RNG = np.random.default_rng(6)
MORE = {
    "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "rsqrt": lambda x: 1 / np.sqrt(x),
    "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "frac": lambda x: x - np.trunc(x), "isposinf": np.isposinf, "isneginf": np.isneginf, "copy": np.array,
    "real": np.real,
}  # fmt: skip
INTEGER = ("Bitwise", "Gcd", "Shift")


def value_of(node, env):
    """The expression's value, every operation NumPy's of the same name."""
    if isinstance(node, ast.Name):
        return env[node.id]
    if isinstance(node, (ast.Constant, ast.UnaryOp)):
        return ast.literal_eval(node)
    f = MORE.get(node.func.id) or getattr(np, node.func.id)
    return f(*[value_of(a, env) for a in node.args])


def argument(op, param, integers):
    if param.kind in "TR":
        if param.name == "condition":
            return RNG.random((3, 4)) < 0.5
        return RNG.integers(1, 60, (3, 4)) if integers else RNG.random((3, 4)) * 0.8 + 0.1
    if param.kind == "S":
        return 3 if integers else 0.7
    if param.kind == "f":
        return 0.25
    return True if "bool" in param.text else 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", EXPRESSIONS, ids=lambda op: op.name)
def test_expression(op):
    integers = any(word in op.name for word in INTEGER)
    env = {p.name: argument(op, p, integers) for p in op.params if p.kind != "O"}
    want = np.asarray(value_of(ast.parse(op.exprs[0], mode="eval").body, env))
    args, out = [], None
    for p in op.params:
        if p.kind == "O":
            out = np.empty(want.shape, want.dtype)
            args.append(out)
        elif p.kind == "R":
            out = env[p.name].copy()
            args.append(out)
        else:
            args.append(env[p.name])
    run(op.name.removeprefix("aclnn"), *args)
    np.testing.assert_allclose(out, want.astype(out.dtype), rtol=1e-13, atol=1e-13, equal_nan=True)


def exported(library):
    text = subprocess.run(
        ["nm", "-D", "--defined-only", LIB / library], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in text.stdout.splitlines()}


def test_symbols():
    symbols = exported("libopapi.so")
    for name in OPERATORS:
        assert name in symbols and name + "GetWorkspaceSize" in symbols
    own = {s for s in symbols if not s.startswith(("aclnnx", "_"))}
    by_type = {n for n in RUNTIME if RUNTIME[n]["header"] == "acl/acl_op_compiler.h"}
    refused = {name for _, name in gen_refused.rows()}
    most = {n + "GetMaxWorkspaceSize" for n, op in OPERATORS.items() if op.most}
    assert own - by_type == set(OPERATORS) | {n + "GetWorkspaceSize" for n in OPERATORS} | most
    assert by_type - own <= refused
    declared = set()
    written = ROOT / "include" / "mspti" / "mspti.h"
    for header in [*(LIB.parent / "include").glob("*/*.h"), written]:
        prefix = "acl|Acl|rt|Msprof|mstx|mspti|hal"
        declared |= set(re.findall(rf"\b((?:{prefix})\w+)\(", header.read_text()))
    for library in ("libascendcl.so", "libnnopbase.so"):
        public = {s for s in exported(library) if not s.startswith(("asn", "_"))}
        assert public and public <= declared, public - declared


def test_runtime_is_whole():
    found = exported("libascendcl.so") | exported("libnnopbase.so") | exported("libopapi.so")
    assert set(RUNTIME) <= found, set(RUNTIME) - found


def test_collectives_are_whole():
    names = json.loads((ROOT / "tools" / "cann" / "hccl.json").read_text())["functions"]
    header = (LIB.parent / "include" / "hccl" / "hccl.h").read_text()
    assert {s for s in exported("libhccl.so") if not s.startswith(("asn", "_"))} == set(names)
    assert set(re.findall(r"\b(Hccl\w+)\(", header)) >= set(names)


def test_refusals():
    for reason, name in gen_refused.rows():
        facts = gen_refused.FUNCTIONS[name]
        call = getattr(lib, name)
        code = facts["ret"] in ("aclError", "int32_t")
        dtype = facts["ret"] == "aclDataType"  # ACL_DT_UNDEFINED is -1
        call.restype = ctypes.c_int32 if code or dtype else ctypes.c_int64
        result = call(*[ctypes.c_void_p(0)] * len(facts["params"]))
        assert result == 200006 if code else facts["ret"] == "void" or result == -dtype
        assert reason in lib.aclGetRecentErrMsg().decode()


def test_every_row_has_its_operators():
    for row in gen_opapi.ROWS.values():
        for name in row.cann:
            assert "aclnn" + name in OPERATORS or "aclnn" + name not in DATA
