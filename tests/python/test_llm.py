"""examples/llm: a decoder against a reference in float64 of its own, with and without a cache, batched and alone."""

import gc
import json
import pathlib
import sys

import asnumpy as np
import numpy
import pages
import pytest

pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "llm"))

import checkpoint  # noqa: E402
import generate  # noqa: E402
import llama  # noqa: E402
import make_model  # noqa: E402
import text  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from sampling import Sampler, Sampling, candidates  # noqa: E402

GREEDY = Sampling(temperature=0)
PROMPT = [7, 200, 33, 5, 9, 100, 41]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_model.make(tmp_path_factory.mktemp("llm") / "m", "--seed", 3)


@pytest.fixture(scope="module")
def model(folder):
    return llama.Llama(folder)


def reference(folder, tokens):
    """Logits (tokens, vocabulary) in float64, from the paper's formulas, token by token and head by head."""
    c = json.loads((folder / "config.json").read_text())
    w = {k: v.astype(numpy.float64) for k, v in load_file(folder / "model.safetensors").items()}
    heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
    size = c["hidden_size"] // heads

    def norm(x, name):
        return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + c["rms_norm_eps"]) * w[name]

    def turn(x):  # (tokens, heads, size): pairs as complex numbers
        angle = numpy.arange(len(x))[:, None] * c["rope_theta"] ** (
            -2 * numpy.arange(size // 2) / size
        )
        z = (x[..., : size // 2] + 1j * x[..., size // 2 :]) * numpy.exp(1j * angle)[:, None]
        return numpy.concatenate([z.real, z.imag], -1)

    x = w["model.embed_tokens.weight"][tokens]
    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        h = norm(x, p + "input_layernorm.weight")
        q, k, v = (
            (h @ w[f"{p}self_attn.{m}_proj.weight"].T).reshape(len(x), -1, size) for m in "qkv"
        )
        q, k, out = turn(q), turn(k), numpy.empty_like(q)
        for t in range(len(x)):
            for head in range(heads):
                one = head * kv // heads
                e = numpy.exp(k[: t + 1, one] @ q[t, head] / numpy.sqrt(size))
                out[t, head] = e @ v[: t + 1, one] / e.sum()
        x = x + out.reshape(len(x), -1) @ w[p + "self_attn.o_proj.weight"].T
        h = norm(x, p + "post_attention_layernorm.weight")
        gate = h @ w[p + "mlp.gate_proj.weight"].T
        gate = gate / (1 + numpy.exp(-gate)) * (h @ w[p + "mlp.up_proj.weight"].T)
        x = x + gate @ w[p + "mlp.down_proj.weight"].T
    head = "model.embed_tokens.weight" if c["tie_word_embeddings"] else "lm_head.weight"
    return norm(x, "model.norm.weight") @ w[head].T


def close(got, want, tolerance):
    """Within `tolerance` of the largest logit's size."""
    got = numpy.asarray(got.to_numpy(), numpy.float64)
    assert numpy.abs(got - want).max() <= tolerance * numpy.abs(want).max()


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("bfloat16", 0.05), ("int8", 0.1)])
def test_logits_are_the_reference_s(folder, dtype, tolerance):
    m = llama.Llama(folder, dtype)
    close(m([PROMPT], [0], m.cache(), every=True)[0], reference(folder, PROMPT), tolerance)


@pytest.mark.parametrize(
    "options", [("--tied",), ("--kv-heads", 4), ("--kv-heads", 1, "--dtype", "bfloat16")]
)
def test_other_checkpoints(tmp_path, options):
    folder = make_model.make(tmp_path / "m", *options)
    m = llama.Llama(folder)
    close(m([PROMPT], [0], m.cache(), every=True)[0], reference(folder, PROMPT), 1e-5)


def test_with_the_cache_and_without(model):
    got = list(generate.generate(model, PROMPT, 12, GREEDY))
    tokens = list(PROMPT)
    for token in got:
        assert int(model([tokens], [0], model.cache())[0].to_numpy().argmax()) == token
        tokens.append(token)
    blocks = model.cache(block_size=4, blocks=8)
    assert list(generate.generate(model, PROMPT, 12, GREEDY, blocks)) == got
    assert len(got) == 12


def test_prefill_in_parts(model):
    whole = model.prefill(PROMPT, model.cache(), 0).to_numpy()
    close(model.prefill(PROMPT, model.cache(), 0, chunk=3), whole, 1e-5)


def test_batched_is_single(model):
    cache = model.cache(sequences=3, block_size=4, blocks=16)
    prompts = [PROMPT, PROMPT[:2], PROMPT[3:]]
    for s, prompt in enumerate(prompts):
        model.prefill(prompt, cache, s)
    for step in range(3):
        got = model([[step + s] for s in range(3)], [len(p) + step for p in prompts], cache)
        for s, prompt in enumerate(prompts):
            alone = prompt + [k + s for k in range(step + 1)]
            close(got[s], model([alone], [0], model.cache())[0].to_numpy(), 1e-5)


def test_a_step_replays_and_the_model_ends(folder):
    """Each part of a decoding step is traced once for a number of rows; nothing keeps a model that is dropped."""
    np.synchronize()
    before = np.memory.memory_allocated()
    m = llama.Llama(folder, "int8")
    cache = m.cache(sequences=2)
    m([[3, 4], [5, 6]], [0, 0], cache)
    for position in range(2, 6):
        m([[7], [8]], [position, position], cache).to_numpy()
    assert [part.cache_info()[:2] for part in m.traced] == [(3, 1)] * (m.config.layers + 1)
    gc.disable()
    try:
        del m, cache
        np.synchronize()
        assert np.memory.memory_allocated() <= before
    finally:
        gc.enable()


def test_positions_end(model):
    with pytest.raises(ValueError, match="position 256; the model has 256 positions"):
        model([[1]], [256], model.cache())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"model_type": "gemma"}, "model_type is 'gemma'"),
        ({"attention_bias": True}, "attention_bias is True"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "rope_type is 'yarn'"),
        ({"num_key_value_heads": 3}, "4 heads are no multiple of 3"),
    ],
)
def test_other_architectures_are_refused(folder, tmp_path, change, message):
    raw = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(raw | change))
    with pytest.raises(ValueError, match=message):
        checkpoint.Config.read(tmp_path)


