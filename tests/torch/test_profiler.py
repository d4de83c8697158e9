"""torch_npu's profiler: what it writes about a program, as its guide opens it."""

import csv
import json
import math
import pathlib
import subprocess
import sys

import pytest
from asnumpy import acl
from conftest import start

TRAIN = """
import json, sys, time
import torch_npu.profiler as P
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).npu()
optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 64).npu(), torch.randint(0, 8, (32,)).npu()

def step():
    optimiser.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimiser.step()

step()
torch.npu.synchronize()
both = [P.ProfilerActivity.CPU, P.ProfilerActivity.NPU]
"""


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(row, column):
    return float(row[column])


@pytest.fixture(scope="module", params=["0", "1"], ids=["at once", "by a queue"])
def steps(request, tmp_path_factory):
    """Two profiled steps of five: the folder of the results and the steps' wall time in microseconds."""
    folder = tmp_path_factory.mktemp("profile")
    file = folder / "program.py"
    file.write_text(
        "import torch, torch_npu\n"
        + TRAIN
        + """
times = []
with P.profile(
    activities=both, schedule=P.schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True,
    profile_memory=True, with_stack=True, on_trace_ready=P.tensorboard_trace_handler(sys.argv[1]),
    experimental_config=P._ExperimentalConfig(profiler_level=P.ProfilerLevel.Level1),
) as profile:
    for _ in range(5):
        torch.npu.synchronize()
        begin = time.perf_counter()
        step()
        torch.npu.synchronize()
        times.append(time.perf_counter() - begin)
        profile.step()
print("steps took", sum(times[2:4]) * 1e6)
"""
    )
    done = start(file, folder / "out", folder=folder, TASK_QUEUE_ENABLE=request.param)
    assert done.returncode == 0 and "run failed" not in done.stdout, done.stdout + done.stderr
    (output,) = (folder / "out").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT")
    return output, float(done.stdout.rsplit("steps took", 1)[1])


def test_kernels(steps):
    """Each product of the two steps is a kernel, with times that follow each other and fit into the steps."""
    output, wall = steps
    kernels = table(output / "kernel_details.csv")
    names = [row["Name"] for row in kernels]
    assert names.count("aclnnAddmm") == 4 and names.count("aclnnGelu") == 2
    assert names.count("aclnnGeluBackward") == 2 and names.count("aclnnMm") == 6
    assert {row["Step Id"] for row in kernels} == {"2", "3"}
    lengths = [number(row, "Duration(us)") for row in kernels]
    assert all(length > 0 for length in lengths)
    assert sum(lengths) <= wall
    starts = [int(row["Start Time(us)"].replace(".", "")) for row in kernels]
    assert starts == sorted(starts)
    assert {row["Accelerator Core"] for row in kernels} == {"AI_CPU"}


def test_operators_have_their_kernels(steps):
    """The device's time of an aten operator is that of the kernels it launches."""
    output, _ = steps
    kernels, rows = table(output / "kernel_details.csv"), table(output / "operator_details.csv")
    for operator, kernel, count in (
        ("aten::addmm", "aclnnAddmm", 4),
        ("aten::mm", "aclnnMm", 6),
        ("aten::gelu_backward", "aclnnGeluBackward", 2),
        ("aten::_log_softmax", "aclnnLogSoftmax", 2),
    ):
        launched = [row for row in rows if row["Name"] == operator]
        assert len(launched) == count
        assert all(number(row, "Device Total Duration(us)") > 0 for row in launched)
        expected = sum(number(k, "Duration(us)") for k in kernels if k["Name"] == kernel)
        found = sum(number(row, "Device Total Duration(us)") for row in launched)
        assert math.isclose(found, expected, abs_tol=0.01)
    (shape,) = {row["Input Shapes"] for row in rows if row["Name"] == "aten::_log_softmax"}
    assert shape.startswith("32,8")
    assert any("program.py" in row["Call Stack"] for row in rows)


