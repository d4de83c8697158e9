"""One operation from 1 to 1e7 elements: the plots. Slower than NumPy at any size is a bar missed."""

import dataclasses

from rows import Row, mask, size_name, uniform

from groups import elementary, fusion

SIZES = [10**k for k in range(8)]
SMALL = 2048  # elements; nothing smaller is delayed
# In float64 with every library; the others beside NumPy alone.
COMPARED = {"add", "multiply", "divide", "maximum", "sqrt", "exp", "log", "sin", "tanh", "power", "arctan2"}  # fmt: skip
QUICK = ("add", "exp")
EXPRESSIONS = {  # name -> (code, names of the inputs, bytes an element)
    "heavy expression": (fusion.HEAVY, "abcd", 40),
    "cheap expression": (fusion.CHEAP, "abcd", 40),
    "sum": ("np.sum(a)", "a", 8),
    "max": ("np.max(a)", "a", 8),
    "mean": ("np.mean(a)", "a", 8),
    "std": ("np.std(a)", "a", 8),
    "argmax": ("np.argmax(a)", "a", 8),
    "cumsum": ("np.cumsum(a)", "a", 16),
    "sort": ("np.sort(a)", "a", 16),
    "dot": ("np.dot(a, b)", "ab", 16),
    "a[m]": ("a[m]", "am", 13),
    "astype float32": ("a.astype(np.float32)", "a", 12),
    "copy": ("a.copy()", "a", 16),
}
PEERS = {
    "sort": {"torch": "torch.sort(a).values"},
    "cumsum": {"torch": "torch.cumsum(a, 0)"},
    "std": {"torch": "torch.std(a, correction=0)"},
    "copy": {"torch": "a.clone()"},
    "astype float32": {"torch": "a.to(torch.float32)"},
}


def expression(name, n):
    code, names, width = EXPRESSIONS[name]
    inputs = {k: mask(n) if k == "m" else uniform(n) for k in names}
    return Row("sizes", f"{name}, {size_name(n)}", code, inputs, bar=(1.0, 1.0 if n >= 100_000 else None), moved=width * n,
               peers={"numexpr": "", **PEERS.get(name, {})} if "expression" not in name else {},
               family=name, n=n, small=n <= SMALL, quick=name == "heavy expression")  # fmt: skip


def rows():
    result = []
    for op in elementary.operations():
        dtypes = [d for d in ("float64", "float32") if d in op.loops] or ["int64"]
        for dtype in dtypes:
            for n in SIZES:
                row = elementary.row_of(
                    op, dtype, n, "sizes", 1.0, op.name in QUICK and dtype == "float64"
                )
                result.append(
                    dataclasses.replace(
                        row,
                        label=f"{row.label}, {size_name(n)}",
                        small=n <= SMALL,
                        numpy_only=op.name not in COMPARED or dtype != "float64",
                    )
                )
    return result + [expression(name, n) for name in EXPRESSIONS for n in SIZES]
