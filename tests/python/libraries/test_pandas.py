"""pandas takes our arrays as keys, masks, columns and arguments."""

import warnings

import asnumpy
import numpy
import pandas as pd
import pytest
from libraries.comparing import same


def frame(np):
    return pd.DataFrame({"a": np.arange(5), "b": np.linspace(0, 1, 5)})


def mask(np):
    return np.array([True, False, True, False, True])


def changed(np, change):
    """A frame after an assignment."""
    result = frame(np)
    change(result)
    return result


def set_masked(np, values):
    return lambda df: df.loc.__setitem__((mask(np), "a"), values)


CASES = {
    "columns": frame,
    "df[mask]": lambda np: frame(np)[mask(np)],
    "df.loc[mask]": lambda np: frame(np).loc[mask(np)],
    "df.loc[mask, 'a']": lambda np: frame(np).loc[mask(np), "a"],
    "df.iloc[mask]": lambda np: frame(np).iloc[mask(np)],
    "df.loc[labels]": lambda np: frame(np).loc[np.array([1, 2])],
    "df.iloc[rows]": lambda np: frame(np).iloc[np.array([0, 2])],
    "df.iloc[rows, columns]": lambda np: frame(np).iloc[np.array([0, 1]), np.array([0])],
    "df[mask] = ": lambda np: changed(np, lambda df: df.__setitem__(mask(np), 9)),
    "df.loc[mask, 'a'] = ": lambda np: changed(np, set_masked(np, np.array([7, 8, 9]))),
    "df['c'] = ": lambda np: changed(np, lambda df: df.__setitem__("c", np.arange(5) * 2.5)),
    "df.assign": lambda np: frame(np).assign(z=np.arange(5)),
    "df.insert": lambda np: changed(np, lambda df: df.insert(0, "z", np.arange(5))),
    "series[mask]": lambda np: frame(np).a[mask(np)],
    "series[rows]": lambda np: pd.Series([1, 2, 3])[np.array([0, 1])],
    "series.where": lambda np: frame(np).a.where(mask(np), 0),
    "series.mask": lambda np: frame(np).a.mask(mask(np), np.arange(5) * 10),
    "df.where": lambda np: frame(np).where(np.ones((5, 2), bool)),
    "unique": lambda np: pd.unique(np.array([1, 2, 1])),
    "factorize": lambda np: pd.factorize(np.array([1, 2, 1]))[0],
    "cut": lambda np: pd.cut(np.array([1.0, 2, 3]), np.array([0, 1.5, 4])).codes,
    "qcut": lambda np: pd.qcut(np.linspace(0, 1, 20), 4).codes,
    "isin": lambda np: frame(np).a.isin(np.array([1, 2])),
    "get_dummies": lambda np: pd.get_dummies(np.array([1, 2, 1])),
    "crosstab": lambda np: pd.crosstab(np.array([1, 2, 1]), np.array([0, 1, 1])),
    "to_datetime": lambda np: pd.to_datetime(np.array([0, 1, 2]), unit="D"),
    "groupby": lambda np: frame(np).groupby(np.array([0, 0, 1, 1, 1])).sum(),
    "merge": lambda np: pd.merge(frame(np), frame(np), on=np.array([0, 1, 2, 3, 4])),
    "pivot_table": lambda np: frame(np).pivot_table(values="b", index=np.array([0, 0, 1, 1, 1])),
    "set_index": lambda np: frame(np).set_index(np.arange(5) * 2),
    "reindex": lambda np: frame(np).reindex(np.array([0, 2, 9])),
    "drop": lambda np: frame(np).drop(np.array([0, 1])),
    "take": lambda np: frame(np).take(np.array([0, 2])),
    "repeat": lambda np: frame(np).a.repeat(np.array([1, 2, 1, 0, 1])),
    "searchsorted": lambda np: frame(np).a.searchsorted(np.array([1, 2])),
    "clip": lambda np: frame(np).a.clip(np.zeros(5), np.ones(5)),
    "sample": lambda np: frame(np).sample(2, random_state=np.random.RandomState(3)),
    "sample of Generator": lambda np: frame(np).sample(3, random_state=np.random.default_rng(3)),
    "sample of bits": lambda np: frame(np).sample(3, random_state=np.random.PCG64(3)),
    "df * array": lambda np: frame(np) * np.arange(2),
    "array * df": lambda np: np.ones((5, 2)) * frame(np),
    "array - series": lambda np: np.arange(5) - frame(np).b,
    "df @ array": lambda np: frame(np) @ np.ones(2),
    "df == array": lambda np: frame(np).a == np.arange(5),
    "query": lambda np: (lambda x: frame(np).query("a in @x"))(np.array([1, 2])),
    "eval": lambda np: (lambda x: frame(np).eval("a + @x"))(np.arange(5)),
    "Index": lambda np: pd.Index(np.arange(4))[np.array([True, False, True, False])],
    "dates[rows]": lambda np: pd.date_range("2020", periods=5)[np.array([0, 1])],
    "MultiIndex": lambda np: pd.MultiIndex.from_arrays([np.array([1, 2]), np.array([3, 4])]),
    "rolling": lambda np: frame(np).a.rolling(2).apply(np.sum, raw=True),
    "agg": lambda np: frame(np).agg([np.mean, np.std]),
    "apply": lambda np: frame(np).apply(np.sqrt),
    "concat": lambda np: pd.concat([frame(np), pd.DataFrame(np.ones((1, 2)), columns=["a", "b"])]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case])


def test_frames_are_not_changed_by_an_array_that_changes():
    values = asnumpy.arange(3)
    made = pd.DataFrame({"a": values})
    values += 10
    expected = numpy.arange(3)
    from_numpy = pd.DataFrame({"a": expected})
    expected += 10
    assert made.equals(from_numpy)


def test_chained_assignment_is_still_warned_of():
    """pandas looks at the references of a frame and at its caller: what is wrapped must not show."""
    df = pd.DataFrame({"a": [1, 2, 3]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        df["b"] = asnumpy.arange(3)
        df[asnumpy.array([True, False, True])] = 4
        df.loc[asnumpy.array([0])] = 5
    if not hasattr(pd.errors, "ChainedAssignmentError"):
        return  # before copies on write
    with pytest.warns(pd.errors.ChainedAssignmentError):
        df["a"][0] = 5
    with pytest.warns(pd.errors.ChainedAssignmentError):
        df["a"][asnumpy.array([0, 1])] = 5
    with pytest.warns(pd.errors.ChainedAssignmentError):
        df["a"].mask(asnumpy.array([True, False, True]), 0, inplace=True)


def test_warnings_name_the_line_of_the_program(monkeypatch):
    """pandas counts frames up to the first that is not its own."""
    from pandas.util._exceptions import find_stack_level

    monkeypatch.setattr(
        pd.core.common,
        "is_bool_indexer",
        lambda key: warnings.warn("x", stacklevel=find_stack_level()),
    )
    series = pd.Series(numpy.arange(3))
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        series.loc[numpy.array([0, 1])]
    assert met and met[0].filename == __file__
