"""Writes the compiled loops of the CPU device from src/ops/ops.def: one small C file per family
and instruction set, each including loop templates of src/device/cpu.

usage: gen_kernels.py OUTPUT_DIR ISA...      writes the files (names: see files())
       gen_kernels.py --list ISA...          prints their names, separated by ';'

A loop is compiled for the faster instruction sets when its expression vectorises; every loop exists
for the baseline. Standard library only.
"""

import pathlib
import re
import sys

from optable import DTYPES, rows

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

# Functions of scalar.h that a compiler turns into vector code; a loop that calls another one gains
# nothing from a wider instruction set.
VECTOR_FUNCTIONS = {
    "c_abs",
    "fabs",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "copysign",
    "f_maximum",
    "f_minimum",
    "f_fmax",
    "f_fmin",
    "f_clip",
    "f_isinf",
    "f_isposinf",
    "f_isneginf",
    "f_isfinite",
    "f_signbit",
    "c_add",
    "c_sub",
    "c_mul",
    "c_neg",
    "c_conj",
    "i_left_shift",
    "i_right_shift",
    "i_popcount",
    "f_spacing",
    "f_frexp_mantissa",
    "f_frexp_exponent",
    "f_modf_fraction",
    "c_less",
    "c_less_equal",
    "c_maximum",
    "c_minimum",
    "c_fmax",
    "c_fmin",
    "c_clip",
    "c_true",
}
# Rows whose real loops are the functions of vmath.h instead of the C library's.
VMATH_FAMILIES = {
    "vmath_exp": "exp exp2 expm1 sinh cosh tanh sigmoid log log2 log10 log1p logaddexp logaddexp2",
    "vmath_arc": "sin cos tan arcsin arccos arctan arctan2 arcsinh arccosh arctanh power float_power "
    "cbrt hypot ldexp nextafter",
}
VMATH = {*" ".join(VMATH_FAMILIES.values()).split(), "floor_divide", "remainder", "fmod"}
# Those of them that are spelled out for whole vectors, and for which.
WIDE_FUNCTIONS = {"power": ["float32", "float64"], "tanh": ["float32"]}
WIDE_TYPES = {"avx512": ("f64x8", "f32x16", "f32x8"), "avx2": ("f32x8",)}
# Rows whose integer loops divide in floating point, in the order of KIND in divide_int.inc.
QUOTIENTS = ["floor_divide", "remainder", "fmod"]
# Files hold about equally many loops; a row in none of them is in "rest".
FAMILIES = {
    "arith": "add subtract multiply divide negative absolute square positive",
    "select": "maximum minimum fmax fmin clip where copy real imag relu heaviside sign",
    "compare": "equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit "
    "isposinf isneginf",
    "logic": "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert "
    "left_shift right_shift bitwise_count",
    "quotient": " ".join(QUOTIENTS) + " power",
    **VMATH_FAMILIES,
    "round": "floor ceil trunc rint copysign sqrt rsqrt frac degrees radians fabs conjugate "
    "frexp_mantissa frexp_exponent modf_fraction",
}
# Rows whose loops compare floats: a NaN operand raises "invalid" (in equal and isnan a signaling one), which is
# not the program's.
QUIET = {
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clip",
    "relu",
    "heaviside",
    "sign",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "isnan",
    "isinf",
    "isfinite",
}
# Tenths of ns per element on one Zen 4 core, in cache; the others are light.
COST = {
    "divide": 5, "sqrt": 5, "rsqrt": 8, "reciprocal": 5, "floor_divide": 10, "remainder": 10, "fmod": 10,
    "power": 22, "float_power": 22, "hypot": 8, "gcd": 250, "lcm": 250, "spacing": 30, "ldexp": 5,
    "nextafter": 4,
    "exp": 6, "exp2": 6, "expm1": 8, "log": 8, "log2": 12, "log10": 12, "log1p": 12, "sin": 10,
    "cos": 10, "tan": 12, "tanh": 14, "sinh": 9, "cosh": 9, "arcsin": 9, "arccos": 11, "arctan": 10,
    "arctan2": 14, "arcsinh": 16, "arccosh": 15, "arctanh": 10, "cbrt": 11, "logaddexp": 20,
    "logaddexp2": 20, "sigmoid": 9, "erf": 60, "erfc": 60,
}  # fmt: skip
# Rows whose reductions take several rows of memory onto one of accumulators (rows_onto.inc).
STACKED = {"add", "multiply", "maximum", "minimum"}
LOGICAL = {"logical_and", "logical_or", "logical_xor"}
# Rows that keep one of their operands: the vector operation, its comparison, whether NaN wins.
EXTREMES = {
    "maximum": ("v_max", ">", 1),
    "minimum": ("v_min", "<", 1),
    "fmax": ("v_max", ">", 0),
    "fmin": ("v_min", "<", 0),
}