def test_statistics_are_of_the_kernels(steps):
    output, _ = steps
    kernels = table(output / "kernel_details.csv")
    statistic = table(output / "op_statistic.csv")
    assert sum(int(row["Count"]) for row in statistic) == len(kernels)
    total = sum(number(row, "Duration(us)") for row in kernels)
    assert math.isclose(sum(number(r, "Total Time(us)") for r in statistic), total, abs_tol=0.1)
    assert math.isclose(sum(number(r, "Ratio(%)") for r in statistic), 100, abs_tol=0.1)
    tasks = table(output / "task_time.csv")
    assert len(tasks) >= len(kernels)


def test_step_times(steps):
    output, wall = steps
    found = table(output / "step_trace_time.csv")
    assert [row["Step"] for row in found] == ["2", "3"]
    kernels = table(output / "kernel_details.csv")
    for row in found:
        total = sum(number(k, "Duration(us)") for k in kernels if k["Step Id"] == row["Step"])
        assert math.isclose(number(row, "Computing"), total, rel_tol=1e-3)
        assert number(row, "Communication") == 0 and number(row, "Free") > 0
    assert sum(number(row, "Computing") for row in found) <= wall


def test_the_trace_joins_operators_and_kernels(steps):
    output, _ = steps
    events = json.loads((output / "trace_view.json").read_text())
    spans = {(str(e["pid"]), str(e["tid"]), e["ts"]): e["name"] for e in events if e["ph"] == "X"}
    flows = {}
    for e in events:
        if e.get("name") == "torch_to_npu":
            at = spans[str(e["pid"]), str(e["tid"]), e["ts"]]
            flows.setdefault(e["id"], {})[e["ph"]] = at
    pairs = [(f["s"], f["f"]) for f in flows.values()]
    assert len(pairs) == len(table(output / "kernel_details.csv"))
    for operator, kernel in (("aten::addmm", "aclnnAddmm"), ("aten::mm", "aclnnMm")):
        # The operator's own flow, or that of the launch which torch_npu records inside it.
        assert (operator, kernel) in pairs or (kernel, kernel) in pairs


def test_memory(steps):
    output, _ = steps
    rows = table(output / "operator_memory.csv")
    assert any(number(row, "Size(KB)") >= 16 for row in rows)  # 32 x 128 floats
    assert {row["Device Type"] for row in rows} == {"NPU:0"}


def test_a_chrome_trace(npu, tmp_path):
    npu(
        TRAIN
        + """
with P.profile(activities=both) as profile:
    step()
profile.export_chrome_trace(sys.argv[1])
"""
        , tmp_path / "trace.json",
    )  # fmt: skip
    events = json.loads((tmp_path / "trace.json").read_text())
    names = [e["name"] for e in events if e["ph"] == "X"]
    assert names.count("aten::addmm") == 2
    assert "aclnnGeluBackward" in names


@pytest.mark.parametrize("queue", ["0", "1"])
def test_pytorchs_own_profiler(npu, tmp_path, queue):
    """torch.profiler hears of the kernels from a tool's records, and joins them to their operators."""
    npu(
        TRAIN
        + """
with torch.profiler.profile() as profile:
    for _ in range(2):
        step()
    torch.npu.synchronize()
profile.export_chrome_trace(sys.argv[1])
"""
        , tmp_path / "trace.json", TASK_QUEUE_ENABLE=queue,
    )  # fmt: skip
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    names = [e["name"] for e in kernels]
    assert names.count("aclnnAddmm") == 4 and names.count("aclnnGeluBackward") == 2
    assert all(e["dur"] > 0 for e in kernels)
    operators = [e for e in events if e.get("name") == "aten::addmm" and e["ph"] == "X"]
    assert len(operators) == 4
    span = [min(e["ts"] for e in operators), max(e["ts"] + e["dur"] for e in events if "dur" in e)]
    assert all(span[0] - 1e3 <= e["ts"] <= span[1] for e in kernels if e["name"] == "aclnnAddmm")


