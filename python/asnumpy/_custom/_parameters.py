"""Parameters of kernels, and the C around them.

A parameter is ``[raw] TYPE NAME``: TYPE is a dtype's name (``float32``) or one letter (``T``) that stands for
the dtype of the arguments; ``raw`` gives the kernel the whole array instead of one element.
"""

import keyword
import re

import numpy as np

from .. import _core
from . import _loops as loops

C_TYPES = {
    "bool": "bool", "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "uint16": "uint16_t",
    "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "uint64": "uint64_t", "float16": "_Float16",
    "float32": "float", "float64": "double", "complex64": "float _Complex", "complex128": "double _Complex",
}  # fmt: skip
# Without arithmetic in C: computed in float, in memory two bytes.
NARROW = {"bfloat16": "float"}
_RESERVED = {"i", "n", "size"}

# What kernels may use: C's mathematics for each type, and CUDA's min, max and abs.
PROLOGUE = """\
#include <complex.h>
#include <float.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
#undef I
#define min(a_, b_) ({ __typeof__((a_) + (b_)) l_ = (a_), r_ = (b_); r_ < l_ ? r_ : l_; })
#define max(a_, b_) ({ __typeof__((a_) + (b_)) l_ = (a_), r_ = (b_); l_ < r_ ? r_ : l_; })
#undef abs
#define abs(x_) _Generic((x_) + 0, int: (abs)((int)(x_)), long: labs((long)(x_)), \\
    long long: llabs((long long)(x_)), unsigned: (x_), unsigned long: (x_), \\
    unsigned long long: (x_), default: fabs(x_))
"""
# bfloat16 in memory: the upper half of a float, rounded to nearest, ties to even.
NARROW_PROLOGUE = """\
static inline float _load_bfloat16(uint16_t bits_) {
    uint32_t wide_ = (uint32_t)bits_ << 16; float x_; memcpy(&x_, &wide_, sizeof x_); return x_;
}
static inline uint16_t _store_bfloat16(float x_) {
    uint32_t wide_; memcpy(&wide_, &x_, sizeof wide_);
    uint16_t rounded_ = (uint16_t)((wide_ + 0x7fff + (wide_ >> 16 & 1)) >> 16);
    return x_ == x_ ? rounded_ : (uint16_t)(wide_ >> 16 | 0x40);
}
"""


class Parameter:
    """One parameter of a kernel."""

    def __init__(self, text, kernel, narrow):
        words = text.split()
        self.raw = words[:1] == ["raw"]
        words = words[self.raw :]
        if len(words) != 2:
            raise ValueError(f"{kernel}: parameter {text.strip()!r} is not '[raw] TYPE NAME'")
        self.type, self.name = words
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name) or keyword.iskeyword(self.name):
            raise ValueError(f"{kernel}: {self.name!r} is no name for a parameter")
        if self.name in _RESERVED or self.name.startswith("_"):
            raise ValueError(
                f"{kernel}: parameters are not named i, n, size or _..., which are the kernel's: {self.name!r}"
            )
        self.letter = self.type if len(self.type) == 1 else None
        self.dtype = None if self.letter else _dtype(self.type, kernel, narrow and not self.raw)


def _dtype(name, kernel, narrow):
    try:
        dtype = _core.empty(0, name).dtype if name == "bfloat16" else np.dtype(name)
    except TypeError:
        dtype = None
    types = {**C_TYPES, **NARROW} if narrow else C_TYPES
    if dtype is None or dtype.name not in types:
        raise ValueError(
            f"{kernel}: {name!r} is no type of kernels here; they are one letter, or {', '.join(types)}"
        )
    return dtype


def parse(text, kernel, narrow=False):
    """The parameters of ``"T x, raw float32 y"``; with narrow bfloat16 is a type of those that are not raw."""
    return [Parameter(part, kernel, narrow) for part in text.split(",")] if text.strip() else []


def check_names(parameters, kernel):
    """ValueError where two parameters have one name."""
    names = [p.name for p in parameters]
    double = next((n for n in names if names.count(n) > 1), None)
    if double:
        raise ValueError(f"{kernel}: two parameters are named {double!r}")


def resolve(inputs, outputs, arguments, results, kernel, further=(), narrow=False):
    """The dtypes of a call: letter -> dtype.

    A letter is the promotion of its inputs; one that only outputs have is theirs.
    """
    letters = {}
    for group, values in ((inputs, arguments), (outputs, results)):
        found = {}
        for p, value in zip(group, values, strict=False):
            if p.letter and p.letter not in letters and value is not None:
                found.setdefault(p.letter, []).append(value)
        letters.update({letter: loops.promoted(values) for letter, values in found.items()})
    for letter in [p.letter for p in (*inputs, *outputs) if p.letter] + [
        x for x in further if len(x) == 1
    ]:
        if letter not in letters:
            raise TypeError(
                f"{kernel}: nothing tells the type {letter}: give out=, or name a dtype instead"
            )
    for letter, dtype in letters.items():
        raw = any(p.raw and p.letter == letter for p in (*inputs, *outputs))
        if dtype.name not in C_TYPES and (raw or not narrow or dtype.name not in NARROW):
            raise TypeError(f"{kernel}: type {letter} would be {dtype}, which kernels do not have")
    return letters


def dtype_of(parameter, letters):
    """A parameter's dtype in a call."""
    return letters[parameter.letter] if parameter.letter else parameter.dtype


def typedefs(letters):
    """C's names of the letters."""
    types = {**C_TYPES, **NARROW}
    return "".join(f"typedef {types[d.name]} {x};\n" for x, d in sorted(letters.items()))


def c_type(parameter):
    """A parameter's type in C."""
    return parameter.letter or {**C_TYPES, **NARROW}[parameter.dtype.name]


def part(name, text):
    """The user's text under a name that the compiler's messages give."""
    return f'#line 1 "<{name}>"\n{text}\n#line 1 "<generated>"\n'


class Raw:
    """The raw parameters of a kernel: what `data` of a loop carries, after the size."""

    def __init__(self, parameters):
        self.parameters = [p for p in parameters if p.raw]

    def declarations(self, outputs):
        """Their pointers and sizes, at the head of the loop."""
        text = "    const int64_t *_d = _data; const int64_t n = _d[0], size = _d[0]; (void)n; (void)size;\n"
        for k, p in enumerate(self.parameters):
            const = "" if p in outputs else "const "
            text += (
                f"    {const}{c_type(p)} *{p.name} = ({const}{c_type(p)} *)(intptr_t)_d[{2 * k + 1}];"
                f" const int64_t {p.name}_size = _d[{2 * k + 2}]; (void){p.name}; (void){p.name}_size;\n"
            )
        return text

    def formal(self, outputs):
        """The same as parameters of a function of the user's text."""
        return "".join(
            f", {'' if p in outputs else 'const '}{c_type(p)} *{p.name}, const int64_t {p.name}_size"
            for p in self.parameters
        )

    def actual(self):
        return "".join(f", {p.name}, {p.name}_size" for p in self.parameters)
