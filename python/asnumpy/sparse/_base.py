"""The class above all formats."""

from ._arithmetic import Arithmetic
from ._reductions import Reductions


class sparray(Arithmetic, Reductions):
    """The class above all sparse arrays; it is not made itself.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> isinstance(sparse.eye_array(2), sparse.sparray)
    True
    """

    __hash__ = None
