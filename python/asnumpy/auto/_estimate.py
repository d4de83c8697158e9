"""An estimate of NumPy's time for what a program had AsNumpy do, made after the program.

Each kind of operation (function, dtypes, number of elements within a power of two) is timed with NumPy on
ones of that size, and multiplied by how often it ran. Only elementwise functions, their sums and extremes,
products of matrices and sorts are estimated.
"""

import functools
import time

import numpy

__all__ = ["estimated", "rounded"]


def rounded(n):
    """n, or the power of two below it where it is large: what is timed together."""
    return n if n < 16 else 1 << (int(n).bit_length() - 1)


def estimated(shapes):
    """(NumPy's seconds, AsNumpy's seconds) of the operations that are estimated, of {(function, dtype,
    reduces, elements): (times, AsNumpy's seconds)}."""
    theirs = ours = 0.0
    for (name, dtype, extra, size), (times, seconds) in shapes.items():
        each = _numpys_seconds(name, dtype, extra, size)
        if each is not None:
            theirs += times * each
            ours += seconds
    return theirs, ours


def _timed(call):
    """Seconds of a call: the least of a few, within a hundredth of a second."""
    best, end = float("inf"), time.perf_counter() + 0.01
    while True:
        began = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - began)
        if now > end:
            return best


@functools.cache
def _numpys_seconds(name, dtype, extra, size):
    """NumPy's seconds for an operation, or None: of a kind that is not estimated.

    With a dtype a step of a program over `size` elements, `extra`: it reduces. Without one an operator of
    `size` bytes and `extra` floating-point operations.
    """
    ufunc = getattr(numpy, name, None)
    if dtype:
        try:
            elements = max(min(size, 1 << 24), 1)
            scale = size / elements
            operand = numpy.ones(elements, dtype)
        except TypeError:  # bfloat16
            return None
        if not isinstance(ufunc, numpy.ufunc):
            return None
        with numpy.errstate(all="ignore"):
            try:
                if extra:
                    return scale * _timed(lambda: ufunc.reduce(operand))
                arguments = [operand] * ufunc.nin
                return scale * _timed(lambda: ufunc(*arguments))
            except TypeError:  # a dtype that the function lacks
                return None
    if name == "matmul" and extra:
        n = max(round((extra / 2) ** (1 / 3)), 1)
        square = numpy.ones((min(n, 1024),) * 2)
        return (n / len(square)) ** 3 * _timed(lambda: square @ square)
    if name == "sort":
        values = numpy.random.default_rng(0).random(max(min(size // 16, 1 << 22), 1))
        return size / 16 / values.size * _timed(lambda: numpy.sort(values))
    if isinstance(ufunc, numpy.ufunc) and ufunc.signature is None:
        values = numpy.ones(max(size // (8 * (ufunc.nin + ufunc.nout)), 1))
        with numpy.errstate(all="ignore"):
            try:
                arguments = [values] * ufunc.nin
                return _timed(lambda: ufunc(*arguments))
            except TypeError:
                return None
    return None
