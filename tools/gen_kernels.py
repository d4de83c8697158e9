"""Writes the compiled loops of the CPU device from src/ops/ops.def: small C files per kind of loop
and instruction set, each including loop templates of src/device/cpu. What a loop is follows from its
expression and the functions that it calls (functions.py); no row is named here.

usage: gen_kernels.py OUTPUT_DIR ISA...      writes the files (names: see files())
       gen_kernels.py --list ISA...          prints their names, separated by ';'

A loop is compiled for every instruction set unless it calls a function that branches; every loop exists
for the baseline. Standard library only.
"""

import functools
import pathlib
import re
import sys

import functions
from functions import MATH
from optable import DTYPES, rows, write

TYPES = {
    "bool": "uint8_t", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t",
    "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
    "complex64": "asn_c64", "complex128": "asn_c128",
}  # fmt: skip
REAL = {"complex64": "float32", "complex128": "float64"}
SHORT = {d: i.lower() for d, i in DTYPES.items()}
INTS = [d for d in DTYPES if "int" in d]
FLOATS = ["float32", "float64"]
COMPLEX = list(REAL)
HALVES = ["float16", "bfloat16"]
VECTOR_BYTES = {"avx512": 64, "avx2": 32}

# Kinds of elementwise loops, which CMakeLists.txt compiles with different options, and the files that hold
# the loops of one kind for one instruction set, about equally many each.
#   vector    functions of vmath.h
#   template  integer loops with a template of their own
#   round     rounding, or computed before it is known whether it is used: conditions do not matter
#   library   what does not vectorise: the baseline alone has it
#   plain     the rest
PARTS = {"plain": 4, "round": 1, "vector": 2, "template": 1, "library": 1}


def is_straight(row, dtype):
    """Whether a compiler makes vector code of the loop's expression, or the loop is made for that."""
    return bool(
        row.vector.get(dtype) or row.template.get(dtype) or functions.straight(row.loops[dtype])
    )


def kind(row, dtype):
    if row.vector.get(dtype):
        return "vector"
    if row.template.get(dtype):
        return "template"
    if not is_straight(row, dtype):
        return "library"
    return "round" if functions.rounding(row.loops[dtype]) else "plain"


def is_quiet(row, dtype):
    """Whether the floating-point flags of the loop are not the program's: it compares and computes nothing, so
    all it raises is "invalid" for NaN, which NumPy does not report. NumPy's complex comparisons do, and rows
    that say so. Of a half's loop it counts that widening a signaling NaN raises one, also before loops of
    float32 that raise nothing."""
    if dtype in HALVES:
        expr = row.loops["float32"]
        computes = functions.arithmetic(expr) or functions.rounding(expr)
        return not row.vector.get("float32") and not computes
    if row.vector.get(dtype) or "reports" in row.flags:
        return False
    if dtype in COMPLEX and "predicate" in row.flags:
        return False
    expr = row.loops[dtype]
    return functions.comparing(expr) and not functions.arithmetic(expr)


def shares(table):
    """{(kind, part): [(row, dtype)]}: each row's loops of one kind go to the file with the fewest so far, so
    that a row at the end moves no other. A loop counts for its cost, about which its code is long."""
    result = {(k, p): [] for k, parts in PARTS.items() for p in range(parts)}
    weights = dict.fromkeys(result, 0)
    for row in table:
        for name in PARTS:
            loops = [(row, d) for d in DTYPES if d in row.loops and kind(row, d) == name]
            place = min((k for k in result if k[0] == name), key=weights.get)
            result[place] += loops
            weights[place] += len(loops) * row.cost
    return result


# ---- functions that are spelled out for whole vectors


