"""Results lie in memory as NumPy's do: whether reshape and ravel give a view of them or a copy follows from it."""

import itertools
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import NPU

# Not as NumPy's, on purpose: vectors of eig (its own are halves of complex numbers), R of a stack's qr,
# cross and nanmedian of three dimensions.
EXPRESSIONS = """
np.select([a>0],[a],0)
np.select([a>0,b>0],[a,b])
np.where(a>0,a,b)
np.where(a>0,a,0)
np.piecewise(a,[a>0],[1,2])
np.choose((a>0).astype(int),[a,b])
np.choose((a>0).astype(int),[1,2])
np.clip(a,0,1)
a+b
a+1
-a
np.add(a,b)
a+a[0:1]
a*a.T
np.sort(a)
np.sort(a,axis=0)
np.argsort(a)
np.argsort(a,axis=0)
np.partition(a,1)
np.argpartition(a,1,axis=0)
np.cumsum(a,axis=0)
np.cumsum(a,axis=-1)
np.cumprod(a,axis=0)
np.diff(a)
np.diff(a,axis=0)
np.gradient(a)[0]
np.roll(a,1)
np.roll(a,1,axis=0)
np.flip(a)
np.flip(a,0)
np.rot90(a)
np.tile(a,2)
np.tile(a,(2,)*a.ndim)
np.repeat(a,2,axis=0)
np.repeat(a,2)
np.concatenate([a,b])
np.concatenate([a,b],axis=-1)
np.stack([a,b])
np.stack([a,b],axis=-1)
np.vstack([a,b])
np.hstack([a,b])
np.dstack([a,b])
np.append(a,b,axis=0)
np.insert(a,1,0,axis=0)
np.linalg.matrix_power(a,1)
np.delete(a,0,axis=0)
np.delete(a,[0],axis=0)
np.delete(a,[0,2],axis=-1)
np.delete(a,[True]+[False]*(a.shape[0]-1),axis=0)
np.delete(a,slice(0,1),axis=0)
np.delete(a,slice(1,3),axis=-1)
np.take(a,[0,1],axis=0)
np.take(a,[0,1],axis=-1)
np.take_along_axis(a,np.argsort(a,axis=0),0)
np.compress([True,False],a,axis=0)
np.copy(a)
a.copy()
a.copy("K")
np.array(a)
np.array(a,order="A")
np.asarray(a,order="C")
np.ascontiguousarray(a)
np.asfortranarray(a)
a.astype("f4")
a.astype("f8")
a.astype("f8",copy=True)
a.ravel()
a.ravel("K")
a.ravel("F")
a.reshape(-1)
a.reshape(a.shape[::-1])
a.reshape(a.shape[::-1],order="F")
a.reshape(-1,1)
np.zeros_like(a)
np.empty_like(a)
np.full_like(a,1)
np.ones_like(a,shape=(3,4))
np.broadcast_to(a,(2,)+a.shape)+1
np.broadcast_to(a[...,:1],a.shape)+1
np.broadcast_to(a[...,:1],a.shape).copy()
np.broadcast_to(a[...,:1],a.shape).astype("f4")
np.pad(a,1)
np.pad(a,1,mode="edge")
np.pad(a,1,mode="reflect")
np.pad(a,1,mode="wrap")
np.pad(a,1,mode="linear_ramp")
np.pad(a,1,mode="mean")
np.nan_to_num(a)
np.real(a+1j)
np.imag(a+1j)
np.conj(a+1j)
np.angle(a+1j)
np.abs(a+1j)
np.round(a,1)
a.round()
np.fix(a)
np.sinc(a)
np.i0(a)
np.unwrap(a)
np.unwrap(a,axis=0)
np.interp(a,[0,1],[0,1])
np.digitize(a,[0.,1.])
np.searchsorted([0.,1.],a)
np.isin(a,b)
np.isclose(a,b)
np.isfinite(a)
np.signbit(a)
np.modf(a)[0]
np.frexp(a)[1]
np.divmod(a,2)[1]
np.mean(a,axis=0)
np.mean(a,axis=-1,keepdims=True)
np.sum(a,axis=0)
np.sum(a,axis=-1)
np.std(a,axis=0)
np.median(a,axis=0)
np.median(a,axis=0,keepdims=True)
np.percentile(a,50,axis=0)
np.percentile(a,[25,50],axis=-1)
np.quantile(a,[[.1,.2]],axis=0)
np.max(a,axis=0)
np.argmax(a,axis=0)
np.ptp(a,axis=0)
np.average(a,axis=0)
np.nanmean(a,axis=0)
np.nancumsum(a,axis=0)
np.fft.fft(a)
np.fft.fft(a,axis=0)
np.fft.rfft(a,axis=0)
np.fft.irfft(a+0j,axis=0)
np.fft.fft2(a)
np.fft.fftshift(a)
np.fft.ifftn(a)
a@np.swapaxes(b,-1,-2)
np.matmul(np.swapaxes(a,-1,-2),b)
np.dot(a,b.T)
np.inner(a,b)
np.outer(a,b)
np.kron(a,b)
np.tensordot(a,b,axes=([0],[0]))
np.einsum("...i,...j->...ij",a,b)
np.einsum("...ij->...ji",a)
np.einsum("ij...,ij...->ij...",a,b)
np.linalg.norm(a,axis=0)
np.linalg.qr(a)[0]
np.linalg.svd(a)[0]
np.linalg.svd(a)[2]
np.linalg.svd(a,full_matrices=False)[2]
np.linalg.pinv(a)
np.linalg.inv(a@np.swapaxes(a,-1,-2)+np.eye(a.shape[-2]))
np.linalg.cholesky(a@np.swapaxes(a,-1,-2)+np.eye(a.shape[-2]))
np.linalg.eigh(a@np.swapaxes(a,-1,-2))[1]
np.linalg.solve(a@np.swapaxes(a,-1,-2)+np.eye(a.shape[-2]),a)
np.linalg.matrix_power(a@np.swapaxes(a,-1,-2),3)
np.linalg.lstsq(a,a,rcond=None)[0]
np.linalg.multi_dot([a,b.T,a])
np.triu(a)
np.tril(a)
np.diag(a)
np.diagonal(a)+0
np.trace(a)
np.cov(a)
np.corrcoef(a)
np.vander(a.ravel()[:3])
np.meshgrid(a.ravel(),b.ravel())[0]
np.indices(a.shape)
np.argwhere(a>0)
np.array(np.nonzero(a>0))
a[a>0]
a[[1,0]]
a[:,[1,0]]
a[...,[1,0]]
a[[1,0],[0,1]]
a[[[1,0],[0,1]]]
a[None]+1
a[::-1]+1
a[:,::-1].copy()
a[::2].copy("K")
a.T.copy()
a.T.copy("K")
a.swapaxes(0,-1)+1
np.moveaxis(a,0,-1)*2
np.array([a,b])
np.array([a.T,b.T])
np.array(a.tolist())
np.frompyfunc(lambda x:x+1,1,1)(a).astype(float)
np.vectorize(lambda x:x+1)(a)
np.apply_along_axis(lambda v:v*2,0,a)
np.apply_along_axis(lambda v:v.sum(),-1,a)
np.apply_over_axes(np.sum,a,[0])
np.add.accumulate(a,axis=0)
np.add.reduce(a,axis=0)
np.add.outer(a,b)
np.maximum.reduceat(a,[1,0],axis=-1)
np.add.reduceat(a,[0,1,0],axis=0)
np.multiply.reduce(a,axis=-1,keepdims=True)
np.logical_not(a>0)
(a>0)&(b>0)
np.bitwise_xor(a>0,b>0)
np.unique(a,axis=0)
np.split(a,2,axis=0)[0]+1
np.array_split(a,2,axis=-1)[1].copy()
np.block([[a,b],[b,a]])
np.column_stack([a,b])
np.resize(a,(3,5))
np.trim_zeros(a.ravel())
np.convolve(a.ravel(),b.ravel(),"same")
np.ediff1d(a)
np.trapezoid(a,axis=0)
np.cumulative_sum(a,axis=0)
np.fromfunction(lambda i,j:i+j,(3,4))
np.lib.stride_tricks.sliding_window_view(a,2,axis=0)+1
np.lib.stride_tricks.sliding_window_view(a,2,axis=0).copy()
np.packbits(a>0,axis=0)
np.unpackbits(np.packbits(a>0,axis=0),axis=0)
np.bincount((a.ravel()>0).astype(int))
np.histogram2d(a.ravel(),b.ravel())[0]
np.heaviside(a,0.)
np.float_power(a,2)
np.ldexp(a,2)
np.maximum(a,b.astype("f4"))
np.nanmax(a,axis=0)
np.squeeze(a[None])+1
np.expand_dims(a,1)+1
np.atleast_3d(a)+1
np.copysign(a,b)
np.random.default_rng(0).permutation(a)
np.random.default_rng(0).permuted(a,axis=0)
np.random.default_rng(0).shuffle(a) or a
np.random.default_rng(0).normal(a,1)
np.random.default_rng(0).choice(a,2,axis=0)
np.polyval([1,2],a)
np.poly1d([1,2])(a)
np.polynomial.polynomial.polyval(a,[1,2])
np.polynomial.Polynomial([1,2])(a)
np.ma.masked_less(a,0).data
a.reshape(a.size)
a.reshape(a.shape+(1,))
a.reshape((1,)+a.shape)
a.reshape(-1,order="F")
a.reshape(a.shape[0],-1)
a.reshape(-1,a.shape[-1])
a.T.reshape(-1)
a[::2].reshape(-1)
a[:1].reshape(-1)
a[:,:1].reshape(-1)
a[...,0].reshape(-1)
a.ravel("A")
a[::-1].ravel()
a.flatten()
a.squeeze()
a[None].squeeze()
np.ravel(a)
np.atleast_2d(a)
np.atleast_3d(a)
np.expand_dims(a,0)
np.squeeze(a)
np.transpose(a)
np.swapaxes(a,0,1)
np.moveaxis(a,0,1)
np.rollaxis(a,1)
np.broadcast_to(a,(2,)+a.shape)
np.broadcast_arrays(a,b)[0]
np.diagonal(a)
np.real(a)
np.imag(a)
a.real
a.imag
np.asarray(a)
np.asarray(a,dtype="f8")
np.asarray(a,dtype="f4")
np.asarray(a,order="F")
np.asanyarray(a)
np.require(a,requirements="C")
np.require(a,requirements="F")
np.array(a,copy=None)
np.array(a,copy=False)
np.array(a,ndmin=3)
np.array(a,ndmin=4,copy=None)
a.astype("f8",copy=False)
a.astype("f8",order="F",copy=False)
a.view()
a.view("i8")
a.view("f8")
np.split(a,1)[0]
np.array_split(a,2)[0]
np.hsplit(a,1)[0]
np.vsplit(a,1)[0]
np.flipud(a)
np.fliplr(a)
np.rot90(a,2)
np.nan_to_num(a,copy=False)
np.lib.stride_tricks.sliding_window_view(a,1,axis=0)
np.lib.stride_tricks.as_strided(a)
np.conj(a)
a.conj()
np.positive(a)
np.round(a)
np.resize(a,a.shape)
np.tile(a,1)
np.repeat(a,1,axis=0)
np.concatenate([a])
np.stack([a])[0]
np.vstack([a])
a[...]
a[()]
a[:]
a[[True]*a.shape[0]]
a[None]
a[...,None]
np.unstack(a)[0]
np.permute_dims(a,tuple(range(a.ndim)))
np.matrix_transpose(a)
a.mT
np.ix_(a.ravel())[0]
np.meshgrid(a.ravel(),copy=False)[0]
np.meshgrid(a.ravel(),b.ravel(),copy=False)[0]
np.meshgrid(a.ravel(),b.ravel(),sparse=True,copy=False)[0]
np.delete(a,[],axis=0)
np.insert(a,[],0,axis=0)
np.append(a,[])
np.clip(a,None,1)
np.asarray_chkfinite(a)
np.block([a])
np.block(a)
np.column_stack([a])
np.squeeze(a,())
np.roll(a,0)
np.where(True,a,a)
np.linalg.multi_dot([a,b.T])
np.einsum("...ij->...ij",a)
np.einsum("...ii->...i",a)
np.einsum("ij",a)
np.piecewise(a,[a>9],[1,lambda x:x])
a.diagonal()
a.swapaxes(0,1)
a.transpose()
a.T
a.flat[:]
np.polynomial.polynomial.polyval(a,[0,1])
np.linalg.diagonal(a)
np.astype(a,np.float64,copy=False)
np.asarray(a,copy=False)
np.asarray(a,copy=True)
np.real_if_close(a)
np.real_if_close(a+0j)
np.angle(a)
np.compress([True]*a.shape[0],a,axis=0)
np.extract(a<9,a)
np.squeeze(a[:1],0)
np.apply_along_axis(lambda v:v,0,a)
np.lib.scimath.sqrt(a)
""".strip().splitlines()

