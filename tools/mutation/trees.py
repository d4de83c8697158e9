"""Build trees of tools/mutants.py: a copy of the sources, its build, and the package staged over it."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.executable).parent


def copy_sources(to):
    """The working tree's files into `to`; what is the same keeps its time, and is not built again."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    for name in names:
        source, target = ROOT / name, to / name
        if not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    wanted = set(names)
    for folder in ("src", "tests"):
        for path in (to / folder).rglob("*.[ch]"):
            if path.relative_to(to).as_posix() not in wanted:
                path.unlink()


class Tree:
    """One build: `source`, `build`, and `site`, a folder for PYTHONPATH that has the package in it.

    The build lies to its sources as build/py does to ours, so that ccache finds its objects."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.source = self.root / "tree"
        self.build = self.source / "build" / "py"
        self.site = self.root / "site"

    def prepare(self, log, options=(), launcher=None, targets=("all",), jobs=1):
        copy_sources(self.source)
        launcher = launcher or shutil.which("ccache")
        self.run(
            [BIN / "cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
             "-DASNUMPY_TESTS=ON", "-DASNUMPY_PYTHON=ON", f"-DPython3_EXECUTABLE={sys.executable}",
             f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", f"-DCMAKE_C_COMPILER={shutil.which('gcc') or 'cc'}",
             *([f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}"] if launcher else []), *options],
            log,
        )  # fmt: skip
        self.ninja(targets, log, jobs)
        package = self.site / "asnumpy"
        shutil.rmtree(self.site, ignore_errors=True)
        (package / "cann").mkdir(parents=True)
        for path in (self.source / "python" / "asnumpy").iterdir():
            if path.name != "__pycache__":
                package.joinpath(path.name).symlink_to(path)
        for path in self.build.joinpath("lib").glob("_core*.so"):
            package.joinpath(path.name).symlink_to(path)
        package.joinpath("cann", "lib64").symlink_to(self.build / "lib")
        package.joinpath("cann", "include").symlink_to(self.build / "include")

    def ninja(self, targets, log, jobs=1):
        self.run([BIN / "ninja", "-C", self.build, "-j", jobs, "--quiet", *targets], log)

    def run(self, command, log):
        env = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **os.environ}
        with open(log, "a") as out:
            subprocess.run(list(map(str, command)), check=True, stdout=out, stderr=out, env=env)