def calls(expr):
    return set(re.findall(r"M\((\w+)\)", expr))


def is_vmath(row, dtype):
    return row.name in VMATH and dtype in FLOATS


def vmath_name(row):
    """Of the row's functions v_<name>, v_<name>_core ... in vmath.h."""
    return {"float_power": "power"}.get(row.name, row.name)


def wide_name(row, dtype, isa, count=None):
    """The vector type for which device/cpu/vmath_wide.h spells the row's function out, of `count` lanes or
    whole: f64x8, f32x16 or f32x8; None: it does not."""
    if dtype not in WIDE_FUNCTIONS.get(vmath_name(row), ()):
        return None
    count = count or {"avx512": 64, "avx2": 32}.get(isa, 0) // (
        int(dtype.removeprefix("float")) // 8
    )
    name = f"f{dtype.removeprefix('float')}x{count}"
    return name if name in WIDE_TYPES.get(isa, ()) else None


def vectorises(row, dtype):
    expr = row.loops[dtype]
    if is_vmath(row, dtype):
        return True
    if row.name in (*QUOTIENTS, "power") and dtype in INTS:
        return True
    if "divides" in row.flags and dtype in INTS:
        return False
    return calls(expr) <= VECTOR_FUNCTIONS


def family(row):
    for name, members in FAMILIES.items():
        if row.name in members.split():
            return name
    return "rest"


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
    if is_vmath(row, dtype):
        base, suffix = vmath_name(row), {"float32": "f"}.get(dtype, "")
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
            parts = ["core", "outside"] + ["plain_core", "plain_outside"] * (len(row.args) == 2)
            for part in parts:
                body += f"#define WIDE_{part.upper()} v_{base}_{part}_{wide}\n"
        return body + '#include "device/cpu/vmath.inc"\n', fill
    if row.name in QUOTIENTS and dtype in INTS:
        wide = dtype in ("int32", "uint32", "int64", "uint64")
        body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define KIND {QUOTIENTS.index(row.name)}\n"
        body += f"#define FLOAT {'double' if wide else 'float'}\n#define WIDE {'int64_t' if wide else 'int32_t'}\n"
        body += f"#define BITS {53 if wide else 24}\n#define EXPR {expr}\n"
        if "64" not in dtype:
            lane, product = ("uint32_t", "uint64_t") if "32" in dtype else ("uint16_t", "uint32_t")
            body += f"#define LANE {lane}\n#define PRODUCT {product}\n"
        return body + '#include "device/cpu/divide_int.inc"\n', fill
    if row.name == "power" and dtype in INTS:
        wide = "uint64_t" if "64" in dtype else "uint32_t"
        body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define U_ {wide}\n#define EXPR {expr}\n"
        return body + '#include "device/cpu/power_int.inc"\n', fill
    if "divides" in row.flags and dtype in INTS:
        divisor, binary, raises = "pb", "x", "FE_DIVBYZERO"
        if len(row.args) == 1:  # the conversion of 1.0 / 0 is invalid as well
            divisor, binary, raises = "pa", "", "FE_DIVBYZERO | FE_INVALID"
        body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n#define DIVISOR {divisor}\n"
        body += f"#define BINARY(x) {binary}\n"
        body += f"#define RAISES {raises}\n#define EXPR {expr}\n"
        return body + '#include "device/cpu/divides.inc"\n', fill
    ins = [TYPES[dtype if t == "T" else t] for t in row.types]
    body = f"#define NAME {name}\n#define O {TYPES[row.result(dtype)]}\n#define EXPR {expr}\n"
    body += "".join(
        f"#define {letter} {ctype}\n" for letter, ctype in zip("ABC", ins, strict=False)
    )
    return body + f'#include "device/cpu/ew{len(ins)}.inc"\n', fill


def unit(name, isa, bodies, fills):
    head = f'/* Generated by tools/gen_kernels.py. */\n#include "device/cpu/loop.h"\nvoid asn_kernels_{name}_{isa}(asn_kernels *k);\n'
    return f"{head}{''.join(bodies)}void asn_kernels_{name}_{isa}(asn_kernels *k) {{\n    (void)k;\n{''.join(fills)}}}\n"


