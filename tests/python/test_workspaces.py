"""The table of workspaces: what strict runs record, the file that it is kept in, what is taken in advance."""

import csv
import os
import subprocess
import sys

import asnumpy as anp
import pytest
from hypothesis import given
from hypothesis import strategies as st

HEAD = "operator,operands,bytes,calls\n"


def run(program, **environ):
    """A strict run of its own, in which operators ask for workspace."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        env={**os.environ, "ASNUMPY_CANN_STRICT": "1", **environ}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


PRODUCTS = """
import numpy
import asnumpy as np
np.memory.record_workspaces()
a, b = np.ones((128, 64), "float32"), np.ones((64, 32), "float32")
for _ in range(3):
    numpy.asarray(a @ b)
numpy.asarray(np.sort(np.arange(100, dtype="float32")))
np.memory.record_workspaces(False)
numpy.asarray(a.T @ a)
for w in np.memory.workspaces():
    print(*w, sep=";")
"""


def test_what_a_strict_run_asks_for():
    rows = [line.split(";") for line in run(PRODUCTS)[0].splitlines()]
    sizes = [int(row[2]) for row in rows]
    assert sizes == sorted(sizes, reverse=True) and min(sizes) > 0
    products = [row for row in rows if "128,64" in row[1] and "64,32" in row[1]]
    assert len(products) == 1 and products[0][3] == "3"
    assert products[0][1] == "float32(128,64) float32(64,32) -> float32(128,32)"
    assert products[0][0] in ("Matmul", "Mm") and int(products[0][2]) >= 128 * 32 * 4
    assert any(row[0] == "Sort" and row[1].startswith("float32(100,)") for row in rows)
    assert not any("(128,64) float32(128,64)" in row[1] for row in rows)  # recording was off


def test_a_program_of_many_shapes():
    """More entries than the table begins with room for: each is found again."""
    out, _ = run("""
import numpy
import asnumpy as np
np.memory.record_workspaces()
for _ in range(2):
    for n in range(1, 151):
        numpy.asarray(np.ones((n, 3), "float32") @ np.ones((3, 2), "float32"))
found = [w for w in np.memory.workspaces() if "(3,2)" in w.operands]
print(len(found), {w.calls for w in found})
""")
    assert out == "150 {2}\n"


def test_a_program_keeps_its_table(tmp_path):
    path = tmp_path / "table.csv"
    once = "import numpy, asnumpy as np; numpy.asarray(np.ones((8, 4), 'float32') @ np.ones((4, 8), 'float32'))"
    for calls in (1, 2):
        assert run(once, ASNUMPY_WORKSPACES=str(path))[1] == ""
        (row,) = [w for w in anp.memory.workspaces(path) if "(8,4)" in w.operands]
        assert row.calls == calls
    assert os.listdir(tmp_path) == ["table.csv"]
    _, said = run(once, ASNUMPY_WORKSPACES=str(tmp_path / "none" / "table.csv"))
    assert "there is no folder" in said
    path.write_text("mine\n")
    assert "is no table of workspaces" in run(once, ASNUMPY_WORKSPACES=str(path))[1]
    assert path.read_text() == "mine\n"


ROWS = st.lists(
    st.tuples(st.sampled_from(["Matmul", "Sort"]), st.sampled_from(["float32(2,3)", 'a,"b"', "-> int8()"]),
              st.integers(0, 1 << 40), st.integers(1, 9)), max_size=8, unique_by=lambda row: row[:2],
)  # fmt: skip


@given(ROWS)
def test_files_merge(tmp_path_factory, rows):
    """What this process recorded is added to what is there; nothing of the file is lost."""
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([("operator", "operands", "bytes", "calls"), *rows])
    own = {w[:2]: w for w in anp.memory.workspaces()}
    assert anp.memory.save_workspaces(path) == len({*own, *(row[:2] for row in rows)})
    merged = {w[:2]: w for w in anp.memory.workspaces(path)}
    for *key, nbytes, calls in rows:
        mine = own.get(tuple(key), (0, 0, 0, 0))
        assert merged[tuple(key)][2:] == (max(nbytes, mine[2]), calls + mine[3])


@pytest.mark.parametrize("line", ["Matmul,a,1", "Matmul,a,x,1", "Matmul,a,1,-1", "Matmul,a,1,1,1"])
def test_broken_tables(tmp_path, line):
    path = tmp_path / "table.csv"
    path.write_text(HEAD + line + "\n")
    for function in (
        anp.memory.workspaces,
        anp.memory.save_workspaces,
        anp.memory.reserve_workspaces,
    ):
        with pytest.raises(ValueError, match="line 2.*it must be operator, operands, bytes, calls"):
            function(path)
    assert path.read_text() == HEAD + line + "\n"
    with pytest.raises(FileNotFoundError):
        anp.memory.workspaces(tmp_path / "none.csv")


def test_reserving(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(HEAD)
    assert anp.memory.reserve_workspaces(path) == 0
    path.write_text(HEAD + f"Matmul,a,{3 << 20},1\nSort,b,100,1\n")
    anp.empty_cache()
    held = anp.memory_stats()["bytes_in_use"]
    assert anp.memory.reserve_workspaces(path) == 3 << 20
    after = anp.memory_stats()
    assert after["bytes_in_use"] <= held and after["bytes_cached"] >= 3 << 20
    path.write_text(HEAD + f"Matmul,a,{1 << 60},1\n")
    with pytest.raises(MemoryError):
        anp.memory.reserve_workspaces(path)
