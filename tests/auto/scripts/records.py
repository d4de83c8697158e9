"""Structured arrays: a table of people."""

import numpy as np

people = np.array(
    [("Ada", 36, 1.65), ("Alan", 41, 1.75), ("Grace", 85, 1.68), ("Kurt", 71, 1.70)],
    dtype=[("name", "U10"), ("age", "i4"), ("height", "f8")],
)
print(people)
print(people.dtype, people["age"].mean(), people["height"].max())
print(np.sort(people, order="age")["name"])
old = people[people["age"] > 40]
print(old["name"], old.shape)
people["age"] += 1
people["height"][0] = 1.66
print(people[0], people[["name", "age"]])
taller = people["height"] > people["height"].mean()
print(taller, people["name"][taller])
table = people.view(np.recarray)
print(table.name, table.age.sum())
points = np.zeros(3, dtype=[("x", float), ("y", float)])
points["x"] = np.arange(3)
points["y"] = points["x"] ** 2
print(points, np.hypot(points["x"], points["y"]))
print(np.rec.fromarrays([np.arange(2), np.array([0.5, 1.5])], names="i,v"))
