"""examples/torch, each as a user starts it, on small sizes; on the CPU too where a program can run there."""

import pathlib
import re
import socket
import subprocess
import sys

import pytest
from asnumpy import acl
from conftest import ROOT, start

EXAMPLES = ROOT / "examples" / "torch"
# Programs with what they take here.
ALONE = {
    "custom_matmul.py": "--size 64 --runs 100",
    "llama_generate.py": "--layers 2 --width 64 --tokens 12",
    "mixed_precision.py": "--steps 60 --width 64",
    "npu_graph.py": "--layers 3 --width 32 --runs 5",
}
# Programs with --device: the numbers of each line agree with the CPU's, within a share of them.
COMPARED = {
    "bert_finetune.py": ("--layers 2 --width 64 --steps 40", 2e-2),
    "mnist.py": ("--epochs 3 --target 0.9", 5e-2),
    "resnet.py": ("--image 64 --batch 4 --steps 2 --classes 10 --lr 1e-5", 1e-2),
}
PROCESSES = {"ddp.py": "--epochs 3 --rows 128", "fsdp.py": "--steps 3"}


def told(*arguments, **options):
    done = start(*arguments, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def losses(text):
    """The numbers that follow "loss", in order."""
    return [float(x) for x in re.findall(r"loss ([-0-9.]+)", text)]


def test_every_example_is_run():
    files = {p.name for p in EXAMPLES.glob("*.py")}
    assert files == {*ALONE, *COMPARED, *PROCESSES, "profile_training.py"}


def test_profile(tmp_path):
    out = told(EXAMPLES / "profile_training.py", "--width", 32, folder=tmp_path)
    for file in ("trace_view.json", "kernel_details.csv", "step_trace_time.csv"):
        assert file in out and (tmp_path / out[: out.index(file)].split("\n")[-1] / file).exists()


def check_matmul(out):
    assert float(re.search(r"error (\S+)", out)[1]) < 1e-4
    assert float(re.search(r"([0-9.]+) GFLOP/s over 100 runs", out)[1]) > 0


@pytest.mark.smoke
def test_the_library_that_cmake_makes(tmp_path):
    """examples/ascend/custom_matmul, whose other half (td::mm) is libasnumpy's, in one process with torch_npu."""
    source = ROOT / "examples" / "ascend" / "custom_matmul"
    cmake = pathlib.Path(sys.executable).parent / "cmake"
    script = f". '{acl.home()}/set_env.sh' && '{cmake}' -S '{source}' -B . && '{cmake}' --build ."
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    library = tmp_path / "libcustom_matmul.so"
    check_matmul(
        told(
            EXAMPLES / "custom_matmul.py", *ALONE["custom_matmul.py"].split(), "--library", library
        )
    )


@pytest.mark.parametrize("name", ALONE)
def test_alone(name):
    out = told(EXAMPLES / name, *ALONE[name].split())
    if name == "custom_matmul.py":
        check_matmul(out)
    wanted = {"llama_generate.py": "same tokens", "npu_graph.py": "replays equal calls"}
    assert wanted.get(name, "") in out


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=pytest.mark.smoke) if n == "mnist.py" else n for n in COMPARED
])  # fmt: skip
def test_as_the_cpu(name):
    arguments, share = COMPARED[name]
    npu, cpu = (
        losses(told(EXAMPLES / name, *arguments.split(), "--device", device))
        for device in ("npu", "cpu")
    )
    assert len(npu) == len(cpu) > 0
    assert npu == pytest.approx(cpu, rel=share, abs=share / 10)
    assert npu[-1] < npu[0]


@pytest.mark.parametrize("name", PROCESSES)
def test_processes_as_the_cpus(name, tmp_path):
    found = {}
    for device in ("npu", "cpu"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        save = ("--save", tmp_path / f"{device}.pt") if name == "fsdp.py" else ()
        found[device] = losses(
            told(
                "-m", "torch.distributed.run", "--nproc-per-node", 2, "--master-port", port,
                EXAMPLES / name, *PROCESSES[name].split(), "--device", device, *save, devices=2,
            )
        )  # fmt: skip
    assert found["npu"] == pytest.approx(found["cpu"], rel=1e-3)
    assert found["npu"][-1] < found["npu"][0]
    if name == "fsdp.py":
        import torch

        npu, cpu = (torch.load(pathlib.Path(tmp_path) / f"{d}.pt") for d in ("npu", "cpu"))
        assert npu.keys() == cpu.keys()
        for key, value in npu.items():
            # AdamW's steps are as long where a gradient is nearly 0: few elements differ by one.
            assert (value - cpu[key]).abs().mean() < 3e-5, key
