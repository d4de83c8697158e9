"""Helpers that the C extension calls: printing, pickling, dtypes of the host, NEP 18; it finds here, too, what
other files have for it (rarely used methods, signatures).

Everything here is off the hot paths; what a loop calls per element or per small array is in C.
"""

import copyreg
import functools
import inspect
import pickle

import numpy as _np

from . import _core
from ._array_methods import (  # noqa: F401  (the extension calls them)
    astype_same_value,
    byteswap,
    choose,
    compress,
    isscalar,
    pad,
    pad_widths,
    put,
    round_scaled,
)
from ._asked import asked_mean, asked_var  # noqa: F401  (the extension calls them)
from ._flat import flat_assign, flat_key  # noqa: F401  (the extension calls them)
from ._host_values import host_copy
from ._signature_texts import signature  # noqa: F401  (the extension calls it)

# ---- printing: NumPy's formatter on host data


def subclass_repr_of(a):
    return repr(a.to_numpy().view(_named_subclass(type(a).__name__)))


@functools.cache
def _named_subclass(name):
    """A NumPy subclass of that name: repr prints the class's name."""
    return type(name, (_np.ndarray,), {})


def repr_html(a):
    """What a notebook shows of an array, or None."""
    from ._html import shown

    return shown(a)


def repr_mimebundle(a):
    """The same by kinds of text; the others are made as of any object."""
    text = repr_html(a)
    return {} if text is None else {"text/html": text}


def acl_tensor(array):
    """An aclTensor of the program's own."""
    from ._custom._acl_tensor import AclTensor

    return AclTensor(array)


# ---- pickling


def _reconstruct(cls, host):
    a = _core.from_numpy(host)
    return a if cls is _core.ndarray else a.view(cls)


_as_numpy = False
on_override = None  # who calls other types' overrides, with (method, arguments, keywords)
is_librarys = None  # who says whether an operand is a library's object


def as_numpy(on, override=None, of_library=None):
    """Whether arrays pickle as NumPy's, and the class says that it is NumPy's; who calls __array_ufunc__
    and __array_function__ of other types, and who says which objects are a library's (asnumpy.auto)."""
    global _as_numpy, on_override, is_librarys
    _as_numpy, on_override, is_librarys = on, override, of_library
    _core._on_override(override)
    for cls in (_core.ndarray, _core.ufunc):
        cls.__module__ = "numpy" if on else "asnumpy"
    if on:
        copyreg.pickle(_core.ufunc, _as_numpys_ufunc)
        _core.ufunc.__copy__ = _core.ufunc.__deepcopy__ = _itself
    elif copyreg.dispatch_table.pop(_core.ufunc, None) is not None:
        del _core.ufunc.__copy__, _core.ufunc.__deepcopy__


def _as_numpys_ufunc(ufunc):
    """How a ufunc pickles where arrays pickle as NumPy's."""
    import pkgutil  # half a millisecond, which few need

    return pkgutil.resolve_name, (f"numpy:{ufunc.__name__}",)


def _itself(ufunc, memo=None):
    """The copy of a ufunc, which would be NumPy's by the above."""
    return ufunc


def reduce(a):
    if _as_numpy and type(a) is _core.ndarray:
        return a.to_numpy().__reduce__()
    state = getattr(a, "__dict__", None) or None
    return (
        (_reconstruct, (type(a), a.to_numpy()), state)
        if state
        else (
            _reconstruct,
            (type(a), a.to_numpy()),
        )
    )


def _from_buffer(buffer, dtype, shape, axes):
    """The array of that shape whose axes lie in memory in the order `axes`, outermost first."""
    flat = _core.frombuffer(buffer, dtype=dtype)
    return flat.reshape([shape[d] for d in axes]).transpose(
        [axes.index(d) for d in range(len(axes))]
    )


