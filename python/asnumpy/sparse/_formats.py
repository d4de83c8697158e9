"""The formats: COO, CSR, CSC, BSR, DIA; each as an array and as a matrix.

A class reads its own arguments, gives its stored elements (`_triple`) and is made of others'
(`_made`). Elements stored twice are allowed in COO, CSR and CSC, and mean their sum.
"""

import numpy as _np

from .. import _core
from .._core import arange, argsort, asarray, zeros
from .._joining import atleast_2d
from ._base import sparray
from ._common import narrow, ours
from ._indices import (
    ascends,
    data_dtype,
    found,
    index_dtype,
    keys_of,
    pointers,
    rows_of,
    shape_of,
    summed,
)


class spmatrix(sparray):
    """The class above sparse matrices, of which * is the matrix product.

    ** is the matrix power, and what is taken out of one has two dimensions.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> (sparse.csr_matrix([[1, 2], [0, 1]]) ** 2).toarray()
    array([[1, 4],
           [0, 1]])
    """

    _is_matrix = True

    def __mul__(self, other):
        return self.dot(other)

    def __rmul__(self, other):
        return self.multiply(other) if _np.isscalar(other) else other @ self

    def __pow__(self, n):
        if self._shape[0] != self._shape[1]:
            raise TypeError(f"matrix of shape {self._shape} is not square")
        if not isinstance(n, (int, _np.integer)) or n < 0:
            raise ValueError(f"exponent {n!r}; a whole number >= 0 is allowed")
        out, square = None, self
        while n:
            if n & 1:
                out = square if out is None else out @ square
            n >>= 1
            square = square @ square if n else square
        if out is None:
            i = arange(self._shape[0])
            return type(self)._made(i, i, _core.ones(len(i), dtype=self.dtype), self._shape)
        return out.asformat(self._format)


def _is_shape(arg):
    return (
        isinstance(arg, tuple)
        and len(arg) in (1, 2)
        and all(isinstance(n, (int, _np.integer)) for n in arg)
    )


def _dense(arg, dtype, dims):
    """A dense argument as an array of these dimensions."""
    dense = asarray(arg) if dtype is None else asarray(arg).astype(dtype)
    if dense.ndim < 2 and 1 not in dims:
        if dims == (2,):
            raise ValueError(f"the array has {dense.ndim} dimensions; 2 are allowed")
        dense = dense.reshape(1, -1)
    if dense.ndim > 2:
        raise ValueError(f"the array has {dense.ndim} dimensions; 1 and 2 are allowed")
    return dense


def _numbers(values):
    """An array of indices; TypeError unless they are whole numbers."""
    values = asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise TypeError(f"indices have dtype {values.dtype}; integers are allowed")
    return values.astype(_np.int64, copy=False) if values.dtype != _np.int32 else values


def _values(data, dtype, copy):
    """The elements: a dtype that sparse arrays have, one dimension."""
    data = _core.array(data, copy=True) if copy else asarray(data)
    return data.astype(data_dtype(data.dtype if dtype is None else dtype), copy=False)


def _limits(row, col, shape):
    """ValueError where an index is outside the shape."""
    for what, index, extent in (("row", row, shape[0]), ("column", col, shape[1])):
        if len(index) and (int(index.min()) < 0 or int(index.max()) >= extent):
            raise ValueError(
                f"{what} indices are {int(index.min())} to {int(index.max())}; "
                f"allowed are 0 to {extent - 1}"
            )


