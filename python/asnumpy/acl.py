"""Where the CPU device's interface for Ascend programs lies: CANN's headers and libraries.

H=$(python -m asnumpy.acl --home)
g++ program.cpp -I$H/include -I$H/include/aclnn -I$H/include/aclnnop -L$H/lib64 -lopapi -lascendcl -lnnopbase
. $H/set_env.sh && ./a.out
"""

import argparse
import pathlib
import sys

__all__ = ["flags", "home"]


def home():
    """The folder that stands for ``$ASCEND_HOME_PATH``: it has ``include``, ``lib64``, ``set_env.sh``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        The package was installed without them.
    """
    path = pathlib.Path(__file__).absolute().parent / "cann"
    if not (path / "include" / "acl" / "acl.h").exists():
        raise FileNotFoundError(f"{path} has no include/acl/acl.h: install the package again")
    return path


def flags():
    """What a C or C++ compiler needs to build an Ascend program and to find the libraries when it runs.

    Returns
    -------
    list of str
    """
    include, lib = home() / "include", home() / "lib64"
    folders = [f"-I{p}" for p in (include, include / "aclnn", include / "aclnnop")]
    libraries = [f"-l{name}" for name in ("opapi", "ascendcl", "nnopbase")]
    return [*folders, f"-L{lib}", f"-Wl,-rpath,{lib}", *libraries]


def _main(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m asnumpy.acl", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--home", action="store_true", help="print the folder with include and lib64"
    )
    parser.add_argument("--flags", action="store_true", help="print the compiler's flags")
    options = parser.parse_args(arguments)
    if not (options.home or options.flags):
        parser.error("--home or --flags is needed")
    if options.home:
        print(home())
    if options.flags:
        print(" ".join(flags()))


if __name__ == "__main__":
    _main(sys.argv[1:])
