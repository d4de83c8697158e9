"""Programs that type checkers must refuse, at the lines marked E."""

import asnumpy as np

a = np.arange(10)
a.shape + 1  # E
a.nope  # E
np.nope(a)  # E
np.zeros()  # E
np.zeros(3, order="Z")  # E
a.sort(kind="fast")  # E
np.concatenate([a, a], axes=0)  # E
np.sin(a, a, a, a)  # E
np.sin(a, otu=a)  # E
np.add(a)  # E
np.linalg.qr()  # E
np.allclose(a, a).shape  # E
np.save("f", a).shape  # E
a.size = 3  # E
np.random.default_rng(1).normal(0, 1, dtype=float)  # E
a.astype(np.float32, castng="safe")  # E
