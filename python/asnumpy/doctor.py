"""What this machine has and AsNumpy uses of it, and what to do when that is not what was wanted.

    python -m asnumpy.doctor [--npu]

begins with the processor, its instruction set, threads, JIT, BLAS and memory. With --npu, or where CANN is found,
it says what an NPU would run and what the CPU would compute for it.
"""

import argparse
import ctypes
import os
import pathlib
import platform
import re
import resource
import sys

import numpy

from . import _core, acl
from ._devices import _OPERATORS

__all__ = ["report"]


def __dir__():
    return __all__


_LIBRARIES = ("libascendcl.so", "libnnopbase.so", "libopapi.so")
_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_DEFAULT_HOME = "/usr/local/Ascend/ascend-toolkit/latest"
_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
# Of both versions of Linux's control groups, inside a container.
_GROUP_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def _text(path):
    """What a file of the system's says, "" where there is none."""
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _gigabytes(count):
    return f"{count / 2**30:.1f} GiB"


def _processor():
    told = _text("/proc/cpuinfo")
    names = re.findall(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", told, re.M)
    yield "processor", f"{names[0] if names else 'not named'} ({platform.machine()})"
    cores = set(re.findall(r"^physical id\s*:\s*(\d+)$.*?^core id\s*:\s*(\d+)$", told, re.M | re.S))
    usable = len(os.sched_getaffinity(0))
    count = f"{len(cores)} cores, " if cores else ""
    yield "cores", f"{count}{os.cpu_count()} logical processors, {usable} of them for this process"


def _memory():
    told = dict(re.findall(r"^(\w+):\s+(\d+) kB$", _text("/proc/meminfo"), re.M))
    if told:
        total, free = (1024 * int(told[k]) for k in ("MemTotal", "MemAvailable"))
        yield "memory", f"{_gigabytes(total)}, {_gigabytes(free)} available"
        groups = [int(t) for t in map(_text, _GROUP_MEMORY) if t.strip().isdigit()]
        limits = [f"{_gigabytes(n)} of the control group" for n in groups if n < total]
        space = resource.getrlimit(resource.RLIMIT_AS)[0]
        if space != resource.RLIM_INFINITY:
            limits.append(f"{_gigabytes(space)} of addresses (ulimit -v)")
        if os.environ.get("ASNUMPY_CPU_MEMORY", "").isdigit():
            limits.append(
                f"{_gigabytes(int(os.environ['ASNUMPY_CPU_MEMORY']))} by ASNUMPY_CPU_MEMORY"
            )
        yield "memory limits", ", ".join(limits) or "none"


def _kernels():
    from ._custom._compiler import cache_folder

    folder = cache_folder()
    files = [p for p in folder.rglob("*.so") if p.is_file()] if folder.is_dir() else []
    yield "compiled kernels", f"{len(files)} in {folder}"


def _settings():
    allowed = dict(_core._settings())
    for name in sorted(n for n in os.environ if n.startswith("ASNUMPY_")):
        unknown = "" if name in allowed else " (AsNumpy has no such setting)"
        yield name, os.environ[name] + unknown


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


def _device():
    """The row of the device, and its name ("none" where it does not open)."""
    try:
        name = _core.empty(0).device
    except (RuntimeError, ValueError) as error:
        return "none", f"none opens: {error}"
    if not name.startswith("cpu"):
        return name, f"{name}, an NPU; the CPU computes what it lacks"
    count = _core.get_device_count()
    several = f" (shown as {count} devices)" if count > 1 else ""
    return name, f"{name}: this machine's CPU computes{several}; no NPU is in use"


def _advice(device):
    wish = os.environ.get("ASNUMPY_DEVICE", "auto")
    if device == "none":
        return "mend what the line of the device says"
    if device.startswith("ascend"):
        return "set_fallback('error') finds what leaves the NPU; asnumpy.supports(name, dtype) tells beforehand"
    if wish == "cpu" or _find_cann()[0] is None:
        return "nothing; for an NPU install CANN and source its set_env.sh"
    return "CANN is there but reports no device: look at `npu-smi info`; ASNUMPY_DEVICE=ascend says why it does not open"


def report(npu=False):
    """What AsNumpy runs on here, as lines of text.

    Parameters
    ----------
    npu : bool
        Also what an NPU would run and what the CPU would compute for it, by CANN's documentation; where
        CANN is found that is said in any case.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import asnumpy.doctor
    >>> asnumpy.doctor.report()[0].split()[0]
    'asnumpy:'
    """
    device, told = _device()
    rows = [("asnumpy", __import__("asnumpy").__version__), ("Python", platform.python_version()),
            ("NumPy", numpy.__version__), ("device", told), *_processor()]  # fmt: skip
    if device != "none":
        rows += [tuple(line.split(": ", 1)) for line in _core._describe().splitlines()]
    rows += [*_memory(), *_kernels(), *_settings()]
    rows += [(f"failed on {name}", message) for _, name, message in _core._stream_errors()]
    if npu or device.startswith("ascend") or _find_cann()[0] is not None:
        rows += [*_cann(), ("an NPU's fallbacks", "by what CANN documents"), *_fallbacks()]
    rows += [("to do", _advice(device))]
    return [f"{name + ':':<22}{value}" for name, value in rows]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m asnumpy.doctor", description="What AsNumpy runs on here."
    )
    parser.add_argument(
        "--npu", action="store_true", help="what an NPU would run, without one as well"
    )
    print("\n".join(report(parser.parse_args().npu)))
    sys.exit(0)
