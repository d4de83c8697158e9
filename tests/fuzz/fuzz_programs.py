"""Random NumPy programs, as text.

A program is a list of statements over variables v0, v1, ..., one NumPy operation each: what a
scientist writes, in any order. NumPy runs along while it is made, so every statement is valid
and says what its result is. Laziness joins the statements into programs of the engine; `del`
lets temporaries die as they do in expressions.

Sums of floats (and what is computed from them) may round in another order: such variables are
*rough*. They are compared with a tolerance, and never asked for a comparison, a rounding or a
position, which would blow a last bit up.
"""

import math
import sys

import fuzz_inputs as inputs
import numpy
import thresholds

SMOOTH = ("negative", "absolute", "tanh", "sin", "cos", "arctan")
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "log1p", "expm1", "arcsin", "cbrt",
             "exp2", "log2", "cosh", "arctan", "square", "reciprocal")  # fmt: skip
EXACT = ("negative", "absolute", "sign", "square", "floor", "ceil", "rint", "isnan", "isfinite",
         "signbit", "logical_not", "positive", "trunc")  # fmt: skip
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
ASKING = ("less", "greater_equal", "equal", "not_equal", "logical_and", "fmax", "copysign",
          "floor_divide", "remainder", "divide", "arctan2", "hypot", "heaviside")  # fmt: skip
ORDERED = ("max", "min", "any", "all", "argmax", "argmin")
SUMMED = ("sum", "mean", "prod", "var")
DTYPES = ("f8", "f4", "f8", "f4", "f8", "f4", "i8", "i4", "u1", "?", "f2", "c16")
SIZES = [n for n in thresholds.sizes() if n <= 200_000]
MOST_BYTES = 1 << 23


