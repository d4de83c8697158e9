"""C or C++ source text -> a shared library, by the system's compiler, kept on disk.

A library's name is the hash of all it depends on: the source, the flags, the compiler and its version,
the processor. It is built in a file of its own and renamed: processes that build the same one at once
write the same bytes, and none loads half a file. A file ends with the hash of what is before it, which
the loader of libraries does not look at: one that was cut off or changed is built again. What is loaded
runs with the user's rights, so the folder must be the user's, and nobody else may write to it.
"""

import ctypes
import functools
import hashlib
import os
import pathlib
import platform
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import threading
import typing

# -fno-math-errno, -fno-trapping-math: no value changes, but sqrt and comparisons become vector code.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno",
         "-fno-trapping-math", "-fPIC", "-shared", "-Wno-unused")  # fmt: skip


class Language(typing.NamedTuple):
    """How sources of a language are compiled."""

    name: str
    variable: str  # of the environment, which names the compiler
    commands: tuple  # looked for where it does not
    flags: tuple
    ending: str


C = Language("C", "CC", ("cc", "gcc", "clang"), ("-std=gnu11",), ".c")
# Hidden: two libraries of kernels must not share what their headers define.
CPP = Language(
    "C++",
    "CXX",
    ("c++", "g++", "clang++"),
    ("-std=c++17", "-fvisibility=hidden", "-Wno-attributes"),
    ".cpp",
)


class CompileError(RuntimeError):
    """A kernel's source does not compile.

    Attributes
    ----------
    log : str
        What the compiler said.
    source : str
        What it was given, the generated parts included.

    Examples
    --------
    >>> import asnumpy as np
    >>> broken = np.ElementwiseKernel("T x", "T y", "y = no_such_name", "broken")
    >>> try:
    ...     broken(np.ones(3))
    ... except np.CompileError as error:
    ...     print("no_such_name" in error.log)
    True
    """

    __module__ = "asnumpy"

    def __init__(self, message, log="", source=""):
        super().__init__(message)
        self.log, self.source = log, source


@functools.lru_cache(maxsize=8)
def _compiler(wish, language):
    """The compiler's command as a list, and what it says it is."""
    for command in [wish] if wish else language.commands:
        words = shlex.split(command)
        if not (words and shutil.which(words[0])):
            continue
        told = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
        if told.returncode == 0:
            return words, told.stdout
    *some, last = language.commands
    looked = f"there is no {', '.join(some)} or {last} in $PATH"
    if wish:
        looked = f"${language.variable} is {wish!r}"
    raise CompileError(
        f"kernels need a {language.name} compiler, and {looked}; install one or set ${language.variable}"
    )


@functools.cache
def _processor():
    """What -march=native depends on."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    first = text.partition("\n\n")[0]
    facts = re.findall(
        r"^(?:vendor_id|cpu family|model|flags|Features|CPU part)\s*:.*", first, re.M
    )
    return platform.machine() + "\n".join(facts)


def cache_folder():
    """``$ASNUMPY_CACHE_DIR``, ``$XDG_CACHE_HOME/asnumpy`` or ``~/.cache/asnumpy``."""
    own = os.environ.get("ASNUMPY_CACHE_DIR")
    if own:
        return pathlib.Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "asnumpy"


def _message(name, command, log, texts):
    """The compiler's message, with the lines of the user's text that it names."""
    said = []
    for line in log.splitlines():
        said.append(line)
        at = re.match(r"<(?P<part>[^<>]+)>:(?P<line>\d+)(?::(?P<column>\d+))?: ", line)
        lines = texts.get(at["part"], "").splitlines() if at else []
        if at and 0 < int(at["line"]) <= len(lines):
            said.append(f"    {int(at['line']):4} | {lines[int(at['line']) - 1]}")
    return f"kernel {name!r} does not compile ({shlex.join(command)}):\n" + "\n".join(said)


def _check_folder(folder):
    """Raises PermissionError unless the folder is the user's own and closed to other writers."""
    told = os.stat(folder)
    if told.st_uid != os.geteuid():
        why = f"belongs to the user {told.st_uid}, not to {os.geteuid()}"
    elif told.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        why = f"may be written by others (mode {stat.S_IMODE(told.st_mode):o}; chmod go-w)"
    else:
        return
    raise PermissionError(
        f"the folder of compiled kernels {str(folder)!r} {why}, and what lies in it would be run; "
        "$ASNUMPY_CACHE_DIR names another one"
    )


def _is_whole(target):
    """Whether the file is there, and is what was built."""
    try:
        content = target.read_bytes()
    except FileNotFoundError:
        return False
    size = hashlib.sha256().digest_size
    return hashlib.sha256(content[:-size]).digest() == content[-size:]


def _build(source, target, command, name, texts, ending):
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder:
        text, made = pathlib.Path(folder, "kernel" + ending), pathlib.Path(folder, "kernel.so")
        text.write_text(source)
        done = subprocess.run(
            [*command, str(text), "-o", str(made), "-lm"],
            capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode:
            log = done.stderr.replace(str(text), "kernel" + ending)
            raise CompileError(_message(name, command, log, texts), log, source)
        with made.open("r+b") as file:
            file.write(hashlib.sha256(file.read()).digest())
        os.replace(made, target)


_lock = threading.Lock()
_loaded = {}


def compile_source(source, name, options=(), texts=None, language=C, facts=()):
    """The library of a source.

    Parameters
    ----------
    source : str
    name : str
        Of the kernel, for messages.
    options : sequence of str, optional
        Further flags.
    texts : dict, optional
        Parts of the source that are the user's, by the names that their #line directives give them.
    language : Language, optional
    facts : sequence of str, optional
        What else the library depends on: headers, for instance.

    Returns
    -------
    ctypes.CDLL

    Raises
    ------
    CompileError
        There is no compiler, or it refuses the source.
    OSError
        The folder of compiled kernels (`cache_folder`) cannot be written; a PermissionError: it is
        another user's, or others may write to it.
    """
    compiler, version = _compiler(os.environ.get(language.variable, ""), language)
    command = [*compiler, *language.flags, *FLAGS, *options]
    known = [source, *command, shutil.which(compiler[0]), version, _processor(), *facts]
    key = hashlib.sha256("\0".join(known).encode()).hexdigest()
    target = cache_folder() / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)[:40]}-{key[:32]}.so"
    with _lock:
        if target not in _loaded:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_folder(target.parent)
            if not _is_whole(target):
                _build(source, target, command, name, texts or {}, language.ending)
            _loaded[target] = ctypes.CDLL(str(target))
        return _loaded[target]
