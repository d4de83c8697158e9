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


def __dir__():
    return __all__


_FORWARD, _INVERSE, _FROM_REAL, _TO_REAL = range(4)
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_transform, fftshift, ifftshift = _core._fft, _core._fft_fftshift, _core._fft_ifftshift
fftfreq, rfftfreq = _core._fft_fftfreq, _core._fft_rfftfreq


def fft(a, n=None, axis=-1, norm=None, out=None):
    """The Fourier transform along an axis: out[k] = sum of a[j] exp(-2 pi i j k / n).

    Parameters
    ----------
    a : array_like
        Real or complex numbers.
    n : int, optional
        The length: the axis is cut, or continued with zeros; by default that of the axis.
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        What is divided by: nothing here and n of the inverse (the default); sqrt(n) of both; n here.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex
        complex64 of float16, float32 and complex64, else complex128; frequency 0 first.

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.
    IndexError
        The axis does not exist.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.fft([1.0, 0.0, -1.0, 0.0]).real
    array([0., 2., 0., 2.])
    """
    return _transform(a, n, axis, norm, out, _FORWARD)


def ifft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of fft along an axis.

    Parameters
    ----------
    a : array_like
        The transform, frequency 0 first.
    n : int, optional
        The length: the axis is cut, or continued with zeros; by default that of the axis.
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft: divides by n by default.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.
    IndexError
        The axis does not exist.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.ifft([0.0, 2.0, 0.0, 2.0]).real
    array([ 1.,  0., -1.,  0.])
    """
    return _transform(a, n, axis, norm, out, _INVERSE)


def rfft(a, n=None, axis=-1, norm=None, out=None):
    """The Fourier transform of real numbers along an axis: the n // 2 + 1 elements that determine all.

    Parameters
    ----------
    a : array_like
        Real numbers.
    n : int, optional
        The length: the axis is cut, or continued with zeros; by default that of the axis.
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex
        Frequencies 0 to n // 2.

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.
    TypeError
        a is complex.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.rfft([1.0, 0.0, -1.0, 0.0]).real
    array([0., 2., 0.])
    """
    return _transform(a, n, axis, norm, out, _FROM_REAL)


def irfft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of rfft along an axis: real numbers.

    Parameters
    ----------
    a : array_like
        The first half of the transform, m elements.
    n : int, optional
        The length of the result, by default 2 (m - 1); give it where it is odd.
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, real, optional
        Receives the result.

    Returns
    -------
    ndarray, real

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.irfft([0.0, 2.0, 0.0])
    array([ 1.,  0., -1.,  0.])
    """
    return _transform(a, n, axis, norm, out, _TO_REAL)


def _swap(norm):
    try:
        return _SWAPPED[norm]
    except (KeyError, TypeError):
        raise ValueError(
            f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        ) from None


def hfft(a, n=None, axis=-1, norm=None, out=None):
    """The transform of a signal with Hermitian symmetry, whose spectrum is real.

    Parameters
    ----------
    a : array_like
        The first half of the signal, m elements.
    n : int, optional
        The length of the result, by default 2 (m - 1).
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, real, optional
        Receives the result.

    Returns
    -------
    ndarray, real

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.hfft([1.0, 2.0, 3.0])
    array([ 8., -2.,  0., -2.])
    """
    a = _core.asarray(a)
    if n is None:
        n = (a.shape[axis] - 1) * 2
    return irfft(_core.conjugate(a), n, axis, _swap(norm), out)


