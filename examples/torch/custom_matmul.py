"""An operator of one's own: a torch.autograd.Function that calls a C library by ctypes, on the addresses of npu tensors.

python custom_matmul.py [--size 512] [--runs 100] [--library libcustom_matmul.so]

The library is built here from custom_matmul.c, which needs a C compiler and ASCEND_HOME_PATH, or is the one that CMake
makes of examples/ascend/custom_matmul.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import tempfile
import time

import torch
import torch_npu  # noqa: F401

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 27}


def build(folder):
    """Compiles custom_matmul.c into `folder`; the library's path."""
    home = os.environ["ASCEND_HOME_PATH"]
    source = pathlib.Path(__file__).with_name("custom_matmul.c")
    file = pathlib.Path(folder) / "libcustom_matmul.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", source, f"-I{home}/include", f"-L{home}/lib64",
                    "-lopapi", "-lascendcl", "-lnnopbase", "-o", file], check=True)  # fmt: skip
    return file


def load(file):
    """The library's two functions, declared; pointers to device memory, then sizes and the dtype."""
    library = ctypes.CDLL(str(file))
    sizes = [ctypes.c_int64] * 3 + [ctypes.c_int]
    library.custom_matmul_forward.argtypes = [ctypes.c_void_p] * 3 + sizes
    library.custom_matmul_backward.argtypes = [ctypes.c_void_p] * 5 + sizes
    return library


def call(function, tensors, *sizes):
    """Calls C when the tensors are there: it has a stream of its own."""
    torch.npu.current_stream().synchronize()
    code = function(*(None if t is None else t.data_ptr() for t in tensors), *sizes)
    if code != 0:
        raise RuntimeError(f"{function.__name__}: error {code}")


class Matmul(torch.autograd.Function):
    library = None

    @staticmethod
    def forward(ctx, a, b):
        a, b = a.contiguous(), b.contiguous()
        if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype:
            raise ValueError(
                f"no product of {a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}"
            )
        ctx.save_for_backward(a, b)
        c = a.new_empty(a.shape[0], b.shape[1])
        sizes = (*a.shape, b.shape[1], DTYPES[a.dtype])
        call(Matmul.library.custom_matmul_forward, (a, b, c), *sizes)
        return c

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        grad_a = torch.empty_like(a) if ctx.needs_input_grad[0] else None
        grad_b = torch.empty_like(b) if ctx.needs_input_grad[1] else None
        sizes = (*a.shape, b.shape[1], DTYPES[a.dtype])
        tensors = (grad.contiguous(), a, b, grad_a, grad_b)
        call(Matmul.library.custom_matmul_backward, tensors, *sizes)
        return grad_a, grad_b


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--library", help="one that is there already")
    options = parser.parse_args()

    torch.manual_seed(0)
    n = options.size
    a, b, w = torch.randn(n, n + 3) / n**0.5, torch.randn(n + 3, n - 2), torch.randn(n, n - 2) / n
    with tempfile.TemporaryDirectory() as folder:
        Matmul.library = load(options.library or build(folder))
        found = []
        for device, multiply in (("cpu", torch.matmul), ("npu", Matmul.apply)):
            p, q = (t.to(device, copy=True).requires_grad_() for t in (a, b))
            c = multiply(p, q)
            (c * w.to(device)).sum().backward()
            found.append([t.detach().cpu() for t in (c, p.grad, q.grad)])
        error = max((x - y).abs().max().item() for x, y in zip(*found, strict=True))
        print(f"error {error:.2e}")
        if error >= 1e-4:
            raise SystemExit("the results differ")

        p, q = a[:, :n].contiguous().npu(), torch.randn(n, n, device="npu")
        Matmul.apply(p, q)
        start = time.perf_counter()
        for _ in range(options.runs):
            Matmul.apply(p, q)
        seconds = (time.perf_counter() - start) / options.runs
        print(f"{n} x {n} x {n}: {2e-9 * n**3 / seconds:.1f} GFLOP/s over {options.runs} runs")


if __name__ == "__main__":
    main()
