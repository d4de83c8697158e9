"""What all formats share: conversions, arithmetic, reductions, written over stored elements.

A format gives `_triple()` (row, column and value of each stored element, as asnumpy arrays) and
`_made(row, col, data, shape)`; everything here is made of these, so that a format is right before it
is fast. Arrays of one dimension (COO alone has them) are rows of one here.
"""

import numpy as _np

from .. import _core
from .._core import asarray, zeros
from .._errstate import errstate
from ._indices import ascends, data_dtype, found, index_dtype, keys_of, shape_of, summed
from ._product import times_dense, times_sparse


class SparseWarning(Warning):
    """What sparse arrays warn of.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, sparse.SparseWarning)
    True
    """


class SparseEfficiencyWarning(SparseWarning):
    """An operation whose result is dense.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, Warning)
    True
    """


def theirs(x):
    """Whether x is one of SciPy's sparse arrays, without importing SciPy."""
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocoo")


def ours(x):
    """x, or a sparse array of SciPy's as one of ours in its format."""
    if not theirs(x):
        return x
    from . import _formats

    return _formats.from_scipy(x)


def is_number(x):
    return _np.isscalar(x) or (not isinstance(x, sparray) and _np.ndim(x) == 0)


def sum_dtype(dtype):
    """The dtype in which NumPy adds."""
    if dtype.kind == "b":
        return _np.dtype(_np.int64)
    return _np.dtype({"i": _np.int64, "u": _np.uint64}.get(dtype.kind, dtype))


