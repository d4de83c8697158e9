"""A step of examples/llm's decoder beside PyTorch and llama.cpp, on models of one shape, in turns.

python benchmarks/llm_peers.py [--llama FOLDER] [--rounds N] [--hidden N] [--layers N] [--tokens N]

PyTorch's decoder is written here with as few calls as ours (joined weights, F.rms_norm,
F.scaled_dot_product_attention over a cache of fixed size); llama.cpp is that of tests/llama/run.sh, which
leaves it in FOLDER (build/llama), on its CPU backend. Weights are random; int8's peer is q8_0, whose
activations are rounded to bytes, too. Each is a process of its own; medians of its steps, and of rounds.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples" / "llm"))
GGUF = {"float32": "f32", "bfloat16": "bf16", "int8": "q8_0"}
PROMPT = 32


def steps(step, tokens):
    """The median time of a step, after the prompt."""
    times = []
    for k in range(tokens):
        start = time.perf_counter()
        step(PROMPT + k)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ours(folder, dtype, tokens):
    from llama import Llama

    model = Llama(folder, dtype)
    cache = model.cache(capacity=PROMPT + tokens)
    model.prefill(list(range(2, 2 + PROMPT)), cache, 0).to_numpy()
    return steps(lambda at: model([[5]], [at], cache).to_numpy(), tokens)


def torch(folder, dtype, tokens):
    import numpy
    import torch
    import torch.nn.functional as F
    from checkpoint import Config, Weights

    torch.set_num_threads(os.cpu_count())
    c, kind = Config.read(folder), getattr(torch, dtype)
    q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim
    with Weights(folder) as weights:

        def get(*names_and_shapes):
            parts = [weights(n + ".weight", s) for n, s in names_and_shapes]
            return torch.from_numpy(numpy.concatenate(parts)).to(kind)

        embedding = get(("model.embed_tokens", (c.vocabulary, c.hidden)))
        norm = get(("model.norm", (c.hidden,)))
        head = get(("lm_head", (c.vocabulary, c.hidden)))
        layers = []
        for n in range(c.layers):
            at = f"model.layers.{n}."
            attention, mlp = at + "self_attn.", at + "mlp."
            layers.append(
                (
                    get((at + "input_layernorm", (c.hidden,))),
                    get(
                        (attention + "q_proj", (q, c.hidden)),
                        (attention + "k_proj", (kv, c.hidden)),
                        (attention + "v_proj", (kv, c.hidden)),
                    ),
                    get((attention + "o_proj", (c.hidden, q))),
                    get((at + "post_attention_layernorm", (c.hidden,))),
                    get(
                        (mlp + "gate_proj", (c.intermediate, c.hidden)),
                        (mlp + "up_proj", (c.intermediate, c.hidden)),
                    ),
                    get((mlp + "down_proj", (c.hidden, c.intermediate))),
                )
            )
    turns = c.rope_theta ** -(torch.arange(0, c.head_dim, 2) / c.head_dim)
    angles = torch.outer(torch.arange(c.positions), torch.cat([turns, turns]))
    cos, sin = angles.cos().to(kind), angles.sin().to(kind)
    keys, values = (
        torch.zeros(c.layers, 1, c.kv_heads, PROMPT + tokens, c.head_dim, dtype=kind)
        for _ in range(2)
    )

    def forward(ids, at):
        n = len(ids)
        x = embedding[torch.tensor([ids])]
        for i, (before, qkv, out, after, gate_up, down) in enumerate(layers):
            h = F.linear(F.rms_norm(x, (c.hidden,), before, c.epsilon), qkv)
            h = h.view(1, n, -1, c.head_dim).transpose(1, 2)
            turned = h[:, : c.heads + c.kv_heads]
            left, right = turned.chunk(2, -1)
            turned = turned * cos[at : at + n] + torch.cat([-right, left], -1) * sin[at : at + n]
            keys[i, :, :, at : at + n] = turned[:, c.heads :]
            values[i, :, :, at : at + n] = h[:, c.heads + c.kv_heads :]
            y = F.scaled_dot_product_attention(
                turned[:, : c.heads],
                keys[i, :, :, : at + n],
                values[i, :, :, : at + n],
                is_causal=n > 1,
                enable_gqa=True,
            )
            x = x + F.linear(y.transpose(1, 2).reshape(1, n, q), out)
            gate, up = F.linear(F.rms_norm(x, (c.hidden,), after, c.epsilon), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        return F.linear(F.rms_norm(x[:, -1], (c.hidden,), norm, c.epsilon), head)

    with torch.inference_mode():
        forward(list(range(2, 2 + PROMPT)), 0)
        return steps(lambda at: forward([5], at).float().numpy(), tokens)


def llama(folder, gguf, tokens):
    """Seconds of a token, of llama.cpp's own program."""
    run = subprocess.run(
        [folder / "generate", gguf, "0", str(PROMPT), str(tokens)],
        check=True,
        capture_output=True,
        text=True,
    )
    return 1 / float(run.stdout.splitlines()[-1].split()[1])


def child(which, *arguments):
    """The same measure in a process of its own."""
    command = [sys.executable, __file__, "--child", which, *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    args = parser().parse_args()
    if args.child:
        which, folder, dtype, tokens = args.child
        print({"ours": ours, "torch": torch}[which](folder, dtype, int(tokens)))
        return
    from llm import sizes_of

    sizes = sizes_of(args) | {"positions": PROMPT + args.tokens}
    peers = "PyTorch", "llama.cpp"
    print("| weights | asnumpy, ms a token |" + "".join(f" {p} | ours of it |" for p in peers))
    print("|" + " --- |" * 6)
    with tempfile.TemporaryDirectory() as folder:
        from make_model import make

        make(folder, *(x for name, n in sizes.items() for x in ("--" + name, n)))
        for dtype, kind in GGUF.items():
            gguf = pathlib.Path(folder, kind + ".gguf")
            if args.llama:
                names = "layers", "hidden", "heads", "kv-heads", "intermediate", "vocabulary"
                command = [sys.executable, ROOT / "tests" / "llama" / "random_gguf.py", gguf, kind]
                command += [str(sizes[n]) for n in names]
                path = os.environ | {"PYTHONPATH": str(args.llama / "source" / "gguf-py")}
                subprocess.run(command, check=True, env=path)
            times = {"ours": [], "PyTorch": [], "llama.cpp": []}
            for _ in range(args.rounds):
                times["ours"].append(child("ours", folder, dtype, args.tokens))
                if dtype != "int8":
                    times["PyTorch"].append(child("torch", folder, dtype, args.tokens))
                if args.llama:
                    times["llama.cpp"].append(llama(args.llama, gguf, args.tokens))
            gguf.unlink(missing_ok=True)
            got = {who: 1e3 * statistics.median(t) for who, t in times.items() if t}
            cells = "".join(
                f" {got[p]:.2f} | {got[p] / got['ours']:.2f} |" if p in got else " | |"
                for p in peers
            )
            print(f"| {dtype} | {got['ours']:.2f} |{cells}", flush=True)


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--llama", type=pathlib.Path, help="where tests/llama/run.sh has built")
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--hidden", type=int, default=1024, help="a multiple of 256")
    made.add_argument("--layers", type=int, default=6)
    made.add_argument("--vocabulary", type=int, default=16000)
    made.add_argument("--tokens", type=int, default=64)
    made.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    return made


if __name__ == "__main__":
    main()
