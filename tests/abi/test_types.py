"""Operators by the name of their type (aclopCompileAndExecute) against NumPy."""

import ctypes
import pathlib
import sys

import numpy as np
import pytest
import torch
from aclnn import lib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import gen_opapi  # noqa: E402

DTYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "int64": 9, "float64": 11, "bool": 12}  # fmt: skip
UNDEFINED = -1
for name in ("aclopCreateAttr", "aclCreateTensorDesc", "aclCreateDataBuffer"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.aclGetCompileoptSize.restype = ctypes.c_size_t
lib.aclGetRecentErrMsg.restype = ctypes.c_char_p


def described(array):
    """A description and a buffer of an array; None: an optional tensor that is not there."""
    if array is None:
        desc = lib.aclCreateTensorDesc(UNDEFINED, 0, None, -1)
        return ctypes.c_void_p(desc), ctypes.c_void_p(
            lib.aclCreateDataBuffer(None, ctypes.c_size_t(0))
        )
    assert array.flags.c_contiguous
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    desc = lib.aclCreateTensorDesc(DTYPES[array.dtype.name], array.ndim, dims, 2)
    buffer = lib.aclCreateDataBuffer(
        ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
    )
    return ctypes.c_void_p(desc), ctypes.c_void_p(buffer)


def attributes(values):
    attr = ctypes.c_void_p(lib.aclopCreateAttr())
    for key, value in values.items():
        name = key.encode()
        if isinstance(value, bool):
            code = lib.aclopSetAttrBool(attr, name, ctypes.c_uint8(value))
        elif isinstance(value, int):
            code = lib.aclopSetAttrInt(attr, name, ctypes.c_int64(value))
        elif isinstance(value, float):
            code = lib.aclopSetAttrFloat(attr, name, ctypes.c_float(value))
        elif isinstance(value, str):
            code = lib.aclopSetAttrString(attr, name, value.encode())
        else:
            code = lib.aclopSetAttrListInt(
                attr, name, len(value), (ctypes.c_int64 * len(value))(*value)
            )
        assert code == 0
    return attr


def call(name, inputs, outputs, **values):
    """The code; outputs are written."""
    attr = attributes(values)
    lists = [[described(a) for a in side] for side in (inputs, outputs)]
    arrays = [
        [(ctypes.c_void_p * max(len(side), 1))(*[p[k].value for p in side]) for k in (0, 1)]
        for side in lists
    ]
    code = lib.aclopCompileAndExecute(
        name.encode(), len(inputs), *arrays[0], len(outputs), *arrays[1], attr, 0, 0, None, None
    )
    lib.aclopDestroyAttr(attr)
    for desc, buffer in lists[0] + lists[1]:
        lib.aclDestroyTensorDesc(desc)
        assert lib.aclDestroyDataBuffer(buffer) == 0
    return code or lib.aclrtSynchronizeStream(None)


def check(name, inputs, want, rtol=2e-6, **values):
    want = np.asarray(want)
    out = np.zeros(want.shape, want.dtype)
    assert call(name, inputs, [out], **values) == 0, lib.aclGetRecentErrMsg()
    np.testing.assert_allclose(out, want, rtol=rtol, atol=rtol)


rng = np.random.default_rng(5)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "name",
    [
        "Abs",
        "Ceil",
        "Cos",
        "Exp",
        "Expm1",
        "Floor",
        "Log1p",
        "Sign",
        "Sin",
        "Sqrt",
        "Tanh",
        "Trunc",
    ],
)
def test_of_one(name):
    x = np.abs(normal(3, 4)) if name in ("Sqrt", "Log1p") else normal(3, 4)
    check(name, [x], getattr(np, name.lower())(x))


