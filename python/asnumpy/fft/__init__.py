"""Discrete Fourier transforms.

A transform of n points computes out[k] = sum of a[j] exp(-2 pi i j k / n); the inverse has exp(+...)
and is divided by n. `norm` ("backward", "ortho", "forward") says which direction is scaled. float16,
float32 and complex64 are transformed in single precision, everything else in double. The work is the
device's (`aclnnxFft`): mixed radices, Bailey's four steps for long lines, Bluestein's convolution for
large prime factors.
"""

import warnings as _warnings

from .. import _core
from .._support import host_all as _host_all

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_FORWARD, _INVERSE, _FROM_REAL, _TO_REAL = range(4)
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_transform, fftshift, ifftshift = _core._fft, _core._fft_fftshift, _core._fft_ifftshift
fftfreq, rfftfreq = _core._fft_fftfreq, _core._fft_rfftfreq


def fft(a, n=None, axis=-1, norm=None, out=None):
    """The transform of n points along an axis: cut, or continued with zeros, to n."""
    return _transform(a, n, axis, norm, out, _FORWARD)


def ifft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse transform of n points along an axis."""
    return _transform(a, n, axis, norm, out, _INVERSE)


def rfft(a, n=None, axis=-1, norm=None, out=None):
    """The transform of n real points: the n // 2 + 1 elements that determine all."""
    return _transform(a, n, axis, norm, out, _FROM_REAL)


def irfft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of rfft: n real points, by default 2 * (m - 1) from m elements."""
    return _transform(a, n, axis, norm, out, _TO_REAL)


def _swap(norm):
    try:
        return _SWAPPED[norm]
    except (KeyError, TypeError):
        raise ValueError(
            f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        ) from None


def hfft(a, n=None, axis=-1, norm=None, out=None):
    """The real transform of a signal with Hermitian symmetry, given by its first half."""
    a = _core.asarray(a)
    if n is None:
        n = (a.shape[axis] - 1) * 2
    return irfft(_core.conjugate(a), n, axis, _swap(norm), out)


def ihfft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of hfft: the first half of a signal with Hermitian symmetry."""
    result = rfft(a, n, axis, _swap(norm), out)
    return _core.conjugate(result, out=result if out is None else out)


def _lengths(a, s, axes, to_real=False):
    """(lengths, axes) of an n-dimensional transform."""
    given = s is not None
    if given:
        s = list(s)
    elif axes is None:
        s = list(a.shape)
    else:
        s = [a.shape[d] for d in axes]
    if axes is None:
        if given:
            _warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0): pass "
                "the axes that the lengths are for",
                DeprecationWarning,
                stacklevel=4,
            )
        axes = list(range(-len(s), 0))
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if to_real and not given:
        s[-1] = (a.shape[axes[-1]] - 1) * 2
    if None in s:
        _warnings.warn(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0: pass lengths",
            DeprecationWarning,
            stacklevel=4,
        )
    return [a.shape[d] if n == -1 else n for n, d in zip(s, axes, strict=True)], axes


def _complex(a, s, axes, norm, out, kind):
    a = _core.asarray(a)
    s, axes = _lengths(a, s, axes)
    return _in_turn(a, s, axes, norm, out, kind)


def _in_turn(a, s, axes, norm, out, kind, ours=False):
    """Transforms along the last axis first; what is `ours` may be overwritten."""
    for n, axis in zip(reversed(s), reversed(list(axes)), strict=True):
        place = a if out is None and ours and n in (None, a.shape[axis]) else out
        a = _transform(a, n, axis, norm, place, kind)
        ours = True
    return a


def fftn(a, s=None, axes=None, norm=None, out=None):
    """The transform along several axes, by default all."""
    return _complex(a, s, axes, norm, out, _FORWARD)


def ifftn(a, s=None, axes=None, norm=None, out=None):
    """The inverse transform along several axes, by default all."""
    return _complex(a, s, axes, norm, out, _INVERSE)


def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The transform along two axes."""
    return _complex(a, s, axes, norm, out, _FORWARD)


def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The inverse transform along two axes."""
    return _complex(a, s, axes, norm, out, _INVERSE)


def _from_real(a, s, axes, norm, out):
    a = _core.asarray(a)
    s, axes = _lengths(a, s, axes)
    a = _transform(a, s[-1], axes[-1], norm, out, _FROM_REAL)
    return _in_turn(a, s[:-1], axes[:-1], norm, out, _FORWARD, ours=True)


def _to_real(a, s, axes, norm, out):
    a = _core.asarray(a)
    s, axes = _lengths(a, s, axes, to_real=True)
    a = _in_turn(a, s[:-1], axes[:-1], norm, None, _INVERSE)
    return _transform(a, s[-1], axes[-1], norm, out, _TO_REAL)


def rfftn(a, s=None, axes=None, norm=None, out=None):
    """The transform of real numbers along several axes; the last is halved."""
    return _from_real(a, s, axes, norm, out)


def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The transform of real numbers along two axes; the last is halved."""
    return _from_real(a, s, axes, norm, out)


def irfftn(a, s=None, axes=None, norm=None, out=None):
    """The inverse of rfftn: real numbers."""
    return _to_real(a, s, axes, norm, out)


def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The inverse of rfft2: real numbers."""
    return _to_real(a, s, axes, norm, out)


_host_all(globals(), __name__)
