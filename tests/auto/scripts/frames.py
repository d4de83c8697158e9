"""pandas: tables, groups, masks."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(8)
frame = pd.DataFrame({
    "city": rng.choice(["Rome", "Oslo", "Lima"], 12),
    "sales": rng.integers(10, 99, 12),
    "rate": rng.random(12).round(3),
})  # fmt: skip
print(frame)
print(frame.groupby("city").agg({"sales": "sum", "rate": np.mean}))
mask = (frame["sales"] > 40).to_numpy() & (frame["rate"].values < 0.8)
print(frame[mask], frame.loc[mask, "sales"].sum(), type(mask).__name__)
frame["score"] = np.sqrt(frame["sales"]) * np.arange(12)
frame["high"] = np.where(frame["score"] > frame["score"].median(), "yes", "no")
print(frame.describe().round(4))
print(frame.pivot_table(index="city", columns="high", values="sales", aggfunc="mean").round(3))
series = pd.Series(np.arange(5.0), index=list("abcde"))
print(
    series[np.array([True, False, True, False, True])], series + np.ones(5), np.exp(series).round(4)
)
print(np.asarray(series) * 2, series.to_numpy().sum(), np.ones(5) * series)
print(
    pd.unique(np.array([3, 1, 3])), pd.factorize(np.array([5, 5, 7])), pd.cut(np.arange(4), 2).codes
)
print(frame.iloc[np.argsort(frame["rate"].to_numpy())[:3]]["city"].tolist())
dates = pd.date_range("2024-01-01", periods=6, freq="D")
print(pd.Series(np.arange(6), index=dates).rolling(3).mean().to_numpy(), dates.values[:2])
print(
    isinstance(frame["sales"].to_numpy(), np.ndarray),
    isinstance(frame["city"].to_numpy(), np.ndarray),
)