def test_of_two():
    a, b = normal(3, 4), normal(4)
    for name, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("RealDiv", np.divide),
                    ("Maximum", np.maximum), ("Minimum", np.minimum), ("Less", np.less), ("NotEqual", np.not_equal),
                    ("FloorMod", np.mod), ("Mod", np.fmod)):  # fmt: skip
        check(name, [a, b], f(a, b))
    check("Pow", [np.abs(a), b], np.abs(a) ** b)
    check("Square", [a], a * a)
    check("Adds", [a], a + np.float32(0.5), value=0.5)
    check("Muls", [a], a * 3, value=3.0)
    check("Maximums", [a], np.maximum(a, 0), value=0)
    check("Select", [a > 0, a, a * 2], np.where(a > 0, a, a * 2))
    check("AddN", [a, a, a], a + a + a, N=3)
    check(
        "ClipByValue", [a, np.array(-1, np.float32), np.array(0.5, np.float32)], np.clip(a, -1, 0.5)
    )


def test_reductions():
    a = normal(2, 3, 5)
    axes = np.array([0, 2], np.int64)
    for name, f in (
        ("ReduceSum", np.sum),
        ("ReduceMean", np.mean),
        ("ReduceMax", np.max),
        ("ReduceMin", np.min),
    ):
        check(name, [a, axes], f(a, axis=(0, 2)), rtol=1e-5)
        check(
            name,
            [a, axes.astype(np.int32)],
            f(a, axis=(0, 2), keepdims=True),
            rtol=1e-5,
            keep_dims=True,
        )
        check(name + "D", [a], f(a, axis=(1,)), rtol=1e-5, axes=[1], keep_dims=False)
    check("ReduceAllD", [a > 0], (a > 0).all(axis=2), axes=[2])
    check("ReduceProdD", [a], a.prod(axis=1), rtol=1e-5, axes=[1])
    check("CumsumD", [a], a.cumsum(axis=1), rtol=1e-5, axis=1)
    for p in (0.0, 1.0, 2.0, 3.0, 2147483648.0, -2147483648.0):
        powers = np.zeros((2, 5), np.float32)
        order = p if abs(p) < 1e9 else np.copysign(np.inf, p)
        assert call("LpNormReduceV2", [a], [powers], p=p, axes=[1], keepdim=False, epsilon=0.0) == 0
        check(
            "LpNormUpdateV2",
            [powers],
            np.linalg.norm(a, ord=order, axis=1),
            rtol=1e-5,
            p=p,
            epsilon=0.0,
        )


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_gradient(p):
    """As torch_npu calls it: every argument spread over rows, rows and columns."""
    x1, x2 = normal(2, 5, 3), normal(2, 4, 3)
    x2[0, 0] = x1[0, 1]  # a distance of 0 has no gradient
    leaf = torch.tensor(x1, requires_grad=True)
    distances = torch.cdist(leaf, torch.tensor(x2), p)
    grad = normal(*distances.shape)
    distances.backward(torch.tensor(grad))
    parts = (grad[..., None], x1[:, :, None], x2[:, None], distances.detach().numpy()[..., None])
    spread = [np.ascontiguousarray(np.broadcast_to(a, (2, 5, 4, 3))) for a in parts]
    order = -1.0 if np.isinf(p) else p
    check("CdistGrad", spread, leaf.grad.numpy(), rtol=1e-4, p=order)
    out = np.zeros_like(x1)
    assert call("CdistGrad", spread, [out], p=-2.0) == 161002
    assert b"must not be negative" in lib.aclGetRecentErrMsg()
    assert call("CdistGrad", [*spread[:3], spread[3][:1]], [out], p=order) == 161002
    assert call("CdistGrad", [a[:, :, :0] for a in spread], [out], p=order) == 0 and not out.any()


def test_moves():
    a = normal(2, 3, 4)
    check("Identity", [a], a)
    check("Cast", [a], a.astype(np.int32), dst_type=3)
    check("BroadcastTo", [a[:1].copy(), np.array([5, 3, 4])], np.broadcast_to(a[:1], (5, 3, 4)))
    check("BroadcastToD", [a[:1]], np.broadcast_to(a[:1], (5, 3, 4)), shape=[5, 3, 4])
    check("TileD", [a], np.tile(a, (2, 1, 3)), multiples=[2, 1, 3])
    check("TransposeD", [a], a.transpose(2, 0, 1), perm=[2, 0, 1])
    check("Transpose", [a, np.array([1, 0, 2])], a.transpose(1, 0, 2))
    check(
        "ConcatD", [a, a[:, :1].copy(), a], np.concatenate([a, a[:, :1], a], 1), concat_dim=1, N=3
    )
    check("Pack", [a, a], np.stack([a, a], 1), axis=1, N=2)
    check("GatherV2", [a, np.array([2, 0, 1]), np.array([1])], a[:, [2, 0, 1]])
    check("OnesLike", [a], np.ones_like(a))
    outs = [np.zeros((2, n, 4), np.float32) for n in (1, 2)]
    assert call("SplitVD", [a], outs, size_splits=[1, 2], split_dim=1, num_split=2) == 0
    np.testing.assert_array_equal(np.concatenate(outs, 1), a)


