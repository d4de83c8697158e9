"""Names of devices wherever one is asked for, and the way to the host."""

import os
import subprocess
import sys

import asnumpy as np
import numpy
import pytest

KIND = np.ones(1).device.partition(":")[0]
WORDS = ["cpu"] if KIND == "cpu" else ["ascend", "npu"]
OTHERS = ["ascend", "npu", "npu:0", "ascend:0"] if KIND == "cpu" else ["cpu", "cpu:0"]
NAMES = [*WORDS, *(f"{word}:0" for word in WORDS)]
TAKES = {
    "zeros": lambda d: np.zeros(3, device=d), "ones": lambda d: np.ones(3, device=d), "empty": lambda d: np.empty(3, device=d),
    "full": lambda d: np.full(3, 1.5, device=d), "eye": lambda d: np.eye(3, device=d), "arange": lambda d: np.arange(3, device=d),
    "linspace": lambda d: np.linspace(0, 1, 3, device=d), "asarray": lambda d: np.asarray([1, 2], device=d),
    "zeros_like": lambda d: np.zeros_like(np.ones(3), device=d), "full_like": lambda d: np.full_like(np.ones(3), 2, device=d),
    "to_device": lambda d: np.ones(3).to_device(d), "astype": lambda d: np.astype(np.ones(3), np.float32, device=d),
    "astype of a scalar": lambda d: np.astype(numpy.float64(2), np.float32, device=d),
    "fftfreq": lambda d: np.fft.fftfreq(4, device=d), "from_dlpack": lambda d: np.from_dlpack(numpy.ones(3), device=d),
    "dtypes": lambda d: np.__array_namespace_info__().dtypes(device=d), "set_device": np.set_device,
}  # fmt: skip


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_names(take):
    for name in NAMES:
        take(name)
    for name in OTHERS:
        with pytest.raises(ValueError, match="Device not understood.*ASNUMPY_DEVICE.*" + name):
            take(name)
    for name in (
        "",
        "gpu",
        "cpux",
        "cpu:",
        "cpu:x",
        "cpu:-1",
        "cpu: 0",
        "npu:0 ",
        "cuda:0",
        f"{KIND}:9999999",
    ):
        with pytest.raises(ValueError, match=f'Device not understood. Only "{KIND}'):
            take(name)
    with pytest.raises(ValueError, match=f"Device not understood.*received: {KIND}:63"):
        take(f"{KIND}:63")


def test_none_and_what_is_no_text():
    assert np.zeros(3, device=None).shape == (3,)
    with pytest.raises(ValueError, match="Device not understood.*received: 1.5"):
        np.zeros(3, device=1.5)
    with pytest.raises(TypeError):
        np.set_device(1.5)
    for number in (-1, 2**40):
        with pytest.raises(ValueError, match="does not exist"):
            np.set_device(number)


PROGRAM = """
import asnumpy as np
kind = np.ones(1).device.partition(":")[0]
other = "npu" if kind == "ascend" else kind
assert np.set_device(f"{other}:1") == 0 and np.get_device() == 1
assert np.ones(3).device == f"{kind}:1"
assert np.ones(3, device=other).device == np.ones(3, device=f"{kind}:1").device == f"{kind}:1"
try:
    np.zeros(3, device=f"{other}:0")
except ValueError as e:
    assert f'The current device is "{kind}:1"' in str(e) and f"set_device('{other}:0')" in str(e), e
else:
    raise AssertionError
np.reset_device(f"{kind}:1")
assert len(np.__array_namespace_info__().dtypes(device=f"{other}:0")) == 13
for bad in (f"{kind}:2", "gpu"):
    try:
        np.set_device(bad)
    except ValueError as e:
        assert f'Only "{kind}:0" to "{kind}:1" are allowed' in str(e), e
    else:
        raise AssertionError
assert np.set_device(other) == 1 and np.get_device() == 1  # the kind alone: the current one
assert np.set_device(0) == 1 and np.get_device() == 0
print("done")
"""


def test_reset():
    assert np.reset_device() is np.reset_device(0) is np.reset_device(KIND) is None


def test_several_devices():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
                          env={**os.environ, "ASNUMPY_CPU_DEVICES": "2"})  # fmt: skip
    assert done.stdout == "done\n", done.stderr


