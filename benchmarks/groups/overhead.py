"""Ten float64: arguments, dispatch, one result. No synchronisation is needed, values are there at once."""

from rows import Row, normal, uniform

# label, code, times as fast as NumPy (the bars give the share of NumPy's time), peers' spelling, quick
CALLS = [
    ("a + b", "a + b", 1 / 0.35, {}, True),
    ("a + 1.0", "a + 1.0", 1 / 0.25, {}, True),
    ("a > b", "a > b", None, {}, False),
    ("np.sin(a)", "np.sin(a)", 1 / 0.4, {}, True),
    ("a.sum()", "a.sum()", 1 / 0.3, {}, True),
    ("np.sum(a)", "np.sum(a)", 1 / 0.3, {}, True),
    ("a.mean()", "a.mean()", 1 / 0.15, {}, True),
    ("np.std(a)", "np.std(a)", 1 / 0.15, {"torch": "torch.std(a, correction=0)"}, True),
    ("a[1:]", "a[1:]", 1 / 0.8, {}, True),
    ("a[5]", "a[5]", 1 / 0.8, {}, True),
    ("ten-operation chain", "(((((a + b) * a - b) * a + b) * a - b) * a + b) * a", 1 / 0.25, {}, True),
    ("a.reshape(2, 5)", "a.reshape(2, 5)", None, {}, False),
    ("m.T", "m.T", None, {}, False),
    ("a.copy()", "a.copy()", None, {"torch": "a.clone()"}, False),
    ("a.astype(np.float32)", "a.astype(np.float32)", None, {"torch": "a.to(torch.float32)"}, False),
    ("np.zeros(10)", "np.zeros(10)", None, {}, False),
    ("np.concatenate((a, b))", "np.concatenate((a, b))", None, {}, False),
    ("np.where(a > b, a, b)", "np.where(a > b, a, b)", None, {}, False),
    ("m @ m, 4 x 4", "m @ m", None, {}, False),
    ("np.dot(a, b)", "np.dot(a, b)", None, {}, False),
    ("float(a[3])", "float(a[3])", None, {}, False),
    ("len(a), a.shape, a.dtype", "(len(a), a.shape, a.dtype)", None, {}, False),
]  # fmt: skip
STATEMENTS = [
    ("a[5] = 1.0", "a[5] = 1.0", 1 / 0.8),
    ("a += b", "a += b", None),
    ("a[2:4] = 0.5", "a[2:4] = 0.5", None),
]


def rows():
    inputs = {"a": uniform(10), "b": uniform(10), "m": normal((4, 4))}
    compilers = {
        "numexpr": "",
        "jax": "",
    }  # their calls cost microseconds, and their users make few
    calls = [Row("overhead", label, code, inputs, bar=(bar, bar), peers={**compilers, **peers}, quick=quick, small=True,
                 check="dtype" not in code and "zeros" not in code)
             for label, code, bar, peers, quick in CALLS]  # fmt: skip
    statements = [Row("overhead", label, code, inputs, bar=(bar, bar), peers=compilers, statement=True, small=True,
                      quick=bar is not None) for label, code, bar in STATEMENTS]  # fmt: skip
    return calls + statements