def test_products():
    a, b = normal(5, 3), normal(3, 4)
    for x in (False, True):
        for y in (False, True):
            pair = [np.ascontiguousarray(a.T) if x else a, np.ascontiguousarray(b.T) if y else b]
            check("MatMulV2", [*pair, None, None], a @ b, rtol=1e-5, transpose_x1=x, transpose_x2=y)
    a, b = normal(2, 5, 3), normal(2, 4, 3)
    check("BatchMatMulV2", [a, b], a @ b.transpose(0, 2, 1), rtol=1e-5, adj_x1=False, adj_x2=True)


def test_activations():
    a = normal(4, 6)
    soft = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    check("SoftmaxV2", [a], soft, rtol=1e-5, axes=[1])
    check(
        "SoftmaxGrad", [soft, a], soft * (a - (a * soft).sum(1, keepdims=True)), rtol=1e-5, axes=[1]
    )
    check("LeakyRelu", [a], np.where(a > 0, a, 0.1 * a), rtol=1e-5, negative_slope=0.1)
    check("TanhGrad", [np.tanh(a), a], a * (1 - np.tanh(a) ** 2), rtol=1e-5)
    check("Relu6", [a * 9], np.clip(a * 9, 0, 6))


def test_what_torch_npu_has_no_operator_for():
    """Types that functions of torch_npu's own call: npu_max, npu_silu, npu_layer_norm_eval, npu_sort_v2, ..."""
    a, b = normal(3, 4), normal(3, 4)
    for name, best, where in (
        ("ArgMaxWithValue", np.max, np.argmax),
        ("ArgMinWithValue", np.min, np.argmin),
    ):
        found, values = np.full((3, 1), -1, np.int32), np.zeros((3, 1), np.float32)
        assert call(name, [a], [found, values], dimension=1, keep_dims=True) == 0
        np.testing.assert_array_equal(values, best(a, 1, keepdims=True))
        np.testing.assert_array_equal(found, where(a, 1, keepdims=True))
    leaf = torch.tensor(a, requires_grad=True)
    for name, more, f, options in (("MishGrad", [], torch.nn.functional.mish, {}),
                                   ("SwishGrad", [b], torch.nn.functional.silu, {}),
                                   ("SwishGrad", [b], lambda x: x * torch.sigmoid(1.5 * x), {"scale": 1.5})):  # fmt: skip
        (want,) = torch.autograd.grad(f(leaf), leaf, torch.tensor(b))
        check(name, [b, a, *more], want, rtol=1e-5, **options)
    check("Swish", [a], a / (1 + np.exp(-a)), rtol=1e-5, scale=1.0)
    check("SortV2", [a], np.sort(a, 1), axis=1, descending=False)
    check("SortV2", [a], -np.sort(-a, 0), axis=0, descending=True)
    bits = np.packbits(a.reshape(-1) >= 0, bitorder="little")
    packed = np.zeros((1, 2), np.uint8)
    assert call("SignBitsPack", [a.reshape(-1)], [packed], size=1) == 0
    assert packed[0, 0] == bits[0] and packed[0, 1] % 16 == bits[1]
    check("SignBitsUnpack", [packed.reshape(-1)[:1]], np.where(np.unpackbits(packed[0, :1], bitorder="little"), 1, -1)
          .astype(np.float32).reshape(1, 8), size=1, dtype=0)  # fmt: skip
    labels = np.exp(b) / np.exp(b).sum(1, keepdims=True)
    loss, grad = np.zeros(3, np.float32), np.zeros((3, 4), np.float32)
    assert call("SoftmaxCrossEntropyWithLogits", [a, labels], [loss, grad]) == 0
    soft = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    np.testing.assert_allclose(loss, -(labels * np.log(soft)).sum(1), rtol=1e-5)
    np.testing.assert_allclose(grad, soft - labels, rtol=1e-5, atol=1e-6)


