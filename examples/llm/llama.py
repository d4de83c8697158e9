"""The LLaMA architecture (Touvron et al., 2023) over asnumpy: RMSNorm, rotary embedding, grouped attention, SwiGLU.

Of CANN's operators it calls aclnnRmsNorm, aclnnAddRmsNorm, aclnnRotaryPositionEmbedding, aclnnSwiGlu
and, of int8 weights, aclnnWeightQuantBatchMatmulV2; attention is asnumpy.nn.KVCache's. Weights that
read the same rows are joined, so that a layer is four products: q, k and v; the attention's output;
gate and up; down.

What lies between two attentions has no part in the cache and launches the same at every token of a
decoding: it is traced once for a number of rows (asnumpy.jit), and replayed on other arrays.
"""

import functools
import weakref

import asnumpy as np
import numpy
from checkpoint import DTYPES, Config, Linear, Weights


def rms_norm(x, gamma, epsilon):
    """x / sqrt(mean(x^2) + epsilon) * gamma over the last dimension (Zhang, Sennrich, 2019)."""
    y, rstd = np.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 1), np.float32)
    return np.ops.aclnn("RmsNorm", x, gamma, epsilon, outputs=(y, rstd))[0]


def add_rms_norm(x, more, gamma, epsilon):
    """x + more, and its rms_norm."""
    y, rstd = np.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 1), np.float32)
    total = np.empty(x.shape, x.dtype)
    np.ops.aclnn("AddRmsNorm", x, more, gamma, epsilon, outputs=(y, rstd, total))
    return total, y


def rotate(x, cos, sin):
    """Rotary embedding of (batch, heads, tokens, size): the first half of size with the second."""
    out = np.empty(x.shape, x.dtype)
    return np.ops.aclnn("RotaryPositionEmbedding", x, cos, sin, 0, outputs=out)


