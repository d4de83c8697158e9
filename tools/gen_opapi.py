"""Writes the two-phase operators' entry points, descriptors and headers.

usage: gen_opapi.py headers INCLUDE_DIR STAMP
       gen_opapi.py code OUTPUT_DIR      entries.c, promotion.c

An operator exists when ops.def's `cann` column or operators.def names it. Its parameters come from
tools/cann/operators.json, exactly. Standard library only.
"""

import ast
import dataclasses
import itertools
import json
import pathlib
import re
import sys

import optable

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = json.loads((ROOT / "tools" / "cann" / "operators.json").read_text())
PROMOTION = json.loads((ROOT / "tools" / "cann" / "promotion.json").read_text())
TABLE = ROOT / "src" / "device" / "opapi" / "operators.def"
TYPES = ROOT / "src" / "device" / "opapi" / "types.def"
HIDDEN = {}  # operators that only a type of types.def calls: like DATA, without a header
ROWS = {row.name: row for row in optable.rows()}

KINDS = {
    "aclScalar*": "S", "aclIntArray*": "I", "aclFloatArray*": "F", "aclBoolArray*": "B",
    "aclTensorList*": "L", "aclScalarList*": "K", "float": "f", "double": "f", "char*": "s",
}  # fmt: skip


@dataclasses.dataclass
class Param:
    """A parameter: its C declaration, and the kind that call.h knows."""

    text: str
    name: str
    kind: str
    optional: bool
    dtypes: str = ""  # those that CANN documents, by its names; "": none
    int4: bool = False
    opaque: int = 0  # bits of OPAQUE
    converts: bool = False


@dataclasses.dataclass
class Operator:
    """One operator: descriptor and entry points follow from it."""

    name: str
    header: str
    params: list
    plan: str = "elementwise"
    arg: str = "0"
    exprs: list = dataclasses.field(default_factory=list)
    weak: set = dataclasses.field(default_factory=set)
    floats: bool = False
    most: bool = False  # has GetMaxWorkspaceSize, too

    @property
    def inputs(self):
        return [p for p in self.params if p.kind != "O"]


# ---- parameters


def kind_of(symbol, index, ctype, name):
    """The kind of a parameter, from its type, its name, and its operator being in place."""
    plain = ctype.replace("const ", "").replace(" ", "")
    if plain == "aclTensor*":
        if name.endswith("Ref") or (symbol.startswith("aclnnInplace") and index == 0):
            return "R"
        if symbol.startswith("aclnnInplace"):
            return "T"
        written = (
            not ctype.startswith("const")
            or name in ("out", "y", "gradInput")
            or (name.endswith("Out") and name != "gradOut")
        )
        return "O" if written else "T"
    if plain == "aclTensorList*":
        return "L" if ctype.startswith("const") and name != "out" else "M"
    return KINDS.get(plain, "i")


def params_of(symbol, optional, kinds=None):
    """`kinds`: parameters whose use their declaration does not tell."""
    result = []
    for i, text in enumerate(facts(symbol)["params"]):
        ctype, name = re.match(r"(.*?)(\w+)$", text).groups()
        may_be_null = name in optional or name.endswith("Optional")
        kind = (kinds or {}).get(name) or kind_of(symbol, i, ctype.strip(), name)
        result.append(Param(re.sub(r"\* *", "*", f"{ctype.strip()} {name}".replace("*", " *")),
                            name, kind, may_be_null, facts(symbol).get("dtypes", {}).get(name, "")))  # fmt: skip
    return result


# ---- the table


def facts(symbol):
    """What is known of an operator's interface."""
    return DATA.get(symbol) or HIDDEN[symbol]


def symbol_of(name):
    """A row's name without "aclnn"; the two operators that have another prefix keep theirs."""
    return name if name in DATA else "aclnn" + name


# ---- operators that are called by the name of their type


@dataclasses.dataclass
class Type:
    """A row of types.def: its name, the operator's symbol, a C initialiser per parameter."""

    name: str
    symbol: str
    sources: list


