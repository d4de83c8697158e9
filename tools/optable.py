"""Reads src/ops/ops.def, THE table of operations, and writes the C and Python that follow from it.

usage: optable.py OUTPUT_DIR      writes asn_ops.h (opcodes) and asn_ops.c (facts per row)

Other generators import `rows()`. Standard library only.
"""

import ast
import dataclasses
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "ops" / "ops.def"

# dtype order and facts follow src/base/dtype.def
DTYPES = {
    "bool": "BOOL", "int8": "I8", "uint8": "U8", "int16": "I16", "uint16": "U16", "int32": "I32",
    "uint32": "U32", "int64": "I64", "uint64": "U64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128",
}  # fmt: skip
CLASSES = {
    "bool": ["bool"],
    "int": ["int8", "int16", "int32", "int64"],
    "uint": ["uint8", "uint16", "uint32", "uint64"],
    "float": ["float32", "float64"],
    "complex": ["complex64", "complex128"],
}
HALVES = ["float16", "bfloat16"]
FLAGS = [
    "commutative",
    "associative",
    "reorderable",
    "predicate",
    "kernel",
    "divides",
    "pole",
    "widens",
    "no_bool",
]
DERIVED_FLAGS = ["extreme", "truth", "moves", "if_less", "if_equal", "if_greater"]  # Row.derived
RELATIONS = {
    "==": {"if_equal"}, "!=": {"if_less", "if_greater"}, "<": {"if_less"}, "<=": {"if_less", "if_equal"},
    ">": {"if_greater"}, ">=": {"if_greater", "if_equal"},
}  # fmt: skip
GENERATORS_FLAGS = ["halves", "reports"]  # no part of asn_op_info


@dataclasses.dataclass(frozen=True)
class Row:
    """One operation. `loops` maps each compiled dtype to its C expression, in which a function of vmath.h is its
    scalar form; `vector` maps the dtypes whose loop is such a function to its name."""

    name: str
    args: list
    loops: dict
    out: str
    types: list
    ints: str
    identity: object
    flags: set
    cann: list
    parts: list
    ulp: dict
    doc: str
    vector: dict
    template: dict
    fold: dict
    extreme: str
    half: str
    host: str
    draw: dict
    cost: int

    @property
    def dtypes(self):
        """Loop dtypes, halves included (they run the float32 loop and round)."""
        halves = HALVES if "float32" in self.loops else []
        return [d for d in DTYPES if d in self.loops or d in halves]

    @property
    def derived(self):
        """The flags that follow from the row's other columns and its expressions."""
        expr = self.loops.get("float64") or self.loops.get("complex128", "")
        found = {"extreme"} if self.extreme else set()
        if expr in ("a", "a.re", "a.im", "a ? b : c"):
            found.add("moves")
        if "predicate" in self.flags:
            compares = re.fullmatch(r"a (==|!=|<|<=|>|>=) b", expr)
            found |= RELATIONS[compares[1]] if compares else set()
            if not re.search(r"\b[ab]\b", re.sub(r"\b[ab] [!=]= 0\b", "", expr)):
                found.add("truth")
        return found

    def result(self, dtype):
        """The result dtype of the loop for `dtype`."""
        if self.out == "real":
            return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        return dtype if self.out == "same" else self.out


def _expand(loops):
    table = {}
    for classes, expr in loops.items():
        for word in classes.split():
            for dtype in CLASSES.get(word, [word]):
                if word == "bool" or dtype not in table:
                    table[dtype] = expr
    return {d: table[d] for d in DTYPES if d in table}


def _vector(name, loops):
    """({dtype: function of vmath.h}, the loops with its scalar form)."""
    vector, scalar = {}, {}
    for dtype, expr in loops.items():
        scalar[dtype] = re.sub(r"\bV\(", "M(", expr)
        if scalar[dtype] != expr:
            whole = re.fullmatch(r"V\((?:f_)?(\w+)\)\([abc, ]+\)", expr)
            if not whole or dtype not in CLASSES["float"]:
                raise SystemExit(f"{name}: V(f)(a, ..) is the whole loop of a float: {expr}")
            vector[dtype] = whole[1]
    return vector, scalar


MOST_STEPS = 40  # ASN_PARTS_MOST of src/ops/parts.h
NUMBERS = {"pi": math.pi, "inf": math.inf}


