"""What one pass over memory is worth: expressions, stencils and reductions over arrays of 1e5 to 1e7."""

from rows import Row, size_name, uniform

HEAVY = "np.sqrt(a*a + b*b)*np.exp(-c) + np.where(d > 0.5, a, b)"
CHEAP = "(a*b + c)*d - a"
SIZES = (100_000, 1_000_000, 10_000_000)


def arrays(names, shape, dtype="float64"):
    return {name: uniform(shape, dtype) for name in names}


def heavy(n, dtype, bar):
    return Row("fusion", f"heavy, {dtype}, {size_name(n)}", HEAVY, arrays("abcd", n, dtype), bar=bar,
               moved=5 * n * (8 if dtype == "float64" else 4), single=dtype == "float32", fused=True,
               quick=n == 1_000_000)  # fmt: skip


def cheap(n):
    return Row("fusion", f"cheap, float64, {size_name(n)}", CHEAP, arrays("abcd", n),
               bar=(2, 3.5) if n >= 1_000_000 else (None, None), moved=5 * 8 * n, fused=True,
               quick=n == 1_000_000)  # fmt: skip


def sum_of_squares(n):
    return Row("fusion", f"sum((a - b)**2), {size_name(n)}", "np.sum((a - b)**2)", arrays("ab", n), bar=(4, 7),
               moved=2 * 8 * n, fused=True, quick=n == 1_000_000,
               peers={"numexpr": "sum((a - b)**2)"})  # fmt: skip


def reductions():
    g = {"g": uniform((10_000, 1000))}
    moved = 8 * 10_000_000
    softmax = "np.exp(g - np.max(g, axis=1, keepdims=True)) / np.sum(np.exp(g - np.max(g, axis=1, keepdims=True)), axis=1, keepdims=True)"
    two_step = "(lambda e: e / np.sum(e, axis=1, keepdims=True))(np.exp(g - np.max(g, axis=1, keepdims=True)))"
    small = {"g": uniform((1000, 1000))}
    return [
        Row("fusion", "softmax over rows, (1e3, 1e3)", two_step, small, bar=(4, 7), moved=16_000_000, fused=True,
            quick=True,
            peers={"torch": "torch.softmax(g, 1)", "torch.compile": "torch.softmax(g, 1)", "numexpr": "",
                   "jax": softmax, "numba": ""}),
        Row("fusion", "variance, 1e7", "((a - a.mean())**2).mean()", {"a": uniform(10_000_000)}, bar=(4, 7),
            moved=moved, fused=True, peers={"numexpr": ""}),
        Row("fusion", "variance, 1e6", "((a - a.mean())**2).mean()", {"a": uniform(1_000_000)}, bar=(4, 7),
            moved=8_000_000, fused=True, peers={"numexpr": ""}),
        Row("fusion", "weighted sums over axis 0, (1e3, 1e3)", "np.sum(g * w, axis=0)",
            {**small, "w": uniform((1000, 1))}, bar=(4, 7), moved=8_000_000, fused=True, peers={"numexpr": ""}),
        Row("fusion", "mean over axis 0, (1e4, 1e3)", "np.mean(g, axis=0)", g, bar=(1.2, 2), moved=moved,
            peers={"numexpr": ""}, quick=True),
        Row("fusion", "mean over axis 1, (1e4, 1e3)", "np.mean(g, axis=1)", g, bar=(1.2, 2), moved=moved,
            peers={"numexpr": ""}, quick=True),
    ]  # fmt: skip


def jacobi():
    code = "0.25 * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:])"
    return Row("fusion", "five-point Jacobi, 1024^2", code, {"g": uniform((1024, 1024))}, bar=(4, 8),
               moved=2 * 8 * 1024 * 1024, fused=True, quick=True)  # fmt: skip


def rows():
    return [
        *(heavy(n, "float64", (8, 14)) for n in SIZES), heavy(1_000_000, "float32", (10, 18)),
        *map(cheap, SIZES), *map(sum_of_squares, SIZES), *reductions(), jacobi(),
    ]  # fmt: skip