def elementwise(table, members, name, isa):
    bodies, fills = [], []
    for dtype in DTYPES:
        picked = [
            r for r in table
            if dtype in r.loops and r in members and (isa == "baseline" or vectorises(r, dtype))
        ]  # fmt: skip
        bodies += [prelude(dtype)] if picked else []
        for row in picked:
            body, fill = loop(row, dtype, isa)
            bodies.append(body)
            fills.append(fill)
        if dtype in HALVES and name == "select":
            for row in table:
                if row.name in ("copy", "where"):
                    halved = type(row)(**{**row.__dict__, "loops": {dtype: row.loops["uint16"]}})
                    body, fill = loop(halved, dtype, isa)
                    bodies += [prelude("uint16"), body]
                    fills.append(fill)
    return unit(name, isa, bodies, fills)


# ---- halves on their own

# What is done on the bits, {inf} being those of infinity.
HALF_BITS = {
    "absolute": "a & 0x7fff", "fabs": "a & 0x7fff", "negative": "a ^ 0x8000", "positive": "a", "conjugate": "a",
    "copysign": "(a & 0x7fff) | (b & 0x8000)", "signbit": "a >> 15", "isnan": "(a & 0x7fff) > {inf}",
    "isinf": "(a & 0x7fff) == {inf}", "isfinite": "(a & 0x7fff) < {inf}", "spacing": "asn_{half}_spacing(a)",
}  # fmt: skip


def halves(table, isa):
    bodies, fills = [], []
    for k, (half, infinity) in enumerate((("float16", "0x7c00"), ("bfloat16", "0x7f80"))):
        for row in table:
            if "float32" not in row.loops or (row.name not in HALF_BITS and isa != "baseline"):
                continue
            name = f"{row.name}_{SHORT[half]}"
            if row.name in HALF_BITS:
                out = "uint8_t" if row.out == "bool" else "uint16_t"
                body = f"#define NAME {name}\n#define O {out}\n"
                body += (
                    f"#define EXPR {HALF_BITS[row.name].format(inf=infinity, half=SHORT[half])}\n"
                )
                body += "".join(f"#define {x} uint16_t\n" for x in "AB"[: len(row.args)])
                body += f'#include "device/cpu/ew{len(row.args)}.inc"\n'
            else:
                body = (
                    f"static void {name}(int64_t n, void *dst, const void *a, const void *b, const void *c) {{\n"
                    f"    const void *src[3] = {{a, b, c}};\n"
                    f"    asn_half_loop(ASN_OP_{row.name.upper()}, ASN_{DTYPES[half]}, n, dst, src);\n}}\n"
                )
            bodies.append(body)
            fills.append(f"    k->half[ASN_OP_{row.name.upper()}][{k}] = {name};\n")
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
                        f'#include "device/cpu/cast_{inc}_half.inc"\n'
                    )
                    fills.append(slot)
                continue
            if isa != "baseline" and "to_u64" in expr:
                continue
            odd = "round_odd" in expr and dst == "float16"
            step, made = (f"odd_{SHORT[src]}", "float") if odd else (name, TYPES[dst])
            bodies.append(
                f"#define NAME {step}\n#define A {TYPES[src]}\n#define O {made}\n#define EXPR {expr}\n"
                f'#include "device/cpu/ew1.inc"\n'
            )
            if odd:
                bodies.append(
                    f"#define NAME {name}\n#define ODD {step}\n#define A {TYPES[src]}\n"
                    f'#include "device/cpu/cast_odd_half.inc"\n'
                )
            fills.append(slot)
    bodies.append(
        "#define NAME round_bf16\n#define A float\n#define O float\n"
        '#define EXPR asn_bf16_to_f32(asn_f32_to_bf16(a))\n#include "device/cpu/ew1.inc"\n'
    )
    fills.append("    k->round_half[ASN_BF16] = round_bf16;\n")
    return unit("cast", isa, bodies + through, fills)


# ---- folds and scans


def foldable(row, dtype):
    """Binary rows that map (T, T) to T."""
    return row.types == ["T", "T"] and dtype in row.loops and row.result(dtype) == dtype


def step(row, dtype):
    """The expression of one step of a fold or scan; integer division reports a zero divisor."""
    expr = re.sub(r"\bT\b", "T_", row.loops[dtype])
    if "divides" in row.flags and dtype in INTS:
        return f"b ? (T_)({expr}) : (asn_fp_raise(FE_DIVBYZERO), (T_)0)"
    return expr


