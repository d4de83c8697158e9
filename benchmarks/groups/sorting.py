"""sort, argsort and their stable kinds, from a thousand to ten million random keys."""

from rows import Row, integers, normal, size_name

DTYPES = ("int32", "float32", "float64", "int64")
SIZES = (1000, 10_000, 100_000, 1_000_000, 10_000_000)


def keys(n, dtype):
    return {
        "a": integers(n, -(2**31), 2**31 - 1, dtype)
        if dtype.startswith("int")
        else normal(n, dtype)
    }


def rows():
    result = []
    for dtype in DTYPES:
        for n in SIZES:
            label = f"{dtype}, {size_name(n)}"
            quick = n in (1000, 1_000_000) and dtype in ("float64", "int32")
            result.append(Row("sorting", f"sort {label}", "np.sort(a)", keys(n, dtype), bar=(1.5, 1.5), quick=quick,
                              peers={"torch": "torch.sort(a).values", "numexpr": ""}))  # fmt: skip
            if n <= 1_000_000:
                # Equal keys may come in any order.
                result.append(Row("sorting", f"argsort {label}", "np.argsort(a)", keys(n, dtype), bar=(1.5, 1.5),
                                  check=False, quick=quick, peers={"numexpr": ""}))  # fmt: skip
            if n in (10_000, 1_000_000):
                result.append(Row("sorting", f"stable sort {label}", "np.sort(a, kind='stable')", keys(n, dtype),
                                  bar=(5, 5), quick=n == 1_000_000 and quick,
                                  peers={"torch": "torch.sort(a, stable=True).values", "numexpr": "",
                                         "jax": "np.sort(a, stable=True)"}))  # fmt: skip
    lines = {"g": normal((1000, 1000))}
    none = {"numexpr": ""}
    return [
        *result,
        Row("sorting", "sort rows, (1e3, 1e3)", "np.sort(g, axis=1)", lines, bar=(1.5, 1.5),
            peers={"torch": "torch.sort(g, 1).values", **none}),
        Row("sorting", "sort columns, (1e3, 1e3)", "np.sort(g, axis=0)", lines, bar=(1.5, 1.5),
            peers={"torch": "torch.sort(g, 0).values", **none}),
        Row("sorting", "partition, 1e6", "np.partition(a, 1000)[:1000].max()", keys(1_000_000, "float64"), bar=(1.5, 1.5), peers=none),
        Row("sorting", "median, 1e6", "np.median(a)", keys(1_000_000, "float64"), bar=(1.5, 1.5),
            peers={"torch": "torch.quantile(a, 0.5)", **none}),
        Row("sorting", "lexsort of two keys, 1e5", "np.lexsort((a, b))", {"a": normal(100_000), "b": integers(100_000, 0, 50)},
            bar=(1.5, 1.5), peers=none),
    ]  # fmt: skip
