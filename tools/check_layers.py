"""The layer check: an #include never points upward, nothing above includes the CPU device, and
which instruction set there is gets asked in the set-up of the tables of kernels alone.

usage: check_layers.py        exits 1 and lists each offence

MAY_INCLUDE lists the folders of src/ and what each may include, besides itself, the C library and
CANN's interface headers. Standard library only.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAY_INCLUDE = {
    "base": set(),
    "array": {"base", "ops"},
    "ops": {"base"},
    "random": {"base"},
    "runtime": {"base"},
    "graph": {"base", "array", "ops", "runtime"},
    "numpy": {"base", "array", "ops", "runtime", "graph"},
    "precision": {"base", "array", "ops", "runtime", "graph", "numpy"},
    "nn": {"base", "array", "ops", "runtime", "graph", "numpy"},
    "sparse": {"base", "array", "ops", "runtime", "graph", "numpy"},
    "capi": {
        "base",
        "array",
        "ops",
        "random",
        "runtime",
        "graph",
        "numpy",
        "nn",
        "precision",
        "sparse",
    },
    "python": {
        "base",
        "array",
        "ops",
        "runtime",
        "graph",
        "random",
        "numpy",
        "nn",
        "precision",
        "sparse",
    },
    "device/cpu": {"base", "ops"},
    "device/acl": {"base"},
    "device/hccl": {"base", "device/acl"},
    "device/opbase": {"base", "device/acl", "device/cpu"},
    "device/opapi": {"base", "ops", "random", "device/acl", "device/opbase", "device/cpu"},
}
# Folders inside a layer, and what each may include of the others; what lies beside them (the CPU device's nd.h, kernels.h,
# threads.h) is everybody's. The machine code is made from the fused engine's plan (program.h), and the engine runs it: one
# layer in two folders.
INSIDE = {}
INSIDE["device/cpu"] = {
    "simd": set(),
    "move": {"simd"},
    "integers": {"simd"},
    "math": {"simd", "integers"},
    "loops": {"simd", "move", "math"},
    "fused": {"simd", "move", "loops", "jit"},
    "jit": {"fused", "math"},
    "index": {"simd", "move", "loops", "fused"},
    "sort": {"simd", "move", "index"},
    "fft": {"simd", "move"},
    "gemv": {"simd", "move", "loops", "fused"},
    "gemm": {"simd", "move", "loops", "fused", "gemv"},
    "linalg": {"simd", "gemm"},
    "nn": {"loops", "gemm"},
    "sparse": {"simd", "loops"},
}
INSIDE["device/opapi"] = {
    "core": set(),
    "array": {"core"},
    "quant": {"core"},
    "nn": {"core", "quant"},
    "rnn": {"core", "nn"},
    "vision": {"core", "nn"},
    "moe": {"core", "nn", "quant"},
    "cache": {"core", "nn", "moe"},
    "joined": {"core", "quant"},
    "type": {"core"},
}
# The engine: what is recorded; how the device's operators are called; what recorded operations become; NumPy's calls, whose few
# elements take the way of small/ (one layer in two folders); the operators over whole arrays; indexing by arrays.
INSIDE["graph"] = {
    "trace": set(),
    "device": {"trace"},
    "plan": {"trace", "device"},
    "capture": {"trace", "device", "plan"},
    "ufunc": {"trace", "device", "plan", "small"},
    "small": {"trace", "device", "plan", "ufunc"},
    "operators": {"trace", "device", "plan", "ufunc", "small"},
    "index": {"trace", "device", "plan", "ufunc", "small", "operators"},
}
# What everybody in a layer asks, whoever answers: whether a capture is open, which then records or refuses.
ASKED_BY_ALL = {"graph/capture/capture.h"}
INTERFACE = ("acl/", "aclnn/", "aclnnop/", "hccl/", "asnumpy/")
# These know no aclTensor: of the interface they see only the plain structs of the fused operator.
PLAIN = {"aclnn/aclnnx.h"}
SEE_PLAIN = ("device/cpu", "ops")
MOST_FILES = 40  # of a folder
# Who may ask: base, and the one file of each table that has a row per instruction set.
ASKS_THE_PROCESSOR = {
    "base/cpu.h",
    "base/cpu.c",
    "device/cpu/context.c",
    "device/hccl/reduce.c",
    "random/loops.c",
}
QUESTION = re.compile(r"\b(asn_cpu_isa|__builtin_cpu_supports|__builtin_cpu_is)\s*\(")
GENERATED = {"asn_ops.h": "ops"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer_of(path):
    """The layer a path below src/ belongs to, or None."""
    for layer in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(layer + "/"):
            return layer
    return None


def inside_offences(layer, relative, name):
    """Of an include of `name` by a file of a layer with folders."""
    here, there = (re.match(rf"{layer}/(\w+)/", path) for path in (relative, name))
    if name in ASKED_BY_ALL or not (here and there) or here[1] == there[1]:
        return
    if there[1] not in INSIDE[layer][here[1]]:
        yield f"src/{relative}: {layer}/{here[1]} includes {layer}/{there[1]} ({name})"


def crowded():
    """Folders of more than MOST_FILES files."""
    for folder in sorted({p.parent for p in (ROOT / "src").rglob("*.[ch]")}):
        count = sum(p.is_file() for p in folder.iterdir())
        if count > MOST_FILES:
            yield f"{folder.relative_to(ROOT)}: {count} files, more than {MOST_FILES}"


def questions(name, text):
    """Lines of a file (below src/, or a generator) that ask for the instruction set and may not."""
    if name in ASKS_THE_PROCESSOR:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if found := QUESTION.search(line):
            yield (
                f"{name}:{number}: {found[1]} is asked in {', '.join(sorted(ASKS_THE_PROCESSOR))} "
                "only; what differs by instruction set is a field of the context"
            )


def offences(file):
    """Sentences about the includes of one file that its layer may not have."""
    relative = file.relative_to(ROOT / "src").as_posix()
    layer = layer_of(relative)
    if layer is None:
        yield f"src/{relative}: belongs to no layer"
        return
    text = file.read_text()
    yield from questions(relative, text)
    for name in INCLUDE.findall(text):
        if name.startswith(INTERFACE):
            if layer in ("base", "array") or (layer in SEE_PLAIN and name not in PLAIN):
                yield f"src/{relative}: {layer} includes the device interface {name}"
            continue
        if layer in INSIDE:
            yield from inside_offences(layer, relative, name)
        target = GENERATED.get(name) or layer_of(name)
        if target and target != layer and target not in MAY_INCLUDE[layer]:
            yield f"src/{relative}: {layer} includes {target} ({name})"


def main():
    files = sorted(p for s in ("*.c", "*.h", "*.inc") for p in (ROOT / "src").rglob(s))
    found = [o for f in files for o in offences(f)] + list(crowded())
    for generator in sorted((ROOT / "tools").glob("gen_*.py")):
        found += questions(f"tools/{generator.name}", generator.read_text())
    print("\n".join(found) if found else f"layers: {len(files)} files, no upward include")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