def folds(table, isa):
    bodies, fills = [], []
    for dtype in DTYPES:
        bodies.append(prelude(dtype))
        for row in table:
            if not foldable(row, dtype):
                continue
            name = f"fold_{row.name}_{SHORT[dtype]}"
            exact = dtype in INTS or dtype == "bool"
            extreme = EXTREMES.get(row.name) if dtype in FLOATS else None
            product = row.name == "multiply" and dtype in FLOATS
            if (
                isa != "baseline"
                and not extreme
                and not (dtype in FLOATS and row.name in STACKED)
                and not (exact and "reorderable" in row.flags and vectorises(row, dtype))
            ):
                continue
            slot = f"[ASN_OP_{row.name.upper()}][ASN_{DTYPES[dtype]}]"
            if extreme:
                vector, sign, propagates = extreme
                tag = f"{row.name}_{SHORT[dtype]}"
                body = f"#define F(n) n##_{tag}\n#define T {TYPES[dtype]}\n#define SPLIT {SHORT[dtype]}\n"
                body += f"#define VEC asn_v_{SHORT[dtype]}\n#define SEEN(s, a, b) v_seen_{SHORT[dtype]}(s, a, b)\n"
                body += f"#define EXTREME(a, b) {vector}_{SHORT[dtype]}(a, b)\n#define BEATS(a, b) ((a) {sign} (b))\n"
                body += f"#define PROPAGATES {propagates}\n"
                body += '#include "device/cpu/fold_float.inc"\n'
                if propagates:
                    fills.append(f"    k->rows{slot} = rows_{tag};\n")
            elif product:
                body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n"
                body += '#include "device/cpu/product.inc"\n'
            else:
                expr = step(row, dtype)
                body = f"#define NAME {name}\n#define T {TYPES[dtype]}\n"
                body += f'#define EXPR {expr}\n#include "device/cpu/fold.inc"\n'
            bodies.append(body)
            fills.append(f"    k->fold{slot} = {name};\n")
            if row.name in STACKED and dtype in INTS + FLOATS:
                onto = f"onto_{row.name}_{SHORT[dtype]}"
                if extreme:
                    vector, short = extreme[0], SHORT[dtype]
                    bodies.append(
                        f"#define VEC asn_v_{short}\n"
                        f"#define STEP(a, b) v_nan_of_{short}(a, {vector}_{short}(a, b))\n"
                    )
                bodies.append(
                    f"#define NAME {onto}\n#define T {TYPES[dtype]}\n#define EXPR {step(row, dtype)}\n"
                    f'#include "device/cpu/rows_onto.inc"\n'
                )
                fills.append(f"    k->onto{slot} = {onto};\n")
    for dtype in INTS + FLOATS:
        element = f"uint{dtype.lstrip('uint')}_t" if dtype in INTS else TYPES[dtype]
        bodies.append(
            f'#define F(n) n##_{SHORT[dtype]}\n#define T {element}\n#include "device/cpu/slide.inc"\n'
        )
        fills.append(f"    k->slide[ASN_{DTYPES[dtype]}] = slide_{SHORT[dtype]};\n")
    for dtype in FLOATS + COMPLEX:
        real = TYPES[REAL.get(dtype, dtype)]
        bodies.append(
            f"#define F(n) n##_{SHORT[dtype]}\n#define T {real}\n#define PARTS {2 if dtype in COMPLEX else 1}\n"
            f'#define SPLIT {SHORT[REAL.get(dtype, dtype)]}\n#include "device/cpu/sum.inc"\n'
        )
        if dtype in FLOATS:
            bodies.append(
                f'#define F(n) n##_{SHORT[dtype]}\n#define T {real}\n#include "device/cpu/spread.inc"\n'
            )
            fills.append(f"    k->spread[ASN_{DTYPES[dtype]}] = spread_{SHORT[dtype]};\n")
            fills.append(
                f"    k->rows[ASN_OP_ADD][ASN_{DTYPES[dtype]}] = sum_rows_{SHORT[dtype]};\n"
            )
        fills.append(f"    k->sum[ASN_{DTYPES[dtype]}] = sum_{SHORT[dtype]};\n")
    return unit("fold", isa, bodies, fills)


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
            elementwise = is_vmath(row, compute) and dtype not in HALVES
            if not foldable(row, compute) or elementwise:
                continue
            if row.name == "nextafter" and dtype in HALVES:
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
                f'#include "device/cpu/scan.inc"\n'
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
                lanes += f"#define VEC asn_v_{SHORT[dtype]}\n#define INDEX asn_v_{wide}\n"
                extreme = (
                    f"v_{name}_{SHORT[dtype]}(a, b)" if dtype in FLOATS else f"pick_{tag}(m, a, b)"
                )
                lanes += f"#define EXTREME(m, a, b) {extreme}\n"
                lanes += f"#define SPLIT f{wide[1:]}\n"
                lanes += f"#define INDEX_OF(k) (int{wide[1:]}_t)(k)\n#define SEEN(s, a, b) {seen}\n"
            bodies.append(
                f'#define BEATS(a, b) {beats}\n#define F(n) n##_{tag}\n{lanes}#include "device/cpu/arg.inc"\n'
            )
            fills.append(
                f"    k->arg[{smallest}][ASN_{DTYPES[dtype]}] = (asn_arg_loops){{line_{tag}, find_{tag}, first_{tag}, beats_{tag}, "
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
            f'#include "device/cpu/matmul.inc"\n'
        )
        if dtype in FLOATS:
            bodies.append(
                f"#define NAME {dot}\n#define FALLBACK {plain}\n#define T {TYPES[dtype]}\n"
                f'#include "device/cpu/dot.inc"\n'
            )
        if dtype in COMPLEX:
            real = REAL[dtype]
            vdot = f"vdot_{SHORT[dtype]}"
            bodies.append(
                f"#define T {TYPES[real]}\n#define SPLIT {SHORT[real]}\n"
                f"#define NAME {vdot}_strided\n#define C {TYPES[dtype]}\n#define MULADD(c, a, b) {expr}\n"
                f'#include "device/cpu/dot_conjugate.inc"\n'
            )
            for conjugate, name_, strided in ((0, dot, plain), (1, vdot, f"{vdot}_strided")):
                bodies.append(
                    f"#define NAME {name_}\n#define FALLBACK {strided}\n#define CONJUGATE {conjugate}\n"
                    f'#include "device/cpu/dot_complex.inc"\n'
                )
            bodies.append("#undef T\n#undef SPLIT\n")
            fills.append(f"    k->vdot[ASN_{DTYPES[dtype]}] = {vdot};\n")
        fills.append(
            f"    k->matmul[ASN_{DTYPES[dtype]}] = {name};\n    k->dot[ASN_{DTYPES[dtype]}] = {dot};\n"
        )
    return unit("matmul", isa, bodies, fills)


