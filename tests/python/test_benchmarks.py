"""The bench itself: its programs agree between the libraries, its rows run, its gate compiles, its reports are written."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from unittest import mock

import asnumpy
import numpy as np
import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import gate  # noqa: E402
import groups  # noqa: E402
import page  # noqa: E402
import peers  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

with mock.patch.dict(os.environ):  # it fixes the threads of a process of its own
    import strangers  # noqa: E402

needs_compiler = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc")), reason="the gate needs a C compiler"
)


def test_checksums_tell_results_apart():
    a = np.arange(12.0).reshape(3, 4)
    changed = a.copy()
    changed[1, 1] += 0.01
    assert not programs.same(programs.checksum((a, 1.0)), programs.checksum((changed, 1.0)))
    assert programs.same(programs.checksum(asnumpy.array(a)), programs.checksum(a))


@pytest.mark.parametrize("group", groups.GROUPS)
def test_rows_are_sound(group):
    made = groups.rows_of(group)
    labels = [r.label for r in made]
    assert len(set(labels)) == len(labels), "two rows of one name"
    for row in made:
        assert row.group == group
        assert bool(row.code) != bool(row.build), row.label
        if row.code:
            compile(row.code, row.label, "exec" if row.statement else "eval")


@pytest.mark.parametrize("group", ["overhead", "sizes"])
def test_small_rows_give_numpys_results(group):
    """Each library's loop is built and run; the contender compares the results itself."""
    found = {name: peers.CLASSES[name](1) for name in (peers.BASE, peers.OURS)}
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for row in groups.rows_of(group):
            if row.n <= 100:
                ready, absent = peers.contenders(row, found)
                assert ready.keys() == found.keys(), (row.label, absent)
                for run, _ in ready.values():
                    run(3)


def test_a_wrong_result_is_no_entry():
    row = rows.Row("overhead", "differs", "a + (1 if np.__name__ == 'asnumpy' else 0)",
                   {"a": rows.uniform(10)})  # fmt: skip
    found = {name: peers.CLASSES[name](1) for name in (peers.BASE, peers.OURS)}
    ready, absent = peers.contenders(row, found)
    assert list(ready) == [peers.BASE]
    assert "differs from NumPy's" in absent[peers.OURS]


def test_inputs_are_random_and_repeatable():
    row = rows.Row("overhead", "inputs", "a", {
        "a": rows.normal((3, 3)), "m": rows.mask(1000), "s": rows.spec("sorted", 50),
        "p": rows.permutation(9), "d": rows.spec("definite", (2, 4, 4)), "k": 3})  # fmt: skip
    first, second = rows.make_inputs(row), rows.make_inputs(row)
    for name in row.inputs:
        np.testing.assert_array_equal(first[name], second[name])
    assert first["k"] == 3 and 300 < first["m"].sum() < 700
    assert (np.diff(first["s"]) >= 0).all() and sorted(first["p"]) == list(range(9))
    assert (np.linalg.eigvalsh(first["d"]) > 0).all()


def a_row(**changes):
    row = {"group": "fusion", "label": "x <1e3>", "family": "x", "n": 1000, "unit": "s", "threads": 1, "bar": 2.0,
           "seconds": {"asnumpy": 1e-6, "numpy": 3e-6, "jax": 0.5e-6}, "kept": {"asnumpy": 20, "numpy": 20},
           "tries": {}, "capped": False, "absent": {}, "limit": 0.5e-6}  # fmt: skip
    return {**row, **changes}


def test_verdicts():
    assert report.verdict(a_row()) == "met"
    assert report.verdict(a_row(bar=3.2)) == "near"
    assert report.verdict(a_row(bar=8.0)) == "missed"
    assert report.verdict(a_row(bar=None)) == ""
    assert report.verdict(a_row(seconds={"numpy": 1.0})) == "absent"
    assert report.of_limit(a_row()) == pytest.approx(0.5)
    assert report.geometric_mean([a_row(), a_row()]) == pytest.approx(1 / 3)


