"""Profiles a script, or a cell of a notebook:

usage: python -m asnumpy.profile [--trace FILE] [--html FILE] [--by name|line] [--top N] [--every N] script.py [argument ...]
       %load_ext asnumpy.profile
       %%asnumpy_profile [--trace FILE] [--html FILE] [--by name|line] [--top N] [--every N]

Runs the script as `python script.py` would, then prints the summary to stderr; of a cell, or of the line behind
`%asnumpy_profile`, to the cell's output. `--trace` also writes Chrome's trace format, `--html` one page with everything.
In a program: `with asnumpy.profile() as p:`.
"""

import argparse
import os
import runpy
import shlex
import sys
import types

from asnumpy._profile import profile

__all__ = ["load_ipython_extension", "profile"]


def __dir__():
    return __all__


def _parser(program, what):
    """The options that a script and a cell have."""
    parser = argparse.ArgumentParser(prog=program, description=what)
    parser.add_argument("--trace", metavar="FILE", help="write Chrome's trace format")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--by", choices=["name", "line"], default="name")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows of the summary")
    parser.add_argument(
        "--every", type=int, default=32, metavar="N", help="of small operations one in N is timed"
    )
    return parser


def _profiled(run, options, file):
    """Calls run in a session, then prints the summary and writes what the options ask for."""
    session = profile(every=options.every).start()
    try:
        run()
    finally:
        session.stop()
        print(session.summary(by=options.by, top=options.top), file=file)
        if options.trace:
            session.export(options.trace)
        if options.html:
            session.html(options.html)


def main(arguments=None):
    parser = _parser("python -m asnumpy.profile", "Runs a script and says where its time went.")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    _profiled(lambda: runpy.run_path(options.script, run_name="__main__"), options, sys.stderr)


def load_ipython_extension(shell):
    """Gives IPython and Jupyter the magic asnumpy_profile; %load_ext asnumpy.profile calls it.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy.profile
    >>> class Shell:
    ...     def register_magic_function(self, function, kind, name):
    ...         print(kind, name)
    >>> asnumpy.profile.load_ipython_extension(Shell())
    line_cell asnumpy_profile
    """
    parser = _parser("asnumpy_profile", "Runs a cell and says where its time went.")
    parser.add_argument("statement", nargs=argparse.REMAINDER, help="of a line magic")

    def asnumpy_profile(line, cell=None):
        """Runs the cell, or the statement behind the options, and says where its time went."""
        options = parser.parse_args(shlex.split(line, posix=cell is not None))
        code = " ".join(options.statement) if cell is None else cell

        _profiled(lambda: shell.run_cell(code).raise_error(), options, sys.stdout)

    shell.register_magic_function(asnumpy_profile, "line_cell", "asnumpy_profile")


class _Callable(types.ModuleType):
    """`import asnumpy.profile` puts this module where the class was: it makes sessions too."""

    def __call__(self, *arguments, **keywords):
        return profile(*arguments, **keywords)


if __name__ == "__main__":
    main()
else:
    sys.modules[__name__].__class__ = _Callable
