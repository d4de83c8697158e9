"""Bool arrays over bytes other than 0 and 1 (`view(bool)`, memory of other libraries): every byte but 0 is true, as in NumPy. Copies and
gathers keep the bytes."""

import asnumpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same, to_host

BYTES = np.array([0, 1, 2, 3, 255, 0, 128, 1] * 3, "u1")
EXPRESSIONS = """
b.sum() | b.sum(dtype="u1") | np.count_nonzero(b) | b.mean() | b.prod() | b.max() | b.min() | b.any() | b.all() | b.argmax() | b.argmin() | b.std() | b.var() | b.nonzero()
np.where(b) | np.where(b, 1, 2) | np.arange(b.size)[b] | b == x | b == True | b != x | b == c | b < c | b > c | b & c | b ^ c | ~b | np.bitwise_or(b, c) | np.logical_and(b, c)
np.logical_or(b, c) | np.logical_xor(b, c) | np.logical_not(b) | b + c | b * c | np.maximum(b, c) | np.minimum(b, c) | b.astype("u1") | b.astype("f8") | b.astype("c16") | b + 1 | b * 2.5
np.add(b, 1, dtype="u1") | b.tolist() | b[2].item() | b[2] | np.sort(b) | b.argsort(kind="stable") | np.unique(b) | b.cumsum() | np.add.accumulate(b) | np.logical_or.accumulate(b) | np.logical_xor.reduce(b)
np.bitwise_xor.reduce(b) | np.maximum.reduce(b) | b.reshape(3, -1).sum(0) | b.reshape(3, -1).any(0) | b.reshape(3, -1).all(1) | b.reshape(3, -1).mean(0) | b.reshape(-1, 3).T.sum(0) | np.dot(b, b) | np.dot(b.astype(int), b)
b.reshape(4, -1) @ b.reshape(-1, 4) | np.packbits(b) | np.array_equal(b, x) | str(b) | bool(b[2]) | b.take([2, 3]) | b[[2, 3]] | b[2:4] + b[3:5] | b[::-2].sum() | b[::3] & c[::3] | np.concatenate([b, c]).sum()
b.repeat(2).sum() | b.flatten().sum() | b.copy().sum() | np.roll(b, 1).sum() | np.isin(b, [True]) | np.diff(b) | np.bincount(b) | np.einsum("i,i", b, b) | np.lexsort((b,)) | np.equal.outer(b[:3], b[:3]) | np.compress(b, np.arange(b.size))
np.flatnonzero(b) | np.argwhere(b) | np.select([b], [1]) | np.left_shift(b, 1) | b / 2 | b // 1 | np.sqrt(b[:8]) | np.hypot(b[:8], c[:8]) | b * np.float32(2) | np.ones(b.size).sum(where=b) | np.add(np.ones(b.size), 1, where=b, out=np.zeros(b.size))
np.logical_or.reduceat(b, [0, 5]) | np.add.reduceat(b, [0, 5]) | np.broadcast_to(b[:3], (4, 3)).sum(1) | b.reshape(2, -1)[:, ::2].sum() | b.reshape(2, -1).T.copy().sum() | b[b].sum() | np.trim_zeros(b).sum() | np.median(b.astype("f4")) | b.view("u1").sum()
np.copyto(o, b) or o.sum() | np.copyto(o, True, where=b) or o.sum() | o.__setitem__(b, 1) or o.sum() | o.__setitem__(Ellipsis, b) or o.sum() | f.__setitem__(Ellipsis, b) or f | o.__ior__(b).sum() | np.place(f, b, 3) or f | np.putmask(f, b, 2) or f | np.add.at(f, np.arange(3), b[:3]) or f
f.__setitem__(np.arange(4), b[:4]) or f | o.__setitem__(np.arange(4), b[:4]) or o.sum() | b.reshape(2, -1).view("u1").view(bool).sum() | np.ravel(b, order="K").sum() | np.expand_dims(b, 1).sum() | np.linalg.norm(b) | np.fft.fft(b[:4]) | np.histogram(b, 2)[0] | np.searchsorted(np.array([False, True]), b.copy() & True)
""".replace("\n", "|").split("|")


def run(np_, text, size):
    raw = np.resize(BYTES, size)
    b, c = np_.array(raw).view(bool), np_.array(raw[::-1].copy()).view(bool)
    x, o, f = np_.array(raw > 0), np_.zeros(size, bool), np_.zeros(size)
    return to_host(eval(text, {"np": np_, "b": b, "c": c, "x": x, "o": o, "f": f}))