class _Format(sparray):
    """Arguments that every format reads: shapes, dense arrays, sparse ones, (data, (row, col))."""

    _dims = (2,)

    def __init__(self, arg1, shape=None, dtype=None, copy=False, *, maxprint=None):
        if dtype is not None:
            dtype = data_dtype(dtype)
        arg1 = ours(arg1)
        if isinstance(arg1, sparray):
            shape = arg1._shape if shape is None else shape
            if tuple(shape) != arg1._shape:
                raise ValueError(f"the array has shape {arg1._shape}; got shape {shape}")
            other = arg1.asformat(self._format, copy)
            self._take(other if dtype is None else other.astype(dtype))
        elif _is_shape(arg1):
            empty = zeros(0, dtype=_np.int32)
            data = zeros(0, dtype=_np.float64 if dtype is None else dtype)
            self._fill(empty, empty, data, shape_of(arg1, self._dims))
        elif isinstance(arg1, tuple):
            self._read(arg1, shape, dtype, copy)
        else:
            dims = self._dims if 1 in self._dims else ((0,) if self._is_matrix else (2,))
            dense = _dense(arg1, dtype, dims)
            if shape is not None and tuple(shape) != dense.shape:
                raise ValueError(f"the array has shape {dense.shape}; got shape {shape}")
            data_dtype(dense.dtype)
            places = _core.nonzero(dense)
            row, col = places if dense.ndim == 2 else (zeros(len(places[0]), dtype=int), *places)
            self._fill(row, col, dense[places], dense.shape)

    def _read(self, arg1, shape, dtype, copy):
        """(data, (row, col)); a format has others besides."""
        try:
            data, places = arg1
            places = [_numbers(p) for p in places]
        except ValueError as error:
            raise TypeError("invalid input format") from error
        data = _values(data, dtype, copy)
        if shape is None:
            if any(not len(p) for p in places):
                raise ValueError("cannot infer dimensions from zero sized index arrays")
            shape = tuple(int(p.max()) + 1 for p in places)
        shape = shape_of(shape, self._dims)
        if (
            len(places) != len(shape)
            or any(p.shape != data.shape for p in places)
            or data.ndim != 1
        ):
            raise ValueError(
                f"data of shape {data.shape} with coordinates of shapes {[p.shape for p in places]} and "
                f"shape {shape}; one array of as many numbers is needed for each axis"
            )
        row, col = places if len(shape) == 2 else (zeros(len(data), dtype=_np.int32), *places)
        _limits(row, col, (1, *shape)[-2:])
        self._fill(row, col, data, shape)

    @classmethod
    def _made(cls, row, col, data, shape):
        made = cls.__new__(cls)
        made._fill(row, col, data, tuple(shape))
        return made


class _Coo(_Format):
    _format, _title, _dims = "coo", "COOrdinate", (1, 2)

    def _fill(self, row, col, data, shape):
        row, col = narrow(row, col, shape)
        self.coords = (row, col) if len(shape) == 2 else (col,)
        self.data, self._shape = data, shape

    @property
    def row(self):
        """The row of every stored element; of one dimension zeros."""
        return self.coords[0] if len(self._shape) == 2 else zeros(len(self.data), dtype=_np.int32)

    @property
    def col(self):
        """The column of every stored element."""
        return self.coords[-1]

    def _triple(self):
        return self.row, self.col, self.data

    def _parts(self):
        return self.data, self.coords

    def _with_data(self, data):
        return type(self)._made(self.row, self.col, data, self._shape)

    def _summed(self):
        made = self.copy()
        made.sum_duplicates()
        return made

    @property
    def has_canonical_format(self):
        """Whether elements are sorted by position and none is stored twice."""
        return ascends(keys_of(self.row, self.col, self._wide()[1]))


