"""Where each public name computes, as a Markdown table.

usage: names_table.py [--counts]

compiled: C, on the device. composed: Python over compiled ones, on the device. facts: looks at shapes, dtypes
and settings alone. host: on NumPy arrays or in Python, for the reason given. NumPy's: NumPy's own object, for data that devices do not hold.
"""

import collections
import inspect
import sys

import asnumpy
import numpy

TEXT, FILES, CALLS, STREAM = (
    "makes text", "reads or writes files and buffers", "calls Python functions or iterates",
    "draws NumPy's stream, one number after the other",
)  # fmt: skip
HOST = {
    **dict.fromkeys(["array2string", "array_repr", "array_str", "format_float_positional", "base_repr",
                     "format_float_scientific", "binary_repr", "printoptions", "set_printoptions",
                     "get_printoptions", "polynomial.set_default_printstyle"], TEXT),
    **dict.fromkeys(["load", "loadtxt", "genfromtxt", "fromregex", "fromfile", "fromstring", "frombuffer", "save",
                     "savez", "savez_compressed", "savetxt"], FILES),
    **dict.fromkeys(["vectorize", "frompyfunc", "apply_along_axis", "apply_over_axes", "fromfunction", "fromiter",
                     "piecewise", "nditer", "ndenumerate", "ndindex", "broadcast"], CALLS),
}  # fmt: skip
FACTS = frozenset(
    [
        "einsum_path",
        "shares_memory",
        "may_share_memory",
        "common_type",
        "mintypecode",
        "typename",
        "min_scalar_type",
        "can_cast",
        "result_type",
        "promote_types",
        "issubdtype",
        "isdtype",
        "broadcast_shapes",
        "ndim",
        "shape",
        "size",
        "iterable",
        "isscalar",
        "finfo",
        "iinfo",
        "geterr",
        "seterr",
        "geterrcall",
        "seterrcall",
        "errstate",
        "isfortran",
        "diag_indices",
        "mask_indices",
        "random.default_rng",
        "random.RandomState",
        "random.Generator",
        "random.BitGenerator",
        "random.SeedSequence",
        "random.seed",
        "random.get_state",
        "random.set_state",
        "random.get_bit_generator",
        "random.set_bit_generator",
        "random.MT19937",
        "random.PCG64",
        "random.PCG64DXSM",
        "random.Philox",
        "random.Philox4x32",
        "random.SFC64",
    ]
)
MODULES = ["", "linalg", "fft", "random", "polynomial", "lib.stride_tricks", "lib.scimath"]


def place_of(name, value):
    """(where, why) a name computes."""
    if name in FACTS:
        return "facts", ""
    if name in HOST:
        return "host", HOST[name]
    if name.startswith("random."):
        return "host", STREAM
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, type | asnumpy.ufunc) or callable(value):
        if module.split(".")[0] == "numpy":
            return "NumPy's", ""
        if (
            isinstance(value, asnumpy.ufunc)
            or type(value).__name__ == "function"
            and not inspect.isfunction(value)
        ):
            return "compiled", ""
        return "composed", ""
    return "constant", ""


def rows():
    """(name, where, why) of every public name."""
    for prefix in MODULES:
        module = asnumpy
        for part in filter(None, prefix.split(".")):
            module = getattr(module, part)
        for short in sorted(set(module.__all__)):
            name = f"{prefix}.{short}" if prefix else short
            yield (name, *place_of(name, getattr(module, short)))
    for short in sorted(n for n in dir(numpy.ndarray) if hasattr(asnumpy.ndarray, n)):
        yield f"ndarray.{short}", "compiled", ""


def main():
    if "--counts" in sys.argv:
        for where, count in collections.Counter(where for _, where, _ in rows()).most_common():
            print(f"{where:10s} {count}")
        return
    print("| name | where | why |\n| --- | --- | --- |")
    for name, where, why in rows():
        print(f"| `{name}` | {where} | {why} |")


if __name__ == "__main__":
    main()
