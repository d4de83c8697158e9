"""Sets, searches, histograms, and indexing by masks and by integers: a million elements."""

from rows import Row, integers, mask, normal, permutation, spec, uniform

N = 1_000_000
BAR = (1.5, 1.5)
NONE = {"numexpr": ""}


def rows():
    a, i = {"a": normal(N)}, {"i": integers(N, 0, 1000)}
    pick = {
        "a": normal(N),
        "p": integers(N, 0, N),
        "m": mask(N),
        "v": normal(N),
        "q": permutation(N),
    }
    grid = {"g": normal((1000, 1000)), "r": integers(1000, 0, 1000)}
    table = [
        ("unique, float64", "np.unique(a)", a, {}, True),
        ("unique, int64 of 1000 values", "np.unique(i)", i, {}, True),
        ("searchsorted, 1e6 in 1e6", "np.searchsorted(s, a)", {"s": spec("sorted", N), "a": uniform(N)}, {}, True),
        ("histogram, 100 bins", "np.histogram(a, 100)[0]", a, {"torch": ""}, True),
        ("bincount", "np.bincount(i)", i, {}, True),
        ("digitize, 100 bins", "np.digitize(a, np.linspace(-3, 3, 100))", a, {"torch": ""}, False),
        ("nonzero of a mask", "np.nonzero(m)[0]", {"m": mask(N)}, {"torch": "torch.nonzero(m, as_tuple=True)[0]"}, True),
        ("isin, 1e6 in 1000", "np.isin(i, t)", {**i, "t": integers(500, 0, 2000)}, {}, False),
        ("a[p], random", "a[p]", pick, {}, True),
        ("a[q], permutation", "a[q]", pick, {}, False),
        ("take(a, p)", "np.take(a, p)", pick, {}, False),
        ("g[r], rows", "g[r]", grid, {}, False),
        ("g[:, r], columns", "g[:, r]", grid, {}, False),
        ("g[r, r], pairs", "g[r, r]", grid, {}, False),
    ]  # fmt: skip
    statements = [
        ("a[m] = 0.0", "a[m] = 0.0", True), ("a[m] = v[m]", "a[m] = v[m]", False), ("a[q] = v", "a[q] = v", True),
        ("np.put(a, q, v)", "np.put(a, q, v)", False), ("np.add.at(c, i, 1.0)", "np.add.at(c, i, 1.0)", False),
    ]  # fmt: skip
    result = [Row("order", label, code, inputs, bar=BAR, peers={**NONE, **peers}, quick=quick,
                  )
              for label, code, inputs, peers, quick in table]  # fmt: skip
    changed = {**pick, "i": integers(N, 0, 1000), "c": normal(1000)}
    return result + [Row("order", label, code, changed, bar=BAR, statement=True, quick=quick,
                         peers={**NONE, "jax": "", **({"torch": ""} if "np." in code else {})})
                     for label, code, quick in statements]  # fmt: skip
