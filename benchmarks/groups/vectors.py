"""A matrix times a vector, the other way round, and both: what iterative solvers and fits spend their time in."""

from rows import Row, normal

SHAPES = [
    (30, 30), (100, 100), (200, 200), (400, 400), (700, 700), (1000, 1000), (2000, 2000), (3000, 3000), (500, 4000),
    (4000, 500), (100, 10_000), (10_000, 100), (20, 50_000), (50_000, 20),
]  # fmt: skip
PAUSE = 0.1  # as in matmul.py
FORMS = {"A @ x": 1, "y @ A": 1, "A.T @ (A @ x)": 2}


def rows():
    return [
        Row("vectors", f"{form} {dtype}, ({m}, {n})", form,
            {"A": normal((m, n), dtype), "x": normal(n, dtype), "y": normal(m, dtype)}, bar=(1.0, 1.0),
            flops=2 * m * n * times, moved=m * n * width * times, single=width == 4, pause=PAUSE,
            peers={"numexpr": ""}, quick=m == 1000 and width == 8)
        for dtype, width in (("float64", 8), ("float32", 4))
        for m, n in SHAPES
        for form, times in FORMS.items()
    ]  # fmt: skip