class sparray:
    """The class above all sparse arrays; it is not made itself.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> isinstance(sparse.eye_array(2), sparse.sparray)
    True
    """

    __array_ufunc__ = None  # NumPy's and our arrays leave operators to this class
    __array_priority__ = 10.1
    __hash__ = None
    _is_matrix = False

    def __init__(self):
        raise ValueError(
            f"{type(self).__name__} is not made itself; use csr_array or another format"
        )

    # ---- what formats give

    def _triple(self):
        raise NotImplementedError

    @classmethod
    def _made(cls, row, col, data, shape):
        raise NotImplementedError

    def _with_data(self, data):
        raise NotImplementedError

    # ---- facts

    @property
    def shape(self):
        """The extents, a tuple."""
        return self._shape

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self):
        """The number of stored elements, zeros among them."""
        return len(self._triple()[2])

    @property
    def size(self):
        """The number of stored elements, as nnz."""
        return self.nnz

    @property
    def format(self):
        """The format's name: "csr", "csc", "coo", "bsr" or "dia"."""
        return self._format

    @property
    def T(self):
        """The transpose."""
        return self.transpose()

    def _wide(self):
        """The shape with two extents."""
        return self._shape if len(self._shape) == 2 else (1, *self._shape)

    def _sorted(self):
        """(keys, data): positions as numbers, sorted, each once."""
        row, col, data = self._triple()
        return summed(keys_of(row, col, self._wide()[1]), data)

    def _of_keys(self, keys, data, shape=None, cls=None):
        """An array of this format from sorted keys."""
        shape = self._shape if shape is None else shape
        width = max(1, shape[-1])
        return (cls or type(self))._made(keys // width, keys % width, data, shape)

    def _class(self, name):
        """The class of a format: an array's for an array, a matrix's for a matrix."""
        from . import _formats

        return getattr(_formats, f"{name}_{'matrix' if self._is_matrix else 'array'}")

    def _flat(self):
        """The class of what has one dimension or the same."""
        return type(self) if self._format in ("csr", "csc", "coo") else self._class("csr")

    def __repr__(self):
        kind = "matrix" if self._is_matrix else "array"
        return (
            f"<{self._title} sparse {kind} of dtype '{self.dtype}'\n"
            f"\twith {self.nnz} stored elements and shape {self._shape}>"
        )

    def __str__(self):
        keys, data = self._sorted()
        width, one = max(1, self._shape[-1]), len(self._shape) == 1
        shown = zip(_np.asarray(keys)[:50].tolist(), _np.asarray(data)[:50], strict=True)
        lines = [f"  {(k,) if one else divmod(k, width)}\t{v}" for k, v in shown]
        more = ["  :\t:"] if len(keys) > 50 else []
        return "\n".join([repr(self), "  Coords\tValues", *lines, *more])

    def __len__(self):
        raise TypeError("sparse array length is ambiguous; use shape[0] or nnz")

    def __bool__(self):
        if self._wide() == (1, 1):
            return self.nnz != 0
        raise ValueError(
            "The truth value of a sparse array with more than one element is ambiguous."
        )

    def __iter__(self):
        for i in range(self._shape[0]):
            yield self[i]

    # ---- conversions

    def toarray(self):
        """The elements as a dense array.

        Returns
        -------
        ndarray
            Of the same shape and dtype; elements stored twice are added.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2, k=1).toarray()
        array([[0., 1.],
               [0., 0.]])
        """
        keys, data = self._sorted()
        flat = zeros(int(_np.prod(self._shape, dtype=_np.int64)), dtype=self.dtype)
        flat[keys] = data
        return flat.reshape(self._shape)

    def todense(self):
        """The same as toarray.

        Returns
        -------
        ndarray
            Of the same shape and dtype.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(1).todense()
        array([[1.]])
        """
        return self.toarray()

    def asformat(self, format, copy=False):
        """The array in another format.

        Parameters
        ----------
        format : {None, "csr", "csc", "coo", "bsr", "dia"}
            The format; None: as it is.
        copy : bool
            Whether an array in that format already is copied.

        Returns
        -------
        sparse array
            In that format.

        Raises
        ------
        ValueError
            There is no such format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2).asformat("csc").format
        'csc'
        """
        if format is None or format == self._format:
            return self.copy() if copy else self
        if format not in ("csr", "csc", "coo", "bsr", "dia"):
            raise ValueError(f"Format {format} is unknown; allowed: csr, csc, coo, bsr, dia")
        if len(self._shape) == 1 and format != "coo":
            raise ValueError(f"Cannot convert a 1d sparse array to {format} format")
        return self._class(format)._made(*self._triple(), self._shape)

    def to_scipy(self):
        """The array as SciPy's class of the same name, on the host.

        Returns
        -------
        scipy.sparse array
            In the same format.

        Raises
        ------
        ImportError
            There is no SciPy.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2, format="csr").to_scipy().nnz
        2
        """
        from ._scipy import module

        theirs = getattr(module("scipy.sparse"), type(self).__name__)
        return theirs(tuple(map(_host, self._parts())), shape=self._shape)

    def astype(self, dtype, casting="unsafe", copy=True):
        """The array with elements of another dtype.

        Parameters
        ----------
        dtype : dtype
            The new one.
        casting : str
            Which casts are allowed, as of ndarray.astype.
        copy : bool
            Whether an array of that dtype already is copied.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2).astype("int32").dtype
        dtype('int32')
        """
        dtype = data_dtype(dtype)
        if dtype == self.dtype:
            return self.copy() if copy else self
        return self._with_data(self.data.astype(dtype, casting=casting))

    def copy(self):
        """A copy that shares no memory.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> a = sparse.eye_array(2)
        >>> a.copy() is a
        False
        """
        return type(self)._made(*(x.copy() for x in self._triple()), self._shape)

    def reshape(self, *shape):
        """The elements in row-major order in another shape.

        Parameters
        ----------
        shape : int or tuple of int
            The extents; one may be -1.

        Returns
        -------
        sparse array
            In the same format; COO alone takes one extent.

        Raises
        ------
        ValueError
            The number of elements would be another one.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2).reshape(1, 4).toarray()
        array([[1., 0., 0., 1.]])
        """
        shape = list(shape[0] if len(shape) == 1 and not _np.isscalar(shape[0]) else shape)
        total = int(_np.prod(self._shape, dtype=_np.int64))
        if shape.count(-1) == 1:
            rest = int(_np.prod([n for n in shape if n != -1], dtype=_np.int64))
            shape[shape.index(-1)] = total // rest if rest else 0
        shape = shape_of(shape, (1, 2) if self._format == "coo" else (2,))
        if int(_np.prod(shape, dtype=_np.int64)) != total:
            raise ValueError(f"cannot reshape array of size {total} into shape {shape}")
        return self._of_keys(*self._sorted(), shape)

    def transpose(self, axes=None, copy=False):
        """Rows become columns.

        Parameters
        ----------
        axes : None or tuple
            None or (1, 0): there is no other order.
        copy : bool
            Whether the result shares no memory.

        Returns
        -------
        sparse array
            Of shape (n, m): CSC of CSR, CSR of CSC, the same format otherwise.

        Raises
        ------
        ValueError
            Other axes.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.coo_array([[0, 1, 2]]).T.shape
        (3, 1)
        """
        if axes not in (None, (1, 0), (-1, -2)) and len(self._shape) == 2:
            raise ValueError(f"axes are {axes}; allowed are None and (1, 0)")
        if len(self._shape) == 1:
            return self.copy() if copy else self
        return self._turned(copy)

    def _turned(self, copy):
        row, col, data = self._triple()
        return type(self)._made(col, row, data.copy() if copy else data, self._shape[::-1])

    # ---- elementwise

    def _merged(self, other, op):
        """op(self, other) where either stores something; zeros are dropped. op(0, 0) is 0."""
        if self._shape != other._shape:
            raise ValueError(f"inconsistent shapes: {self._shape} and {other._shape}")
        (a, x), (b, y) = self._sorted(), other._sorted()
        keys = _core.concatenate([a, b])
        keys = summed(keys, zeros(len(keys), dtype=bool))[0]
        left, right = zeros(len(keys), dtype=x.dtype), zeros(len(keys), dtype=y.dtype)
        left[found(keys, a)[0]], right[found(keys, b)[0]] = x, y
        data = op(left, right)
        kept = data != 0
        return self._of_keys(keys[kept], data[kept], cls=self._flat())

    def _dense_like(self, dense):
        """A dense result as a sparse array."""
        return self._flat()(dense)

    def _compared(self, other, op):
        """A comparison; of a dense array, and where zeros compare true, it is computed densely."""
        other = ours(other)
        if is_number(other):
            if op(self.dtype.type(0), other):
                return self._dense_like(op(self.toarray(), other))
            keys, data = self._sorted()
            data = op(data, other)
            return self._of_keys(keys[data], data[data], cls=self._flat())
        if not isinstance(other, sparray):
            return op(self.toarray(), asarray(other))
        if self._shape != other._shape:
            raise ValueError(f"inconsistent shapes: {self._shape} and {other._shape}")
        if not op(_np.int8(0), _np.int8(0)):
            return self._merged(other, op)
        return self._dense_like(op(self.toarray(), other.toarray()))

    def __eq__(self, other):
        return self._compared(other, _core.equal)

    def __ne__(self, other):
        return self._compared(other, _core.not_equal)

    def __lt__(self, other):
        return self._compared(other, _core.less)

    def __le__(self, other):
        return self._compared(other, _core.less_equal)

    def __gt__(self, other):
        return self._compared(other, _core.greater)

    def __ge__(self, other):
        return self._compared(other, _core.greater_equal)

    def _added(self, other, op, turned=False):
        """self + other and the like: sparse with sparse, dense with dense; of numbers 0 alone."""
        other = ours(other)
        if isinstance(other, sparray):
            return self._merged(other, op)
        if is_number(other):
            if other == 0:
                return self.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        dense = self.toarray()
        return op(asarray(other), dense) if turned else op(dense, asarray(other))

    def __add__(self, other):
        return self._added(other, _core.add)

    __radd__ = __add__

    def __sub__(self, other):
        return self._added(other, _core.subtract)

    def __rsub__(self, other):
        if is_number(other) and other == 0:
            return -self
        return self._added(other, _core.subtract, True)

    def __neg__(self):
        return self._with_data(-self.data)

    def __abs__(self):
        return self._summed()._with_abs()

    def _with_abs(self):
        return self._with_data(_core.absolute(self.data))

    def _summed(self):
        """This array without elements stored twice."""
        return self

    def multiply(self, other):
        """The elementwise product.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape, or one that broadcasts to it.

        Returns
        -------
        sparse array
            Of the same shape.

        Raises
        ------
        ValueError
            The shapes do not fit.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2]]).multiply([[3, 4]]).toarray()
        array([[3, 8]])
        """
        other = ours(other)
        if is_number(other):
            return self._with_data(self.data * other)
        if isinstance(other, sparray):
            if other._shape == self._shape:
                return self._merged(other, _core.multiply)
            other = other.toarray()
        other = asarray(other)
        shape = _np.broadcast_shapes(self._shape, other.shape)
        if shape != self._shape:
            return self._dense_like(self.toarray() * other)
        keys, data = self._sorted()
        wide = _core.broadcast_to(other, shape).reshape(-1)
        return self._of_keys(keys, data * wide[keys], cls=self._flat())

    def __mul__(self, other):
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = ours(other)
        if is_number(other):
            return self._with_data(self.data / other)
        with errstate(divide="ignore", invalid="ignore"):
            if isinstance(other, sparray):  # 0 / 0 is NaN: the result is dense
                return self.toarray() / other.toarray()
            return self.multiply(1.0 / asarray(other))

    def power(self, n, dtype=None):
        """Every element to a power.

        Parameters
        ----------
        n : number
            The exponent, not 0 (whose result would be dense).
        dtype : dtype, optional
            Of the elements, before.

        Returns
        -------
        sparse array
            In the same format.

        Raises
        ------
        NotImplementedError
            n is no number, or 0.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2]]).power(2).toarray()
        array([[1, 4]])
        """
        if not _np.isscalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the array")
        one = self._summed()
        data = one.data if dtype is None else one.data.astype(data_dtype(dtype))
        return one._with_data(data**n)

    def __pow__(self, n):
        return self.power(n)

    def _extreme(self, other, op):
        other = ours(other)
        if is_number(other):
            if op(self.dtype.type(0), other) != 0:
                return self._dense_like(op(self.toarray(), other))
            one = self._summed()
            return one._with_data(op(one.data, other))
        if isinstance(other, sparray):
            return self._merged(other, op)
        return op(self.toarray(), asarray(other))

    def maximum(self, other):
        """The greater of two elements, each.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape.

        Returns
        -------
        sparse array, or ndarray
            An ndarray where other is dense.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2]]).maximum(sparse.csr_array([[0, 3]])).toarray()
        array([[0, 3]])
        """
        return self._extreme(other, _core.maximum)

    def minimum(self, other):
        """The smaller of two elements, each.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape.

        Returns
        -------
        sparse array, or ndarray
            An ndarray where other is dense.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2]]).minimum(sparse.csr_array([[0, 3]])).toarray()
        array([[-1,  2]])
        """
        return self._extreme(other, _core.minimum)

    # ---- products

    def dot(self, other):
        """The matrix product, as @, and the product with a number.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of shape (n,) or (n, p), for this array's (m, n).

        Returns
        -------
        ndarray or sparse array
            Sparse where other is.

        Raises
        ------
        ValueError
            The shapes do not fit.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 0], [2, 3]]).dot([1, 1])
        array([1, 5])
        """
        return self.multiply(other) if is_number(other) else self @ other

    def __matmul__(self, other):
        other = ours(other)
        if is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if len(self._shape) == 1:
            out = self.reshape(1, -1).asformat("csr") @ other
            if isinstance(out, sparray):
                return out.tocoo().reshape(-1) if len(other._shape) == 2 else out.toarray()[0]
            return out.reshape(-1) if _np.ndim(other) == 2 else out[0]
        csr = self.tocsr()
        if not isinstance(other, sparray):
            return times_dense(csr, other)
        if len(other._shape) == 1:
            return (csr @ other.reshape(-1, 1)).tocoo().reshape(-1)
        if csr.shape[1] != other.shape[0]:
            raise ValueError(
                f"matmul: dimension mismatch with signature: {csr.shape} @ {other.shape}"
            )
        indptr, indices, data = times_sparse(csr, other.tocsr())
        shape = (csr.shape[0], other.shape[1])
        made = self._class("csr")((data, indices, indptr), shape=shape)
        return made.asformat(self._format if self._format in ("csc", "coo") else "csr")

    def __rmatmul__(self, other):
        other = ours(other)
        if is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if isinstance(other, sparray):
            return other @ self
        other = asarray(other)
        turned = self if len(self._shape) == 1 else self.transpose()
        if len(self._shape) == 1:
            return self.reshape(-1, 1).tocsr().T @ other.T
        return (turned @ other.T).T

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

    def __getitem__(self, key):
        from ._slicing import picked

        return picked(self, key)

    # ---- order of stored elements

    def sum_duplicates(self):
        """Adds elements stored twice, and sorts by position, in place.

        Returns
        -------
        None
            The array itself is changed.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> a = sparse.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(1, 2))
        >>> a.sum_duplicates()
        >>> a.nnz
        1
        """
        row, col, data = self._triple()
        keys = keys_of(row, col, self._wide()[1])
        if not self._ordered(keys):
            keys, data = summed(keys, data)
            self._take(self._of_keys(keys, data))

    def _ordered(self, keys):
        """Whether elements lie as sum_duplicates leaves them."""
        return ascends(keys)

    def _take(self, other):
        """This array becomes the other one, of its class."""
        self.__dict__.update(other.__dict__)

    def eliminate_zeros(self):
        """Forgets stored zeros, in place.

        Returns
        -------
        None
            The array itself is changed.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> a = sparse.coo_array(([1, 0], ([0, 0], [0, 1])))
        >>> a.eliminate_zeros()
        >>> a.nnz
        1
        """
        row, col, data = self._triple()
        kept = data != 0
        self._take(type(self)._made(row[kept], col[kept], data[kept], self._shape))


def _host(part):
    """A part of an array for SciPy: asnumpy's as NumPy's, a tuple of these likewise."""
    return tuple(map(_host, part)) if isinstance(part, tuple) else _np.asarray(part)


def _conversion(name, title):
    def convert(self, copy=False):
        return self.asformat(name, copy)

    convert.__name__ = f"to{name}"
    convert.__qualname__ = f"sparray.to{name}"
    convert.__doc__ = f"""The array in {title} format.

        Parameters
        ----------
        copy : bool
            Whether an array in that format already is copied.

        Returns
        -------
        {name}_array or {name}_matrix
            A matrix of a matrix.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2).to{name}().format
        '{name}'
        """
    return convert


for _name, _title in (("csr", "compressed sparse row"), ("csc", "compressed sparse column"),
                      ("coo", "coordinate"), ("dia", "diagonal")):  # fmt: skip
    setattr(sparray, f"to{_name}", _conversion(_name, _title))

# Functions of an element that give 0 of 0, and are methods of sparse arrays.
UNARY = [
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "ceil",
    "conj",
    "conjugate",
    "deg2rad",
    "expm1",
    "floor",
    "imag",
    "log1p",
    "rad2deg",
    "real",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def _unary(name):
    function = getattr(_core, name, None) or getattr(__import__("asnumpy"), name)

    def method(self):
        one = self._summed()
        return one._with_data(function(one.data))

    method.__name__ = name
    method.__qualname__ = f"sparray.{name}"
    method.__doc__ = f"""The function {name} of every element.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array((1, 2)).{name}().nnz
        0
        """
    return method


for _name in UNARY:
    setattr(sparray, _name, _unary(_name))

del _name, _title


def narrow(row, col, shape):
    """Index arrays in the dtype that fits the shape."""
    kind = index_dtype(*shape)
    return asarray(row).astype(kind, copy=False), asarray(col).astype(kind, copy=False)
