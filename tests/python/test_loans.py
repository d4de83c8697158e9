"""Memory that host code looks at: while it may, operations run at once; afterwards they are recorded again."""

import gc
import os
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import NPU

RECORDS = os.environ.get("ASNUMPY_FUSE") != "0"


def stays_recorded(a):
    """Whether an operation on the array waits for its reader."""
    return "add" in asnumpy.explain(a + a)


def lend(way, a):
    if way == "asarray":
        return np.asarray(a)
    if way == "__array__":
        return a.__array__()
    if way == "memoryview":
        return memoryview(a)
    return np.from_dlpack(a)


pytestmark = pytest.mark.skipif(NPU, reason="needs memory that the host shares")
WAYS = ["asarray", "__array__", "memoryview", "dlpack"]


@pytest.mark.skipif(not RECORDS, reason="nothing is recorded")
@pytest.mark.parametrize("way", WAYS)
def test_a_loan_ends(way):
    a = asnumpy.ones(4000)
    assert stays_recorded(a)
    host = lend(way, a)
    assert not stays_recorded(a) and not stays_recorded(a[1:])
    second = lend("memoryview", a)
    del host
    gc.collect()
    assert not stays_recorded(a)
    second.release()
    assert stays_recorded(a) and stays_recorded(a[1:])


@pytest.mark.parametrize("way", WAYS)
def test_both_sides_see_what_the_other_writes(way):
    a = asnumpy.arange(4000.0)
    host = np.asarray(lend(way, a))
    doubled = a + a
    host[7] = -1
    assert a[7] == -1 and doubled[7] == 14
    a *= 2
    assert host[7] == -2 and host[3999] == 7998
    doubled = a + 1
    del host
    gc.collect()
    a[:] = 0
    assert doubled[3999] == 7999 and a.sum() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_loan_outlives_the_array(way):
    a = asnumpy.arange(4000.0) + 1
    host = np.asarray(lend(way, a))
    del a
    gc.collect()
    other = asnumpy.zeros(4000)  # may have what was given back
    asnumpy.synchronize()
    assert host[3999] == 4000 and other.sum() == 0


@pytest.mark.skipif(not RECORDS, reason="nothing is recorded")
def test_an_array_made_of_a_loan_keeps_it():
    a = asnumpy.ones(4000)
    b = asnumpy.asarray(np.asarray(a))
    gc.collect()
    assert not stays_recorded(a)
    b += 1
    assert a.sum() == 8000
    del b
    gc.collect()
    assert stays_recorded(a)


@pytest.mark.skipif(not RECORDS, reason="nothing is recorded")
def test_an_address_that_was_told_is_for_good():
    for told in ("ctypes", "__array_interface__", "__array_struct__"):
        a = asnumpy.ones(4000)
        getattr(a, told)
        gc.collect()
        assert not stays_recorded(a)


@pytest.mark.skipif(not RECORDS, reason="nothing is recorded")
def test_a_loan_that_fails_is_none():
    a = asnumpy.zeros(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for way in ("memoryview", "__array__"):
            b = 1 / a
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                lend(way, b)
            assert stays_recorded(b)


def test_the_base_of_a_host_view_is_a_view_of_the_array():
    a = asnumpy.ones((3, 4))
    host = a.__array__()
    assert isinstance(host.base, memoryview) and host.base.obj is a
    assert not asnumpy.empty((0, 3)).__array__().size
    assert a.T.__array__().strides == (8, 32)


@pytest.mark.skipif(not RECORDS, reason="nothing is recorded")
@pytest.mark.parametrize("take", [lambda a: a.__array_interface__, lambda a: a.ctypes.data])
def test_an_address_is_known_for_good(take):
    a = asnumpy.ones(4000)
    assert stays_recorded(a)
    take(a)
    gc.collect()
    assert not stays_recorded(a) and not stays_recorded(a[1:])
    host = lend("memoryview", a)
    host.release()
    assert not stays_recorded(a)
