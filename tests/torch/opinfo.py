"""PyTorch's own samples of its operators (OpInfo, in the torch wheel) on `npu` against `cpu`.

usage: opinfo.py [--operators REGEX] [--dtypes float32,...] [--samples N] [--backward] [--part K/N]
                 [--seconds S] [--out FILE] [--quiet]

Each operator × dtype is one case: up to N samples are computed on both devices and compared, with
--backward also the gradients of what needs them. A worker process computes; one that dies is a crash of
the case it was at, and another goes on behind it. Cases end as

    right         every sample agrees
    wrong         a result differs
    error         `npu` raises what `cpu` does not
    crash         the process died, or took longer than the limit
    unsupported   torch_npu itself has no such operator or dtype: its own message, no operator was called

Run it where `python -m asnumpy.acl run` finds torch and torch_npu. Results go to FILE as JSON.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import time
import warnings

SOURCE, KIND = "opinfo", "operators"
DTYPES = ["float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool",
          "complex64", "complex128"]  # fmt: skip
CASE_SECONDS = 60
# Results that depend on random numbers, or are not written: shapes and dtypes are compared.
RANDOM = re.compile(
    r"bernoulli|dropout|normal$|normal_|^normal|rand|multinomial|uniform|exponential|cauchy|geometric|log_normal"
    r"|empty|rrelu|svd_lowrank|pca_lowrank|fractional_max_pool|new_empty|gumbel"
)
# What torch_npu says before any operator of CANN is called.
UNSUPPORTED = re.compile(
    r"not implemented for|Could not run|not support|does not support|is not supported|unsupported|expected .*dtype"
    r"|NotImplementedError|not currently supported|Got unsupported ScalarType|no kernel",
    re.IGNORECASE,
)


def database():
    """Every OpInfo, in PyTorch's order."""
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


def full_name(op):
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def dtypes_of(op):
    return op.supported_dtypes("cpu")


# ---- the worker


