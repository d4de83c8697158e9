"""pyarrow's arrays, tables and functions take our arrays."""

import asnumpy
import pytest
from libraries.comparing import same

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

CASES = {
    "array": lambda np: pa.array(np.arange(4)),
    "array with a mask": lambda np: pa.array(np.arange(3), mask=np.array([True, False, False])),
    "strided": lambda np: pa.array(np.arange(8.0)[::2]),
    "table": lambda np: pa.table({"a": np.arange(3), "b": np.ones(3)}),
    "take": lambda np: pa.table({"a": [1, 2, 3]}).take(pa.array(np.array([0, 2]))),
    "filter": lambda np: pa.table({"a": [1, 2, 3]}).filter(pa.array(np.array([True, False, True]))),
    "add": lambda np: pc.add(np.arange(3), 1),
    "compute take": lambda np: pc.take(pa.array([1, 2, 3]), np.array([0, 2])),
    "chunked_array": lambda np: pa.chunked_array([np.arange(3), np.arange(2)]),
    "asarray": lambda np: np.asarray(pa.array([1, 2])),
    "column": lambda np: np.array(pa.table({"a": [1, 2]})["a"]),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case])


def test_tensor_wants_numpys_own_class():
    """An immutable class, which nothing can be put into: docs/guide/ecosystem.md says what to do."""
    with pytest.raises(pa.ArrowTypeError):
        pa.Tensor.from_numpy(asnumpy.ones((2, 2)))
