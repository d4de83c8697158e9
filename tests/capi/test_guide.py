"""docs/guide/c.md and cpp.md: every program in them builds and prints what the guide says; every function is named."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from face import ROOT, c

GUIDE = (ROOT / "docs" / "guide" / "c.md").read_text()
PROGRAMS = re.findall(r"```c\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.S)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("program, says", PROGRAMS)
def test_programs_of_the_guide(tmp_path, program, says):
    source, folder = tmp_path / "program.c", pathlib.Path(os.environ["ASNUMPY_LIB"]).resolve()
    source.write_text(program)
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", source,
                    f"-L{folder}", "-lasnumpy", f"-Wl,-rpath,{folder}", "-o", tmp_path / "program"], check=True)  # fmt: skip
    done = subprocess.run([tmp_path / "program"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", says)


CPP = re.findall(
    r"```cpp\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs/guide/cpp.md").read_text(), re.S
)


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("program, says", CPP)
def test_programs_in_cpp(tmp_path, program, says):
    source, folder = tmp_path / "program.cpp", pathlib.Path(os.environ["ASNUMPY_LIB"]).resolve()
    source.write_text(program)
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", source,
                    f"-L{folder}", "-ltd_mm", f"-Wl,-rpath,{folder}", "-o", tmp_path / "program"], check=True)  # fmt: skip
    done = subprocess.run([tmp_path / "program"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", says)


def test_the_guide_is_complete():
    assert (ROOT / "docs/guide/cpp.md").read_text().count("```cpp\n") == len(CPP) > 0
    assert GUIDE.count("```c\n") == len(PROGRAMS) == 4
    table = GUIDE[GUIDE.index("## All functions") :]
    assert sorted(re.findall(r"`(asnp_\w+)`", table[: table.index("Beside them")])) == sorted(
        c.declared
    )