MADE_BEFORE = """
import asnumpy as np
kind = np.ones(1).device.partition(":")[0]
zero, one = ("cpu" if kind == "cpu" else kind + ":0"), kind + ":1"
a, b = np.ones(5000), np.ones(3)
recorded = a + 1
assert np.set_device(1) == 0
c = np.ones(5000)
assert {x.device for x in (a, b, recorded, a[::2], b.T)} == {zero}, a.device
assert {x.device for x in (c, c + 1, c[1:])} == {one}, c.device
np.set_device(0)
assert (a.device, c.device, c[::2].device, np.ones(2).device) == (zero, one, one, zero)
print("done")
"""


def test_an_array_names_the_device_that_it_was_made_on():
    done = subprocess.run([sys.executable, "-c", MADE_BEFORE], capture_output=True, text=True, check=False,
                          env={**os.environ, "ASNUMPY_CPU_DEVICES": "2"})  # fmt: skip
    assert done.stdout == "done\n", done.stderr


def test_sharing_memory_that_the_host_does_not_reach():
    """Views of one array share memory on every device."""

    def found(f, *arguments, **more):
        try:
            return bool(f(*arguments, **more))
        except numpy.exceptions.TooHardError:
            return "too hard"

    def asked(m):
        a, other = m.arange(24.0), m.ones(3)
        b, host = a.reshape(4, 6), numpy.arange(9)
        views = [
            a,
            b,
            b.T,
            a[::2],
            a[1::2],
            b[:, ::3],
            b[1:3, 1],
            a[5:5],
            a.view("i4"),
            other,
            b[::-1],
        ]
        return [
            [found(f, x, y) for x in views for y in views]
            + [found(f, x, y, max_work=k) for x in views for y in views for k in (0, 50)]
            + [bool(f(host, host[2:])), bool(f(host, [1, 2])), bool(f(a, [1.0])), bool(f(a + 1, a))]
            for f in (m.shares_memory, m.may_share_memory)
        ]

    assert asked(np) == asked(numpy)


def test_other_places():
    assert np.supports("sort", "float32", device="npu") is np.supports(
        "sort", "float32", device="ascend"
    )
    with pytest.raises(ValueError, match="'cpu', 'ascend' or 'npu'"):
        np.supports("sort", "float32", device="gpu")
    np.ops.register("on_any_npu", lambda x: x, device="npu:0")
    try:
        assert np.ops.find("on_any_npu", device="ascend:0").device == "ascend:0"
        assert np.ops.find("on_any_npu", device="npu:0").name == "on_any_npu"
    finally:
        np.ops.unregister("on_any_npu", device="npu:0")


HOST = [numpy.arange(3.0), numpy.array(["a", "b"]), numpy.float32(2), 3, 2.5j, [1, 2.5], [[1, 2], [3, 4]], [], True,
        numpy.array([1, "x"], object), numpy.ma.array([1, 2], mask=[0, 1])]  # fmt: skip


def test_to_numpy():
    a = np.arange(6.0).reshape(2, 3)[:, ::2]
    for copy in (None, True):
        got = np.to_numpy(a, copy=copy)
        assert type(got) is numpy.ndarray and got.dtype == a.dtype
        numpy.testing.assert_array_equal(got, numpy.arange(6.0).reshape(2, 3)[:, ::2])
    shared, copied = np.to_numpy(a), np.to_numpy(a, copy=True)
    a[0, 0] = 7
    assert copied[0, 0] == 0
    assert shared[0, 0] == (7 if KIND == "cpu" else 0)
    for x in HOST:
        got, want = np.to_numpy(x), numpy.asarray(x)
        assert type(got) is numpy.ndarray and got.dtype == want.dtype
        numpy.testing.assert_array_equal(got, want)
    numpy.testing.assert_array_equal(
        np.to_numpy([a, [[1, 2], [3, 4]]]), [a.to_numpy(), [[1, 2], [3, 4]]]
    )
    numpy.testing.assert_array_equal(np.to_numpy([a[0], (a[1], a[0])][0]), a[0].to_numpy())
    assert np.to_numpy([a[0, 0], np.float32(2)]).dtype == float
    x = numpy.ones(3)
    assert np.to_numpy(x) is x and np.to_numpy(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy"):
        np.to_numpy([1, 2], copy=False)
    assert np.to_numpy(np.zeros(3, "bool")).dtype == bool
