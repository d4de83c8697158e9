"""The C binding's stream.h against NumPy; threads, cycles and sanitizers are in test_streams.c."""

import ctypes

import numpy as np
import pytest
from face import DTYPES, Failure, array, c, extents, number
from hypothesis import given
from hypothesis import strategies as st

JOB = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def value(ctype, call, *args):
    out = ctype()
    call(*args, ctypes.byref(out))
    return out.value


@pytest.fixture
def two():
    made = c.stream_new(0, "first"), c.stream_new(7, None)
    yield made
    c.stream_set_current(None)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["add", "multiply", "subtract"]), st.floats(-2, 2)),
                min_size=1, max_size=12))  # fmt: skip
def test_streams_keep_the_order_of_the_program(steps):
    streams = [None, c.stream_new(0, None), c.stream_new(0, None)]
    want = np.linspace(0, 1, 5000)
    have = array(want)
    try:
        for which, name, x in steps:
            c.stream_set_current(streams[which])
            have = c.binary_number(name, have, number(x))
            want = getattr(np, name)(want, x)
    finally:
        c.stream_set_current(None)
    np.testing.assert_array_equal(have.numpy(), want)


def test_names_and_the_current_stream(two):
    assert c.stream_name(two[0]) == b"first"
    assert c.stream_name(None) == b"default"
    assert c.stream_name(two[1]).startswith(b"stream ")
    c.stream_set_current(two[0])
    assert c.stream_get_current().handle == two[0].handle
    c.stream_set_current(None)
    assert c.stream_name(c.stream_get_current()) == b"default"
    assert value(ctypes.c_void_p, c.stream_acl, two[0]) != value(
        ctypes.c_void_p, c.stream_acl, None
    )
    with pytest.raises(Failure, match="priority is 8; it may be 0"):
        c.stream_new(8, None)


def test_events(two):
    start, end = c.event_new(0, None, 1, "start"), c.event_new(0, None, 1, None)
    with pytest.raises(Failure, match="elapsed_time: start is not recorded"):
        value(ctypes.c_double, c.event_elapsed, start, end)
    c.event_record(start, two[0])
    c.stream_set_current(two[0])
    x = c.full(DTYPES["float64"], 1, extents(100_000), number(2.0))
    c.event_record(end, two[0])
    c.stream_wait_event(two[1], end)
    c.stream_wait(two[1], two[0])
    c.event_synchronize(end)
    assert value(ctypes.c_int32, c.event_query, end) == 1
    assert value(ctypes.c_double, c.event_elapsed, start, end) >= 0
    c.stream_synchronize(two[0])
    assert value(ctypes.c_int32, c.stream_query, two[0]) == 1
    assert x.numpy()[-1] == 2
    only = c.event_new(1, two[1], 0, "only")
    with pytest.raises(Failure, match="only was made for stream .* to record, not for first"):
        c.event_record(only, two[0])


def test_batch():
    done = []

    @JOB
    def job(context):
        done.append(context)
        return 3 if context == 40 else 0

    contexts = (ctypes.c_void_p * 5)(10, 20, 30, 40, 50)
    failed = ctypes.c_int32(9)
    c.batch(3, job, contexts, 1, ctypes.byref(failed))
    assert done == [10, 20, 30]
    assert failed.value == -1
    with pytest.raises(Failure):
        c.batch(5, job, contexts, 1, ctypes.byref(failed))
    assert failed.value == 3
    assert 50 not in done
