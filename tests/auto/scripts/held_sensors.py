"""A log of sensors: parsed, cleaned, resampled, written again."""

import io
from collections import defaultdict

import numpy as np

LOG = """# time, sensor, value
0.0, a, 1.5
0.5, b, 2.5
1.0, a, nan
1.5, b, 3.0
2.0, a, 2.5
2.5, b, -99
3.0, a, 3.5
"""
rows = np.genfromtxt(io.StringIO(LOG), delimiter=",", dtype=None, encoding="utf-8", autostrip=True)
print(rows.dtype.names, rows.shape, rows[0])
by_sensor = defaultdict(list)
for time, sensor, value in rows:
    by_sensor[str(sensor)].append((time, value))
grid = np.arange(0, 3.5, 0.5)
table = {}
for sensor, pairs in sorted(by_sensor.items()):
    t, v = np.array(pairs).T
    good = ~np.isnan(v) & (v > -50)
    table[sensor] = np.interp(grid, t[good], v[good])
    print(sensor, t.size, good.sum(), table[sensor])
stacked = np.vstack(list(table.values()))
print(stacked.mean(axis=0), np.nanstd(stacked), np.corrcoef(stacked)[0, 1].round(8))
out = io.StringIO()
np.savetxt(out, np.c_[grid, stacked.T], fmt=["%.1f", "%.3f", "%.3f"], header="t a b", comments="")
print(out.getvalue())