@functools.cache
def wide_functions():
    """{function of vmath.h: {vector type f64x8, f32x16, f32x8: its parts (core, outside, ...)}}, from the
    templates that device/cpu/math/vmath_wide.h includes for each type."""
    result, name = {}, None
    for line in (MATH / "vmath_wide.h").read_text().splitlines():
        if defined := re.match(r"#define F\(name\) +name##_(\w+)", line):
            name = defined[1]
        elif included := re.match(r'#include "device/cpu/math/(vmath_\w+\.inc)"', line):
            text = (MATH / included[1]).read_text()
            for part in re.findall(r"\bF\(v_(\w+?_(?:plain_)?(?:core|outside|doubtful))\)\(", text):
                function, part = re.fullmatch(r"(\w+?)_((?:plain_)?\w+)", part).groups()
                result.setdefault(function, {}).setdefault(name, set()).add(part)
    return result


def wide_name(row, dtype, isa, count=None):
    """The vector type for which the row's function is spelled out, of `count` lanes or whole; None: there is
    none."""
    bits = int(dtype.removeprefix("float")) if dtype in FLOATS else 8
    count = count or VECTOR_BYTES.get(isa, 0) * 8 // bits
    name = f"f{bits}x{count}"
    known = name in wide_functions().get(row.vector.get(dtype), {})
    return name if known and count * bits <= VECTOR_BYTES.get(isa, 0) * 8 else None


def prelude(dtype):
    """What an expression of this dtype may use: T, U, R and M()."""
    size = re.sub(r"\D", "", dtype) or "8"
    wide = "uint64_t" if size == "64" else "uint32_t"
    suffix = {"float32": "f", "complex64": "f", "float64": "", "complex128": ""}.get(
        dtype, "_" + SHORT[dtype]
    )
    real = REAL.get(dtype, dtype)
    paste = f"name##{suffix}" if suffix else "name"
    return (
        f"#undef T_\n#undef U\n#undef R\n#undef M\n#define T_ {TYPES[dtype]}\n#define U {wide}\n"
        f"#define R {TYPES[real]}\n#define M(name) {paste}\n"
    )


def loop(row, dtype, isa):
    """The C text of one elementwise loop, and the line that registers it."""
    name = f"{row.name}_{SHORT[dtype]}"
    expr = re.sub(r"\bT\b", "T_", row.loops[dtype])
    fill = f"    k->ew[ASN_OP_{row.name.upper()}][ASN_{DTYPES[dtype]}] = {name};\n"
    if base := row.vector.get(dtype):
        suffix = {"float32": "f"}.get(dtype, "")
        bits = f"uint{re.sub('[^0-9]', '', dtype)}_t"
        body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define U_ {bits}\n#define EXPR {expr}\n"
        body += "".join(
            f"#define {letter} {TYPES[dtype if t == 'T' else t]}\n"
            for letter, t in zip("AB", row.types, strict=False)
        )
        body += f"#define CORE v_{base}_core{suffix}\n#define OUTSIDE v_{base}_outside{suffix}\n"
        body += f"#define FULL v_{base}{suffix}\n#define MARKS v_{base}_marks{suffix}\n"
        if wide := wide_name(row, dtype, isa):
            body += f"#define WIDE v_{wide}\n#define WIDE_BITS v_bits_{wide}\n"
            for part in sorted(wide_functions()[base][wide] - {"doubtful"}):
                body += f"#define WIDE_{part.upper()} v_{base}_{part}_{wide}\n"
        return body + '#include "device/cpu/math/vmath.inc"\n', fill
    if template := row.template.get(dtype):
        file, *which = template.split()
        bits = re.sub("[^0-9]", "", dtype)
        body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define WIDTH {bits}\n"
        body += f"#define INPUTS {len(row.args)}\n#define KIND {which[0] if which else 0}\n"
        return f'{body}#define EXPR {expr}\n#include "device/cpu/math/{file}.inc"\n', fill
    ins = [TYPES[dtype if t == "T" else t] for t in row.types]
    body = f"#define NAME {name}\n#define O {TYPES[row.result(dtype)]}\n#define EXPR {expr}\n"
    body += "".join(
        f"#define {letter} {ctype}\n" for letter, ctype in zip("ABC", ins, strict=False)
    )
    return body + f'#include "device/cpu/loops/ew{len(ins)}.inc"\n', fill


