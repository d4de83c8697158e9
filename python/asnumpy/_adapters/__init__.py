"""Libraries that insist on numpy.ndarray are handed one, over the same memory.

Most libraries ask an object for its array (__array__, buffers, DLPack, the array API) and need
nothing from here. Some ask for NumPy's own class instead: compiled code that reads its structure,
or isinstance(x, numpy.ndarray). Our arrays cannot be of that class, since what reads its structure
would read values that are not computed yet. So the functions of such a library that take arrays are
replaced, once the library is imported, by functions that hand it NumPy's arrays over ours
(_host_arguments.py), and a library that lets others register their arrays gets ours registered
(_einops.py, _jax.py, _numba.py); SciPy's spawning of generators (_scipy.py).

One row per library: the functions and methods that need it. A library is looked at when it is
imported, never imported from here. ASNUMPY_ADAPT=0 leaves all libraries as they are.
"""

import importlib
import os
import warnings

from ._after_import import after_import

_NAMES = "add sub mul truediv floordiv mod pow and or xor"
_COMPARED = "eq ne lt le gt ge"
_OPERATORS = " ".join(
    [f"__{name}__ __r{name}__" for name in _NAMES.split()]
    + [f"__{name}__" for name in _COMPARED.split()]
)

# A module -> its functions' and classes' owners -> the names that take arrays; "*": every function.
# Not wrapped: what looks at the references or the frame of its caller (pandas' __setitem__, query).
NAMES = {
    "pandas": {
        "pandas": "unique factorize cut qcut merge crosstab get_dummies",
        "pandas.core.common": "apply_if_callable",  # every key of [], loc, where, mask comes by here
        "pandas.core.arraylike.OpsMixin": _OPERATORS,  # of series, frames and indexes
        "pandas.DataFrame": "groupby merge set_index drop pivot_table isin",
        "pandas.Series": "groupby isin searchsorted drop",
        "pandas.core.indexes.datetimelike.DatetimeTimedeltaMixin": "__getitem__",
        "pandas.Index": "__getitem__ isin get_indexer searchsorted union intersection difference",
        "pandas.core.indexing._LocationIndexer": "__getitem__",
        "pandas.core.indexing._iLocIndexer": "_setitem_with_indexer",
    },
    "cv2": {"cv2": "*"},
    "polars": {
        "polars": "from_numpy lit",
        "polars.Series": "__init__ __getitem__ __setitem__ filter is_in search_sorted gather "
        f"scatter {_OPERATORS}",
        "polars.DataFrame": "__init__ __getitem__ __setitem__ filter with_columns",
        "polars.Expr": f"is_in filter {_OPERATORS}",
    },
    "h5py": {"h5py.Dataset": "read_direct write_direct"},
    "pyarrow": {"pyarrow": "array chunked_array table record_batch"},
    "pyarrow.compute": {"pyarrow.compute": "*"},
    # f2py takes what it converts for its own, and overwrites it
    "scipy.linalg.blas": {"scipy.linalg.blas": "*"},
    "scipy.linalg.lapack": {"scipy.linalg.lapack": "*"},
    "scipy.sparse.linalg._interface": {"scipy.sparse.linalg._interface": "aslinearoperator"},
    "sklearn.model_selection": {"sklearn.model_selection.ParameterGrid": "__init__"},
    "torch": {"torch": "from_numpy asarray"},
}
# A module -> ours, which registers our arrays with it.
_REGISTERED = {
    "dask.array": "_dask",
    "distributed": "_distributed",
    "einops": "_einops",
    "jax": "_jax",
    "numba": "_numba",
    "scipy._lib._util": "_scipy",
    "torch.utils.data": "_torch_data",
}


def adapt(library):
    """Adapts a library that is imported; one that cannot be is told of, and works without."""
    try:
        _adapt(library)
    except Exception as error:
        message = f"asnumpy's arrays are not known to {library}: {type(error).__name__}: {error}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _adapt(library):
    if library in _REGISTERED:
        importlib.import_module(f".{_REGISTERED[library]}", __name__)
        return
    from ._host_arguments import wrap

    for where, names in NAMES[library].items():
        wrap(where, names.split())


def install():
    """Adapts the libraries of this package's table, each when it is imported."""
    if os.environ.get("ASNUMPY_ADAPT") != "0":
        after_import((*NAMES, *_REGISTERED), adapt)
