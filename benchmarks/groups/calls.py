"""Functions, methods and operators on ten elements: what a call costs beside NumPy's, all over the interface.

Composed functions show here: three operations and a look at their arguments cost more than NumPy's one loop.
"""

from rows import Row

SETUP = """
a, b = np.array([.3, 1.2, 2.5, .1, .9, 4., 3.3, .2, 5., 1.1]), np.arange(1.0, 11.0)
i, m, s = np.array([3, 1, 2, 0, 5, 4, 7, 6, 9, 8]), np.array([True, False] * 5), np.arange(10)
g, c, u = np.arange(16.).reshape(4, 4) + np.eye(4) * 9, np.arange(10) + 1j, np.linspace(0, 1, 10)
h, k, h4 = np.array([1., 2, 3]), np.array([4., 5, 6]), np.array([1., 2, 3, 4])
"""
CALLS = {
    "creation": """
        np.linspace(0, 1, 10) | np.arange(10) | np.arange(10.) | np.arange(0, 1, .1) | np.zeros(10) | np.ones((3, 3))
        | np.empty(10) | np.full(10, 2.) | np.eye(4) | np.identity(3) | np.zeros_like(a) | np.ones_like(a)
        | np.full_like(a, 1) | np.empty_like(a) | np.array([1, 2, 3]) | np.array([1., 2.]) | np.array([[1, 2], [3, 4]])
        | np.asarray([1, 2, 3]) | np.array(3.) | np.array(a) | np.copy(a) | np.diag(h) | np.diag(g) | np.tri(4)
        | np.tril(g) | np.triu(g) | np.vander(h) | np.meshgrid(h, k) | np.logspace(0, 1, 5) | np.geomspace(1, 10, 5)
        | np.indices((2, 2))
    """,
    "reductions and statistics": """
        np.median(a) | np.percentile(a, 50) | np.quantile(a, .5) | np.average(a) | np.average(a, weights=b)
        | np.mean(a) | np.std(a) | np.var(a) | np.sum(a) | np.prod(a) | np.max(a) | np.min(a) | np.ptp(a) | np.argmax(a)
        | np.argmin(a) | np.all(m) | np.any(m) | np.cumsum(a) | np.cumprod(a) | np.diff(a) | np.nansum(a) | np.nanmean(a)
        | np.nanmax(a) | np.nanstd(a) | np.nanmedian(a) | np.count_nonzero(m) | np.corrcoef(a, b) | np.cov(a, b)
        | np.histogram(a) | np.bincount(i) | np.digitize(a, h) | np.histogram2d(a, b) | g.sum(0) | g.mean(axis=1)
        | g.max(1) | a.min() | a.argmax() | np.trapezoid(a, b) | np.ediff1d(a) | np.gradient(a)
    """,
    "order, shape and selection": """
        np.sort(a) | np.argsort(a) | a.sort() | np.unique(i) | np.unique(a) | np.searchsorted(b, 3.)
        | np.searchsorted(b, a) | np.partition(a, 3) | np.lexsort((a, b)) | np.flip(a) | np.roll(a, 1)
        | np.roll(g, 1, axis=0) | np.rot90(g) | np.repeat(a, 2) | np.tile(a, 2) | np.concatenate((a, b))
        | np.stack((a, b)) | np.vstack((a, b)) | np.hstack((a, b)) | np.column_stack((a, b)) | np.dstack((a, b))
        | np.split(a, 2) | np.array_split(a, 3) | np.append(a, 1.) | np.insert(a, 1, 2.) | np.delete(a, 1)
        | np.reshape(a, (2, 5)) | np.ravel(g) | g.flatten() | g.T | np.transpose(g) | np.swapaxes(g, 0, 1)
        | np.moveaxis(g, 0, 1) | np.expand_dims(a, 0) | np.squeeze(a) | np.atleast_1d(a) | np.atleast_2d(a)
        | np.broadcast_to(h, (4, 3)) | np.pad(a, 1) | np.pad(a, 1, mode='edge') | np.take(a, i)
        | np.take_along_axis(a, i, 0) | np.choose(i%2, (a, b)) | np.where(m, a, b) | np.where(m) | np.nonzero(a)
        | np.argwhere(m) | np.flatnonzero(m) | np.extract(m, a) | np.compress(m, a) | np.select([m], [a])
        | np.place(a.copy(), m, 1.) | np.putmask(a.copy(), m, 1.) | np.isin(i, s) | np.intersect1d(i, s)
        | np.union1d(i, s) | np.setdiff1d(i, s)
    """,
    "arithmetic and products": """
        a+b | a*2 | a/b | a**2 | a**0.5 | -a | abs(a) | a//b | a%b | a==b | a<b | m&m | ~m | i+i | i//3 | i%3 | i**2
        | np.add(a, b) | np.maximum(a, b) | np.minimum(a, 0.) | np.clip(a, 0, 1) | a.clip(0, 1) | np.sqrt(a) | np.exp(a)
        | np.log(a) | np.sin(a) | np.arctan2(a, b) | np.hypot(a, b) | np.power(a, b) | np.mod(a, b) | np.floor(a)
        | np.round(a, 2) | np.rint(a) | np.sign(a) | np.isnan(a) | np.isfinite(a) | np.isclose(a, b) | np.allclose(a, b)
        | np.array_equal(a, b) | np.real(c) | np.imag(c) | np.conj(c) | np.angle(c) | np.abs(c) | np.nan_to_num(a)
        | np.interp(a, b, u) | np.convolve(a, h) | np.correlate(a, h) | np.cross(h, k) | np.dot(a, b) | np.vdot(a, b)
        | np.inner(a, b) | np.outer(h, k) | np.kron(h, k) | np.tensordot(g, g, 1) | np.einsum('i, i', a, b)
        | np.einsum('ij, jk', g, g) | g@g | g@g[0] | np.matmul(g, g) | np.trace(g) | np.polyfit(b, a, 2)
        | np.polyval(h, a) | np.roots(h) | np.deg2rad(a) | np.unwrap(a) | np.sinc(a) | np.i0(a) | np.heaviside(a, .5)
        | np.piecewise(a, [m], [1.]) | np.apply_along_axis(np.sum, 0, g) | np.ix_(s, s)
    """,
    "linear algebra and transforms": """
        np.linalg.norm(a) | np.linalg.norm(g, axis=1) | np.linalg.norm(g) | np.linalg.solve(g, h4) | np.linalg.inv(g)
        | np.linalg.det(g) | np.linalg.eigh(g) | np.linalg.eig(g) | np.linalg.eigvals(g) | np.linalg.svd(g)
        | np.linalg.qr(g) | np.linalg.cholesky(g) | np.linalg.lstsq(g, h4, rcond=None) | np.linalg.pinv(g)
        | np.linalg.matrix_rank(g) | np.linalg.matrix_power(g, 3) | np.linalg.slogdet(g) | np.linalg.cond(g)
        | np.linalg.multi_dot([g, g, g]) | np.fft.fft(a) | np.fft.ifft(c) | np.fft.rfft(a) | np.fft.irfft(c)
        | np.fft.fft2(g) | np.fft.fftfreq(10) | np.fft.fftshift(a)
    """,
    "indexing, attributes and scalars": """
        a[0] | a[1:3] | a[::-1] | a[m] | g[1, 2] | g[1] | g[:, 1] | g[1:3, 1:3] | g[i[:3]%4] | g[None] | a[..., None]
        | float(a[0]) | int(i[0]) | bool(m[0]) | len(a) | a.shape | a.ndim | a.size | a.dtype | a.tolist() | a.item(0)
        | list(a) | repr(a) | str(a) | a.astype('f4') | a.astype(int) | a.copy() | a.reshape(5, 2) | a.ravel()
        | a.fill(1.) | a.tobytes() | a.any() | a.all() | np.shape(a) | np.ndim(a) | np.size(a) | np.dtype('f8')
        | np.result_type(a, i) | np.can_cast('i4', 'f8') | np.promote_types('i4', 'f4') | np.finfo(float) | np.iinfo(int)
        | np.isscalar(3) | np.float64(3)+1 | np.float64(3)*a | a*np.float64(3) | np.sqrt(2.) | np.sin(1.0) | np.exp(1)
        | np.abs(-1) | np.maximum(1, 2) | np.add(1, 2) | np.broadcast_shapes((3, 1), (1, 3))
        | np.unravel_index(3, (2, 2)) | np.ravel_multi_index((1, 1), (2, 2)) | np.may_share_memory(a, b)
        | np.shares_memory(a, b) | np.iscomplexobj(a) | np.isreal(a) | np.array2string(a)
    """,
}


def rows():
    return [
        Row("calls", code.strip(), code.strip(), setup=SETUP, bar=(1, None), small=True, numpy_only=True,
            check=False)  # what they give is for the tests
        for text in CALLS.values() for code in text.split("|")
        if code.strip()
    ]  # fmt: skip
