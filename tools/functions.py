"""What the functions are that the expressions of ops.def call: read from their own definitions in
device/cpu/scalar_*.inc, so that a row says nothing about them.

    straight     no branch and no call of what has one: a compiler makes vector code of a loop around it
    rounding     an instruction only where "inexact" does not matter, or vector code only where an operation
                 may be computed that is not used (ASN_SPECULATES)
    arithmetic   computes with floats: its conditions are the program's
    multiplying  ... with products or quotients among it
    comparing    compares; a comparison of floats raises "invalid" for NaN
    ordering     by < or >, which complex numbers have by NumPy's rule alone

The C library's functions that are instructions are named in device/cpu/math/scalar.h (ASN_MOVING, ASN_ROUNDING,
ASN_COMPUTING); every other one branches and computes. Standard library only.
"""

import functools
import pathlib
import re

MATH = pathlib.Path(__file__).resolve().parent.parent / "src" / "device" / "cpu" / "math"
TEMPLATES = ("scalar_float.inc", "scalar_complex.inc", "scalar_int.inc")
DEFINITION = r"^static inline ([^\n(]*)\bF\((\w+)\)\(([^)]*)\) {\n?(.*?)^}$"
CAST = r"(?<!sizeof)\((?:[TURBC]|T_|u?int\d+_t|float|double|int|bool)\)"
CONSTANT = r"(?:SIGNED|sizeof\(\w\)|[<>=!&|() ]|\d)+"  # conditions that hold for a type
COMPARISON = r"(?<![<>-])(?:<=?|>=?)(?![<>=])|[=!]="
ORDER = r"(?<![<>-])(?:<=?|>=?)(?![<>=])"


def calls(expr):
    """The functions that an expression of ops.def calls."""
    return set(re.findall(r"\b[MV]\((\w+)\)", expr))


def _plain(text):
    """Without comments, lines of the preprocessor and casts."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)
    return re.sub(CAST, "", text)


def _branches(text):
    """Whether there is a branch that does not hang on the type alone."""
    text = re.sub(rf"\bif \({CONSTANT}\) |\bSIGNED &&", "", text)
    return bool(re.search(r"\b(?:if|for|while|switch|goto)\b|&&|\|\|", text))


def _computes(text):
    """Whether there is a sum, a difference, a product or a quotient."""
    return bool(re.search(r"[\w\])] *(?:[-+*/]|[-+*/]=) *[\w(-]|\+\+", text))


@functools.cache
def instructions():
    """Kind -> the C library's functions that are instructions of vectors."""
    found = re.findall(
        r"^#define ASN_(MOVING|ROUNDING|COMPUTING) (.*)$", (MATH / "scalar.h").read_text(), re.M
    )
    return {kind: set(names.split()) for kind, names in found}


@functools.cache
def definitions():
    """Name -> (what precedes it, body, functions called) of the templates' functions."""
    result = {}
    for file in TEMPLATES:
        for before, name, _, body in re.findall(DEFINITION, (MATH / file).read_text(), re.S | re.M):
            body = _plain(body)
            result[name] = before, body, set(re.findall(r"\bF\((\w+)\)", body)) - {name}
    return result


def _reached(names):
    """The functions that these call, themselves included."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += definitions()[name][2] if name in definitions() else ()
    return seen


def _library(names):
    return {n for n in names if n not in definitions()}


def straight(expr):
    reached = _reached(calls(expr))
    known = set().union(*instructions().values())
    return _library(reached) <= known and not any(
        _branches(definitions()[n][1]) for n in reached - known
    )


def rounding(expr):
    reached = _reached(calls(expr))
    return bool(reached & instructions()["ROUNDING"]) or any(
        "ASN_SPECULATES" in definitions()[n][0] for n in reached if n in definitions()
    )


def _texts(expr):
    own = [definitions()[n][1] for n in _reached(calls(expr)) if n in definitions()]
    return [_plain(re.sub(r"\b[MV]\(\w+\)", "f", expr)), *own]


def arithmetic(expr):
    exact = instructions()["MOVING"] | instructions()["ROUNDING"]
    return bool(_library(_reached(calls(expr))) - exact) or any(map(_computes, _texts(expr)))


def multiplying(expr):
    return any(re.search(r"[\w\])] *[*/] *[\w(-]", t) for t in _texts(expr))


def comparing(expr):
    return any(re.search(COMPARISON, t) for t in _texts(expr))


def ordering(expr):
    return any(re.search(ORDER, t) for t in _texts(expr))


def source(file, names):
    """The definitions that `names` need, in the file's order, without comments."""
    wanted = _reached(names)
    return [
        re.sub(r" */\*.*?\*/", "", found[0], flags=re.S).replace("ASN_SPECULATES ", "")
        for found in re.finditer(DEFINITION, (MATH / file).read_text(), re.S | re.M)
        if found[2] in wanted
    ]
