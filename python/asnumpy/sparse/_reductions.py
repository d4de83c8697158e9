"""Reductions of sparse arrays, and what is counted or picked of their elements."""

import numpy as _np

from .. import _core
from .._core import zeros
from .._errstate import errstate
from ._common import sum_dtype
from ._stored import Stored


class Reductions(Stored):
    """Sums, means, extremes, diagonals, counts."""

    # ---- reductions

    def _axis(self, axis):
        """None, or the axis as 0 or 1 of two dimensions."""
        if axis is None or len(self._shape) == 1:
            if axis not in (None, 0, -1):
                raise ValueError(f"axis {axis} is out of bounds for 1 dimension")
            return None
        if isinstance(axis, tuple):
            if len({a % 2 for a in axis}) == 2:
                return None
            axis = axis[0]
        if int(axis) != axis or not -2 <= axis < 2:
            raise ValueError(f"axis {axis} is out of range; allowed: None, -2, -1, 0, 1")
        return int(axis) % 2

    def _lines(self, values, axis):
        """A result of one number for each line along the axis: (n,), of a matrix of two dimensions."""
        return (values[None, :] if axis == 0 else values[:, None]) if self._is_matrix else values

    def sum(self, axis=None, dtype=None, out=None):
        """The sum of the elements.

        Parameters
        ----------
        axis : None or int
            Along which; None: of all.
        dtype : dtype, optional
            Of the result; by default NumPy's of a sum.
        out : ndarray, optional
            Takes the result.

        Returns
        -------
        ndarray or NumPy scalar
            Of shape (n,) with an axis; of a matrix (spmatrix) of two dimensions.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2], [0, 4]]).sum(axis=0)
        array([1, 6])
        """
        row, col, data = self._triple()
        kind = sum_dtype(self.dtype)
        axis = self._axis(axis)
        if axis is None:
            found = data.astype(kind).sum(dtype=dtype)
        else:
            found = zeros(self._shape[1 - axis], dtype=kind)
            _core.add.at(found, row if axis else col, data.astype(kind))
            found = self._lines(found if dtype is None else found.astype(dtype), axis)
        if out is None:
            return found
        out[...] = found
        return out

    def mean(self, axis=None, dtype=None, out=None):
        """The mean of the elements, those that are not stored among them.

        Parameters
        ----------
        axis : None or int
            Along which; None: of all.
        dtype : dtype, optional
            Of the result; by default float64 of integers, else this array's.
        out : ndarray, optional
            Takes the result.

        Returns
        -------
        ndarray or NumPy scalar
            As of sum.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2], [0, 4]]).mean(axis=1)
        array([1.5, 2. ])
        """
        whole = self.astype(_np.float64) if self.dtype.kind in "biu" else self
        which = self._axis(axis)
        count = int(_np.prod(self._shape, dtype=_np.int64)) if which is None else self._shape[which]
        with errstate(divide="ignore", invalid="ignore"):
            found = whole.sum(axis) / whole.dtype.type(count)
        kind = whole.dtype if dtype is None else _np.dtype(dtype)
        found = found.astype(kind)
        if out is None:
            return found
        out[...] = found
        return out

    def _most(self, axis, op):
        axis = self._axis(axis)
        keys, data = self._sorted()
        extent = int(_np.prod(self._shape, dtype=_np.int64)) if axis is None else self._shape[axis]
        if extent == 0:
            raise ValueError("zero-size array to reduction operation")
        if axis is None:
            if not len(data):
                return self.dtype.type(0)
            best = (data.max if op is _core.maximum else data.min)()
            return self.dtype.type(best if len(data) == extent else op(best, self.dtype.type(0)))
        width = max(1, self._shape[1])
        lines, count = keys // width if axis else keys % width, self._shape[1 - axis]
        held = _core.bincount(lines, minlength=count) if len(keys) else zeros(count, dtype=int)
        best = zeros(count, dtype=self.dtype)
        best[lines] = data
        op.at(best, lines, data)
        zero = self.dtype.type(0)
        best = _core.where(held < extent, op(best, zero), best)
        if not self._is_matrix:
            return self._class("coo")(best)
        return self._class("coo")(self._lines(best, axis))

    def max(self, axis=None, out=None, *, explicit=False):
        """The greatest element, zeros that are not stored among them.

        Parameters
        ----------
        axis : None or int
            Along which; None: of all.
        out : None
            For NumPy's signature.
        explicit : bool
            Whether stored elements alone count (with axis None).

        Returns
        -------
        NumPy scalar or coo_array
            An array with an axis.

        Raises
        ------
        ValueError
            There are no elements; or out is given.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2], [0, -4]]).max(axis=0).toarray()
        array([0, 2])
        """
        return self._asked_most(axis, out, explicit, _core.maximum)

    def min(self, axis=None, out=None, *, explicit=False):
        """The smallest element, zeros that are not stored among them.

        Parameters
        ----------
        axis : None or int
            Along which; None: of all.
        out : None
            For NumPy's signature.
        explicit : bool
            Whether stored elements alone count (with axis None).

        Returns
        -------
        NumPy scalar or coo_array
            An array with an axis.

        Raises
        ------
        ValueError
            There are no elements; or out is given.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2], [0, -4]]).min(axis=0).toarray()
        array([-1, -4])
        """
        return self._asked_most(axis, out, explicit, _core.minimum)

    def _asked_most(self, axis, out, explicit, op):
        if out is not None:
            raise ValueError("Sparse arrays do not support an 'out' parameter.")
        if not explicit:
            return self._most(axis, op)
        if axis is not None:
            raise NotImplementedError("explicit=True with an axis; axis=None is allowed")
        data = self._sorted()[1]
        return (data.max if op is _core.maximum else data.min)()

    def trace(self, offset=0):
        """The sum along a diagonal.

        Parameters
        ----------
        offset : int
            The diagonal; 0 is the main one, above it are positive ones.

        Returns
        -------
        NumPy scalar
            The sum.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2], [0, 4]]).trace()
        np.int64(5)
        """
        return self.diagonal(offset).sum()

    def diagonal(self, k=0):
        """The elements of a diagonal.

        Parameters
        ----------
        k : int
            The diagonal; 0 is the main one, above it are positive ones.

        Returns
        -------
        ndarray
            Of one dimension; empty outside the array.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2], [0, 4]]).diagonal()
        array([1, 4])
        """
        m, n = self._shape
        out = zeros(max(0, min(m + min(k, 0), n - max(k, 0))), dtype=self.dtype)
        row, col, data = self._triple()
        row, col = row.astype(_np.int64), col.astype(_np.int64)
        on = col - row == k
        _core.add.at(out, (row if k >= 0 else col)[on], data[on])
        return out

    def nonzero(self):
        """Where elements are not zero.

        Returns
        -------
        tuple of ndarray
            Rows and columns, in row-major order; of one dimension one array.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 0], [0, 4]]).nonzero()
        (array([0, 1]), array([0, 1]))
        """
        keys, data = self._sorted()
        keys, width = keys[data != 0], max(1, self._shape[-1])
        return (keys,) if len(self._shape) == 1 else (keys // width, keys % width)

    def count_nonzero(self, axis=None):
        """The number of elements that are not zero.

        Parameters
        ----------
        axis : None or int
            Along which; None: of all.

        Returns
        -------
        int or ndarray
            An array with an axis.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 0], [0, 4]]).count_nonzero()
        2
        """
        axis, places = self._axis(axis), self.nonzero()
        if axis is None:
            return len(places[0])
        return _core.bincount(places[1 - axis], minlength=self._shape[1 - axis])