def test_gradients_of_extremes_and_padding():
    """ArgMaxGrad puts one number into every line; Pad's numbers are pairs by dimension, first to last."""
    a = normal(3, 4, 2)
    for dim, shape in ((0, (4, 2)), (1, (3, 2)), (-1, (3, 4))):
        index = rng.integers(0, a.shape[dim], shape).astype(np.int32)
        values, want = normal(*shape), a.copy()
        np.put_along_axis(
            want, np.expand_dims(index, dim).astype(np.int64), np.expand_dims(values, dim), dim
        )
        check("ArgMaxGrad", [a, index, values], want, dimension=dim)
    assert call("ArgMaxGrad", [a, index, values], [a.copy()], dimension=5) == 100000
    assert call("ArgMaxGrad", [a, index, values], [a.copy()]) == 100023
    for dtype in (np.int32, np.int64):
        pads = np.array([[1, 0], [0, 2], [3, 1]], dtype)
        check("Pad", [a, pads], np.pad(a, pads))
    assert call("Pad", [a, pads.reshape(-1)[:5]], [a.copy()]) == 100021


def test_constants_of_other_dtypes():
    """Not read as zeros."""
    a = normal(3, 4)
    check("Cumsum", [a, np.array([1], np.int64)], a.cumsum(1))
    assert call("Cumsum", [a, np.array([1], np.int16)], [a.copy()]) == 100021
    assert b"dtype" in lib.aclGetRecentErrMsg()


@pytest.mark.parametrize("name", ["LayerNorm", "LayerNormV3"])
def test_layer_norm(name):
    x, gamma, beta, dy = normal(2, 3, 4), normal(3, 4), normal(3, 4), normal(2, 3, 4)
    leaves = [torch.tensor(t, requires_grad=True) for t in (x, gamma, beta)]
    want = torch.nn.functional.layer_norm(leaves[0], (3, 4), leaves[1], leaves[2], 1e-3)
    want.backward(torch.tensor(dy))
    outs = [np.zeros(s, np.float32) for s in ((2, 3, 4), (2, 1, 1), (2, 1, 1))]
    assert (
        call(name, [x, gamma, beta], outs, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-3)
        == 0
    )
    np.testing.assert_allclose(outs[0], want.detach(), rtol=1e-5, atol=1e-6)
    grads = [np.zeros(t.shape, np.float32) for t in (x, gamma, beta)]
    assert call("LayerNormGrad", [dy, x, outs[2], outs[1], gamma], grads) == 0
    for got, leaf in zip(grads, leaves, strict=True):
        np.testing.assert_allclose(got, leaf.grad, rtol=1e-4, atol=1e-5)


LSTM = {"cell_type": "LSTM", "direction": "UNIDIRECTIONAL", "cell_depth": 1, "use_peephole": False, "keep_prob": 1.0,
        "cell_clip": -1.0, "num_proj": 0, "time_major": True, "activation": "tanh"}  # fmt: skip


