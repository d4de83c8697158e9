"""The layer check: an #include never points upward, and nothing above includes the CPU device.

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
    "capi": {"base", "array", "ops", "random", "runtime", "graph"},
    "python": {"base", "array", "ops", "runtime", "graph", "random"},
    "device/cpu": {"base", "ops"},
    "device/acl": {"base"},
    "device/opbase": {"base", "device/acl", "device/cpu"},
    "device/opapi": {"base", "ops", "random", "device/acl", "device/opbase", "device/cpu"},
}
INTERFACE = ("acl/", "aclnn/", "aclnnop/", "asnumpy/")
# device/cpu knows no aclTensor: of CANN's interface it sees only the plain structs of the fused operator.
CPU_INTERFACE = {"aclnn/aclnnx.h"}
GENERATED = {"asn_ops.h": "ops"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer_of(path):
    """The layer a path below src/ belongs to, or None."""
    for layer in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(layer + "/"):
            return layer
    return None


def offences(file):
    """Sentences about the includes of one file that its layer may not have."""
    relative = file.relative_to(ROOT / "src").as_posix()
    layer = layer_of(relative)
    if layer is None:
        yield f"src/{relative}: belongs to no layer"
        return
    for name in INCLUDE.findall(file.read_text()):
        if name.startswith(INTERFACE):
            if layer in ("base", "ops", "array"):
                yield f"src/{relative}: {layer} includes the device interface {name}"
            if layer == "device/cpu" and name not in CPU_INTERFACE:
                yield f"src/{relative}: device/cpu includes {name}"
            continue
        target = GENERATED.get(name) or layer_of(name)
        if target and target != layer and target not in MAY_INCLUDE[layer]:
            yield f"src/{relative}: {layer} includes {target} ({name})"


def main():
    files = sorted(p for s in ("*.c", "*.h", "*.inc") for p in (ROOT / "src").rglob(s))
    found = [o for f in files for o in offences(f)]
    print("\n".join(found) if found else f"layers: {len(files)} files, no upward include")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
