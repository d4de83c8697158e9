"""The bench's C sources, compiled as a user would against the installed headers and libraries."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess

import gate


@functools.cache
def library(name, *more):
    """The shared library of a source beside this file; `more`: further flags of the compiler."""
    from asnumpy import acl

    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler: set CC or install gcc")
    source = gate.HERE / f"{name}.c"
    flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
    command = [compiler, *flags, str(source), *acl.flags(), *more]
    key = hashlib.sha256(source.read_bytes() + " ".join(command).encode()).hexdigest()
    path = gate.BUILD / f"lib{name}-{key[:12]}.so"
    if not path.exists():
        gate.BUILD.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, "-o", str(part)], check=True)
        part.rename(path)
    return ctypes.CDLL(str(path))