@pytest.mark.parametrize("size", [24, 60000])
@pytest.mark.parametrize("text", [t.strip() for t in EXPRESSIONS if t.strip()])
def test_any_byte_but_zero_is_true(text, size):
    assert_same(run(asnumpy, text, size), run(np, text, size), ulp=64, where=text)


@pytest.mark.parametrize(
    "text",
    [
        "b.copy()",
        "b[[2, 3]]",
        "b.take([2, 4])",
        "b.repeat(2)",
        "np.sort(b)",
        "b[2:5]",
        "b.T",
        "b.reshape(2, 12).T.flatten()",
    ],
)
def test_bytes_stay(text):
    got = run(asnumpy, f"({text}).view('u1')", 24)
    assert_same(got, run(np, f"({text}).view('u1')", 24), where=text)


def test_memory_of_others():
    host = BYTES.view(bool)
    for made in (
        asnumpy.asarray(host), asnumpy.array(host), asnumpy.ndarray.from_numpy(host), asnumpy.frombuffer(BYTES.tobytes(), bool),
        asnumpy.asarray(np.resize(BYTES, 10**5).view(bool))[:24], asnumpy.asarray(host[::-1]), asnumpy.asarray(host.reshape(4, 6).T),
        asnumpy.from_dlpack(host),
    ):  # fmt: skip
        assert made.sum() == 18 and asnumpy.logical_xor.reduce(
            made.ravel()
        ) == np.logical_xor.reduce(host)
        assert (made.astype("u1") <= 1).all()
    assert np.asarray(asnumpy.asarray(host)).view("u1").tolist() == BYTES.tolist()


def test_writing_through_a_view_of_the_bytes():
    for write in ("v *= 3", "v[:] = 7", "v[1::2] = 0x80", "m.add(v, 4, out=v)"):
        found = []
        for m in (asnumpy, np):
            a = m.arange(40) % 3 == 0
            v = a.view("u1")
            exec(write, {"m": m, "v": v})
            values = (
                m.count_nonzero(a),
                a.sum(),
                a[::2].sum(),
                (a == m.array(True)).sum(),
                a.mean(),
                (a & a).tolist(),
            )
            found.append([np.asarray(x).tolist() for x in values])
        assert found[0] == found[1], write


def test_writing_through():
    bytes_ = asnumpy.array(BYTES)
    b = bytes_.view(bool)
    b[2] = False
    b[5] = True
    assert bytes_[:7].tolist() == [0, 1, 0, 3, 255, 1, 128] and b.sum() == 18
    bytes_[:] = 7
    assert b.sum() == 24 and (b == True).all()  # noqa: E712
    asnumpy.logical_not(b, out=b)
    assert bytes_.sum() == 0 and not b.any()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_views_of_views(data):
    """A view of any view keeps what the bytes may be."""
    size = data.draw(st.sampled_from([24, 4800]))
    both = [m.array(np.resize(BYTES, size)).view(bool) for m in (np, asnumpy)]
    steps = {
        "flip": lambda m, a: a[::-1], "slice": lambda m, a: a[1:-1], "step": lambda m, a: a[..., ::2], "turn": lambda m, a: a.T,
        "expand": lambda m, a: a[None], "reshape": lambda m, a: a.reshape(-1), "twice": lambda m, a: m.broadcast_to(a, (2, *a.shape)),
        "copy": lambda m, a: a.copy(), "take": lambda m, a: a.take([0, 1, 2]), "bytes": lambda m, a: a.view("u1").view("?"),
        "diagonal": lambda m, a: m.stack([a, a]).diagonal() if a.ndim == 1 else a, "concatenate": lambda m, a: m.concatenate([a, a]),
        "rows": lambda m, a: a.reshape(-1, 1)[:6].reshape(-1, 2) if a.size > 6 else a, "squeeze": lambda m, a: a.squeeze(),
    }  # fmt: skip
    names = data.draw(st.lists(st.sampled_from(sorted(steps)), min_size=1, max_size=5))
    for name in names:
        if any(x.ndim > 5 or x.ndim == 0 or x.size < 3 for x in both):
            break
        both = [steps[name](m, a) for m, a in zip((np, asnumpy), both, strict=True)]
    host, device = both
    for f in (
        lambda a: a.sum(),
        lambda a: a + 0.5,
        lambda a: a ^ a[..., ::-1],
        lambda a: a.sum(-1),
    ):
        if host.ndim:
            assert_same(to_host(f(device)), f(host), where=names)