def reduce_to_buffer(a):
    """The elements as a buffer that the stream may refer to; those of an array with gaps as bytes in it."""
    if _as_numpy:
        return a.to_numpy().__reduce_ex__(5)
    axes = list(range(a.ndim))
    if not a.flags.c_contiguous:
        axes.sort(key=lambda d: -a.strides[d])
    elements = a.transpose(axes)
    if elements.flags.c_contiguous:
        return _from_buffer, (pickle.PickleBuffer(elements), a.dtype, a.shape, axes)
    return _from_buffer, (bytearray(a.tobytes()), a.dtype, a.shape, list(range(a.ndim)))


def setstate(a, state):
    """A state made by __reduce__ of a subclass with attributes."""
    a.__dict__.update(state)


def dumps(a):
    return pickle.dumps(a)


def dump(a, file):
    if hasattr(file, "write"):
        pickle.dump(a, file)
    else:
        with open(file, "wb") as stream:
            pickle.dump(a, stream)


# ---- dtypes that the device lacks


def host_items(items, inside=()):
    """A sequence with what __array__ of its items gives, as NumPy arrays; each is called once."""
    if type(items) in (list, tuple):
        if any(items is x for x in inside):
            return items
        return [host_items(x, (*inside, items)) for x in items]
    method = getattr(type(items), "__array__", None)
    if method is None or isinstance(items, (_core.ndarray, _np.ndarray, _np.generic)):
        return items
    given = method(items)
    if given is NotImplemented or isinstance(given, _np.ndarray):
        return items if given is NotImplemented else given
    if not _core._is_array(given):
        raise ValueError("object __array__ method not producing an array")
    return _np.asarray(given)


def _device(x):
    """x with every NumPy array of a dtype that the device has as a device array."""
    if type(x) is _np.ndarray and x.dtype.isnative:
        try:
            return _core.asarray(x) if _core_dtype(x.dtype) else x
        except _core.HostDtypeError:
            return x
    if isinstance(x, tuple):
        made = map(_device, x)
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if type(x) is list:
        return list(map(_device, x))
    return x


@functools.cache
def _core_dtype(dtype):
    return dtype.kind in "?biufc" and dtype.name in _DEVICE_DTYPES


_DEVICE_DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
     "float32", "float64", "complex64", "complex128"]
)  # fmt: skip


def ufunc_on_host(args, kwargs):
    """NumPy's part of __array_ufunc__ for a ufunc that is none of ours; out= is written."""
    ufunc, method, *inputs = args
    out = kwargs.pop("out", ())
    if out:
        kwargs["out"] = tuple(map(host_copy, out))
    result = _device(getattr(ufunc, method)(*map(host_copy, inputs), **host_copy(kwargs)))
    return _written(out, kwargs["out"], result) if out else result


def _written(out, host, result):
    """What a call with out= returns, after arrays on the device got what their copies hold."""
    for mine, theirs in zip(out, host, strict=True):
        if _core._is_array(mine):
            _core.copyto(mine, theirs, casting="unsafe")
    if len(out) == 1 and out[0] is not None:
        return out[0]
    if len(out) == 1:
        return result
    return tuple(r if o is None else o for o, r in zip(out, result, strict=True))


@functools.cache
def _place(callable):
    """Where NumPy's function of the same name as one of ours is, (object, name)."""
    found, name = _np, callable.__name__
    for part in getattr(callable, "__module__", "").split(".")[1:]:
        if not part.startswith("_"):
            found = getattr(found, part, None)
    return None if name.startswith("_") else found, name


def _numpys(callable):
    """NumPy's function of the same name, or None."""
    if isinstance(callable, str):  # a method or attribute, by its name
        found = getattr(_np.ndarray, callable)
        return found if isinstance(found, type(_np.ndarray.sum)) else found.__get__
    if isinstance(callable, _core.ufunc):
        return getattr(_np, callable.__name__, None)
    owner = getattr(callable, "__self__", None)
    if isinstance(owner, _core.ufunc):
        return getattr(getattr(_np, owner.__name__, None), callable.__name__, None)
    return getattr(*_place(callable), None)


