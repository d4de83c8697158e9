"""PyTorch on the device `npu`, by torch_npu as others built it, against PyTorch's CPU backend in NumPy's column.

The same process, the same threads, the same inputs; the devices' results are compared before anything is timed.
Operators first, one call after the other and waited for at the end of a sample; then steps of whole models with random
weights: examples/torch's ResNet-50, and transformers' BERT and LLaMA where that package is there.
"""

import functools
import pathlib
import sys
import time

from rows import Row

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE_SECONDS = 0.02  # of short calls together, the wait at their end included

# label, expression over torch, F and its inputs, the inputs' shapes, dtype
OPERATORS = [
    ("add of 10", "a + b", {"a": (10,), "b": (10,)}, "float32"),
    ("add of 1e6", "a + b", {"a": (10**6,), "b": (10**6,)}, "float32"),
    ("exp of 1e6", "a.exp()", {"a": (10**6,)}, "float32"),
    ("gelu of 1e6", "F.gelu(a)", {"a": (10**6,)}, "float32"),
    ("sort of 1e6", "a.sort().values", {"a": (10**6,)}, "float32"),
    ("softmax of 1024 x 1024", "a.softmax(-1)", {"a": (1024, 1024)}, "float32"),
    ("layer_norm of 1024 x 1024", "F.layer_norm(a, (1024,))", {"a": (1024, 1024)}, "float32"),
    ("matrix product of 1024", "a @ b", {"a": (1024, 1024), "b": (1024, 1024)}, "float32"),
    ("matrix product of 1024", "a @ b", {"a": (1024, 1024), "b": (1024, 1024)}, "bfloat16"),
    ("matrix x vector, 4096", "a @ b", {"a": (4096, 4096), "b": (4096,)}, "float32"),
    ("matrix x vector, 4096", "a @ b", {"a": (4096, 4096), "b": (4096,)}, "bfloat16"),
    ("conv2d, 64 of 56 x 56, 3 x 3", "F.conv2d(a, b, padding=1)", {"a": (1, 64, 56, 56), "b": (64, 64, 3, 3)}, "float32"),
    ("conv2d, batch of 8", "F.conv2d(a, b, padding=1)", {"a": (8, 64, 56, 56), "b": (64, 64, 3, 3)}, "float32"),
    ("attention, 4 x 8 x 128 x 64", "F.scaled_dot_product_attention(a, b, c)", dict.fromkeys("abc", (4, 8, 128, 64)), "float32"),
]  # fmt: skip


def environment():
    """torch_npu's folder and CANN's place, which a process has from its start."""
    from asnumpy import acl

    variables = acl.environment()
    folders = [str(ROOT / "build" / "torch_npu"), variables.get("PYTHONPATH", "")]
    return {**variables, "PYTHONPATH": ":".join(filter(None, folders))}


def resnet():
    sys.path.insert(0, str(ROOT / "examples" / "torch"))
    from resnet import resnet50

    return resnet50()


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(vocab_size=8000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                   intermediate_size=1024)
    )  # fmt: skip


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(vocab_size=8000, hidden_size=512, num_hidden_layers=8, num_attention_heads=8,
                    intermediate_size=1376, max_position_embeddings=512)
    )  # fmt: skip


def model_inputs(make):
    """The model's inputs, and its loss as a function of the model and them."""
    import torch

    if make is resnet:
        inputs = torch.randn(2, 3, 224, 224), torch.randint(0, 1000, (2,))
        return inputs, lambda m, x, y: torch.nn.functional.cross_entropy(m(x), y)
    tokens = torch.randint(0, 8000, (4, 128))
    labels = torch.randint(0, 2, (4,)) if make is bert else tokens
    return (tokens, labels), lambda m, x, y: m(x, labels=y).loss


def inference(model, inputs, loss):
    import torch

    model.eval()

    def run():
        with torch.no_grad():
            return loss(model, *inputs)

    return run


def training(model, inputs, loss):
    import torch

    model.train()
    for layer in model.modules():  # each device draws its own masks
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def run():
        optimizer.zero_grad()
        value = loss(model, *inputs)
        value.backward()
        optimizer.step()
        return value.detach()

    return run


def generation(model, inputs, loss):
    model.eval()
    return functools.partial(model.generate, inputs[0][:1, :16], max_new_tokens=32,
                             min_new_tokens=32, do_sample=False)  # fmt: skip


MODELS = [
    ("ResNet-50, 2 images", resnet, inference),
    ("ResNet-50, 2 images, step of training", resnet, training),
    ("BERT of 4 layers, 4 x 128 tokens", bert, inference),
    ("BERT of 4 layers, step of training", bert, training),
    ("LLaMA of 8 layers, 4 x 128 tokens", llama, inference),
    ("LLaMA of 8 layers, step of training", llama, training),
    ("LLaMA of 8 layers, 32 tokens generated", llama, generation),
]


def operator_call(text, shapes, dtype, device):
    import torch

    generator = torch.Generator().manual_seed(0)
    inputs = {name: torch.randn(shape, generator=generator).to(getattr(torch, dtype)).to(device)
              for name, shape in shapes.items()}  # fmt: skip
    return eval(
        f"lambda: {text}", {"torch": torch, "F": torch.nn.functional, **inputs}
    )  # the row's own text


def model_call(make, way, device):
    import torch

    torch.manual_seed(0)
    inputs, loss = model_inputs(make)
    model = make().to(device)
    return way(model, tuple(x.to(device) for x in inputs), loss)


def build(call_on, tolerance, library_name):
    """A callable that tells the seconds of one call on the device; the first result is compared with the CPU's."""
    import torch
    from asnumpy import acl

    acl.let_timers_slip()  # as `python -m asnumpy.acl run` does; for PyTorch's CPU, too
    import torch_npu  # noqa: F401  (registers the device)

    torch.set_grad_enabled(True)  # the CPU's other rows turn it off
    device = "npu" if library_name == "asnumpy" else "cpu"
    call = call_on(device)
    if device == "npu":
        torch.testing.assert_close(
            call().cpu(), call_on("cpu")(), rtol=tolerance, atol=tolerance, check_dtype=False
        )
    wait = torch.npu.synchronize if device == "npu" else lambda: None

    def seconds(count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return time.perf_counter() - start

    seconds(2)
    count = 1
    while seconds(count) < SAMPLE_SECONDS:
        count *= 2
    return lambda: seconds(count) / count


def rows():
    found = []
    for label, text, shapes, dtype in OPERATORS:
        call_on = functools.partial(operator_call, text, shapes, dtype)
        tolerance = 1e-3 if dtype == "float32" else 3e-2
        found.append(Row("torch", f"{label}, {dtype}", build=functools.partial(build, call_on, tolerance), timed=True, bar=(1, 1)))  # fmt: skip
    for label, make, way in MODELS:
        call_on = functools.partial(model_call, make, way)
        found.append(Row("torch", label, build=functools.partial(build, call_on, 1e-2), timed=True, bar=(1, 1)))  # fmt: skip
    return found