@pytest.mark.parametrize("time", [1, 3])
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("order", ["ifco", "ijfo"])
def test_lstm(time, biases, order):
    batch, width, hidden = 2, 5, 4
    torch.manual_seed(7)
    net = torch.nn.LSTM(width, hidden, bias=biases)
    x = torch.randn(time, batch, width, requires_grad=True)
    h, c = (torch.randn(1, batch, hidden, requires_grad=True) for _ in range(2))
    y, (h_last, c_last) = net(x, (h, c))
    dy, dh, dc = torch.randn_like(y), torch.randn_like(h), torch.randn_like(c)
    (y * dy).sum().add((h_last * dh).sum()).add((c_last * dc).sum()).backward()
    swap = [0, 2, 1, 3] if order == "ijfo" else [0, 1, 2, 3]  # PyTorch's gates are i, f, g, o

    def placed(w):
        """Weights as the type takes them: (width, 4 hidden), gates in its order."""
        w = w.detach().numpy()
        return np.ascontiguousarray(
            np.concatenate([w[k * hidden : (k + 1) * hidden] for k in swap]).T
        )

    own = [placed(w) for w in (net.weight_ih_l0, net.weight_hh_l0)]
    bias = placed(net.bias_ih_l0 + net.bias_hh_l0) if biases else None
    begin = [a.detach().numpy() for a in (h, c)]
    outs = [np.full((time, batch, hidden), np.nan, np.float32) for _ in range(8)]
    given = [x.detach().numpy(), *own, bias, None, *begin]
    code = call("DynamicRNNV2", given, outs, gate_order=order, forget_bias=0.0, **LSTM)
    assert code == 0, lib.aclGetRecentErrMsg()
    for got in outs[:2]:
        np.testing.assert_allclose(got, y.detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outs[2][-1], c_last[0].detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.tanh(outs[2]), outs[7], rtol=1e-5, atol=1e-6)
    grads = [
        np.full(a.shape, np.nan, np.float32)
        for a in (*own, own[0][0], x[0] if time == 1 else x, h, c)
    ]
    zero = np.zeros((), np.float32)  # what torch_npu passes for what is not there
    x0 = (
        given[0][0] if time == 1 else given[0]
    )  # of one step without its dimension, as torch_npu gives it
    given = [x0, *own, outs[0], *begin, outs[1], outs[2],
             *(a.numpy() for a in (dy, dh, dc)), *outs[3:], zero, zero, zero, zero, zero]  # fmt: skip
    code = call(
        "DynamicRNNV2Grad", given, grads, gate_order=order, recurrent_activation="sigmoid", **LSTM
    )
    assert code == 0, lib.aclGetRecentErrMsg()
    want = [placed(net.weight_ih_l0.grad), placed(net.weight_hh_l0.grad),
            placed(net.bias_ih_l0.grad) if biases else grads[2], *(a.grad for a in (x, h, c))]  # fmt: skip
    for got, w in zip(grads, want, strict=True):
        np.testing.assert_allclose(got, w.reshape(got.shape), rtol=1e-5, atol=1e-6)
    assert np.isfinite(grads[2]).all()


@pytest.mark.parametrize("direction", ["UNIDIRECTIONAL", "REDIRECTIONAL"])
@pytest.mark.parametrize("ends", [None, "counts", "mask"])
def test_lstm_with_one_weight(direction, ends):
    """DynamicRNN and its gradient, against a network whose sequences are computed one by one."""
    time, batch, width, hidden = 4, 3, 5, 6
    torch.manual_seed(8)
    steps = [time] * batch if ends is None else [2, 4, 0]
    net = torch.nn.LSTM(width, hidden).requires_grad_()
    x, h, c = (torch.randn(*s, requires_grad=True)
               for s in ((time, batch, width), (1, batch, hidden), (1, batch, hidden)))  # fmt: skip
    turn = (lambda a: a.flip(0)) if direction == "REDIRECTIONAL" else (lambda a: a)
    columns, last = [], []
    for b, n in enumerate(steps):
        begin = (h[:, b : b + 1].contiguous(), c[:, b : b + 1].contiguous())
        y, end = net(turn(x[:n, b : b + 1]), begin) if n else (x.new_zeros(0, 1, hidden), begin)
        columns.append(torch.cat([turn(y), y.new_zeros(time - n, 1, hidden)]))
        last.append(end)
    y = torch.cat(columns, 1)
    h_last, c_last = (torch.cat([end[k] for end in last], 1) for k in range(2))
    dy, dh, dc = torch.randn_like(y), torch.randn_like(h), torch.randn_like(c)
    (y * dy).sum().add((h_last * dh).sum()).add((c_last * dc).sum()).backward()

    def joined(a, b):
        return torch.cat([a, b], 1).T.contiguous().detach().numpy()

    w = joined(net.weight_ih_l0, net.weight_hh_l0)
    b = (net.bias_ih_l0 + net.bias_hh_l0).detach().numpy()
    mask = (np.arange(time)[:, None, None] < np.array(steps)[:, None]).repeat(hidden, 2)
    length = {None: None, "counts": np.array(steps, np.int32), "mask": mask.astype(np.float16)}[
        ends
    ]
    begin = [a.detach().numpy() for a in (h, c)]
    outs = [np.full((time, batch, hidden), np.nan, np.float32) for _ in range(8)]
    options = {**LSTM, "direction": direction, "gate_order": "ifjo", "forget_bias": 0.0}
    given = [x.detach().numpy(), w, b, length, *begin]
    assert call("DynamicRNN", given, outs, is_training=True, **options) == 0, (
        lib.aclGetRecentErrMsg()
    )
    at = 0 if direction == "REDIRECTIONAL" else time - 1
    for got, want in ((outs[0], y), (outs[1][at], h_last[0]), (outs[2][at], c_last[0])):
        np.testing.assert_allclose(got, want.detach(), rtol=1e-5, atol=1e-6)
    zero = np.zeros((), np.float32)
    flat = [np.ascontiguousarray(a[0]) for a in (*begin, dh.numpy(), dc.numpy())]
    grads = [np.full(a.shape, np.nan, np.float32) for a in (w, b, x, *flat[:2])]
    given = [given[0], w, b, outs[0], *flat[:2], outs[1], outs[2], dy.numpy(), *flat[2:], *outs[3:],
             zero if length is None else length, zero.astype(np.uint8), zero, zero, zero]  # fmt: skip
    code = call("DynamicRNNGrad", given, grads, **{**options, "keep_prob": -1.0, "cell_depth": 0})
    assert code == 0, lib.aclGetRecentErrMsg()
    want = [
        joined(net.weight_ih_l0.grad, net.weight_hh_l0.grad),
        net.bias_ih_l0.grad,
        x.grad,
        h.grad[0],
        c.grad[0],
    ]
    for got, right in zip(grads, want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=2e-6)


