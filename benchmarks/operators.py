"""CANN's operators beside PyTorch's CPU backend: where is one slower than it has to be?

usage: benchmarks/operators.py [--threads N] [--repeats 15] [NAME ...]

Operators of models' forward and backward passes on inputs of one to some megabytes, each called by
asnumpy.ops.aclnn and waited for. Repeats take both libraries in turn; medians in microseconds, and
of each repeat's ratio, PyTorch's time by ours. Results are compared first. A ratio below 0.8 is
marked; the last line counts them. PyTorch's threads wait for work asleep (OMP_WAIT_POLICY=passive,
unless it is set), since they would turn on the cores of what comes next. NAME: those operators
alone, each by a part of its name.
"""

import argparse
import os
import statistics
import sys
import time

SLOW = 0.8


def inputs(rng):
    """{name: NumPy's array}: squares and lines of normal numbers, pictures, indices."""
    import numpy

    def normal(*shape):
        return rng.standard_normal(shape, dtype="float32")

    return {
        "line": normal(10**6),
        "plus": abs(normal(10**6)) + numpy.float32(0.1),
        "square": normal(1024, 1024),
        "gamma": normal(1024),
        "rows": rng.integers(0, 1024, 5000),
        "labels": rng.integers(0, 1024, 1024),
        "places": rng.integers(0, 1024, (1024, 1024)),
        "grads": normal(5000, 1024),
        "bags": numpy.arange(0, 5000, 10),
        "mask": rng.random((1024, 1024)) < 0.5,
        "picture": normal(8, 64, 56, 56),
        "larger": normal(8, 64, 112, 112),
        "grid": rng.uniform(-1, 1, (8, 56, 56, 2)).astype("float32"),
        "filters": normal(64, 64, 3, 3),
        "deep": normal(64, 1, 3, 3),
        "points": normal(256, 64, 1, 1),
        "channel": abs(normal(64)) + 1,
    }