class _Compressed(_Format):
    """CSR and CSC: `indices` within lines, which begin at `indptr`."""

    def _fill(self, row, col, data, shape):
        """Sorted by line, then within lines; elements stored twice are added."""
        major, minor = self._along((row, col))
        count, width = self._along(shape)
        keys, data = summed(keys_of(major, minor, max(1, width)), data)
        kind = index_dtype(*shape, len(keys))
        self.indices = (keys % max(1, width)).astype(kind)
        self.indptr = pointers(keys // max(1, width), count, kind)
        self.data, self._shape = data, shape

    def _read(self, arg1, shape, dtype, copy):
        if len(arg1) != 3:
            return super()._read(arg1, shape, dtype, copy)
        data, indices, indptr = arg1
        indices, indptr = _numbers(indices), _numbers(indptr)
        if copy:
            indices, indptr = indices.copy(), indptr.copy()
        self.data = _values(data, dtype, copy)
        if shape is None:
            minor = int(indices.max()) + 1 if len(indices) else 0
            shape = self._along((len(indptr) - 1, minor))
        self._shape = shape_of(shape)
        kind = index_dtype(*self._shape, len(indices))
        self.indices, self.indptr = (
            indices.astype(kind, copy=False),
            indptr.astype(kind, copy=False),
        )
        self.check_format()
        return None

    def check_format(self, full_check=True):
        """Looks whether data, indices and indptr fit together.

        Parameters
        ----------
        full_check : bool
            Whether the numbers are looked at, too.

        Returns
        -------
        None
            They do.

        Raises
        ------
        ValueError
            They do not.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2, format="csr").check_format()
        """
        count, width = self._along(self._shape)
        if self.indptr.ndim != 1 or self.indices.ndim != 1 or self.data.ndim != 1:
            raise ValueError("data, indices, and indptr should be 1-D")
        if len(self.indptr) != count + 1:
            raise ValueError(f"index pointer size {len(self.indptr)} should be {count + 1}")
        if int(self.indptr[0]) != 0:
            raise ValueError("index pointer should start with 0")
        if len(self.indices) != len(self.data):
            raise ValueError(
                f"indices and data should have the same size: {len(self.indices)}, {len(self.data)}"
            )
        if int(self.indptr[-1]) != len(self.indices):
            raise ValueError(
                f"the last value of index pointer is {int(self.indptr[-1])}; it should be the size of "
                f"index and data arrays, {len(self.indices)}"
            )
        if not full_check or not len(self.indices):
            return
        least, most = int(self.indices.min()), int(self.indices.max())
        if least < 0 or most >= width:
            raise ValueError(f"indices are {least} to {most}; allowed are 0 to {width - 1}")
        if bool(_core.any(self.indptr[1:] < self.indptr[:-1])):
            raise ValueError("index pointer values must form a non-decreasing sequence")

    @property
    def nnz(self):
        """The number of stored elements, zeros among them."""
        return len(self.data)

    def _triple(self):
        row, col = self._along((rows_of(self.indptr), self.indices))
        return row, col, self.data

    def _parts(self):
        return self.data, self.indices, self.indptr

    def _with(self, data, indices, indptr, shape, cls=None):
        cls = cls or type(self)
        made = cls.__new__(cls)
        made.data, made.indices, made.indptr, made._shape = data, indices, indptr, shape
        return made

    def _with_data(self, data):
        return self._with(data, self.indices, self.indptr, self._shape)

    def _keys(self):
        width = max(1, self._along(self._shape)[1])
        return keys_of(rows_of(self.indptr), self.indices, width)

    def _ordered(self, keys):
        return ascends(self._keys())

    def _summed(self):
        return self if self._ordered(None) else type(self)._made(*self._triple(), self._shape)

    def copy(self):
        """A copy that shares no memory.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2, format="csr").copy().nnz
        2
        """
        return self._with(self.data.copy(), self.indices.copy(), self.indptr.copy(), self._shape)

    def _turned(self, copy):
        data, indices, indptr = (x.copy() if copy else x for x in self._parts())
        other = self._class("csc" if self._format == "csr" else "csr")
        return self._with(data, indices, indptr, self._shape[::-1], other)

    @property
    def has_sorted_indices(self):
        """Whether indices ascend within lines; equal ones may follow each other."""
        keys = self._keys()
        return len(keys) < 2 or bool(_core.all(keys[1:] >= keys[:-1]))

    @property
    def has_canonical_format(self):
        """Whether indices ascend within lines and none is there twice."""
        return ascends(self._keys())

    def sort_indices(self):
        """Sorts indices within lines, in place; equal ones stay.

        Returns
        -------
        None
            The array itself is changed.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> a = sparse.csr_array(([1, 2], [1, 0], [0, 2]))
        >>> a.sort_indices()
        >>> a.indices
        array([0, 1], dtype=int32)
        """
        order = argsort(self._keys(), kind="stable")
        self.data, self.indices = self.data[order], self.indices[order]

    def sorted_indices(self):
        """A copy whose indices ascend within lines.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array(([1, 2], [1, 0], [0, 2])).sorted_indices().data
        array([2, 1])
        """
        made = self.copy()
        made.sort_indices()
        return made


class _Csr(_Compressed):
    _format, _title = "csr", "Compressed Sparse Row"

    def _along(self, pair):
        return pair


class _Csc(_Compressed):
    _format, _title = "csc", "Compressed Sparse Column"

    def _along(self, pair):
        return pair[::-1]


class _Bsr(_Format):
    """Blocks of R x C: data (blocks, R, C), their columns `indices`, rows of blocks begin at `indptr`."""

    _format, _title = "bsr", "Block Sparse Row"

    def __init__(self, arg1, shape=None, dtype=None, copy=False, blocksize=None, *, maxprint=None):
        self._wanted = blocksize
        super().__init__(arg1, shape, dtype, copy)
        wanted = self.__dict__.pop("_wanted", None)
        if wanted is not None and tuple(wanted) != self.blocksize:
            self._fill(*self._triple(), self._shape, wanted)

    def _fill(self, row, col, data, shape, blocksize=None):
        blocksize = blocksize or self.__dict__.get("_wanted") or (1, 1)
        r, c = map(int, blocksize)
        if r < 1 or c < 1 or shape[0] % r or shape[1] % c:
            raise ValueError(f"blocksize {blocksize} does not divide the shape {shape}")
        keys, data = summed(keys_of(row, col, max(1, shape[1])), data)
        row, col = keys // max(1, shape[1]), keys % max(1, shape[1])
        width = max(1, shape[1] // c)
        blocks = keys_of(row // r, col // c, width)
        held = summed(blocks, zeros(len(blocks), dtype=bool))[0]
        kind = index_dtype(*shape, len(held))
        self.data = zeros((len(held), r, c), dtype=data.dtype)
        self.data[found(held, blocks)[0], row % r, col % c] = data
        self.indices = (held % width).astype(kind)
        self.indptr = pointers(held // width, shape[0] // r, kind)
        self._shape = tuple(shape)

    def _read(self, arg1, shape, dtype, copy):
        if len(arg1) != 3:
            return super()._read(arg1, shape, dtype, copy)
        data = _values(arg1[0], dtype, copy)
        indices, indptr = _numbers(arg1[1]), _numbers(arg1[2])
        if data.ndim != 3 or len(data) != len(indices) or int(indptr[-1]) != len(indices):
            raise ValueError(
                f"data of shape {data.shape}, {len(indices)} indices, {int(indptr[-1])} in index pointer; "
                "allowed is data of shape (blocks, R, C) with as many indices"
            )
        r, c = data.shape[1:]
        if shape is None:
            shape = ((len(indptr) - 1) * r, (int(indices.max()) + 1) * c if len(indices) else 0)
        shape = shape_of(shape)
        if (len(indptr) - 1) * r != shape[0] or shape[1] % c:
            raise ValueError(f"blocks of ({r}, {c}) in {len(indptr) - 1} rows do not make {shape}")
        _limits(zeros(0), indices, (0, shape[1] // c))
        self.data, self.indices, self.indptr, self._shape = data, indices, indptr, shape
        return None

    @property
    def blocksize(self):
        """Rows and columns of a block."""
        return self.data.shape[1:]

    @property
    def nnz(self):
        """The number of elements of all blocks."""
        return self.data.size

    def _triple(self):
        r, c = self.blocksize
        top = rows_of(self.indptr).astype(_np.int64) * r
        left = self.indices.astype(_np.int64) * c
        row = top[:, None, None] + arange(r)[None, :, None]
        col = left[:, None, None] + arange(c)[None, None, :]
        shape = self.data.shape
        return (
            _core.broadcast_to(row, shape).reshape(-1),
            _core.broadcast_to(col, shape).reshape(-1),
            self.data.reshape(-1),
        )

    def _parts(self):
        return self.data, self.indices, self.indptr

    def _with_data(self, data):
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, data=data)
        return made

    def copy(self):
        """A copy that shares no memory.

        Returns
        -------
        sparse array
            With blocks of the same size.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2, format="bsr").copy().blocksize
        (1, 1)
        """
        made = self._with_data(self.data.copy())
        made.indices, made.indptr = self.indices.copy(), self.indptr.copy()
        return made

    def eliminate_zeros(self):
        """Forgets blocks of zeros, in place.

        Returns
        -------
        None
            The array itself is changed.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> a = sparse.bsr_array(([[[0]], [[1]]], [0, 1], [0, 2]))
        >>> a.eliminate_zeros()
        >>> a.nnz
        1
        """
        row, col, data = self._triple()
        kept = data != 0
        self._fill(row[kept], col[kept], data[kept], self._shape, self.blocksize)

    def _summed(self):
        made = self.copy()
        made._fill(*self._triple(), self._shape, self.blocksize)
        return made

    def _turned(self, copy):
        made = type(self).__new__(type(self))
        row, col, data = self._triple()
        made._fill(col, row, data, self._shape[::-1], self.blocksize[::-1])
        return made


class _Dia(_Format):
    """Diagonals: data[k, j] is the element in column j of diagonal offsets[k]."""

    _format, _title = "dia", "DIAgonal"

    def _fill(self, row, col, data, shape):
        keys, data = summed(keys_of(row, col, max(1, shape[1])), data)
        row, col = keys // max(1, shape[1]), keys % max(1, shape[1])
        offsets = _core.unique(col - row)
        width = int(col.max()) + 1 if len(col) else 0
        self.data = zeros((len(offsets), width), dtype=data.dtype)
        self.data[found(offsets, col - row)[0], col] = data
        self.offsets, self._shape = offsets.astype(index_dtype(*shape)), tuple(shape)

    def _read(self, arg1, shape, dtype, copy):
        data, offsets = arg1
        if isinstance(offsets, tuple):
            return super()._read(arg1, shape, dtype, copy)
        if shape is None:
            raise ValueError("expected a shape argument")
        data, offsets = atleast_2d(_values(data, dtype, copy)), _numbers(offsets).reshape(-1)
        shape = shape_of(shape)
        if data.ndim != 2 or len(data) != len(offsets):
            raise ValueError(
                f"number of diagonals ({len(data)}) does not match the number of offsets ({len(offsets)})"
            )
        if len(_core.unique(offsets)) != len(offsets):
            raise ValueError("offset array contains duplicate values")
        self.data, self.offsets, self._shape = data, offsets.astype(index_dtype(*shape)), shape
        return None

    def _triple(self):
        col = _core.broadcast_to(arange(self.data.shape[1])[None, :], self.data.shape)
        row = col - self.offsets.astype(_np.int64)[:, None]
        inside = (row >= 0) & (row < self._shape[0]) & (col < self._shape[1]) & (self.data != 0)
        return row[inside], col[inside], self.data[inside]

    @property
    def nnz(self):
        """The number of elements of all diagonals that lie in the array."""
        m, n = self._shape
        ends = [
            max(0, min(m + k, n, self.data.shape[1]) - max(k, 0)) for k in self.offsets.tolist()
        ]
        return sum(ends)

    def _parts(self):
        return self.data, self.offsets

    def _with_data(self, data):
        made = type(self).__new__(type(self))
        made.data, made.offsets, made._shape = data, self.offsets, self._shape
        return made

    def copy(self):
        """A copy that shares no memory.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.eye_array(2).copy().offsets
        array([0], dtype=int32)
        """
        made = self._with_data(self.data.copy())
        made.offsets = self.offsets.copy()
        return made


def _tobsr(self, blocksize=None, copy=False):
    """The array in block sparse row format.

    Parameters
    ----------
    blocksize : tuple of int, optional
        Rows and columns of a block, which divide the shape; by default (1, 1).
    copy : bool
        Whether an array in that format already is copied.

    Returns
    -------
    bsr_array or bsr_matrix
        A matrix of a matrix.

    Raises
    ------
    ValueError
        Blocks do not divide the shape.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.eye_array(4).tobsr((2, 2)).data.shape
    (2, 2, 2)
    """
    if self._format == "bsr" and blocksize in (None, self.blocksize):
        return self.copy() if copy else self
    made = self._class("bsr").__new__(self._class("bsr"))
    made._fill(*self._triple(), self._shape, blocksize)
    return made


_tobsr.__name__, _tobsr.__qualname__ = "tobsr", "sparray.tobsr"
sparray.tobsr = _tobsr

_ARGUMENTS = {
    "csr": "(data, indices, indptr), of which row i has indices[indptr[i] : indptr[i + 1]]",
    "csc": "(data, indices, indptr), of which column j has indices[indptr[j] : indptr[j + 1]]",
    "coo": "(data, (column,)) with one dimension",
    "bsr": "(data, indices, indptr), with data of shape (blocks, R, C)",
    "dia": "(data, offsets), of which data[k, j] is the element in column j of diagonal offsets[k]",
}
_TEXT = """A sparse {kind} in {title} format.

    Parameters
    ----------
    arg1 : array_like, sparse array, tuple
        Elements; a shape (m, n), which stores none; (data, (row, col)), of which those in one place are
        added; {arguments}.
    shape : tuple of int, optional
        The extents, where they do not follow.
    dtype : dtype, optional
        Of the elements: bool, integers, float32, float64, complex64, complex128.
    copy : bool
        Whether arrays are copied.{more}
    maxprint : None
        For SciPy's signature.

    Raises
    ------
    ValueError
        Parts do not fit together, an index is outside, or there is no such dtype here.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.{name}([[0, 1], [2, 0]]).toarray()
    array([[0, 1],
           [2, 0]])
    """


def _classes():
    """{name: class}: csr_array and csr_matrix, ..."""
    made = {}
    for base in (_Bsr, _Coo, _Csc, _Csr, _Dia):
        for kind, bases in (("array", (base,)), ("matrix", (spmatrix, base))):
            name = f"{base._format}_{kind}"
            more = "\n    blocksize : tuple of int, optional\n        Rows and columns of a block."
            text = _TEXT.format(kind=kind, title=base._title, name=name, arguments=_ARGUMENTS[base._format],
                                more=more if base is _Bsr else "")  # fmt: skip
            own = {"__doc__": text, "__module__": "asnumpy.sparse", "_dims": base._dims}
            if kind == "matrix":
                own["_dims"] = (2,)
            made[name] = type(name, bases, own)
    return made


globals().update(_classes())


def from_scipy(x):
    """One of SciPy's sparse arrays in the same format; in COO where there is no such format here."""
    name = type(x).__name__
    if name not in globals():
        x, name = x.tocoo(), "coo_matrix" if name.endswith("matrix") else "coo_array"
    made = globals()[name].__new__(globals()[name])
    parts = {
        "csr": "indices indptr",
        "csc": "indices indptr",
        "bsr": "indices indptr",
        "dia": "offsets",
    }
    for part in ["data", *parts.get(x.format, "").split()]:
        setattr(made, part, asarray(getattr(x, part)))
    if x.format == "coo":
        if x.ndim > 2:
            raise ValueError(f"the array has {x.ndim} dimensions; 1 and 2 are allowed")
        made.coords = tuple(asarray(c) for c in x.coords)
    data_dtype(made.data.dtype)
    made._shape = tuple(map(int, x.shape))
    return made