GRU = {"direction": "UNIDIRECTIONAL", "cell_depth": 1, "keep_prob": 1.0, "cell_clip": -1.0, "num_proj": 0,
       "time_major": True, "activation": "tanh", "gate_order": "rzh", "reset_after": True}  # fmt: skip


@pytest.mark.parametrize("direction", ["UNIDIRECTIONAL", "REDIRECTIONAL"])
@pytest.mark.parametrize("biases", [True, False])
def test_gru(direction, biases):
    """DynamicGRUV2 and its gradient: one layer and direction of PyTorch's GRU."""
    time, batch, width, hidden = 4, 3, 5, 6
    torch.manual_seed(9)
    net = torch.nn.GRU(width, hidden, bias=biases)
    x, h = (torch.randn(*s, requires_grad=True) for s in ((time, batch, width), (1, batch, hidden)))
    turn = (lambda a: a.flip(0)) if direction == "REDIRECTIONAL" else (lambda a: a)
    y, last = net(turn(x), h)
    y = turn(y)
    dy, dh = torch.randn_like(y), torch.randn_like(h)
    (y * dy).sum().add((last * dh).sum()).backward()
    weights = [w.detach().T.contiguous().numpy() for w in (net.weight_ih_l0, net.weight_hh_l0)]
    bias = [b.detach().numpy() for b in (net.bias_ih_l0, net.bias_hh_l0)] if biases else [None] * 2
    begin, options = h.detach().numpy(), {**GRU, "direction": direction}
    outs = [np.full((time, batch, hidden), np.nan, np.float32) for _ in range(6)]
    given = [x.detach().numpy(), *weights, *bias, None, begin]
    assert call("DynamicGRUV2", given, outs, is_training=True, **options) == 0, (
        lib.aclGetRecentErrMsg()
    )
    for got in outs[:2]:
        np.testing.assert_allclose(got, y.detach(), rtol=1e-5, atol=1e-6)
    zero = np.zeros((), np.float32)  # what torch_npu passes for what is not there
    flat = [np.ascontiguousarray(a[0]) for a in (begin, dh.numpy())]
    grads = [np.full(a.shape, np.nan, np.float32)
             for a in (*weights, weights[0][0], weights[0][0], x, flat[0])]  # fmt: skip
    given = [given[0], *weights, outs[0], flat[0], outs[1], dy.numpy(), flat[1], *outs[2:],
             zero, zero.astype(np.uint8)]  # fmt: skip
    code = call("DynamicGRUV2Grad", given, grads, bias_type="no_bias", **options)
    assert code == 0, lib.aclGetRecentErrMsg()
    want = [net.weight_ih_l0.grad.T, net.weight_hh_l0.grad.T,
            *((net.bias_ih_l0.grad, net.bias_hh_l0.grad) if biases else grads[2:4]), x.grad, h.grad[0]]  # fmt: skip
    for got, right in zip(grads, want, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=2e-6)
    assert np.isfinite(grads[2]).all() and np.isfinite(grads[3]).all()