SHAPES = [(4, 6), (4, 4), (2, 4, 3), (1, 5), (40, 60)]


def layouts(shape):
    """Arrays of one shape, in memory in several ways."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    yield x
    yield np.asfortranarray(x)
    for axes in itertools.permutations(range(len(shape))):
        if len(shape) == 3:
            yield np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
    big = rng.standard_normal([2 * n for n in shape])
    part = tuple(slice(None, None, 2) for _ in shape)
    yield from (big[part], np.asfortranarray(big)[part], x[::-1])
    yield np.broadcast_to(x[..., :1], shape)


def on_device(x):
    """The array with the same strides in an array of ours."""
    whole = x
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    mine = asnumpy.array(whole, order="K").ravel("K")
    offset = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return asnumpy.lib.stride_tricks.as_strided(mine[offset // 8 :], x.shape, x.strides)


def strides(x):
    """Those that tell: of axes of more than one element."""
    return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] if x.size else []


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_layout(text):
    if NPU and text.startswith(("np.frompyfunc", "np.vectorize", "np.ma.")):
        pytest.skip("NumPy computes it of a copy, which is row-major")
    done = 0
    for shape in SHAPES:
        for a in layouts(shape):
            b = np.random.default_rng(1).standard_normal(shape)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    want = eval(text, {"np": np, "a": a, "b": b})
                except (ValueError, IndexError, TypeError, np.linalg.LinAlgError):
                    continue  # not of this shape
                mine = on_device(a)
                got = eval(text, {"np": asnumpy, "a": mine, "b": asnumpy.asarray(b)})
            done += 1
            assert got.shape == want.shape
            assert strides(got) == strides(want), (shape, a.strides)
            assert asnumpy.shares_memory(got, mine) == np.shares_memory(want, a)
            assert got.flags.c_contiguous == want.flags.c_contiguous
            assert got.flags.f_contiguous == want.flags.f_contiguous
    assert done