def unit(name, isa, bodies, fills):
    head = f'/* Generated by tools/gen_kernels.py. */\n#include "device/cpu/loops/loop.h"\nvoid asn_kernels_{name}_{isa}(asnd_kernels *k);\n'
    return f"{head}{''.join(bodies)}void asn_kernels_{name}_{isa}(asnd_kernels *k) {{\n    (void)k;\n{''.join(fills)}}}\n"


def elementwise(table, name, isa):
    wanted, part = name.rsplit("_", 1)
    members = shares(table)[wanted, int(part)]
    bodies, fills = [], []
    for dtype in DTYPES:
        picked = [r for r, d in members if d == dtype]
        bodies += [prelude(dtype)] if picked else []
        for row in picked:
            body, fill = loop(row, dtype, isa)
            bodies.append(body)
            fills.append(fill)
    return unit(name, isa, bodies, fills)


# ---- halves on their own


def halves(table, isa):
    """Loops on the bits of halves (a row's `half`); the other rows' go by way of float32."""
    bodies, fills = [], []
    for k, (half, infinity) in enumerate((("float16", "0x7c00"), ("bfloat16", "0x7f80"))):
        bodies.append(
            f"#undef H\n#undef INF\n#define H(name) asn_{SHORT[half]}_##name\n#define INF {infinity}\n"
        )
        for row in table:
            if "float32" not in row.loops or (not row.half and isa != "baseline"):
                continue
            name = f"{row.name}_{SHORT[half]}"
            if row.half:
                ins = ["uint16_t" if t == "T" else TYPES[t] for t in row.types]
                body = f"#define NAME {name}\n#define O {TYPES[row.result(half)]}\n"
                body += f"#define EXPR {row.half}\n"
                body += "".join(f"#define {x} {t}\n" for x, t in zip("ABC", ins, strict=False))
                body += f'#include "device/cpu/loops/ew{len(ins)}.inc"\n'
            else:
                body = (
                    f"static void {name}(int64_t n, void *dst, const void *a, const void *b, const void *c) {{\n"
                    f"    const void *src[3] = {{a, b, c}};\n"
                    f"    asn_half_loop(ASN_OP_{row.name.upper()}, ASN_{DTYPES[half]}, n, dst, src);\n}}\n"
                )
            bodies.append(body)
            fills.append(f"    k->half[ASN_OP_{row.name.upper()}][{k}] = {name};\n")
            if "halves" in row.flags:
                fills.append(
                    f"    k->ew[ASN_OP_{row.name.upper()}][ASN_{DTYPES[half]}] = {name};\n"
                )
    return unit("half", isa, bodies, fills)


# ---- casts


def cast_expression(src, dst):
    """C expression over a, with the value of NumPy's cast on x86-64."""
    value = "a.re" if src in COMPLEX else "a"
    real = REAL.get(src, src)
    if dst == "bool":
        return (
            "(a.re != 0) | (a.im != 0)"
            if src in COMPLEX
            else "(a & 0x7fff) != 0"
            if src in HALVES
            else "a != 0"
        )
    if src in HALVES or dst in HALVES:
        if {src, dst} <= {"bfloat16", "float32"}:
            return f"asn_{SHORT[src]}_to_{SHORT[dst]}(a)"
        if real == "float64":
            odd = f"round_odd({value})"
            return odd if dst == "float16" else f"asn_f32_to_{SHORT[dst]}({odd})"
        return None
    if dst in COMPLEX:
        part = TYPES[REAL[dst]]
        return f"((O){{({part}){value}, {f'({part})a.im' if src in COMPLEX else '0'}}})"
    if real in FLOATS and dst in INTS:
        if dst == "uint64":
            return f"to_u64_{SHORT[real]}({value})"
        via = "i64" if dst in ("int64", "uint32") else "i32"
        return f"({TYPES[dst]})to_{via}_{SHORT[real]}({value})"
    return f"({TYPES[dst]}){value}"


