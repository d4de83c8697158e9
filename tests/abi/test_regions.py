"""DeformableConv2d and ROIAlign with their gradients, against formulas written with PyTorch's operators and autograd."""

import itertools
import math

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import DTYPES, LAYOUTS, RNG, blank, laid, near, normal, wide


def sampled(x, rows, columns):
    """Bilinear values of x (channels, h, w) at positions, 0 outside."""
    low = [torch.floor(v) for v in (rows, columns)]
    total = 0
    for i, j in itertools.product((0, 1), (0, 1)):
        at = [low[0].long() + i, low[1].long() + j]
        weight = 1
        for d, (v, k) in enumerate(((rows, i), (columns, j))):
            f = v - low[d]
            weight = weight * (f if k else 1 - f)
        inside = (at[0] >= 0) & (at[0] < x.shape[1]) & (at[1] >= 0) & (at[1] < x.shape[2])
        at = [a.clamp(0, x.shape[1 + d] - 1) for d, a in enumerate(at)]
        total = total + x[:, at[0], at[1]] * torch.where(inside, weight, 0.0)
    return total


def deform_conv(x, weight, offset, bias, kernel, stride, pad, dilation, groups, dgroups, masked):
    (n, channels), (kh, kw) = x.shape[:2], kernel
    oh, ow = offset.shape[2:]
    parts = offset.reshape(n, -1, dgroups, kh, kw, oh, ow)
    rows = torch.arange(oh)[:, None] * stride[2] - pad[0] + torch.arange(kh) * dilation[2]
    columns = torch.arange(ow)[:, None] * stride[3] - pad[2] + torch.arange(kw) * dilation[3]
    images = []
    for b, g in itertools.product(range(n), range(dgroups)):
        across, down = (parts[b, k, g].permute(2, 0, 3, 1) for k in (0, 1))  # (oh, kh, ow, kw)
        each = channels // dgroups
        v = sampled(
            x[b, g * each : (g + 1) * each],
            rows[:, :, None, None] + down,
            columns[None, None] + across,
        )
        images.append(v * parts[b, 2, g].permute(2, 0, 3, 1) if masked else v)
    samples = torch.stack(images).reshape(n, channels, oh * kh, ow * kw)
    return torch.nn.functional.conv2d(samples, weight, bias, (kh, kw), groups=groups), samples