# ---- the whole


def quiet_dtypes(row):
    """NumPy's complex comparisons report NaN, its complex maximum does not."""
    return HALVES + FLOATS + (COMPLEX if row.name in {*EXTREMES, "clip"} else [])


def units(isas):
    names = [*FAMILIES, "half", "cast", "fold", "arg", "matmul"]
    listed = [(n, i) for i in isas for n in names]
    return [
        *listed,
        ("rest_real", "baseline"),
        ("rest_complex", "baseline"),
        ("rest_int", "baseline"),
        ("scan", "baseline"),
    ]


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
    if name == "scan":
        return scans(table)
    if name.startswith("rest_"):
        kind = {"rest_real": FLOATS, "rest_complex": COMPLEX}.get(name, ["bool", *INTS])
        members = [
            type(r)(**{**r.__dict__, "loops": {d: e for d, e in r.loops.items() if d in kind}})
            for r in table if family(r) == "rest"
        ]  # fmt: skip
        return elementwise(members, members, name, isa)
    return elementwise(table, [r for r in table if family(r) == name], name, isa)


def init(table, isas):
    listed = units(isas)
    lines = [
        "/* Generated by tools/gen_kernels.py. */\n",
        '#include "base/cpu.h"\n#include "device/cpu/kernels.h"\n',
    ]
    lines += [f"void asn_kernels_{n}_{i}(asn_kernels *k);\n" for n, i in listed]
    lines.append(
        "void asn_kernels_generated(asn_kernels *k);\nvoid asn_kernels_generated(asn_kernels *k) {\n"
    )
    lines += [f"    asn_kernels_{n}_{i}(k);\n" for n, i in listed if i == "baseline"]
    for isa in isas:
        if isa != "baseline":
            lines.append(f"    if (asn_cpu_isa() >= ASN_ISA_{isa.upper()}) {{\n")
            lines += [f"        asn_kernels_{n}_{i}(k);\n" for n, i in listed if i == isa]
            lines.append("    }\n")
    for row in table:
        cost = COST.get(row.name, 1)
        lines.append(f"    k->cost[ASN_OP_{row.name.upper()}] = {cost};\n")
        if row.name in QUIET:
            lines += [
                f"    k->quiet[ASN_OP_{row.name.upper()}][ASN_{DTYPES[d]}] = true;\n"
                for d in quiet_dtypes(row)
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
        (out / f"kernels_{name}_{isa}.c").write_text(text(table, name, isa))
    (out / "kernels_init.c").write_text(init(table, isas))


if __name__ == "__main__":
    main()
