"""An encoder of BERT-Large's shape in each precision: latency, the weights' memory, the error.

python benchmarks/precision.py [--layers 2] [--tokens 128] [--repeats 7] [--gains]

A layer: 1024 wide, 16 heads, 4096 inside, after its attention and its last product a layer norm (post-norm, GELU by
tanh); weights normal with deviation 0.02, inputs normal, batch 1. `layers` are measured; latency and memory are those
times 24 / layers, the error is of what was measured: norm(y - exact) / norm(exact), exact being float64.

Weights are stored in the dtype (int8: by columns, with scales; float32 for "auto"), and products run under
autocast(dtype); all else is float32. Latency: medians of interleaved repeats, by the clock and by the process' processor
time (which neighbours on the machine lengthen less). PyTorch, where it is installed, runs its own layers (nn.Linear,
scaled_dot_product_attention, layer_norm): float32, bfloat16 weights and activations, int8 by
torch.ao.quantization.quantize_dynamic. `--gains` lists what asnumpy measured.
"""

import argparse
import statistics
import sys
import time

import asnumpy as np
import numpy

WIDTH, HEADS, INNER, LAYERS = 1024, 16, 4096, 24
NAMES = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH),
         "up": (WIDTH, INNER), "down": (INNER, WIDTH)}  # fmt: skip


def weights(layers):
    rng = numpy.random.default_rng(0)
    return [
        {name: (rng.standard_normal(shape) * 0.02).astype("f4") for name, shape in NAMES.items()}
        for _ in range(layers)
    ]


def normed(xp, x):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)


def layer(xp, x, w):
    """One encoder layer by NumPy's functions; the weights may be anything that @ takes."""
    tokens = x.shape[0]
    q, k, v = (
        (x @ w[name]).reshape(tokens, HEADS, -1).transpose(1, 0, 2) for name in ("q", "k", "v")
    )
    s = q @ k.transpose(0, 2, 1) * float((WIDTH // HEADS) ** -0.5)
    s = xp.exp(s - s.max(axis=-1, keepdims=True))
    s = s / s.sum(axis=-1, keepdims=True)
    y = (s @ v).transpose(1, 0, 2).reshape(tokens, WIDTH)
    x = normed(xp, x + y @ w["o"])
    h = x @ w["up"]
    h = 0.5 * h * (1 + xp.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
    return normed(xp, x + h @ w["down"])


def ours(dtype, all_weights, x):
    """A call that runs the encoder, and the bytes of its weights."""
    if dtype == "auto":
        kept = [{n: np.asarray(a) for n, a in w.items()} for w in all_weights]
        scope = np.autocast("auto", error=0.05)
    else:
        decided = np.precision.Decision(dtype, dtype, 0.0, 1.0, "")
        kept = [{n: decided.store(np.asarray(a)) for n, a in w.items()} for w in all_weights]
        scope = np.autocast(dtype)
    given = np.asarray(x)

    def call():
        y = given
        with scope:
            for w in kept:
                y = layer(np, y, w)
        return numpy.asarray(y)

    return call, sum(a.nbytes for w in kept for a in w.values())


def torchs(dtype, all_weights, x):
    import torch

    class Layer(torch.nn.Module):
        def __init__(self, w):
            super().__init__()
            for name, (k, n) in NAMES.items():
                linear = torch.nn.Linear(k, n, bias=False)
                linear.weight.data = torch.from_numpy(w[name].T.copy())
                setattr(self, name, linear)

        def forward(self, x):
            f = torch.nn.functional
            q, k, v = (
                m(x).view(len(x), HEADS, -1).transpose(0, 1) for m in (self.q, self.k, self.v)
            )
            y = f.scaled_dot_product_attention(q[None], k[None], v[None])[0]
            x = f.layer_norm(x + self.o(y.transpose(0, 1).reshape(x.shape)), (WIDTH,), eps=1e-12)
            h = f.gelu(self.up(x), approximate="tanh")
            return f.layer_norm(x + self.down(h), (WIDTH,), eps=1e-12)

    torch.set_num_threads(2)
    model = torch.nn.Sequential(*[Layer(w) for w in all_weights]).eval()
    given = torch.from_numpy(x)
    item = {"float32": 4, "bfloat16": 2, "int8": 1}[dtype]
    if dtype == "bfloat16":
        model, given = model.bfloat16(), given.bfloat16()
    if dtype == "int8":
        model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)

    def call():
        with torch.inference_mode():
            return model(given).float().numpy()

    return call, item * sum(a.size for w in all_weights for a in w.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--gains", action="store_true")
    options = parser.parse_args()
    all_weights = weights(options.layers)
    x = numpy.random.default_rng(1).standard_normal((options.tokens, WIDTH)).astype("f4")
    exact = x.astype("f8")
    for w in all_weights:
        exact = layer(numpy, exact, {n: a.astype("f8") for n, a in w.items()})
    ways = {
        ("asnumpy", d): ours(d, all_weights, x)
        for d in ("float32", "bfloat16", "float16", "int8", "auto")
    }
    try:
        ways |= {("torch", d): torchs(d, all_weights, x) for d in ("float32", "bfloat16", "int8")}
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
    times = {way: [] for way in ways}
    errors = {}
    for repeat in range(options.repeats + 1):
        for way, (call, _) in ways.items():
            clock, processor = time.perf_counter(), time.process_time()
            y = call()
            if repeat:
                times[way].append((time.perf_counter() - clock, time.process_time() - processor))
            errors[way] = numpy.linalg.norm(y - exact) / numpy.linalg.norm(exact)
    scale = LAYERS / options.layers
    print(f"{options.layers} layers measured, times {scale:g}; {options.tokens} tokens")
    print(f"{'':20}{'ms':>9}{'ms of CPU':>11}{'MB':>8}{'error':>10}")
    for way, (_, nbytes) in ways.items():
        clock, processor = (
            1e3 * scale * statistics.median(t[i] for t in times[way]) for i in (0, 1)
        )
        print(
            f"{way[0]} {way[1]:<12}{clock:9.0f}{processor:11.0f}{nbytes * scale / 1e6:8.0f}{errors[way]:10.1e}"
        )
    if options.gains:
        for g in np.precision.gains():
            print(
                f"{g.dtype:9} {g.m:5} {g.k:5} {g.n:5} {g.gain:5.2f}{' stored' if g.stored else ''}"
            )


if __name__ == "__main__":
    main()
