"""Runs a program with AsNumpy in NumPy's place, without a change to its source:

usage: python -m asnumpy [--include PATTERN] [--exclude PATTERN] [--report[=FILE]]
                         (script.py | -m module | -c code) [argument ...]

The program runs as `python script.py`, `python -m module` or `python -c code` would run it. `import
numpy` in its own code gives AsNumpy; the standard library and installed packages keep NumPy.
`--include sklearn` covers a package, too, and `--exclude mine.legacy` leaves a module out (patterns of
module names; both may be repeated). `--report` says at the end what ran where, on stderr or in a file.
"""

import contextlib
import linecache
import os
import runpy
import sys
import textwrap
import types
import zipfile
from importlib.machinery import SourceFileLoader

from asnumpy.auto._cover import root_of

_WITH_VALUE = ("--include", "--exclude")


def _refuse(message):
    print(__doc__.split("\n\n")[1], file=sys.stderr)
    print(f"python -m asnumpy: {message}", file=sys.stderr)
    sys.exit(2)


class _Options:
    """What the command line asks for: patterns, a report (None, "" for stderr, a file), how the program
    is given ("script", "-m", "-c"), and its arguments, the first of which names it."""

    def __init__(self, arguments):
        self.include, self.exclude, self.report, self.how = [], [], None, None
        rest = list(arguments)
        while rest and self.how is None:
            self._take(rest)
        self.program = rest
        if self.how is None or not rest:
            _refuse(f"{self.how or 'a script, -m or -c'} is missing its argument" if self.how
                    else "which program? A script, -m module or -c code")  # fmt: skip

    def _take(self, rest):
        option, equals, value = rest[0].partition("=")
        if option in _WITH_VALUE:
            del rest[0]
            if not equals and not rest:
                _refuse(f"{option} is missing its pattern")
            getattr(self, option[2:]).append(value if equals else rest.pop(0))
        elif option == "--report":
            self.report = value
            del rest[0]
        elif rest[0] in ("-h", "--help"):
            print(__doc__.strip())
            sys.exit(0)
        elif rest[0] in ("-m", "-c"):
            self.how = rest.pop(0)
        elif rest[0].startswith("-"):
            _refuse(f"there is no option {rest[0]}")
        else:
            self.how = "script"


def _main_module(**names):
    """A fresh `__main__`, as an interpreter makes it."""
    module = types.ModuleType("__main__")
    names = {"__builtins__": sys.modules["builtins"], "__cached__": None, **names}
    if "__annotations__" in globals():  # as interpreters before 3.14 have it
        names["__annotations__"] = {}
    vars(module).update(names)
    sys.modules["__main__"] = module
    return vars(module)


def _set_path(first):
    """sys.path[0], where the interpreter put the current folder for `-m asnumpy`."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = first


def _absolute(path):
    """A path from the root, otherwise as it was given, which is how the interpreter has it."""
    return os.path.join(os.getcwd(), path)


def _of_module(name):
    """(code, names) of `python -m name`; of the main module in sys.path[0] for None."""
    try:
        if name is None:
            _, spec, code = runpy._get_main_module_details(runpy._Error)
        else:
            _, spec, code = runpy._get_module_details(name, runpy._Error)
    except runpy._Error as error:
        sys.exit(f"{sys.executable}: {error}")
    sys.argv[0] = spec.origin
    return code, _main_module(
        __file__=spec.origin, __cached__=spec.cached, __loader__=spec.loader,
        __package__=spec.parent, __spec__=spec,
    )  # fmt: skip


def _of_script(path, crossing):
    """(code, names) of `python path`."""
    if os.path.isdir(path) or zipfile.is_zipfile(path):
        if getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, _absolute(path))
        else:
            sys.path[0] = _absolute(path)
        code, names = _of_module(None)
        sys.argv[0] = path
        return code, names
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] "
            f"{error.strerror}",
            file=sys.stderr,
        )
        sys.exit(2)
    path = _absolute(path)
    _set_path(os.path.dirname(os.path.realpath(path)))
    names = _main_module(__file__=path, __loader__=SourceFileLoader("__main__", path))
    return crossing.compile(source, path), names


def _of_text(text, crossing):
    """The code of `python -c text`."""
    if sys.version_info >= (3, 14):
        text = textwrap.dedent(text)
    code = crossing.compile(text.encode(), "<string>")
    if sys.version_info >= (3, 13):  # tracebacks show its lines
        linecache._register_code(code, text, "<string>")
    return code


def _prepare(options, crossing):
    sys.argv = list(options.program)
    name = options.program[0]
    if options.how == "-m":
        sys.argv[0] = "-m"
        return _of_module(name)
    if options.how == "-c":
        sys.argv[0] = "-c"
        _set_path("")
        return _of_text(name, crossing), _main_module()
    return _of_script(name, crossing)


def _run(prepare):
    """Runs a program to its end. An exception is shown as the interpreter shows it, without our frames."""
    try:
        exec(*prepare())
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and _is_ours(trace.tb_frame):
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        sys.excepthook = _silent
        if isinstance(error, KeyboardInterrupt):  # ends the process by the signal
            raise
        sys.exit(1)


def _is_ours(frame):
    """Whether a frame is of what leads to a program, or of the program itself."""
    return frame.f_globals is globals() or root_of(frame.f_globals.get("__name__", "")) in (
        "asnumpy", "runpy", "ast", "importlib", "_frozen_importlib", "_frozen_importlib_external",
        "zipimport",
    )  # fmt: skip


def _silent(*_):
    """Shows nothing: it was shown."""


def main(arguments=None):
    options = _Options(sys.argv[1:] if arguments is None else arguments)
    from asnumpy import auto
    from asnumpy.auto import _workers

    patterns = {"include": options.include, "exclude": options.exclude}
    crossing = auto.install(**patterns)
    if options.how == "-m" and options.program[0] in ("pytest", "py.test"):
        _workers.to_pytest(patterns)
    with contextlib.ExitStack() as told:
        if options.report is not None:
            from asnumpy.auto._report import Report

            told.enter_context(Report(options.report))
        elif recorder := _workers.record():
            told.push(recorder)
        _run(lambda: _prepare(options, crossing))


if __name__ == "__main__":
    main()