def test_page_stands_alone(tmp_path):
    sizes = [a_row(group="sizes", n=n, label=str(n)) for n in (1, 1000, 10**6)]
    results = {"started": "now", "machine": report.machine(), "repeats": 20, "versions": {"numpy": "2"},
               "limits": {"1": {"f64": 1e9, "f32": 2e9, "triad": [[1 << 14, 1e9], [1 << 28, 1e8]]}},
               "rows": [a_row(), a_row(seconds={"numpy": 1.0}, label="absent"), *sizes]}  # fmt: skip
    text = page.render(results)
    assert text.count("<figure>") == 1 and "x &lt;1e3&gt;" in text
    assert "http" not in text and "<script" not in text
    report.write_json(tmp_path / "deep" / "out.json", results)
    assert json.loads((tmp_path / "deep" / "out.json").read_text())["rows"]


@needs_compiler
def test_limits():
    curve = {"triad": [[1 << 14, 100.0], [1 << 20, 50.0]], "f64": 10.0, "f32": 20.0}
    assert gate.bandwidth(curve, 1) == 100 and gate.bandwidth(curve, 1 << 30) == 50
    assert gate.limit_seconds(curve, 1000, 0, False) == 10
    assert gate.limit_seconds(curve, 1000, 400, True) == 20
    assert gate.limit_seconds(curve, 0, 0, False) is None
    assert gate.library().exists()


def test_everyday_expressions_give_numpys_results():
    """The plain expressions of strangers.py; a statement in what it leaves in its inputs."""
    found = {name: peers.CLASSES[name](1) for name in (peers.BASE, peers.OURS)}
    made = strangers.everyday.rows([600])
    assert len(made) > 200 and 5 < sum(r.statement for r in made) < 30
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for row in made:
            if row.statement:
                strangers.compare_statement(row)
            else:
                ready, absent = peers.contenders(row, found)
                assert ready.keys() == found.keys(), (row.label, absent)


def test_a_wrong_statement_is_found():
    row = rows.Row("tables", "differs", "a += 1 if np.__name__ == 'asnumpy' else 0",
                   {"a": rows.uniform(10)}, statement=True)  # fmt: skip
    with pytest.raises(ValueError, match="leaves another a"):
        strangers.compare_statement(row)


def test_strangers(tmp_path):
    """A few random programs and a few expressions: rows, means, and how to see each again."""
    command = [sys.executable, str(BENCHMARKS / "strangers.py"), "--seeds", "1:4", "--only", "pic //",
               "--sizes", "600", "--repeats", "1", "--json", str(tmp_path / "s.json")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = json.loads((tmp_path / "s.json").read_text())["rows"]
    assert {r["kind"] for r in made} == {"program", "expression"}
    assert all(r["seconds"][n] >= r["best"][n] > 0 for r in made for n in (peers.OURS, peers.BASE))
    assert "1 expressions: geometric mean" in done.stdout and "--only 'pic // 2'" in done.stdout


def test_the_cost_of_profiles():
    import profiler

    middle, notch = profiler.figure([(1.0, 1.02), (2.0, 2.04), (1.0, 1.02), (1.0, 1.5)] * 4)
    assert abs(middle - 0.02) < 1e-12 and 0 < notch < 0.5
    kept = profiler.measure(profiler.program("lu"), 4)
    assert all(0 < off < 1 and 0 < on < 1 for off, on in kept) and len(kept) <= 4
    assert set(programs.NAMES) <= set(profiler.SIZES)


@needs_compiler
def test_whole_run(tmp_path):
    """One group, one sample: a table, JSON and a page come out, with two threads where there are two."""
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--group", "overhead", "--quick", "--repeats", "1",
               "--row-seconds", "0.01", "--peers", "numpy", "--threads", "1,2",
               "--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())
    expected = sum(len(groups.select(["overhead"], True, t)) for t in (1, 2))
    assert len(results["rows"]) == expected and not results["crashed"]
    assert all(peers.OURS in r["seconds"] for r in results["rows"]), results["rows"]
    assert {r["threads"] for r in results["rows"]} == {1, 2}
    assert "a + b" in done.stdout and "summary" in done.stdout
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
