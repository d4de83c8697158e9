"""PyTorch's own samples of its operators on `npu` against `cpu` (opinfo.py): every tenth operator, or what ASNUMPY_OPINFO says."""

import json
import os

import pytest
from conftest import ROOT, start

# Cases that are not right, each with its cause; a case that becomes right must leave the list.
MISSES = {
    line.split("#")[0].strip(): line.split("#")[1].strip()
    for line in (ROOT / "tests" / "torch" / "misses.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
}


def compare(arguments, folder):
    """Runs opinfo.py: no crash, and no miss that is not listed."""
    out = folder / "out.json"
    done = start(ROOT / "tests" / "torch" / "opinfo.py", *arguments, "--out", out)
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(out.read_text())
    bad = {
        case: answer for case, answer in found.items() if answer[0] not in ("right", "unsupported")
    }
    assert len(found) > 50
    assert not [a for a in found.values() if a[0] == "crash"]
    unknown = {case: answer for case, answer in bad.items() if case not in MISSES}
    assert not unknown, unknown


@pytest.mark.smoke
def test_samples(tmp_path):
    part = os.environ.get("ASNUMPY_OPINFO", "--dtypes float32 --samples 1 --part 0/10")
    compare(part.split(), tmp_path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "int64", "bool", "complex64"])
def test_other_dtypes(dtype, tmp_path):
    compare(["--dtypes", dtype, "--samples", "2"], tmp_path)
