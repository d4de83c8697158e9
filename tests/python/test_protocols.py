"""What other libraries ask of arrays: __array_function__, like=, pickles out of band, bases, copy modes."""

import importlib
import pickle
import warnings

import asnumpy as anp
import numpy as np
import pytest


class Duck:
    def __array_function__(self, func, types, args, kwargs):
        return func, types, args, kwargs


class Refusing:
    def __array_function__(self, func, types, args, kwargs):
        return NotImplemented


@pytest.mark.parametrize(
    "call",
    [
        lambda d: anp.sum(d),
        lambda d: anp.std(anp.ones(3), where=d),
        lambda d: anp.concatenate([anp.ones(3), d]),
        lambda d: anp.hstack((d, anp.ones(3))),
        lambda d: anp.roll(d, 2, axis=0),
        lambda d: anp.sum(anp.ones(2), axis=None, out=d),
    ],
)
def test_array_function_of_arguments(call):
    duck = Duck()
    func, types, args, kwargs = call(duck)
    assert func.__module__ == "asnumpy"
    assert types == (Duck,)
    inside = args[0] if isinstance(args[0], list | tuple) else ()
    assert any(duck is x for group in (args, kwargs.values(), inside) for x in group)


def test_array_function_refused():
    for call in (lambda d: anp.sum(d), lambda d: anp.tile(d, 2), lambda d: anp.dot(anp.ones(2), d)):
        with pytest.raises(TypeError, match="no implementation found for 'asnumpy"):
            call(Refusing())


def test_subclass_decides_for_its_base():
    class Loud(anp.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            return "loud", super().__array_function__(func, types, args, kwargs)

    x = anp.arange(4.0).view(Loud)
    assert anp.sum(x) == ("loud", 6.0)
    assert anp.add(x, 1).sum() == 10.0  # a ufunc and a method are not functions


def test_array_function_of_ours_checks_its_arguments():
    a = anp.ones(3)
    assert a.__array_function__(len, (anp.ndarray,), (a,), {}) == 3
    assert a.__array_function__(len, (anp.ndarray, Duck), (a,), {}) is NotImplemented
    with pytest.raises(TypeError, match="args must be a tuple"):
        a.__array_function__(len, (anp.ndarray,), a, {})
    with pytest.raises(TypeError, match="kwargs must be a dict"):
        a.__array_function__(len, (anp.ndarray,), (a,), ())


@pytest.mark.parametrize("name", ["zeros", "arange", "eye", "identity", "tri"])
def test_like(name):
    func, _, args, kwargs = getattr(anp, name)(3, like=Duck())
    assert func is getattr(anp, name) and args == (3,) and kwargs == {}
    for plain in (anp.ones(2), np.ones(2), None):
        assert type(getattr(anp, name)(3, like=plain)) is anp.ndarray
    for bad in (1, [1], object()):
        with pytest.raises(TypeError, match="The `like` argument must be an array-like"):
            getattr(anp, name)(3, like=bad)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (2, 0, 1)])
def test_pickles_out_of_band(axes):
    a = anp.arange(24.0).reshape(2, 3, 4).transpose(axes)
    buffers = []
    text = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    b = pickle.loads(text, buffers=buffers)
    assert len(buffers) == 1 and b.strides == a.strides
    a[0, 0, 0] = -7
    assert b[0, 0, 0] == -7
    c = pickle.loads(pickle.dumps(a[:, ::2], protocol=5))
    np.testing.assert_array_equal(np.asarray(c), np.asarray(a[:, ::2]))
    assert c.flags.writeable


def test_dlpack_copy_of_no_truth():
    with pytest.raises(ValueError, match="truth value"):
        anp.ones(3).__dlpack__(copy=anp.array([1, 2]))


def test_base_is_the_owner_of_the_memory():
    owner = bytearray(16)
    for m in (np, anp):
        assert m.asarray(memoryview(owner)).base.obj is owner
    text = bytes(16)
    a = anp.frombuffer(text)
    assert not a.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        a.flags.writeable = True


@pytest.mark.parametrize("mode", [np._CopyMode.ALWAYS, np._CopyMode.IF_NEEDED, np._CopyMode.NEVER])
def test_copy_modes(mode):
    a = anp.arange(6).reshape(2, 3)
    assert anp.shares_memory(anp.array(a, copy=mode), a) == (mode is not np._CopyMode.ALWAYS)
    if mode is np._CopyMode.NEVER:
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            anp.array(a, copy=mode, order="F")
    else:
        assert anp.array(a, copy=mode, order="F").flags.f_contiguous


def test_array_wrap_gives_scalars_on_request():
    a, zero = anp.ones(3), anp.array(2, dtype="i1")
    assert type(a.__array_wrap__(zero, None, True)) is np.int8
    assert type(a.__array_wrap__(zero, None, False)) is anp.ndarray
    assert type(a.__array_wrap__(zero)) is anp.ndarray


def test_views_and_values_of_dtypes_on_the_host():
    a = anp.arange(3.0)
    words = a.view(">f8")
    assert type(words) is np.ndarray and np.shares_memory(words, np.asarray(a))
    a[:2] = np.array(["2", "-3"])
    a[2] = np.array(5, dtype=object)
    assert a.tolist() == [2.0, -3.0, 5.0]

    class Given:
        def __array__(self, dtype=None, copy=None):
            return anp.arange(2)

    assert anp.array([Given(), Given()]).tolist() == [[0, 1], [0, 1]]