def source_of(text):
    """The C initialiser of one source."""
    field = lambda kind, index=0, has="false", name="NULL", value=0: (  # noqa: E731
        f"{{ASN_FROM_{kind}, {index}, {has}, {name}, {value}}}"
    )
    if match := re.fullmatch(r"(in|out)(\d+)(?:([~^])(\w+))?", text):
        attribute = f'"{match[4]}"' if match[4] else "NULL"
        inserts = str(match[3] == "^").lower()
        return field("INPUT" if match[1] == "in" else "OUTPUT", match[2], inserts, attribute)
    if match := re.fullmatch(r"(values|pairs):in(\d+)", text):
        return field(match[1].upper(), match[2])
    if match := re.fullmatch(r"shape:in(\d+)", text):
        return field("SHAPE", match[1])
    if match := re.fullmatch(r"dtype:out(\d+)", text):
        return field("DTYPE", match[1])
    if match := re.fullmatch(r"@(\w+)\+(\d+)", text):
        return field("ATTR", match[2], name=f'"{match[1]}"')
    if match := re.fullmatch(r"unit:(\d+)\*(\d+)", text):
        return field("UNIT", match[2], value=match[1])
    if match := re.fullmatch(r"@(\w+)(?::(.+))?", text):
        return field("ATTR", 0, str(match[2] is not None).lower(), f'"{match[1]}"', match[2] or 0)
    number, _, times = text.partition("*")
    return field("NOTHING") if text == "none" else field("NUMBER", times or 1, value=float(number))


def types(table):
    """All types, sorted by name."""
    found = {}

    def add(name, operator=None, sources=""):
        op = table[symbol_of(operator or name)]
        given = dict(part.split("=", 1) for part in sources.split())
        taken = {"in": 0, "out": 0}
        texts = []
        for p in op.params:
            side = {"T": "in", "O": "out", "R": "out"}.get(p.kind)
            if p.name not in given and side is None:
                raise SystemExit(f"{TYPES.name}: {name}: {p.name} of {op.name} has no source")
            texts.append(given.pop(p.name, f"{side}{taken.get(side)}"))
            if side and re.fullmatch(rf"{side}\d+([~^]\w+)?", texts[-1]):
                taken[side] = int(re.search(r"\d+", texts[-1])[0]) + 1
        if given:
            raise SystemExit(f"{TYPES.name}: {name}: {op.name} has no {', '.join(given)}")
        if name in found:
            raise SystemExit(f"{TYPES.name}: {name} is there twice")
        found[name] = Type(name, op.name, [source_of(t) for t in texts])

    exec(compile(TYPES.read_text(), TYPES, "exec"), {"type": add})
    return [found[name] for name in sorted(found)]


def type_lines(table):
    """The table of types: its parts, then itself."""
    rows = types(table)
    lines = ['#include "device/opapi/type/type.h"', ""]
    for t in rows:
        lines.append(
            f"static const asnd_type_source sources_{t.name}[] = {{{', '.join(t.sources)}}};"
        )
    body = ", ".join(f'{{"{t.name}", &op_{t.symbol}, sources_{t.name}}}' for t in rows)
    return [*lines, f"const asnd_type asn_types[] = {{{body}}};",
            f"const int asn_types_count = {len(rows)};", ""]  # fmt: skip


def table_rows():
    for node in ast.parse(TABLE.read_text(), str(TABLE)).body:
        call = node.value
        yield (
            ast.literal_eval(call.args[0]),
            {k.arg: ast.literal_eval(k.value) for k in call.keywords},
        )


