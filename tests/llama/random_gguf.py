"""A model of the LLaMA architecture in a GGUF file, with random weights: python random_gguf.py FILE [f16|f32|q8_0|q4_0 [SIZES]]

SIZES: layers, width, heads, heads of keys and values, width between, tokens (without a tokenizer);
8 512 8 4 1408 1024 unless given.
"""

import sys

import gguf
import numpy as np

SIZES = 8, 512, 8, 4, 1408, 1024


def weights(rng, layers, width, heads, kv_heads, between, vocabulary):
    """Name -> values, as llama.cpp names them: matrices (outputs, inputs)."""

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    def gains():
        return (1 + 0.1 * rng.standard_normal(width)).astype(np.float32)

    head = width // heads
    yield "token_embd.weight", rng.standard_normal((vocabulary, width)).astype(np.float32)
    yield "output_norm.weight", gains()
    yield "output.weight", matrix(vocabulary, width)
    for i in range(layers):
        yield f"blk.{i}.attn_norm.weight", gains()
        yield f"blk.{i}.ffn_norm.weight", gains()
        yield f"blk.{i}.attn_q.weight", matrix(width, width)
        yield f"blk.{i}.attn_k.weight", matrix(kv_heads * head, width)
        yield f"blk.{i}.attn_v.weight", matrix(kv_heads * head, width)
        yield f"blk.{i}.attn_output.weight", matrix(width, width)
        yield f"blk.{i}.ffn_gate.weight", matrix(between, width)
        yield f"blk.{i}.ffn_up.weight", matrix(between, width)
        yield f"blk.{i}.ffn_down.weight", matrix(width, between)


def main(path, kind="f16", *sizes):
    sizes = tuple(map(int, sizes)) or SIZES
    layers, width, heads, kv_heads, between, vocabulary = sizes
    kind = gguf.GGMLQuantizationType[kind.upper()]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(between)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("no_vocab")
    for name, values in weights(np.random.default_rng(27), *sizes):
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
