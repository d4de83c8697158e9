"""A model of the LLaMA architecture in a GGUF file, with random weights: python random_gguf.py FILE [f16|f32|q8_0|q4_0]

8 layers of width 512, 8 heads that share 4 of keys and values, 1024 tokens without a tokenizer.
"""

import sys

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY = 8, 512, 8, 4, 1408, 1024


def weights(rng):
    """Name -> values, as llama.cpp names them: matrices (outputs, inputs)."""

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    def gains():
        return (1 + 0.1 * rng.standard_normal(WIDTH)).astype(np.float32)

    head = WIDTH // HEADS
    yield "token_embd.weight", rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    yield "output_norm.weight", gains()
    yield "output.weight", matrix(VOCABULARY, WIDTH)
    for i in range(LAYERS):
        yield f"blk.{i}.attn_norm.weight", gains()
        yield f"blk.{i}.ffn_norm.weight", gains()
        yield f"blk.{i}.attn_q.weight", matrix(WIDTH, WIDTH)
        yield f"blk.{i}.attn_k.weight", matrix(KV_HEADS * head, WIDTH)
        yield f"blk.{i}.attn_v.weight", matrix(KV_HEADS * head, WIDTH)
        yield f"blk.{i}.attn_output.weight", matrix(WIDTH, WIDTH)
        yield f"blk.{i}.ffn_gate.weight", matrix(HIDDEN, WIDTH)
        yield f"blk.{i}.ffn_up.weight", matrix(HIDDEN, WIDTH)
        yield f"blk.{i}.ffn_down.weight", matrix(WIDTH, HIDDEN)


def main(path, kind="f16"):
    kind = gguf.GGMLQuantizationType[kind.upper()]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")
    for name, values in weights(np.random.default_rng(27)):
        if values.ndim == 2:
            writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