def swiglu(x):
    """silu(gate) * up of gate and up next to each other in the last dimension."""
    out = np.empty((*x.shape[:-1], x.shape[-1] // 2), x.dtype)
    return np.ops.aclnn("SwiGlu", x, -1, outputs=out)


class Layer:
    """The weights of one layer."""

    def __init__(self, weights, config, number, dtype, kind):
        c, name = config, f"model.layers.{number}."
        q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim

        def joined(*parts):
            shapes = ((name + part + ".weight", (rows, c.hidden)) for part, rows in parts)
            return Linear(numpy.concatenate([weights(n, s) for n, s in shapes]), dtype)

        def alone(part, *shape):
            return weights(name + part + ".weight", shape)

        self.before = np.asarray(alone("input_layernorm", c.hidden)).astype(kind)
        self.qkv = joined(
            ("self_attn.q_proj", q), ("self_attn.k_proj", kv), ("self_attn.v_proj", kv)
        )
        self.out = Linear(alone("self_attn.o_proj", c.hidden, q), dtype)
        self.after = np.asarray(alone("post_attention_layernorm", c.hidden)).astype(kind)
        self.gate_up = joined(("mlp.gate_proj", c.intermediate), ("mlp.up_proj", c.intermediate))
        self.down = Linear(alone("mlp.down_proj", c.hidden, c.intermediate), dtype)

    @property
    def matrices(self):
        return self.qkv, self.out, self.gate_up, self.down


class Llama:
    """A model of a folder in Hugging Face's form, its weights in `dtype`.

    Activations and cached keys are float32 beside float32 weights, bfloat16 beside the others.
    """

    def __init__(self, folder, dtype="float32"):
        if dtype not in DTYPES:
            raise ValueError(f"dtype is {dtype!r}; it may be one of {', '.join(DTYPES)}")
        self.config = c = Config.read(folder)
        self.dtype, self.kind = dtype, np.float32 if dtype == "float32" else np.bfloat16
        with Weights(folder) as weights:
            table = weights("model.embed_tokens.weight", (c.vocabulary, c.hidden))
            self.embedding = np.asarray(table).astype(self.kind)
            self.layers = [Layer(weights, c, n, dtype, self.kind) for n in range(c.layers)]
            self.norm = np.asarray(weights("model.norm.weight", (c.hidden,))).astype(self.kind)
            head = table if c.tied else weights("lm_head.weight", (c.vocabulary, c.hidden))
            self.head = Linear(head, dtype)
        turns = c.rope_theta ** -(numpy.arange(0, c.head_dim, 2) / c.head_dim)
        angles = numpy.outer(numpy.arange(c.positions), numpy.concatenate([turns, turns]))
        self.cos = np.asarray(numpy.cos(angles)).astype(self.kind)
        self.sin = np.asarray(numpy.sin(angles)).astype(self.kind)
        me = weakref.proxy(self)  # a model's memory goes with the last reference to it
        between = (functools.partial(Llama._between, me, n) for n in range(1, c.layers))
        enter, leave = (functools.partial(end, me) for end in (Llama._enter, Llama._leave))
        self.parts = [enter, *between, leave]
        self.traced = [np.jit(part) for part in self.parts]

    @property
    def step_bytes(self):
        """Bytes of weights that one decoding step reads."""
        return self.head.nbytes + sum(m.nbytes for layer in self.layers for m in layer.matrices)

    @property
    def token_bytes(self):
        """Bytes of keys and values that one token takes in all layers."""
        c = self.config
        return 2 * c.layers * c.kv_heads * c.head_dim * np.dtype(self.kind).itemsize

    def cache(self, **options):
        """An empty KVCache for this model."""
        c = self.config
        return np.nn.KVCache(c.layers, c.kv_heads, c.head_dim, dtype=self.kind, **options)

    def __call__(self, tokens, positions, cache, sequences=None, every=False):
        """Logits of the last token of each row (batch, vocabulary), or of every token.

        Parameters
        ----------
        tokens : array_like of int, (batch, tokens)
            New tokens of each sequence; their keys and values are appended to the cache.
        positions : sequence of int
            Where each row's tokens begin.
        cache : KVCache
        sequences : sequence of int, optional
            The cache's sequences, by default all.
        every : bool
            Logits of all tokens, (batch, tokens, vocabulary).

        Raises
        ------
        ValueError
            A position is beyond those of the model.
        """
        tokens = numpy.asarray(tokens)
        at = numpy.asarray(positions)[:, None] + numpy.arange(tokens.shape[1])
        if at.max() >= self.config.positions:
            raise ValueError(
                f"position {at.max()}; the model has {self.config.positions} positions"
            )
        enter, *between, leave = self.traced if tokens.shape[1] == 1 else self.parts
        x, cos, sin, *qkv = enter(np.asarray(tokens), np.asarray(at))
        for n in range(self.config.layers):
            q, k, v = qkv
            cache.update(n, k, v, positions, sequences)
            attended = cache.attention(n, q, sequences)
            if n < len(between):
                x, *qkv = between[n](x, attended, cos, sin)
        logits = leave(x, attended, every)
        return logits.reshape(*tokens.shape, -1) if every else logits

    def _enter(self, tokens, at):
        """Of tokens and their positions, (batch, tokens) each: rows x (batch tokens, hidden), cos and sin
        (batch, 1, tokens, size), and the first layer's q, k and v."""
        x = self.embedding[tokens.reshape(-1)]  # rows: the products' operands are matrices
        cos, sin = self.cos[at][:, None], self.sin[at][:, None]
        h = rms_norm(x, self.layers[0].before, self.config.epsilon)
        return x, cos, sin, *self._projected(self.layers[0], h, cos, sin)

    def _between(self, number, x, attended, cos, sin):
        """From the attention before layer `number` to its own: x, and q, k and v."""
        layer = self.layers[number]
        x, h = self._behind(self.layers[number - 1], x, attended, layer.before)
        return x, *self._projected(layer, h, cos, sin)

    def _leave(self, x, attended, every):
        """Logits of the last token of each row, or of every token."""
        h, tokens = self._behind(self.layers[-1], x, attended, self.norm)[1], attended.shape[2]
        return self.head(h if every else h[tokens - 1 :: tokens])

    def _projected(self, layer, h, cos, sin):
        """q, k and v, (batch, heads, tokens, size), of normed rows."""
        c = self.config
        qkv = layer.qkv(h).reshape(cos.shape[0], cos.shape[2], -1, c.head_dim)
        qkv = qkv.transpose(0, 2, 1, 3)
        qk = rotate(qkv[:, : c.heads + c.kv_heads], cos, sin)
        return qk[:, : c.heads], qk[:, c.heads :], qkv[:, c.heads + c.kv_heads :]

    def _behind(self, layer, x, attended, gamma):
        """Rows behind a layer whose attention gave (batch, heads, tokens, size), and these normed."""
        attended = attended.transpose(0, 2, 1, 3).reshape(x.shape[0], -1)
        x, h = add_rms_norm(x, layer.out(attended), layer.after, self.config.epsilon)
        return add_rms_norm(x, layer.down(swiglu(layer.gate_up(h))), gamma, self.config.epsilon)

    def prefill(self, tokens, cache, sequence, position=0, chunk=512):
        """Logits (vocabulary,) of the last of a sequence's new tokens, chunk of them at a time."""
        for start in range(0, len(tokens), chunk):
            part = tokens[start : start + chunk]
            logits = self([part], [position + start], cache, (sequence,))
        return logits[0]
