"""Tides of a month from a command line: options, tables, dates, and what is wrong with them."""

import argparse
import math

import numpy as np

PARTS = np.array(
    [
        ("M2", 12.4206, 1.2, 30.0),
        ("S2", 12.0, 0.4, 75.0),
        ("K1", 23.9345, 0.3, 120.0),
        ("O1", 25.8193, 0.2, 10.0),
    ],
    dtype=[("name", "U2"), ("period", "f8"), ("height", "f8"), ("phase", "f8")],
)


def tide(hours):
    angle = 2 * np.pi * hours[:, None] / PARTS["period"] - np.radians(PARTS["phase"])
    return (PARTS["height"] * np.cos(angle)).sum(axis=1)


def turning(values):
    rising = np.diff(values) > 0
    return np.flatnonzero(rising[1:] != rising[:-1]) + 1


parser = argparse.ArgumentParser(prog="tides")
parser.add_argument("--begin", type=np.datetime64, default=np.datetime64("2024-02-27T00:00"))
parser.add_argument("--days", type=int, default=4)
parser.add_argument("--limit", type=float, default=1.0)
options = parser.parse_args(["--days", "3", "--limit", "1.5"])

minutes = np.arange(0, options.days * 24 * 60, 6)
hours = minutes / 60.0 + 24 * 57
height = tide(hours)
when = options.begin + minutes.astype("timedelta64[m]")
for i in turning(height):
    kind = "high" if height[i] > 0 else "low "
    print(kind, when[i], f"{height[i]:+.2f} m")
print("above", options.limit, "m:", (height > options.limit).sum() * 6, "minutes")
days = when.astype("datetime64[D]")
for day in np.unique(days):
    here = height[days == day]
    print(
        day,
        day.astype(object).strftime("%a"),
        f"{here.min():.3f} {here.max():.3f} {np.ptp(here):.3f}",
    )
order = np.argsort(PARTS, order="period")
print(PARTS[order]["name"], PARTS["height"].sum(), PARTS[PARTS["height"] > 0.25]["name"].tolist())
print(np.busday_count(days[0], days[-1] + 1), np.is_busday(days[0]), math.ceil(height.max() * 10))
grid = np.lib.stride_tricks.sliding_window_view(height, 5)[::120]
print(grid.shape, np.median(grid, axis=1).round(3)[:5], height.dtype.newbyteorder(">").str)
try:
    parser.parse_args(["--begin", "2024-13-01"])
except SystemExit as stopped:
    print("stopped", stopped.code)
