"""Choosing by a random mask, scans, square roots: a million elements, where branches and scalars cost NumPy most."""

from rows import Row, mask, normal, uniform

N = 1_000_000


def rows():
    ab = {"m": mask(N), "a": normal(N), "b": normal(N)}
    return [
        Row("selection", "where(m, a, b), random mask", "np.where(m, a, b)", ab, bar=(8, None), moved=25 * N, quick=True),
        Row("selection", "where(a > 0, a, 0.0)", "np.where(a > 0, a, 0.0)", ab, moved=16 * N),
        Row("selection", "a[m], random mask", "a[m]", ab, bar=(12, None), moved=13 * N, quick=True),
        Row("selection", "a[a > 0]", "a[a > 0]", ab, moved=12 * N),
        Row("selection", "clip(a, -1, 1)", "np.clip(a, -1.0, 1.0)", ab, moved=16 * N, peers={"numexpr": ""}),
        Row("selection", "cumsum", "np.cumsum(a)", ab, bar=(3, None), moved=16 * N, quick=True,
            peers={"torch": "torch.cumsum(a, 0)", "numexpr": ""}),
        Row("selection", "cumprod", "np.cumprod(a)", {"a": uniform(N, "float64", 0.9999, 1.0001)}, moved=16 * N,
            peers={"torch": "torch.cumprod(a, 0)", "numexpr": ""}),
        Row("selection", "diff", "np.diff(a)", ab, moved=16 * N, peers={"numexpr": ""}),
        Row("selection", "sqrt", "np.sqrt(a)", {"a": uniform(N)}, bar=(2, None), moved=16 * N, quick=True),
    ]  # fmt: skip
