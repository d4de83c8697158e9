"""A subclass of ndarray with units."""

import numpy as np


class Quantity(np.ndarray):
    def __new__(cls, values, unit=""):
        made = np.asarray(values, dtype=float).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", "")

    def to(self, factor, unit):
        made = self * factor
        made.unit = unit
        return made


length = Quantity([1.0, 2.5, 4.0], "m")
print(length, length.unit, repr(length))
print((length * 2).unit, (length * 2), type(length[1:]).__name__, length[1:].unit)
feet = length.to(3.28084, "ft")
print(feet, feet.unit, isinstance(feet, np.ndarray), np.sqrt(length))
print(type(length.sum()), length.mean(), np.asarray(length), type(np.asarray(length)))


class Logged(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        print("->", ufunc.__name__, method, len(inputs))
        plain = [np.asarray(x) if isinstance(x, Logged) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


logged = np.arange(3.0).view(Logged)
print(logged + 1, np.add.reduce(logged), np.exp(logged).round(4))
print(issubclass(Quantity, np.ndarray), Quantity.__mro__[1].__name__)