def ihfft(a, n=None, axis=-1, norm=None, out=None):
    """The inverse of hfft: the first half of a signal with Hermitian symmetry.

    Parameters
    ----------
    a : array_like
        A real spectrum.
    n : int, optional
        The length: the axis is cut, or continued with zeros; by default that of the axis.
    axis : int
        The axis, the last by default.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex
        Of n // 2 + 1 elements along axis.

    Raises
    ------
    ValueError
        n is not positive, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.ihfft([8.0, -2.0, 0.0, -2.0]).real
    array([1., 2., 3.])
    """
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
    """The Fourier transform along several axes.

    Parameters
    ----------
    a : array_like
        Real or complex numbers.
    s : sequence of ints, optional
        The lengths, which cut axes or continue them with zeros; -1: that of the axis.
    axes : sequence of ints, optional
        The axes, by default all (or the last len(s), which is deprecated).
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.fftn(np.ones((2, 2))).real
    array([[4., 0.],
           [0., 0.]])
    """
    return _complex(a, s, axes, norm, out, _FORWARD)


def ifftn(a, s=None, axes=None, norm=None, out=None):
    """The inverse of fftn.

    Parameters
    ----------
    a : array_like
        The transform.
    s : sequence of ints, optional
        The lengths, which cut axes or continue them with zeros; -1: that of the axis.
    axes : sequence of ints, optional
        The axes, by default all (or the last len(s), which is deprecated).
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.ifftn([[4.0, 0.0], [0.0, 0.0]]).real
    array([[1., 1.],
           [1., 1.]])
    """
    return _complex(a, s, axes, norm, out, _INVERSE)


def fft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The Fourier transform along two axes.

    Parameters
    ----------
    a : array_like
        Real or complex numbers.
    s : pair of ints, optional
        The lengths, which cut axes or continue them with zeros.
    axes : sequence of ints
        The axes, by default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _complex(a, s, axes, norm, out, _FORWARD)


def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The inverse of fft2.

    Parameters
    ----------
    a : array_like
        The transform.
    s : pair of ints, optional
        The lengths, which cut axes or continue them with zeros.
    axes : sequence of ints
        The axes, by default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]]).real
    array([[1., 2.],
           [3., 4.]])
    """
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
    """The Fourier transform of real numbers along several axes; the last one is halved.

    Parameters
    ----------
    a : array_like
        Real numbers.
    s : sequence of ints, optional
        The lengths, which cut axes or continue them with zeros.
    axes : sequence of ints, optional
        The axes, by default all; rfft is along the last, fft along the others.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.rfftn(np.ones((2, 4))).shape
    (2, 3)
    """
    return _from_real(a, s, axes, norm, out)


def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The Fourier transform of real numbers along two axes; the last one is halved.

    Parameters
    ----------
    a : array_like
        Real numbers.
    s : pair of ints, optional
        The lengths, which cut axes or continue them with zeros.
    axes : sequence of ints
        The axes, by default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of fft.
    out : ndarray, complex, optional
        Receives the result.

    Returns
    -------
    ndarray, complex

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.rfft2([[1.0, 2.0], [3.0, 4.0]]).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _from_real(a, s, axes, norm, out)


def irfftn(a, s=None, axes=None, norm=None, out=None):
    """The inverse of rfftn: real numbers.

    Parameters
    ----------
    a : array_like
        The transform, halved in the last axis.
    s : sequence of ints, optional
        The lengths of the result, by default 2 (m - 1) in the last axis of m elements.
    axes : sequence of ints, optional
        The axes, by default all.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, real, optional
        Receives the result.

    Returns
    -------
    ndarray, real

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.irfftn(np.fft.rfftn(np.ones((2, 4)))).round(6)
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return _to_real(a, s, axes, norm, out)


def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None):
    """The inverse of rfft2: real numbers.

    Parameters
    ----------
    a : array_like
        The transform, halved in the last axis.
    s : pair of ints, optional
        The lengths of the result, by default 2 (m - 1) in the last axis of m elements.
    axes : sequence of ints
        The axes, by default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        As of ifft.
    out : ndarray, real, optional
        Receives the result.

    Returns
    -------
    ndarray, real

    Raises
    ------
    ValueError
        s and axes have different lengths, or norm is unknown.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fft.irfft2([[10.0, -2.0], [-4.0, 0.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    return _to_real(a, s, axes, norm, out)


_host_all(globals(), __name__)