def test_weights_are_checked(folder, tmp_path):
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(FileNotFoundError, match="no .*safetensors"):
        llama.Llama(tmp_path)
    weights = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.down_proj.weight"
    save_file(weights | {name: weights[name][:5]}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"down_proj.weight has shape \(5, 160\); .* \(64, 160\)"):
        llama.Llama(tmp_path)
    del weights[name]
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="the checkpoint has no .*down_proj"):
        llama.Llama(tmp_path)
    with pytest.raises(ValueError, match="dtype is 'float16'; it may be one of float32, bfloat16"):
        llama.Llama(folder, "float16")


def test_candidates():
    logits = numpy.log(numpy.array([0.1, 0.4, 0.2, 0.3], numpy.float32))
    tokens, p = candidates(logits, Sampling())
    assert list(tokens) == [1, 3, 2, 0] and numpy.allclose(p, [0.4, 0.3, 0.2, 0.1])
    tokens, p = candidates(logits, Sampling(top_k=3, top_p=0.5))
    assert list(tokens) == [1, 3] and numpy.allclose(p, [4 / 7, 3 / 7])
    assert list(candidates(logits, Sampling(top_p=0.3))[0]) == [1]
    _, p = candidates(logits, Sampling(temperature=0.5))
    assert numpy.allclose(p, numpy.array([16, 9, 4, 1]) / 30)


def test_draws_follow_the_probabilities_and_the_seed():
    logits = numpy.log(numpy.array([0.1, 0.4, 0.2, 0.3], numpy.float32))
    first, second = Sampler(Sampling(seed=5)), Sampler(Sampling(seed=5))
    drawn = [first(logits) for _ in range(2000)]
    assert drawn == [second(logits) for _ in range(2000)]
    assert numpy.allclose(numpy.bincount(drawn) / 2000, [0.1, 0.4, 0.2, 0.3], atol=0.05)
    assert Sampler(GREEDY)(logits) == 1
    for bad in ({"temperature": -1}, {"top_k": -1}, {"top_p": 0}):
        with pytest.raises(ValueError, match="it may be"):
            Sampling(**bad)


def test_text_there_and_back(folder):
    t = text.Text(folder)
    for s in ("Hello, world", "žluťoučký 🐎"):
        assert t.decode(t.encode(s)) == s
        stream = text.Stream(t)
        assert "".join([*(stream.push(k) for k in t.encode(s)), stream.end()]) == s
    assert t.decode(t.chat([{"role": "user", "content": "Hi"}])) == "user: Hi\nassistant:"


def test_stop_strings_are_held_back(folder):
    t = text.Text(folder)
    stream = text.Stream(t, ["END"])
    pieces = [stream.push(k) for k in t.encode("an EN or END more")]
    assert "".join(pieces) == stream.text == "an EN or " and stream.stopped
    assert pieces[3:6] == ["", "", "EN "] and stream.end() == ""
    stream = text.Stream(t, ["END"])
    assert "".join([*(stream.push(k) for k in t.encode("an EN")), stream.end()]) == "an EN"


def test_the_guide(tmp_path):
    """docs/guide/serving.md, run as in a checkout."""
    (tmp_path / "examples").symlink_to(pathlib.Path(llama.__file__).parents[1])
    ran = pages.run("guide/serving.md", tmp_path)
    assert len(ran) == 3
    assert not any(pages.differences(*block) for block in ran), ran
