"""A shop's sales: a table, joins, months, moving means."""

import io

import numpy as np
import pandas as pd

rng = np.random.default_rng(8)
n = 400
sales = pd.DataFrame({
    "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 180, n)), unit="D"),
    "item": rng.choice(["tea", "coffee", "milk", "bread"], n, p=[0.3, 0.4, 0.2, 0.1]),
    "amount": rng.integers(1, 6, n),
})  # fmt: skip
prices = pd.read_csv(io.StringIO("item,price\ntea,2.5\ncoffee,3.25\nmilk,1.1\nbread,2.0\n"))
sales = sales.merge(prices, on="item")
sales["total"] = sales["amount"].values * sales["price"].values
monthly = sales.pivot_table(
    index=sales["day"].dt.month, columns="item", values="total", aggfunc="sum"
)
print(monthly.round(2))
print(monthly.apply(np.argmax, axis=1).map(lambda k: monthly.columns[k]).tolist())

daily = sales.groupby("day")["total"].sum().asfreq("D", fill_value=0)
smooth = np.convolve(daily, np.ones(7) / 7, mode="valid")
print(smooth[:5].round(3), np.allclose(smooth, daily.rolling(7).mean().dropna()))
z = (daily - daily.mean()) / daily.std()
outliers = daily[np.abs(z) > 2.5]
print(len(outliers), outliers.index[0].date(), type(z.to_numpy()))
bins = np.digitize(sales["total"], [3, 6, 10])
print(pd.Series(bins).value_counts().sort_index().to_dict())
weekday = sales.groupby(sales["day"].dt.day_of_week)["total"].agg(["sum", "mean", np.median])
print(weekday.round(3).to_string())
codes, names = pd.factorize(sales["item"])
print(names.tolist(), np.bincount(codes, weights=sales["total"]).round(2))
sales.loc[sales["total"] > np.quantile(sales["total"], 0.9), "large"] = True
print(sales["large"].notna().sum(), sales[["amount", "total"]].mean().round(3).to_dict())
