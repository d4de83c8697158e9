"""A checkpoint in Hugging Face's form: config.json and *.safetensors, read once into the device's memory.

The files are mapped: of each weight only the pages that are converted are read. Weights become
float32, bfloat16 or int8 (one scale for each output channel, max(abs(w)) / 127) as they are read, so
that one weight at a time is there twice.
"""

import contextlib
import dataclasses
import json
import pathlib

import asnumpy as np
import numpy
from safetensors import safe_open

DTYPES = ("float32", "bfloat16", "int8")


@dataclasses.dataclass(frozen=True)
class Config:
    """What config.json says of a LLaMA, under shorter names."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    positions: int
    rope_theta: float
    epsilon: float
    tied: bool
    ends: tuple

    @classmethod
    def read(cls, folder):
        """Of a folder's config.json; ValueError where it describes another architecture."""
        path = pathlib.Path(folder) / "config.json"
        raw = json.loads(path.read_text())
        rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
        wanted = {
            "model_type": (raw.get("model_type", "llama"), "llama"),
            "hidden_act": (raw.get("hidden_act", "silu"), "silu"),
            "attention_bias": (bool(raw.get("attention_bias")), False),
            "mlp_bias": (bool(raw.get("mlp_bias")), False),
            "rope_type": (rope.get("rope_type", rope.get("type", "default")), "default"),
        }
        for name, (got, allowed) in wanted.items():
            if got != allowed:
                raise ValueError(f"{path}: {name} is {got!r}; this example reads {allowed!r}")
        heads = raw["num_attention_heads"]
        kv_heads = raw.get("num_key_value_heads") or heads
        if heads % kv_heads:
            raise ValueError(f"{path}: {heads} heads are no multiple of {kv_heads} of keys")
        ends = raw.get("eos_token_id")
        return cls(
            hidden=raw["hidden_size"],
            intermediate=raw["intermediate_size"],
            layers=raw["num_hidden_layers"],
            heads=heads,
            kv_heads=kv_heads,
            head_dim=raw.get("head_dim") or raw["hidden_size"] // heads,
            vocabulary=raw["vocab_size"],
            positions=raw.get("max_position_embeddings", 2048),
            rope_theta=float(raw.get("rope_theta") or rope.get("rope_theta") or 10000.0),
            epsilon=float(raw.get("rms_norm_eps", 1e-6)),
            tied=bool(raw.get("tie_word_embeddings", False)),
            ends=tuple(ends) if isinstance(ends, list) else () if ends is None else (ends,),
        )


class Weights:
    """The tensors of a folder's safetensors files by name, as NumPy arrays; a context manager."""

    def __init__(self, folder):
        self._files = contextlib.ExitStack()
        self._where = {}
        paths = sorted(pathlib.Path(folder).glob("*.safetensors"))
        if not paths:
            raise FileNotFoundError(f"{folder}: there is no *.safetensors")
        for path in paths:
            file = self._files.enter_context(safe_open(path, framework="np"))
            self._where.update(dict.fromkeys(file.keys(), file))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._files.close()

    def __call__(self, name, shape):
        """One tensor as float32. ValueError where it is missing or has another shape."""
        if name not in self._where:
            raise ValueError(f"the checkpoint has no {name}")
        found = tuple(self._where[name].get_slice(name).get_shape())
        if found != shape:
            raise ValueError(f"{name} has shape {found}; config.json asks for {shape}")
        return self._where[name].get_tensor(name).astype(numpy.float32, copy=False)


class Linear:
    """x @ w.T of a weight (outputs, inputs), stored as float32, bfloat16 or int8.

    int8: CANN's aclnnWeightQuantBatchMatmulV2, which takes x in bfloat16, the weight as
    (inputs, outputs) and a scale for each output.
    """

    def __init__(self, weight, dtype):
        self.scale = None
        if dtype == "int8":
            scale = numpy.maximum(numpy.abs(weight).max(axis=1), 1e-30) / numpy.float32(127)
            weight = numpy.rint(weight / scale[:, None]).astype(numpy.int8)
            self.scale = np.asarray(scale).astype(np.bfloat16)
            self.weight = np.array(weight)
        else:
            self.weight = np.asarray(weight).astype(getattr(np, dtype))
        self.nbytes = self.weight.nbytes + (0 if self.scale is None else self.scale.nbytes)

    def __call__(self, x):
        """(rows, inputs) to (rows, outputs)."""
        if self.scale is None:
            return x @ self.weight.T
        out = np.empty((x.shape[0], self.weight.shape[0]), x.dtype)
        return np.ops.aclnn(
            "WeightQuantBatchMatmulV2", x, self.weight.T, self.scale, *(None,) * 4, 0, outputs=out
        )
