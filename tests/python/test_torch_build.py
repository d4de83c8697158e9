"""What asnumpy.acl preloads where PyTorch is its build for CUDA, with libraries that do what PyTorch's do."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from asnumpy import acl

needs_cxx = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
CLASS = """
#include <stdexcept>
#include <string>
#include <unordered_set>
namespace c10::CachingAllocator {
struct AcceleratorAllocatorConfig {
    static std::unordered_set<std::string>& getMutableKeys();
    static void add(std::unordered_set<std::string> const& keys) {
        auto& all = getMutableKeys();
        for (auto& k : keys)
            if (!all.insert(k).second) throw std::runtime_error("Duplicated key " + k);
    }
};
}
using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;
"""
C10 = """
std::unordered_set<std::string>& Config::getMutableKeys() {
    static std::unordered_set<std::string> keys{"max_split_size_mb", "expandable_segments"};
    return keys;
}
"""
CUDA = """
static int added = (Config::add({"backend", "pinned_reserve_segment_size_mb",
                                 "throw_on_cudamalloc_oom", "per_process_memory_fraction"}), 0);
"""
NPU = """
extern "C" int add() {
    try {
        // As many as make the set grow, which moves every key by its hash.
        std::unordered_set<std::string> keys{"pinned_reserve_segment_size_mb",
                                             "per_process_memory_fraction"};
        for (int i = 0; i < 100; i++) keys.insert("option_" + std::to_string(i));
        Config::add(keys);
    } catch (std::exception& error) {
        return 1;
    }
    return 0;
}
extern "C" int has(char const* key) { return (int)Config::getMutableKeys().count(key); }
"""
PROGRAM = """
import ctypes, json, sys
for library in sys.argv[1:-1]:
    ctypes.CDLL(library)
npu = ctypes.CDLL(sys.argv[-1])
names = [b"pinned_reserve_segment_size_mb", b"per_process_memory_fraction", b"backend", b"option_99",
         b"max_split_size_mb", b"expandable_segments", b"throw_on_cudamalloc_oom"]
print(json.dumps([npu.add(), [npu.has(n) for n in names], npu.add()]))
"""


def build(folder, name, text, *libraries):
    source = folder / f"{name}.cpp"
    source.write_text(CLASS + text)
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", source, "-o", folder / f"{name}.so", f"-L{folder}",
                    f"-Wl,-rpath,{folder}", f"-Wl,-soname,{name}.so", *libraries], check=True)  # fmt: skip
    return folder / f"{name}.so"


def fake_torch(folder, cuda):
    """A torch that is found and not imported; its allocators as in the build for CUDA, or for CPUs."""
    lib = folder / "torch" / "lib"
    lib.mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("raise ImportError")
    made = [build(lib, "libc10", C10)]
    if cuda:
        made.append(build(lib, "libc10_cuda", CUDA, made[0]))
    return [*made, build(lib, "torch_npu", NPU, made[0])]


def answer(folder, libraries, **variables):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "asnumpy.acl", "run", program, *libraries], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), **variables})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_cxx
def test_both_builds_load(tmp_path):
    """Names that both have are torch_npu's; all others are there, and one's own twice is still refused."""
    for name, cuda in (("cuda", True), ("cpu", False)):
        added, there, again = answer(tmp_path / name, fake_torch(tmp_path / name, cuda))
        assert added == 0 and again == 1, name
        assert there == [1, 1, int(cuda), 1, 1, 1, int(cuda)], name


@needs_cxx
def test_without_it_the_names_are_refused(tmp_path):
    libraries = fake_torch(tmp_path, True)
    done = subprocess.run([sys.executable, "-c", PROGRAM, *libraries], capture_output=True, text=True)  # fmt: skip
    assert json.loads(done.stdout)[0] == 1


def test_what_is_preloaded(tmp_path, monkeypatch):
    """The library, before others, once, and only where torch has CUDA's allocator."""
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert "LD_PRELOAD" not in acl.environment()
    (lib / "libc10_cuda.so").touch()
    library = acl.environment()["LD_PRELOAD"]
    assert pathlib.Path(library) == acl.home() / "lib64" / "libasnumpy_torch.so"
    assert pathlib.Path(library).exists()
    monkeypatch.setenv("LD_PRELOAD", library)
    assert acl.environment()["LD_PRELOAD"] == library
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    assert acl.environment()["LD_PRELOAD"] == f"{library}:other.so"