TO_SIGNED = """
/* Out of range (and NaN) the lowest integer, as x86-64's conversion has it. */
#if defined(__x86_64__)
#define to_{d}_{s}(a) (({o})(a))
#else
static inline {o} to_{d}_{s}({t} a) {{
    {o} i = ({o})a;
    return a >= ({t})-0x1p{b} && a < ({t})0x1p{b} ? i : INT{n}_MIN;
}}
#endif
"""


TO_U64 = """
/* Out of range (and NaN) as x86-64 compilers have it; on purpose no vector code, whose conversion
 * instruction answers otherwise. */
static inline uint64_t to_u64_{s}({t} a) {{
    if (!(a >= ({t})0x1p63)) return (uint64_t)to_i64_{s}(a);
    return (uint64_t)to_i64_{s}(a - ({t})0x1p63) ^ (uint64_t)1 << 63;
}}
"""


ROUND_ODD = """
/* float64 -> float32 rounded to odd, so that a second rounding to a half is right; on the bits, whose
 * comparisons raise nothing for NaN. */
static inline float round_odd(double d) {
    float f = (float)d;
    uint32_t bits = asn_bits_f32(f), magnitude = bits & 0x7fffffff;
    uint64_t back = f_bits((double)f) << 1, exact = f_bits(d) << 1;
    uint32_t odd = (bits - (back > exact)) | 1;
    return asn_f32_bits(((back == exact) | (magnitude >= 0x7f800000)) ? bits : odd);
}
"""


def casts(isa):
    bodies = [
        "#define BLOCK 256\n",
        ROUND_ODD,
        *(TO_SIGNED.format(s=s, t=t, d=f"i{n}", o=f"int{n}_t", n=n, b=n - 1)
          for s, t in (("f32", "float"), ("f64", "double")) for n in (32, 64)),
        TO_U64.format(s="f32", t="float"),
        TO_U64.format(s="f64", t="double"),
    ]  # fmt: skip
    fills, through = [], []
    for src in DTYPES:
        for dst in DTYPES:
            name = f"cast_{SHORT[src]}_{SHORT[dst]}"
            expr = "a" if src == dst else cast_expression(src, dst)
            slot = f"    k->cast[ASN_{DTYPES[src]}][ASN_{DTYPES[dst]}] = {name};\n"
            if expr is None:
                if isa == "baseline" and {src, dst} != {"float16", "float32"}:
                    inc = "from" if src in HALVES else "to"
                    half, other = (src, dst) if src in HALVES else (dst, src)
                    through.append(
                        f"#define NAME {name}\n#define HALF ASN_{DTYPES[half]}\n#define OTHER ASN_{DTYPES[other]}\n"
                        f'#include "device/cpu/loops/cast_{inc}_half.inc"\n'
                    )
                    fills.append(slot)
                continue
            if isa != "baseline" and "to_u64" in expr:
                continue
            odd = "round_odd" in expr and dst == "float16"
            step, made = (f"odd_{SHORT[src]}", "float") if odd else (name, TYPES[dst])
            bodies.append(
                f"#define NAME {step}\n#define A {TYPES[src]}\n#define O {made}\n#define EXPR {expr}\n"
                f'#include "device/cpu/loops/ew1.inc"\n'
            )
            if odd:
                bodies.append(
                    f"#define NAME {name}\n#define ODD {step}\n#define A {TYPES[src]}\n"
                    f'#include "device/cpu/loops/cast_odd_half.inc"\n'
                )
            fills.append(slot)
    bodies.append(
        "#define NAME round_bf16\n#define A float\n#define O float\n"
        '#define EXPR asn_bf16_to_f32(asn_f32_to_bf16(a))\n#include "device/cpu/loops/ew1.inc"\n'
    )
    fills.append("    k->round_half[ASN_BF16] = round_bf16;\n")
    return unit("cast", isa, bodies + through, fills)


# ---- folds and scans


def slot_of(row, dtype):
    return f"[ASN_OP_{row.name.upper()}][ASN_{DTYPES[dtype]}]"


def foldable(row, dtype):
    """Binary rows that map (T, T) to T."""
    return row.types == ["T", "T"] and dtype in row.loops and row.result(dtype) == dtype