def deform_case(dtype, layout, groups, dgroups, masked, kernel, parts=3):
    stride, pad, dilation = [1, 1, 2, 1], [1, 2, 0, 1], [1, 1, 1, 2]
    x = normal(2, 4, 7, 8)
    out = [(7 + 3 - kernel[0]) // 2 + 1, 8 + 1 - 2 * (kernel[1] - 1) - 1 + 1]
    offset = normal(2, parts * dgroups * kernel[0] * kernel[1], *out)
    offset = (
        np.round(offset * 2) / 2 + 0.25
    )  # away from whole positions, where the derivative jumps
    weight, bias = normal(6, 4 // groups, *kernel), normal(6)
    arrays = [laid(a.astype(dtype), layout) for a in (x, weight, offset, bias)]
    return arrays, [list(kernel), stride, pad, dilation, groups, dgroups, masked]


def test_deformable_conv2d():
    options = itertools.product((1, 2), (1, 2), (True, False), ((3, 3), (2, 1)))
    for n, (groups, dgroups, masked, kernel) in enumerate(options):
        dtype, layout = DTYPES[n % 4], LAYOUTS[n % 3]
        parts = 2 if not masked and n % 4 == 2 else 3
        (x, weight, offset, bias), numbers = deform_case(
            dtype, layout, groups, dgroups, masked, kernel, parts
        )
        leaves = [wide(a, True) for a in (x, weight, offset, bias)]
        want, samples = deform_conv(*leaves, *numbers)
        out, deformed = blank(want.shape, dtype, layout), blank(samples.shape, dtype, layout)
        run("DeformableConv2d", x, weight, offset, bias, *numbers, out, deformed)
        near(out, want, 8)
        near(deformed, samples, 4)
        near(run("DeformableConv2d", x, weight, offset, None, *numbers, blank(want.shape, dtype), None),
             want - leaves[3][:, None, None], 8)  # fmt: skip
        g = laid(normal(*want.shape).astype(dtype), layout)
        want.backward(wide(g))
        grads = [blank(a.shape, dtype, layout) for a in (x, weight, offset, bias)]
        run("DeformableConv2dBackward", x, g, deformed, weight, offset, *numbers, *grads)
        for got, leaf in zip(grads, leaves, strict=True):
            near(got, leaf.grad, 40)


def test_deformable_errors():
    (x, weight, offset, bias), numbers = deform_case(np.float32, "packed", 1, 1, True, (3, 3))
    out = np.empty((2, 6, *offset.shape[2:]), np.float32)
    good = [x, weight, offset, bias, *numbers, out, None]
    run("DeformableConv2d", *good)
    run("DeformableConv2d", x[:0], weight, offset[:0], bias, *numbers, out[:0], None)
    for at, bad in ((0, x[0]), (1, weight[:, :2]), (2, offset[:, :9]), (3, bias[:2]), (4, [3]), (5, [1, 1]), (6, [1, -1, 1, 1]),
                    (7, [1, 1, 0, 1]), (8, 3), (9, 3), (11, out[:1]), (12, out), (0, x.astype(np.float64))):  # fmt: skip
        if at == 4:
            bad = [20, 20]
        with pytest.raises(AclError, match="161002"):
            run("DeformableConv2d", *good[:at], bad, *good[at + 1 :])


def roi_weights(start, length, pooled, samples, size):
    """Rows of one axis' weights, as torchvision's roi_align samples it."""
    part = length / pooled  # in torchvision's order: a sample may lie on the image's edge
    count = samples if samples > 0 else math.ceil(part)
    rows = np.zeros((pooled, size))
    for p, s in itertools.product(range(pooled), range(max(count, 0))):
        at = start + p * part + (s + 0.5) * part / count
        if at < -1 or at > size:
            continue
        at = max(at, 0)
        low = min(int(at), size - 1)
        high = min(low + 1, size - 1)
        f = at - low if low < size - 1 else 0
        rows[p, low] += (1 - f) / count
        rows[p, high] += f / count
    return rows


def roi_matrices(rois, scale, pooled, samples, mode, size):
    for roi in rois.astype(float):
        half = 0.5 if mode == 3 else 0
        ends = [(v * scale - half) for v in roi[1:3]] + [
            (v + (mode == 1)) * scale - half for v in roi[3:5]
        ]
        spans = [ends[2 + d] - ends[d] for d in (0, 1)]
        if mode == 0:
            spans = [max(s, 1) for s in spans]
        yield (
            int(roi[0]),
            [roi_weights(ends[1 - d], spans[1 - d], pooled[d], samples, size[d]) for d in (0, 1)],
        )


def test_roi_align():
    for n, (mode, samples) in enumerate(itertools.product((0, 1, 3), (2, 3, 0))):
        dtype, layout, scale, pooled = DTYPES[n % 4], LAYOUTS[n % 3], 0.5, (3, 4)
        x = laid(normal(2, 3, 9, 11).astype(dtype), layout)
        corner = RNG.integers(-8, 16, (6, 2)) / 2
        boxes = np.hstack(
            [RNG.integers(0, 2, (6, 1)), corner, corner + RNG.integers(1, 40, (6, 2)) / 2]
        )
        boxes[0] = [1, 4, 4, 3, 2]  # ends before it starts
        rois = laid(boxes.astype(dtype), layout)
        want, back = np.empty((6, 3, *pooled)), np.zeros(x.shape)
        g = laid(normal(6, 3, *pooled).astype(dtype), layout)
        for k, (image, (down, across)) in enumerate(
            roi_matrices(rois, scale, pooled, samples, mode, x.shape[2:])
        ):
            want[k] = down @ x[image].astype(float) @ across.T
            back[image] += down.T @ g[k].astype(float) @ across
        near(
            run(
                "ROIAlign", x, rois, scale, *pooled, samples, mode, blank(want.shape, dtype, layout)
            ),
            want,
            2,
        )
        out = blank(x.shape, dtype, layout)
        near(
            run(
                "ROIAlignBackward",
                g,
                rois,
                list(x.shape),
                pooled[1],
                pooled[0],
                scale,
                samples,
                mode,
                out,
            ),
            back,
            8,
        )


def test_roi_align_documented():
    """The example of torch_npu's page."""
    x = np.arange(1, 37, dtype=np.float32).reshape(1, 1, 6, 6)
    rois = np.array([[0, -2.0, -2.0, 22.0, 22.0]], np.float32)
    out = run("ROIAlign", x, rois, 0.25, 3, 3, 2, 0, np.empty((1, 1, 3, 3), np.float32))
    near(out[0, 0], [[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]])


def test_roi_errors():
    x, rois = normal(2, 3, 5, 6), np.array([[0, 0, 0, 3, 3.0]])
    good = [x, rois, 1.0, 2, 2, 2, 0, np.empty((1, 3, 2, 2))]
    run("ROIAlign", *good)
    run("ROIAlign", x, rois[:0], *good[2:7], np.empty((0, 3, 2, 2)))
    for at, bad in (
        (0, x[0]),
        (1, rois[:, :4]),
        (3, 0),
        (4, 3),
        (6, 2),
        (7, good[7][:, :1]),
        (1, rois.astype(np.float32)),
    ):
        with pytest.raises(AclError, match="161002"):
            run("ROIAlign", *good[:at], bad, *good[at + 1 :])
    for bad in ([2, 0, 0, 1, 1], [-1, 0, 0, 1, 1], [0, np.nan, 0, 1, 1]):
        with pytest.raises(AclError, match="rois must be finite, and begin with the index"):
            run("ROIAlign", x, np.array([bad], float), *good[2:])
    with pytest.raises(AclError, match="161002"):
        run("ROIAlignBackward", good[7], rois, [2, 3, 5], 2, 2, 1.0, 2, 0, x.copy())
