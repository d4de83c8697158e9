"""CANN's formats of tensors: every pair of them against NumPy's transposes and padding, errors, the chooser."""

import asnumpy
import numpy as np
import pytest
from asnumpy import memory
from hypothesis import given
from hypothesis import strategies as st

IMAGES, VOLUMES = ("NCHW", "NHWC", "HWCN", "NC1HWC0"), ("NCDHW", "NDHWC", "NDC1HWC0")
MATRICES = ("ND", "FRACTAL_NZ", "NZ")
FAMILIES = {
    **dict.fromkeys(IMAGES, IMAGES),
    **dict.fromkeys(VOLUMES, VOLUMES),
    **dict.fromkeys(MATRICES, MATRICES),
}
DTYPES = ["?", "i1", "u2", "f2", "i4", "f4", "f8", "i8", "c8"]


def filled(x, axis, block):
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, -x.shape[axis] % block)
    return np.pad(x, widths)


def formatted(x, name):
    """A canonical array as the format has it, from CANN's descriptions."""
    block = 32 // x.itemsize
    if name in ("NC1HWC0", "NDC1HWC0"):
        x = filled(x, 1, block)
        parts = x.reshape(x.shape[0], x.shape[1] // block, block, *x.shape[2:])  # N C1 C0 (D) H W
        parts = np.moveaxis(parts, 2, -1)  # N C1 (D) H W C0
        return np.moveaxis(parts, 1, 2) if name == "NDC1HWC0" else parts
    if name in ("FRACTAL_NZ", "NZ"):
        x = filled(filled(x, -2, 16), -1, block)
        m, n = x.shape[-2:]
        parts = x.reshape(*x.shape[:-2], m // 16, 16, n // block, block)
        return np.moveaxis(parts, -2, -4)  # N1 M1 M0 N0
    if name == "ND":
        return x
    canonical = "NCDHW" if "D" in name else "NCHW"
    return x.transpose([canonical.index(letter) for letter in name])


@given(data=st.data())
@pytest.mark.parametrize("source", FAMILIES)
def test_every_pair(source, data):
    target = data.draw(st.sampled_from(FAMILIES[source]))
    extents = st.integers(0, 5) | st.sampled_from([16, 17, 31, 33])
    least, most = {IMAGES: (4, 4), VOLUMES: (5, 5), MATRICES: (2, 4)}[FAMILIES[source]]
    shape = tuple(data.draw(st.lists(extents, min_size=least, max_size=most)))
    if np.prod(shape) > 40_000:
        shape = tuple(min(n, 5) for n in shape)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    x = rng.integers(0, 100, shape).astype(data.draw(st.sampled_from(DTYPES)))
    given_, want = formatted(x, source), formatted(x, target)
    assert memory.format_shape(shape, target, x.dtype) == want.shape
    if data.draw(st.booleans()):  # (as it comes out of other work: a view of another order)
        given_ = np.asfortranarray(given_)
    got = memory.convert_format(asnumpy.array(given_, order="K"), source, target, shape=shape)
    assert got.dtype == x.dtype and got.flags.c_contiguous and got.flags.owndata
    np.testing.assert_array_equal(got.to_numpy(), want)
    padded = formatted(x, source).shape
    if padded == memory.format_shape(shape, source, x.dtype) and x.size:
        whole = memory.convert_format(asnumpy.array(given_), source, target)
        back = memory.convert_format(whole, target, source)
        np.testing.assert_array_equal(
            back.to_numpy()[tuple(slice(n) for n in given_.shape)], given_
        )


def test_what_fills_a_block_up_is_zero_and_stays_out_of_what_comes_back():
    x = np.full((3, 5), 7, "f2")
    blocks = memory.convert_format(asnumpy.array(x), "ND", "NZ").to_numpy()
    assert blocks.shape == (1, 1, 16, 16) and blocks.sum() == 7 * 15
    blocks[0, 0, 15, 15] = np.nan  # (whatever an operator left there)
    back = memory.convert_format(asnumpy.array(blocks), "NZ", "ND", shape=(3, 5))
    np.testing.assert_array_equal(back.to_numpy(), x)


def test_lists_and_masked_memory():
    assert memory.convert_format([[1, 2], [3, 4]], "ND", "ND").tolist() == [[1, 2], [3, 4]]
    a = asnumpy.zeros((1, 3, 2, 2))
    made = memory.convert_format(a, "NCHW", "NCHW")
    made += 1
    assert not a.to_numpy().any()


ERRORS = [
    (lambda a: memory.convert_format(a, "NCHW", "NZ"), "NCHW does not convert to FRACTAL_NZ: its axes are NCHW, not MN"),
    (lambda a: memory.convert_format(a, "NHCW", "NCHW"), "got 'NHCW'; there are NCHW, NHWC, HWCN"),
    (lambda a: memory.convert_format(a[0], "NCHW", "NHWC"), "3 axes; NCHW has 4"),
    (lambda a: memory.convert_format(a[0, 0, 0], "ND", "NZ"), "1 axes; ND has 2 or more"),
    (lambda a: memory.convert_format(a[0], "NZ", "ND"), "3 axes; FRACTAL_NZ has 4 or more"),
    (lambda a: memory.convert_format(a, "NZ", "ND"), "axis 2 of FRACTAL_NZ has 4 elements of float32; it has 16"),
    (lambda a: memory.convert_format(a, "NCHW", "NHWC", shape=(2, 3, 4, 4)), r"as NCHW shape \(2,3,4,4\) lies in \(2,3,4,4\); got \(2,3,4,5\)"),
    (lambda a: memory.convert_format(a, "NCHW", "NHWC", shape=(2, 3, 4)), "3 axes; NCHW has 4"),
    (lambda a: memory.format_shape((2, 3, 4), "NHWC"), "3 axes; NHWC has 4"),
    (lambda a: memory.format_shape((2, -3, 4, 5), "NHWC"), "extent 1 is -3; it may be 0 or more"),
    (lambda a: memory.format_shape((2**62, 2**62), "NZ"), "too big"),
    (lambda a: memory.format_shape((2**63 - 1, 1), "NZ", "int8"), "too big"),
    (lambda a: memory.choose_format(0), "0 channels; there is one at least"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", ERRORS)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(asnumpy.zeros((2, 3, 4, 5), "f4"))


def test_a_format_is_a_name():
    with pytest.raises(TypeError, match="a format is a str, got int"):
        memory.format_shape((1, 2, 3, 4), 29)


def test_choose():
    assert [memory.choose_format(c) for c in (1, 3, 63, 64, 65, 2048)] == ["NHWC"] * 3 + [
        "NCHW"
    ] * 3