class Asked:
    """What says which functions asked it."""

    functions = []

    def __array_function__(self, func, types, args, kwargs):
        self.functions.append(func)
        return "asked"


NAMESPACES = [
    "",
    "linalg",
    "fft",
    "lib.stride_tricks",
    "lib.scimath",
    "lib.npyio",
    "polynomial.polynomial",
]


def members(space):
    """(name, NumPy's object, ours) of a namespace; what is NumPy's own is left out."""
    theirs, ours = np, anp
    for part in filter(None, space.split(".")):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    for name in dir(theirs):
        pair = getattr(theirs, name), getattr(ours, name, None)
        if name[0] != "_" and name != "row_stack" and callable(pair[1]) and pair[0] is not pair[1]:
            yield name, *pair


def asked(function, args):
    """The functions that asked an argument; whether the call raised."""
    Asked.functions.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception as error:
            return list(Asked.functions), type(error)
    return list(Asked.functions), None


x = Asked()
CALLS = [
    (x,), (x, x), (x, x, x), ([x, x],), (x, 1), (1, x), (x, 1, 1), (x, [1], 1), ((2, 2), x), ("i->i", x), ([x], [x]),
    ([x], [x], 1), ("name", x), (abs, x), (abs, 1, x), (abs, [0], x), (x, x, x, x),
]  # fmt: skip


@pytest.mark.parametrize("space", NAMESPACES)
def test_every_function_that_asks_asks_with_itself(space):
    for name, theirs, ours in members(space):
        if type(theirs) is not type(np.sum):
            continue
        args = next(args for args in CALLS if asked(theirs, args)[0] == [theirs])
        assert asked(ours, args) == ([ours], None), (space, name, args)


@pytest.mark.parametrize("space", NAMESPACES)
def test_functions_that_ask_nobody(space):
    for name, theirs, ours in members(space):
        if type(ours) in (type(anp.sum), type(anp.median)) and type(theirs) is not type(np.sum):
            for args in CALLS[:5]:
                if asked(theirs, args)[0] == []:
                    assert asked(ours, args)[0] == [], (space, name, args)


@pytest.mark.parametrize("name", ["linalg.inv", "linalg.norm", "fft.fft", "lib.scimath.sqrt"])
def test_functions_of_modules_pickle_and_say_where_they_are(name):
    module, _, name = name.rpartition(".")
    function = getattr(importlib.import_module(f"asnumpy.{module}"), name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert (function.__module__, function.__qualname__) == (f"asnumpy.{module}", name)
    with pytest.raises(TypeError, match=f"no implementation found for 'asnumpy.{module}.{name}'"):
        function(Refusing())


class Given:
    """An object whose __array__ gives what it was made with, and counts its calls."""

    def __init__(self, given):
        self.given, self.calls = given, 0

    def __array__(self, dtype=None, copy=None):
        self.calls += 1
        return self.given() if callable(self.given) else self.given


@pytest.mark.parametrize("given", [anp.arange(3.0), np.arange(3.0), np.float32(2) * np.eye(2)])
@pytest.mark.parametrize(
    "use", ["asarray(x)", "asarray([x, x])", "array(x, dtype='f4')", "array([[x], [x]])"]
)
def test_array_methods_are_called_once(use, given):
    x, y = Given(given), Given(np.asarray(given))
    ours, theirs = (eval(f"m.{use}", {"m": m, "x": o}) for m, o in ((anp, x), (np, y)))
    assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert x.calls == use.count("x")


def test_calls_of_array_methods_do_not_double_at_each_level():
    for module in (anp, np):
        calls = []

        def given(depth, module=module, calls=calls):
            calls.append(depth)
            below = Given(lambda: given(depth + 1))
            return module.asarray([below] if depth < 20 else [1.0])

        assert module.asarray(Given(lambda: given(0))).shape == (1,) * 21
        assert len(calls) == 21


@pytest.mark.parametrize("use", ["asarray(x)", "asarray([x])", "ones(3)[x]", "add(x, 1)"])
def test_what_an_array_method_gives_must_be_an_array(use):
    x = Given([1, 2])
    for module in (anp, np):
        with pytest.raises(ValueError, match="__array__ method not producing an array"):
            eval("m." + use, {"m": module, "x": x})
    assert x.calls == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, ValueError])
def test_errors_of_array_methods_leave_an_index(error):
    def raises():
        raise error("of __array__")

    with pytest.raises(error, match="of __array__"):
        anp.ones(3)[Given(raises)]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, MemoryError, ValueError, TypeError, AttributeError, RuntimeError]
)
def test_an_error_of_an_array_method_is_raised_once(error):
    class Raises:
        calls = 0

        def __array__(self, dtype=None, copy=None):
            self.calls += 1
            raise error("of __array__")

    for f in (
        anp.asarray,
        anp.array,
        lambda x: anp.add(x, 1),
        lambda x: anp.asarray(x, dtype="f4"),
    ):
        x = Raises()
        with pytest.raises(error, match="of __array__"):
            f(x)
        assert x.calls == 1
