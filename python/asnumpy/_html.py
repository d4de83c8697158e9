"""What a notebook shows of an array: its kind, and a table of its values.

Matrices are tables, of which long axes show their ends; only the elements that are shown come to the host. All else
is NumPy's text. Colours are the page's own, so that dark pages can be read. Whether the array was recorded is asked
first: to show the values runs what computes them.
"""

import html
import sys

import numpy as _np

from . import _core
from .memory._summary import size

_LONGEST = 12  # elements of an axis that is shown whole
_ENDS = 5  # elements at each end of a longer one
_BETWEEN = "\x1f"  # of elements in a text, which no number has

_LINE = "1px solid rgba(128, 128, 128, 0.4)"
_CELL = "padding: 1px 8px; text-align: right; white-space: pre; border: none; background: none"
_INDEX = f"{_CELL}; opacity: 0.6; font-weight: normal"


def shown(a):
    """The array as HTML; None of a class that prints itself."""
    if type(a).__repr__ is not _core.ndarray.__repr__:
        return None
    state = "recorded, run to be shown" if _core._is_recorded(a) else "computed"
    kind = (
        f"{type(a).__name__} of {a.dtype}, shape {a.shape}, {size(a.nbytes)} on {a.device}, {state}"
    )
    body = _table(a) if a.ndim == 2 and a.size else f"<pre>{html.escape(repr(a))}</pre>"
    return (
        '<div style="font-family: monospace; overflow-x: auto; color: inherit; background: none">'
        f'<div style="opacity: 0.7">{html.escape(kind)}</div>{body}</div>'
    )


def _places(length):
    """(the indices that are shown of an axis, None where some are left out)."""
    if length <= _LONGEST:
        return list(range(length))
    return [*range(_ENDS), None, *range(length - _ENDS, length)]


def _texts(values):
    """The elements of a matrix as rows of texts, by NumPy's print options."""
    line = _np.array2string(
        values.ravel(), separator=_BETWEEN, threshold=sys.maxsize, max_line_width=sys.maxsize
    )
    texts = line[1:-1].split(_BETWEEN)
    return [texts[i : i + values.shape[1]] for i in range(0, values.size, values.shape[1])]


def _table(a):
    rows, columns = map(_places, a.shape)
    own = [[i for i in places if i is not None] for places in (rows, columns)]
    texts = _texts(_np.asarray(a[_np.ix_(*own)]))
    head = "".join(f'<th style="{_INDEX}">{_named(j)}</th>' for j in columns)
    lines = [f'<tr style="border-bottom: {_LINE}; background: none"><th></th>{head}</tr>']
    for i in rows:
        found = iter(texts.pop(0) if i is not None else ())
        cells = "".join(
            f'<td style="{_CELL}">{_mark(i, j) or html.escape(next(found).strip())}</td>'
            for j in columns
        )
        lines.append(
            f'<tr style="background: none"><th style="{_INDEX}">{_named(i)}</th>{cells}</tr>'
        )
    return f'<table style="border-collapse: collapse; border: none">{"".join(lines)}</table>'


def _named(index):
    return "" if index is None else index


def _mark(i, j):
    """What stands for elements that are left out; empty for one that is shown."""
    if i is not None:
        return "" if j is not None else "&hellip;"
    return "&vellip;" if j is not None else "&dtdot;"
