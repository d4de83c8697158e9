"""A checkpoint of random weights in Hugging Face's form: config.json, model.safetensors, tokenizer.json.

usage: make_model.py DIR [--hidden N] [--intermediate N] [--layers N] [--heads N] [--kv-heads N]
       [--vocabulary N] [--positions N] [--dtype float32|bfloat16] [--tied] [--seed N]
"""

import argparse
import json
import pathlib
import sys

import ml_dtypes
import numpy
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SPECIAL = ("<s>", "</s>")


def config_of(args):
    """config.json's members; the token </s> ends a text."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": args.hidden,
        "intermediate_size": args.intermediate,
        "num_hidden_layers": args.layers,
        "num_attention_heads": args.heads,
        "num_key_value_heads": args.kv_heads,
        "vocab_size": args.vocabulary,
        "max_position_embeddings": args.positions,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": args.tied,
        "torch_dtype": args.dtype,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }


def shapes_of(config):
    """Names and shapes of the weights."""
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    keys = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    for n in range(config["num_hidden_layers"]):
        layer = f"model.layers.{n}."
        yield layer + "input_layernorm.weight", (hidden,)
        yield layer + "post_attention_layernorm.weight", (hidden,)
        yield layer + "self_attn.q_proj.weight", (hidden, hidden)
        yield layer + "self_attn.k_proj.weight", (keys, hidden)
        yield layer + "self_attn.v_proj.weight", (keys, hidden)
        yield layer + "self_attn.o_proj.weight", (hidden, hidden)
        yield layer + "mlp.gate_proj.weight", (wide, hidden)
        yield layer + "mlp.up_proj.weight", (wide, hidden)
        yield layer + "mlp.down_proj.weight", (hidden, wide)
    yield "model.norm.weight", (hidden,)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (config["vocab_size"], hidden)


def weights_of(config, seed):
    """Normal, so wide that products neither grow nor vanish; norms around 1."""
    rng = numpy.random.default_rng(seed)
    dtype = ml_dtypes.bfloat16 if config["torch_dtype"] == "bfloat16" else numpy.float32
    made = {}
    for name, shape in shapes_of(config):
        x = rng.standard_normal(shape, dtype=numpy.float32)
        x *= numpy.float32(0.1 if len(shape) == 1 else shape[1] ** -0.5)
        made[name] = (x + 1 if len(shape) == 1 else x).astype(dtype)
    return made


def tokenizer():
    """A token for each byte, after the special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(
        models.BPE(vocab={s: i for i, s in enumerate([*SPECIAL, *alphabet])}, merges=[])
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(s, special=True) for s in SPECIAL])
    return made


def make(*arguments):
    """Writes a checkpoint; arguments are those of the command line. Returns the folder."""
    args = parser().parse_args([str(a) for a in arguments])
    if args.hidden % args.heads or args.heads % args.kv_heads or args.hidden // args.heads % 2:
        raise SystemExit("hidden / heads must be even, and heads a multiple of kv-heads")
    if args.vocabulary < 256 + len(SPECIAL):
        raise SystemExit(
            f"vocabulary is {args.vocabulary}; it must be at least {256 + len(SPECIAL)}"
        )
    folder = pathlib.Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = config_of(args)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    names = {"bos_token": SPECIAL[0], "eos_token": SPECIAL[1]}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    tokenizer().save(str(folder / "tokenizer.json"))
    save_file(weights_of(config, args.seed), folder / "model.safetensors", {"format": "pt"})
    return folder


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("folder", metavar="DIR")
    sizes = {
        "hidden": 64,
        "intermediate": 160,
        "layers": 2,
        "heads": 4,
        "kv-heads": 2,
        "vocabulary": 288,
        "positions": 256,
        "seed": 0,
    }
    for name, default in sizes.items():
        made.add_argument("--" + name, type=int, default=default)
    made.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    made.add_argument("--tied", action="store_true", help="no lm_head: the embedding's weights")
    return made


if __name__ == "__main__":
    print(make(*sys.argv[1:]))
