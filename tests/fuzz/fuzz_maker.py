"""What the statements of a random NumPy program are made with: draws, the variables so far with
NumPy's values of them, and which of them are rough (fuzz_programs.py)."""

import math

import fuzz_inputs as inputs
import numpy
import thresholds

DTYPES = ("f8", "f4", "f8", "f4", "f8", "f4", "i8", "i4", "u1", "?", "f2", "c16")
SIZES = [n for n in thresholds.sizes() if n <= 200_000]
MOST_BYTES = 1 << 23


def root(a):
    while getattr(a, "base", None) is not None:  # (sliding windows have a base of no array's class)
        a = a.base
    return id(a)


class Maker:
    """One program in the making; `env` holds NumPy's values."""

    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)
        self.seed = seed
        self.env = {"np": numpy, "make": inputs.make}
        self.lines, self.names = [], []
        self.rough_roots = set()
        self.leaves = set()  # results whose shape depends on values
        self.keep = []  # roots stay alive: ids are their names
        self.count = 0
        self.theme = self.pick(
            ("elementwise", "mixed", "views", "expressions", "expressions", "indexing", "writing")
        )
        self.shape = self.some_shape()
        self.dtypes = [self.pick(DTYPES) for _ in range(self.draw(1, 3))]

    # ---- drawing

    def draw(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def chance(self, of):
        return self.rng.integers(of) == 0

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def some_shape(self):
        size = self.pick(SIZES) if not self.chance(3) else self.draw(1, 3000)
        ndim = self.draw(1, 3)
        if self.chance(25):
            return ()
        if ndim == 1:
            return (size,)
        rest = []
        for _ in range(ndim - 1):
            k = self.draw(1, max(1, min(70, size)))
            rest.append(k)
            size = max(1, size // k)
        at = self.draw(0, ndim - 1)
        rest.insert(at, size)
        return tuple(rest)

    def some(self, rough=None):
        names = [n for n in self.names if n not in self.leaves]
        if rough is not None:
            names = [n for n in names if self.is_rough(n) == rough]
        if not names:
            return None
        return names[-1 - int(len(names) * self.rng.random() ** 2)]  # later ones more often

    def fitting(self, name, *others):
        """Another variable that broadcasts with it, and with the others."""
        for _ in range(8):
            other = self.some() or name
            try:
                shape = numpy.broadcast_shapes(*(self.env[n].shape for n in (*others, name, other)))
            except ValueError:
                continue
            if math.prod(shape) <= MOST_BYTES // 8:
                return other
        return name

    # ---- facts

    def is_rough(self, name):
        return root(self.env[name]) in self.rough_roots

    def floating(self, name):
        return self.env[name].dtype.kind == "f"

    def is_large(self, name):
        """So large that a last bit is a good part of a sine's period, and what is left of squares
        that cancel."""
        with numpy.errstate(all="ignore"):
            return bool((abs(self.env[name]) > 1e3).any())

    def is_long_half(self, name):
        """Whose running sums, each of them rounded, are a launch each on a device of single operators."""
        return self.env[name].dtype == "f2" and self.env[name].size > 3000

    def has_nan(self, name):
        """Whose signs are nobody's: they depend on the order of the operands."""
        return bool((self.env[name] != self.env[name]).any())

    # ---- statements

    def try_line(self, line, target=None, rough=False, writes=None):
        """Runs it under NumPy; a statement that NumPy refuses is none."""
        if writes and not self.env[writes].flags.writeable:
            return False
        try:
            with numpy.errstate(all="ignore"):
                exec(line, self.env)
        except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError):
            self.env.pop(target, None)
            return False
        if target:
            value = self.env[target]
            if not isinstance(value, numpy.ndarray):
                value = self.env[target] = numpy.asarray(value)
                line = f"{line}\n{target} = np.asarray({target})"
            if value.nbytes > MOST_BYTES or value.dtype.kind not in "?iufc":
                del self.env[target]
                return False
            self.names.append(target)
            self.keep.append(value)
            if rough:
                self.rough_roots.add(root(value))
        elif writes and rough:
            self.rough_roots.add(root(self.env[writes]))
        self.lines.append(line)
        return True

    def new(self):
        self.count += 1
        return f"v{self.count - 1}"

    def input(self, shape, dtype=None):
        v = self.new()
        fill, layout = self.pick(inputs.FILLS), self.pick(inputs.LAYOUTS + ("rows",) * 5)
        dtype = dtype or self.pick(self.dtypes)
        seed = self.draw(0, 10**6)
        line = f"{v} = make(np, {dtype!r}, {shape!r}, {fill!r}, {layout!r}, {seed})"
        return self.try_line(line, v)

    def broadcast_input(self):
        shape = tuple(n if self.chance(2) else 1 for n in self.shape)
        if self.chance(3):
            shape = (1,) * self.draw(0, 1)
        return self.input(shape)

    def number(self):
        return self.pick(("2", "0.5", "-1.5", "3", "0", "1e-3", "7.25"))

    def index(self, name):
        """Text of a basic index, and whether it is one."""
        parts = []
        for n in self.env[name].shape:
            kind = self.draw(0, 6)
            low, high = sorted((self.draw(0, n), self.draw(0, n)))
            if kind == 0 and n:
                parts.append(str(self.draw(-n, n - 1)))
            elif kind == 1:
                parts.append(f"{low}:{high}")
            elif kind == 2:
                parts.append(f"::{self.draw(2, 3)}")
            elif kind == 3:
                parts.append("::-1")
            elif kind == 4:
                parts.append("1:")
            elif kind == 5:
                parts.append(":-1")
            else:
                parts.append(":")
        if self.chance(12):
            parts.insert(self.draw(0, len(parts)), "None")
        return ", ".join(parts) if parts else "..."

    def forget(self):
        if len(self.names) < 4:
            return False
        name = self.pick(self.names[:-1])
        self.names.remove(name)
        self.lines.append(f"del {name}")
        del self.env[name]
        return True
