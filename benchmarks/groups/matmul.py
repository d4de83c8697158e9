"""Matrix products. The limit is the multiply-add peak; the peers' products wake thread pools that spin afterwards."""

from rows import Row, integers, normal

SIZES = (64, 128, 256, 512, 1024, 2048)
PAUSE = 0.1  # seconds: OpenBLAS and torch keep their threads spinning after a product
BAR = (1.0, 1.0)


def square(n, dtype):
    return Row("matmul", f"{dtype}, {n}", "np.matmul(a, b)", {"a": normal((n, n), dtype), "b": normal((n, n), dtype)},
               bar=BAR, flops=2 * n**3, single=dtype == "float32", pause=PAUSE, peers={"numexpr": ""},
               quick=n in (64, 512), family=f"matmul {dtype}", n=n)  # fmt: skip


def rows():
    batched = [
        Row("matmul", f"batched {dtype}, ({count}, {n}, {n})", "np.matmul(a, b)",
            {"a": normal((count, n, n), dtype), "b": normal((count, n, n), dtype)}, bar=BAR, flops=2 * count * n**3,
            single=dtype == "float32", pause=PAUSE, peers={"numexpr": ""}, quick=n == 4 and dtype == "float64")
        for dtype in ("float32", "float64")
        for count, n in ((10_000, 4), (1000, 16), (100, 100), (1000, 100))
    ]  # fmt: skip
    vector = [
        Row("matmul", f"matrix-vector {dtype}, ({n}, {k})", "a @ b",
            {"a": normal((n, k), dtype), "b": normal(k, dtype)}, bar=BAR, flops=2 * n * k, moved=n * k * width,
            single=width == 4, pause=PAUSE, peers={"numexpr": ""}, quick=n == 1000 and width == 8)
        for dtype, width in (("float32", 4), ("float64", 8))
        for n, k in ((100, 100), (1000, 1000), (4000, 1000))
    ]  # fmt: skip
    others = [
        Row("matmul", "dot of vectors float64, 1e6", "np.dot(a, b)", {"a": normal(1_000_000), "b": normal(1_000_000)},
            bar=BAR, moved=16_000_000, peers={"numexpr": ""}),
        Row("matmul", "a.T @ b float64, 512", "a.T @ b", {"a": normal((512, 512)), "b": normal((512, 512))}, bar=BAR,
            flops=2 * 512**3, pause=PAUSE, peers={"numexpr": ""}),
        *(Row("matmul", f"a @ a.T {dtype}, 500", "a @ a.T", {"a": normal((500, 500), dtype)}, bar=BAR, pause=PAUSE,
              peers={"numexpr": ""}) for dtype in ("float32", "float64")),
        Row("matmul", "int64, 256", "np.matmul(a, b)", {"a": integers((256, 256), -9, 9),
            "b": integers((256, 256), -9, 9)}, bar=BAR, peers={"numexpr": ""}),
        Row("matmul", "complex128, 256", "np.matmul(a, b)", {"a": normal((256, 256), "complex128"),
            "b": normal((256, 256), "complex128")}, bar=BAR, flops=8 * 256**3, pause=PAUSE, peers={"numexpr": ""}),
        Row("matmul", "einsum ij,jk->ik float64, 256", "np.einsum('ij,jk->ik', a, b)", {"a": normal((256, 256)),
            "b": normal((256, 256))}, flops=2 * 256**3, pause=PAUSE, peers={"numexpr": ""}),
    ]  # fmt: skip
    return [
        *(square(n, d) for d in ("float32", "float64") for n in SIZES),
        *batched,
        *vector,
        *others,
    ]
