"""Calendars: datetime64 and timedelta64."""

import numpy as np

days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
print(days.size, days[0], days[-1], days.dtype)
weekday = (days.astype("datetime64[D]").astype(int) + 3) % 7
print(np.bincount(weekday))
print(days[weekday == 0][:4])
print(np.is_busday(days[:7]), np.busday_count("2024-01-01", "2024-12-31"))
months = days.astype("datetime64[M]")
for month in np.unique(months):
    print(month, np.count_nonzero(months == month))
spans = np.diff(days[[0, 10, 31, 59]])
print(spans, spans.sum(), spans / np.timedelta64(1, "W"))
stamps = np.datetime64("2024-02-28T23:59:30") + np.arange(3) * np.timedelta64(20, "s")
print(stamps, stamps.astype("datetime64[D]"))
missing = np.array(["2024-01-01", "NaT"], dtype="datetime64[D]")
print(np.isnat(missing), missing)
print(repr(days[:3]), np.datetime_as_string(days[:2]))
print(isinstance(days, np.ndarray), days.max() - days.min())
