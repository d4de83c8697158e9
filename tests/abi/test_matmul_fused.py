"""Products with permutations before them, an operation behind them, or weights in the NPU's layout (plain here)."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide

F = torch.nn.functional


def made(*shape, dtype, layout="packed"):
    return laid(normal(*shape).astype(dtype), layout)


def test_plain_weights():
    for dtype, layout in every():
        a, b, c = (
            made(3, 4, dtype=dtype, layout=layout),
            made(4, 5, dtype=dtype, layout=layout),
            made(5, dtype=dtype),
        )
        want = wide(a) @ wide(b)
        near(run("MatmulWeightNz", a, b, blank((3, 5), dtype, layout), 0), want, 4)
        near(
            run("AddmmWeightNz", c, a, b, 2.0, 0.5, blank((3, 5), dtype, layout), 0),
            2 * wide(c) + want / 2,
            4,
        )
        x, y = made(2, 3, 4, dtype=dtype, layout=layout), made(2, 4, 5, dtype=dtype, layout=layout)
        near(
            run("BatchMatMulWeightNz", x, y, blank((2, 3, 5), dtype, layout), 0),
            wide(x) @ wide(y),
            4,
        )


@pytest.mark.parametrize("name", ("TransposeBatchMatMul", "TransposeBatchMatMulWeightNz"))
def test_transposed(name):
    for dtype, layout in every():
        x, y = made(4, 3, 5, dtype=dtype, layout=layout), made(4, 5, 6, dtype=dtype, layout=layout)
        want = wide(x) @ wide(y)
        near(run(name, x, y, None, None, None, None, [1, 0, 2], 0, 1, blank((3, 4, 6), dtype, layout)),
             want.permute(1, 0, 2), 4)  # fmt: skip
        turned = (
            np.ascontiguousarray(x.transpose(1, 0, 2)),
            np.ascontiguousarray(y.transpose(0, 2, 1)),
        )
        out = blank((4, 3, 6), dtype)
        near(run(name, *turned, None, None, [1, 0, 2], [0, 2, 1], [0, 1, 2], 0, 1, out), want, 4)
        split = want.permute(1, 0, 2).reshape(3, 2, 12).permute(1, 0, 2)
        out = blank((2, 3, 12), dtype, layout)
        near(run(name, x, y, None, None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 2, out), split, 4)
    good = [x, y, None, None, None, None, [1, 0, 2], 0, 1, np.empty((3, 4, 6), dtype)]
    run(name, x[:0], y[:0], *good[2:9], np.empty((3, 0, 6), dtype))
    for at, bad in ((0, x[:1]), (0, x[0]), (1, y[:, :4]), (2, y[0, 0]), (4, [0, 1]), (6, [1, 1, 2]), (6, [0, 1, 3]), (8, 3),
                    (9, np.empty((4, 3, 6), dtype))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *good[:at], bad, *good[at + 1 :])


def test_fused():
    operations = {
        "": lambda s, _: s,
        "relu": lambda s, _: s.relu(),
        "add": torch.add,
        "mul": torch.mul,
        "gelu_erf": lambda s, _: F.gelu(s),
        "gelu_tanh": lambda s, _: F.gelu(s, approximate="tanh"),
    }
    for dtype, layout in every():
        for batch in ((), (2,), (3, 1)):
            x, y = (
                made(*batch, 3, 4, dtype=dtype, layout=layout),
                made(4, 5, dtype=dtype, layout=layout),
            )
            for bias in (None, made(5, dtype=dtype)):
                for name, f in operations.items():
                    x3 = (
                        made(*batch, 3, 5, dtype=dtype, layout=layout)
                        if name in ("add", "mul")
                        else None
                    )
                    total = wide(x) @ wide(y) + (0 if bias is None else wide(bias))
                    out = blank((*batch, 3, 5), dtype, layout)
                    near(run("FusedMatmul", x, y, bias, x3, name, 0, out), f(total, wide(x3)), 4)
    x, y = made(3, 4, dtype=dtype), made(4, 5, dtype=dtype)
    good = [x, y, None, None, "relu", 0, np.empty((3, 5), dtype)]
    run("FusedMatmul", x[:0], *good[1:6], np.empty((0, 5), dtype))
    for at, bad in (
        (0, x[0]),
        (1, y[:3]),
        (2, y[0, :4]),
        (3, good[6]),
        (4, "tanh"),
        (4, "add"),
        (6, good[6][:2]),
    ):
        with pytest.raises(AclError, match="161002"):
            run("FusedMatmul", *good[:at], bad, *good[at + 1 :])


def test_qkv():
    for dtype, layout in every():
        qkv, bias = made(2, 5, 36, dtype=dtype, layout=layout), made(36, dtype=dtype, layout=layout)
        want = torch._transform_bias_rescale_qkv(wide(qkv), wide(bias), 3)
        outs = [blank((2, 3, 5, 4), dtype, layout) for _ in range(3)]
        run("TransformBiasRescaleQkv", qkv, bias, 3, *outs)
        for out, w in zip(outs, want, strict=True):
            near(out, w)
    good = [qkv, bias, 3, *outs]
    run("TransformBiasRescaleQkv", qkv[:0], bias, 3, *(o[:0] for o in outs))
    for at, bad in (
        (0, qkv[0]),
        (1, bias[:12]),
        (2, 5),
        (2, 0),
        (3, outs[0][:1]),
        (4, outs[1].astype(np.float32)),
    ):
        with pytest.raises(AclError, match="161002"):
            run("TransformBiasRescaleQkv", *good[:at], bad, *good[at + 1 :])
