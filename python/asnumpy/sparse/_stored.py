"""Stored elements, and what is read off them: facts, conversions, their order.

A format gives `_triple()` (row, column and value of each stored element, as asnumpy arrays) and
`_made(row, col, data, shape)`; everything is made of these, so that a format is right before it is
fast. Arrays of one dimension (COO alone has them) are rows of one here.
"""

import numpy as _np

from .._core import zeros
from ._indices import ascends, data_dtype, keys_of, shape_of, summed


class Stored:
    """Arrays of stored elements; `sparray` is this with arithmetic and reductions."""

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
    setattr(Stored, f"to{_name}", _conversion(_name, _title))

del _name, _title
