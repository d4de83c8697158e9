"""What AsNumpy runs on here, and what to do when that is not what was wanted.

python -m asnumpy.doctor
"""

import ctypes
import os
import pathlib
import platform
import sys

import numpy

from . import _core, acl
from ._devices import _OPERATORS

__all__ = ["report"]

_LIBRARIES = ("libascendcl.so", "libnnopbase.so", "libopapi.so")
_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DEFAULT_HOME = "/usr/local/Ascend/ascend-toolkit/latest"
_SETTINGS = (
    "ASNUMPY_DEVICE", "ASNUMPY_FALLBACK", "ASNUMPY_FUSE", "ASNUMPY_JIT", "ASNUMPY_ISA", "ASNUMPY_NUM_THREADS",
    "ASNUMPY_CANN_STRICT", "ASNUMPY_CPU_DEVICES", "ASNUMPY_CPU_MEMORY",
)  # fmt: skip
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"


def _find_cann():
    """CANN's folder by the environment or in its usual place, and what says so; (None, None)."""
    for variable in _HOMES:
        if os.environ.get(variable):
            return pathlib.Path(os.environ[variable]), f"${variable}"
    usual = pathlib.Path(_DEFAULT_HOME)
    return (usual, "its usual place") if usual.exists() else (None, None)


def _version(home):
    """The version that a CANN package states of itself."""
    for name in ("version.cfg", "version.info", "compiler/version.info", "runtime/version.info"):
        path = home / name
        if path.exists():
            for line in path.read_text(errors="replace").splitlines():
                if "version" in line.lower() and any(c.isdigit() for c in line):
                    return line.strip()
    return "not stated"


def _missing(library):
    """Operators of CANN's that AsNumpy would call and the library lacks."""
    wanted = sorted(set(_core._cann_operators()) | set(_OPERATORS.values()))
    return [n for n in wanted if not hasattr(library, f"aclnn{n}GetWorkspaceSize")], len(wanted)


def _device():
    yield "devices", _core.get_device_count()
    memory = _core.memory_stats()
    yield "memory in use", f"{memory['bytes_in_use']} bytes, {memory['bytes_cached']} cached"


def _cann():
    home, why = _find_cann()
    if home is None:
        yield (
            "CANN",
            f"not found: none of {', '.join('$' + v for v in _HOMES)} is set, and there is no {_DEFAULT_HOME}",
        )
        return
    yield "CANN", f"{home} (by {why})"
    try:
        own = home.samefile(acl.home())
    except FileNotFoundError:
        own = False
    yield "  version", "AsNumpy's own libraries" if own else _version(home)
    library = None
    for name in _LIBRARIES:
        path = home / "lib64" / name
        try:
            library = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
            yield f"  {name}", "opens"
        except OSError as error:
            yield f"  {name}", f"does not open: {error}"
            yield (
                "  to do",
                "source CANN's set_env.sh before Python starts, so that its libraries find each other",
            )
            return
    lacks, wanted = _missing(library)
    yield "  operators", f"{wanted - len(lacks)} of {wanted} that AsNumpy calls"
    if lacks:
        yield "  missing", ", ".join(lacks)


def _on_the_cpu(name, dtype):
    try:
        return _core._cann_place(name, numpy.dtype(dtype), False) == "cpu"
    except TypeError:  # the ufunc takes no such dtype anywhere
        return False


def _fallbacks():
    for dtype in _DTYPES.split():
        names = [n for n in _core._cann_rows() if _on_the_cpu(n, dtype)]
        text = ", ".join(names[:8]) + (", ..." if names[8:] else "")
        yield f"  {dtype}", f"{len(names)} of {len(_core._cann_rows())} ufuncs on the CPU: {text}"


def _advice(device):
    wish = os.environ.get("ASNUMPY_DEVICE", "auto")
    if device.startswith("cpu") and wish != "cpu":
        if _find_cann()[0] is None:
            return "no NPU in use: install CANN and source its set_env.sh to run on one; without one nothing is missing"
        return "CANN is there but reports no device: look at `npu-smi info`; ASNUMPY_DEVICE=ascend says why it does not open"
    if device.startswith("ascend"):
        return "set_fallback('error') finds what leaves the NPU; asnumpy.supports(name, dtype) tells beforehand"
    return "nothing"


def report():
    """The report as lines of text.

    Returns
    -------
    list of str
    """
    rows = [("asnumpy", __import__("asnumpy").__version__), ("Python", platform.python_version()),
            ("NumPy", numpy.__version__), ("processor", f"{platform.machine()}, {os.cpu_count()} CPUs")]  # fmt: skip
    device = "none"
    try:
        device = _core.empty(0).device
        rows += [("device", device), *_device()]
    except RuntimeError as error:
        rows += [("device", f"does not open: {error}")]
    rows += _cann()
    rows += [(name, os.environ[name]) for name in _SETTINGS if name in os.environ]
    rows += [("an NPU's fallbacks", "by what CANN documents"), *_fallbacks()]
    rows += [("to do", _advice(device))]
    return [f"{name + ':':<22}{value}" for name, value in rows]


if __name__ == "__main__":
    print("\n".join(report()))
    sys.exit(0)
