"""One operation over 1e6 and 1e7 elements: memory, once the pool is warm, decides."""

from rows import Row, size_name, uniform

OPERATIONS = [  # label, code, operands and result in elements
    ("a + b", "a + b", 3),
    ("a * 2", "a * 2.0", 2),
    ("a / b", "a / b", 3),
    ("-a", "-a", 2),
    ("abs(a)", "np.abs(a)", 2),
    ("maximum(a, b)", "np.maximum(a, b)", 3),
    ("sqrt(a)", "np.sqrt(a)", 2),
    ("exp(a)", "np.exp(a)", 2),
]


def rows():
    result = []
    for n in (1_000_000, 10_000_000):
        for dtype, width in (("float64", 8), ("float32", 4)):
            for label, code, moved in OPERATIONS:
                result.append(Row(
                    "elementwise", f"{label}, {dtype}, {size_name(n)}", code,
                    {"a": uniform(n, dtype, 0.1, 2), "b": uniform(n, dtype, 0.1, 2)}, bar=(2, 3),
                    moved=moved * width * n, single=width == 4,
                    quick=label == "a + b" and width == 8))  # fmt: skip
    outputs = Row("elementwise", "np.add(a, b, out=c), float64, 1e7", "np.add(a, b, out=c)",
                  {k: uniform(10_000_000) for k in "abc"}, statement=True, moved=240_000_000,
                  peers={"numexpr": "", "jax": ""})  # fmt: skip
    in_place = Row("elementwise", "a += b, float64, 1e6", "a += b", {k: uniform(1_000_000) for k in "ab"},
                   statement=True, moved=24_000_000, peers={"numexpr": "", "jax": ""})  # fmt: skip
    return [*result, outputs, in_place]