# Functions that leave the work to a method of that name where a class brings one of its own, and the
# parameters that NumPy then passes on even when they were not given: by position, and by name.
_OWN_METHODS = dict.fromkeys(("all", "any", "max", "min", "prod", "sum"), ((), ("axis", "out")))
_OWN_METHODS |= {
    "mean": ((), ("axis", "dtype", "out")), "std": ((), ("axis", "dtype", "out", "ddof")),
    "var": ((), ("axis", "dtype", "out", "ddof")), "squeeze": ((), ()),
}  # fmt: skip
# These do it themselves where that method refuses the arguments, with a TypeError.
_OWN_METHODS_OR_ELSE = {
    "argmax": ((), ("axis", "out")), "argmin": ((), ("axis", "out")),
    "argpartition": (("kth",), ("axis", "kind", "order")),
    "argsort": ((), ("axis", "kind", "order", "stable")),
    "choose": (("choices",), ("out", "mode")), "clip": (("a_min", "a_max"), ("out",)),
    "cumprod": ((), ("axis", "dtype", "out")), "cumsum": ((), ("axis", "dtype", "out")),
    "nonzero": ((), ()), "repeat": (("repeats",), ("axis",)), "reshape": (("shape",), ("order",)),
    "round": ((), ("decimals", "out")), "searchsorted": (("v",), ("side", "sorter")),
    "swapaxes": (("axis1", "axis2"), ()), "take": (("indices",), ("axis", "out", "mode")),
    "transpose": (("axes",), ()),
}  # fmt: skip
_METHOD_OF = {"amax": "max", "amin": "min", "around": "round"}


def own_method(function, args, kwargs):
    """What x.sum(...) gives for sum(x, ...), where x's class is not ours and has a method of its own (a
    data frame, a sparse matrix, a subclass); NotImplemented where it has none."""
    name = _METHOD_OF.get(function.__name__, function.__name__)
    or_else = name in _OWN_METHODS_OR_ELSE
    passed = (_OWN_METHODS_OR_ELSE if or_else else _OWN_METHODS).get(name)
    method = getattr(type(args[0]), name, None) if passed else None
    if method is None or method in (getattr(_core.ndarray, name), getattr(_np.ndarray, name)):
        return NotImplemented
    positions, names = passed
    if name == "clip" and len(args) == 1 and not {"a_min", "a_max"} & set(kwargs):
        kwargs = dict(kwargs)
        kwargs["a_min"], kwargs["a_max"] = kwargs.pop("min", None), kwargs.pop("max", None)
    elif name == "clip" and {"min", "max"} & set(kwargs):
        return NotImplemented
    parameters = inspect.signature(function).parameters
    given = {k: parameters[k].default for k in (*positions, *names)}
    given.update(zip(list(parameters)[1:], args[1:], strict=False), **kwargs)
    places = [given.pop(k) for k in positions]
    if any(x is inspect.Parameter.empty or x is _np._NoValue for x in places):
        return NotImplemented  # the function's own error names what is missing
    given = {k: v for k, v in given.items() if v is not _np._NoValue}
    try:
        return method(args[0], *places, **given)
    except TypeError:
        if or_else:
            return NotImplemented
        raise


def override_refused(ufunc, method, inputs, kwargs):
    """The message for a call that every __array_ufunc__ of its operands refused."""
    given = ", ".join([*map(repr, inputs), *(f"{k}={v!r}" for k, v in kwargs.items())])
    outputs = [x for x in kwargs.get("out", ()) if x is not None]
    names = ", ".join(repr(type(x).__name__) for x in (*inputs, *outputs))
    return (
        "operand type(s) all returned NotImplemented from "
        f"__array_ufunc__({ufunc!r}, {method!r}, {given}): {names}"
    )


def _is_our_own(error, given):
    """Whether an error of a call is one of this package's, not of the user's code that it called (which
    would then be called twice), and the arguments are such as can be read again."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "asnumpy":
            return False
        trace = trace.tb_next
    return not any(hasattr(type(x), "__next__") for x in given)


def _forget(error, refused):
    """NumPy's error stands for ours, which is no part of how it came about."""
    while refused.__context__ is not None and refused.__context__ is not error:
        refused = refused.__context__
    refused.__context__ = None