# operator, its parameters before the outputs, outputs as (shape, dtype or float32), parameters
# behind them, PyTorch's expression of the first output (None: other values are right, too).
SQUARE, LINE, PICTURE = (1024, 1024), (10**6,), (8, 64, 56, 56)
OPERATORS = [
    *[(n, "line", [LINE], "", e) for n, e in (
        ("Exp", "line.exp()"), ("Erf", "line.erf()"), ("Tanh", "line.tanh()"), ("Sigmoid", "line.sigmoid()"),
        ("Gelu", "F.gelu(line)"), ("Silu", "F.silu(line)"), ("Mish", "F.mish(line)"), ("Hardswish", "F.hardswish(line)"),
    )],
    ("Log", "plus", [LINE], "", "plus.log()"),
    ("Rsqrt", "plus", [LINE], "", "plus.rsqrt()"),
    ("PowTensorScalar", "plus, f(2.5)", [LINE], "", "plus.pow(2.5)"),
    ("Softplus", "line, f(1), f(20)", [LINE], "", "F.softplus(line)"),
    ("GeluBackward", "line, line", [LINE], "", "aten.gelu_backward(line, line)"),
    ("SiluBackward", "line, line", [LINE], "", "aten.silu_backward(line, line)"),
    ("Softmax", "square, -1", [SQUARE], "", "square.softmax(-1)"),
    ("Softmax", "square, 0", [SQUARE], "", "square.softmax(0)"),
    ("LogSoftmax", "square, -1", [SQUARE], "", "square.log_softmax(-1)"),
    ("SoftmaxBackward", "square, square, -1", [SQUARE], "", "aten._softmax_backward_data(square, square, -1, torch.float32)"),
    ("LogSumExp", "square, (1,), False", [(1024,)], "", "square.logsumexp(1)"),
    ("LayerNorm", "square, (1024,), gamma, gamma, 1e-5", [SQUARE, (1024, 1), (1024, 1)], "",
     "F.layer_norm(square, (1024,), gamma, gamma)"),
    ("RmsNorm", "square, gamma, 1e-5", [SQUARE, (1024, 1)], "", "F.rms_norm(square, (1024,), gamma, 1e-5)"),
    ("GroupNorm", "picture, channel, channel, 8, 64, 3136, 8, 1e-5", [PICTURE, (8, 8), (8, 8)], "",
     "F.group_norm(picture, 8, channel, channel)"),
    ("BatchNorm", "picture, channel, channel, channel, channel, False, 0.1, 1e-5", [PICTURE, (0,), (0,)], "",
     "F.batch_norm(picture, channel, channel, channel, channel)"),
    ("CrossEntropyLoss", "square, labels, None, 'mean', -100, 0.0, 0.0, False", [(), SQUARE, (0,), (0,)], "",
     "F.cross_entropy(square, labels)"),
    ("Mean", "square, (1,), False, 0", [(1024,)], "", "square.mean(1)"),
    ("Var", "square, (1,), True, False", [(1024,)], "", "square.var(1)"),
    ("Norm", "square, f(2), (1,), False", [(1024,)], "", "square.norm(2, 1)"),
    ("Cumsum", "square, -1, 0", [SQUARE], "", "square.cumsum(-1)"),
    ("ArgMax", "square, -1, False", [((1024,), "int64")], "", "square.argmax(-1)"),
    ("Median", "line", [()], "", "line.median()"),
    ("Kthvalue", "square, 500, 1, False", [(1024,), ((1024,), "int64")], "", "square.kthvalue(500, 1).values"),
    ("Topk", "square, 10, -1, True, True", [(1024, 10), ((1024, 10), "int64")], "", "square.topk(10).values"),
    ("Sort", "square, False, -1, False", [SQUARE, (SQUARE, "int64")], "", "square.sort(-1).values"),
    ("Histc", "line, 100, f(-3), f(3)", [(100,)], "", "line.histc(100, -3, 3)"),
    ("Embedding", "square, rows", [(5000, 1024)], "", "F.embedding(rows, square)"),
    ("EmbeddingDenseBackward", "grads, rows, 1024, 1 << 62, False", [SQUARE], "",
     "aten.embedding_dense_backward(grads, rows, 1024, -1, False)"),
    ("EmbeddingBag", "square, rows, bags, False, 0, False, None, False, -1",
     [(500, 1024), ((5000,), "int64"), ((500,), "int64"), ((500,), "int64")], "",
     "F.embedding_bag(rows, square, bags, mode='sum')"),
    ("Gather", "square, 1, places", [SQUARE], "", "square.gather(1, places)"),
    ("ScatterAdd", "square, 1, places, square", [SQUARE], "", "square.scatter_add(1, places, square)"),
    ("IndexSelect", "square, 1, rows", [(1024, 5000)], "", "square.index_select(1, rows)"),
    ("IndexAdd", "square, 0, rows, grads, f(1)", [SQUARE], "", "square.index_add(0, rows, grads)"),
    ("SWhere", "mask, square, square", [SQUARE], "", "torch.where(mask, square, square)"),
    ("Permute", "picture, (0, 2, 3, 1)", [(8, 56, 56, 64)], "", "picture.permute(0, 2, 3, 1).contiguous()"),
    ("Tril", "square, 0", [SQUARE], "", "square.tril()"),
    ("Mm", "square, square", [SQUARE], "0", "square @ square"),
    *[("Convolution", f"picture, {w}, None, ({s}, {s}), ({p}, {p}), (1, 1), False, (0, 0), {g}", [y], "0",
       f"F.conv2d(picture, {w}, None, {s}, {p}, 1, {g})") for w, s, p, g, y in (
        ("filters", 1, 1, 1, PICTURE), ("filters", 2, 1, 1, (8, 64, 28, 28)), ("points", 1, 0, 1, (8, 256, 56, 56)),
        ("deep", 1, 1, 64, PICTURE),
    )],
    ("MaxPool2dWithIndices", "picture, (3, 3), (2, 2), (1, 1), (1, 1), False",
     [(8, 64, 28, 28), ((8, 64, 28, 28), "int32")], "", "F.max_pool2d(picture, 3, 2, 1, return_indices=True)[0]"),
    ("AvgPool2d", "picture, (3, 3), (2, 2), (1, 1), False, True, 0, 0", [(8, 64, 28, 28)], "", "F.avg_pool2d(picture, 3, 2, 1)"),
    ("AdaptiveAvgPool2d", "picture, (1, 1)", [(8, 64, 1, 1)], "", "F.adaptive_avg_pool2d(picture, 1)"),
    ("UpsampleBilinear2d", "picture, (112, 112), False, 0.0, 0.0", [(8, 64, 112, 112)], "",
     "F.interpolate(picture, (112, 112), mode='bilinear')"),
    ("UpsampleBilinear2dBackward", "larger, (112, 112), (8, 64, 56, 56), False, 0.0, 0.0", [PICTURE], "",
     "aten.upsample_bilinear2d_backward(larger, [112, 112], [8, 64, 56, 56], False)"),
    ("GridSampler2D", "picture, grid, 0, 0, False", [PICTURE], "", "F.grid_sample(picture, grid, align_corners=False)"),
    ("Im2col", "picture, (3, 3), (1, 1), (1, 1), (1, 1)", [(8, 576, 3136)], "", "F.unfold(picture, 3, 1, 1, 1)"),
]  # fmt: skip