def _names(dtype):
    """The numbers that an expression in `parts` may name: of every dtype, and of this one."""
    if "int" in dtype:
        return NUMBERS | {"bits": int(dtype.lstrip("uint"))}
    digits, low, high = {
        "float16": (10, -24, 16), "bfloat16": (7, -133, 128), "float32": (23, -149, 128), "float64": (52, -1074, 1024),
    }.get(dtype, (0, 0, 0))  # fmt: skip
    largest = math.ldexp(2.0 - 2.0**-digits, high - 1) if digits else 0.0
    return NUMBERS | {
        "digits": digits,
        "top": high,
        "least": math.ldexp(1.0, low),
        "largest": largest,
    }


def _number(node, names):
    """The number that an expression without calls is."""
    others = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - set(names)
    if others or any(isinstance(n, ast.Call) for n in ast.walk(node)):
        return None
    return float(
        eval(compile(ast.Expression(node), "ops.def", "eval"), {"__builtins__": {}}, names)
    )


def _steps(text, arity, names, let):
    """(steps, numbers) of an expression: each step is (row's name or dtype it becomes, sources), each source ("operand", i), ("step", i)
    or ("number", i). What is written twice is computed once."""
    steps, numbers, known = [], [], {}

    def source(node):
        if isinstance(node, ast.Name) and node.id in "abc"[:arity]:
            return "operand", "abc".index(node.id)
        if isinstance(node, ast.Name) and node.id in let:
            return source(ast.parse(let[node.id], mode="eval").body)
        number = _number(node, names)
        if number is not None:
            if number not in numbers:
                numbers.append(number)
            return "number", numbers.index(number)
        step = node.func.id, tuple(source(n) for n in node.args)
        if step not in known:
            known[step] = len(steps)
            steps.append(step)
        return "step", known[step]

    source(ast.parse(text, mode="eval").body)
    return steps, numbers


def _parts(cell):
    """[(loop dtypes, steps, numbers)] of a row's `parts`; a half without an expression of its own has float32's."""
    arity, cells = len(cell["args"].split()), {}
    for classes, text in cell.get("parts", {}).items():
        cells |= {d: (text, d) for word in classes.split() for d in CLASSES.get(word, [word])}
    for half in HALVES if "float32" in cells else []:
        cells.setdefault(half, cells["float32"])
    result = []
    for dtype, (text, of) in cells.items():
        steps, numbers = _steps(text, arity, _names(of), cell.get("let", {}))
        if len(steps) > MOST_STEPS:
            raise SystemExit(
                f"{cell['name']}: parts of {len(steps)} steps; {MOST_STEPS} are allowed"
            )
        same = next((r for r in result if r[1:] == (steps, numbers)), None)
        if same:
            same[0].append(dtype)
        else:
            result.append(([dtype], steps, numbers))
    return result


def rows(path=TABLE):
    """All rows, in table order."""
    result = []
    for node in ast.parse(path.read_text(), str(path)).body:
        call = getattr(node, "value", None)
        if not (
            isinstance(call, ast.Call) and getattr(call.func, "id", "") == "op" and not call.args
        ):
            raise SystemExit(f"{path}:{node.lineno}: a row is op(name=..., ...)")
        cell = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        args = cell["args"].split()
        vector, loops = _vector(cell["name"], _expand(cell["loops"]))
        row = Row(
            name=cell["name"], args=args, loops=loops, out=cell.get("out", "same"),
            types=cell.get("types", " ".join("T" * len(args))).split(), ints=cell.get("ints", ""),
            identity=cell.get("identity"), flags=set(cell.get("flags", "").split()),
            cann=cell.get("cann", "").split(), parts=_parts(cell), ulp=cell.get("ulp", {}), doc=cell["doc"],
            vector=vector, template=_expand(cell.get("template", {})), fold=_expand(cell.get("fold", {})),
            extreme=cell.get("extreme", ""), half=cell.get("half", ""), host=cell.get("host", ""),
            draw=cell.get("draw", {}),
            cost=cell.get("cost", 1),
        )  # fmt: skip
        unknown = row.flags - set(FLAGS) - set(GENERATORS_FLAGS)
        unknown |= set(cell) - {f.name for f in dataclasses.fields(Row)} - {"let"}
        if unknown or len(row.types) != len(args):
            raise SystemExit(
                f"{path}:{node.lineno}: {row.name}: bad flags or columns {unknown}, or types"
            )
        result.append(row)
    return result


