"""pandas over a made census: joins, bins, windows, a matrix of shares."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(31)
n = 60
people = pd.DataFrame(
    {"id": np.arange(n), "age": rng.integers(0, 90, n), "region": rng.integers(0, 3, n)}
)
regions = pd.DataFrame({"region": np.arange(3), "name": np.array(["Hill", "Coast", "Plain"])})
full = people.merge(regions, on="region", how="left")
full["group"] = pd.cut(full["age"], bins=np.array([0, 18, 40, 65, 90]), right=False, labels=False)
print(full.head(), full.dtypes)
shares = pd.crosstab(full["name"], full["group"], normalize="index").to_numpy()
print(shares.round(4), shares.sum(axis=1), type(shares).__name__)
income = np.exp(rng.normal(10, 0.4, n)) * np.where(full["age"] < 18, 0, 1)
full["income"] = income.round(2)
print(
    full.groupby("name")["income"].agg(["count", "mean", np.median, lambda s: np.ptp(s)]).round(2)
)
top = full.nlargest(3, "income")
print(top[["id", "name", "income"]].to_string(index=False))
full.loc[full.index[income > np.quantile(income, 0.9)], "income"] = np.nan
print(full["income"].isna().sum(), full["income"].fillna(0).cumsum().iloc[-1].round(2))
wide = full.pivot_table(values="income", index="group", columns="name", aggfunc=np.sum).fillna(0)
print((wide / 1000).round(1), wide.values.dtype, np.round(wide.to_numpy().mean(), 3))
print(
    pd.Series(income).rank().astype(int).to_numpy()[:8], pd.DataFrame(np.eye(2), columns=["a", "b"])
)
