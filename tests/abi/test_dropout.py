"""Dropout by bit masks, RReluWithNoise, AdamW's step: against NumPy on the masks that were drawn, and PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide


def mask_for(n, layout="packed"):
    return laid(np.full((n + 127) // 128 * 16, 255, np.uint8), layout)


def kept(mask, shape):
    n = int(np.prod(shape))
    return np.unpackbits(mask, bitorder="little")[:n].astype(bool).reshape(shape)


def test_dropout():
    for dtype, layout in every():
        x = laid(normal(3, 5, 67).astype(dtype), layout)
        mask, drawn = mask_for(x.size, layout), mask_for(x.size)
        out = blank(x.shape, dtype, layout)
        run("Dropout", x, 0.3, True, 11, 5, out, mask)
        keep = kept(mask, x.shape)
        assert 0.6 < keep.mean() < 0.8
        near(out, np.where(keep, x.astype(float) / 0.7, 0))
        run("DropoutGenMask", x.shape, 0.3, 11, 5, drawn)
        np.testing.assert_array_equal(mask, drawn)
        run("DropoutGenMaskV2", x.shape, 0.3, 11, 5, np.float32, drawn)
        np.testing.assert_array_equal(mask, drawn)
        near(run("DropoutDoMask", x, mask, 0.3, blank(x.shape, dtype)), out)
        near(run("DropoutBackward", x, mask, 1 / 0.7, blank(x.shape, dtype, layout)), out)
        near(run("DropoutDoMask", x, mask, 0.0, blank(x.shape, dtype)), x.astype(float))
        assert not run("DropoutDoMask", x, mask, 1.0, blank(x.shape, dtype)).any()
        run("Dropout", x, 0.3, False, 11, 5, out, mask)
        near(out, x.astype(float))
        assert kept(mask, x.shape).all()


def test_masks():
    n = 100_003
    one, other = mask_for(n), mask_for(n)
    run("DropoutGenMask", [n], 0.25, 3, 0, one)
    assert abs(kept(one, n).mean() - 0.75) < 0.01
    assert not np.unpackbits(one, bitorder="little")[n:].any()
    run("DropoutGenMask", [n], 0.25, 4, 0, other)
    assert not np.array_equal(one, other)
    run("DropoutGenMask", [n], 0.25, 3, 10, other)  # moved by 20 numbers
    np.testing.assert_array_equal(kept(one, n)[20:], kept(other, n)[:-20])
    # Element i is kept exactly where the stream's number is not below the probability.
    u = run("InplaceUniform", np.empty(n), 0.0, 1.0, 3, 0)
    np.testing.assert_array_equal(kept(one, n), u >= 0.25)
    for p, want in ((0.0, True), (1.0, False)):
        run("DropoutGenMask", [n], p, 3, 0, one)
        assert (kept(one, n) == want).all()
    run("DropoutGenMask", [0, 3], 0.5, 0, 0, np.empty(0, np.uint8))
    e = np.empty((0, 3), np.float32)
    run("Dropout", e, 0.5, True, 0, 0, e.copy(), np.empty(0, np.uint8))
    x = normal(200)
    for name, args in (("Dropout", (x, 1.5, True, 0, 0, x, mask_for(200))), ("Dropout", (x, 0.5, True, 0, 0, x, mask_for(20))),
                       ("DropoutDoMask", (x, mask_for(200).view(np.int8), 0.5, x)), ("DropoutDoMask", (x, mask_for(200), -1.0, x)),
                       ("DropoutGenMaskV2", ([200], 0.5, 0, 0, np.int32, mask_for(200))),
                       ("DropoutGenMask", ([-1], 0.5, 0, 0, mask_for(1)))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)


def test_rrelu():
    for dtype, layout in every():
        x = laid(normal(40, 50).astype(dtype), layout)
        noise, out = blank(x.shape, dtype, layout), blank(x.shape, dtype, layout)
        run("RReluWithNoise", x, noise, 0.1, 0.4, True, 5, 2, out)
        slopes = noise[x <= 0].astype(float)
        assert (noise[x > 0] == 1).all() and slopes.min() >= 0.099 and slopes.max() <= 0.401
        assert abs(slopes.mean() - 0.25) < 0.02 and slopes.std() > 0.05
        near(out, x.astype(float) * noise.astype(float))
        again, there = blank(x.shape, dtype), x.copy()
        run("InplaceRReluWithNoise", there, again, 0.1, 0.4, True, 5, 2)
        np.testing.assert_array_equal(there, out)
        np.testing.assert_array_equal(again, noise)
        run("RReluWithNoise", x, noise, 0.1, 0.4, False, 5, 2, out)
        near(out, torch.nn.functional.rrelu(wide(x), 0.1, 0.4))
        np.testing.assert_array_equal(noise, again)
    e = np.empty(0, np.float32)
    run("InplaceRReluWithNoise", e, e.copy(), 0.1, 0.4, True, 0, 0)
    with pytest.raises(AclError, match="161002"):
        run("RReluWithNoise", x, noise, 0.5, 0.4, True, 5, 2, out)


def adam(var, m, v, top, g, t, o):
    """What CANN documents."""
    g = -g if o["maximize"] else g
    m, v = o["b1"] * m + (1 - o["b1"]) * g, o["b2"] * v + (1 - o["b2"]) * g * g
    high = v / (1 - o["b2"] ** t)
    if o["amsgrad"]:
        top = high = np.maximum(top, high)
    step = o["lr"] * m / (1 - o["b1"] ** t) / (np.sqrt(high) + o["eps"])
    return var - step - o["lr"] * o["decay"] * var, m, v, top


@pytest.mark.parametrize("amsgrad", (False, True))
@pytest.mark.parametrize("maximize", (False, True))
def test_adam(amsgrad, maximize):
    names = {"lr": 0.01, "b1": 0.9, "b2": 0.99, "decay": 0.1, "eps": 1e-6}
    o = {k: float(np.float32(v)) for k, v in names.items()}  # as C's floats
    o |= {"amsgrad": amsgrad, "maximize": maximize}
    for dtype, layout in every():
        state = [
            laid(a.astype(dtype), layout)
            for a in (normal(4, 7), normal(4, 7), normal(4, 7) ** 2, normal(4, 7) ** 2)
        ]
        g = laid(normal(4, 7).astype(dtype), layout)
        want = adam(*(a.astype(float) for a in state), g.astype(float), 3, o)
        old = state[3].copy()
        run("ApplyAdamWV2", *state, g, np.array([2]), *list(o.values()))  # steps before this one
        for got, value in zip(state[: 4 if amsgrad else 3], want, strict=False):
            near(got, value)
        if not amsgrad:
            np.testing.assert_array_equal(state[3], old)


def test_adam_is_pytorch():
    p, g = normal(50), normal(50)
    leaf = torch.tensor(p, requires_grad=True)
    optimizer = torch.optim.AdamW([leaf], 0.5, (0.5, 0.75), 2**-10, 0.25)
    m, v = np.zeros(50), np.zeros(50)
    for t in range(1, 4):
        leaf.grad = torch.tensor(g * t)
        optimizer.step()
        run(
            "ApplyAdamWV2",
            p,
            m,
            v,
            None,
            g * t,
            np.array([t - 1], np.float32),
            0.5,
            0.5,
            0.75,
            0.25,
            2**-10,
            False,
            False,
        )
    near(p, leaf)
    e = np.empty(0)
    run("ApplyAdamWV2", e, e, e, None, e, np.array([0]), 0.5, 0.5, 0.75, 0.25, 0.1, False, False)
    for bad, code in (((p, m, v, None, g, np.array([1]), 0.5, 0.5, 0.75, 0.25, 0.1, True, False), 161001),
                      ((p, m, v[:3], None, g, np.array([1]), 0.5, 0.5, 0.75, 0.25, 0.1, False, False), 161002),
                      ((p, m, v, None, g, np.array([1, 2]), 0.5, 0.5, 0.75, 0.25, 0.1, False, False), 161002)):  # fmt: skip
        with pytest.raises(AclError, match=str(code)):
            run("ApplyAdamWV2", *bad)