def _c_identity(row):
    if row.identity is None:
        return "NAN, false"
    return ("-INFINITY" if row.identity == "-inf" else str(float(row.identity))) + ", true"


def _header(table):
    lines = [
        "/* Generated by tools/optable.py from src/ops/ops.def. */",
        "#ifndef ASN_OPS_GENERATED_H",
        "#define ASN_OPS_GENERATED_H",
        "typedef enum {",
        *[f"    ASN_OP_{r.name.upper()}," for r in table],
        "    ASN_OP_CAST,",
        "    ASN_OP_COUNT,",
        "    ASN_OP_NONE = 0xffff",
        "} asn_op;",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _mask(dtypes):
    return f"0x{sum(1 << list(DTYPES).index(d) for d in dtypes):04x}"


def _facts(table):
    lines = [
        "/* Generated by tools/optable.py from src/ops/ops.def. */",
        '#include "ops/ops.h"',
        "#include <math.h>",
        "asn_op_info asn_op_rows[ASN_OP_COUNT + ASN_OP_ADDED] = {",
    ]
    for r in table:
        has = r.flags | r.derived
        flags = [f"ASN_OPF_{f.upper()}" for f in FLAGS + DERIVED_FLAGS if f in has]
        flags = " | ".join(flags) or "0"
        ins = ", ".join("ASN_DTYPE_NONE" if t == "T" else f"ASN_{DTYPES[t]}" for t in r.types)
        out = {"same": "ASN_OUT_SAME", "real": "ASN_OUT_REAL"}.get(r.out)
        out = out or f"ASN_{DTYPES[r.out]}"
        ints = f"ASN_{DTYPES[r.ints]}" if r.ints else "ASN_DTYPE_NONE"
        cann = f'"{r.cann[0]}"' if r.cann else "NULL"
        ulp = ", ".join(f"[ASN_{DTYPES[d]}] = {float(u)}f" for d, u in r.ulp.items()) or "0"
        lines.append(
            f'    [ASN_OP_{r.name.upper()}] = {{"{r.name}", "{r.doc}", {cann}, {len(r.args)}, '
            f"{{{ins}}}, {out}, {ints}, {_mask(r.dtypes)}, {flags}, {{{ulp}}}, {_c_identity(r)}}},"
        )
    lines.append(
        '    [ASN_OP_CAST] = {"cast", "Conversion of dtype.", "Cast", 1, {ASN_DTYPE_NONE}, '
    )
    lines.append(
        "        ASN_OUT_SAME, ASN_DTYPE_NONE, 0x7fff, ASN_OPF_KERNEL | ASN_OPF_MOVES, {0}, NAN, false},"
    )
    return "\n".join([*lines, "};"]) + "\n" + _compositions(table)


def _compositions(table):
    """The rows' parts, as src/ops/parts.h has them."""
    lines = ['#include "ops/parts.h"']
    entries = []
    for r in table:
        for k, (dtypes, steps, numbers) in enumerate(r.parts):
            tag = f"{r.name}_{k}"
            texts = []
            for op, sources in steps:
                froms = ", ".join(f"{{ASN_PART_{kind.upper()}, {i}}}" for kind, i in sources)
                becomes = f"ASN_{DTYPES[op]}" if op in DTYPES else "ASN_DTYPE_NONE"
                row = "COPY" if op in DTYPES else op.upper()
                texts.append(f"{{ASN_OP_{row}, {becomes}, {{{froms}}}}}")
            lines.append(f"static const asn_op_step {tag}_steps[] = {{{', '.join(texts)}}};")
            values = ", ".join("INFINITY" if math.isinf(n) else repr(n) for n in numbers) or "0"
            lines.append(f"static const double {tag}_numbers[] = {{{values}}};")
            entries.append(
                f"    {{ASN_OP_{r.name.upper()}, {_mask(dtypes)}, {len(steps)}, {tag}_steps, {tag}_numbers}},"
            )
    lines += ["const asn_op_parts asn_op_parts_table[] = {", *entries, "};"]
    lines.append(f"const int asn_op_num_parts = {len(entries)};")
    return "\n".join(lines) + "\n"


def write(path, text):
    """What has not changed keeps its time, so that nothing is compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    table = rows()
    for name, text in (("asn_ops.h", _header(table)), ("asn_ops.c", _facts(table))):
        write(out / name, text)


if __name__ == "__main__":
    main()
