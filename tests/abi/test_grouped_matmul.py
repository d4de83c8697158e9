"""A product for each group against NumPy in float64."""

import numpy as np
import pytest
from aclnn import AclError, run
from oracle import BF16, RNG, blank, every, laid, near, normal, wide

SIZES = [3, 0, 4, 1]
ENDS = [3, 3, 7, 8]


def some(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def f64(a):
    return wide(a).numpy()


def grouped(version, x, weight, bias, ends, split, kind, list_type, out):
    """Version 1, 3, 4 or 5 with everything of quantisation absent."""
    none = [None] * 4
    if version == 1:
        return run("GroupedMatmul", x, weight, bias, *none, ends, split, out)
    ends = None if ends is None else np.array(ends)
    if version == 3:
        return run("GroupedMatmulV3", x, weight, bias, *none, ends, split, kind, out)
    tail = [split, kind, list_type, 0] + ([[8]] if version == 5 else [])
    return run(
        f"GroupedMatmulV{version}",
        x,
        weight,
        bias,
        *none,
        [],
        ends,
        None,
        None,
        None,
        *tail,
        out,
        None,
        None,
    )


@pytest.mark.parametrize("version", (1, 3, 4, 5))
def test_rows(version):
    for dtype, layout in every():
        x, stack = some((8, 5), dtype, layout), some((4, 5, 6), dtype, layout)
        biases = some((4, 6), dtype, layout)
        weights = [laid(stack[i], layout) for i in range(4)]
        rows = [slice(end - n, end) for n, end in zip(SIZES, ENDS, strict=True)]
        for bias in (None, [laid(biases[i], layout) for i in range(4)]):
            want = [f64(x)[r] @ f64(w) + (0 if bias is None else f64(bias[i]))
                    for i, (r, w) in enumerate(zip(rows, weights, strict=True))]  # fmt: skip
            for kind, numbers in ((0, ENDS), (1, SIZES)):
                if version in (1, 3) and kind == 1:
                    continue
                one = grouped(
                    version, [x], weights, bias, numbers, 3, 0, kind, [blank((8, 6), dtype, layout)]
                )
                near(one[0], np.concatenate(want), 4)
                many = [blank((n, 6), dtype, layout) for n in SIZES]
                grouped(version, [x], weights, bias, numbers, 0, 0, kind, many)
                for got, w in zip(many, want, strict=True):
                    near(got, w, 4)
        one = grouped(
            version, [x], [stack], [biases], ENDS, 3, 0, 0, [blank((8, 6), dtype, layout)]
        )
        near(one[0], np.concatenate(want), 4)


def test_lists():
    for dtype, layout in every():
        xs = [some((n, 5), dtype, layout) for n in SIZES[:3]]
        weights = [some((5, n), dtype, layout) for n in (2, 3, 4)]
        out = [blank((len(x), w.shape[1]), dtype, layout) for x, w in zip(xs, weights, strict=True)]
        for version in (1, 3, 4):
            grouped(version, xs, weights, None, None, 0, -1, 0, out)
            for got, x, w in zip(out, xs, weights, strict=True):
                near(got, f64(x) @ f64(w), 4)
        cube, y = some((2, 3, 5), dtype, layout), blank((2, 3, 2), dtype, layout)
        grouped(4, [cube], weights[:1], None, None, 0, -1, 0, [y])
        near(y, f64(cube) @ f64(weights[0]), 4)


def test_wider_outputs():
    """A bias or an output of float32 with halves; rows behind the groups are 0."""
    for half in (np.float16, BF16):
        x, w, b = (
            some((6, 5), half, "packed"),
            some((2, 5, 3), half, "packed"),
            some((2, 3), np.float32, "packed"),
        )
        want = np.concatenate(
            [
                f64(x)[:2] @ f64(w)[0] + f64(b)[0],
                f64(x)[2:5] @ f64(w)[1] + f64(b)[1],
                np.zeros((1, 3)),
            ]
        )
        for out in (half, np.float32):
            near(grouped(4, [x], [w], [b], [2, 5], 3, 0, 0, [blank((6, 3), out)])[0], want, 4)


def test_columns():
    for dtype, layout in every():
        x, w = some((3, 8), dtype, layout), some((8, 5), dtype, layout)
        cuts = [slice(end - n, end) for n, end in zip(SIZES, ENDS, strict=True)]
        want = np.stack([f64(x)[:, c] @ f64(w)[c] for c in cuts])
        near(
            grouped(4, [x], [w], None, ENDS, 3, 2, 0, [blank((4, 3, 5), dtype, layout)])[0], want, 4
        )
        near(
            grouped(5, [x], [w], None, SIZES, 2, 2, 1, [blank((4, 3, 5), dtype, layout)])[0],
            want,
            4,
        )
        for shape in ((4, 3, 5), (12, 5)):
            y = some(shape, np.float64 if dtype == np.float64 else np.float32, layout)
            before = f64(y)
            run("GroupedMatmulAdd", laid(x.T, layout), w, np.array(ENDS), y, True, False, 2)
            near(y, before + want.reshape(shape), 8)
            run("GroupedMatmulAddV2", x, laid(w.T, layout), np.array(SIZES), y, False, True, 2, 1)
            near(y, before + 2 * want.reshape(shape), 16)


def test_edges():
    x, w, out = normal(8, 5), [normal(5, 6) for _ in range(2)], normal(8, 6)
    e = np.empty((0, 5))
    grouped(4, [e], w, None, [0, 0], 3, 0, 0, [out[:0]])

    def refused(*args, match="161002"):
        with pytest.raises(AclError, match=match):
            grouped(*args)

    refused(4, [x], w, None, [4], 3, 0, 0, [out])
    refused(4, [x], w, None, [4, 8], 3, 0, 0, [out[:, :5].copy()])
    refused(4, [x], w, None, [4, 8], 3, 1, 0, [out])
    refused(4, [x], w, None, [4, 8], 3, 0, 2, [out])
    refused(4, [x], w, None, [4, 8], 0, 0, 0, [out])
    refused(4, [x], w, [normal(6)], [4, 8], 3, 0, 0, [out])
    refused(4, [x], [w[0].astype(np.float32), w[1]], None, [4, 8], 3, 0, 0, [out])
    refused(4, [x], w, None, [4, 9], 3, 0, 0, [out], match="ends at 9")
    refused(4, [x], w, None, [4, 3], 3, 0, 0, [out], match="ends at 3")
    refused(4, [x], w, None, [4, -1], 3, 0, 1, [out], match="ends at -1")
    refused(1, [x, None], w, None, None, 0, -1, 0, [out, out], match="161001")
    with pytest.raises(AclError, match="scaleOptional is given"):
        run("GroupedMatmul", [x], w, None, [x], None, None, None, [4, 8], 3, [out])
    for args in ((x, out, np.array([8]), normal(1, 5, 5), True, False, 2), (x, out, np.array([8]), normal(1, 5, 6), True, False, 0)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("GroupedMatmulAdd", *args)


def test_many_rows():
    x, w = (
        RNG.standard_normal((300, 64)).astype(np.float32),
        RNG.standard_normal((3, 64, 48)).astype(np.float32),
    )
    ends = [100, 120, 300]
    want = np.concatenate(
        [f64(x)[a:b] @ f64(w)[i] for i, (a, b) in enumerate(zip([0, *ends], ends, strict=False))]
    )
    near(grouped(5, [x], [w], None, ends, 3, 0, 0, [blank((300, 48), np.float32)])[0], want, 16)
