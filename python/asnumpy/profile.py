"""Profiles a script:

usage: python -m asnumpy.profile [--trace FILE] [--html FILE] [--by name|line] [--top N] [--every N] script.py [argument ...]

Runs the script as `python script.py` would, then prints the summary to stderr. `--trace` also writes Chrome's trace
format, `--html` one page with everything. In a program: `with asnumpy.profile() as p:`.
"""

import argparse
import os
import runpy
import sys
import types

from asnumpy._profile import profile


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m asnumpy.profile", description="Runs a script and says where its time went."
    )
    parser.add_argument("--trace", metavar="FILE", help="write Chrome's trace format")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--by", choices=["name", "line"], default="name")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows of the summary")
    parser.add_argument(
        "--every", type=int, default=32, metavar="N", help="of small operations one in N is timed"
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    session = profile(every=options.every).start()
    try:
        runpy.run_path(options.script, run_name="__main__")
    finally:
        session.stop()
        print(session.summary(by=options.by, top=options.top), file=sys.stderr)
        if options.trace:
            session.export(options.trace)
        if options.html:
            session.html(options.html)


class _Callable(types.ModuleType):
    """`import asnumpy.profile` puts this module where the class was: it makes sessions too."""

    def __call__(self, *arguments, **keywords):
        return profile(*arguments, **keywords)


if __name__ == "__main__":
    main()
else:
    sys.modules[__name__].__class__ = _Callable
