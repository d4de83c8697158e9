"""PyTorch's samples of its modules and optimisers on `npu` against `cpu` (modules.py, optimizers.py): all of them."""

import json

import pytest
from conftest import ROOT, start
from test_opinfo import MISSES

# Misses whose cause names torch_npu, PyTorch or CANN's pages first are theirs and not counted.
SHARE = 0.99


@pytest.mark.parametrize(
    ("program", "arguments", "least"),
    [("modules.py", ("--backward",), 110), ("optimizers.py", (), 35)],
)
def test_samples(tmp_path, program, arguments, least):
    file = tmp_path / "out.json"
    done = start(
        ROOT / "tests" / "torch" / program, "--dtypes", "float32", *arguments, "--out", file
    )
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(file.read_text())
    assert len(found) >= least
    bad = {c: a for c, a in found.items() if a[0] not in ("right", "unsupported")}
    assert not [c for c, a in bad.items() if a[0] == "crash"]
    unknown = {c: a for c, a in bad.items() if c not in MISSES}
    assert not unknown, unknown
    better = [c for c in MISSES if c in found and c not in bad]
    assert not better, f"right now, so no longer misses: {better}"
    own = [c for c in bad if MISSES[c].startswith(("torch_npu", "PyTorch", "CANN"))]
    counted = [c for c in found if found[c][0] != "unsupported" and c not in own]
    assert sum(found[c][0] == "right" for c in counted) >= SHARE * len(counted)