def root(a):
    while isinstance(a.base, numpy.ndarray):
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
        self.theme = self.pick(("elementwise", "elementwise", "mixed", "mixed", "views"))
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

    def unary(self):
        a, v = self.some(), self.new()
        rough = self.is_rough(a)
        kind = self.env[a].dtype.kind
        names = SMOOTH if rough else FUNCTIONS + EXACT if kind == "f" else EXACT
        if kind == "c":
            names = ("negative", "conj", "positive")
        name = self.pick(names)
        if name == "signbit" and self.has_nan(a):
            return False
        return self.try_line(f"{v} = np.{name}({a})", v, rough)

    def has_nan(self, name):
        """Whose signs are nobody's: they depend on the order of the operands."""
        return bool((self.env[name] != self.env[name]).any())

    def number(self):
        return self.pick(("2", "0.5", "-1.5", "3", "0", "1e-3", "7.25"))

    def binary(self):
        a, v = self.some(), self.new()
        b = self.fitting(a)
        rough = self.is_rough(a) or self.is_rough(b)
        name = self.pick(BINARY if rough or not self.chance(3) else ASKING)
        form = self.draw(0, 3)
        if form == 0:
            b = self.number()
            rough = self.is_rough(a)
        elif form == 1 and name in ("add", "subtract", "multiply"):
            sign = {"add": "+", "subtract": "-", "multiply": "*"}[name]
            return self.try_line(f"{v} = {a} {sign} {b}", v, rough)
        if name == "copysign" and b in self.env and self.has_nan(b):
            return False
        return self.try_line(f"{v} = np.{name}({a}, {b})", v, rough)

    def where(self):
        m, v = self.some(rough=False), self.new()
        if m is None:
            return False
        a = self.fitting(m)
        b = self.fitting(m, a)
        if self.env[m].dtype != bool:
            m = f"{m} > {self.number()}" if self.env[m].dtype.kind != "c" else f"{m} == {m}"
        rough = self.is_rough(a) or self.is_rough(b)
        return self.try_line(f"{v} = np.where({m}, {a}, {b})", v, rough)

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

    def view(self):
        a, v = self.some(), self.new()
        ndim = self.env[a].ndim
        forms = [f"{a}[{self.index(a)}]", f"{a}[{self.index(a)}]", f"{a}.T", f"{a}.reshape(-1)",
                 f"{a}[None]", f"np.broadcast_to({a}, (2,) + {a}.shape)"]  # fmt: skip
        if ndim > 1:
            forms += [f"np.swapaxes({a}, 0, -1)", f"np.diagonal({a})", f"{a}[..., None]"]
        return self.try_line(f"{v} = {self.pick(forms)}", v, self.is_rough(a))

    def update(self):
        """In place: the whole, a slice, where a mask says."""
        a = self.some()
        b = self.fitting(a)
        sign = self.pick(("+", "-", "*"))
        form = self.draw(0, 5)
        rough = self.is_rough(a) or self.is_rough(b)
        if form == 0:
            line = f"{a} {sign}= {b}"
        elif form == 1:
            line = f"{a} {sign}= {self.number()}"
        elif form == 2:
            line = f"{a}[{self.index(a)}] {sign}= {self.number()}"
        elif form == 3:
            index = self.index(a)
            line = f"{a}[{index}] = {b}[{index}]" if self.chance(2) else f"{a}[{index}] = {b}"
        elif form == 4:
            if self.is_rough(a) or self.env[a].dtype.kind == "c":
                return False
            line = f"{a}[{a} > {self.number()}] = {self.number()}"
        else:
            line = f"np.{self.pick(BINARY)}({a}, {b}, out={a})"
        return self.try_line(line, None, rough, writes=a)

    def overlap(self):
        """One part of an array onto another."""
        a = self.some()
        if self.env[a].ndim == 0:
            return False
        forms = ("{a}[1:] = {a}[:-1]", "{a}[:-1] += {a}[1:]", "{a}[...] = {a}[::-1]",
                 "{a}[1:] -= {a}[:-1] * 0.5", "{a}[::2] = {a}[:1]")  # fmt: skip
        line = self.pick(forms).format(a=a)
        return self.try_line(line, None, self.is_rough(a), writes=a)

    def reduction(self):
        a, v = self.some(), self.new()
        rough = self.is_rough(a)
        inexact = self.env[a].dtype.kind in "fc"
        if rough or self.chance(2):
            name = self.pick(("sum", "mean", "max", "min") if rough else SUMMED)
            rough = rough or inexact or name in ("mean", "var")
        else:
            name = self.pick(ORDERED)
        if self.env[a].dtype.kind == "c" and name not in ("sum", "mean"):
            return False
        if self.env[a].dtype == "f2" and name in ("var", "prod"):
            return False  # NumPy's own are off by anything
        if name == "prod" and inexact:
            return False  # what overflows first depends on the order
        ndim = self.env[a].ndim
        axis = self.pick((None,) + tuple(range(-ndim, ndim)))
        if ndim > 1 and self.chance(4) and "arg" not in name:
            axis = tuple(sorted(self.rng.choice(ndim, 2, replace=False).tolist()))
        keep = f", keepdims={bool(self.chance(2))}" if "arg" not in name else ""
        plus = " + 0" if name in ("max", "min") and inexact else ""  # of zeros of both signs either
        return self.try_line(f"{v} = np.{name}({a}, axis={axis}{keep}){plus}", v, rough)

    def running(self):
        a, v = self.some(), self.new()
        if self.env[a].ndim == 0 or self.env[a].dtype.kind == "c":
            return False
        name = self.pick(("np.maximum.accumulate", "np.cumsum", "np.diff"))
        axis = self.draw(0, self.env[a].ndim - 1)
        rough = self.is_rough(a) or (name == "np.cumsum" and self.env[a].dtype.kind == "f")
        return self.try_line(f"{v} = {name}({a}, axis={axis})", v, rough)

    def cast(self):
        a, v = self.some(), self.new()
        to = self.pick(("f8", "f4") if self.is_rough(a) else ("f8", "f4", "i8", "i4", "?", "f2"))
        if self.env[a].dtype.kind in "fc" and to[0] == "i":
            return False  # what lies outside is the compiler's affair
        if self.env[a].dtype.kind == "c":
            return False
        return self.try_line(f"{v} = {a}.astype({to!r})", v, self.is_rough(a))

    def gather(self):
        a, v = self.some(), self.new()
        shape = self.env[a].shape
        if not shape or not shape[0]:
            return False
        index = [self.draw(-shape[0], shape[0] - 1) for _ in range(self.draw(1, 6))]
        forms = [f"{a}[{index}]", f"np.take({a}, {index}, axis=0)", f"np.roll({a}, {index[0]})",
                 f"np.flip({a}, 0)", f"np.concatenate([{a}, {a}])", f"np.stack([{a}, {a}], -1)",
                 f"{a}.copy()", f"np.repeat({a}, 2, axis=0)"]  # fmt: skip
        if not self.is_rough(a) and self.env[a].dtype.kind != "c":
            forms.append(f"np.sort({a}, axis=-1) + 0")  # zeros of both signs in any order
        return self.try_line(f"{v} = {self.pick(forms)}", v, self.is_rough(a))

    def pieces(self):
        """Temporaries put together from slabs, which an expression reads where the slabs lie."""
        a, v = self.some(), self.new()
        ndim = self.env[a].ndim
        if ndim == 0:
            return False
        x, y = self.draw(0, ndim - 1), self.draw(0, ndim - 1)
        shift, number = self.draw(-3, 3), self.number()
        forms = (f"{a} + np.roll({a}, {shift}, {x}) * {number}",
                 f"np.roll({a}, {shift}, {x}) - np.roll({a}, {-shift}, {y}) * {number}",
                 f"np.concatenate([{a}, {a}], {x}) * {number} + np.concatenate([{a}, {a}], {x})")  # fmt: skip
        return self.try_line(f"{v} = {self.pick(forms)}", v, self.is_rough(a))

    def selected(self):
        """Of a shape that depends on values: looked at, not computed with."""
        a, v = self.some(rough=False), self.new()
        if a is None or self.env[a].dtype.kind == "c":
            return False
        form = self.pick(("{a}[{a} > 0]", "np.flatnonzero({a})", "np.count_nonzero({a}, axis=0)"))
        self.leaves.add(v)
        return self.try_line(f"{v} = {form.format(a=a)}", v)

    def element(self):
        """A number that Python takes part with."""
        a = self.some(rough=False)
        if a is None or self.env[a].size == 0 or not self.floating(a):
            return False
        v = self.new()
        b = self.some()
        return self.try_line(
            f"{v} = {b} * float({a}.reshape(-1)[{self.draw(0, self.env[a].size - 1)}])", v,
            self.is_rough(b),
        )  # fmt: skip

    def forget(self):
        if len(self.names) < 4:
            return False
        name = self.pick(self.names[:-1])
        self.names.remove(name)
        self.lines.append(f"del {name}")
        del self.env[name]
        return True

    # ---- the whole

    def program(self, traceable):
        for _ in range(self.draw(1, 3)):
            self.input(self.shape)
        for _ in range(self.draw(0, 2)):
            self.broadcast_input()
        first = len(self.lines)
        kinds = {
            "elementwise": [self.unary, self.unary, self.binary, self.binary, self.binary,
                            self.where, self.reduction, self.update, self.pieces],
            "views": [self.view, self.view, self.update, self.update, self.overlap, self.binary,
                      self.unary, self.reduction, self.pieces],
            "mixed": [self.unary, self.binary, self.where, self.view, self.update, self.overlap,
                      self.reduction, self.running, self.cast, self.gather, self.pieces],
        }[self.theme]  # fmt: skip
        if not traceable:
            kinds = kinds + [self.selected, self.element]
        kinds = kinds + [self.forget]
        length = self.draw(5, 40)
        for _ in range(6 * length):
            if len(self.lines) - first >= length:
                break
            if self.some() is None:
                break
            self.pick(kinds)()
        return Program(self.lines[:first], self.lines[first:], list(self.names), {
            n: self.is_rough(n) for n in self.names
        })  # fmt: skip


class Program:
    """inputs, statements: text; names: what is alive at the end; rough: which of it is."""

    def __init__(self, inputs, statements, names, rough):
        self.inputs, self.statements, self.names, self.rough = inputs, statements, names, rough

    def text(self):
        return "\n".join(self.inputs + self.statements)


def generate(seed, traceable=False):
    return Maker(seed).program(traceable)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])).text())
