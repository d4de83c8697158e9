"""h5py writes our arrays to files and reads into their memory."""

import asnumpy
import pytest
from libraries.comparing import same

h5py = pytest.importorskip("h5py")


@pytest.fixture
def file():
    with h5py.File("memory.h5", "w", driver="core", backing_store=False) as opened:
        opened["a"] = list(range(12))
        opened["b"] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        yield opened


CASES = {
    "create": lambda np, f: f.create_dataset("c", data=np.arange(4) * 2.5)[:],
    "assign": lambda np, f: (f.__setitem__("d", np.ones(3)), f["d"][...]),
    "write": lambda np, f: (f["a"].__setitem__(slice(2, 5), np.array([7, 8, 9])), f["a"][:]),
    "write_direct": lambda np, f: (f["b"].write_direct(np.arange(6.0).reshape(3, 2)), f["b"][:]),
    "mask": lambda np, f: f["b"][np.array([True, False, True])],
    "rows": lambda np, f: f["b"][np.array([0, 2])],
    "attributes": lambda np, f: (f.attrs.__setitem__("x", np.arange(3)), f.attrs["x"]),
    "asarray": lambda np, f: np.asarray(f["b"]),
    "mean": lambda np, f: np.mean(f["b"], axis=0),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case, file):
    def run(np):
        for name in ("c", "d"):
            file.pop(name, None)
        return CASES[case](np, file)

    same(run)


def test_read_direct(file):
    out = asnumpy.zeros((3, 2))
    if not out.device.startswith("cpu"):
        with pytest.raises((TypeError, ValueError)):
            file["b"].read_direct(out)
        return
    file["b"].read_direct(out)
    assert (out + 1).tolist() == [[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
