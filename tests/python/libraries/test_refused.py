"""The table of docs/guide/ecosystem.md for arrays that a library refuses: messages and remedies."""

import json

import asnumpy as np
import numpy
import pytest
from conftest import NPU, ROOT

PAGE = (ROOT / "docs" / "guide" / "ecosystem.md").read_text()


def cython(x):
    from pandas._libs import lib

    return lib.maybe_convert_objects(x)


def ctypes_pointer(x):
    return numpy.ctypeslib.ndpointer(dtype="f8").from_param(x)


def tensor(x):
    return pytest.importorskip("pyarrow").Tensor.from_numpy(x)


def clahe(x):
    image = x.astype("u1")
    return pytest.importorskip("cv2").createCLAHE().apply(image)


# name: call, array or generator, what the page quotes of the error, the remedy
REFUSED = {
    "cython": (cython, lambda: np.ones((2, 2)), "has incorrect type (expected numpy.ndarray, got asnumpy.ndarray)", None),
    "ctypes": (ctypes_pointer, lambda: np.ones(3), "argument must be an ndarray", np.to_numpy),
    "pyarrow": (tensor, lambda: np.ones((2, 3)), "Did not pass ndarray object", np.to_numpy),
    "opencv": (clahe, lambda: np.ones((9, 9)), "is not a numpy array, neither a scalar", np.to_numpy),
    "json": (json.dumps, lambda: np.ones(2), "Object of type ndarray is not JSON serializable", lambda x: x.tolist()),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_remedied(name):
    call, make, message, remedy = REFUSED[name]
    if name == "cython":
        pytest.importorskip("pandas")
    given = make()
    with pytest.raises(Exception) as caught:  # each library has its own class
        call(given)
    assert message in str(caught.value) and message in PAGE
    if remedy is not None:
        call(remedy(given))


def test_cython_takes_what_to_numpy_gives():
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="wrong number of dimensions"):  # its own, after the class
        cython(np.to_numpy(np.ones((2, 2))))


@pytest.mark.skipif(not NPU, reason="only an NPU's memory is out of the host's reach")
def test_an_npus_array_is_copied():
    message = "the array lives on ascend, whose memory the host cannot reach"
    with pytest.raises(TypeError, match=message):
        memoryview(np.ones(3))
    assert message in PAGE and type(np.to_numpy(np.ones(3))) is numpy.ndarray