def step(row, dtype):
    """The expression of one step of a fold or scan; integer division reports a zero divisor."""
    expr = re.sub(r"\bT\b", "T_", row.loops[dtype])
    if "divides" in row.flags and dtype in INTS:
        return f"b ? (T_)({expr}) : (asn_fp_raise(FE_DIVBYZERO), (T_)0)"
    return expr


def extreme(row, dtype):
    """(vector operation, comparison, whether NaN wins) of a row that keeps one of its operands."""
    if not row.extreme or dtype not in FLOATS:
        return None
    sign, *nan = row.extreme.split()
    return {">": "v_max", "<": "v_min"}[sign], sign, int(bool(nan))


def fold(row, dtype):
    """The C text of a fold, and the lines that register it."""
    name, short, slot = f"fold_{row.name}_{SHORT[dtype]}", SHORT[dtype], slot_of(row, dtype)
    if keeps := extreme(row, dtype):
        vector, sign, propagates = keeps
        tag = f"{row.name}_{short}"
        body = f"#define F(n) n##_{tag}\n#define T {TYPES[dtype]}\n#define SPLIT {short}\n"
        body += f"#define VEC asn_v_{short}\n#define SEEN(s, a, b) v_seen_{short}(s, a, b)\n"
        body += (
            f"#define EXTREME(a, b) {vector}_{short}(a, b)\n#define BEATS(a, b) ((a) {sign} (b))\n"
        )
        body += f'#define PROPAGATES {propagates}\n#include "device/cpu/loops/fold_float.inc"\n'
        rows_ = f"    k->rows{slot} = rows_{tag};\n" if propagates else ""
        return body, f"{rows_}    k->fold{slot} = fold_{tag};\n"
    body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n"
    if template := row.fold.get(dtype):
        body += f'#include "device/cpu/loops/{template}.inc"\n'
    else:
        body += f'#define EXPR {step(row, dtype)}\n#include "device/cpu/loops/fold.inc"\n'
    return body, f"    k->fold{slot} = {name};\n"


def together(row, dtype):
    """Of many short rows, by the fold of one: the C text, and the line that registers it."""
    tag, longest = f"{row.name}_{SHORT[dtype]}", 128 if dtype in FLOATS else 48
    body = f"#define NAME fold_rows_{tag}\n#define T {TYPES[dtype]}\n#define FOLD fold_{tag}\n"
    body += f"#define EXPR {step(row, dtype)}\n#define SHORT {longest}\n"
    body += '#include "device/cpu/loops/fold_rows.inc"\n'
    return body, f"    k->rows{slot_of(row, dtype)} = fold_rows_{tag};\n"


def onto(row, dtype):
    """Of rows onto rows: the C text, and the line that registers it."""
    name, short = f"onto_{row.name}_{SHORT[dtype]}", SHORT[dtype]
    body, keeps = "", extreme(row, dtype)
    if keeps and keeps[2]:  # a compiler finds no vector code
        body += f"#define VEC asn_v_{short}\n"
        body += f"#define STEP(a, b) v_nan_of_{short}(a, {keeps[0]}_{short}(a, b))\n"
    body += f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define EXPR {step(row, dtype)}\n"
    body += '#include "device/cpu/loops/rows_onto.inc"\n'
    return body, f"    k->onto{slot_of(row, dtype)} = {name};\n"


def stacked(row, dtype):
    """Whether reductions take several rows of memory onto one of accumulators (rows_onto.inc)."""
    free = {"associative", "reorderable"} <= row.flags
    return free and dtype in INTS + FLOATS and is_straight(row, dtype)