# Where methods that answer on the host take out= by position, self counted.
_OUT_AT = {"cumprod": 3, "cumsum": 3, "dot": 2, "mean": 3, "prod": 3, "std": 3, "sum": 3, "trace": 5,
           "var": 3}  # fmt: skip

# Functions and methods that write into their first argument.
_WRITE_FIRST = frozenset(
    ["at", "copyto", "fill", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]
)


def _first(args, kwargs):
    """The first argument of a function of _WRITE_FIRST, in a sequence."""
    return args[:1] or [kwargs[name] for name in ("a", "arr", "dst") if name in kwargs]


def on_host(callable, args, kwargs, error=None):
    """A call that met a dtype that the device lacks (text, dates, objects, records, long double, another
    byte order), made again by NumPy on copies, whose writes come back; or which we refused with this error.
    NotImplemented: NumPy cannot, outputs are more than there are, or the error is not ours."""
    if error is not None and not _is_our_own(error, (*args, *kwargs.values())):
        return NotImplemented
    function = _numpys(callable)
    if function is None:
        return NotImplemented
    if isinstance(callable, _core.ufunc) and len(args) > callable.nin:
        into = args[callable.nin :]
        if "out" in kwargs or len(into) > callable.nout:
            return NotImplemented
        args = args[: callable.nin]
        kwargs = {**kwargs, "out": (*into, *(None,) * (callable.nout - len(into)))}
    if isinstance(callable, str) and len(args) > (at := _OUT_AT.get(callable, len(args))):
        if len(args) > at + 1:
            return NotImplemented
        args, kwargs = args[:at], {**kwargs, "out": args[at]}
    out = kwargs.get("out")
    written = getattr(function, "__name__", None) in _WRITE_FIRST
    first = _first(args, kwargs) if written else ()
    if kwargs:
        kwargs = {k: host_copy(v) for k, v in kwargs.items() if k not in ("device", "like")}
    # Arrays in lists that array() reads stay themselves: they may become elements of an object array.
    nested = function in (_np.array, _np.asarray, _np.asanyarray) and not _core._is_array(args[0])
    host = args if nested else [host_copy(x) for x in args]
    try:
        result = _device(function(*host, **kwargs))
    except Exception as refused:  # who made the call looks for NumPy's frames, not for this one
        refused.__traceback__ = refused.__traceback__.tb_next
        _forget(error, refused)
        raise
    if written:
        _written(first, _first(host, kwargs), None)
        return result
    if out is None:
        return result
    tuples = isinstance(out, tuple)
    return _written(*((out, kwargs["out"]) if tuples else ((out,), (kwargs["out"],))), result)


# By their names: importing both modules would cost a first call 2 ms.
_NUMBERS_OF_THE_HOST = {("fractions", "Fraction"), ("decimal", "Decimal")}


@functools.cache
def _stays(cls):
    """Whether arguments of a type stay on the host: True, False, or None where their dtype says.

    They do where the type brings rules of its own for NumPy's functions (masked arrays, matrices,
    objects with __array_function__) and where it is a number that the device lacks.
    """
    if _core.ndarray in cls.__mro__:
        return False
    if issubclass(cls, (_np.ndarray, _np.generic)):
        return None if issubclass(cls, (_np.memmap, _np.generic)) or cls is _np.ndarray else True
    return hasattr(cls, "__array_function__") or any(
        (base.__module__, base.__name__) in _NUMBERS_OF_THE_HOST for base in cls.__mro__
    )


def _meets_host_data(x):
    if isinstance(x, (list, tuple)):
        return bool(x) and _meets_host_data(x[0])
    stays = _stays(type(x))
    return not (_core_dtype(x.dtype) and x.dtype.isnative) if stays is None else stays


# Types that neither stay on the host nor have an __array_function__ of their own.
_PLAIN = frozenset([_core.ndarray, int, float, complex, bool, str, slice, type(None), type])

