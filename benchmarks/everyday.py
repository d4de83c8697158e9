"""Plain expressions as programs write them that nobody tuned, by field: what strangers.py times.

A field has inputs, made for some number of elements n, and lines of text over `np` and the inputs' names: an
expression each, or a statement that writes to an input (`=` outside brackets). They are what is common in a
field, not what we are good at: an operation that turns out slow is added, never taken out.
"""

import ast
import math
import re

from rows import Row, integers, mask, normal, permutation, size_name, spec, uniform

SIZES = (2_000, 200_000)


def images(n):
    """A picture of bytes, a grey one of float32, one of three planes."""
    side = math.isqrt(n // 3)
    grey = math.isqrt(n)
    return {"pic": integers((side, side, 3), 0, 256, "uint8"), "grey": uniform((grey, grey), "float32"),
            "u8": integers((grey, grey), 0, 256, "uint8"), "m": mask((grey, grey)), "w": uniform(3, "float32"),
            "lut": integers(256, 0, 256, "uint8"), "edge": grey // 4}  # fmt: skip


def tables(n):
    """Columns, keys of groups, and a table of five columns."""
    return {"col": normal(n), "y": normal(n), "k": integers(n, 0, 50), "i32": integers(n, -1000, 1000, "int32"),
            "small": integers(n, 0, 100, "int8"), "t": normal((n // 5, 5)), "m": mask(n, 0.2), "s": spec("sorted", n),
            "some": integers(200, 0, n), "few": normal(200), "ti": integers((n // 5, 5), 0, 10), "p": permutation(n),
            "lo": integers(10, 0, n)}  # fmt: skip


def learning(n):
    """A batch of float32 rows, weights, labels."""
    rows, wide = n // 50, 50
    return {"X": normal((rows, wide), "float32"), "W": normal((wide, 10), "float32"), "b": normal(10, "float32"),
            "z": normal((n // 10, 10), "float32"), "lab": integers(n // 10, 0, 10), "X64": normal((rows, wide)),
            "v": normal(wide), "theta": normal(wide, "float32"), "seq": integers((rows, wide), 0, 9, "int32"),
            "r": permutation(rows)}  # fmt: skip


def physics(n):
    """A field on a grid, points of three coordinates, a signal, complex amplitudes."""
    side = math.isqrt(n)
    return {"f": normal((side, side)), "g": normal((side, side)), "pts": normal((n // 3, 3)), "xyz": normal((3, n // 3)),
            "u": normal(3), "q": normal((3, 3)), "sig": normal(n), "c": normal(n, "complex128"), "dt": 0.01,
            "f32": normal((side, side), "float32"), "cell": integers(n // 3, 0, 100), "t": spec("sorted", n),
            "two": normal((2, n // 2)), "a2": normal(2), "p32": normal((n // 3, 3), "float32")}  # fmt: skip


def text(n):
    """Bytes, as of a file, and rows of digits."""
    return {"d": integers(n, 0, 256, "uint8"), "e": integers(n, 0, 256, "uint8"), "a": integers(n, 97, 123, "uint8"),
            "u16": integers(n, 0, 60000, "uint16"), "bits": mask(n), "row": integers((n // 8, 8), 0, 2, "uint8"),
            "cut": n // 3, "u32": integers(n, 0, 1 << 30, "uint32"), "i8": integers(n, -100, 100, "int8")}  # fmt: skip


IMAGES = """
pic[..., ::-1].copy()
pic[:, ::-1].copy()
np.ascontiguousarray(pic[::-1])
pic.mean(axis=2)
pic.max(axis=-1)
pic.sum(axis=-1)
pic / 255.0
pic.astype(np.float32) / 255
255 - pic
pic // 2
pic[::2, ::2].copy()
pic @ w
pic[..., 0] * 0.299 + pic[..., 1] * 0.587 + pic[..., 2] * 0.114
np.clip(pic * 1.2, 0, 255).astype(np.uint8)
pic.transpose(2, 0, 1).copy()
np.where(u8 > 127, 255, 0).astype(np.uint8)
lut[u8]
np.bincount(u8.ravel(), minlength=256)
np.histogram(grey, 32)[0]
u8 > u8.mean()
np.pad(grey, 1)
np.pad(grey, 2, mode="edge")
np.pad(u8, 1, mode="reflect")
np.roll(grey, 1, axis=0) - grey
np.roll(grey, 1, 1) - np.roll(grey, -1, 1)
np.roll(pic, 1, 1) - np.roll(pic, -1, 1)
grey[1:-1, 1:-1] * 4 - grey[:-2, 1:-1] - grey[2:, 1:-1] - grey[1:-1, :-2] - grey[1:-1, 2:]
np.hypot(np.diff(grey, axis=1)[:-1], np.diff(grey, axis=0)[:, :-1])
np.block([[grey, grey], [grey, grey]])
np.tile(u8, (2, 2))
np.repeat(np.repeat(u8, 2, axis=0), 2, axis=1)
np.rot90(pic).copy()
np.dstack([u8, u8, u8])
np.stack([grey, grey, grey], axis=-1)
np.concatenate([pic, pic], axis=1)
grey[:edge * 4, :edge * 4].reshape(edge, 4, edge, 4).mean(axis=(1, 3))
m & (u8 > 30)
u8[m]
np.argwhere(m)
pic[u8[:pic.shape[0], :pic.shape[1]] > 200] = 0
np.cumsum(np.cumsum(grey, axis=0), axis=1)
u8.astype(np.int16) - 128
(grey - grey.min()) / (grey.max() - grey.min())
"""

TABLES = """
col[m]
col[k == 3].mean()
np.bincount(k, weights=col)
np.bincount(k)
np.unique(k)
np.unique(i32, return_counts=True)
np.argsort(k, kind="stable")
np.sort(col)
np.argsort(col)
np.searchsorted(s, few)
np.median(col)
np.percentile(col, [25, 50, 75])
np.cumsum(col)
np.diff(s)
t.mean(axis=0)
t.sum(axis=1)
t.max(axis=1)
t.argmax(axis=1)
t.std(axis=0)
np.prod(t, axis=-1)
np.count_nonzero(ti, axis=-1)
np.any(ti == 3, axis=1)
t[:, 2] * 2
t[:, [0, 3]]
t[t[:, 0] > 0]
t - t.mean(axis=0)
np.column_stack([col, y])
np.corrcoef(col, y)
np.where(col > y, col, y)
np.maximum(col, 0).sum()
np.isnan(col).any()
np.nan_to_num(col)
np.put(col, some, few)
np.place(col, m, few)
np.putmask(col, m, y)
col[some] = few
col[some] += 1.0
np.add.at(y, some, few)
np.flatnonzero(col > 1)
np.isin(k, some)
np.isin(k, [3, 7, 9])
i32 // 7
i32 % 10
small // 2
small * 2
np.abs(i32).max()
col[p]
np.digitize(col, [-1.0, 0.0, 1.0])
np.round(col, 2)
np.convolve(col[:1000], np.ones(5) / 5, mode="valid")
np.repeat(t, 2, axis=1)
np.repeat(col, 3)
np.tile(few, 10)
np.insert(col, 5, 1.0)
np.delete(col, lo)
np.append(col, few)
np.split(col, 4)[1] + 1
np.lexsort((k, i32))
np.ptp(t, axis=0)
"""

LEARNING = """
X @ W + b
np.maximum(X @ W + b, 0)
X @ theta
X64 @ v
X64.T @ X64
z - z.max(axis=1, keepdims=True)
np.exp(z - z.max(axis=1, keepdims=True)) / np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
z.argmax(axis=1)
z[:10].argmax(axis=1)
(z.argmax(axis=1) == lab).mean()
np.eye(10)[lab]
z[np.arange(len(lab)), lab]
-np.log(np.abs(z[np.arange(len(lab)), lab]) + 1e-9).mean()
1 / (1 + np.exp(-X))
np.tanh(X)
(X - X.mean(0)) / (X.std(0) + 1e-8)
np.linalg.norm(X, axis=1)
((X64 - v) ** 2).sum(axis=1)
np.argmin(((X64 - v) ** 2).sum(axis=1))
X[r]
X[r[:32]]
X.T.copy()
X.sum(axis=0)
np.vstack([X, X])
np.hstack([X, X])
np.argsort(X, axis=1)
np.cov(X64.T)
np.einsum("ij,ij->i", X64, X64)
np.outer(theta, theta)
seq.max(axis=1)
np.bincount(lab)
np.where(X > 0, X, 0.01 * X)
X * 0.99 + 0.01 * X ** 2
np.take_along_axis(z, lab[:, None], axis=1)
np.zeros_like(X)
np.add.at(W, lab, b)
"""

PHYSICS = """
np.roll(f, 1, 0) + np.roll(f, -1, 0) + np.roll(f, 1, 1) + np.roll(f, -1, 1) - 4 * f
(f[1:] - f[:-1]) / 0.1
np.gradient(f)[0]
np.linalg.norm(pts, axis=1)
np.sqrt((pts ** 2).sum(axis=1))
u @ xyz
a2 @ two
q @ xyz
pts @ q.T
pts @ u
u @ pts.T
np.cross(pts, u)
pts - pts.mean(axis=0)
pts += 0.01 * u
pts %= 1.0
np.fft.rfft(sig)
np.abs(c) ** 2
c * np.conj(c)
np.exp(1j * sig)
np.sin(sig) * np.exp(-sig * dt)
np.dot(sig, sig)
np.trapezoid(sig, t)
np.interp(sig, t, sig)
np.meshgrid(sig[:40], sig[:50])[0] * 2
np.cumsum(sig) * dt
f.T @ g
np.linspace(0, 1, 1000) ** 2
np.bincount(cell, weights=pts[:, 0])
np.add.at(u, cell[:100] % 3, 1.0)
f32 * f32 + 1
np.sign(sig)
np.arctan2(f, g)
np.floor(sig * 10).astype(np.int64)
np.fliplr(f) + np.flipud(f)
np.triu(f)
np.diag(f).sum()
np.einsum("ij,ij", f, g)
np.kron(q, q)
np.all(np.abs(f - g) < 10)
np.allclose(f, f)
sig[::2] - sig[1::2]
np.roll(p32, 1, 1) - np.roll(p32, -1, 1)
f[1:-1, 1:-1] += 0.1 * (f[2:, 1:-1] - f[:-2, 1:-1])
"""

TEXT = """
d ^ e
np.bitwise_xor.reduce(d)
(d >> 4) & 15
np.unpackbits(d)
np.packbits(bits)
np.packbits(row, axis=1)
np.unpackbits(d).sum()
np.bincount(d, minlength=256)
a - 32
np.where(a == 101, 95, a)
np.flatnonzero(a == 101)
np.count_nonzero(a == 101)
(a == 101).sum()
d == e
np.concatenate([d, e])
d[::-1].copy()
d[cut:] + e[:-cut]
np.array_equal(d, e)
d.view(np.uint16) ^ 255
u16 % 10
u16 // 10
u16.byteswap()
np.split(d, [10, cut])[1] | 1
np.diff(a)
np.diff(a.astype(np.int16))
np.cumsum(a)
np.unique(a)
np.sort(d)
d.astype(np.int32) * 31 % 1000003
row.sum(axis=1)
row @ (1 << np.arange(8))
row.reshape(-1)[::2] + 48
np.maximum(i8, 0)
i8 // 3
i8 % 3
u32 & 0xFF
u32 >> 16
(u32 * 2654435761) >> 20
d.reshape(-1, 4)[:, ::-1].copy()
np.pad(d, (3, 5))
np.any(d > 250)
np.roll(d, 3)
"""

FIELDS = {"images": (images, IMAGES), "tables": (tables, TABLES), "learning": (learning, LEARNING),
          "physics": (physics, PHYSICS), "text": (text, TEXT)}  # fmt: skip


def is_statement(line):
    """Whether the line writes to an input: an assignment, or a function that returns nothing."""
    written = re.match(r"np\.(put|place|putmask|add\.at)\(", line)
    return bool(written) or not isinstance(ast.parse(line).body[0], ast.Expr)


def rows(sizes=SIZES):
    """A row of the bench for each line and number of elements."""
    return [
        Row(field, f"{line}  <{size_name(n)}>", line, {k: v for k, v in make(n).items() if re.search(rf"\b{k}\b", line)},
            statement=is_statement(line), n=n, small=n <= 2048)
        for field, (make, lines) in FIELDS.items()
        for line in lines.strip().split("\n")
        for n in sizes
    ]  # fmt: skip
