"""examples/llm by numbers: first token, time per token, memory, requests at a memory limit.

python benchmarks/llm.py [--hidden N] [--layers N] [--tokens N] [--dtypes float32 bfloat16 int8] [--memory BYTES]

The model is of random weights, made in a temporary folder. Beside each time per token: the bytes of
weights that a step reads by its time, and what a sum over a larger array of float32 reads in turns with
runs of steps, since a decoder's steps follow each other: the one behind a sum finds its code and the
interpreter's out of the caches (0.4 ms). "anew" computes all tokens for each, as without a cache. Medians.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import asnumpy as np
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples" / "llm"))

from checkpoint import DTYPES  # noqa: E402
from llama import Llama  # noqa: E402
from make_model import make  # noqa: E402
from sampling import Sampling  # noqa: E402
from scheduler import Request, Scheduler  # noqa: E402

RUN = 5  # steps between two sums


def timed(call):
    start = time.perf_counter()
    call()
    np.synchronize()
    return time.perf_counter() - start


def measure(folder, dtype, args, large):
    """A row of the table."""
    before = np.memory.memory_allocated()
    model = Llama(folder, dtype)
    held = np.memory.memory_allocated() - before
    prompt = numpy.random.default_rng(0).integers(2, 258, args.prompt).tolist()
    model.prefill(prompt[:1], model.cache(), 0).to_numpy()
    cache = model.cache(capacity=args.prompt + args.tokens)
    first = timed(lambda: model.prefill(prompt, cache, 0).to_numpy())
    steps, sums = [], []
    for k in range(args.tokens):
        steps.append(timed(lambda at=args.prompt + k: model([[5]], [at], cache).to_numpy()))
        if k % RUN == 0:
            sums.append(timed(lambda: np.sum(large).item()))
    step, read = statistics.median(steps), large.nbytes / statistics.median(sums)
    anew = timed(lambda: model.prefill(prompt + [5], model.cache(), 0).to_numpy())
    s = Scheduler(model, args.memory)
    for _ in range(40):
        s.submit(Request(prompt[:8], 9, Sampling(temperature=0)))
    s.step()
    most = len(s.running)
    rows = statistics.median(timed(s.step) for _ in range(2)) / most
    return (
        f"| {dtype} | {held / 1e6:.0f} | {1e3 * first:.1f} | {1e3 * step:.1f} | {1e3 * anew:.1f} "
        f"| {model.step_bytes / step / 1e9:.2f} | {read / 1e9:.2f} | {most} | {1e3 * rows:.1f} |"
    )


def sizes_of(args):
    """make_model.py's options."""
    return {
        "hidden": args.hidden,
        "intermediate": 11 * args.hidden // 4,
        "layers": args.layers,
        "heads": args.hidden // 64,
        "kv-heads": args.hidden // 256,
        "vocabulary": args.vocabulary,
    }


def main():
    args = parser().parse_args()
    large = np.ones(args.sum // 4, np.float32)
    print(
        "| weights | MB | first token, ms | next, ms | anew, ms | step, GB/s | sum, GB/s "
        "| at once | a token among them, ms |"
    )
    print("|" + " --- |" * 9)
    with tempfile.TemporaryDirectory() as folder:
        sizes = sizes_of(args)
        make(folder, *(x for name, n in sizes.items() for x in ("--" + name, n)))
        for dtype in args.dtypes:
            print(measure(folder, dtype, args, large), flush=True)


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--hidden", type=int, default=1024, help="a multiple of 256")
    made.add_argument("--layers", type=int, default=6)
    made.add_argument("--vocabulary", type=int, default=16000)
    made.add_argument("--prompt", type=int, default=32, help="tokens")
    made.add_argument("--tokens", type=int, default=50, help="steps")
    made.add_argument("--memory", type=int, default=1 << 23, help="bytes of keys and values")
    made.add_argument("--sum", type=int, default=200_000_000, help="bytes of the large array")
    made.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES)
    return made


if __name__ == "__main__":
    main()