def calls(operator, ours, theirs):
    """(a call of ours, one of PyTorch's, how close their results are by the largest of them)."""
    import asnumpy
    import numpy

    name, before, shapes, behind, expression = operator
    outputs = []
    for shape in shapes:
        plain = not shape or isinstance(shape[0], int)
        extents, dtype = (shape, "float32") if plain else shape
        outputs.append(asnumpy.empty(extents, dtype))
    scope = {"f": numpy.float32, **ours}
    given = eval(f"({before},)", {}, scope)  # noqa: S307 - the table above
    more = eval(f"({behind},)", {}, scope) if behind else None  # noqa: S307

    if more:  # parameters behind the outputs
        given = (*given, *(...,) * len(outputs), *more)

    def run():
        asnumpy.ops.aclnn(name, *given, outputs=tuple(outputs))
        asnumpy.synchronize()

    compiled = compile(expression, name, "eval")

    def other():
        return eval(compiled, {}, theirs)  # noqa: S307

    run()
    want = other().numpy().astype("float64")
    far = numpy.abs(outputs[0].to_numpy() - want).max() / max(numpy.abs(want).max(), 1e-30)
    return run, other, far


def turns(ours, theirs, repeats):
    """Seconds of each repeat of both."""

    def once(call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    for call in (ours, theirs) * 2:
        call()
    return [(once(ours), once(theirs)) for _ in range(repeats)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["ASNUMPY_NUM_THREADS"] = str(given.threads)
    import asnumpy
    import numpy
    import torch

    torch.set_num_threads(given.threads)
    arrays = inputs(numpy.random.default_rng(0))
    ours = {n: asnumpy.array(a) for n, a in arrays.items()}
    theirs = {n: torch.from_numpy(a) for n, a in arrays.items()}
    theirs |= {"torch": torch, "F": torch.nn.functional, "aten": torch.ops.aten}
    print(f"{'us':64}{'ours':>10}{'PyTorch':>10}{'ratio':>8}")
    slow = wrong = 0
    for operator in OPERATORS:
        if given.names and not any(n.lower() in operator[0].lower() for n in given.names):
            continue
        run, other, far = calls(operator, ours, theirs)
        times = turns(run, other, given.repeats)
        ratio = statistics.median(b / a for a, b in times)
        first, second = (statistics.median(t[i] for t in times) * 1e6 for i in range(2))
        slow += ratio < SLOW
        wrong += not far < 1e-4
        mark = " far off" if not far < 1e-4 else " slow" if ratio < SLOW else ""
        label = f"{operator[0]}({operator[1]})"[:62]
        print(f"{label:64}{first:10.0f}{second:10.0f}{ratio:8.2f}{mark}", flush=True)
    print(f"{slow} slower than {SLOW} of PyTorch's speed, {wrong} far off")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