def folds(table, isa):
    bodies, fills = [], []
    for dtype in DTYPES:
        bodies.append(prelude(dtype))
        for row in table:
            if not foldable(row, dtype):
                continue
            exact = dtype in INTS or dtype == "bool"
            faster = exact and "reorderable" in row.flags and is_straight(row, dtype)
            if isa == "baseline" or faster or stacked(row, dtype):
                body, fill = fold(row, dtype)
                bodies.append(body)
                fills.append(fill)
            free = faster and "associative" in row.flags
            if free or (stacked(row, dtype) and row.fold.get(dtype)):
                body, fill = together(row, dtype)
                bodies.append(body)
                fills.append(fill)
            if stacked(row, dtype):
                body, fill = onto(row, dtype)
                bodies.append(body)
                fills.append(fill)
    for dtype in INTS + FLOATS:
        element = f"uint{dtype.lstrip('uint')}_t" if dtype in INTS else TYPES[dtype]
        bodies.append(
            f'#define F(n) n##_{SHORT[dtype]}\n#define T {element}\n#include "device/cpu/nn/slide.inc"\n'
        )
        fills.append(f"    k->slide[ASN_{DTYPES[dtype]}] = slide_{SHORT[dtype]};\n")
    for dtype in FLOATS + COMPLEX:
        real = TYPES[REAL.get(dtype, dtype)]
        bodies.append(
            f"#define F(n) n##_{SHORT[dtype]}\n#define T {real}\n#define PARTS {2 if dtype in COMPLEX else 1}\n"
            f'#define SPLIT {SHORT[REAL.get(dtype, dtype)]}\n#include "device/cpu/loops/sum.inc"\n'
        )
        if dtype in FLOATS:
            bodies.append(
                f'#define F(n) n##_{SHORT[dtype]}\n#define T {real}\n#include "device/cpu/loops/spread.inc"\n'
            )
            fills.append(f"    k->spread[ASN_{DTYPES[dtype]}] = spread_{SHORT[dtype]};\n")
            fills.append(
                f"    k->rows[ASN_OP_ADD][ASN_{DTYPES[dtype]}] = sum_rows_{SHORT[dtype]};\n"
            )
        fills.append(f"    k->sum[ASN_{DTYPES[dtype]}] = sum_{SHORT[dtype]};\n")
    return unit("fold", isa, bodies, fills)


def soften(isa):
    """Rows of softmax: like the loops of vector functions they drop the conditions of their arithmetic."""
    bodies, fills = [], []
    for dtype in FLOATS:
        short, suffix = SHORT[dtype], "f" if dtype == "float32" else ""
        bodies.append(
            f"#define F(n) n##_{short}\n#define T {TYPES[dtype]}\n#define T_DTYPE ASN_{DTYPES[dtype]}\n"
            f"#if defined(ASN_VMATH)\n#define EXP(a) v_exp{suffix}(a)\n"
            f"#else\n#define EXP(a) exp{suffix}(a)\n#endif\n"
            '#include "device/cpu/nn/soften.inc"\n'
        )
        fills += [f"    k->{f}[ASN_{DTYPES[dtype]}] = {f}_{short};\n" for f in ("soften", "times")]
    return unit("soften", isa, bodies, fills)


STORE_F16 = """
/* The conversion reports overflow, as the machine's does. */
static inline uint16_t store_f16(float f) {
    uint16_t half = asn_f32_to_f16(f);
    if ((half & 0x7fff) == 0x7c00 && fabsf(f) <= FLT_MAX) asn_fp_raise(FE_OVERFLOW);
    return half;
}
"""


def scans(table):
    bodies, fills = [STORE_F16], []
    for dtype in DTYPES:
        compute = "float32" if dtype in HALVES else dtype
        bodies.append(prelude(compute))
        for row in table:
            # What the elementwise loop computes in its own way, a scan takes from there.
            own = "halves" in row.flags if dtype in HALVES else row.vector.get(compute)
            if not foldable(row, compute) or own:
                continue
            name = f"scan_{row.name}_{SHORT[dtype]}"
            expr = step(row, compute)
            load, store = ("", "")
            if dtype in HALVES:
                load, store = f"asn_{SHORT[dtype]}_to_f32", f"asn_f32_to_{SHORT[dtype]}"
                store = "store_f16" if dtype == "float16" else store
            bodies.append(
                f"#define NAME {name}\n#define S {TYPES[dtype]}\n#define T {TYPES[compute]}\n#define LOAD(v) {load}(v)\n"
                f"#define STORE(v) {store}(v)\n#define EXPR {expr}\n"
                f'#include "device/cpu/loops/scan.inc"\n'
            )
            fills.append(f"    k->scan[ASN_OP_{row.name.upper()}][ASN_{DTYPES[dtype]}] = {name};\n")
    return unit("scan", "baseline", bodies, fills)


