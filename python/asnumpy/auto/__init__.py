"""No change to the source: `import numpy` in the user's own code gives AsNumpy.

    python -m asnumpy script.py argument ...
    python -m asnumpy -m pytest ...
    %load_ext asnumpy.auto

Libraries keep NumPy. See `docs/guide/auto.md`, and `docs/design/0030-no-change-to-the-source.md`.

In reading order: `_cover` (whose code), `_imports` (what it imports), `_names` (what that has),
`_arrays`, `_crossing` and `_transformer` (calls into libraries), `_random`, `_workers`, `_report`.
"""

import sys

from asnumpy import _support

from ._cover import Cover

__all__ = ["install", "load_ipython_extension", "uninstall", "unload_ipython_extension"]


def __dir__():
    return __all__


_state = {}


def install(include=(), exclude=()):
    """Begins the mode in this process; modules that are imported from now on have it.

    Parameters
    ----------
    include, exclude : sequence of str
        Patterns of module names (fnmatch), which are covered beside the user's own, and left out.

    Returns
    -------
    object
        Of the mode's own, for its parts.

    Raises
    ------
    ValueError
        A pattern is no text.
    RuntimeError
        The mode is on with other patterns.

    Notes
    -----
    Installed twice, it ends with the second uninstall().

    Examples
    --------
    >>> import asnumpy.auto
    >>> crossing = asnumpy.auto.install(exclude=["legacy.*"])
    >>> asnumpy.auto.uninstall()
    """
    from . import _imports, _names, _numba, _staged, _workers
    from ._crossing import Crossing, Finder

    options = {"include": list(include), "exclude": list(exclude)}
    if _state:
        if _state["options"] != options:
            raise RuntimeError(
                f"auto: the mode is on with {_state['options']}; it is to be uninstalled before it is "
                f"installed with {options}"
            )
        _state["times"] += 1
        return _state["crossing"]
    cover = Cover(include, exclude)
    crossing = Crossing(cover)
    finder = Finder(cover, crossing)
    _staged.crossing = crossing
    _imports.install(cover)
    sys.meta_path.insert(_place_of_path_finder(), finder)
    waiting = _numba.register_all_with(_names.pairs)
    _names.complete()
    _workers.pass_on(options)
    _support.as_numpy(True, crossing.override, crossing.is_librarys)
    _state.update(options=options, crossing=crossing, finders=(finder, waiting), times=1)
    return crossing


def _place_of_path_finder():
    """Before the finder of source files: who found modules before it still does."""
    from importlib.machinery import PathFinder

    return sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)


def uninstall():
    """Ends the mode, as often as it was installed: later imports get NumPy.

    What was imported keeps what it has.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        It is not installed.

    Examples
    --------
    >>> import asnumpy.auto
    >>> crossing = asnumpy.auto.install()
    >>> asnumpy.auto.uninstall()
    """
    from . import _imports, _names, _staged, _workers

    if not _state:
        raise RuntimeError("auto: the mode is not installed")
    _state["times"] -= 1
    if _state["times"]:
        return
    _imports.uninstall()
    _workers.pass_on_no_more()
    _names.take_back()
    _staged.crossing = None
    for finder in _state["finders"]:
        sys.meta_path.remove(finder)
    _support.as_numpy(False)
    _state.clear()


def load_ipython_extension(shell):
    """Gives the cells from now on the mode, and names of NumPy's modules, too; %load_ext asnumpy.auto.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy.auto, types
    >>> shell = types.SimpleNamespace(user_ns={}, ast_transformers=[])  # what it uses of IPython's
    >>> asnumpy.auto.load_ipython_extension(shell)
    >>> asnumpy.auto.unload_ipython_extension(shell)
    """
    from ._crossing import Cells
    from ._names import renew

    crossing = install()
    renew(shell.user_ns)
    _state["cells"] = Cells(crossing, shell.user_ns)
    shell.ast_transformers.append(_state["cells"])


def unload_ipython_extension(shell):
    """Ends the mode for the cells from now on; %unload_ext asnumpy.auto.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell, which load_ipython_extension got.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy.auto, types
    >>> shell = types.SimpleNamespace(user_ns={}, ast_transformers=[])  # what it uses of IPython's
    >>> asnumpy.auto.load_ipython_extension(shell)
    >>> asnumpy.auto.unload_ipython_extension(shell)
    """
    shell.ast_transformers.remove(_state["cells"])
    uninstall()
