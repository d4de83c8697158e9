"""Programs for Ascend on the CPU device: where CANN's headers and libraries lie, and how to start a program with them.

H=$(python -m asnumpy.acl --home)
g++ program.cpp -I$H/include -I$H/include/aclnn -I$H/include/aclnnop -L$H/lib64 -lopapi -lascendcl -lnnopbase
. $H/set_env.sh && ./a.out

python -m asnumpy.acl run train.py --epochs 3       a Python program, PyTorch's torch_npu for instance
python -m asnumpy.acl run --devices 4 -m pytest     four devices; a module instead of a file
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import sys

__all__ = ["environment", "flags", "home", "let_timers_slip"]


def __dir__():
    return __all__


def home():
    """The folder that stands for $ASCEND_HOME_PATH: it has include, lib64 and set_env.sh.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        The package was installed without them.

    Examples
    --------
    >>> import asnumpy.acl
    >>> (asnumpy.acl.home() / "include" / "acl" / "acl.h").exists()
    True
    """
    path = pathlib.Path(__file__).absolute().parent / "cann"
    if not (path / "include" / "acl" / "acl.h").exists():
        raise FileNotFoundError(f"{path} has no include/acl/acl.h: install the package again")
    return path


def flags():
    """What a C or C++ compiler needs to build an Ascend program, and to find the libraries when it runs.

    Returns
    -------
    list of str

    Raises
    ------
    FileNotFoundError
        The package was installed without headers and libraries.

    Examples
    --------
    >>> import asnumpy.acl
    >>> asnumpy.acl.flags()[-1]
    '-lnnopbase'
    """
    include, lib = home() / "include", home() / "lib64"
    folders = [f"-I{p}" for p in (include, include / "aclnn", include / "aclnnop")]
    libraries = [f"-l{name}" for name in ("opapi", "ascendcl", "nnopbase")]
    return [*folders, f"-L{lib}", f"-Wl,-rpath,{lib}", *libraries]


def _preloaded(variables):
    """LD_PRELOAD where PyTorch is its build for CUDA, beside which torch_npu would not load."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        return variables.get("LD_PRELOAD")
    if not (pathlib.Path(found.origin).parent / "lib" / "libc10_cuda.so").exists():
        return variables.get("LD_PRELOAD")
    name = "libasnumpy_torch.so"
    library = str(home() / "lib64" / name)
    # The loader takes a space for the end of a path, and finds the name in LD_LIBRARY_PATH.
    first = name if " " in library else library
    before = variables.get("LD_PRELOAD", "")
    return before if before.split(":")[0] == first else first + (f":{before}" if before else "")


def environment(devices=None, soc=None):
    """The environment in which programs find the CPU device in CANN's place, as set_env.sh makes it.

    Parameters
    ----------
    devices : int, optional
        How many devices programs see (1 to 64); as before when it is not given.
    soc : str, optional
        The SoC's name that programs are told; as before (Ascend910B3) when it is not given.

    Returns
    -------
    dict
        A copy of os.environ with ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, ASCEND_OPP_PATH,
        LD_LIBRARY_PATH and PATH (for msprof) set; LD_PRELOAD, too, where PyTorch is its build for
        CUDA, which torch_npu would refuse.

    Raises
    ------
    ValueError
        devices is not between 1 and 64, or soc is empty or has more than 63 characters.

    Examples
    --------
    >>> import asnumpy.acl
    >>> asnumpy.acl.environment(devices=2)["ASNUMPY_CPU_DEVICES"]
    '2'
    """
    if devices is not None and not 1 <= devices <= 64:
        raise ValueError(f"devices is {devices}; it must be between 1 and 64")
    if soc is not None and not 1 <= len(soc) <= 63:
        raise ValueError(f"soc is {soc!r}; a name of 1 to 63 characters is needed")
    folder, variables = str(home()), dict(os.environ)
    variables["ASCEND_HOME_PATH"] = variables["ASCEND_TOOLKIT_HOME"] = folder
    variables["ASCEND_OPP_PATH"] = f"{folder}/opp"
    for name, first in (
        ("LD_LIBRARY_PATH", f"{folder}/lib64"),
        ("PATH", f"{folder}/tools/profiler/bin"),
    ):
        before = variables.get(name, "")
        if before.split(":")[0] != first:
            variables[name] = first + (f":{before}" if before else "")
    variables["ASNUMPY_PYTHON"] = sys.executable  # for msprof
    if preloaded := _preloaded(variables):
        variables["LD_PRELOAD"] = preloaded
    if devices is not None:
        variables["ASNUMPY_CPU_DEVICES"] = str(devices)
    if soc is not None:
        variables["ASNUMPY_CPU_SOC"] = soc
    return variables


def let_timers_slip():
    """Lets sleeps end a millisecond late, of this thread, its threads and what it executes.

    torch_npu has a thread that looks for memory to release every microsecond. With Linux's usual
    slack of 50 us it wakes 14,000 times a second: of two cores that is a third of one, and models
    take 1.4 times as long, on PyTorch's CPU as well. `python -m asnumpy.acl run` calls this where
    torch_npu is installed. Another slack than the usual one stays as it is.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy.acl
    >>> asnumpy.acl.let_timers_slip()
    """
    set_slack, get_slack, usual, wanted = 29, 30, 50_000, 1_000_000  # <linux/prctl.h>; ns
    prctl = ctypes.CDLL(None).prctl
    if prctl(get_slack, 0, 0, 0, 0) == usual:
        prctl(set_slack, ctypes.c_ulong(wanted), 0, 0, 0)


def _run(arguments):
    """Replaces this process by Python with the program; ends with a message when there is none."""
    parser = argparse.ArgumentParser(
        prog="python -m asnumpy.acl run",
        usage="%(prog)s [--devices N] [--soc NAME] (program.py | -m module) [argument ...]",
        description="Runs a Python program with the CPU device in CANN's place.",
    )
    parser.add_argument("--devices", type=int, metavar="N", help="how many devices it sees")
    parser.add_argument("--soc", metavar="NAME", help="the SoC it is told; Ascend910B3")
    parser.add_argument("-m", dest="module", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.program:
        parser.error("a program, or -m and a module, is needed")
    try:
        variables = environment(options.devices, options.soc)
    except ValueError as error:
        parser.error(str(error))
    module = ["-m"] if options.module else []
    if importlib.util.find_spec("torch_npu"):
        let_timers_slip()
    os.execve(sys.executable, [sys.executable, *module, *options.program], variables)


def _main(arguments):
    if arguments[:1] == ["run"]:
        return _run(arguments[1:])
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
    return None


if __name__ == "__main__":
    _main(sys.argv[1:])
