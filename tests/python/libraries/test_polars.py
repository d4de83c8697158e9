"""polars makes series and frames of our arrays, and selects by them."""

import pytest
from libraries.comparing import same

pl = pytest.importorskip("polars")

CASES = {
    "Series": lambda np: pl.Series("a", np.arange(4)),
    "Series of what is not computed": lambda np: pl.Series("a", np.arange(4) * 2.5),
    "DataFrame of columns": lambda np: pl.DataFrame({"a": np.arange(4), "b": np.ones(4)}),
    "DataFrame of rows": lambda np: pl.DataFrame(np.arange(6.0).reshape(3, 2)),
    "from_numpy": lambda np: pl.from_numpy(np.ones((3, 2))),
    "series + array": lambda np: pl.Series("a", [1, 2, 3, 4]) + np.arange(4),
    "series * array": lambda np: pl.Series("a", [1, 2, 3, 4]) * np.arange(4),
    "series > array": lambda np: pl.Series("a", [1, 2, 3, 4]) > np.array([0, 2, 2, 9]),
    "filter": lambda np: pl.Series("a", [1, 2, 3]).filter(np.array([True, False, True])),
    "series[rows]": lambda np: pl.Series("a", [1, 2, 3])[np.array([0, 2])],
    "is_in": lambda np: pl.Series("a", [1, 2, 3]).is_in(np.array([1, 2])),
    "lit": lambda np: pl.DataFrame({"a": [1, 2]}).with_columns(b=pl.lit(np.array([1, 2]))),
    "with_columns": lambda np: pl.DataFrame({"a": [1, 2]}).with_columns(
        pl.Series("b", np.arange(2))
    ),
    "frame[rows]": lambda np: pl.DataFrame({"a": [1, 2, 3]})[np.array([0, 2])],
    "ufunc of a series": lambda np: np.asarray(np.exp(pl.Series("a", [1.0, 2]))),
    "array of a series": lambda np: np.asarray(pl.Series("a", [1.0, 2])),
    "to_numpy": lambda np: np.mean(pl.DataFrame({"a": np.arange(4)}).to_numpy()),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case])
