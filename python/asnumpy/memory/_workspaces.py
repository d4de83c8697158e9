"""The workspaces that operators asked for: recorded, shown, kept in a file, and taken in advance.

ASNUMPY_WORKSPACES=path records a whole program and adds what it saw to the file when it ends. A table is never worth a
program's result: what goes wrong then is a line on stderr, and the exit code stays.
"""

import atexit
import csv
import os
import sys
from typing import NamedTuple

from .. import _core

_COLUMNS = ("operator", "operands", "bytes", "calls")


class Workspace(NamedTuple):
    """Memory that an operator asked for, with operands of these dtypes and shapes.

    Parameters
    ----------
    operator : str
        CANN's name, without aclnn.
    operands : str
        Dtypes and shapes of what it reads, an arrow, those of what it writes.
    bytes : int
        The most that was asked for.
    calls : int
        How often it was.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.Workspace("Sort", "float32(9,) -> float32(9,) int64(9,)", 4096, 2).bytes
    4096
    """

    operator: str
    operands: str
    bytes: int
    calls: int


def record_workspaces(on=True):
    """Records the workspace that each operator asks for, by operator, dtypes and shapes.

    NPUs' operators work in memory that their first phase asks for and the caller brings. On the
    CPU device none asks, but with ``ASNUMPY_CANN_STRICT=1``. What is recorded stays until the
    process ends.

    Parameters
    ----------
    on : bool
        False stops.

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.record_workspaces()
    False
    >>> np.memory.record_workspaces(False)
    True
    """
    return _core._record_workspaces(on)


def workspaces(path=None):
    """The recorded workspaces, the largest first.

    Parameters
    ----------
    path : str or path-like, optional
        A table that `save_workspaces` wrote: that one, instead of this process's.

    Returns
    -------
    list of Workspace
        Named tuples of operator ("Matmul"), operands ("float32(2,3) float32(3,4) ->
        float32(2,4)"), bytes (the most that was asked for) and calls.

    Raises
    ------
    ValueError
        The file is no such table.

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.memory.workspaces(), list)
    True
    """
    rows = _core._workspaces() if path is None else _read(path)
    return sorted(
        (Workspace(*row) for row in rows), key=lambda w: (-w.bytes, w.operator, w.operands)
    )


def _read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise ValueError(
            f"{os.fspath(path)!r} is no table of workspaces: it must begin with {','.join(_COLUMNS)}"
        )
    table = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(_COLUMNS) or not row[2].isdigit() or not row[3].isdigit():
            raise ValueError(
                f"{os.fspath(path)!r}, line {line}: {row}; it must be operator, operands, bytes, calls"
            )
        table.append((row[0], row[1], int(row[2]), int(row[3])))
    return table


def save_workspaces(path):
    """Adds the recorded workspaces to a table on disk (CSV), which is made where there is none.

    Of an operator and operands that are in both, the larger size is kept and the calls are added
    up. Saving twice counts the calls of this process twice.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    int
        How many entries the table has now.

    Raises
    ------
    ValueError
        The file is there, and no such table: it stays as it is.

    Examples
    --------
    >>> import asnumpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "workspaces.csv")
    >>> np.memory.save_workspaces(path) == len(np.memory.workspaces(path))
    True
    """
    path = os.fspath(path)
    merged = {}
    for operator, operands, nbytes, calls in (
        _read(path) if os.path.exists(path) else []
    ) + _core._workspaces():
        before = merged.get((operator, operands), (0, 0))
        merged[operator, operands] = max(before[0], nbytes), before[1] + calls
    beside = f"{path}.{os.getpid()}"  # whoever reads meanwhile sees the old table or the new one
    with open(beside, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((*key, *value) for key, value in sorted(merged.items()))
    os.replace(beside, path)
    return len(merged)


def reserve_workspaces(path):
    """Takes the largest workspace of a table from the device, and leaves it to the memory pool.

    A program that needs more than there is finds out here, before its work, and its first calls
    do not ask the device for memory. One block is enough: on a stream a workspace is used again as
    soon as its operator was launched.

    Parameters
    ----------
    path : str or path-like
        A table that `save_workspaces` wrote.

    Returns
    -------
    int
        The bytes of the largest; 0 where the table is empty.

    Raises
    ------
    ValueError
        The file is no such table.
    MemoryError
        The device has not as much, or the memory limit does not allow it.

    Examples
    --------
    >>> import asnumpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "workspaces.csv")
    >>> _ = np.memory.save_workspaces(path)
    >>> np.memory.reserve_workspaces(path) >= 0
    True
    """
    largest = max((row[2] for row in _read(path)), default=0)
    if largest:
        block = _core.zeros(largest, "uint8")
        _core.synchronize()
        del block
    return largest


def _warn(text):
    print(f"asnumpy: ASNUMPY_WORKSPACES: {text}", file=sys.stderr)


def _save_at_exit(path, process):
    """A child that a fork made is not the program: what it knows is its parent's."""
    if os.getpid() != process:
        return
    try:
        save_workspaces(path)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program's exit code stays
        _warn(f"no table in {path!r}: {type(error).__name__}: {error}")


def begin(wish):
    """Records this process for the table that a path names."""
    path = os.path.abspath(wish)
    if not os.path.isdir(os.path.dirname(path)):
        _warn(f"there is no folder {os.path.dirname(path)!r}: no table is made")
        return
    record_workspaces()
    atexit.register(_save_at_exit, path, os.getpid())
