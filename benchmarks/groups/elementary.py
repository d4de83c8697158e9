"""Every row of the operation table that NumPy has, float32 and float64, 10,000 elements: in cache.

The inputs follow each function's domain; a function that is not listed takes normal values. The bars are those of
the table of elementary functions; every other row must not be slower than NumPy.
"""

import pathlib
import sys

import numpy
from rows import Row, integers, mask, normal, uniform

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import optable  # noqa: E402

N = 10_000
BARS = {  # function -> share of NumPy's time, float64 and float32
    "exp": (0.75, 0.75), "log": (1.0, 1.0), "sin": (0.75, 0.75), "tanh": (0.75, 0.75), "power": (1.0, 1.0),
}  # fmt: skip
DOMAINS = {
    "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-0.99, 0.99), "arccosh": (1, 50), "log": (0.01, 100),
    "log2": (0.01, 100), "log10": (0.01, 100), "log1p": (-0.9, 100), "sqrt": (0, 100), "power": (0.1, 10),
    "float_power": (0.1, 10), "exp": (-20, 20), "exp2": (-20, 20), "expm1": (-20, 20), "sin": (-100, 100),
    "cos": (-100, 100), "tan": (-100, 100), "sinh": (-10, 10), "cosh": (-10, 10), "tanh": (-5, 5),
    "arctan": (-20, 20), "reciprocal": (0.1, 10), "divide": (0.1, 10), "remainder": (0.1, 10), "fmod": (0.1, 10),
    "floor_divide": (0.1, 10),
}  # fmt: skip
TORCH = {"arctan2": "atan2", "power": "pow", "radians": "deg2rad", "degrees": "rad2deg", "rint": "round",
         "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
         "conjugate": "conj_physical", "fabs": "abs"}  # fmt: skip
QUICK = ("exp", "log", "sin", "tanh", "power", "add", "sqrt", "arctan")


def inputs_of(op, dtype, n):
    """Inputs of one row of the table in one dtype."""
    result = {}
    for name, kind in zip("abc", op.types, strict=False):
        if kind == "bool" or dtype == "bool":
            result[name] = mask(n)
        elif kind != "T":
            result[name] = integers(n, -8, 8, kind)
        elif numpy.dtype(dtype).kind in "iu":
            result[name] = (
                integers(n, 0, 100, dtype) if "shift" not in op.name else integers(n, 0, 20, dtype)
            )
        elif op.name in DOMAINS:
            low, high = DOMAINS[op.name]
            result[name] = uniform(n, dtype, low, high)
        else:
            result[name] = normal(n, dtype)
    if op.name == "clip":
        result["b"], result["c"] = -0.5, 0.5
    return result


def operations():
    """The table's rows that are ufuncs, or functions, of NumPy."""
    return [
        op
        for op in optable.rows()
        if hasattr(numpy, op.name) and op.name not in ("copy", "real", "imag")
    ]


def row_of(op, dtype, n, group, bar, quick):
    inputs = inputs_of(op, dtype, n)
    call = f"np.{op.name}({', '.join('abc'[: len(op.args)])})"
    width = numpy.dtype(dtype).itemsize
    result = numpy.dtype(op.result(dtype)).itemsize
    arguments = sum(width for v in inputs.values() if isinstance(v, tuple))
    return Row(group, f"{op.name}, {dtype}", call, inputs, bar=(bar, None), moved=n * (arguments + result),
               peers={"torch": call.replace(op.name, TORCH.get(op.name, op.name))}, family=f"{op.name} {dtype}", n=n,
               single=dtype == "float32", quick=quick)  # fmt: skip


def rows():
    result = []
    for op in operations():
        dtypes = [d for d in ("float64", "float32") if d in op.loops] or ["int64", "int32"]
        for k, dtype in enumerate(dtypes):
            share = BARS.get(op.name, (1.0, 1.0))[k]
            result.append(row_of(op, dtype, N, "elementary", 1 / share, op.name in QUICK))
    return result
