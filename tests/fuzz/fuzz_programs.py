"""Random NumPy programs, as text.

A program is a list of statements over variables v0, v1, ..., one NumPy operation or expression
each: what a scientist writes, in any order. NumPy runs along while it is made, so every statement
is valid and says what its result is. Laziness joins the statements into programs of the engine;
`del` lets temporaries die as they do in expressions.

Sums of floats (and what is computed from them) may round in another order: such variables are
*rough*. They are compared with a tolerance, and never asked for a comparison, a rounding or a
position, which would blow a last bit up.

The kinds of statements: single operations here, expressions and loops in fuzz_expressions.py,
what indexes and multiplies in fuzz_indexing.py, what writes through views and takes along axes in
fuzz_writing.py.
"""

import sys

from fuzz_expressions import Expressions
from fuzz_indexing import Indexing
from fuzz_maker import root  # noqa: F401  (of who compares)
from fuzz_writing import Writing

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


class Writer(Expressions, Indexing, Writing):
    """The statements of one operation each, and the whole."""

    def unary(self):
        a, v = self.some(), self.new()
        rough = self.is_rough(a)
        kind = self.env[a].dtype.kind
        names = SMOOTH if rough else FUNCTIONS + EXACT if kind == "f" else EXACT
        if kind == "c":
            names = ("negative", "conj", "positive")
        name = self.pick(names)
        if rough and name in ("sin", "cos") and self.is_large(a):
            return False
        if name == "signbit" and self.has_nan(a):
            return False
        return self.try_line(f"{v} = np.{name}({a})", v, rough)

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
                 "{a}[1:] -= {a}[:-1] * 0.5", "{a}[::2] = {a}[:1]", "{a}[..., 1:] = {a}[..., :-1]",
                 "{a}[..., :-2] = {a}[..., 2:]", "{a}[:-1, ..., 1:] = {a}[1:, ..., :-1]")  # fmt: skip
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
        if name == "var" and self.is_large(a):
            return False  # of rounding alone, it may be
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
        if name == "np.cumsum" and self.is_long_half(a):
            return False
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
            forms.append(f"np.sort({a}, axis=-1, kind='stable')")
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
            "expressions": [self.expression, self.expression, self.update_by, self.loop, self.unary,
                            self.reduction, self.view, self.pieces, self.forget],
            "indexing": [self.expression, self.take, self.place, self.place, self.masked, self.masked,
                         self.product, self.shaped, self.update, self.view, self.reduction],
            "writing": [self.expression, self.through, self.through, self.host_values, self.methods,
                        self.methods, self.rows, self.along, self.along, self.seen_otherwise,
                        self.by_ufunc, self.by_ufunc, self.update, self.view, self.reduction],
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
    return Writer(seed).program(traceable)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])).text())
