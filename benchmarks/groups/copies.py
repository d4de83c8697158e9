"""Moving data: casts, copies, transposes, joins, gathers."""

from rows import Row, integers, mask, normal

BAR = (1.5, 1.5)
N = 1_000_000
SIDE = 1000


def rows():
    flat = {
        "a": normal(N),
        "f": normal(N, "float32"),
        "i": integers(N, -1000, 1000),
        "m": mask(N),
        "b": normal(N),
    }
    plane = {"g": normal((SIDE, SIDE)), "h": normal((SIDE, SIDE), "float32"), "p": integers(SIDE, 0, SIDE),
             "k": normal((100, 100, 100))}  # fmt: skip
    table = [  # label, code, inputs, bytes moved, torch's spelling, quick
        ("astype float64 -> float32", "a.astype(np.float32)", flat, 12 * N, "a.to(torch.float32)", True),
        ("astype float32 -> float64", "f.astype(np.float64)", flat, 12 * N, "f.to(torch.float64)", False),
        ("astype float64 -> int32", "a.astype(np.int32)", flat, 12 * N, "a.to(torch.int32)", False),
        ("astype int64 -> float64", "i.astype(np.float64)", flat, 16 * N, "i.to(torch.float64)", True),
        ("astype bool -> float64", "m.astype(np.float64)", flat, 9 * N, "m.to(torch.float64)", False),
        ("astype float32 -> float16", "f.astype(np.float16)", flat, 6 * N, "f.to(torch.float16)", False),
        ("copy", "a.copy()", flat, 16 * N, "a.clone()", True),
        ("copy of a[::2]", "a[::2].copy()", flat, 12 * N, "a[::2].clone()", False),
        ("copy of a[::-1]", "a[::-1].copy()", flat, 16 * N, "torch.flip(a, (0,))", False),
        ("transpose float64, 1e3 x 1e3", "np.ascontiguousarray(g.T)", plane, 16 * N, "g.T.contiguous()", True),
        ("transpose float32, 1e3 x 1e3", "np.ascontiguousarray(h.T)", plane, 8 * N, "h.T.contiguous()", False),
        ("g.T + g", "g.T + g", plane, 24 * N, None, False),
        ("transpose (2, 0, 1) of 100^3", "np.ascontiguousarray(k.transpose(2, 0, 1))", plane, 16 * N,
         "k.permute(2, 0, 1).contiguous()", False),
        ("concatenate", "np.concatenate((a, b))", flat, 32 * N, None, True),
        ("concatenate of columns", "np.concatenate((g, g), axis=1)", plane, 32 * N, None, False),
        ("stack", "np.stack((a, b), axis=1)", flat, 32 * N, None, False),
        ("take of rows", "np.take(g, p, axis=0)", plane, 16 * N, "torch.index_select(g, 0, p)", True),
        ("repeat", "np.repeat(a, 3)", flat, 32 * N, "torch.repeat_interleave(a, 3)", False),
        ("tile", "np.tile(a, 3)", flat, 32 * N, None, False),
        ("roll", "np.roll(a, 1000)", flat, 16 * N, None, False),
        ("flip", "np.flip(a).copy()", flat, 16 * N, "torch.flip(a, (0,))", False),
        ("pad of a plane", "np.pad(g, 2)", plane, 16 * N, "torch.nn.functional.pad(g, (2, 2, 2, 2))", False),
        ("zeros", "np.zeros(1000000)", {}, 8 * N, "torch.zeros(1000000, dtype=torch.float64)", False),
        ("full", "np.full(1000000, 2.0)", {}, 8 * N, "torch.full((1000000,), 2.0, dtype=torch.float64)", False),
        ("arange", "np.arange(1000000)", {}, 8 * N, None, False),
        ("linspace", "np.linspace(0.0, 1.0, 1000000)", {}, 8 * N,
         "torch.linspace(0.0, 1.0, 1000000, dtype=torch.float64)", False),
    ]  # fmt: skip
    statements = [
        ("g[...] = h.T, float32 into float64", "g[...] = h.T", 12 * N),
        ("g[:, 1:] = g[:, :-1]", "g[:, 1:] = g[:, :-1]", 16 * N),
    ]
    result = []
    for label, code, inputs, moved, torch, quick in table:
        peers = {"numexpr": "", **({"torch": torch} if torch else {})}
        result.append(
            Row("copies", label, code, inputs, bar=BAR, moved=moved, peers=peers, quick=quick)
        )
    only = {"numexpr": "", "jax": "", "torch": ""}  # torch refuses overlap, jax writing
    return result + [Row("copies", label, code, plane, bar=BAR, moved=moved, peers=only, statement=True)
                     for label, code, moved in statements]  # fmt: skip
