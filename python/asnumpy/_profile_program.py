"""ASNUMPY_PROFILE=path: the profile of a whole program, written when it ends.

The package's import begins a session; the interpreter's exit ends it and writes the file that the suffix names. A
profile is never worth a program's result: whatever goes wrong is a line on stderr, and the exit code stays.
"""

import atexit
import os
import sys

from ._profile import profile

SUFFIXES = (".json", ".csv", ".html")


def _warn(text):
    """On stderr: warnings may be errors, and at the exit nobody is left who would catch one."""
    print(f"asnumpy: ASNUMPY_PROFILE: {text}", file=sys.stderr)


def _fault(path):
    """Why no profile can be written there; "" if it can."""
    if os.path.splitext(path)[1].lower() not in SUFFIXES:
        return f"{path!r} does not end with one of {', '.join(SUFFIXES)}"
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.path.isdir(folder):
        return f"{path!r} is a folder" if os.path.isdir(path) else f"there is no folder {folder!r}"
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        return f"{path!r} may not be written"
    return ""


def _write(session, path, process):
    """At the exit. A child that a fork made is not the program: it has nothing of its own to tell."""
    if os.getpid() != process:
        return
    try:
        session.stop()
        if path.lower().endswith(".html"):
            session.html(path)
        else:
            session.export(path)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program's exit code stays
        _warn(f"no profile in {path!r}: {type(error).__name__}: {error}")


def begin(wish):
    """Begins the session that a path asks for; %p in it is the number of the process."""
    path = os.path.abspath(wish.replace("%p", str(os.getpid())))
    fault = _fault(path)
    if fault:
        _warn(f"{fault}: no profile is made")
        return
    atexit.register(_write, profile().start(), path, os.getpid())
