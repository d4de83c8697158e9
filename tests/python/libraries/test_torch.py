"""PyTorch makes tensors and batches of our arrays, and NumPy's functions on tensors give tensors."""

import asnumpy
import numpy
import pytest
from libraries.comparing import same

torch = pytest.importorskip("torch")
data = pytest.importorskip("torch.utils.data")


def x(np):
    return np.arange(4.0)


CASES = {
    "from_numpy": lambda np: torch.from_numpy(x(np)),
    "asarray": lambda np: torch.asarray(x(np)),
    "tensor": lambda np: torch.tensor(x(np)),
    "as_tensor": lambda np: torch.as_tensor(x(np)),
    "default_collate": lambda np: data.default_collate([x(np), x(np)]),
    "collate of samples": lambda np: data.default_collate([(x(np), 1), (x(np), 2)]),
    "tensor + array": lambda np: torch.ones(4, dtype=torch.float64) + x(np),
    "exp of a tensor": lambda np: np.exp(torch.ones(4)),
    "tensor[rows]": lambda np: torch.arange(4)[np.array([0, 2])],
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    def run(np):
        made = CASES[case](np)
        parts = made if isinstance(made, list) else [made]
        assert all(type(part) is torch.Tensor for part in parts)
        return [numpy.asarray(part) for part in parts]

    same(run, rtol=1e-6)


def test_loader():
    rows = [(asnumpy.full(3, i), i) for i in range(4)]
    batches = list(data.DataLoader(rows, batch_size=2))
    assert [b[0].shape for b in batches] == [(2, 3), (2, 3)]
    assert batches[1][0].tolist() == [[2, 2, 2], [3, 3, 3]]


def test_from_numpy_shares_the_memory():
    a = asnumpy.zeros(3)
    tensor = torch.from_numpy(a)
    if a.device.startswith("cpu"):
        tensor[1] = 5
        assert (a + 0).tolist() == [0.0, 5.0, 0.0]