# ---- positions of extremes


def args(isa):
    bodies, fills = [], []
    for dtype in DTYPES:
        half, suffix = dtype in HALVES, "f" if dtype == "complex64" else ""
        load = f"asn_{SHORT[dtype]}_to_f32(v)" if half else "(v)"
        bodies.append(
            f"#define S {TYPES[dtype]}\n#define T {'float' if half else TYPES[dtype]}\n#define LOAD(v) {load}\n"
        )
        for smallest, (name, sign) in enumerate((("max", ">"), ("min", "<"))):
            beats = f"((a) {sign} (b))"
            if dtype in FLOATS + HALVES:
                beats = f"(((a) {sign} (b)) | (((a) != (a)) & ((b) == (b))))"
            if dtype in COMPLEX:
                beats = f"c_beats_{name}{suffix}(a, b)"
            tag = f"{name}_{SHORT[dtype]}"
            rows = "NULL"
            lanes = f"#define AHEAD(a, b) ((a) {sign} (b))\n"
            if dtype in ("int32", "int64", *FLOATS):
                wide, rows = "i64" if "64" in dtype else "i32", f"rows_{tag}"
                seen = f"v_seen_{SHORT[dtype]}(s, a, b)" if dtype in FLOATS else "(s)"
                lanes += f"#define REGISTER asn_v_{SHORT[dtype]}\n#define INDEX asn_v_{wide}\n"
                extreme = (
                    f"v_{name}_{SHORT[dtype]}(a, b)" if dtype in FLOATS else f"pick_{tag}(m, a, b)"
                )
                lanes += f"#define EXTREME(m, a, b) {extreme}\n"
                lanes += f"#define SPLIT f{wide[1:]}\n"
                lanes += f"#define INDEX_OF(k) (int{wide[1:]}_t)(k)\n#define SEEN(s, a, b) {seen}\n"
            bodies.append(
                f'#define BEATS(a, b) {beats}\n#define F(n) n##_{tag}\n{lanes}#include "device/cpu/loops/arg.inc"\n'
            )
            fills.append(
                f"    k->arg[{smallest}][ASN_{DTYPES[dtype]}] = (asnd_arg_loops){{line_{tag}, find_{tag}, first_{tag}, beats_{tag}, "
                f"stack_{tag}, {rows}}};\n"
            )
        bodies.append("#undef S\n#undef T\n#undef LOAD\n")
    return unit("arg", isa, bodies, fills)


# ---- matrix products