def tensors(value, torch):
    """The tensors of nested results, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors(v, torch)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors(v, torch)]
    return []


def moved(value, torch, device):
    """A sample on another device, with leaves of its own."""
    if isinstance(value, torch.Tensor):
        copy = value.detach().to(device)
        if copy.device == value.device:
            copy = value.detach().clone()
        return copy.requires_grad_(value.requires_grad) if value.requires_grad else copy
    if isinstance(value, (tuple, list)):
        items = [moved(v, torch, device) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: moved(v, torch, device) for k, v in value.items()}
    if isinstance(value, torch.device):
        return torch.device(device)
    if isinstance(value, str) and value == "cpu":
        return device
    return value


def tolerance(dtype, torch):
    return {
        torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2), torch.float32: (2e-5, 2e-5),
        torch.float64: (1e-7, 1e-7), torch.complex64: (5e-5, 5e-5), torch.complex128: (1e-7, 1e-7),
    }.get(dtype, (0, 0))  # fmt: skip


def is_random(sample):
    """Whether the sample drops out at random (multi-head attention does where it trains)."""
    return any(
        ("dropout" in name or name == "training") and value for name, value in sample.kwargs.items()
    )


def differs(got, want, torch, exact_values, scale):
    """A sentence, or None. scale: of the tolerance."""
    if len(got) != len(want):
        return f"{len(got)} tensors, not {len(want)}"
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if g is None or w is None:
            if (g is None) != (w is None):
                return f"tensor {i}: {'no' if g is None else 'a'} gradient"
            continue
        if g.dtype != w.dtype or g.shape != w.shape:
            return f"tensor {i}: {g.dtype} {tuple(g.shape)}, not {w.dtype} {tuple(w.shape)}"
        if not exact_values or w.layout != torch.strided:
            continue
        rtol, atol = (scale * t for t in tolerance(w.dtype, torch))
        try:
            torch.testing.assert_close(g.detach().cpu().resolve_conj().resolve_neg(), w.detach().resolve_conj().resolve_neg(),
                                       rtol=rtol, atol=atol, equal_nan=True)  # fmt: skip
        except AssertionError as error:
            return f"tensor {i}: " + " ".join(str(error).split())[:160]
    return None


def computed(op, sample, torch, backward):
    """The results, then the gradients of the inputs that need them."""
    value = op(sample[0], *sample[1], **sample[2])
    results = tensors(value, torch)
    if not backward:
        return results
    roots = [r for r in results if r.requires_grad and r.grad_fn is not None]
    leaves = [t for t in tensors(list(sample), torch) if t.requires_grad]
    if not roots or not leaves:
        return results
    ones = [torch.ones_like(r) for r in roots]
    return results + list(torch.autograd.grad(roots, leaves, ones, allow_unused=True))


def failed(error, count):
    """The answer for sample `count` where `npu` raises."""
    text = f"{type(error).__name__}: " + " ".join(str(error).split())
    called = re.search(r"aclnn\w*|aclop\w*|EZ\d|error code is \d+|call acl", text)
    unsupported = UNSUPPORTED.search(text) and not called
    return "unsupported" if unsupported else "error", text[:400], count


def case(op, dtype, options, torch):
    """("right", what) and the number of samples that were compared."""
    backward = (
        options.backward and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    )
    random = bool(RANDOM.search(full_name(op)))
    count = 0
    samples = op.sample_inputs("cpu", dtype, requires_grad=backward)
    while count < options.samples:
        try:
            s = next(samples)
        except StopIteration:
            break
        except Exception:  # OpInfo has no sample of this dtype on this device
            break
        here = (s.input, s.args, s.kwargs)
        there = moved(here, torch, "npu")
        own = moved(here, torch, "cpu")
        try:
            torch.manual_seed(0)
            want = computed(op, own, torch, backward)
        except Exception:
            continue  # not a sample of the CPU either
        count += 1
        try:
            torch.manual_seed(0)
            got = computed(op, there, torch, backward)
            exact = not random and not is_random(s)
            what = differs(got, want, torch, exact, 5 if backward else 1)
        except Exception as error:
            return failed(error, count)
        if what:
            return "wrong", f"sample {count}: {what}", count
    return ("right" if count else "empty"), "", count


def work(of, options):
    """Reads "index dtype" lines, answers a JSON line for each."""
    warnings.simplefilter("ignore")
    import torch
    import torch_npu  # noqa: F401

    torch.set_num_threads(2)
    infos = of.database()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        index, name = line.split()
        info, dtype = infos[int(index)], getattr(torch, name)
        if dtype not in of.dtypes_of(info):
            answers.write(json.dumps(["none", "", 0]) + "\n")
            continue
        try:
            answers.write(json.dumps(of.case(info, dtype, options, torch)) + "\n")
        except Exception as error:  # of the comparison
            answers.write(json.dumps(["error", f"harness: {error!r}"[:300], 0]) + "\n")


# ---- the driver


class Worker:
    def __init__(self, of, options):
        command = [
            sys.executable,
            os.path.abspath(of.__file__),
            "--work",
            "--samples",
            str(options.samples),
        ]
        # Without a queue of its own torch_npu raises where the operator is called.
        self.process = subprocess.Popen(
            command + (["--backward"] if options.backward else []),
            env={**os.environ, "TASK_QUEUE_ENABLE": "0"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip

    def ask(self, index, dtype):
        """The answer; None when the process died or took too long."""
        import select

        try:
            self.process.stdin.write(f"{index} {dtype}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        ready, _, _ = select.select([self.process.stdout], [], [], CASE_SECONDS)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def end(self):
        self.process.kill()
        self.process.wait()


def main(of):
    """of: a module with database, full_name, dtypes_of and case, whose file starts this again with --work."""
    parser = argparse.ArgumentParser(description=of.__doc__.split("\n")[0])
    parser.add_argument("--operators", default="")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--part", default="0/1", help="case K of every N")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(of, options)
    names = [of.full_name(info) for info in of.database()]
    wanted = re.compile(options.operators)
    k, n = map(int, options.part.split("/"))
    cases = [(i, d) for i, name in enumerate(names) if wanted.search(name)
             for d in options.dtypes.split(",")][k::n]  # fmt: skip
    results, worker, began = {}, None, time.time()
    for index, dtype in cases:
        if time.time() - began > options.seconds:
            break
        worker = worker or Worker(of, options)
        answer = worker.ask(index, dtype)
        if answer is None:
            code = worker.process.poll()
            worker.end()
            worker, answer = (
                None,
                ["crash", f"exit code {code}" if code is not None else "took too long", 0],
            )
        if answer[0] == "error":  # torch_npu's queue takes nothing more after a failure
            worker.end()
            worker = None
        if answer[0] in ("none", "empty"):
            continue
        results[f"{names[index]} {dtype}"] = answer
        if answer[0] not in ("right",) and not options.quiet:
            print(f"{answer[0]:12} {names[index]} {dtype}: {answer[1][:300]}", flush=True)
    if worker:
        worker.end()
    counts = collections.Counter(a[0] for a in results.values())
    told = counts["right"] + counts["wrong"] + counts["error"] + counts["crash"]
    print(f"{of.SOURCE}: {len(results)} cases of {len({r.rsplit(maxsplit=1)[0] for r in results})} {of.KIND}: {dict(counts)}; "
          f"{100 * counts['right'] / max(told, 1):.2f} % right of those that torch_npu supports")  # fmt: skip
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=0, sort_keys=True)
    return None


if __name__ == "__main__":
    main(sys.modules[__name__])