# Planners of operators with more parameters than ASN_FEW_PARAMS (call.h).
MANY_PARAMS = {
    "flash_attention",
    "infer_attention",
    "rnn",
    "dynamic_rnn",
    "dynamic_rnn_grad",
    "dynamic_gru",
    "dynamic_gru_grad",
    "rnn_backward",
    "moe_init_range",
    "grouped_matmul",
    "grouped_finalize",
    "ffn",
    "act_quant",
    "moe_finalize",
    "joined_experts",
    "joined_product",
    "moe_dispatch",
    "moe_combine",
}
# What the workspace of operators that need one on an NPU is for, by planner; they ask for it here in
# strict runs (workspace.c).
WORKSPACES = {
    "ASN_WORKSPACE_OF_RESULTS": "reduce foreach_reduce extreme",
    "ASN_WORKSPACE_OF_TENSORS": (
        "matmul addmm gemm transposed_matmul fused_matmul quant_matmul matmul_sum matmul_dequant matmul_quant "
        "weight_quant_matmul old_weight_quant grouped_matmul grouped_matmul_add grouped_finalize grouped_swiglu ffn "
        "einsum conv conv_depthwise conv_tbc conv_backward conv_tbc_backward deform_conv deform_conv_backward "
        "flash_attention infer_attention sort topk kth unique unique_dim unique_consecutive"
    ),
}
WORKSPACE_OF = {plan: use for use, plans in WORKSPACES.items() for plan in plans.split()}
OPAQUE = ["COMPLEX32", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E8M0"]
CONVERTED = ["COMPLEX32", "FLOAT8_E5M2", "FLOAT8_E4M3FN"]  # cast_narrow.c


def opaque_mask(symbol, among=OPAQUE, beyond=""):
    """Dtypes that nothing here computes with, of those that CANN documents for the operator, or `beyond`."""
    documented = " ".join([*facts(symbol).get("dtypes", {}).values(), beyond]).split()
    return sum(1 << i for i, t in enumerate(OPAQUE) if t in documented and t in among)


def make(name, cell):
    symbol = symbol_of(name)
    if "params" in cell:  # for a type alone: it has no function of its own
        HIDDEN[symbol] = {"header": "", "params": [t.strip() for t in cell["params"].split(",")]}
    if symbol not in DATA and symbol not in HIDDEN:
        raise SystemExit(f"{TABLE.name}: {name} is not in operators.json")
    exprs = cell.get("expr", [])
    if len(facts(symbol)["params"]) > (64 if cell.get("plan") in MANY_PARAMS else 16):
        raise SystemExit(f"{name}: more parameters than ASN_MAX_PARAMS, or ASN_FEW_PARAMS")
    params = params_of(symbol, cell.get("optional", "").split(), cell.get("kinds"))
    for p in params:
        p.int4 = p.name in cell.get("int4", "").split()
        beyond = cell.get("beyond", "")
        p.opaque = (
            opaque_mask(symbol, beyond=beyond) if p.name in cell.get("moves", "").split() else 0
        )
        p.converts = p.name in cell.get("converts", "").split()
        p.opaque |= opaque_mask(symbol, CONVERTED, beyond) if p.converts else 0
    return Operator(
        symbol, facts(symbol)["header"], params,
        cell.get("plan", "elementwise"), cell.get("arg", "0"),
        [exprs] if isinstance(exprs, str) else exprs, set(cell.get("weak", "").split()),
        cell.get("ints") == "float", bool(cell.get("most")),
    )  # fmt: skip


def from_row(row, name):
    """An operator of ops.def's column: the row over the operator's inputs, alpha on the second."""
    symbol = "aclnn" + name
    names = [p.name for p in params_of(symbol, []) if p.kind in "TRS"]
    weak = [n for n in names if n.startswith("alpha")]
    names = [n for n in names if n not in weak]
    if len(names) != len(row.args):
        raise SystemExit(f"{name}: {len(names)} inputs, but {row.name} has {len(row.args)}")
    if weak:
        names[1] = f"multiply({names[1]}, {weak[0]})"
    return make(name, {"expr": f"{row.name}({', '.join(names)})", "weak": " ".join(weak)})


def in_place(base, name):
    """InplaceX from X: the same expressions over its own parameter names."""
    op = make(name, {"plan": base.plan, "arg": base.arg, "weak": ""})
    if len(op.params) != len(base.inputs):
        return None
    rename = {b.name: p.name for b, p in zip(base.inputs, op.params, strict=False)}
    swap = lambda text: re.sub(r"[A-Za-z_]\w*", lambda m: rename.get(m[0], m[0]), text)  # noqa: E731
    op.exprs = [swap(e) for e in base.exprs]
    op.weak = {rename[w] for w in base.weak}
    op.floats = base.floats
    for b, p in zip(base.inputs, op.params, strict=False):
        p.optional, p.int4 = b.optional, b.int4
        p.opaque = opaque_mask(op.name) if b.opaque else 0
    return op


def operators(hidden=False):
    """All operators by symbol, sorted; hidden: with those that only a type calls."""
    found = {}
    for name, cell in table_rows():
        found[symbol_of(name)] = make(name, cell)
    for row in ROWS.values():
        for name in row.cann:
            if "aclnn" + name not in found and "aclnn" + name in DATA:
                found["aclnn" + name] = from_row(row, name)
    for symbol in list(found):
        name = "Inplace" + symbol.removeprefix("aclnn")
        if "aclnn" + name in DATA and "aclnn" + name not in found:
            op = in_place(found[symbol], name)
            if op is not None:
                found["aclnn" + name] = op
    return {name: op for name, op in sorted(found.items()) if hidden or op.header}


# ---- expressions


class Expression:
    """Steps, constants and dtype masks of one expression."""

    def __init__(self, op, text):
        self.op, self.steps, self.consts, self.promotes = op, [], [], 0
        self.index = {p.name: i for i, p in enumerate(op.params)}
        self.index["lambda_"] = self.index.get("lambda")  # a name that Python keeps for itself
        root = ast.parse(text, mode="eval").body
        self.visit(root, "T")

    def visit(self, node, want):
        if isinstance(node, ast.Name):
            i = self.index[node.id]
            if want == "T" and node.id not in self.op.weak:
                self.promotes |= 1 << i
            return str(i)
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            value = ast.literal_eval(node)
            if value not in self.consts:
                self.consts.append(value)
            return f"ASN_EW_CONST | {self.consts.index(value)}"
        row = ROWS[node.func.id]
        if len(row.args) != len(node.args):
            raise SystemExit(f"{self.op.name}: {row.name} takes {len(row.args)} operands")
        src = [self.visit(a, t) for a, t in zip(node.args, row.types, strict=False)]
        step = (row.name, *src)
        if step not in self.steps:
            self.steps.append(step)
        return f"ASN_EW_STEP | {self.steps.index(step)}"


def expression_lines(op):
    """The asnd_ew of every expression, and their array's initialiser."""
    lines, inits = [], []
    weak = sum(1 << i for i, p in enumerate(op.params) if p.name in op.weak)
    for n, text in enumerate(op.exprs):
        e = Expression(op, text)
        steps = ", ".join(f"{{ASN_OP_{s[0].upper()}, {{{', '.join(s[1:])}}}}}" for s in e.steps)
        lines.append(f"static const asnd_ew_step steps_{op.name}_{n}[] = {{{steps}}};")
        consts = "NULL"
        if e.consts:
            consts = f"consts_{op.name}_{n}"
            lines.append(f"static const double {consts}[] = {{{', '.join(map(repr, e.consts))}}};")
        inits.append(f"{{steps_{op.name}_{n}, {consts}, {len(e.steps)}, {str(op.floats).lower()}, "
                     f"{str('reciprocal(' in text).lower()}, {e.promotes:#x}, {weak:#x}}}")  # fmt: skip
    if inits:
        lines.append(f"static const asnd_ew ew_{op.name}[] = {{{', '.join(inits)}}};")
    return lines


# ---- entry points


def argument(param):
    if param.kind in "if":
        return f"{{.{'i' if param.kind == 'i' else 'f'} = {param.name}}}"
    return f"{{.p = {param.name}}}"


def prototypes(op, end):
    """Phase 1, phase 2, and the name by which programs ask for the largest workspace."""
    own = ", ".join(
        [p.text for p in op.params] + ["uint64_t *workspaceSize", "aclOpExecutor **executor"]
    )
    second = "void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream"
    return (
        f"aclnnStatus {op.name}GetWorkspaceSize({own}){end}",
        f"aclnnStatus {op.name}({second}){end}",
        f"aclnnStatus {op.name}GetMaxWorkspaceSize({own}){end}",
    )


DTYPES = {
    "BOOL": "BOOL", "INT8": "I8", "UINT8": "U8", "INT16": "I16", "UINT16": "U16", "INT32": "I32",
    "UINT32": "U32", "INT64": "I64", "UINT64": "U64", "FLOAT16": "F16", "BFLOAT16": "BF16",
    "FLOAT": "F32", "DOUBLE": "F64", "COMPLEX64": "C64", "COMPLEX128": "C128",
}  # fmt: skip


def dtype_mask(param):
    """The documented dtypes of a tensor as a C constant; 0 when none are."""
    names = [DTYPES[t] for t in param.dtypes.split() if t in DTYPES and param.kind in "TORLM"]
    return " | ".join(f"1u << ASN_{n}" for n in names) or "0"


def entry_lines(op):
    params = ", ".join(
        f"{{\"{p.name}\", '{p.kind}', {str(p.optional).lower()}, {str(p.int4).lower()}, "
        f"{p.opaque}, {str(p.converts).lower()}, {dtype_mask(p)}}}"
        for p in op.params
    )
    detail = f"ew_{op.name}" if op.exprs else "NULL"
    first, second, most = prototypes(op, " {")
    args = ", ".join(argument(p) for p in op.params)
    exported = [
        f"ASN_API {first}",
        f"    const asnd_arg args[] = {{{args}}};",
        f"    return asn_op_plan(&op_{op.name}, args, workspaceSize, executor);",
        "}",
        f"ASN_API {second}",
        f"    return asnop_run(name_{op.name}, workspace, workspaceSize, executor, stream);",
        "}",
    ]
    if op.most:
        names = ", ".join([p.name for p in op.params] + ["workspaceSize", "executor"])
        exported += [f"ASN_API {most}", f"    return {op.name}GetWorkspaceSize({names});", "}"]
    return [
        *expression_lines(op),
        f"static const asnd_param params_{op.name}[] = {{{params}}};",
        f'static const char name_{op.name}[] = "{op.name}";',
        f"static const asnd_opdesc op_{op.name} = {{name_{op.name}, params_{op.name}, "
        f"asn_planner_{op.plan}, {detail}, {len(op.params)}, {op.arg}, "
        f"{WORKSPACE_OF.get(op.plan, 'ASN_NO_WORKSPACE')}}};",
        *(exported if op.header else []),
        "",
    ]


def entries(table):
    if unknown := WORKSPACE_OF.keys() - {op.plan for op in table.values()}:
        raise SystemExit(f"WORKSPACES: no row has the plan {', '.join(sorted(unknown))}")
    headers = sorted({op.header for op in table.values() if op.header})
    lines = ["/* Generated by tools/gen_opapi.py: the exported operators, and the types. */"]
    lines += [f'#include "{h}"' for h in headers]
    lines += ['#include "device/opapi/core/plan.h"', ""]
    for op in table.values():
        lines += entry_lines(op)
    return "\n".join(lines + type_lines(table))


def header_text(header, table):
    guard = "ASN_" + re.sub(r"\W", "_", header).upper() + "_"
    lines = [
        "/* Generated from tools/cann/operators.json. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
    ]
    lines += [
        '#include "../aclnn/acl_meta.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for op in table.values():
        if op.header != header:
            continue
        first, second, most = prototypes(op, ";")
        workspace = (
            "the workspace is 0 bytes but in strict runs"
            if op.plan in WORKSPACE_OF
            else "the workspace is always 0 bytes"
        )
        lines += [f"/* Validates and plans {op.name}; {workspace}. */", first,
                  "/* Enqueues the planned call on `stream`. */", second, ""]  # fmt: skip
        if op.most:
            lines += ["/* The same as the first: the executor is the caller's. */", most, ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


# ---- promotion

NAMES = {
    "f32": "float32", "f16": "float16", "f64": "float64", "bf16": "bfloat16", "s8": "int8",
    "u8": "uint8", "s16": "int16", "u16": "uint16", "s32": "int32", "u32": "uint32",
    "s64": "int64", "u64": "uint64", "bool": "bool", "c64": "complex64", "c128": "complex128",
    "c32": "complex64",
}  # fmt: skip
SIZES = {"bool": 1, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16}


def size(dtype):
    return SIZES.get(dtype) or int(re.sub(r"\D", "", dtype)) // 8


def numpy_promote(a, b):
    """NumPy's result dtype, for the pairs CANN refuses (each has an unsigned integer)."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    kinds = {x: x.rstrip("0123456789") for x in (a, b)}
    if kinds[a] == kinds[b]:
        return max(a, b, key=size)
    ints = [x for x in (a, b) if kinds[x] in ("int", "uint")]
    if len(ints) == 2:
        signed, unsigned = sorted(ints, key=lambda x: kinds[x])
        width = max(size(signed), 2 * size(unsigned))
        return f"int{8 * width}" if width <= 8 else "float64"
    other = next(x for x in (a, b) if x not in ints)
    needed = {1: 2, 2: 4}.get(size(ints[0]), 8)  # bytes of the float that holds the integer
    if kinds[other] == "complex":
        return "complex128" if needed == 8 else other
    return other if size(other) >= needed else f"float{8 * needed}"


def promotion():
    short = {v: k for k, v in NAMES.items() if k != "c32"}
    dtypes = list(optable.DTYPES)
    pairs, scalar = PROMOTION["tensor_tensor"], PROMOTION["tensor_scalar"]

    def tensors(a, b):
        found = pairs[short[a]][short[b]]
        return NAMES[found] if found else numpy_promote(a, b)

    def with_scalar(s, t):
        found = scalar[short[s]][short[t]]
        if found:
            return NAMES[found]
        is_int = s.lstrip("u").startswith("int") or s == "bool"
        return (s if t == "bool" else t) if is_int else "float32"

    lines = ["/* Generated by tools/gen_opapi.py from tools/cann/promotion.json. */",
             '#include "device/opapi/core/value.h"']  # fmt: skip
    for name, rule in (("asn_promote_tensors", tensors), ("asn_promote_scalar", with_scalar)):
        lines.append(f"const uint8_t {name}[ASN_DTYPE_COUNT][ASN_DTYPE_COUNT] = {{")
        for a in dtypes:
            row = ", ".join(f"ASN_{optable.DTYPES[rule(a, b)]}" for b in dtypes)
            lines.append(f"    {{{row}}},")
        lines.append("};")
    return "\n".join(lines) + "\n"


def write(path, text):
    """Keeps the time stamp of an unchanged file, so that nothing is rebuilt for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    what, out = sys.argv[1], pathlib.Path(sys.argv[2])
    table = operators(hidden=True)
    if what == "headers":
        headers = {op.header for op in table.values() if op.header}
        old_ones = (out.glob(f"{f}/*.h") for f in ("aclnnop", "aclnnop/level2", "aclnn"))
        for old in itertools.chain(*old_ones):
            # these are gen_headers.py's
            others = ("aclnn_util.h", "aclnn_base.h", "acl_meta.h")
            if f"aclnnop/{old.name}" not in headers and old.name not in others:
                old.unlink()
        for header in headers:
            write(out / header, header_text(header, table))
            name = header.split("/")[-1]
            # Programs include aclnnop/level2/NAME and aclnn/NAME as well.
            write(out / "aclnnop" / "level2" / name, f'#include "../{name}"\n')
            write(out / "aclnn" / name, f'#include "../aclnnop/{name}"\n')
        pathlib.Path(sys.argv[3]).touch()
    else:
        write(out / "entries.c", entries(table))
        write(out / "promotion.c", promotion())


if __name__ == "__main__":
    main()