def test_grus_that_are_refused():
    a, w, b, bias, h = normal(2, 3, 5), normal(5, 12), normal(4, 12), normal(12), normal(1, 3, 4)
    outs = [np.zeros((2, 3, 4), np.float32) for _ in range(6)]

    def refused(word, inputs=(a, w, b, bias, bias, None, h), **changed):
        assert call("DynamicGRUV2", list(inputs), outs, **{**GRU, **changed}) not in (0, 561000)
        assert word in lib.aclGetRecentErrMsg().decode()

    assert call("DynamicGRUV2", [a, w, b, bias, bias, None, h], outs, **GRU) == 0
    refused("direction", direction="BIDIRECTIONAL")
    refused("gate_order", gate_order="zrh")
    refused("resetAfter", reset_after=False)
    refused("numProj", num_proj=2)
    refused("biases", inputs=(a, w, b, bias, None, None, h))
    refused("seqLength", inputs=(a, w, b, bias, bias, np.ones(3, np.int32), h))
    refused("weightHidden", inputs=(a, w, normal(5, 12), bias, bias, None, h))
    refused("initH", inputs=(a, w, b, bias, bias, None, normal(1, 4, 4)))


def test_lstms_that_are_refused():
    a, w, b, h = normal(2, 3, 5), normal(5, 16), normal(4, 16), normal(1, 3, 4)
    outs = [np.zeros((2, 3, 4), np.float32) for _ in range(8)]
    good = {**LSTM, "gate_order": "ifco", "forget_bias": 0.0}

    def refused(word, inputs=(a, w, b, None, None, h, h), outputs=outs, **changed):
        assert call("DynamicRNNV2", list(inputs), outputs, **{**good, **changed}) not in (0, 561000)
        assert word in lib.aclGetRecentErrMsg().decode()

    assert call("DynamicRNNV2", [a, w, b, None, None, h, h], outs, **good) == 0
    refused("direction", direction="BIDIRECTIONAL")
    refused("gate_order", gate_order="abcd")
    refused("numProj", num_proj=2)
    refused("forgetBias", forget_bias=1.0)
    refused("cellClip", cell_clip=2.0)
    refused("seqLength", inputs=(a, w, b, None, np.ones(4, np.int32), h, h))
    refused("seqLength", inputs=(a, w, b, None, np.array([1, 3, 0], np.int32), h, h))
    refused("seqLength", inputs=(a, w, b, None, np.ones((2, 3), np.float16), h, h))
    holes = np.ones((2, 3, 4), np.float16)
    holes[0] = 0
    refused("seqLength", inputs=(a, w, b, None, holes, h, h))
    refused("weightInput", inputs=(a, w[:4].copy(), b, None, None, h, h))
    refused("initH", inputs=(a, w, b, None, None, h[:, :2].copy(), h))
    refused("elements", inputs=(a[:0].copy(), w, b, None, None, h, h))
    refused("tanhc", outputs=[*outs[:7], outs[7][:1].copy()])


def test_errors():
    a = normal(3)
    out = np.zeros(3, np.float32)
    assert call("NoSuchType", [a], [out]) == 100024
    assert b"NoSuchType" in lib.aclGetRecentErrMsg()
    assert call("Adds", [a], [out]) == 100023  # no attribute
    assert b"value" in lib.aclGetRecentErrMsg()
    assert call("Adds", [a], [out], value="text") == 100023
    assert call("Abs", [], [out]) == 161001
    assert call("Abs", [a], [np.zeros(4, np.float32)]) == 161002
    assert call("BroadcastTo", [a], [out]) == 100021
    assert (
        lib.aclopCompileAndExecute(None, 0, None, None, 0, None, None, None, 0, 0, None, None)
        == 100000
    )
    assert (
        lib.aclopCompileAndExecute(b"Abs", 1, None, None, 0, None, None, None, 0, 0, None, None)
        == 100000
    )
    assert lib.aclopCompile(b"Abs", 0, None, 0, None, None, 0, 0, None) == 0
    assert lib.aclopCompile(b"NoSuchType", 0, None, 0, None, None, 0, 0, None) == 100024