# Functions whose result has the class of their first argument that is of a subclass, and those
# whose scalars stay scalars.
_KEEPS_CLASS = frozenset(
    ["average", "correlate", "delete", "diagflat", "diff", "ediff1d", "fix",
     "gradient", "i0", "imag", "insert", "median", "nan_to_num", "nancumprod", "nancumsum", "nanmax",
     "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "polyadd", "polysub",
     "ptp", "real", "trapezoid"]
)  # fmt: skip
_KEEPS_CLASS_OF_ARRAYS = frozenset(
    ["nanargmax", "nanargmin", "nanpercentile", "nanquantile", "percentile", "quantile"]
)


def as_class(result, parent, scalars=True):
    """A result, or the first of a tuple of them, by an argument's __array_wrap__ where that is of a
    subclass. scalars: NumPy scalars too."""
    if isinstance(result, tuple) and result:
        return (as_class(result[0], parent, scalars), *result[1:])
    plain = type(result) is _core.ndarray or (scalars and isinstance(result, _np.generic))
    if not plain or type(parent) is _core.ndarray or not _core._is_array(parent):
        return result
    return parent.__array_wrap__(_core.asarray(result))


def hosted(function):
    """A function written in Python that leaves to others what is theirs: arguments with an
    __array_function__ to that, data that the device lacks to NumPy."""
    code = inspect.unwrap(function).__code__
    takes_like = "like" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def elsewhere(unusual, args, kwargs):
        """What others make of the call; NotImplemented: nothing."""
        if _asks_arguments(public) and _overriding(args, kwargs):
            return override_function(public, args, kwargs)
        if any(map(_meets_host_data, unusual)):
            return on_host(public, args, kwargs)
        return NotImplemented

    @functools.wraps(function)
    def call(*args, **kwargs):
        if takes_like and _like_overrides(kwargs):
            return override_function(public, args, kwargs)
        given = (*args, *kwargs.values()) if kwargs else args
        unusual = [x for x in given if type(x) not in _PLAIN]
        if unusual:
            result = elsewhere(unusual, args, kwargs)
            if result is not NotImplemented:
                return result
        try:
            result = function(*args, **kwargs)
        except (TypeError, NotImplementedError) as error:
            if isinstance(error, _core.HostDtypeError):
                result = on_host(public, args, kwargs)
            else:
                result = on_host(public, args, kwargs, error) if _as_numpy else NotImplemented
            if result is NotImplemented:
                raise
            return result
        name = public.__name__
        if unusual and (name in _KEEPS_CLASS or name in _KEEPS_CLASS_OF_ARRAYS):
            parent = next((x for x in unusual if _core._is_array(x)), None)
            return as_class(result, parent, name in _KEEPS_CLASS)
        return result

    call._implementation = function
    public = functools.update_wrapper(_core._composed(function, call, takes_like), call)
    return public


def host_all(names, module):
    """Hosts the functions of a public module, whose names these are; they say that they are that module's."""
    for name in names["__all__"]:
        function = names[name]
        if type(function) is type(host_all):
            function.__module__ = module
            names[name] = hosted(function)


@functools.cache
def _asks_arguments(function):
    """Whether NumPy's function of that name asks the __array_function__ of its arguments."""
    return type(_numpys(function)) is type(_np.sum)


def equal_on_host(a, b):
    """a == b of dtypes that cannot be compared, as NumPy's operator has it."""
    return _device(_np.asarray(a) == b)


def not_equal_on_host(a, b):
    """a != b of dtypes that cannot be compared."""
    return _device(_np.asarray(a) != b)


class _Place:
    """Where elements would lie for NumPy, which asks for addresses and does not look there."""

    def __init__(self, a, address):
        self.__array_interface__ = {
            "version": 3, "typestr": f"|V{a.itemsize}", "shape": a.shape, "strides": a.strides,
            "data": (address, True),
        }  # fmt: skip


