"""A LLaMA of transformers generates tokens on the NPU, which are compared with the CPU's.

python llama_generate.py [--layers 8] [--width 512] [--tokens 64]        random weights: nothing is downloaded
"""

import argparse
import time

import torch
import torch_npu  # noqa: F401
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--prompt", type=int, default=16, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=64, help="tokens to generate")
    parser.add_argument("--attention", default="sdpa", choices=["sdpa", "eager"])
    options = parser.parse_args()

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=options.words, hidden_size=options.width, intermediate_size=3 * options.width,
        num_hidden_layers=options.layers, num_attention_heads=8, num_key_value_heads=4,
        max_position_embeddings=options.prompt + options.tokens, attn_implementation=options.attention,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    prompt = torch.randint(1, options.words, (1, options.prompt))
    found = {}
    for device in ("cpu", "npu"):
        model, words = model.to(device), prompt.to(device)
        start = time.perf_counter()
        with torch.no_grad():
            out = model.generate(
                words, attention_mask=torch.ones_like(words), max_new_tokens=options.tokens,
                do_sample=False,
            )  # fmt: skip
        found[device] = out[0, options.prompt :].tolist()
        seconds = time.perf_counter() - start
        print(f"{device}: {len(found[device]) / seconds:.1f} tokens/s, {found[device]}")
    if found["cpu"] != found["npu"]:
        raise SystemExit("the tokens differ")
    print("same tokens")


if __name__ == "__main__":
    main()