def test_marks(npu, tmp_path):
    """mstx: on the host and, given a stream, when the stream is there; in a domain of their own."""
    npu(
        TRAIN
        + """
with P.profile(
    activities=[P.ProfilerActivity.NPU], on_trace_ready=P.tensorboard_trace_handler(sys.argv[1]),
    experimental_config=P._ExperimentalConfig(mstx=True, profiler_level=P.ProfilerLevel.Level1),
):
    r = torch_npu.npu.mstx.range_start("the step", torch.npu.current_stream())
    step()
    torch_npu.npu.mstx.range_end(r)
    torch_npu.npu.mstx.mark("here", domain="mine")
    torch.npu.synchronize()
"""
        , tmp_path / "out",
    )  # fmt: skip
    (trace,) = (tmp_path / "out").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    events = json.loads(trace.read_text())
    ranges = [e for e in events if e["name"] == "the step"]
    assert len(ranges) == 2  # the host's and the stream's
    kernel = next(e for e in events if e["name"] == "aclnnGelu" and e["ph"] == "X")
    (on_stream,) = [e for e in ranges if e["pid"] == kernel["pid"]]  # the host's may end earlier
    assert float(on_stream["ts"]) <= float(kernel["ts"])
    assert float(on_stream["ts"]) + on_stream["dur"] >= float(kernel["ts"]) + kernel["dur"]
    (mark,) = [e for e in events if e["name"] == "here"]
    assert mark["args"]["domain"] == "mine"


def test_other_exports_say_what_is_not_there(npu, tmp_path):
    """No data base: torch_npu asks msprof, and says so."""
    out = npu(
        TRAIN
        + """
with P.profile(
    activities=both, on_trace_ready=P.tensorboard_trace_handler(sys.argv[1]),
    experimental_config=P._ExperimentalConfig(export_type=P.ExportType.Db),
):
    step()
"""
        , tmp_path / "out",
    )  # fmt: skip
    assert "does not support export db" in out


def test_msprof_alone(npu, tmp_path):
    """The profile of AscendCL's functions, exported by hand; what it does not understand is said."""
    npu(
        """
        import ctypes, sys
        runtime = ctypes.CDLL("libascendcl.so")
        runtime.aclprofCreateConfig.restype = ctypes.c_void_p
        runtime.aclprofCreateConfig.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64]
        a = torch.randn(100, 100).npu()
        torch.npu.synchronize()
        folder = sys.argv[1].encode()
        assert runtime.aclprofInit(folder, ctypes.c_size_t(len(folder))) == 0
        config = ctypes.c_void_p(runtime.aclprofCreateConfig((ctypes.c_uint32 * 1)(0), 1, 255, None, 3))
        assert runtime.aclprofStart(config) == 0
        for _ in range(3):
            b = a @ a
        torch.npu.synchronize()
        assert runtime.aclprofStop(config) == 0 and runtime.aclprofFinalize() == 0
        """,
        tmp_path,
    )
    (folder,) = tmp_path.glob("PROF_*")

    def msprof(*arguments):
        program = pathlib.Path(acl.home()) / "tools" / "profiler" / "bin" / "msprof"
        environment = {**acl.environment(), "ASNUMPY_PYTHON": sys.executable}
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, env=environment
        )

    assert msprof("--export=on", f"--output={folder}").returncode == 0
    (summary,) = (folder / "mindstudio_profiler_output").glob("op_summary_*.csv")
    assert [row["Op Name"] for row in table(summary)] == ["aclnnMatmul"] * 3
    assert msprof("--help").returncode == 0
    assert "no folder that" in msprof("--export=on", f"--output={folder}/host").stderr
    assert "understood" in msprof("--export=on", "--type=db", f"--output={folder}").stderr
    assert "understood" in msprof("--application=x").stderr