def products(isa):
    bodies, fills = [], []
    for dtype in [d for d in DTYPES if d not in HALVES]:
        add = {
            "bool": "(c | (a & b))",
            "complex64": "c_addf(c, c_mulf(a, b))",
            "complex128": "c_add(c, c_mul(a, b))",
        }
        unsigned = "uint64_t" if "64" in dtype else "uint32_t"
        expr = add.get(dtype, "((c) + (a) * (b))")
        if dtype in INTS:
            expr = f"({TYPES[dtype]})(({unsigned})(c) + ({unsigned})(a) * ({unsigned})(b))"
        name = f"matmul_{SHORT[dtype]}"
        dot = f"dot_{SHORT[dtype]}"
        plain = f"{dot}_strided" if dtype in FLOATS + COMPLEX else dot
        bodies.append(
            f"#define NAME {name}\n#define DOT {plain}\n#define T {TYPES[dtype]}\n#define MULADD(c, a, b) {expr}\n"
            f'#include "device/cpu/gemm/matmul.inc"\n'
        )
        if dtype in FLOATS:
            bodies.append(
                f"#define NAME {dot}\n#define FALLBACK {plain}\n#define T {TYPES[dtype]}\n"
                f'#include "device/cpu/gemm/dot.inc"\n'
                f"#define F(n) n##_{SHORT[dtype]}\n#define T {TYPES[dtype]}\n#define SPLIT {SHORT[dtype]}\n"
                f'#include "device/cpu/gemv/gemv.inc"\n'
            )
            fills += [
                f"    k->gemv_{n}[ASN_{DTYPES[dtype]}] = gemv_{n}_{SHORT[dtype]};\n"
                for n in ("dots", "sums")
            ]
        if dtype in COMPLEX:
            real = REAL[dtype]
            vdot = f"vdot_{SHORT[dtype]}"
            bodies.append(
                f"#define T {TYPES[real]}\n#define SPLIT {SHORT[real]}\n"
                f"#define NAME {vdot}_strided\n#define C {TYPES[dtype]}\n#define MULADD(c, a, b) {expr}\n"
                f'#include "device/cpu/gemm/dot_conjugate.inc"\n'
            )
            for conjugate, name_, strided in ((0, dot, plain), (1, vdot, f"{vdot}_strided")):
                bodies.append(
                    f"#define NAME {name_}\n#define FALLBACK {strided}\n#define CONJUGATE {conjugate}\n"
                    f'#include "device/cpu/gemm/dot_complex.inc"\n'
                )
            bodies.append("#undef T\n#undef SPLIT\n")
            fills.append(f"    k->vdot[ASN_{DTYPES[dtype]}] = {vdot};\n")
        fills.append(
            f"    k->matmul[ASN_{DTYPES[dtype]}] = {name};\n    k->dot[ASN_{DTYPES[dtype]}] = {dot};\n"
        )
    return unit("matmul", isa, bodies, fills)


# ---- the whole


def units(isas):
    loops = [f"{k}_{p}" for k, parts in PARTS.items() if k != "library" for p in range(parts)]
    alone = [f"library_{p}" for p in range(PARTS["library"])] + ["scan"]
    listed = [
        (n, i) for i in isas for n in [*loops, "half", "cast", "fold", "soften", "arg", "matmul"]
    ]
    return [*listed, *((n, "baseline") for n in alone)]


def files(isas):
    return [f"kernels_{n}_{i}.c" for n, i in units(isas)] + ["kernels_init.c"]


def text(table, name, isa):
    if name == "cast":
        return casts(isa)
    if name == "half":
        return halves(table, isa)
    if name == "matmul":
        return products(isa)
    if name == "arg":
        return args(isa)
    if name == "fold":
        return folds(table, isa)
    if name == "soften":
        return soften(isa)
    if name == "scan":
        return scans(table)
    return elementwise(table, name, isa)


def init(table, isas):
    listed = units(isas)
    lines = [
        "/* Generated by tools/gen_kernels.py: what each instruction set puts into the table of kernels. */\n",
        '#include "device/cpu/kernels.h"\n',
    ]
    lines += [f"void asn_kernels_{n}_{i}(asnd_kernels *k);\n" for n, i in listed]
    for isa in reversed(isas):
        head = f"void asn_kernels_generated_{isa}(asnd_kernels *k)"
        lines.append(f"{head};\n{head} {{\n")
        lines += [f"    asn_kernels_{n}_{i}(k);\n" for n, i in listed if i == isa]
        if isa != "baseline":
            lines.append("}\n")
    for row in table:
        lines.append(f"    k->cost[ASN_OP_{row.name.upper()}] = {row.cost};\n")
        lines += [
            f"    k->quiet{slot_of(row, d)} = true;\n"
            for d in row.dtypes
            if d in HALVES + FLOATS + COMPLEX and is_quiet(row, d)
        ]
    lines.append("    k->cost[ASN_OP_CAST] = 1;\n}\n")
    return "".join(lines)


def main():
    if sys.argv[1] == "--list":
        print(";".join(files(sys.argv[2:])), end="")
        return
    out, isas = pathlib.Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    table = rows()
    for name, isa in units(isas):
        write(out / f"kernels_{name}_{isa}.c", text(table, name, isa))
    write(out / "kernels_init.c", init(table, isas))


if __name__ == "__main__":
    main()
