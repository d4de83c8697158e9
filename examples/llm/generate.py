"""Text of a model, as it comes.

usage: generate.py --model DIR [--prompt TEXT | --chat TEXT] [--tokens N] [--dtype float32|bfloat16|int8]
       [--temperature T] [--top-k K] [--top-p P] [--seed N]
"""

import argparse
import sys
import time

from checkpoint import DTYPES
from llama import Llama
from sampling import Sampler, Sampling
from text import Stream, Text


def generate(model, prompt, count, sampling, cache=None):
    """Yields up to `count` tokens after `prompt`, up to one that ends a text, which is not given.

    `cache`: an empty one of the model's to use; by default one is made.
    """
    if not prompt:
        raise ValueError("the prompt has no tokens; at least one is needed")
    cache = model.cache() if cache is None else cache
    draw, sequence = Sampler(sampling), cache.sequences[0]
    logits = model.prefill(prompt, cache, sequence)
    for position in range(len(prompt), len(prompt) + count):
        token = draw(logits.to_numpy())
        if token in model.config.ends:
            return
        yield token
        if position + 1 < len(prompt) + count:
            logits = model([[token]], [position], cache, (sequence,))[0]


def main():
    args = parser().parse_args()
    model, text = Llama(args.model, args.dtype), Text(args.model)
    if args.chat is not None:
        prompt = text.chat([{"role": "user", "content": args.chat}])
    else:
        prompt = text.encode(args.prompt)
    sampling = Sampling(args.temperature, args.top_k, args.top_p, args.seed)
    stream, start, times = Stream(text), time.perf_counter(), []
    for token in generate(model, prompt, args.tokens, sampling):
        times.append(time.perf_counter() - start)
        print(stream.push(token), end="", flush=True)
    print(stream.end())
    if len(times) > 1:
        each = (times[-1] - times[0]) / (len(times) - 1)
        print(
            f"{len(prompt)} tokens of prompt, {len(times)} new; first after {1e3 * times[0]:.1f} ms, "
            f"then {1e3 * each:.2f} ms each",
            file=sys.stderr,
        )


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--model", required=True, metavar="DIR")
    start = made.add_mutually_exclusive_group()
    start.add_argument("--prompt", default="Hello", help="text that is continued")
    start.add_argument("--chat", help="a message that is answered")
    made.add_argument("--tokens", type=int, default=64)
    made.add_argument("--dtype", choices=DTYPES, default="float32")
    made.add_argument("--temperature", type=float, default=0.0)
    made.add_argument("--top-k", type=int, default=0)
    made.add_argument("--top-p", type=float, default=1.0)
    made.add_argument("--seed", type=int)
    return made


if __name__ == "__main__":
    main()