def places(a, b):
    """Two NumPy arrays that share memory as a and b do; the host need not reach it, so it is not to be read."""
    if isinstance(a, _np.ndarray) and isinstance(b, _np.ndarray):
        return a, b
    a, b = _core.asarray(a), _core.asarray(b)
    apart = _core._distance(a, b)
    if apart is None:
        return _np.empty(0), _np.empty(0)
    middle = 1 << 61  # on both sides of which there is room
    return _np.asarray(_Place(a, middle)), _np.asarray(_Place(b, middle + apart))


def may_share_memory(a, b, max_work):
    """May two arrays share memory, as far as max_work finds out."""
    return _np.may_share_memory(*places(a, b), max_work)


# ---- NEP 18: functions of ours on other libraries' arrays, NumPy's functions on ours


def _overrides(x):
    """Whether x's type has an __array_function__ of its own."""
    method = getattr(type(x), "__array_function__", None)
    return method is not None and method not in _INHERITED


_INHERITED = (_core.ndarray.__array_function__, _np.ndarray.__array_function__)


def _overriding(args, kwargs):
    """The arguments, items of lists and tuples too, that bring an __array_function__, one of each type,
    subclasses first."""
    found = []
    for x in (*args, *kwargs.values()):
        for y in x if type(x) in (list, tuple) else (x,):
            if type(y) in _PLAIN or type(y) is _np.ndarray or not _overrides(y):
                continue
            if all(type(y) is not type(f) for f in found):
                places = (i for i, f in enumerate(found) if issubclass(type(y), type(f)))
                found.insert(next(places, len(found)), y)
    return found


def _like_overrides(kwargs):
    """Whether like= brings an __array_function__; an error when it is no array."""
    like = kwargs.get("like")
    if like is None or _overrides(like):
        return like is not None
    if not isinstance(like, (_core.ndarray, _np.ndarray)):
        raise TypeError(
            "The `like` argument must be an array-like that implements the `__array_function__` protocol."
        )
    return False


def _among_arrays(types, args, kwargs):
    """Whether subclasses of arrays that know nothing of a call stand beside a plain array, which does."""
    if not all(issubclass(t, (_core.ndarray, _np.ndarray)) for t in types):
        return False
    items = [
        y for x in (*args, *kwargs.values()) for y in (x if type(x) in (list, tuple) else (x,))
    ]
    return any(type(y) in (_core.ndarray, _np.ndarray) for y in items)


def override_function(function, args, kwargs):
    """function(*args, **kwargs) by the __array_function__ of like=, or else of its arguments."""
    asked = [kwargs.pop("like")] if "like" in kwargs else _overriding(args, kwargs)
    types = tuple(type(x) for x in asked)
    for x in asked:
        method = type(x).__array_function__
        if on_override is None:
            result = method(x, function, types, args, kwargs)
        else:
            result = on_override(method, (x, function, types, args, kwargs), {})
        if result is not NotImplemented:
            return result
    if _among_arrays(types, args, kwargs):
        return function._implementation(*args, **kwargs)
    raise TypeError(
        f"no implementation found for '{function.__module__}.{function.__name__}' on types that "
        f"implement __array_function__: {list(types)}"
    )


def array_function(func, types, args, kwargs):
    """numpy.f(asnumpy array): our function of the same name and module does the work. A function that is
    not NumPy's is called as it is, without a look at __array_function__."""
    import asnumpy

    if not isinstance(args, tuple):
        raise TypeError("args must be a tuple")
    if not isinstance(kwargs, dict):
        raise TypeError("kwargs must be a dict")
    if not all(issubclass(t, (_core.ndarray, _np.ndarray)) for t in types):
        return NotImplemented
    module = getattr(func, "__module__", "") or ""
    if module.split(".")[0] != "numpy":
        return getattr(func, "_implementation", func)(*args, **kwargs)
    own = asnumpy
    try:
        for part in module.split(".")[1:]:
            if not part.startswith("_"):
                own = getattr(own, part)
        own = getattr(own, func.__name__)
    except AttributeError:
        if not _as_numpy:
            return NotImplemented
        own = func
    if own is func:  # NumPy's own, for data on the host
        return _device(func(*map(host_copy, args), **host_copy(kwargs)))
    return own(*args, **kwargs)