def test_compile_options():
    JIT = 10
    size = lib.aclGetCompileoptSize(JIT)
    text = ctypes.create_string_buffer(size)
    assert lib.aclGetCompileopt(JIT, text, ctypes.c_size_t(size)) == 0 and text.value == b"disable"
    assert lib.aclSetCompileopt(JIT, b"enable") == 0
    assert lib.aclGetCompileoptSize(JIT) == 7
    assert lib.aclGetCompileopt(JIT, text, ctypes.c_size_t(3)) == 100000
    assert lib.aclGetCompileopt(JIT, text, ctypes.c_size_t(7)) == 0 and text.value == b"enable"
    assert lib.aclSetCompileopt(JIT, b"disable") == 0
    assert lib.aclSetCompileopt(99, b"x") == 100000 and lib.aclGetCompileoptSize(99) == 0
    assert lib.aclSetCompileopt(JIT, None) == 100000
    assert lib.aclopSetCompileFlag(1) == 0 and lib.aclopSetCompileFlag(2) == 100000


def test_the_table():
    rows = gen_opapi.types(gen_opapi.operators(hidden=True))
    assert len(rows) > 100
    assert [r.name for r in rows] == sorted(r.name for r in rows)


@pytest.mark.parametrize("spatial", [2, 3])
def test_convolutions(spatial):
    """Strides and dilations for every dimension, padding before and after; the gradients with the shapes that they make."""
    sizes = np.array([0, 0], np.int32)  # not read
    for groups, transposed in ((1, False), (2, False), (1, True), (2, True)):
        name, stride, pad, dilation, more = (
            f"Conv{spatial}D", [2, 1, 3][:spatial], [1, 0, 1][:spatial], [1, 2, 1][:spatial], [1, 0, 2][:spatial],
        )  # fmt: skip
        x, w = normal(2, 4, *[9, 8, 7][:spatial]), normal(6, 4 // groups, *[3, 2, 2][:spatial])
        b = normal(6)
        if transposed:
            x, b = normal(2, 6, *[5, 6, 4][:spatial]), normal(4 // groups * groups)
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, w)]
        f = getattr(torch.nn.functional, f"conv{'_transpose' * transposed}{spatial}d")
        more_of = {"output_padding": more} if transposed else {}
        want = f(*leaves, torch.tensor(b), stride, pad, dilation=dilation, groups=groups, **more_of)
        values = {
            "strides": [1, 1, *stride],
            "pads": [p for p in pad for _ in range(2)],
            "dilations": [1, 1, *dilation],
            "groups": groups,
            "data_format": "NCHW" if spatial == 2 else "NCDHW",
        }
        made = want.detach().numpy()
        if transposed:
            check(name + "Transpose", [sizes, x, w, b], made, 1e-5, **values,
                  output_padding=[0, 0, *more])  # fmt: skip
            continue
        check(name, [x, w, b], made, 1e-5, **values)
        plain = made - b.reshape(-1, *[1] * spatial)
        check(name, [x, w], plain, 1e-5, **values)
        check(name, [x, w, None], plain, 1e-5, **values)
        grad = normal(*made.shape)
        gx, gw = torch.autograd.grad(want, leaves, torch.tensor(grad))
        check(name + "BackpropInput", [sizes, w, grad], gx.numpy(), 1e-4, **values)
        check(name + "BackpropFilter", [x, sizes, grad], gw.numpy(), 1e-4, **values)
    for key, bad in (("strides", [1]), ("strides", 1.5), ("dilations", None)):
        wrong = {k: v for k, v in {**values, key: bad}.items() if v is not None}
        assert call(name, [x, w], [made], **wrong) != 0
