"""Views and in-place work."""

import numpy as np

a = np.arange(12.0).reshape(3, 4)
row, column, block = a[1], a[:, 2], a[1:, 1:3]
row += 100
column *= -1
block[...] = 7
print(a, row, column)
print(block.base is a, a.base is None, np.shares_memory(a, block), row.flags.owndata)
flat = a.ravel()
flat[0] = 55
a.flat[5] = 99
print(a, a.T.flags.f_contiguous, a.strides, a.T.strides)
mask = a > 50
a[mask] -= 50
np.clip(a, 0, 10, out=a)
print(a, mask.sum())
a[[0, 2]] = a[[2, 0]]
a[:, ::2] = 0
np.add.at(a, ([0, 0, 1], [1, 1, 3]), 1)
print(a)
b = a.view(np.int64)
print(b[0, 1] == a[0, 1].view(np.int64), a.astype(int).dtype)
a.shape = (4, 3)
a.resize((2, 6), refcheck=False)
print(a, a.nbytes, a.itemsize)
c = np.frombuffer(bytearray(range(8)), dtype="<u2")
c[0] = 500
print(c, c.tobytes()[:4], np.array(c, copy=True) is c, np.asarray(c) is c)
x = np.arange(10)
x[1:] = x[:-1]
print(x, np.put(x, [0, 1], -5), x)
