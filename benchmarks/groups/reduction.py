"""A million elements down to one number, or along an axis."""

from rows import Row, mask, normal

MOMENTS = (4, 4)
PLAIN = (1.5, 2.8)
REDUCTIONS = [  # name, bar, torch's spelling
    ("sum", PLAIN, None),
    ("max", PLAIN, None),
    ("mean", PLAIN, None),
    ("argmax", PLAIN, None),
    ("prod", PLAIN, None),
    ("var", MOMENTS, "torch.var(a, correction=0)"),
    ("std", MOMENTS, "torch.std(a, correction=0)"),
]


def rows():
    result = []
    for dtype, width in (("float64", 8), ("float32", 4)):
        for name, bar, torch in REDUCTIONS:
            result.append(Row("reduction", f"{name}, {dtype}, 1e6", f"np.{name}(a)", {"a": normal(1_000_000, dtype)},
                              bar=bar, moved=width * 1_000_000, single=width == 4, quick=width == 8,
                              peers={"numexpr": "", **({"torch": torch} if torch else {})}))  # fmt: skip
    for name, code in (
        ("any", "np.any(m)"),
        ("all", "np.all(~m)"),
        ("count_nonzero", "np.count_nonzero(m)"),
    ):
        # Everything has to be read: no true value among them.
        result.append(Row("reduction", f"{name}, bool, 1e6", code, {"m": mask(1_000_000, 0.0)}, bar=PLAIN,
                          moved=1_000_000, peers={"numexpr": ""}, quick=name == "any"))  # fmt: skip
    for axis in (0, 1):
        for name in ("sum", "max", "argmax"):
            result.append(Row("reduction", f"{name} over axis {axis}, (1e3, 1e3)", f"np.{name}(g, axis={axis})",
                              {"g": normal((1000, 1000))}, bar=PLAIN, moved=8_000_000,
                              peers={"numexpr": "", "torch": f"torch.{'amax' if name == 'max' else name}(g, {axis})"},
                              ))  # fmt: skip
    three = {"g": normal((100, 100, 100))}
    return [*result, *(Row("reduction", f"sum over {axis}, 100^3", f"np.sum(g, axis={axis})", three, bar=PLAIN,
                           moved=8_000_000, peers={"numexpr": ""}) for axis in (1, (0, 2)))]  # fmt: skip
